"""The contract of working memory, on SQLite and on a real Redis server."""

from __future__ import annotations

import threading
from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from doxa.base.clock import NS, FakeClock
from doxa.base.errors import (
    ConflictError,
    InputError,
    LimitError,
    NotFoundError,
    ReadOnlyError,
)
from doxa.base.limits import WORKING_MESSAGE_BYTES_MAX, WORKING_MESSAGES_ITEMS_MAX
from doxa.working import WorkingMemory, redis_backend, sqlite_backend
from tests.working.conftest import TTL_S, Opener

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def texts(working: WorkingMemory, **named: str) -> list[str]:
    return [one.text for one in working.get(project="shop", **named).messages]


def test_messages_come_back_in_order_with_all_that_was_given(
    working: WorkingMemory, clock: FakeClock
) -> None:
    made = working.add("hello", project="shop", session="s1", metadata={"channel": "mail", "n": 2})
    clock.advance(seconds=5)
    working.add('\x00 Grüße 😀 {"a": 1}', project="shop", session="s1", role="assistant")
    found = working.get(project="shop", session="s1")
    assert [one.role for one in found.messages] == ["user", "assistant"]
    assert [one.text for one in found.messages] == ["hello", '\x00 Grüße 😀 {"a": 1}']
    assert found.messages[0].metadata == {"channel": "mail", "n": 2}
    assert found.messages[0].id == made.id and made.session == "s1"
    assert found.messages[1].time - found.messages[0].time == 5 * NS
    assert found.until == clock.now_ns() // 1_000_000 * 1_000_000 + TTL_S * NS
    assert texts(working, session="s1") == [one.text for one in found.messages]
    assert len(working.get(project="shop", session="s1", limit=1).messages) == 1
    assert working.get(project="shop", session="s1", limit=0).pending == 2


def test_a_session_is_one_project_context_user_and_name(working: WorkingMemory) -> None:
    places = [
        {"project": project, "context": context, "user": user, "session": session}
        for project in ("a", "ab")
        for context in ("b", "work")
        for user in ("u", "U")
        for session in ("c", "b:c", "*", "../c", "{c}", "c\u00a0d", "'; --", "%", "c?x=1")
    ]
    for number, place in enumerate(places):
        working.add(str(number), **place)
    for number, place in enumerate(places):
        assert [one.text for one in working.get(**place).messages] == [str(number)]
    assert working.clear(**places[0]) == 1
    assert working.get(**places[1]).messages
    assert len(working.sessions(project="a")) == len(places) // 2 - 1


def test_time_that_passes_ends_a_session_and_use_prolongs_it(
    working: WorkingMemory, opener: Opener, clock: FakeClock
) -> None:
    first = working.add("one", project="shop", session="s")
    for _ in range(3):
        clock.advance(seconds=TTL_S - 1)
        assert texts(working, session="s") == ["one"]
    clock.advance(seconds=TTL_S)
    assert texts(working, session="s") == []
    assert working.sessions(project="shop") == []
    assert working.get(project="shop", session="s").until is None
    again = working.add("two", project="shop", session="s")
    assert texts(working, session="s") == ["two"] and again.id != first.id
    assert again.id.endswith("-1") and again.pending == 1


def test_a_snapshot_and_a_list_do_not_prolong_a_session(
    working: WorkingMemory, clock: FakeClock
) -> None:
    working.add("one", project="shop", session="s")
    clock.advance(seconds=TTL_S - 1)
    assert len(working.snapshot(project="shop", session="s").messages) == 1
    assert len(working.sessions(project="shop")) == 1
    clock.advance(seconds=1)
    assert not working.snapshot(project="shop", session="s").messages


def test_the_newest_fifty_messages_are_kept_and_what_falls_out_is_counted(
    working: WorkingMemory,
) -> None:
    most = WORKING_MESSAGES_ITEMS_MAX
    for number in range(most):
        added = working.add(str(number), project="shop", session="s")
        assert (added.pending, added.dropped) == (number + 1, 0)
        assert added.full == (number + 1 == most)
    ids = [one.id for one in working.get(project="shop", session="s").messages]
    working.consolidated(ids[1], project="shop", session="s")
    for number in range(most, most + 3):
        added = working.add(str(number), project="shop", session="s")
    assert added.dropped == 1 and added.pending == most
    found = working.get(project="shop", session="s")
    assert [one.text for one in found.messages] == [str(n) for n in range(3, most + 3)]
    assert [one.id for one in found.messages][: most - 3] == ids[3:]
    assert found.dropped == 1


def test_what_is_consolidated_is_marked_once_and_leaves_the_snapshot(
    working: WorkingMemory, clock: FakeClock
) -> None:
    for text in "abc":
        working.add(text, project="shop", session="s")
    taken = working.snapshot(project="shop", session="s")
    assert [one.text for one in taken.messages] == ["a", "b", "c"]
    working.add("d", project="shop", session="s")
    last = taken.messages[-1].id
    assert working.consolidated(last, project="shop", session="s") == 3
    assert working.consolidated(last, project="shop", session="s") == 0
    assert working.consolidated(taken.messages[0].id, project="shop", session="s") == 0
    assert [m.text for m in working.snapshot(project="shop", session="s").messages] == ["d"]
    held = working.get(project="shop", session="s")
    assert [m.consolidated for m in held.messages] == [True, True, True, False]
    assert held.pending == working.sessions(project="shop")[0].pending == 1
    clock.advance(seconds=TTL_S)
    working.add("new", project="shop", session="s")
    with pytest.raises(NotFoundError):
        working.consolidated(last, project="shop", session="s")
    assert working.snapshot(project="shop", session="s").pending == 1
    with pytest.raises(InputError):
        working.consolidated("nonsense", project="shop", session="s")


def test_a_repeated_request_gets_the_first_answer(working: WorkingMemory) -> None:
    first = working.add("pay", project="shop", session="s", idempotency_key="k 1")
    working.add("other", project="shop", session="s")
    again = working.add("pay", project="shop", session="s", idempotency_key="k 1")
    assert again.id == first.id and first.added and not again.added and again.pending == 2
    assert texts(working, session="s") == ["pay", "other"]
    with pytest.raises(ConflictError):
        working.add("pay twice", project="shop", session="s", idempotency_key="k 1")
    elsewhere = working.add("pay", project="shop", session="t", idempotency_key="k 1")
    assert elsewhere.added and elsewhere.id != first.id
    assert working.add("pay", project="shop", session="s").added  # without a key: said twice
    for number in range(WORKING_MESSAGES_ITEMS_MAX):
        working.add(str(number), project="shop", session="s")
    late = working.add("pay", project="shop", session="s", idempotency_key="k 1")
    assert late.added  # a key is known as long as its message


def test_a_handle_follows_the_user_and_says_nothing_of_the_name(
    working: WorkingMemory, opener: Opener, clock: FakeClock
) -> None:
    first = working.add("by mail", project="shop", user="ana@example.com")
    context, who, day, number = first.session.split(":")
    assert (context, day, number) == ("default", "20231114", "001")
    assert who.startswith("user-") and len(who) == 21 and "ana" not in first.session
    other = opener()  # another channel, another process
    assert other.add("by chat", project="shop", user="ana@example.com").session == first.session
    assert texts(working, user="ana@example.com") == ["by mail", "by chat"]
    assert texts(working, session=first.session) == ["by mail", "by chat"]
    assert working.get(project="shop", session=first.session).user == who
    work = working.add("at work", project="shop", user="ana@example.com", context="work")
    assert work.session.startswith(f"work:{who}:")
    bob = working.add("I am Bob", project="shop", user="bob@example.com")
    assert bob.session.split(":")[1] != who
    assert texts(working, user="nobody") == []
    clock.advance(seconds=TTL_S)
    assert texts(working, user="ana@example.com") == []
    later = working.add("again", project="shop", user="ana@example.com")
    assert later.session == f"default:{who}:{day}:002"
    clock.advance(days=1)
    assert working.add("x", project="shop", user="ana@example.com").session.endswith("15:001")


def test_a_handle_in_use_is_prolonged_by_its_name_too(
    working: WorkingMemory, clock: FakeClock
) -> None:
    first = working.add("one", project="shop", user="ana")
    for call in (working.get, lambda **named: working.add("more", **named)):
        clock.advance(seconds=TTL_S - 1)
        call(project="shop", session=first.session)  # type: ignore[operator]
    clock.advance(seconds=TTL_S - 1)
    assert working.add("two", project="shop", user="ana").session == first.session
    working.clear(project="shop", user="ana")
    assert working.add("three", project="shop", user="ana").session != first.session


def test_a_handle_of_another_user_is_refused(working: WorkingMemory) -> None:
    ana = working.add("one", project="shop", user="ana").session
    for named in ({"user": "bob"}, {"context": "work"}):
        with pytest.raises(InputError):
            working.get(project="shop", session=ana, **named)
    assert working.get(project="office", session=ana).messages == ()


def test_secrets_are_left_out_on_the_way_in(working: WorkingMemory) -> None:
    added = working.add(
        f"the token is {TOKEN}", project="shop", session="s", metadata={"password": "hunter2x!9Q"}
    )
    found = working.get(project="shop", session="s").messages[0]
    assert TOKEN not in found.text and "[redacted:" in found.text
    assert "hunter2x" not in str(found.metadata)
    assert found.redacted == added.redacted and len(added.redacted) == 2
    for named in ({"session": TOKEN}, {"context": TOKEN}, {"idempotency_key": TOKEN}):
        with pytest.raises(InputError):
            working.add("x", project="shop", **named)


@pytest.mark.parametrize(
    "given",
    [
        {"text": ""},
        {"text": 5},
        {"text": "\ud800"},
        {"text": "x" * (WORKING_MESSAGE_BYTES_MAX + 1)},
        {"text": "é" * (WORKING_MESSAGE_BYTES_MAX // 2 + 1)},
        {"role": "root"},
        {"session": "a\x00b"},
        {"session": "a\nb"},
        {"session": "\udcff"},
        {"session": "x" * 201},
        {"session": 7},
        {"context": "a:b"},
        {"context": "a\u202eb"},
        {"user": "\ud800"},
        {"user": None},
        {"metadata": []},
        {"metadata": {"a": {"b": 1}}},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": float("inf")}},
        {"metadata": {5: "a"}},
        {"metadata": {"a": "\ud800"}},
        {"metadata": {"a": "x" * WORKING_MESSAGE_BYTES_MAX}},
        {"idempotency_key": 5},
        {"idempotency_key": "a\x00"},
    ],
)
def test_what_cannot_be_kept_is_refused_and_leaves_nothing(
    working: WorkingMemory, given: dict[str, object]
) -> None:
    with pytest.raises(InputError):
        working.add(**({"text": "x", "project": "shop", "session": "s"} | given))  # type: ignore[arg-type]
    assert working.sessions(project="shop") == []


def test_the_largest_message_is_kept(working: WorkingMemory) -> None:
    text = "x" * WORKING_MESSAGE_BYTES_MAX
    for _ in range(3):
        working.add(text, project="shop", session="s")
    assert texts(working, session="s") == [text] * 3


def test_sessions_of_a_project_are_bounded(
    working: WorkingMemory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_backend, redis_backend):
        monkeypatch.setattr(module, "WORKING_SESSIONS_ITEMS_MAX", 3)
    for name in "abc":
        working.add("x", project="shop", session=name)
    with pytest.raises(LimitError):
        working.add("x", project="shop", session="d")
    working.add("x", project="shop", session="a")
    working.add("x", project="office", session="d")
    clock.advance(seconds=TTL_S)
    working.add("x", project="shop", session="d")


def test_sessions_are_listed_and_cleared_by_user_context_and_project(
    working: WorkingMemory, clock: FakeClock
) -> None:
    for user in ("ana", "bob"):
        for context in ("home", "work"):
            clock.advance(seconds=1)
            working.add("x", project="shop", user=user, context=context)
    working.add("x", project="office", user="ana")
    listed = working.sessions(project="shop")
    assert [one.context for one in listed] == ["work", "home", "work", "home"]
    assert [one.messages for one in listed] == [1] * 4
    assert len(working.sessions(project="shop", user="ana")) == 2
    assert len(working.sessions(project="shop", user="ana", context="home")) == 1
    assert len(working.sessions(project="shop", limit=3)) == 3
    assert working.clear_all(project="shop", user="ana") == 2
    assert len(working.sessions(project="shop")) == 2
    assert working.clear_all(project="shop") == 2
    assert working.sessions(project="shop") == [] != working.sessions(project="office")


def test_a_read_only_memory_reads_and_prolongs_nothing(
    working: WorkingMemory, opener: Opener, clock: FakeClock
) -> None:
    assert texts(opener(read_only=True), user="ana") == []
    handle = working.add("one", project="shop", user="ana").session
    reading = opener(read_only=True)
    clock.advance(seconds=TTL_S - 1)
    assert texts(reading, user="ana") == texts(reading, session=handle) == ["one"]
    for call in (
        lambda: reading.add("x", project="shop"),
        lambda: reading.clear(project="shop", session=handle),
        lambda: reading.clear_all(project="shop"),
        lambda: reading.consolidated("a-1", project="shop", session=handle),
    ):
        with pytest.raises(ReadOnlyError):
            call()
    clock.advance(seconds=1)
    assert texts(reading, session=handle) == []


def test_writers_at_once_lose_nothing_and_share_one_handle(opener: Opener) -> None:
    memories = [opener() for _ in range(4)]
    handles: list[str] = []

    def write(number: int) -> None:
        for turn in range(10):
            added = memories[number].add(f"{number} {turn}", project="shop", user="ana")
            handles.append(added.session)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = memories[0].get(project="shop", user="ana").messages
    assert set(handles) == {memories[0].sessions(project="shop")[0].session}
    assert len(found) == 40 and len({one.id for one in found}) == 40
    for number in range(4):
        mine = [one.text for one in found if one.text.startswith(f"{number} ")]
        assert mine == [f"{number} {turn}" for turn in range(10)]


class Model(RuleBasedStateMachine):
    """Random calls on three sessions against a plain model of the contract."""

    working: WorkingMemory
    clock: FakeClock
    project = ""
    count = 0

    @initialize()
    def begin(self) -> None:
        Model.count += 1
        self.place = f"p{Model.count}"
        self.held: dict[str, deque[tuple[str, str]]] = {}
        self.done: dict[str, set[str]] = {}
        self.until: dict[str, int] = {}

    def alive(self, name: str) -> bool:
        if self.until.get(name, 0) <= self.clock.now_ns():
            self.held.pop(name, None)
        return name in self.held

    @rule(name=st.sampled_from("abc"), text=st.text(min_size=1, max_size=5))
    def add(self, name: str, text: str) -> None:
        try:
            added = self.working.add(text, project=self.place, session=name)
        except InputError:
            assert any("\ud800" <= char <= "\udfff" for char in text)
            return
        if not self.alive(name):
            self.held[name], self.done[name] = deque(maxlen=WORKING_MESSAGES_ITEMS_MAX), set()
        self.held[name].append((added.id, text))
        self.until[name] = self.clock.now_ns() + TTL_S * NS

    @rule(name=st.sampled_from("abc"), times=st.integers(40, 60))
    def add_many(self, name: str, times: int) -> None:
        for _ in range(times):
            self.add(name, "x")

    @rule(name=st.sampled_from("abc"))
    def read(self, name: str) -> None:
        found = self.working.get(project=self.place, session=name)
        expected = list(self.held[name]) if self.alive(name) else []
        assert [(one.id, one.text) for one in found.messages] == expected
        if expected:
            assert [one.consolidated for one in found.messages] == [
                one in self.done[name] for one, _ in expected
            ]
            assert found.pending == sum(one not in self.done[name] for one, _ in expected)
            self.until[name] = self.clock.now_ns() + TTL_S * NS

    @rule(name=st.sampled_from("abc"), place=st.integers(0, 49))
    def mark(self, name: str, place: int) -> None:
        if self.alive(name):
            ids = [one for one, _ in self.held[name]]
            upto = ids[: place % len(ids) + 1]
            marked = self.working.consolidated(upto[-1], project=self.place, session=name)
            assert marked == len(set(upto) - self.done[name])
            self.done[name] |= set(upto)

    @rule(name=st.sampled_from("abc"))
    def clear(self, name: str) -> None:
        count = len(self.held[name]) if self.alive(name) else 0
        assert self.working.clear(project=self.place, session=name) == count
        self.held.pop(name, None)

    @rule(seconds=st.integers(1, 2 * TTL_S))
    @precondition(lambda self: self.held)
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule()
    def listed(self) -> None:
        found = {one.session: one.messages for one in self.working.sessions(project=self.place)}
        assert found == {name: len(self.held[name]) for name in "abc" if self.alive(name)}


def test_random_calls_do_what_a_model_says(working: WorkingMemory, clock: FakeClock) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    class Machine(Model):
        pass

    Machine.working, Machine.clock = working, clock
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=25, stateful_step_count=20, deadline=None)
    )
