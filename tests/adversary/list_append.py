"""Whether a history of transactions that read and append to lists is strictly serialisable.

Since each element is appended once, the longest list read under a key is the order in which its
versions came, so the dependencies between transactions can be inferred from what they read: *ww*
(one appended after the other), *wr* (one read what the other appended) and *rw* (one read the list
before the other appended). With an edge from each transaction to those that began after it ended,
a history is strictly serialisable only if these form no cycle. Source: Kingsbury and Alvaro, "Elle:
Inferring Isolation Anomalies from Experimental Observations", VLDB 2020.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
_Node = int
Add = Callable[["Done | None", "Done | None", str], None]


@dataclass
class Done:
    """One transaction: its steps in order, `("append", key, element)` or `("read", key, list)`,
    when the client began it and had its end, and how it ended as far as the client knows."""

    client: str
    began: int
    ended: int
    state: Literal["committed", "aborted", "unknown"]
    steps: list[tuple[str, int, int | list[int]]] = field(default_factory=list)

    def appends(self) -> Iterator[tuple[int, int]]:
        for kind, key, value in self.steps:
            if kind == "append":
                assert isinstance(value, int)
                yield key, value

    def reads(self) -> Iterator[tuple[int, list[int]]]:
        for kind, key, value in self.steps:
            if kind == "read":
                assert isinstance(value, list)
                yield key, value


def anomalies(history: Sequence[Done]) -> list[str]:
    """Return what shows that a history is not strictly serialisable; empty if nothing does. A
    transaction of unknown end counts as committed if one that committed read what it appended."""
    problems = list(_by_itself(history))
    written: dict[tuple[int, int], Done] = {}
    for done in history:
        for place in done.appends():
            if place in written:
                problems.append(f"{place} was appended twice: the history is of no use")
            written[place] = done
    seen = {
        (key, value)
        for done in history
        if done.state == COMMITTED
        for key, values in done.reads()
        for value in values
    }
    live = [
        done
        for done in history
        if done.state == COMMITTED
        or (done.state == UNKNOWN and any(place in seen for place in done.appends()))
    ]
    orders, more = _orders(live)
    problems += more
    problems += _garbage(live, written)
    problems += _cycles(live, orders, written)
    return problems


def _by_itself(history: Iterable[Done]) -> Iterator[str]:
    """Within a transaction: a read ends with what the transaction itself has appended, and two
    reads agree."""
    for done in history:
        own: dict[int, list[int]] = {}
        before: dict[int, list[int]] = {}
        for kind, key, value in done.steps:
            if kind == "append":
                assert isinstance(value, int)
                own.setdefault(key, []).append(value)
                if key in before:
                    before[key] = [*before[key], value]
                continue
            assert isinstance(value, list)
            mine = own.get(key, [])
            if mine and value[-len(mine) :] != mine:
                yield f"{done.client} does not read what it appended itself to {key}"
            if key in before and before[key] != value:
                yield f"{done.client} reads {key} twice and differently in one transaction"
            before[key] = value


def _orders(live: Iterable[Done]) -> tuple[dict[int, list[int]], list[str]]:
    """The order of the elements of each key, and reads that no one order explains."""
    reads: dict[int, list[list[int]]] = {}
    for done in live:
        for key, value in done.reads():
            reads.setdefault(key, []).append(value)
    orders = {key: max(values, key=len) for key, values in reads.items()}
    problems = []
    for key, values in reads.items():
        order = orders[key]
        if len(set(order)) != len(order):
            problems.append(f"key {key} holds an element twice")
        if any(value != order[: len(value)] for value in values):
            problems.append(f"reads of key {key} are not of one order: an append was lost or moved")
    return orders, problems


def _garbage(live: Iterable[Done], written: dict[tuple[int, int], Done]) -> Iterator[str]:
    """Reads of what nobody appended, of what was rolled back, or of half a transaction."""
    last: dict[tuple[int, int], int] = {}  # of a transaction and a key: its last element
    for done in {id(done): done for done in written.values()}.values():
        last |= {(id(done), key): value for key, value in done.appends()}
    for done in live:
        for key, values in done.reads():
            for value in values:
                writer = written.get((key, value))
                if writer is None:
                    yield f"{done.client} reads {value} in {key}, which nobody appended"
                elif writer.state == ABORTED:
                    yield f"{done.client} reads {value} in {key}, which was rolled back"
            writer = written.get((key, values[-1])) if values else None
            if writer is not None and writer is not done and last[id(writer), key] != values[-1]:
                yield f"{done.client} reads half of a transaction of {writer.client} in {key}"


def _cycles(
    live: Sequence[Done], orders: dict[int, list[int]], written: dict[tuple[int, int], Done]
) -> list[str]:
    number = {id(done): at for at, done in enumerate(live)}
    edges: list[dict[_Node, str]] = [{} for _ in live]

    def add(first: Done | None, second: Done | None, kind: str) -> None:
        if first is None or second is None or first is second:
            return
        if id(first) in number and id(second) in number:
            edges[number[id(first)]].setdefault(number[id(second)], kind)

    for key, order in orders.items():
        for one, other in pairwise(order):
            add(written.get((key, one)), written.get((key, other)), f"ww {key}")
    for done in live:
        for key, values in done.reads():
            order = orders[key]
            if values:
                add(written.get((key, values[-1])), done, f"wr {key}")
            if len(values) < len(order):
                add(done, written.get((key, order[len(values)])), f"rw {key}")
    _unread(live, orders, add)
    _add_time(live, edges)
    return _components(live, edges)


def _unread(live: Sequence[Done], orders: dict[int, list[int]], add: Add) -> None:
    """What was committed and nobody read comes after every read of its key: a read that began
    after its end shows that it was lost."""
    readers: dict[int, list[Done]] = {}
    for done in live:
        for key, _ in done.reads():
            readers.setdefault(key, []).append(done)
    known = {key: set(order) for key, order in orders.items()}
    for done in live:
        for key, value in done.appends():
            if value not in known.get(key, ()):
                for reader in readers.get(key, ()):
                    add(reader, done, f"rw {key}")


def _add_time(live: Sequence[Done], edges: list[dict[_Node, str]]) -> None:
    """From each transaction to those that began after its end, by way of a chain of moments, so
    that there are few edges."""
    ends = sorted((done.ended, at) for at, done in enumerate(live) if done.state == COMMITTED)
    first = len(edges)
    for place, (_, at) in enumerate(ends):
        edges[at][first + place] = "time"
        edges.append({first + place + 1: "time"} if place + 1 < len(ends) else {})
    times = [end for end, _ in ends]
    for at, done in enumerate(live):
        before = bisect_left(times, done.began) - 1  # the last that had ended when this one began
        if before >= 0:
            edges[first + before][at] = "time"


def _components(live: Sequence[Done], edges: list[dict[_Node, str]]) -> list[str]:
    found = []
    for component in strongly_connected(edges):
        if len(component) > 1:
            cycle = _shortest(edges, component)
            steps = []
            for one, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
                name = f"{live[one].client}@{live[one].began}" if one < len(live) else "…"
                steps.append(f"{name} -{edges[one][other]}->")
            found.append("a cycle: " + " ".join(steps))
    return found


def _shortest(edges: list[dict[_Node, str]], component: list[_Node]) -> list[_Node]:
    """A shortest cycle through the first node of a component."""
    start, inside = component[0], set(component)
    came: dict[_Node, _Node] = {}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for to in edges[at]:
            if to == start:
                path = [at]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if to in inside and to not in came:
                came[to] = at
                waiting.append(to)
    raise AssertionError("a component of several nodes has a cycle")


def strongly_connected(edges: list[dict[_Node, str]]) -> Iterator[list[_Node]]:
    """Tarjan's components, without recursion."""
    index: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    stack: list[_Node] = []
    on_stack: set[_Node] = set()
    for root in range(len(edges)):
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            at, following = work[-1]
            for to in following:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(edges[to])))
                    break
                if to in on_stack:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                        if component[-1] == at:
                            break
                    yield component
