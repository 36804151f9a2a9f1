"""A program as a language model: real processes, bounded in time and bytes, without a shell."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from doxa.app.models import ModelOptions, Models
from doxa.base.completing import COMPLETING
from doxa.base.errors import InputError, LimitError, ModelError
from doxa.models.command import CommandCompleter, parse_command, read_answer
from doxa.models.contract import Message
from doxa.models.meter import Meter

Program = Callable[[str], str]
ASKED = [Message("system", "Be brief."), Message("user", "What is it?")]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make an executable Python script of a text, and return its path."""

    def write(text: str) -> str:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}"
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return write


def completer(
    command: str,
    meter: Meter | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    **rest: Any,
) -> CommandCompleter:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nowhere",
        "DOXA_KEY": "k",
        "MINE": "m",
        "OPENAI_API_KEY": "k",
    } | dict(environment or {})
    return CommandCompleter(command, meter or Meter(), environment=environment, **rest)


def test_the_conversation_is_the_standard_input_and_the_answer_the_output(program: Program) -> None:
    path = program("print(sys.stdin.read().upper())")
    answer = completer(path).complete(ASKED)
    assert answer.text == "BE BRIEF.\n\nWHAT IS IT?"
    assert answer.usage.estimated


def test_arguments_are_split_without_a_shell(program: Program, tmp_path: Path) -> None:
    path = program("print(json.dumps(sys.argv[1:]))")
    touched = tmp_path / "touched"
    command = f"{path} 'two words' $HOME ; touch {touched}"
    assert completer(command).complete(ASKED).text == (
        f'["two words", "$HOME", ";", "touch", "{touched}"]'
    )
    assert not touched.exists()


def test_nothing_of_the_conversation_is_part_of_the_command_line(program: Program) -> None:
    path = program("print(json.dumps(sys.argv[1:] + [sys.stdin.read()]))")
    hostile = "'; touch /tmp/x; $(id) `id` --dangerous"
    printed = completer(path).complete([Message("user", hostile)]).text
    assert printed.startswith("[\"'; touch")


def test_the_environment_has_no_variable_of_doxa_but_one_and_the_folder_is_empty(
    program: Program,
) -> None:
    path = program("print(json.dumps([sorted(os.environ), os.listdir('.'), os.getcwd()]))")
    names, files, folder = eval(completer(path).complete(ASKED).text)
    assert {name for name in names if name.startswith("DOXA")} == {COMPLETING}
    assert {"PATH", "HOME"} <= set(names)
    assert not {"MINE", "OPENAI_API_KEY"} & set(names)
    assert files == []
    assert not Path(folder).exists()  # it goes with the call


def test_a_failure_says_the_code_and_what_was_printed(program: Program) -> None:
    path = program("sys.stderr.write('no quota left\\n'); sys.exit(3)")
    with pytest.raises(ModelError, match="ended with 3: no quota left") as caught:
        completer(path).complete(ASKED)
    assert "outage" not in caught.value.fields


def test_a_program_that_is_not_there_is_an_outage() -> None:
    with pytest.raises(ModelError, match="is not there") as caught:
        completer("no-such-program-of-doxa").complete(ASKED)
    assert caught.value.fields["outage"] is True


def test_an_empty_answer_is_an_error(program: Program) -> None:
    with pytest.raises(ModelError, match="without text"):
        completer(program("")).complete(ASKED)


def test_a_program_that_does_not_end_is_killed_with_all_that_it_started(
    program: Program, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    path = program(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    with pytest.raises(ModelError, match="did not end within 2 s"):
        completer(path, timeout_ms=2_000).complete(ASKED)
    assert _is_gone(int(pid.read_text()))


def _is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_what_it_leaves_behind_holds_up_nothing(program: Program) -> None:
    path = program(
        "import subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('done', flush=True)"
    )
    assert completer(path, timeout_ms=60_000).complete(ASKED).text == "done"


def test_the_bytes_that_are_read_have_a_limit(program: Program) -> None:
    path = program("while True: sys.stdout.write('x' * 10_000)")
    with pytest.raises(ModelError, match="more than 100,000 bytes"):
        completer(path, bytes_max=100_000).complete(ASKED)


def test_a_program_need_not_read_and_may_print_much_before_it_does(program: Program) -> None:
    long = [Message("user", "x" * 3_000_000)]
    assert completer(program("print('ok')")).complete(long).text == "ok"
    path = program("sys.stdout.write('y' * 500_000); sys.stdout.flush(); sys.stdin.read()")
    assert len(completer(path).complete(long).text) == 500_000


def test_calls_are_counted_and_refused_beyond_a_cap(program: Program) -> None:
    meter = Meter(calls_max=1)
    path = program("print('ok')")
    found = completer(path, meter)
    found.complete(ASKED)
    with pytest.raises(LimitError, match="cap of 1 model calls"):
        found.complete(ASKED)
    assert meter.spend().calls == 1
    assert [one.model for one in meter.spend().models] == [found.name]


def test_the_name_has_the_program_and_no_argument(program: Program) -> None:
    path = program("")
    assert completer(f"{path} --key secret").name == f"command:{Path(path).name}"


ANSWERS = (
    ("plain text\n", "plain text", (None, None)),
    ('{"type": "result", "result": "hi", "usage": {"input_tokens": 5, "output_tokens": 2}}',
     "hi", (5, 2)),
    ('{"response": "hi", "stats": {}}', "hi", (None, None)),
    ('{"type": "start"}\n{"type": "item", "item": {"text": "hi"}}\n{"usage": {}}', "hi",
     (None, None)),
    ('[{"type": "system"}, {"type": "result", "result": "hi"}]', "hi", (None, None)),
    ('{"facts": [], "title": {"text": "x"}}', '{"facts": [], "title": {"text": "x"}}',
     (None, None)),
    ("[" * 5_000, "[" * 5_000, (None, None)),
)  # fmt: skip


@pytest.mark.parametrize(("printed", "answer", "tokens"), ANSWERS)
def test_answers_are_taken_out_of_their_envelopes(
    printed: str, answer: str, tokens: tuple[int | None, int | None]
) -> None:
    assert read_answer(printed) == (answer, tokens)


@pytest.mark.parametrize("command", ["", "   ", "'open", "a\0b"])
def test_a_line_that_names_no_program_is_refused(command: str) -> None:
    with pytest.raises(InputError, match=r"The command"):
        parse_command(command)


def test_a_memory_takes_a_command_as_its_model(program: Program) -> None:
    path = program("print('yes')")
    models = Models(ModelOptions(embedder=None, model=f"command:{path} --quick"))
    assert models.model is not None
    assert models.model.complete(ASKED).text == "yes"
    assert models.spend(process=False).calls == 1
    with pytest.raises(InputError, match="without a model"):
        Models(ModelOptions(model="command:"))


# JSON each way


def talker(program: Program, text: str, **rest: Any) -> CommandCompleter:
    return completer(program(text), speaks_json=True, **rest)


def test_a_program_may_speak_json(program: Program) -> None:
    found = talker(
        program,
        "asked = json.load(sys.stdin)\n"
        "print(json.dumps({'text': json.dumps(asked), 'finish': 'length',"
        " 'usage': {'tokens_in': 7, 'tokens_out': 3}, 'more': 1}))",
    ).complete(ASKED, tokens_max=99, temperature=0.5)
    assert json.loads(found.text) == {
        "messages": [
            {"role": "system", "text": "Be brief."},
            {"role": "user", "text": "What is it?"},
        ],
        "tokens_max": 99,
        "temperature": 0.5,
    }
    assert (found.usage.tokens_in, found.usage.tokens_out, found.finish) == (7, 3, "length")


HOSTILE = (
    "print('yes')",
    "print('{}')",
    "print('[]')",
    "print(json.dumps({'text': 5}))",
    "print(json.dumps({'text': 'x', 'usage': {'tokens_in': 'many'}}))",
    "print(json.dumps({'text': 'x', 'finish': 'exec'}))",
    "print(json.dumps({'text': 'x'}) * 2)",
    "print('[' * 100_000)",
    'sys.stdout.buffer.write(b\'{"text": "\\xff\\xfe"}\')',
    "sys.stdout.buffer.write(bytes(1_000))",
    "",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_an_answer_is_an_error_and_counts(program: Program, text: str) -> None:
    meter = Meter()
    with pytest.raises(ModelError, match="not the JSON object of an answer") as caught:
        talker(program, text, meter=meter).complete(ASKED, tokens_max=10)
    assert "outage" not in caught.value.fields
    assert (meter.spend().calls, meter.spend().tokens_out) == (1, 10)


@pytest.mark.parametrize(
    ("text", "said", "rest"),
    [
        ("while True: sys.stdout.write('x' * 10_000)", "more than 50,000 bytes", {}),
        ("while True: sys.stderr.write('x' * 10_000)", "more than 50,000 bytes", {}),
        ("time.sleep(600)", "did not end within 1 s", {"timeout_ms": 1_000}),
        ("sys.stdout.close(); sys.stderr.close(); time.sleep(600)", "did not end within 1 s",
         {"timeout_ms": 1_000}),
        ("print(json.dumps({'text': 'x'})); sys.exit(1)", "ended with 1", {}),
        ("os.kill(os.getpid(), 9)", "ended with -9", {}),
    ],
)  # fmt: skip
def test_a_program_that_misbehaves_is_stopped(
    program: Program, text: str, said: str, rest: dict[str, int]
) -> None:
    with pytest.raises(ModelError, match=said):
        talker(program, text, bytes_max=50_000, **rest).complete(ASKED)


def test_secrets_that_a_program_prints_are_not_quoted(program: Program) -> None:
    token, own = "ghp_" + "a1B2c3D4e5F6" * 3, "correct horse"
    text = (
        f"sys.stderr.write('no: {token}, password=hunter2x! and ' + os.environ['MINE']);sys.exit(2)"
    )
    with pytest.raises(ModelError, match="ended with 2: no:") as caught:
        completer(
            program(text), environment={"MINE": own, "DOXA_MODEL_COMMAND_ENV": "MINE, DOXA_KEY"}
        ).complete(ASKED)
    said = f"{caught.value} {caught.value.fields}"
    assert not [one for one in (token, "hunter2x!", own) if one in said]


def test_variables_are_passed_by_name_and_none_of_doxa(program: Program) -> None:
    path = program("print(json.dumps(sorted(os.environ)))")
    given = {"DOXA_MODEL_COMMAND_ENV": "MINE,DOXA_KEY OTHER"}
    names = json.loads(completer(path, environment=given).complete(ASKED).text)
    assert "MINE" in names and "DOXA_KEY" not in names and "OPENAI_API_KEY" not in names


def test_the_current_folder_names_no_program(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = Path(program("print('ran')")).name
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="depends on the current folder"):
        parse_command(f"./{name} --quick")
    for path in ("", ".", f".{os.pathsep}relative"):
        with pytest.raises(ModelError, match="is not there"):
            completer(name, environment={"PATH": path}).complete(ASKED)
    found = completer(name, environment={"PATH": os.environ["PATH"] + f":{tmp_path}"})
    assert found.complete(ASKED).text == "ran"


def test_a_program_that_was_not_started_costs_nothing() -> None:
    meter = Meter()
    with pytest.raises(ModelError):
        completer("no-such-program-of-doxa", meter).complete(ASKED)
    assert meter.spend().tokens_in == 0


def test_a_memory_takes_a_program_that_speaks_json(program: Program) -> None:
    path = program("print(json.dumps({'text': 'yes'}))")
    models = Models(ModelOptions(embedder=None, model=f"command-json:{path}"))
    assert models.model is not None
    assert models.model.complete(ASKED).text == "yes"
    spec = models.specs["model"]
    assert spec is not None and spec.runs_program
    with pytest.raises(InputError, match="without a model"):
        Models(ModelOptions(model="command-json:"))
