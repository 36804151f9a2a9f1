"""Parse commands on retention policies.

CREATE [OR REPLACE] RETENTION POLICY [IF NOT EXISTS] name FOR target [IN PROJECT 'p']
    KEEP span [, span …]
DROP RETENTION POLICY name [IF EXISTS]

target   (v)   (v:A)   ()-[v]-()   ()-[v:TYPE]-()
span     PAST count unit | LOG PAYLOADS count unit | ACCESSES count unit
unit     SECONDS | MINUTES | HOURS | DAYS | WEEKS
"""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.cypher.errors import fail
from doxa.cypher.policy_commands import PolicyParser

_PARTS = {"PAST": "past", "LOG": "log", "ACCESSES": "accesses"}
_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400, "WEEK": 604_800}
_SPAN_MAX_S = 9_000_000_000  # 285 years: as nanoseconds it fits 64 bits


class RetentionParser(PolicyParser):
    def retention_command(self) -> t.Clause | None:
        """Parse one command; None if the text is something else."""
        words = 3 if self.is_word("CREATE", "OR", "REPLACE") else 1
        if not (self.is_word("CREATE") or self.is_word("DROP")) or (
            self.ahead(words).upper != "RETENTION" or self.ahead(words + 1).upper != "POLICY"
        ):
            return None
        at = self.token.at
        if self.take_word("DROP"):
            self.need_word("RETENTION", "POLICY")
            present = self.take_word("IF", "EXISTS")
            name = self._policy_name()
            return t.DropRetention(name, self.take_word("IF", "EXISTS") or present, at=at)
        self.need_word("CREATE")
        replace = self.take_word("OR", "REPLACE")
        self.need_word("RETENTION", "POLICY")
        name, absent = self._policy_name_and_absent(replace=replace)
        target = self._policy_target()
        project: str | t.ParameterRef | None = None
        if self.take_word("IN"):
            self.need_word("PROJECT")
            project = self._policy_name("a project")
        self.need_word("KEEP")
        return t.CreateRetention(name, target, project, self._spans(), replace, absent, at=at)

    def _spans(self) -> tuple[tuple[str, int], ...]:
        found: dict[str, int] = {}
        while True:
            token = self.token
            part = _PARTS.get(token.upper if token.kind == "NAME" else "")
            if part is None:
                self.unexpected("PAST, LOG PAYLOADS or ACCESSES")
            assert part is not None
            self.take()
            if part == "log":
                self.need_word("PAYLOADS")
            if part in found:
                fail(f"{token.upper} is given twice.", token.at, hint="Keep one of them.")
            found[part] = self._span()
            if not self.take_op(","):
                return tuple(found.items())

    def _span(self) -> int:
        """Parse a count and a unit into seconds."""
        token = self.token
        if token.kind != "INT":
            self.unexpected("a whole number")
        self.take()
        assert isinstance(token.value, int)
        unit = self.token.upper.removesuffix("S") if self.token.kind == "NAME" else ""
        if unit not in _UNITS:
            self.unexpected("SECONDS, MINUTES, HOURS, DAYS or WEEKS")
        self.take()
        seconds = token.value * _UNITS[unit]
        if seconds > _SPAN_MAX_S:
            fail("A span is at most 285 years.", token.at, hint="Leave it out to keep all.")
        return seconds
