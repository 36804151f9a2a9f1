"""A process of clients of the HTTP API, for `api_load.py`: what each of them saw, as JSON.

python -m bench.api_client PORT    the crew and its work on standard input
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from collections import Counter
from typing import Any
from urllib.parse import quote

LIMITS = (429, 503)
_TIMEOUT_S = 120


class Member:
    """A client, on a thread of its own and with a connection of its own."""

    def __init__(self, port: int, given: dict[str, Any], work: dict[str, Any]) -> None:
        self.at, self.writes = given["at"], given["writes"]
        self._work, self._random = work, random.Random(given["at"])
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        self._headers = {
            "Authorization": f"Bearer {given['token']}",
            "Content-Type": "application/json",
        }
        self.seconds: dict[str, list[float]] = {}
        self.limits, self.errors = Counter[str](), Counter[str]()
        self.remembered: list[str] = []
        self.revised = self.repeated = 0
        self._shelf = f"kref://default/shelf{self.at}.fact"

    def run(self) -> None:
        end = time.monotonic() + self._work["seconds"]
        for number in range(self._work["requests"]):
            if time.monotonic() > end:
                return
            try:
                self._write(number) if self.writes else self._read(number)
            except (OSError, http.client.HTTPException) as error:
                self.errors[type(error).__name__] += 1
                self._line.close()

    def told(self) -> dict[str, Any]:
        names = ("at", "writes", "seconds", "limits", "errors", "remembered", "revised", "repeated")
        return {name: getattr(self, name) for name in names}

    def _read(self, number: int) -> None:
        question = self._random.choice(self._work["questions"])
        if number % 4 == 3:
            self._ask("get", "GET", f"/v1/get?kref={quote('kref://default/shelf0.fact')}")
        elif number % 8 == 2:
            self._ask("log", "GET", "/v1/log?limit=20")
        elif number % 8 == 5:
            text = "MATCH (n:Item) RETURN n.name AS name ORDER BY name LIMIT 20"
            self._ask("read", "POST", "/v1/read", {"text": text})
        else:
            self._ask("recall", "POST", "/v1/recall", {"text": question, "limit": 5})

    def _write(self, number: int) -> None:
        key = {"Idempotency-Key": f"{self.at}-{number}"}
        if number % 3:
            name = f"w{self.at}n{number}"
            body: dict[str, Any] = {
                "text": f"Client {self.at} wrote note {number}",
                "name": name,
            }
            found = self._twice(number, "remember", body, key)
            if found is not None:
                self.remembered.append(found["kref"].partition("?")[0])
        else:
            text = f"Shelf {self.at} holds box {number + 1}"
            body = {"what": self._shelf, "text": text, "expect": 1 + self.revised}
            if self._twice(number, "revise", body, key) is not None:
                self.revised += 1

    def _twice(self, number: int, verb: str, body: dict[str, Any], key: dict[str, str]) -> Any:
        """Send a write, and every tenth one again: the answer must be the same."""
        found = self._ask(verb, "POST", f"/v1/{verb}", body, key)
        if found is not None and number % 10 == 0:
            self.repeated += 1
            if self._ask(verb, "POST", f"/v1/{verb}", body, key) != found:
                self.errors[f"{verb}: another answer"] += 1
        return found

    def _ask(
        self,
        verb: str,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a request until no limit refuses it. None: an error, which was counted."""
        data = None if body is None else json.dumps(body).encode()
        while True:
            begun = time.perf_counter()
            self._line.request(method, path, data, self._headers | (headers or {}))
            reply = self._line.getresponse()
            answer = json.loads(reply.read() or b"null")
            if reply.status == 200:
                self.seconds.setdefault(verb, []).append(time.perf_counter() - begun)
                return answer
            name = f"{verb}: {reply.status} {(answer or {}).get('code', '')}"
            wait = reply.getheader("Retry-After")
            if reply.status not in LIMITS or wait is None:
                self.errors[name] += 1
                return None
            self.limits[name] += 1
            time.sleep(float(wait))


def main(port: int) -> None:
    work = json.load(sys.stdin)
    members = [Member(port, one, work) for one in work["crew"]]
    threads = [threading.Thread(target=one.run) for one in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([one.told() for one in members]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
