"""The server of the API is killed (SIGKILL) at random points of every verb that writes, started
again, and gets the same request under the same idempotency key: each is done once, and whole.

The points are numbers of Python calls, counted in a run that is not killed, so that they reach
every step from the login to the answer; every third kill comes at a random moment instead, which
may be inside of SQLite. `make campaign` kills many more (`--campaign N`); DOXA_SEED repeats a run.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doxa.app import Memory
from doxa.app.verbs import ALL
from doxa.app.verbs.resources import resources
from doxa.servers.credentials import Credentials
from doxa.store import Store, check, digest, replayed_digest, verify_log
from tests.crash.test_many_writers import KILLED, ROOT
from tests.fixtures_shared import opened
from tests.http.api_fixtures import ApiClient, filled
from tests.http.http_fixtures import Reply
from tests.http.test_api_verbs import arguments_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a server is forked, and killed")
KEYED = [one for one in resources(ALL) if one.key]
OTHERS = [one for one in resources(ALL) if one.verb.writes and not one.key]
GONE = (OSError, http.client.HTTPException)
PATIENCE_S = 120
NEVER = 10**9
SHORT = 5  # of the verbs without keys, in the short form


def prepared(memory: Memory, n: int) -> dict[str, dict[str, Any]]:
    """Make what the calls of round `n` are about, and return their bodies by verb."""

    def belief(name: str) -> str:
        made = f"kref://p/{name}{n}.fact"
        memory.remember(f"The {name} of round {n} is open", name=f"{name}{n}")
        return made

    def revised(name: str) -> str:
        made = belief(name)
        memory.revise(made, f"The {name} of round {n} is closed")
        return made

    gone, back = belief("gone"), revised("back")
    memory.deprecate(gone)
    undone = memory.revise(belief("undone"), f"Round {n} is another").change
    tagged, one, other = belief("tagged"), belief("one"), belief("other")
    memory.tag(tagged, "old")
    memory.link(one, other, kind="KNOWS")
    memory.remember(f"Gate {n} is green", facts=[(f"gate {n}", "colour", "green")])
    weaker = memory.remember(
        f"Gate {n} is blue", facts=[(f"gate {n}", "colour", "blue")], trust="candidate"
    )
    return {
        "ingest": {"source": [{"text": f"Hello {n}, {at}", "speaker": "Ana"} for at in range(3)]},
        "remember": {"text": f"Cats are grey in round {n}", "depends_on": [one]},
        "tell": {"text": f"The office of round {n} is in Basel"},
        "revise": {"what": belief("revised"), "text": f"Round {n} is revised"},
        "expand": {"text": f"Rain is wet in round {n}"},
        "supersede": {"kref": belief("replaced"), "text": f"Round {n} has a successor"},
        "contract": {"what": belief("contracted")},
        "deprecate": {"kref": belief("retired")},
        "restore": {"kref": gone},
        "rollback": {"kref": f"{back}?r=1"},
        "undo": {"change": undone},
        "forget": {"kref": belief("forgotten")},
        "resolve": {"conflict": weaker.change.conflict, "decision": "accept"},
        "constrain": {"constraints": {"functional": ["colour", f"size{n}"]}},
        "tag": {"kref": tagged, "tag": "mine", "expect": 0},
        "untag": {"kref": tagged, "tag": "old"},
        "link": {"source": other, "target": one, "kind": "SEES"},
        "unlink": {"source": one, "target": other, "kind": "KNOWS"},
        "attach": {"kref": one, "name": "plan.pdf", "location": "files/plan.pdf"},
        "bundle": {"kref": f"kref://p/all{n}.bundle", "add": [one, other]},
        "store_unit": {
            "text": f"The plan of round {n} is signed",
            "artifacts": {"plan.pdf": {"location": "files/plan.pdf"}},
            "derived_from": [one],
            "tags": ["mine"],
            "bundles": ["plans"],
        },
        "store_execution": {"task": f"Deploy round {n}", "steps": ["build", "push"]},
        "add_response": {"text": f"On Thursdays, in round {n}.", "sources": [one]},
        "chat_add": {"text": f"Hello from round {n}", "session": f"chat{n}"},
    }


class Request(NamedTuple):
    """A call that is sent once or more often, under one key. `name` is what kills know it by: the
    verb and the round."""

    name: str
    path: str
    body: Mapping[str, Any]
    keyed: bool = True

    @property
    def verb(self) -> str:
        return self.name.rpartition("-")[0]

    def send(self, port: int, token: str) -> Reply:
        with ApiClient(port, token) as client:
            client.line.timeout = PATIENCE_S
            key = {"Idempotency_Key": self.name} if self.keyed else {}
            return client.post(self.path, self.body, X_Kill=self.name, **key)


class Lives:
    """One life of a server after the other, on one file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "memory.db"
        users = Credentials(folder / "users.json")
        self.token = users.add_token("olga", role="operator")
        script = str(ROOT / "tests/crash/api_server.py")
        self._process = subprocess.Popen(
            [sys.executable, script, str(self.path), str(folder / "users.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        )
        self._pid = self.port = 0

    def told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def begin(self, request: str = "", at: int = 0) -> None:
        assert self._process.stdin is not None and not self._pid
        self._process.stdin.write(json.dumps({"request": request, "at": at}) + "\n")
        self._process.stdin.flush()
        found = self.told()
        self._pid, self.port = found["pid"], found["port"]

    def send(self, request: Request) -> Reply:
        return request.send(self.port, self.token)

    def calls_of(self, request: Request) -> tuple[Reply, int]:
        reply = self.send(request)
        counted = self.told()
        assert counted["request"] == request.name
        return reply, int(counted["calls"])

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it got to its own point between its answer and this
            os.kill(self._pid, signal.SIGKILL)

    def ended(self) -> None:
        """Wait for the end of a server that was killed, or kill itself."""
        assert self.told() == {"ended": KILLED}
        self._pid = 0

    def killed_in(self, request: Request, wait_s: float) -> Reply | None:
        """Send a request that the server does not survive. `wait_s`: kill it then, unless it is 0.
        None: there was no answer."""
        timer = threading.Timer(wait_s, self.kill)
        if wait_s:
            timer.start()
        reply: Reply | None = None
        try:
            reply = self.send(request)
        except TimeoutError:  # neither an answer nor an end
            self.kill()
        except GONE:
            pass
        if wait_s:
            timer.join()
        elif reply is not None:
            self.kill()
        self.ended()
        return reply

    def changes(self) -> list[dict[str, Any]]:
        """The newest changes of the log, the newest first."""
        with ApiClient(self.port, self.token) as client:
            found: list[dict[str, Any]] = client.get("/v1/log?limit=3").json["items"]
        return found

    def messages(self, session: str) -> int:
        with ApiClient(self.port, self.token) as client:
            reply = client.get(f"/v1/chat-get?session={session}")
        return len(reply.json["messages"]) if reply.status == 200 else 0

    def close(self) -> None:
        try:
            if self._pid:
                self.kill()
                self.ended()
            self._process.communicate(timeout=PATIENCE_S)
        finally:
            self._process.kill()


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    found = Lives(tmp_path)
    yield found
    found.close()


def assert_whole(path: Path) -> None:
    with Store(path) as store:
        verify_log(store)
        assert check(store) == []
        assert digest(store) == replayed_digest(store)


def test_every_verb_that_takes_a_key_is_killed(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        memory.constrain({"functional": ["colour"]})
        assert prepared(memory, 0).keys() == {one.verb.name for one in KEYED}


class Shape(NamedTuple):
    """What a call writes that is not killed, and how far it goes."""

    op: str
    entries: int
    calls: int
    seconds: float


def measured(lives: Lives, requests: Sequence[Request]) -> dict[str, Shape]:
    """Send requests to a server that lives, and return what each of them is like, by verb."""
    found = {}
    lives.begin()
    for request in requests:
        before = lives.changes()[0]["tx"]
        begun = time.monotonic()
        reply, calls = lives.calls_of(request)
        seconds = time.monotonic() - begun
        assert reply.status == 200, (request, reply.json)
        made = lives.changes()[0]
        logged = request.verb != "chat_add"  # working memory is not in the log
        assert made["tx"] == before + logged, request
        entries = made["last_seq"] - made["first_seq"] + 1
        found[request.verb] = Shape(made["op"], entries, calls, seconds)
    lives.kill()
    lives.ended()
    return found


def assert_done_once(
    lives: Lives, request: Request, answer: Reply | None, before: int, shape: Shape
) -> bool:
    """Send a request again, twice: it was done, with all that belongs to it, or it is done now,
    and never twice. Returns whether it was done before."""
    logged = request.verb != "chat_add"

    def state() -> int:
        if logged:
            return int(lives.changes()[0]["tx"]) - before
        return lives.messages(request.body["session"])

    found = state()
    assert found in (0, 1), (request, found)
    assert answer is None or (answer.status == 200 and found == 1), (request, answer)
    again = [lives.send(request) for _ in range(2)]
    assert [one.status for one in again] == [200, 200], (request, again)
    assert state() == 1, request
    if logged:
        assert again[0].json == again[1].json
        assert answer is None or answer.json == again[0].json
        made = lives.changes()[0]
        assert (made["op"], made["last_seq"] - made["first_seq"] + 1) == shape[:2], request
    return found == 1


def test_a_write_that_is_sent_again_after_a_kill_is_done_once(
    lives: Lives, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    rng = random.Random(seed)
    with opened(lives.path, embedder=None, project="p") as memory:
        memory.constrain({"functional": ["colour"]})
        bodies = [prepared(memory, n) for n in range(campaign + 2)]
    requests = [
        [Request(f"{one.verb.name}-{n}", one.path, body[one.verb.name]) for one in KEYED]
        for n, body in enumerate(bodies)
    ]
    shapes = measured(lives, requests[0] + requests[1])  # the first makes spaces and bundles
    kills = answered = done = 0
    for batch in requests[2:]:
        last: tuple[Request, Reply | None, int, Shape] | None = None
        for request in rng.sample(batch, len(batch)):
            kills += 1
            shape = shapes[request.verb]
            by_clock = kills % 3 == 0
            lives.begin(request.name, NEVER if by_clock else rng.randint(1, shape.calls * 11 // 10))
            done += last is not None and assert_done_once(lives, *last)
            before = lives.changes()[0]["tx"]
            answer = lives.killed_in(request, rng.uniform(0.001, shape.seconds) if by_clock else 0)
            answered += answer is not None
            last = request, answer, before, shape
        lives.begin("none", NEVER)
        assert last is not None
        done += assert_done_once(lives, *last)
        lives.kill()
        lives.ended()
        assert_whole(lives.path)
    assert answered <= done < kills
    tally(api_kills=kills, api_done_before_the_kill=done, api_answered=answered)


def test_a_kill_leaves_a_whole_memory_in_the_other_verbs(
    lives: Lives, seed: int, tally: Callable[..., None], campaign: int
) -> None:
    """They take no key, and some commit in batches: what is there is whole."""
    rng = random.Random(seed)
    filled(lives.path, embedder=None).close()
    chosen = OTHERS * (campaign - 1) or rng.sample(OTHERS, SHORT)
    for at, one in enumerate(chosen):
        request = Request(f"{one.verb.name}-{at}", one.path, arguments_of(one), keyed=False)
        lives.begin(request.name, int(10 ** rng.uniform(1.5, 4.5)))
        lives.killed_in(request, 0)
        if at % 5 == 4 or at == len(chosen) - 1:
            assert_whole(lives.path)
    tally(api_kills_of_others=len(chosen))
