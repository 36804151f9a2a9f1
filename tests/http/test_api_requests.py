"""What a request to the API may carry: retries, comparisons, pages, fields, jobs and more."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from doxa.base.errors import UnreachableError
from doxa.base.stopping import stoppable
from doxa.servers.codes import status_of
from doxa.servers.credentials import ANONYMOUS, Principal
from doxa.servers.http.api.jobs import ApiJob, Jobs
from doxa.servers.http.api.problems import CODES, problem_of, problem_response
from doxa.servers.http.api.rates import RequestRate
from doxa.servers.http.errors import HttpError
from doxa.servers.sharing import Share
from tests.fixtures_shared import largest_file
from tests.http.api_fixtures import DB, USE, ApiClient, Served, filled, served
from tests.http.http_fixtures import QUERY, Reply, until

GET_DB = f"/v1/get?kref={quote(DB)}"
PROBLEM = "application/problem+json"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


@pytest.fixture
def client(api: Served) -> Iterator[ApiClient]:
    with api.client() as found:
        yield found


def is_problem(reply: Reply, status: int, code: str) -> bool:
    problem = reply.json
    assert (reply.status, problem["code"]) == (status, code), problem
    assert reply.headers["content-type"] == PROBLEM
    assert problem["status"] == status and problem["title"] and problem["detail"]
    assert problem["type"] == f"urn:doxa:problem:{code}"
    return True


# Errors


def test_an_error_has_the_code_and_the_text_that_python_has(api: Served, client: ApiClient) -> None:
    missing = "kref://p/nothing.fact"
    with pytest.raises(Exception) as caught:
        api.memory.get(missing)
    error: Any = caught.value
    reply = client.get(f"/v1/get?kref={missing}")
    assert is_problem(reply, 404, "not_found")
    assert reply.json["detail"] == error.message
    assert reply.json["next_step"] == error.next_step
    assert reply.json["fields"] == error.fields


def test_what_breaks_the_schema_is_400_and_what_a_verb_cannot_use_is_422(
    client: ApiClient,
) -> None:
    for body in (
        {},
        {"text": 5},
        {"text": None},
        {"text": "a", "unknown": 1},
        {"text": "a", "kinds": "fact"},
        b"[]",
        b"{",
        b'{"text": "\xff"}',
        b'{"text": "a", "metadata": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ):
        assert is_problem(client.post("/v1/remember", body), 400, "input")
    for query in ("limit=x", "limit=1&limit=2", "strict=yes", "diversity=nan", "unknown=1"):
        assert is_problem(client.get(f"/v1/recall?text=a&{query}"), 400, "input")
    assert is_problem(client.post("/v1/remember", {"text": " "}), 422, "input")
    assert is_problem(client.get("/v1/get?kref=nonsense"), 422, "kref")
    assert is_problem(client.get("/v1/recall?text=a&limit=0"), 422, "limit")


def test_what_is_not_there_or_not_asked_for_rightly(client: ApiClient) -> None:
    assert is_problem(client.get("/v1/nothing"), 404, "not_found")
    for broken in ("/v1/jobs/%0Aa", "/v1/a%0Ab", "/v1/jobs/a%0A", "/v1/a%0D%0A", "/v1/log%0A"):
        for method in ("GET", "DELETE"):
            assert is_problem(client.ask(method, broken), 404, "not_found"), broken
    wrong = client.ask("DELETE", "/v1/recall")
    assert is_problem(wrong, 405, "method") and wrong.headers["allow"] == "GET, POST"
    assert is_problem(client.get("/v1/remember"), 405, "method")
    assert is_problem(client.get(GET_DB, Accept="text/html"), 406, "not_acceptable")
    form = client.ask("POST", "/v1/recall", b"text=a", {"Content-Type": "text/plain"})
    assert is_problem(form, 415, "content_type")
    assert is_problem(client.post("/v1/recall?text=a", {"text": "a"}), 400, "input")
    assert is_problem(client.get("/db/nothing" + GET_DB), 404, "not_found")
    assert client.get("/db/doxa" + GET_DB).status == 200
    assert client.ask("HEAD", GET_DB).status == 405


def test_no_login_or_a_wrong_one_is_401(api: Served) -> None:
    for token in ("", "doxa-wrong"):
        with ApiClient(api.server.port, token) as nobody:
            assert is_problem(nobody.get(GET_DB), 401, "unauthenticated")
            assert is_problem(nobody.post("/v1/remember", {"text": "a"}), 401, "unauthenticated")
            assert nobody.get("/v1/openapi.json").status == 200
    with ApiClient(api.server.port, Authorization="Basic YTpi") as basic:
        refused = basic.get(GET_DB)
        assert is_problem(refused, 401, "unauthenticated")
        assert refused.headers["www-authenticate"].startswith("Bearer")


def test_another_host_and_a_page_of_another_origin_are_refused(client: ApiClient) -> None:
    assert is_problem(client.get(GET_DB, Host="evil.example"), 421, "host")
    assert is_problem(client.get(GET_DB, Origin="https://evil.example"), 403, "forbidden")


def test_a_body_that_is_too_long_is_413(client: ApiClient) -> None:
    headers = {"Content-Length": str(2**30), "Content-Type": "application/json"}
    assert is_problem(client.ask("POST", "/v1/recall", b"{}", headers), 413, "too_large")


# Retries


def test_a_key_repeats_the_first_answer(api: Served, client: ApiClient) -> None:
    body = {"text": "We deploy on Thursdays"}
    first = client.post("/v1/remember", body, Idempotency_Key="k-1")
    again = client.post("/v1/remember", body, Idempotency_Key="k-1")
    assert first.status == 200 and again.json == first.json
    assert len(api.memory.log(limit=1)) == 1
    assert api.memory.log(limit=1)[0].tx == first.json["change"]["change"]
    other = client.post("/v1/remember", {"text": "Another"}, Idempotency_Key="k-1")
    assert is_problem(other, 409, "conflict")
    with api.client("agent") as agent:  # a key belongs to its login
        own = agent.post("/v1/remember", {"text": "Another"}, Idempotency_Key="k-1")
        assert own.status == 200


def test_a_key_is_refused_where_no_answer_is_kept(client: ApiClient) -> None:
    assert is_problem(client.post("/v1/dream", Idempotency_Key="k"), 400, "input")
    bad = client.post("/v1/remember", {"text": "a"}, Idempotency_Key="ä" * 3)
    assert is_problem(bad, 400, "input")
    assert client.get(GET_DB, Idempotency_Key="k").status == 200  # a read needs none
    in_body = client.post("/v1/remember", {"text": "a", "idempotency_key": "k"})
    assert is_problem(in_body, 400, "input")


# Comparisons


def test_if_match_is_compare_and_set(client: ApiClient) -> None:
    seen = client.get(GET_DB)
    tag = seen.headers["etag"]
    assert tag.startswith('"2-')
    done = client.post("/v1/revise", {"what": DB, "text": "It runs on DuckDB"}, If_Match=tag)
    assert done.status == 200 and done.json["kref"] == f"{DB}?r=3"
    late = client.post("/v1/revise", {"what": DB, "text": "It runs on files"}, If_Match=tag)
    assert is_problem(late, 412, "conflict")
    assert late.json["fields"]["expected"] == 2 and late.json["fields"]["found"] == 3
    in_body = client.post("/v1/revise", {"what": DB, "text": "On files", "expect": 2})
    assert is_problem(in_body, 409, "conflict")
    assert client.post("/v1/tag", {"kref": DB, "tag": "good"}).status == 200
    moved = {"kref": f"{DB}?r=1", "tag": "good"}  # where the tag is, and not what is current
    assert is_problem(client.post("/v1/tag", moved, If_Match='"2"'), 412, "conflict")
    assert client.post("/v1/tag", moved, If_Match='"3"').status == 200


@pytest.mark.parametrize(
    ("header", "status"), [("*", 200), ("2", 412), ('"3"', 412), ('"abc"', 412), ("a b", 400)]
)
def test_every_form_of_if_match(client: ApiClient, header: str, status: int) -> None:
    assert client.post("/v1/tag", {"kref": DB, "tag": "x"}, If_Match=header).status == status


def test_if_match_is_never_ignored(client: ApiClient) -> None:
    assert is_problem(client.post("/v1/restore", {"kref": USE}, If_Match='"1"'), 400, "input")
    assert is_problem(client.post("/v1/deprecate", {"kref": DB}, If_Match='"1"'), 412, "conflict")
    both = {"kref": DB, "tag": "x", "expect": 2}
    assert is_problem(client.post("/v1/tag", both, If_Match='"1"'), 422, "input")


def test_an_answer_that_is_known_is_not_sent_again(client: ApiClient) -> None:
    tag = client.get(GET_DB).headers["etag"]
    known = client.get(GET_DB, If_None_Match=f'"x", {tag}')
    assert known.status == 304 and known.json is None and known.headers["etag"] == tag
    client.post("/v1/tag", {"kref": DB, "tag": "good"})  # the same revision, another answer
    changed = client.get(GET_DB, If_None_Match=tag)
    assert changed.status == 200 and changed.headers["etag"] != tag


# Pages and fields


def test_a_cursor_walks_a_list_while_it_grows(client: ApiClient) -> None:
    whole = [one["tx"] for one in client.get("/v1/log?limit=1000").json["items"]]
    assert len(whole) > 6
    found, query = [], "limit=3"
    while True:
        page = client.get(f"/v1/log?{query}").json
        found += [one["tx"] for one in page["items"]]
        assert len(page["items"]) <= 3
        if len(found) == 3:  # what is new stands before what was read
            client.post("/v1/remember", {"text": "Something new"})
        if "next" not in page:
            break
        query = f"limit=3&cursor={page['next']}"
    assert found == whole
    assert is_problem(client.get("/v1/log?cursor=abc"), 422, "input")
    assert is_problem(client.get("/v1/stats?cursor=abc"), 400, "input")


def test_events_are_read_in_pages_and_followed(api: Served, client: ApiClient) -> None:
    first = client.get("/v1/events?limit=5").json
    rest = client.get(f"/v1/events?limit=1000&after={first['next']}").json
    seqs = [one["seq"] for one in first["items"] + rest["items"]]
    assert seqs == sorted(set(seqs)) and len(first["items"]) == 5 and "next" not in rest
    line = http.client.HTTPConnection("127.0.0.1", api.server.port, timeout=20)
    last = rest["items"][-1]["id"]
    headers = client.kept | {"Accept": "text/event-stream", "Last-Event-ID": last}
    line.request("GET", "/v1/events?names=revision.created", headers=headers)
    stream = line.getresponse()
    assert stream.status == 200
    assert stream.getheader("Content-Type", "").startswith("text/event-stream")
    client.post("/v1/remember", {"text": "Tea is hot"})
    lines = iter(stream.readline, b"")
    assert next(one for one in lines if one.startswith(b"event")) == b"event: revision.created\n"
    stream.close()
    line.close()


def test_fields_are_what_was_asked_for(client: ApiClient) -> None:
    reply = client.get(f"{GET_DB}&fields=kref,summary")
    assert reply.json == {"kref": f"{DB}?r=2", "summary": "The shop runs on SQLite"}
    assert reply.headers["content-type"] == "application/vnd.doxa.selected+json"
    hits = client.post("/v1/recall?fields=hits.kref,mode", {"text": "shop"}).json
    assert set(hits) == {"hits", "mode"}
    assert hits["hits"] and all(set(one) == {"kref"} for one in hits["hits"])
    listed = client.get("/v1/log?limit=2&fields=tx").json
    assert [set(one) for one in listed["items"]] == [{"tx"}, {"tx"}] and "next" in listed
    for wrong in ("fields=nothing", "fields=", "fields=kref&fields=kref"):
        assert is_problem(client.get(f"{GET_DB}&{wrong}"), 400, "input")


# Jobs


def finished(client: ApiClient, path: str) -> Any:
    found: list[Any] = []

    def ended() -> bool:
        found[:] = [client.get(path).json]
        return found[0]["state"] in ("done", "failed", "cancelled")

    until(ended)
    return found[0]


def test_a_call_becomes_a_job_that_its_login_alone_sees(api: Served, client: ApiClient) -> None:
    began = client.post("/v1/dream", {}, Prefer="respond-async, wait=5")
    assert began.status == 202 and began.headers["location"] == f"/v1/jobs/{began.json['id']}"
    job = finished(client, began.headers["location"])
    assert job["state"] == "done" and job["verb"] == "dream" and job["ended"] >= job["created"]
    assert job["answer"]["run"] == client.get("/v1/runs").json["items"][0]["kref"]
    short = {name: value for name, value in job.items() if name != "answer"}
    assert client.get("/v1/jobs").json["items"] == [short]
    with api.client("agent") as agent:
        assert agent.get("/v1/jobs").json == {"items": []}
        assert is_problem(agent.get(began.headers["location"]), 404, "not_found")
        assert agent.ask("DELETE", began.headers["location"]).status == 404


def test_the_jobs_of_one_login_take_no_place_of_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.servers.http.api.jobs.API_JOBS_ITEMS_MAX", 6)
    monkeypatch.setattr("doxa.servers.http.api.jobs.API_JOBS_OF_LOGIN_ITEMS_MAX", 4)
    ana, ben, cid = (Principal(name, "agent") for name in ("ana", "ben", "cid"))
    may_end = threading.Event()

    async def run() -> None:
        jobs = Jobs(Share())

        async def ended(who: Principal, count: int = 1) -> list[ApiJob]:
            made = []
            for _ in range(count):
                made.append(jobs.start("get", who, lambda _: 1, lambda _: {}))
                await asyncio.gather(*(one.task for one in made if one.task))
            return made

        def waiting(who: Principal) -> ApiJob:
            return jobs.start("get", who, lambda _: may_end.wait(30), lambda _: {})

        first = (await ended(ben))[0]
        many = await ended(Principal("ana", "agent", projects=("p",)), 6) + await ended(ana, 4)
        assert jobs.of(ana) == many[:5:-1] and jobs.of(ben) == [first]
        waits = waiting(cid)  # a place of the one who has most
        await ended(cid)
        assert jobs.get(ben, first.id) is first and len(jobs.of(ana)) == 3
        held = [waits, *(waiting(cid) for _ in range(3))]
        with pytest.raises(HttpError, match="4 jobs of this login"):
            waiting(cid)
        assert (await ended(ben))[0] in jobs.of(ben)
        may_end.set()
        await asyncio.gather(*(one.task for one in held if one.task))
        jobs.close()
        jobs = Jobs(Share())
        await ended(Principal(ANONYMOUS, "operator"), 6)  # without logins all are the same
        assert len(jobs.of(Principal(ANONYMOUS, "operator"))) == 6
        jobs.close()

    asyncio.run(run())


def test_a_job_that_fails_holds_the_problem(client: ApiClient) -> None:
    began = client.post("/v1/get", {"kref": "kref://p/none.fact"}, Prefer="respond-async")
    job = finished(client, began.headers["location"])
    assert job["state"] == "failed" and job["problem"]["code"] == "not_found"
    refused = client.post("/v1/get", {"wrong": 1}, Prefer="respond-async")
    assert is_problem(refused, 400, "input")


def test_a_job_reports_progress_and_stops_after_a_batch(api: Served, client: ApiClient) -> None:
    turns = [{"text": f"Turn {at} is about tea", "id": str(at)} for at in range(6_000)]
    began = client.post("/v1/ingest", {"source": turns}, Prefer="respond-async")
    path = began.headers["location"]
    until(lambda: client.get(path).json["done"] > 0)
    cancelled = client.ask("DELETE", path)
    assert cancelled.status == 202
    job = finished(client, path)
    assert job["state"] == "cancelled" and 0 < job["done"] < 6_000
    assert api.memory.verify().entries > 0
    assert 0 < api.memory.stats()["exchanges"] < 6_000  # type: ignore[operator]


def test_work_that_is_asked_to_stops_between_batches(api: Served) -> None:
    for number in range(300):
        api.memory.expand(f"The crate {number} stands in row {number}.", name=f"c{number}")
    with stoppable(lambda: True):
        dream = api.memory.dream()
        shift = api.memory.nightshift(jobs=["retain", "dream"])
    assert dream.state == "stopped" and 0 < dream.assessed < 300
    assert dream.stopped == "it was asked to."
    assert [one.state for one in shift] == ["skipped", "skipped"]
    assert "asked to stop" in shift[0].reason
    rest = api.memory.dream()
    assert rest.after == dream.seq and rest.state == "done"


def test_a_consolidation_that_is_asked_to_stops_between_sessions(api: Served) -> None:
    for at in range(3):
        turn = {
            "text": f"We will paint door {at} on Friday.",
            "session": f"s{at}",
            "thread": "doors",
        }
        api.memory.ingest([turn])
    asked = iter([False])
    with stoppable(lambda: next(asked, True)):
        first = api.memory.consolidate("doors")
    assert len(first.sessions) == 1
    assert len(api.memory.consolidate("doors").sessions) == 3


def test_a_job_that_waits_is_cancelled_at_once(api: Served, client: ApiClient) -> None:
    began = threading.Event()
    ended = threading.Event()
    jobs = api.server._app.api.jobs

    def hold(meter: Any) -> None:
        began.set()
        ended.wait(20)

    async def start() -> None:
        for _ in range(5):
            jobs.start("recall", api_principal(api), hold, lambda error: {})

    run_on_loop(api, start)
    began.wait(20)
    waiting = [one for one in client.get("/v1/jobs").json["items"] if one["state"] == "queued"]
    assert len(waiting) == 3  # a login has half of the threads
    client.ask("DELETE", f"/v1/jobs/{waiting[0]['id']}")
    assert finished(client, f"/v1/jobs/{waiting[0]['id']}")["state"] == "cancelled"
    ended.set()


def api_principal(api: Served) -> Any:
    return api.users.verify_token(api.tokens["operator"])


def run_on_loop(api: Served, make: Any) -> None:
    import asyncio

    loop = api.server._serving.get_loop()  # type: ignore[union-attr]
    asyncio.run_coroutine_threadsafe(make(), loop).result(20)


# Limits and health


def test_a_login_that_asks_too_often_waits(tmp_path: Path) -> None:
    with (
        served(tmp_path, rate=0.01, burst=3) as api,
        api.client() as client,
        api.client("agent") as other,
    ):
        assert [client.get(GET_DB).status for _ in range(3)] == [200] * 3
        refused = client.get(GET_DB)
        assert is_problem(refused, 429, "rate")
        assert 1 <= int(refused.headers["retry-after"]) <= 100
        assert other.get(GET_DB).status == 200  # each login has its own
        assert client.get("/healthz").status == 200


def test_the_rate_fills_again() -> None:
    now = [0.0]
    rate = RequestRate(2, 3, lambda: now[0])
    for _ in range(3):
        rate.take("ana")
    with pytest.raises(HttpError) as caught:
        rate.take("ana")
    assert caught.value.headers == {"Retry-After": "1"}
    now[0] = 0.5
    rate.take("ana")
    with pytest.raises(HttpError):
        rate.take("ana")
    rate.take("bob")


def test_a_quota_of_writes_says_when_to_come_again(api: Served, client: ApiClient) -> None:
    api.memory.quota(writes_per_minute=1)
    client.post("/v1/remember", {"text": "One"})
    reply = client.post("/v1/remember", {"text": "Two"})
    assert reply.status == 429 and reply.json["code"] == "limit"
    assert reply.headers["retry-after"]


def test_health_and_readiness(tmp_path: Path) -> None:
    memory = filled(tmp_path / "memory.db")
    with served(tmp_path, memory=memory) as api, ApiClient(api.server.port) as nobody:
        assert nobody.get("/healthz").json == {"status": "ok"}
        with api.client() as known:
            assert known.get("/").json["openapi"] == "/v1/openapi.json"
        assert nobody.get("/readyz").json == {"status": "ready"}
        memory.close()
        assert nobody.get("/healthz").status == 200
        late = nobody.get("/readyz")
        assert late.status == 503 and late.json == {"status": "not ready"}
        assert "memory.db" not in str(late)
        with api.client() as client:
            assert is_problem(client.get(GET_DB), 503, "closed")


def test_what_finds_no_space_is_told_as_such(api: Served, client: ApiClient) -> None:
    body = {"statement": "CREATE (n:T {t: $t}) RETURN n.t", "parameters": {"t": "x" * 100_000}}
    call = {"text": "We deploy on Thursdays", "name": "deploys"}
    with largest_file(50_000):
        assert is_problem(client.post("/v1/remember", call), 507, "disk_full")
        long = {"text": "x" * 60_000, "session": "long"}
        assert is_problem(client.post("/v1/chat-add", long), 507, "disk_full")
        reply = client.post(QUERY, body)
        assert (reply.status, reply.code) == (507, "Neo.DatabaseError.Statement.ExecutionFailed")
        assert "no space left" in reply.json["errors"][0]["message"]
    assert client.post("/v1/remember", call).status == 200
    assert client.post(QUERY, body).status == 202
    api.memory.verify()


def test_a_shared_log_that_does_not_answer_is_no_mistake_of_the_caller() -> None:
    silent = UnreachableError("The shared log does not answer.", next_step="Repeat the call.")
    problem = problem_of(silent)
    assert (problem["status"], problem["code"]) == (503, "unreachable")
    assert "unreachable" in CODES
    assert "Retry-After" in problem_response(problem).headers
    assert status_of(silent).code.startswith("Neo.TransientError.")


def test_a_commit_whose_outcome_is_unknown_is_not_to_be_repeated_unseen() -> None:
    lost = UnreachableError("It broke off.", next_step="Look first.", outcome="unknown", change=7)
    problem = problem_of(lost)
    assert (problem["status"], problem["fields"]["outcome"]) == (503, "unknown")
    assert "Retry-After" not in problem_response(problem).headers
    # drivers run a managed transaction again after an error of the class TransientError
    assert status_of(lost).code == "Neo.DatabaseError.Transaction.TransactionCommitFailed"


def test_a_conversation_is_named_as_in_queries(api: Served, client: ApiClient) -> None:
    assert client.get(GET_DB, X_Query_Session="s1", X_Query_Agent="kai").status == 200
    wrong = client.get(GET_DB, X_Query_As_Of_System_Time="2020-01-01")
    assert wrong.status == 400


def test_a_server_without_verbs_has_no_api(tmp_path: Path) -> None:
    from doxa.servers.http import running_server
    from tests.servers.bolt_fixtures import GraphDatabase, Users

    database = GraphDatabase(tmp_path / "graph.db")
    with running_server(database, Users()) as server, ApiClient(server.port) as nobody:
        assert nobody.get("/v1/openapi.json").status == 404
    database.store.close()


def test_readers_and_writers_at_once(api: Served) -> None:
    """No client gets an error, and every write is there in the end."""
    problems: list[Any] = []

    def work(number: int) -> None:
        with api.client("agent") as client:
            for at in range(6):
                if number % 2:
                    reply = client.post("/v1/remember", {"text": f"Client {number} says {at}"})
                else:
                    reply = client.get("/v1/recall?text=client")
                if reply.status != 200:
                    problems.append(reply.json)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    before = time.monotonic()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert problems == [] and time.monotonic() - before < 60
    with api.client() as client:
        actors = [one["actor"] for one in client.get("/v1/log?limit=1000").json["items"]]
        assert actors.count("kai") >= 24
