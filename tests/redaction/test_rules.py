"""Every rule of the table is complete, matches its examples exactly, and leaves its near misses."""

from __future__ import annotations

import pytest

from doxa.redaction.redact import redact
from doxa.redaction.rules import PERSONAL, SECRETS, RedactionRule

RULES = SECRETS + PERSONAL
EXAMPLES = [(rule, text) for rule in RULES for text in rule.examples]
NEAR_MISSES = [(rule, text) for rule in RULES for text in rule.near_misses]


def label(value: object) -> str | None:
    return value.kind if isinstance(value, RedactionRule) else None


@pytest.mark.parametrize("rule", RULES, ids=label)
def test_a_rule_says_what_it_matches_and_where_that_is_documented(rule: RedactionRule) -> None:
    assert rule.kind and rule.kind == rule.kind.lower()
    assert rule.matches and rule.source and rule.examples and rule.near_misses
    assert rule.hints and all(hint == hint.lower() for hint in rule.hints)


@pytest.mark.parametrize(("rule", "text"), EXAMPLES, ids=label)
def test_an_example_is_redacted_and_its_surroundings_are_kept(
    rule: RedactionRule, text: str
) -> None:
    before, rest = text.split("«")
    secret, after = rest.split("»")
    plain = before + secret + after
    assert list(rule.find(plain)) == [(len(before), len(before) + len(secret))]
    assert any(hint in secret.lower() or hint in plain.lower() for hint in rule.hints)
    redaction = redact(plain, pii=rule in PERSONAL)
    assert redaction.text == f"{before}[redacted:{rule.kind}]{after}"
    assert secret not in repr(redaction)


@pytest.mark.parametrize(("rule", "text"), NEAR_MISSES, ids=label)
def test_a_near_miss_is_kept(rule: RedactionRule, text: str) -> None:
    assert list(rule.find(text)) == []


@pytest.mark.parametrize("rule", PERSONAL, ids=label)
def test_personal_data_is_kept_unless_requested(rule: RedactionRule) -> None:
    for example in rule.examples:
        text = example.replace("«", "").replace("»", "")
        assert redact(text).text == text
