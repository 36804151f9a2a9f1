"""What a word in the shell may become: keywords, names of the graph, functions, procedures,
parameters, commands. Of the graph it reads little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doxa.base.errors import DoxaError
from doxa.cypher.dash_comments import about_policies, lead
from doxa.cypher.printer import name
from doxa.cypher.semantics.signatures import FUNCTIONS

if TYPE_CHECKING:
    from doxa.app import Memory

_KEYWORDS = tuple(
    "ALL AND ANY AS ASC BY CALL CASE COLLECT CONSTRAINT CONTAINS COUNT CREATE CSV DELETE DESC"
    " DETACH DISTINCT DROP ELSE END ENDS EXISTS EXPLAIN FALSE FIELDTERMINATOR FINISH FOR FOREACH"
    " FROM HEADERS IF IN INDEX IS KEY LIMIT LOAD MATCH MERGE NODE NONE NOT NULL OF ON OPTIONAL OR"
    " ORDER OVERLAP POINT PROFILE RANGE REDUCE REMOVE REQUIRE RETURN ROWS SET SHOW SINGLE SKIP"
    " STARTS SYSTEM TEMPORAL TEXT THEN TIME TRANSACTIONS TRUE UNION UNIQUE UNWIND VALID WHEN WHERE"
    " WITH XOR YIELD CONSTRAINTS DATABASES FUNCTIONS INDEXES PROCEDURES SETTINGS shortestPath"
    " allShortestPaths".split()
)
_POLICY_KEYWORDS = tuple(
    "ACCESS ALTER APPLY DECAY DISABLE ENABLE FLOOR HALF KALMAN LIFE NO OPTIONS POLICIES POLICY"
    " PROFILES PROMOTION REPLACE THRESHOLD VISIBILITY".split()
)
_ALL_KEYWORDS = _KEYWORDS + _POLICY_KEYWORDS
OPTION_KEYS = tuple(
    "decayEnabled enabled function halfLifeSeconds multiplier q r scope scoreCap scoreFloor"
    " scoreFrom scoreFromProperty varianceScale visibilityThreshold windowSize".split()
)
_OPTION = re.compile(r"(?:OPTIONS|KALMAN)\s*\{[^}]*$", re.IGNORECASE)
_AFTER_COLON = re.compile(r"[:|&!]\s*$")
_AFTER_CALL = re.compile(r"\bCALL\s*$", re.IGNORECASE)
_SAMPLE_NAMES, _SAMPLE_ROWS, _PATIENCE_MS = 100, 20, 500


@dataclass(frozen=True, slots=True)
class Names:
    """What the graph knows by name."""

    labels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    procedures: tuple[str, ...] = ()


def names_of(memory: Memory) -> Names:
    """Return the names in use now. Properties are those of a few elements of each label and type: a
    whole graph is not read for a key press."""
    procedures = tuple(procedure.signature.name for procedure in memory.queries.registry.all())
    try:
        labels = _column(memory, "CALL db.labels()")
        types = _column(memory, "CALL db.relationshipTypes()")
        keys: set[str] = set()
        for label in labels[:_SAMPLE_NAMES]:
            keys |= set(
                _column(
                    memory,
                    f"MATCH (n:{name(label)}) WITH n LIMIT {_SAMPLE_ROWS} UNWIND keys(n) AS key"
                    " RETURN DISTINCT key",
                )
            )
        for kind in types[:_SAMPLE_NAMES]:
            keys |= set(
                _column(
                    memory,
                    f"MATCH ()-[r:{name(kind)}]->() WITH r LIMIT {_SAMPLE_ROWS} UNWIND keys(r) AS"
                    " key RETURN DISTINCT key",
                )
            )
    except DoxaError:  # too slow, or the file is busy: the words of the language remain
        return Names(procedures=procedures)
    return Names(labels, types, tuple(sorted(keys)), procedures)


def candidates(
    before: str, word: str, *, names: Names, parameters: Iterable[str], commands: Mapping[str, Any]
) -> list[str]:
    """Return the completions of `word`; `before` is the text in front of it, from the beginning of
    the statement."""
    if before.strip() == ":":
        return _beginning(word, commands)
    if word.startswith("$"):
        return _beginning(word, (f"${parameter}" for parameter in parameters))
    inside = _bracket(before)
    if _AFTER_COLON.search(before) and inside != "{":
        return _beginning(word, map(name, names.types if inside == "[" else names.labels))
    if _AFTER_CALL.search(before):
        return _beginning(word, names.procedures)
    functions = [f"{signature.name}(" for signature in FUNCTIONS.values()]
    if "." in word:
        owner = word.rpartition(".")[0]
        return _beginning(word, [*functions, *(f"{owner}.{name(key)}" for key in names.properties)])
    if inside == "{" and not about_policies(before, lead(before)):
        return _beginning(word, [*(f"{name(key)}: " for key in names.properties), *functions])
    if inside == "{" and _OPTION.search(before):
        return _beginning(word, (f"{option}: " for option in OPTION_KEYS))
    keywords = (
        [keyword.lower() for keyword in _ALL_KEYWORDS] if word.islower() else list(_ALL_KEYWORDS)
    )
    return _beginning(word, [*keywords, *functions])


def _beginning(word: str, found: Iterable[str]) -> list[str]:
    wanted = word.lower()
    return sorted({one for one in found if one.lower().startswith(wanted)})


def _bracket(before: str) -> str:
    """The innermost bracket that is open at the end of a text."""
    closed = 0
    for char in reversed(before):
        if char in ")]}":
            closed += 1
        elif char in "([{":
            if not closed:
                return char
            closed -= 1
    return ""


def _column(memory: Memory, text: str) -> tuple[str, ...]:
    with memory.graph() as session:
        return tuple(row[0] for row in session.run(text, timeout_ms=_PATIENCE_MS))
