"""Random histories of two agents, an operator and a clock: visibility, capability, success,
retrieval and handoff never become authority, and an approval is used at most once.

What may act is judged by a model that knows only instructions, leases of the operator and
approvals.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from doxa.agent.spine.governor import ACTION_CLASSES
from doxa.base.clock import NS
from doxa.base.errors import DoxaError
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

    @rule(who=AGENTS, named=CLASSES)
    def ask_for_a_lease(self, who: str, named: str) -> None:
        self.other.append(self.sessions[who].lease_grant("All", allowed=[named]).kref)

    @rule(who=AGENTS, named=st.sampled_from(COVERABLE))
    def grant(self, who: str, named: str) -> None:
        made = self.world.olga.lease_grant("Some", allowed=[named], agent=who)
        self.leases[made.kref] = (who, named, made.expires)

    @rule(data=st.data())
    def end_a_lease(self, data: st.DataObject) -> None:
        if self.leases:
            kref = data.draw(st.sampled_from(sorted(self.leases)))
            who = self.leases.pop(kref)[0]
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

    @rule(data=st.data(), by=st.sampled_from(("ana", "bob", "operator")), named=st.booleans())
    def approve(self, data: st.DataObject, by: str, named: bool) -> None:
        if not self.pending:
            return
        kref = data.draw(st.sampled_from(sorted(self.pending)))
        session = self.sessions.get(by, self.world.olga)
        digest = self.pending[kref][2] if named else ""
        try:
            session.packet_move(kref, "approved", content_hash=digest)
        except DoxaError:
            return
        assert by == "operator" and named
        assert kref not in self.approved
        self.approved[kref] = self.world.clock.now_ns()

    @rule(data=st.data(), who=AGENTS, twisted=st.booleans())
    def use(self, data: st.DataObject, who: str, twisted: bool) -> None:
        if not self.pending:
            return
        kref = data.draw(st.sampled_from(sorted(self.pending)))
        owner, asked, _ = self.pending[kref]
        asked = asked | ({"target": "another"} if twisted else {})
        try:
            made = self.sessions[who].govern(**asked, decision=kref)  # type: ignore[arg-type]
        except DoxaError:
            return
        assert made.may_act
        assert who == owner and not twisted
        assert self.world.clock.now_ns() - self.approved[kref] <= 3_600 * NS
        self.used.append(kref)

    @invariant()
    def an_approval_is_used_once(self) -> None:
        if hasattr(self, "used"):
            assert len(self.used) == len(set(self.used))
            assert set(self.used) <= self.approved.keys()


Authority.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAuthority = Authority.TestCase
