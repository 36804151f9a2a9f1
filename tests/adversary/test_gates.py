"""What an agent may not do to what an operator verified or approved, through every interface that
reaches the store: verbs, queries and their procedures, undo, import."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import doxa
from doxa.base.errors import ConfirmationError, DoxaError, NotFoundError, RoleError
from doxa.base.lookalikes import _LOOK, skeleton
from doxa.cli import app
from doxa.store import check, digest
from tests.fixtures_shared import opened

HOME, PLAN = "kref://p/home.fact", "kref://p/plan.fact"
V, A = HOME + "?r=1", PLAN + "?r=1"
MINE, GONE = "kref://p/mine.fact", "kref://p/gone.fact"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    """A verified belief with a ground and an approved one, by the operator; two by an agent, one of
    them retired."""
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        made.remember("Rome is in Italy", name="ground")
        made.remember(
            "Ana lives in Rome",
            name="home",
            facts=[("Ana", "lives in", "Rome")],
            trust="verified",
            depends_on=["kref://p/ground.fact"],
        )
        made.remember("The plan holds", name="plan")
        made.tag(A, "approved")
        agent = made.session(actor="bot")
        agent.remember("The moon is cheese", name="mine")
        agent.remember("The sun is a lamp", name="gone")
        agent.deprecate(GONE)
        yield made
        assert made.check() == []


def standing(memory: doxa.Memory, grounds: str = "") -> object:
    """Return what is believed of them: trust, tags, and edges, all or those of some types."""
    return memory.run(
        "MATCH (i:Item)-[:HAS_REVISION]->(r:Revision) WHERE i.name IN ['home', 'plan', 'ground']"
        f" OPTIONAL MATCH (i)-[t:TAG|CURRENT]->(r) OPTIONAL MATCH (r)-[g{grounds}]->(x)"
        " WITH r, g, CASE type(t) WHEN 'TAG' THEN t.name ELSE type(t) END AS tag"
        " RETURN r.kref, r.trust, collect(DISTINCT tag), count(DISTINCT g)"
        " ORDER BY r.kref"
    ).records()


QUERIES = {
    "a ground of a verified belief": (
        "MATCH (v:Revision {kref: $v}), (x:Revision {kref: $gone}) CREATE (v)-[:DEPENDS_ON]->(x)"
    ),
    "a ground of an approved belief": (
        "MATCH (v:Revision {kref: $a}), (x:Revision {kref: $gone}) CREATE (v)-[:DERIVED_FROM]->(x)"
    ),
    "a ground by MERGE": (
        "MATCH (v:Revision {kref: $v}), (x:Revision {kref: $gone}) MERGE (v)-[:DEPENDS_ON]->(x)"
    ),
    "a ground by FOREACH": (
        "MATCH (v:Revision {kref: $v}), (x:Revision {kref: $gone})"
        " FOREACH (i IN [1] | CREATE (v)-[:DERIVED_FROM {set: 's'}]->(x))"
    ),
    "a ground in a subquery": (
        "MATCH (v:Revision {kref: $v}), (x:Revision {kref: $gone})"
        " CALL { WITH v, x CREATE (v)-[:DEPENDS_ON]->(x) RETURN 1 AS one } RETURN one"
    ),
    "a ground that leads to a node of one's own": (
        "MATCH (v:Revision {kref: $v}) CREATE (v)-[:DEPENDS_ON]->(:Page {deprecated: true})"
    ),
    "the end of a ground": "MATCH (:Revision {kref: $v})-[e:DEPENDS_ON]->() DELETE e",
    "a property of a ground": "MATCH (:Revision {kref: $v})-[e:DEPENDS_ON]->() SET e.set = 'x'",
    "a broken set": "MATCH (:Revision {kref: $v})-[e:DEPENDS_ON]->() SET e.member_erased = true",
    "the tag of lost support": (
        "MATCH (i:Item)-[:CURRENT]->(v:Revision {kref: $v})"
        " CREATE (i)-[:TAG {name: 'unsupported', erased: true}]->(v)"
    ),
    "the approval": "MATCH (:Item)-[t:TAG {name: 'approved'}]->() DELETE t",
    "the name of the approval": (
        "MATCH (:Item)-[t:TAG {name: 'approved'}]->() SET t.name = 'rejected'"
    ),
    "the edge that is believed": "MATCH (:Item {name: 'home'})-[e:CURRENT]->() DELETE e",
    "the item": "MATCH (i:Item {name: 'home'}) DETACH DELETE i",
    "the revision": "MATCH (v:Revision {kref: $v}) DETACH DELETE v",
    "the trust": "MATCH (v:Revision {kref: $v}) SET v.trust = 'candidate'",
    "the trust of one's own": "MATCH (v:Revision {kref: $mine}) SET v.trust = 'verified'",
    "the label": "MATCH (v:Revision {kref: $v}) REMOVE v:Revision",
    "another label": "MATCH (v:Revision {kref: $v}) SET v:Exchange",
    "an item that becomes a bundle": "MATCH (i:Item {name: 'home'}) SET i:Bundle",
    "a successor": (
        "MATCH (v:Revision {kref: $v}), (x:Revision {kref: $mine}) CREATE (x)-[:SUPERSEDES]->(v)"
    ),
    "the next number": "MATCH (i:Item {name: 'home'}) SET i.next_number = 9000000000000000000",
    "retirement by property": "MATCH (i:Item {name: 'home'}) SET i.deprecated = true",
    "suppression": "MATCH (v:Revision {kref: $v}) CALL doxa.suppress(v) YIELD hidden RETURN hidden",
    "a verb in a query": "CALL doxa.link($v, $gone, 'DEPENDS_ON') YIELD action RETURN action",
    "a tag that looks like one": (
        "MATCH (i:Item)-[:CURRENT]->(v:Revision {kref: $mine})"
        " CREATE (i)-[:TAG {name: 'ver\u200bified'}]->(v)"
    ),
}


@pytest.mark.parametrize("attack", QUERIES)
def test_no_query_of_an_agent_touches_what_an_operator_decided(
    memory: doxa.Memory, attack: str
) -> None:
    agent = memory.session(actor="bot")
    before, whole = standing(memory), digest(memory.store)
    given = {"v": V, "a": A, "gone": GONE + "?r=1", "mine": MINE + "?r=1"}
    with pytest.raises(DoxaError):
        agent.run(QUERIES[attack], given)
    assert standing(memory) == before and digest(memory.store) == whole


def test_what_an_operator_does_by_query_still_works(memory: doxa.Memory) -> None:
    given = {"v": V, "gone": GONE + "?r=1", "mine": MINE + "?r=1"}
    memory.run(QUERIES["a ground of a verified belief"], given)
    assert "unsupported" in str(standing(memory))
    memory.run(QUERIES["the end of a ground"], given)
    assert "unsupported" not in str(standing(memory))
    memory.run(QUERIES["a successor"], given)


def test_an_agent_goes_on_with_its_own(memory: doxa.Memory) -> None:
    """The gates are about what is verified or approved and about doxa's own structure only."""
    agent = memory.session(actor="bot")
    agent.remember("It is made of milk", name="why", depends_on=[MINE])
    agent.run(
        "MATCH (a:Revision {kref: $mine}), (b:Revision {kref: $v})"
        " CREATE (a)-[:DERIVED_FROM]->(b), (b)<-[:ABOUT]-(:Note {text: 'free'})",
        {"mine": MINE + "?r=1", "v": V},
    )
    agent.run("MATCH (i:Item {name: 'mine'})-[:CURRENT]->(r) CREATE (i)-[:TAG {name: 'ok'}]->(r)")
    agent.deprecate(MINE)
    assert "unsupported" in str(
        memory.run("MATCH (:Item {name: 'why'})-[t:TAG]->() RETURN t.name").records()
    )


def test_an_agent_neither_restores_nor_undoes_what_an_operator_retired(
    memory: doxa.Memory,
) -> None:
    agent = memory.session(actor="bot")
    memory.deprecate(HOME)
    change = memory.log(limit=1)[0].tx
    calls: tuple[Callable[[], object], ...] = (
        lambda: agent.undo(change),
        lambda: agent.restore(HOME),
        lambda: agent.rollback(V),
        lambda: agent.run(
            "MATCH (i:Item {name: 'home'})-[:HAS_REVISION]->(r) REMOVE i.deprecated,"
            " i.retired_revision CREATE (i)-[:CURRENT]->(r)"
        ),
    )
    for call in calls:
        with pytest.raises(RoleError):
            call()
    memory.remember("Bo lives in Kiel", name="bo")
    with pytest.raises(RoleError, match="made by an operator"):
        agent.undo(memory.log(limit=1)[0].tx)
    agent.remember("Cy lives in Ulm", name="cy")
    assert agent.undo(memory.log(limit=1)[0].tx).action == "undone"


ADDRESSES = (
    "CREATE (:Foo {kref: 'kref://gamma'})",
    "CREATE ({kref: 'kref://p/home.fact?r=2'})",
    "CREATE (:Project {kref: 'kref://gamma', name: 'gamma'})",
    "CREATE (:Artifact {kref: 'kref://p/home.fact?r=1&a=x', name: 'x', location: 'evil'})",
    "CREATE (n:Foo) SET n.kref = 'kref://gamma'",
    "CREATE (n:Foo) SET n += {kref: 'kref://gamma'}",
    "CREATE (n:Foo) SET n = {kref: 'kref://gamma'}",
    "CREATE (n:Foo) SET n['kref'] = 'kref://gamma'",
    "MERGE (n:Foo {kref: 'kref://gamma'})",
    "MERGE (n:Foo {id: 1}) ON CREATE SET n.kref = 'kref://gamma'",
    "UNWIND [{kref: 'kref://gamma'}] AS row CREATE (n:Foo) SET n += row",
    "FOREACH (i IN [1] | CREATE (:Foo {kref: 'kref://gamma'}))",
    "CREATE (:Foo {kref: 7})",
    "MATCH (i:Item {name: 'mine'}) SET i.kref = 'kref://p/other.fact'",
    "MATCH (i:Item {name: 'mine'}) REMOVE i.kref",
)


@pytest.mark.parametrize("text", ADDRESSES)
@pytest.mark.parametrize("role", ["agent", "operator"])
def test_no_query_gives_or_takes_an_address(memory: doxa.Memory, text: str, role: str) -> None:
    session = memory.session(actor="eve", role=role)  # type: ignore[arg-type]
    before = digest(memory.store)
    with pytest.raises(DoxaError):
        session.run(text)
    assert digest(memory.store) == before
    memory.remember("gamma rays", name="x", project="gamma")  # nothing blocks it


def test_no_transaction_gives_an_address_to_what_is_not_of_doxa(memory: doxa.Memory) -> None:
    with (
        pytest.raises(DoxaError, match="is the address of"),
        memory.store.write(memory.identity, op="x") as tx,
    ):
        tx.create_node(("Foo",), {"kref": "kref://gamma"})


def test_check_names_what_older_versions_let_through(memory: doxa.Memory) -> None:
    memory.run("CREATE (:Foo {n: 1}), (:Artifact {n: 2})")
    db = memory.store._engine.connection()
    for label, props in (
        ("Foo", {"kref": "kref://gamma"}),
        ("Artifact", {"kref": V + "&a=x", "name": "x", "location": "evil"}),
    ):
        db.execute(
            "UPDATE node SET props = jsonb(?) WHERE id = (SELECT node FROM node_label WHERE label"
            " = ?)",
            (json.dumps(props), label),
        )
    said = " | ".join(check(memory.store))
    assert "takes the address kref://gamma" in said
    assert "the Artifact at kref://p/home.fact?r=1&a=x" in said
    with pytest.raises(NotFoundError, match="attached to no revision"):
        memory.get(V + "&a=x")
    memory.run("MATCH (n:Foo) REMOVE n.kref")
    memory.run("MATCH (n:Artifact) WHERE n.name = 'x' DELETE n")
    memory.remember("gamma rays", name="x", project="gamma")


LOOKALIKES = (
    "Verified",
    "VERIFIED",
    "vеrified",
    "νerified",
    "ver1fied",
    "verlfied",
    "ｖｅｒｉｆｉｅｄ",
    "vérified",
    "ver-ified",
    "verified_",
    "Approved",
    "аpproved",
    "appr0ved",
    "PubIished",
    "crystaIIised",
    "publisheꭰ",
    "ꮯrystallised",
    "puƄlished",
)


@pytest.mark.parametrize("name", LOOKALIKES)
def test_an_agent_writes_no_name_that_looks_protected(memory: doxa.Memory, name: str) -> None:
    agent = memory.session(actor="bot")
    by_hand = (
        "MATCH (i:Item {name: 'mine'})-[:CURRENT]->(r) CREATE (i)-[:TAG {name: $name}]->(r)",
        {"name": name},
    )
    for call in (
        lambda: agent.tag(MINE, name),
        lambda: agent.run(*by_hand),
        lambda: agent.remember("It is so", name="so", kind=name),
        lambda: agent.run("CALL doxa.tag($kref, $name)", {"kref": MINE, "name": name}),
    ):
        with pytest.raises(DoxaError):
            call()


@pytest.mark.parametrize("name", ["verify", "unverified", "approve", "proved", "review", "печать"])
def test_other_names_are_free(memory: doxa.Memory, name: str) -> None:
    agent = memory.session(actor="bot")
    assert agent.tag(MINE, name).action == "tagged"


def test_a_skeleton_is_what_is_seen() -> None:
    assert skeleton("Ver\u200bifi\u0435d") == skeleton("verified") == skeleton("VER1FIED")
    assert skeleton("verified") != skeleton("certified")
    assert skeleton(skeleton("Approved")) == skeleton("approved")
    for letter, alike in _LOOK.items():
        assert {skeleton(one) for one in alike} == {skeleton(letter)}


@pytest.fixture
def exported(memory: doxa.Memory, tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    memory.export_to(path)
    return path


def test_an_import_that_brings_approvals_asks_first(exported: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other.db", embedder=None) as other:
        with pytest.raises(ConfirmationError, match=r"2 of the beliefs .* verified") as refused:
            other.import_(exported)
        assert refused.value.fields["krefs"] == [V, A] or set(refused.value.fields["krefs"]) == {
            V,
            A,
        }
        assert "accept_protected" in refused.value.next_step
        assert other.stats()["items"] == 0
        other.import_(exported, accept_protected=True)
        held = other.get(HOME)
        assert isinstance(held, doxa.Revision) and held.trust == "verified"
    with (
        opened(tmp_path / "agents.db", embedder=None, role="agent") as agents,
        pytest.raises(RoleError),
    ):
        agents.import_(exported, accept_protected=True)


def test_the_command_line_refuses_it_unless_told(exported: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "cli.db")
    run = CliRunner().invoke
    refused = run(app, ["import", str(exported), "--db", path, "--no-embed"])
    assert refused.exit_code == 4 and "--accept-protected" in refused.output
    assert HOME not in run(app, ["recall", "Rome", "--db", path]).output
    taken = run(app, ["import", str(exported), "--db", path, "--no-embed", "--accept-protected"])
    assert taken.exit_code == 0, taken.output


def test_an_import_ends_nothing_that_is_verified_here(tmp_path: Path) -> None:
    """What a file says of an address that an operator verified here does not retire it."""
    told = tmp_path / "told.jsonl"
    with opened(tmp_path / "there.db", embedder=None, project="p") as there:
        there.remember("Ana lives in Oslo", name="home")
        there.revise(HOME, "Ana lives in Paris")
        there.export_to(told)
    with opened(tmp_path / "here.db", embedder=None, project="p") as here:
        here.remember("Ana lives in Rome", name="home", trust="verified")
        before = here.get(HOME)
        try:
            here.import_(told)
        except DoxaError as error:
            assert "verified" in str(error)
        assert here.get(HOME) == before


_TARGETS = (
    "(t:Item {name: 'home'})",
    "(t:Item {name: 'plan'})",
    "(t:Revision {kref: $v})",
    "(t:Revision {kref: $a})",
    "(:Item {name: 'home'})-[t:CURRENT]->()",
    "(:Item {name: 'home'})-[t:HAS_REVISION]->()",
    "(:Item {name: 'plan'})-[t:TAG]->()",
    "(:Revision {kref: $v})-[t:DEPENDS_ON]->()",
    "(t) WHERE t.name IN ['home', 'plan']",
    "(t {trust: 'verified'})",
    "(:Item)-[t]->(:Revision {kref: $v})",
    "(t:Page)",
)
_WRITES = (
    "SET t.{key} = {value}",
    "SET t += {{{key}: {value}}}",
    "SET t = {{{key}: {value}}}",
    "REMOVE t.{key}",
    "DELETE t",
    "DETACH DELETE t",
    "SET t:{label}",
    "REMOVE t:{label}",
    "CREATE (t)-[:{edge} {{name: {value}}}]->(:Page)",
    "CREATE (:Page)-[:{edge}]->(t)",
    "MERGE (t)-[:{edge} {{name: {value}}}]->(x)",
    "MERGE (x)-[:{edge}]->(t)",
    "FOREACH (i IN [1, 2] | SET t.{key} = {value})",
    "CALL {{ WITH t SET t.{key} = {value} RETURN 1 AS one }} RETURN one",
    "CALL apoc.create.addLabels([t], ['{label}']) YIELD node RETURN node",
    "CALL apoc.refactor.mergeNodes([x, t]) YIELD node RETURN node",
)
_KEYS = ("trust", "deprecated", "text", "next_number", "name", "facts", "retired_revision", "kref")
_VALUES = ("'verified'", "'approved'", "'candidate'", "true", "null", "7", "'Verified'", "[]")
_EDGES = ("CURRENT", "TAG", "HAS_REVISION", "SUPERSEDES", "DEPENDS_ON", "DERIVED_FROM", "CONFLICT")
_LABELS = ("Item", "Revision", "Exchange", "Bundle", "Page", "Conflict")


def statement(rng: random.Random) -> str:
    """Return a random statement that writes to what an operator decided, or close to it."""
    parts = {
        "key": rng.choice(_KEYS),
        "value": rng.choice(_VALUES),
        "edge": rng.choice(_EDGES),
        "label": rng.choice(_LABELS),
    }
    writes = " ".join([*rng.sample(_WRITES[:8], rng.randint(0, 1)), rng.choice(_WRITES)])
    between = " WITH t, x " if " CALL " in f" {writes}" else " "
    written = writes.format(**parts)
    return f"MATCH (x:Page {{n: 1}}) MATCH {rng.choice(_TARGETS)}{between}{written}"


def test_no_random_statement_of_an_agent_changes_what_an_operator_decided(
    memory: doxa.Memory, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    """Refused or not: what an operator verified or approved stands as before, and so do its grounds
    and tags."""
    rng, refused = random.Random(seed), 0
    agent = memory.session(actor="bot")
    given = {"v": V, "a": A}
    memory.run("CREATE (:Page {n: 1})")
    before = standing(memory, ":DEPENDS_ON|DERIVED_FROM")
    for _ in range(60 * campaign):
        text = statement(rng)
        try:
            agent.run(text, given)
        except DoxaError:
            refused += 1
        assert standing(memory, ":DEPENDS_ON|DERIVED_FROM") == before, text
        memory.run("MATCH (x:Page) WHERE x.kref IS NULL AND coalesce(x.n, 0) <> 1 DETACH DELETE x")
        memory.run("MERGE (:Page {n: 1})")
    tally(statements_of_agents=60 * campaign, statements_refused=refused)


def disguised(name: str, rng: random.Random) -> str:
    """Return a name that looks like another: other letters, cases, and what is not seen."""
    letters = []
    for letter in name:
        alike = [letter, letter.upper(), *_LOOK.get(letter, "")]
        letters.append(rng.choice(alike))
        if rng.random() < 0.2:
            letters.append(rng.choice(("\u200b", "\u00ad", "\u0301", "-", "_", ".", "\u2060")))
    return "".join(letters)


def test_no_disguise_of_a_protected_name_is_accepted(
    memory: doxa.Memory, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    rng = random.Random(seed)
    agent = memory.session(actor="bot")
    for _ in range(60 * campaign):
        name = disguised(rng.choice(("verified", "approved", "published", "crystallised")), rng)
        for call in (
            lambda name=name: agent.tag(MINE, name),
            lambda name=name: agent.run("CALL doxa.tag($k, $n)", {"k": MINE, "n": name}),
            lambda name=name: agent.run(
                "MATCH (i:Item {name: 'mine'})-[:CURRENT]->(r) CREATE (i)-[:TAG {name: $n}]->(r)",
                {"n": name},
            ),
        ):
            with pytest.raises(DoxaError):
                call()
    tally(disguised_names=60 * campaign)
