"""What runs on the hosts of a cluster: writers and readers that keep a journal, and the judge that
reads what the engine and the replicas have. Each is a process: `python -m tests.cluster.clients`.

    write URL FOLDER NAME JOURNAL STOP    one line for each attempt, until the file STOP exists
    read URL FOLDER NAME JOURNAL STOP     one line for each read, with what was seen
    chat BALANCER TOKEN NAME JOURNAL STOP one session over HTTP, whose server may die at any time
    talk URL PREFIX NAME JOURNAL STOP     messages to working memory on Redis
    held URL PREFIX NAME                  what it has of them
    refuse URL FOLDER                     why a replica cannot go on
    judge URL FOLDER...                   the log, state and proof of replicas in these folders

An attempt of a writer ends as `acked`, `none` (refused, and surely not written) or `unknown`. A
writer of verbs repeats its call with the same key until it is acknowledged, so there it is once.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from doxa.app import Memory, open_memory
from doxa.base.clock import SystemClock
from doxa.base.errors import CorruptError, DoxaError
from doxa.models import HashEmbedder
from doxa.store import Identity, check, digest, replayed_digest, verify_log
from doxa.working import WorkingMemory, open_working

_PAUSE_S = 0.05
_ME = Identity("ana", "agent")


def _opened(url: str, folder: str, **options: Any) -> Memory:
    """A memory, as soon as the engine lets it open."""
    while True:
        try:
            return open_memory(
                url,
                replica=folder,
                role="operator",
                embedder=HashEmbedder(dimensions=384),
                **options,
            )
        except DoxaError as error:
            print(error.message, file=sys.stderr, flush=True)
            time.sleep(0.5)


def write(url: str, folder: str, name: str, journal: str, stop: str) -> None:
    by_verbs = name.startswith("verb")
    with _opened(url, folder, background=False) as memory, Path(journal).open("a") as told:
        n = 0
        while not Path(stop).exists():
            n += 1
            attempt = _by_verb if by_verbs else _by_store
            for line in attempt(memory, name, n, stop):
                told.write(json.dumps(line) + "\n")
                told.flush()
            time.sleep(_PAUSE_S)


def _by_store(memory: Memory, name: str, n: int, stop: str) -> Iterator[dict[str, Any]]:
    line: dict[str, Any] = {"by": name, "n": n, "began": time.monotonic()}
    line["kept"] = _keeps(memory)
    try:
        with memory.store.write(_ME, op="test") as tx:
            tx.create_node(["Entry"], {"by": name, "n": n})
        line |= {"state": "acked", "tx": tx.tx}
    except DoxaError as error:
        line |= {"state": error.fields.get("outcome", "none"), "why": error.message}
    yield line | {"ended": time.monotonic()}


def _keeps(memory: Memory) -> bool:
    """Whether the next write need not ask the engine for the right to append."""
    assert memory.replica is not None
    log: Any = memory.replica.log
    return not log._kept.is_empty


def _by_verb(memory: Memory, name: str, n: int, stop: str) -> Iterator[dict[str, Any]]:
    """Once and for all, whatever happens in between."""
    line: dict[str, Any] = {"by": name, "n": n, "began": time.monotonic(), "state": "unknown"}
    while line["state"] != "acked" and not Path(stop).exists():
        try:
            memory.remember(
                f"Entry {n} of {name}",
                project="p",
                name=f"{name}-{n}",
                idempotency_key=f"{name}/{n}",
            )
            line |= {"state": "acked"}
        except DoxaError as error:
            line["why"] = error.message
            time.sleep(_PAUSE_S)
    yield line | {"ended": time.monotonic()}


def read(url: str, folder: str, name: str, journal: str, stop: str) -> None:
    """Follow the log; what was seen once stays visible."""
    with _opened(url, folder, background=True) as memory, Path(journal).open("a") as told:
        while not Path(stop).exists():
            assert memory.replica is not None
            with memory.store.read() as snapshot:
                seen = snapshot.rows("SELECT count(*) FROM node")[0][0]
            status = memory.replica.status
            line = {"by": name, "at": time.monotonic(), "seen": seen, "tx": status.tx}
            line |= {"reachable": status.reachable, "age_s": status.age_s}
            told.write(json.dumps(line) + "\n")
            told.flush()
            time.sleep(0.1)


def chat(balancer: str, token: str, name: str, journal: str, stop: str) -> None:
    """Remember, and recall what was remembered, whichever server answers. A call that fails is
    repeated with the same key."""
    with Path(journal).open("a") as told:
        n = 0
        while not Path(stop).exists():
            n += 1
            word, tries = f"{name}{n}", 0
            body = {"text": f"Entry {n} of {name}", "name": word, "project": "p"}
            while _asked(balancer, token, "remember", body, f"{name}/{n}") is None:
                tries += 1
                time.sleep(_PAUSE_S)
            line: dict[str, Any] = {"by": name, "n": n, "state": "acked", "tries": tries}
            line |= {"ended": time.monotonic(), "missed": 0}
            while (
                found := _asked(balancer, token, "get", {"kref": f"kref://p/{word}.fact"})
            ) is None:
                line["missed"] += 1
                time.sleep(_PAUSE_S)
            assert f"Entry {n} of {name}" in json.dumps(found)
            told.write(json.dumps(line) + "\n")
            told.flush()


def _asked(balancer: str, token: str, verb: str, body: dict[str, Any], key: str = "") -> Any:
    """The answer of a verb, None if there is none now."""
    more = {"Idempotency-Key": key} if key else {}
    asked = urllib.request.Request(
        f"{balancer}/v1/{verb}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"} | more,
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        problem = error.read().decode()
        if error.code not in (404, 502, 503, 504):
            raise AssertionError(f"{error.code}: {problem}") from error
    except (OSError, http.client.HTTPException):
        pass
    return None


def judge(url: str, *folders: str) -> None:
    """Prove each replica, and print what one of them has. The new one reads all from the engine."""
    proofs, entries = set(), []
    for folder in folders:
        with _opened(url, folder, background=False) as memory:
            assert memory.replica is not None
            memory.replica.catch_up()
            assert check(memory.store) == []
            assert digest(memory.store) == replayed_digest(memory.store)
            proofs.add((digest(memory.store), verify_log(memory.store)))
            with memory.store.read() as snapshot:
                entries = snapshot.rows(
                    "SELECT json_extract(props, '$.by'), json_extract(props, '$.n'),"
                    " json_extract(props, '$.summary') FROM node"
                )
    print(json.dumps({"proofs": len(proofs), "entries": entries}))


def _working(url: str, prefix: str) -> WorkingMemory:
    at = url.replace("prefix=shop", f"prefix={prefix}")
    return open_working(at, Path("unused"), clock=SystemClock(), ttl_s=3_600, read_only=False)


def talk(url: str, prefix: str, name: str, journal: str, stop: str) -> None:
    """Add messages to one session of working memory; each is repeated with its key until it is
    acknowledged or the next one is due."""
    working = _working(url, prefix)
    with Path(journal).open("a") as told:
        n = 0
        while not Path(stop).exists():
            n += 1
            line: dict[str, Any] = {"text": f"message {n}", "state": "refused"}
            try:
                working.add(line["text"], project="p", session=name, idempotency_key=f"{name}/{n}")
                line["state"] = "acked"
            except DoxaError as error:
                line["why"] = error.message
            told.write(json.dumps(line | {"ended": time.monotonic()}) + "\n")
            told.flush()
            time.sleep(1.2)  # a session holds the newest 50


def held(url: str, prefix: str, name: str) -> None:
    messages = _working(url, prefix).get(project="p", session=name).messages
    print(json.dumps([one.text for one in messages]))


def refuse(url: str, folder: str) -> None:
    """Print why a replica cannot be opened."""
    try:
        open_memory(url, replica=folder, role="operator", embedder=None, background=False).close()
    except CorruptError as error:
        print(error.message)


_VERBS: dict[str, Callable[..., None]] = {
    "write": write,
    "read": read,
    "chat": chat,
    "talk": talk,
    "held": held,
    "refuse": refuse,
    "judge": judge,
}

if __name__ == "__main__":
    os.environ["DOXA_CONFIG"] = os.devnull
    _VERBS[sys.argv[1]](*sys.argv[2:])
