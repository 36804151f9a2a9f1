"""Random statements for the isolation suite: reads of every kind, and now and then a write."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.adversary.isolation import CANARY

_LABELS = ("Person", "City", "Item", "Revision", "Exchange", "Space", "Project", "Thread", "")
_HIDDEN_LABELS = (f"{CANARY}_label",)
_TYPES = ("KNOWS", "TRUSTS", "CURRENT", "HAS_ITEM", "HAS_REVISION", "DEPENDS_ON", "")
_HIDDEN_TYPES = (f"{CANARY}_type",)
_NAMES = ("name", "age", "email", "bio", "kref", "project", "summary", "city", f"{CANARY}_key")
_TEXTS = ("gardener", "rower", "garden", CANARY, "office Bern", f"gardener AND {CANARY}", "numb*")
_KREFS = (
    "kref://mine",
    "kref://theirs",
    "kref://mine/set.bundle",
    f"kref://theirs/{CANARY}set.bundle",
)
_DAY = 86_400
_START = 1_700_000_000


class Statements:
    """A stream of statements by a seed."""

    def __init__(self, seed: int, *, numbered: bool = True) -> None:
        """`numbered`: also by the numbers of elements and changes, which one sequence of the file
        gives."""
        self._draw = random.Random(seed)
        self._numbered = numbered
        self._kinds: tuple[Callable[[], str], ...] = (
            self._nodes,
            self._nodes,
            self._edges,
            self._edges,
            self._walk,
            self._aggregate,
            self._subquery,
            self._union,
            self._call,
            self._past,
            self._show,
            *((self._by_id,) if numbered else ()),
        )

    def read(self) -> str:
        return self._draw.choice(self._kinds)()

    def write(self) -> str:
        draw = self._draw
        value = draw.randint(1, 30)
        return draw.choice(
            (
                f"CREATE (n:Person {{email: 'a{value}', age: {value}}}) RETURN n.age",
                f"MERGE (n:Person {{email: 'a{value}'}}) ON CREATE SET n.made = 1 RETURN n.made",
                f"{self._match()} SET n.seen = {value} RETURN count(n)",
                f"{self._match()} REMOVE n.age RETURN count(*)",
                f"MATCH (n) WHERE id(n) = {draw.randint(1, 25)} SET n.x = {value} RETURN n.x",
                f"MATCH (n) WHERE id(n) = {draw.randint(1, 25)} DETACH DELETE n",
                f"MATCH (n:Person), (m:Person) WHERE n.age = {value} AND m.name STARTS WITH"
                f" '{CANARY}' CREATE (n)-[:KNOWS]->(m)",
                f"MATCH ()-[r{self._type()}]->() WHERE id(r) = {draw.randint(1, 30)} DELETE r",
                f"MATCH (n:Person {{age: {value}}}) DELETE n",
                f"MATCH (n:{self._label() or 'Person'}) SET n:Marked RETURN count(n)",
                f"CREATE (:Exchange {{project: 'theirs', text: 'planted {value}'}})",
                f"CREATE (:Item {{kref: 'kref://theirs/x{value}.fact'}})",
                f"MERGE (a:Person {{email: 'a{value}'}})-[r:KNOWS]-(b:Person {{age: 4}})"
                " RETURN b.name",
            )
        )

    # Parts

    def _label(self) -> str:
        pool = _LABELS + (_HIDDEN_LABELS if self._draw.random() < 0.3 else ())
        return self._draw.choice(pool)

    def _node(self, name: str) -> str:
        label = self._label()
        return f"({name}{':' + label if label else ''})"

    def _type(self) -> str:
        pool = _TYPES + (_HIDDEN_TYPES if self._draw.random() < 0.3 else ())
        kind = self._draw.choice(pool)
        return f":{kind}" if kind else ""

    def _arrow(self, name: str, extra: str = "") -> str:
        inner = f"[{name}{self._type()}{extra}]"
        return self._draw.choice((f"-{inner}->", f"<-{inner}-", f"-{inner}-"))

    def _test(self, name: str) -> str:
        draw, prop = self._draw, self._draw.choice(_NAMES)
        value = draw.randint(0, 20)
        return draw.choice(
            (
                f"{name}.age > {value}",
                f"{name}.email = 'a{value}'",
                f"{name}.{prop} IS NOT NULL",
                f"{name}.{prop} IS NULL",
                f"{name}.name CONTAINS '{draw.choice(('ana', CANARY, 'e'))}'",
                f"{name}.name STARTS WITH '{draw.choice(('a', CANARY[:2], 'B'))}'",
                f"{name}.bio =~ '.*{draw.choice(_TEXTS[:3])}.*'",
                f"'{CANARY}_key' IN keys({name})",
                f"{name}.age IN [1, 3, {value}]",
                f"NOT ({name})--()",
                f"({name})-[{self._type()}]-()",
                f"any(l IN labels({name}) WHERE l CONTAINS '{CANARY[:3]}')",
                f"{name}.kref = '{draw.choice(_KREFS)}'",
                f"id({name}) < {value * 6}" if self._numbered else f"{name}.age < {value}",
            )
        )

    def _where(self, *names: str) -> str:
        draw = self._draw
        if draw.random() < 0.25:
            return ""
        tests = [self._test(draw.choice(names)) for _ in range(draw.randint(1, 2))]
        return " WHERE " + draw.choice((" AND ", " OR ")).join(tests)

    def _match(self) -> str:
        return f"MATCH {self._node('n')}{self._where('n')}"

    def _result(self, name: str) -> str:
        return self._draw.choice(
            (
                name,
                f"count({name})",
                f"count(DISTINCT labels({name}))",
                f"collect(DISTINCT keys({name}))",
                f"labels({name}), count(*)",
                f"properties({name})",
                f"{name}.{self._draw.choice(_NAMES)} AS x, count(*)",
                f"max(id({name})), min(id({name}))" if self._numbered else f"count({name}.age)",
                f"COUNT {{ ({name})--() }} AS degree, count(*)",
                f"[({name})-->(o) | o.name] AS near, {name}.name",
            )
        )

    # Kinds

    def _nodes(self) -> str:
        return f"{self._match()} RETURN {self._result('n')}"

    def _edges(self) -> str:
        draw = self._draw
        pattern = self._node("n") + self._arrow("r") + self._node("m")
        if draw.random() < 0.3:
            pattern += self._arrow("s") + self._node("o")
        result = draw.choice(
            ("n, r, m", "type(r), count(*)", "count(r)", "r.since, r.how", "properties(r)", "m")
        )
        return f"MATCH {pattern}{self._where('n', 'm')} RETURN {result}"

    def _walk(self) -> str:
        draw = self._draw
        low, high = draw.randint(0, 2), draw.randint(2, 4)
        walk = f"{self._node('n')}{self._arrow('r', f'*{low}..{high}')}{self._node('m')}"
        if draw.random() < 0.4:
            ends = f"MATCH {self._node('n')}, {self._node('m')} WHERE id(n) < id(m)"
            path = f"shortestPath((n)-[{self._type()}*..5]-(m))"
            return f"{ends} MATCH p = {path} RETURN length(p), count(*)"
        return f"MATCH {walk}{self._where('n', 'm')} RETURN count(*), collect(DISTINCT m.name)"

    def _aggregate(self) -> str:
        draw = self._draw
        name = draw.choice(_NAMES)
        call = draw.choice(
            (
                f"sum(n.age), avg(n.age), max(n.{name})",
                f"collect(n.{name})",
                f"stdev(n.age), percentileCont(n.age, 0.5), min(n.{name})",
                f"n.{name} AS k, count(*) ORDER BY k LIMIT 3",
            )
        )
        return f"{self._match()} RETURN {call}"

    def _subquery(self) -> str:
        inner = f"(n){self._arrow('')}{self._node('m')}{self._where('n')}"
        return self._draw.choice(
            (
                f"MATCH {self._node('n')} WHERE EXISTS {{ MATCH {inner} }} RETURN n",
                f"MATCH {self._node('n')} RETURN sum(COUNT {{ MATCH {inner} }})",
                f"MATCH {self._node('n')} CALL (n) {{ MATCH {inner} RETURN count(m) AS c }}"
                " RETURN sum(c)",
                f"OPTIONAL MATCH {self._node('n')}{self._arrow('r')}(:{_HIDDEN_LABELS[0]})"
                " RETURN n, r",
            )
        )

    def _union(self) -> str:
        middle = self._draw.choice(("UNION", "UNION ALL"))
        return (
            f"MATCH {self._node('n')} RETURN n.name AS x {middle} {self._match()} RETURN n.bio AS x"
        )

    def _call(self) -> str:
        draw = self._draw
        text, kref = draw.choice(_TEXTS), draw.choice(_KREFS)
        return draw.choice(
            (
                "CALL db.labels()",
                "CALL db.relationshipTypes()",
                "CALL db.propertyKeys()",
                "CALL db.schema.nodeTypeProperties()",
                "CALL db.schema.relTypeProperties()",
                f"CALL db.index.fulltext.queryNodes('bios', '{text}') YIELD node, score"
                " RETURN node, score",
                f"CALL db.index.fulltext.queryRelationships('said', '{text}')"
                " YIELD relationship, score RETURN relationship, score",
                f"CALL doxa.recall('{text}', {{project: '*'}}) YIELD kref, score, text"
                " RETURN kref, score, text",
                f"CALL doxa.recall('{text}', {{project: 'theirs'}})",
                f"CALL doxa.recall('{text}') YIELD kref, score RETURN kref, score",
                f"CALL doxa.match('{text}')",
                f"CALL doxa.history('{kref}')",
                f"CALL doxa.traverse('{kref}')",
                "CALL doxa.conflicts({project: '*'})",
                f"CALL doxa.diff({_START - _DAY}000, {_START + 9 * _DAY}000)",
                *(
                    f"CALL db.txlog.entries({draw.randint(1, 99)}, {draw.randint(100, 400)})",
                    "CALL doxa.log()",
                )[: 2 * self._numbered],
            )
        )

    def _past(self) -> str:
        when = _START + self._draw.choice((0, 1, 2, _DAY + 1, 2 * _DAY + 1))
        body = self._draw.choice((self._nodes, self._edges, self._aggregate))()
        return f"AS OF SYSTEM TIME {when}000 {body}"

    def _show(self) -> str:
        return self._draw.choice(
            (
                "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties",
                "SHOW CONSTRAINTS",
                "SHOW PROCEDURES YIELD name",
                f"EXPLAIN MATCH (n:{_HIDDEN_LABELS[0]}) RETURN n",
                f"EXPLAIN {self._nodes()}",
            )
        )

    def _by_id(self) -> str:
        number = self._draw.randint(1, 160)
        return self._draw.choice(
            (
                f"MATCH (n) WHERE id(n) = {number} RETURN n",
                f"MATCH ()-[r]->() WHERE id(r) = {number} RETURN r",
                f"MATCH (n)--(m) WHERE id(m) = {number} RETURN n",
                f"MATCH (n) WHERE elementId(n) = '{number}' RETURN n",
                f"MATCH (n) WHERE id(n) IN range(1, {number}) RETURN count(n)",
            )
        )
