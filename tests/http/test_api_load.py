"""64 clients at once, readers and writers: no error but the limits' own, and every write that was
acknowledged is there once. `python -m bench api --clients 64 --minutes 10` is the long form."""

from __future__ import annotations

import os
from pathlib import Path

from bench.api_load import CLIENTS, measure_load

REQUESTS = int(os.environ.get("DOXA_API_REQUESTS") or 12)  # of each client


def test_64_clients_get_no_error_and_lose_nothing(tmp_path: Path) -> None:
    load = measure_load(
        clients=CLIENTS, seconds=300, requests=REQUESTS, turns=300, seed=1, folder=tmp_path
    )
    assert load.errors == {}
    assert (load.rewritten, load.stopped) == (0, 0)
    writers = CLIENTS // 4
    assert load.acknowledged == writers * REQUESTS
    assert load.repeated == writers * len(range(0, REQUESTS, 10))
    assert load.requests == CLIENTS * REQUESTS + load.repeated
