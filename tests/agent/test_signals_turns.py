"""Signals of turns, and the dynamics: documented, clamped, deterministic, calibrated, and without a
path into a prompt."""

from __future__ import annotations

import ast
import json
import math
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import doxa
from doxa.agent.signals import log as turn_log
from doxa.agent.signals.dynamics import LATENT, Dynamics
from doxa.agent.signals.log import TurnLog, log_path
from doxa.agent.signals.measure import COMPONENTS, TurnTrace, digest_of, measure
from doxa.agent.signals.observation import FEATURES
from doxa.agent.signals.patterns import LANGUAGES, PHRASES, phrases, tables
from doxa.base.clock import FakeClock
from doxa.base.limits import SIGNALS_SUSTAINED_S

NS = 10**9
SRC = Path(doxa.__file__).parent
REALMEM = Path(os.environ.get("DOXA_REALMEM", Path(__file__).parents[3] / "shared/data/realmem"))

CORRECTIONS = {
    "en": "No, that is wrong. I said Tuesday.",
    "de": "Nein, das ist falsch. Ich habe doch gesagt: Dienstag.",
    "es": "No, eso está mal. Te dije el martes.",
    "fr": "Non, c'est faux. Je t'ai dit mardi.",
    "zh": "不对，我说的是星期二。",
}
PLAIN = {
    "en": "Could you list the trains to Lyon?",
    "de": "Kannst du die Züge nach Lyon nennen?",
    "es": "¿Me puedes listar los trenes a Lyon?",
    "fr": "Peux-tu donner les trains pour Lyon ?",
    "zh": "请列出去里昂的火车。",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_correction_is_seen_in_each_language_and_a_question_is_not_one(language: str) -> None:
    found, _ = measure(CORRECTIONS[language], "All right.", [])
    plain, _ = measure(PLAIN[language], "Here they are.", [])
    assert found.correction >= 0.5
    assert plain.correction == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_table(language: str) -> None:
    assert {*tables()[language]} == {*PHRASES, "negation"}
    assert all(tables()[language].values())


def test_every_phrase_compiles() -> None:
    assert all(phrases(name).pattern for name in PHRASES)


def test_a_plan_that_the_reply_takes_for_done_is_confabulation() -> None:
    said = "I'm going to visit my sister next week."
    assert measure(said, "Congratulations on visiting her!", [])[0].confabulation == 1
    assert measure(said, "Have a good time.", [])[0].confabulation == 0


def test_equal_replies_are_a_loop() -> None:
    before: list[TurnTrace] = []
    loops = []
    for _ in range(4):
        found, trace = measure("And now?", "I am looking into it.", before)
        loops.append(found.loop)
        before.append(trace)
    assert loops == [0, 0.5, 1, 1]


def test_a_reply_that_denies_an_earlier_one_is_a_contradiction() -> None:
    _, trace = measure("Where?", "The museum in Lyon is open on Monday.", [])
    found, _ = measure("Sure?", "The museum in Lyon is not open on Monday.", [trace])
    same, _ = measure("Sure?", "The museum in Lyon is open on Monday.", [trace])
    assert found.contradiction >= 0.5
    assert same.contradiction == 0


def test_a_reply_against_a_principle_is_less_coherent() -> None:
    principle = "I never share private data."
    assert measure("", "I share private data with them.", [], [principle])[0].coherence == 0
    assert measure("", "I never share private data.", [], [principle])[0].coherence == 1


def test_what_is_new_is_novel() -> None:
    _, trace = measure("The garden needs water.", "Yes.", [])
    same, _ = measure("The garden needs water.", "Yes.", [trace])
    new, _ = measure("Quantum computers factor numbers.", "Yes.", [trace])
    assert (same.novelty, new.novelty) == (0, 0.5)


def test_every_signal_is_between_0_and_1_for_any_text() -> None:
    words = [one for table in tables().values() for name in PHRASES for one in table[name]]
    random = np.random.default_rng(3)
    before: list[TurnTrace] = []
    for _ in range(60):
        user, reply = (" ".join(random.choice(words, 30)) for _ in range(2))
        found, trace = measure(user, reply, before, ["I never lie to the user."])
        assert all(0 <= getattr(found, name) <= 1 for name in (*COMPONENTS, "composite"))
        before.append(trace)
        assert TurnTrace.read(json.loads(json.dumps(trace.stored()))).words == trace.words


# The log and the dynamics


def test_45_minutes_above_the_threshold_are_sustained(tmp_path: Path) -> None:
    log, said = TurnLog(tmp_path / "ana.jsonl"), []
    bad = "No, that is wrong. I said so. Are you sure? Why didn't you listen? You promised."
    for minute in (0, 20, 44, 46):
        said.append(log.observe(bad, f"Reply {minute}.", now=minute * 60 * NS, session="s"))
    assert [one.signals.composite > 0.8 for one in said] == [True] * 4
    assert [one.sustained for one in said] == [False, False, False, True]
    late = log.observe(bad, "Reply 47.", now=(46 + 31) * 60 * NS, session="s")
    assert (late.sustained, late.above_since) == (False, (46 + 31) * 60 * NS)
    calm = log.observe("Thanks.", "You are welcome.", now=80 * 60 * NS, session="s")
    assert (calm.sustained, calm.above_since) == (False, None)
    assert SIGNALS_SUSTAINED_S == 45 * 60


def turns(number: int, seed: int) -> Iterator[tuple[str, str]]:
    random = np.random.default_rng(seed)
    words = "garden train music Lyon museum Monday tea number wrong sister plan water".split()
    for _ in range(number):
        user, reply = (" ".join(random.choice(words, random.integers(3, 30))) for _ in range(2))
        yield user + ("?" if random.random() < 0.4 else "."), reply + "."


def observed(path: Path, given: Sequence[tuple[str, str]], *, restart: int = 0) -> list[object]:
    log, found = TurnLog(path), []
    for index, (user, reply) in enumerate(given):
        if restart and index % restart == 0:
            log = TurnLog(path)
        found.append(log.observe(user, reply, now=index * 60 * NS, session=str(index // 20)))
    return found


def test_the_same_turns_show_the_same_whatever_restarts(tmp_path: Path) -> None:
    given = list(turns(130, 1))
    once = observed(tmp_path / "a.jsonl", given)
    again = observed(tmp_path / "b.jsonl", given)
    restarted = observed(tmp_path / "c.jsonl", given, restart=7)
    assert once == again == restarted
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_the_learner_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    given = list(turns(60, 2))
    whole = observed(tmp_path / "a.jsonl", given)
    observed(tmp_path / "b.jsonl", given[:55])
    (tmp_path / "b.npz").write_bytes(b"damaged")
    log = TurnLog(tmp_path / "b.jsonl")
    rest = [
        log.observe(user, reply, now=index * 60 * NS, session=str(index // 20))
        for index, (user, reply) in enumerate(given)
        if index >= 55
    ]
    assert rest == whole[55:]


def test_a_line_that_a_crash_cut_is_left_out(tmp_path: Path) -> None:
    observed(tmp_path / "a.jsonl", list(turns(5, 1)))
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b'{"time": 1, "sess')
    log = TurnLog(tmp_path / "a.jsonl")
    log.observe("Go on.", "Yes.", now=NS)
    assert len(log.recent(100)) == 6
    assert len(TurnLog(tmp_path / "a.jsonl").recent(100)) == 6


@pytest.mark.parametrize("restart", [0, 3])
def test_a_log_that_is_full_becomes_the_former_one_and_changes_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: int
) -> None:
    given = list(turns(130, 4))
    whole = observed(tmp_path / "a.jsonl", given)
    monkeypatch.setattr(turn_log, "SIGNALS_LOG_BYTES_MAX", 50_000)
    parted = observed(tmp_path / "b.jsonl", given, restart=restart)
    assert (tmp_path / "b.jsonl.former").exists()
    assert parted == whole
    assert len(TurnLog(tmp_path / "b.jsonl").recent(60)) == 60


def test_two_processes_take_turns_and_learn_each_line_once(tmp_path: Path) -> None:
    given = list(turns(90, 5))
    one, other = TurnLog(tmp_path / "a.jsonl"), TurnLog(tmp_path / "a.jsonl")
    shown = [
        (one if index % 3 else other).observe(user, reply, now=index * 60 * NS, session="s")
        for index, (user, reply) in enumerate(given)
    ]
    alone = TurnLog(tmp_path / "b.jsonl")
    assert shown == [
        alone.observe(user, reply, now=index * 60 * NS, session="s")
        for index, (user, reply) in enumerate(given)
    ]


def test_threads_take_turns(tmp_path: Path) -> None:
    log = TurnLog(tmp_path / "a.jsonl")

    def work(number: int) -> None:
        for index, (user, reply) in enumerate(turns(20, number)):
            log.observe(user, reply, now=index * NS)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    assert sorted(line["shown"]["updates"] for line in lines) == list(range(1, 81))


def test_the_log_and_its_learner_are_private(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.doxa", role="operator", actor="ana", embedder=None) as memory:
        log = log_path(memory.store.path, "default", "ana")
        for user, reply in turns(50, 1):
            memory.metabolise(user, reply)
    assert log.with_name("ana.npz").exists()
    for path in (log.parent.parent, log.parent, *log.parent.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize("how", ["forget", "erase"])
def test_an_erasure_blanks_the_digests_and_keeps_the_numbers(tmp_path: Path, how: str) -> None:
    with doxa.open(tmp_path / "m.doxa", role="operator", actor="ana", embedder=None) as memory:
        made = memory.remember("My sister is called Zenobia.")
        memory.metabolise("My sister is called Zenobia.", "Zenobia is a fine name.")
        log = log_path(memory.store.path, "default", "ana")
        before = log.read_bytes()
        assert str(digest_of("zenobia")).encode() in before
        if how == "forget":
            memory.forget(made.change.kref, erase=True)
        else:
            preview = memory.erase(text="Zenobia", preview=True)
            memory.erase(text="Zenobia", confirm=preview.token)
        after = log.read_bytes()
        assert len(after) == len(before)
        assert json.loads(after)["trace"] == {}
        assert json.loads(after)["features"] == json.loads(before)["features"]
        assert memory.metabolise("Go on.", "Yes.").turn.signals.coherence == 1
        assert len(memory.signals()) == 2


def test_the_log_holds_no_text(tmp_path: Path) -> None:
    observed(tmp_path / "a.jsonl", [("My password is Zanzibar.", "Noted: Zanzibar.")] * 3)
    assert b"anzibar" not in (tmp_path / "a.jsonl").read_bytes()


def test_25_features_become_64_numbers() -> None:
    assert (len(FEATURES), LATENT) == (25, 64)
    learner = Dynamics()
    learner.observe([0.5] * 25)
    assert learner.latent([0.5] * 25).shape == (64,)


def test_the_prediction_learns_what_can_be_learnt() -> None:
    learner, random = Dynamics(1), np.random.default_rng(5)
    patterns = random.standard_normal((4, len(FEATURES)))
    surprises = [
        learner.observe(list(patterns[turn % 4] + 0.05 * random.standard_normal(25))).surprise
        for turn in range(1_200)
    ]
    early = np.mean([one for one in surprises[20:120] if one is not None])
    late = np.mean([one for one in surprises[-200:] if one is not None])
    assert late < 0.5 * early


def ks_probability(values: Sequence[float]) -> float:
    """Kolmogorov and Smirnov's test against the uniform distribution, with Stephens' correction."""
    held = np.sort(values)
    rank = np.arange(1, len(held) + 1) / len(held)
    most = max(float((rank - held).max()), float((held - rank + 1 / len(held)).max()))
    root = math.sqrt(len(held))
    scaled = (root + 0.12 + 0.11 / root) * most
    return min(
        1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled**2) for k in range(1, 100))
    )


def test_the_test_of_uniformity_refuses_what_is_not() -> None:
    random = np.random.default_rng(0)
    assert ks_probability(list(random.random(700))) > 0.01
    assert ks_probability(list(random.random(700) ** 2)) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_percentiles_are_uniform_on_held_out_turns(seed: int) -> None:
    random, learner = np.random.default_rng(seed), Dynamics(seed)
    step, state = random.standard_normal((25, 25)) * 0.15, np.zeros(25)
    found = []
    for _ in range(1_600):
        state = step @ state + random.standard_normal(25) * np.exp(0.3 * random.standard_normal())
        found.append(learner.observe(list(state)).percentile)
    held_out = [one for one in found[800:] if one is not None]
    assert len(held_out) == 800
    assert ks_probability(held_out) > 0.01


@pytest.mark.skipif(not REALMEM.exists(), reason="set DOXA_REALMEM to the dialogues of RealMem")
@pytest.mark.parametrize("who", ["Kenta_Tanaka", "Liam_O_Connor"])
def test_percentiles_are_uniform_on_the_second_half_of_real_conversations(
    who: str, tmp_path: Path
) -> None:
    data = json.loads((REALMEM / f"{who}_dialogues_256k.json").read_text())
    log, found, now = TurnLog(tmp_path / "a.jsonl"), [], 0
    for dialogue in data["dialogues"]:
        user = None
        now += 86_400 * NS
        for turn in dialogue["dialogue_turns"]:
            if turn["speaker"] == "User":
                user = turn["content"]
            elif user is not None:
                now += 60 * NS
                shown = log.observe(
                    user, turn["content"], now=now, session=dialogue["session_uuid"]
                )
                found.append(shown.percentile)
                user = None
    held_out = [one for one in found[len(found) // 2 :] if one is not None]
    assert len(held_out) > 300
    assert ks_probability(held_out) > 0.01


# Diagnostic only

MAY_READ_THE_LOG = {
    "agent/signals/log.py",
    "app/sessions/agent/growth.py",
    "app/file.py",
    "agent/growth/metabolism.py",
}


def test_no_module_that_makes_a_prompt_imports_the_log_or_the_dynamics() -> None:
    found = set()
    for path in SRC.rglob("*.py"):
        name = str(path.relative_to(SRC))
        for node in ast.walk(ast.parse(path.read_text())):
            module = node.module if isinstance(node, ast.ImportFrom) else ""
            if module in ("doxa.agent.signals.log", "doxa.agent.signals.dynamics"):
                found.add(name)
    assert found <= MAY_READ_THE_LOG | {"app/asynchronous/session.py"}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_dynamics_show_what_is_injected_is_the_same(tmp_path: Path, seed: int) -> None:
    from doxa.hosts.brief import brief

    blocks = []
    for name in ("none", "some", "forged"):
        memory = doxa.open(
            tmp_path / f"{seed}{name}.doxa",
            role="operator",
            actor="olga",
            clock=FakeClock(),
            embedder=None,
        )
        with memory:
            session = memory.session(actor="ana")
            memory.remember("The user likes tea.", trust="verified")
            if name != "none":
                for user, reply in turns(12, seed):
                    session.metabolise(user, reply)
            if name == "forged":
                log = log_path(memory.store.path, "default", "ana")
                log.write_text(log.read_text().replace("0.", "9."))
            context = session.context_assemble("What does the user like?").text
            assert "tea" in context
            blocks.append((session.identity_show().block, brief(session).block(), context))
    assert blocks[0] == blocks[1] == blocks[2]
