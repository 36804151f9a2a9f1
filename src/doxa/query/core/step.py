"""The two shapes that a plan consists of: functions of a row, and steps from rows to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doxa.query.core.row import Row
from doxa.query.core.run import Run

Evaluate = Callable[[Row, Run], Any]
Step = Any  # anything with rows(run, source) and describe()
