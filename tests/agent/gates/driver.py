"""Drives the cases of the gate suite: builds what a case is given, carries out its action through
the interface and in the name of the principal that it names, and says how that differs from what
the case expects. README.md describes the format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import doxa
from doxa.agent.records.records import move_record, note_record, write_record
from doxa.app import Session
from doxa.app.operator import OperatorGate
from doxa.app.verbs import FULL as FULL_TOOLS
from doxa.app.verbs import VERBS, Tool, Verb
from doxa.app.verbs.resources import resources
from doxa.base import errors
from doxa.base.errors import DoxaError
from doxa.cli import app
from doxa.cli.parsing.spelling import is_argument, option_names, parameters_of
from doxa.jobs import begin
from doxa.servers.bolt import running_server as running_bolt
from doxa.servers.credentials import Credentials
from doxa.servers.http.server import running_server as running_http
from doxa.servers.mcp.calls import CallContext
from doxa.servers.mcp.tools import profile_of
from doxa.servers.memory import MemoryDatabase
from doxa.store import Identity, Transaction, digest
from tests.adversary.gate_attempts import by_procedure, by_python, words_of
from tests.fixtures_shared import opened
from tests.http.http_fixtures import Client
from tests.servers.bolt_fixtures import FAILURE, RECORD, Peer

Given = dict[str, Any]
FOLDER = Path(__file__).parent
PRINCIPALS = {"agent": "ana", "other-agent": "bob", "operator": "olga", "background": "job:tidy"}
INTERFACES = ("python", "cypher", "cli", "mcp", "http", "bolt", "transaction")
PROJECT = "p"
_BOLT_KINDS = (
    "RoleError",
    "ConstraintError",
    "ConflictError",
    "InputError",
)  # it has codes of Neo4j
_REFERENCE = re.compile(r"\$\{([a-z_0-9]+)((?:\.[a-z_0-9]+)*)\}")


class Refused(Exception):
    """An action that an interface refused; `kinds` are the names of the error and its bases."""

    def __init__(self, kinds: frozenset[str], text: str) -> None:
        super().__init__(text)
        self.kinds = kinds


def load(path: Path) -> list[Given]:
    """Return the cases of a file, each with the steps of the worlds that it names."""
    held = json.loads(path.read_text())
    worlds = {} if isinstance(held, list) else held.get("worlds", {})
    cases = held if isinstance(held, list) else held["cases"]
    return [case | {"given": list(steps_of(case.get("given", ()), worlds))} for case in cases]


def steps_of(given: Any, worlds: Mapping[str, Any]) -> Iterator[Given]:
    """Yield the steps of what a case is given, with those of the worlds that it names."""
    for step in given:
        if "world" in step:
            yield from steps_of(worlds[step["world"]], worlds)
        else:
            yield step


def problems_of_form(case: Given) -> list[str]:
    """Return what is wrong with a case as data."""
    found = []
    if set(case) - {"id", "part", "principal", "interface", "given", "action", "expect", "why"}:
        found.append("an unknown key")
    if case.get("principal") not in PRINCIPALS:
        found.append("an unknown principal")
    if case.get("interface") not in INTERFACES:
        found.append("an unknown interface")
    if case.get("principal") == "background" and case.get("interface") != "transaction":
        found.append("background work has no session: its interface is transaction")
    if set(case.get("action", {})) - {"verb", "arguments", "statement", "operations", "words"}:
        found.append("an unknown key of the action")
    if set(case.get("expect", {})) != {"refused", "receipt", "state_unchanged"}:
        found.append("expect names refused, receipt and state_unchanged")
    else:
        refused = case["expect"]["refused"]
        names = refused.split("|") if refused else []
        found += [f"no error {name}" for name in names if name not in known_errors()]
        if refused and (case["expect"]["receipt"] or not case["expect"]["state_unchanged"]):
            found.append("what is refused has no receipt and names what it leaves unchanged")
    return found


def known_errors() -> frozenset[str]:
    """Return the names of all errors, with that of Cypher."""
    return frozenset(name for name in vars(errors) if name.endswith("Error")) | {"QueryError"}


class World:
    """A memory file in which the steps of a case were carried out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.named: dict[str, Any] = {}
        self.path = folder / "gates.db"

    @contextmanager
    def open(self) -> Iterator[doxa.Memory]:
        with opened(self.path, embedder=None, project=PROJECT, actor="olga") as memory:
            yield memory

    def build(self, memory: doxa.Memory, steps: list[Given]) -> None:
        """Register the operator's key, and carry out the steps."""
        key = {"DOXA_OPERATOR_KEY": str(self.folder / "operator.key")}
        OperatorGate(memory, key).register()
        (self.folder / "doxa.toml").touch()
        for step in steps:
            if "file" in step:
                place = self.folder / step["file"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(step["text"])
                continue
            result = self.act(
                memory, step.get("principal", "operator"), step.get("interface", "python"), step
            )
            if step.get("as"):
                self.named[step["as"]] = result

    def filled(self, value: Any) -> Any:
        """Return a value with `${name.field}` replaced by what a step returned."""
        if isinstance(value, Mapping):
            return {name: self.filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.filled(one) for one in value]
        if not isinstance(value, str):
            return value
        whole = _REFERENCE.fullmatch(value)
        if whole:
            return self._looked_up(whole)
        return _REFERENCE.sub(lambda match: str(self._looked_up(match)), value)

    def _looked_up(self, match: re.Match[str]) -> Any:
        if match[1] == "folder":
            return str(self.folder)
        found = self.named[match[1]]
        for name in match[2].split(".")[1:]:
            if name.isdigit():
                found = found[int(name)]
            else:
                found = found[name] if isinstance(found, Mapping) else getattr(found, name)
        return found

    def act(self, memory: doxa.Memory, principal: str, interface: str, action: Given) -> Any:
        """Carry out one action. Raises Refused."""
        actor = PRINCIPALS[principal]
        role = principal if principal in ("operator", "background") else "agent"
        given = self.filled(action.get("arguments", {}))
        try:
            if interface == "transaction":
                return self._transact(memory, actor, role, self.filled(action["operations"]))
            if interface == "cli":
                return self._command(action, given, role)
            verb = VERBS.get(action.get("verb", ""))
            if interface == "http":
                assert verb is not None, action
                return _by_http(memory, actor, role, verb, given)
            if interface == "bolt":
                return _by_bolt(memory, actor, role, self.filled(action["statement"]), given)
            if verb is not None and verb.owner == "Memory" and role == "agent":
                with opened(
                    self.path, embedder=None, project=PROJECT, actor=actor, role=role
                ) as own:
                    return by_python(own, verb, given)  # a program of the agent opens the file
            session = memory.session(actor=actor, role=role)  # type: ignore[arg-type]
            if "statement" in action:
                return _rows(session, self.filled(action["statement"]), given)
            assert verb is not None, action
            if interface == "cypher":
                return by_procedure(session, verb, given)
            return (
                _by_tool(session, verb, given, role)
                if interface == "mcp"
                else by_python(session, verb, given)
            )
        except DoxaError as error:
            kinds = frozenset(one.__name__ for one in type(error).__mro__)
            raise Refused(kinds, str(error)) from error

    def _transact(self, memory: doxa.Memory, actor: str, role: str, operations: Any) -> Any:
        last: Any = None
        if role == "background":
            with begin(memory.store, "tidy", project=PROJECT) as run:
                with run.write("gates") as tx:
                    for one in operations:
                        last = _operate(tx, one)
                run.finish({})
            return last
        identity = Identity(actor, role)  # type: ignore[arg-type]
        with memory.store.write(identity, op="gates") as tx:
            for one in operations:
                last = _operate(tx, one)
        return last

    def _command(self, action: Given, given: Given, role: str) -> Any:
        words = self.filled(action.get("words", ()))
        if "verb" in action:
            words = [*_words(VERBS[action["verb"]], given), *words]
        elif "statement" in action:
            words = ["cypher", self.filled(action["statement"]), *words]
        key = self.folder / ("operator.key" if role == "operator" else "no.key")
        environment = {
            "DOXA_DB": str(self.path),
            "DOXA_PROJECT": PROJECT,
            "DOXA_OPERATOR_KEY": str(key),
            "DOXA_EMBEDDER": "none",
            "DOXA_CONFIG": str(self.folder / "doxa.toml"),
            **dict.fromkeys(("CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE"), ""),
        }

        if "--json" not in words:
            words = [*words, "--json"]
        done = CliRunner().invoke(app, [str(one) for one in words], env=environment)
        if done.exit_code == 0:
            return json.loads(done.stdout) if done.stdout.strip() else None
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        raise Refused(_kinds_of(done.stderr), done.output)


def _rows(session: Session, statement: str, given: Given) -> Any:
    rows = session.run(statement, given).records()
    return [dict(row) for row in rows]


def _kinds_of(text: str) -> frozenset[str]:
    """Return the names of the error that a command printed as JSON."""
    try:
        code = json.loads(text.strip().splitlines()[-1] if "\n{" in text else text)["error"]["code"]
    except (ValueError, KeyError, IndexError):
        return frozenset(("UsageError", "InputError"))
    found = [one for one in vars(errors).values() if getattr(one, "code", None) == code]
    names = {base.__name__ for one in found for base in one.__mro__}
    return frozenset(names | ({"QueryError"} if code == "query" else set()))


def _words(verb: Verb, given: Given) -> list[str]:
    words = [verb.command]
    for one in parameters_of(verb):
        value = given.get(one.name)
        if value is None or value is False:
            continue
        if one.kind == "flag":
            words.append(option_names(one)[0].partition("/")[0])
            continue
        for word in words_of(one, value):
            words += [word] if is_argument(one) else [option_names(one)[0], word]
    return words


def _by_tool(session: Session, verb: Verb, given: Given, role: str) -> Any:
    profile = profile_of("full", role=role, local=False)  # type: ignore[arg-type]
    tool = next(one for one in FULL_TOOLS if verb.name in one.verbs and _takes(one, given))
    found = profile.by_name.get(tool.name)
    if found is None:  # a tool that this role is not offered
        raise Refused(frozenset(("RoleError", "DoxaError")), f"no tool {tool.name} for {role}")
    _, result, failed = found.carry_out(session, _arguments(tool, given), CallContext())
    if failed:
        code = result["error"]["code"]
        raise Refused(_kinds_of(json.dumps({"error": {"code": code}})), str(result))
    return result


def _token(memory: doxa.Memory, actor: str, role: str) -> tuple[Credentials, str]:
    """Return logins of a server, and a token for a new one."""
    place = Path(f"{memory.config.path}.gates.json")
    place.unlink(missing_ok=True)
    users = Credentials(place)
    return users, users.add_token(actor, role=role)  # type: ignore[arg-type]


def _by_http(memory: doxa.Memory, actor: str, role: str, verb: Verb, given: Given) -> Any:
    """Call a verb of the API, of a server on a socket, by a login of its own."""
    (resource,) = resources((verb,))
    users, token = _token(memory, actor, role)
    with (
        running_http(MemoryDatabase(memory, project=PROJECT), users, port=0) as server,
        Client(server.port, Authorization=f"Bearer {token}") as client,
    ):
        assert "POST" in resource.methods, resource.path
        reply = client.ask("POST", resource.path, given)
    if reply.status >= 400:
        code = reply.json["code"]
        raise Refused(_kinds_of(json.dumps({"error": {"code": code}})), str(reply.json))
    return reply.json


def _by_bolt(memory: doxa.Memory, actor: str, role: str, statement: str, given: Given) -> Any:
    """Run a statement over Bolt, of a server on a socket, by a login of its own."""
    users, token = _token(memory, actor, role)
    login = {"scheme": "bearer", "credentials": token}
    database = MemoryDatabase(memory, project=PROJECT)
    with (
        running_bolt(database, users, port=0) as server,
        Peer(server.port).login(login) as peer,
    ):
        for message in (("RUN", statement, given, {}), ("PULL", {"n": -1})):
            tag, told = peer.ask(*message)
            while tag == RECORD:
                tag, told = peer.answer()
            if tag == FAILURE:
                raise Refused(frozenset(("DoxaError", "QueryError", *_BOLT_KINDS)), str(told))
    return None


def _takes(tool: Tool, given: Given) -> bool:
    taken = {name for one in tool.arguments for name in (one.of or one.name).split()}
    return given.keys() <= taken and not tool.fixed


def _arguments(tool: Tool, given: Given) -> Given:
    found: Given = {}
    for one in tool.arguments:
        for name in (one.of or one.name).split():
            if name not in given:
                continue
            if (one.of or one.name) == name:
                found[one.name] = given[name]
            else:
                found.setdefault(one.name, {})[name] = given[name]
    return found


def _operate(tx: Transaction, one: Given) -> Any:
    """Carry out one operation of a bare transaction."""
    what = one["operation"]
    rest = {name: value for name, value in one.items() if name != "operation"}
    if what == "write_record":
        return write_record(tx, **rest)
    if what == "move_record":
        return move_record(tx, rest["kref"], rest["state"], said=rest.get("said", ""))
    if what == "note_record":
        return note_record(tx, rest["kref"], rest["notes"])
    if what == "create_node":
        return tx.create_node(tuple(rest["labels"]), rest.get("properties", {}))
    if what == "catalogue":
        return tx.set_catalogue(rest["name"], rest["value"])
    node = tx.node_by_kref(rest["kref"])
    assert node is not None, rest["kref"]
    if what == "set_node":
        props = {k: v for k, v in (dict(node.props) | rest["properties"]).items() if v is not None}
        return tx.set_node(node.id, props)
    if what == "delete_node":
        return tx.delete_node(node.id)
    if what == "suppress":
        return tx.suppress(node.id)
    if what == "erase":
        return tx.erase([node.id])
    if what == "create_edge":
        end = tx.node_by_kref(rest["to"])
        assert end is not None, rest["to"]
        return tx.create_edge(rest["type"], node.id, dst=end.id, props=rest.get("properties", {}))
    if what == "delete_edges":
        return [tx.delete_edge(edge.id) for edge in tx.edges_out(node.id, rest["type"])]
    raise AssertionError(f"an unknown operation {what}")


def state_of(memory: doxa.Memory, what: str) -> str:
    """Return what there is at an address, with its edges, what a query returns, or what a file in
    the folder says (`file:NAME`); `*` is the digest of the whole memory."""
    if what == "*":
        return str(digest(memory.store))
    if what.startswith("file:"):
        path = Path(memory.config.path).parent / what.removeprefix("file:")
        return path.read_text() if path.exists() else "no file"
    if what.startswith("kref://"):
        what = (
            f"MATCH (n {{kref: {json.dumps(what)}}}) OPTIONAL MATCH (n)-[e]-(m) RETURN labels(n),"
            " properties(n), type(e), properties(e), m.kref ORDER BY type(e), m.kref"
        )
    return repr([_plain(dict(row)) for row in memory.run(what).records()])


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value


def receipts(memory: doxa.Memory) -> int:
    """Return how many receipts the file has, without those of beginning and ending a run."""
    with memory.store.read() as snapshot:
        return int(
            snapshot.rows("SELECT count(*) FROM receipt WHERE op = 'gates' OR actor <> 'job:tidy'")[
                0
            ][0]
        )


def judge(world: World, memory: doxa.Memory, case: Given) -> list[str]:
    """Carry out the action of a case. Return how what happened differs from what is expected."""
    expect, found = case["expect"], []
    named = [world.filled(one) for one in expect["state_unchanged"]]
    before, held = {one: state_of(memory, one) for one in named}, receipts(memory)
    refused: Refused | None = None
    try:
        world.act(memory, case["principal"], case["interface"], case["action"])
    except Refused as error:
        refused = error
    wanted = set(expect["refused"].split("|")) if expect["refused"] else set()
    if wanted and refused is None:
        found.append(f"was carried out, and is refused with {expect['refused']}")
    if refused is not None and not wanted & refused.kinds:
        found.append(f"was refused with {sorted(refused.kinds)}: {refused}")
    if expect["receipt"] != (receipts(memory) > held):
        found.append("has no receipt" if expect["receipt"] else "has a receipt")
    found += [f"changed {one}" for one, text in before.items() if state_of(memory, one) != text]
    return found
