"""A session that is bound to a project answers as if the file held nothing else.

Every verb, procedure and tool is called, by their tables, with addresses, names and numbers of
another project, in a file with that project and in one without: the answers are equal, errors
included, and hold no word of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app import Session
from doxa.app.memory import _query_engine
from doxa.app.verbs import ALL, Parameter, Verb
from doxa.base.errors import DoxaError, InputError, RoleError
from doxa.events import EventStream
from doxa.query.procedures.registry import RegisteredProcedure
from doxa.servers.mcp.tools import TOOLS
from doxa.servers.mcp.tools import call as call_tool
from doxa.store import check, digest, replayed_digest
from doxa.store.scope.views import views
from tests.adversary.isolation import CANARY, bound, build, outcome, pair, prepare, rows, same_time

_VALUES: dict[str, tuple[Any, ...]] = {
    "text": (
        "Somebody deploys the shop",
        "The office is in Bern",
        "theirs",
        "mine",
        "*",
        f"{CANARY}talk",
        f"{CANARY.title()} likes the garden",
    ),
    "texts": (("fact",), (f"{CANARY}_type", "DEPENDS_ON")),
    "kref": (
        "kref://mine/deploy-day.fact",
        "kref://mine",
        "kref://theirs",
        f"kref://theirs/{CANARY}deploy-day.fact",
        f"kref://theirs/{CANARY}deploy-day.fact?r=1",
        f"kref://theirs/{CANARY}set.bundle",
        f"kref://theirs/{CANARY}places",
    ),
    "krefs": (
        ("kref://mine/deploy-day.fact",),
        (f"kref://theirs/{CANARY}deploy-day.fact",),
    ),
    "integer": (1, 7, 30, 500),
    "change": (25, 34, 500, 9, 1),
    "number": (0.5,),
    "flag": (True,),
    "time": ("2023-11-15", "2023-11-17"),
    "facts": ((("The office", "is in", "Bern"),),),
    "fact": (("The office", "is in", "Bern"),),
    "sentences": (("The office is in Bern",),),
    "mapping": ({"functional": [f"{CANARY}s"]}, {}),
    "source": ([{"text": "Somebody likes tea", "speaker": "ana"}],),
    "path": (Path("/nowhere/x.db"),),
    "object": ("operator",),
    "function": (None,),
}
_VALUES["belief"] = _VALUES["kref"]
# They begin and end sessions and files, which is not an answer.
_LIFE = frozenset(("open", "session", "close", "graph", "run", "read", "write", "flush", "wake"))
_VERBS = [verb for verb in ALL if verb.name not in _LIFE]
_WAIT = frozenset(("follow", "budget_s"))  # with it a verb waits, or looks at the time, by design
_TRIED_MAX = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("isolation")
    prepare(folder)
    return folder


@pytest.fixture
def sessions(made: Path, tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    with pair(made, tmp_path) as both:
        yield both


def _same(
    both: tuple[Session, Session], call: Callable[[Session], object], *, said: str = ""
) -> None:
    same_time(*both)
    found, wanted = (outcome(lambda one=one: call(one), numbered=False) for one in both)
    assert found == wanted
    if CANARY not in said.lower():
        assert CANARY not in found.lower()


def _choices(parameters: list[Parameter]) -> list[dict[str, Any]]:
    """Return arguments: every value of those that are required, and each option by itself."""
    needed = [one for one in parameters if one.required]
    found = [
        dict(zip([one.name for one in needed], values, strict=True))
        for values in product(*(_VALUES[one.kind] for one in needed))
    ]
    first = found[: len(_VALUES["kref"])]
    found += [
        given | {one.name: value}
        for one in parameters
        if not one.required and one.kind not in ("function", "object") and one.name not in _WAIT
        for value in _VALUES[one.kind]
        for given in first
    ]
    step = max(1, len(found) // _TRIED_MAX)
    return found[::step]


@pytest.mark.parametrize("verb", _VERBS, ids=lambda verb: verb.name)
def test_no_verb_tells_of_another_project(verb: Verb, sessions: tuple[Session, Session]) -> None:
    placed = [one.name for one in verb.parameters if one.positional]
    for given in _choices(list(verb.parameters)):
        said = repr(given)
        if verb.writes and CANARY in said.replace(f"theirs/{CANARY}", "").lower():
            continue  # it would be written

        def call(session: Session, given: dict[str, Any] = given) -> object:
            owner = session if verb.owner == "Session" else session.memory
            method = getattr(owner, verb.name, None)
            if method is None:
                raise InputError("no such verb here", next_step="", field="verb")
            args = [given[name] for name in placed if name in given]
            rest = {name: value for name, value in given.items() if name not in placed}
            result = method(*args, **rest)
            if isinstance(result, EventStream):
                with result:
                    return result.take()  # without waiting for more
            return list(result) if inspect.isgenerator(result) else result

        _same(sessions, call, said=said)


_TYPED: dict[str, tuple[str, ...]] = {
    "STRING": (
        f"'kref://theirs/{CANARY}deploy-day.fact'",
        "'kref://theirs'",
        "'Person'",
        "'bios'",
        "'said'",
        "'mine'",
    ),
    "INTEGER": ("1", "200"),
    "MAP": ("{}", "{project: '*'}", "{project: 'theirs'}"),
    "ANY": ("'kref://theirs'", "1", "'2023-11-15'", "1700000000000"),
    "LIST": ("['Somebody likes tea']", "[0.5, 0.5]"),
    "NODE": ("n",),
    "RELATIONSHIP": ("r",),
    "BOOLEAN": ("true",),
    "FLOAT": ("0.5",),
}


_PROCEDURES = _query_engine().registry.all()


@pytest.mark.parametrize("procedure", _PROCEDURES, ids=lambda one: one.signature.name)
def test_no_procedure_tells_of_another_project(
    procedure: RegisteredProcedure, sessions: tuple[Session, Session]
) -> None:
    signature = procedure.signature
    kinds = [kind for _, kind in signature.args]
    for arguments in list(product(*(_TYPED[kind] for kind in kinds)))[:40]:
        lead = "MATCH (n)-[r]->() WITH n, r LIMIT 1 " if {"n", "r"} & set(arguments) else ""
        columns = ", ".join(name for name, _ in signature.results)
        ending = f" YIELD {columns} RETURN {columns}" if columns and lead else ""
        text = f"{lead}CALL {signature.name}({', '.join(arguments)}){ending}"
        said = CANARY if signature.writes else text
        _same(sessions, lambda one, text=text: rows(one, text)(), said=said)  # type: ignore[misc]


def test_no_show_command_tells_of_another_project(sessions: tuple[Session, Session]) -> None:
    for what in ("INDEXES", "CONSTRAINTS", "PROCEDURES", "FUNCTIONS", "DATABASES", "SETTINGS"):
        _same(sessions, lambda one, what=what: rows(one, f"SHOW {what}")())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_no_tool_tells_of_another_project(
    tool: dict[str, Any], sessions: tuple[Session, Session]
) -> None:
    values: Mapping[str, tuple[Any, ...]] = {
        "string": _VALUES["kref"] + _VALUES["text"],
        "array": (["fact"], [f"kref://theirs/{CANARY}deploy-day.fact"]),
        "integer": (1, 9, 30),
        "number": (0.5,),
        "boolean": (True,),
    }
    schema = tool["inputSchema"]
    writes = not tool["annotations"].get("readOnlyHint")
    for name, form in schema["properties"].items():
        for value in values.get(form.get("type", "string"), ()):
            given = dict.fromkeys(schema.get("required", ()), _VALUES["kref"][3]) | {name: value}

            def call(one: Session, given: dict[str, Any] = given) -> object:
                return call_tool(one, tool["name"], given)

            _same(sessions, call, said=CANARY if writes else repr(given))


# Writing


def test_nothing_is_written_into_another_project(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        mine = bound(memory)
        before = _theirs(memory)
        theirs = f"kref://theirs/{CANARY}deploy-day.fact"
        for call in (
            lambda: mine.remember("x is y", project="theirs"),
            lambda: mine.ingest([{"text": "x"}], project="theirs"),
            lambda: mine.deprecate(theirs),
            lambda: mine.tag(theirs, "mine"),
            lambda: mine.link(theirs, "kref://mine/deploy-day.fact", kind="R"),
            lambda: mine.bundle("kref://theirs/x.bundle", add=["kref://mine/deploy-day.fact"]),
            lambda: mine.constrain({"functional": ["is"]}, project="theirs"),
            lambda: mine.forget("kref://theirs", erase=True),
            lambda: mine.run("CREATE (:Foo {kref: 'kref://theirs/x.fact'})"),
            lambda: mine.run("CREATE (:Exchange {project: 'theirs', text: 'planted'})"),
            lambda: mine.run("CREATE INDEX mine FOR (n:Person) ON (n.name)"),
            lambda: mine.run("DROP INDEX bios"),
        ):
            with pytest.raises(DoxaError):
                call()
        for text in (
            "MATCH (n) SET n.planted = 1",
            f"MATCH (n) WHERE n.name STARTS WITH '{CANARY}' DETACH DELETE n",
            "MATCH ()-[r]->() SET r.planted = 1",
            "MATCH (n:Person) SET n:Planted",
        ):
            with pytest.raises(DoxaError) if text == "MATCH (n) SET n.planted = 1" else _free():
                mine.run(text)
        assert _theirs(memory) == before
        assert check(memory.store) == []
        assert digest(memory.store) == replayed_digest(memory.store)


def _free() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def _theirs(memory: doxa.Memory) -> list[str]:
    texts = (
        "MATCH (n) WHERE n.planted IS NULL AND NOT n.name STARTS WITH 'ana' RETURN n",
        "MATCH (n)-[r]->(m) RETURN r, id(n), id(m)",
    )
    theirs = memory.session(projects=["theirs"], role="operator")
    return [outcome(rows(theirs, text)) for text in texts]


def test_a_value_that_another_project_has_is_free(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        mine = bound(memory)
        mine.run("CREATE (:Person {email: 'a20'})")  # theirs has it
        with pytest.raises(DoxaError, match="same email"):
            mine.run("CREATE (:Person {email: 'a20'})")
        assert check(memory.store) == []


def test_a_node_goes_with_edges_that_its_session_does_not_see(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        mine = bound(memory)
        mine.run("MATCH (n:Person {name: 'ana3'})-[r]-() DELETE r")
        mine.run("MATCH (n:Person {name: 'ana3'}) DELETE n")
        assert check(memory.store) == []
        assert digest(memory.store) == replayed_digest(memory.store)


def test_beliefs_of_others_lose_a_support_that_goes(tmp_path: Path) -> None:
    """What must hold for the whole file holds after a bound session's write too."""
    with build(tmp_path / "a.db", both=True) as memory:
        bound(memory).run("MATCH (n:Item) RETURN n")
        for item in [
            row[0] for row in memory.run("MATCH (n:Item {project: 'mine'}) RETURN n.kref")
        ]:
            if item.endswith(".fact"):
                bound(memory).deprecate(item)
        assert check(memory.store) == []
        assert digest(memory.store) == replayed_digest(memory.store)


def test_an_operator_who_is_bound_erases(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        before = _theirs(memory)
        item = bound(memory).recall("office Bern").hits[0].kref.partition("?")[0]
        done = bound(memory).forget(item, erase=True)
        assert done.done
        assert _theirs(memory) == before
        assert check(memory.store) == []


# Names


@pytest.mark.parametrize(
    "name",
    [
        "mine2",
        "min",
        "m_ne",
        "m%",
        "o'brien",
        "mine' OR '1'='1",
        "mine') --",
        'mi"ne',
        "Mine",
        "мine",
    ],
)
def test_a_name_that_looks_like_another_sees_nothing_of_it(name: str, tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        try:
            session = memory.session(projects=[name])
        except DoxaError:
            return  # not a name that a project can have
        assert outcome(rows(session, "MATCH (n) RETURN n")) == outcome(
            rows(session, "MATCH (n:Nothing) RETURN n")
        )
        assert session.recall("office garden").hits == ()
        session.run("CREATE (:Own {a: 1})")
        assert [row[0] for row in session.run("MATCH (n) RETURN labels(n)")] == [["Own"]]
        assert [row[0] for row in bound(memory).run("MATCH (n:Own) RETURN n")] == []


def test_a_session_of_two_projects_sees_both_and_what_joins_them(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        session = memory.session(projects=["mine", "theirs"], role="operator")
        found = rows(session, "MATCH (n) RETURN DISTINCT n.project AS p ORDER BY p")()
        assert "mine" in repr(found) and "theirs" in repr(found)
        assert len(list(session.run("MATCH ()-[r:KNOWS {how: $h}]->() RETURN r", _across()))) == 1
        assert list(bound(memory).run("MATCH ()-[r:KNOWS {how: $h}]->() RETURN r", _across())) == []
        assert (
            list(session.run("MATCH (n {bio: 'rower'}) WHERE n.name CONTAINS 'free' RETURN n"))
            == []
        )


def _across() -> dict[str, str]:
    return {"h": f"across {CANARY}"}


def test_a_bound_session_is_not_widened(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        session = bound(memory)
        assert not hasattr(session.memory, "session")
        with pytest.raises(RoleError):
            memory.session(projects=["mine"], project="theirs")
        with pytest.raises(RoleError):
            session.memory.backup(tmp_path / "copy.db")
        with pytest.raises(RoleError):
            list(session.memory.export())


def test_what_lies_in_no_project_is_seen_by_sessions_that_are_not_bound(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "a.db", background=False) as memory:
        memory.run("CREATE (:Free)-[:R]->(:Free)")
        assert len(list(memory.run("MATCH (n:Free) RETURN n"))) == 2
        assert list(memory.session(projects=["a"]).run("MATCH (n:Free) RETURN n")) == []


def test_sessions_that_are_not_bound_run_the_statements_of_before(tmp_path: Path) -> None:
    with build(tmp_path / "a.db", both=True) as memory:
        names = "SELECT count(*) FROM temp.sqlite_schema"
        bound(memory).run("RETURN 1")
        with memory.store.read() as reader:
            assert reader.rows(names) == [(0,)]
        with bound(memory).memory.store.read() as reader:
            assert reader.rows(names)[0][0] > 20


def test_each_table_holds_as_many_rows(sessions: tuple[Session, Session]) -> None:
    names = [name for name, _ in views(["mine"])]
    assert len(names) > 20
    for table in names:
        counts = []
        for one in sessions:
            with one.memory.store.read() as reader:
                counts.append(reader.rows(f"SELECT count(*) FROM {table}")[0][0])
        # words of speakers and kinds are shared by number, and nothing lists them
        assert counts[0] == counts[1] or table in ("token", "catalogue"), table


def test_a_dream_of_a_bound_session_says_nothing_of_the_log(
    sessions: tuple[Session, Session],
) -> None:
    """Log entries and times depend on what others write. The answers above are compared without
    numbers, so these are looked at here."""
    for session in sessions:
        for dry in (True, False):
            report = session.dream(dry_run=dry)
            assert (report.after, report.seq, report.seconds) == (0, 0, 0.0)
            assert "log entries" not in report.markdown
        assert "log entries" not in session.run_report()
