"""Command lines that are parsed without typer: the verb and the values that typer gives, or none.

What the plain parser accepts is compared with typer's own parse, of command lines that are made
from the verb table: options in every spelling and order, values of their kinds, and mistakes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from doxa.app.verbs import ALL, REPEATED, VERBS, Parameter, Verb
from doxa.cli import commands
from doxa.cli.application import app
from doxa.cli.parsing.plain import plain_call
from doxa.cli.parsing.spelling import is_argument, option_names, parameters_of

COMMANDS = [verb for verb in ALL if verb.cli is not None]
APPLICATION = get_command(app)
WORDS = st.sampled_from(
    (
        "a",
        "tea at four",
        "kref://p/s/i",
        "x=y",
        "",
        "-",
        "0",
        "12",
        "2.5",
        "-3",
        "--json",
        "é",
        "1e3",
    )
)


class _Parsed(Exception):
    """What typer passed on."""


def by_typer(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Verb, Any] | None:
    """Return what typer makes of a command line; None if it refuses it."""

    def run(verb: Verb, values: Any) -> None:
        raise _Parsed(verb, dict(values))

    monkeypatch.setattr(commands, "run", run)
    try:
        APPLICATION.main(list(words), prog_name="doxa", standalone_mode=False)
    except _Parsed as parsed:
        return parsed.args[0], parsed.args[1]
    except Exception:
        return None
    return None


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command line: mostly right, of any verb."""
    verb = draw(st.sampled_from(COMMANDS))
    words: list[str] = []
    for option in draw(
        st.lists(st.sampled_from(("--json", "--db", "--project", "-p")), max_size=2, unique=True)
    ):
        words += [option] if option == "--json" else [option, draw(WORDS)]
    words.append(draw(st.sampled_from((verb.command, verb.command, verb.command, "stats"))))
    parameters = parameters_of(verb)
    for one in parameters:
        if is_argument(one):
            words += draw(st.lists(WORDS, min_size=int(one.required), max_size=2))
    for one in draw(st.lists(st.sampled_from(parameters), max_size=4)) if parameters else []:
        if not is_argument(one):
            words += draw(option_words(one))
    if draw(st.booleans()):
        words += ["--db", draw(WORDS)]
    return words


def option_words(one: Parameter) -> st.SearchStrategy[list[str]]:
    names = [part for name in option_names(one) for part in name.split("/")]
    if one.kind == "flag":
        return st.sampled_from(names).map(lambda name: [name])
    return st.tuples(st.sampled_from(names), WORDS, st.booleans()).map(
        lambda drawn: [f"{drawn[0]}={drawn[1]}"] if drawn[2] else [drawn[0], drawn[1]]
    )


@given(words=command_lines())
def test_what_is_parsed_plainly_is_what_typer_gives(words: list[str]) -> None:
    found = plain_call(words)
    if found is None:
        return
    with pytest.MonkeyPatch.context() as monkeypatch:
        expected = by_typer(words, monkeypatch)
    assert expected is not None, words
    verb, values = expected
    assert found[0] is verb
    assert _comparable(found[1]) == _comparable(values), words


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    """An option that takes several and is not given is None or empty: `call` passes neither on."""
    return {
        name: (None if value in ([], ()) else list(value) if isinstance(value, tuple) else value)
        for name, value in values.items()
    }


def test_every_verb_is_plain_with_its_arguments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verb but the one that asks back needs typer; this also says that the test above compares
    something for each of them."""
    for verb in COMMANDS:
        wanted = [one for one in parameters_of(verb) if is_argument(one) and one.required]
        options = [
            word
            for one in parameters_of(verb)
            if one.required and not is_argument(one)
            for word in (option_names(one)[0], "1")
        ]
        words = [verb.command, *("1" for _ in wanted), *options, "--json"]
        found = plain_call(words)
        assert (found is None) == (verb.name == "ingest"), words
        if found is not None:
            expected = by_typer(words, monkeypatch)
            assert expected is not None
            assert _comparable(found[1]) == _comparable(expected[1]), words


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["recall", "--help"],
        ["recall"],
        ["recall", "a", "b"],
        ["recall", "a", "--nonsense"],
        ["recall", "a", "--limit", "many"],
        ["recall", "a", "--limit"],
        ["recall", "a", "--limit", "--json"],
        ["recall", "--", "a"],
        ["recal", "a"],
        ["serve"],
        ["ingest", "folder"],
    ],
)
def test_what_typer_must_answer_is_left_to_it(words: list[str]) -> None:
    assert plain_call(words) is None


def test_completion_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DOXA_COMPLETE", "complete_bash")
    assert plain_call(["recall", "a"]) is None


def test_options_before_the_command_hold_where_the_command_has_none(tmp_path: Path) -> None:
    found = plain_call(["--db", "a.db", "--json", "-p", "shop", "recall", "a", "--project", "bar"])
    assert found is not None
    verb, values = found
    assert verb is VERBS["recall"]
    assert values["db"] == Path("a.db")
    assert values["as_json"] is True
    assert values["project"] == "bar"


def test_a_configuration_file_is_set_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOXA_CONFIG", raising=False)
    monkeypatch.setenv("DOXA_CONFIG", "")  # so that it is taken back
    assert plain_call(["--config", "own.toml", "stats"]) is not None
    assert Path(os.environ["DOXA_CONFIG"]) == Path("own.toml").absolute()


def test_repeated_options_are_lists() -> None:
    several = [
        (verb, one)
        for verb in COMMANDS
        for one in parameters_of(verb)
        if one.kind in REPEATED and not is_argument(one) and verb.name == "recall"
    ]
    assert several
    verb, one = several[0]
    name = option_names(one)[0]
    found = plain_call([verb.command, "tea", name, "a", f"{name}=b"])
    assert found is not None
    assert found[1][one.name] == ["a", "b"]
