"""Usage is counted, and caps hold for concurrent calls."""

from __future__ import annotations

import threading

import pytest

from doxa.base.errors import LimitError
from doxa.models.meter import Meter, Price


def spend(meter: Meter, model: str, tokens_in: int, tokens_out: int) -> None:
    with meter.call(model, tokens_in=tokens_in, tokens_out_max=tokens_out) as call:
        call.attempt()
        call.used(tokens_in, tokens_out)


def test_figures_by_model_and_money() -> None:
    meter = Meter(prices={"a:x": Price(2.0, 10.0)})
    assert (meter.spend().money, meter.spend().calls) == (None, 0)
    spend(meter, "a:x", 500_000, 100_000)
    spend(meter, "b:y", 10, 1)
    found = meter.spend()
    assert (found.calls, found.tokens_in, found.tokens_out, found.money, found.unpriced) == (
        2,
        500_010,
        100_001,
        2.0,
        ("b:y",),
    )
    assert [model.model for model in found.models] == ["a:x", "b:y"] and found.models[
        1
    ].money is None


def test_the_wider_meter_counts_and_caps_too() -> None:
    wide = Meter(tokens_max=100)
    first, second = Meter(parent=wide), Meter(tokens_max=60, parent=wide)
    spend(first, "m", 50, 0)
    with pytest.raises(LimitError):
        spend(second, "m", 61, 0)
    with pytest.raises(LimitError):
        spend(second, "m", 51, 0)
    spend(second, "m", 50, 0)
    assert wide.spend().tokens_in == 100 and second.spend().tokens_in == 50
    with pytest.raises(LimitError):
        spend(second, "m", 1, 0)


def test_a_cap_on_calls_that_is_the_widers_is_not_counted_below() -> None:
    wide = Meter(calls_max=1)
    meter = Meter(parent=wide)
    spend(meter, "m", 1, 0)
    with pytest.raises(LimitError):
        spend(meter, "m", 1, 0)
    assert meter.spend().calls == wide.spend().calls == 1


@pytest.mark.parametrize(
    ("reported", "counted"),
    [
        ((None, None), (8, 3, 11)),
        ((5, None), (5, 3, 3)),
        ((None, 2), (8, 2, 8)),
        ((-1, 10**30), (8, 3, 11)),
    ],
)
def test_what_is_not_reported_is_estimated(
    reported: tuple[int | None, int | None], counted: tuple[int, int, int]
) -> None:
    meter = Meter()
    with meter.call("m", tokens_in=8) as call:
        call.attempt()
        usage = call.used(*reported, answer_tokens=3)
    found = meter.spend()
    assert (found.tokens_in, found.tokens_out, found.tokens_estimated) == counted
    assert usage.estimated


def test_lost_answers_fill_a_cap_and_stop_the_repetition() -> None:
    meter = Meter(tokens_max=25)
    with (
        pytest.raises(LimitError, match="no room to send this call again"),
        meter.call("m", tokens_in=10) as call,
    ):
        for _ in range(5):
            call.attempt()
    assert (meter.spend().calls, meter.spend().tokens_in) == (2, 20)


def test_what_never_left_costs_nothing_and_frees_its_reservation() -> None:
    meter = Meter(tokens_max=10)
    for _ in range(3):
        with pytest.raises(RuntimeError), meter.call("m", tokens_in=10) as call:
            call.attempt()
            call.free()
            raise RuntimeError
    assert (meter.spend().calls, meter.spend().tokens_in) == (3, 0)
    spend(meter, "m", 10, 0)


def test_threads_cannot_pass_a_cap_together() -> None:
    meter = Meter(tokens_max=1_000)
    inside = threading.Barrier(20)
    refused: list[LimitError] = []

    def call() -> None:
        inside.wait()
        try:
            with meter.call("m", tokens_in=100, tokens_out_max=0) as made:
                made.attempt()
                made.used(100, 0)
        except LimitError as error:
            refused.append(error)

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (meter.spend().tokens_in, len(refused)) == (1_000, 10)
