"""The command line: one JSON value or plain text, an exit code that says what kind of thing went
wrong, and errors that say what to do."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from doxa.cli import app
from doxa.models import find_weights, minilm
from tests.fixtures_shared import opened

FIXTURES = Path(__file__).parent.parent / "ingestion" / "fixtures"
DB = "kref://default/db.fact"
Run = Callable[..., Any]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One folder for the built model, so that only the first command builds it."""
    return str(tmp_path_factory.mktemp("models"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: str) -> Run:
    """Run a command in this process on a file of its own. With `json=True` its one JSON value is
    returned."""
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_MODELS", models)

    def call(
        *arguments: object,
        exit: int = 0,
        json_value: bool = False,
        input: str | bytes | None = None,
    ) -> Any:
        result = CliRunner().invoke(
            app, [*map(str, arguments), *(["--json"] if json_value else [])], input=input
        )
        assert result.exit_code == exit, (result.output, result.exception)
        assert "\x1b[" not in result.output
        assert "Traceback" not in result.output
        text = result.stdout if exit in (0, 1) else result.stderr
        return json.loads(text) if json_value else text

    return call


def process(
    *arguments: object, env: dict[str, str], **options: Any
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "doxa.cli", *map(str, arguments)]
    return subprocess.run(
        command,
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_every_command_gives_one_json_value(run: Run, tmp_path: Path) -> None:
    def value(*arguments: object, exit: int = 0) -> Any:
        return run(*arguments, exit=exit, json_value=True)

    assert value("init")["path"] == str(tmp_path / "m.db")
    made = value(
        "remember", "The shop runs on MySQL", "--name", "db", "--fact", "shop|database|MySQL"
    )
    assert (made["kref"], made["stored"]) == (f"{DB}?r=1", True)
    value(
        "remember",
        "The backup calls mysqldump",
        "--name",
        "backup",
        "--depends-on",
        DB,
        "--valid-from",
        "2026-01-01",
        "--confidence",
        "0.5",
    )
    assert set(
        value("recall", "shop", "--lane", "words", "--lane", "recency", "--mode", "rrf")["hits"][0][
            "lanes"
        ]
    ) <= {"words", "recency"}
    answer = value(
        "recall",
        "what does the shop run on?",
        "--words-only",
        "-n",
        "3",
        "--tokens",
        "50",
        "--kind",
        "fact",
    )
    assert answer["hits"][0]["kref"] == f"{DB}?r=1"
    assert answer["hits"][0]["time"].endswith("Z")
    assert value("get", DB)["summary"] == "The shop runs on MySQL"
    time = value("history", DB)["revisions"][0]["created"]
    revised = value(
        "revise",
        DB,
        "The shop runs on PostgreSQL",
        "--fact",
        "shop|database|PostgreSQL",
        "--expect",
        "1",
    )
    assert revised["action"] == "revised"
    assert value("as-of", DB, time)["number"] == 1
    assert [
        hit["text"] for hit in value("recall", "shop", "--as-of", time, "--words-only")["hits"]
    ] == ["The shop runs on MySQL"]
    found = [hit["kref"] for hit in value("recall", "shop", "--history", "--words-only")["hits"]]
    assert found == [
        f"{DB}?r=2",
        f"{DB}?r=1",
        "kref://default/backup.fact?r=1",
    ]  # both revisions, and what depends on the item
    assert value("impact", DB)["steps"][0]["kref"] == "kref://default/backup.fact?r=1"
    assert value("traverse", "kref://default/backup.fact", "--edge", "DEPENDS_ON")["steps"]
    assert value("link", DB, "REFERENCED", "kref://default/backup.fact")["action"] == "linked"
    assert value("tag", f"{DB}?r=1", "approved")["action"] == "tagged"
    assert value("rollback", f"{DB}?r=1")["action"] == "rolled_back"
    assert value("undo", value("log", "-n", "1")[0]["change"])["action"] == "undone"
    backup, group = "kref://default/backup.fact", "kref://default/all.bundle"
    assert value("untag", DB, "approved")["action"] == "untagged"
    assert value("unlink", DB, "REFERENCED", backup)["action"] == "unlinked"
    assert value("provenance", backup)["steps"][0]["edge"] == "DEPENDS_ON"
    assert [step["kref"] for step in value("shortest-path", DB, backup)["steps"]][-1].startswith(
        backup
    )
    assert value("attach", DB, "dump.sql", "files/dump.sql", "--size", "7")["action"] == "attached"
    assert value("get", f"{DB}?a=dump.sql")["properties"]["location"] == "files/dump.sql"
    assert value("bundle", group, "--add", DB, "--add", backup)["action"] == "grouped"
    then = value("get", group)["members"][0]["since"]
    assert value("bundle", group, "--remove", backup)["action"] == "grouped"
    assert [
        [member["kref"] for member in found["members"]]
        for found in (value("get", group), value("as-of", group, then))
    ] == [[DB], [DB, backup]]
    assert len(value("history", group)["members"]) == 2
    assert backup in run("history", group) and DB in run("get", group)
    assert value("contract", DB, "--fact", "shop|database|PostgreSQL")["action"] == "contracted"
    assert value("restore", DB)["action"] == "restored"
    assert (
        value("supersede", DB, "The shop is closed", "--name", "closed")["action"] == "superseded"
    )
    assert value("forget", "kref://default/closed.fact")["done"] is True
    assert value("import", FIXTURES / "doxa.jsonl", "--no-embed")["added"] == 11
    assert value("embed")["pending"] >= 0
    assert value("export", tmp_path / "out.jsonl")["lines"] > 11
    assert len(value("verify")["head"]) == 64
    assert {finding["name"] for finding in value("doctor")} >= {"file", "log", "invariants"}
    assert value("stats")["exchanges"] == 11
    assert value("backup", tmp_path / "copy.db")["bytes"] > 0
    assert value("restore-backup", tmp_path / "copy.db", tmp_path / "restored.db")["path"] == str(
        tmp_path / "restored.db"
    )


def test_embed_ends_with_1_if_the_model_failed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOXA_EMBEDDER", "ollama:foo")
    monkeypatch.setenv("DOXA_OLLAMA_URL", "http://127.0.0.1:9")
    assert run("embed", json_value=True)["pending"] == 0  # nothing was left undone
    run("remember", "hello")
    found = run("embed", json_value=True, exit=1)
    assert (found["embedded"], found["pending"]) == (0, 1) and found["model_error"]
    assert "model_error" in run("embed", exit=1)


def test_what_comes_with_a_belief_is_given_entry_by_entry(run: Run) -> None:
    options = (
        "--event",
        "It broke -> we waited",
        "--implication",
        "Quiet weekends",
        "--implication",
        "Late news",
        "--question",
        "Who in August?",
        "--decision",
        "None in December",
        "--entity",
        "checkout",
    )
    run("remember", "We deploy on Thursdays", "--name", "day", *options)
    held = run("get", "kref://default/day.fact", json_value=True)
    assert (held["events"], held["implications"]) == (
        ["It broke -> we waited"],
        ["Quiet weekends", "Late news"],
    )
    assert (held["questions"], held["decisions"], held["entities"]) == (
        ["Who in August?"],
        ["None in December"],
        ["checkout"],
    )
    assert "implications: Quiet weekends; Late news" in run("get", "kref://default/day.fact")
    assert "shares weekends in its implications" in run("recall", "weekends", "--words-only")
    run("revise", "kref://default/day.fact", "We deploy on Thursdays", "--entity", "shop")
    held = run("get", "kref://default/day.fact", json_value=True)
    assert (held["entities"], held["decisions"]) == (["shop"], ["None in December"])
    run(
        "supersede",
        "kref://default/day.fact",
        "We deploy daily",
        "--name",
        "daily",
        "--event",
        "It was asked for",
    )
    assert run("get", "kref://default/daily.fact", json_value=True)["events"] == [
        "It was asked for"
    ]
    assert "An entry of events is blank" in run("remember", "Another", "--event", " ", exit=2)


def test_the_same_as_text(run: Run, tmp_path: Path) -> None:
    assert str(tmp_path / "m.db") in run("init")
    assert f"created: {DB}?r=1  (change" in run(
        "remember", "The shop runs on MySQL", "--name", "db", "--fact", "shop|database|MySQL"
    )
    assert "memory holds this already" in run("remember", "the shop runs on mysql")
    text = run("recall", "shop", "--words-only")
    assert "1. The shop runs on MySQL" in text
    assert "why: shares shop" in text
    assert "1 of 1 memories, fulltext" in text
    assert "+ shop | database | PostgreSQL" in run(
        "revise", DB, "The shop runs on PostgreSQL", "--fact", "shop|database|PostgreSQL"
    )
    history = run("history", DB)
    assert "r=1" in history
    assert "superseded" in history
    assert "summary: The shop runs on PostgreSQL" in run("get", DB)
    assert "nothing" in run("impact", DB)
    assert "revise" in run("log") or "put" in run("log")
    assert "verify and replay" in run("verify")
    assert "ok   log" in run("doctor")
    assert "revisions: 2" in run("stats")


@pytest.mark.parametrize(
    ("arguments", "code", "exit"),
    [
        (("get", "nonsense"), "kref", 2),
        (("recall", "x", "--since", "soon"), "input", 2),
        (("recall", "x", "-n", "0"), "limit", 2),
        (("remember", " "), "input", 2),
        (("recall", "x", "--tag", "current", "--trust", "sure"), "input", 2),
        (("get", "kref://default/no.fact"), "not_found", 3),
        (("undo", "99999"), "not_found", 3),
        (("recall", "x", "-p", "nowhere"), "not_found", 3),
        (("revise", DB, "y", "--expect", "7"), "conflict", 4),
        (("forget", "kref://default", "--confirm", "0000000000000000"), "confirmation", 4),
        (("get", DB, "--db", "/nowhere/at/all.db"), "store", 5),
        (("restore-backup", "/nowhere.db", "/nowhere/never-made.db"), "store", 5),
        (("verify", "--expect", "00" * 32), "corrupt", 5),
        (("import", "/nowhere.jsonl"), "input", 2),
        (("history", "kref://default"), "input", 2),
    ],
)
def test_exit_codes_and_errors(run: Run, arguments: tuple[str, ...], code: str, exit: int) -> None:
    run("remember", "The shop runs on MySQL", "--name", "db")
    run("remember", "The shop is small", "--name", "small")
    error = run(*arguments, exit=exit, json_value=True)["error"]
    assert error["code"] == code
    assert error["next_step"]
    text = run(*arguments, exit=exit)
    assert text.startswith("doxa: ")
    assert error["next_step"] in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing-like-it",),
        ("get",),
        ("recall", "x", "--colour", "red"),
        ("remember", "x", "--fact", "only two|parts"),
        ("undo", "one"),
        ("--bad",),
    ],
)
def test_a_wrong_command_line_is_two(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, exit=2)
    error = run(*arguments, exit=2, json_value=True)["error"]
    assert error["code"] == "input"
    assert (error["message"] and "--help" in error["next_step"]) or "fact" in error["message"]


def test_json_leaves_help_and_exit_codes_alone(run: Run, tmp_path: Path) -> None:
    assert "--json" in run("recall", "--help", "--json")
    assert run(exit=2, json_value=True)["error"]["code"] == "input"
    run("remember", "x is y", "--name", "x")
    (tmp_path / "m.db").chmod(0o644)
    assert run("doctor", exit=1, json_value=True)[0]["ok"] is False
    for target in (tmp_path / "no" / "out.jsonl", tmp_path):
        assert run("export", target, exit=2 if target == tmp_path else 5, json_value=True)["error"][
            "next_step"
        ]


def test_a_machine_without_the_model_is_well(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module without a spec: as if the local model was not installed.
    monkeypatch.setitem(sys.modules, minilm.PACKAGE, ModuleType(minilm.PACKAGE))
    run("remember", "x is y", "--name", "x")
    text = run("doctor")
    assert "note embedder" in text and "pip install" in text


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("doxa.jsonl", 11),
        ("locomo.json", 4),
        ("chatgpt/conversations.json", None),
        ("chatgpt", None),
        ("claude_ai/conversations.json", None),
        ("claude_code", None),
        ("claude_code/-home-ana-atlas/aaaa-1.jsonl", None),
    ],
)
def test_every_format_is_imported_once(run: Run, name: str, added: int | None) -> None:
    first = run("import", FIXTURES / name, "--no-embed", json_value=True)
    assert first["added"] > 0 if added is None else first["added"] == added
    again = run("import", FIXTURES / name, "--no-embed", json_value=True)
    known = first["added"] if again.get("unchanged", 0) == 0 else 0
    assert (again["added"], again["known"]) == (0, known)
    assert run(
        "doctor", exit=0 if find_weights() is None else 1
    )  # vectors are pending where there is a model


def test_forget_shows_first(run: Run) -> None:
    for number in range(3):
        run("remember", f"belief {number}", "--name", f"n{number}", "--space", "s")
    assert run("forget", "kref://default/s/n0.fact", "--preview", json_value=True)["done"] is False
    shown = run("forget", "kref://default/s", json_value=True)
    assert (shown["done"], shown["count"]) == (False, 3)
    assert f"--confirm {shown['token']}" in run("forget", "kref://default/s")
    assert run("forget", "kref://default/s", "--confirm", "0" * 16, exit=4)
    text = run("forget", "kref://default/s", "--confirm", shown["token"])
    assert "retired 3" in text
    run("undo", text.rpartition(" ")[2].strip())
    erase = run(
        "forget", "kref://default/s/n1.fact", "--erase", json_value=True
    )  # erasing one is shown first too
    assert (erase["done"], erase["mode"]) == (False, "erase")
    assert (
        run(
            "forget",
            "kref://default/s/n1.fact",
            "--erase",
            "--confirm",
            erase["token"],
            json_value=True,
        )["done"]
        is True
    )
    assert run("get", "kref://default/s/n1.fact", exit=3)


def test_nothing_that_exists_is_replaced(run: Run, tmp_path: Path) -> None:
    run("remember", "The shop runs on MySQL", "--name", "db")
    run("backup", tmp_path / "copy.db")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for arguments in (
        ("backup", taken),
        ("restore-backup", tmp_path / "copy.db", taken),
        ("export", taken),
        ("demo", "--keep", taken),
    ):
        text = run(*arguments, exit=2 if arguments[0] in ("export", "demo") else 5)
        assert "exists already" in text
    assert taken.read_text() == "mine"
    run("restore-backup", tmp_path / "copy.db", tmp_path / "again.db")
    assert (
        run("get", DB, "--db", tmp_path / "again.db", json_value=True)["summary"]
        == "The shop runs on MySQL"
    )


def test_verify_expect_and_tampering(run: Run, tmp_path: Path) -> None:
    head = run("verify", exit=5, json_value=True)[
        "error"
    ]  # a file that is not there is not made by reading it
    assert not (tmp_path / "m.db").exists()
    assert head["next_step"]
    run("remember", "The shop runs on MySQL", "--name", "db")
    noted = run("verify", json_value=True)["head"]
    run("revise", DB, "The shop runs on PostgreSQL")
    assert run("verify", "--expect", noted)
    import apsw

    db = apsw.Connection(str(tmp_path / "m.db"))
    db.execute(
        "UPDATE node SET props = jsonb_set(props, '$.summary', 'sold') WHERE props ->>"
        " '$.number' = 1"
    )
    db.close()
    assert run("verify", exit=5, json_value=True)["error"]["code"] == "corrupt"
    assert run("doctor", exit=1)
    findings = run("doctor", exit=1, json_value=True)
    assert [finding["name"] for finding in findings if not finding["ok"]] == ["invariants", "log"]


def test_export_is_lines_and_comes_back(run: Run, tmp_path: Path) -> None:
    run("import", FIXTURES / "doxa.jsonl", "--no-embed")
    run("remember", "The shop runs on MySQL", "--name", "db")
    run(  # as the guide to Python does
        "cypher",
        "MATCH (i:Item {name: 'db'}) CREATE (:Note {text: 'ask Ana'})-[:ABOUT]->(i)",
    )
    text = run("export")
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["type"] == "doxa-export"
    assert {line["type"] for line in lines} == {"doxa-export", "rule", "node", "edge", "end"}
    (tmp_path / "out.jsonl").write_text(text)
    made = run(
        "import", tmp_path / "out.jsonl", "--no-embed", "--db", tmp_path / "new.db", json_value=True
    )
    assert made["added"] == 11
    assert made["restored"] and made["digest"] == lines[-1]["sha256"]
    assert run("export", "--db", tmp_path / "new.db") == text
    asked = "MATCH (n:Note)-[:ABOUT]->(i:Item) RETURN n.text + ' ' + i.name AS found"
    assert "ask Ana db" in run("cypher", asked, "--db", tmp_path / "new.db")
    run("verify", "--db", tmp_path / "new.db")
    (tmp_path / "bad.jsonl").write_text(text.splitlines()[0] + "\n{\n")
    assert "line 2" in run("import", tmp_path / "bad.jsonl", exit=2)


def test_an_export_with_verified_beliefs_asks_first(run: Run, tmp_path: Path) -> None:
    run("remember", "The shop runs on MySQL", "--name", "db", "--trust", "verified")
    run("remember", "It is blue", "--name", "blue")
    run("tag", "kref://default/blue.fact", "approved")
    run("export", tmp_path / "out.jsonl.gz")
    new = ("--db", tmp_path / "new.db")
    seen = run("import", tmp_path / "out.jsonl.gz", "--dry-run", *new, json_value=True)
    assert seen["verified"] == 2 and seen["restored"]
    refused = run("import", tmp_path / "out.jsonl.gz", "--no-embed", *new, exit=4)
    assert "2 of the beliefs" in refused and "--accept-protected" in refused
    assert run("stats", *new, json_value=True)["items"] == 0
    made = run(
        "import",
        tmp_path / "out.jsonl.gz",
        "--no-embed",
        "--accept-protected",
        *new,
        json_value=True,
    )
    assert made["verified"] == made["revisions"] == 2
    run("import", tmp_path / "out.jsonl.gz", "--no-embed", *new)  # what is here is not asked about


def test_a_belief_is_stored_though_its_vector_fails(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("a belief with a vector of another model")
        memory.embed()
    assert (
        run("remember", "The shop runs on MySQL", "--name", "db", json_value=True)["stored"] is True
    )
    found = run("recall", "shop", json_value=True)
    assert found["hits"] and found["answerable_level"] in ("low", "medium", "high")
    assert not [name for name in found if name.startswith("_")]


def test_a_real_process(tmp_path: Path, models: str) -> None:
    env = {"DOXA_DB": str(tmp_path / "m.db"), "DOXA_MODELS": models, "TERM": "xterm-256color"}
    assert process("remember", "The shop runs on MySQL", "--name", "db", env=env).returncode == 0
    done = process("recall", "shop", env=env)
    assert (done.returncode, done.stderr, "\x1b" in done.stdout) == (0, "", False)
    lost = process("get", "kref://default/no.fact", env=env)
    assert (lost.returncode, lost.stdout) == (3, "")
    assert lost.stderr.startswith("doxa: ")
    assert "--db" in process("recall", "--help", env=env).stdout
    assert process(env=env).returncode == 2


@pytest.mark.skipif(os.name == "nt", reason="pipes of a POSIX shell")
@pytest.mark.parametrize(
    "command",
    ["export", "recall turn -n 1000 --words-only", "log -n 1000", "history kref://default/n.fact"],
)
def test_a_reader_that_stops_early_is_no_error(tmp_path: Path, models: str, command: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [
                {"speaker": "Ana", "text": f"turn {number} " + "of the long talk " * 20}
                for number in range(1_500)
            ],
            extract=False,
        )
        for number in range(300):
            memory.remember(f"belief {number}", name="n")
    line = f"{sys.executable} -W error -m doxa.cli {command} | head -1"
    env = os.environ | {"DOXA_DB": str(tmp_path / "m.db"), "DOXA_MODELS": models}
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert len(done.stdout.splitlines()) == 1


def test_the_demonstration(tmp_path: Path, models: str) -> None:
    env = {"DOXA_DB": str(tmp_path / "mine.db"), "DOXA_MODELS": models}
    done = process("demo", env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("receipts", "all hold", "recall now      : The tea shop runs on PostgreSQL 16"):
        assert said in done.stdout
    assert list(tmp_path.iterdir()) == []
    kept = process("demo", "--keep", "demo.db", env=env, cwd=tmp_path)
    assert kept.returncode == 0
    with opened(tmp_path / "demo.db", embedder=None) as memory:
        assert memory.check() == []
        assert memory.recall("tea shop", project="tea-shop").hits
    assert process("demo", "--keep", "demo.db", env=env, cwd=tmp_path).returncode == 2


HOSTILE = [
    "",
    " ",
    "\0",
    "a\0b",
    "\udcff",
    "x" * 1_048_577,
    "-1",
    "0",
    "9" * 20,
    "1.5",
    "nan",
    "kref://",
    "kref://default",
    "kref://default/db.fact?t=no",
    "kref://nowhere/x.fact",
    "/nowhere/at/all",
    "/",
    "|||",
]
HOSTILE_OPTIONS = ("", "\0", "\udcff", HOSTILE[5], "nan", "9" * 20, "/nowhere/at/all")
GIVEN = {
    "text": "some",
    "what": DB,
    "conflict": DB,
    "time": "2026-01-01",
    "name": "draft",
    "change": "1",
    "kind": "SEES",
    "kref": DB,
    "source": DB,
    "target": DB,
}
COMMANDS = {
    name: command
    for name, command in getattr(get_command(app), "commands", {}).items()
    # watch and follow go on until they are stopped
    if name not in ("demo", "follow", "mcp", "watch")
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_hostile_arguments_end_in_a_code_and_one_json_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: str, name: str
) -> None:
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_MODELS", models)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["remember", "The shop runs on MySQL", "--name", "db"])
    files = {
        ("restore-backup", "source"): "none.db",
        ("restore-backup", "target"): "to.db",
        ("backup", "path"): "to.db",
        ("export", "target"): "to.jsonl",
        ("import", "source"): str(FIXTURES / "doxa.jsonl"),
    }
    params = [
        parameter
        for parameter in COMMANDS[name].params
        if not getattr(parameter, "is_flag", False) and not parameter.hidden
    ]
    places = [parameter for parameter in params if parameter.param_type_name == "argument"]
    monkeypatch.setitem(
        sys.modules, "onnxruntime", None
    )  # the model has tests of its own, and loading it takes time
    for hostile in HOSTILE:
        for parameter in params if hostile in HOSTILE_OPTIONS else places:
            if hostile == "/" and parameter.name == "source":
                continue  # every history of this machine would be imported
            words = [
                str(
                    hostile
                    if place is parameter
                    else files.get((name, place.name), GIVEN.get(place.name, ""))
                )
                for place in places
            ]
            option = [] if parameter in places else [f"{parameter.opts[0]}={hostile}"]
            result = CliRunner().invoke(app, [name, "--json", *option, "--", *words])
            shown = (parameter.name, hostile[:40], result.exit_code, result.output[:300])
            assert result.exception is None or isinstance(result.exception, SystemExit), (
                *shown,
                result.exception,
            )
            assert result.exit_code in (0, 2, 3, 4, 5), shown
            if name not in ("export", "events") or result.exit_code:  # a value on each line
                json.loads(result.stdout if result.exit_code == 0 else result.stderr)


@pytest.mark.skipif(os.name == "nt", reason="bytes as arguments, pipes")
def test_odd_bytes_pipes_and_outputs(tmp_path: Path, models: str) -> None:
    env = {"DOXA_DB": str(tmp_path / "m.db"), "DOXA_MODELS": models, "PYTHONIOENCODING": "ascii"}
    assert process("remember", "naïve 🚀", env=env).returncode == 0
    assert "na\\xefve" in process("recall", "naïve", "--words-only", env=env).stdout
    assert (
        json.loads(process("recall", "naïve", "--words-only", "--json", env=env).stdout)["hits"][0][
            "text"
        ]
        == "naïve 🚀"
    )
    for arguments in (
        ("remember", b"caf\xe9"),
        ("import", b"\xff.jsonl"),
        ("init", "--db", b"\xff.db"),
    ):
        command = [sys.executable, "-m", "doxa.cli", *arguments, "--json"]
        done = subprocess.run(
            command,
            env=os.environ | env,
            capture_output=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert json.loads(done.stderr)["error"]["code"] == "input"
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.csv")
    for arguments in (
        ("load", "pipe.csv", "--label", "Person"),
        ("restore-backup", "pipe", "new.db"),
        ("init", "--db", "pipe"),
        ("import", "pipe"),
    ):
        assert process(*arguments, env=env, cwd=tmp_path).returncode in (2, 5)


def test_what_others_wrote_does_not_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.ingest(
            [{"text": "the ferry \x1b[2Jleaves \u202eat noon", "speaker": "Bo\x1b]0;x\x07"}]
        )
    told = run("recall", "ferry", "--words-only")
    assert not {"\x1b", "\x07", "\u202e"} & set(told)
    assert "leaves" in told


def test_ctrl_c_during_an_import_says_what_is_kept(tmp_path: Path) -> None:
    """A real process gets a real signal after its first batch is committed."""
    history, db = tmp_path / "talk.jsonl", tmp_path / "m.db"
    history.write_text(
        "".join(
            f'{{"thread":"t","session":"s","speaker":"Ana","id":"m{n}","text":"turn {n}"}}\n'
            for n in range(200_000)
        )
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "doxa.cli", "import", str(history), "--db", str(db)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None:
            with suppress(sqlite3.Error), sqlite3.connect(f"file:{db}?mode=ro", uri=True) as file:
                if file.execute("SELECT count(*) FROM receipt WHERE op = 'ingest'").fetchone()[0]:
                    break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "interrupted" in said and "turns are stored, in " in said and "Traceback" not in said


def test_a_text_comes_from_standard_input(run: Run) -> None:
    run("remember", "-", "--name", "ferry", input="The ferry leaves at noon.\n")
    assert "The ferry leaves at noon." in run("get", "kref://default/ferry.fact")
    assert "not UTF-8" in run("remember", "-", input=b"\xff\xfe", exit=2)


def test_list_and_version_and_completion(run: Run) -> None:
    run("remember", "The ferry leaves at noon.", "--name", "ferry", "--space", "harbour")
    assert run("list").strip() == "kref://default"
    assert run("get", "kref://default/harbour").endswith(
        "\n\nkref://default/harbour/ferry.fact\n    The ferry leaves at noon.\n"
    )
    from doxa import __version__

    assert run("--version").strip() == f"doxa {__version__}"
    completed = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['doxa']; import doxa.cli; doxa.cli.main()"],
        env=os.environ
        | {"_DOXA_COMPLETE": "complete_bash", "COMP_WORDS": "doxa reca", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout.split() == ["recall"]
