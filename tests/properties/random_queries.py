"""Small graphs and reading queries drawn at random, typed so that most of them run: what engines
and planners are compared with.

    rng -> graph_text(rng)                        one CREATE; every node and edge has its own number
    in `i`
    rng -> query(rng, dialect)                    MATCH, OPTIONAL MATCH, UNWIND, WITH, UNION ...
    RETURN, and whether its order is total

A query's answer is decided by the specification alone: it sorts by all of its columns before it
skips or limits, collects only where the order of the items does not matter, and computes with
halves, so that a sum does not depend on its order. `Dialect` says what an engine knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

LABELS, TYPES = ("A", "B", "C"), ("R", "S", "T")
TEXTS = ("'a'", "'b'", "'ab'", "'B'", "''", "'a b'")
NUMBERS = ("0", "1", "2", "3", "-1", "-2", "7")
HALVES = ("0.5", "1.5", "-2.5", "2.0", "0.0")
LISTS = ("[]", "[1]", "[1, 2, 3]", "[2, null, 1]", "[-1, 0]", "[3, 3]")
ANYTHING = ("1", "2", "'a'", "'b'", "true", "false", "2.5", "[1]", "[1, 2]")
# property names by the kind of their values; m holds values of all kinds
KINDS = {"i": "int", "a": "int", "f": "float", "s": "str", "b": "bool", "l": "ints", "m": "any"}
VALUES = {
    "int": NUMBERS,
    "float": HALVES,
    "str": TEXTS,
    "bool": ("true", "false"),
    "ints": LISTS[:3] + LISTS[4:],
    "any": ANYTHING,
}
ORDERED = frozenset(("int", "float", "str", "bool", "node", "edge"))
LENGTHS = ("*1..2", "*2", "*0..1", "*..2", "*1..3", "*0", "*2..2")
SCALARS = ("int", "float", "str", "bool", "ints")


@dataclass(frozen=True)
class Dialect:
    """What may stand in a query."""

    subqueries: bool = True  # EXISTS { }, COUNT { }, CALL { }
    label_expressions: bool = True
    avoided: frozenset[str] = (
        frozenset()
    )  # names of what is left out, with the reasons where it is used

    def has(self, name: str) -> bool:
        return name not in self.avoided


@dataclass(frozen=True)
class RandomQuery:
    text: str
    columns: tuple[str, ...]
    ordered: bool  # whether the order of the rows is decided
    unordered: tuple[bool, ...]  # the columns that are lists in any order


def graph_text(rng: Random) -> str:
    count = rng.randint(2, 5)
    parts = []
    for i in range(count):
        labels = "".join(f":{label}" for label in LABELS if rng.random() < 0.55)
        parts.append(f"(n{i}{labels} {_properties(rng, i, ('a', 'f', 's', 'b', 'l', 'm'))})")
    for i in range(rng.randint(2, 8)):
        source, target = rng.randrange(count), rng.randrange(count)
        parts.append(
            f"(n{source})-[:{rng.choice(TYPES)}"
            f" {_properties(rng, i, ('a', 's', 'm'))}]->(n{target})"
        )
    return "CREATE " + ", ".join(parts)


def _properties(rng: Random, i: int, names: tuple[str, ...]) -> str:
    held = [f"{name}: {rng.choice(VALUES[KINDS[name]])}" for name in names if rng.random() < 0.75]
    return "{" + ", ".join([f"i: {i}", *held]) + "}"


def query(rng: Random, dialect: Dialect) -> RandomQuery:
    return Writer(rng, dialect).query()


@dataclass
class Writer:
    """Writes one query: what is in scope, with its kind, and how many names were given."""

    rng: Random
    dialect: Dialect
    scope: dict[str, str] = field(default_factory=dict)
    named: int = 0
    nodes: int = 0  # a bound on the work: nodes matched so far
    walks: int = 0
    alone: bool = True  # whether the path being written has one edge
    in_where: bool = False  # the only place where a pattern is a condition

    # Choosing

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self, prefix: str) -> str:
        self.named += 1
        return f"{prefix}{self.named}"

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.scope.items() if kind in kinds]

    # Clauses

    def query(self) -> RandomQuery:
        first, columns, ordered = self.branch()
        unordered = tuple(name.startswith("c") for name in columns)
        if self.chance(0.12) and not any(unordered):
            kinds = [self.scope[name] for name in columns]
            second = Writer(self.rng, self.dialect, named=self.named).union_branch(columns, kinds)
            return RandomQuery(
                f"{first} UNION {'ALL ' if self.chance(0.5) else ''}{second}",
                columns,
                False,
                unordered,
            )
        return RandomQuery(first, columns, ordered, unordered)

    def branch(self) -> tuple[str, tuple[str, ...], bool]:
        clauses = [self.match(optional=False) if self.chance(0.9) else self.unwind()]
        for _ in range(self.rng.randint(0, 3)):
            clauses.append(
                self.rng.choice(
                    (self.optional, self.match, self.unwind, self.with_, self.with_, self.subquery)
                )()
            )
        text, columns, ordered = self.projection("RETURN")
        return " ".join([*clauses, text]), columns, ordered

    def union_branch(self, columns: tuple[str, ...], kinds: list[str]) -> str:
        clause = self.match(optional=False)
        items = []
        for name, kind in zip(columns, kinds, strict=True):
            held = self.of(kind)
            value = (
                self.rng.choice(held)
                if held
                else self.value(kind)
                if kind in (*SCALARS, "any")
                else "null"
            )
            items.append(f"{value} AS {name}")
        return f"{clause} RETURN {', '.join(items)}"

    def optional(self) -> str:
        return self.match(optional=True)

    def match(self, *, optional: bool = False) -> str:
        if self.nodes > 3:
            return self.unwind() if self.nodes > 5 and self.chance(0.3) else self.with_()
        before = dict(self.scope)
        paths = [
            self.path()
            for _ in range(2 if self.chance(0.2) and self.dialect.has("several paths") else 1)
        ]
        words = ["OPTIONAL MATCH" if optional else "MATCH", ", ".join(paths)]
        if optional:  # what is new may be null, which changes no kind
            self.scope = {**before, **self.scope}
        if self.chance(0.35):
            words.append(self.where(2))
        return " ".join(words)

    def where(self, depth: int) -> str:
        self.in_where = True
        text = f"WHERE {self.bool(depth)}"
        self.in_where = False
        return text

    def unwind(self) -> str:
        items = self.ints(1)
        name = self.name("u")
        self.scope[name] = "int"
        self.nodes += 1
        return f"UNWIND {items} AS {name}"

    def with_(self) -> str:
        text, _, _ = self.projection("WITH")
        if ("LIMIT" in text or "SKIP" in text) and not self.dialect.has("conditions after a limit"):
            return text
        return text + (f" {self.where(1)}" if self.chance(0.25) else "")

    def subquery(self) -> str:
        held = self.of("node")
        if not self.dialect.subqueries or not held:
            return self.with_()
        node, name = self.rng.choice(held), self.name("k")
        inner = self.rng.choice(("count(*)", "sum(x.a)", "max(x.i)", "count(DISTINCT x.s)"))
        self.scope[name] = "int"
        return (
            f"CALL ({node}) {{ MATCH ({node})-{self.edge_words()}-(x) RETURN {inner} AS {name} }}"
        )

    def projection(self, word: str) -> tuple[str, tuple[str, ...], bool]:
        final = word == "RETURN"
        grouped = self.chance(0.35)
        items = [self.item() for _ in range(self.rng.randint(0 if grouped else 1, 3))]
        kinds = {name: kind for _, name, kind in items}
        items = [
            (text, name, kind)
            for i, (text, name, kind) in enumerate(items)
            if name not in [other for _, other, _ in items[:i]]
        ]
        if grouped:
            for _ in range(self.rng.randint(1, 2)):
                text, kind = self.aggregate(final)
                name = self.name("c" if kind == "bag" else "g")
                items.append((text, name, kind))
                kinds[name] = kind
        words = [word, "DISTINCT"] if self.chance(0.15) else [word]
        words.append(
            ", ".join(text if text == name else f"{text} AS {name}" for text, name, _ in items)
        )
        sortable = all(kind in ORDERED for kind in kinds.values())
        mixed = (
            self.of("int", "float", "str")
            if not grouped and len(words) == 2 and self.chance(0.3) and words[0] == word
            else []
        )
        self.scope = kinds
        ordered = sortable and self.chance(0.4)
        if ordered:
            keys = [
                f"{name}.i" if kind in ("node", "edge") else name for name, kind in kinds.items()
            ]
            self.rng.shuffle(keys)
            keys = ([self.rng.choice(mixed)] if mixed and "DISTINCT" not in words else []) + keys
            words.append(
                "ORDER BY "
                + ", ".join(key + self.rng.choice(("", " DESC", " ASC")) for key in keys)
            )
            if self.chance(0.3):
                words.append(f"SKIP {self.rng.randint(0, 2)}")
            if self.chance(0.5):
                words.append(f"LIMIT {self.rng.randint(0, 4)}")
                self.nodes = min(self.nodes, 2)
        if grouped:
            self.nodes = min(self.nodes, 2)
        return " ".join(words), tuple(name for _, name, _ in items), ordered

    def item(self) -> tuple[str, str, str]:
        """A column: its text, its name, its kind."""
        if self.scope and self.chance(0.55):
            name = self.rng.choice(list(self.scope))
            return name, name, self.scope[name]
        kind = self.rng.choice((*SCALARS, "any"))
        return self.value(kind), self.name("v"), kind

    def aggregate(self, final: bool) -> tuple[str, str]:
        numbers = self.rng.choice(("int", "float"))
        value = self.value(numbers)
        distinct = "DISTINCT " if self.chance(0.25) else ""
        once = distinct if self.dialect.has("distinct sums") else ""
        zero = (
            " + 0.0"
            if numbers == "float" and not self.dialect.has("1 and 1.0 in one group")
            else ""
        )
        anything = self.rng.choice([*self.scope, value]) if self.scope else value
        found = [
            ("count(*)", "int"),
            (f"count({distinct}{anything})", "int"),
            (f"sum({once}{value}){zero}", numbers),
            (f"avg({once}{value})", "float"),
            (f"min({value})", numbers),
            (f"max({value})", numbers),
            (f"min({self.str(1)})", "str"),
            (f"max({self.str(1)})", "str"),
            (f"size(collect({distinct}{anything}))", "int"),
            (f"count(*) + {self.rng.choice(NUMBERS)}", "int"),
            (f"count({anything}) > 1", "bool"),
        ]
        if final:
            found.append((f"collect({distinct}{anything})", "bag"))
        return self.rng.choice(found)

    # Patterns

    def path(self) -> str:
        prefix = (
            f"{self.bound('p', 'path')} = "
            if self.chance(0.15) and self.dialect.has("path variables")
            else ""
        )
        text = self.node(first=True)
        hops = self.rng.choice((0, 1, 1, 1, 2, 2, 3))
        self.alone = hops == 1
        for _ in range(hops):
            left, right = self.rng.choice((("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")))
            text += f"{left}{self.edge(directed=left != right)}{right}{self.node()}"
        return prefix + text

    def bound(self, prefix: str, kind: str) -> str:
        name = self.name(prefix)
        self.scope[name] = kind
        return name

    def node(self, *, first: bool = False) -> str:
        self.nodes += 1
        held = self.of("node")
        if held and self.chance(0.3) and (first or self.dialect.has("a node met again")):
            name = self.rng.choice(held)
            return f"({name}{self.labels() if self.chance(0.2) else ''})"
        labels = self.labels() if self.chance(0.22) else ""
        props = " " + self.map() if self.chance(0.05) else ""
        return f"({self.bound('n', 'node') if self.chance(0.75) else ''}{labels}{props})"

    def labels(self) -> str:
        if self.dialect.label_expressions and self.chance(0.3):
            return ":" + self.rng.choice(("A|B", "A&B", "!A", "A&!B", "(A|B)&C", "%", "!%"))
        return ":" + self.rng.choice((*LABELS, "A:B"))

    def map(self) -> str:
        name = self.rng.choice(("a", "s", "b", "m"))
        return f"{{{name}: {self.rng.choice(VALUES[KINDS[name]])}}}"

    def edge(self, *, directed: bool) -> str:
        many = (
            self.walks < 2
            and self.chance(0.2)
            and (self.dialect.has("walks beside other edges") or (self.alone and directed))
        )
        types = (
            ":" + "|".join(sorted(set(self.rng.choices(TYPES, k=2)))) if self.chance(0.35) else ""
        )
        props = " " + self.map_of_edge() if self.chance(0.05) else ""
        if many:
            self.walks += 1
            self.nodes += 1
            length = self.rng.choice(
                (*LENGTHS, "*", "*2..", "*0..")
                if directed and self.dialect.has("lengths without an end")
                else LENGTHS
            )
            return f"[{self.bound('w', 'edges') if self.chance(0.5) else ''}{types}{length}{props}]"
        if not types and not props and self.chance(0.4):
            return ""
        return f"[{self.bound('r', 'edge') if self.chance(0.6) else ''}{types}{props}]".replace(
            "[ ", "["
        )

    def map_of_edge(self) -> str:
        name = self.rng.choice(("a", "s", "m"))
        return f"{{{name}: {self.rng.choice(VALUES[KINDS[name]])}}}"

    def edge_words(self) -> str:
        return self.rng.choice(("", "[:R]", "[:R|S]", "[*1..2]"))

    # Expressions

    def value(self, kind: str, depth: int = 2) -> str:
        made: dict[str, Callable[[int], str]] = {
            "int": self.int,
            "float": self.float,
            "str": self.str,
            "bool": self.bool,
            "ints": self.ints,
        }
        return made[kind](depth) if kind in made else self.anything()

    def leaf(self, kind: str) -> str:
        """A variable, a property or a literal of a kind."""
        found = list(self.of(kind))
        for name in self.of("node"):
            found += [f"{name}.{prop}" for prop, holds in KINDS.items() if holds == kind]
        for name in self.of("edge"):
            found += [f"{name}.{prop}" for prop in ("i", "a", "s", "m") if KINDS[prop] == kind]
        if found and self.chance(0.75):
            return self.rng.choice(found)
        return "null" if self.chance(0.08) else self.rng.choice(VALUES[kind])

    def anything(self) -> str:
        return self.leaf("any")

    def case(self, kind: str, depth: int) -> str:
        one, other = self.value(kind, depth), self.value(kind, depth)
        return (
            f"CASE WHEN {self.bool(depth)} THEN"
            f" {one}{f' ELSE {other}' if self.chance(0.7) else ''} END"
        )

    def int(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.leaf("int")
        deep = depth - 1
        pick = self.rng.randrange(14)
        paths, walks = self.of("path"), self.of("edges")
        if pick < 4:
            return f"({self.int(deep)} {self.rng.choice('+-*')} {self.int(deep)})"
        if pick == 4:
            return f"({self.int(deep)} {self.rng.choice(('/ 2', '% 3', '/ -3', '% -2'))})"
        if pick == 5:
            return f"-{self.leaf('int')}" if self.chance(0.5) else f"abs({self.int(deep)})"
        if pick == 6:
            return f"size({self.ints(deep) if self.chance(0.5) else self.str(deep)})"
        if pick == 7:
            return (
                f"length({self.rng.choice(paths)})"
                if paths
                else f"size({self.rng.choice(walks)})"
                if walks
                else f"sign({self.int(deep)})"
            )
        if pick == 8:
            return (
                f"toInteger({self.rng.choice((self.float(deep), self.str(deep), self.int(deep)))})"
            )
        if pick == 9:
            return f"coalesce({self.int(deep)}, {self.int(deep)})"
        if pick == 10:
            return f"{self.rng.choice(('head', 'last'))}({self.ints(deep)})"
        if pick == 11:
            places = (
                "0",
                "1",
                "-1",
                "5",
                *((self.leaf("int"),) if self.dialect.has("computed places") else ()),
            )
            return f"{self.ints(0)}[{self.rng.choice(places)}]"
        if pick == 12:
            return f"reduce(t = 0, x IN {self.ints(deep)} | t + x)"
        return self.case("int", deep)

    def float(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.leaf("float")
        deep = depth - 1
        pick = self.rng.randrange(6)
        if pick == 0:
            return (
                f"({self.float(deep)} {self.rng.choice('+-*')}"
                f" {self.float(deep) if self.chance(0.5) else self.int(deep)})"
            )
        if pick == 1:
            return f"({self.float(deep)} / 2.0)"
        if pick == 2:
            last = "round" if self.dialect.has("rounding a tie") else "abs"
            return f"{self.rng.choice(('ceil', 'floor', last, 'abs'))}({self.float(deep)})"
        if pick == 3:
            return f"toFloat({self.int(deep)})"
        if pick == 4:
            return f"coalesce({self.float(deep)}, {self.float(deep)})"
        return self.case("float", deep)

    def str(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.leaf("str")
        deep = depth - 1
        edges = self.of("edge")
        pick = self.rng.randrange(10)
        if pick < 2:
            other = (
                self.leaf("int")
                if self.chance(0.2) and self.dialect.has("text plus a number")
                else self.str(deep)
            )
            return f"({self.str(deep)} + {other})"
        if pick == 2:
            names = ("toUpper", "toLower", "trim", "lTrim", "rTrim", "reverse")
            return f"{self.rng.choice(names)}({self.str(deep)})"
        if pick == 3:
            return (
                f"substring({self.str(deep)},"
                f" {self.rng.choice('012')}{self.rng.choice(('', ', 1', ', 0'))})"
            )
        if pick == 4:
            return (
                f"{self.rng.choice(('left', 'right'))}({self.str(deep)}, {self.rng.choice('012')})"
            )
        if pick == 5:
            return f"replace({self.str(deep)}, 'a', 'xy')"
        if pick == 6:
            return f"toString({self.int(deep) if self.chance(0.5) else self.bool(deep)})"
        if pick == 7 and edges:
            return f"type({self.rng.choice(edges)})"
        if pick == 8:
            return f"split({self.str(deep)}, 'a')[0]"
        return self.case("str", deep)

    def ints(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.leaf("ints") if self.chance(0.7) else self.rng.choice(LISTS)
        deep = depth - 1
        pick = self.rng.randrange(6)
        if pick == 0:
            return (
                f"range({self.rng.choice('01')},"
                f" {self.rng.choice(('3', '2', '-1'))}{self.rng.choice(('', ', 2'))})"
            )
        if pick == 1:
            return f"({self.ints(deep)} + {self.ints(deep)})"
        if pick == 2:
            return f"{self.rng.choice(('tail', 'reverse'))}({self.ints(deep)})"
        if pick == 3:
            return (
                f"[x IN {self.ints(deep)} WHERE"
                f" {self.rng.choice(('x > 1', 'x IS NOT NULL', 'x <> 2', 'true'))} | x +"
                f" {self.int(0)}]"
            )
        if pick == 4:
            return f"{self.ints(0)}[{self.rng.choice(('0..2', '1..', '..-1', '-2..', '5..7'))}]"
        return f"[{self.int(deep)}, {self.int(deep)}]"

    def bool(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.15):
            return self.leaf("bool")
        deep = depth - 1
        pick = self.rng.randrange(16)
        if pick < 3:
            return f"({self.bool(deep)} {self.rng.choice(('AND', 'OR', 'XOR'))} {self.bool(deep)})"
        if pick == 3:
            return f"(NOT ({self.bool(deep)}))"
        held, self.in_where = self.in_where, False
        text = (
            self.predicate() if pick == 13 and held and self.of("node") else self.test(pick, deep)
        )
        self.in_where = held
        return text

    def predicate(self) -> str:
        nodes = self.of("node")
        left, right = self.rng.choice((("-", "->"), ("<-", "-"), ("-", "-")))
        target = self.rng.choice(("()", "(:A)", "(:B)", f"({self.rng.choice(nodes)})"))
        return f"({self.rng.choice(nodes)}){left}{self.edge_words()}{right}{target}"

    def test(self, pick: int, deep: int) -> str:
        if pick < 7:
            return self.comparison(deep)
        if pick == 7:
            kind = self.rng.choice((*SCALARS, "any"))
            value = (
                self.value(kind, deep)
                if self.dialect.has("minus before IS NULL")
                else f"({self.value(kind, deep)})"
            )
            return f"({value} IS {self.rng.choice(('', 'NOT '))}NULL)"
        if pick == 8:
            return (
                f"{self.int(deep)} IN {self.ints(deep)}"
                if self.chance(0.6)
                else f"{self.str(0)} IN ['a', 'b', {self.leaf('str')}]"
            )
        if pick == 9:
            return (
                f"{self.str(deep)} {self.rng.choice(('STARTS WITH', 'ENDS WITH', 'CONTAINS'))}"
                f" {self.str(0)}"
            )
        if pick == 10:
            return (
                f"{self.rng.choice(('any', 'all', 'none', 'single'))}(x IN {self.ints(deep)} WHERE"
                f" {self.rng.choice(('x > 1', 'x = 1', 'x < 3'))})"
            )
        return self.of_elements(pick, deep)

    def comparison(self, deep: int) -> str:
        if self.chance(0.3):
            op = self.rng.choice(("=", "<>", "<", "<=", ">", ">="))
            return (
                f"{self.anything()} {op}"
                f" {self.rng.choice((self.anything(), self.int(0), self.str(0)))}"
            )
        kind = self.rng.choice(("int", "int", "float", "str", "bool", "ints"))
        op = self.rng.choice(
            ("=", "<>", "<", "<=", ">", ">=") if kind in ("int", "float", "str") else ("=", "<>")
        )
        other = self.rng.choice(("int", "float")) if kind in ("int", "float") else kind
        text = f"{self.value(kind, deep)} {op} {self.value(other, deep)}"
        return (
            f"{text} {self.rng.choice(('<', '<=', '>'))} {self.int(0)}"
            if kind == "int" and op in ("<", "<=", ">") and self.chance(0.15)
            else text
        )

    def of_elements(self, pick: int, deep: int) -> str:
        nodes, edges = self.of("node"), self.of("edge")
        if pick == 11 and nodes:
            return f"{self.rng.choice(nodes)}:{self.rng.choice(LABELS)}"
        if pick == 12 and len(nodes) > 1:
            return (
                f"{self.rng.choice(nodes)} {self.rng.choice(('=', '<>'))} {self.rng.choice(nodes)}"
            )
        if pick == 14 and nodes and self.dialect.subqueries:
            node, inner = self.rng.choice(nodes), f"x.a > {self.int(0)}"
            if self.chance(0.5):
                return f"EXISTS {{ MATCH ({node})-{self.edge_words()}->(x) WHERE {inner} }}"
            return (
                f"COUNT {{ ({node})-{self.edge_words()}-(x) WHERE {inner} }}"
                f" {self.rng.choice(('> 0', '= 1', '< 2'))}"
            )
        if pick == 15 and edges:
            return (
                f"type({self.rng.choice(edges)}) {self.rng.choice(('=', '<>'))}"
                f" '{self.rng.choice(TYPES)}'"
            )
        return self.comparison(deep)
