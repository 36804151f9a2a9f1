"""The tools of the tests do what they say: a campaign multiplies, a mutation changes one thing."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import mutants
from scripts.mutant_changes import changes_of
from scripts.mutants import GROUPS, KNOWN, files_of

ROOT = Path(__file__).parents[2]

SHORT = """
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

def note(name):
    with open({path!r}, "a") as out:
        out.write(name + "\\n")

@settings(max_examples=7, database=None)
@given(st.integers())
def test_property(x):
    note("property")

class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        note("machine")

    @rule()
    def nothing(self):
        pass

TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=3, stateful_step_count=2, database=None)

def test_loop(campaign):
    for _ in range(2 * campaign):
        note("loop")

def test_plain(seed, tally):
    note("plain")
    tally(seeds=seed, notes=2)

def test_another(seed, tally):
    tally(seeds=seed)
"""


def counts(folder: Path, *arguments: str) -> dict[str, int]:
    out = folder / "out"
    (folder / "test_short.py").write_text(SHORT.format(path=str(out)))
    out.write_text("")
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = ["-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        [sys.executable, *command, str(folder)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    lines = out.read_text().split()
    return {name: lines.count(name) for name in ("property", "machine", "loop", "plain")}


def test_a_campaign_runs_what_has_a_long_form_and_nothing_else(tmp_path: Path) -> None:
    once, five = counts(tmp_path), counts(tmp_path, "--campaign", "5")
    assert once["property"] == 7 and five["property"] == 35
    assert 3 <= once["machine"] <= 4 and 15 <= five["machine"] <= 16
    assert (once["loop"], five["loop"]) == (2, 10)
    assert (once["plain"], five["plain"]) == (1, 0)


def test_counts_of_all_tests_of_a_file_are_added_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_SEED", "21")
    written = tmp_path / "figures.json"
    counts(tmp_path, "-n", "2", "--record-figures", str(written))
    (found,) = json.loads(written.read_text()).values()
    assert (found["tests"], found["failed"]) == (5, 0)
    assert found["figures"] == {"seeds": 42, "notes": 2}


SOURCE = '''
"""A module."""
from x import y
LIMIT = 10
T = TypeVar("T", covariant=True)
RATE: float = 0.5
__all__ = ["f"]

class C:
    on: bool = True

    @property
    def size(self) -> int:
        """Size."""
        assert self.n >= 0, 1
        return self.n + 1

def f(a, b=2):
    if not a:
        raise ValueError(f"no {a + 1}")
    while a < b and g(a):
        h(a)
        continue
    return min(a, b) if a else None
'''


def test_changes() -> None:
    found = [(one.where, one.text) for one in changes_of(ast.parse(SOURCE))]
    assert found == [
        ("LIMIT", "10  ->  11"),
        ("RATE", "0.5  ->  2.0"),
        ("C", "True  ->  False"),
        ("C.size()", "return self.n + 1  ->  return None"),
        ("C.size()", "self.n + 1  ->  self.n - 1"),
        ("C.size()", "1  ->  2"),
        ("f()", "2  ->  3"),
        ("f()", "if not a  ->  if a"),
        ("f()", "raise ValueError(f'no {a + 1}')  ->  pass"),
        ("f()", "h(a)  ->  pass"),
        ("f()", "continue  ->  break"),
        ("f()", "a < b and g(a)  ->  a < b or g(a)"),
        ("f()", "a < b  ->  a <= b"),
        ("f()", "return min(a, b) if a else None  ->  return None"),
        ("f()", "if a  ->  if not a"),
        ("f()", "min(a, b)  ->  max(a, b)"),
    ]


def test_each_change_changes_one_thing() -> None:
    before = ast.unparse(ast.parse(SOURCE))
    texts = set()
    for number, one in enumerate(changes_of(ast.parse(SOURCE))):
        assert one.number == number and one.line > 0
        tree = ast.parse(SOURCE)
        changes_of(tree)[number].apply()
        after = ast.unparse(ast.fix_missing_locations(tree))
        compile(tree, "x.py", "exec")
        assert after != before
        texts.add(after)
    assert len(texts) == len(changes_of(ast.parse(SOURCE)))


@pytest.mark.parametrize("name", GROUPS)
def test_groups_have_modules_and_tests(name: str) -> None:
    assert files_of(GROUPS[name]) and len(mutants.tests_of(GROUPS[name])) >= 2


def test_changes_that_change_nothing_are_still_there_and_have_reasons() -> None:
    there = {
        mutants.identity_of(path, one)
        for group in GROUPS.values()
        for path in files_of(group)
        for one in changes_of(ast.parse(path.read_text()))
    }
    known = json.loads(KNOWN.read_text())
    assert known
    for one in known:
        assert tuple(one[name] for name in ("file", "where", "code", "change")) in there, one
        assert one["reason"].endswith(".")
