"""Pairs, sessions and topics are derived from the turns: the same whatever the order of reading."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.agent.continuity.knowledge import sections
from doxa.agent.continuity.metrics import measured, note, report
from doxa.app import Memory, Session
from doxa.base.clock import NS, FakeClock
from doxa.base.errors import ConstraintError, NotFoundError, RoleError
from tests.agent.continuity_help import opened, say


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with opened(tmp_path / "m.doxa", clock) as made:
        yield made


@pytest.fixture
def ana(memory: Memory) -> Session:
    return memory.session(actor="ana", role="agent")


def turns(*roles: str) -> list[dict[str, object]]:
    start = 1_700_000_000 * NS
    return [
        {
            "text": f"{number} {role}",
            "role": role,
            "speaker": role,
            "session": "s",
            "thread": "t",
            "time": start + number * NS,
        }
        for number, role in enumerate(roles)
    ]


@pytest.mark.parametrize(
    ("roles", "shape"),
    [
        ("user assistant user assistant", [2, 2]),
        ("user user assistant", [1, 2]),
        ("assistant user", [1, 1]),
        ("user tool tool assistant user", [4, 1]),
        ("user", [1]),
    ],
)
def test_a_person_opens_a_pair(ana: Session, roles: str, shape: list[int]) -> None:
    ana.ingest(turns(*roles.split()))
    assert [len(pair.turns) for pair in ana.exchange_list()] == shape


def test_the_id_of_a_pair_stays_when_the_answer_comes(ana: Session) -> None:
    said = turns("user", "assistant")
    ana.ingest(said[:1])
    before = ana.exchange_list()[0]
    ana.ingest(said)
    after = ana.exchange_list()[0]
    assert before.id == after.id
    assert before.content_hash != after.content_hash
    assert before.time == said[0]["time"]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(["user", "assistant", "tool"]), min_size=1, max_size=10),
    st.randoms(use_true_random=False),
)
def test_any_order_of_reading_gives_the_same_pairs(
    tmp_path_factory: pytest.TempPathFactory, roles: list[str], random: st.DrawFn
) -> None:
    folder = tmp_path_factory.mktemp("order")
    said = turns(*roles)
    mixed = list(said)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    found = []
    for number, order in enumerate((said, mixed)):
        with opened(folder / f"{number}.doxa") as memory:
            for one in order:
                memory.ingest([one])
            found.append((memory.exchange_list(), memory.topic_list()))
    assert found[0] == found[1]


@pytest.mark.parametrize(("apart", "pairs"), [(0, 1), (59, 1), (60, 1), (61, 2)])
def test_the_same_words_on_two_channels_are_one_message(
    ana: Session, apart: int, pairs: int
) -> None:
    start = 1_700_000_000 * NS
    say(ana, "phone", "Call me back", at=start)
    say(ana, "desk", "Call me back", at=start + apart * NS)
    found = ana.exchange_list()
    assert len(found) == pairs
    assert found[0].repeats == 2 - pairs


def test_the_same_words_twice_in_one_conversation_are_two(ana: Session) -> None:
    say(ana, "one", "ok", "next", "ok", "next")
    assert len(ana.exchange_list()) == 2


def test_sessions_have_titles_modes_and_times(ana: Session, clock: FakeClock) -> None:
    ana.session_open("one", mode="booth", title="The bridge")
    say(ana, "one", "Hello there")
    clock.advance(seconds=10)
    asked = "Is the harbour bridge closed on Sunday, and for how long will it stay so?"
    say(ana, "two", asked, "No.")
    two, one = ana.session_list()
    assert (one.title, one.modes, one.state) == ("The bridge", ("booth",), "open")
    assert two.title == "Is the harbour bridge closed on Sunday, and for how long …"
    assert (two.modes, two.turns) == (("chat",), 2)
    assert (two.last - two.began) == NS


def test_topics_have_parents_and_company(ana: Session) -> None:
    for text in ("bolts", "bolts", "bolts", "paint", "closing"):
        say(ana, "one", f"The bridge: {text} now", "yes", at=ana.memory.store.clock.now_ns())
        ana.memory.store.clock.advance(seconds=5)  # type: ignore[attr-defined]
    found = {topic.topic: topic for topic in ana.topic_list()}
    assert found["bridge"].mentions == 5
    assert (found["bolts"].mentions, found["bolts"].parent) == (3, "bridge")
    assert found["bridge"].parent == ""
    assert ("bolts", 3) in found["bridge"].together
    assert "paint" not in found


def test_what_tools_and_answers_say_is_no_topic(ana: Session) -> None:
    ana.ingest([{**one, "text": "marzipan marzipan"} for one in turns("tool", "assistant", "tool")])
    assert ana.topic_list() == []


def test_a_thread_that_is_not_there(ana: Session) -> None:
    with pytest.raises(NotFoundError):
        ana.exchange_list(thread="nowhere")


# Knowledge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "plan.md").write_text("# Plan\nFirst.\n## Bolts\nSize 12.\n## Paint\nGrey.\n")
    return made


def test_sections_have_their_path_of_headings() -> None:
    text = "before\n# A\none\n## B\ntwo\n```\n# no heading\n```\n# C\n## B\nthree\n## B\nfour\n"
    paths = [path for path, _ in sections(text)]
    assert paths == [(), ("A",), ("A", "B"), ("C", "B"), ("C", "B", "(2)")]


def test_an_entry_is_superseded_by_a_later_text(memory: Memory, ana: Session, folder: Path) -> None:
    memory.knowledge_root(folder, agent="ana")
    first = ana.knowledge_index(folder)
    assert (first.files, first.sections, first.new) == (1, 3, 3)
    assert ana.knowledge_index(folder).new == 0
    (old,) = ana.knowledge_list("size of the bolts", limit=1)
    assert (old.path, old.section, old.text) == ("plan.md", ("Plan", "Bolts"), "Size 12.")
    (folder / "plan.md").write_text("# Plan\nFirst.\n## Bolts\nSize 14.\n")
    changed = ana.knowledge_index(folder)
    assert (changed.new, changed.superseded, changed.gone) == (1, 1, 1)
    (new,) = ana.knowledge_list("bolts", limit=1)
    assert new.text == "Size 14."
    every = {one.kref: one for one in ana.knowledge_list(every=True)}
    assert (every[old.kref].state, every[old.kref].superseded_by) == ("superseded", new.kref)
    (folder / "plan.md").write_text("# Plan\nFirst.\n## Bolts\nSize 12.\n")
    ana.knowledge_index(folder)
    (back,) = ana.knowledge_list("bolts", limit=1)
    assert (back.kref, back.superseded_by) == (old.kref, "")


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Tea", "Tea"),
        ("##\tTea and milk  ##", "Tea and milk"),
        ("# C#", "C"),
        ("#  a # b ", "a # b"),
        ("###### six #", "six"),
        ("# ##", "#"),
        ("# a ## ", "a ##"),
        ("####### seven", None),
        ("#tag", None),
        ("#  ", None),
    ],
)
def test_a_heading_has_a_mark_of_one_to_six(line: str, heading: str | None) -> None:
    ((path, _),) = sections(f"{line}\nbody\n")
    assert path == ((heading,) if heading else ())


def test_a_heading_with_a_long_gap_is_read_at_once() -> None:
    ((path, body),) = sections("# a" + " " * 1_000_000 + "b\nbody\n")
    assert (len(path[0]), body) == (1_000_002, "body")


def test_a_place_that_looks_like_a_credential_stays_current(
    memory: Memory, ana: Session, folder: Path
) -> None:
    secret = "ghp_abcdEFGH1234567890abcdEFGH1234567890"
    (folder / "keys.md").write_text(f"# Token {secret}\nVarnish dries slowly.\n")
    (folder / f"{secret}.md").write_text("# Oil\nVarnish needs oil.\n")
    memory.knowledge_root(folder, agent="ana")
    assert ana.knowledge_index(folder).gone == 0
    again = ana.knowledge_index(folder)
    assert (again.new, again.superseded, again.gone) == (0, 0, 0)
    found = ana.knowledge_recall("varnish")
    assert sorted(one.text for one in found) == ["Varnish dries slowly.", "Varnish needs oil."]
    assert not any(secret in f"{one.path} {one.section}" for one in found)
    (folder / f"{secret}.md").unlink()
    assert ana.knowledge_index(folder).gone == 1


def test_a_file_whose_name_is_not_text_is_skipped(
    memory: Memory, ana: Session, folder: Path
) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Tea\nHot.\n")
    memory.knowledge_root(folder, agent="ana")
    found = ana.knowledge_index(folder)
    assert (found.files, found.skipped) == (1, ("caf\ufffd.md: its name is not UTF-8",))


def test_what_is_shown_is_counted(
    memory: Memory, ana: Session, folder: Path, clock: FakeClock
) -> None:
    (folder / "long.md").write_text("# Long\n" + "varnish and more " * 100)
    memory.knowledge_root(folder, agent="ana")
    ana.knowledge_index(folder)
    assert ana.knowledge_recall("the weather in Lisbon") == []
    assert ana.knowledge_recall("of the") == []
    for count in (1, 2):
        clock.advance(seconds=5)
        (one,) = ana.knowledge_recall("Which size have the bolts?", limit=1)
        assert (one.text, one.surfaced) == ("Size 12.", count)
        assert one.surfaced_last is not None
        assert one.surfaced_last >= clock.now_ns()
    (long,) = ana.knowledge_recall("varnish")
    assert len(long.text) <= 600
    assert long.text.endswith(" …")
    (folder / "plan.md").write_text("# Plan\n## Bolts\nSize 14.\n")
    ana.knowledge_index(folder)
    (new,) = ana.knowledge_recall("bolts", limit=1)
    assert (new.text, new.surfaced) == ("Size 14.", 1)
    every = {one.text: one.surfaced for one in ana.knowledge_list(every=True)}
    assert (every["Size 12."], every["Grey."]) == (2, 0)


def test_only_an_operator_declares_a_folder(memory: Memory, ana: Session, folder: Path) -> None:
    from doxa.agent.continuity.knowledge import declare_root, root_name
    from doxa.agent.records.records import write_record
    from doxa.store import Identity

    with pytest.raises(NotFoundError):
        ana.knowledge_index(folder)
    with pytest.raises(RoleError):
        ana.knowledge_root(folder)
    with pytest.raises(RoleError), memory.store.write(Identity("ana"), op="trial") as tx:
        declare_root(tx, "default", "ana", folder)
    with pytest.raises(ConstraintError), memory.store.write(Identity("ana"), op="trial") as tx:
        write_record(
            tx,
            project="default",
            agent="ana",
            kind="knowledge",
            name="planted",
            state="current",
            text="The password is open.",
            data={"root": root_name(folder), "path": "x", "section": []},
        )
    memory.knowledge_root(folder, agent="ana")
    ana.knowledge_index(folder)
    memory.knowledge_root(folder, remove=True, agent="ana")
    with pytest.raises(NotFoundError):
        ana.knowledge_index(folder)


def test_nothing_outside_of_the_folder_is_read(
    memory: Memory, ana: Session, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("# Secret\nmarzipan\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "inner").symlink_to(tmp_path, target_is_directory=True)
    (folder / ".hidden.md").write_text("marzipan")
    (folder / "odd.md").write_bytes(b"\xff\xfe marzipan")
    (folder / "big.md").write_bytes(b"marzipan " * 200_000)
    memory.knowledge_root(folder, agent="ana")
    found = ana.knowledge_index(folder)
    assert ana.knowledge_list("marzipan") == []
    assert sorted(one.partition(":")[0] for one in found.skipped) == ["big.md", "odd.md"]
    before = (folder / "plan.md").read_bytes()
    assert before == (folder / "plan.md").read_bytes()


def test_knowledge_is_rebuilt_from_the_archive(
    memory: Memory, ana: Session, folder: Path, tmp_path: Path
) -> None:
    memory.knowledge_root(folder, agent="ana")
    ana.knowledge_index(folder)
    (folder / "plan.md").write_text("# Plan\nFirst.\n## Bolts\nSize 14.\n")
    ana.knowledge_index(folder)
    memory.archive_write(agent="ana")
    rebuilt = memory.archive_rebuild(tmp_path / "rebuilt.doxa", agent="ana")
    assert memory.identity.actor != "ana"  # who declared the folder
    assert (rebuilt.equal, rebuilt.records) == (True, 5)
    with opened(tmp_path / "rebuilt.doxa") as again:
        found = again.knowledge_list(agent="ana")
        assert {one.text for one in found} == {"First.", "Size 14.", "Grey."}


# Hooks


def test_hooks_are_reported_against_their_budgets(tmp_path: Path, memory: Memory) -> None:
    folder = Path(f"{memory.store.path}-agents")
    for ms in (10, 20, 30, 149):
        note(folder, "open", ms)
    for ms in (10, 260):
        note(folder, "answer", ms)
    note(folder, "prompt", 1)
    with pytest.raises(ValueError), measured(folder, "close"):
        raise ValueError
    found = {one.event: one for one in memory.hook_report()}
    assert (found["open"].p95_ms, found["open"].status) == (149, "near_budget")
    assert (found["answer"].max_ms, found["answer"].status) == (260, "over_budget")
    assert found["prompt"].status == "healthy"
    assert (found["close"].errors, found["close"].status) == (1, "error")
    assert report(tmp_path / "nowhere") == []


def test_hooks_are_reported_by_host(tmp_path: Path) -> None:
    for host, ms in (("claude", 5), ("codex", 90), ("claude", 7)):
        note(tmp_path, "open", ms, host=host)
    with (tmp_path / "hooks.jsonl").open("ab") as file:  # as earlier versions wrote it
        file.write(b'{"event": "open", "ms": 1.0, "ok": true}\n')
    found = [(one.host, one.event, one.count, one.max_ms) for one in report(tmp_path)]
    assert found == [("", "open", 1, 1.0), ("claude", "open", 2, 7.0), ("codex", "open", 1, 90.0)]


def test_a_torn_measurement_is_passed_over(tmp_path: Path) -> None:
    note(tmp_path, "open", 5)
    with (tmp_path / "hooks.jsonl").open("ab") as file:
        file.write(b'{"event": "op')
    assert report(tmp_path)[0].count == 1
