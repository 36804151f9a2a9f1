"""Entrenchment: a strict linear order of beliefs that decides which of two is retracted first, with
a reason for each comparison.

What entrenches a belief depends on its kind: recency a preference, independent sources a fact,
confidence an inference. The order compares these criteria in turn: trust, family (facts before
preferences before inferences), the measure of the family, then support, recency, and the revision
number. Source: "Graph-Native Cognitive Memory for AI Agents" (Kumiho, 2026), section 7.2, which
proposes an order by kind and leaves it open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from doxa.base.errors import InputError

CRITERIA = ("trust", "family", "measure", "support", "recency", "revision")
MEASURES = ("support", "recency", "confidence")
FAMILIES: Mapping[str, str] = {  # of kinds that are not facts
    "preference": "preference",
    "directive": "preference",
    "instruction": "preference",
    "inference": "inference",
    "hypothesis": "inference",
    "guess": "inference",
    "assumption": "inference",
}


class EntrenchmentFactors(NamedTuple):
    """The inputs of the order. `trust` is a rank, `support` counts independent sources, `recency`
    is a time in ns, `revision` breaks ties."""

    kind: str
    trust: int
    support: int
    confidence: float
    recency: int
    revision: tuple[int, ...]


@dataclass(frozen=True)
class Entrenchment:
    """An order. `families` run from least to most entrenched, `measures` gives the first criterion
    of each family, and `kinds` maps a kind to its family."""

    families: tuple[str, ...] = ("inference", "preference", "fact")
    measures: Mapping[str, str] = field(
        default_factory=lambda: {
            "fact": "support",
            "preference": "recency",
            "inference": "confidence",
        }
    )
    kinds: Mapping[str, str] = field(default_factory=lambda: dict(FAMILIES))
    criteria: tuple[str, ...] = CRITERIA

    def family(self, kind: str) -> str:
        """Return the family of a kind; unknown kinds are facts."""
        return self.kinds.get(kind, "fact")

    def key(self, standing: EntrenchmentFactors) -> tuple[Any, ...]:
        """Return a unique sort key, from the least to the most entrenched."""
        return tuple(self._value(standing, criterion) for criterion in self.criteria)

    def why(self, more: EntrenchmentFactors, less: EntrenchmentFactors) -> str:
        """Explain in words why the first is more entrenched than the second."""
        for criterion in self.criteria:
            one, other = self._value(more, criterion), self._value(less, criterion)
            if one != other:
                return self._worded(criterion, more, less)
        return "it is the same belief"

    def _value(self, standing: EntrenchmentFactors, criterion: str) -> Any:
        match criterion:
            case "family":
                return self.families.index(self.family(standing.kind))
            case "measure":
                return getattr(standing, self.measures[self.family(standing.kind)])
            case _:
                return getattr(standing, criterion)

    def _worded(self, criterion: str, more: EntrenchmentFactors, less: EntrenchmentFactors) -> str:
        name = self.measures[self.family(more.kind)] if criterion == "measure" else criterion
        match name:
            case "trust":
                return "it is trusted more"
            case "family":
                return (
                    f"{_article(self.family(more.kind))} is more entrenched than"
                    f" {_article(self.family(less.kind))}"
                )
            case "support":
                return (
                    f"it has {more.support} independent source{'s' if more.support != 1 else ''}"
                    f" against {less.support}"
                )
            case "confidence":
                return f"its confidence is {more.confidence:g} against {less.confidence:g}"
            case "recency":
                return "it is more recent"
            case _:
                return "it was written later"

    def as_data(self) -> dict[str, object]:
        return {
            "families": list(self.families),
            "measures": dict(self.measures),
            "kinds": dict(self.kinds),
            "criteria": list(self.criteria),
        }


def _article(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def parse_entrenchment(value: object) -> Entrenchment:
    """Parse an order from its JSON value; an omitted part keeps its default. The revision number
    always comes last, so that no two beliefs tie. Raises InputError."""
    default = Entrenchment()
    if not isinstance(value, Mapping) or not value.keys() <= {
        "families",
        "measures",
        "kinds",
        "criteria",
    }:
        raise _no_order(value)
    families = _names(value.get("families", default.families))
    measures = {**default.measures, **_mapping(value.get("measures", {}))}
    kinds = {**default.kinds, **_mapping(value.get("kinds", {}))}
    criteria = tuple(
        name for name in _names(value.get("criteria", default.criteria)) if name != "revision"
    )
    known = (
        "fact" in families
        and set(measures) == set(families)
        and set(measures.values()) <= set(MEASURES)
        and set(kinds.values()) <= set(families)
        and set(criteria) < set(CRITERIA)
        and len(set(criteria)) == len(criteria)
        and len(set(families)) == len(families)
        and ("measure" not in criteria or "family" in criteria[: criteria.index("measure")])
    )
    if not known:
        raise _no_order(value)
    return Entrenchment(families, measures, kinds, (*criteria, "revision"))


def _names(value: object) -> tuple[str, ...]:
    if (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(name, str) for name in value)
    ):
        return tuple(value)
    raise _no_order(value)


def _mapping(value: object) -> dict[str, str]:
    if isinstance(value, Mapping) and all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        return dict(value)
    raise _no_order(value)


def _no_order(value: object) -> InputError:
    return InputError(
        f"This is not an entrenchment order: {str(value)[:80]!r}.",
        next_step=(
            f"Give families (with fact), measures of each ({', '.join(MEASURES)}), kinds, criteria:"
            f" {', '.join(CRITERIA)}, family first."
        ),
        field="entrenchment",
    )
