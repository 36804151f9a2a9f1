"""The image of a file in this process: the parts that are resident, what they cost, and when one is
derived.

A part is derived when the statements that asked for it have done as much work without it as
deriving it takes, so that what is derived costs at most as much again. It then stands at a position
of the log. A snapshot at a later position brings it forward by the entries between; one at an
earlier position, a transaction that writes and a session that is bound to projects do without. All
parts together stay within `bytes_max`; the least recently used go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import apsw

from doxa.store.image.adjacency import ResidentEdges, build_adjacency
from doxa.store.image.columns import COLUMNS_MAX, LabelColumns, WantedColumn, build_columns
from doxa.store.image.tail import LogPosition, position_of, read_tail

Part = ResidentEdges | LabelColumns
Key = tuple[str, tuple[str, ...] | None, bool] | tuple[str, str]
_KEYS_MAX = 1_000
_REFUSED = 10.0  # times its cost that must be spent before a part that did not fit is tried again


class Images:
    """The resident parts of one store. Safe to share between threads. `patience` 0 derives a part
    when it is first asked for."""

    def __init__(self, bytes_max: int, *, patience: float = 1.0) -> None:
        self.bytes_max = bytes_max
        self.patience = patience
        self._parts: OrderedDict[Key, tuple[Part, LogPosition]] = OrderedDict()
        self._spent: OrderedDict[Key, float] = OrderedDict()  # work that was done without a part
        self._costs: dict[Key, float] = {}  # of deriving it, when that was last asked for
        self.erasures = 0  # how often everything was dropped
        self._lock = threading.Lock()
        self._building = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """The bytes that all parts occupy."""
        with self._lock:
            return sum(part.size_bytes for part, _ in self._parts.values())

    def clear(self) -> None:
        """Drop every part, as after an erasure. What views of before derive is not kept."""
        with self._lock:
            self.erasures += 1
            self._parts.clear()
            self._spent.clear()

    def held(self, key: Key) -> tuple[Part, LogPosition] | None:
        """Return a part and its position, and note its use."""
        with self._lock:
            found = self._parts.get(key)
            if found is not None:
                self._parts.move_to_end(key)
            return found

    def drop(self, key: Key) -> None:
        with self._lock:
            self._parts.pop(key, None)

    def keep(self, key: Key, part: Part, at: LogPosition, *, erasures: int) -> None:
        """Keep a part, unless a later one is there or everything was dropped since its snapshot
        began, and evict what exceeds the bound."""
        with self._lock:
            if erasures != self.erasures:
                return
            before = self._parts.get(key)
            if before is not None and before[1].seq > at.seq:
                return
            self._parts[key] = part, at
            self._parts.move_to_end(key)
            size = sum(held.size_bytes for held, _ in self._parts.values())
            while size > self.bytes_max:
                _, (evicted, _) = self._parts.popitem(last=False)
                size -= evicted.size_bytes

    def spend(self, key: Key, work: float) -> None:
        """Note work that a statement did without a part, in the unit of the part's cost."""
        with self._lock:
            self._spent[key] = self._spent.pop(key, 0.0) + work
            if len(self._spent) > _KEYS_MAX:
                forgotten, _ = self._spent.popitem(last=False)
                self._costs.pop(forgotten, None)

    def earned(self, key: Key, cost: Callable[[], float]) -> bool:
        """Return whether the statements so far did as much work as the part costs, which is asked
        for again only when they did as much as it cost when it was asked for last."""
        spent = self._spent.get(key, 0.0)
        if not self.patience:
            return spent >= 0.0
        if spent < self._costs.get(key, 1.0):
            return False
        actual = self._costs[key] = cost() * self.patience
        return spent >= actual

    def derived(self, key: Key, derive: Callable[[], Part | None]) -> Part | None:
        """Derive a part, one at a time: a statement does not wait for that of another. One that
        fails or does not fit is not tried again soon."""
        if not self._building.acquire(blocking=False):
            return None
        try:
            self._set(key, -_REFUSED * self._costs.get(key, 1.0))
            part = derive()
            if part is not None:
                self._set(key, 0.0)
            return part
        finally:
            self._building.release()

    def _set(self, key: Key, spent: float) -> None:
        with self._lock:
            self._spent[key] = spent


class ImageView:
    """The image as one snapshot may use it."""

    def __init__(self, images: Images, db: apsw.Connection) -> None:
        self._images, self._db = images, db
        self._position: LogPosition | None = None
        self._erasures = images.erasures

    def adjacency(self, types: tuple[str, ...] | None, *, outgoing: bool) -> ResidentEdges | None:
        """Return the edges of these types (None: of all) by the node that they leave, or reach;
        None if the statement has to read them itself."""
        images = self._images
        key = _adjacency_key(types, outgoing)
        found = self._current(key)
        if found is None and images.earned(key, self._edges_cost):
            position = self._at()
            if position is None:
                return None
            found = images.derived(
                key,
                lambda: build_adjacency(
                    self._db, key[1], outgoing=outgoing, bytes_max=images.bytes_max
                ),
            )
            if found is not None:
                self._keep(key, found, position)
        assert found is None or isinstance(found, ResidentEdges)
        return found

    def spend_on_edges(self, types: tuple[str, ...] | None, *, outgoing: bool, edges: int) -> None:
        """Note that so many edges were read one by one."""
        self._images.spend(_adjacency_key(types, outgoing), _READ_COST * edges)

    def _edges_cost(self) -> float:
        """At least the number of edges: that of the ids ever given."""
        last = self._db.execute("SELECT max(id) FROM main.edge").get
        return max(_EDGES_MIN, float(last or 0))

    def _scans_cost(self, label: str) -> float:
        """How many scans of a label cost as much as its columns: one, unless it has few nodes."""
        rows = self._db.execute(
            "SELECT count(*) FROM main.node_label WHERE label = ?", (label,)
        ).get
        return max(1.0, _ROWS_MIN / max(int(rows or 0), 1))

    def columns(self, label: str, wanted: Sequence[WantedColumn]) -> LabelColumns | None:
        """Return the nodes with a label and these columns of them; None if the statement has to
        read them itself."""
        images = self._images
        if len(wanted) > COLUMNS_MAX:
            return None
        key = "label", label
        found = self._current(key)
        assert found is None or isinstance(found, LabelColumns)
        if found is not None and all(want in found.columns for want in wanted):
            return found
        position = self._at()
        if position is None or not images.earned(key, lambda: self._scans_cost(label)):
            images.spend(key, 1.0)
            return None
        held = found
        made = images.derived(
            key,
            lambda: build_columns(self._db, label, wanted, held=held, bytes_max=images.bytes_max),
        )
        if made is not None:
            self._keep(key, made, position)
        assert made is None or isinstance(made, LabelColumns)
        return made

    def _keep(self, key: Key, part: Part, at: LogPosition) -> None:
        self._images.keep(key, part, at, erasures=self._erasures)

    def _at(self) -> LogPosition | None:
        """Return the position of the snapshot; None if the transaction has begun to write."""
        if self._position is None:
            self._position = position_of(self._db)
        elif self._db.txn_state("main") != _READS:
            return None
        return self._position

    def _current(self, key: Key) -> Part | None:
        """Return a resident part as of the snapshot, brought forward if need be."""
        held = self._images.held(key)
        if held is None:
            return None
        position = self._at()
        if position is None:
            return None
        part, at = held
        if at == position:
            return part
        if at.seq > position.seq:
            return None  # the snapshot is older
        tail = None if at.catalogue != position.catalogue else read_tail(self._db, at)
        try:
            moved = None if tail is None else part.forward(self._db, tail)
        except BaseException:
            self._images.drop(key)
            raise
        if moved is None:
            self._images.drop(key)
            return None
        self._keep(key, moved, position)
        return moved


_EDGES_MIN, _ROWS_MIN = 50_000.0, 20_000.0  # what a part costs at least: loading numpy, say
_READ_COST = 8.0  # reading an edge in a walk, as a multiple of reading it in order
_READS = apsw.SQLITE_TXN_READ


def _adjacency_key(
    types: tuple[str, ...] | None, outgoing: bool
) -> tuple[str, tuple[str, ...] | None, bool]:
    return "edges", None if types is None else tuple(sorted(set(types))), outgoing
