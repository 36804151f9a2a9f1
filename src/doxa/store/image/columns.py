"""Properties of the nodes with one label, as columns.

    ids       the nodes, ascending
    Codes     which of few distinct JSON texts a node has; 0 where it lacks the property
    Numbers   floats, NaN where a node lacks the property; `whole` if all of them are integers

A column that does not fit its form (too many texts; a value that is not a number, or not exactly a
float) is None: nothing is answered from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import msgspec

from doxa.store.image.tail import ChangedSince

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

CODES, NUMBERS = "codes", "numbers"
COLUMNS_MAX = 32  # of a label; all of them are read when one is brought forward
_TEXTS_MAX = 10_000
_EXACT = 2**53
_ROWS = 20_000  # read at once
_CHANGED_MIN, _CHANGED_SHARE = 1_000, 4
_NUMBER = (
    "CASE json_type(n.props, {0}) WHEN 'integer' THEN n.props ->> {0} WHEN 'real' THEN n.props ->>"
    " {0} ELSE iif(n.props -> {0} IS NULL, NULL, '') END"
)


class WantedColumn(NamedTuple):
    """A column: its form, and the name of the property, which can stand in a JSON path."""

    form: str
    name: str


class Codes(msgspec.Struct, frozen=True):
    """`texts` ascend by their bytes; code n is `texts[n - 1]`."""

    codes: Array
    texts: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        return int(self.codes.nbytes) + sum(60 + 2 * len(text) for text in self.texts)

    def merged(self, places: _Places, values: Sequence[Any]) -> Codes | None:
        """Return the column with other values of some nodes."""
        import numpy as np

        known = {text: code for code, text in enumerate(self.texts, 1)}
        fresh = sorted({v for v in values if v is not None} - known.keys(), key=str.encode)
        if not fresh:
            added = np.array([0 if v is None else known[v] for v in values], dtype=np.int32)
            return Codes(places.merge(self.codes, added), self.texts)
        texts = tuple(sorted((*self.texts, *fresh), key=str.encode))
        if len(texts) > _TEXTS_MAX:
            return None
        code = {text: number for number, text in enumerate(texts, 1)}
        moved = np.array([0, *(code[text] for text in self.texts)], dtype=np.int32)
        added = np.array([0 if v is None else code[v] for v in values], dtype=np.int32)
        return Codes(places.merge(moved[self.codes], added), texts)


class Numbers(msgspec.Struct, frozen=True):
    values: Array
    whole: bool

    @property
    def size_bytes(self) -> int:
        return int(self.values.nbytes)

    def merged(self, places: _Places, values: Sequence[Any]) -> Numbers | None:
        """Return the column with other values of some nodes."""
        added = _numbers([values])
        if added is None or (added.whole != self.whole and any(v is not None for v in values)):
            return None
        return Numbers(places.merge(self.values, added.values), self.whole)


Column = Codes | Numbers


class _Places(NamedTuple):
    """Where changed nodes lie: which of the old rows stay, and the order with the new ones."""

    kept: Array
    order: Array

    def merge(self, old: Array, added: Array) -> Array:
        import numpy as np

        return np.concatenate((old[self.kept], added.astype(old.dtype)))[self.order]


class LabelColumns(msgspec.Struct, frozen=True):
    """The nodes with a label, and the columns that were asked for."""

    label: str
    ids: Array
    columns: dict[WantedColumn, Column | None]

    @property
    def size_bytes(self) -> int:
        return int(self.ids.nbytes) + sum(
            column.size_bytes for column in self.columns.values() if column is not None
        )

    def forward(self, db: apsw.Connection, tail: ChangedSince) -> LabelColumns | None:
        """Return the columns after a tail; None if too much changed."""
        import numpy as np

        if not tail.nodes:
            return self
        if len(tail.nodes) > max(_CHANGED_MIN, len(self.ids) // _CHANGED_SHARE):
            return None
        changed = np.array(sorted(tail.nodes), dtype=np.int64)
        wanted = tuple(self.columns)
        select, args = _select(wanted)
        rows = db.execute(
            f"SELECT l.node{select} FROM carray(?) c CROSS JOIN main.node_label l ON l.label = ?"
            " AND l.node = c.value CROSS JOIN main.node n ON n.id = l.node",
            (*args, apsw.carray(changed), self.label),
        ).fetchall()
        kept = ~np.isin(self.ids, changed)
        if not rows and bool(kept.all()):
            return self
        ids = np.concatenate((self.ids[kept], np.array([row[0] for row in rows], dtype=np.int64)))
        order = np.argsort(ids, kind="stable")
        places = _Places(kept, order)
        columns: dict[WantedColumn, Column | None] = {}
        for at, want in enumerate(wanted, 1):
            before = self.columns[want]
            columns[want] = (
                None if before is None else before.merged(places, [row[at] for row in rows])
            )
        return msgspec.structs.replace(self, ids=ids[order], columns=columns)


def build_columns(
    db: apsw.Connection,
    label: str,
    wanted: Sequence[WantedColumn],
    *,
    held: LabelColumns | None,
    bytes_max: int,
) -> LabelColumns | None:
    """Derive columns of a snapshot, next to those that are `held` for the same one unless they
    become too many; None if they are larger than `bytes_max`."""
    import numpy as np

    before = {} if held is None else held.columns
    if len(before.keys() | set(wanted)) > COLUMNS_MAX:
        before = {}
    missing = tuple(want for want in wanted if want not in before)
    select, args = _select(missing)
    rows = db.execute(
        f"SELECT l.node{select} FROM main.node_label l CROSS JOIN main.node n WHERE l.label = ? AND"
        " n.id = l.node ORDER BY l.node",
        (*args, label),
    )
    rows_max = bytes_max // (8 + 4 * len(missing)) + 1
    ids: list[Array] = []
    forms = [_ColumnReading(want) for want in missing]
    count = 0
    while chunk := list(islice(rows, _ROWS)):
        count += len(chunk)
        if count > rows_max:
            return None
        ids.append(np.array([row[0] for row in chunk], dtype=np.int64))
        for at, form in enumerate(forms, 1):
            form.read([row[at] for row in chunk])
    found = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
    columns = {**before, **{form.want: form.column() for form in forms}}
    made = LabelColumns(label, found, columns)
    return made if made.size_bytes <= bytes_max else None


class _ColumnReading:
    """A column as it is read, chunk by chunk."""

    def __init__(self, want: WantedColumn) -> None:
        self.want = want
        self._codes: dict[str | None, int] = {None: 0}
        self._parts: list[Any] = []
        self._fits = True

    def read(self, values: list[Any]) -> None:
        import numpy as np

        if not self._fits:
            return
        if self.want.form == NUMBERS:
            self._fits = "" not in values
            self._parts.append(values)
            return
        codes = self._codes
        self._parts.append(
            np.array([codes.setdefault(value, len(codes)) for value in values], dtype=np.int32)
        )
        self._fits = len(codes) <= _TEXTS_MAX

    def column(self) -> Column | None:
        import numpy as np

        if not self._fits:
            return None
        if self.want.form == NUMBERS:
            return _numbers(self._parts)
        texts = tuple(sorted((text for text in self._codes if text is not None), key=str.encode))
        moved = np.zeros(len(self._codes), dtype=np.int32)
        for number, text in enumerate(texts, 1):
            moved[self._codes[text]] = number
        codes = np.concatenate(self._parts) if self._parts else np.empty(0, dtype=np.int32)
        return Codes(moved[codes], texts)


def _numbers(parts: Iterable[Sequence[Any]]) -> Numbers | None:
    """Return numbers of one type that floats hold exactly; None of any others."""
    import numpy as np

    kinds: set[type] = set()
    arrays = []
    for part in parts:
        kinds.update(map(type, part))
        if not kinds <= {int, type(None)} and not kinds <= {float, type(None)}:
            return None
        if int in kinds and any(v is not None and abs(v) >= _EXACT for v in part):
            return None
        arrays.append(np.array(part, dtype=np.float64))
    values = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.float64)
    if bool(np.isinf(values).any()) or bool((np.signbit(values) & (values == 0)).any()):
        return None  # which of 0.0 and -0.0 is the least is not decided by their order
    return Numbers(values, int in kinds)


def _select(wanted: Sequence[WantedColumn]) -> tuple[str, list[str]]:
    """The SQL of columns, with its arguments."""
    parts, args = [], []
    for number, want in enumerate(wanted, 1):
        path = f"?{number}"
        parts.append(f", n.props -> {path}" if want.form == CODES else f", {_NUMBER.format(path)}")
        args.append(f'$."{want.name}"')
    return "".join(parts), args
