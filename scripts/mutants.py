"""Run the tests against small faults in chosen modules, and name the faults that no test noticed.

    python scripts/mutants.py [GROUP ...] [--sample 60] [--seed 1] [--workers 2] [--json FILE]

For each group of modules: the group's tests run once with every line of these modules recorded, so
that a fault is tried only against the tests that reach its line, the quickest first, up to
SECONDS_MAX of them. A fault is tried in a child process that is forked before doxa is imported and
gets the changed module from an import hook; the files on disk stay as they are. A fault is killed
if a test fails, the module cannot be imported, or the tests do not end. docs/testing.md has the
score, docs/decisions/0021 the reason why this is not a library.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
sys.path[:0] = [str(SOURCE), str(ROOT)]

# Imported before the first fork, so that no child has to; doxa itself is not.
import apsw  # noqa: E402, F401
import msgspec  # noqa: E402, F401
import numpy  # noqa: E402, F401
import pytest  # noqa: E402

from scripts.mutant_changes import Change, changes_of  # noqa: E402

SECONDS_MAX = 60.0  # of tests for one fault
PATIENCE = 4  # a run that takes so many times what its tests took before has hung
KNOWN = Path(__file__).with_name("mutants_equivalent.json")


@dataclass(frozen=True)
class Group:
    """Modules, and the tests that are asked about them. Both are patterns below src/doxa and tests,
    so that a module may move within its package."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "infer": Group(
        ("cypher/**/infer*.py",),
        (
            "cypher/test_*.py",
            "query/test_run*.py",
            "query/test_session.py",
            "query/test_query_values.py",
            "query/test_tck.py",
            "query/test_sql_agrees.py",
            "cases/test_*.py",
        ),
    ),
    "policy": Group(
        ("policy/**/*.py",), ("policy/test_*.py", "query/test_polic*.py", "cypher/test_policy*.py")
    ),
    "logic": Group(
        ("logic/**/*.py",), ("logic/test_*.py", "belief/test_revising.py", "belief/test_support.py")
    ),
    "window": Group(
        ("store/visibility/window_writer.py",),
        (
            "query/test_windows.py",
            "query/test_polic*.py",
            "query/test_access_tracking.py",
            "query/test_search.py",
            "app/test_app_maintenance.py",
            "store/test_*.py",
        ),
    ),
    "fusion": Group(("recall/**/fusion.py", "recall/constants.py"), ("recall/test_*.py",)),
    "belief": Group(
        ("belief/**/*.py",),
        (
            "belief/test_*.py",
            "app/test_app*.py",
            "bench/test_bench_agm.py",
            "ingestion/test_*.py",
            "maintenance/test_*.py",
            "properties/test_as_of.py",
            "properties/test_ledger_machine.py",
            "properties/test_revision_refinement.py",
            "query/test_policies_in_transactions.py",
            "recall/test_recall_beliefs.py",
            "store/test_statement_counts.py",
            "transfer/test_*.py",
        ),
    ),
}


def files_of(group: Group) -> list[Path]:
    found = [path for pattern in group.modules for path in sorted((SOURCE / "doxa").glob(pattern))]
    assert found, f"no module matches {group.modules}"
    return found


def tests_of(group: Group) -> list[str]:
    tests = ROOT / "tests"
    found: dict[str, None] = {}
    for pattern in group.tests:
        paths = sorted(tests.glob(pattern))
        assert paths, f"no test matches {pattern}"
        found.update((str(path), None) for path in paths)
    return list(found)


# Which test reaches which line


class Recorder:
    """A pytest plugin: the lines of chosen files that each test runs, and how long it takes."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.lines: dict[str, dict[str, list[int]]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self._files = {str(path) for path in files}
        self._seen: set[tuple[str, int]] = set()

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._seen = set()
        start = time.perf_counter()
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.perf_counter() - start
            lines: dict[str, list[int]] = defaultdict(list)
            for file, line in sorted(self._seen):
                lines[file].append(line)
            self.lines[item.nodeid] = dict(lines)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class Chosen:
    """A pytest plugin: these tests alone, in this order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._order = {name: at for at, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order),
            key=lambda item: self._order[item.nodeid],
        )


def record(group: Group) -> Recorder:
    """Run the group's tests once, in a child process."""
    recorder = Recorder(files_of(group))
    with tempfile.NamedTemporaryFile("r", suffix=".json") as out:

        def run() -> int:
            code = _pytest(tests_of(group), [recorder])
            found = (recorder.lines, recorder.seconds, recorder.failed)
            Path(out.name).write_text(json.dumps(found))
            return code

        _wait(_fork(run), None)
        recorder.lines, recorder.seconds, recorder.failed = json.loads(Path(out.name).read_text())
    return recorder


# One fault


@dataclass(frozen=True)
class Trial:
    """A fault and the tests that it is tried against."""

    path: Path
    change: Change
    tests: tuple[str, ...]
    seconds: float

    @property
    def file(self) -> str:
        return str(self.path.relative_to(SOURCE / "doxa"))

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.change.line} in {self.change.where}: {self.change.text}"


def trials_of(
    group: Group, recorder: Recorder, sample: int | None, rng: random.Random
) -> list[Trial]:
    """Choose faults evenly over the modules' lines, and the tests for each."""
    known = _known()
    every = [
        (path, change)
        for path in files_of(group)
        for change in changes_of(ast.parse(path.read_text()))
        if identity_of(path, change) not in known
    ]
    chosen = every if sample is None else rng.sample(every, min(sample, len(every)))
    chosen.sort(key=lambda one: (str(one[0]), one[1].number))
    return [_trial(path, change, recorder) for path, change in chosen]


def identity_of(path: Path, change: Change) -> tuple[str, ...]:
    """What a change is known by, wherever its file and its line have moved to."""
    code = path.read_text().splitlines()[change.line - 1].strip()
    return path.name, change.where, code, change.text


def _known() -> set[tuple[str, ...]]:
    """Changes that change nothing that can be observed. The file has a reason for each."""
    fields = ("file", "where", "code", "change")
    return {tuple(one[field] for field in fields) for one in json.loads(KNOWN.read_text())}


def _trial(path: Path, change: Change, recorder: Recorder) -> Trial:
    file = str(path)
    # A constant may be read by a test that runs no line of its module.
    reaching = [
        test
        for test, lines in recorder.lines.items()
        if not change.function or change.line in lines.get(file, ())
    ]
    if not reaching:  # a call over several lines is recorded at other lines than its parts
        reaching = [test for test, lines in recorder.lines.items() if file in lines]
    tests: list[str] = []
    seconds = 0.0
    for test in sorted(reaching, key=lambda test: recorder.seconds[test]):
        if tests and seconds > SECONDS_MAX:
            break
        tests.append(test)
        seconds += recorder.seconds[test]
    return Trial(path, change, tuple(tests), seconds)


class Faulty(MetaPathFinder, SourceFileLoader):  # type: ignore[misc]  # typeshed's two disagree
    """Imports one module with one change in it."""

    def __init__(self, path: Path, code: CodeType) -> None:
        self._module = _module_name(path)
        self._code = code
        SourceFileLoader.__init__(self, self._module, str(path))

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name != self._module:
            return None
        spec: ModuleSpec | None = spec_from_file_location(name, self.path, loader=self)
        return spec

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def attempt(trial: Trial) -> int:
    """Import the module with its fault and run the tests. In a child process."""
    tree = ast.parse(trial.path.read_text())
    changes_of(tree)[trial.change.number].apply()
    code = compile(ast.fix_missing_locations(tree), str(trial.path), "exec")
    sys.meta_path.insert(0, Faulty(trial.path, code))
    files = dict.fromkeys(test.partition("::")[0] for test in trial.tests)
    return _pytest(["-x", *files], [Chosen(trial.tests)])


def _pytest(arguments: Sequence[str], plugins: Sequence[object]) -> int:
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--no-header"]
    return int(pytest.main([*quiet, *arguments], plugins=list(plugins)))


def _fork(run: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()  # so that what a test starts ends with it
        silent = os.open(os.environ.get("DOXA_MUTANTS_LOG", os.devnull), os.O_WRONLY | os.O_CREAT)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        code = run()
    except BaseException:
        code = 99
    os._exit(code)


def _wait(child: int, seconds: float | None) -> int | None:
    """A child's exit code, or None if it had to be ended."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, 0 if end is None else os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)


# All of them


def run(
    trials: Sequence[Trial], workers: int, report: Callable[[Trial, bool], None]
) -> list[Trial]:
    """Try every fault, several at once. Returns those that no test noticed."""
    survivors: list[Trial] = []
    waiting = list(reversed(trials))
    running: dict[int, tuple[Trial, float]] = {}
    while waiting or running:
        while waiting and len(running) < workers:
            trial = waiting.pop()
            if not trial.tests:
                survivors.append(trial)
                report(trial, False)
                continue
            child = _fork(lambda trial=trial: attempt(trial))  # type: ignore[misc]
            running[child] = trial, time.monotonic() + 30 + PATIENCE * trial.seconds
        for child, (trial, end) in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            if not done and time.monotonic() < end:
                continue
            if not done:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            del running[child]
            killed = not done or os.waitstatus_to_exitcode(status) != 0
            if not killed:
                survivors.append(trial)
            report(trial, killed)
        time.sleep(0.02)
    return survivors


def main() -> int:
    options = _options()
    figures: dict[str, Any] = {}
    again = None
    if options.again:
        groups = json.loads(options.again.read_text())["groups"].values()
        again = {shown for group in groups for shown in group["survivors"]}
    for name in options.groups or GROUPS:
        started = time.monotonic()
        recorder = record(GROUPS[name])
        if recorder.failed or not recorder.seconds:
            print(f"{name}: the tests fail without a fault: {recorder.failed[:5]}")
            return 2
        rng = random.Random(f"{options.seed} {name}")
        trials = trials_of(GROUPS[name], recorder, options.sample or None, rng)
        if again is not None:
            trials = [trial for trial in trials if trial.shown in again]
        if options.only:
            trials = [trial for trial in trials if options.only in trial.shown]

        def report(trial: Trial, killed: bool) -> None:
            if not killed:
                why = "" if trial.tests else "  (no test reaches it)"
                print(f"  survived: {trial.shown}{why}", flush=True)

        print(f"{name}: {len(trials)} faults, {len(recorder.seconds)} tests", flush=True)
        survivors = run(trials, options.workers, report)
        killed = len(trials) - len(survivors)
        figures[name] = {
            "faults": len(trials),
            "killed": killed,
            "survivors": [trial.shown for trial in survivors],
        }
        share = killed / max(len(trials), 1)
        print(
            f"{name}: {killed} of {len(trials)} killed, {share:.1%},"
            f" {time.monotonic() - started:.0f} s",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps({"seed": options.seed, "groups": figures}, indent=1))
    faults = sum(one["faults"] for one in figures.values())
    killed = sum(one["killed"] for one in figures.values())
    print(f"all: {killed} of {faults} killed, {killed / max(faults, 1):.1%}, seed {options.seed}")
    return int(killed < options.target * faults)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutants.py")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--sample", type=int, default=60, help="faults for each group; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--target", type=float, default=0.9, help="exit 1 below this share")
    parser.add_argument("--only", help="faults whose line of text contains this")
    parser.add_argument(
        "--again", type=Path, metavar="FILE", help="only the survivors that --json wrote there"
    )
    parser.add_argument("--json", type=Path, help="write scores and survivors here")
    options = parser.parse_args()
    unknown = [name for name in options.groups if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {unknown[0]!r}; they are {', '.join(GROUPS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
