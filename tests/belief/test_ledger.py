"""Every belief operation: what it changes, what it reports, and under which receipt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from doxa.base.clock import FakeClock, format_time
from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError, RoleError
from doxa.base.limits import (
    FACTS_PER_REVISION_MAX,
    SENTENCE_ATOMS_MAX,
    SENTENCES_PER_REVISION_MAX,
)
from doxa.base.temporal import Date
from doxa.belief import (
    Change,
    Draft,
    Fact,
    Ledger,
    Place,
    Revision,
    declare,
    draft_kref,
    parse_kref,
    read_any,
    require,
    resolve,
    tagged_at,
)
from doxa.logic.sentence import And, Atom
from doxa.store import Store, verify_log
from tests.belief.shop import HOST, PORT, USES, K, draft, moves, read, summaries

pytestmark = pytest.mark.usefixtures("sound")


def test_declaring_twice_changes_nothing(believing: Store) -> None:
    before = verify_log(believing)
    declare(believing)
    assert verify_log(believing) == before


def test_expand_makes_the_item_its_places_and_one_receipt(
    believing: Store, ledger: Ledger, clock: FakeClock
) -> None:
    made = ledger.expand(
        draft(
            "we use postgres",
            USES,
            PORT,
            space="a/b",
            title="Database",
            topics=("ops",),
            keywords=("sql",),
            confidence=0.5,
            metadata={"x": [1]},
        )
    )
    kref = "kref://shop/a/b/db.decision?r=1"
    assert (made.action, made.kref, made.previous, made.gained, made.lost) == (
        "created",
        kref,
        "",
        (USES, PORT),
        (),
    )
    found = read(believing, kref)
    assert found == Revision(
        kref=kref,
        item="kref://shop/a/b/db.decision",
        number=1,
        status="current",
        summary="we use postgres",
        kind="decision",
        project="shop",
        space="a/b",
        title="Database",
        topics=("ops",),
        keywords=("sql",),
        facts=(USES, PORT),
        valid_from=None,
        valid_until=None,
        confidence=0.5,
        trust="stated",
        author="ana",
        time=made.time,
        created=made.time,
        tags=("current", "initial"),
        metadata={"x": [1]},
    )
    with believing.read() as snapshot:
        receipt = snapshot.receipt(made.change)  # type: ignore[arg-type]
        assert receipt is not None
        assert (receipt.hash.hex(), receipt.op, receipt.actor, receipt.time) == (
            made.receipt,
            "expand",
            "ana",
            made.time,
        )
        place = read_any(snapshot, require(snapshot, parse_kref("kref://shop/a/b")))
        assert place == Place(
            "kref://shop/a/b", "Space", {"kref": "kref://shop/a/b", "name": "b", "project": "shop"}
        )
    with pytest.raises(ConflictError, match="exists"):
        ledger.expand(draft(space="a/b"))


def test_a_name_is_made_from_the_words(believing: Store, ledger: Ledger) -> None:
    made = ledger.expand(Draft("We deploy on Thursdays!"))
    assert made.kref.startswith("kref://default/we-deploy-on-thursdays-")
    assert ledger.put(Draft("We deploy on Thursdays!")).action == "unchanged"
    assert ledger.put(Draft("…")).kref.startswith("kref://default/")


def test_put_revises_and_says_what_was_gained_and_lost(believing: Store, ledger: Ledger) -> None:
    first = ledger.put(draft("one", USES, PORT))
    second = ledger.put(draft("two", USES, HOST))
    assert (second.action, second.kref, second.previous, second.gained, second.lost) == (
        "revised",
        K + "?r=2",
        K + "?r=1",
        (HOST,),
        (PORT,),
    )
    assert second.change == (first.change or 0) + 1
    assert [read(believing, f"{K}?r={n}").status for n in (1, 2)] == ["superseded", "current"]
    with believing.read() as snapshot:
        new, old = (resolve(snapshot, parse_kref(f"{K}?r={n}")) for n in (2, 1))
        assert [(e.type, e.dst) for e in snapshot.edges_out(new.id)] == [("SUPERSEDES", old.id)]
    again = ledger.put(draft("two", USES, HOST))
    assert (again.action, again.change, again.receipt, again.kref) == (
        "unchanged",
        None,
        "",
        K + "?r=2",
    )
    assert ledger.revise(K, draft("two", USES, HOST)).action == "unchanged"
    assert summaries(believing) == ["one", "two"]
    with pytest.raises(NotFoundError):
        ledger.revise("kref://shop/none.decision", draft())


def test_compare_and_set(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one"), expect=0)
    ledger.put(draft("two"), expect=1)
    for call in (
        lambda: ledger.put(draft("x"), expect=1),
        lambda: ledger.revise(K, draft("x"), expect=0),
        lambda: ledger.rollback(K + "?r=1", expect=1),
        lambda: ledger.deprecate(K, expect=1),
    ):
        with pytest.raises(ConflictError) as caught:
            call()
        assert caught.value.fields["found"] == 2
        assert caught.value.next_step == "Read it again, then decide again."
    ledger.tag(K, "mine", expect=0)
    with pytest.raises(ConflictError):
        ledger.tag(K + "?r=1", "mine", expect=1)
    with pytest.raises(ConflictError):
        ledger.untag(K, "mine", expect=0)
    assert ledger.tag(K + "?r=1", "mine", expect=2).kref == K + "?r=1"
    assert summaries(believing) == ["one", "two"]


def test_supersede_under_the_same_and_another_address(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", USES))
    assert ledger.supersede(K, draft("two", PORT)).kref == K + "?r=2"
    assert ledger.supersede(K, Draft("three", facts=(HOST,))).kref == K + "?r=3"
    other = ledger.supersede(K, draft("moved", PORT, name="store"))
    assert (other.action, other.kref, other.previous, other.lost) == (
        "superseded",
        "kref://shop/store.decision?r=1",
        K,
        (HOST,),
    )
    assert read(believing, K).status == "deprecated"
    with believing.read() as snapshot:
        new, old = (
            resolve(snapshot, parse_kref("kref://shop/store.decision")),
            resolve(snapshot, parse_kref(K)),
        )
        assert [(e.type, e.dst) for e in snapshot.edges_out(new.id)] == [("SUPERSEDES", old.id)]


def test_contracting_a_fact_keeps_the_others(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", USES, PORT, HOST, metadata={"m": 1}, confidence=0.3))
    change = ledger.contract(K, fact=PORT)
    assert (change.action, change.kref, change.previous, change.lost) == (
        "contracted",
        K + "?r=2",
        K + "?r=1",
        (PORT,),
    )
    found = read(believing, K)
    assert (found.facts, found.metadata, found.confidence, found.summary) == (
        (USES, HOST),
        {"m": 1},
        0.3,
        "db is postgres; db remote True",
    )
    assert ledger.contract(K, fact=PORT).action == "unchanged"
    ledger.contract(K, fact=HOST)
    assert ledger.contract(K, fact=USES).kref == K + "?r=3"
    assert read(believing, K).status == "deprecated"


def test_contracting_a_revision_and_an_item(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", USES))
    ledger.put(draft("two", PORT))
    ledger.tag(K + "?r=2", "mine")
    assert ledger.contract(K + "?r=2").lost == (PORT,)
    assert (read(believing, K + "?r=2").status, read(believing, K + "?r=2").tags) == (
        "detached",
        (),
    )
    with pytest.raises(NotFoundError, match="no current revision"):
        read(believing, K)
    assert ledger.contract(K + "?r=2").action == "unchanged"
    assert ledger.contract(K).action == "deprecated"
    assert summaries(believing) == ["one", "two"]


def test_deprecate_and_restore(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", USES))
    change = ledger.deprecate(K)
    assert (change.action, change.lost, read(believing, K).status) == (
        "deprecated",
        (USES,),
        "deprecated",
    )
    assert ledger.deprecate(K).action == "unchanged"
    change = ledger.restore(K)
    assert (change.action, change.gained, read(believing, K).status) == (
        "restored",
        (USES,),
        "current",
    )
    ledger.deprecate(K)
    assert (
        ledger.put(draft("one", USES)).action == "revised"
    )  # saying it again is believing it again
    assert read(believing, K).status == "current"


def test_tags_move_and_every_move_is_recorded(
    ledger: Ledger, believing: Store, clock: FakeClock
) -> None:
    """tag history and as-of reads at every past time, and one nanosecond before each."""
    wanted: list[tuple[int, str, str]] = []
    steps: list[Callable[[], Change]] = [
        lambda: ledger.put(draft("one")),
        lambda: ledger.tag(K, "mine"),
        lambda: ledger.put(draft("two")),
        lambda: ledger.tag(K, "mine"),
        lambda: ledger.rollback(K + "?r=1"),
        lambda: ledger.untag(K, "mine"),
        lambda: ledger.put(draft("three")),
        lambda: ledger.tag(K + "?r=2", "mine"),
    ]
    state = {"current": "", "mine": ""}
    after = [
        ("1", ""),
        ("1", "1"),
        ("2", "1"),
        ("2", "2"),
        ("1", "2"),
        ("1", ""),
        ("3", ""),
        ("3", "2"),
    ]
    for step, (current, mine) in zip(steps, after, strict=True):
        clock.advance(seconds=1)
        change = step()
        state = {"current": current, "mine": mine}
        wanted.append((change.time, state["current"], state["mine"]))
    ends = [*[row[0] - 1 for row in wanted[1:]], wanted[-1][0] + 10**9]
    with believing.read() as snapshot:
        for (since, current, mine), last in zip(wanted, ends, strict=True):
            for time in (since, last):
                for tag, number in (("current", current), ("mine", mine)):
                    if number:
                        assert (
                            tagged_at(snapshot, parse_kref(K), tag=tag, time=time).props["kref"]
                            == f"{K}?r={number}"
                        )
                    else:
                        with pytest.raises(NotFoundError):
                            tagged_at(snapshot, parse_kref(K), tag=tag, time=time)
                assert resolve(snapshot, parse_kref(f"{K}?at={format_time(time)}")).props[
                    "number"
                ] == int(current)
        with pytest.raises(NotFoundError):
            tagged_at(snapshot, parse_kref(K), tag="current", time=wanted[0][0] - 1)
        assert tagged_at(snapshot, parse_kref(K), tag="initial", time=0).props["number"] == 1
    mine_moves = [
        (move.kref[-1], move.since, move.until) for move in moves(believing) if move.tag == "mine"
    ]
    times = [row[0] for row in wanted]
    assert mine_moves == [
        ("1", times[1], times[3]),
        ("2", times[3], times[5]),
        ("2", times[7], None),
    ]
    assert [move.kref[-1] for move in moves(believing) if move.tag == "current"] == [
        "1",
        "2",
        "1",
        "3",
    ]
    assert read(believing, K + "?t=mine").summary == "two"
    assert ledger.tag(K + "?r=2", "mine").action == "unchanged"
    assert ledger.untag(K, "nothing").action == "unchanged"


def test_protected_tags_are_the_operators(ledger: Ledger, agent: Ledger, believing: Store) -> None:
    agent.put(draft("one"))
    for name in ("approved", "published", "verified", "crystallised"):
        with pytest.raises(RoleError) as caught:
            agent.tag(K, name)
        assert caught.value.fields == {"role": "agent", "needed": "operator"}
        change = ledger.tag(K, name)
        with pytest.raises(RoleError):
            agent.untag(K, name)
        with pytest.raises(RoleError):
            agent.undo(change.change or 0)
        with pytest.raises(RoleError):
            agent.contract(K + "?r=1")
    agent.put(draft("two"))
    assert read(believing, K + "?t=approved").number == 1
    for name in ("initial", "", "a/b", "a b"):
        with pytest.raises(InputError):
            ledger.tag(K, name)


def test_rollback(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", USES, PORT))
    ledger.put(draft("two", PORT, HOST))
    back = ledger.rollback(K + "?r=1")
    assert (back.action, back.kref, back.previous, back.gained, back.lost) == (
        "rolled_back",
        K + "?r=1",
        K + "?r=2",
        (USES,),
        (HOST,),
    )
    assert ledger.rollback(K + "?r=1").action == "unchanged"
    assert ledger.put(draft("three")).kref == K + "?r=3"
    assert summaries(believing) == ["one", "two", "three"]


def test_rollback_of_what_is_deprecated_or_has_no_current_revision(
    ledger: Ledger, believing: Store
) -> None:
    ledger.put(draft("one", USES, PORT))
    ledger.put(draft("two", PORT, HOST))
    ledger.deprecate(K)
    back = ledger.rollback(K + "?r=2")
    assert (back.action, back.gained, back.lost, back.reason) == (
        "rolled_back",
        (PORT, HOST),
        (),
        "it was deprecated",
    )
    assert (read(believing, K).number, read(believing, K).status) == (2, "current")
    ledger.undo(back.change or 0)
    assert read(believing, K).status == "deprecated"
    back = ledger.rollback(K + "?r=1")
    assert (back.action, back.previous, back.gained, back.lost) == (
        "rolled_back",
        K + "?r=2",
        (USES, PORT),
        (),
    )
    assert (read(believing, K).number, read(believing, K).status) == (1, "current")
    ledger.contract(K + "?r=1")
    assert ledger.rollback(K + "?r=1").gained == (USES, PORT)
    assert read(believing, K).status == "current"


def test_facts_are_compared_by_type_too(ledger: Ledger, believing: Store) -> None:
    one, true, real = (Fact("db", "replicas", value) for value in (1, True, 1.0))
    ledger.put(draft("one", one))
    changed = ledger.put(draft("one", true))
    assert [repr(f.value) for f in (*changed.gained, *changed.lost)] == ["True", "1"]
    changed = ledger.put(draft("one", true, real))
    assert [repr(f.value) for f in (*changed.gained, *changed.lost)] == ["1.0"]
    assert ledger.contract(K, fact=one).action == "unchanged"
    ledger.contract(K, fact=true)
    assert [repr(f.value) for f in read(believing, K).facts] == ["1.0"]
    back = ledger.rollback(K + "?r=1")
    assert [repr(f.value) for f in (*back.gained, *back.lost)] == ["1", "1.0"]


def test_metadata_may_be_temporal_and_undo_brings_it_back(ledger: Ledger, believing: Store) -> None:
    ledger.put(draft("one", metadata={"on": Date(5)}))
    assert ledger.put(draft("one", metadata={"on": Date(5)})).action == "unchanged"
    assert ledger.put(draft("one", metadata={"on": Date(6)})).action == "revised"
    assert read(believing, K).metadata == {"on": Date(6)}
    ledger.put(draft("two", name="other"))
    linked = ledger.link(
        "kref://shop/other.decision", K, kind="REFERENCED", metadata={"on": Date(7)}
    )
    again = ledger.undo(ledger.undo(linked.change or 0).change or 0)
    with believing.read() as snapshot:
        node = resolve(snapshot, parse_kref("kref://shop/other.decision"))
        assert [edge.props for edge in snapshot.edges_out(node.id, "REFERENCED")] == [
            {"on": Date(7)}
        ]
    assert again.action == "undone"


@pytest.mark.parametrize("kind", ["exchange", "thread"])
def test_kinds_of_conversations_are_not_for_beliefs(ledger: Ledger, kind: str) -> None:
    for call in (ledger.put, ledger.expand, lambda d: ledger.supersede(K, d)):
        with pytest.raises(InputError, match="cannot be of kind"):
            call(Draft("one", project="shop", name="a", kind=kind))


def test_a_turn_is_not_revised_or_tagged(ledger: Ledger, believing: Store) -> None:
    turn = "kref://shop/talk/t1.exchange"
    with believing.write(ledger.identity, op="said") as tx:
        said = {
            "thread": "kref://shop/talk/t.thread",
            "session": "",
            "speaker": "Ana",
            "role": "user",
            "text": "hello",
            "time": 1,
        }
        place = {"kref": "kref://shop/talk/t.thread", "project": "shop", "kind": "thread"}
        thread = tx.create_node(("Thread",), place)
        space = tx.create_node(
            ("Space",), {"kref": "kref://shop/talk", "project": "shop", "name": "talk"}
        )
        project = tx.create_node(("Project",), {"kref": "kref://shop", "name": "shop"})
        tx.create_edge("HAS_SPACE", project, dst=space)
        tx.create_edge("HAS_THREAD", space, dst=thread)
        node = tx.create_node(
            ("Exchange",),
            {"kref": turn, "project": "shop", "space": "talk", "kind": "exchange", **said},
        )
        tx.create_edge("HAS_EXCHANGE", thread, dst=node)
    for call in (
        lambda: ledger.revise(turn, draft()),
        lambda: ledger.tag(turn, "mine"),
        lambda: ledger.untag(turn, "mine"),
        lambda: ledger.rollback(turn),
        lambda: ledger.supersede(turn, draft()),
        lambda: ledger.contract(turn, fact=USES),
    ):
        with pytest.raises(InputError, match="no revisions"):
            call()
    assert ledger.deprecate(turn).action == "deprecated"
    assert ledger.restore(turn).action == "restored"


def test_an_address_is_made_of_valid_text_only() -> None:
    for summary in ("x\ud800", "", None):
        with pytest.raises(InputError):
            draft_kref(Draft(summary))  # type: ignore[arg-type]


def test_a_retired_belief_that_supersedes_another_is_believed_again(
    ledger: Ledger, believing: Store
) -> None:
    ledger.put(draft("one"))
    ledger.put(draft("two", name="other"))
    ledger.deprecate("kref://shop/other.decision")
    made = ledger.supersede(K, draft("three", name="other"))
    assert (read(believing, made.kref).status, read(believing, K).status) == (
        "current",
        "deprecated",
    )


# Refusals

ATOM = Atom("s", "p", 1)


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (Draft(""), InputError),
        (Draft(" \n"), InputError),
        (Draft(5), InputError),
        (Draft("x\ud800"), InputError),
        (Draft("x", title="\ud800"), InputError),  # type: ignore[arg-type]
        (Draft("x", trust="holy"), InputError),
        (Draft("x", confidence=1.1), InputError),
        (Draft("x", confidence=True), InputError),
        (Draft("x", valid_from=5, valid_until=5), InputError),
        (Draft("x", metadata={"kref": "y"}), InputError),
        (Draft("x", metadata={"m": {}}), InputError),
        (Draft("x", metadata={1: 2}), InputError),
        (Draft("x", project="a/b"), InputError),
        (Draft("x", space="a//b"), InputError),  # type: ignore[dict-item]
        (Draft("x", name="../y"), InputError),
        (Draft("x", kind="a.b"), InputError),
        (Draft("x", facts=(Fact("", "p", 1),)), InputError),
        (Draft("x", facts=(Fact("s", "p", float("nan")),)), InputError),
        (Draft("x", facts=(Fact("s", "p", 2**70),)), InputError),
        (Draft("x", facts=(Fact("s", "p", None),)), InputError),
        (Draft("x", facts=(Fact("\ud800", "p", 1),)), InputError),  # type: ignore[arg-type]
        (Draft("x", facts=(Fact("s", "p", 1),) * (FACTS_PER_REVISION_MAX + 1)), LimitError),
        (Draft("x", sentences="[1]"), InputError),  # type: ignore[arg-type]
        (Draft("x", sentences=5), InputError),  # type: ignore[arg-type]
        (Draft("x", sentences=(["s", "p"],)), InputError),  # type: ignore[arg-type]
        (Draft("x", sentences=(ATOM,) * (SENTENCES_PER_REVISION_MAX + 1)), LimitError),
        (Draft("x", sentences=(And((ATOM,) * (SENTENCE_ATOMS_MAX + 1)),)), LimitError),
        (Draft("x" * 2_000_000), LimitError),
    ],
)
def test_unusable_drafts_write_nothing(
    ledger: Ledger, believing: Store, bad: Draft, kind: type[InputError]
) -> None:
    before = verify_log(believing)
    for call in (ledger.put, ledger.expand):
        with pytest.raises(kind) as caught:
            call(bad)
        assert caught.value.next_step
    assert verify_log(believing) == before


def test_as_much_as_the_limits_allow_is_written(ledger: Ledger) -> None:
    facts = tuple(Fact("s", "p", number) for number in range(FACTS_PER_REVISION_MAX))
    assert ledger.put(draft("facts", *facts, name="f")).gained == facts
    sentences = tuple(Atom("s", "q", number) for number in range(SENTENCES_PER_REVISION_MAX))
    assert ledger.put(draft("sentences", name="s", sentences=sentences)).action == "created"


def test_a_missing_address_says_what_is_there(ledger: Ledger, believing: Store) -> None:
    with pytest.raises(NotFoundError, match="no project yet"):
        read(believing, K)
    ledger.put(draft("one"))
    for kref, said in (
        (K + "?r=9", f"{K} exists, but"),
        (K + "?t=none", f"{K} exists, but"),
        ("kref://other/x.fact", "Known projects: shop"),
        ("kref://shop/x.fact", "kref://shop exists"),
        ("kref://shop/a/b/x.fact", "kref://shop exists"),
    ):
        with pytest.raises(NotFoundError) as caught:
            read(believing, kref)
        assert said in caught.value.message
        assert caught.value.fields["kref"] == kref
    for call in (ledger.deprecate, ledger.restore, ledger.contract, ledger.rollback):
        with pytest.raises(InputError, match="not an item"):
            call("kref://shop")
    assert ledger.create_space("shop", "a/b").action == "created"
    assert ledger.create_space("shop", "a/b").action == "unchanged"
    assert ledger.create_space("shop", "").action == "unchanged"


def test_each_operation_has_exactly_one_receipt(ledger: Ledger, believing: Store) -> None:
    calls: list[tuple[str, Callable[[], Change]]] = [
        ("put", lambda: ledger.put(draft("one", USES, PORT))),
        ("put", lambda: ledger.put(draft("two", USES, PORT))),
        ("expand", lambda: ledger.expand(draft(name="o"))),
        ("revise", lambda: ledger.revise(K, draft("three", USES, PORT))),
        ("contract", lambda: ledger.contract(K, fact=USES)),
        ("tag", lambda: ledger.tag(K, "t")),
        ("untag", lambda: ledger.untag(K, "t")),
        ("rollback", lambda: ledger.rollback(K + "?r=1")),
        ("deprecate", lambda: ledger.deprecate(K)),
        ("restore", lambda: ledger.restore(K)),
        ("link", lambda: ledger.link(K, "kref://shop/o.decision", kind="DEPENDS_ON")),
        ("unlink", lambda: ledger.unlink(K, "kref://shop/o.decision", kind="DEPENDS_ON")),
        ("attach", lambda: ledger.attach(K, "f", location="x")),
        ("bundle", lambda: ledger.bundle("kref://shop/b.bundle", add=[K])),
        ("supersede", lambda: ledger.supersede(K, draft(name="n"))),
        ("create_space", lambda: ledger.create_space("shop", "s")),
        ("contract", lambda: ledger.contract(K + "?r=1")),
        ("erase", lambda: ledger.erase([K])),
    ]
    for op, call in calls:
        with believing.read() as snapshot:
            before = snapshot.last_receipt()
        change = call()
        with believing.read() as snapshot:
            (receipt,) = snapshot.receipts(after=before.tx if before else 0)
        assert (receipt.op, receipt.tx, receipt.hash.hex(), receipt.time) == (
            op,
            change.change,
            change.receipt,
            change.time,
        )
