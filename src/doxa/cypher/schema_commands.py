"""Parse schema commands: CREATE, DROP and SHOW of indexes and constraints, and SHOW of functions,
procedures, databases, settings and policies.

    CREATE [RANGE|TEXT|POINT|FULLTEXT|VECTOR] INDEX [name] [IF NOT EXISTS]
        FOR (n:L) ON (n.a, n.b) | FOR ()-[r:T]-() ON (r.a)
    CREATE FULLTEXT INDEX name FOR (n:A|B) ON EACH [n.a, n.b]
    CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR (n:L) REQUIRE
        n.a IS UNIQUE | (n.a, n.b) IS [NODE|RELATIONSHIP] KEY | n.a IS NOT NULL
        | n.a IS :: TYPE | n.a IN [...] | (n.key, n.from, n.to) IS TEMPORAL [NO OVERLAP]
    CREATE CONSTRAINT ... FOR ()-[r:T]->() REQUIRE MAX COUNT n
        the arrow selects the node whose relationships are counted
    CREATE CONSTRAINT ... FOR (:A)-[r:T]->(:B) REQUIRE ALLOWED | DISALLOWED
"""

from __future__ import annotations

from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.clauses import ClauseParser
from doxa.cypher.errors import fail

_INDEX_KINDS = ("RANGE", "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR", "BTREE")
_SHOWN = ("FUNCTIONS", "PROCEDURES", "DATABASES", "SETTINGS", "CONSTRAINTS", "INDEXES")
_POLICIES = ("DECAY PROFILES", "PROMOTION PROFILES", "PROMOTION POLICIES", "RETENTION POLICIES")


class SchemaParser(ClauseParser):
    def schema_command(self) -> t.Clause | None:
        """Parse a schema command; None if the text is a query."""
        if self.is_word("CREATE"):
            after = self.ahead()
            if (
                after.upper in _INDEX_KINDS and self.ahead(2).upper == "INDEX"
            ) or after.upper == "INDEX":
                return self._create_index()
            if after.upper == "CONSTRAINT":
                return self._create_constraint()
        if self.is_word("DROP"):
            return self._drop()
        if self.is_word("SHOW"):
            return self._show()
        if self.is_word("TERMINATE"):
            at = self.take().at
            self.need_transactions()
            return self._shown_rows("terminated_transactions", self._ids(least=1), at)
        return None

    def _create_index(self) -> t.Clause:
        at = self.need_word("CREATE").at
        kind = "range"
        if not self.is_word("INDEX"):
            kind = self.take().upper.lower()
        self.need_word("INDEX")
        name, absent = self._name_and_absent()
        self.need_word("FOR")
        edge, variable, names, _ = self._target_pattern()
        self.need_word("ON")
        if kind == "lookup":
            fail(
                "Lookup indexes on labels and types always exist here.",
                at,
                detail="NotSupported",
                hint="Leave this command out.",
            )
        properties = (
            self._each(variable) if self.take_word("EACH") else self._properties_of(variable)
        )
        options = self.expression() if self.take_word("OPTIONS") else None
        target = t.SchemaTarget(edge, variable, names, properties, at=at)
        return t.CreateIndex(
            "range" if kind == "btree" else kind, name, target, absent, options, at=at
        )

    def _name_and_absent(self) -> tuple[str | t.ParameterRef | None, bool]:
        name: str | t.ParameterRef | None = None
        if self.token.kind == "PARAMETER":
            name = self._rule_name()
        elif self.token.kind == "QUOTED" or (
            self.token.kind == "NAME" and not self.is_word("IF") and not self.is_word("FOR")
        ):
            name = self.dotted("a name")
        return name, self.take_word("IF", "NOT", "EXISTS")

    def _rule_name(self) -> str | t.ParameterRef:
        if self.token.kind != "PARAMETER":
            return self.dotted("a name")
        token = self.take()
        return t.ParameterRef(token.text, at=token.at)

    def _target_pattern(self) -> tuple[bool, str, tuple[str, ...], t.PathPattern]:
        """(n:A|B) or ()-[r:T]-(): is it an edge, the variable, the labels or types, the pattern."""
        pattern = self.path_pattern()
        if len(pattern.elements) == 1:
            element: Any = pattern.elements[0]
            labels = element.labels
        elif len(pattern.elements) == 3 and isinstance(pattern.elements[1], t.EdgePattern):
            element = pattern.elements[1]
            labels = element.types
        else:
            fail(
                "A schema rule is about one node or one relationship: (n:Label) or ()-[r:TYPE]-().",
                pattern.at,
            )
        parts = labels.items if isinstance(labels, t.LabelOr) else (labels,)
        names = tuple(item.name for item in parts if isinstance(item, t.LabelName))
        if len(names) != len(parts):
            fail("A schema rule names its label or type: (n:Label) or ()-[r:TYPE]-().", pattern.at)
        return len(pattern.elements) == 3, element.variable or "", names, pattern

    def _properties_of(self, variable: str) -> tuple[str, ...]:
        """(n.a, n.b) or n.a."""
        if not self.take_op("("):
            return (self._property_of(variable),)
        found = [self._property_of(variable)]
        while self.take_op(","):
            found.append(self._property_of(variable))
        self.need_op(")")
        return tuple(found)

    def _each(self, variable: str) -> tuple[str, ...]:
        self.need_op("[")
        found = [self._property_of(variable)]
        while self.take_op(","):
            found.append(self._property_of(variable))
        self.need_op("]")
        return tuple(found)

    def _property_of(self, variable: str) -> str:
        token = self.token
        if self.name("a property of the variable") != variable or not variable:
            fail(
                f"{token.text} is not the variable of this rule.",
                token.at,
                detail="UndefinedVariable",
                hint=f"Use {variable or 'a variable'}.",
            )
        self.need_op(".")
        return self.name("a property")

    def _create_constraint(self) -> t.Clause:
        at = self.need_word("CREATE").at
        self.need_word("CONSTRAINT")
        name, absent = self._name_and_absent()
        self.need_word("FOR")
        edge, variable, names, pattern = self._target_pattern()
        if len(names) > 1:
            fail(
                "A constraint is about one label or type.", pattern.at, hint="Create one for each."
            )
        self.need_word("REQUIRE")
        kind, properties, detail = self._requirement(edge, variable, pattern)
        options = self.expression() if self.take_word("OPTIONS") else None
        target = t.SchemaTarget(edge, variable, names, properties, at=at)
        return t.CreateConstraint(kind, name, target, absent, detail, options, at=at)

    def _requirement(
        self, edge: bool, variable: str, pattern: t.PathPattern
    ) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
        if edge and self.take_word("MAX", "COUNT"):
            middle: Any = pattern.elements[1]
            if middle.direction == "both":
                fail(
                    "A cardinality needs an arrow: it says whose relationships are counted.",
                    pattern.at,
                    hint="Write ()-[r:T]->().",
                )
            return (
                "cardinality",
                (),
                ("out" if middle.direction == "out" else "in", self.whole_number()),
            )
        if edge and (self.is_word("ALLOWED") or self.is_word("DISALLOWED")):
            return "endpoints", (), (self.take().upper == "ALLOWED", *self._endpoints(pattern))
        properties = self._properties_of(variable)
        if self.take_word("IN"):
            return "values", properties, (self.expression(),)
        if self.take_op("::"):
            return "type", properties, (self.type_name(),)
        self.need_word("IS")
        if (
            self.take_word("UNIQUE")
            or self.take_word("NODE", "UNIQUE")
            or self.take_word("RELATIONSHIP", "UNIQUE")
        ):
            return "unique", properties, ()
        if (
            self.take_word("NODE", "KEY")
            or self.take_word("RELATIONSHIP", "KEY")
            or self.take_word("REL", "KEY")
            or self.take_word("KEY")
        ):
            return "key", properties, ()
        if self.take_word("NOT", "NULL"):
            return "exists", properties, ()
        if self.take_op("::") or self.take_word("TYPED"):
            return "type", properties, (self.type_name(),)
        if self.take_word("TEMPORAL"):
            self.take_word("NO", "OVERLAP")
            if len(properties) < 3:
                fail(
                    "A temporal rule names its key, its start and its end: (n.key, n.from, n.to).",
                    pattern.at,
                )
            return "temporal", properties, ()
        self.unexpected("UNIQUE, NODE KEY, NOT NULL, :: TYPE or TEMPORAL NO OVERLAP")
        raise AssertionError

    def _endpoints(self, pattern: t.PathPattern) -> tuple[str, str]:
        first, middle, last = pattern.elements
        assert (
            isinstance(first, t.NodePattern)
            and isinstance(middle, t.EdgePattern)
            and isinstance(last, t.NodePattern)
        )
        if (
            middle.direction == "both"
            or not isinstance(first.labels, t.LabelName)
            or not isinstance(last.labels, t.LabelName)
        ):
            fail("Allowed endpoints are written as (:A)-[r:T]->(:B).", pattern.at)
        ends = (first.labels.name, last.labels.name)
        return ends if middle.direction == "out" else (ends[1], ends[0])

    def _drop(self) -> t.Clause:
        at = self.need_word("DROP").at
        what = self.take().upper
        if what not in ("INDEX", "CONSTRAINT"):
            fail(
                "Only an INDEX, a CONSTRAINT, a DECAY PROFILE, a PROMOTION PROFILE or a PROMOTION"
                " POLICY can be dropped here.",
                at,
            )
        name = self._rule_name()
        return t.DropSchema(what, name, self.take_word("IF", "EXISTS"), at=at)  # type: ignore[arg-type]

    # SHOW

    def _show(self) -> t.Clause:
        at = self.need_word("SHOW").at
        what, detail = self._shown()
        return self._shown_rows(what, detail, at)

    def _shown_rows(self, what: str, detail: tuple[Any, ...], at: int) -> t.Clause:
        yields = where = returns = None
        if self.take_word("YIELD"):
            yields = self.projection()
            if self.take_word("WHERE"):
                where = self.expression()
            if self.take_word("RETURN"):
                returns = self.projection()
        elif self.take_word("WHERE"):
            where = self.expression()
        return t.Show(what, detail, yields, where, returns, at=at)

    def need_transactions(self) -> None:
        if not self.take_word("TRANSACTION"):
            self.need_word("TRANSACTIONS")

    def _ids(self, *, least: int) -> tuple[t.Expression, ...]:
        """Parse ids of transactions: texts, lists of texts or parameters."""
        ended = self.token.kind == "END" or self.is_op(";")
        if not least and (ended or self.is_word("YIELD") or self.is_word("WHERE")):
            return ()
        found = [self.expression()]
        while self.take_op(","):
            found.append(self.expression())
        return tuple(found)

    def _shown(self) -> tuple[str, tuple[Any, ...]]:
        if self.take_word("CURRENT", "USER"):
            return "current_user", ()
        if self.is_word("TRANSACTION") or self.is_word("TRANSACTIONS"):
            self.need_transactions()
            return "transactions", self._ids(least=0)
        for what in _POLICIES:
            first, second = what.split()
            if self.take_word(first, second) or self.take_word(
                first, "POLICY" if second == "POLICIES" else "PROFILE"
            ):
                return what.lower().replace(" ", "_"), ()
        words: list[str] = []
        while self.token.kind == "NAME" and not self.is_word("YIELD") and not self.is_word("WHERE"):
            words.append(self.take().upper)
            plural = (
                words[-1]
                if words[-1].endswith("S")
                else "INDEXES"
                if words[-1] == "INDEX"
                else words[-1] + "S"
            )
            if plural in _SHOWN:
                rest = tuple(word for word in words[:-1] if word != "ALL")
                if words[-1] == "DATABASE" or (
                    plural == "DATABASES"
                    and self.token.kind in ("NAME", "QUOTED")
                    and not self.is_word("YIELD")
                ):
                    ended = self.is_word("WHERE") or self.is_word("YIELD")
                    rest = (
                        (self.name("a database"),)
                        if not ended and self.token.kind in ("NAME", "QUOTED")
                        else rest
                    )
                if plural in ("FUNCTIONS", "PROCEDURES") and self.take_word("EXECUTABLE"):
                    self.take_word("BY", "CURRENT", "USER")
                return plural.lower(), rest
        fail(
            "There is nothing of this name to show.",
            self.token.at,
            hint=f"SHOW takes {', '.join((*_SHOWN, *_POLICIES, 'TRANSACTIONS', 'CURRENT USER'))}.",
        )
