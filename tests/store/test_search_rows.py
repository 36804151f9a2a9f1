"""Search rows follow the graph: a rule declared late, withdrawn or changed, a text or attribute
that changes, and an index of another analyser."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.clock import FakeClock
from doxa.base.errors import InputError, StoreError
from doxa.base.ids import NodeId
from doxa.base.temporal import Date
from doxa.base.words import ANALYSER, stem, terms
from doxa.recall import Ask, Recaller
from doxa.store import Identity, Store, check, codes_of, unpack_vectors
from doxa.store.indexing.search_rows import SearchWriter, words_of

ANA = Identity("ana", "operator")
RULE: dict[str, Any] = {
    "text": ["summary"],
    "live_edge": "",
    "off": "deprecated",
    "prev_edge": "NEXT",
}
FIELDED = RULE | {"fields": ["hints"]}


def revision(text: str, **more: Any) -> dict[str, Any]:
    kref = "kref://p/" + text.replace(" ", "-") + ".fact?r=1"
    return {
        "kref": kref,
        "project": "p",
        "space": "",
        "kind": "fact",
        "summary": text,
        "time": 1,
    } | more


def found(store: Store, text: str, **more: Any) -> list[str]:
    return [
        hit.text
        for hit in Recaller(store, lambda held, coming: (None, ""))
        .recall(Ask(text, lanes=("words",), **more))
        .hits
    ]


def declare(store: Store, label: str, rule: dict[str, Any] | None) -> None:
    with store.write(ANA, op="rules") as tx:
        tx.set_catalogue(f"search:{label}", rule)


def add(store: Store, *texts: str, label: str = "Revision", **more: Any) -> list[NodeId]:
    with store.write(ANA, op="add") as tx:
        return [tx.create_node((label,), revision(text, **more)) for text in texts]


def change(store: Store, node: NodeId, labels: tuple[str, ...] | None = None, **props: Any) -> None:
    with store.write(ANA, op="set") as tx:
        held = tx.node(node)
        assert held is not None
        tx.set_node(node, held.props | props, labels=labels)


def rows(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with store.read() as snapshot:
        return snapshot.rows(sql)


def test_a_rule_declared_late_indexes_what_is_there(store: Store) -> None:
    with store.write(ANA, op="add") as tx:
        after = tx.create_node(
            ("Revision",), revision("green tea")
        )  # the later turn has the lower number
        before = tx.create_node(("Revision",), revision("black tea"))
        tx.create_edge("NEXT", before, dst=after)
    assert rows(store, "SELECT * FROM doc") == []
    declare(store, "Revision", RULE)
    assert sorted(found(store, "tea")) == ["black tea", "green tea"]
    assert rows(
        store, "SELECT d.prev, b.doc FROM doc d, doc b WHERE d.node = 1 AND b.node = 2"
    ) == [(1, 1)]
    assert rows(store, "SELECT vectors FROM doc") == [(0,), (0,)]
    assert check(store) == []


def test_a_withdrawn_rule_takes_its_rows_along_and_may_come_back(store: Store) -> None:
    declare(store, "Revision", RULE)
    add(store, "green tea", "black tea")
    for _ in range(3):
        declare(store, "Revision", None)
        assert rows(store, "SELECT count(*) FROM doc WHERE node > 0") == [(0,)]
        assert rows(
            store, "SELECT (SELECT count(*) FROM posting) + (SELECT count(*) FROM posting_new)"
        ) == [(0,)]
        assert check(store) == []
        declare(store, "Revision", RULE)
        assert sorted(found(store, "tea")) == ["black tea", "green tea"]
        assert check(store) == []


def test_a_text_that_changes_after_its_rule_is_withdrawn_leaves_no_words(store: Store) -> None:
    declare(store, "Revision", RULE)
    (node,) = add(store, "green tea")
    with store.write(ANA, op="both") as tx:
        tx.set_catalogue("search:Revision", None)
        tx.set_node(node, revision("black coffee"))
    assert rows(store, "SELECT term FROM posting UNION SELECT term FROM posting_new") == []
    assert check(store) == []


def test_a_changed_rule_changes_words_and_liveness(store: Store) -> None:
    declare(store, "Revision", RULE)
    add(store, "green tea", title="ceremony")
    assert found(store, "ceremony") == []
    declare(store, "Revision", RULE | {"text": ["title"]})
    assert found(store, "ceremony") == ["ceremony: green tea"]
    assert found(store, "green") == []
    declare(store, "Revision", RULE | {"text": ["title"], "live_edge": "CURRENT"})
    assert found(store, "ceremony") == []
    assert check(store) == []


def test_a_declaration_over_many_nodes_is_written_in_parts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.store.indexing.search_rows._POSTINGS_HELD", 50)
    written: list[int] = []
    write = SearchWriter._write_postings

    def counted(writer: SearchWriter) -> None:
        written.append(sum(map(len, writer._postings.values())))
        write(writer)

    monkeypatch.setattr(SearchWriter, "_write_postings", counted)
    rng = random.Random(7)
    add(
        store,
        *(
            " ".join(rng.choices([f"word{i}" for i in range(40)], k=9)) + f" n{n}"
            for n in range(300)
        ),
    )
    declare(store, "Revision", RULE)
    assert rows(store, "SELECT count(*) FROM doc") == [(300,)]
    assert (
        sum(written) > 2_000 and max(written) <= 60 and sum(count > 40 for count in written) > 30
    )  # full, and never much more
    assert check(store) == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "x",
        RULE | {"more": 1},
        RULE | {"text": "summary"},
        RULE | {"off": None},
        RULE | {"fields": "x"},
        RULE | {"fields": [1]},
        RULE | {"said": None},
    ],
)
def test_a_declaration_that_nothing_can_follow_is_refused(store: Store, value: Any) -> None:
    with pytest.raises(InputError, match="not a search declaration"):
        declare(store, "Revision", value)
    add(store, "still writes")


def test_a_changed_text_is_found_by_its_new_words_alone(store: Store) -> None:
    declare(store, "Revision", RULE)
    node, _ = add(store, "green tea", "black tea")
    with store.write(ANA, op="vectors") as tx:
        tx.put_vectors(
            1,
            0,
            model="fake",
            vectors={0: (b"x" * 768, codes_of(unpack_vectors([b"x" * 768])).tobytes())},
        )
    recaller = Recaller(store, lambda held, coming: (None, ""))
    assert [hit.text for hit in recaller.recall(Ask("green")).hits] == ["green tea"]
    change(store, node, summary="blue coffee")
    assert [hit.text for hit in recaller.recall(Ask("green")).hits] == []
    assert [hit.text for hit in recaller.recall(Ask("coffee")).hits] == ["blue coffee"]
    assert [hit.text for hit in recaller.recall(Ask("tea")).hits] == ["black tea"]
    assert rows(store, "SELECT vectors FROM doc WHERE node = 1") == [
        (0,)
    ]  # the vector was of the old text
    assert rows(store, "SELECT * FROM vector") == []
    assert check(store) == []
    store.compact()
    change(store, node, summary="green tea")
    assert sorted(found(store, "tea")) == ["black tea", "green tea"]
    assert check(store) == []


def test_who_follows_a_changed_text_follows_its_new_row(store: Store) -> None:
    declare(store, "Revision", RULE)
    first, second = add(store, "green tea", "yes")
    with store.write(ANA, op="next") as tx:
        tx.create_edge("NEXT", first, dst=second)
    change(store, first, summary="black tea")
    assert rows(
        store, "SELECT d.prev - b.doc FROM doc d, doc b WHERE d.node = 2 AND b.node = 1"
    ) == [(0,)]


def test_changed_attributes_and_labels_are_followed(store: Store) -> None:
    declare(store, "Revision", RULE)
    (node,) = add(store, "green tea")
    change(
        store,
        node,
        space="a/b",
        kind="note",
        trust="verified",
        valid_until=5,
        thread="t",
        speaker="Bo",
    )
    assert check(store) == []
    assert found(
        store,
        "tea",
        space="a",
        kinds=("note",),
        trust="verified",
        thread="t",
        speaker="Bo",
        valid_at=4,
    ) == ["green tea"]
    assert found(store, "tea", valid_at=5) == []
    change(store, node, project="q")
    assert found(store, "tea", project="q", valid_at=4) == ["green tea"]
    assert found(store, "tea", project="p") == []
    for _ in range(2):
        change(store, node, labels=("Other",))
        assert found(store, "tea") == []
        change(store, node, labels=("Revision",))
        assert found(store, "tea", valid_at=4) == ["green tea"]
    assert check(store) == []


def test_values_that_are_no_text_are_indexed_as_they_are_read(store: Store) -> None:
    declare(store, "Revision", RULE | {"text": ["summary", "when"]})
    (node,) = add(
        store, "green tea", when=Date(20_000), valid_from=Date(1), valid_until=float("nan")
    )
    assert check(store) == []
    change(store, node, when=Date(20_001))
    assert check(store) == []


def test_entries_of_fields_are_found_and_follow_their_node_and_their_declaration(
    store: Store,
) -> None:
    declare(store, "Revision", RULE)
    node, _ = add(store, "green tea", "black tea", hints=["water for the kettle", "a warm cup"])
    assert found(store, "kettle") == []
    declare(store, "Revision", FIELDED)
    assert sorted(found(store, "kettle")) == ["black tea", "green tea"]
    assert rows(store, "SELECT DISTINCT length FROM doc WHERE node > 0") == [
        (4,)
    ]  # its own two words and those of the longest entry
    change(store, node, hints=["a spoon", 7, " "])  # what is not text says nothing
    assert (found(store, "spoon"), found(store, "kettle")) == (["green tea"], ["black tea"])
    change(store, node, hints="spoon")
    assert found(store, "spoon") == []
    assert check(store) == []
    declare(store, "Revision", RULE)
    assert found(store, "kettle") == []
    assert check(store) == []


_TEXT = st.lists(st.sampled_from(("tea", "cup", "milk", "of", "warm")), max_size=6).map(" ".join)


@given(_TEXT, st.lists(_TEXT, max_size=5))
def test_entries_count_as_one_in_any_order(own: str, entries: list[str]) -> None:
    alone, length = words_of([own])
    counts, longer = words_of([own, *entries])
    assert words_of([own, *reversed(entries), *entries]) == (counts, longer)
    assert longer - length == max((len(terms(entry)) for entry in entries), default=0)
    assert counts.keys() == {term for text in (own, *entries) for term in terms(text)}
    for term, count in counts.items():
        assert count - alone[term] == max(
            (terms(entry).count(term) for entry in entries), default=0
        )


@pytest.mark.parametrize("seed", range(8))
def test_any_sequence_of_changes_leaves_a_sound_index(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    nodes: list[NodeId] = []
    words = ("tea", "milk", "cup", "green")
    for _ in range(60):
        with store.write(ANA, op="any") as tx:
            for _ in range(rng.randint(1, 3)):
                roll = rng.randrange(7)
                text = " ".join(rng.choices(words, k=rng.randint(0, 5)))
                labels = rng.sample(("Revision", "Note", "Plain"), rng.randint(1, 2))
                if roll <= 1 or not nodes:
                    hints = rng.choices(words, k=rng.randint(0, 3))
                    nodes.append(
                        tx.create_node(
                            labels, {"project": rng.choice("pq"), "summary": text, "hints": hints}
                        )
                    )
                elif roll <= 3:
                    node = rng.choice(nodes)
                    tx.set_node(
                        node,
                        {"project": rng.choice("pq"), "summary": text, "kind": rng.choice(words)},
                        labels=rng.choice((None, labels)),
                    )
                elif roll == 4:
                    label = rng.choice(("Revision", "Note"))
                    tx.set_catalogue(
                        f"search:{label}",
                        rng.choice((None, RULE, RULE | {"text": ["kind", "summary"]}, FIELDED)),
                    )
                elif roll == 5:
                    tx.create_edge("NEXT", rng.choice(nodes), dst=rng.choice(nodes))
                else:
                    node = rng.choice(nodes)
                    nodes.remove(node)
                    tx.erase([node])
        assert check(store) == []
    assert rows(store, _WRONG_PREV) == []


_WRONG_PREV = """
SELECT d.node, d.prev FROM doc d WHERE d.node > 0 AND d.prev >= 0 AND NOT EXISTS
  (SELECT 1 FROM edge e JOIN doc b ON b.node = e.src WHERE e.dst = d.node AND e.type = 'NEXT' AND \
b.scope = d.scope AND b.doc = d.prev)
"""


# The analyser


def foreign(path: Path) -> None:
    """Make the file one whose words were cut by other rules."""
    raw = apsw.Connection(str(path))
    raw.execute(
        "UPDATE meta SET value = 'other-1' WHERE key = 'analyser'; UPDATE posting_new SET term ="
        " term || 'x'; UPDATE doc SET length = 99"
    )
    raw.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
    raw.close()


def test_an_index_of_another_analyser_is_made_anew_when_the_file_is_opened(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "a.db"
    with Store(path, clock=clock) as store:
        assert rows(store, "SELECT value FROM meta WHERE key = 'analyser'") == [(ANALYSER,)]
        declare(store, "Revision", RULE)
        add(store, "green tea", "black tea", "no words: the of")
        with store.write(ANA, op="vectors") as tx:
            tx.put_vectors(
                1,
                0,
                model="fake",
                vectors={0: (b"x" * 768, codes_of(unpack_vectors([b"x" * 768])).tobytes())},
            )
        before = rows(store, "SELECT doc, node, live, length, vectors FROM doc")
        foreign(path)
        with pytest.raises(StoreError, match="another version of doxa"):
            add(store, "would mix two kinds of words")
    with Store(path, clock=clock, read_only=True) as store:
        assert ["open the file once for writing" in problem for problem in check(store)] == [True]
    with Store(path, clock=clock) as store:
        assert sorted(found(store, "tea")) == ["black tea", "green tea"]
        assert rows(store, "SELECT doc, node, live, length, vectors FROM doc") == before
        assert check(store) == []
        add(store, "red tea")
        assert check(store) == []


def test_an_index_that_was_made_anew_has_short_rows_and_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.store.indexing.search_rows.POSTING_BYTES_MAX", 20 * 5)
    monkeypatch.setattr("doxa.store.indexing.search_rows._POSTINGS_HELD", 70)
    path = tmp_path / "a.db"
    with Store(path) as store:
        declare(store, "Revision", RULE)
        add(store, *(f"tea number{n}" for n in range(130)))
        wanted = rows(
            store,
            "SELECT count(*), sum(length(data)) FROM (SELECT data FROM posting UNION ALL SELECT"
            " data FROM posting_new)",
        )[0][1]
        foreign(path)
    with Store(path) as store:
        assert rows(store, "SELECT count(*) FROM posting_new") == [(0,)]
        lengths = [
            length
            for (length,) in rows(
                store, "SELECT length(data) / 5 FROM posting WHERE term = 'tea' ORDER BY first"
            )
        ]
        assert sum(lengths) == 130 and max(lengths) <= 20
        assert rows(store, "SELECT sum(length(data)) FROM posting") == [(wanted,)]
        assert found(store, "tea number7")[0] == "tea number7" and check(store) == []


def test_a_file_that_does_not_say_is_of_the_first_analyser(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Store(path).close()
    raw = apsw.Connection(str(path))
    raw.execute("DELETE FROM meta WHERE key = 'analyser'")
    raw.close()
    with Store(path) as store:
        assert check(store) == []


def test_names_that_hold_a_nul_are_searchable(store: Store) -> None:
    with store.write(Identity("ana", "operator"), op="make") as tx:
        tx.set_catalogue(
            "search:Note", {"text": ["text"], "live_edge": "", "off": "off", "prev_edge": ""}
        )
        for number in range(2):
            tx.create_node(("Note",), {"text": f"a\0b {number}", "project": "p\0", "space": "s\0"})
    assert check(store) == []


def test_live_nodes_with_all_terms_are_found_in_both_tables_of_postings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docs that were moved, docs that were not, and docs that one transaction wrote together."""
    monkeypatch.setattr("doxa.store.indexing.search_rows.COMPACT_AFTER_ROWS", 60)
    chance = random.Random(7)
    words = ("boat", "cat", "dog", "fig", "goat", "hat", "ink", "jam")
    with Store(tmp_path / "m.db", clock=FakeClock()) as store:
        declare(store, "Revision", RULE)
        held: dict[NodeId, set[str]] = {}
        for number in range(80):
            texts = [
                " ".join((*chance.sample(words, chance.randint(1, 4)), f"n{number}x{part}"))
                for part in range(chance.choice((1, 1, 3)))
            ]
            held |= dict(zip(add(store, *texts), map(set, map(terms, texts)), strict=True))
            asked = chance.sample(words, chance.randint(1, 3))
            with store.read() as reader:
                nodes = reader.live_with_terms(
                    [*asked, asked[0]], project="p", space="", kind="fact", limit=1_000
                )
            wanted = {node for node, stems in held.items() if stems.issuperset(map(stem, asked))}
            assert {node.id for node in nodes} == wanted
            assert len(nodes) == len(wanted)
        assert rows(store, "SELECT count(*) FROM posting")[0][0] > 0
        assert rows(store, "SELECT count(*) FROM posting_new")[0][0] > 0
