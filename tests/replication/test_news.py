"""News of appends reach other servers by notification, not only by asking."""

from __future__ import annotations

import threading

import pytest

from doxa.replication.opening import open_log
from tests.replication.logs import Chain
from tests.replication.postgres import MISSING, PostgresServer, programs

pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)


def test_who_waits_is_woken_by_another_server(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from doxa.replication.engines import postgres_news

    monkeypatch.setattr(postgres_news, "POLL_S", 3_600.0)  # nobody asks again
    monkeypatch.setattr(postgres_news, "POLL_HEARD_S", 3_600.0)
    url = postgres.create("news")
    log, other, chain, seen = open_log(url), open_log(url), Chain(), []
    assert log.wait("acme", 0, timeout_s=0) == 0
    news = log._news  # type: ignore[attr-defined]
    for _ in range(3_000):
        if news.hears:
            break
        threading.Event().wait(0.01)
    thread = threading.Thread(target=lambda: seen.append(log.wait("acme", 0, timeout_s=120)))
    thread.start()
    with other.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"one")])
    thread.join(120)
    assert seen == [1]
    log.close()
    other.close()
