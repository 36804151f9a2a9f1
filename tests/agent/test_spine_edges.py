"""What approvals, leases and contracts do at their edges: two processes at once, more risk than was
approved, time that passes with nobody there, and what belongs to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.agent.records.records import move_record
from doxa.agent.spine.governor import LEVELS
from doxa.base.clock import NS
from doxa.base.errors import ConflictError, ConstraintError, InputError
from doxa.store import Identity
from tests.agent.test_spine_ledger import World

_USERS = 4
_USE = """
import sys
import doxa
from doxa.base.errors import DoxaError

path, decision = sys.argv[1:]
with doxa.open(path, embedder=None, background=False) as memory:
    ana = memory.session(actor="ana", role="agent")
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        made = ana.govern("runtime_config", "Set it", decision=decision)
        print(f"used {made.state}")
    except DoxaError as error:
        print(f"refused {type(error).__name__}")
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m.doxa")
    with made.memory:
        yield made


@pytest.mark.parametrize("attempt", range(2))
def test_of_several_processes_one_uses_an_approval(tmp_path: Path, attempt: int) -> None:
    path = tmp_path / "m.doxa"
    with doxa.open(path, role="operator", embedder=None, background=False) as memory:
        ana = memory.session(actor="ana", role="agent")
        memory.ingest([{"text": "Set it", "role": "user", "speaker": "Kim"}])
        said = memory.recent(kinds=("exchange",))[0].kref
        made = ana.govern("runtime_config", "Set it", instruction=said)
        assert made.mode == "require_approval"
        memory.packet_move(made.kref, "approved", content_hash=made.content_hash)
        users = [
            subprocess.Popen(
                [sys.executable, "-c", _USE, str(path), made.kref],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(os.environ),
            )
            for _ in range(_USERS)
        ]
        for user in users:
            assert user.stdout is not None and user.stdout.readline() == "ready\n"
        for user in users:
            assert user.stdin is not None
            user.stdin.write("go\n")
            user.stdin.flush()
        said_by = sorted(user.communicate()[0].strip() for user in users)
        assert said_by == ["refused ConflictError"] * (_USERS - 1) + ["used consumed"]
        (row,) = memory.run("MATCH (r {kref: $kref}) RETURN r.state AS s", {"kref": made.kref})
        assert row[0] == "consumed"


@pytest.mark.parametrize(
    ("field", "worse"),
    [*((name, levels[-1]) for name, levels in LEVELS.items()), ("floor", "pause_recover"),
     ("boundaries", ["law"])],
)  # fmt: skip
def test_an_approval_is_of_no_more_risk_than_was_shown(
    world: World, field: str, worse: object
) -> None:
    kref, asked = world.approved()
    with pytest.raises(ConflictError, match=field):
        world.ana.govern(**asked | {field: worse}, decision=kref)
    assert world.state(kref) == "approved"
    assert world.ana.govern(**asked, decision=kref).state == "consumed"


def test_an_approval_that_could_not_be_used_is_not_given(world: World) -> None:
    said = world.say("Send it")
    made = world.ana.govern(
        "external_message", "Send", instruction=said
    )  # nobody confirmed whom to
    assert made.mode == "require_approval"
    with pytest.raises(ConstraintError, match="recipient_or_intent_unconfirmed"):
        world.olga.packet_move(made.kref, "approved", content_hash=made.content_hash)
    assert world.state(made.kref) == "pending"


def test_a_lease_that_is_used_up_is_paused_at_the_next_attempt(world: World) -> None:
    lease = world.olga.lease_grant(
        "Edit", allowed=["local_project_edit"], agent="ana", actions_max=1
    ).kref
    assert world.ana.govern("local_project_edit", "Edit", lease=lease).may_act
    assert not world.ana.govern("local_project_edit", "Edit again", lease=lease).may_act
    found = world.ana.leases()[0]
    assert (found.state, found.stopped) == ("paused", "actions_max")
    assert found.notices == ("stopped: actions_max",)
    world.ana.govern("local_project_edit", "And again", lease=lease)
    assert world.ana.leases()[0].notices == ("stopped: actions_max",)


def test_what_time_does_to_a_lease_is_noticed_with_nobody_there(world: World) -> None:
    now = world.clock.now_ns()
    world.olga.lease_grant(
        "Edit", allowed=["local_project_edit"], agent="ana", until=now + 7_200 * NS,
        notify=["stopped", "expiring"],
    )  # fmt: skip
    seen = []
    for _ in range(3):
        seen.append(world.olga.leases(agent="ana")[0].notices)
        world.clock.advance(seconds=3_700)
    assert seen == [(), ("expiring: it ends within the hour",), ("stopped: expired",)]


def test_another_agents_lease_is_not_paused_by_naming_it(world: World) -> None:
    lease = world.olga.lease_grant(
        "Edit", allowed=["local_project_edit"], agent="ana", actions_max=1
    ).kref
    world.ana.govern("local_project_edit", "Edit", lease=lease)
    bob = world.memory.session(actor="bob", role="agent")
    assert not bob.govern("local_project_edit", "Edit", lease=lease).may_act
    assert world.olga.leases(agent="ana")[0].state == "active"


def test_what_belongs_to_a_project_is_recalled_and_reviewed_and_no_more(world: World) -> None:
    turn = world.say("The build takes nine minutes.")
    belief = world.ana.remember("The build takes nine minutes.").kref
    for kref in (turn, belief):
        allowed = [
            name
            for name in ("ui_review", "recall_search", "context_injection", "planning",
                         "tool_action_execution", "memory_promotion", "scheduler", "governor")
            if world.ana.eligibility(kref, name).allowed
        ]  # fmt: skip
        assert allowed == ["ui_review", "recall_search"]


def test_what_covers_an_action_is_what_the_governor_may_use(world: World) -> None:
    held = world.olga.lease_grant(
        "Edit", allowed=["local_project_edit"], agent="ana", actions_max=2
    ).kref
    wish = world.ana.lease_grant("Edit", allowed=["local_project_edit"]).kref
    for _ in range(4):
        for kref in (held, wish):
            used = world.ana.eligibility(kref, "governor").allowed
            assert world.ana.govern("local_project_edit", "Edit", lease=kref).may_act == used


def test_a_reversal_leaves_its_receipt(world: World) -> None:
    turn = world.say("The build takes nine minutes.")
    lane = world.olga.packet_write(
        "declared_lane", "Facts", agent="ana",
        body={"roles": ["user"], "a_day_max": 5, "expires_ns": world.clock.now_ns() + 3_600 * NS},
    )  # fmt: skip
    claim = world.ana.packet_write(
        "maturation_candidate", "The build takes nine minutes.",
        body={"lane": "claim", "sources": [turn], "application": "autonomous",
              "declared": lane["id"], "rollback": "reverse it"},
    )["id"]  # fmt: skip
    world.ana.packet_move(str(claim), "applied")
    world.clock.advance(seconds=1)
    with (
        pytest.raises(ConstraintError, match="receipt"),
        world.memory.store.write(Identity("ana", "agent"), op="x") as tx,
    ):
        move_record(tx, str(claim), "reversed")
    assert world.ana.packet_move(str(claim), "reversed")["state"] == "reversed"
    assert len(world.ana.packets("outcome_event")) == 2


@pytest.mark.parametrize(
    ("given", "word"),
    [({"externality": "mars"}, "external"), ({"floor": "mars"}, "pause_recover")],
)
def test_a_word_that_is_not_known_is_answered_with_those_that_are(
    world: World, given: dict[str, str], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        world.ana.govern("local_project_edit", "Edit", **given)  # type: ignore[arg-type]
