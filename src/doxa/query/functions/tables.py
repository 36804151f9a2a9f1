"""All functions in one table. exists() and coalesce() are not here: the expression compiler knows
them, since they look at expressions."""

from __future__ import annotations

from doxa.query.functions import decay, general, maths, spatial, temporal, texts
from doxa.query.functions.registry import function_table

FUNCTIONS = function_table(
    general.FUNCTIONS,
    maths.FUNCTIONS,
    texts.FUNCTIONS,
    temporal.FUNCTIONS,
    spatial.FUNCTIONS,
    decay.FUNCTIONS,
)
