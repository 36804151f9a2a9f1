"""The table of all functions. exists() and coalesce() are missing: the expression compiler
implements them, since they depend on the form of their arguments."""

from __future__ import annotations

from doxa.query.functions import apoc, decay, general, maths, spatial, temporal, texts
from doxa.query.functions.registry import function_table

FUNCTIONS = function_table(
    general.FUNCTIONS,
    maths.FUNCTIONS,
    texts.FUNCTIONS,
    temporal.FUNCTIONS,
    spatial.FUNCTIONS,
    decay.FUNCTIONS,
    apoc.FUNCTIONS,
)
