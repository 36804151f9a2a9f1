"""What the beliefs of a project obey: its constraints and its order of entrenchment, as the
catalogue holds them.

    constraints:<project>    {"functional": [predicates], "exclusions": [[atoms]], "rules":
    [sentences]}     logic/constraints.py
    entrenchment:<project>   {"families": [...], "measures": {...}, "kinds": {...}, "criteria":
    [...]}        logic/entrenchment.py

A project that declares nothing has the defaults of those modules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from doxa.base.values import decode
from doxa.logic.constraints import BeliefConstraints, parse_constraints
from doxa.logic.entrenchment import Entrenchment, parse_entrenchment
from doxa.store import Reader

CONSTRAINTS, ENTRENCHMENT = "constraints:", "entrenchment:"


class ProjectRules(NamedTuple):
    constraints: BeliefConstraints
    order: Entrenchment


def laws_of(reader: Reader, project: str) -> ProjectRules:
    """Return what a project's beliefs obey on this snapshot."""
    sql = (
        "SELECT (SELECT json(value) FROM catalogue WHERE name = ?), (SELECT json(value) FROM"
        " catalogue WHERE name = ?)"
    )
    constraints, order = reader.rows(sql, (CONSTRAINTS + project, ENTRENCHMENT + project))[0]
    return ProjectRules(_constraints(constraints or ""), _order(order or ""))


@lru_cache(maxsize=64)
def _constraints(text: str) -> BeliefConstraints:
    return parse_constraints(decode(text)) if text else BeliefConstraints()


@lru_cache(maxsize=64)
def _order(text: str) -> Entrenchment:
    return parse_entrenchment(decode(text)) if text else Entrenchment()


def check_rule(name: str, value: object) -> None:
    """Check a rule of a project that comes from elsewhere. Raises InputError if it is none."""
    for start, parse in ((CONSTRAINTS, parse_constraints), (ENTRENCHMENT, parse_entrenchment)):
        if name.startswith(start):
            parse(value)
