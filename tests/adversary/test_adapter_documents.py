"""What a framework hands over, or a model writes in a call, against the documents that all adapters
are made of: labels and names of any text, values of any JSON, credentials, other scopes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from doxa.adapters.documents import Documents, Put, searchable, segment, stored_json
from doxa.app.memory import Memory, open_memory
from doxa.base.errors import (
    ConflictError,
    InputError,
    KrefError,
    LimitError,
    NotFoundError,
    ReadOnlyError,
    RoleError,
)
from doxa.belief import parse_kref

SURROGATES = st.characters(codec=None)
LABEL = st.text(SURROGATES, max_size=80)
PATH = st.tuples(st.lists(LABEL, max_size=30), LABEL)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | LABEL,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LABEL, inner, max_size=4),
    max_leaves=20,
)
KEY = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
HOSTILE = [
    *("..", "../..", ".", "~", "~x", "/", "a/b", "", "\0", "a\0b", "\ud800", "kref://bank/x"),
    *("x.document", "?r=1", "#", "%2e%2e", "-x", "A" * 5_000, "\u202e", "é", "e\u0301", "*"),
    *("' OR 1=1 --", "$krefs", "}) DETACH DELETE (n) //", "langgraph", "\n", "．．", "Ｋ"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


def documents(memory: Memory, project: str = "shop", space: str = "store") -> Documents:
    return Documents(
        memory.session(actor="a", project=project), space=space, kind="document", channel="test"
    )


def addresses() -> Documents:
    class OfProject:
        project = "shop"
        run = None

    return Documents(OfProject(), space="store", kind="document", channel="test")  # type: ignore[arg-type]


@given(PATH, PATH)
def test_every_path_has_an_address_of_its_own_inside_its_space(
    one: tuple[list[str], str], two: tuple[list[str], str]
) -> None:
    made = addresses()
    krefs = [made.address(*path) for path in (one, two)]
    assert (krefs[0] == krefs[1]) == (one == two)
    for kref in krefs:
        parsed = parse_kref(kref)
        assert str(parsed) == kref
        assert (parsed.project, parsed.spaces[:2], parsed.kind) == (
            "shop",
            ("store", "~"),
            "document",
        )


@given(JSON)
def test_any_json_comes_back(value: Any) -> None:
    text = stored_json(value)
    text.encode()
    assert json.loads(text) == value


@given(LABEL)
def test_any_text_can_be_searched_for(text: str) -> None:
    found = searchable(text)
    found.encode()
    assert "\0" not in found
    assert parse_kref(f"kref://shop/{segment(text)}")


@given(st.data())
@settings(max_examples=30)
def test_documents_against_a_dictionary(tmp_path_factory: Any, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("documents") / "a.db"
    names = data.draw(st.lists(PATH, min_size=1, max_size=6))
    model: dict[tuple[str, ...], Any] = {}
    with open_memory(path, embedder=None, background=False) as memory:
        made = documents(memory)
        for _ in range(data.draw(st.integers(1, 8))):
            labels, name = data.draw(st.sampled_from(names))
            where, kref = (*labels, name), made.address(labels, name)
            if data.draw(st.booleans()):
                value = data.draw(JSON)
                try:
                    made.write([Put(kref, where, value, "text")])
                except InputError as error:  # a label or a name such as ACCESSKEY=...
                    assume("looks like a secret" not in error.message)
                    raise
                model[where] = value
            else:
                made.write(drops=[kref])
                model.pop(where, None)
            prefix = labels[: data.draw(st.integers(0, len(labels)))]
            expected = {
                one: value
                for one, value in model.items()
                if one[: len(prefix)] == tuple(prefix) and len(one) > len(prefix)
            }
            assert {one.path: one.value for one in made.below(prefix)} == expected
            assert made.paths(prefix).keys() == expected.keys()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels_stay_in_their_scope(memory: Memory, text: str) -> None:
    bank = documents(memory, "bank")
    bank.write([Put(bank.address(("x",), "k"), ("x", "k"), "of the bank", "secret plan")])
    inner = documents(memory, space="store/x")
    inner.write([Put(inner.address((), "k"), ("k",), "inner", "secret plan")])
    made = documents(memory)
    kref = made.address((text,), text)
    made.write([Put(kref, (text, text), {"of": "shop"}, text)])
    assert [one.value for one in made.below((text,))] == [{"of": "shop"}]
    assert len(made.below()) == 1
    for other in (bank, inner):
        assert len(other.below()) == 1
        assert other.below((text,)) == []
    assert [one.value for one, _ in made.find("secret plan " + text[:99])] in (
        [],
        [{"of": "shop"}],
    )
    made.write(drops=[kref])
    assert made.below() == []
    assert len(bank.below()) == len(inner.below()) == 1
    assert memory.check() == []


def test_a_bound_session_sees_its_projects_alone(memory: Memory) -> None:
    bank = documents(memory, "bank")
    kref = bank.address((), "k")
    bank.write([Put(kref, ("k",), 1, "plan")])
    bound = memory.session(project="shop", projects=["shop"])
    made = Documents(bound, space="store", kind="document", channel="test")
    assert made.read([kref]) == {}
    made.write(drops=[kref])
    assert bank.read([kref])[kref].value == 1
    made.write([Put(made.address((), "k"), ("k",), 2, "plan")])
    assert [one.value for one in made.below()] == [2]
    with pytest.raises(RoleError, match="bank"):
        made.write([Put(kref, ("k",), 3, "plan")])
    assert bank.read([kref])[kref].value == 1


@pytest.mark.parametrize("space", ["", ".", "..", "a.b", "/", "a//b", "a/~", "~", "a?r=1", "\0"])
def test_what_is_not_a_space_is_refused(memory: Memory, space: str) -> None:
    with pytest.raises((InputError, KrefError)):
        documents(memory, space=space)


@pytest.mark.parametrize(
    "value",
    [
        f"token={KEY}\nThe next line stays.",
        {"password": "hunter2secret9", "stays": "The next line stays."},
        {"deep": [{"note": f'say "{KEY}"\\', "stays": "The next line stays."}]},
        [f"{KEY}", "The next line stays."],
        {"a": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBAD\n-----END PRIVATE KEY-----", "b": "stays."},
    ],
)
def test_a_credential_is_left_out_and_nothing_else(memory: Memory, value: Any) -> None:
    made = documents(memory)
    kref = made.address((), "k")
    made.write([Put(kref, ("k",), value, str(value))])
    found = json.dumps(made.read([kref])[kref].value)
    assert "stays." in found
    for secret in (KEY, "hunter2", "MIIEvQ"):
        assert secret not in found
    assert memory.verify_erased(KEY).erased


def test_a_path_with_a_credential_is_refused(memory: Memory) -> None:
    made = documents(memory)
    with pytest.raises(InputError, match="secret"):
        made.write([Put(made.address((KEY,), "k"), (KEY, "k"), 1, "text")])
    assert made.below() == []


def test_what_is_too_large_or_no_json_leaves_nothing(memory: Memory) -> None:
    made = documents(memory)
    good = Put(made.address((), "good"), ("good",), 1, "text")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for bad in ("x" * 5_000_000, {1, 2}, b"x", object(), deep, {"x": {"y": {None}}}):
        with pytest.raises((InputError, LimitError)):
            made.write([good, Put(made.address((), "bad"), ("bad",), bad, "text")])
    assert made.below() == []


def test_a_read_only_memory_is_read(memory: Memory, tmp_path: Path) -> None:
    made = documents(memory)
    made.write([Put(made.address((), "k"), ("k",), 1, "text")])
    memory.close()
    with open_memory(tmp_path / "a.db", embedder=None, read_only=True) as reopened:
        again = documents(reopened)
        assert [one.value for one in again.below()] == [1]
        with pytest.raises(ReadOnlyError):
            again.write([Put(again.address((), "j"), ("j",), 1, "text")])
        with pytest.raises(ReadOnlyError):
            again.atomically(lambda inner: inner.write(drops=[again.address((), "k")]))


def test_a_change_that_fails_leaves_nothing_and_no_open_transaction(memory: Memory) -> None:
    made = documents(memory)

    def change(inner: Documents) -> None:
        inner.write([Put(inner.address((), "k"), ("k",), 1, "text")])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        made.atomically(change)
    assert made.below() == []
    made.write([Put(made.address((), "k"), ("k",), 2, "text")])
    assert [one.value for one in made.below()] == [2]


def test_nothing_exists_before_the_first_write(memory: Memory) -> None:
    made = documents(memory)
    assert made.below() == made.find("anything") == []
    assert made.paths() == {}
    assert made.next_number(()) == 1
    with pytest.raises(NotFoundError):
        memory.get(made.address((), "k"))


def test_what_others_wrote_at_such_an_address_is_left_out(memory: Memory) -> None:
    made, session = documents(memory), memory.session(project="shop")
    kref = made.numbered(("l",), 1)
    made.write([made.record(("l",), 1, "one")])
    session.remember("Elsewhere", name="zz", space="store/~/l", kind="document")
    foreign = made.address(("l",), "zz")
    assert made.paths() == {("l", "1"): kref}
    assert [one.value for one in made.below()] == ["one"]
    assert made.read([kref, foreign]).keys() == {kref}
    assert made.next_number(("l",)) == 2
    made.write([Put(foreign, ("l", "zz"), "two", "text")])
    assert made.read([foreign])[foreign].value == "two"


def test_a_document_whose_metadata_a_person_replaced_is_still_there(memory: Memory) -> None:
    made, kref = documents(memory), documents(memory).address((), "one")
    made.write([Put(kref, ("one",), {"port": 9090}, "The port is 9090", number=1)])
    session = memory.session(project="shop")
    session.revise(kref, "The port is 9091", metadata={"note": "mine"})
    found = made.read([kref])[kref]
    assert (found.path, found.value, found.edited) == (
        ("one",),
        {"port": 9090},
        "The port is 9091",
    )
    assert session.get(kref).metadata["note"] == "mine"
    made.write([Put(kref, ("one",), {"port": 9092}, "The port is 9092", number=3)])
    assert made.read([kref])[kref].edited == ""


def test_a_number_is_given_once(memory: Memory) -> None:
    made = documents(memory)
    made.write([made.record(("l",), number, number) for number in (1, 2)])
    made.write(drops=[made.numbered(("l",), number) for number in (1, 2)])
    assert made.next_number(("l",)) == 3
    assert made.next_number(("m",)) == 1


def test_what_is_trusted_more_is_not_overwritten(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        made, operator = documents(memory), memory.session(project="shop", role="operator")
        one, two = made.address((), "one"), made.address((), "two")
        made.write([Put(one, ("one",), 1, "The port is 9090")])
        assert operator.revise(one, "The port is 9090", trust="verified").action == "revised"
        new = [Put(two, ("two",), 2, "text"), Put(one, ("one",), 2, "The port is 9091")]
        with pytest.raises(ConflictError, match="'one' holds what is trusted more"):
            made.write(new)
        with pytest.raises(ConflictError):
            made.atomically(lambda inner: inner.write(new))
        assert made.read([one, two])[one].value == 1
        assert two not in made.read([one, two])
        assert operator.conflicts() == []
        assert made.last_revisions([one]) == {one: 2}
