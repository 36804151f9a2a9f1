"""How a vector lies in the file, written and read in one place, and whether what lies there still fits.

    parts below INDEXED_PARTS    D numbers of half precision, little end first: 2 * D bytes
    their codes                  a bit a number, set where it is above zero, and zeros up to whole words of 64 bits
    sentences                    the half-precision step, then a signed byte a number: 2 + D bytes; no code

D is one for a whole set of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from doxa.base.errors import CorruptError
from doxa.store.vectors import INDEXED_PARTS

if TYPE_CHECKING:  # numpy takes longer to import than the rest of the store; who opens a file may never need a vector
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_BATCH = 8_192  # vectors that are compared with their codes at once: some megabytes
_TOLD_MAX = 10


def pack_vector(vector: Floats) -> tuple[bytes, bytes]:
    """A unit vector as it is stored: half precision, and its sign code."""
    return vector.astype("<f2").tobytes(), sign_code(vector).tobytes()


def pack_part(part: int, vector: Floats) -> tuple[bytes, bytes]:
    """As pack_vector, for a part of a text: a sentence, of which there are many and which only tells candidates apart, takes a byte a dimension,
    after the half-precision step between them; its cosine is off by a thousandth."""
    import numpy as np

    if part < INDEXED_PARTS:
        return pack_vector(vector)
    step = np.float16(max(float(np.abs(vector).max()) / 127, 1e-6))
    return step.tobytes() + np.clip(np.rint(vector / np.float32(step)), -127, 127).astype(np.int8).tobytes(), b""


def sign_code(vector: Floats) -> NDArray[np.uint8]:
    """One bit for each dimension, and zeros up to whole words of 64 bits: codes are compared by words, and equal bits count for nothing."""
    import numpy as np

    code = np.packbits(vector > 0)
    return np.pad(code, (0, -len(code) % 8))


def unpack_vectors(data: Sequence[bytes], dimensions: int | None = None) -> Floats:
    """Half-precision vectors, one a row, of so many dimensions; None: all of as many as the first. Raises CorruptError for others."""
    import numpy as np

    width = _joined_length(data, None if dimensions is None else 2 * dimensions, unit=2)
    return np.frombuffer(b"".join(data), dtype="<f2").reshape(len(data), width // 2).astype(np.float32)


def unpack_parts(data: Sequence[bytes], dimensions: int) -> Floats:
    """The vectors of sentences as pack_part has packed them, one a row. Raises CorruptError for another number of dimensions."""
    import numpy as np

    width = _joined_length(data, 2 + dimensions)
    rows = np.frombuffer(b"".join(data), dtype=np.uint8).reshape(len(data), width)
    steps = np.ascontiguousarray(rows[:, :2]).view("<f2").astype(np.float32)
    return rows[:, 2:].view(np.int8).astype(np.float32) * steps


def unpack_codes(data: Sequence[bytes], words: int | None = None) -> NDArray[np.uint64]:
    """Sign codes by words of 64 bits, one code a row. Raises CorruptError for codes of another length, or of several."""
    import numpy as np

    width = _joined_length(data, None if words is None else 8 * words, unit=8)
    return np.frombuffer(b"".join(data), dtype=np.uint64).reshape(len(data), width // 8)


def _joined_length(data: Sequence[bytes], wanted: int | None, *, unit: int = 1) -> int:
    """How many bytes each of these has. Raises CorruptError unless all have the wanted number (None: the first one's), whole units of it."""
    length = wanted if wanted is not None else len(data[0]) if data else 0
    for kind, found in set(zip(map(type, data), map(len, data), strict=True)):
        if kind is not bytes or found != length or not found or found % unit:
            raise wrong_length(found, length, of="bytes")
    return length


def wrong_length(found: object, wanted: object, *, of: str) -> CorruptError:
    """A vector or code that cannot be compared with the others."""
    return CorruptError(
        f"The vectors of this file do not fit together: one has {found} {of} where {wanted} are wanted.",
        next_step="Run `doxa doctor`, which names what is damaged; `doxa embed --anew` makes all vectors again.",
        found=found,
        wanted=wanted,
    )


def problems(db: apsw.Connection, vectors: str, codes: str, *, name: str, code: str) -> Iterator[str]:
    """Of one set of vectors: what has not the length of the others, and what code is not the signs of its vector."""
    usual: Any = db.execute(
        f"SELECT length(data) FROM {vectors} WHERE part < {INDEXED_PARTS} AND typeof(data) = 'blob' AND length(data) > 0 AND length(data) % 2 = 0 "
        "GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
    ).get
    dimensions = (usual or 0) // 2
    length = f"CASE WHEN part < {INDEXED_PARTS} THEN {2 * dimensions} ELSE {2 + dimensions} END"
    wrong = f"SELECT scope, doc, part FROM {vectors} WHERE NOT (typeof(data) = 'blob' AND length(data) = {length} AND length(data) > 2) LIMIT ?"
    for row in db.execute(wrong, (_TOLD_MAX,)):
        yield f"a {name} of a wrong length: {row}"
    pairs = db.execute(
        "SELECT v.scope, v.doc, v.part, v.data, CASE typeof(c.code) WHEN 'blob' THEN c.code END "
        f"FROM {vectors} v CROSS JOIN {codes} c USING(scope, doc, part) "
        f"WHERE v.part < {INDEXED_PARTS} AND typeof(v.data) = 'blob' AND length(v.data) = ?",
        (2 * dimensions,),
    )
    told = 0
    while told < _TOLD_MAX and (batch := list(islice(pairs, _BATCH))):
        for row in _unlike(batch, dimensions):
            if told < _TOLD_MAX:
                yield f"a {code} that is not the signs of its {name}: {row[:3]}"
            told += 1


def _unlike(batch: list[tuple[Any, ...]], dimensions: int) -> Iterator[tuple[Any, ...]]:
    """The rows (scope, doc, part, data, code) whose code does not fit. A number that half precision made zero may have had either sign."""
    import numpy as np

    length = -(-dimensions // 64) * 8
    whole = []
    for row in batch:
        if row[4] is not None and len(row[4]) == length:
            whole.append(row)
        else:
            yield row
    halves = np.frombuffer(b"".join([row[3] for row in whole]), dtype="<i2").reshape(len(whole), dimensions)  # above zero as the numbers are
    codes = np.frombuffer(b"".join([row[4] for row in whole]), dtype=np.uint8).reshape(len(whole), length)
    differs = codes ^ _bits(halves > 0, length)
    for at in np.flatnonzero(differs.any(axis=1)):
        if (differs[at] & ~_bits(halves[at : at + 1] == 0, length)[0]).any():
            yield whole[at]


def _bits(which: NDArray[np.bool_], length: int) -> NDArray[np.uint8]:
    import numpy as np

    packed = np.packbits(which, axis=1)
    return np.pad(packed, ((0, 0), (0, length - packed.shape[1])))
