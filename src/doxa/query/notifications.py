"""Notifications about a statement that runs but looks wrong: unknown names, unconnected patterns.

Titles and codes are those of Neo4j, so that drivers and tools recognise them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from doxa.cypher import tree as t
from doxa.cypher.errors import locate
from doxa.query.core.graph import Graph


class Notification(NamedTuple):
    """A notification about a statement. `line` and `column` count from 1, `offset` from 0; `gql` is
    its GQL status."""

    code: str
    title: str
    description: str
    severity: str
    category: str
    gql: str
    condition: str
    offset: int
    line: int
    column: int


class _NotificationKind(NamedTuple):
    code: str
    title: str
    severity: str
    category: str
    gql: str
    condition: str


_LABEL = _NotificationKind(
    "UnknownLabelWarning",
    "The provided label is not in the database.",
    "WARNING",
    "UNRECOGNIZED",
    "01N50",
    "label does not exist",
)
_TYPE = _NotificationKind(
    "UnknownRelationshipTypeWarning",
    "The provided relationship type is not in the database.",
    "WARNING",
    "UNRECOGNIZED",
    "01N51",
    "relationship type does not exist",
)
_PRODUCT = _NotificationKind(
    "CartesianProduct",
    "This query builds a cartesian product between disconnected patterns.",
    "INFORMATION",
    "PERFORMANCE",
    "03N90",
    "cartesian product",
)
_SHADOWED = _NotificationKind(
    "PolicyShadowed",
    "Another persistence policy is for the same target.",
    "WARNING",
    "GENERIC",
    "01N00",
    "policy shadowed",
)


class Outline(NamedTuple):
    """What a query's text shows: the labels and types that it reads and its MATCHes of several
    parts, with positions."""

    labels: dict[str, int]
    types: dict[str, int]
    products: list[int]
    # labels, and types, found before: they were there, so they are not misspelt
    found_labels: set[str]
    found_types: set[str]

    @property
    def says_nothing(self) -> bool:
        """Whether nothing is to be said, whatever the graph has now."""
        if self.products or not self.found_types.issuperset(self.types):
            return False
        return self.found_labels.issuperset(self.labels)


def outline_of(query: t.Query) -> Outline:
    return Outline(*_names(query), list(_products(query)), set(), set())


def notifications_of(outline: Outline, text: str, graph: Graph) -> list[Notification]:
    """Return the notifications about a query, in the order of its text. A name is unknown if
    nothing in the graph has it or had it before it was changed or deleted."""
    said = (
        "The patterns of this MATCH share no variable: every match of one is combined with every"
        " match of the others."
    )
    found = [(at, _PRODUCT, said) for at in outline.products]
    lasting = not graph.reader.has_new_names  # what is not committed may be undone
    kinds = (
        (outline.labels, outline.found_labels, graph.had_label, _LABEL, "node has the label"),
        (outline.types, outline.found_types, graph.had_type, _TYPE, "relationship has the type"),
    )
    for names, known, had, kind, what in kinds:
        for name, at in names.items():
            if name in known:
                continue
            if not had(name):
                said = f"No {what} {name}: nothing can match it. Look for a misspelt name."
                found.append((at, kind, said))
            elif lasting:
                known.add(name)
    return [
        _notice(kind, description, text, at)
        for at, kind, description in sorted(found, key=lambda one: one[0])
    ]


def policy_notifications(command: t.Clause, text: str, graph: Graph) -> list[Notification]:
    """Report a new binding or policy that has no effect because an earlier one has the same
    target."""
    rules = graph.reader.declared().evaluator.rules
    found = []
    for one in command.commands if isinstance(command, t.PolicyCommands) else (command,):
        if isinstance(one, (t.CreateDecayBinding, t.CreatePromotionPolicy)):
            held: list[Any] = list(
                rules.bindings if isinstance(one, t.CreateDecayBinding) else rules.policies
            )
            same = [
                each
                for each in held
                if each.target == (one.target.edge, frozenset(one.target.names))
            ]
            first = min(same, key=lambda each: each.order, default=None)
            if first is not None and len(same) > 1 and first.name != one.name:
                said = (
                    f"{first.name} is for the same target and was registered first: {one.name} has"
                    " no effect while both are enabled."
                )
                found.append(_notice(_SHADOWED, said, text, one.target.at))
    return found


def _notice(kind: _NotificationKind, description: str, text: str, at: int) -> Notification:
    line, column, _ = locate(text, at)
    code = f"Neo.ClientNotification.Statement.{kind.code}"
    return Notification(
        code,
        kind.title,
        description,
        kind.severity,
        kind.category,
        kind.gql,
        kind.condition,
        at,
        line,
        column,
    )


def _names(query: t.Query) -> tuple[dict[str, int], dict[str, int]]:
    """The labels and types that must exist for a match, each with its first position, except
    written and negated ones."""
    labels: dict[str, int] = {}
    types: dict[str, int] = {}

    def reads(part: t.Tree) -> bool:
        return not isinstance(part, (t.Create, t.Merge, t.UpdateItem, t.LabelNot))

    for part in t.walk(query, reads):
        if isinstance(part, t.EdgePattern) and part.types is not None:
            held, names = types, part.types
        elif isinstance(part, t.NodePattern) and part.labels is not None:
            held, names = labels, part.labels
        else:
            continue
        for name in t.walk(names, reads) if reads(names) else ():
            if isinstance(name, t.LabelName):
                held.setdefault(name.name, name.at)
    return labels, types


def _products(query: t.Query) -> Iterator[int]:
    """The positions of MATCHes with several parts that share no variable and do not begin at a
    bound one."""
    for part in t.walk(query):
        if isinstance(part, t.Query):
            for clauses in part.branches:
                known: set[str] = set()
                for clause in clauses:
                    if (
                        isinstance(clause, t.Match)
                        and len(clause.patterns) > 1
                        and _parts(clause, known) > 1
                    ):
                        yield clause.at
                    known |= {
                        one.name for one in t.walk(clause) if isinstance(one, t.Variable)
                    } | _pattern_names(clause)


def _parts(clause: t.Match, known: set[str]) -> int:
    """The number of parts of a MATCH that are connected neither to each other nor to a bound
    variable."""
    joined = list(range(len(clause.patterns)))  # each leads to another of its part, or to itself

    def part_of(number: int) -> int:
        while joined[number] != number:
            joined[number] = joined[joined[number]]
            number = joined[number]
        return number

    first: dict[str, int] = {}
    for number, pattern in enumerate(clause.patterns):
        for name in _pattern_names(pattern):
            joined[part_of(first.setdefault(name, number))] = part_of(number)
    bound = {part_of(number) for name, number in first.items() if name in known}
    return len({part_of(number) for number in joined}) - len(bound)


def _pattern_names(tree: t.Tree) -> set[str]:
    found: set[Any] = {
        part.variable
        for part in t.walk(tree)
        if isinstance(part, (t.NodePattern, t.EdgePattern, t.PathPattern))
    }
    return {name for name in found if name}
