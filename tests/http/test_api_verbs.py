"""The API and the verb table: every verb is served or has a reason, every answer follows the schema
that describes it, and every role gets what it gets elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from jsonschema import Draft202012Validator

from doxa.agent.continuity.metrics import note as note_hook
from doxa.app.verbs import ALL, VERBS, Verb
from doxa.app.verbs.model import Parameter
from doxa.app.verbs.resources import (
    NARROWED,
    NO_ARGUMENT,
    NO_RESOURCE,
    PREFIX,
    Resource,
    not_served,
    not_taken,
    resource_path,
    resources,
)
from doxa.app.verbs.result_types import result_types
from doxa.base.files.places import agents_folder
from doxa.maintenance.backups import make_backup
from doxa.servers.http.api.openapi import document
from doxa.servers.http.api.operations import operations
from doxa.servers.http.api.problems import SCHEMA as PROBLEM
from tests.http.api_fixtures import DB, ROLES, USE, Served, served
from tests.http.http_fixtures import Reply

SERVED = resources(ALL)
FORMED = ("stream", "events", "table")  # these have a schema of their own
every_operation = pytest.mark.parametrize("path", [one.path for one in SERVED])
PLAUSIBLE: dict[str, Any] = {
    "kref": DB,
    "what": DB,
    "source": DB,
    "target": USE,
    "start": DB,
    "end": USE,
    "text": "The shop runs on SQLite",
    "tag": "reviewed",
    "time": "2260-01-01",
    "kind": "SUPPORTS",
    "name": "report",
    "location": "https://example.org/report.pdf",
    "task": "Deploy the shop",
    "head": "00",
    "value": USE,
    "entity": "Ana Silva",
    "into": "Ana Silva",
    "mention": "kref://p/none.mention",
    "answer": "none",
    "proposals": ["kref://p/none.proposal"],
    "proposal": "kref://p/none.proposal",
    "run": "kref://p/none.job-run",
    "change": 2,
    "decision": "reject",
    "conflict": "kref://p/none.conflict",
    "through": "0",
    "candidate": "kref://p/none.growth-candidate",
    "content_hash": "0" * 64,
    "nonce": "0" * 32,
    "session": "one",
    "person": "ana",
    "claim": "kref://p/none.claim",
    "claim_hash": "0" * 64,
    "source_hash": "0" * 64,
    "reason": "It is in the plan",
    "sources": ["kref:" + DB],
    "user": "Which database does the shop use?",
    "reply": "SQLite.",
    "status": "succeeded",
    "since": "2026-01-01",
    "until": "2026-01-02",
    "why": "A test ran",
    "scaffold": "kref://p/none.scaffold",
    "packet": "kref://p/none.packet",
    "state": "closed",
    "objective": "Deploy the shop",
    "allowed": ["read_only"],
    "lease": "kref://p/none.lease",
    "evidence": DB,
    "consumer": "prompt",
    "bundle": "kref://p/none.bundle",
    "manifest_hash": "0" * 64,
    "action_class": "read_only",
    "action": "Read the plan",
    "handoff": "kref://p/none.handoff",
    "key": "before the restart",
    "call": "Read the plan",
    "outcome": "succeeded",
}
OF_VERB: dict[str, dict[str, Any]] = {
    "ingest": {"source": [{"text": "We moved", "speaker": "Ana"}]},
    "hold": {"kind": "text", "name": "case", "value": "shop"},
    "release": {"name": "case"},
    "rollback": {"kref": f"{DB}?r=1"},
    "bundle": {"kref": "kref://p/all.bundle"},
    "restore": {"kref": "kref://p/gone.fact"},
    "purge": {"source": "speaker:Nobody"},
    "erase": {"text": "Nobody said this", "preview": True},
    "chat_consolidated": {"session": "c"},
    "wait": {"token": "1@00"},  # of another memory
    "artifact_file": {"kref": f"{DB}?r=1&a=plan.pdf"},
    "nightshift": {"jobs": ["dream"]},
    "run": {"text": "MATCH (n:Item) RETURN n LIMIT 3"},
    "read": {"text": "EXPLAIN MATCH (n:Item)-[r]->(m) RETURN n, r, m.time"},
    "scaffold_propose": {
        "change": "Say less",
        "change_type": "prompt",
        "target": "reply",
        "evidence": [DB],
        "expected_effect": "Shorter replies",
        "verification": "Count words",
        "rollback": "Say more",
    },
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("api")) as found:
        yield found


def arguments_of(resource: Resource) -> dict[str, Any]:
    known = PLAUSIBLE | OF_VERB.get(resource.verb.name, {})
    required = {one.name: known[one.name] for one in resource.arguments if one.required}
    return required | OF_VERB.get(resource.verb.name, {})


def check_answer(described: dict[str, Any], path: str, method: str, reply: Reply) -> None:
    """Compare an answer with its description."""
    responses = described["paths"][path][method.lower()]["responses"]
    media = reply.headers["content-type"]
    if reply.status >= 400:
        assert media == "application/problem+json"
        schema = PROBLEM
    else:
        schema = responses[str(reply.status)]["content"][media]["schema"]
    whole = {**schema, "components": described["components"]}
    errors = [one.message for one in Draft202012Validator(whole).iter_errors(reply.json)]
    assert errors == [], (path, reply.json)


# The table


def test_every_verb_is_served_or_has_a_reason() -> None:
    paths = {one.path for one in SERVED}
    for verb in ALL:
        reason = not_served(verb)
        assert (resource_path(verb) in paths) == (reason is None), verb.name
        assert reason is None or len(reason) > 10
    assert len(paths) == len(SERVED) > 80
    # a result whose type the table of types does not know has no schema, and is not described
    for one in SERVED:
        assert one.answer in FORMED or result_types(one.verb.result), one.verb.name


def test_no_reason_is_given_for_what_is_served_or_does_not_exist() -> None:
    assert VERBS.keys() >= NO_RESOURCE.keys()
    for verb, name in (*NO_ARGUMENT, *NARROWED):
        found = ALL if verb == "*" else [VERBS[verb]]
        assert any(name == one.name for known in found for one in known.parameters), (verb, name)


def test_every_parameter_is_taken_or_has_a_reason() -> None:
    for resource in SERVED:
        taken = {one.name for one in resource.arguments}
        for one in resource.verb.parameters:
            assert (one.name in taken) == (not_taken(resource.verb, one) is None)
        # names that every list and every answer have besides
        assert not taken & {"cursor", "fields"}


def test_no_parameter_that_names_a_file_or_a_program_is_taken() -> None:
    for resource in SERVED:
        assert not {one.kind for one in resource.arguments} & {"path", "function"}
        assert "folder" not in {one.name for one in resource.arguments}
    consolidate = next(one for one in SERVED if one.verb.name == "consolidate")
    schema = document("")["paths"][consolidate.path]["post"]["requestBody"]["content"]
    producer = schema["application/json"]["schema"]["properties"]["producer"]
    assert producer["enum"] == ["rules", "model", "host"]


def test_a_verb_that_is_added_to_the_table_is_served() -> None:
    added = Verb(
        "weigh",
        "look",
        "Weigh a belief.",
        parameters=(
            Parameter("A belief.", name="kref", kind="kref"),
            Parameter("The most.", 10, name="limit", kind="integer"),
        ),
        result="list[Hit]",
    )
    (made,) = resources([added])
    assert (made.path, made.methods) == ("/v1/weigh", ("GET", "POST"))
    assert (made.answer, made.pages) == ("list", True)
    writes = Verb("weigh", "look", "Weigh.", result="Change", writes=True)
    assert resources([writes])[0].methods == ("POST",)
    on_disk = Verb("weigh", "look", "Weigh.", (), (Parameter("A file.", kind="path", name="at"),))
    assert resources([on_disk]) == ()


def test_the_description_is_whole() -> None:
    described = document("1.2.3")
    assert described["info"]["version"] == "1.2.3"
    assert {path for path in described["paths"] if not path.startswith(f"{PREFIX}/j")} >= {
        one.path for one in SERVED
    }
    names = [
        operation["operationId"]
        for item in described["paths"].values()
        for operation in item.values()
    ]
    assert len(names) == len(set(names))
    for schema in described["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for one in operations().by_path.values():
        for method in one.resource.methods:
            operation = described["paths"][one.resource.path][method.lower()]
            assert operation["summary"] == one.resource.verb.summary
            assert operation["responses"]["default"]


# Every operation


@every_operation
def test_every_operation_answers_every_role_as_it_is_described(api: Served, path: str) -> None:
    described = document("")
    resource = next(one for one in SERVED if one.path == path)
    given = arguments_of(resource)
    for role in ROLES:
        with api.client(role) as client:
            for method in resource.methods:
                if method == "GET":
                    reply = client.get(f"{path}?{urlencode(given, doseq=True)}")
                else:
                    reply = client.post(path, given)
                assert reply.status < 500, reply.json
                assert reply.status != 400, reply.json
                if resource.answer != "stream":
                    check_answer(described, path, method, reply)
                if reply.status >= 400 and reply.status != 403:
                    assert reply.json["next_step"], reply.json


def test_no_answer_has_a_number_that_javascript_would_round(api: Served) -> None:
    def numbers(value: Any) -> Iterator[int]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                yield from numbers(one)
        elif type(value) is int:
            yield value

    with api.client() as client:
        client.post("/v1/dream")
        for resource in SERVED:
            if not resource.verb.writes and resource.answer != "stream":
                reply = client.get(f"{resource.path}?{urlencode(arguments_of(resource), True)}")
                assert all(abs(one) < 2**53 for one in numbers(reply.json)), resource.path


def test_a_role_has_the_same_rights_as_elsewhere(api: Served) -> None:
    with api.client("agent") as agent:
        refused = agent.post("/v1/tag", {"kref": DB, "tag": "approved"})
        assert refused.status == 403
        with pytest.raises(Exception) as caught:
            api.memory.session(role="agent").tag(DB, "approved")
        assert refused.json["code"] == "role"
        assert refused.json["detail"] == caught.value.message  # type: ignore[attr-defined]
        assert refused.json["next_step"] == caught.value.next_step  # type: ignore[attr-defined]
        for path, body in (("/v1/quota", {"items": 5}), ("/v1/retain", {}), ("/v1/erase", {})):
            assert agent.post(path, body).status in (403, 422), path
        assert agent.get(f"/v1/artifact-file?kref={DB}").status == 403


def test_a_bound_login_sees_its_projects_alone(api: Served) -> None:
    with api.client("bound") as bound:
        assert bound.get("/v1/get?kref=kref://other/plan.fact").status == 404
        whole = bound.post("/v1/recall", {"text": "secret plan", "project": "*"}).json
        assert "Bob's own secret plan" not in str(whole)
        assert "Bob's own" not in str(bound.get("/v1/events?limit=1000").json)
        assert bound.get("/v1/doctor").status == 403
        assert bound.get("/v1/export").status == 403
        assert bound.post("/v1/remember", {"text": "x y", "project": "other"}).status == 403


def test_what_a_person_who_runs_it_asks_can_be_read(api: Served, tmp_path: Path) -> None:
    """Growth, the last backup with its restore test, the hooks of each host, what models cost."""
    note = partial(api.memory.store.note_copy, kind="backup")
    made, _ = make_backup(api.memory.store, tmp_path / "backups", note=note)
    agents = agents_folder(Path(api.memory.store.path))
    note_hook(agents, "prompt", 12.0, host="claude")
    with api.client() as client:
        grown = client.get("/v1/growth?fields=parts,weeks,bytes_per_week,operations,backup").json
        assert {"log", "state"} <= {one["part"] for one in grown["parts"]}
        assert grown["operations"][0].keys() == {"op", "entries"} and sum(grown["weeks"])
        backup = grown["backup"]
        assert (backup["name"], backup["change"]) == (made.path, made.change)
        assert backup["tested"] and backup["exists"] and backup["problem"] == ""
        (hook,) = client.get("/v1/hook-report").json["items"]
        assert (hook["host"], hook["event"], hook["max_ms"]) == ("claude", "prompt", 12.0)
        assert client.get("/v1/spending").json["days"] == []
    with api.client("bound") as bound:
        for path in ("growth", "hook-report", "spending"):
            assert bound.get(f"/v1/{path}").status == 403, path
        assert made.path not in str(bound.get("/v1/stats").json)


def test_an_export_is_lines_that_can_be_imported(api: Served, tmp_path: Path) -> None:
    from tests.fixtures_shared import opened

    with api.client() as client:
        reply = client.get("/v1/export")
        assert reply.headers["content-type"].startswith("application/x-ndjson")
        file = tmp_path / "export.jsonl"
        file.write_text(reply.json)
    with opened(tmp_path / "copy.db") as copy:
        copy.import_(file, accept_protected=True)
        assert copy.get(DB).summary == api.memory.get(DB).summary  # type: ignore[union-attr]
