"""How a vector lies in the file, written and read in one place, and whether what lies there still
fits.

    parts below INDEXED_PARTS    D numbers of half precision, little end first: 2 * D bytes
    their codes                  four bits a number, of W numbers: the D and zeros up to whole words
    of 64; W / 2 bytes
    sentences                    the half-precision step, then a signed byte a number: 2 + D bytes;
    no code

D is one for a whole set of vectors. A code is made of the halves as they are stored. It tells in
which of 16 steps a number lies: 0 to 7 are below zero, 8 to 15 above, so the highest bit is the
sign. The numbers of a unit vector have a standard deviation of 1 / sqrt(D), and the steps divide
six of these; what lies beyond counts as in the last step. Byte i has the step of number i in its
upper half and that of number i + W / 2 in its lower one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from doxa.base.errors import CorruptError
from doxa.store.indexing.products import row_products
from doxa.store.indexing.vector_tables import INDEXED_PARTS

# numpy takes longer to import than the rest of the store; who opens a file may never need a vector
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Codes = NDArray[np.uint8]

_DEVIATIONS = 6  # how many standard deviations the 16 steps of a code span
# the length of the mean of unit vectors from which on they have much in common: MiniLM's has 0.2,
# that of E5 0.9
_COMMON = 0.5
_ENOUGH = 100  # vectors to tell it by: the mean of a few is long by chance
_SIGNED_AT_ONCE = 512  # codes
_BATCH = 8_192  # vectors that are compared with their codes at once: some megabytes
_TOLD_MAX = 10


def pack_vector(vector: Floats) -> tuple[bytes, bytes]:
    """Return a unit vector as it is stored, in half precision, and its code."""
    halves = vector.astype("<f2")
    return halves.tobytes(), codes_of(halves.astype("f4")[None]).tobytes()


def pack_part(part: int, vector: Floats) -> tuple[bytes, bytes]:
    """Pack like pack_vector, for a part of a text: a sentence, of which there are many and which
    only distinguishes candidates, takes a byte a dimension, after the half-precision step between
    them; its cosine is off by a thousandth."""
    import numpy as np

    if part < INDEXED_PARTS:
        return pack_vector(vector)
    step = np.float16(max(float(np.abs(vector).max()) / 127, 1e-6))
    return step.tobytes() + np.clip(np.rint(vector / np.float32(step)), -127, 127).astype(
        np.int8
    ).tobytes(), b""


def codes_of(vectors: Floats) -> Codes:
    """Return the codes of vectors, one a row."""
    import numpy as np

    steps = (np.clip(np.floor(np.nan_to_num(vectors / _step(vectors.shape[1]))), -8, 7) + 8).astype(
        np.uint8
    )
    if missing := -vectors.shape[1] % 64:
        steps = np.pad(steps, ((0, 0), (0, missing)), constant_values=8)
    half = steps.shape[1] // 2
    codes: Codes = steps[:, :half] << 4 | steps[:, half:]
    return codes


def _step(dimensions: int) -> np.float32:
    import numpy as np

    return np.float32(_DEVIATIONS / 16 / math.sqrt(dimensions))


def code_signs(codes: Codes, levels: Codes) -> NDArray[np.uint64]:
    """Return on which side of a level (code_levels) the numbers in codes lie, a bit each, by words
    of 64 bits: [codes, words]."""
    import numpy as np

    half = codes.shape[1]
    signs = np.empty((len(codes), 2, half // 8), dtype=np.uint8)
    # few at once: what lies between stays in the cache, and needs no new memory
    for start in range(0, len(codes), _SIGNED_AT_ONCE):
        part = codes[start : start + _SIGNED_AT_ONCE]
        made = signs[start : start + _SIGNED_AT_ONCE]
        for place, above in enumerate((part >= levels[:half] << 4, part & 0x0F >= levels[half:])):
            made[:, place] = np.packbits(above).reshape(len(part), half // 8)
    return signs.reshape(len(codes), half // 4).view(np.uint64)


def code_levels(codes: Codes) -> Codes:
    """Return, for each of W numbers, the step from which on it counts as above: that of zero, or,
    where vectors have much of a direction in common, that of their mean. All would lie on one side
    of zero in the numbers that make up that direction."""
    import numpy as np

    means = np.concatenate((codes >> 4, codes & 0x0F), axis=1).mean(axis=0) - 7.5
    common = len(codes) >= _ENOUGH and np.linalg.norm(means) * _step(len(means)) > _COMMON
    return (
        np.clip(np.rint(means) + 8, 1, 15).astype(np.uint8)
        if common
        else np.full(len(means), 8, dtype=np.uint8)
    )


def code_vectors(codes: Codes, dimensions: int) -> Floats:
    """Return the vectors of which these are the codes, as far as codes tell: each number as the
    middle of its step."""
    import numpy as np

    steps = np.concatenate((codes >> 4, codes & 0x0F), axis=1)[:, :dimensions]
    return (steps.astype(np.float32) - np.float32(7.5)) * _step(dimensions)


def code_products(codes: Codes, vector: Floats) -> Floats:
    """Return the scalar products of a vector with those that code_vectors gives, without making
    these."""
    import numpy as np

    half = codes.shape[1]
    missing = 2 * half - len(vector)
    numbers = np.pad(vector, (0, missing)) if missing else vector
    found: Floats = row_products((codes >> 4).astype(np.float32), numbers[:half])
    found += row_products((codes & 0x0F).astype(np.float32), numbers[half:])
    found -= np.float32(7.5) * numbers.sum()
    found *= _step(len(vector))
    return found


def unpack_vectors(data: Sequence[bytes], dimensions: int | None = None) -> Floats:
    """Unpack half-precision vectors, one in each row, of the given dimensions; None: all have those
    of the first. Raises CorruptError for others."""
    import numpy as np

    width = _joined_length(data, None if dimensions is None else 2 * dimensions, unit=2)
    return (
        np.frombuffer(b"".join(data), dtype="<f2").reshape(len(data), width // 2).astype(np.float32)
    )


def unpack_parts(data: Sequence[bytes], dimensions: int) -> Floats:
    """Return the vectors of sentences as pack_part has packed them, one a row. Raises CorruptError
    for another number of dimensions."""
    import numpy as np

    width = _joined_length(data, 2 + dimensions)
    rows = np.frombuffer(b"".join(data), dtype=np.uint8).reshape(len(data), width)
    steps = np.ascontiguousarray(rows[:, :2]).view("<f2").astype(np.float32)
    return rows[:, 2:].view(np.int8) * steps


def unpack_codes(data: Sequence[bytes], length: int | None = None) -> Codes:
    """Unpack codes of so many bytes, one a row; None: all of as many as the first. Raises
    CorruptError for others."""
    import numpy as np

    width = _joined_length(data, length, unit=32)
    return np.frombuffer(b"".join(data), dtype=np.uint8).reshape(len(data), width)


def _joined_length(data: Sequence[bytes], wanted: int | None, *, unit: int = 1) -> int:
    """How many bytes each of these has. Raises CorruptError unless all have the wanted number
    (None: the first one's), whole units of it."""
    length = (
        wanted if wanted is not None else len(data[0]) if data and type(data[0]) is bytes else 0
    )
    for found in {len(item) if type(item) is bytes else None for item in data}:
        if found is None or found != length or not found or found % unit:
            raise wrong_length(found, length, of="bytes")
    return length


def wrong_length(found: object, wanted: object, *, of: str) -> CorruptError:
    """Build the error for a vector or code that cannot be compared with the others."""
    return CorruptError(
        f"The vectors of this file do not fit together: one has {found} {of} where {wanted} are"
        " wanted.",
        next_step=(
            "Run `doxa doctor`, which names what is damaged; `doxa embed --anew` makes all vectors"
            " again."
        ),
        found=found,
        wanted=wanted,
    )


def recode(db: apsw.Connection, vectors: str, codes: str) -> None:
    """Make the codes of one set, which has none. A vector whose length no code has gets an empty
    one: `check` names both."""
    found = db.execute(f"SELECT id, data FROM {vectors} WHERE part < {INDEXED_PARTS} ORDER BY id")
    while batch := list(islice(found, _BATCH)):
        halves = [data if type(data) is bytes and len(data) % 2 == 0 else b"" for _, data in batch]
        made = [b""] * len(batch)
        for length in set(map(len, halves)) - {0}:
            places = [place for place, data in enumerate(halves) if len(data) == length]
            for place, code in zip(
                places, codes_of(unpack_vectors([halves[place] for place in places])), strict=True
            ):
                made[place] = code.tobytes()
        db.executemany(
            f"INSERT INTO {codes}(id, code) VALUES(?, ?)",
            ((row[0], code) for row, code in zip(batch, made, strict=True)),
        )


def problems(
    db: apsw.Connection, vectors: str, codes: str, *, name: str, code: str
) -> Iterator[str]:
    """Yield the problems of one set of vectors: a vector with another length than the others, a
    code that is not that of its vector."""
    usual: Any = db.execute(
        f"SELECT length(data) FROM {vectors} WHERE part < {INDEXED_PARTS} AND typeof(data) = 'blob'"
        " AND length(data) > 0 AND length(data) % 2 = 0 GROUP BY 1 ORDER BY count(*) DESC, 1"
        " LIMIT 1"
    ).get
    if usual is None:
        for row in db.execute(f"SELECT scope, doc, part FROM {vectors} LIMIT ?", (_TOLD_MAX,)):
            yield f"a {name} of a wrong length: {row}"
        return
    dimensions = usual // 2
    length = f"CASE WHEN part < {INDEXED_PARTS} THEN {2 * dimensions} ELSE {2 + dimensions} END"
    wrong = (
        f"SELECT scope, doc, part FROM {vectors} WHERE NOT (typeof(data) = 'blob' AND length(data)"
        f" = {length} AND length(data) > 2) LIMIT ?"
    )
    for row in db.execute(wrong, (_TOLD_MAX,)):
        yield f"a {name} of a wrong length: {row}"
    pairs = db.execute(
        "SELECT v.scope, v.doc, v.part, v.data, CASE typeof(c.code) WHEN 'blob' THEN c.code END "
        f"FROM {vectors} v CROSS JOIN {codes} c USING(id) "
        f"WHERE v.part < {INDEXED_PARTS} AND typeof(v.data) = 'blob' AND length(v.data) = ?",
        (2 * dimensions,),
    )
    told = 0
    while told < _TOLD_MAX and (batch := list(islice(pairs, _BATCH))):
        for row in _unlike(batch, dimensions):
            if told < _TOLD_MAX:
                yield f"a {code} that is not that of its {name}: {row[:3]}"
            told += 1


def _unlike(batch: list[tuple[Any, ...]], dimensions: int) -> Iterator[tuple[Any, ...]]:
    """The rows (scope, doc, part, data, code) whose code is another than that of their vector."""
    made = codes_of(unpack_vectors([row[3] for row in batch], dimensions))
    return (row for row, code in zip(batch, made, strict=True) if row[4] != code.tobytes())
