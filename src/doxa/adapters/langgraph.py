"""LangGraph's long-term store (BaseStore) on a doxa session.

    store = DoxaStore(memory.session(actor="planner", project="shop"))
    graph = builder.compile(store=store)

A namespace is a path of spaces below `space`, a key an item, a put a revision, a deletion a
retirement: `history` and `as_of` of the session answer what a store forgets. What differs from
LangGraph's own stores: `created_at` is when the key was first used, credentials are left out of
values, and a query ranks by words, meaning, entities and time together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from doxa.adapters.documents import Document, Documents, Put, text_of
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session

VERSION = require("langgraph-checkpoint", extra="langgraph", oldest="4.3", below="5")

from langgraph.store.base import (  # noqa: E402
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)


class DoxaStore(BaseStore):
    """A store for agents, below one space of the session's project.

    `fields` are the paths in values that a query searches, unless a put names its own; "$" is the
    whole value. `trust` is that of what is stored: stated, candidate, inferred or untrusted.
    """

    supports_ttl = False

    def __init__(
        self,
        session: Session,
        *,
        space: str = "langgraph",
        fields: Sequence[str] = ("$",),
        trust: str = "stated",
    ) -> None:
        self._documents = Documents(
            session, space=space, kind="document", channel="langgraph", trust=trust
        )
        self._fields = tuple(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations. Reads see what was stored before the call; of several puts of one
        key the last counts; all puts are one transaction."""
        return self._batch(_checked(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations on a thread; a write is finished before the caller is cancelled."""
        given = _checked(ops)
        if any(isinstance(op, PutOp) for op in given):
            return await writing(self._batch, given)
        return await reading(self._batch, given)

    def _batch(self, ops: list[Op]) -> list[Result]:
        address = self._documents.address
        at = {
            position: address(op.namespace, op.key)
            for position, op in enumerate(ops)
            if isinstance(op, (GetOp, PutOp))
        }
        gets = [at[position] for position, op in enumerate(ops) if isinstance(op, GetOp)]
        found = self._documents.read(gets) if gets else {}
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for position, op in enumerate(ops):
            result: Result = None
            if isinstance(op, GetOp):
                document = found.get(at[position])
                result = None if document is None else _item(document, op)
            elif isinstance(op, SearchOp):
                result = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                result = self._namespaces(op)
            else:
                puts[at[position]] = op
            results.append(result)
        self._documents.write(
            [self._put(kref, op) for kref, op in puts.items() if op.value is not None],
            [kref for kref, op in puts.items() if op.value is None],
        )
        return results

    def _put(self, kref: str, op: PutOp) -> Put:
        path = (*op.namespace, op.key)
        return Put(kref, path, dict(op.value), self._text(op), searched=op.index is not False)

    def _text(self, op: PutOp) -> str:
        if op.index is False:
            return str(op.key)
        paths = self._fields if op.index is None else op.index
        return "\n".join(
            text_of(op.value) if path == "$" else "\n".join(get_text_at_path(op.value, path))
            for path in paths
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        labels = op.namespace_prefix
        if not op.query:
            bounds = {} if op.filter else {"skip": op.offset, "limit": op.limit}
            below = self._documents.below(labels, **bounds)
            if not op.filter:
                return [_hit(one, None) for one in below]
            found: list[tuple[Document, float | None]] = [(one, None) for one in below]
        else:
            ranked = self._documents.find(op.query, labels)
            seen = {one.kref for one, _ in ranked}
            found = [
                *ranked,
                *((one, None) for one in self._documents.below(labels) if one.kref not in seen),
            ]
        wanted = op.filter or {}
        kept = [pair for pair in found if matches(pair[0].value, wanted)]
        return [_hit(one, score) for one, score in kept[op.offset : op.offset + op.limit]]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = next((one.path for one in conditions if one.match_type == "prefix"), ())
        labels = prefix[: prefix.index("*")] if "*" in prefix else prefix
        namespaces = {
            path[:-1][: op.max_depth]
            for path in self._documents.paths(labels)
            if all(_fits(one, path[:-1]) for one in conditions)
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]


def _checked(ops: Iterable[Op]) -> list[Op]:
    """The operations, each of which LangGraph's own methods would let through."""
    given = list(ops)
    for op in given:
        if not isinstance(op, (GetOp, PutOp, SearchOp, ListNamespacesOp)):
            raise ValueError(f"Unknown operation type: {type(op)}")
        validate_op_namespace(op)
        if isinstance(op, PutOp) and op.ttl is not None:
            raise NotImplementedError("DoxaStore keeps items until they are deleted: no ttl.")
        if isinstance(op, (SearchOp, ListNamespacesOp)) and min(op.offset, op.limit) < 0:
            raise ValueError("offset and limit are not negative.")
    return given


def _time(at_ns: int) -> datetime:
    return datetime.fromtimestamp(at_ns // 1_000 / 1_000_000, tz=UTC)


def _item(document: Document, op: GetOp) -> Item:
    return Item(
        value=document.value,
        key=op.key,
        namespace=tuple(op.namespace),
        created_at=_time(document.created),
        updated_at=_time(document.updated),
    )


def _hit(document: Document, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=document.path[:-1],
        key=document.path[-1],
        value=document.value,
        created_at=_time(document.created),
        updated_at=_time(document.updated),
        score=score,
    )


# What a search and a listing select


def _fits(condition: MatchCondition, namespace: Sequence[str]) -> bool:
    pattern = list(condition.path)
    if len(namespace) < len(pattern):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(pattern)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(pattern) :]
    else:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return all(want in ("*", have) for want, have in zip(pattern, part, strict=True))


def matches(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a value passes a filter: equality of its keys, or operators such as $gt."""
    return all(_agrees(value.get(key), want) for key, want in wanted.items())


def _agrees(have: Any, want: Any) -> bool:
    if isinstance(want, Mapping):
        if any(str(key).startswith("$") for key in want):
            return all(_compares(have, operator, to) for operator, to in want.items())
        return isinstance(have, dict) and matches(have, want)
    if isinstance(want, (list, tuple)):
        return isinstance(have, list) and len(have) == len(want) and all(map(_agrees, have, want))
    return bool(have == want)


def _compares(have: Any, operator: str, to: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(have == to) is (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        left, right = float(have), float(to)
    except (TypeError, ValueError):  # a text such as "many" is neither more nor less
        return False
    order = (left > right) - (left < right)
    return order in {"$gt": (1,), "$gte": (1, 0), "$lt": (-1,), "$lte": (-1, 0)}[operator]
