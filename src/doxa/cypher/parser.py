"""Parse a whole statement: EXPLAIN or PROFILE, AS OF, then a query, a schema command or policy
commands. `parse` is the entry point of the package."""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.cypher.clauses import ClauseParser
from doxa.cypher.dash_comments import without_dashes
from doxa.cypher.errors import Problem, explained, fail, too_deep
from doxa.cypher.retention_commands import RetentionParser
from doxa.cypher.schema_commands import SchemaParser
from doxa.cypher.tokens import Tick, no_tick


class Parser(SchemaParser, RetentionParser, ClauseParser):
    def statement(self) -> t.Statement:
        at = self.token.at
        mode = None
        if self.is_word("EXPLAIN") or self.is_word("PROFILE"):
            mode = self.take().upper
        if self.is_word("CYPHER"):
            self._options()
        if mode is None and (self.is_word("EXPLAIN") or self.is_word("PROFILE")):
            mode = self.take().upper
        system = valid = None
        while self.take_word("AS", "OF"):
            if self.take_word("SYSTEM", "TIME"):
                system = self.expression()
            else:
                self.need_word("VALID", "TIME")
                valid = self.expression()
        body = (
            self.policy_commands()
            or self.retention_command()
            or self.schema_command()
            or self.query()
        )
        ended = self.take_op(";")
        if self.token.kind != "END":
            if ended:
                fail(
                    "Only one statement can be run at a time.",
                    self.token.at,
                    hint="Send the statements one after the other.",
                )
            self.unexpected("the end of the query or another clause")
        return t.Statement(body, mode, system, valid, at=at)  # type: ignore[arg-type]

    def _options(self) -> None:
        """Skip planner options of other systems such as CYPHER 5 runtime=…"""
        self.take()
        if self.token.kind in ("INT", "FLOAT"):
            self.take()
        while self.token.kind == "NAME" and self.ahead().text == "=":
            self.take()
            self.take()
            self.take()


def parse(text: str, tick: Tick = no_tick) -> t.Statement:
    """Parse a statement, with a tick for each token and expression. Raises QueryError with line,
    column, excerpt and a hint."""
    try:
        return Parser(without_dashes(text), tick).statement()
    except Problem as problem:
        raise explained(problem, text) from None
    except RecursionError:
        raise too_deep(text) from None


def parse_expression(text: str) -> t.Expression:
    """Parse a single expression, as policies store them. Raises QueryError."""
    try:
        parser = Parser(text)
        found = parser.expression()
        if parser.token.kind != "END":
            parser.unexpected("the end of the expression")
        return found
    except Problem as problem:
        raise explained(problem, text) from None
    except RecursionError:
        raise too_deep(text) from None
