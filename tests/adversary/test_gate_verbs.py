"""Every verb that writes against the gates of the store, through Python, its Cypher procedure, its
command and its MCP tool, all by their tables: roles and what an operator decided, secrets, other
projects, quotas. A new verb, procedure or tool, a new parameter that names a belief or a standing,
and a new refusal of a role fail here until they are entered."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.app import Session
from doxa.app.memory import _query_engine
from doxa.app.verbs import ALL, TOOLS, VERBS, Parameter, Tool, Verb
from doxa.base.errors import (
    ConfirmationError,
    ConstraintError,
    DoxaError,
    InputError,
    LimitError,
    RoleError,
)
from doxa.base.lookalikes import reads_as
from doxa.belief.graph import PROTECTED_TAGS
from doxa.cli import app
from doxa.cli.parsing.spelling import is_argument, option_names, parameters_of
from doxa.servers.mcp.tools import call as call_tool
from tests.adversary.gate_attempts import (
    ATTEMPTS,
    FREE,
    GROWS_NOTHING,
    GUARDS,
    HOME,
    NAMES_NOTHING,
    PROCEDURES,
    PROTECTED,
    THEIRS,
    TOKEN,
    UNFIT,
    Call,
    Given,
    T,
    World,
    build,
    by_procedure,
    by_python,
    decided,
    fits_procedure,
    words_of,
)
from tests.fixtures_shared import opened

_WRITING = [verb for verb in ALL if verb.writes]
_SOURCE = Path(doxa.__file__).parent
_ADDRESSES = ("kref", "krefs", "belief")
_WORDS = ("text", "texts", "kref", "krefs", "belief", "mapping", "facts", "fact", "sentences")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("gates"))


@contextmanager
def copied(world: World, folder: Path, role: str = "agent") -> Iterator[doxa.Memory]:
    """Open a copy of the file as an agent's process or an operator's has it."""
    path = folder / "copy.db"
    for old in folder.glob("copy.db*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copy(world.path, path)
    with opened(path, embedder=None, project="p", role=role, actor="eve") as memory:
        yield memory


def by_tool(session: Session, tool: Tool, given: Given) -> object:
    _, result, failed = call_tool(session, tool.name, tool_arguments(tool, given) or {})
    if failed:
        raise InputError(str(result), next_step="", field="tool")
    return result


def tool_arguments(tool: Tool, given: Given) -> Given | None:
    """Return a verb's arguments as its tool takes them; None if it does not take one of them."""
    found: Given = {}
    taken = {name: one for one in tool.arguments for name in (one.of or one.name).split()}
    for name, value in given.items():
        if name not in taken:
            return None
        single = (taken[name].of or taken[name].name) == name
        if single:
            found[taken[name].name] = value
        else:
            found.setdefault(taken[name].name, {})[name] = value
    return found


def ways(verb: Verb, given: Given) -> Iterator[Call]:
    """Return the interfaces through which a session can be given this."""
    yield by_python
    if fits_procedure(verb, given):
        yield by_procedure
    for tool in TOOLS:
        if verb.name in tool.verbs and tool_arguments(tool, given) is not None:
            yield lambda session, _, given, tool=tool: by_tool(session, tool, given)


def attempts(world: World, verb: Verb, at: tuple[str, ...] = PROTECTED) -> Iterator[Given]:
    for one in ATTEMPTS[verb.name]:
        for address in at if T in repr(one) else at[:1]:
            yield world.given(one, address)


def harmless(world: World, verb: Verb) -> Given | None:
    """Return arguments with which a verb does what it is for, of a belief that nobody protects."""
    found = ATTEMPTS[verb.name]
    return world.given(found[0], FREE) if found else None


# The tables are whole


def test_every_verb_that_writes_is_entered() -> None:
    assert set(ATTEMPTS) == {verb.name for verb in _WRITING}
    tools = {name for tool in TOOLS for name in tool.verbs if VERBS[name].writes}
    assert tools <= set(ATTEMPTS)


def _is_met(parameter: Parameter, verb: Verb) -> bool:
    """Whether some attempt gives a parameter what it must not reach."""
    given = [one[parameter.name] for one in ATTEMPTS[verb.name] if parameter.name in one]
    if parameter.name in ("tag", "trust", "kind"):
        return any(value == "stated" or reads_as(value, PROTECTED_TAGS) for value in given)
    return any("<" in repr(value) or "kref://p" in repr(value) for value in given)


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_every_parameter_that_names_a_belief_or_a_standing_is_tried(verb: Verb) -> None:
    named = [
        one
        for one in verb.parameters
        if one.kind in (*_ADDRESSES, "change")
        or one.name in ("tag", "trust", "kind", "derived_from", "depends_on")
    ]
    unmet = {one.name for one in named if not _is_met(one, verb)}
    assert unmet == set(NAMES_NOTHING.get(verb.name, ()))


def test_every_procedure_that_writes_is_entered() -> None:
    verbs = {f"doxa.{verb.procedure}" for verb in _WRITING if verb.cypher is not None}
    signatures = [one.signature for one in _query_engine().registry.all()]
    assert set(PROCEDURES) | verbs == {one.name for one in signatures if one.writes}


def _refusing() -> set[str]:
    """Return the functions of the source that make a RoleError, as module:function."""
    found = set()
    for path in _SOURCE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and any(
                isinstance(one, ast.Call) and getattr(one.func, "id", "") == "RoleError"
                for one in ast.walk(function)
            ):
                found.add(f"{path.relative_to(_SOURCE).with_suffix('')}:{function.name}")
    return found


def test_every_refusal_of_a_role_is_entered_and_met(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every function that refuses a role is in the table, and refuses one of these attempts, but
    for those that other tests meet."""
    assert _refusing() == set(GUARDS)
    met: set[str] = set()
    made = RoleError.__init__

    def noted(self: RoleError, *args: Any, **given: Any) -> None:
        code = sys._getframe(1).f_code
        module = Path(code.co_filename).with_suffix("")
        if module.is_relative_to(_SOURCE):
            met.add(f"{module.relative_to(_SOURCE)}:{code.co_name}")
        made(self, *args, **given)

    monkeypatch.setattr(RoleError, "__init__", noted)
    with copied(world, tmp_path) as memory:
        bound = memory.session(actor="eve", projects=["p"])
        for session in (memory.session(actor="eve"), bound):
            for verb in _WRITING:
                for given in attempts(world, verb, (*PROTECTED, THEIRS)):
                    for way in ways(verb, given):
                        tried(way, session, verb, given)
            for text in (one for texts in PROCEDURES.values() for one in texts):
                said(session, text)
        said(memory.session(actor="eve"), "MATCH (i:Item {name: 'mine'}) SET i.next_number = 9")
        said(memory.session(actor="eve"), "CREATE INDEX i FOR (n:A) ON (n.x)")
    assert met == {name for name, elsewhere in GUARDS.items() if not elsewhere}


def tried(way: Call, session: Session, verb: Verb, given: Given) -> DoxaError | None:
    try:
        way(session, verb, given)
    except DoxaError as error:
        return error
    return None


def said(session: Session, text: str) -> DoxaError | None:
    given = {"home": HOME + "?r=1", "plan": PROTECTED[1] + "?r=1", "hidden": PROTECTED[2] + "?r=1"}
    try:
        session.run(text, given).records()
    except DoxaError as error:
        return error
    return None


# What an operator decided


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_no_verb_of_an_agent_touches_what_an_operator_decided(
    verb: Verb, world: World, tmp_path: Path, tally: Callable[..., None]
) -> None:
    count = 0
    with copied(world, tmp_path) as memory:
        before = decided(memory)
        session = memory.session(actor="eve")
        for given in attempts(world, verb):
            for way in ways(verb, given):
                error = tried(way, session, verb, given)
                assert decided(memory) == before, given
                assert error is not None or verb.role == "agent", given
                count += 1
    tally(attempts_of_agents=count)


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_an_operator_may_do_what_an_agent_tries(verb: Verb, world: World, tmp_path: Path) -> None:
    """So an attempt is refused for who makes it, and not because it says nothing."""
    for one in ATTEMPTS[verb.name]:
        errors: list[DoxaError | None] = []
        for address in PROTECTED if T in repr(one) else ("",):
            with copied(world, tmp_path, "operator") as memory:
                given = world.given(one, address)
                errors.append(
                    tried(by_python, memory.session(actor="ana", role="operator"), verb, given)
                )
        through = any(error is None or isinstance(error, ConfirmationError) for error in errors)
        unfit = UNFIT & {verb.name, *((verb.name, name) for name in one)}
        assert through != bool(unfit), (one, errors)


@pytest.mark.parametrize("name", PROCEDURES)
def test_no_procedure_of_an_agent_touches_what_an_operator_decided(
    name: str, world: World, tmp_path: Path
) -> None:
    with copied(world, tmp_path) as memory:
        before = decided(memory)
        for text in PROCEDURES[name]:
            error = said(memory.session(actor="eve"), text)
            assert isinstance(error, (RoleError, ConstraintError)), (text, error)
            assert decided(memory) == before, text


# Other projects


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_no_verb_of_a_bound_session_reaches_another_project(
    verb: Verb, world: World, tmp_path: Path, tally: Callable[..., None]
) -> None:
    names = [one.name for one in verb.parameters]
    tries = list(attempts(world, verb, (THEIRS,)))
    start = harmless(world, verb)
    if start is not None and "project" in names:
        tries.append(start | {"project": "theirs"})
    with copied(world, tmp_path) as memory:
        bound = memory.session(actor="eve", projects=["p"])
        before = decided(memory)
        for given in tries:
            for way in ways(verb, given):
                tried(way, bound, verb, given)
                assert decided(memory) == before, given
    tally(attempts_across_projects=len(tries))


# Full files


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_no_verb_writes_past_a_quota(verb: Verb, world: World, tmp_path: Path) -> None:
    given = harmless(world, verb)
    if given is None:
        return
    refused = []
    with copied(world, tmp_path, "operator") as memory:
        memory.quota(items=1)
        session = memory.session(role="operator")
        for way in ways(verb, given):
            held = _nodes(memory)
            refused.append(isinstance(tried(way, session, verb, given), LimitError))
            assert _nodes(memory) <= held
        held = _nodes(memory)
        if verb.cli is not None:
            refused.append("quota" in by_command(tmp_path, verb, given))
            assert _nodes(memory) <= held
    assert verb.name in GROWS_NOTHING or any(refused)


def _nodes(memory: doxa.Memory) -> int:
    with memory.store.read() as snapshot:
        return int(snapshot.rows("SELECT count(*) FROM node")[0][0])


def by_command(folder: Path, verb: Verb, given: Given) -> str:
    """Run a verb's command on the copy; what a command takes from a file is in one."""
    words = [verb.command]
    for one in parameters_of(verb):
        value = given.get(one.name)
        if value is None and one.name in ("file", "source"):
            path = folder / "given.json"
            path.write_text(json.dumps(given.get("source", given.get("constraints", {}))))
            value = path
        if value is None or value is False:
            continue
        if one.kind == "flag":
            words.append(option_names(one)[0].partition("/")[0])
            continue
        for word in words_of(one, value):
            words += [word] if is_argument(one) else [option_names(one)[0], word]
    place = ["--db", str(folder / "copy.db")]
    if "project" in {one.name for one in parameters_of(verb)} and "project" not in given:
        place += ["--project", "p"]
    return CliRunner().invoke(app, [*words, *place]).output


# Secrets


def _secretly(parameter: Parameter) -> Any:
    """Return a value of a parameter that holds a credential."""
    text = f"it is {TOKEN}"
    return {
        "texts": [text],
        "krefs": [f"kref://p/{TOKEN}.fact"],
        "kref": f"kref://p/{TOKEN}.fact",
        "belief": f"kref://p/{TOKEN}.fact",
        "mapping": {"a": text, "b": [text], "password": "hunter2x!"},
        "facts": [["The key", "is", TOKEN]],
        "fact": ["The key", "is", TOKEN],
        "sentences": [["The key", "is", TOKEN]],
    }.get(parameter.kind, text if parameter.name == "text" else TOKEN)


@pytest.mark.parametrize("verb", _WRITING, ids=lambda verb: verb.name)
def test_no_verb_stores_a_secret(
    verb: Verb, world: World, tmp_path: Path, tally: Callable[..., None]
) -> None:
    start = harmless(world, verb)
    if start is None:
        return
    count = 0
    named = [one for one in verb.parameters if one.kind in (*_WORDS, "source")]
    with copied(world, tmp_path, "operator") as memory:
        session = memory.session(actor="ana", role="operator")
        for one in named:
            value = _secretly(one)
            if one.kind == "source":
                value = [{"text": f"it is {TOKEN}", "speaker": TOKEN, "id": TOKEN}]
            for way in ways(verb, start | {one.name: value}):
                tried(way, session, verb, start | {one.name: value})
                count += 1
        if verb.cli is not None:
            for one in parameters_of(verb):
                if one.kind in _WORDS and one.name not in ("file", "source"):
                    by_command(tmp_path, verb, start | {one.name: _secretly(one)})
                    count += 1
    (tmp_path / "given.json").unlink(missing_ok=True)
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (TOKEN, TOKEN[6:30], "hunter2x!"):
        assert secret.encode() not in held
    tally(secrets_through_verbs=count)


def test_an_operator_undoes_the_run_that_an_agent_may_not(world: World, tmp_path: Path) -> None:
    """The attempt at `undo_run` is a real one: it brings back what the run retired."""
    with copied(world, tmp_path, "operator") as memory:
        before = decided(memory)
        with pytest.raises(RoleError, match="only an operator may undo"):
            memory.session(actor="eve", role="agent").undo_run(world.run)
        assert decided(memory) == before
        assert memory.session(actor="ana", role="operator").undo_run(world.run).changes
        assert decided(memory)["retired"] != before["retired"]
