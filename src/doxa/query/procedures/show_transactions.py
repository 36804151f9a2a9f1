"""SHOW TRANSACTIONS, TERMINATE TRANSACTIONS, SHOW CURRENT USER and db.info()."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from doxa.base.clock import format_time
from doxa.base.temporal import Duration
from doxa.query.core.errors import fail, shown
from doxa.query.core.open_transactions import ListedTransaction
from doxa.query.procedures.registry import Rows

_DATABASE = "doxa"
_ID = re.compile(r"[^-]+-transaction-(\d{1,18})")


def transactions(run: Any, ids: Any = None) -> Rows:
    """List open transactions, or those with some ids, as far as the session may see them."""
    wanted = None if ids is None else [_number(one) for one in _listed(ids)]
    found: list[ListedTransaction] = []
    if run.transactions is not None and run.identity is not None:
        found = run.transactions.listed_everywhere(run.identity)
    for one in found:
        if wanted is None or one.number in wanted:
            seconds, ns = divmod(one.elapsed_ns, 1_000_000_000)
            yield (
                _DATABASE,
                _identifier(one.number),
                f"query-{one.statement_number}" if one.statement_number else "",
                one.connection,
                "",
                one.actor,
                one.statement,
                format_time(one.started_ns),
                "Terminated" if one.terminated else "Running",
                Duration(0, 0, seconds, ns),
            )


def terminate(run: Any, ids: Any = None) -> Rows:
    """End transactions by their ids. One that the session may not see is not found."""
    numbers = [_number(one) for one in _listed(ids)]
    for number in dict.fromkeys(numbers):
        actor: str | None = None
        if run.transactions is not None and run.identity is not None:
            actor = run.transactions.terminate_anywhere(number, run.identity)
        if actor is None:
            yield _identifier(number), None, "Transaction not found."
        else:
            yield _identifier(number), actor, "Transaction terminated."


def _identifier(number: int) -> str:
    return f"{_DATABASE}-transaction-{number}"


def _listed(ids: Any) -> Iterator[Any]:
    for one in ids if type(ids) is list else [ids]:
        yield from one if type(one) is list else [one]


def _number(identifier: Any) -> int:
    found = _ID.fullmatch(identifier) if isinstance(identifier, str) else None
    if found is None:
        fail(
            f"A transaction is named like {_identifier(12)!r}, not {shown(identifier)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="SHOW TRANSACTIONS lists them.",
        )
    return int(found[1])


def current_user(run: Any, _detail: Any = None) -> Rows:
    """Show who the session is."""
    if run.identity is not None:
        yield run.identity.actor, [run.identity.role], False, False, None


def info(run: Any) -> Rows:
    """Run db.info: an id of the file, its name, and when the first transaction wrote to it."""
    first = run.graph.reader.receipts(limit=1)
    identifier = first[0].hash.hex().upper() if first else ""
    yield identifier, _DATABASE, format_time(first[0].time) if first else None
