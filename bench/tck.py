"""The openCypher TCK against the engine: every scenario of a folder, outlines expanded, on a real
store.

A scenario passes when its result has the columns and rows asked for (in order where order is asked
for), its side effects are exactly those stated, or its error has the stated type, phase and detail.
Nothing is skipped: what cannot be run has failed.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.gherkin import Scenario, Step, scenarios
from bench.report import Report
from bench.tck_values import canonical, expected, unordered
from bench.watched import watched
from doxa.base.values import canonical as canonical_bytes
from doxa.cypher.errors import QueryError
from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.core.comparison import group_key
from doxa.query.engine import Plan, QueryEngine
from doxa.query.procedures.registry import RegisteredProcedure, Registry
from doxa.store import Identity, Store

_TESTER = Identity("tck", "operator")


class Failure(Exception):
    """Why a scenario did not pass."""


def run(folder: Path, *, optimise: bool = True) -> Report:
    """Run every feature below the folder. `failed` in the record lists each failing scenario with
    its reason."""
    report = Report("tck", seed=0, embedder="none")
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    failed: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as home, Store(Path(home) / "tck.db") as store:
        runner = Runner(store, _graphs(folder), optimise=optimise)
        for path in watched(sorted(folder.rglob("*.feature")), "features"):
            group = str(path.parent.relative_to(folder))
            for scenario in scenarios(path):
                total[group] += 1
                reason = runner.outcome(scenario)
                if reason is None:
                    passed[group] += 1
                else:
                    failed[f"{group}/{scenario.feature}"].append(f"{scenario.name}: {reason}")
    return _report(report, passed, total, failed)


def _report(
    report: Report, passed: Counter[str], total: Counter[str], failed: dict[str, list[str]]
) -> Report:
    count, good = sum(total.values()), sum(passed.values())
    rows = [
        (group, str(total[group]), str(passed[group]), f"{100 * passed[group] / total[group]:.1f}")
        for group in sorted(total)
    ]
    rows.append(("all", str(count), str(good), f"{100 * good / max(1, count):.2f}"))
    report.table("openCypher TCK", ("folder", "scenarios", "passed", "%"), rows)
    if failed:
        lines = [(feature, line) for feature in sorted(failed) for line in failed[feature]]
        report.table(
            "Failing scenarios",
            ("feature", "scenario and reason"),
            [(one, line.replace("|", "\\|")) for one, line in lines],
        )
    report.put("pass_rate", good / max(1, count))
    report.put("scenarios", count)
    report.put("passed", good)
    return report.end()


def _graphs(folder: Path) -> Path:
    """The named graphs lie next to the features, or somewhere above."""
    for parent in (folder, *folder.resolve().parents):
        if (parent / "graphs").is_dir():
            return parent / "graphs"
    return folder


class Runner:
    def __init__(self, store: Store, graphs: Path, *, optimise: bool) -> None:
        self.store = store
        self.optimise = optimise
        self.graphs = graphs

    def outcome(self, scenario: Scenario) -> str | None:
        """None if it passes, else why not."""
        self._clear()
        try:
            _Play(self, scenario).run()
        except Failure as failure:
            return str(failure)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
        return None

    def _clear(self) -> None:
        with self.store.write(_TESTER, op="tck.clear") as tx:
            for (edge,) in tx.rows("SELECT id FROM edge"):
                tx.delete_edge(edge)
            for (node,) in tx.rows("SELECT id FROM node"):
                tx.delete_node(node)

    def state(self) -> dict[str, set[Any]]:
        """What side effects are counted from."""
        with self.store.read() as snapshot:
            nodes = snapshot.rows("SELECT id, labels, json(props) FROM node")
            edges = snapshot.rows("SELECT id, json(props) FROM edge")
        properties = {
            ("n", row[0], key, canonical_bytes(value))
            for row in nodes
            for key, value in json.loads(row[2]).items()
        }
        properties |= {
            ("e", row[0], key, canonical_bytes(value))
            for row in edges
            for key, value in json.loads(row[1]).items()
        }
        return {
            "nodes": {row[0] for row in nodes},
            "relationships": {row[0] for row in edges},
            "labels": {label for row in nodes for label in json.loads(row[1])},
            "properties": properties,
        }


class _Play:
    """One scenario as it goes on."""

    def __init__(self, runner: Runner, scenario: Scenario) -> None:
        self.runner = runner
        self.scenario = scenario
        self.registry = Registry()
        self.engine = QueryEngine(self.registry, optimise=runner.optimise)
        self.params: dict[str, Any] = {}
        self.columns: tuple[str, ...] = ()
        self.result: list[tuple[Any, ...]] | None = None
        self.error: tuple[str, QueryError] | None = None
        self.before: dict[str, set[Any]] = {}
        self.after: dict[str, set[Any]] = {}

    def run(self) -> None:
        for step in self.scenario.steps:
            self._step(step)
        if self.error is not None:
            raise Failure(
                f"raised {self.error[1].kind}/{self.error[1].detail} at {self.error[0]}:"
                f" {self.error[1].message[:120]}"
            )

    def _step(self, step: Step) -> None:
        text = step.text
        if text in ("an empty graph", "any graph"):
            return
        if text.startswith("the ") and text.endswith(" graph"):
            self._named_graph(text[4:-6])
        elif text == "having executed:":
            self._execute(step.document or "")
            self._raise()
        elif text == "parameters are:":
            self.params = {row[0]: _python(expected(row[1])) for row in step.table}
        elif text.startswith("there exists a procedure "):
            self.registry.add(
                _procedure(text.removeprefix("there exists a procedure "), step.table)
            )
        elif text in ("executing query:", "executing control query:"):
            self._raise()
            self._query(step.document or "")
        elif text.startswith("the result should be"):
            self._check_result(step)
        elif text in ("no side effects", "the side effects should be:"):
            self._check_effects(step)
        elif " should be raised at " in text:
            self._check_error(text)
        else:
            raise Failure(f"unknown step: {text}")

    def _raise(self) -> None:
        if self.error is not None:
            raise Failure(
                f"raised {self.error[1].kind}/{self.error[1].detail} at {self.error[0]}:"
                f" {self.error[1].message[:120]}"
            )

    def _named_graph(self, name: str) -> None:
        folder = self.runner.graphs / name
        for script in json.loads((folder / f"{name}.json").read_text())["scripts"]:
            self._execute((folder / f"{script}.cypher").read_text())
            self._raise()

    def _query(self, text: str) -> None:
        self.before = self.runner.state()
        self._execute(text)
        self.after = self.runner.state()

    def _execute(self, text: str) -> None:
        self.error, self.result = None, None
        try:
            plan = self.engine.prepare(text)
        except QueryError as error:
            self.error = ("compile time", error)
            return
        try:
            self._run(plan)
        except QueryError as error:
            self.error = (
                f"{'compile time' if error.fields.get('phase') == 'compile' else 'runtime'}",
                error,
            )

    def _run(self, plan: Plan) -> None:
        if plan.checked.writes:
            with self.runner.store.write(_TESTER, op="cypher") as tx:
                result = self.engine.execute(plan, tx, self.params)
                self.columns, self.result = result.columns, list(result)
        else:
            with self.runner.store.read() as snapshot:
                result = self.engine.execute(plan, snapshot, self.params)
                self.columns, self.result = result.columns, list(result)

    # Expectations

    def _check_result(self, step: Step) -> None:
        self._raise()
        assert self.result is not None
        how = step.text.removeprefix("the result should be").strip(" ,:")
        if how == "empty":
            if self.result:
                raise Failure(f"{len(self.result)} rows instead of none")
            return
        header, *rows = step.table
        if list(self.columns) != header:
            raise Failure(f"columns {list(self.columns)} instead of {header}")
        found = [tuple(canonical(value) for value in row) for row in self.result]
        wanted = [tuple(expected(cell) for cell in row) for row in rows]
        if "ignoring element order" in how:
            found, wanted = [unordered(row) for row in found], [unordered(row) for row in wanted]
        if "in order" not in how:
            found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
        if found != wanted:
            raise Failure(f"rows {str(found)[:300]} instead of {str(wanted)[:300]}")

    def _check_effects(self, step: Step) -> None:
        effects = {name: int(count) for name, count in step.table}
        for what in ("nodes", "relationships", "labels", "properties"):
            for sign, one, other in (
                ("+", self.after, self.before),
                ("-", self.before, self.after),
            ):
                count = len(one[what] - other[what])
                if count != effects.get(sign + what, 0):
                    raise Failure(
                        f"side effect {sign}{what} is {count} instead of"
                        f" {effects.get(sign + what, 0)}"
                    )

    def _check_error(self, text: str) -> None:
        head, _, detail = text.partition(":")
        words = head.split(" should be raised at ")
        kind, phase = words[0].removeprefix("a ").removeprefix("an "), words[1]
        if self.error is None:
            raise Failure(f"no error instead of {kind}/{detail.strip()} at {phase}")
        seen_phase, error = self.error
        if (
            phase not in ("any time", seen_phase)
            or error.kind != kind
            or detail.strip() not in ("*", error.detail)
        ):
            raise Failure(
                f"{error.kind}/{error.detail} at {seen_phase} instead of {kind}/{detail.strip()} at"
                f" {phase}: {error.message[:100]}"
            )
        self.error = None


def _python(value: Any) -> Any:
    """A cell as a parameter."""
    kind, inner = value
    if kind == "list":
        return [_python(item) for item in inner]
    if kind == "map":
        return {key: _python(item) for key, item in inner}
    return float("nan") if kind == "float" and inner == "NaN" else inner


def _procedure(text: str, table: list[list[str]]) -> RegisteredProcedure:
    """test.my.proc(name :: STRING?) :: (city :: STRING?): the rows whose first cells equal the
    arguments."""
    name, _, rest = text.rstrip(":").partition("(")
    arguments, _, results = rest.partition(")")
    args = _fields(arguments)
    outs = _fields(results.partition("(")[2].rstrip(") "))
    rows = [tuple(_python(expected(cell)) for cell in row) for row in table[1:]]

    def call(run: object, *given: Any) -> list[tuple[Any, ...]]:
        wanted = [group_key(value) for value in given]
        return [
            row[len(args) :]
            for row in rows
            if [group_key(_like(v, g)) for v, g in zip(row, given, strict=False)] == wanted
        ]

    return RegisteredProcedure(ProcedureSignature(name.strip(), args, outs), call)


def _like(value: Any, given: Any) -> Any:
    return float(value) if type(value) is int and type(given) is float else value


def _fields(text: str) -> tuple[tuple[str, str], ...]:
    parts = [part.split("::") for part in text.split(",") if part.strip()]
    return tuple((name.strip(), kind.strip()) for name, kind in parts)
