"""What is spent on models by day and purpose: caps hold for all processes together, whatever order
their calls come in and wherever they are killed."""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import InputError, LimitError, StoreError
from doxa.base.limits import SPENDING_DAYS_MAX, SPENDING_RESERVED_MS
from doxa.models import ScriptedCompleter
from doxa.models.contract import Completion, Message, Usage
from doxa.models.meter import Meter, used_for
from doxa.models.purposes import MeteredCompleter
from doxa.models.spending import (
    ALL,
    DaySpend,
    Reservation,
    SpendCap,
    SpendLedger,
    check_purpose,
    parse_caps,
)

_DAY_NS = 86_400 * 10**9
_RESERVED_S = SPENDING_RESERVED_MS / 1_000
ASKED = [Message("user", "x" * 40)]
COST_MAX = 4 * (10 + 4)  # of ASKED: a token for each byte, and those of the message


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Ledger:
    """A ledger with caps that a test may change."""

    def __init__(self, path: Path, clock: FakeClock, **caps: SpendCap) -> None:
        self.caps = caps
        self.found = SpendLedger(path, clock=clock, caps=lambda: self.caps)

    def total(self, *, reserved: bool = True) -> int:
        days = self.found.spending(1).days
        return sum(
            one.tokens_in + one.tokens_out + (one.tokens_reserved if reserved else 0)
            for one in days
        )


@pytest.fixture
def ledger(tmp_path: Path, clock: FakeClock) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "m.db.spend", clock)
    yield made
    made.found.close()


def settled(ledger: SpendLedger, held: Reservation | None, tokens_in: int, out: int) -> None:
    assert held is not None
    ledger.settle(held, calls=1, tokens_in=tokens_in, tokens_out=out, tokens_estimated=0)


def test_nothing_is_written_before_the_first_call(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.found.spending(7).days == ()
    assert list(tmp_path.iterdir()) == []


def test_calls_are_kept_by_day_purpose_and_model(ledger: Ledger, clock: FakeClock) -> None:
    for purpose, model in (("dream", "a"), ("dream", "a"), ("recall", "b")):
        settled(ledger.found, ledger.found.reserve(purpose, model, 100), 7, 3)
    clock.advance(days=1)
    settled(ledger.found, ledger.found.reserve("dream", "a", 100), 1, 1)
    first, second, third = ledger.found.spending(7).days
    assert first == DaySpend("2023-11-15", "dream", "a", 1, 1, 1)
    assert second == DaySpend("2023-11-14", "dream", "a", 2, 14, 6)
    assert third == DaySpend("2023-11-14", "recall", "b", 1, 7, 3)
    assert ledger.found.spending(1).days == (first,)
    clock.advance(days=SPENDING_DAYS_MAX)
    settled(ledger.found, ledger.found.reserve("dream", "a", 1), 1, 0)
    assert len(ledger.found.spending(SPENDING_DAYS_MAX + 9).days) == 1  # older ones are dropped


def test_a_cap_of_50_refuses_a_call_that_may_take_more(ledger: Ledger) -> None:
    model = ScriptedCompleter(lambda _: "y" * 100)
    meter = Meter(ledger=ledger.found)
    ledger.caps["dream"] = SpendCap(tokens=50)
    with used_for("dream"), pytest.raises(LimitError, match="leaves 50, and this call may take"):
        MeteredCompleter(model, meter).complete(ASKED, tokens_max=100)
    assert (model.asked, ledger.total()) == ([], 0)
    ledger.caps["dream"] = SpendCap(tokens=COST_MAX + 25)
    with used_for("dream"):
        MeteredCompleter(model, meter).complete(ASKED, tokens_max=25)
    assert len(model.asked) == 1
    assert ledger.total() == 10 + 25
    with used_for("recall"):  # a cap of another purpose
        MeteredCompleter(model, meter).complete(ASKED, tokens_max=100)


def test_a_cap_of_all_purposes_holds_for_each(ledger: Ledger) -> None:
    ledger.caps[ALL] = SpendCap(tokens=100, calls=2)
    settled(ledger.found, ledger.found.reserve("dream", "m", 60), 60, 0)
    with pytest.raises(LimitError, match="leaves 40"):
        ledger.found.reserve("recall", "m", 41)
    settled(ledger.found, ledger.found.reserve("recall", "m", 40), 1, 0)
    with pytest.raises(LimitError, match="2 model calls a day for all purposes is reached"):
        ledger.found.reserve("embed", "m", 1)
    assert ledger.found.spending(1).left == {ALL: SpendCap(tokens=39, calls=0)}


def test_a_cap_is_of_a_day(ledger: Ledger, clock: FakeClock) -> None:
    ledger.caps["dream"] = SpendCap(calls=1)
    settled(ledger.found, ledger.found.reserve("dream", "m", 5), 5, 0)
    with pytest.raises(LimitError, match="reached") as caught:
        ledger.found.reserve("dream", "m", 5)
    assert "2023-11-15 (UTC)" in caught.value.next_step
    clock.advance(days=1)
    assert ledger.found.reserve("dream", "m", 5) is not None


def test_a_reservation_expires_as_spent_and_a_late_answer_corrects_it(
    ledger: Ledger, clock: FakeClock
) -> None:
    held = ledger.found.reserve("dream", "m", 90)
    (one,) = ledger.found.spending(1).days
    assert (one.tokens_reserved, one.tokens_in, one.interrupted) == (90, 0, 0)
    clock.advance(seconds=_RESERVED_S)
    (one,) = ledger.found.spending(1).days
    assert (one.tokens_reserved, one.tokens_in, one.interrupted) == (0, 90, 1)
    settled(ledger.found, held, 30, 4)
    (one,) = ledger.found.spending(1).days
    assert one == DaySpend("2023-11-14", "dream", "m", 1, 30, 4)


def test_a_repeated_attempt_needs_room_for_the_lost_one(ledger: Ledger) -> None:
    ledger.caps["other"] = SpendCap(tokens=250)
    meter = Meter(ledger=ledger.found)
    with (
        pytest.raises(LimitError, match="leaves 250, and this call may take 300"),
        meter.call("m", tokens_in=25, tokens_in_max=60, tokens_out_max=40) as call,
    ):
        for _ in range(5):
            call.attempt()
    assert ledger.total() == 200
    assert ledger.found.spending(1).days[0].calls == 2


def test_a_call_that_was_never_sent_costs_nothing(ledger: Ledger) -> None:
    meter = Meter(ledger=ledger.found)
    with pytest.raises(RuntimeError), meter.call("m", tokens_in=25):
        raise RuntimeError
    with meter.call("m", tokens_in=25) as call:
        call.attempt()
        call.free()
    (one,) = ledger.found.spending(1).days
    assert (one.calls, one.tokens_in, one.tokens_reserved) == (1, 0, 0)


def test_what_a_model_adds_by_itself_is_reserved_from_then_on(ledger: Ledger) -> None:
    """Such as the instructions of a program, which doxa does not know."""

    class Talkative:
        name = "talkative"

        def complete(self, *_: object, **__: object) -> Completion:
            return Completion("ok", Usage(5_000, 2, False), "stop")

    meter = Meter(ledger=ledger.found)
    MeteredCompleter(Talkative(), meter).complete(ASKED, tokens_max=10)
    spent = ledger.total()
    assert spent == 5_002
    ledger.caps["other"] = SpendCap(tokens=spent + 5_001)
    for own in (meter, Meter(ledger=ledger.found)):  # another process has a meter of its own
        with pytest.raises(LimitError, match="leaves 5,001, and this call may take 5,002"):
            MeteredCompleter(Talkative(), own).complete(ASKED, tokens_max=10)
    assert ledger.total() == spent


def test_threads_cannot_exceed_a_cap_together(ledger: Ledger) -> None:
    ledger.caps["dream"] = SpendCap(tokens=1_000)
    inside = threading.Barrier(16)
    refused: list[LimitError] = []

    def call() -> None:
        inside.wait()
        try:
            with used_for("dream"), Meter(ledger=ledger.found).call("m", tokens_in=100) as made:
                made.attempt()
                made.used(100, 0)
        except LimitError as error:
            refused.append(error)

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ledger.total(), len(refused)) == (1_000, 6)


@pytest.mark.parametrize("content", [b"no database at all" * 300, b""])
def test_a_file_that_cannot_be_used_stops_calls_only_where_there_are_caps(
    tmp_path: Path, clock: FakeClock, content: bytes
) -> None:
    path = tmp_path / "m.db.spend"
    if content:
        path.write_bytes(content)
    else:
        path.mkdir()
    ledger = Ledger(path, clock)
    model = MeteredCompleter(ScriptedCompleter(lambda _: "ok"), Meter(ledger=ledger.found))
    assert model.complete(ASKED).text == "ok"
    with pytest.raises(StoreError, match=r"record of spending m\.db\.spend cannot be used"):
        ledger.found.spending(1)
    ledger.caps[ALL] = SpendCap(calls=100)
    with pytest.raises(LimitError, match="cannot be checked"):
        model.complete(ASKED)
    if content:
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "value",
    [{"dream": {"tokens": 0}}, {"dream": {"money": 1}}, {"dream": 5}, {"sleep": {"tokens": 1}}],
)
def test_caps_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(InputError):
        parse_caps(value)


def test_purposes_are_a_closed_list() -> None:
    with pytest.raises(InputError, match="is not a purpose"):
        check_purpose("sleep")


# Two processes at random, against a model


def _serve(path: Path, pipe: Connection) -> None:
    """Carry out what the test says: reserve, settle; it may be killed between the two."""
    clock = FakeClock()
    caps: dict[str, SpendCap] = {}
    ledger = SpendLedger(path, clock=clock, caps=lambda: caps)
    held: dict[int, Reservation] = {}
    while True:
        now, caps, what, *args = pipe.recv()
        clock.set(now)
        if what == "reserve":
            number, purpose, tokens = args
            try:
                made = ledger.reserve(purpose, "m", tokens)
                assert made is not None
                held[number] = made
                pipe.send(True)
            except LimitError:
                pipe.send(False)
        else:
            number, used = args
            ledger.settle(
                held.pop(number), calls=1, tokens_in=used, tokens_out=0, tokens_estimated=0
            )
            pipe.send(True)


@dataclass
class Call:
    """A call of the model. Until it is settled it counts as the most that it may cost, whether
    its process still runs, has died or was late."""

    worker: int
    day: int
    purpose: str
    tokens: int
    cost: int
    settled: bool = False

    @property
    def counts(self) -> int:
        return self.cost if self.settled else self.tokens


class Workers:
    """Two processes on one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._context = multiprocessing.get_context("spawn")
        self._running: list[Any] = [self._begun(), self._begun()]

    def _begun(self) -> Any:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(self._path, theirs), daemon=True)
        process.start()
        return process, ours

    def say(self, which: int, *message: object) -> bool:
        pipe = self._running[which][1]
        pipe.send(message)
        assert pipe.poll(60)
        return bool(pipe.recv())

    def kill(self, which: int) -> None:
        self._running[which][0].kill()
        self._running[which][0].join()
        self._running[which] = self._begun()

    def stop(self) -> None:
        for process, _ in self._running:
            process.kill()
            process.join()


def _counted(calls: Iterable[Call], day: int, scope: str) -> int:
    return sum(one.counts for one in calls if one.day == day and scope in (one.purpose, ALL))


@pytest.mark.parametrize("seed", range(3))
def test_two_processes_at_random_hold_the_caps(tmp_path: Path, seed: int) -> None:
    """Each call reserves, costs at most that, and is settled, late, or never, since its process is
    killed. What is refused and what is recorded is as the model says, and what the calls did cost
    exceeds no cap."""
    rng, clock = random.Random(seed), FakeClock()
    caps = {"dream": SpendCap(tokens=400), ALL: SpendCap(tokens=900)}
    path = tmp_path / "m.db.spend"
    workers, calls, refused = Workers(path), dict[int, Call](), 0
    try:
        for number in range(200):
            which, now = rng.randrange(2), clock.now_ns()
            match rng.choices(("reserve", "settle", "clock", "kill"), (10, 8, 3, 0.3))[0]:
                case "reserve":
                    purpose, tokens = rng.choice(("dream", "recall")), rng.randrange(10, 200)
                    call = Call(which, now // _DAY_NS, purpose, tokens, rng.randrange(tokens + 1))
                    fits = all(
                        _counted(calls.values(), call.day, scope) + tokens <= (cap.tokens or 0)
                        for scope, cap in caps.items()
                        if scope in (purpose, ALL)
                    )
                    said = workers.say(which, now, caps, "reserve", number, purpose, tokens)
                    assert said == fits
                    refused += not fits
                    if fits:
                        calls[number] = call
                case "settle":
                    mine = [
                        n for n, one in calls.items() if one.worker == which and not one.settled
                    ]
                    if mine:
                        chosen = rng.choice(mine)
                        workers.say(which, now, caps, "settle", chosen, calls[chosen].cost)
                        calls[chosen].settled = True
                case "clock":
                    clock.advance(seconds=rng.choice((1, 60, _RESERVED_S, 40_000)))
                case "kill":
                    workers.kill(which)
                    for one in calls.values():
                        one.worker = -1 if one.worker == which else one.worker
    finally:
        workers.stop()
    days = {one.day for one in calls.values()}
    for day in days:
        today = [one for one in calls.values() if one.day == day]
        assert sum(one.cost for one in today) <= 900
        assert sum(one.cost for one in today if one.purpose == "dream") <= 400
    ledger = SpendLedger(path, clock=clock, caps=dict)
    recorded: dict[str, int] = {}
    for one in ledger.spending(100).days:
        used = one.tokens_in + one.tokens_out + one.tokens_reserved
        recorded[one.purpose] = recorded.get(one.purpose, 0) + used
    ledger.close()
    wanted = {
        purpose: sum(_counted(calls.values(), day, purpose) for day in days)
        for purpose in ("dream", "recall")
    }
    assert recorded == wanted
    assert refused > 5 and len(days) > 1
