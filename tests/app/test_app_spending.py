"""What models are used for, by purpose and day: verbs, the command line, doctor, and caps that hold
wherever a model is asked. The models are fakes; only what they report is counted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import doxa
from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import InputError, LimitError, RoleError
from doxa.cli import app
from doxa.models import ScriptedCompleter
from doxa.models.spending import ALL, SpendCap

_TURNS = [
    {"text": "We moved the office from Bern to Oslo last week.", "speaker": "Ana", "role": "user"},
    {"text": "Noted: the office is in Oslo now.", "speaker": "bot", "role": "assistant"},
]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def model() -> ScriptedCompleter:
    return ScriptedCompleter(lambda _: "{}")


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock, model: ScriptedCompleter) -> Iterator[Memory]:
    with doxa.open(
        tmp_path / "m.db",
        role="operator",
        project="p",
        clock=clock,
        background=False,
        embedder=None,
        model=model,
        reranker="model",
    ) as made:
        for number in range(4):
            made.remember(f"The gate number {number} is painted green", name=f"g{number}")
        made.ingest(_TURNS, thread="a", extract=False)
        clock.advance(days=30)
        yield made


def used(memory: Memory) -> dict[str, int]:
    """Return the calls by purpose."""
    return {one.purpose: one.calls for one in memory.spending().days}


def ask(memory: Memory, purpose: str) -> None:
    """Have doxa ask the model for a purpose."""
    if purpose == "dream":
        memory.dream(calls=5)
    elif purpose == "consolidate":
        memory.consolidate(producer="model")
    elif purpose == "recall":
        memory.recall("which gate is green?", rerank="dedicated")
    elif purpose == "doctor":
        memory.doctor(models=True)


_ASKED = ("dream", "consolidate", "recall", "doctor")


@pytest.mark.parametrize("purpose", _ASKED)
def test_calls_count_for_what_they_are_made_for(
    memory: Memory, model: ScriptedCompleter, purpose: str
) -> None:
    ask(memory, purpose)
    assert set(used(memory)) == {purpose}
    assert used(memory)[purpose] == len(model.asked) > 0
    (one,) = memory.spending().days
    spend = memory.spend()
    assert (one.tokens_in, one.tokens_out) == (spend.tokens_in, spend.tokens_out)


@pytest.mark.parametrize("purpose", _ASKED)
@pytest.mark.parametrize("scope", ["its own", ALL])
def test_a_cap_holds_wherever_the_model_is_asked(
    memory: Memory, model: ScriptedCompleter, purpose: str, scope: str
) -> None:
    """A cap of 50 tokens had let a first call through, and counted what it took afterwards."""
    memory.spend_cap(purpose if scope == "its own" else ALL, tokens=50)
    ask(memory, purpose)  # without the model, each feature goes on and says so
    assert model.asked == []
    assert memory.spending().days == ()


def test_features_say_what_a_cap_left_out(memory: Memory) -> None:
    memory.spend_cap(tokens=50)
    assert any(
        "cap of 50" in one for one in memory.recall("which gate?", rerank="dedicated").warnings
    )
    assert any("cap of 50" in one for one in memory.dream(calls=5).warnings)
    (one,) = memory.consolidate(producer="model").sessions
    assert one.status == "queued" and "cap of 50" in one.error
    assert any(not one.ok and "cap of 50" in one.detail for one in memory.doctor(models=True))


def test_a_cap_on_calls_holds_through_a_whole_job(memory: Memory, model: ScriptedCompleter) -> None:
    for number in range(60):
        memory.remember(f"The ship number {number} is called {number * 7}", name=f"s{number}")
    memory.spend_cap("dream", calls=2)
    memory.dream(calls=50)
    assert (len(model.asked), used(memory)) == (2, {"dream": 2})


def test_caps_are_set_shown_and_taken_away_by_operators(memory: Memory, clock: FakeClock) -> None:
    assert memory.spend_cap("dream", tokens=9_000, calls=3).caps == {"dream": SpendCap(9_000, 3)}
    assert memory.spend_cap("dream", calls=0).caps == {"dream": SpendCap(9_000)}
    assert memory.spend_cap(tokens=50_000).caps == {"dream": SpendCap(9_000), ALL: SpendCap(50_000)}
    agent = memory.session(role="agent")
    with doxa.open(memory.store.path, role="agent", embedder=None, background=False) as other:
        assert other.spending().caps["dream"] == SpendCap(9_000)
        with pytest.raises(RoleError):
            other.spend_cap("dream", tokens=1_000_000)
    assert not hasattr(agent, "spend_cap")
    bound = memory.session(projects=["p"]).memory
    with pytest.raises(RoleError, match="concerns the whole file"):
        bound.spending()
    for given in ({"purpose": "sleep"}, {"tokens": -1}, {"tokens": 1.5}):
        with pytest.raises(InputError):
            memory.spend_cap(**given)  # type: ignore[arg-type]
    assert memory.spend_cap("dream", tokens=0).caps == {ALL: SpendCap(50_000)}
    assert memory.check() == []


def test_openings_and_processes_share_a_cap(memory: Memory, model: ScriptedCompleter) -> None:
    memory.spend_cap("other", calls=2)
    script = (
        "import doxa, sys; from doxa.models import ScriptedCompleter;"
        "from doxa.base.clock import FakeClock;"
        "m = doxa.open(sys.argv[1], clock=FakeClock(int(sys.argv[2])), embedder=None,"
        " background=False, model=ScriptedCompleter(lambda _: 'ok'));"
        "from doxa.models.contract import Message;"
        "m._models.completer('other').complete([Message('user', 'hello')])"
    )
    now = str(memory.store.clock.now_ns())
    run = [sys.executable, "-c", script, str(memory.store.path), now]
    codes = [subprocess.run(run, capture_output=True, check=False).returncode for _ in range(3)]
    assert codes == [0, 0, 1]
    assert used(memory) == {"other": 2}


def test_doctor_says_what_was_spent_and_which_cap_is_reached(
    memory: Memory, clock: FakeClock
) -> None:
    def said() -> tuple[bool, str]:
        (found,) = [one for one in memory.doctor() if one.name == "spending"]
        return found.ok, found.detail

    assert said() == (True, "no model was called today")
    memory.recall("which gate is green?", rerank="dedicated")
    assert said()[0] and "in 1 calls today (UTC), for recall" in said()[1]
    memory.spend_cap("recall", calls=1)
    assert not said()[0] and "the cap of recall is reached" in said()[1]
    clock.advance(days=1)
    assert said() == (True, "no model was called today")
    Path(f"{memory.store.path}.spend").write_bytes(b"rubbish" * 1_000)
    assert said()[0] is True or "record of spending" in said()[1]


def test_the_command_line_shows_and_caps(memory: Memory, tmp_path: Path) -> None:
    at = ["--db", str(tmp_path / "m.db")]
    memory.recall("which gate is green?", rerank="dedicated")
    run = CliRunner().invoke
    shown = run(app, ["spending", "--days", "400", *at])
    assert shown.exit_code == 0, shown.output
    # the clock of the memory above is a fake: years ago
    assert "no model was called" in shown.output
    shown = run(app, ["spend-cap", "dream", "--tokens", "9000", *at])
    assert "cap of dream: 9,000 tokens a day, 9,000 left today" in shown.output
    assert '"tokens":9000' in run(app, ["spend-cap", "--json", *at]).output.replace(" ", "")
    assert run(app, ["spend-cap", "sleep", *at]).exit_code != 0


def test_a_rolled_back_transaction_does_not_take_back_what_was_spent(memory: Memory) -> None:
    """A model may be asked within a transaction: the call was paid for whatever becomes of it."""
    completer = memory._models.completer("other")
    assert completer is not None
    from doxa.models.contract import Message

    with pytest.raises(RuntimeError), memory.store.write(memory.identity, op="x"):
        completer.complete([Message("user", "hello")])
        raise RuntimeError
    assert used(memory) == {"other": 1}
    memory.spend_cap("other", calls=1)
    with (
        pytest.raises(LimitError, match="cap of 1 model calls a day for other"),
        memory.store.write(memory.identity, op="x"),
    ):
        completer.complete([Message("user", "hello")])
