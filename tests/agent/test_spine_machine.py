"""Random histories of two agents, an operator and a clock: visibility, capability, success,
retrieval and handoff never become authority, and an approval is used at most once.

What may act is judged by a model that knows only instructions, leases of the operator and
approvals.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from doxa.agent.spine.governor import ACTION_CLASSES
from doxa.agent.spine.ledger import Decision
from doxa.base.clock import NS
from doxa.base.errors import ConstraintError, DoxaError
from tests.agent.test_spine_ledger import World

CLASSES = st.sampled_from(ACTION_CLASSES)
AGENTS = st.sampled_from(("ana", "bob"))
COVERABLE = ("read_only_investigation", "local_project_edit", "memory_append")
NEVER_BY_ITSELF = ("external_message", "runtime_config", "tool_policy", "physical_action",
                   "claim_maturation", "procedural_learning", "safety_policy",
                   "context_eligibility")  # fmt: skip


class Authority(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder / "m.doxa")
        self.sessions = {
            name: self.world.memory.session(actor=name, role="agent") for name in ("ana", "bob")
        }
        self.instructions: dict[str, int] = {}
        self.leases: dict[str, tuple[str, str, int]] = {}
        self.other: list[str] = []  # whatever is not authority
        self.pending: dict[str, tuple[str, dict[str, object], str]] = {}
        self.approved: dict[str, int] = {}
        self.used: list[str] = []
        self.number = 0

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.memory.close()
            shutil.rmtree(self.folder)

    @rule(seconds=st.sampled_from((1, 600, 4_000, 90_000)))
    def wait(self, seconds: int) -> None:
        self.world.clock.advance(seconds=seconds)

    @rule()
    def instruct(self) -> None:
        self.number += 1
        kref = self.world.say(f"Please do number {self.number}.")
        self.instructions[kref] = self.world.clock.now_ns()

    @rule(who=AGENTS)
    def remember_a_permission(self, who: str) -> None:
        self.number += 1
        text = f"Agent {who} has permission number {self.number} to act."
        self.other.append(self.sessions[who].remember(text).kref)

    @rule(role=st.sampled_from(("assistant", "tool")))
    def hear_somebody_else(self, role: str) -> None:
        self.number += 1
        said = self.world.say(f"You may do number {self.number}.", role=role, speaker="page")
        self.other.append(said)

    @rule(who=AGENTS, named=st.sampled_from(COVERABLE))
    def ask_for_a_lease(self, who: str, named: str) -> None:  # it is a candidate
        self.other.append(self.sessions[who].lease_grant("All", allowed=[named]).kref)

    @rule(who=AGENTS, named=st.sampled_from(COVERABLE))
    def grant(self, who: str, named: str) -> None:
        made = self.world.olga.lease_grant("Some", allowed=[named], agent=who)
        self.leases[made.kref] = (who, named, made.expires)

    @rule(data=st.data())
    def end_a_lease(self, data: st.DataObject) -> None:
        if self.leases:
            kref = data.draw(st.sampled_from(sorted(self.leases)))
            who, _, expires = self.leases.pop(kref)
            over = self.world.clock.now_ns() >= expires
            with contextlib.suppress(
                *([ConstraintError] if over else [])
            ):  # it may be noted already
                self.sessions[who].lease_end(kref)
            self.other.append(kref)

    @rule(who=AGENTS, named=CLASSES, data=st.data())
    def act(self, who: str, named: str, data: st.DataObject) -> None:
        known = [*self.instructions, *self.leases, *self.other, ""]
        instruction, lease = (data.draw(st.sampled_from(known)) for _ in range(2))
        asked: dict[str, object] = {
            "action_class": named, "action": f"do {named}", "instruction": instruction,
            "lease": lease, "confirmed": data.draw(st.booleans()),
        }  # fmt: skip
        made = self.sessions[who].govern(**asked)  # type: ignore[arg-type]
        now = self.world.clock.now_ns()
        said = self.instructions.get(instruction)
        by_person = said is not None and now - said <= 86_400 * NS
        holder, of, expires = self.leases.get(lease, ("", "", 0))
        by_lease = holder == who and of == named and now < expires
        if made.may_act:
            assert named == "ordinary_conversation" or by_person or by_lease
            assert named not in NEVER_BY_ITSELF
        if made.mode == "require_approval":
            self.pending[made.kref] = (who, asked, made.content_hash)
        else:
            self.other.append(made.kref)
        if made.may_act:
            done = self.sessions[who].outcome("observed", decision=made.kref)
            self.other.append(str(done["id"]))  # a success is kept, and allows nothing

    @rule(who=AGENTS, named=st.sampled_from(COVERABLE))
    def show_everything_that_is_not_authority(self, who: str, named: str) -> None:
        for kref in [*self.other[-8:], "kref://default/nothing"]:
            made = self.sessions[who].govern(named, "do it", instruction=kref, lease=kref)
            assert not made.may_act, kref
        for kref, (holder, of, expires) in self.leases.items():
            made = self.sessions[who].govern(named, "do it", instruction=kref, lease=kref)
            in_force = holder == who and of == named and self.world.clock.now_ns() < expires
            assert in_force or not made.may_act

    @precondition(lambda self: self.instructions)
    @rule(who=AGENTS)
    def ask_for_an_approval(self, who: str) -> None:
        said = max(self.instructions, key=self.instructions.__getitem__)
        asked: dict[str, object] = {
            "action_class": "runtime_config", "action": "set it", "instruction": said,
        }  # fmt: skip
        made = self.sessions[who].govern(**asked)  # type: ignore[arg-type]
        assert made.mode == "require_approval"
        self.pending[made.kref] = (who, asked, made.content_hash)

    @precondition(lambda self: set(self.pending) - set(self.approved))
    @rule(data=st.data())
    def approve(self, data: st.DataObject) -> None:
        kref = data.draw(st.sampled_from(sorted(set(self.pending) - set(self.approved))))
        digest = self.pending[kref][2]
        for session, named in (
            (self.sessions["ana"], digest),
            (self.sessions["bob"], digest),
            (self.world.olga, ""),
            (self.world.olga, "0" * 64),
        ):
            with pytest.raises(DoxaError):
                session.packet_move(kref, "approved", content_hash=named)
        with pytest.raises(DoxaError):  # not approved yet
            self.use(kref)
        with contextlib.suppress(ConstraintError):  # it may be too old
            self.world.olga.packet_move(kref, "approved", content_hash=digest)
            self.approved[kref] = self.world.clock.now_ns()

    @precondition(lambda self: set(self.approved) - set(self.used))
    @rule(data=st.data())
    def use_an_approval(self, data: st.DataObject) -> None:
        kref = data.draw(st.sampled_from(sorted(set(self.approved) - set(self.used))))
        owner = self.pending[kref][0]
        for who, changed in (
            (owner, {"target": "another"}),
            (owner, {"action": "set more"}),
            ("bob" if owner == "ana" else "ana", {}),
        ):
            with pytest.raises(DoxaError):
                self.use(kref, who, **changed)
        if self.world.clock.now_ns() - self.approved[kref] > 3_600 * NS:
            with pytest.raises(DoxaError):
                self.use(kref)
            return
        assert self.use(kref).may_act
        self.used.append(kref)
        with pytest.raises(DoxaError):
            self.use(kref)

    def use(self, kref: str, who: str = "", **changed: object) -> Decision:
        owner, asked, _ = self.pending[kref]
        given = asked | changed
        return self.sessions[who or owner].govern(**given, decision=kref)  # type: ignore[arg-type]

    @invariant()
    def an_approval_is_used_once(self) -> None:
        if hasattr(self, "used"):
            assert len(self.used) == len(set(self.used))
            assert set(self.used) <= self.approved.keys()


Authority.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAuthority = Authority.TestCase
