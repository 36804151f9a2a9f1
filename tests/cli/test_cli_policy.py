"""`doxa policy`: what it lists, changes, tries, explains and draws, as text and as one JSON value,
and how it ends where something is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from doxa.cli import app
from doxa.cli.interactive.complete import OPTION_KEYS, Names, candidates
from doxa.cypher import policy_options
from tests.fixtures_shared import opened

Run = Callable[..., Any]
STEP = (
    "CREATE DECAY PROFILE gone OPTIONS { halfLifeSeconds: 0.000001, function: 'step',"
    " visibilityThreshold: 0.5 }\n"
)
NOTE = (
    STEP + "-- every note is hidden at once\nCREATE DECAY PROFILE note FOR (n:Note) APPLY { DECAY"
    " PROFILE 'gone' };\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in this process on a file of its own; with `json_value` its one JSON value."""
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_MODELS", str(tmp_path))
    monkeypatch.delenv("DOXA_DECAY", raising=False)

    def call(*arguments: object, exit: int = 0, json_value: bool = False, input: str = "") -> Any:
        result = CliRunner().invoke(
            app, [*map(str, arguments), *(["--json"] if json_value else [])], input=input
        )
        assert result.exit_code == exit, (result.output, result.exception)
        assert "\x1b[" not in result.output and "Traceback" not in result.output
        text = result.stderr if exit else result.stdout
        return json.loads(text) if json_value else text

    return call


def noted(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.run("CREATE (:Note {text: 'a', x: 1})-[:SEES]->(:Other)")


def test_policies_are_applied_listed_and_counted(run: Run, tmp_path: Path) -> None:
    run("init")
    assert "no policies: nothing decays" in run("policy", "list")
    (tmp_path / "p.cypher").write_text(NOTE)
    assert run("policy", "apply", tmp_path / "p.cypher") == "added: 2\n"
    assert (
        run("policy", "apply", "-", input=NOTE.replace("CREATE DECAY", "CREATE OR REPLACE DECAY"))
        == "nothing changed\n"
    )
    changed = "ALTER DECAY PROFILE gone DISABLE; DROP DECAY PROFILE note"
    assert run("policy", "apply", "-", input=changed, json_value=True) == {
        "added": 0,
        "changed": 1,
        "removed": 1,
        "notices": [],
    }
    found = run("policy", "list", json_value=True)
    assert found["decayProfiles"] == [
        {
            "kind": "bundle",
            "name": "gone",
            "scope": "NODE",
            "target": None,
            "profileRef": None,
            "enabled": False,
        }
    ]
    assert found["promotionProfiles"] == found["promotionPolicies"] == []
    text = run("policy", "list")
    assert text.startswith("Decay profiles\nkind ") and "'gone'" in text and "Promotion" not in text


def test_a_binding_without_effect_is_told(run: Run) -> None:
    twice = "".join(
        f"CREATE DECAY PROFILE {name} FOR (n:Note) APPLY {{ NO DECAY }}\n" for name in "ab"
    )
    count, note = run("policy", "apply", "-", input=twice).splitlines()
    assert (
        count == "added: 2"
        and note.startswith("note: a is for the same target")
        and "b has no effect" in note
    )


def test_a_text_is_carried_out_whole_or_not_at_all(run: Run) -> None:
    error = run(
        "policy",
        "apply",
        "-",
        input=STEP + "CREATE DECAY PROFILE b FOR (n:B) APPLY { DECAY PROFILE 'gon' }",
        exit=2,
        json_value=True,
    )
    assert (
        error["error"]["fields"]["line"],
        "Did you mean 'gone'?" in error["error"]["next_step"],
    ) == (2, True)
    assert run("policy", "list", json_value=True)["decayProfiles"] == []
    for text in ("", "-- nothing\n"):
        assert "no policy command" in run("policy", "apply", "-", input=text, exit=2)
    assert "other statements than policy commands" in run(
        "policy", "apply", "-", input="CREATE (:A)", exit=2
    )
    assert "Expected PROFILE" in run("policy", "apply", "-", input="CREATE DECAY", exit=2)
    assert "No such file" in run("policy", "apply", "nowhere.cypher", exit=5)


def test_the_standard_policies_are_installed_once(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("Deploy on Thursdays", name="deploys")
    assert (
        run("policy", "bootstrap")
        == "29 standard policies are in force; `doxa policy list` shows them\n"
    )
    assert "has persistence policies already" in run("policy", "bootstrap", exit=4)
    assert {name: len(found) for name, found in run("policy", "list", json_value=True).items()} == {
        "decayProfiles": 18,
        "promotionProfiles": 6,
        "promotionPolicies": 5,
    }
    assert "7 decay profiles, 11 bindings, 6 promotion profiles, 5 promotion policies" in run(
        "policy", "status"
    )


def test_status_tells_of_windows_and_accesses(run: Run, tmp_path: Path) -> None:
    run("init")
    assert run("policy", "status").splitlines() == [
        (
            "policies are in force: 0 decay profiles, 0 bindings, 0 promotion profiles, 0 promotion"
            " policies"
        ),
        "Hidden elements are in no result; nothing waits.",
        "no accesses were written lately",
    ]
    run("policy", "apply", "-", input="CREATE DECAY PROFILE note FOR (n:Note) APPLY { NO DECAY }")
    noted(tmp_path)
    run("cypher", "MATCH (n:Note) RETURN n")
    found = run("policy", "status", json_value=True)
    assert (
        found["enabled"],
        found["decayBindings"],
        found["pending"],
        found["accessesFollowWithinMs"],
    ) == (True, 1, 0, 2000)
    assert found["accessesWritten"]["time"].endswith("Z")
    assert "accesses were last written at " in run("policy", "status")


def test_why_an_element_is_hidden(run: Run, tmp_path: Path) -> None:
    noted(tmp_path)
    assert run("policy", "explain", "n:1") == "The node is visible: no policy is about it.\n"
    run("policy", "apply", "-", input=NOTE)
    lines = run("policy", "explain", "n:1").splitlines()
    assert (
        lines[0]
        == "The node is hidden: note: step decay, half-life 1e-06 s from CREATED; its score 0 is"
        " below the threshold 0.5."
    )
    assert lines[1] == "  rule     binding note with the profile gone"
    assert lines[2].startswith(
        "  curve    step, half-life 1e-06 seconds, counted from its creation, 20"
    )
    assert lines[3] == "  score    0; threshold 0.5, floor 0"
    assert lines[4].startswith("  visible  until 20") and len(lines) == 5
    found = run("policy", "explain", "n:1", json_value=True)
    assert (found["visible"], found["binding"], found["visibleFrom"], found["changesAt"]) == (
        False,
        "note",
        None,
        None,
    )
    assert (
        found["visibleUntil"] > found["anchor"]
        and found["use"]["accessCount"] == 0
        and found["decay"]["scope"] == "NODE"
    )
    assert (
        run("policy", "explain", "r:1")
        == "The relationship is visible: no policy is about it. No pattern finds it while n:1, at"
        " its end, is hidden.\n"
    )


def test_why_a_property_is_hidden_and_what_use_did(run: Run, tmp_path: Path) -> None:
    noted(tmp_path)
    run(
        "policy",
        "apply",
        "-",
        input=STEP
        + """CREATE DECAY PROFILE other FOR (n:Note) APPLY { NO DECAY n.text DECAY PROFILE 'gone' }
        CREATE DECAY PROFILE any FOR (n) APPLY { NO DECAY }
        CREATE PROMOTION POLICY used FOR (n:Note) APPLY { ON ACCESS { WITH KALMAN SET n.y = n.text }
          WHEN n.accessCount >= 2 APPLY PROFILE 'reinforced' }""",
    )
    for _ in range(2):
        run("cypher", "MATCH (n:Note) RETURN n.x")
    text = run("policy", "explain", "n:1")
    assert (
        "The node is visible: other: it does not decay, promoted by reinforced; its score 1 is at"
        " least the threshold 0.\n" in text
    )
    assert "\n  rule     binding other, policy used\n" in text
    assert "\n  score    1, 1 before reinforced promoted it; threshold 0, floor 0\n" in text
    assert "\n  used     returned 2 times, last at 20" in text
    assert "\n  faded    text\n" in text
    assert "\n  others   binding any (); policy used (:Note)\n" in text
    assert "\n  error    used: SET y: y is smoothed, so it takes a number, not 'a'\n" in text
    assert run("policy", "explain", "n:1", "--property", "text").startswith(
        "The property text is hidden: other: step decay"
    )


def test_addresses_are_explained_and_what_is_not_there_is_said(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("Deploy on Thursdays", name="deploys")
    run(
        "policy",
        "apply",
        "-",
        input=STEP + "CREATE DECAY PROFILE belief FOR (n:Revision) APPLY { DECAY PROFILE 'gone' }",
    )
    kref = "kref://default/deploys.fact"
    for address in (kref, f"{kref}?r=1"):
        found = run("policy", "explain", address, json_value=True)
        assert (found["visible"], found["use"]["targetScope"]) == (False, "NODE")
    assert "hides it" in run("get", kref, exit=3)
    assert run("get", kref, "--reveal", json_value=True)["summary"] == "Deploy on Thursdays"
    for element, exit in (
        ("n:99", 3),
        ("r:99", 3),
        ("nonsense", 3),
        ("kref://default/no.fact", 3),
        ("kref:nonsense", 2),
    ):
        assert run("policy", "explain", element, exit=exit, json_value=True)["error"]["next_step"]
    with opened(tmp_path / "m.db", embedder=None) as memory:
        receipts = len(memory.log(limit=100))
    run("policy", "explain", kref)
    with opened(tmp_path / "m.db", embedder=None) as memory:
        assert len(memory.log(limit=100)) == receipts  # looking is not an access


def test_trying_policies_writes_nothing(run: Run, tmp_path: Path) -> None:
    noted(tmp_path)
    slow = (
        "CREATE DECAY PROFILE sees FOR ()-[r:SEES]-() APPLY { DECAY HALF LIFE 864000 DECAY"
        " THRESHOLD 0.5 }"
    )
    text = run("policy", "simulate", "-", input=NOTE + slow)
    lines = text.splitlines()
    assert lines[:2] == [
        "(:Note): 1 element under another rule",
        "  hidden now 1, by P30D 1, shown again 0",
    ]
    assert (
        lines[2].startswith("  n:1 hidden at 20")
        and lines[3] == "()-[:SEES]-(): 1 element under another rule"
    )
    assert lines[4] == "  hidden now 0, by P30D 1, shown again 0"
    (nodes, edges) = run(
        "policy", "simulate", "-", "--horizon", "P9D", input=NOTE + slow, json_value=True
    )
    assert (nodes["hiddenNow"], edges["hiddenByHorizon"], edges["samples"]) == (1, 0, [])
    inert = "CREATE DECAY PROFILE x OPTIONS { function: 'none' }"
    assert (
        run("policy", "simulate", "-", input=inert)
        == "No element is under another rule than before.\n"
    )
    assert run("policy", "list", json_value=True)["decayProfiles"] == []
    assert "duration" in run("policy", "simulate", "-", "--horizon", "soon", input=NOTE, exit=2)
    assert "line 1, column 14" in run("policy", "simulate", "-", input="CREATE DECAY x", exit=2)


EPISODE = """\
CREATE DECAY PROFILE episode OPTIONS { halfLifeSeconds: 604800, scoreFrom: 'LAST_ACCESSED', \
visibilityThreshold: 0.10 }
CREATE DECAY PROFILE growing OPTIONS { halfLifeSeconds: -86400, scoreFrom: 'LAST_ACCESSED', \
visibilityThreshold: 0.30 }
CREATE DECAY PROFILE short OPTIONS { halfLifeSeconds: 90, function: 'step', visibilityThreshold: \
0.5 }
CREATE DECAY PROFILE floored OPTIONS { halfLifeSeconds: 86400, scoreFloor: 0.2, \
visibilityThreshold: 0.2 }
CREATE DECAY PROFILE low OPTIONS { halfLifeSeconds: 86400, visibilityThreshold: 0.9 }
CREATE DECAY PROFILE stands FOR (n:Fact) APPLY { NO DECAY  n.note DECAY HALF LIFE 3600  }
CREATE PROMOTION PROFILE damped OPTIONS { multiplier: 0.5 }
"""
DRAWN = """\
episode: exponential, half-life 7 days, counted from its last access
1.00 |*
     | *
0.90 |  *
     |   *
0.80 |    *
     |     **
0.70 |       *
     |        *
0.60 |         **
     |           **
0.50 |             **
     |               **
0.40 |                 **
     |                   ***
0.30 |                      ***
     |                         ****
0.20 |                             *****
     |                                  ******
0.10 |----------------------------------------****......-----------
     |                                                  ...........
0.00 |
     ++--------------+--------------+--------------+--------------+
      0              8              16             24             32 days
hidden from 23.25 days after its last access on: below the threshold 0.1
"""


def test_a_curve_is_drawn(run: Run) -> None:
    run("policy", "apply", "-", input=EPISODE)
    assert run("policy", "plot", "episode") == DRAWN
    assert run("policy", "plot", "episode", "--days", "32") == DRAWN


@pytest.mark.parametrize(
    ("arguments", "title", "axis", "said"),
    [
        (
            ("growing",),
            "growing: exponential, growing, half-life 1 day, counted from its last access",
            "4 days",
            "hidden until 12.35 hours after its last access: below the threshold 0.3",
        ),
        (
            ("growing", "--promoted", "damped"),
            "promoted by damped",
            "4 days",
            "hidden until 31.73 hours after its last access: below the threshold 0.3",
        ),
        (
            ("short",),
            "short: step, half-life 1.5 minutes, counted from its creation",
            "6 minutes",
            "hidden from 90 seconds after its creation on: below the threshold 0.5",
        ),
        (("floored",), "half-life 1 day", "4 days", "never hidden: not below the threshold 0.2"),
        (
            ("floored", "--threshold", "0"),
            "half-life 1 day",
            "4 days",
            "never hidden: there is no threshold",
        ),
        (
            ("low", "--promoted", "damped"),
            "promoted by damped",
            "4 days",
            "always hidden: the score stays below the threshold 0.9",
        ),
        (
            ("stands",),
            "stands: it does not decay",
            "32 days",
            "never hidden: there is no threshold",
        ),
        (
            ("stands", "--property", "note"),
            "stands.note: exponential, half-life 1 hour, counted from its creation",
            "4 hours",
            "never hidden: there is no threshold",
        ),
        (
            ("episode", "--days", "0.5"),
            "half-life 7 days",
            "12 hours",
            "hidden from 23.25 days after its last access on: below the threshold 0.1",
        ),
        (
            ("episode", "--threshold", "0.01"),
            "half-life 7 days",
            "60 days",
            "hidden from 46.51 days after its last access on: below the threshold 0.01",
        ),
    ],
)
def test_what_is_said_of_a_curve(
    run: Run, arguments: tuple[str, ...], title: str, axis: str, said: str
) -> None:
    run("policy", "apply", "-", input=EPISODE)
    lines = run("policy", "plot", *arguments).splitlines()
    assert len(lines) == 25 and all(len(line) <= 80 for line in lines[1:])
    assert title in lines[0] and lines[-2].endswith(f" {axis}") and lines[-1] == said


def test_a_curve_in_numbers(run: Run) -> None:
    run("policy", "apply", "-", input=EPISODE)
    found = run("policy", "plot", "episode", json_value=True)
    assert (
        len(found["points"]) == 61
        and found["points"][0] == [0.0, 1.0]
        and found["points"][-1][0] == 32.0
    )
    assert found["visibleFromDays"] == 0.0 and 23.253 < found["visibleUntilDays"] < 23.254
    assert (found["kind"], found["function"], found["halfLifeSeconds"], found["threshold"]) == (
        "bundle",
        "exponential",
        604800.0,
        0.1,
    )
    run("policy", "apply", "-", input="ALTER DECAY PROFILE episode DISABLE")
    assert run("policy", "plot", "episode").startswith("episode: it does not decay\n")


@pytest.mark.parametrize(
    ("arguments", "exit"),
    [
        (("none",), 3),
        (("episode", "--property", "x"), 3),
        (("stands", "--property", "x"), 3),
        (("episode", "--promoted", "x"), 3),
        (("episode", "--days", "0"), 2),
        (("episode", "--days", "nan"), 2),
        (("episode", "--days", "1e9"), 2),
        (("episode", "--threshold", "2"), 2),
        (("episode", "--threshold", "nan"), 2),
    ],
)
def test_what_cannot_be_drawn(run: Run, arguments: tuple[str, ...], exit: int) -> None:
    run("policy", "apply", "-", input=EPISODE)
    assert run("policy", "plot", *arguments, exit=exit, json_value=True)["error"]["next_step"]


def test_decay_is_switched_by_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_DECAY", "on")
    run("init")
    assert "7 decay profiles" in run(
        "policy", "status"
    )  # a new file began with the standard policies
    run("policy", "apply", "-", input=NOTE)
    noted(tmp_path)
    assert run("cypher", "MATCH (n:Note) RETURN count(n) AS c", "--format", "csv") == "c\n0\n"
    monkeypatch.setenv("DOXA_DECAY", "off")
    assert run("cypher", "MATCH (n:Note) RETURN count(n) AS c", "--format", "csv") == "c\n1\n"
    assert run("policy", "explain", "n:1").startswith("The node is visible: decay is off.")
    assert run("policy", "status").startswith("policies are off: ")
    monkeypatch.setenv("DOXA_DECAY", "yes")
    for command in (
        ("stats",),
        ("doctor",),
        ("policy", "status"),
        ("mcp",),
        ("serve", "--bolt", "--no-login"),
    ):
        assert "DOXA_DECAY is on or off; this is 'yes'." in run(*command, exit=2)
    monkeypatch.setenv("DOXA_DECAY", "")
    assert run("policy", "status").startswith("policies are in force: ")


def test_what_only_reads_makes_no_file(run: Run, tmp_path: Path) -> None:
    for arguments in (("list",), ("status",), ("plot", "x"), ("explain", "n:1"), ("simulate", "-")):
        assert (
            run("policy", *arguments, input=NOTE, exit=5, json_value=True)["error"]["code"]
            == "store"
        )
    assert list(tmp_path.iterdir()) == []


HOSTILE = [
    "",
    " ",
    "\0",
    "a\0b",
    "\udcff",
    "x" * 100_000,
    "-1",
    "9" * 20,
    "nan",
    "kref://",
    "n:",
    "n:-1",
    "r:9999999999999999999",
    "/",
    "P1D",
]


def test_hostile_arguments_end_in_a_code_and_one_json_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.chdir(tmp_path)
    noted(tmp_path)
    group: Any = get_command(app)
    for name, command in group.commands["policy"].commands.items():
        params = [
            parameter for parameter in command.params if not getattr(parameter, "is_flag", False)
        ]
        for hostile in HOSTILE:
            for parameter in params:
                words = [
                    hostile if one is parameter else "-"
                    for one in params
                    if one.param_type_name == "argument"
                ]
                option = (
                    [f"{parameter.opts[0]}={hostile}"]
                    if parameter.param_type_name == "option"
                    else []
                )
                result = CliRunner().invoke(
                    app, ["policy", name, "--json", *option, "--", *words], input=NOTE
                )
                shown = (
                    name,
                    parameter.name,
                    hostile[:40],
                    result.exit_code,
                    result.output[:300],
                    result.exception,
                )
                assert result.exception is None or isinstance(result.exception, SystemExit), shown
                assert result.exit_code in (0, 2, 3, 4, 5), shown
                json.loads(result.stdout if result.exit_code == 0 else result.stderr)


def test_completion_knows_the_words_of_policies() -> None:
    names = Names(("Note",), ("SEES",), ("text",), ())

    def found(text: str) -> list[str]:
        word = re.split(r"[^\w.$]", text)[-1]
        return candidates(text.removesuffix(word), word, names=names, parameters=(), commands={})

    assert found("CREATE DEC") == ["DECAY", "decay(", "decayScore("]
    assert found("show promo") == ["promotion"] and found("SHOW PROMOTION POLICI") == ["POLICIES"]
    assert found("CREATE DECAY PROFILE x FOR (n:No") == ["Note"]
    assert found("CREATE DECAY PROFILE x FOR (n:Note) APPLY { THR") == ["THRESHOLD"]
    assert found("CREATE DECAY PROFILE x OPTIONS { score") == [
        "scoreCap: ",
        "scoreFloor: ",
        "scoreFrom: ",
        "scoreFromProperty: ",
    ]
    assert found("CREATE PROMOTION POLICY x FOR (n:Note) APPLY { ON ACCESS { WITH KALMAN { va") == [
        "varianceScale: "
    ]
    assert found(
        "CREATE PROMOTION POLICY x FOR (n:Note) APPLY { ON ACCESS { WITH KALMAN { q: 1 } SE"
    ) == ["SET", "SETTINGS"]
    assert found("CREATE (n {te") == ["text: "]
    assert {key for rules in policy_options._RULES.values() for key in rules} == set(OPTION_KEYS)
