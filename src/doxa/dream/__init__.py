"""Dreaming: background care of what is believed. It looks at what is new, proposes what a person or
an agent then decides, and destroys nothing."""

from doxa.dream.findings import DreamBatch, DreamFinding
from doxa.dream.model import ModelAssessor
from doxa.dream.pipeline import STAGES, DreamOptions, dream
from doxa.dream.report import DreamReport
from doxa.dream.rules import RuleAssessor
from doxa.dream.triggers import Triggers, why_due

__all__ = [
    "STAGES",
    "DreamBatch",
    "DreamFinding",
    "DreamOptions",
    "DreamReport",
    "ModelAssessor",
    "RuleAssessor",
    "Triggers",
    "dream",
    "why_due",
]
