"""Two files for the isolation suite: one holds the projects `mine` and `theirs`, the other what it
holds of `mine` alone. A session that is bound to `mine` must not be able to tell which it is in.

All names and texts of `theirs` contain the word of CANARY, so that a leak is seen without knowing
what the right answer was. `mine` is written first: what both files hold has the same numbers.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import doxa
from doxa.app import Memory, Session
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.models.fakes import HashEmbedder
from doxa.query.core.elements import Edge, Node
from doxa.query.core.elements import Path as Walk

CANARY = "zanzibar"
_HASH = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b|\b[0-9a-f]{12}(?=-\d)")
_NUMBER = re.compile(
    r"""((?:[Nn]ode|[Ee]dge|changed?s?|tx|seq|_seq|after|first|last|id|token|undo|confirm)"""
    r"""['"]?[ =:]+"""
    r"""(?:tuple)?['"(\[]*)\w+"""
)

_TOOK = re.compile(r"('seconds': )[0-9.e-]+")  # what a report says it took

_SCHEMA = (
    "CREATE INDEX person_age FOR (n:Person) ON (n.age)",
    "CREATE CONSTRAINT person_email FOR (n:Person) REQUIRE n.email IS UNIQUE",
    "CREATE FULLTEXT INDEX bios FOR (n:Person) ON EACH [n.bio]",
    "CREATE FULLTEXT INDEX said FOR ()-[r:KNOWS]-() ON EACH [r.how]",
    "CREATE DECAY PROFILE towns FOR (n:City) APPLY { DECAY HALF LIFE 86400 DECAY THRESHOLD 0.4 }",
    """CREATE DECAY PROFILE friends FOR ()-[r:TRUSTS]-()
       APPLY { DECAY HALF LIFE 864000 DECAY THRESHOLD 0.2 }""",
    "CREATE INDEX known FOR ()-[r:KNOWS]-() ON (r.since)",
)
_MINE = (
    """UNWIND range(1, 12) AS i
       CREATE (:Person {name: 'ana' + toString(i), age: i, email: 'a' + toString(i),
                        bio: 'gardener number ' + toString(i)})""",
    """MATCH (a:Person), (b:Person) WHERE b.age = a.age + 1
       CREATE (a)-[:KNOWS {since: a.age, how: 'from the garden'}]->(b)""",
    "MATCH (a:Person {age: 3}), (b:Person {age: 9}) CREATE (a)-[:TRUSTS]->(b)",
    "MATCH (a:Person {age: 12}) DETACH DELETE a",
    "MATCH (a:Person {age: 5}) SET a.bio = 'rower', a.city = 'Bern'",
    "CREATE (:City {name: 'Bern', size: 3})",
)
_THEIRS = (
    f"""UNWIND range(1, 20) AS i
       CREATE (:Person {{name: '{CANARY}' + toString(i), age: i, email: 'a' + toString(i + 6),
                        bio: 'gardener {CANARY} number ' + toString(i),
                        {CANARY}_key: 'secret'}})""",
    f"""MATCH (a:Person), (b:Person) WHERE b.age = a.age + 1
       CREATE (a)-[:KNOWS {{since: a.age, how: 'from the garden of {CANARY}'}}]->(b)""",
    f"CREATE (:{CANARY}_label {{name: '{CANARY}'}})-[:{CANARY}_type]->(:City {{name: 'Bern'}})",
    "MATCH (a:Person {age: 7}) DETACH DELETE a",
    f"MATCH (a:Person {{age: 5}}) SET a.bio = 'rower {CANARY}', a.{CANARY} = 1",
)
# By a session that is not bound: elements of no project, and edges across.
_ACROSS = (
    f"UNWIND range(1, 4) AS i CREATE (:Person {{name: 'free {CANARY}', age: i, bio: 'rower'}})",
    f"""MATCH (a:Person {{name: 'ana3'}}), (b:Person {{name: '{CANARY}3'}})
       CREATE (a)-[:KNOWS {{how: 'across {CANARY}'}}]->(b), (b)-[:{CANARY}_type]->(a)""",
)


def _say(session: Session, name: str, word: str) -> None:
    for day in ("Monday", "Tuesday"):
        session.remember(f"{name} deploys the shop on {day}", title=f"{word}deploy day")
    session.remember(f"The {word}office is in Bern", space=f"{word}places")
    session.remember(f"The {word}shop opens at nine", kind=f"{word}rule")
    about = f"{word}garden"
    dependent = session.remember(f"The {about} needs water because the office is in Bern")
    session.link(
        dependent.change.kref, session.recall("office Bern").hits[0].kref, kind="DEPENDS_ON"
    )
    session.ingest(
        [
            {"text": f"{name} likes the {word}garden and the rower", "speaker": name},
            {"text": f"Noted: {word}garden", "speaker": "assistant", "role": "assistant"},
        ],
        thread=f"{word}talk",
        extract=True,
    )
    session.mention(f"{name} Garden", kind="place", aliases=[f"{word or 'the'} garden"])
    session.mention("Garden", aliases=[f"{name} Garden"])
    session.record_mentions()
    session.bundle(f"kref://{session.project}/{word}set.bundle", add=[str(dependent.change.kref)])


def _run_all(session: Session, statements: tuple[str, ...]) -> None:
    for text in statements:
        session.run(text)


def build(path: Path, *, both: bool) -> Memory:
    """Make a file; `both`: with what is not of `mine`."""
    clock = FakeClock()
    memory = doxa.open(
        path, role="operator", clock=clock, background=False, embedder=HashEmbedder()
    )
    _run_all(memory, _SCHEMA)
    mine = memory.session(projects=["mine"], role="operator")
    _run_all(mine, _MINE)
    _say(mine, "Ana", "")
    clock.advance(days=1)
    if both:
        theirs = memory.session(projects=["theirs"], role="operator")
        _run_all(theirs, _THEIRS)
        _say(theirs, CANARY.title(), CANARY)
        theirs.constrain({"functional": [f"{CANARY}s"]})
        _run_all(memory, _ACROSS)
        memory.session(project="mine", role="operator").link(
            _first(memory, "theirs"), _first(memory, "mine"), kind="DEPENDS_ON"
        )
    memory.embed()
    memory.flush()
    clock.advance(days=1)
    return memory


def _first(memory: Memory, project: str) -> str:
    found = memory.run(
        "MATCH (n:Revision {project: $p}) RETURN n.kref AS kref ORDER BY id(n) LIMIT 1",
        {"p": project},
    )
    return str(next(iter(found))[0])


def prepare(folder: Path) -> None:
    """Make both files in a folder, for `pair`."""
    for both in (True, False):
        build(folder / f"{both}.db", both=both).close()


@contextmanager
def pair(made: Path, folder: Path) -> Iterator[tuple[Session, Session]]:
    """Open copies of both files; yield a session bound to `mine` on that of both projects, and on
    that of one."""
    for both in (True, False):
        shutil.copy(made / f"{both}.db", folder / f"{both}.db")
    with _opened(folder / "True.db") as both, _opened(folder / "False.db") as one:
        yield bound(both), bound(one)


def _opened(path: Path) -> Memory:
    clock = FakeClock(FakeClock().now_ns() + 2 * 86_400 * 10**9)
    return doxa.open(path, role="operator", clock=clock, background=False, embedder=HashEmbedder())


def bound(memory: Memory, *, role: Any = "operator") -> Session:
    return memory.session(projects=["mine"], role=role, actor="ana")


def outcome(call: Callable[[], object], *, numbered: bool = True) -> str:
    """Return what a call gives, or the error that it raises, as text. Hashes, which are salted, and
    times taken are left out; the numbers of elements and changes too, unless `numbered`."""
    try:
        found = call()
    except DoxaError as error:
        found = f"{type(error).__name__}: {error}"
    except (TypeError, ValueError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
    text = _TOOK.sub(r"\1#", _HASH.sub("#", _text(found)))
    return text if numbered else _unnumbered(text)


def _unnumbered(text: str) -> str:
    return _NUMBER.sub(r"\1#", text)


def same_time(*sessions: Session) -> None:
    """Set the clocks of their files to one moment, later than all that was written."""
    clocks = [session.memory.config.clock for session in sessions]
    latest = max(clock.now_ns() for clock in clocks if clock is not None)
    for clock in clocks:
        assert isinstance(clock, FakeClock)
        clock.set(latest + 1_000_000_000)


def rows(session: Session, text: str, params: dict[str, Any] | None = None) -> Callable[[], object]:
    """Return a call that runs a statement and gives its rows, in any order, and its counters."""

    def call() -> object:
        result = session.run(text, params)
        found = sorted(
            (_text(dict(zip(result.columns, row, strict=True))) for row in result), key=_unnumbered
        )
        return result.columns, found, result.counters

    return call


def _text(value: object) -> str:
    match value:
        case Node():
            return f"(#id={value.id} node {value.labels} {_text(value.properties)})"
        case Edge():
            return f"(#id={value.id} edge {value.type} {_text(value.properties)})"
        case Walk():
            return f"(path {_text([*value.nodes])} {_text([*value.edges])})"
        case bytes():
            return "#"
        case dict():
            return "{" + ", ".join(f"{key!r}: {_text(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return f"{type(value).__name__}[{', '.join(map(_text, value))}]"
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        return f"{type(value).__name__} {_text(held)}"
    return repr(value)
