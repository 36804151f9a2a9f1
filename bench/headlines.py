"""The headline tables of docs/benchmarks.md and docs/benchmarks/history.md, from recorded figures.

Every function takes figures under dotted keys, as bench/results keeps them, and returns a Markdown
table. A figure that was not recorded is a dash; a table without any figure is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.metrics import Interval
from bench.peers_adapters import SYSTEMS
from bench.peers_rows import TITLES
from bench.report import markdown, percent, points

Figures = Mapping[str, float]

MISSING = "–"
_PLAIN = ("bm25", "window_bm25", "minilm", "window_minilm", "rrf", "minmax", "minmax_of_four")
_SIZES = (10_000, 250_000, 1_000_000)
_GRAPH_ROWS = ("lookup", "one_hop", "three_hops", "shortest", "top", "write", "load")


class Quality(NamedTuple):
    """One row on how well something is found: what it is called, the command and key that hold its
    figure, the number of questions, and doxa's own key where that is another one."""

    title: str
    command: str
    key: str
    total: str = ""
    own: str = ""


QUALITIES = (
    Quality(
        "LoCoMo: turns that hold the answer, among the first 10",
        "locomo",
        "turn.answerable.recall_at_10",
        "turn.answerable.n",
    ),
    Quality(
        "LoCoMo: the same, within 1,000 tokens",
        "locomo",
        "turn.answerable.recall_in_1000_tokens",
        "turn.answerable.n",
    ),
    Quality(
        "LoCoMo: sessions that hold the answer, among the first 10",
        "locomo",
        "session.answerable.recall_at_10",
        "turn.answerable.n",
    ),
    Quality(
        "LoCoMo: token-F1 of an extractive reader that always answers",
        "locomo",
        "answer.answerable.f1",
        own="doxa_always_answering.answer.answerable.f1",
    ),
    Quality(
        "LoCoMo-Plus P1 (one conversation): the cue, among the first 10",
        "locomo-plus",
        "p1.hit_at_10",
        "p1.n",
    ),
    Quality(
        "LoCoMo-Plus P2 (all conversations): the cue, among the first 10",
        "locomo-plus",
        "p2.hit_at_10",
        "p2.n",
    ),
    Quality(
        "BEAM: messages that hold the answer, among the first 10",
        "beam",
        "message.recall_at_10",
        "message.n",
    ),
    Quality("BEAM: an update ranked above what it updates", "beam", "update.order", "update.n"),
    Quality(
        "BEAM: both sides of a contradiction among the first 10",
        "beam",
        "contradiction.both_at_10",
        "contradiction.n",
    ),
    Quality(
        "LoCoMo: answerable against adversarial questions, AUROC × 100",
        "locomo",
        "answerability.auroc",
        own="answerability.answerable.auroc",
    ),
    Quality(
        "BEAM: answerable questions against abstention, AUROC × 100",
        "beam",
        "answerability.auroc",
        own="answerability.answerable.auroc",
    ),
)


def baselines(figures: Figures, row: Quality) -> dict[str, float]:
    """The figures of the plain baselines of a row, by name."""
    name, _, rest = row.key.partition(".")
    keys = {
        system: f"{row.command}.{name}.baseline.{system}.{rest}"
        if name == "answerability"
        else f"{row.command}.baseline.{system}.{row.key}"
        for system in _PLAIN
    }
    return {system: figures[key] for system, key in keys.items() if key in figures}


def interval(figures: Figures, row: Quality) -> str:
    """doxa minus the best plain baseline in points, drawn by conversation."""
    found = [
        figures.get(f"{row.command}.gain.{row.key}.by_conversation.{part}")
        for part in Interval._fields
    ]
    values = [value for value in found if value is not None]
    return points(Interval(*values)) if len(values) == len(found) else MISSING


def quality(figures: Figures) -> str:
    """How well it finds what was said, next to the best plain baseline of the same run."""
    rows = []
    for row in QUALITIES:
        own = figures.get(f"{row.command}.{row.own or row.key}")
        plain = baselines(figures, row)
        if own is None or not plain:
            continue
        best = max(plain, key=lambda system: plain[system])
        count = figures.get(f"{row.command}.{row.total}") if row.total else None
        rows.append(
            [
                row.title + (f" (n = {count:.0f})" if count else ""),
                f"**{percent(own)}**",
                f"{percent(plain[best])} (`{best}`)",
                *(
                    percent(plain[name]) if name in plain else MISSING
                    for name in ("bm25", "minilm")
                ),
                interval(figures, row),
            ]
        )
    head = ("what, %", "doxa", "best plain baseline", "BM25", "MiniLM", "difference, 95 % interval")
    return markdown(head, rows) if rows else ""


def number(figures: Figures, key: str, form: str = ",.0f", factor: float = 1.0) -> str:
    """A figure as text, or a dash."""
    value = figures.get(key)
    return MISSING if value is None else format(value * factor, form)


def sizes(figures: Figures) -> str:
    """Recall by the size of the store, next to the plain tools of the same run."""
    rows = [
        [
            f"{size:,}",
            f"**{number(figures, f'{key}.recall.with_embedding.p50_ms', '.1f')}**"
            f" / {number(figures, f'{key}.recall.with_embedding.p95_ms', '.1f')}",
            number(figures, f"{key}.embed_question.p50_ms", ".1f"),
            number(figures, f"{key}.plain_fts5.p50_ms", ".1f"),
            number(figures, f"{key}.plain_numpy.p50_ms", ".1f"),
            number(figures, f"{key}.vector.recall_at_10", ".1f", 100),
            number(figures, f"{key}.resident_bytes", ",.0f", 1e-6),
            number(figures, f"{key}.disk.bytes_per_exchange"),
        ]
        for size in _SIZES
        if (key := f"speed.scale.{size}") + ".recall.with_embedding.p50_ms" in figures
    ]
    head = (
        "exchanges",
        "doxa `recall`, p50 / p95 ms",
        "of that the model, p50 ms",
        "FTS5, words only, p50 ms",
        "numpy, exact vectors only, p50 ms",
        "exact ten nearest found, %",
        "resident MB",
        "bytes each on disk",
    )
    return markdown(head, rows) if rows else ""


WRITES = (
    (
        "`revise`, durable, a second",
        "speed.revise.per_s",
        ",.0f",
        "speed.revise.sqlite_row_per_s",
        "one SQLite row updated, synced, no history",
    ),
    (
        "`revise` with an edge, a second",
        "speed.revise.with_edge_per_s",
        ",.0f",
        "speed.revise.sqlite_row_per_s",
        "the same",
    ),
    (
        "conversation turns, text only, a second",
        "speed.ingest.text_only_turns_per_s",
        ",.0f",
        "",
        "",
    ),
    (
        "two hops over 1,000,000 edges, p50 ms",
        "speed.graph.two_hops.p50_ms",
        ".2f",
        "speed.graph.plain_sqlite_two_hops.p50_ms",
        "SQLite edge table, no history",
    ),
    (
        "`doxa recall` as a process, 2,000 turns, model included, p50 ms",
        "speed.start.cli.recall.p50_ms",
        ",.0f",
        "speed.start.python.import_numpy.p50_ms",
        "Python that imports numpy and apsw",
    ),
)


def writes(figures: Figures) -> str:
    """Writing, walking and starting, next to a plain tool that does less."""
    rows = []
    for title, key, form, plain_key, plain_name in WRITES:
        own, plain = figures.get(key), figures.get(plain_key)
        if own is None:
            continue
        rows.append(
            [
                title,
                f"**{own:{form}}**",
                MISSING if plain is None else f"{plain:{form}} ({plain_name})",
                MISSING if not plain else f"{own / plain:.2f}",
            ]
        )
    return markdown(("what", "doxa", "plain", "doxa / plain"), rows) if rows else ""


def libraries(figures: Figures) -> str:
    """The same LoCoMo turns and vectors in other libraries."""
    systems = ("doxa", "chromadb", "mem0ai", "bm25s", "sqlite-vec")
    table = (
        ("evidence among the first 10, %", "recall_at_10", ".1f", 100.0),
        ("a question, vector given, p50 ms", "query.p50_ms", ".2f", 1.0),
        ("turns a second until searchable", "load.turns_per_s", ",.0f", 1.0),
        ("import, opening and first answer, s", "first_s", ".2f", 1.0),
        ("memory of the asking process, MB", "memory.anon_bytes", ".0f", 1e-6),
        ("bytes on disk for each turn", "disk.bytes_per_turn", ",.0f", 1.0),
    )
    if "libraries.locomo.doxa.recall_at_10" not in figures:
        return ""
    rows = [
        [
            title,
            *(
                number(figures, f"libraries.locomo.{system}.{key}", form, factor)
                for system in systems
            ),
        ]
        for title, key, form, factor in table
    ]
    return markdown(("LoCoMo, 1,451 turns", *systems), rows)


def graph(figures: Figures, durable: Sequence[str]) -> str:
    """Graph queries next to the fastest durable peer that answers correctly."""
    rows = []
    for row in _GRAPH_ROWS:
        own = figures.get(f"graph.random.doxa.{row}.p50_ms")
        peers = {
            system: figures[f"graph.random.{system}.{row}.p50_ms"]
            for system in durable
            if f"graph.random.{system}.{row}.p50_ms" in figures
            and figures.get(f"graph.random.{system}.{row}.right", 1.0) == 1.0
        }
        if own is None or not peers:
            continue
        best = min(peers, key=lambda system: peers[system])
        factor = 1e-3 if row == "load" else 1.0
        rows.append(
            [
                TITLES[row].removesuffix(", s") + (", s" if row == "load" else ", ms"),
                f"**{own * factor:,.3g}**",
                f"{peers[best] * factor:,.3g} ({best})",
                f"{own / peers[best]:.1f}",
            ]
        )
    head = ("200,000 nodes, 1,000,000 relationships", "doxa", "fastest durable peer", "times")
    return markdown(head, rows) if rows else ""


def durable_peers() -> tuple[str, ...]:
    """The graph databases whose finished writes survive a loss of power."""
    return tuple(
        name
        for name, kind in SYSTEMS.items()
        if name != "doxa" and getattr(kind, "durable", "").startswith("yes")
    )


def guarantees(figures: Figures) -> str:
    """What is counted, not timed: right answers out of all that were asked."""
    parts = (
        ("belief revision: scenarios", "agm.scenarios.passed", "agm.scenarios.all"),
        *(
            (f"persistence: {title}", f"persistence.{part}.right", f"persistence.{part}.answers")
            for part, title in (
                ("supersession", "supersession queries"),
                ("no_overlap", "temporal no-overlap constraint"),
                ("replay", "replay and audit"),
                ("sight", "suppression and reveal"),
                ("evidence", "Kalman smoothing"),
                ("schema", "policy schema"),
            )
        ),
    )
    rows = [
        [title, f"{figures[right]:,.0f}", f"{figures[asked]:,.0f}"]
        for title, right, asked in parts
        if right in figures
    ]
    if "agm.refinement.sequences" in figures:
        asked = figures["agm.refinement.sequences"]
        right = asked - figures["agm.refinement.wrong"]
        title = "belief revision: random sequences that agree with the model"
        rows.insert(1, [title, f"{right:,.0f}", f"{asked:,.0f}"])
    return markdown(("what", "right", "of"), rows) if rows else ""


def headline(figures: Figures) -> str:
    """All headline tables, each under its own heading."""
    sections = (
        ("Finding what was said", quality(figures)),
        ("Speed of recall by size", sizes(figures)),
        ("Writing, walking, starting", writes(figures)),
        ("Next to other libraries", libraries(figures)),
        ("Next to embedded graph databases", graph(figures, durable_peers())),
        ("Guarantees, counted", guarantees(figures)),
    )
    return "\n\n".join(f"### {title}\n\n{table}" for title, table in sections if table)


HISTORY = (
    ("LoCoMo, turn recall@10, %", "locomo.turn.answerable.recall_at_10", ".1f", 100.0),
    ("LoCoMo-Plus P1, hit@10, %", "locomo-plus.p1.hit_at_10", ".1f", 100.0),
    ("LoCoMo-Plus P2, hit@10, %", "locomo-plus.p2.hit_at_10", ".1f", 100.0),
    ("BEAM, message recall@10, %", "beam.message.recall_at_10", ".1f", 100.0),
    ("`revise`, durable, a second", "speed.revise.per_s", ",.0f", 1.0),
    ("`revise` with an edge, a second", "speed.revise.with_edge_per_s", ",.0f", 1.0),
    ("plain SQLite row, synced, a second", "speed.revise.sqlite_row_per_s", ",.0f", 1.0),
    ("recall over 10,000, p50 ms", "speed.scale.10000.recall.with_embedding.p50_ms", ".1f", 1.0),
    ("recall over 250,000, p50 ms", "speed.scale.250000.recall.with_embedding.p50_ms", ".1f", 1.0),
    (
        "recall over 1,000,000, p50 ms",
        "speed.scale.1000000.recall.with_embedding.p50_ms",
        ".1f",
        1.0,
    ),
    ("graph lookup, p50 ms", "graph.random.doxa.lookup.p50_ms", ".3f", 1.0),
    ("graph bulk load, s", "graph.random.doxa.load.p50_ms", ".1f", 1e-3),
    (
        "a fact that contradicts one of 100,000 beliefs, p95 ms",
        "agm.speed.a_fact_that_contradicts_one_belief.p95_ms",
        ".2f",
        1.0,
    ),
)


def history(records: Mapping[str, Figures]) -> str:
    """Headline figures by the day on which they were measured, oldest first."""
    rows = [
        [title, *(number(figures, key, form, factor) for figures in records.values())]
        for title, key, form, factor in HISTORY
    ]
    return markdown(("what", *records), rows)
