"""What the command line makes of the verb table: scope, options before the command, former names,
groups in the help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.app.verbs import GROUPS
from doxa.cli import app
from tests.fixtures_shared import opened


def run(*arguments: object, exit: int = 0) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == exit, (result.output, result.exception)
    return result


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("The ferry leaves at noon", name="ferry", project="port")
        memory.remember("The ferry is red", name="colour")
    return tmp_path / "m.db"


def test_a_question_without_a_project_is_about_the_sessions() -> None:
    def found(*options: str) -> set[str]:
        answer = json.loads(run(*options[:-1], "recall", "ferry", options[-1], "--json").stdout)
        return {hit["project"] for hit in answer["hits"]}

    assert found("--words-only") == {"default"}
    assert found("--project", "port", "--words-only") == {"port"}
    assert found("--project", "*", "--words-only") == {"default", "port"}


def test_the_file_and_the_project_may_stand_before_the_command(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    made = run("--db", other, "-p", "shop", "remember", "The shop is open", "--name", "x", "--json")
    assert json.loads(made.stdout)["kref"] == "kref://shop/x.fact?r=1"
    assert "The shop is open" in run("--db", other, "get", "kref://shop/x.fact").stdout
    nearer = run("--db", "nowhere.db", "get", "kref://shop/x.fact", "--db", other)
    assert "The shop is open" in nearer.stdout
    assert run("--db", other, "policy", "list").stdout.startswith("There are no policies")


@pytest.mark.parametrize(
    ("old", "new", "arguments"),
    [
        ("believe", "revise", ('["Ana", "lives in", "Rome"]', "--text", "Ana is in Rome")),
        ("disbelieve", "contract", ('["Ana", "lives in", "Rome"]',)),
        ("restore-item", "restore", ("kref://default/colour.fact",)),
        ("path", "shortest-path", ("kref://default/colour.fact", "kref://port/ferry.fact")),
    ],
)
def test_a_former_name_works_and_names_the_new_one(
    old: str, new: str, arguments: tuple[str, ...]
) -> None:
    found = run(old, *arguments)
    assert f"`{old}` is deprecated; use `{new}`" in found.stderr
    assert old not in run("--help").stdout.split()
    assert json.loads(run(old, *arguments, "--json").stdout)


def test_restoring_a_backup_by_its_former_name(tmp_path: Path) -> None:
    run("backup", tmp_path / "copy.db")
    found = run("restore", tmp_path / "copy.db", tmp_path / "new.db")
    assert "use `restore-backup" in found.stderr and (tmp_path / "new.db").exists()
    assert "one address" in run("restore", "kref://default/x.fact", "new", exit=2).stderr


def test_the_help_shows_groups_without_building_commands() -> None:
    text = run("--help").stdout
    places = [text.index(f"\n{title}:") for title in GROUPS.values()]
    assert places == sorted(places)
    code = (
        "import sys; from doxa.cli import app; from typer.main import get_command;"
        "group = get_command(app);"
        "group.main(['--help'], standalone_mode=False);"
        "assert not group.commands._built; assert 'doxa.cli.commands' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_all_projects_by_an_empty_name_is_deprecated(file: Path) -> None:
    with doxa.open(file, embedder=None, role="operator") as memory:
        with pytest.warns(DeprecationWarning, match=r"project='\*'"):
            answer = memory.recall("ferry", project="", lanes=["words"])
        assert len(answer.hits) == 2
        assert answer.hits == memory.recall("ferry", project="*", lanes=["words"]).hits
        with pytest.warns(DeprecationWarning, match="session's project"):
            memory.remember("x is y", project="")
        for verb in (memory.remember, memory.tell, memory.expand):
            with pytest.raises(doxa.InputError, match="in one project"):
                verb("x is z", project="*")
        with pytest.warns(DeprecationWarning, match="flush"):
            memory.settle()
        with pytest.warns(DeprecationWarning, match="maintenance"):
            assert memory.upkeep is memory.maintenance


def test_a_change_can_be_undone_as_it_is(file: Path) -> None:
    with doxa.open(file, embedder=None, role="operator") as memory:
        made = memory.remember("The boat is blue", name="boat")
        assert memory.undo(made.change).action == "undone"
        with pytest.raises(doxa.InputError, match="nothing to undo"):
            memory.undo(memory.remember("The ferry is red").change)


def test_what_is_not_a_change_is_not_undone(file: Path) -> None:
    with doxa.open(file, embedder=None, role="operator") as memory:
        made = memory.remember("The boat is blue", name="boat")
        with pytest.raises(doxa.InputError, match=r"\.change"):
            memory.undo(made)  # type: ignore[arg-type]
        for wrong in (True, "1", 1.0):
            with pytest.raises(doxa.InputError, match="A change is a number"):
                memory.undo(wrong)  # type: ignore[arg-type]
        assert memory.get("kref://default/boat.fact").status == "current"  # type: ignore[union-attr]


def test_a_memory_is_not_made_from_a_path(file: Path) -> None:
    with pytest.raises(doxa.InputError, match=r"Use doxa\.open"):
        doxa.Memory(str(file))  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["match", "tell"])
def test_a_project_that_has_no_name_is_refused(file: Path, verb: str) -> None:
    with (
        doxa.open(file, embedder=None) as memory,
        pytest.raises(doxa.InputError, match="cannot be the name of a project"),
    ):
        getattr(memory, verb)("The ferry is red", project="\0")


def test_a_session_without_a_memory_yet_finds_nothing_recent(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "new.db", embedder=None, project="shop") as memory:
        assert memory.recent() == []
        memory.remember("The ferry is red", project="port")
        assert memory.recent() == []
        assert [hit.text for hit in memory.recent(project="*")] == ["The ferry is red"]
        for call in (memory.recent, lambda project: memory.recall("ferry", project=project)):
            with pytest.raises(doxa.NotFoundError, match="give the project '\\*' to search all"):
                call(project="shop")
        with pytest.raises(doxa.NotFoundError):
            memory.recent(project="nowhere")


def test_expansion_refuses_what_contradicts(file: Path) -> None:
    with doxa.open(file, embedder=None, role="operator") as memory:
        memory.constrain({"functional": ["lives in"]})
        memory.expand("Ana lives in Rome", facts=[("Ana", "lives in", "Rome")])
        with pytest.raises(doxa.ConflictError, match="contradict"):
            memory.expand("Ana lives in Oslo", facts=[("Ana", "lives in", "Oslo")])


@pytest.mark.parametrize("group", ["policy", "users"])
def test_a_group_has_no_options_of_its_own(group: str) -> None:
    assert "completion" not in run(group, "--help").stdout


@pytest.mark.parametrize("address", ["kref://port", "kref://default"])
def test_a_place_is_printed_with_what_it_has(address: str) -> None:
    text = run("get", address).stdout
    assert f"kref: {address}\n" in text and "type: Project" in text
    assert f"name: {address.removeprefix('kref://')}" in text


def test_arguments_that_are_addresses_have_their_own_names() -> None:
    def usage(command: str) -> str:
        line = run(command, "--help").stdout.splitlines()[0]
        return line.partition("[OPTIONS] ")[2].replace("{", "").replace("}", "")

    assert usage("shortest-path") == "START END"
    assert usage("link") == "SOURCE EDGE TARGET"
    assert usage("get") == "KREF"


def test_json_may_stand_before_the_command() -> None:
    before = json.loads(run("--json", "recent").stdout)
    assert before == json.loads(run("recent", "--json").stdout)
    assert before[0]["text"] == "The ferry is red"
    assert isinstance(json.loads(run("--json", "-p", "port", "policy", "status").stdout), dict)
    assert json.loads(run("--json", "get", "kref://none/x.fact", exit=3).stderr)["error"]


def test_a_dash_exports_to_standard_output(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    first, *lines = run("export", "-").stdout.splitlines()
    assert json.loads(first)["type"] == "doxa-export"
    assert lines == run("export").stdout.splitlines()[1:]
    assert not (tmp_path / "-").exists()


def test_a_correction_is_shown_with_what_it_replaced_or_may_contradict() -> None:
    run("remember", "The API port is 8080.")
    revised = run("remember", "The API port is 9090 now.").stdout
    assert revised.startswith("revised: ") and "retracted: The API port is 8080." in revised
    kept = run("remember", "The port is 7070 now.").stdout
    assert kept.startswith("created: ") and "to replace it, call revise." in kept
    told = run("tell", "The API port might be 6060.").stdout
    assert told.startswith("unchanged: (nothing)") and "nothing was stored" in told


def test_stored_turns_are_extracted_again(tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    line = {"thread": "t", "session": "s", "speaker": "Ana", "text": "The API port is 8080."}
    talk.write_text(json.dumps(line) + "\n")
    memory_of = json.loads(
        run("import", talk, "--no-extract", "--trust", "stated", "--no-embed", "--json").stdout
    )
    assert memory_of["candidates"] == 0
    for options, candidates in (((), 1), ((), 0), (("--again",), 0)):
        found = json.loads(run("extract", *options, "--json").stdout)
        assert (found["turns"], found["candidates"]) == (1, candidates)


@pytest.mark.parametrize("text", ["{x}", "[1]", "3"])
@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--artifacts", ("store-unit", "x")),
        ("--metadata", ("link", "kref://default/colour.fact", "NEAR", "kref://port/ferry.fact")),
    ],
)
def test_values_by_name_that_are_no_object_say_what_is_expected(
    option: str, command: tuple[str, ...], text: str
) -> None:
    error = json.loads(run(*command, option, text, "--json", exit=2).stderr)["error"]
    assert error["fields"]["field"] == option.removeprefix("--")
    assert "JSON object" in error["next_step"] and "Ana" not in error["next_step"]
