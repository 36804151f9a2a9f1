"""The command line of the benchmarks: `python -m bench NAME`. Only here are arguments read; every
command is a function that returns a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench import (
    ablation,
    agm,
    answerability_sets,
    api,
    api_load,
    beam,
    campaign,
    clients,
    compare,
    counts,
    embedding,
    hooks,
    injection,
    libraries,
    locomo,
    locomo_plus,
    longmemeval,
    pages,
    peers,
    persistence,
    poison,
    precision,
    qa,
    questions,
    realmem,
    results,
    ripening,
    ripening_costs,
    ripening_state,
    scale,
    sensitivity,
    simulation,
    speed,
    statebench,
    statebench_brief,
    talk,
    tck,
    turn_signals,
    updates,
    vehicle,
)
from bench.corpora import NoData
from bench.embedders import local_embedder
from bench.persistence_parts import FULL, QUICK
from bench.report import Report, write_json
from bench.ripening_sets import STRUCTURES
from bench.sets import SETS
from doxa.base.errors import DoxaError
from doxa.models import Embedder
from doxa.models.cache import CachedEmbedder

SEED = 7
SIZES = (500, 10_000, 25_000, 125_000, 250_000, 1_000_000)
_RECORDED = (
    "locomo",
    "locomo-plus",
    "beam",
    "longmemeval",
    "statebench",
    "realmem",
    "vehicle",
    "precision",
    "poison",
    "answerability",
    "questions",
    "speed",
    "embedding",
    "ablation",
    "sensitivity",
    "talk",
    "ripening",
    "ripening-state",
    "ripening-costs",
    "simulation",
    "hooks",
    "injection",
    "api",
    "scale",
    "turn-signals",
)
_WITHOUT_DATA = (
    "speed",
    "embedding",
    "precision",
    "poison",
    "talk",
    "questions",
    "hooks",
    "api",
    "scale",
    "turn-signals",
)
_PARTS: dict[str, Sequence[str]] = {"persistence": tuple(persistence.PARTS), "agm": agm.PARTS}


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        return _main(parser, options)
    except NoData as error:
        parser.error(str(error))


def _main(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if (
        options.command in _PARTS
        and options.record
        and set(options.parts) != set(_PARTS[options.command])
    ):
        parser.error("only a run of all parts is kept: leave --parts or --record out")
    if options.command == "table":
        print(pages.render(options.results, options.document))
        return 0
    if options.command == "campaign":
        folder = campaign.FOLDER if options.record else None
        return campaign.run(options.paths, factor=options.factor, seed=options.seed, folder=folder)
    if options.command == "compare":
        return _compare(options)
    if options.command == "tck":
        return _finish(tck.run(options.features), options.json)
    if options.command == "clients":
        report = clients.run(options.server, seed=options.seed, quick=options.quick)
        if options.record:
            results.write(options.results, [report])
        return _finish(report, options.json)
    if options.command == "graph":
        report = peers.run(options.peers, seed=options.seed, quick=options.quick)
        if options.record:
            results.write(options.results, [report])
        return _finish(report, options.json)
    if options.command == "agm":
        report, passed = agm.run(
            options.data, seed=options.seed, quick=options.quick, parts=options.parts
        )
        if options.record:
            results.write(options.results, [report])
        _finish(report, options.json)
        return 0 if passed else 1
    if options.command == "persistence":
        report, passed = persistence.run(
            QUICK if options.quick else FULL, seed=options.seed, parts=options.parts
        )
        if options.record:
            results.write(options.results, [report])
        _finish(report, options.json)
        return 0 if passed else 1
    if options.command == "updates":
        return _updates(parser, options)
    if options.command == "qa":
        return _qa(options)
    if options.command == "scale":
        report = scale.run(seed=options.seed, quick=options.quick, sizes=options.sizes)
        if options.record:
            results.write(options.results, [report])
        return _finish(report, options.json)
    embedder = None if getattr(options, "words_only", False) else _cached()
    if options.command == "all":
        reports = []
        for report in results.run_all(
            options.data,
            embedder,
            seed=options.seed,
            sizes=options.sizes,
            quick=options.quick,
            python=options.peers,
        ):
            reports.append(report)
            print(report.text(), flush=True)
        print(f"written: {results.write(options.results, reports)}")
        return 0
    report = _run(options, embedder)
    if getattr(options, "record", False):
        results.write(options.results, [report])
    if getattr(options, "document", None):
        print(sensitivity.write_section(options.document, report), file=sys.stderr)
    return _finish(report, options.json)


def _compare(options: argparse.Namespace) -> int:
    """Compare counts, a file with a run, or `speed` as it is now. 1 if something got worse."""
    if options.short:
        counted = counts.measure()
        if options.record:
            counts.record(counted)
        text, held = counts.compare(counted)
        print(text)
        return 0 if held else 1
    against = options.against or compare.newest(options.results)
    if against is None:
        print(f"There are no results in {options.results} to compare with.", file=sys.stderr)
        return 2
    if options.run:
        now: dict[str, float] = {}
        for path in options.run:
            now |= compare.figures_of(path)
    else:
        report = speed.run(
            options.data, _cached(), seed=options.seed, sizes=options.sizes, quick=False
        )
        now = {f"speed.{key}": round(value, 6) for key, value in report.end().figures.items()}
    found = compare.compare(compare.figures_of(against), now)
    print(f"Compared with {against.name}.\n\n{found.text()}")
    return 1 if found.failed else 0


def _updates(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.record and (options.fit or options.quick):
        parser.error("only a run of all sizes is kept: leave --quick and --fit or --record out")
    if options.fit:
        print(updates.weights())
        return 0
    report, passed = updates.run(seed=options.seed, quick=options.quick)
    if options.record:
        results.write(options.results, [report])
    _finish(report, options.json)
    return 0 if passed else 1


def _qa(options: argparse.Namespace) -> int:
    try:
        report = qa.run(options, _cached())
    except DoxaError as error:
        print(f"{error.message} {error.next_step}", file=sys.stderr)
        return 2
    if options.record:
        results.write(options.results, [report])
    return _finish(report, options.json)


def _finish(report: Report, path: Path | None) -> int:
    print(report.text())
    if path:
        write_json(path, report.record())
    return 0


def _run(options: argparse.Namespace, embedder: Embedder | None) -> Report:
    if options.command == "locomo":
        return locomo.run(options.data, embedder, seed=options.seed)
    if options.command == "locomo-plus":
        return locomo_plus.run(options.data, options.locomo, embedder, seed=options.seed)
    if options.command == "beam":
        return beam.run(options.data, embedder, seed=options.seed)
    if options.command == "longmemeval":
        return longmemeval.run(options.data, embedder, seed=options.seed, limit=options.limit)
    if options.command == "statebench":
        played = statebench_brief.run if options.brief else statebench.run
        return played(options.data, embedder, seed=options.seed, limit=options.limit)
    if options.command == "precision":
        return precision.run(
            options.cases,
            options.data,
            embedder,
            seed=options.seed,
            filler=options.filler,
            quick=options.quick,
        )
    if options.command == "poison":
        return poison.run(options.data, embedder, seed=options.seed, reorder=options.reorder)
    if options.command == "answerability":
        return answerability_sets.run(options.data, embedder, seed=options.seed)
    if options.command == "realmem":
        return realmem.run(options.data, embedder, seed=options.seed)
    if options.command == "vehicle":
        return vehicle.run(options.data, embedder, seed=options.seed)
    if options.command == "questions":
        return questions.run(options.data or questions.CASES, embedder, seed=options.seed)
    if options.command == "ablation":
        return ablation.run(options.data, embedder, seed=options.seed, names=options.sets)
    if options.command == "sensitivity":
        return sensitivity.run(options.data, embedder, seed=options.seed, only=options.only)
    if options.command == "libraries":
        return libraries.run(
            options.data,
            embedder,
            seed=options.seed,
            quick=options.quick,
            sizes=options.sizes,
            python=options.peers,
        )
    if options.command == "talk":
        return talk.run(embedder, seed=options.seed)
    if options.command == "ripening":
        return ripening.run(
            options.data,
            embedder,
            seed=options.seed,
            sets=options.sets,
            producers=options.producers,
            structures=options.structures or (STRUCTURES,),
        )
    if options.command == "ripening-state":
        return ripening_state.run(options.data, embedder, seed=options.seed, limit=options.limit)
    if options.command == "ripening-costs":
        return ripening_costs.run(options.data, embedder, seed=options.seed)
    if options.command == "simulation":
        return simulation.run(
            options.data, seed=options.seed, days=options.days, folder=options.folder
        )
    if options.command == "injection":
        return injection.run(options.data, embedder, seed=options.seed)
    if options.command == "hooks":
        return hooks.run(embedder, seed=options.seed, sizes=options.sizes)
    if options.command == "turn-signals":
        return turn_signals.run(options.data, seed=options.seed)
    if options.command == "api" and options.clients:
        return api_load.run(seed=options.seed, clients=options.clients, minutes=options.minutes)
    if options.command == "api":
        return api.run(seed=options.seed, quick=options.quick)
    if options.command == "embedding":
        return embedding.run(options.data, embedder, seed=options.seed, quick=options.quick)
    return speed.run(
        options.data, embedder, seed=options.seed, sizes=options.sizes, quick=options.quick
    )


_CACHE_BYTES = 2**31


def _cached() -> Embedder | None:
    inner = local_embedder()
    if inner is None:
        print("No embedding model is installed: figures are by words alone.", file=sys.stderr)
    return (
        CachedEmbedder(inner, bytes_max=_CACHE_BYTES) if inner else None
    )  # the same conversations are filled into many stores


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure doxa next to plain baselines."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in (
        "locomo",
        "locomo-plus",
        "beam",
        "longmemeval",
        "statebench",
        "realmem",
        "vehicle",
        "precision",
        "poison",
        "answerability",
        "questions",
        "speed",
        "embedding",
        "ablation",
        "sensitivity",
        "talk",
        "ripening",
        "ripening-state",
        "ripening-costs",
        "simulation",
        "hooks",
        "injection",
        "api",
        "scale",
        "turn-signals",
        "all",
    ):
        command = commands.add_parser(name)
        command.add_argument(
            "--data",
            type=Path,
            required=name not in _WITHOUT_DATA,
            help="the data set's file or folder",
        )
        command.add_argument("--seed", type=int, default=SEED)
        command.add_argument(
            "--words-only", action="store_true", help="run without an embedding model"
        )
        if name != "all":
            command.add_argument("--json", type=Path, help="write figures and tables here")
        if name == "poison":
            command.add_argument(
                "--reorder",
                action="store_true",
                help="store every memory in an order drawn with the seed",
            )
        if name == "locomo-plus":
            command.add_argument(
                "--locomo",
                type=Path,
                required=True,
                help="the LoCoMo file with the base conversations",
            )
        if name in _RECORDED:
            _record_options(command)
        if name == "ripening":
            ripening.options(command)
        if name == "ablation":
            command.add_argument(
                "--sets",
                type=partial(_chosen, SETS),
                default=SETS,
                help=f"some sets only, with commas: {', '.join(SETS)}",
            )
        if name == "simulation":
            simulation.options(command)
        if name in ("longmemeval", "statebench", "ripening-state"):
            command.add_argument("--limit", type=int, help="the first so many only")
        if name == "statebench":
            command.add_argument(
                "--brief", action="store_true", help="what an agent begins with, in place of recall"
            )
        if name == "sensitivity":
            command.add_argument(
                "--only", type=_names, default=(), help="some constants only, as K1,B"
            )
            command.add_argument(
                "--document", type=Path, help="put the table between its marks in this document"
            )
        if name in ("speed", "hooks", "scale", "all"):
            sizes = {"hooks": hooks.SIZES, "scale": scale.SIZES}.get(name, SIZES)
            command.add_argument(
                "--sizes", type=_sizes, default=sizes, help="store sizes, as 10000,100000"
            )
        if name == "precision":
            command.add_argument("--cases", type=Path, help="another file of cases")
            command.add_argument(
                "--filler", type=int, default=0, help="mix so many turns of LoCoMo into each memory"
            )
            command.add_argument("--quick", action="store_true", help="the cases only")
        if name in ("speed", "embedding", "api", "scale", "all"):
            command.add_argument(
                "--quick", action="store_true", help="fewer repetitions and a small graph"
            )
        if name == "api":
            command.add_argument(
                "--clients", type=int, help="so many clients at once instead, readers and writers"
            )
            command.add_argument(
                "--minutes", type=float, default=api_load.MINUTES, help="how long they call"
            )
        if name == "all":
            _graph_options(command)
    graph = commands.add_parser("graph")
    graph.add_argument("--seed", type=int, default=SEED)
    graph.add_argument("--quick", action="store_true", help="fewer repetitions and a small graph")
    graph.add_argument("--json", type=Path, help="write figures and tables here")
    graph.add_argument(
        "--record",
        action="store_true",
        help="keep it in the results of the day, along with those of other commands",
    )
    _graph_options(graph)
    many = commands.add_parser("clients")
    clients.options(many)
    many.add_argument("--seed", type=int, default=SEED)
    many.add_argument("--json", type=Path, help="write figures and tables here")
    _record_options(many)
    _libraries_options(commands.add_parser("libraries"))
    qa.options(commands.add_parser("qa"), seed=SEED)
    _parted_options(commands.add_parser("persistence"), "persistence")
    revision = commands.add_parser("agm")
    revision.add_argument("--data", type=Path, help="the scenarios' file, or its folder")
    _parted_options(revision, "agm")
    sentences = commands.add_parser("updates")
    updates.options(sentences, seed=SEED)
    _record_options(sentences)
    _compare_options(commands.add_parser("compare"))
    _campaign_options(commands.add_parser("campaign"))
    features = commands.add_parser("tck")
    features.add_argument(
        "--features", type=Path, required=True, help="a folder of openCypher feature files"
    )
    features.add_argument("--json", type=Path, help="write figures and tables here")
    table = commands.add_parser("table")
    table.add_argument("--results", type=Path, default=results.FOLDER)
    table.add_argument("--document", type=Path, default=pages.DOCUMENT)
    return parser


def _parted_options(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("--seed", type=int, default=SEED)
    command.add_argument(
        "--quick", action="store_true", help="fewer keys, operations, elements and repetitions"
    )
    command.add_argument(
        "--parts",
        type=partial(_chosen, _PARTS[name]),
        default=tuple(_PARTS[name]),
        help="some parts only, with commas",
    )
    command.add_argument("--json", type=Path, help="write figures and tables here")
    command.add_argument(
        "--record",
        action="store_true",
        help="keep it in the results of the day, along with those of other commands",
    )
    command.add_argument("--results", type=Path, default=results.FOLDER)


def _compare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run", nargs="*", type=Path, help="what --json wrote; unless given, speed runs now"
    )
    command.add_argument("--against", type=Path, help="a file of results; the newest unless given")
    command.add_argument("--data", type=Path, help="LoCoMo's file or folder, for speed")
    command.add_argument("--seed", type=int, default=SEED)
    command.add_argument("--sizes", type=_sizes, default=(500, 10_000), help="store sizes")
    command.add_argument(
        "--short", action="store_true", help="counts of statements and calls instead, no clock"
    )
    command.add_argument("--record", action="store_true", help="keep the counts of --short")
    command.add_argument("--results", type=Path, default=results.FOLDER)


def _campaign_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths", nargs="*", help="tests or folders of tests; everything unless given"
    )
    command.add_argument(
        "--factor", type=_factor, default=10, help="how many times what `make test` tries"
    )
    command.add_argument("--seed", type=int, help="drawn and printed unless given")
    command.add_argument("--record", action="store_true", help="keep the counts in the results")


def _factor(text: str) -> int:
    factor = int(text)
    if factor < 2:
        raise argparse.ArgumentTypeError("a campaign tries at least 2 times what `make test` does")
    return factor


def _libraries_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data", type=Path, help="LoCoMo's file or folder; without it all turns are synthetic"
    )
    command.add_argument("--seed", type=int, default=SEED)
    command.add_argument(
        "--sizes",
        type=_sizes,
        default=(),
        help="store sizes, as 25000,100000; 25,000 unless given, quick 5,000",
    )
    command.add_argument("--quick", action="store_true", help="fewer turns and questions")
    command.add_argument(
        "--peers",
        type=Path,
        help="the Python that has the peers, unless scripts/recall_peers.sh installed them",
    )
    command.add_argument("--json", type=Path, help="write figures and tables here")
    _record_options(command)


def _record_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--record",
        action="store_true",
        help="keep it in the results of the day, along with those of other commands",
    )
    command.add_argument("--results", type=Path, default=results.FOLDER)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _chosen(known: Sequence[str], text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(known)}")
    return names


def _graph_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--peers",
        type=Path,
        help="the Python that has the peers, unless scripts/peers.sh installed them",
    )
    command.add_argument("--results", type=Path, default=results.FOLDER)


if __name__ == "__main__":
    sys.exit(main())
