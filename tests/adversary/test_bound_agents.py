"""What lies next to a memory file (archives, logs of turns, hook metrics, what hooks wait to store)
and outside of it (exported identities, declared folders) against sessions of other projects and
agents: every verb of the agent's runtime, with the paths, handles and addresses of another project,
by a session that is bound to its own and whose agent has the same name. A bound agent attached the
archive of another project and had its turns as text, read any file below a folder that was declared
for another, and took over its exported identity."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.agent.claims.modes import set_modes
from doxa.agent.continuity import metrics
from doxa.app import Memory, Session
from doxa.app.verbs.agent import AGENT
from doxa.app.verbs.model import Parameter, Verb
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, DoxaError, InputError, ReadOnlyError, RoleError
from doxa.base.files.places import agents_folder, is_of_memory, signals_folder
from tests.adversary.isolation import CANARY, outcome

_TRIED_MAX = 40
_SOURCES = (
    "file:docs/secret.md",
    "archive:kept@2023-11-14#2",
    "file:kept/2023-11-14.jsonl",
    "transcript:talk#m1",
    "kref:theirs/garden.fact",
    "handoff:x",
)


class World:
    """A memory of two projects: `theirs` has left something in every place next to the file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "m.db"
        self.memory: Memory = doxa.open(
            self.path, role="operator", background=False, embedder=None, clock=FakeClock()
        )
        theirs = self.memory.session(projects=["theirs"], role="operator", actor="ana")
        theirs.remember(f"The garden is in {CANARY}", name="garden")
        self.shared = self._turns_of_theirs()
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "secret.md").write_text(f"# Plans\n\nThe {CANARY} garden grows.\n")
        theirs.knowledge_root(self.workspace)
        theirs.knowledge_index(self.workspace)
        theirs.metabolise(f"the {CANARY} is here", "yes", session="s")
        metrics.note(agents_folder(self.path), "prompt", 3.0)
        self.identity = folder / "identity"
        self._identity_of(theirs)
        archive = agents_folder(self.path) / "ana" / "archive"
        with self.memory.store.write(self.memory.identity, op="modes") as tx:
            roots = {
                "claims.roots.docs": str(self.workspace),
                "claims.roots.kept": str(archive),
                "claims.mode": "diagnostic",
            }
            set_modes(tx, roots)

    def _turns_of_theirs(self) -> list[str]:
        """Turns of an agent of that name in a session that is not bound, archived."""
        free = self.memory.session(project="theirs", role="agent", actor="ana")
        free.ingest(
            [
                {"text": f"Where is {CANARY}?", "role": "user", "speaker": "user"},
                {"text": f"In {CANARY}.", "role": "assistant", "speaker": "assistant"},
            ],
            thread="talk",
            session="talk",
        )
        free.session_open("talk")
        made = free.handoff_write("talk", reason="switch").kref
        free.archive_write()
        return [made, "kref://theirs/conversations/talk.thread", "kref://theirs/garden.fact"]

    def _identity_of(self, theirs: Session) -> None:
        made = theirs.growth_propose(f"I look after the {CANARY} garden.", file="SOUL")
        seen = theirs.crystallise_approve(made.kref, made.content_hash)
        theirs.crystallise_apply(made.kref, seen.nonce)
        theirs.identity_export(self.identity)

    def mine(self, role: Any) -> Session:
        return self.memory.session(projects=["mine"], role=role, actor="ana")

    def beside(self) -> dict[str, bytes]:
        """What lies next to the file and is not of `mine`, and the identity of the other."""
        places = [agents_folder(self.path), signals_folder(self.path) / "theirs", self.identity]
        found = [one for place in places for one in sorted(place.rglob("*")) if one.is_file()]
        return {str(one): one.read_bytes() for one in found}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("bound"))
    with made.memory:
        yield made


def _values(world: World, parameter: Parameter) -> tuple[Any, ...]:
    archive = agents_folder(world.path) / "ana" / "archive"
    paths = (
        next(archive.glob("*.jsonl")),
        archive,
        signals_folder(world.path) / "theirs" / "ana.jsonl",
        agents_folder(world.path) / "hooks.jsonl",
        world.path,
        world.identity,
        world.identity / "SOUL.md",
        archive / "new",
    )
    if parameter.name == "sources":
        return tuple((one,) for one in _SOURCES)
    found: dict[str, tuple[Any, ...]] = {
        "path": paths,
        "text": (*world.shared, "theirs", "ana", "talk", "doxa", "switch"),
        "texts": ((world.shared[0],), (world.shared[2],)),
        "kref": tuple(world.shared),
        "belief": tuple(world.shared),
        "integer": (1, 50),
        "flag": (True,),
        "time": ("2023-11-15",),
        "mapping": ({},),
        "function": (None,),
    }
    return found.get(parameter.kind, (None,))


def _calls(world: World, verb: Verb) -> Iterator[dict[str, Any]]:
    needed = [one for one in verb.parameters if one.required]
    base = [
        dict(zip([one.name for one in needed], values, strict=True))
        for values in product(*(_values(world, one) for one in needed))
    ]
    yield from islice(base, 0, None, max(1, len(base) // _TRIED_MAX))
    for one in verb.parameters:
        if not one.required and one.kind not in ("function", "object"):
            for value in _values(world, one):
                for given in base[:: max(1, len(base) // 3)][:3]:
                    yield given | {one.name: value}


@pytest.mark.parametrize("role", ["agent", "operator"])
@pytest.mark.parametrize("verb", AGENT, ids=lambda verb: verb.name)
def test_no_verb_reaches_the_files_of_another_project(verb: Verb, role: str, world: World) -> None:
    before, session = world.beside(), world.mine(role)
    placed = [one.name for one in verb.parameters if one.positional]
    for given in _calls(world, verb):
        args = [given[name] for name in placed if name in given]
        rest = {name: value for name, value in given.items() if name not in placed}

        def call(args: list[Any] = args, rest: dict[str, Any] = rest) -> object:
            found = getattr(session, verb.name)(*args, **rest)
            return list(found) if inspect.isgenerator(found) else found

        said = outcome(call)
        if CANARY not in repr(given).lower():
            assert CANARY not in said.lower(), (given, said)
    assert world.beside() == before


def test_who_reads_what_lies_in_no_project_is_not_bound(world: World) -> None:
    for call in (
        lambda one: one.hook_report(),
        lambda one: one.archive_verify(),
        lambda one: one.archive_write(),
    ):
        with pytest.raises(RoleError, match="whole file"):
            call(world.mine("operator"))
        call(world.memory.session(role="agent", actor="ana"))


def test_an_agent_does_not_look_at_the_archive_of_another(world: World) -> None:
    bob = world.memory.session(project="theirs", role="agent", actor="bob")
    with pytest.raises(RoleError, match="for the agent ana"):
        bob.archive_verify(agent="ana")


def test_a_declared_folder_is_read_by_sessions_of_the_whole_file(world: World) -> None:
    text = f"The {CANARY} garden grows."
    free = world.memory.session(project="theirs", role="agent", actor="ana")
    made = free.claim_propose(text, sources=["file:docs/secret.md"])
    assert free.claim_preview(made.kref).sources[0].verdict == "exact"
    same = world.mine("agent").claim_propose("A garden grows.", sources=["file:docs/secret.md"])
    assert world.mine("operator").claim_preview(same.kref).sources[0].excerpt == ""


def test_a_line_of_an_archive_is_a_source_in_its_own_project(world: World) -> None:
    lines = (agents_folder(world.path) / "ana" / "archive").glob("*.jsonl")
    day = next(lines).stem
    handles = [f"archive:kept@{day}#{number}" for number in range(1, 6)]
    for project, wanted in (("theirs", True), ("others", False)):
        free = world.memory.session(project=project, role="agent", actor="ana")
        made = free.claim_propose("Somebody asked about a place.", sources=handles)
        found = [one["excerpt"] for one in made.data["sources"]]
        assert any(CANARY in one for one in found) is wanted


@pytest.mark.parametrize("replace", [False, True])
def test_nobody_exports_into_the_folder_of_another_identity(world: World, replace: bool) -> None:
    before = world.beside()
    others = (
        world.mine("operator"),
        world.memory.session(project="theirs", role="operator", actor="bob"),
        world.memory.session(project="others", role="operator", actor="ana"),
    )
    for session in others:
        with pytest.raises((ConflictError, InputError), match="another identity"):
            session.identity_export(world.identity, replace=replace)
    assert world.beside() == before


def test_links_lead_to_the_files_of_a_memory_too(world: World, tmp_path: Path) -> None:
    link = tmp_path / "notes.txt"
    link.symlink_to(agents_folder(world.path) / "hooks.jsonl")
    with pytest.raises(InputError, match="belongs to the memory file"):
        world.mine("agent").attachment_add(link)
    (tmp_path / "m.db-agents-2").mkdir()
    assert not is_of_memory(tmp_path / "m.db", tmp_path / "m.db-agents-2")


# A memory that is opened for reading alone


def _read_only(path: Path) -> Memory:
    return doxa.open(path, role="operator", read_only=True, background=False, embedder=None)


def test_a_memory_that_is_read_only_leaves_its_neighbours_as_they_are(tmp_path: Path) -> None:
    made = World(tmp_path)
    made.memory.close()
    day = next((agents_folder(made.path) / "ana" / "archive").glob("*.jsonl"))
    with day.open("ab") as file:
        file.write(b'{"n": 9')  # a writer that was killed
    held = {str(one): one.read_bytes() for one in sorted(tmp_path.rglob("*")) if _counts(one)}
    with _read_only(made.path) as memory:
        session = memory.session(project="theirs", role="operator", actor="ana")
        writing: tuple[Callable[[], object], ...] = (
            lambda: session.metabolise("a", "b"),
            session.archive_write,
            lambda: session.identity_export(tmp_path / "new"),
            lambda: session.identity_export(made.identity, release=True),
            lambda: session.bundle_export(tmp_path / "bundle"),
            lambda: session.session_open("s"),
            lambda: session.attachment_add(b"a note"),
        )
        for call in writing:
            with pytest.raises(ReadOnlyError):
                call()
        for verb in AGENT:
            for given in islice(_calls(made, verb), 30):
                placed = [one.name for one in verb.parameters if one.positional]
                args = [given[name] for name in placed if name in given]
                rest = {name: value for name, value in given.items() if name not in placed}
                if verb.name != "archive_rebuild":  # it writes a file of its own
                    _tried(getattr(session, verb.name), args, rest)
        proof = session.archive_verify()
        assert proof.valid
        assert proof.lines > 1
    assert {
        str(one): one.read_bytes() for one in sorted(tmp_path.rglob("*")) if _counts(one)
    } == held


def _tried(call: Callable[..., object], args: list[Any], rest: dict[str, Any]) -> None:
    try:
        call(*args, **rest)
    except DoxaError:
        return


def _counts(path: Path) -> bool:
    return path.is_file() and not path.name.endswith(("-shm", "-wal"))
