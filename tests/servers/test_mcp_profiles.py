"""The profiles, from the verb table: what they list and cost, that every tool's schema describes
what the tool returns, and that no argument makes one fail in a way that is not ours."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from doxa.app import Memory
from doxa.app.verbs import ALL, FULL, LOCAL, NO_TOOL, TAXONOMY, TOOLS, VERBS
from doxa.base.errors import InputError
from doxa.servers.mcp.calls import CallContext, CallQuestion
from doxa.servers.mcp.tools import CallOutcome, profile_of, unknown_tool
from tests.fixtures_shared import opened
from tests.runtime_given import runtime_given
from tests.servers.test_mcp_server import HOSTILE

WHOLE = profile_of("full", role="operator", local=True)
every_tool = pytest.mark.parametrize("name", [tool.name for tool in WHOLE.tools])
PLAUSIBLE: dict[str, Any] = {
    "kref": "kref://p/s/db.decision",
    "what": "kref://p/s/db.decision",
    "source": "kref://p/s/db.decision",
    "target": "kref://p/use.fact",
    "start": "kref://p/s/db.decision",
    "end": "kref://p/use.fact",
    "text": "The shop runs on SQLite",
    "query": "shop",
    "tag": "current",
    "time": "2260-01-01",
    "kind": "SUPPORTS",
    "name": "report",
    "location": "https://example.org/report.pdf",
    "members": ["kref://p/use.fact"],
    "metadata": {"source": "a test"},
    "change": 2,
    "decision": "reject",
    "task": "Deploy the shop",
    "head": "00",
    "value": "kref://p/use.fact",
    "subject": "shop",
    "summary": "We moved",
}
OF_TOOL: dict[str, dict[str, Any]] = {
    "memory_ingest_messages": {"source": [{"text": "We moved", "speaker": "Ana"}]},
    "get_project": {"kref": "kref://p"},
    "get_space": {"kref": "kref://p/s"},
    "get_artifact": {"kref": "kref://p/s/db.decision?r=1&a=plan.pdf"},
    "get_bundle": {"kref": "kref://p/all.bundle"},
    "get_bundle_members": {"kref": "kref://p/all.bundle"},
    "create_bundle": {"kref": "kref://p/all.bundle", "add": ["kref://p/use.fact"]},
    "add_bundle_member": {"kref": "kref://p/all.bundle"},
    "remove_bundle_member": {"kref": "kref://p/all.bundle"},
    "create_revision": {"text": "The shop runs on SQLite"},
    "memory_read": {"text": "MATCH (n:Item) RETURN n, n.kref AS kref"},
    "memory_purge": {"source": "speaker:Nobody"},
    "memory_hold": {"name": "case", "kind": "text", "value": "shop"},
    "memory_release": {"name": "case"},
    "memory_restore": {"kref": "kref://p/gone.fact"},
    "memory_rollback": {"kref": "kref://p/s/db.decision?r=1"},
    "delete_space": {"kref": "kref://p/s"},
    "delete_project": {"kref": "kref://p"},
    "memory_import": {"path": "/nonexistent/file.jsonl"},
    "memory_packet_write": {
        "kind": "maturation_candidate",
        "text": "The shop runs on SQLite",
        "body": {"lane": "claim", "sources": ["kref://p/s/db.decision"]},
    },
}

# Tools of the runtime, with what each needs that exists
_NEEDS: dict[str, tuple[str, ...]] = {
    "claim_produce": ("session",),
    "claim_report": (),
    "restart_show": (),
    "attachment_show": ("kref",),
    "attachment_note": ("kref", "text"),
    "verifier_declare": ("kref", "kind", "path"),
    "context_withdraw": ("kref",),
}


def size(data: object) -> int:
    return len(json.dumps(data, separators=(",", ":")).encode())


def filled(path: Path) -> Memory:
    memory = opened(path, role="operator", project="p")
    memory.constrain({"functional": ["colour"]})
    memory.remember("The shop runs on MySQL", name="db", space="s", kind="decision")
    memory.remember("We use the shop", name="use", depends_on=["kref://p/s/db.decision"])
    memory.remember("Gone", name="gone")
    memory.deprecate("kref://p/gone.fact")
    memory.remember(
        "The gate is green", name="green", facts=[("gate", "colour", "green")], trust="verified"
    )
    memory.remember("The gate is blue", name="blue", facts=[("gate", "colour", "blue")])
    memory.attach("kref://p/s/db.decision", "plan.pdf", location="https://example.org/plan.pdf")
    memory.bundle("kref://p/all.bundle", add=["kref://p/use.fact"])
    memory.chat_add("We moved to SQLite")
    memory.dream()
    return memory


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(WHOLE.by_name[name].listed["outputSchema"])


def carried_out(memory: Memory, name: str, arguments: dict[str, Any]) -> CallOutcome:
    outcome = WHOLE.by_name[name].carry_out(
        memory.session(role="operator"), arguments, CallContext(local=True)
    )
    data = json.loads(json.dumps(outcome.data))
    assert list(validator(name).iter_errors(data)) == []
    assert outcome.text.encode()
    if outcome.failed:
        assert data["error"]["next_step"] in outcome.text
        assert "Traceback" not in outcome.text
        assert "did not expect" not in outcome.text, (name, arguments)
    return outcome


def arguments_for(memory: Memory, name: str) -> dict[str, Any]:
    known = PLAUSIBLE | OF_TOOL.get(name, {})
    if name == "memory_resolve":
        known["conflict"] = memory.conflicts()[0].kref
    if name == "memory_undo":
        known["change"] = memory.log(limit=1)[0].tx
    verb = name.removeprefix("memory_")
    if verb in _NEEDS:
        session = memory.session(role="operator")
        made = runtime_given(memory, session, verb, Path(str(memory.store.path)).parent)
        known |= made
        return {one: known[one] for one in _NEEDS[verb]}
    required = WHOLE.by_name[name].listed["inputSchema"].get("required", [])
    return {one: known[one] for one in (*required, *OF_TOOL.get(name, {})) if one in known}


# What is listed


def test_the_profiles_and_what_they_cost() -> None:
    counts = {name: len(profile_of(name).tools) for name in ("minimal", "core", "full")}
    assert counts["minimal"] == 2 and counts["core"] == 7 and counts["full"] >= 80
    for name, tokens in (("minimal", 700), ("core", 1_500), ("full", 30_000)):
        for_models = [
            {key: tool.listed[key] for key in ("name", "description", "inputSchema")}
            for tool in profile_of(name).tools
        ]
        assert size(for_models) / 3 <= tokens, name
    with pytest.raises(InputError, match="no profile 'huge'"):
        profile_of("huge")


def test_every_verb_has_a_tool_or_a_reason() -> None:
    served = {name for tool in FULL for name in tool.verbs}
    for verb in ALL:
        reason = verb.absent.get("mcp", "")
        assert verb.name in served or verb.name in NO_TOOL or len(reason) > 10, verb.name
    assert not served & NO_TOOL.keys()


def test_every_name_of_the_taxonomy_is_listed_or_says_what_to_do() -> None:
    assert len(TAXONOMY) == 54 and sum(one.published for one in TAXONOMY) == 32
    for one in TAXONOMY:
        if one.tool is not None or one.name in {tool.name for tool in TOOLS}:
            assert one.name in WHOLE.by_name
        else:
            assert len(one.note) > 5 and one.note in unknown_tool(WHOLE, one.name)
    listed = [tool.name for tool in WHOLE.tools]
    assert len(listed) == len(set(listed))
    for tool in FULL:
        for alias in tool.aliases:
            assert alias not in listed
            assert WHOLE.by_name[alias] is WHOLE.by_name[tool.name]


def test_a_server_lists_what_its_sessions_may_use() -> None:
    agents = {tool.name for tool in profile_of("full", role="agent", local=False).tools}
    everything = {tool.name for tool in WHOLE.tools}
    for name in everything - agents:
        verbs = [VERBS[one] for tool in FULL if tool.name == name for one in tool.verbs]
        assert any(verb.role == "operator" or verb.name in LOCAL for verb in verbs)
    assert {"memory_erase", "memory_export"} <= everything - agents


@every_tool
def test_annotations_and_schemas_are_right(name: str) -> None:
    tool = next(tool for tool in FULL if tool.name == name)
    listed = WHOLE.by_name[name].listed
    writes = any(VERBS[verb].writes for verb in tool.verbs)
    hints = listed["annotations"]
    assert hints["readOnlyHint"] != writes
    assert hints["openWorldHint"] == (name == "memory_import")
    if not writes:
        assert not hints.get("destructiveHint")
    takes_away = ("forget", "delete", "erase", "purge", "untag", "deprecate", "clear", "remove")
    if any(word in name for word in takes_away) and name != "memory_verify_erased":
        assert hints["destructiveHint"]
    assert listed["inputSchema"]["additionalProperties"] is False
    assert "project" not in listed["inputSchema"]["properties"]
    assert "idempotency_key" not in listed["inputSchema"]["properties"]
    Draft202012Validator.check_schema(listed["inputSchema"])
    Draft202012Validator.check_schema(listed["outputSchema"])
    assert len(listed["description"].encode()) <= 2_048


# What they return


@every_tool
def test_what_a_tool_returns_is_what_its_schema_says(tmp_path: Path, name: str) -> None:
    with filled(tmp_path / "m.db") as memory:
        usual = arguments_for(memory, name)
        outcome = carried_out(memory, name, usual)
        refused = {
            "memory_import",
            "memory_backup",
            "memory_export",
            "memory_export_subject",
            "memory_release",
            "memory_erase",
            "memory_purge",
        }
        required = WHOLE.by_name[name].listed["inputSchema"].get("required", [])
        if set(required) <= usual.keys():
            assert outcome.failed == (name in refused), outcome.text
        assert memory.check() == []


@every_tool
def test_hostile_arguments_are_answered_with_errors_of_ours(tmp_path: Path, name: str) -> None:
    with filled(tmp_path / "m.db") as memory:
        usual = arguments_for(memory, name)
        fields = WHOLE.by_name[name].listed["inputSchema"]["properties"]
        values = [one for one in HOSTILE if not isinstance(one, str) or len(one) < 1_000]
        for number, field in enumerate((*fields, "unknown")):
            for value in values[number % 5 :: 5]:  # over all tools, each value many times
                if field == "limit" and isinstance(value, int):
                    continue  # the verbs' own tests have limits
                carried_out(memory, name, usual | {field: value})
        assert memory.check() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_json_is_answered(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    name = data.draw(st.sampled_from([tool.name for tool in WHOLE.tools]))
    fields = list(WHOLE.by_name[name].listed["inputSchema"]["properties"]) or ["none"]
    given = data.draw(st.dictionaries(st.sampled_from(fields), JSON, max_size=4))
    with filled(tmp_path_factory.mktemp("any") / "m.db") as memory:
        carried_out(memory, name, arguments_for(memory, name) | given)
        assert memory.check() == []


# What they may not do


def test_no_tool_writes_in_another_project(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:
        other = memory.session(role="operator", project="other")
        other.remember("Theirs", name="use")
        other.remember("Theirs too", name="db", space="s", kind="decision")
        other.bundle("kref://other/all.bundle", add=["kref://other/use.fact"])
        before = {one.kref: one.summary for one in other.history("kref://other/use.fact").revisions}
        count = memory.log(limit=1)[0].tx
        agent = memory.session(role="agent", actor="bot")
        for tool in WHOLE.tools:
            if tool.listed["annotations"]["readOnlyHint"]:
                continue
            known = PLAUSIBLE | OF_TOOL.get(tool.name, {})
            fields = (*tool.listed["inputSchema"].get("required", []), *OF_TOOL.get(tool.name, {}))
            given = {one: known[one] for one in fields if one in known}
            if tool.name.removeprefix("memory_") in (
                "attachment_note",
                "context_withdraw",
                "handoff_quarantine",
            ):
                continue  # tests/agent/gates has them: they take addresses of records
            for field, value in list(given.items()):
                if isinstance(value, str) and value.startswith("kref://p"):
                    given[field] = value.replace("kref://p", "kref://other")
            if not any("kref://other" in str(one) for one in given.values()):
                continue
            outcome = tool.carry_out(agent, given, CallContext(local=True))
            assert outcome.failed and outcome.data["error"]["code"] in ("role", "input"), tool.name
        assert memory.log(limit=1)[0].tx == count
        assert before


def test_a_login_does_not_act_in_the_name_of_the_file(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:  # opened as operator, as `doxa serve` does
        for session in (
            memory.session(role="agent", actor="bot"),
            memory.session(role="agent", actor="bot", projects=["p"]),
        ):
            for name, given in (
                ("memory_erase", {"text": "MySQL"}),
                ("memory_purge", {"source": "kref://p/use.fact"}),
                ("memory_retain", {}),
                ("memory_quota", {"items": 1}),
                ("memory_hold", {"name": "h", "kind": "text", "value": "x"}),
                ("memory_embed", {}),
                ("memory_constrain", {"constraints": {}}),
            ):
                outcome = WHOLE.by_name[name].carry_out(session, given, CallContext(local=True))
                assert outcome.data["error"]["code"] == "role", name
        bound = memory.session(role="agent", projects=["p"])
        for name in ("memory_doctor", "memory_check", "memory_verify", "memory_holds"):
            outcome = WHOLE.by_name[name].carry_out(bound, {}, CallContext())
            assert outcome.data["error"]["code"] == "role", name
        assert memory.quota().items is None


def test_a_question_is_asked_before_anything_is_done(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as memory:
        count = memory.log(limit=1)[0].tx
        for name, given in (
            ("delete_item", {"kref": "kref://p/use.fact", "erase": True}),
            ("delete_project", {"kref": "kref://p"}),
            ("memory_erase", {"text": "MySQL"}),
            ("memory_resolve", {"conflict": memory.conflicts()[0].kref, "decision": "accept"}),
            ("memory_export", {"target": str(tmp_path / "x.jsonl")}),
        ):
            with pytest.raises(CallQuestion) as asked:
                WHOLE.by_name[name].carry_out(
                    memory.session(role="operator"), given, CallContext(can_ask=True, local=True)
                )
            assert asked.value.bound
        assert memory.log(limit=1)[0].tx == count
        assert not (tmp_path / "x.jsonl").exists()
