"""The calibration of a project: the scale on which its cosines are compared, and its mean vector.

The cosines of one model lie between 0.7 and 0.9, those of another between 0 and 0.5, and memories
of one subject lie nearer to each other than those of many. So a cosine is expressed in standard
deviations of the cosines between memories of the project. A calibration is a function of what is
stored: nothing of it is written to the file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.store import Reader, int64_array, pair_products, unpack_vectors, vector_id

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Calibration(NamedTuple):
    """Standard deviation and mean of the cosines between memories of a project, and the mean of its
    vectors. Where the index holds codes, `shift` is what the mean of the codes lacks: codes clip
    large numbers."""

    spread: float
    centre: Floats | None
    mean: float = 0.0
    shift: Floats | None = None


def calibrate(reader: Reader, project: ProjectIndex, rows: Rows) -> Calibration:
    """Measure on at most CALIBRATION_ROWS_MAX of these rows, at even distances: a function of what
    is stored, the same in every process."""
    rows = rows[:: max(1, -(-len(rows) // constants.CALIBRATION_ROWS_MAX))]
    sql = "SELECT v.data FROM carray(?) f CROSS JOIN vector v ON v.id = f.value"
    found = reader.rows(sql, (int64_array(vector_id(project.scope, rows).tolist()),))
    if not found:
        return Calibration(constants.SPREAD_DEFAULT, None)
    data = unpack_vectors([row[0] for row in found])
    centre, shift = data.sum(axis=0) / (len(data) + constants.CENTRE_WEIGHT), None
    if not project.vector_index.exact:
        coded = project.vector_index.wholes(rows, data.shape[1])[1]
        shift = data.mean(axis=0) - coded.mean(axis=0) if len(coded) else None
    if len(data) < constants.CALIBRATION_ROWS_MIN:
        pairs = pair_products(data, data)[np.triu_indices(len(data), 1)]
        return Calibration(
            constants.SPREAD_DEFAULT, centre, float(pairs.mean()) if len(pairs) else 0.0, shift
        )
    count = constants.CALIBRATION_SHIFTS
    shifts = [1 + len(data) * number // (count + 1) for number in range(1, count + 1)]
    cosines = np.concatenate(
        [np.einsum("ij,ij->i", data, np.roll(data, places, axis=0)) for places in shifts]
    )
    return Calibration(max(float(cosines.std()), 1e-3), centre, float(cosines.mean()), shift)


def measured_rows(project: ProjectIndex, believed: Mask) -> tuple[Rows, bool]:
    """Return the rows to measure on, and whether these are all believed rows with vectors.

    They are those among the first P rows, P the highest power of two that fits: most writes leave
    them unchanged. Superseded and erased rows count in P too, so a memory with many revisions may
    have too few there: then all believed rows with vectors are measured."""
    known = believed & (project["vectors"] > 0)
    rows = np.flatnonzero(known[: calibrated_rows(project.count)])
    return (
        (rows, False)
        if len(rows) >= constants.CALIBRATION_ROWS_MIN
        else (np.flatnonzero(known), True)
    )


class _Measured(NamedTuple):
    """A calibration, the kind of index and the number of rows it was measured on, whether these
    were all, and which of them were believed."""

    exact: bool
    among: int
    everywhere: bool
    believed: Mask
    calibration: Calibration


class Calibrations:
    """The calibration of each project, measured again when one of the rows that it was measured on
    changes, or is retracted or restored."""

    def __init__(self) -> None:
        self._held: dict[int, _Measured] = {}

    def of(self, reader: Reader, project: ProjectIndex, believed: Mask) -> Calibration:
        first, held = calibrated_rows(project.count), self._held.get(project.scope)
        same = held is not None and held.exact == project.vector_index.exact
        fits = (
            held is not None
            and same
            and held.among == (project.count if held.everywhere else first)
            and project.oldest_changed >= held.among
        )
        if held is not None and fits and np.array_equal(held.believed, believed[: held.among]):
            return held.calibration
        rows, everywhere = measured_rows(project, believed)
        among = project.count if everywhere else first
        made = calibrate(reader, project, rows)
        self._held[project.scope] = _Measured(
            project.vector_index.exact, among, everywhere, believed[:among].copy(), made
        )
        project.oldest_changed = project.count
        return made


def calibrated_rows(count: int) -> int:
    return 1 << max(0, count.bit_length() - 1) if count else 0
