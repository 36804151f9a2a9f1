"""Sessions that go on at another server: tokens, bookmarks, levels of reading, and what each
interface says of its lag."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from doxa.app import Memory
from doxa.base.errors import BusyError, InputError
from doxa.cli.application import app
from doxa.servers.credentials import Principal
from doxa.servers.memory import MemoryDatabase
from doxa.servers.telemetry.files import file_metrics
from doxa.servers.telemetry.metrics import MetricRegistry
from doxa.servers.unit_of_work import await_bookmarks, bookmark
from tests.fixtures_shared import opened
from tests.http.api_fixtures import served

OpenServer = Callable[..., Memory]
ROOT = Principal("root", "operator")
ZERO = "00" * 32


@pytest.fixture
def server(shared_url: str, tmp_path: Path) -> OpenServer:
    def again(name: str, **options: Any) -> Memory:
        given = {"tenant": "acme", "replica": tmp_path / name} | options
        return opened(shared_url, **given)  # type: ignore[arg-type]

    return again


def test_the_receipt_of_a_write_is_a_token_elsewhere(server: OpenServer) -> None:
    with server("one") as one, server("two") as two:
        kept = one.remember("Deploys are on Thursday", project="shop")
        made = one.revise(kept.kref.partition("?")[0], "Deploys are on Friday")
        token = f"{made.change}@{made.receipt}"
        assert one.token() == token
        assert two.token() != token
        assert two.wait(token) == token
        assert len(two.recall("deploys", project="shop").hits) == 1
        one.remember("Rollbacks are on Friday", project="shop")
        assert two.wait(token) == token, "it has been there already"
        with pytest.raises(BusyError, match="has not reached change 99"):
            two.wait(f"99@{ZERO}", timeout_s=0.1)
        with pytest.raises(InputError, match="another receipt"):
            two.wait(f"1@{ZERO}", timeout_s=0.1)
        for wrong in ("", "one", "1", "1@xyz", "-1@00", "٣@00", "9" * 30 + "@00"):
            with pytest.raises(InputError):
                two.wait(wrong)
        with pytest.raises(InputError):
            two.wait(token, timeout_s=-1)


def test_a_token_of_a_file(tmp_path: Path) -> None:
    with opened(tmp_path / "own.db") as own, opened(tmp_path / "own.db") as other:
        own.remember("Deploys are on Thursday", project="shop")
        assert other.wait(own.token()) == own.token()
        ahead = f"{own.store.last_transaction() + 1}@{ZERO}"
        with pytest.raises(BusyError):
            other.wait(ahead, timeout_s=0)


def test_a_session_of_projects_waits_for_what_it_sees(server: OpenServer) -> None:
    """Whether a change that it does not see exists is not to be learned by waiting for it."""
    with server("one") as one, server("two") as two:
        one.remember("Apples are in", project="shop")
        mine = one.token()
        one.remember("Pears are out", project="secret")
        hidden = one.store.last_transaction()
        bound = two.session(projects=["shop"])
        assert bound.wait(mine) == bound.token() == mine
        said = set()
        for number in (hidden, 9_999):
            with pytest.raises(BusyError) as refused:
                bound.wait(f"{number}@{ZERO}", timeout_s=0)
            said.add(str(refused.value).replace(str(number), "N"))
        assert len(said) == 1


def test_a_wait_ends_when_the_change_arrives(server: OpenServer) -> None:
    with server("one") as one, server("two") as two, server("three") as three:
        one.remember("Deploys are on Thursday", project="shop")
        seen: list[str] = []
        wanted = one.store.last_transaction() + 1
        thread = threading.Thread(
            target=lambda: seen.append(str(two.store.shared and two.store.shared.reach(wanted, 30)))
        )
        thread.start()
        three.remember("Rollbacks are on Friday", project="shop")
        thread.join(60)
        assert seen and two.store.last_transaction() >= wanted


def test_bookmarks_go_from_server_to_server(server: OpenServer) -> None:
    with server("one") as one, server("two") as two:
        here, there = MemoryDatabase(one), MemoryDatabase(two)
        session = here.open_session(ROOT, "doxa", {}, 10_000)
        list(session.run("CREATE (:Thing {n: 1})"))
        session.close()
        mark = bookmark(here, ROOT, "doxa")
        assert mark == f"doxa:doxa:{one.token()}"
        await_bookmarks(there, ROOT, "doxa", [mark, "somebody's", "doxa:other:9@00"], 10_000)
        found = there.open_session(ROOT, "doxa", {}, 10_000)
        assert [list(row) for row in found.run("MATCH (t:Thing) RETURN t.n")] == [[1]]
        found.close()
        with pytest.raises(BusyError):
            await_bookmarks(there, ROOT, "doxa", [f"doxa:doxa:99@{ZERO}"], 50)


@pytest.mark.parametrize("told", [{"read_level": "latest"}, {"read_after": ""}])
def test_a_client_says_how_far_it_reads(server: OpenServer, told: dict[str, str]) -> None:
    with server("one") as one, server("two") as two:
        one.remember("Deploys are on Thursday", project="shop")
        given = {name: value or one.token() for name, value in told.items()}
        there = MemoryDatabase(two)
        with there.verb_session(ROOT, "doxa", {}) as session:
            assert not session.recall("deploys", project="*").hits
        with there.verb_session(ROOT, "doxa", {"read_level": "local"} | given) as session:
            found = len(session.recall("deploys", project="*").hits)
        assert found == ("read_level" in told), "a local read waits for nothing"
        with there.verb_session(ROOT, "doxa", given) as session:
            assert len(session.recall("deploys", project="*").hits) == 1
        with (
            pytest.raises(InputError, match="not a level"),
            there.verb_session(ROOT, "doxa", {"read_level": "newest"}),
        ):
            pass


def test_the_lag_is_in_stats_and_metrics(server: OpenServer, tmp_path: Path) -> None:
    with server("one") as one, server("two") as two:
        one.remember("Deploys are on Thursday", project="shop")
        assert two.replica is not None and one.replica is not None
        two.replica._head = one.replica.log.head("acme").tx
        told: Any = two.stats()["replica"]
        assert told["behind"] == one.store.last_transaction() - two.store.last_transaction() > 0
        text = MetricRegistry().text(file_metrics([("doxa", two)], version="1"))
        assert f'doxa_replica_behind{{database="doxa"}} {told["behind"]}' in text
        assert 'doxa_replica_reachable{database="doxa"} 1' in text
        assert 'doxa_replica_age_seconds{database="doxa"}' in text
        bound = two.session(projects=["shop"])
        assert "replica" not in bound.memory.stats()
    with opened(tmp_path / "own.db") as own:
        assert "replica" not in own.stats()
        text = MetricRegistry().text(file_metrics([("doxa", own)], version="1"))
        assert "doxa_replica_behind{" not in text


def test_the_commands(shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    where = ["--db", f"{shared_url}?tenant=acme"]

    def run(*given: str) -> Any:
        done = CliRunner().invoke(app, [*given, *where, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    run("remember", "Deploys are on Thursday")
    token = run("token")
    assert run("wait", token) == token
    assert run("status")["stats"]["replica"]["behind"] == 0
    shown = CliRunner().invoke(app, ["status", *where])
    assert "a replica of tenant acme: 0 changes behind" in shown.output
    done = CliRunner().invoke(app, ["wait", f"99@{ZERO}", "--timeout-s", "0", *where])
    assert done.exit_code == 5, done.output


def test_over_http_a_session_goes_on_at_another_server(server: OpenServer, tmp_path: Path) -> None:
    (tmp_path / "users").mkdir()
    (tmp_path / "others").mkdir()
    with (
        served(tmp_path / "users", memory=server("one")) as one,
        served(tmp_path / "others", memory=server("two")) as two,
        one.client() as here,
        two.client() as there,
        two.client("bound") as bound,
    ):
        here.post("/v1/remember", {"text": "Deploys are on Thursday", "project": "shop"})
        token = here.post("/v1/token").json["value"]
        asked = {"text": "deploys", "project": "*"}
        found = there.post("/v1/recall", asked, X_Query_Read_After=token)
        assert len(found.json["hits"]) == 1, found.json
        assert found.headers["doxa-replica-behind"] == "0"
        assert float(found.headers["doxa-replica-age"]) >= 0
        seen = bound.post("/v1/recall", {"text": "deploys"})
        assert "doxa-replica-behind" not in seen.headers
        late = there.post("/v1/wait", {"token": f"99@{ZERO}", "timeout_s": 0})
        assert late.status == 503, late.json
