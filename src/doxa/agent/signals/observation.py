"""What the dynamics read of a turn, and what they show of it: apart from the learner, which needs
numpy, so that opening a memory does not import it."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES = (
    "composite",
    "correction",
    "novelty",
    "contradiction",
    "loop",
    "confabulation",
    "tension",
    "coherence",
    "user_length",
    "reply_length",
    "length_ratio",
    "user_questions",
    "reply_questions",
    "user_exclamations",
    "user_self_reference",
    "reply_self_reference",
    "user_entropy",
    "reply_entropy",
    "overlap_of_reply",
    "overlap_with_user_before",
    "overlap_with_reply_before",
    "digits",
    "pause_minutes",
    "session_minutes",
    "turn_index",
)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a turn showed: the surprise, its percentile (None until SURPRISES_MIN turns), the
    learner's losses, and how many turns it has learnt from."""

    surprise: float | None
    percentile: float | None
    reconstruction_loss: float
    prediction_loss: float | None
    updates: int
