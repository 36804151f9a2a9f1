"""The gate of a rule lets through every text in which the rule finds something."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.redaction.redact import may_hold_secret, redact
from doxa.redaction.rules import PERSONAL, SECRETS, RedactionRule

RULES = SECRETS + PERSONAL
GATED = [rule for rule in RULES if rule.gate]


def is_let_through(rule: RedactionRule, text: str) -> bool:
    options = re2.Options()
    options.case_sensitive = False
    return re2.compile(rule.gate, options).search(text) is not None


@pytest.mark.parametrize("rule", GATED, ids=lambda rule: rule.kind)
def test_what_a_rule_finds_passes_its_own_gate(rule: RedactionRule) -> None:
    @settings(max_examples=60, deadline=None)
    @given(
        st.from_regex(rule.pattern.pattern),
        st.sampled_from(["", "x ", "é", "\n", "ü: ", "session cookie key "]),
    )
    def every_text(text: str, before: str) -> None:
        whole = f"{before}{text}"
        hinted = any(hint in whole.lower() for hint in rule.hints)
        if hinted and next(iter(rule.find(whole)), None) is not None:
            assert is_let_through(rule, whole)

    every_text()
    for example in rule.examples:
        assert is_let_through(rule, example.replace("«", "").replace("»", ""))


def test_an_exhausted_engine_leaves_every_rule_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What RE2 did not answer is not taken for an answer."""

    class Exhausted:
        def Match(self, data: bytes) -> None:
            return None

    monkeypatch.setattr("doxa.redaction.redact._gates", lambda pii: Exhausted())
    secret = f"ghp_{'a1B2c3D4e5F6' * 3}"
    assert may_hold_secret("nothing at all")
    assert redact(f"the key is {secret} today").findings


def test_the_fields_of_an_exchange_are_no_reason_to_look() -> None:
    """Names of properties stand before a colon in what the store looks at."""
    fields = "session:\nsession_1\nspeaker:\nMaria\nsource_id:\nD1:3\nthread:\nkref://a/b.thread"
    assert not may_hold_secret(fields)
