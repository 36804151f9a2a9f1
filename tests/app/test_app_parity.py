"""The verb table against every interface: nothing is missing, renamed or preset differently without
a reason in the table, and what is generated from it is up to date."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.main import get_command

import doxa
from doxa.app import asynchronous, reference, twin
from doxa.app.procedures import register
from doxa.app.verbs import (
    ALL,
    DRY_RUN_PROCEDURE,
    GROUPS,
    INTERFACES,
    REPEATED,
    REQUIRED,
    SHELL,
    TOOLS,
    UNSET,
    VERBS,
    Parameter,
    Verb,
    options,
)
from doxa.base import errors, ids
from doxa.cli import app
from doxa.cli.parsing.spelling import is_argument, option_names
from doxa.jobs import begin
from doxa.query.procedures.registry import Registry
from doxa.servers.mcp import tools
from tests.runtime_given import STATIC, runtime_given

ROOT = Path(__file__).parents[2]
PYTHON_ONLY = {"settle"}  # the deprecated name of flush
TYPES = {
    "text": {"str", "str | None"},
    "kref": {"str | Kref", "str | Kref | None"},
    "krefs": {"Iterable[str]"},
    "texts": {"Iterable[str]", "Sequence[str]"},
    "integer": {"int", "int | None"},
    "number": {"float", "float | None"},
    "flag": {"bool"},
    "time": {"Time", "Time | None"},
    "fact": {"Sequence[object] | None"},
    "facts": {"Facts"},
    "sentences": {"Iterable[object]"},
    "mapping": {
        "Mapping[str, Any] | None",
        "Mapping[str, object] | None",
    },
    "belief": {"str | Kref | Sequence[object] | Mapping[str, object]"},
    "change": {"int | Change"},
    "path": {"str | Path", "str | Path | None", "str | Path | bytes"},
    "source": {"str | Path | Iterable[Turn | Mapping[str, object]]"},
    "function": {"Callable[[int], None] | None", "PassProducer | None"},
    "object": {"Role"},
}
CHOICES = {
    "direction": "Literal['out', 'in', 'both']",
    "decision": "Literal['accept', 'reject', 'both']",
    "kind": "Literal['address', 'project', 'text', 'speaker']",
}
every_verb = pytest.mark.parametrize("verb", ALL, ids=lambda verb: verb.name)


KREF = "kref://shop/deploys.fact"
PLAUSIBLE: dict[str, Any] = {
    "text": "We test on Mondays",
    "task": "Deploy the shop",
    "subject": "bank",
    "value": "shop",
    "what": KREF,
    "kref": KREF,
    "start": KREF,
    "end": KREF,
    "source": KREF,
    "target": "kref://shop/bank.fact",
    "kind": "SEES",
    "name": "plan.pdf",
    "location": "files/plan.pdf",
    "tag": "mine",
    "time": "2200-01-01",
    "decision": "reject",
    "head": "00" * 32,
    "entity": "Ana",
    "into": "Bob",
    "mention": "kref://shop/entities/kit.mention",
    "answer": "new",
    "session": "one",
}
OF_VERB: dict[str, dict[str, Any]] = {
    "revise": {"text": "We deploy on Fridays"},
    "run": {"text": "MATCH (n) RETURN count(n)"},
    "read": {"text": "MATCH (n) RETURN count(n)"},
    "write": {"text": "CREATE (:Note {text: 'x'})"},
    "rollback": {"kref": f"{KREF}?r=1"},
    "bundle": {"kref": "kref://shop/all.bundle", "add": [KREF]},
    "ingest": {"source": [{"text": "hello"}]},
    "artifact_file": {"kref": "kref://shop/plan.document?a=plan.txt"},
    "hold": {"kind": "project"},
    "load": {"label": "Person"},
    "chat_consolidated": {"session": "s"},
    "mention": {"name": "Eve", "kind": "person", "source": ""},
    "split_entity": {"entity": "Cam"},
    "lease_grant": {"objective": "Keep the docs", "allowed": ["local_project_edit"]},
    "lease_end": {"state": "cancelled"},
    "govern": {"action_class": "local_project_edit", "action": "Edit"},
    "outcome": {"status": "blocked"},
    "packet_write": {
        "kind": "maturation_candidate",
        "text": "The bank is open.",
        "body": {"lane": "claim", "sources": [KREF]},
    },
    "packet_move": {"state": "cancelled"},
    "eligibility": {"consumer": "ui_review"},
    "standing_appeal": {"why": "I was quoting."},
    "scaffold_propose": {
        "change": "Set a limit.",
        "change_type": "tool_hint",
        "expected_effect": "Fewer timeouts.",
        "verification": "Count them.",
        "rollback": "Take it out.",
    },
    "scaffold_decide": {"decision": "withdraw"},
}


def method_of(verb: Verb) -> Any:
    return doxa.open if verb.name == "open" else getattr(doxa.Memory, verb.name)


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name, command


COMMANDS = dict(commands(get_command(app)))


def procedures() -> dict[str, Any]:
    registry = Registry()
    register(registry)
    return {procedure.signature.name: procedure.signature for procedure in registry.all()}


# The table itself


def test_every_name_is_given_once() -> None:
    assert len(VERBS) == len(ALL) > 50
    for verb in ALL:
        names = [one.name for one in verb.parameters]
        assert len(names) == len(set(names)), verb.name
        assert verb.summary[0].isupper() and verb.summary.endswith("."), verb.name
        assert all(
            one.doc.endswith((".", "?")) or one.doc.startswith("kref:") for one in verb.parameters
        )


@every_verb
def test_an_interface_offers_a_verb_or_the_table_says_why_not(verb: Verb) -> None:
    offered = {
        "python": True,
        "cli": verb.cli is not None,
        "cypher": verb.cypher is not None,
        "mcp": any(verb.name in tool.verbs for tool in TOOLS),
    }
    for interface in INTERFACES:
        assert offered[interface] != bool(verb.absent.get(interface)), interface
    for parameter in verb.parameters:
        for reason in (*parameter.absent.values(), *parameter.changed.values()):
            assert len(reason) > 5


@every_verb
def test_roles_errors_and_groups_exist(verb: Verb) -> None:
    assert verb.group in GROUPS
    assert verb.role in ids.ROLES
    for name in verb.errors:
        assert name == "QueryError" or issubclass(getattr(errors, name), errors.DoxaError)


@every_verb
def test_an_agent_is_refused_where_the_table_names_the_operator(verb: Verb, tmp_path: Path) -> None:
    settings = {"embedder": None, "background": False, "project": "shop"}
    with doxa.open(tmp_path / "m.db", role="operator", **settings) as operator:  # type: ignore[arg-type]
        operator.remember("We deploy on Thursdays", name="deploys")
        operator.remember("The bank is open", name="bank")
        operator.constrain({"functional": ["colour"]})
        (tmp_path / "plan.txt").write_text("a plan")
        (tmp_path / "work").mkdir()
        operator.knowledge_root(tmp_path / "work")
        plan = {"plan.txt": str(tmp_path / "plan.txt")}
        operator.store_unit("The plan", name="plan", kind="document", artifacts=plan)
        for name in ("Ana", "Bob", "Cam", "Kit"):
            operator.mention(name)
        operator.mention("Lea", aliases=["Kit"])
        operator.merge_entities("Cam", "Bob")
        operator.dream()
        operator.export_to(tmp_path / "export.jsonl")
        operator.export_notes(tmp_path / "notes")
        run = begin(operator.store, "test", project="shop")
        proposal = run.propose("stale", "It is old.", about=[KREF])
        run.finish({})
    with (
        doxa.open(tmp_path / "m.db", role="agent", **settings) as memory,  # type: ignore[arg-type]
        doxa.open(tmp_path / "m.db", role="operator", **settings) as operator,  # type: ignore[arg-type]
    ):
        made = memory.remember("The gate is green", facts=[("gate", "colour", "green")])
        weaker = memory.remember(
            "The gate is blue", facts=[("gate", "colour", "blue")], trust="candidate"
        )
        given = (
            STATIC
            | PLAUSIBLE
            | {
                "change": made.change.change,
                "conflict": weaker.change.conflict,
                "token": memory.token(),
                "run": run.kref,
                "proposal": proposal,
                "proposals": [proposal],
                "through": memory.chat_add("hello", session="s").id,
                "path": tmp_path / ("export.jsonl" if verb.name == "import_" else "other.db"),
            }
        )
        given["folder"] = tmp_path / ("notes" if verb.name == "import_notes" else "new")
        if verb.name in ("knowledge_root", "knowledge_index"):
            given["folder"] = tmp_path / "work"
        if verb.name in ("export_to", "export_subject", "export_memory_json"):
            given["target"] = tmp_path / "new.jsonl"
        if verb.name == "load":
            given["path"] = tmp_path / "rows.csv"
            given["path"].write_text("id\n1\n")
        given |= OF_VERB.get(verb.name, {})
        made = runtime_given(operator, memory, verb.name, tmp_path)
        given |= made
        wanted = {one.name for one in verb.parameters if one.required}
        named = wanted | OF_VERB.get(verb.name, {}).keys()
        named |= {"path"} if verb.name == "verifier_declare" else set()
        named |= {"session"} if verb.name == "claim_produce" else set()
        options = {name: given[name] for name in named}
        placed = [
            options.pop(one.name) for one in verb.parameters if one.name in named and one.positional
        ]
        call = doxa.open if verb.name == "open" else getattr(memory, verb.name)
        if verb.name == "open":
            placed = [tmp_path / "opened.db"]
        if verb.role == "operator":
            with pytest.raises(doxa.RoleError):
                call(*placed, **options)
            return
        found = call(*placed, **options)
        if verb.name == "export":
            assert list(found)
        if verb.name == "open":
            found.close()


# Python


@every_verb
def test_the_python_signature_is_that_of_the_table(verb: Verb) -> None:
    given = [
        one for one in inspect.signature(method_of(verb)).parameters.values() if one.name != "self"
    ]
    shape = getattr(options, verb.options) if verb.options else None
    shared = list(shape.__annotations__) if shape else []
    named = [one for one in given if one.kind is not one.VAR_KEYWORD]
    by_name = {one.name: one for one in verb.parameters}
    assert by_name.keys() == {one.name for one in named} | set(shared)
    for one in named:
        parameter = by_name[one.name]
        assert (one.kind is not one.KEYWORD_ONLY) == parameter.positional, one.name
        default = REQUIRED if one.default is one.empty else one.default
        assert default == parameter.default, one.name
        expected = {CHOICES.get(one.name, "str")} if parameter.choices else TYPES[parameter.kind]
        assert one.annotation.replace('"', "'") in expected, (one.name, one.annotation)
    if shape is not None:
        assert given[-1].annotation == f"Unpack[{verb.options}]"


@every_verb
def test_the_docstring_and_the_result_are_those_of_the_table(verb: Verb) -> None:
    method = method_of(verb)
    assert (method.__doc__ or "").split() == verb.text.split()
    assert inspect.signature(method).return_annotation == verb.result


def test_every_public_method_is_a_verb() -> None:
    found = {
        name
        for name, value in inspect.getmembers(doxa.Memory, inspect.isfunction)
        if not name.startswith("_")
    }
    assert found - PYTHON_ONLY == VERBS.keys() - {"open"}
    assert all(hasattr(doxa.Session, verb.name) for verb in ALL if verb.owner == "Session")
    assert not any(hasattr(doxa.Session, verb.name) for verb in ALL if verb.owner == "Memory")


def test_config_holds_the_options_of_opening() -> None:
    fields = {name: one.default for name, one in inspect.signature(doxa.Config).parameters.items()}
    del fields["path"], fields["shared"]  # what is opened: a file, or a replica of a shared log
    assert fields == {
        one.name: one.default for one in VERBS["open"].parameters if one.name != "path"
    }


# Awaited


@pytest.mark.parametrize("name", twin.sources())
def test_the_awaited_twin_is_up_to_date(name: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "check", "--quiet", "--fix", "--exit-zero", "-"),
            *("--stdin-filename", f"src/doxa/app/asynchronous/{name}"),
        ],
        input=twin.sources()[name],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    held = (Path(asynchronous.__file__).parent / name).read_text()
    assert ast.dump(ast.parse(done.stdout)) == ast.dump(ast.parse(held))


@every_verb
def test_every_verb_can_be_awaited(verb: Verb) -> None:
    owner = doxa.AsyncMemory if verb.owner == "Memory" else asynchronous.AsyncSession
    found = getattr(owner, verb.name)
    if verb.name == "export":
        assert inspect.isasyncgenfunction(found)
        return
    if verb.name == "events":
        assert inspect.signature(found).return_annotation == "AsyncEventStream"
        return
    assert inspect.iscoroutinefunction(found)
    if verb.name != "open":
        given = inspect.signature(found).parameters
        wanted = inspect.signature(method_of(verb)).parameters
        assert [(one.name, one.kind, one.default) for one in given.values()] == [
            (one.name, one.kind, one.default) for one in wanted.values()
        ]


@every_verb
def test_the_table_says_why_an_awaited_verb_returns_a_synchronous_object(verb: Verb) -> None:
    synchronous = verb.result in ("GraphSession", "Session", "Memory")
    owner = doxa.AsyncMemory if verb.owner == "Memory" else asynchronous.AsyncSession
    returned = inspect.signature(getattr(owner, verb.name)).return_annotation
    assert bool(verb.awaited) == (synchronous and returned == verb.result)


# The command line


@pytest.mark.parametrize("verb", [v for v in ALL if v.cli], ids=lambda verb: verb.name)
def test_a_command_takes_what_the_table_says(verb: Verb) -> None:
    assert verb.cli is not None
    assert verb.command == verb.name.strip("_").replace("_", "-") or verb.cli.reason
    command = COMMANDS[verb.command]
    assert command.help == verb.text
    by_name = {one.name: one for one in command.params}
    extra = {one.name: one for one in verb.cli.extra}
    taken = {one.name: one for one in verb.of("cli")} | extra
    missing = taken.keys() - by_name.keys()
    assert all("cli" in taken[name].changed for name in missing), missing
    assert by_name.keys() - taken.keys() == {"db", "as_json"}
    for name in taken.keys() - missing:
        check_option(by_name[name], taken[name])


def check_option(given: Any, parameter: Parameter) -> None:
    if given.param_type_name == "argument":
        assert is_argument(parameter), parameter.name
    else:
        assert not is_argument(parameter) or "cli" in parameter.changed
        spelled = parameter.name.replace("_", "-")
        names = option_names(parameter)
        assert [*given.opts, *given.secondary_opts] == [
            part for name in names for part in name.split("/")
        ] or "cli" in parameter.changed
        same = names[0] in (f"--{spelled}", f"--{spelled}/--no-{spelled}")
        singular = parameter.kind in REPEATED and names[0].startswith("--")
        shorter = spelled.startswith(names[0].removeprefix("--"))
        assert same or singular or shorter or "cli" in parameter.changed, names
        assert given.multiple == (parameter.kind in REPEATED)
    assert given.required == parameter.required
    if isinstance(parameter.default, (bool, int, float, str)) and parameter.kind not in REPEATED:
        assert given.default == parameter.default
    else:
        assert given.default in (None, (), [])


def test_every_command_is_in_the_table() -> None:
    verbs = {verb.command for verb in ALL if verb.cli is not None}
    shells = {shell.name: shell for shell in SHELL}
    assert COMMANDS.keys() == verbs | shells.keys()
    for name, shell in shells.items():
        assert COMMANDS[name].help == shell.summary and len(shell.reason) > 5


# Cypher


def test_every_procedure_is_in_the_table() -> None:
    assert procedures().keys() == {
        f"doxa.{verb.procedure}" for verb in ALL if verb.cypher is not None
    } | {f"doxa.{DRY_RUN_PROCEDURE.name}"}
    assert len(DRY_RUN_PROCEDURE.reason) > 5


@pytest.mark.parametrize("verb", [v for v in ALL if v.cypher], ids=lambda verb: verb.name)
def test_a_procedure_takes_what_the_table_says(verb: Verb) -> None:
    assert verb.cypher is not None
    signature = procedures()[f"doxa.{verb.procedure}"]
    assert verb.procedure.lower() == verb.name.replace("_", "").lower()
    arguments = [name for name, _ in signature.args if name != "options"]
    named = {one.name for one in verb.of("cypher")}
    assert set(arguments) <= named
    assert ("options" in dict(signature.args)) == bool(named - set(arguments))
    assert signature.writes == verb.writes and signature.description == verb.summary
    required = [one.name for one in verb.parameters if one.required]
    assert arguments[: len(required)] == required
    columns = dict(signature.results)
    if verb.result in ("Change", "Remembered"):
        assert columns.keys() >= {"change", "receipt", "supported", "unsupported", "losses"}
    if verb.result == "Walk":
        assert "cut" in columns


# MCP


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_sets_parameters_of_its_verbs(tool: Any) -> None:
    shape = tools.ARGUMENTS[tool.name]
    fields = {field.name: field for field in msgspec.structs.fields(shape)}
    assert list(fields) == [one.name for one in tool.arguments]
    known = {one.name: one for name in tool.verbs for one in VERBS[name].parameters}
    assert tool.reason
    for one in tool.arguments:
        for name in (one.of or one.name).split():
            assert name in known or one.reason, one.name
        assert (not one.of and one.default is UNSET) or one.reason, one.name
        parameter = tools.parameter_of(tool, one)
        default = fields[one.name].default
        if one.default is not UNSET:
            assert default == one.default
        elif parameter is None:
            assert one.reason
        elif parameter.required or one.schema.get("required"):
            assert fields[one.name].required
        elif parameter.default is UNSET:
            assert default in (None, "", ()) or one.name == "confidence"
        else:
            assert default == parameter.default, one.name


# Generated pages


@pytest.mark.parametrize("name", reference.pages())
def test_the_reference_is_up_to_date(name: str) -> None:
    held = (ROOT / "docs" / "reference" / name).read_text()
    assert held == reference.pages()[name], "python -m doxa.app.reference docs/reference"
