"""The gate of a rule lets through every text in which the rule finds something, alone and among
others; a text that no gate lets through is not looked at further."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doxa.redaction import assignments, near_names
from doxa.redaction.redact import may_hold_secret, redact, redact_named
from doxa.redaction.rules import PERSONAL, SECRETS, RedactionRule

RULES = SECRETS + PERSONAL
GATED = [rule for rule in RULES if rule.gate]
BEFORE = [
    "",
    "x ",
    "DB_",
    "my_",
    "é",
    "client",
    "--",
    "/",
    "run --v2",
    "-",
    "session cookie ",
    "\n",
]
AFTER = ["", " ", "\n", "; x", "-9", " for staging", "=q7Zr2Kx9Lw4Tn8Vb3Yd6"]
SIGNS = [
    "=",
    ": ",
    " := ",
    " is ",
    " ",
    "  ",
    ">",
    '" , "',
    '" value="',
    " rotated today: ",
    "",
    " to ",
]
VALUES = [
    "hunter2hunter2",
    "q7Zr2Kx9Lw4Tn8Vb3Yd6",
    "abc12345x9Q7",
    "stg-live-v2-q7Zr2Kx9Lw4Tn8Vb3Yd6",
    '"correct horse battery"',
    "9a3F71c04be2d85f",
]


@cache
def gate_of(rule: RedactionRule) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    return re2.compile(rule.gate, options)


def finding_rules(text: str) -> Iterator[RedactionRule]:
    lowered = text.lower()
    for rule in GATED:
        hinted = any(hint in lowered for hint in rule.hints)
        if hinted and next(iter(rule.find(text)), None) is not None:
            yield rule


@pytest.mark.parametrize("rule", GATED, ids=lambda rule: rule.kind)
def test_what_a_rule_finds_passes_its_own_gate(rule: RedactionRule) -> None:
    @settings(max_examples=40, deadline=None)
    @given(st.from_regex(rule.pattern.pattern), st.sampled_from(BEFORE), st.sampled_from(AFTER))
    def every_text(text: str, before: str, after: str) -> None:
        for found in finding_rules(f"{before}{text}{after}"):
            plain = f"{before}{text}{after}".translate(str.maketrans("ıİ", "ii"))
            assert gate_of(found).search(plain) is not None

    every_text()
    for one in rule.examples:
        assert gate_of(rule).search(one.replace("«", "").replace("»", "")) is not None


NAMES = st.from_regex(rf"(?i:{assignments._NAME})", fullmatch=True) | st.from_regex(
    near_names.NAMED.pattern, fullmatch=True
)


@settings(max_examples=600, deadline=None)
@given(
    st.sampled_from(BEFORE),
    NAMES,
    st.sampled_from(SIGNS),
    st.sampled_from(VALUES),
    st.sampled_from(AFTER),
)
@example("my_", "pw", ": ", "hunter2!x", "")
@example("run --v2", "token", " ", "abc12345x9Q7", "")
@example("pass /", "secret", " ", "abc12345x9Q7r", "")
@example("", "token", "", "9a3F71c04be2d85f", "")
@example("", "credentıals", "=", "abcd1234efgh5678", "")
@example("--", "secret_key", " ", "q7Zr2Kx9Lw4Tn8Vb3Yd6", "")
@example("The ", "token", " for the new staging gateway is: ", VALUES[3], "")
def test_a_value_at_the_name_of_a_secret_passes(
    before: str, name: str, sign: str, value: str, after: str
) -> None:
    text = f"{before}{name}{sign}{value}{after}"
    for rule in finding_rules(text):
        assert gate_of(rule).search(text.translate(str.maketrans("ıİ", "ii"))) is not None
        assert redact(text, pii=rule in PERSONAL).findings


@pytest.mark.parametrize("answer", [None, []])
def test_an_exhausted_engine_leaves_every_rule_to_look(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    """What RE2 did not answer is not taken for an answer."""

    class Exhausted:
        def Match(self, data: bytes) -> object:
            return answer

    monkeypatch.setattr("doxa.redaction.redact._gates", lambda pii: Exhausted())
    secret = f"ghp_{'a1B2c3D4e5F6' * 3}"
    assert may_hold_secret("nothing at all")
    assert redact(f"the key is {secret} today").findings


def test_the_fields_of_an_exchange_are_no_reason_to_look() -> None:
    """Names of properties stand before a colon in what the store looks at."""
    fields = "session:\nsession_1\nspeaker:\nMaria\nsource_id:\nD1:3\nthread:\nkref://a/b.thread"
    assert not may_hold_secret(fields)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://an\ud800a:hunter2@db.example.org",
        f"\u0131abcdefghij_{'a1B2c3D4e5F6g7H8' * 2}",
        "--secret access key q7Zr2Kx9Lw4Tn8Vb3Yd6",
        "/private_key q7Zr2Kx9Lw4Tn8Vb3Yd6",
    ],
)
def test_what_stands_beside_odd_characters_is_found(text: str) -> None:
    assert redact(text).findings


@pytest.mark.parametrize("name", ["api_key_value", "token-value", "token for staging"])
def test_a_name_that_holds_that_of_a_secret_makes_its_value_one(name: str) -> None:
    assert redact_named(name, "q7Zr2Kx9Lw4Tn8Vb3Yd6").findings
    assert not redact_named(name, "nothing").findings
