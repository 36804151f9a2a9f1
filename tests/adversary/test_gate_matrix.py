"""Every gate of the store against every query interface, with the rights of an agent. A rule of
store/guard.py that no gate of this table names fails the test, and so does a gate that no statement
tries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.errors import ConstraintError, DoxaError, RoleError
from doxa.cypher.errors import QueryError
from doxa.servers.bolt import running_server as running_bolt
from doxa.servers.credentials import Credentials
from doxa.servers.databases.folder import DatabaseFolder
from doxa.servers.databases.service import FolderService
from doxa.servers.http.server import running_server as running_http
from doxa.store import digest, guard
from tests.adversary.test_gates import HOME, MINE, V
from tests.http.http_fixtures import Client, basic
from tests.servers.bolt_fixtures import FAILURE, Peer

_SECRET = "a-good-secret"
_TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
_TAG = "MATCH (i:Item {name: 'mine'})-[:CURRENT]->(r) CREATE (i)-[:TAG {name: %s}]->(r)"

# gate: (the keys of rules in store/guard.py that it is about, what an agent tries)
GATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "reserved address": (
        "addressed within",
        ("CREATE (:Foo {kref: 'kref://gamma'})", "MERGE (:Foo {kref: 'kref://gamma'})"),
    ),
    "verified trust": (
        "reserved holds",
        (
            f"MATCH (r {{kref: '{MINE}?r=1'}}) SET r.trust = 'verified'",
            "CALL doxa.remember('x', {trust: 'verified'})",
        ),
    ),
    "protected tags": (
        "role names",
        (_TAG % "'verified'", _TAG % "'VERIFIED'", f"CALL doxa.tag('{MINE}', 'approved')"),
    ),
    "derived tags": ("derived", (_TAG % "'unsupported'",)),
    "structure of a belief": (
        "ends along single single_in single_name by_hand from into",
        (
            "MATCH (i:Item {name: 'home'})-[e:HAS_REVISION]->() DELETE e",
            f"MATCH (v {{kref: '{V}'}}), (x {{kref: '{MINE}?r=1'}}) CREATE (x)-[:SUPERSEDES]->(v)",
        ),
    ),
    "verified entities": (
        "owned removable",
        (
            "MATCH (n:Entity {name: 'Ada'}) REMOVE n.trust",
            "MATCH (n:Entity {name: 'Ada'}) SET n.type = 'place'",
            "MATCH (n:Entity {name: 'Ada'}) DETACH DELETE n",
            "MATCH (a:Entity {name: 'Bob'}), (b:Entity {name: 'Ada'})"
            " CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b)",
            "CALL doxa.mergeEntities('Bob', 'Ada')",
        ),
    ),
    "immutable elements": (
        "immutable mutable fixed",
        (
            f"MATCH (v {{kref: '{V}'}}) SET v.summary = 'x'",
            f"MATCH (v {{kref: '{V}'}}) DETACH DELETE v",
        ),
    ),
    "records of the runtime": (
        "judged edges",
        (
            "MATCH (r:Record) SET r:Read",  # of another agent: its law says so
            "MATCH (r:Record) SET r.state = 'accepted'",
            "MATCH (r:Record) SET r.notes = '{}'",
            "MATCH (r:Record) SET r.text = 'The port is 1'",
            "MATCH (r:Record) DETACH DELETE r",
            "MATCH (:Record)-[e:CONCERNS]->() DELETE e",
            "MATCH (r:Record), (i:Item {name: 'mine'}) CREATE (r)-[:CONCERNS]->(i)",
        ),
    ),
    "retiring what is verified": (
        "",
        (
            "MATCH (:Item {name: 'home'})-[e:CURRENT]->() DELETE e",
            f"CALL doxa.deprecate('{HOME}')",
        ),
    ),
    "secrets in names": ("", (f"CREATE (:`{_TOKEN}`)", f"CREATE ({{`{_TOKEN}`: 1}})")),
    "scope": ("", ("CALL doxa.remember('x', {project: 'theirs'})",)),
}
Run = Callable[[str], bool]  # whether a statement is refused


def test_every_rule_of_the_store_belongs_to_a_gate() -> None:
    text = Path(guard.__file__).read_text()
    keys = set(re.findall(r"(?:rule|kept)(?:\.get\(|\[)\"(\w+)\"", text))
    assert len(keys) >= 12
    assert keys == {key for keys, _ in GATES.values() for key in keys.split()}
    assert all(tried for _, tried in GATES.values())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    def opened(path: Path) -> doxa.Memory:
        return doxa.open(path, role="operator", background=False, embedder=None, project="p")

    folder = DatabaseFolder(tmp_path / "data", opened)
    made = folder.database("doxa")._memory
    made.remember("Ana lives in Rome", name="home", trust="verified")
    made.session(actor="bot", role="agent").remember("The moon is cheese", name="mine")
    for name in ("Ada", "Bob"):
        made.mention(name)
    made.verify_entity("Ada")
    made.claim_propose("The moon is cheese", sources=["kref:p/mine.fact"], agent="bot")
    made.folder_of_test = folder  # type: ignore[attr-defined]
    yield made
    folder.close()


def _through(memory: doxa.Memory, interface: str, users: Credentials) -> Iterator[Run]:
    service = FolderService(memory.folder_of_test)  # type: ignore[attr-defined]
    if interface == "Python":
        session = memory.session(actor="eve", role="agent", projects=["p"])

        def by_python(text: str) -> bool:
            try:
                session.run(text).records()
            except DoxaError:
                return True
            return False

        yield by_python
    elif interface == "Bolt":
        login = {"scheme": "basic", "principal": "eve", "credentials": _SECRET}
        with running_bolt(service, users, port=0) as server, Peer(server.port).login(login) as peer:

            def by_bolt(text: str) -> bool:
                failed = bool(peer.ask("RUN", text, {}, {})[0] == FAILURE)
                peer.ask("RESET")
                return failed

            yield by_bolt
    else:
        with running_http(service, users, port=0) as http, Client(http.port) as client:
            path = "/db/neo4j/" + ("query/v2" if interface == "HTTP" else "tx/commit")

            def by_http(text: str) -> bool:
                body = {"statement": text}
                told = client.ask(
                    "POST",
                    path,
                    body if interface == "HTTP" else {"statements": [body]},
                    basic("eve", _SECRET),
                )
                return bool(told.json.get("errors"))

            yield by_http


@pytest.mark.parametrize("interface", ["Python", "Bolt", "HTTP", "HTTP transaction"])
def test_no_gate_opens_to_an_agent_through_any_query_interface(
    memory: doxa.Memory, interface: str, tmp_path: Path, tally: Callable[..., None]
) -> None:
    users = Credentials(tmp_path / "users.json")
    users.add("eve", _SECRET, projects=["p"])
    before = digest(memory.store)
    for refused in _through(memory, interface, users):
        assert not refused("RETURN 1")
        for gate, (_, statements) in GATES.items():
            for text in statements:
                assert refused(text), (gate, text)
                assert digest(memory.store) == before, (gate, text)
        memory.quota(items=1)
        assert refused("CREATE (:Full)"), "quota"
    tally(gates_tried=1 + sum(len(tried) for _, tried in GATES.values()))


def test_every_refusal_names_its_gate(memory: doxa.Memory) -> None:
    """An error of another kind, such as of syntax, would hide an open gate."""
    agent = memory.session(actor="eve", role="agent", projects=["p"])
    for gate, (_, statements) in GATES.items():
        for text in statements:
            with pytest.raises((RoleError, ConstraintError, QueryError)) as refused:
                agent.run(text)
            if isinstance(refused.value, QueryError):
                assert "contains what looks like a secret" in refused.value.message, (gate, text)
