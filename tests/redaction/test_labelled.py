"""Of labelled secrets most are found, and ordinary lines stay as they are. The figures stand in
docs/internals/redaction.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.redaction.redact import redact
from tests.redaction.labelled import Sample, lines, samples

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "redaction.md"
FITTED, UNSEEN = ("secrets.txt", "secrets_second.txt"), "secrets_unseen.txt"
FRESH = "secrets_fresh.txt"
_KINDS = {UNSEEN: "rare_forms", FRESH: "other_forms"}
ORDINARY = ("secrets_ordinary.txt", "secrets_ordinary_second.txt", "secrets_ordinary_fresh.txt")


def is_found(sample: Sample) -> bool:
    """Whether nothing of a secret is left: neither all of it nor its middle."""
    text = redact(sample.text).text
    return not any(
        secret in text or (len(secret) > 12 and secret[4:-4] in text) for secret in sample.secrets
    )


@pytest.mark.parametrize(("names", "least"), [(FITTED, 0.95), ((UNSEEN,), 0.75), ((FRESH,), 0.5)])
def test_secrets_are_found(
    names: tuple[str, ...], least: float, tally: Callable[..., None]
) -> None:
    held = [sample for name in names for sample in samples(name)]
    found = sum(map(is_found, held))
    kind = _KINDS.get(names[0], "secrets")
    tally(**{kind: len(held), f"{kind}_found": found})
    assert found / len(held) >= least
    assert f"{found} of {len(held)}" in PAGE.read_text("utf-8")


def test_there_are_enough_of_both() -> None:
    assert sum(len(samples(name)) for name in FITTED) >= 300
    assert sum(len(lines(name)) for name in ORDINARY) >= 300
    assert all(sample.secrets for name in (*FITTED, UNSEEN, FRESH) for sample in samples(name))


def test_ordinary_lines_are_kept(tell: Callable[[str], None], tally: Callable[..., None]) -> None:
    held = [line for name in ORDINARY for line in lines(name)]
    changed = [line for line in held if redact(line).findings]
    tell(f"changed: {changed}")
    tally(ordinary_lines=len(held), ordinary_lines_changed=len(changed))
    assert len(changed) / len(held) <= 0.01
    assert f"{len(changed)} of {len(held)}" in PAGE.read_text("utf-8")
