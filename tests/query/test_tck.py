"""The openCypher TCK through the benchmark's runner: the outside definition of right. Skipped where
its files are not available."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import tck

FEATURES = Path(__file__).resolve().parents[3] / "shared" / "data" / "tck"


@pytest.mark.skipif(
    not FEATURES.is_dir(), reason="the TCK's feature files are not next to the project"
)
@pytest.mark.parametrize("optimise", [True, False])
def test_every_scenario_passes(optimise: bool) -> None:
    report = tck.run(FEATURES, optimise=optimise)
    assert report.figures["scenarios"] > 1_000
    assert report.figures["pass_rate"] == 1, report.text()


FEATURE = """
Feature: Small

  Scenario Outline: Adds
    Given an empty graph
    And having executed:
      \"\"\"
      CREATE (:A {x: 1})
      \"\"\"
    When executing query:
      \"\"\"
      MATCH (a:A) RETURN a.x + <y> AS sum
      \"\"\"
    Then the result should be, in any order:
      | sum   |
      | <sum> |
    And no side effects

    Examples:
      | y | sum |
      | 1 | 2   |
      | 2 | 4   |

  Scenario: Wants an error
    Given any graph
    When executing query:
      \"\"\"
      RETURN b
      \"\"\"
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  Scenario: Wants another
    Given any graph
    When executing query:
      \"\"\"
      RETURN 1
      \"\"\"
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  Scenario: Has effects it does not state
    Given any graph
    When executing query:
      \"\"\"
      CREATE ({x: 1})
      \"\"\"
    Then the result should be empty
    And no side effects
"""


def test_the_runner_can_fail(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "Small.feature").write_text(FEATURE)
    report = tck.run(tmp_path)
    assert report.figures["scenarios"] == 5
    assert report.figures["passed"] == 2
    text = report.text()
    for reason in ("Adds (2): rows", "Wants another: no error", "side effect +nodes is 1"):
        assert reason in text
