"""What each writing verb, procedure and tool is tried with at the gates of the store.

`ATTEMPTS` has a row for every writing verb: what an agent gives it to touch what an operator
decided, with T for an address that is protected. What the parameters of a verb make possible
besides, secrets in its texts, other projects and full files, follows from the verb table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import doxa
from doxa.app import Session
from doxa.app.verbs import Parameter, Verb
from doxa.base.errors import InputError
from doxa.base.lookalikes import reads_as
from doxa.belief.graph import PROTECTED_TAGS
from doxa.jobs import Caps, begin
from doxa.store import check
from tests.fixtures_shared import opened

Given = dict[str, Any]

T = "<protected>"
CHANGE, CONFLICT, ELEMENT = "<an operator's change>", "<a conflict>", "<an element>"
FILE, TALK, NOTES = "<an export>", "<a talk>", "<a folder of notes>"
ROWS, TAGS, SAME = "<rows of pages>", "<rows of tags>", "<rows of entities>"
FOLDER, NEW = "<a folder of identity files>", "<a new folder>"
PENDING, RUN, PROPOSAL = "<a pending name>", "<a run>", "<a proposal>"
HOME, PLAN, HIDDEN, LOST = (f"kref://p/{name}.fact" for name in ("home", "plan", "hidden", "lost"))
BARN = "kref://p/barn.fact"  # a run retired it, applied by an operator
GROUND, FREE = "kref://p/ground.fact", "kref://p/free.fact"
THEIRS = "kref://theirs/well.fact"
PROTECTED = (HOME, PLAN, HIDDEN, LOST)
LOOKALIKE = "\u0410da"  # its first letter is not a Latin one
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
CLAIM = "Ana lives in Oslo"
_OSLO = [["Ana", "lives in", "Oslo"]]
_TURN = dict.fromkeys(("session", "id"), "one") | {
    "thread": "one",
    "speaker": "Ana",
    "role": "user",
    "text": CLAIM,
}
_REPLACED = {"text": CLAIM, "facts": _OSLO}
_LEASE: Given = {"objective": "Tidy the notes", "allowed": ["memory_append"], "owner": "olga"}
_ACTION: Given = {"action_class": "memory_append", "action": "note"}
_SCAFFOLD: Given = {
    "change": "Look at the notes first",
    "change_type": "tool_hint",
    "target": "notes",
    "evidence": [HOME + "?r=1", PLAN + "?r=1"],
    "expected_effect": "fewer errors",
    "verification": "count the errors",
    "rollback": "take it out",
}
_STATE: Given = {
    "source_type": "turn",
    "sources": [GROUND + "?r=1"],
    "evidence_class": "user_statement",
    "observed_ns": 1,
}
_APPROVALS = ("approved", "VERIFIED", "v\u0435rified")


def _grounds(**given: Any) -> tuple[Given, ...]:
    return tuple(given | {name: [T]} for name in ("derived_from", "depends_on"))


# verb: what an agent tries. Each is open to an operator, of at least one of the addresses.
ATTEMPTS: dict[str, tuple[Given, ...]] = {
    "open": (),  # a role of its own: tests/app
    "ingest": (
        {"source": [{"text": CLAIM, "speaker": "Ana"}]},
        {"source": TALK, "trust": "stated"},
    ),
    "remember": (
        {"text": CLAIM, "trust": "verified"},
        {"text": CLAIM, "name": "home", "facts": _OSLO},
        {"text": CLAIM, "kind": "Verified"},
        *_grounds(text="A claim with grounds"),
    ),
    "tell": (
        {"text": CLAIM, "trust": "verified"},
        {"text": "Bo lives in Kiel", "kind": "approved"},
        {"text": "Ana no longer lives in Rome"},
        {"text": CLAIM, "facts": _OSLO},
    ),
    "revise": (
        {"what": T, **_REPLACED},
        {"what": ["Bo", "lives in", "Kiel"], "text": "Bo lives in Kiel", "kind": "approved"},
        {"what": T, "text": CLAIM, "trust": "verified"},
        {"what": _OSLO[0], "text": CLAIM, "trust": "verified"},
        {"what": _OSLO[0], "text": CLAIM, "item": T},
    ),
    "expand": (
        {"text": "Bo lives in Kiel", "trust": "verified"},
        {"text": "Bo lives in Kiel", "kind": "approved"},
        *_grounds(text="A claim with grounds"),
    ),
    "supersede": (
        {"kref": T, "text": CLAIM, "kind": "approved"},
        {"kref": T, **_REPLACED},
        {"kref": T, "text": CLAIM, "trust": "verified"},
    ),
    "contract": ({"what": T}, {"what": ["Ana", "lives in", "Rome"]}),
    "deprecate": ({"kref": T},),
    "restore": ({"kref": T},),
    "rollback": ({"kref": T + "?r=1"},),
    "undo": ({"change": CHANGE},),
    "forget": ({"kref": T}, {"kref": T, "erase": True}, {"kref": "kref://p"}),
    "resolve": (
        {"conflict": CONFLICT, "decision": "accept"},
        {"conflict": CONFLICT, "decision": "both", "valid_from": "2030-01-01"},
    ),
    "constrain": (
        {"constraints": {"functional": ["lives in"]}},
        {"constraints": {}, "entrenchment": {"kinds": {"note": "fact"}}},
    ),
    "tag": tuple({"kref": T, "tag": name} for name in _APPROVALS),
    "untag": ({"kref": T, "tag": "approved"},),
    "link": (
        {"source": T + "?r=1", "target": FREE, "kind": "DEPENDS_ON"},
        {"source": T + "?r=1", "target": FREE, "kind": "DERIVED_FROM"},
        {"source": FREE, "target": T, "kind": "DEPENDS_ON"},
    ),
    "unlink": ({"source": T + "?r=1", "target": GROUND, "kind": "DEPENDS_ON"},),
    "attach": ({"kref": T + "?r=1", "name": "f", "location": "https://files.example/f"},),
    "bundle": (
        {"kref": "kref://p/new.bundle", "add": [T]},
        {"kref": "kref://p/set.bundle", "remove": [HOME]},
    ),
    "store_unit": (
        {"text": "The moon is far", "tags": ["noted"], "bundles": ["kref://p/new.bundle"]},
        {"text": CLAIM, "trust": "verified"},
        {"text": CLAIM, "kind": "Verified"},
        {"text": CLAIM, "name": "home", "facts": _OSLO},
        *({"text": "A unit with a tag", "tags": [name]} for name in _APPROVALS),
        *_grounds(text="A unit with grounds"),
        *({"text": "A unit with links", name: [T]} for name in ("created_from", "references")),
    ),
    "store_execution": (
        {"task": "Wind the clock", "output": "It ticks"},
        {"task": "Wind the clock", "tags": ["approved"]},
        *({"task": "Wind it", name: [T]} for name in ("derived_from", "created_from")),
    ),
    "add_response": ({"text": "It is behind the clock.", "sources": [T]},),
    "discover_edges": (
        {"kref": T, "dry_run": False, "score_min": 0.0},
        {"kref": T, "dry_run": False, "types": ["DERIVED_FROM"], "score_min": 0.0},
    ),
    "run": (),  # every gate has its statements in test_gate_matrix
    "write": (),
    "extract": ({},),
    "chat_add": ({"text": CLAIM, "session": "s"},),
    "chat_clear": ({"session": "s"}, {"every": True}),
    "chat_consolidated": ({"through": "1", "session": "s"},),
    "set_cursor": ({"name": "c", "after": "0"},),
    "claim_propose": (
        {"text": "Rome is in Italy", "sources": ["kref:p/ground.fact"]},
        {"text": CLAIM, "sources": ["kref:p/home.fact"], "agent": "bot"},
    ),
    "claim_produce": ({"session": "one"}, {"handoff": "one"}),
    "claim_decide": (
        {"claim": T, "decision": "accept", "claim_hash": "0", "source_hash": "0", "reason": "x"},
    ),
    "mention": (
        {"name": "Dan"},
        {"name": "Hal", "aliases": ["Ada"], "source": T + "?r=1"},
        {"name": "Ada", "aliases": ["Bob"], "kind": "person"},
        {"name": "Ida", "kind": "approved"},
        {"name": LOOKALIKE, "source": T + "?r=1"},
    ),
    "record_mentions": ({}, {"again": True}),
    "merge_entities": (
        {"entity": "Bob", "into": "Ada"},
        {"entity": "Ada", "into": "Bob"},
        {"entity": LOOKALIKE, "into": "Bob"},
    ),
    "split_entity": ({"entity": "Cam"}, {"entity": "Ada", "sources": [HOME + "?r=1"]}),
    "verify_entity": ({"entity": "Bob"}, {"entity": "Ada", "remove": True}),
    "resolve_entity": (
        {"mention": PENDING, "answer": "new"},
        {"mention": PENDING, "answer": "Ada", "sources": [HOME + "?r=1"]},
    ),
    "consolidate": ({}, {"target": "talk", "producer": "rules"}),
    "import_": ({"path": FILE, "accept_protected": True},),
    "load": (
        {"path": ROWS, "label": "Page", "key": "n"},
        {"path": TAGS, "edge": "TAG", "start": "item:Item.kref", "end": "revision:Revision.kref"},
        {"path": SAME, "edge": "SAME_AS", "start": "one:Entity.kref", "end": "other:Entity.kref"},
    ),
    "import_notes": ({"folder": NOTES, "accept_protected": True},),
    "dream": ({"apply": True, "age_days": 0.0, "share": 0.9},),
    "nightshift": ({"jobs": ["dream"], "apply": True}, {"jobs": ["retain"]}),
    "apply": ({"proposals": [PROPOSAL], "age_days": 0.0},),
    "reject": ({"proposal": PROPOSAL},),
    "undo_run": ({"run": RUN},),
    "quota": ({"items": 1_000_000},),
    "spend_cap": ({"purpose": "all", "tokens": 1_000_000},),
    "embed": ({},),
    "flush": ({},),
    "erase": ({"text": "clock"}, {"elements": [ELEMENT]}),
    "purge": ({"source": GROUND},),
    "retain": ({},),
    "hold": ({"name": "h", "kind": "address", "value": HOME},),
    "release": ({"name": "held"},),
    "attachment_add": ({"source": TALK},),
    "attachment_note": ({"kref": "kref://p/agents/x/attachment/att_0.record", "text": CLAIM},),
    "verifier_declare": ({"kref": T, "kind": "command", "command": ["true"]},),
    "window_declare": ({"since": "2026-01-01", "until": "2026-02-01", "why": CLAIM},),
    "context_withdraw": ({"kref": "kref://p/agents/context/window/x.record"},),
    "restart_begin": ({"key": "k", "declared": 1}, {"key": "k", "agent": "bot"}),
    "restart_step": ({"call": "ping", "outcome": "succeeded", "key": "k"},),
    "session_open": ({"session": "one"},),
    "handoff_write": ({"session": "talk", "thread": "talk", "reason": "end"},),
    "handoff_take": ({"session": "one"},),
    "handoff_quarantine": (
        {"handoff": T, "reason": CLAIM},
        {"handoff": T, "release": True},
    ),
    "knowledge_root": ({"folder": NOTES}, {"folder": NOTES, "agent": "eve"}),
    "knowledge_index": ({"folder": NOTES},),
    "knowledge_recall": ({"text": CLAIM},),
    "archive_write": ({}, {"agent": "bot"}),
    "growth_propose": (
        {"text": "I am patient with people.", "file": "SOUL"},
        {"text": "I am patient with people.", "file": "SOUL", "agent": "bot"},
    ),
    "crystallise_approve": ({"candidate": T, "content_hash": "0" * 64},),
    "crystallise_apply": ({"candidate": T, "nonce": "0"},),
    "crystallise_reverse": ({"candidate": T},),
    "identity_export": ({"folder": FOLDER, "replace": True},),
    "identity_import": ({"folder": FOLDER}, {"folder": FOLDER, "agent": "bot"}),
    "metabolise": ({"user": CLAIM, "reply": "Noted."},),
    "contemplate": ({}, {"agent": "bot"}),
    "lease_grant": (_LEASE, _LEASE | {"agent": "bot"}),
    "lease_end": ({"lease": T, "state": "active"},),
    "govern": (
        _ACTION,
        _ACTION | {"instruction": T},
        _ACTION | {"lease": T, "confirmed": True},
        _ACTION | {"decision": T},
    ),
    "outcome": (
        {"status": "observed", "intent": CLAIM},
        {"status": "observed", "intent": CLAIM, "decision": T},
        {"status": "observed", "intent": CLAIM, "lease": T},
    ),
    "packet_write": (
        {"kind": "state_record", "text": CLAIM, "body": _STATE},
        {"kind": "state_record", "text": CLAIM, "body": _STATE, "agent": "bot"},
    ),
    "packet_move": ({"packet": T, "state": "approved"},),
    "standing_in": ({"person": "Ana"},),
    "standing_out": ({"person": "Ana"},),
    "standing_appeal": ({"evidence": T, "decision": "removed"},),
    "standing_update": ({}, {"agent": "bot"}),
    "scaffold_propose": (_SCAFFOLD, _SCAFFOLD | {"agent": "bot"}),
    "scaffold_decide": ({"scaffold": T, "decision": "accepted"},),
    "refine": ({"dry_run": False},),
    "bundle_export": ({"folder": NEW},),
    "bundle_approve": ({"bundle": T, "manifest_hash": "0" * 64},),
}
# Parameters whose values stand for nothing that is protected.
NAMES_NOTHING = {
    "claim_propose": ("kind",),  # a kind of claims
    "packet_write": ("kind",),  # a kind of packets
    "link": ("kind",),  # a type of edges
    "unlink": ("kind",),
    "hold": ("kind",),  # what the value is
    "verifier_declare": ("kind",),  # how it is checked
}
# Procedures that write and are not verbs, and statements that try them on what an operator decided.
PROCEDURES: dict[str, tuple[str, ...]] = {
    "apoc.create.addLabels": (
        "MATCH (v:Revision {kref: $home}) CALL apoc.create.addLabels([v], ['Exchange']) YIELD node"
        " RETURN node",
    ),
    "apoc.merge.node": (
        "CALL apoc.merge.node(['Revision'], {kref: $home}, {}, {trust: 'candidate'}) YIELD node"
        " RETURN node",
        "CALL apoc.merge.node(['Foo'], {kref: 'kref://gamma'}) YIELD node RETURN node",
    ),
    "apoc.merge.relationship": (
        "MATCH (v {kref: $home}), (x:Item {name: 'free'}) CALL apoc.merge.relationship(v,"
        " 'DEPENDS_ON', {}, {}, x) YIELD rel RETURN rel",
    ),
    "apoc.refactor.mergeNodes": (
        "MATCH (v {kref: $home}), (x {kref: $plan}) CALL apoc.refactor.mergeNodes([v, x]) YIELD"
        " node RETURN node",
    ),
    "db.create.setNodeVectorProperty": (
        "MATCH (v {kref: $home}) CALL db.create.setNodeVectorProperty(v, 'x', [1.0])",
    ),
    "db.create.setRelationshipVectorProperty": (
        "MATCH ({kref: $home})-[e:DEPENDS_ON]->() CALL"
        " db.create.setRelationshipVectorProperty(e, 'set', [1.0])",
    ),
    "doxa.policy.restore": (
        "MATCH (v:Revision {kref: $hidden}) CALL doxa.policy.restore(reveal(v)) YIELD changed"
        " RETURN changed",
    ),
    "doxa.policy.suppress": ("MATCH (v {kref: $home}) CALL doxa.policy.suppress(v)",),
}
# Every function that makes a RoleError. Empty: attempts of these tables meet it; else who does.
GUARDS = dict.fromkeys(
    (
        "agent/records/law:_require_role",
        "agent/records/law:check_change",
        "agent/growth/crystallising:approve",
        "agent/growth/files:_require_operator_role",
        "app/sessions/agent/continuity:_agent",
        "app/sessions/agent/continuity:_require_operator",
        "app/sessions/agent/growth:_grown",
        "app/sessions/beliefs:constrain",
        "app/bound:_refuse",
        "app/sessions/chat:chat_clear",
        "app/checks:may_trust",
        "app/retention:_operator",
        "belief/conflicts:check_decision",
        "belief/ledger:link",
        "belief/undo:undo",
        "belief/verified:_refused",
        "ingestion/readers/origin:doubt",
        "entities/merging:refused",
        "entities/pending:resolve_pending",
        "maintenance/retaining:_check",
        "servers/mcp/core:own",
        "store/intake/chains:_check_look",
        "store/intake/chains:check_chain",
        "store/guard:_by_hand",
        "store/guard:_refused",
        "store/scope/binding:refusal",
        "store/scope/bound_store:_refuse",
        "store/transaction:set_catalogue",
        "store/transaction:erase",
        "store/transaction:_require_writable",
        "transfer/merge:_check_import_role",
    ),
    "",
) | {
    "agent/growth/gates:_require_operator": "tests/agent/gates/growth.json",
    "app/sessions/agent/context:verifier_declare": "tests/agent/test_context_pipeline.py",
    "agent/spine/types:check_state": "tests/agent/gates/spine.json",
    "servers/calling:owner_of": "tests/http/test_api_verbs.py",
    "servers/http/api/operations:_check_unbound": "tests/http/test_api_verbs.py",
    "agent/gate/keys:_unusable": "tests/agent/test_operator_gate.py",
    "agent/gate/keys:require_person": "tests/agent/test_operator_gate.py",
    "agent/gate/keys:require_operator": "tests/agent/test_operator_gate.py",
    "app/memory:session": "tests/app",
    "belief/background/laws:_refused": "tests/jobs",
    "belief/background/repetition:keep_inferred": "tests/adversary/test_repetition.py",
    "belief/ledger:check": "tests/belief",
    "store/retention/rewriting:require_operator": "behind app/retention:_operator",
    "imports/importing:_check": "tests/imports/test_importing.py",
    "servers/mcp/verb_tools:_check_local": "tests/servers/test_mcp_eras.py",
    "servers/mcp/verb_tools:_resolve": "tests/servers/test_mcp_eras.py",
    "servers/databases/service:_administer": "tests/adversary/test_isolation_logins.py",
}
# Verbs, or attempts with a parameter, that are about what is absent here, so that an operator is
# refused too: tests/agent/gates has cases in which it is there.
UNFIT: set[str | tuple[str, str]] = {
    "bundle_approve",
    "crystallise_apply",
    "crystallise_approve",
    "crystallise_reverse",
    "handoff_quarantine",
    "knowledge_index",
    "lease_end",
    "packet_move",
    "restart_step",
    "scaffold_decide",
    "standing_appeal",
    ("govern", "decision"),
    ("outcome", "decision"),
    "attachment_note",
    "chat_consolidated",
    "claim_decide",
    "claim_produce",
    "context_withdraw",
}
# Verbs that add no node in these attempts: a full file does not stop them.
GROWS_NOTHING = frozenset(
    "deprecate restore rollback untag unlink forget contract extract chat_add chat_clear"
    " chat_consolidated set_cursor quota spend_cap embed flush erase purge retain hold release"
    " undo tag link constrain run write open import_ import_notes resolve claim_produce"
    " claim_decide attachment_note context_withdraw handoff_write handoff_quarantine"
    " knowledge_index knowledge_recall archive_write crystallise_approve crystallise_apply"
    " crystallise_reverse metabolise contemplate lease_end packet_move standing_out"
    " standing_appeal standing_update scaffold_decide refine bundle_approve restart_step".split()
)


_NUMBERS = count(1)


class World(NamedTuple):
    """A file as an operator left it, and what is in it."""

    path: Path
    change: int
    conflict: str
    element: str
    export: Path
    pending: str
    run: str
    proposal: str

    def given(self, attempt: Mapping[str, Any], at: str = "") -> Given:
        """Return an attempt with the addresses and numbers of this file."""
        named = {
            CONFLICT: self.conflict,
            CHANGE: self.change,
            FILE: self.export,
            TALK: self.export.with_name("talk.jsonl"),
            NOTES: self.export.with_name("notes"),
            ROWS: self.export.with_name("rows.csv"),
            TAGS: self.export.with_name("tags.csv"),
            SAME: self.export.with_name("same.csv"),
            FOLDER: self.export.with_name("identity"),
            NEW: self.path.with_name(f"new-{next(_NUMBERS)}"),
            ELEMENT: self.element,
            PENDING: self.pending,
            RUN: self.run,
            PROPOSAL: self.proposal,
        }

        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(one) for one in value]
            if isinstance(value, str):
                return named.get(value, value.replace(T, at))
            return value

        return {name: filled(value) for name, value in attempt.items()}


def build(folder: Path) -> World:
    """Make the file: verified, approved, hidden and retired beliefs of an operator, beliefs of an
    agent, a conflict, and another project."""
    export = folder / "export.jsonl"
    export.with_name("identity").mkdir()
    (export.with_name("identity") / "SOUL.md").write_text("# Soul\n\n- I am patient with people.\n")
    export.with_name("talk.jsonl").write_text(json.dumps(_TURN) + "\n")
    export.with_name("rows.csv").write_text("n,text\n1,The lake is cold\n")
    tags = "".join(f"{at},{at}?r=1,approved\n" for at in (HOME, HIDDEN, LOST))
    export.with_name("tags.csv").write_text("item,revision,name\n" + tags)
    export.with_name("same.csv").write_text(
        "one,other,why,rule\nkref://p/entities/bob.entity,kref://p/entities/ada.entity,x,x\n"
    )
    with opened(folder / "there.db", embedder=None, project="p") as there:
        there.remember("The gate is open", name="gate", trust="verified")
        there.export_to(export)
        there.export_notes(export.with_name("notes"))
    path = folder / "world.db"
    with opened(path, embedder=None, project="p") as made:
        made.constrain({"functional": ["lives in"]})
        made.remember("Rome is in Italy", name="ground")
        for name, text in (
            ("home", "Ana lives in Rome"),
            ("hidden", "The safe is behind the clock"),
            ("lost", "The old office is in Bern"),
        ):
            facts = [("Ana", "lives in", "Rome")] if name == "home" else ()
            made.remember(text, name=name, facts=facts, trust="verified", depends_on=[GROUND])
        made.remember("The plan holds", name="plan", depends_on=[GROUND])
        made.tag(PLAN + "?r=1", "approved")
        made.run("MATCH (r {kref: $k}) CALL doxa.policy.suppress(r)", {"k": HIDDEN + "?r=1"})
        made.deprecate(LOST)
        made.remember("Their well is deep", name="well", project="theirs", trust="verified")
        made.hold("held", "address", FREE)
        made.bundle("kref://p/set.bundle", add=[HOME])
        agent = made.session(actor="bot", role="agent")
        agent.remember("The sun is a lamp", name="free")
        agent.remember("The moon is cheese", name="mine")
        agent.ingest([{"text": "The lake is cold.", "speaker": "Ana"}], thread="talk")
        agent.ingest([{"text": "I met Xenia Quorl in Lisbon.", "speaker": "Ana"}], extract=False)
        agent.chat_add("hello", session="s")
        challenged = agent.revise(_OSLO[0], CLAIM)
        assert challenged.conflict
        retired = made.remember("A change to undo", name="undone", trust="verified").change
        element = made.run("CREATE (n:Page) RETURN elementId(n)").single()
        asked = people(made)
        run, proposal = proposed(made)
        return World(
            path, retired.change, challenged.conflict, str(element), export, asked, run, proposal
        )


def people(made: doxa.Memory) -> str:
    """Make entities: Ada, whom an operator verified and joined with Cam, Bob, one that only looks
    like Ada, and a name that waits. Return the address of that."""
    for name in ("Ada", "Bob", "Cam"):
        made.mention(name, kind="person", source=HOME + "?r=1")
    made.merge_entities("Cam", "Ada")
    made.verify_entity("Ada")
    made.mention(LOOKALIKE, source=HOME + "?r=1")
    made.resolve_entity(made.pending_entities()[0].kref, "new")
    made.mention("B\u043eb", source=HOME + "?r=1")
    (pending,) = made.pending_entities()
    return pending.kref


def proposed(made: doxa.Memory) -> tuple[str, str]:
    """Make a run of a job with two proposals to retire a belief. An operator applied the one, and
    approved the belief that it retired: undoing the run brings that back. The other, which is open,
    is about an approved belief. Return the addresses of the run and of the open proposal."""
    made.remember("The barn is red", name="barn", trust="candidate")
    run = begin(made.store, "tidy", project="p", caps=Caps(number=20, share=0.9))
    proposals = [
        run.propose("stale", "It is old.", about=[at], action={"do": "retire", "kref": at})
        for at in (BARN, PLAN)
    ]
    run.finish({})
    assert made.apply(proposals[:1], age_days=0)[0].state == "applied"
    made.tag(f"{BARN}?r=1", "approved")
    return run.kref, proposals[1]


def rows_of(memory: doxa.Memory, project: str) -> str:
    return repr(
        memory.run(
            "MATCH (n) WHERE n.project = $p OR n.kref STARTS WITH $k OPTIONAL MATCH (n)-[e]-(m)"
            " RETURN n.kref, properties(n), type(e), properties(e), m.kref ORDER BY n.kref,"
            " type(e), m.kref",
            {"p": project, "k": f"kref://{project}"},
        ).records()
    )


def decided(memory: doxa.Memory) -> dict[str, object]:
    """Return what only an operator decides: what is verified, approved, hidden and retired and on
    what grounds, the rules, and what lies in another project."""
    held: dict[str, object] = {}
    with memory.store.read() as snapshot:
        rows = snapshot.rows(
            "SELECT n.kref, n.props ->> '$.trust', EXISTS (SELECT 1 FROM edge c WHERE c.dst = n.id"
            " AND c.type = 'CURRENT'), (SELECT group_concat(t.props ->> '$.name', ' ') FROM edge t"
            " WHERE t.dst = n.id AND t.type = 'TAG'), (SELECT group_concat(g.type || g.dst ||"
            " json(g.props), ' ') FROM edge g WHERE g.src = n.id AND g.type IN ('DEPENDS_ON',"
            " 'DERIVED_FROM') ORDER BY 1), n.props ->> '$.kind' FROM node n JOIN node_label l ON"
            " l.node = n.id AND l.label = 'Revision' ORDER BY n.kref"
        )
        for kref, trust, current, tags, grounds, kind in rows:
            approvals = sorted(
                name for name in (tags or "").split() if reads_as(name, PROTECTED_TAGS)
            )
            if trust == "verified":
                held[kref] = trust, current, approvals, grounds
            elif approvals or reads_as(kind, PROTECTED_TAGS):
                held[kref] = trust, approvals, grounds, kind
        held["retired"] = snapshot.rows(
            "SELECT kref FROM node WHERE kref IN (?, ?) AND props ->> '$.deprecated' ORDER BY 1",
            (LOST, BARN),
        )
        held["rules"] = snapshot.catalogue_all("")
        held["turns"] = snapshot.rows(
            "SELECT count(*) FROM node n JOIN node_label l ON l.node = n.id WHERE l.label ="
            " 'Exchange' AND n.props ->> '$.trust' IN ('verified', 'stated')"
        )
        held["entities"] = snapshot.rows(
            "SELECT n.kref, json(n.props), (SELECT group_concat(m.kref, ' ') FROM edge e"
            " JOIN node m ON m.id IN (e.src, e.dst) AND m.id <> n.id WHERE n.id IN (e.src, e.dst)"
            " AND e.type = 'SAME_AS' ORDER BY 1) FROM node n JOIN node_label l ON l.node = n.id"
            " AND l.label = 'Entity' WHERE n.props ->> '$.trust' = 'verified' ORDER BY n.kref"
        )
    seen = memory.run("MATCH (r:Revision {kref: $k}) RETURN r", {"k": HIDDEN + "?r=1"}).records()
    held["hidden"] = bool(seen)
    held["theirs"] = rows_of(memory, "theirs")
    held["problems"] = check(memory.store)
    return held


# Interfaces: how a verb is called through each, with given arguments.

Call = Callable[[Session, Verb, Given], object]


def by_python(session: Session, verb: Verb, given: Given) -> object:
    rest = dict(given)
    owner = session if verb.owner == "Session" else session.memory
    method = getattr(owner, verb.name, None)
    if method is None:  # a bound session has no verbs of the whole file
        raise InputError(f"There is no {verb.name} here.", next_step="", field="verb")
    placed = [rest.pop(one.name) for one in verb.parameters if one.positional and one.name in rest]
    result = method(*placed, **rest)
    return list(result) if isinstance(result, Iterator) else result


def by_procedure(session: Session, verb: Verb, given: Given) -> object:
    assert verb.cypher is not None
    arguments, rest = list(verb.cypher.arguments), dict(given)
    params = {f"a{at}": _plain(rest.pop(name, None)) for at, name in enumerate(arguments)}
    names = [f"${name}" for name in params]
    if rest:
        params["options"] = {name: _plain(value) for name, value in rest.items()}
        names.append("$options")
    return session.run(f"CALL doxa.{verb.procedure}({', '.join(names)})", params).records()


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def fits_procedure(verb: Verb, given: Given) -> bool:
    if verb.cypher is None or isinstance(given.get("source"), Path):
        return False
    taken = {one.name for one in verb.of("cypher")} | set(verb.cypher.arguments)
    return given.keys() <= taken


def words_of(parameter: Parameter, value: Any) -> list[str]:
    """Return the words by which the command line takes a value, one for each time it is given."""
    if parameter.kind in ("facts", "fact"):
        facts = value if parameter.kind == "facts" else [value]
        return ["|".join(one) for one in facts]
    if parameter.kind in ("texts", "krefs"):
        return [str(one) for one in value]
    if parameter.kind in ("mapping", "sentences"):
        return [json.dumps(value)]
    return [str(value)]
