"""From a question to hits with reasons: words, meaning, fusion, budget, over what may be believed
now.

Names are imported when they are first used: servers and hooks handle hits long before the first
question needs the engine and numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doxa.recall.budget import tokens_of
    from doxa.recall.engine import Recaller
    from doxa.recall.framing import lane_heading
    from doxa.recall.lane_names import LANES, LANES_DEFAULT, MODES
    from doxa.recall.lanes.meaning import field_texts
    from doxa.recall.result import Recall
    from doxa.recall.types import Ask, Hit

__all__ = [
    "LANES",
    "LANES_DEFAULT",
    "MODES",
    "Ask",
    "Hit",
    "Recall",
    "Recaller",
    "field_texts",
    "lane_heading",
    "tokens_of",
]

_MODULE_OF = {
    "LANES": "doxa.recall.lane_names",
    "LANES_DEFAULT": "doxa.recall.lane_names",
    "MODES": "doxa.recall.lane_names",
    "Ask": "doxa.recall.types",
    "Hit": "doxa.recall.types",
    "Recall": "doxa.recall.result",
    "Recaller": "doxa.recall.engine",
    "field_texts": "doxa.recall.lanes.meaning",
    "lane_heading": "doxa.recall.framing",
    "tokens_of": "doxa.recall.budget",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found
