"""The properties of many elements, checked, without secrets and encoded, as those of one are.

What takes as long for one text as for many (the search for what may be a secret) is done once for
all. If anything is not as it usually is, they are done one by one, so that the error is that of
the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from doxa.base.errors import DoxaError
from doxa.base.values import Properties, check_properties, encode_properties
from doxa.redaction.redact import may_hold_secret
from doxa.store.intake.secrets import cleaned

Encoded = tuple[Properties, bytes]


def encode_all(
    given: Sequence[Mapping[str, object]], *, owner: str, left_out: list[str]
) -> list[Encoded]:
    """Return the properties of each element with their canonical bytes. The kinds of redacted
    secrets go to `left_out`. Raises as `check_properties`, `cleaned` and `encode_properties` do."""
    try:
        checked = [check_properties(props, owner=owner) for props in given]
        if not may_hold_secret(_texts(checked)):
            return [(props, encode_properties(props, owner=owner)) for props in checked]
    except DoxaError:
        pass
    return [_encoded(props, owner, left_out) for props in given]


def is_kept(names: Iterable[str], texts: Iterable[str]) -> bool:
    """Return whether texts under these names are stored as they are, with nothing redacted."""
    return not may_hold_secret("\n".join([*[f"{name}:" for name in names], *texts]))


def _texts(rows: Sequence[Properties]) -> str:
    """All names and texts, a line each, as `cleaned` looks at them."""
    names: dict[str, None] = {}
    texts: list[str] = []
    for props in rows:
        names.update(dict.fromkeys(props))
        for value in props.values():
            if type(value) is str:
                texts.append(value)
            elif type(value) is list:
                texts += [one for one in value if type(one) is str]
    return "\n".join([*[f"{name}:" for name in names], *texts])


def _encoded(props: Mapping[str, object], owner: str, left_out: list[str]) -> Encoded:
    clean = cleaned(check_properties(props, owner=owner), left_out)
    return clean, encode_properties(clean, owner=owner)
