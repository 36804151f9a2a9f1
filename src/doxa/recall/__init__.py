"""Floor 3: from a question to hits with reasons: words, meaning, fusion, budget, over what may be
believed now."""

from doxa.recall.engine import Recaller
from doxa.recall.fusion import LANES, MODES
from doxa.recall.hits import tokens_of
from doxa.recall.types import Ask, Hit, Recall

__all__ = ["LANES", "MODES", "Ask", "Hit", "Recall", "Recaller", "tokens_of"]
