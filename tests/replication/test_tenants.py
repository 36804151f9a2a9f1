"""Tenants of an engine: their quotas, and how one moves to another engine while it is used."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from doxa.app.care.shared import (
    create_tenant,
    list_replicas,
    list_tenants,
    move_tenant_to,
    place_tenant,
    set_tenant_quota,
    withdraw_replica,
)
from doxa.base.errors import ConflictError, LimitError, NotFoundError
from doxa.cli.application import app
from doxa.replication import moving
from doxa.replication.moving import engine_of, with_login, without_password
from doxa.replication.opening import open_log
from doxa.replication.protocol import FleetLog
from doxa.store import check, digest, replayed_digest, verify_log
from tests.fixtures_shared import StepCounts, opened


@pytest.fixture
def second_url(shared_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Another engine of the same kind."""
    if shared_url.startswith("folder:"):
        return f"folder:{tmp_path}/second"
    return str(
        request.getfixturevalue("postgres").create(shared_url.rpartition("/")[2] + "_second")
    )


def fleet(url: str) -> FleetLog:
    log = open_log(url)
    assert isinstance(log, FleetLog)
    return log


def test_a_quota_is_kept_at_the_engine(shared_url: str, tmp_path: Path) -> None:
    given: Any = {"tenant": "acme", "replica": tmp_path / "one"}
    with opened(shared_url, **given) as memory:  # type: ignore[arg-type]
        memory.remember("Deploys are on Thursday", project="p")
        used = list_tenants(shared_url)[0]["size_bytes"]
        set_tenant_quota(shared_url, used + 10, "acme")
        before = memory.store.last_transaction(), digest(memory.store)
        with pytest.raises(LimitError, match="may have"):
            memory.remember("x" * 5_000, project="p")
        assert (memory.store.last_transaction(), digest(memory.store)) == before
        kept = memory.recall("deploys", project="p").hits[0].kref.partition("?")[0]
        token = memory.forget(kept, erase=True, preview=True).token
        assert memory.forget(kept, erase=True, confirm=token).done, "an erasure is always taken"
        set_tenant_quota(shared_url, 0, "acme")
        memory.remember("x" * 5_000, project="p")
    with pytest.raises(NotFoundError):
        set_tenant_quota(shared_url, 5, "nobody")


def test_the_engine_itself_refuses_what_is_beyond_a_quota(
    shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that does not check, as one of another version."""
    if shared_url.startswith("folder:"):
        pytest.skip("a folder has no statements of its own")
    from doxa.replication.engines import postgres
    from tests.replication.logs import Chain

    log, chain = fleet(shared_url), Chain()
    log.configure("acme", quota_bytes=5)
    monkeypatch.setattr(postgres, "require_room", lambda *_: None)
    with pytest.raises(ConflictError), log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"one")])
    assert log.head("acme").tx == 0
    log.close()


def test_a_tenant_moves_while_servers_write(
    shared_url: str, second_url: str, tmp_path: Path, tally: Callable[..., None]
) -> None:
    """Two servers that were opened at the old engine go on at the new one: nothing is lost or
    twice, and the old engine keeps nothing."""
    failed: list[BaseException] = []
    given: Any = {"tenant": "acme", "background": True}
    with (
        opened(shared_url, replica=tmp_path / "one", **given) as one,  # type: ignore[arg-type]
        opened(shared_url, replica=tmp_path / "two", **given) as two,  # type: ignore[arg-type]
    ):
        one.remember("Deploys are on Thursday", project="p")

        def write(memory: Any, name: str) -> None:
            try:
                for number in range(15):
                    memory.remember(f"{name} says number {number}", project="p")
            except BaseException as error:
                failed.append(error)

        threads = [
            threading.Thread(target=write, args=(memory, name))
            for memory, name in ((one, "ana"), (two, "bob"))
        ]
        for thread in threads:
            thread.start()
        moved = move_tenant_to(shared_url, second_url, "acme")
        for thread in threads:
            thread.join(300)
        assert not failed
        for memory in (one, two):
            assert memory.replica is not None
            memory.replica.catch_up()
            assert verify_log(memory.store) == verify_log(one.store)
            assert digest(memory.store) == digest(one.store) == replayed_digest(memory.store)
            assert check(memory.store) == []
        rows = one.run("MATCH (r:Revision) RETURN count(r) AS n").records()
        assert rows[0]["n"] == 31
        tally(pause_ms=round(moved["pause_s"] * 1_000))
        with opened(shared_url, tenant="acme", replica=tmp_path / "late") as late:  # type: ignore[arg-type]
            assert digest(late.store) == digest(one.store), "the old URL leads there"
    (left,) = list_tenants(shared_url)
    assert left["moved_to"] == without_password(second_url)
    assert left["transactions"] == 0 and left["size_bytes"] == 0
    assert fleet(shared_url).read("acme", 0, limit_bytes=1 << 20) == []
    counted = StepCounts()
    back = move_tenant_to(second_url, shared_url, "acme", stages=counted)
    assert back["token"] == one_token(shared_url)
    assert counted.steps == {"transactions": [back["transactions"]] * 2}


def one_token(url: str) -> str:
    return str(next(row["token"] for row in list_tenants(url) if row["tenant"] == "acme"))


@pytest.mark.parametrize("step", ["_copy", "_switch", "drop", "switched"])
def test_a_move_that_breaks_off_is_finished_by_repeating_it(
    shared_url: str,
    second_url: str,
    tmp_path: Path,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: Any = {"tenant": "acme", "replica": tmp_path / "one"}
    with opened(shared_url, **given) as memory:  # type: ignore[arg-type]
        memory.remember("Deploys are on Thursday", project="p")

        def broken(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        engine = type(fleet(shared_url))
        switch = moving._switch
        with monkeypatch.context() as patch:
            if step == "drop":
                patch.setattr(engine, "drop", broken)
            elif step == "switched":
                patch.setattr(moving, "_switch", lambda *given: (switch(*given), broken()))
            else:
                patch.setattr(moving, step, broken)
            with pytest.raises(KeyboardInterrupt):
                move_tenant_to(shared_url, second_url, "acme")
        if step in ("_copy", "_switch"):
            memory.remember("Rollbacks are on Friday", project="p")
            stranger: Any = {"tenant": "acme", "replica": tmp_path / "stranger"}
            with (
                pytest.raises(ConflictError, match="on its way"),
                opened(second_url, **stranger) as early,  # type: ignore[arg-type]
            ):
                early.remember("Too early", project="p")
        move_tenant_to(shared_url, second_url, "acme")
        memory.remember("Releases are on Monday", project="p")
        with opened(second_url, tenant="acme", replica=tmp_path / "two") as other:  # type: ignore[arg-type]
            assert digest(other.store) == digest(memory.store)
            assert verify_log(other.store) == verify_log(memory.store)


def test_a_move_over_another_log_is_refused(
    shared_url: str, second_url: str, tmp_path: Path
) -> None:
    for url in (shared_url, second_url):
        with opened(url, tenant="acme", replica=tmp_path / "r") as memory:  # type: ignore[arg-type]
            memory.remember(f"Written at {url}", project="p")
    with pytest.raises(ConflictError, match="a log of its own"):
        move_tenant_to(shared_url, second_url, "acme")
    with pytest.raises(ConflictError, match="there already"):
        move_tenant_to(shared_url, shared_url, "acme")
    with pytest.raises(NotFoundError):
        move_tenant_to(shared_url, second_url, "nobody")
    with pytest.raises(ConflictError, match="has not moved"):
        fleet(shared_url).drop("acme")


def test_where_a_tenant_is_goes_before_where_it_belongs(shared_url: str, second_url: str) -> None:
    fleet_urls = [second_url]
    homes = {
        name: place_tenant(shared_url, name, engines=fleet_urls)["engine"]
        for name in map(str, range(20))
    }
    assert len(set(homes.values())) == 2
    name = next(one for one, home in homes.items() if home == without_password(second_url))
    create_tenant(shared_url, name)
    assert place_tenant(shared_url, name, engines=fleet_urls)["engine"] == without_password(
        shared_url
    )
    with pytest.raises(ConflictError, match="exists already"):
        create_tenant(second_url, name, engines=[shared_url])


def test_an_engine_that_joins_takes_its_share_alone() -> None:
    three = ["postgresql://a/x", "postgresql://b/x", "postgresql://c/x"]
    names = [f"tenant {number}" for number in range(3_000)]
    before = {name: engine_of(name, three) for name in names}
    after = {name: engine_of(name, [*three, "postgresql://d/x"]) for name in names}
    changed = [name for name in names if before[name] != after[name]]
    assert {after[name] for name in changed} == {"postgresql://d/x"}
    assert 600 < len(changed) < 900
    assert engine_of("acme", ["postgresql://u:secret@a/x"]) == "postgresql://u:secret@a/x"


def test_passwords_stay_out_of_what_is_kept() -> None:
    url = "postgresql://doxa:se%40cret@db:5432/shop?sslmode=require"
    assert without_password(url) == "postgresql://doxa@db:5432/shop?sslmode=require"
    assert with_login("postgresql://doxa@other/shop", url) == (
        "postgresql://doxa:se%40cret@other/shop"
    )
    assert with_login("postgresql://eve@other/shop", url) == "postgresql://eve@other/shop"
    assert with_login("folder:/x", "folder:/y") == "folder:/x"


def test_the_commands(shared_url: str, second_url: str, tmp_path: Path) -> None:
    def run(*given: object) -> Any:
        done = CliRunner().invoke(app, ["tenants", *map(str, given), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    url = f"{shared_url}?tenant=acme"
    assert run("create", url)["transactions"] == 0
    with opened(url, replica=tmp_path / "one") as memory:  # type: ignore[arg-type]
        memory.remember("Deploys are on Thursday", project="p")
    assert run("quota", url, 1_000_000)["quota_bytes"] == 1_000_000
    (row,) = run("list", shared_url)
    assert row["replicas"] == 1 and row["quota_bytes"] == 1_000_000
    assert run("place", url)["exists"]
    (replica,) = run("replicas", url)
    assert replica == list_replicas(url)[0] | {"age_s": replica["age_s"]}
    assert run("move", url, second_url)["pause_s"] >= 0
    assert run("list", second_url)[0]["quota_bytes"] == 1_000_000
    there = f"{second_url}?tenant=acme"
    assert run("replicas", there, "--withdraw", replica["replica"]) == []
    withdraw_replica(there, "unknown")
    shown = CliRunner().invoke(app, ["tenants", "list", shared_url])
    assert "moved to" in shown.output
