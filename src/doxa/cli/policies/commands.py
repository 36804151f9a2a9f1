"""`doxa policy`: persistence policies declared, listed, simulated and plotted, and the status of
single elements explained.

Commands that only read open the file read-only, so that they count as no access.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Json, opened
from doxa.cli.output import fields_text, show
from doxa.cli.pictures.commands import Svg, write_svg

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.policy.rules import Rules

policy = typer.Typer(
    name="policy",
    no_args_is_help=True,
    add_completion=False,
    help="Manage persistence policies: what decays, and what use promotes.",
    rich_markup_mode=None,
)

Source = Annotated[
    str,
    typer.Argument(
        help="A file of policy commands; - reads standard input.",
        metavar="FILE|-",
        show_default=False,
    ),
]
_LISTS = (
    ("decayProfiles", "Decay profiles"),
    ("promotionProfiles", "Promotion profiles"),
    ("promotionPolicies", "Promotion policies"),
)
_STANDING = (
    "CALL doxa.policy.explain(reveal(n), $options) YIELD visible, reason, score, threshold,"
    " binding, profile, policy, promotion, scoreFrom, anchor, visibleFrom, visibleUntil, changesAt,"
    " hiddenProperties, chain, ties, suppressed, dynamic RETURN *, decay(n, $options) AS decay,"
    " policy(n) AS use"
)
_EDGE = (
    "MATCH (a)-[n]->(b) WHERE elementId(n) = $id AND reveal(a) IS NOT NULL AND reveal(b) IS NOT"
    " NULL"
)
_COUNTED = ("added", "changed", "removed")
_RECEIPTS_READ = 500


@policy.command("list")
def list_policies(db: Db = None, as_json: Json = False) -> None:
    """List all policies, as SHOW does."""
    from doxa.cli.values import plain

    with opened(db, as_json, read_only=True) as memory:
        found = {
            name: plain(memory.read(f"SHOW {title.upper()}").records()) for name, title in _LISTS
        }
        show(found, as_json, _lists_text)


@policy.command("apply")
def apply_policies(source: Source, db: Db = None, as_json: Json = False) -> None:
    """Carry out policy commands, all of them or none."""
    with opened(db, as_json) as memory:
        script = _script(source)
        _only_policies(memory, script)
        with memory.graph() as graph:
            result = graph.run(script)
            done: dict[str, Any] = {
                what: result.counters.get(f"policies_{what}", 0) for what in _COUNTED
            }
            done["notices"] = [notice.description for notice in result.notices()]
        memory.flush()  # here, since no job of this process goes on with it
        show(done, as_json, _applied_text)


@policy.command("bootstrap")
def bootstrap(db: Db = None, as_json: Json = False) -> None:
    """Install the standard policies in a file that has none."""
    from doxa.app.policies import install

    with opened(db, as_json) as memory:
        count = install(memory.store, memory.identity)
        memory.flush()
        show(
            {"added": count},
            as_json,
            lambda found: (
                f"{found['added']} standard policies are in force; `doxa policy list` shows them"
            ),
        )


@policy.command("explain")
def explain(
    element: Annotated[
        str,
        typer.Argument(
            help="An address, or an element id such as n:7 or r:7.",
            metavar="KREF|ELEMENT-ID",
            show_default=False,
        ),
    ],
    prop: Annotated[
        str | None, typer.Option("--property", help="Only this property of it.", show_default=False)
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Explain why an element is visible or hidden, by which rule, and when that changes."""
    from doxa.cli.values import plain

    with opened(db, as_json, read_only=True) as memory:
        pattern, given = _found_by(memory, element)
        found = memory.read(
            f"{pattern} {_STANDING}",
            given | {"options": None if prop is None else {"property": prop}},
        ).records()
        if not found:
            from doxa.base.errors import NotFoundError

            step = "Give an address, or what elementId() returns."
            raise NotFoundError(
                f"There is no element {element[:100]}.", next_step=step, element=element[:100]
            )
        found_values = {
            name: plain(value) for name, value in found[0].items() if name not in ("a", "b", "n")
        }
        show(found_values | {"hiddenEnds": _hidden_ends(memory, element)}, as_json, _standing_text)


@policy.command("simulate")
def simulate(
    source: Source,
    horizon: Annotated[
        str, typer.Option(help="How far to look ahead: an ISO 8601 duration.")
    ] = "P30D",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show what policy commands would hide, and when; nothing is written."""
    from doxa.cli.values import plain

    with opened(db, as_json, read_only=True) as memory:
        given = {"ddl": _script(source), "horizon": horizon}
        found = memory.read("CALL doxa.policy.simulate($ddl, duration($horizon))", given).records()
        show(plain(found), as_json, lambda rows: _effects_text(rows, horizon))


@policy.command("curve")
@policy.command("plot")
def plot(
    name: Annotated[
        str, typer.Argument(help="A decay profile, bundle or binding.", show_default=False)
    ],
    days: Annotated[
        float | None,
        typer.Option(
            help="How many days to draw (default: what shows the turn).", show_default=False
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Another threshold than the profile's.", show_default=False)
    ] = None,
    promoted: Annotated[
        str | None, typer.Option(help="As it is under this promotion profile.", show_default=False)
    ] = None,
    prop: Annotated[
        str | None,
        typer.Option(
            "--property", help="The curve of a property of the binding.", show_default=False
        ),
    ] = None,
    svg: Svg = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Draw a profile's score over time, with the threshold and when it hides."""
    from doxa.cli.policies.curves import curve_text, drawn

    with opened(db, as_json, read_only=True) as memory:
        found = drawn(
            _rules(memory), name, days=days, threshold=threshold, promoted=promoted, prop=prop
        )
        if svg is None:
            show(found, as_json, curve_text)
        else:
            from doxa.cli.pictures.svg import curve_svg

            show(write_svg(svg, curve_svg(found)), as_json, fields_text)


@policy.command("status")
def status(db: Db = None, as_json: Json = False) -> None:
    """Show whether policies are enabled, how many there are, and what work is pending."""
    from doxa.base.limits import ACCESS_FLUSH_MS

    with opened(db, as_json, read_only=True) as memory:
        (info,) = memory.read("CALL doxa.policy.info()").records()
        waiting = memory.read("CALL doxa.policy.deindexStatus()").records()
        written = next(
            (
                receipt.time
                for receipt in memory.log(limit=_RECEIPTS_READ)
                if receipt.op == "accesses"
            ),
            None,
        )
        show(
            {
                **{
                    name: info[name]
                    for name in (
                        "enabled",
                        "decayProfiles",
                        "decayBindings",
                        "promotionProfiles",
                        "promotionPolicies",
                    )
                },
                "pending": sum(one["pending_count"] for one in waiting),
                "windows": [one["message"] for one in waiting],
                "accessesWritten": {"time": written},
                "accessesFollowWithinMs": ACCESS_FLUSH_MS,
            },
            as_json,
            _status_text,
        )


# Queries


def _script(source: str) -> str:
    """The commands as text; whether there are any is looked at before the file is."""
    from doxa.base.errors import InputError
    from doxa.cli.options import script_of
    from doxa.cypher.script import statements

    script = script_of("-", None) if source == "-" else script_of(None, Path(source))
    if script is None or not statements(script):
        raise InputError(
            "There is no policy command in what was given.",
            next_step="Give such as CREATE DECAY PROFILE …",
            field="source",
        )
    return script


def _only_policies(memory: Memory, script: str) -> None:
    from doxa.app.policies import has_only_policy_commands
    from doxa.base.errors import InputError

    if not has_only_policy_commands(memory.queries, script):
        raise InputError(
            "The script holds other statements than policy commands.",
            next_step="Run other statements with `doxa cypher`.",
            field="source",
        )


def _found_by(memory: Memory, element: str) -> tuple[str, dict[str, Any]]:
    """The pattern that finds an element, and its parameters. What an address means is asked first:
    an item means its current revision."""
    if element.startswith("kref:"):
        return "MATCH (n {kref: $kref})", {"kref": str(memory.get(element, reveal=True).kref)}
    return _EDGE if element.startswith("r:") else "MATCH (n) WHERE elementId(n) = $id", {
        "id": element
    }


def _hidden_ends(memory: Memory, element: str) -> list[str]:
    """The ends of a relationship that are out of sight, so that no pattern reaches it."""
    if not element.startswith("r:"):
        return []
    asked = (
        f"{_EDGE} UNWIND [a, b] AS end CALL doxa.policy.explain(end) YIELD visible RETURN DISTINCT"
        " elementId(end) AS id, visible"
    )
    return [
        row["id"] for row in memory.read(asked, {"id": element}).records() if not row["visible"]
    ]


def _rules(memory: Memory) -> Rules:
    with memory.store.read() as snapshot:
        return snapshot.declared().evaluator.rules


# Text


def _lists_text(found: dict[str, list[dict[str, Any]]]) -> str:
    lines = [f"{title}\n{_table_of(found[name])}" for name, title in _LISTS if found[name]]
    return (
        "\n".join(lines).rstrip()
        or "There are no policies: nothing decays. `doxa policy bootstrap` installs the standard"
        " ones."
    )


def _table_of(rows: list[dict[str, Any]]) -> str:
    from doxa.cli.cypher_results import table_text

    return table_text(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _applied_text(found: dict[str, Any]) -> str:
    counts = (
        ", ".join(f"{what}: {found[what]}" for what in _COUNTED if found[what]) or "nothing changed"
    )
    return "\n".join([counts, *(f"note: {notice}" for notice in found["notices"])])


def _status_text(found: dict[str, Any]) -> str:
    from doxa.base.clock import format_time

    counts = (
        ("decay profile", "decayProfiles"),
        ("binding", "decayBindings"),
        ("promotion profile", "promotionProfiles"),
        ("promotion policy", "promotionPolicies"),
    )
    there = ", ".join(counted(found[name], what) for what, name in counts)
    time = found["accessesWritten"]["time"]
    return "\n".join(
        [
            f"policies are {'in force' if found['enabled'] else 'off'}: {there}",
            *found["windows"],
            f"accesses were last written at {format_time(time)}"
            if time is not None
            else "no accesses were written lately",
        ]
    )


def counted(count: int, what: str) -> str:
    """Format a count with its noun: `1 policy`, `2 policies`."""
    return (
        f"{count:,}"
        f" {what if count == 1 else what[:-1] + 'ies' if what.endswith('y') else what + 's'}"
    )


def _effects_text(rows: list[dict[str, Any]], horizon: str) -> str:
    if not rows:
        return "No element is under another rule than before."
    lines = []
    for row in rows:
        names = "".join(f":{name}" for name in row["names"])
        lines.append(
            f"{f'()-[{names}]-()' if row['scope'] == 'EDGE' else f'({names})'}:"
            f" {counted(row['elements'], 'element')} under another rule"
        )
        lines.append(
            f"  hidden now {row['hiddenNow']:,}, by {horizon} {row['hiddenByHorizon']:,}, shown"
            f" again {row['shownAgain']:,}"
        )
        lines += [f"  {one['id']} hidden at {one['hiddenAt']}" for one in row["samples"]]
    return "\n".join(lines)


def _standing_text(found: dict[str, Any]) -> str:
    decay, use = found["decay"], found["use"]
    pairs = [("rule", _rule_words(found))]
    if "function" in decay:
        pairs += [("curve", _curve_words(found, decay)), ("score", _score_words(found, decay))]
    pairs += [
        ("visible", _window_words(found)),
        ("used", _use_words(use)),
        ("faded", ", ".join(found["hiddenProperties"])),
        ("others", "; ".join(found["chain"][1:] if found["chain"] else [])),
        ("tie", "; ".join(found["ties"])),
        ("error", use["lastError"] or ""),
    ]
    return "\n".join([found["reason"], *(f"  {name:8} {words}" for name, words in pairs if words)])


def _rule_words(found: dict[str, Any]) -> str:
    bundle = f" with the profile {found['profile']}" if found["profile"] else ""
    parts = [
        f"binding {found['binding']}{bundle}" if found["binding"] else "",
        f"policy {found['policy']}" if found["policy"] else "",
    ]
    return ", ".join(part for part in parts if part)


def _curve_words(found: dict[str, Any], decay: dict[str, Any]) -> str:
    from doxa.cli.policies.curves import from_words, shape_words

    since = f", {found['anchor']}" if found["anchor"] and decay["function"] != "none" else ""
    shape = shape_words(decay["function"], decay["halfLifeSeconds"])
    return (
        shape
        if decay["function"] == "none"
        else f"{shape}, counted from {from_words(decay['scoreFrom'])}{since}"
    )


def _score_words(found: dict[str, Any], decay: dict[str, Any]) -> str:
    before = (
        f", {decay['baseScore']:.4g} before {found['promotion']} promoted it"
        if found["promotion"]
        else ""
    )
    return (
        f"{found['score']:.4g}{before}; threshold {found['threshold']:g}, floor {decay['floor']:g}"
    )


def _window_words(found: dict[str, Any]) -> str:
    if found["dynamic"]:
        return "as long as its score says, judged at every read: a WHEN reads the clock"
    parts = [
        f"from {found['visibleFrom']}" if found["visibleFrom"] else "",
        f"until {found['visibleUntil']}" if found["visibleUntil"] else "",
    ]
    return " ".join(part for part in parts if part)


def _use_words(use: dict[str, Any]) -> str:
    from doxa.base.clock import format_time

    parts = [
        f"returned {counted(use['accessCount'], 'time')}" if use["accessCount"] else "",
        f"last at {format_time(use['lastAccessedAt'] * 1_000_000)}"
        if use["lastAccessedAt"] is not None
        else "",
        f"passed through {counted(use['traversalCount'], 'time')}" if use["traversalCount"] else "",
    ]
    support = [
        counted(use[f"{name}Support"], name)
        for name in ("session", "agent", "source")
        if use.get(f"{name}Support")
    ]
    return ", ".join(
        [part for part in parts if part] + ([f"by {' and '.join(support)}"] if support else [])
    )
