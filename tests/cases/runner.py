"""Behaviour as text: each file of tests/cases holds cases of one subject, and this runs them.

    # A comment belongs to the case below it.
    MATCH (n:Town) RETURN n.name
    ----
    n.name
    'Oslo'

A case is its lines of input, a line `----`, and the expected result; a blank line ends it. The name
of the file selects the function under test: kref, dates, rules, redaction, match, cypher. `python
-m tests.cases` runs all cases and prints differences; `--rewrite` replaces the expected results by
the actual ones, to be reviewed as a diff. Those in `JUDGED` are exceptions: their labels were
assigned by a reader, the code must reach given rates on them, and they are never rewritten.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from doxa.base.clock import format_time, parse_time
from doxa.base.dates import find_dates
from doxa.base.errors import DoxaError, KrefError
from doxa.belief import parse_kref, print_kref
from doxa.cypher.errors import QueryError
from doxa.ingestion.match import CONFLICT_AT, REVISE_AT, judge_claims
from doxa.language.agreement import RETIRING
from doxa.language.extract import extract
from doxa.language.statement import read_statement
from doxa.language.turns import Turn
from doxa.query.core.elements import Edge, Node
from doxa.query.core.elements import Path as GraphPath
from doxa.query.engine import QueryEngine
from doxa.redaction.redact import redact
from doxa.store import Identity, Store

FOLDER = Path(__file__).parent
RULE = "----"
JUDGED = frozenset(
    (
        "updates",
        "remember",
        "questions",
        "secrets",
        "secrets_fresh",
        "secrets_ordinary",
        "secrets_ordinary_fresh",
        "secrets_ordinary_second",
        "secrets_second",
        "secrets_unseen",
        "questions_unseen",
        "plain_language",
        "plain_language_everyday",
        "plain_language_languages",
        "plain_language_ordinary",
        "plain_language_talk",
        "plain_language_talk_languages",
        "plain_language_unseen_indirect",
        "plain_language_unseen_ordinary",
        "poison",
        "poison_held_out",
        "poison_unseen",
        "precision",
        "precision_unseen",
        "updates_in_talk",
        "updates_in_talk_unseen",
    )
)
NOW = parse_time("2023-05-11T15:30:00Z")  # a Thursday


class Case(NamedTuple):
    """One case: where its first line stands, its comments, its input and its answer."""

    line: int
    notes: tuple[str, ...]
    given: str
    answer: str


def read(text: str) -> list[Case]:
    """The cases of a file. A block of comments alone is a case without input, so that writing keeps
    it."""
    cases = []
    number = 1
    for block in text.split("\n\n"):
        lines = block.split("\n")
        first = number
        number += len(lines) + 1
        notes = tuple(line for line in lines if line.startswith("# "))
        rest = [line for line in lines if line.strip() and not line.startswith("# ")]
        if RULE in rest:
            cut = rest.index(RULE)
            cases.append(Case(first, notes, "\n".join(rest[:cut]), "\n".join(rest[cut + 1 :])))
        elif rest or notes:
            cases.append(Case(first, notes, "\n".join(rest), ""))
    return cases


def write(cases: list[Case]) -> str:
    """The text of a file with these cases."""
    blocks = []
    for case in cases:
        parts = [*case.notes, *([case.given, RULE, case.answer] if case.given else [])]
        blocks.append("\n".join(part for part in parts if part))
    return "\n\n".join(blocks) + "\n"


def answered(name: str, cases: list[Case]) -> list[Case]:
    """The cases with the answers that the code gives."""
    return [
        case._replace(answer=ANSWERS[name](case.given)) if case.given else case for case in cases
    ]


def differences(name: str, text: str) -> list[str]:
    """What the code answers otherwise than the file says."""
    cases = read(text)
    return [
        f"{name}.txt, line {held.line}:\n{held.given}\n{RULE} expected\n{held.answer}\n{RULE} but"
        f" it is\n{now.answer}"
        for held, now in zip(cases, answered(name, cases), strict=True)
        if held.answer != now.answer
    ]


def files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(FOLDER.glob("*.txt")) if path.stem not in JUDGED}


def _kref(text: str) -> str:
    try:
        kref = parse_kref(text)
    except KrefError as error:
        return f"no kref at {error.fields['position']}: {error.fields['reason']}"
    assert parse_kref(print_kref(kref)) == kref
    fields = {
        name: getattr(kref, name)
        for name in ("project", "spaces", "name", "kind", "revision", "tag", "at", "artifact")
    }
    shown = "; ".join(
        f"{name} {'/'.join(value) if isinstance(value, tuple) else value}"
        for name, value in fields.items()
        if value
    )
    return f"{print_kref(kref)}\n{shown}"


def _dates(text: str) -> str:
    found = [
        f"{one.text} = {format_time(one.start_ns)[:10]} .. {format_time(one.end_ns)[:10]}"
        f" ({one.precision})"
        for one in find_dates(text, NOW)
    ]
    return "\n".join(found) or "nothing"


def _rules(text: str) -> str:
    """`Speaker: what was said` to one line for each candidate."""
    speaker, _, said = text.partition(": ")
    found = extract(Turn("t", "s", speaker, "person", said, NOW, "")).candidates
    lines = [
        f"{one.kind}: {one.subject} | {one.predicate} | {one.value}"
        + (f" (instead of {one.replaces})" if one.replaces else "")
        + f" by {one.rule}"
        for one in found
    ]
    return "\n".join(lines) or "nothing"


def _redaction(text: str) -> str:
    found = redact(text)
    assert redact(found.text).text == found.text
    return found.text


def _match(text: str) -> str:
    """Compare a new sentence, after `> `, with each held one: the relation, the verdict and why."""
    *held, said = text.split("\n")
    new = read_statement(said.removeprefix("> "), time_ns=NOW)
    lines = []
    for line in held:
        old = read_statement(line, time_ns=NOW)
        found = [
            judge_claims(one, other, several=len(old) > 1)
            for one in new
            for other in old
            if not other.unasserted
        ]
        verdict, score = max(
            found, key=lambda pair: (pair[0].relation != "beside", pair[1]), default=(None, 0.0)
        )
        relation = verdict.relation if verdict else "beside"
        asked = "revise" if score >= REVISE_AT else "conflict" if score >= CONFLICT_AT else "create"
        known = "same" if relation in ("restates", "names") and score >= REVISE_AT else "create"
        lines.append(f"{asked if relation in RETIRING else known}: {relation}")
    return "\n".join(lines)


def _cypher(text: str) -> str:
    """Statements end with `;` at a line's end and run in order on an empty graph; the answer is the
    last one's: columns, then rows."""
    statements = [part.strip() for part in (text + "\n").split(";\n") if part.strip()]
    engine = QueryEngine()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "cases.db") as store:
        lines: list[str] = []
        for statement in statements:
            try:
                with store.write(Identity("cases", "operator"), op="query") as tx:
                    result = engine.execute(engine.prepare(statement), tx, {})
                    rows = [" | ".join(shown(value) for value in row) for row in result]
            except QueryError as error:
                return f"{error.kind}, {error.detail}"
            lines = (
                [
                    " | ".join(result.columns),
                    *(rows if "ORDER BY" in statement.upper() else sorted(rows)),
                ]
                if result.columns
                else ["no rows"]
            )
        return "\n".join(lines)


def shown(value: Any) -> str:
    """A value as a query would write it."""
    if isinstance(value, Node):
        return (
            "("
            + "".join(f":{label}" for label in sorted(value.labels))
            + _properties(value.properties)
            + ")"
        )
    if isinstance(value, Edge):
        return f"[:{value.type}{_properties(value.properties)}]"
    if isinstance(value, GraphPath):
        parts = [shown(value.nodes[0])]
        for edge, before, after in zip(value.edges, value.nodes, value.nodes[1:], strict=False):
            arrow = f"-{shown(edge)}->" if edge.start == before.id else f"<-{shown(edge)}-"
            parts += [arrow, shown(after)]
        return "".join(parts)
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{name}: {shown(item)}" for name, item in sorted(value.items())) + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return (
        repr(value) if isinstance(value, (str, int, float)) else f"{type(value).__name__}({value})"
    )


def _properties(props: Any) -> str:
    return f" {shown(dict(props))}" if props else ""


def guarded(answer: Callable[[str], str]) -> Callable[[str], str]:
    """Return the result of a call; an error of doxa is a result too."""

    def call(text: str) -> str:
        try:
            return answer(text)
        except DoxaError as error:
            return f"{error.code}: {error.message}"

    return call


ANSWERS: dict[str, Callable[[str], str]] = {
    name: guarded(answer)
    for name, answer in {
        "kref": _kref,
        "dates": _dates,
        "rules": _rules,
        "redaction": _redaction,
        "match": _match,
        "cypher": _cypher,
    }.items()
}
