"""Parse path patterns: nodes and edges, variable lengths, quantified patterns, shortest paths."""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.cypher.errors import fail
from doxa.cypher.expressions import ExpressionParser


class PatternParser(ExpressionParser):
    def patterns(self) -> tuple[t.PathPattern, ...]:
        found = [self.path_pattern()]
        while self.take_op(","):
            found.append(self.path_pattern())
        return tuple(found)

    def path_pattern(self) -> t.PathPattern:
        at = self.token.at
        variable = None
        if (
            self.token.kind in ("NAME", "QUOTED")
            and self.ahead().text == "="
            and self.ahead().kind == "OP"
        ):
            variable = self.name()
            self.take()
        if self.is_word("SHORTESTPATH") or self.is_word("ALLSHORTESTPATHS"):
            return self._shortest(variable, at)
        return t.PathPattern(self._elements(), variable, at=at)

    def _shortest(self, variable: str | None, at: int) -> t.PathPattern:
        kind = "one" if self.take().upper == "SHORTESTPATH" else "all"
        self.need_op("(")
        elements = self._elements()
        self.need_op(")")
        if len(elements) != 3 or not isinstance(elements[1], t.EdgePattern):
            fail(
                "A shortest path has two nodes and one relationship pattern between them.",
                at,
                detail="InvalidShortestPath",
            )
        return t.PathPattern(elements, variable, kind, at=at)  # type: ignore[arg-type]

    def _elements(self) -> tuple[t.NodePattern | t.EdgePattern | t.QuantifiedPattern, ...]:
        found: list[t.NodePattern | t.EdgePattern | t.QuantifiedPattern] = [self._part()]
        while True:
            if self._edge_follows():
                edge = self._edge()
                found.append(self._quantified_edge(edge))
                found.append(self._part())
            elif self.is_op("(") and (
                isinstance(found[-1], t.QuantifiedPattern) or self._quantified_follows()
            ):
                found.append(self._part())
            else:
                return tuple(found)

    def _edge_follows(self) -> bool:
        token, after = self.token, self.ahead()
        if token.kind != "OP" or after.kind != "OP":
            return False
        if token.text == "<-":
            return after.text in ("[", "-", "->")
        if token.text == "<":
            return after.text == "-"
        return token.text == "-" and after.text in ("[", "-", "->")

    def _part(self) -> t.NodePattern | t.QuantifiedPattern:
        return self._quantified() if self._quantified_follows() else self._node()

    def _quantified_follows(self) -> bool:
        """((…)-…): a path in parentheses. A second parenthesis cannot begin a node."""
        return self.is_op("(") and (
            self.ahead().text == "(" or (self.ahead(2).text == "=" and self.ahead(3).text == "(")
        )

    def _quantified(self) -> t.QuantifiedPattern:
        at = self.need_op("(").at
        with self.deeper():
            path = self.path_pattern()
            where = self.expression() if self.take_word("WHERE") else None
        self.need_op(")")
        least, most = self._quantity()
        return t.QuantifiedPattern(path, where, least, most, at=at)

    def _quantity(self) -> tuple[int, int | None]:
        if self.take_op("+"):
            return 1, None
        if self.take_op("*"):
            return 0, None
        at = self.need_op("{").at
        least = None if self.is_op(",") else self.whole_number()
        most = least
        if self.take_op(","):
            most = None if self.is_op("}") else self.whole_number()
        self.need_op("}")
        if (most is not None and most < (least or 0)) or most == 0:
            fail(
                "The quantity must be at least 1 and not run backwards.",
                at,
                detail="InvalidQuantifier",
            )
        return least or 0, most

    def _quantified_edge(self, edge: t.EdgePattern) -> t.EdgePattern | t.QuantifiedPattern:
        """-[r]->+ (5) is ((())-[r]->()){1,}: an edge with a length where that is enough."""
        if edge.length is not None or not (
            self.is_op("+")
            or self.is_op("*")
            or (self.is_op("{") and self.ahead().kind in ("INT", "OP"))
        ):
            return edge
        at = self.token.at
        least, most = self._quantity()
        inner = t.PathPattern((t.NodePattern(at=at), edge, t.NodePattern(at=at)), at=at)
        return t.QuantifiedPattern(inner, None, least, most, at=at)

    def _node(self) -> t.NodePattern:
        at = self.need_op("(").at
        before, self.bar_ends = self.bar_ends, False
        variable = None
        if self._named((")", ":", "{")):
            variable = self.name()
        labels = self._labels()
        properties = self._properties()
        where = self.expression() if self.take_word("WHERE") else None
        self.bar_ends = before
        self.need_op(")")
        return t.NodePattern(variable, labels, properties, where, at=at)

    def _named(self, after: tuple[str, ...]) -> bool:
        """Whether a variable follows. WHERE and IS may be variables, depending on the next
        token."""
        if self.token.kind not in ("NAME", "QUOTED"):
            return False
        if self.is_word("WHERE"):
            return self.ahead().text in after
        return not (self.is_word("IS") and self.ahead().kind in ("NAME", "QUOTED"))

    def _labels(self) -> t.LabelExpression | None:
        if self.take_op(":") or self.take_word("IS"):
            return self.label_expression()
        return None

    def _properties(self) -> t.Expression | None:
        if self.token.kind == "PARAMETER":
            token = self.take()
            return t.ParameterRef(token.text, at=token.at)
        return self.map_literal() if self.is_op("{") else None

    def _edge(self) -> t.EdgePattern:
        at = self.token.at
        left = self.take_op("<-")
        if not left and self.take_op("<"):
            left = True
            self.need_op("-")
        elif not left:
            self.need_op("-")
        inside = self._inside_edge(at) if self.is_op("[") else None
        if self.take_op("->"):
            right = True
        else:
            self.need_op("-")
            right = self.take_op(">")
        direction = "both" if left == right else "in" if left else "out"
        if inside is None:
            return t.EdgePattern(direction=direction, at=at)  # type: ignore[arg-type]
        variable, types, length, properties, where = inside
        return t.EdgePattern(variable, types, direction, length, properties, where, at=at)  # type: ignore[arg-type]

    def _inside_edge(
        self, at: int
    ) -> tuple[
        str | None,
        t.LabelExpression | None,
        tuple[int | None, int | None] | None,
        t.Expression | None,
        t.Expression | None,
    ]:
        self.need_op("[")
        before, self.bar_ends = self.bar_ends, False
        variable = None
        if self._named(("]", ":", "{", "*")):
            variable = self.name()
        types = self._labels()
        if self.is_op(".."):
            fail(
                "A length begins with an asterisk.",
                self.token.at,
                detail="InvalidRelationshipPattern",
                hint="Write [:TYPE*1..3].",
            )
        length = self._length() if self.is_op("*") else None
        properties = self._properties()
        where = self.expression() if self.take_word("WHERE") else None
        self.bar_ends = before
        self.need_op("]")
        return variable, types, length, properties, where

    def _length(self) -> tuple[int | None, int | None]:
        at = self.need_op("*").at
        least: int | None = None
        if self.is_op("-"):
            fail("A length cannot be negative.", at, detail="InvalidRelationshipPattern")
        if self.token.kind == "FLOAT":
            fail("A length is a whole number.", at, detail="InvalidRelationshipPattern")
        if self.token.kind == "INT":
            least = self.whole_number()
            if not self.is_op(".."):
                return least, least
        if self.take_op(".."):
            most = self.whole_number() if self.token.kind == "INT" else None
            return least, most
        return None, None
