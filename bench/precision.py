"""Precision: what must not come back stays away, and what must come back is there.

Cases of our own (`tests/cases/precision.txt`), each a small memory and a question. A case passes
when every line that must come back does and none that must not; `exact` is stricter: nothing comes
back but what must. Asked are recall as it is, `strict`, words alone with and without `strict`,
`strict` when each belief is linked with two others at random; and, over the same lines as doxa
believes them, plain BM25 (the best 1, 3 and 10 that share a word) and MiniLM above a fixed cosine.
With `--filler`, turns of LoCoMo are mixed into every memory.

A cut that returns nothing violates nothing, so the same `strict` is measured where it should keep:
the share of the evidence among the first ten that it leaves, on LoCoMo and BEAM, and the required
expressions of StateBench (structured writes). Its halves are by hash of the timeline. These
sets are not held out: the cases were written by those who chose the constants, who saw both halves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import doxa
from bench import statebench
from bench.baselines import Bm25
from bench.corpora import ADVERSARIAL, Corpus, load_beam, load_locomo
from bench.metrics import mean, paired_bootstrap
from bench.persistence_parts import fresh
from bench.precision_cases import KINDS, Block, Case, load
from bench.report import Report, begin, percent
from bench.watched import watched
from doxa.language.turns import Turn
from doxa.models import Embedder

LIMIT = 10
DEPTHS = (1, 3, 10)
COSINES = (0.3, 0.4, 0.5)
HALVES = ("first half", "second half")
Texts = list[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """One case, with the texts that each system returned for it."""

    case: Case
    must: frozenset[str]
    must_not: frozenset[str]
    found: dict[str, Texts]

    def passes(self, system: str) -> bool:
        texts = set(self.found[system])
        return self.must <= texts and self.must_not.isdisjoint(texts)

    def exact(self, system: str) -> bool:
        return self.must == set(self.found[system])


def run(
    path: Path | None,
    data: Path | None,
    embedder: Embedder | None,
    *,
    seed: int,
    filler: int = 0,
    quick: bool = False,
) -> Report:
    report = begin("precision", seed=seed, embedder=embedder)
    blocks = load(path) if path else load()
    mixed = _filler(data, filler)
    asked = [
        one
        for block in watched(blocks, "memories")
        for one in ask_block(block, embedder, filler=mixed)
    ]
    cases_tables(report, asked)
    if data is not None and not quick:
        _evidence(report, data, embedder)
        _required(report, data, embedder)
    return report.end()


def _filler(data: Path | None, count: int) -> tuple[Turn, ...]:
    """The first turns of LoCoMo."""
    if not count:
        return ()
    assert data is not None, "--filler takes its turns from LoCoMo: give --data"
    return load_locomo(data / "locomo")[0].turns[:count]


def ask_block(
    block: Block, embedder: Embedder | None, *, filler: Sequence[Turn] = ()
) -> Iterator[Asked]:
    """Ask every question of one memory, each in its project."""
    with fresh(embedder=embedder) as memory:
        fill(memory, block, filler=filler)
        asked = [_ask(memory, block, case, embedder, filler) for case in block.cases]
        link(memory, block)
        for one in asked:
            one.found["doxa_strict_linked"] = _recalled(memory, one.case, strict=True)
        yield from asked


def fill(memory: doxa.Memory, block: Block, *, filler: Sequence[Turn] = ()) -> None:
    """Fill a new memory with the lines of a block, and the filler in each of its projects."""
    for number, line in enumerate(block.lines):
        if line.speaker:
            name = f"line-{number}"
            turn = Turn(block.name, "talk", line.speaker, "person", line.text, None, name)
            memory.ingest([turn], project=line.project, extract=False)
            continue
        first, *later = *line.former, line.text
        # one belief a line, whatever it contradicts: only `>` replaces anything
        made = memory.expand(first, name=f"line-{number}", project=line.project)
        for text in later:
            memory.revise(made.kref, text)
    if filler:
        for project in {line.project for line in block.lines}:
            memory.ingest(filler, project=project, extract=False)
    memory.embed()


def link(memory: doxa.Memory, block: Block) -> None:
    """Link each belief with two others of its memory, whatever they say."""
    beliefs = [
        f"kref://{line.project}/line-{number}.fact"
        for number, line in enumerate(block.lines)
        if not line.speaker
    ]
    rng = np.random.default_rng(len(beliefs))
    for kref in beliefs:
        for other in rng.choice(beliefs, size=min(2, len(beliefs)), replace=False).tolist():
            if other != kref:
                memory.link(kref, other, kind="DEPENDS_ON")


def _recalled(memory: doxa.Memory, case: Case, **options: object) -> Texts:
    project = case.project or "*"
    answer = memory.recall(case.question, project=project, limit=LIMIT, **options)  # type: ignore[arg-type]  # options of this bench's own
    return [hit.text for hit in answer.hits]


def _ask(
    memory: doxa.Memory,
    block: Block,
    case: Case,
    embedder: Embedder | None,
    filler: Sequence[Turn],
) -> Asked:
    words = {"lanes": ("words",)}
    found = {
        "doxa": _recalled(memory, case),
        "doxa_strict": _recalled(memory, case, strict=True),
        "doxa_words": _recalled(memory, case, **words),
        "doxa_words_strict": _recalled(memory, case, strict=True, **words),
    }
    texts = [line.text for line in block.lines if case.project in ("", line.project)]
    found |= _plain(case.question, [*texts, *(turn.text for turn in filler)], embedder)
    lines = [line.text for line in block.lines]
    return Asked(
        case,
        frozenset(lines[place] for place in case.must),
        frozenset(lines[place] for place in case.must_not) | case.retired,
        found,
    )


def _plain(question: str, texts: Texts, embedder: Embedder | None) -> dict[str, Texts]:
    scores = Bm25(texts).scores(question)
    order = [row for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
    found = {f"bm25_{depth}": [texts[row] for row in order[:depth]] for depth in DEPTHS}
    if embedder is not None:
        cosines = embedder.embed(texts) @ embedder.embed([question])[0]
        nearest = np.argsort(-cosines, kind="stable")[:LIMIT]
        for least in COSINES:
            found[f"minilm_{least}"] = [texts[row] for row in nearest if cosines[row] >= least]
    return found


def cases_tables(report: Report, asked: list[Asked]) -> None:
    """The share of cases passed by every system, whole and by kind, and what strict gets wrong."""
    report.put("cases.n", len(asked))
    systems = list(asked[0].found)
    rows = []
    groups = [one.case.memory for one in asked]
    for system in systems:
        key = system.removeprefix("doxa").strip("_") or "recall"
        prefix = "" if system.startswith("doxa") else "baseline."
        passed = [float(one.passes(system)) for one in asked]
        interval = paired_bootstrap(passed, groups, seed=report.seed)
        exact = mean([float(one.exact(system)) for one in asked])
        hits = mean([float(len(one.found[system])) for one in asked])
        report.put_interval(f"{prefix}cases.{key}.passed", interval)
        report.put(f"{prefix}cases.{key}.exact", exact)
        by_kind = [
            percent(mean([float(one.passes(system)) for one in asked if one.case.kind == kind]))
            for kind in KINDS
        ]
        rows.append(
            [
                system,
                f"{percent(interval.mean)} [{percent(interval.low)}, {percent(interval.high)}]",
                percent(exact),
                f"{hits:.1f}",
                *by_kind,
            ]
        )
    report.table(
        f"Precision cases passed (n = {len(asked)})",
        ["system", "passed", "exact", "hits", *KINDS],
        rows,
    )
    report.table(
        "What strict gets wrong",
        ["case", "must, but is not there", "is there, but must not"],
        [
            [
                one.case.name.replace("|", "/"),
                "; ".join(sorted(one.must - set(one.found["doxa_strict"]))),
                "; ".join(sorted(one.must_not & set(one.found["doxa_strict"]))),
            ]
            for one in asked
            if not one.passes("doxa_strict")
        ],
    )


def _evidence(report: Report, data: Path, embedder: Embedder | None) -> None:
    """What strict leaves of the evidence among the first ten; and of how many questions of other
    conversations, which have none, it leaves nothing."""
    rows = []
    for name, title, loader in (
        ("locomo", "LoCoMo turns", load_locomo),
        ("beam", "BEAM messages", load_beam),
    ):
        if not (data / name).exists():
            continue
        corpora = loader(data / name)
        kept, hits, others = _kept(corpora, embedder)
        for key, value in (("kept", kept), ("hits", hits), ("others_empty", others)):
            report.put(f"{name}.strict.{key}", value)
        rows.append([title, percent(kept), f"{hits:.1f}", percent(others)])
    if rows:
        report.table(
            "What strict leaves",
            ["set", "evidence of the first ten kept", "hits", "foreign questions without a hit"],
            rows,
        )


def _kept(corpora: Sequence[Corpus], embedder: Embedder | None) -> tuple[float, float, float]:
    """The share of evidence kept, hits by question, and the share of questions of the next
    conversation that get nothing."""
    kept: list[float] = []
    hits: list[float] = []
    empty: list[float] = []
    for place, corpus in enumerate(corpora):
        with fresh(embedder=embedder) as memory:
            memory.ingest(corpus.turns, extract=False)
            memory.embed()

            def found(text: str, *, strict: bool, memory: doxa.Memory = memory) -> Texts:
                answer = memory.recall(text, kinds=("exchange",), limit=LIMIT, strict=strict)
                return [hit.source_id for hit in answer.hits]

            for question in corpus.questions:
                if question.category == ADVERSARIAL:
                    continue
                gold = set(found(question.text, strict=False)) & question.gold
                strict = found(question.text, strict=True)
                hits.append(float(len(strict)))
                kept += [float(name in strict) for name in gold]
            other = corpora[(place + 1) % len(corpora)]
            for question in other.questions:
                text = renamed(question.text, other.speakers, corpus.speakers)
                empty.append(float(not found(text, strict=True)))
    return mean(kept), mean(hits), mean(empty)


def renamed(text: str, names: tuple[str, str], others: tuple[str, str]) -> str:
    """A question about the people of another conversation."""
    for name, other in zip(names, others, strict=True):
        text = text.replace(name, other) if name and other else text
    return text


def _required(report: Report, data: Path, embedder: Embedder | None) -> None:
    """The required expressions of StateBench that come back, by half of the timelines."""
    if not (data / "statebench").exists():
        return
    asked = list(statebench.play(statebench.load(data / "statebench"), "writes", embedder))
    halves: list[Callable[[str], bool]] = [_in_first, lambda name: not _in_first(name)]
    rows = []
    for title, within in zip(HALVES, halves, strict=True):
        own = [one for one in asked if one.must and within(one.timeline)]
        figures = [
            mean([statebench.share(one.found[mode], one.must) for one in own])
            for mode in statebench.MODES
        ]
        key = f"statebench.{title.replace(' ', '_')}"
        report.put(f"{key}.recall.must", figures[0])
        report.put(f"{key}.strict.must", figures[1])
        kept = figures[1] / figures[0] if figures[0] else 0.0
        rows.append([title, str(len(own)), *map(percent, figures), percent(kept)])
    report.table(
        "StateBench, required expressions found",
        ["half", "queries", "recall", "strict", "kept"],
        rows,
    )


def _in_first(name: str) -> bool:
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0
