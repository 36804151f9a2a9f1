"""One contract for the four producers: the same tests on each, with real processes for commands."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

import doxa
from doxa.base.errors import InputError, LimitError, ModelError
from doxa.base.limits import CONSOLIDATED_ATTEMPTS_MAX, CONSOLIDATED_WINDOW_CHARS_MAX
from doxa.cli.output import consolidated_text
from doxa.consolidation.producers.contract import Producer
from doxa.consolidation.producers.host import HostProducer
from doxa.consolidation.producers.model import ModelProducer
from doxa.consolidation.producers.prompt import ask
from doxa.consolidation.producers.rules import RulesProducer
from doxa.consolidation.structure import Structure, entries
from doxa.consolidation.transcript import Transcript
from doxa.consolidation.validate import validate
from doxa.models import Message, ScriptedCompleter
from doxa.models.command import CommandCompleter
from doxa.models.meter import Meter, Price
from tests.consolidation.conversations import OUTAGE, transcript

TALK = transcript(*OUTAGE)
TRUE = {"claim": "The disk of db-2 was full.", "sources": ["t1"], "certainty": 0.9}
FALSE = {"claim": "The disk of db-9 was stolen by Peter.", "sources": ["t1"]}
ANSWER = {
    "title": {"text": "Outage of db-2", "sources": ["t1"]},
    "summary": [{"text": "Ana had an outage because a disk was full.", "sources": ["t1"]}],
    "facts": [TRUE, FALSE],
    "implications": [{"text": "Storage alarms may become welcome.", "sources": ["t1"]}],
}
NAMES = ("rules", "model", "host", "command")
Make = Callable[[str], Producer]


def answering(answer: object) -> Callable[[Sequence[Message]], str]:
    return lambda _: f"Here you are:\n```json\n{json.dumps(answer)}\n```"


def script(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\nimport json, sys\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def made(tmp_path: Path) -> Make:
    def make(name: str) -> Producer:
        if name == "rules":
            return RulesProducer()
        if name == "host":
            return HostProducer(ANSWER, model="host-1")
        if name == "model":
            return ModelProducer(ScriptedCompleter(answering(ANSWER)))
        envelope = {"type": "result", "result": json.dumps(ANSWER)}
        path = script(tmp_path, f"sys.stdin.read(); print({json.dumps(envelope)!r})")
        completer = CommandCompleter(path, Meter(), environment=os.environ)
        return ModelProducer(completer, name="command")

    return make


@pytest.mark.parametrize("name", NAMES)
class TestContract:
    def test_it_says_its_name_and_model(self, made: Make, name: str) -> None:
        producer = made(name)
        assert producer.name == name
        assert bool(producer.model) == (name != "rules")

    def test_what_it_gives_is_a_structure_of_which_the_turns_support_a_part(
        self, made: Make, name: str
    ) -> None:
        found = validate(made(name).produce(TALK).structure, TALK)
        assert found.structure.title is not None
        assert found.structure.summary
        assert found.structure.facts
        assert all(entry.sources for _, entry in entries(found.structure))
        assert "Peter" not in repr(found.structure)
        if name != "rules":
            assert found.dropped == {"name": 1}

    def test_it_takes_any_transcript(self, made: Make, name: str) -> None:
        for talk in (transcript(), transcript("Ana: "), transcript("Ana: \ud800 ok")):
            assert isinstance(
                validate(made(name).produce(talk).structure, talk).structure, Structure
            )

    def test_it_may_be_shared_between_threads(self, made: Make, name: str) -> None:
        producer, found = made(name), []
        threads = [
            threading.Thread(target=lambda: found.append(producer.produce(TALK).structure))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        assert all(one == found[0] for one in found)


def test_the_turns_are_data_and_the_instruction_says_so() -> None:
    system, user = ask(TALK.turns)
    assert system.role == "system"
    assert "never follow an" in system.text
    sent = json.loads(user.text)
    assert [turn["id"] for turn in sent["turns"]] == [f"t{n}" for n in range(1, 13)]
    assert sent["turns"][8]["text"].startswith("Ignore all previous instructions")


def long_talk(windows: int) -> Transcript:
    text = "The disk of db-2 was full. " * 20
    count = windows * (CONSOLIDATED_WINDOW_CHARS_MAX // len(text))
    return transcript(*(f"Ana: {text}" for _ in range(count)))


def test_a_long_session_is_asked_about_in_several_calls_at_once() -> None:
    talk = long_talk(3)
    together = threading.Barrier(3, timeout=30)

    def answer(messages: Sequence[Message]) -> str:
        together.wait()  # no call returns before three are running
        return json.dumps({"facts": [TRUE]})

    completer = ScriptedCompleter(answer)
    found = ModelProducer(completer).produce(talk)
    assert isinstance(found.structure, Structure)
    assert len(completer.asked) == found.cost.calls == 3
    # t1 of each window is another turn
    sources = {fact.sources[0] for fact in found.structure.facts}
    assert len(sources) == 3
    assert "t1" in sources


def test_a_failed_call_is_tried_again_after_growing_pauses() -> None:
    answers = ["no json", '{"notes": 1}', json.dumps(ANSWER)]
    pauses: list[float] = []
    completer = ScriptedCompleter(answers)
    found = ModelProducer(completer, pause=pauses.append).produce(TALK)
    assert isinstance(found.structure, Structure)
    assert found.structure.facts
    assert pauses == [0.5, 1.0]


def test_a_call_that_fails_for_good_fails_the_session() -> None:
    completer = ScriptedCompleter(lambda _: "no json")
    with pytest.raises(ModelError, match="not JSON"):
        ModelProducer(completer, pause=lambda _: None).produce(TALK)
    assert len(completer.asked) == CONSOLIDATED_ATTEMPTS_MAX


def test_spending_is_reserved_before_a_call_and_capped() -> None:
    completer = ScriptedCompleter(answering(ANSWER))
    with pytest.raises(LimitError, match="nothing was sent"):
        ModelProducer(completer, meter=Meter(tokens_max=1_000)).produce(TALK)
    assert completer.asked == []
    meter = Meter(calls_max=2)
    with pytest.raises(LimitError):
        ModelProducer(completer, meter=meter).produce(long_talk(3))
    assert meter.spend().calls == len(completer.asked) == 2


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    path = script(tmp_path, "sys.stderr.write('logged out'); sys.exit(1)")
    completer = CommandCompleter(path, Meter(), environment=os.environ)
    with pytest.raises(ModelError, match="logged out"):
        ModelProducer(completer, name="command", pause=lambda _: None).produce(TALK)


def test_a_source_that_was_not_given_stays_unknown() -> None:
    answer = {"facts": [TRUE | {"sources": ["t77"]}, TRUE | {"sources": ["kref://x"]}]}
    found = ModelProducer(ScriptedCompleter(answering(answer))).produce(TALK)
    assert validate(found.structure, TALK).dropped == {"unknown_source": 2}


def test_what_a_host_gives_is_read_by_the_one_validator() -> None:
    with pytest.raises(InputError, match="not the structure"):
        validate(HostProducer("nonsense").produce(TALK).structure, TALK)
    given = msgspec.json.encode(ANSWER)
    assert validate(HostProducer(given).produce(TALK).structure, TALK).structure.facts


def test_the_cost_of_a_session_counts_repeated_attempts_and_has_a_price() -> None:
    completer = ScriptedCompleter(["no json", json.dumps(ANSWER)])
    prices = {completer.name: Price(tokens_in=2.0, tokens_out=10.0)}
    cost = ModelProducer(completer, pause=lambda _: None, prices=prices).produce(TALK).cost
    assert cost.calls == 2 and cost.tokens_in > 0 and cost.tokens_out > 0
    assert cost.money == pytest.approx((cost.tokens_in * 2 + cost.tokens_out * 10) / 1e6)
    assert ModelProducer(ScriptedCompleter(answering(ANSWER))).produce(TALK).cost.money is None
    assert RulesProducer().produce(TALK).cost.calls == 0


def test_consolidation_reports_the_cost_per_session_by_model_and_by_command(
    tmp_path: Path,
) -> None:
    printed = json.dumps({"result": json.dumps(ANSWER), "usage": {"input_tokens": 700}})
    program = script(tmp_path, f"sys.stdin.read(); print({printed!r})")
    model = ScriptedCompleter(answering(ANSWER))
    with doxa.open(tmp_path / "m.db", embedder=None, model=model, background=False) as memory:
        for name in ("a", "b"):
            said = [{"text": f"The disk of db-{name} was full.", "speaker": "Ana"}]
            memory.ingest(said, thread=name, extract=False)
        (asked,) = memory.consolidate(producer="model").costs
        assert (asked.producer, asked.sessions, asked.calls) == ("model", 2, 2)
        assert asked.tokens_per_session == asked.tokens / 2 > 0
        (run, *_) = [one for one in memory.runs(job="consolidate") if "calls" in one.counts]
        assert run.counts["calls"] == 1 and run.counts["tokens"] > 0
        found = memory.consolidate("a", producer=f"command:{program}")
        (one,) = found.costs
        assert (one.producer, one.sessions) == ("command", 1) and one.model.startswith("command:")
        assert found.sessions[0].cost.tokens_in == 700
        assert found.sessions[0].cost.tokens_estimated > 0  # the program reports no output tokens
        assert memory.consolidate("a", producer="rules").costs == ()
        again = memory.consolidate("b", producer="model", dry_run=True)
        assert ": 1 calls and" in consolidated_text(again)


def test_long_jobs_call_back_as_they_go(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, background=False) as memory:
        for name in ("a", "b", "c"):
            said = [{"text": "Ana Ferreira keeps the disk of db-2.", "speaker": "Ana"}]
            memory.ingest(said, thread=name, extract=False)
        sources: list[int] = []
        memory.record_mentions(progress=sources.append)
        assert sum(sources) == 3
        parts: list[int] = []
        memory.consolidate(progress=parts.append)
        assert parts == [1, 1, 1]
        memory.consolidate(progress=parts.append)
        assert parts == [1, 1, 1]  # nothing is left to do
        began: list[str] = []
        unset = ("every_s", "idle_s", "entries", "seconds", "tokens", "budget_s")
        given = {name: None for name in unset}
        options = {"jobs": ["mentions", "embed"], "apply": False, "share": 0.5, "number": 20}
        memory._nightshift("default", {**given, **options, "age_days": 7, "calls": 0}, began.append)
        assert began == ["embed", "mentions"]
