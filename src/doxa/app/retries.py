"""Verbs under an idempotency key: a call that is sent again gets the answer of the first, and
writes nothing (store/idempotency/keys.py keeps it).

    verb(..., idempotency_key=k)
      └─ Store.keyed: all that the verb writes is one transaction
           ├─ its first write looks for the key: known → the kept answer; other arguments → refused
           ├─ the verb's own work
           └─ the answer, kept under the key; commit

Without a key a verb runs as it is. Answers are kept as JSON, and read back as the type that the
verb table gives for the verb.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from doxa.base.errors import InputError
from doxa.base.values import canonical
from doxa.belief import Change, Kref
from doxa.store.idempotency.keys import KeyedCall, KnownAnswer, Repeated

_P = ParamSpec("_P")
_T = TypeVar("_T")
_V = TypeVar("_V")

# What verbs that take a key return. Packages above belief are imported when they are first used.
RESULTS = {
    "Change": "doxa.belief",
    "Remembered": "doxa.ingestion.remember",
    "Ingested": "doxa.ingestion.ingest",
    "Forgotten": "doxa.maintenance.forget",
    "StoredUnit": "doxa.ingestion.units.unit",
    "StoredResponse": "doxa.ingestion.units.responses",
}


def retryable(
    method: Callable[Concatenate[_V, _P], _T],
) -> Callable[Concatenate[_V, _P], _T]:
    """Let a verb take an `idempotency_key`, which the method itself never sees."""

    @wraps(method)
    def call(self: _V, *args: _P.args, **options: _P.kwargs) -> _T:
        key = options.pop("idempotency_key", "")
        if not key and isinstance(key, str):
            return method(self, *args, **options)
        return _once(self, method, cast(Any, key), args, options)

    return cast(Callable[Concatenate[_V, _P], _T], call)


def _once(
    verbs: Any,
    method: Callable[..., _T],
    key: str,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> _T:
    """Carry out a call under its key, or return the answer of the first one."""
    store = verbs._store
    name = method.__name__
    bound = inspect.signature(method).bind(verbs, *args, **options)
    bound.apply_defaults()
    given: dict[str, Any] = {
        parameter: _kept(value) for parameter, value in list(bound.arguments.items())[1:]
    }
    if given.get("dry_run") or given.get("erase"):
        raise InputError(
            f"{name} takes no idempotency key here: "
            + (
                "a dry run writes nothing."
                if given.get("dry_run")
                else "an erasure keeps no answer."
            ),
            next_step="Leave the key out.",
            field="idempotency_key",
        )
    bound.arguments.update(given)
    projects = () if store.binding is None else store.binding.projects
    request = canonical([name, verbs.project, _plain(given)])
    call = KeyedCall(verbs.identity, projects, key, request=request)
    try:
        with store.keyed(call):
            result = method(*bound.args, **bound.kwargs)
            tx = call.tx or call.open(verbs.identity, name, "")
            call.keep(tx, msgspec.json.encode(result))
    except Repeated as found:
        return cast(_T, _answer(name, found.known))
    verbs._memory.wake()
    receipt = tx.receipt_made
    return cast(_T, _sealed(result, receipt.hash.hex() if receipt else ""))


def _answer(name: str, known: KnownAnswer) -> object:
    return _sealed(msgspec.json.decode(known.answer, type=_result_type(name)), known.receipt)


@cache
def _result_type(name: str) -> Any:
    from doxa.app.verbs import VERBS

    result = VERBS[name].result
    return getattr(import_module(RESULTS[result]), result)


def _sealed(result: object, receipt: str) -> object:
    """Return a result with the receipt of its change, which exists once the call is committed."""
    if isinstance(result, Change):
        return replace(result, receipt=receipt) if result.change is not None else result
    change = getattr(result, "change", None)
    if isinstance(change, Change):
        return replace(cast(Any, result), change=_sealed(change, receipt))
    return result


# The call in a canonical form, by which a retry is distinguished from another call


def _kept(value: Any) -> Any:
    """Return an argument that can be read twice: an iterator as a list."""
    once = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    return list(value) if once and iter(value) is value else value


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, Change):
        return value.change
    if isinstance(value, (Kref, Path)):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(_plain(name)): _plain(one) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(one) for one in value]
    if callable(value):
        return None  # such as `progress`: how a call is shown is not what it asks for
    return repr(value)[:1_000]
