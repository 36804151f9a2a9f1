"""How often a login may call: a bucket of requests for each, which fills at a steady rate."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from doxa.base.limits import LOGIN_USERS_ITEMS_MAX
from doxa.servers.codes import RATE_LIMIT
from doxa.servers.http.errors import HttpError


class RequestRate:
    """The buckets of all logins. All methods are called from the event loop."""

    def __init__(
        self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`per_s` requests a second on average, `burst` at once; 0 a second: no limit."""
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Count a request, and return 0; where the bucket is empty, return after how many seconds
        it holds one."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        left, then = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._per_s)
        enough = left >= 1
        self._left[name] = (left - 1 if enough else left, now)
        if len(self._left) > LOGIN_USERS_ITEMS_MAX:
            self._left.popitem(last=False)
        return 0.0 if enough else (1 - left) / self._per_s

    def take(self, name: str) -> None:
        """Count a request. Raises HttpError with Retry-After where the bucket is empty."""
        check_rate(self.wait(name), self._per_s)


def check_rate(seconds: float, per_s: float) -> None:
    """Raise HttpError, with Retry-After, if a request has to wait so many seconds."""
    if seconds:
        wait = math.ceil(seconds)
        raise HttpError(
            f"This login sends more than {per_s:g} requests a second.",
            http=429,
            next_step=f"Wait {wait} seconds, then send fewer.",
            status=RATE_LIMIT,
            headers={"Retry-After": str(wait)},
        )
