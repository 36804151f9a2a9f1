"""Parse expressions by binding power: OR 1, XOR 2, AND 3, NOT 4, comparisons 5, text, list and null
tests 6, + - || 7, * / % 8, ^ 9, signs 10.

The power operator groups from the left and signs bind tighter, as in the openCypher 9 grammar:
-2 ^ 2 is 4.
"""

from __future__ import annotations

from doxa.base.limits import EXPRESSION_ITEMS_MAX
from doxa.cypher import tree as t
from doxa.cypher.cursor import Cursor
from doxa.cypher.errors import Problem, fail

_COMPARE = ("=", "<>", "<", "<=", ">", ">=")
_BINARY = {"+": 7, "-": 7, "||": 7, "*": 8, "/": 8, "%": 8, "^": 9}
_LOGIC = {"OR": 1, "XOR": 2, "AND": 3}
_QUANTIFIERS = ("ALL", "ANY", "NONE", "SINGLE")
_TYPE_WORDS = {
    "BOOL": "BOOLEAN",
    "INT": "INTEGER",
    "VARCHAR": "STRING",
    "TIMESTAMP": "ZONED DATETIME",
}


class ExpressionParser(Cursor):
    def expression(self, least: int = 0) -> t.Expression:
        with self.deeper():
            left = self._prefix(least)
            length = 0
            while True:
                grown = self._grow(left, least)
                if grown is None:
                    return left
                left = grown
                length += 1
                if length > EXPRESSION_ITEMS_MAX:
                    fail(
                        "This expression chains too many operators.",
                        self.token.at,
                        detail="NestingTooDeep",
                        hint="Use a list and reduce().",
                    )

    def _prefix(self, least: int) -> t.Expression:
        token = self.token
        if token.upper == "NOT" and least <= 4:
            self.take()
            return t.Negation(self.expression(4), at=token.at)
        if token.kind == "OP" and token.text in "+-":
            self.take()
            after = self.token
            if (
                token.text == "-"
                and after.kind in ("INT", "FLOAT")
                and not (after.kind == "INT" and self.ahead().text in (".", "["))
            ):
                self.take()
                assert isinstance(after.value, (int, float))
                return self._postfix(t.Literal(-after.value, at=token.at))
            return t.Sign("-" if token.text == "-" else "+", self.expression(10), at=token.at)
        return self._postfix(self._atom())

    def _grow(self, left: t.Expression, least: int) -> t.Expression | None:
        """Parse one more operator to the right, or return None."""
        token = self.token
        if token.kind == "OP":
            if token.text in _BINARY and least < _BINARY[token.text]:
                if token.value is not None:
                    fail(
                        f"{token.value} is not a minus sign.",
                        token.at,
                        detail="InvalidUnicodeCharacter",
                        hint="Write -.",
                    )
                self.take()
                return t.Arithmetic(
                    token.text, left, self.expression(_BINARY[token.text]), at=token.at
                )
            if token.text in _COMPARE and least < 5:
                return self._comparison(left)
            if token.text == "=~" and least < 6:
                self.take()
                return t.TextTest("=~", left, self.expression(6), at=token.at)
            if token.text == "::" and least < 6:
                self.take()
                return t.IsType(left, self.type_name(), at=token.at)
            if token.text == "!=":
                fail(
                    "!= is not an operator of Cypher.",
                    token.at,
                    detail="InvalidComparisonOperator",
                    hint="Write <>.",
                )
            return None
        if token.kind != "NAME":
            return None
        if token.upper in _LOGIC and least < _LOGIC[token.upper]:
            return self._logic(left)
        return self._word_test(left) if least < 6 else None

    def _logic(self, left: t.Expression) -> t.Expression:
        op = self.token.upper
        at = self.token.at
        items = [left]
        while self.take_word(op):
            items.append(self.expression(_LOGIC[op]))
        assert op in ("AND", "OR", "XOR")
        return t.Logic(op, tuple(items), at=at)  # type: ignore[arg-type]

    def _comparison(self, left: t.Expression) -> t.Expression:
        at = self.token.at
        operands, ops = [left], []
        while self.token.kind == "OP" and self.token.text in _COMPARE:
            ops.append(self.take().text)
            operands.append(self.expression(5))
        return t.Comparison(tuple(operands), tuple(ops), at=at)

    def _word_test(self, left: t.Expression) -> t.Expression | None:
        token = self.token
        for first in ("STARTS", "ENDS"):
            if self.take_word(first, "WITH"):
                return t.TextTest(
                    "STARTS WITH" if first == "STARTS" else "ENDS WITH",
                    left,
                    self.expression(6),
                    at=token.at,
                )
        if self.take_word("CONTAINS"):
            return t.TextTest("CONTAINS", left, self.expression(6), at=token.at)
        if self.take_word("IN"):
            return t.In(left, self.expression(6), at=token.at)
        if self.take_word("IS"):
            negated = self.take_word("NOT")
            if self.take_word("NULL"):
                return t.IsNull(left, negated, at=token.at)
            if self.take_op("::") or self.take_word("TYPED"):
                return t.IsType(left, self.type_name(), negated, at=token.at)
            labels = t.HasLabels(left, self.label_expression(), at=token.at)
            return t.Negation(labels, at=token.at) if negated else labels
        return None

    def type_name(self) -> str:
        """Parse a Cypher type (5) and return it normalised: INTEGER, LIST<STRING NOT NULL>, INTEGER
        | FLOAT."""
        words = [self.name("a type").upper()]
        words[0] = _TYPE_WORDS.get(words[0], words[0])
        if words[0] in ("ZONED", "LOCAL"):
            words.append(self.name("TIME or DATETIME").upper())
        elif words[0] == "TIMESTAMP" or (words[0] == "PROPERTY" and self.take_word("VALUE")):
            words.append("VALUE")
        elif words[0] == "ANY" and self.take_word("VALUE"):
            pass
        text = " ".join(words)
        if self.take_op("<"):
            text += f"<{self.type_name()}>"
            self.need_op(">")
        if self.take_word("NOT", "NULL") or self.take_op("!"):
            text += " NOT NULL"
        if not self.bar_ends and self.take_op("|"):
            text += f" | {self.type_name()}"
        return text

    # After an atom: .name, [index], [from..to], :Label

    def _postfix(self, atom: t.Expression) -> t.Expression:
        length = 0
        while True:
            token = self.token
            length += 1
            if length > EXPRESSION_ITEMS_MAX:
                fail(
                    "This expression chains too many accesses.",
                    token.at,
                    detail="NestingTooDeep",
                    hint="Split it with WITH.",
                )
            if token.kind != "OP":
                return atom
            if token.text == "." and self.ahead().kind in ("NAME", "QUOTED"):
                self.take()
                atom = t.Property(atom, self.name(), at=token.at)
            elif token.text == "[":
                atom = self._index(atom)
            elif (
                token.text == ":"
                and isinstance(atom, (t.Variable, t.Property, t.Index, t.Call, t.ParameterRef))
                and self._label_follows()
            ):
                self.take()
                atom = t.HasLabels(atom, self.label_expression(), at=token.at)
            else:
                return atom

    def _label_follows(self) -> bool:
        after = self.ahead()
        starts = ("!", "%", "(", "$") if self.dynamic_labels else ("!", "%", "(")
        return after.kind in ("NAME", "QUOTED") or (after.kind == "OP" and after.text in starts)

    def _index(self, atom: t.Expression) -> t.Expression:
        at = self.need_op("[").at
        start = None if self.is_op("..") else self.expression()
        if self.take_op(".."):
            end = None if self.is_op("]") else self.expression()
            self.need_op("]")
            return t.Slice(atom, start, end, at=at)
        self.need_op("]")
        assert start is not None
        return t.Index(atom, start, at=at)

    # Label expressions: ! binds tightest, then & and :, then |

    def label_expression(self) -> t.LabelExpression:
        with self.deeper():
            at = self.token.at
            items = [self._label_and()]
            while not self.bar_ends and self.is_op("|"):
                self.take()
                self.take_op(":")  # the old form :A|:B
                items.append(self._label_and())
            return items[0] if len(items) == 1 else t.LabelOr(tuple(items), at=at)

    def _label_and(self) -> t.LabelExpression:
        at = self.token.at
        items = [self._label_not()]
        while self.is_op("&") or (self.is_op(":") and self._label_follows()):
            if self.listed_labels and self.is_op("&"):
                fail(
                    "SET and REMOVE take labels one by one: & is for matching.",
                    self.token.at,
                    hint="Write :A:B.",
                )
            self.take()
            items.append(self._label_not())
        return items[0] if len(items) == 1 else t.LabelAnd(tuple(items), at=at)

    def _label_not(self) -> t.LabelExpression:
        at = self.token.at
        if self.take_op("!"):
            with self.deeper():
                return t.LabelNot(self._label_not(), at=at)
        if self.take_op("%"):
            return t.LabelAny(at=at)
        if self.take_op("("):
            before, self.bar_ends = self.bar_ends, False
            inside = self.label_expression()
            self.bar_ends = before
            self.need_op(")")
            return inside
        if self.dynamic_labels and self.take_op("$"):
            self.need_op("(")
            outside, self.listed_labels = self.listed_labels, False
            of = self.expression()
            self.listed_labels = outside
            self.need_op(")")
            return t.LabelOf(of, at=at)
        return t.LabelName(self.name("a label or type"), at=at)

    # Atoms

    def _atom(self) -> t.Expression:
        token = self.token
        if token.kind in ("INT", "FLOAT", "TEXT"):
            self.take()
            if token.value == 2**63:
                fail("This number does not fit in 64 bits.", token.at, detail="IntegerOverflow")
            return t.Literal(token.value, at=token.at)  # type: ignore[arg-type]
        if token.kind == "MALFORMED":
            hint = "A name cannot begin with a digit; quote it in backticks."
            fail(
                f"{token.text[:40]} is not a number.",
                token.at,
                detail="InvalidNumberLiteral",
                hint=hint,
            )
        if token.kind == "PARAMETER":
            self.take()
            return t.ParameterRef(token.text, at=token.at)
        if token.kind == "OP":
            return self._bracketed(token.text)
        if token.kind == "QUOTED":
            return self._name_or_call()
        if token.kind == "END":
            self.unexpected("an expression")
        return self._word(token.upper)

    def _bracketed(self, opening: str) -> t.Expression:
        at = self.token.at
        if opening == "(":
            pattern = self._try_pattern()
            if pattern is not None:
                return t.PatternTest(pattern, at=at)
            self.take()
            before, self.bar_ends = self.bar_ends, False
            inside = self.expression()
            self.bar_ends = before
            self.need_op(")")
            return inside
        if opening == "[":
            return self._list()
        if opening == "{":
            return self.map_literal()
        self.unexpected("an expression")
        raise AssertionError

    def _word(self, word: str) -> t.Expression:
        token, after = self.token, self.ahead()
        if word in ("TRUE", "FALSE", "NULL") and not (after.kind == "OP" and after.text == "("):
            self.take()
            return t.Literal({"TRUE": True, "FALSE": False, "NULL": None}[word], at=token.at)
        if word == "CASE":
            return self._case()
        opens = after.text if after.kind == "OP" else ""
        if word in ("EXISTS", "COUNT", "COLLECT") and opens == "{":
            return self._subquery(word)
        if opens == "(":
            if (
                word in _QUANTIFIERS
                and self.ahead(2).kind in ("NAME", "QUOTED")
                and self.ahead(3).upper == "IN"
            ):
                return self._quantifier()
            if word == "REDUCE":
                return self._reduce()
            if word in ("SHORTESTPATH", "ALLSHORTESTPATHS"):
                return t.PathValue(self.path_pattern(), at=token.at)
        return self._name_or_call()

    def _name_or_call(self) -> t.Expression:
        """A variable, or a function call with a dotted name."""
        start, at = self.index, self.token.at
        parts = [self.name()]
        while self.is_op(".") and self.ahead().kind in ("NAME", "QUOTED"):
            self.take()
            parts.append(self.name())
        if self.is_op("("):
            return self._call(".".join(parts), at)
        self.index = start + 1
        variable = t.Variable(parts[0], at=at)
        return (
            self._map_projection(variable)
            if self.is_op("{") and self._projection_follows()
            else variable
        )

    def _call(self, name: str, at: int) -> t.Expression:
        self.need_op("(")
        before, self.bar_ends = self.bar_ends, False
        if name.lower() == "count" and self.is_op("*") and self.ahead().text == ")":
            self.take()
            self.take()
            self.bar_ends = before
            return t.Call("count", (), star=True, at=at)
        distinct = self.take_word("DISTINCT")
        if not distinct and self.is_word("ALL") and self.ahead().text not in ("(", ")", ","):
            self.take()
        args: list[t.Expression] = []
        if not self.is_op(")"):
            args.append(self.expression())
            while self.take_op(","):
                args.append(self.expression())
        self.need_op(")")
        self.bar_ends = before
        return t.Call(name, tuple(args), distinct=distinct, at=at)

    def _case(self) -> t.Expression:
        at = self.need_word("CASE").at
        subject = None if self.is_word("WHEN") else self.expression()
        whens: list[tuple[t.Expression, t.Expression]] = []
        while self.take_word("WHEN"):
            tests = [self.expression()]
            while subject is not None and self.take_op(","):
                tests.append(self.expression())
            self.need_word("THEN")
            result = self.expression()
            whens.extend((test, result) for test in tests)
        if not whens:
            self.unexpected("WHEN")
        default = self.expression() if self.take_word("ELSE") else None
        self.need_word("END")
        return t.Case(subject, tuple(whens), default, at=at)

    def _quantifier(self) -> t.Expression:
        token = self.take()
        self.need_op("(")
        variable = self.name("a variable")
        self.need_word("IN")
        source = self.expression()
        if not self.take_word("WHERE"):
            self.unexpected("WHERE")
        where = self.expression()
        self.need_op(")")
        return t.Quantifier(token.text.lower(), variable, source, where, at=token.at)  # type: ignore[arg-type]

    def _reduce(self) -> t.Expression:
        at = self.take().at
        self.need_op("(")
        accumulator = self.name("a variable")
        self.need_op("=")
        initial = self.expression()
        self.need_op(",")
        variable = self.name("a variable")
        self.need_word("IN")
        before, self.bar_ends = self.bar_ends, True
        source = self.expression()
        self.bar_ends = before
        self.need_op("|")
        body = self.expression()
        self.need_op(")")
        return t.Reduce(accumulator, initial, variable, source, body, at=at)

    def map_literal(self) -> t.MapOf:
        at = self.need_op("{").at
        before, self.bar_ends = self.bar_ends, False
        items: list[tuple[str, t.Expression]] = []
        if not self.is_op("}"):
            items.append(self._entry())
            while self.take_op(","):
                items.append(self._entry())
        self.bar_ends = before
        self.need_op("}")
        return t.MapOf(tuple(items), at=at)

    def _entry(self) -> tuple[str, t.Expression]:
        name = self.name("a key")
        self.need_op(":")
        return name, self.expression()

    def _map_projection(self, variable: t.Variable) -> t.Expression:
        at = self.need_op("{").at
        items: list[tuple[str, t.Expression | None]] = []
        while not self.is_op("}"):
            if items:
                self.need_op(",")
            items.append(self._projected(variable))
        self.need_op("}")
        return t.MapProjection(variable, tuple(items), at=at)

    def _projection_follows(self) -> bool:
        """Whether a brace opens a map projection: after a variable, but not in FOREACH, CALL and
        similar clauses."""
        return self.ahead().kind in ("NAME", "QUOTED") or self.ahead().text in (".", "}")

    def _projected(self, variable: t.Variable) -> tuple[str, t.Expression | None]:
        at = self.token.at
        if self.take_op("."):
            if self.take_op("*"):
                return "*", None
            name = self.name("a property")
            return name, t.Property(variable, name, at=at)
        name = self.name("a key, .property or .*")
        if self.take_op(":"):
            return name, self.expression()
        return name, t.Variable(name, at=at)

    # Lists and comprehensions

    def _list(self) -> t.Expression:
        if self.ahead().kind in ("NAME", "QUOTED") and self.ahead(2).upper == "IN":
            return self._list_comprehension()
        comprehension = self._try_pattern_comprehension()
        if comprehension is not None:
            return comprehension
        at = self.need_op("[").at
        before, self.bar_ends = self.bar_ends, False
        items: list[t.Expression] = []
        if not self.is_op("]"):
            items.append(self.expression())
            while self.take_op(","):
                items.append(self.expression())
        self.bar_ends = before
        self.need_op("]")
        return t.ListOf(tuple(items), at=at)

    def _list_comprehension(self) -> t.Expression:
        at = self.need_op("[").at
        variable = self.name()
        self.need_word("IN")
        before, self.bar_ends = self.bar_ends, True
        source = self.expression()
        where = self.expression() if self.take_word("WHERE") else None
        self.bar_ends = False
        projection = self.expression() if self.take_op("|") else None
        self.bar_ends = before
        self.need_op("]")
        return t.ListComprehension(variable, source, where, projection, at=at)

    def _try_pattern_comprehension(self) -> t.Expression | None:
        named = (
            self.ahead().kind in ("NAME", "QUOTED")
            and self.ahead(2).text == "="
            and self.ahead(3).text == "("
        )
        if not named and self.ahead().text != "(":
            return None
        start, at = self.index, self.token.at
        self.take()
        variable = None
        if named:
            variable = self.name()
            self.take()
        pattern = self._try_pattern()
        if pattern is None or not (self.is_op("|") or self.is_word("WHERE")):
            self.index = start
            return None
        if variable:
            pattern = t.PathPattern(pattern.elements, variable, pattern.shortest, at=pattern.at)
        before, self.bar_ends = self.bar_ends, True
        where = self.expression() if self.take_word("WHERE") else None
        self.bar_ends = False
        self.need_op("|")
        projection = self.expression()
        self.bar_ends = before
        self.need_op("]")
        return t.PatternComprehension(pattern, where, projection, at=at)

    def _try_pattern(self) -> t.PathPattern | None:
        """Parse a path pattern with at least one edge, or return None and restore the position."""
        start = self.index
        if start in self.no_pattern:
            return None
        depth, bar = self.depth, self.bar_ends
        try:
            pattern = self.path_pattern()
            if len(pattern.elements) > 1:
                return pattern
        except Problem as problem:
            if problem.detail == "NestingTooDeep":
                raise
        self.no_pattern.add(start)
        self.index, self.depth, self.bar_ends = start, depth, bar
        return None

    def _subquery(self, kind: str) -> t.Expression:
        token = self.take()
        self.need_op("{")
        before, self.bar_ends = self.bar_ends, False
        with self.deeper():
            query = self.query() if self._clause_follows() else self._pattern_query(token.at)
        self.bar_ends = before
        self.need_op("}")
        return t.Subquery(kind, query, at=token.at)  # type: ignore[arg-type]

    def _clause_follows(self) -> bool:
        return (
            self.token.kind == "NAME"
            and self.token.upper
            in (
                "MATCH",
                "OPTIONAL",
                "UNWIND",
                "WITH",
                "RETURN",
                "CALL",
                "USE",
                "CREATE",
                "MERGE",
                "SET",
                "DELETE",
                "DETACH",
                "REMOVE",
                "FOREACH",
                "LOAD",
            )
            and not (self.ahead().kind == "OP" and self.ahead().text == "=")
        )

    def _pattern_query(self, at: int) -> t.Query:
        patterns = self.patterns()
        where = self.expression() if self.take_word("WHERE") else None
        return t.Query(((t.Match(patterns, where, at=at),),), at=at)
