"""The store's gate for secrets: values are redacted, names that hold one are refused.

    CREATE (:Login {password: 'hunter2x', note: 'key AKIA…'})
    ->  {password: '[redacted:password]', note: 'key [redacted:aws-access-key]'}

Every node, edge and catalogue entry that a transaction writes passes here before it is logged, so
that neither the log nor a search row nor a past version ever has the secret. Names are labels,
types, names of properties and rules, addresses and actors: they are part of indexes and logs, and a
redacted name would be another name. The verbs redact what they are given before it comes here, and
tell the caller; what they have scanned is not scanned again (`redact` keeps its last results).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from doxa.base.values import Properties, Value
from doxa.redaction.redact import may_hold_secret, redact, redact_named, refuse_secret


def cleaned(
    props: Properties, kinds: list[str], *, before: Mapping[str, object] | None = None
) -> Properties:
    """Return the properties without secrets, the same object if there are none. The kinds of what
    was left out are appended to `kinds`. `before`: what was stored under the same names, which is
    looked at again only together with something new that may hold a secret. Raises InputError for a
    name that holds a secret."""
    held = _NOTHING if before is None else before
    texts: list[str] = []
    for name, value in props.items():
        kind = type(value)
        if name in held and (kind not in _OF_TEXT or held[name] == value):
            continue
        texts.append(f"{name}:")
        if kind is str:
            texts.append(value)  # type: ignore[arg-type]
        elif kind is list:
            texts += [one for one in value if type(one) is str]  # type: ignore[union-attr]
    if not texts or not may_hold_secret("\n".join(texts)):  # one search for all of them
        return props
    changed: Properties | None = None
    for name, value in props.items():
        check_name(name, "property name")
        kind = type(value)
        if kind is str:
            if name == "kref":
                check_name(value, "kref")  # type: ignore[arg-type]
                continue
            clean: Value = _text(name, value, kinds)  # type: ignore[arg-type]
        elif kind is list:
            clean = _list(name, value, kinds)  # type: ignore[arg-type]
        else:
            continue
        if clean is not value:
            changed = dict(props) if changed is None else changed
            changed[name] = clean
    return props if changed is None else changed


_NOTHING: Mapping[str, object] = {}
_OF_TEXT = frozenset((str, list))


def _text(name: str, text: str, kinds: list[str]) -> str:
    found = redact_named(name, text)
    if not found.findings:
        return text
    kinds.extend(finding.kind for finding in found.findings)
    return found.text


def _list(name: str, values: list[Value], kinds: list[str]) -> Value:
    if not any(type(one) is str for one in values):
        return values  # type: ignore[return-value]
    clean = [_text(name, one, kinds) if type(one) is str else one for one in values]
    if all(one is other for one, other in zip(clean, values, strict=True)):
        return values  # type: ignore[return-value]
    return clean  # type: ignore[return-value]


@lru_cache(maxsize=8_192)
def check_name(name: str, field: str) -> None:
    """Raise InputError if a name holds what looks like a secret."""
    refuse_secret(name, field=field)


def without_secrets(text: str) -> str:
    """Return a free text, such as a note, without its secrets."""
    return redact(text).text
