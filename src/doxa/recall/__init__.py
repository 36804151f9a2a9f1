"""From a question to hits with reasons: words, meaning, fusion, budget, over what may be believed
now."""

from doxa.recall.budget import tokens_of
from doxa.recall.engine import Recaller
from doxa.recall.framing import lane_heading
from doxa.recall.fusion import LANES, LANES_DEFAULT, MODES
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
