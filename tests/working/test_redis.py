"""What is special to Redis: every key expires by itself, prefixes do not mix, and the package is
imported only where a URL asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from doxa.base.clock import FakeClock
from doxa.working import open_working


def test_every_key_expires_within_the_hour_but_the_secret_and_the_counter(
    redis_port: int, tmp_path: Path
) -> None:
    import redis

    client = redis.Redis(port=redis_port)
    before = set(client.keys())
    for prefix in (f"{tmp_path.name}-a", f"{tmp_path.name}-b"):
        working = open_working(
            f"redis://127.0.0.1:{redis_port}/0?prefix={prefix}",
            tmp_path / "unused",
            clock=FakeClock(),
            ttl_s=3_600,
            read_only=False,
        )
        assert working.sessions(project="shop") == []  # nothing of the other prefix
        working.add("x", project="shop", user="ana")
        working.get(project="shop", user="ana")
        working.close()
    made = set(client.keys()) - before
    parts = {key: key.split(b"}:")[1].split(b":")[0] for key in made}
    assert sorted(parts.values()) == sorted([b"s", b"m", b"t", b"i", b"u", b"n", b"secret"] * 2)
    for key, part in parts.items():
        left_ms = client.pttl(key)
        if part == b"secret":
            assert left_ms == -1
        else:
            assert 0 < left_ms <= (2 * 86_400_000 if part == b"n" else 3_600_000), key
    assert not any(b"ana" in key or b"shop" in key for key in made)


def test_the_package_is_imported_only_for_a_url(tmp_path: Path) -> None:
    code = (
        "import sys, doxa\n"
        f"with doxa.open({str(tmp_path / 'm.db')!r}, embedder=None) as memory:\n"
        "    memory.chat_add('x', user='ana')\n"
        "assert 'redis' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
