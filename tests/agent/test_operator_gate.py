"""The operator's gate: plans, changes with backup and receipt, rollback, crashes, the key, and that
no command of an agent passes."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from doxa.agent.gate import changes
from doxa.agent.gate.changes import hash_of
from doxa.app import Memory
from doxa.app.operator import OperatorGate, Wanted, may_operate
from doxa.base.errors import ConflictError, InputError, RoleError
from doxa.cli import app
from doxa.settings import edited
from doxa.store import Identity
from tests.fixtures_shared import opened

CONFIG = '# mine\nproject = "shop"  \n\n[models]\n# the model\nmodel = "ollama:small"\n'


class Place:
    """A memory with a key, a configuration and an identity file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            "DOXA_OPERATOR_KEY": str(folder / "operator.key"),
            "DOXA_CONFIG": str(folder / "doxa.toml"),
            "DOXA_DB": str(folder / "m.db"),
        }
        self.config = folder / "doxa.toml"
        self.config.write_text(CONFIG)
        self.soul = folder / "SOUL.md"

    def gate(self, memory: Memory, **environ: str) -> OperatorGate:
        return OperatorGate(memory, self.environ | environ)

    def command(self, *words: str, **environ: str) -> Result:
        known = dict.fromkeys(("CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE"), "")
        given = known | self.environ | {"DOXA_EMBEDDER": "none"} | environ
        return CliRunner().invoke(app, [*words, "--json"], env=given)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def memory(place: Place) -> Iterator[Memory]:
    path = place.folder / "m.db"
    with opened(path, embedder=None, project="p", actor="olga") as made:
        place.gate(made).register()
        yield made


MODEL = Wanted("configuration", {"models.model": "ollama:large"})


def test_a_change_is_planned_applied_and_taken_back(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    plan = gate.plan(MODEL)
    assert place.config.read_text() == CONFIG
    assert '-model = "ollama:small"\n+model = "ollama:large"' in plan.diff
    made = gate.apply(MODEL, plan.id)
    assert place.config.read_text() == CONFIG.replace("small", "large")
    backup = Path(made.data["backup"])
    assert backup.read_text() == CONFIG
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert made.data["before"] == hash_of(CONFIG.encode())
    assert gate.status()[0][1] == ""
    gate.rollback(made.kref)
    assert place.config.read_text() == CONFIG
    with pytest.raises(ConflictError):
        gate.rollback(made.kref)
    ops = [row["op"] for row in memory.run("CALL doxa.log() YIELD op RETURN op").records()]
    assert {"operator.apply", "operator.applied", "operator.rollback"} <= set(ops)


def test_only_what_was_planned_is_applied(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    plan = gate.plan(MODEL)
    with pytest.raises(ConflictError):
        gate.apply(Wanted("configuration", {"models.model": "ollama:other"}), plan.id)
    place.config.write_text(CONFIG + "# edited meanwhile\n")
    with pytest.raises(ConflictError):
        gate.apply(MODEL, plan.id)
    assert "edited meanwhile" in place.config.read_text()
    assert list(place.folder.glob("*.bak")) == []


def test_a_change_that_was_overwritten_is_not_taken_back(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    made = gate.apply(MODEL, gate.plan(MODEL).id)
    place.config.write_text("project = 'other'\n")
    with pytest.raises(ConflictError):
        gate.rollback(made.kref)


def test_a_backup_that_differs_is_reported_and_not_restored(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    made = gate.apply(MODEL, gate.plan(MODEL).id)
    backup = Path(made.data["backup"])
    backup.write_text("something else")
    assert "does not say" in gate.status()[0][1]
    with pytest.raises(ConflictError):
        gate.rollback(made.kref)
    backup.write_text(CONFIG)
    backup.chmod(0o644)
    assert "read by others" in gate.status()[0][1]
    backup.unlink()
    assert "not there" in gate.status()[0][1]


class Killed(BaseException):
    """The process died here."""


def killed_at(monkeypatch: pytest.MonkeyPatch, memory: Memory, step: int) -> None:
    """Let the process die before the given one of its steps: syncs, renames, removals, commits."""
    left = step

    def counting(made: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return made(*given, **named)

        return counted

    for owner, name in (
        (os, "fsync"),
        (Path, "replace"),
        (Path, "unlink"),
        (changes.tempfile, "mkstemp"),
        (memory.store, "write"),
    ):
        monkeypatch.setattr(owner, name, counting(getattr(owner, name)))


@pytest.mark.parametrize("what", ["apply", "rollback"])
def test_a_crash_between_any_two_steps_is_settled(
    place: Place, memory: Memory, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The file is whole, the receipt says which it was, nothing is left over, and the next change
    and its reversal go through."""
    after, states, step = CONFIG.replace("small", "large"), Counter[str](), 0
    gate = place.gate(memory)
    while True:
        plan = gate.plan(MODEL)
        made = gate.apply(MODEL, plan.id) if what == "rollback" else None
        with monkeypatch.context() as patched:
            killed_at(patched, memory, step)
            try:
                gate.rollback(made.kref) if made else gate.apply(MODEL, plan.id)
                died = False
            except Killed:
                died = True
        assert place.config.read_text() in (CONFIG, after)
        (newest, problem) = gate.status()[0] if gate.status() else (None, "")
        state = newest.state if newest else "none"
        assert (problem, list(place.folder.glob(".*doxa-*"))) == ("", [])
        applied = place.config.read_text() == after
        assert (state == "applied") == applied
        states[state] += 1
        if applied:
            assert newest is not None
            gate.rollback(newest.kref)
        assert place.config.read_text() == CONFIG
        if not died:
            break
        step += 1
    assert step >= 6
    assert {"applied", "abandoned" if what == "apply" else "rolled_back"} <= set(states)


def test_a_file_that_was_changed_past_the_gate_is_reported(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    gate.apply(MODEL, gate.plan(MODEL).id)
    large = Wanted("configuration", {"models.model": "ollama:huge"})
    gate.apply(large, gate.plan(large).id)
    assert [problem for _, problem in gate.status()] == ["", ""]
    place.config.write_text("project = 'other'\n")
    assert [bool(problem) for _, problem in gate.status()] == [True, False]
    other = OperatorGate(memory, place.environ)
    memory.identity = Identity("oskar", "operator")
    assert len(other.status()) == 2  # another operator sees the changes of this one


def test_an_agents_shell_makes_no_key_and_has_no_rights_of_it(place: Place, memory: Memory) -> None:
    shell = {"CLAUDECODE": "1"}
    assert not may_operate(memory, place.environ | shell)
    memory.remember("The plan holds", name="plan")
    tag = ("tag", "kref://p/plan.fact?r=1", "approved")
    assert place.command(*tag, **shell).exit_code == 4
    with opened(place.folder / "new.db", embedder=None, actor="olga") as made:
        gate = place.gate(made, DOXA_OPERATOR_KEY=str(place.folder / "new.key"), **shell)
        with pytest.raises(RoleError, match="belongs to an agent"):
            gate.register()
        assert not (place.folder / "new.key").exists()


def test_identity_files_change_as_a_whole(place: Place, memory: Memory) -> None:
    gate, new = place.gate(memory), place.folder / "new.md"
    new.write_text("I am patient.\n")
    wanted = Wanted("identity", {}, place.soul, new)
    made = gate.apply(wanted, gate.plan(wanted).id)
    assert place.soul.read_text() == "I am patient.\n"
    assert stat.S_IMODE(place.soul.stat().st_mode) == 0o600
    gate.rollback(made.kref)
    assert not place.soul.exists()
    place.soul.symlink_to(new)
    with pytest.raises(InputError):
        gate.plan(wanted)


def test_modes_and_policies_change_in_one_transaction(place: Place, memory: Memory) -> None:
    gate = place.gate(memory)
    wanted = Wanted("modes", {"claims.mode": "enforce"})
    plan = gate.plan(wanted)
    with memory.store.read() as snapshot:
        assert snapshot.catalogue("claims:mode") is None
    made = gate.apply(wanted, plan.id)
    with memory.store.read() as snapshot:
        assert snapshot.catalogue("claims:mode") == "enforce"
    with pytest.raises(ConflictError):
        gate.apply(Wanted("modes", {"claims.mode": "diagnostic"}), plan.id)
    gate.rollback(made.kref)
    with memory.store.read() as snapshot:
        assert snapshot.catalogue("claims:mode") is None
    script = place.folder / "policies.cypher"
    script.write_text("CREATE DECAY PROFILE slow OPTIONS { halfLifeSeconds: 86400 }")
    policies = Wanted("policies", {}, None, script)
    plan = gate.plan(policies)
    assert "slow" in plan.diff
    assert memory.read("SHOW DECAY PROFILES").records() == []
    made = gate.apply(policies, plan.id)
    assert len(memory.read("SHOW DECAY PROFILES").records()) == 1
    gate.rollback(made.kref)
    assert memory.read("SHOW DECAY PROFILES").records() == []
    script.write_text("MATCH (n) DETACH DELETE n")
    with pytest.raises(InputError):
        gate.plan(policies)


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"models.model": "x", "models.nothing": "x"}, InputError),
        ({"models.calls_max": "many"}, InputError),
        ({"models": "x"}, InputError),
        ({"openai_key": "x"}, InputError),
    ],
)
def test_a_configuration_that_could_not_be_read_is_not_planned(
    place: Place, memory: Memory, given: dict[str, str], refused: type[Exception]
) -> None:
    with pytest.raises(refused):
        place.gate(memory).plan(Wanted("configuration", given))


def test_keys_are_set_line_by_line() -> None:
    path = Path("doxa.toml")
    text = edited(path, CONFIG, {"models.model": "", "policies.decay": "on", "project": "garden"})
    assert text == (
        '# mine\nproject = "garden"\n\n[models]\n# the model\n[policies]\ndecay = "on"\n'
    )
    assert edited(path, "", {"models.calls_max": "7"}) == "[models]\ncalls_max = 7\n"


# The key


def test_who_cannot_read_the_key_is_refused_everything(place: Place, memory: Memory) -> None:
    plan = place.gate(memory).plan(MODEL)
    for name, environ in refusals(place).items():
        gate = place.gate(memory, **environ)
        for attempt in (
            gate.register,
            lambda gate=gate: gate.plan(MODEL),
            lambda gate=gate: gate.apply(MODEL, plan.id),
            lambda gate=gate: gate.rollback("kref://p/agents/olga/change/x.record"),
            gate.status,
        ):
            with pytest.raises(RoleError):
                attempt()
            assert place.config.read_text() == CONFIG, name


def refusals(place: Place) -> dict[str, dict[str, str]]:
    """What is refused, as the environment of a process: the table of the guide."""
    found: dict[str, dict[str, str]] = {}
    own = place.folder / "operator.key"
    for name, text, mode in (
        ("others may read it", own.read_text(), 0o640),
        ("another key", "0" * 64, 0o600),
        ("an empty key", "", 0o600),
    ):
        path = place.folder / f"{name}.key"
        path.write_text(text)
        path.chmod(mode)
        found[name] = {"DOXA_OPERATOR_KEY": str(path)}
    link = place.folder / "link.key"
    link.symlink_to(own)
    found["a link"] = {"DOXA_OPERATOR_KEY": str(link)}
    found["no file"] = {"DOXA_OPERATOR_KEY": str(place.folder / "none.key")}
    found["a folder"] = {"DOXA_OPERATOR_KEY": str(place.folder)}
    found["the shell of an agent"] = {"CLAUDECODE": "1"}
    return found


def test_commands_without_the_key_are_an_agents(place: Place, memory: Memory) -> None:
    memory.remember("The plan holds", name="plan")
    other = {"DOXA_OPERATOR_KEY": str(place.folder / "none.key")}
    tag = ("tag", "kref://p/plan.fact?r=1", "approved")
    refused = place.command(*tag, **other)
    assert refused.exit_code == 4
    assert json.loads(refused.stderr)["error"]["code"] == "role"
    assert place.command("remember", "An agent may state this", **other).exit_code == 0
    assert place.command(*tag).exit_code == 0
    assert may_operate(memory, place.environ)
    assert not may_operate(memory, place.environ | other)


def test_the_commands_go_the_whole_way(place: Place, memory: Memory) -> None:
    given = ("configuration", "--set", "models.model=ollama:large")
    plan = json.loads(place.command("operator", "plan", *given).stdout)
    apply = ("operator", "apply", *given, "--plan", plan["id"])
    assert place.command(*apply).exit_code == 4  # without --yes
    assert place.config.read_text() == CONFIG
    made = json.loads(place.command(*apply, "--yes").stdout)
    assert "large" in place.config.read_text()
    assert json.loads(place.command("operator", "status").stdout)[0]["problem"] == ""
    back = ("operator", "rollback", made["kref"])
    assert place.command(*back).exit_code == 4
    assert place.command(*back, "--yes").exit_code == 0
    assert place.config.read_text() == CONFIG


def test_a_memory_without_a_key_has_no_gate(place: Place) -> None:
    with opened(place.folder / "other.db", embedder=None, actor="olga") as made:
        gate = place.gate(made)
        with pytest.raises(RoleError, match="no operator key"):
            gate.plan(MODEL)
        first = gate.register()
        assert stat.S_IMODE(os.stat(gate.key_file).st_mode) == 0o600
        assert gate.register() == first
        thief = place.gate(made, DOXA_OPERATOR_KEY=str(place.folder / "thief.key"))
        with pytest.raises(RoleError):
            thief.register()
