"""What servers tell about their work: metrics, log lines and spans, of every interface, and nothing
of what was said."""

from __future__ import annotations

import http.server
import io
import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import doxa
from doxa.servers.credentials import Credentials
from doxa.servers.http import running_server
from doxa.servers.memory import MemoryDatabase
from doxa.servers.telemetry.calls import TELEMETRY, CallRecord, outcome_of
from doxa.servers.telemetry.logs import JsonLines
from doxa.servers.telemetry.metrics import METRICS, MetricRegistry
from doxa.servers.telemetry.trace_context import parsed
from tests.fixtures_shared import opened
from tests.http.api_fixtures import ApiClient
from tests.servers.bolt_fixtures import Peer
from tests.servers.mcp_fixtures import ERAS, over_http, serving
from tests.servers.test_service import Running, running

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "operations.md"
SECRET = "xylophone"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
ALL = ("--http", "--http-port", "0", "--bolt", "--port", "0", "--mcp", "--mcp-port", "0")
NOBODY: dict[str, str | None] = {"Authorization": None}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Counts of this test alone."""
    before, TELEMETRY.registry = TELEMETRY.registry, MetricRegistry()
    yield
    TELEMETRY.registry = before


@contextmanager
def logged() -> Iterator[list[dict[str, Any]]]:
    """The lines of the log of calls, as JSON."""
    lines: list[dict[str, Any]] = []
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("doxa.calls")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        lines += [json.loads(line) for line in stream.getvalue().splitlines()]


def values(text: str) -> dict[str, float]:
    """The samples of an answer in the text format."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


# Metrics


def test_the_table_of_the_guide_is_what_is_served(tmp_path: Path) -> None:
    rows = re.findall(
        r"^\| `(doxa_\w+)` \| (\w+) \| ([\w`, -]*) \| (.+) \|$", GUIDE.read_text(), re.M
    )
    told = [
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)), about)
        for name, kind, labels, about in rows
    ]
    assert told == [tuple(metric) for metric in METRICS]
    with (
        opened(tmp_path / "memory.db") as memory,
        running_server(MemoryDatabase(memory), None) as server,
        ApiClient(server.port) as client,
    ):
        memory.backup(tmp_path / "copy.db")
        memory.dream()
        client.post("/v1/remember", {"text": f"Ana plays the {SECRET}."})
        text = client.get("/metrics").json
    typed = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
    assert typed == [(metric.name, metric.kind) for metric in METRICS]
    for metric in METRICS:  # each has a sample here, with the labels of the table
        if metric.name.startswith("doxa_replica_"):  # shared logs: test_sessions_of_servers.py
            continue
        samples = re.findall(rf"^{metric.name}(?:_count)?(?:{{(.*)}})? \S+$", text, re.M)
        assert samples, metric.name
        for labels in samples:
            assert tuple(re.findall(r'(\w+)="', labels)) == metric.labels
    assert SECRET not in text


def test_each_interface_is_counted(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        database = MemoryDatabase(memory)
        with (
            running_server(database, None) as server,
            doxa.servers.bolt.running_server(database, None) as bolt,
            ApiClient(server.port) as client,
        ):
            assert client.post("/v1/remember", {"text": "Ana likes tea."}).status == 200
            assert client.post("/v1/remember", {"text": 7}).status == 400
            assert client.ask("GET", "/v1/nothing").status == 404
            assert client.query("CREATE (:A)", headers=NOBODY).status == 202
            assert client.query("RETURN", headers=NOBODY).status == 400
            with Peer(bolt.port) as peer:
                peer.login({"scheme": "none"})
                assert peer.rows("CREATE (:A)") == []
                peer.ask("RUN", "RETURN", {}, {})
            with serving(memory) as mcp:

                async def work(agent: Any) -> None:
                    await agent.call_tool("memory_remember", {"text": "Bob likes coffee."})
                    await agent.call_tool("memory_recall", {})

                over_http(mcp.uri, "auto", work)
            found = values(client.get("/metrics").json)
    requests = {name: count for name, count in found.items() if "requests_total" in name}
    assert requests == {
        'doxa_requests_total{interface="http",verb="remember",outcome="ok"}': 1,
        'doxa_requests_total{interface="http",verb="remember",outcome="refused"}': 1,
        'doxa_requests_total{interface="http",verb="api",outcome="refused"}': 1,
        'doxa_requests_total{interface="http",verb="query",outcome="ok"}': 1,
        'doxa_requests_total{interface="http",verb="query",outcome="refused"}': 1,
        'doxa_requests_total{interface="bolt",verb="query",outcome="ok"}': 1,
        'doxa_requests_total{interface="bolt",verb="query",outcome="refused"}': 1,
        'doxa_requests_total{interface="mcp",verb="memory_remember",outcome="ok"}': 1,
        'doxa_requests_total{interface="mcp",verb="memory_recall",outcome="refused"}': 1,
    }
    assert all(
        found[f'doxa_requests_running{{interface="{one}"}}'] == 0 for one in ("http", "bolt", "mcp")
    )
    assert found['doxa_request_changes_total{interface="http"}'] == 2
    assert found['doxa_request_changes_total{interface="bolt"}'] == 1
    assert found['doxa_entries{database="doxa",label="Item"}'] == 2
    seconds = 'doxa_request_seconds_bucket{interface="http",verb="remember",le="+Inf"}'
    assert found[seconds] == 2


def test_metrics_are_for_operators_who_are_bound_to_nothing(tmp_path: Path) -> None:
    users = Credentials(tmp_path / "users.json")
    tokens = {
        "operator": users.add_token("ana", label="x", role="operator"),
        "agent": users.add_token("bot", label="x", role="agent"),
        "bound": users.add_token("eve", label="x", role="operator", projects=("p",)),
    }
    with (
        opened(tmp_path / "memory.db") as memory,
        running_server(MemoryDatabase(memory), users) as server,
    ):
        for name, status in (("operator", 200), ("agent", 403), ("bound", 403)):
            with ApiClient(server.port, tokens[name]) as client:
                assert client.get("/metrics").status == status
        with ApiClient(server.port) as client:
            assert client.get("/metrics").status == 401


def test_a_file_that_cannot_be_read_has_no_numbers(tmp_path: Path) -> None:
    memory = opened(tmp_path / "memory.db")
    with running_server(MemoryDatabase(memory), None) as server, ApiClient(server.port) as client:
        memory.close()
        found = client.get("/metrics")
    assert found.status == 200 and "doxa_log_changes{" not in found.json


def test_labels_are_escaped_and_buckets_add_up() -> None:
    registry = MetricRegistry()
    for seconds in (0.0005, 0.001, 0.3, 1e9):
        registry.begin("a")
        registry.end("a", 'x"\\\n', "ok", seconds=seconds, changes=0)
    found = values(registry.text({}))
    labels = 'interface="a",verb="x\\"\\\\\\n"'
    assert found[f'doxa_request_seconds_bucket{{{labels},le="0.001"}}'] == 2
    assert found[f'doxa_request_seconds_bucket{{{labels},le="0.5"}}'] == 3
    assert found[f'doxa_request_seconds_bucket{{{labels},le="+Inf"}}'] == 4
    assert found[f"doxa_request_seconds_count{{{labels}}}"] == 4


def test_a_call_ends_once() -> None:
    record = CallRecord("a", "b")
    record.end("ok")
    record.end("failed")
    assert record.outcome == "ok"
    assert [outcome_of(status) for status in (200, 304, 404, 499, 500)] == [
        "ok",
        "ok",
        "refused",
        "cancelled",
        "failed",
    ]


# Logs


def test_a_line_for_each_call_has_its_changes_and_no_content(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        before = memory.store.last_transaction()
        database = MemoryDatabase(memory)
        with (
            logged() as lines,
            running_server(database, None) as server,
            doxa.servers.bolt.running_server(database, None) as bolt,
            ApiClient(server.port, traceparent=PARENT) as client,
        ):
            client.post("/v1/remember", {"text": f"Ana plays the {SECRET}."})
            client.post("/v1/recall", {"text": f"who plays the {SECRET}?"})
            client.query(f"CREATE (:A {{x: '{SECRET}'}})", headers=NOBODY)
            client.query(f"RETURN {SECRET}", headers=NOBODY)
            with Peer(bolt.port) as peer:
                peer.login({"scheme": "none"})
                given = {"tx_metadata": {"traceparent": PARENT}}
                peer.ask("BEGIN", given)
                peer.rows("CREATE (:A)")
                peer.rows("CREATE (:B)")
                peer.ask("COMMIT")
        changes = [receipt.tx for receipt in memory.log(after=before, newest_first=False)]
    told = [(line["interface"], line["verb"], line["outcome"], line["changes"]) for line in lines]
    assert told == [
        ("http", "remember", "ok", changes[:1]),
        ("http", "recall", "ok", []),
        ("http", "query", "ok", changes[1:2]),
        ("http", "query", "refused", []),
        ("bolt", "transaction", "ok", changes[2:]),
    ]
    assert lines[3]["code"] == "Neo.ClientError.Statement.SyntaxError"
    assert {line["trace_id"] for line in lines} == {TRACE}
    assert {line["role"] for line in lines} == {"operator"}
    assert all(line["level"] == "info" and line["ms"] >= 0 for line in lines)
    assert SECRET not in json.dumps(lines)


def test_a_traceback_is_told_without_its_text() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        found = logging.LogRecord(
            "doxa.x", logging.ERROR, __file__, 1, "it failed", (), (ValueError, error, None)
        )
    line = json.loads(JsonLines().format(found))
    assert line["error"] == "ValueError" and SECRET not in json.dumps(line)


def test_the_server_writes_its_log_as_json(tmp_path: Path) -> None:
    with running(tmp_path / "m.db", "--http", "--http-port", "0", "--log", "json") as server:
        with ApiClient(server.port("http")) as client:
            client.post("/v1/remember", {"text": "Ana likes tea."})
        code, err = server.stop()
    lines = [json.loads(line) for line in err.splitlines()]
    assert code == 0 and [line["message"] for line in lines] == ["http remember ok"]
    assert lines[0]["changes"] and lines[0]["time"].endswith("Z")


# Traces


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        PARENT.upper(),
        PARENT[:-1],
        PARENT + "-00",
        PARENT.replace("00-", "ff-", 1),
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        PARENT + "x" * 500,
    ],
)
def test_an_invalid_trace_context_counts_as_none(text: object) -> None:
    assert parsed(text) is None


def test_a_trace_context_is_read() -> None:
    found = parsed(f" {PARENT} ")
    assert found == (TRACE, SPAN, True) and str(found) == PARENT
    later = parsed(PARENT.replace("00-", "cc-", 1) + "-what-the-future-brings")
    assert later == found
    assert parsed(PARENT[:-1] + "0") == (TRACE, SPAN, False)


def test_without_the_extra_the_setting_is_refused() -> None:
    from doxa.servers.telemetry.exporting import begin_export

    with pytest.raises(doxa.InputError, match="x is on or off"):
        begin_export("1", "x", "maybe")
    begin_export("1", "x", "off")()
    try:
        import opentelemetry.sdk  # noqa: F401
    except ImportError:
        with pytest.raises(doxa.InputError, match="extra otel"):
            begin_export("1", "x", "on")


OTEL = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache" / "doxa-tests") / "otel"


class Collector(http.server.ThreadingHTTPServer):
    """Receives what an exporter sends, as a collector of OpenTelemetry does."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class CollectorHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        assert isinstance(self.server, Collector)
        self.server.received.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.skipif(not OTEL.is_dir(), reason="run scripts/otel.sh to install OpenTelemetry")
def test_spans_and_metrics_reach_a_collector_in_the_trace_of_the_client(tmp_path: Path) -> None:
    collector = Collector()
    environ = {
        "DOXA_OTEL": "on",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_address[1]}",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(OTEL))),
    }
    with running(tmp_path / "m.db", *ALL, **environ) as server:
        use(server)
        code, err = server.stop()
    collector.shutdown()
    collector.server_close()
    assert code == 0, err
    spans = b"".join(body for path, body in collector.received if path == "/v1/traces")
    meters = b"".join(body for path, body in collector.received if path == "/v1/metrics")
    assert spans.count(bytes.fromhex(TRACE)) == 4
    for name in (
        b"doxa remember",
        b"doxa recall",
        b"doxa query",
        b"doxa memory_recall",
        b"create_memory",
        b"doxa.changes",
    ):
        assert name in spans
    assert b"doxa.request.duration" in meters
    assert SECRET.encode() not in spans + meters


def use(server: Running) -> None:
    with ApiClient(server.port("http"), traceparent=PARENT) as client:
        assert client.post("/v1/remember", {"text": f"Ana plays the {SECRET}."}).status == 200
        assert client.post("/v1/recall", {"text": SECRET}).status == 200
    with Peer(server.port("bolt")) as peer:
        peer.login({"scheme": "none"})
        given = {"tx_metadata": {"traceparent": PARENT}}
        peer.ask("RUN", f"RETURN '{SECRET}'", {}, given)
        peer.ask("PULL", {"n": -1})

    async def work(found: Client) -> None:
        meta: Any = {"traceparent": PARENT}
        await found.call_tool("memory_recall", {"query": SECRET}, meta=meta)

    over_http(str(server.told["mcp"]), ERAS[0], work)


def test_every_interface_logs_the_trace_of_its_client(tmp_path: Path) -> None:
    """Over MCP it comes in `_meta`."""
    with running(tmp_path / "m.db", *ALL, "--log", "json") as server:
        use(server)
        code, err = server.stop()
    lines = [json.loads(line) for line in err.splitlines()]
    assert code == 0 and SECRET not in err
    told = [(line["interface"], line["verb"], line["trace_id"]) for line in lines]
    assert told == [
        ("http", "remember", TRACE),
        ("http", "recall", TRACE),
        ("bolt", "query", TRACE),
        ("mcp", "memory_recall", TRACE),
    ]
