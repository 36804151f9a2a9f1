"""How much hangs on each constant of the fusion: one is moved, the others stay as chosen, and the three sets are asked again.

A constant is a float in capitals of doxa.recall.fusion. Other modules import it by its name, so it is set in every module whose source imports it
from there; that this takes effect is asserted by the scores. A constant whose moves change no score has no say in these sets, and the table says so.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.ablation import modes
from bench.report import Report, begin, percent
from bench.sets import TITLES, Found, Sets, opened_sets
from doxa.models import Embedder
from doxa.recall import fusion

FACTORS = (0.0, 0.5, 0.75, 1.25, 1.5)
BETAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BEGIN = "<!-- sensitivity: begin, written by `python -m bench sensitivity --document FILE` -->"
END = "<!-- sensitivity: end -->"
_TITLE = "Sensitivity: one constant moved, the others as chosen; evidence found in the first ten, %"
_MAX = "max"


def constants() -> dict[str, float]:
    """The floats in capitals of the fusion, in the order of its source."""
    return {name: value for name, value in vars(fusion).items() if name.isupper() and isinstance(value, float)}


def moved(name: str, value: float, factors: Sequence[float] = FACTORS) -> list[float]:
    """Where a constant goes. A length of 0 would divide by itself, so lengths have no 0; a constant that is 0 goes to small steps instead."""
    if not value:
        return [0.1, 0.25, 0.5]
    return [value * factor for factor in factors if factor or not ("LENGTH" in name or name.endswith(("_TOKENS", "_DAYS", "_S")))]


@contextmanager
def constant(name: str, value: Any) -> Iterator[None]:
    """A constant of the fusion set to a value in every module that holds it, and put back."""
    before = getattr(fusion, name)
    places = list(_holders(name))
    try:
        for module, own in places:
            setattr(module, own, value)
        yield
    finally:
        for module, own in places:
            setattr(module, own, before)


def _holders(name: str) -> Iterator[tuple[ModuleType, str]]:
    """The fusion itself, and what imports the name from it, under which own name."""
    yield fusion, name
    for module in [one for title, one in sys.modules.items() if title.startswith("doxa.") and one is not fusion]:
        if module is None or not getattr(module, "__file__", None):
            continue
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("fusion"):
                yield from ((module, alias.asname or alias.name) for alias in node.names if alias.name == name)


def run(data: Path, embedder: Embedder | None, *, seed: int, only: Sequence[str] = (), factors: Sequence[float] = FACTORS) -> Report:
    """`only` names some of the constants; `factors` say where each goes."""
    report = begin("sensitivity", seed=seed, embedder=embedder)
    chosen = {name: value for name, value in constants().items() if not only or name in only}
    with opened_sets(data, embedder) as sets:
        usual = sets.ask()
        rows = [["**as chosen**", "", *(f"**{percent(value)}**" for value in _put(report, "chosen", usual)), ""]]
        changes = 0
        for name, value in chosen.items():
            found = _swept(report, sets, name, [(shown(other), other) for other in moved(name, value, factors)], usual=usual)
            changes += sum(changed for _, changed in found)
            rows += [[f"`{name}` ({shown(value)})" if number == 0 else "", *row] for number, (row, _) in enumerate(found)]
        assert changes, "moving the constants of the fusion changed no score: the sweep does not reach what recall uses"
        head = ["constant (chosen)", "value", *(TITLES[name] for name in sets.asked), "questions with other scores"]
        report.table(_TITLE, head, rows)
        _max_mode(report, sets)
    return report.end()


def _put(report: Report, key: str, found: Found) -> list[float]:
    for name, value in found.means().items():
        report.put(f"{key}.{name}.at_10", value)
    return list(found.means().values())


def _swept(
    report: Report, sets: Sets, name: str, values: Sequence[tuple[str, Any]], *, usual: Found, key: str = "", **options: Any
) -> list[tuple[list[str], int]]:
    """A row for each value, and how many questions it gives other scores."""
    rows = []
    for text, value in values:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                with constant(name, value):
                    found = sets.ask(**options)
        except (ZeroDivisionError, RuntimeWarning):
            rows.append(([text, *("–" for _ in sets.asked), "not defined"], 0))
            continue
        changed = found.changed(usual)
        means = _put(report, f"{key or name}.{text.replace('/', '_over_')}", found)
        rows.append(([text, *map(percent, means), str(changed) if changed else "none"], changed))
    return rows


def _max_mode(report: Report, sets: Sets) -> None:
    """The sweep of the mode `max`, w * max(words, beta * cosine): beta, and the weights of the types, where the product has them."""
    betas = [name for name in vars(fusion) if name.isupper() and "BETA" in name]
    weights = [name for name, value in vars(fusion).items() if name.isupper() and "WEIGHT" in name and isinstance(value, Mapping)]
    if _MAX not in modes():
        report.tables.append(f"Mode `{_MAX}`: this doxa does not have it, so its beta and the weights of its types are not swept.")
        return
    usual = sets.ask(mode=_MAX)
    rows = [["**as chosen**", "", *(f"**{percent(value)}**" for value in _put(report, "mode_max.chosen", usual)), ""]]

    def sweep(title: str, name: str, values: Sequence[tuple[str, Any]], key: str) -> None:
        found = _swept(report, sets, name, values, usual=usual, key=f"mode_max.{key}", mode=_MAX)
        rows.extend([title if number == 0 else "", *row] for number, (row, _) in enumerate(found))

    for name in betas:
        sweep(f"`{name}` ({shown(getattr(fusion, name))})", name, [(f"{beta:g}", beta) for beta in BETAS], name)
    for name in weights:
        held = dict(getattr(fusion, name))
        for kind, value in held.items():
            settings = [(shown(other), held | {kind: other}) for other in moved(name, value)]
            sweep(f"`{name}` of {kind} ({shown(value)})", name, settings, f"{name}.{kind}")
    if not betas or not weights:
        absent = " and ".join(what for what, there in (("a beta", betas), ("weights of types", weights)) if not there)
        report.tables.append(f"Mode `{_MAX}`: doxa.recall.fusion names no {absent}, so that part is not swept.")
    head = ["constant (chosen)", "value", *(TITLES[name] for name in sets.asked), "questions with other scores"]
    report.table(f"Mode `{_MAX}`: one constant moved, the others as chosen", head, rows)


def shown(value: float) -> str:
    """A constant as people write it: 1/3 and not 0.3333333."""
    short = f"{value:.4g}"
    return short if float(short) == value else _fraction(value)


def _fraction(value: float) -> str:
    near = Fraction(value).limit_denominator(64)
    return f"{near.numerator}/{near.denominator}" if abs(float(near) - value) < 1e-9 else f"{value:.6g}"


def write_section(document: Path, report: Report) -> str:
    """Put the tables between the marks of a document. Returns what was done."""
    text = document.read_text()
    if BEGIN not in text or END not in text:
        return f"{document} lacks the marks {BEGIN} and {END}; nothing was written. Put both there and run it again."
    head, rest = text.split(BEGIN, 1)
    body = "\n\n".join([f"Seed {report.seed}; {report.wall_s:.0f} s.", *report.tables])
    document.write_text(f"{head}{BEGIN}\n\n{body}\n\n{END}{rest.split(END, 1)[1]}")
    return f"The tables are now in {document}."

