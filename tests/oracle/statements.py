"""Statements drawn at random for the comparison with Neo4j.

    rng -> statement(kind, rng)   one statement with its parameters, and how its rows are compared

A statement's answer is decided by the language alone. An update computes what it writes to an
element from that element's own properties and from constants, so that the order of rows decides
nothing; `tests/properties/random_queries.py` writes the reading parts by the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.oracle import values
from tests.properties.random_queries import KINDS, LABELS, TYPES, VALUES, Dialect, Writer, query

DIALECT = Dialect()
INDEXES = (
    "CREATE INDEX oracle_a IF NOT EXISTS FOR (n:A) ON (n.a)",
    "CREATE INDEX oracle_b IF NOT EXISTS FOR (n:B) ON (n.s, n.i)",
    "CREATE INDEX oracle_c IF NOT EXISTS FOR (n:C) ON (n.m)",
    "CREATE TEXT INDEX oracle_t IF NOT EXISTS FOR (n:A) ON (n.s)",
    "CREATE INDEX oracle_r IF NOT EXISTS FOR ()-[r:R]-() ON (r.a)",
)


class Statement(NamedTuple):
    """`ordered`: the order of the rows is decided. `bags`: which columns are lists in any order.
    `writes`: the graph is compared too, and the transaction rolled back."""

    kind: str
    text: str
    params: Mapping[str, Any] = MappingProxyType({})
    ordered: bool = False
    bags: tuple[bool, ...] = ()
    writes: bool = False


def read(rng: Random) -> Statement:
    made = query(rng, DIALECT)
    return Statement("read", _common(made.text), {}, made.ordered, made.unordered)


def _common(text: str) -> str:
    """Leave out what the page on differences explains in full and what would be most of what is
    found: labels joined by a colon next to others, and reverse() of a stored list."""
    text = text.replace(":A:B", ":A&B")
    return re.sub(r"\breverse\(", "tail(", text) if ".l" in text or "collect" in text else text


def parameters(rng: Random) -> Statement:
    """A reading query whose conditions compare with parameters of any type."""
    left, right = rng.choice((("-", "->"), ("<-", "-"), ("-", "-")))
    names = [rng.choice(list(KINDS)) for _ in range(2)]
    op = rng.choice(("=", "<>", "<", "<=", ">", ">=", "IN", "STARTS WITH", "CONTAINS"))
    label = rng.choice(("", ":A", ":B", ":C", ":A|B"))
    params = {"p": values.anything(rng), "q": values.anything(rng), "l": values.items(rng)}
    given = "$l" if op == "IN" else "$p"
    tests = [f"n.{names[0]} {op} {given}"]
    if rng.random() < 0.5:
        tests.append(f"{rng.choice(('m', 'r'))}.{names[1]} {rng.choice(('=', '<', '>='))} $q")
    joined = rng.choice((" AND ", " OR ", " XOR ")).join(tests)
    text = (
        f"MATCH (n{label}){left}[r]{right}(m) WHERE {rng.choice(('', 'NOT '))}({joined})"
        f" RETURN n.i AS n, m.i AS m, r.i AS r, n.{names[0]} {op} {given} AS t"
    )
    return Statement("parameters", text, params)


def failing(rng: Random) -> Statement:
    """A reading query with a word dropped, doubled, swapped or replaced: mostly an error."""
    made = query(rng, DIALECT)
    words = made.text.split(" ")
    at = rng.randrange(len(words))
    how = rng.randrange(4)
    if how == 0:
        del words[at]
    elif how == 1:
        words.insert(at, words[at])
    elif how == 2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    else:
        names = ("n1", "zz", "null", "1", "'a'", "count(*)", "n1.i", "[1]", "{a: 1}", "sum(1)")
        words[at] = rng.choice(names)
    return Statement("error", _common(" ".join(words)), {}, False, made.unordered)


def update(rng: Random) -> Statement:
    return _Updates(rng, DIALECT).statement()


class _Updates(Writer):
    def statement(self) -> Statement:
        words = [self.match()] if self.chance(0.85) else [self.unwind()]
        if self.chance(0.2):
            words.append(self.with_())
        deleted = False
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if len(words) > 1 and self.chance(0.2):
                words.append("WITH *" if self.scope else "WITH 1 AS one")
            made = (self.create, self.set, self.set, self.merge, self.remove, self.foreach)
            words.append(self.rng.choice(made)())
        if self.chance(0.2):
            words.append(self.delete())
            deleted = True
        if deleted or self.chance(0.5):
            words.append("RETURN count(*) AS rows")
        elif self.chance(0.5):
            held = self.of("node", "edge")
            words += ["RETURN", ", ".join(f"{one}.i AS i_{one}" for one in held) or "1 AS one"]
        return Statement("update", _common(" ".join(words)), writes=True)

    def own(self, name: str, kind: str) -> str:
        """A value of a kind, from the properties of one element."""
        before, self.scope = self.scope, {name: self.scope[name]}
        text = self.value(kind, 1)
        self.scope = before
        return text

    def target(self) -> str | None:
        held = self.of("node", "edge")
        return self.rng.choice(held) if held else None

    def set(self) -> str:
        name = self.target()
        if name is None:
            return self.create()
        prop = self.rng.choice(("a", "f", "s", "b", "l", "new"))
        kind = KINDS.get(prop, "int")
        pick = self.rng.randrange(7)
        value = "null" if self.chance(0.1) else self.own(name, kind)
        if pick < 3:
            return f"SET {name}.{prop} = {value}"
        if pick == 3:
            return f"SET {name} += {{{prop}: {value}, extra: {self.rng.choice(VALUES['any'])}}}"
        if pick == 4:
            return f"SET {name} = {{i: {name}.i, {prop}: {value}}}"
        if pick == 5 and self.scope[name] == "node":
            return f"SET {name}:{self.rng.choice((*LABELS, 'New', 'A:New'))}"
        return f"SET {name}.{prop} = {value}, {name}.new = {self.own(name, 'str')}"

    def remove(self) -> str:
        name = self.target()
        if name is None:
            return self.create()
        if self.scope[name] == "node" and self.chance(0.5):
            return f"REMOVE {name}:{self.rng.choice((*LABELS, 'A:B', 'None'))}"
        return f"REMOVE {name}.{self.rng.choice(tuple(KINDS))}"

    def made_map(self) -> str:
        names = self.rng.sample(("a", "f", "s", "b", "l", "m"), self.rng.randint(0, 3))
        parts = [f"{name}: {self.value(KINDS[name], 1)}" for name in names]
        if self.chance(0.2):
            inner = self.rng.choice(("(:A)", "(:New)", "()-->()", "(x:B)-[:R]->()"))
            form = self.rng.choice(("COUNT {{ {} }}", "EXISTS {{ MATCH {} }}"))
            parts.append(f"c: {form.format(inner)}")
        if self.chance(0.15):
            parts.append(f"t: reduce(acc = 0, x IN {self.ints(0)} | acc + x)")
        return "{" + ", ".join(parts) + "}"

    def create(self) -> str:
        held = self.of("node")
        start = self.rng.choice(held) if held and self.chance(0.6) else self.name("n")
        parts = f"({start})" if start in held else f"({start}:New {self.made_map()})"
        if self.chance(0.6):
            end = self.rng.choice(held) if held and self.chance(0.5) else None
            label = self.rng.choice((*LABELS, "New", "New:A"))
            node = f"({end})" if end else f"(:{label} {self.made_map()})"
            left, right = self.rng.choice((("-", "->"), ("<-", "-")))
            parts += f"{left}[:{self.rng.choice(TYPES)} {self.made_map()}]{right}{node}"
        elif start in held:
            parts = f"(:New {self.made_map()})"
        return f"CREATE {parts}"

    def merge(self) -> str:
        held = self.of("node")
        name = self.rng.choice(("a", "s"))
        value = self.rng.choice(VALUES[KINDS[name]])
        if held and self.chance(0.5):
            end = self.rng.choice(held) if self.chance(0.5) else f"(:New {{{name}: {value}}})"
            end = end if end.startswith("(") else f"({end})"
            arrow = self.rng.choice(("-[:{}]->", "<-[:{}]-")).format(self.rng.choice(TYPES))
            return f"MERGE ({self.rng.choice(held)}){arrow}{end}"
        text = f"MERGE (z:{self.rng.choice((*LABELS, 'New'))} {{{name}: {value}}})"
        if self.chance(0.5):
            text += f" ON CREATE SET z.f = {self.rng.choice(VALUES['float'])}"
        if self.chance(0.5):
            text += f" ON MATCH SET z.b = {self.rng.choice(VALUES['bool'])}"
        return text.replace("z", self.name("z")) if "z" in self.scope else text

    def delete(self) -> str:
        name = self.target()
        if name is None:
            return "WITH 1 AS one MATCH (d:B) DETACH DELETE d WITH 1 AS one"
        return f"{self.rng.choice(('DELETE', 'DETACH DELETE'))} {name} WITH 1 AS one"

    def foreach(self) -> str:
        body = self.rng.choice(
            (
                "CREATE (:New {k: k})",
                f"MERGE (:{self.rng.choice(LABELS)} {{a: k}})",
                "CREATE (:New {c: COUNT { (:New) }})",
            )
        )
        return f"FOREACH (k IN {self.ints(0)} | {body})"


KINDS_OF_STATEMENTS: dict[str, Callable[[Random], Statement]] = {
    "read": read,
    "update": update,
    "parameters": parameters,
    "error": failing,
}


def statement(kind: str, rng: Random) -> Statement:
    if kind in KINDS_OF_STATEMENTS:
        return KINDS_OF_STATEMENTS[kind](rng)
    text, params = values.expression(kind, rng)
    return Statement(kind, text, params)
