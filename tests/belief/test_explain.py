"""The page of one belief: each part of it for beliefs that are grounded, replaced, challenged and
without support."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock, format_time
from tests.fixtures_shared import opened

ANA, LETTER, COAT, SKIS, HOME, WEB = (
    f"kref://p/{name}.fact" for name in ("ana", "letter", "coat", "skis", "home", "web")
)


class Told:
    """A memory in which Ana lives in Oslo, for two reasons, with what depends on that."""

    def __init__(self, memory: doxa.Memory, clock: FakeClock) -> None:
        self.memory, self.clock = memory, clock
        memory.ingest([{"text": "I moved to Oslo", "speaker": "Ana"}], extract=False)
        (row,) = memory.run("MATCH (e:Exchange) RETURN e.kref AS kref").records()
        self.turn = str(row["kref"])
        memory.remember(
            "A letter\n from Oslo", name="letter", valid_from="2020-01-01", valid_until="2030-01-01"
        )
        clock.advance(seconds=1)
        memory.remember(
            "Ana lives in Oslo",
            name="ana",
            facts=[("Ana", "lives in", "Oslo")],
            derived_from=[self.turn],
        )
        memory.link(ANA, LETTER, kind="DERIVED_FROM", metadata={"set": "post"})
        memory.remember("Ana needs a coat", name="coat", depends_on=[ANA])
        memory.remember("Ana skis", name="skis", derived_from=[ANA])
        memory.link(SKIS, LETTER, kind="DERIVED_FROM")

    def page(self, kref: str) -> str:
        return self.memory.explain(kref).page()

    def move_to(self, place: str, item: str) -> str:
        """The time at which Ana moves, as the page shows it."""
        self.clock.advance(seconds=1)
        return format_time(self.memory.revise(["Ana", "lives in", place], item=item).time)


@pytest.fixture
def told(tmp_path: Path, clock: FakeClock) -> Iterator[Told]:
    with opened(tmp_path / "m.db", embedder=None, project="p", clock=clock) as memory:
        yield Told(memory, clock)
        assert memory.check() == []


def rows(page: str, title: str) -> list[str]:
    """The lines below a title."""
    _, _, rest = page.partition(f"\n{title}:\n")
    return [line.removeprefix("  - ") for line in rest.partition("\n\n")[0].splitlines()]


def test_a_belief_with_grounds_and_dependents(told: Told) -> None:
    since = format_time(told.memory.explain(ANA).since or 0)
    told.memory.session(actor="web").remember(
        "Ana lives in Rome", name="web", facts=[("Ana", "lives in", "Rome")], trust="untrusted"
    )
    (challenge,) = told.memory.conflicts()
    assert (
        told.page(ANA)
        == f"""Ana lives in Oslo

  {ANA}?r=1
  current since {since}, stated, confidence 1, fact
  stated by local at {since}

It states:
  - Ana lives in Oslo

Its grounds:
  - Ana: I moved to Oslo; {told.turn}; derived from
  - A letter from Oslo; {LETTER}?r=1; derived from, set post

What depends on it:
  - Ana needs a coat; {COAT}?r=1; would lose its support without it
  - Ana skis; {SKIS}?r=1; has other support, or none to lose

Open conflicts:
  - Ana lives in Rome; {challenge.kref}; challenges {ANA}?r=1"""
    )
    assert rows(told.page(WEB + "?r=1"), "Open conflicts") == [
        f"Ana lives in Rome; {challenge.kref}; challenges {ANA}?r=1"
    ]
    assert told.page(challenge.kref) == told.page(WEB + "?r=1")
    assert told.page(WEB + "?r=1").splitlines()[3].startswith("  contested, untrusted, ")


def test_a_belief_that_was_retracted_and_what_replaced_it(told: Told) -> None:
    since = told.memory.explain(ANA).since
    first = told.move_to("Bonn", HOME)
    told.memory.deprecate(told.turn)
    why = "it contradicts what was stated"
    old = told.memory.explain(ANA + "?r=1")
    assert old.page().splitlines()[3] == f"  deprecated until {first}, stated, confidence 1, fact"
    assert (old.since, format_time(old.until or 0)) == (None, first) and since is not None
    assert rows(old.page(), "Retracted in favour of") == [
        f"Ana lives in Bonn; {HOME}?r=1; at {first}: {why}"
    ]
    assert rows(old.page(), "It contradicts") == [f"Ana lives in Bonn; {HOME}?r=1; {why}"]
    assert rows(old.page(), "It replaced") == []
    assert rows(old.page(), "Its grounds")[0] == (
        f"Ana: I moved to Oslo; {told.turn}; derived from, retired"
    )
    second = told.move_to("Rome", "kref://p/rome.fact")
    third = told.move_to("Pisa", "kref://p/pisa.fact")
    new = told.page("kref://p/pisa.fact")
    assert rows(new, "It replaced") == [
        f"Ana lives in Rome; kref://p/rome.fact?r=1; at {third}: {why}, deprecated",
        f"Ana lives in Bonn; {HOME}?r=1; at {second}: {why}, deprecated",
        f"Ana lives in Oslo; {ANA}?r=1; at {first}: {why}, deprecated",
    ]
    assert rows(new, "Retracted in favour of") == []
    assert rows(new, "It contradicts") == [
        f"Ana lives in Rome; kref://p/rome.fact?r=1; {why}, deprecated"
    ]
    alone = "It stands by itself: nothing is noted that it was derived from."
    assert new.endswith(f"\n\n{alone}") and alone not in old.page()


def test_a_belief_without_its_support(told: Told) -> None:
    told.memory.deprecate(ANA)
    page = told.page(COAT)
    assert page.splitlines()[5] == (
        f"  UNSUPPORTED: what it depends on is not believed any more: {ANA}?r=1"
    )
    assert rows(page, "Its grounds") == [f"Ana lives in Oslo; {ANA}?r=1; needed, deprecated"]
    told.memory.remember("A coat costs money", name="money", depends_on=[COAT])
    assert rows(told.page("kref://p/money.fact"), "Its grounds") == [
        f"Ana needs a coat; {COAT}?r=1; needed, unsupported"
    ]
    letter = told.page(LETTER)
    assert "\n  holds from 2020-01-01T00:00:00Z until 2030-01-01T00:00:00Z\n" in letter
    told.memory.remember("The rest is later", name="rest", valid_from="2031-01-01")
    assert "\n  holds from 2031-01-01T00:00:00Z until ever\n" in told.page("kref://p/rest.fact")
    assert "holds from" not in told.page(SKIS)


def test_sentences_and_enrichments_are_listed(told: Told) -> None:
    either = {"or": [["Ana", "skis", True], ["Ana", "skates", True]]}
    told.memory.remember(
        "Ana does one of both",
        name="either",
        facts=[("Ana", "likes", "snow")],
        sentences=[either],
    )
    assert rows(told.page("kref://p/either.fact"), "It states") == [
        "Ana likes snow",
        "Ana skis True or Ana skates True",
    ]


def test_revisions_of_one_item_follow_each_other(told: Told) -> None:
    """Without a contradiction there is a time and no reason."""
    told.clock.advance(seconds=1)
    later = format_time(told.memory.revise(SKIS, "Ana skis well").time)
    assert rows(told.page(SKIS), "It replaced") == [f"Ana skis; {SKIS}?r=1; at {later}, superseded"]
    assert rows(told.page(SKIS + "?r=1"), "Retracted in favour of") == [
        f"Ana skis well; {SKIS}?r=2; at {later}"
    ]
    told.clock.advance(seconds=1)
    back = told.memory.rollback(SKIS + "?r=1")
    once = told.memory.explain(SKIS + "?r=1")
    assert (once.since, once.until) == (back.time, None)
    gone = told.memory.explain(SKIS + "?r=2")
    assert (gone.since, gone.until) == (None, back.time)


def test_what_is_neither_belief_nor_turn_is_named_by_its_address(told: Told) -> None:
    told.memory.run(
        "MATCH (x:Revision {kref: $kref}) CREATE (x)-[:DERIVED_FROM]->(:Page {title: 'T'})",
        {"kref": COAT + "?r=1"},
    )
    grounds = [(one.kref, one.says, one.how) for one in told.memory.explain(COAT).grounds]
    assert grounds == [(ANA + "?r=1", "Ana lives in Oslo", "needed"), ("", "", "derived from")]


@pytest.mark.parametrize(("count", "cut"), [(3, False), (4, True)])
def test_lists_are_cut_and_say_so(
    told: Told, monkeypatch: pytest.MonkeyPatch, count: int, cut: bool
) -> None:
    monkeypatch.setattr("doxa.belief.reading.explain.EXPLAINED_ITEMS_MAX", 3)
    told.memory.remember("Base", name="base")
    for number in range(count):
        told.memory.remember(f"P {number}", name=f"p-{number}", depends_on=["kref://p/base.fact"])
        told.memory.revise(SKIS, f"Ana skis {number} times")
    pages = [f"kref://p/p-{number}.fact" for number in range(count)]
    told.memory.remember("All", name="all", depends_on=pages)
    for name, part in (("base", "dependents"), ("all", "grounds"), ("skis", "replaced")):
        found = told.memory.explain(f"kref://p/{name}.fact")
        assert (len(getattr(found, part)), found.cut) == (3, cut)
        assert found.page().endswith("\n\nLists are cut after 3 lines.") is cut
