"""The page on reliability shows the newest campaign, and a campaign covers what it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import campaign
from bench.__main__ import main
from bench.pages import BEGIN, END, render

ROOT = Path(__file__).parents[2]
RECORD = {
    "date": "2026-01-02",
    "factor": 3,
    "seed": 5,
    "machine": {"cpus": 2},
    "minutes": 2.4,
    "paths": [],
    "commands": {"pytest": 1, "bench agm": 0},
    "files": {
        "tests/crash/test_many_writers.py": {
            "tests": 2, "failed": 1, "seconds": 3.0, "figures": {"kills": 1_500},
        },
        "tests/crash/test_races.py": {"tests": 4, "failed": 0, "seconds": 3.0, "figures": {}},
        "tests/base/test_words.py": {"tests": 7, "failed": 0, "seconds": 1.0, "figures": {}},
    },
}  # fmt: skip


def test_the_page_shows_the_newest_campaign() -> None:
    newest = campaign.newest()
    assert newest is not None
    page = campaign.DOCUMENT.read_text()
    shown = page.partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == campaign.table(newest)


def test_a_row_for_each_campaign_that_ran_with_its_counts() -> None:
    lines = campaign.table(RECORD).splitlines()
    assert "`make campaign N=3 SEED=5`, in 2 minutes" in lines[0]
    assert lines[-3:] == [
        "| Kills of writers | 6 | 1 | kills 1,500 |",
        "| Other properties and state machines | 7 | 0 |  |",
        "| `python -m bench agm` | | no | |",
    ]


def test_a_whole_campaign_measures_planted_text_with_its_seed() -> None:
    """With paths it runs tests alone; without, also what is measured."""
    commands = campaign._commands((), 3, 5, Path("told.json"))
    assert ["bench", "poison", "--seed", "5", "--reorder"] in commands
    assert len(campaign._commands(("tests/crash",), 3, 5, Path("told.json"))) == 1


def test_an_attack_is_listed_by_its_page_and_by_the_folder() -> None:
    """Every adversary suite is part of a row of its own, and the folder's README names it."""
    listed = (ROOT / "tests/adversary/README.md").read_text()
    rest = list(campaign.CAMPAIGNS.values())[:-1]
    for path in sorted((ROOT / "tests/adversary").glob("test_*.py")):
        assert f"`{path.name}`" in listed, path.name
        name = path.relative_to(ROOT).as_posix()
        assert any(name.startswith(starts) for starts in rest), name


def test_the_table_goes_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    assert "no results" in render(tmp_path / "results", tmp_path / "benchmarks.md")
    with pytest.raises(SystemExit):
        main(["campaign", "--factor", "1"])


def test_a_campaign_runs_its_tests_with_its_seed_and_keeps_the_counts(tmp_path: Path) -> None:
    script = "import sys; from bench.__main__ import main; sys.exit(main(sys.argv[1:]))"
    said = subprocess.run(
        [
            *(sys.executable, "-c", script, "campaign", "tests/redaction/test_labelled.py"),
            *("--seed", "9", "--factor", "2"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "SEED=9" in said.stdout
    (row,) = [line for line in said.stdout.splitlines() if line.startswith("| Secrets")]
    assert "ordinary lines 352" in row and "rare forms found 93" in row
