"""LangGraph's BaseStore: random commands to doxa and to its InMemoryStore, the namespaces and
values that break other stores, scope, and what doxa adds."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.memory import Memory, open_memory
from doxa.base.errors import DoxaError, InputError
from tests.adapters.frameworks import framework

base = framework("langgraph.store.base")
InMemoryStore = framework("langgraph.store.memory").InMemoryStore

from doxa.adapters.langgraph import DoxaStore  # noqa: E402

LABELS = [
    "users",
    "Users",
    "ana",
    "~x",
    "a b",
    "ü",
    "日本",
    "a/b",
    "*",
    "kref:",
    "-x",
    "x" * 300,
]
KEYS = [
    "prefs",
    "Prefs",
    "a.b",
    "../x",
    "",
    "k\x00k",
    "é",
    "e\u0301",
    "k" * 500,
    "n.document",
    "?r=1",
]
VALUES: list[Any] = [
    {},
    {"a": 1},
    {"a": 2.5, "b": None},
    {"a": "7", "text": "the lake is deep"},
    {"a": {"b": [1, {"c": "\x00\ud800"}]}, "n": -3},
    {"tags": ["x", "y"], "ok": True},
    {"e\u0301": "e\u0301", "é": "é", "\x7f": "\u2028\ufeff"},
]
FILTERS: list[Any] = [
    {"a": 1},
    {"a": {"$ne": 1}},
    {"a": {"$eq": 2.5}},
    {"a": {"b": [1, {"c": "\x00\ud800"}]}},
    {"tags": ["x", "y"]},
    {"tags": ["x"]},
    {"ok": True},
    {"missing": None},
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def store(memory: Memory) -> DoxaStore:
    return DoxaStore(memory.session(actor="planner", project="shop"))


def plain(items: Any) -> Any:
    """An answer without times, which the stores read from different clocks."""
    if isinstance(items, list):
        return sorted((plain(one) for one in items), key=repr)
    if items is None or isinstance(items, tuple):
        return items
    return (items.namespace, items.key, items.value)


def random_op(chooser: random.Random) -> Any:
    namespace = tuple(chooser.choices(LABELS, k=chooser.randint(1, 3)))
    key = chooser.choice(KEYS)
    match chooser.randrange(8):
        case 0 | 1 | 2:
            return base.PutOp(namespace, key, chooser.choice(VALUES))
        case 3:
            return base.PutOp(namespace, key, None)
        case 4 | 5:
            return base.GetOp(namespace, key)
        case 6:
            prefix = namespace[: chooser.randint(0, 2)]
            return base.SearchOp(prefix, chooser.choice([None, *FILTERS]), limit=10_000)
        case _:
            conditions = tuple(
                base.MatchCondition(
                    chooser.choice(["prefix", "suffix"]),
                    tuple(chooser.choices([*LABELS, "*"], k=chooser.randint(1, 2))),
                )
                for _ in range(chooser.randint(0, 2))
            )
            return base.ListNamespacesOp(
                conditions or None, max_depth=chooser.choice([None, 1, 2]), limit=10_000
            )


def without_emptied(reference: Any) -> None:
    """Its dictionary keeps namespaces that hold nothing any more, or were only read."""
    for namespace in [one for one, items in reference._data.items() if not items]:
        del reference._data[namespace]


def test_random_commands_are_answered_as_by_the_reference(
    store: DoxaStore, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    chooser, reference = random.Random(seed), InMemoryStore()
    tried = 0
    for _ in range(60 * campaign):
        ops = [random_op(chooser) for _ in range(chooser.randint(1, 6))]
        tried += len(ops)
        expected = reference.batch(ops)
        without_emptied(reference)
        # A namespace that a get of the same batch made is listed by the reference.
        live = {one for one in reference._data}
        got = store.batch(ops)
        for op, want, have in zip(ops, expected, got, strict=True):
            if isinstance(op, base.ListNamespacesOp):
                continue
            assert plain(have) == plain(want), op
        op = base.ListNamespacesOp(None, None, 10_000)
        assert store.batch([op]) == [sorted(live)]
    for op in [random_op(chooser) for _ in range(200)]:
        if isinstance(op, base.ListNamespacesOp):
            assert store.batch([op]) == reference.batch([op]), op
    tally(operations=tried)


@pytest.mark.parametrize("key", KEYS)
def test_any_text_is_a_key(store: DoxaStore, key: str) -> None:
    store.put(("a",), key, {"is": "it"})
    found = store.get(("a",), key)
    assert found is not None
    assert (found.key, found.value) == (key, {"is": "it"})
    assert [one.key for one in store.search(("a",))] == [key]
    assert [store.get(("a",), other) for other in KEYS if other != key] == [None] * (len(KEYS) - 1)
    store.delete(("a",), key)
    assert store.get(("a",), key) is None


@pytest.mark.parametrize("namespace", [("a.b",), ("",), ("a", ""), ("a\x00b",), ("a", 1)])
def test_namespaces_that_langgraph_refuses(store: DoxaStore, namespace: Any) -> None:
    for op in (
        base.PutOp(namespace, "k", {}),
        base.GetOp(namespace, "k"),
        base.SearchOp(namespace),
    ):
        with pytest.raises(base.InvalidNamespaceError):
            store.batch([op])
    with pytest.raises(base.InvalidNamespaceError):
        store.put(namespace, "k", {})


def test_the_root_label_of_langgraph_is_refused(store: DoxaStore) -> None:
    with pytest.raises(base.InvalidNamespaceError):
        store.put(("langgraph", "x"), "k", {})


def test_a_deep_namespace_is_found_by_each_of_its_prefixes(store: DoxaStore) -> None:
    deep = tuple(f"level{n}" for n in range(60))
    other = (*deep[:59], "else")
    store.put(deep, "k", {"n": 1})
    store.put(other, "k", {"n": 2})
    assert store.get(deep, "k").value == {"n": 1}
    assert len(store.search(deep[:59])) == 2
    assert len(store.search(deep[:20])) == len(store.search(deep[:21])) == 2
    assert [one.value for one in store.search(deep)] == [{"n": 1}]
    assert store.list_namespaces(prefix=deep[:30], max_depth=31) == [deep[:31]]


def test_reads_of_a_batch_see_what_was_before_and_the_last_put_counts(store: DoxaStore) -> None:
    store.put(("a",), "k", {"n": 0})
    first, *_, last = store.batch(
        [
            base.PutOp(("a",), "k", {"n": 1}),
            base.PutOp(("a",), "k", {"n": 2}),
            base.GetOp(("a",), "k"),
        ]
    )
    assert first is None
    assert last.value == {"n": 0}
    assert store.get(("a",), "k").value == {"n": 2}


def test_the_puts_and_deletions_of_a_batch_are_one_change(store: DoxaStore, memory: Memory) -> None:
    store.put(("a",), "old", {"n": 0})
    before = len(list(memory.log()))
    store.batch(
        [base.PutOp(("a",), f"k{n}", {"n": n}) for n in range(20)]
        + [base.PutOp(("a",), "old", None)]
    )
    assert len(list(memory.log())) == before + 1
    with pytest.raises(InputError):
        store.batch([base.PutOp(("a",), "good", {"n": 1}), base.PutOp(("a",), "bad", {"n": {1}})])
    assert store.get(("a",), "good") is None


def test_times_are_kept(store: DoxaStore) -> None:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"n": 2})
    second = store.get(("a",), "k")
    assert first.created_at == second.created_at == first.updated_at < second.updated_at
    assert second.created_at.tzinfo is not None


def test_pages_hold_everything_once_newest_first(store: DoxaStore) -> None:
    for n in range(25):
        store.put(("a", str(n % 3)), str(n), {"n": n, "even": n % 2 == 0})
    pages = [store.search(("a",), limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert [one.value["n"] for page in pages for one in page] == list(range(24, -1, -1))
    even = [store.search(("a",), filter={"even": True}, limit=5, offset=o) for o in (0, 5, 10)]
    assert [one.value["n"] for page in even for one in page] == list(range(24, -1, -2))


@pytest.mark.parametrize("operator", ["$gt", "$gte", "$lt", "$lte"])
def test_comparisons(store: DoxaStore, operator: str) -> None:
    for n in (1, 2, 3):
        store.put(("a",), str(n), {"n": n})
    store.put(("a",), "text", {"n": "many"})
    store.put(("a",), "none", {})
    found = {one.value["n"] for one in store.search(("a",), filter={"n": {operator: 2}})}
    assert found == {"$gt": {3}, "$gte": {2, 3}, "$lt": {1}, "$lte": {1, 2}}[operator]


def test_an_unknown_operator_is_refused(store: DoxaStore) -> None:
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(("a",), filter={"n": {"$near": 1}})


def test_a_query_ranks_by_what_is_indexed(store: DoxaStore) -> None:
    store.put(("a",), "boat", {"text": "Ana sails a red boat on the lake", "note": "spaghetti"})
    store.put(("a",), "bread", {"text": "Bread is baked on Tuesdays"})
    store.put(("a",), "hidden", {"text": "the red boat of the lake"}, index=False)
    store.put(("a",), "part", {"text": "red boat", "other": "cheese fondue"}, index=["other"])
    store.put(("b",), "boat", {"text": "another red boat"})
    found = store.search(("a",), query="red boat on the lake")
    assert found[0].key == "boat"
    assert found[0].score is not None
    assert {one.key for one in found} == {"boat", "bread", "hidden", "part"}
    assert next(one for one in found if one.key == "hidden").score is None
    assert store.search(("a",), query="cheese fondue")[0].key == "part"
    assert store.search(("nobody",), query="boat") == []
    assert (
        store.search(("a",), query="red boat", filter={"text": "Bread is baked on Tuesdays"})[0].key
        == "bread"
    )


def test_ttl_is_refused_not_ignored(store: DoxaStore) -> None:
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {}, ttl=5)
    with pytest.raises(NotImplementedError):
        store.batch([base.PutOp(("a",), "k", {}, ttl=5.0)])


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {"x": b"bytes"}, {"x": object()}])
def test_what_is_not_json_is_refused(store: DoxaStore, value: Any) -> None:
    with pytest.raises(InputError, match="not JSON"):
        store.put(("a",), "k", value)


def test_a_huge_value_is_kept_or_refused(store: DoxaStore) -> None:
    store.put(("a",), "large", {"text": "日本の " * 300_000})
    assert store.get(("a",), "large").value == {"text": "日本の " * 300_000}
    with pytest.raises(DoxaError) as refused:
        store.put(("a",), "huge", {"text": "word " * 1_000_000})
    assert "4,194,304" in str(refused.value)
    assert store.get(("a",), "huge") is None


def test_credentials_are_left_out_and_the_value_stays_whole(store: DoxaStore) -> None:
    key = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    value = {
        "text": f'password: "hunter2secret9", then {key}',
        "lines": f"token={key}\nThe next line stays.",
        "nested": [{"password": "hunter2secret9", "n": 1}],
        "pem": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----",
    }
    store.put(("a",), "k", value)
    found = store.get(("a",), "k").value
    assert found.keys() == value.keys()
    assert found["nested"][0]["n"] == 1
    assert found["lines"].endswith("]\nThe next line stays.")
    assert key not in str(found)
    assert "MIIEv" not in str(found)
    with pytest.raises(InputError, match="secret"):
        store.put((key,), "k", {})


def test_the_scope_is_the_constructors(memory: Memory) -> None:
    shop = DoxaStore(memory.session(actor="one", project="shop"))
    other = DoxaStore(memory.session(actor="two", project="bank"))
    inner = DoxaStore(memory.session(actor="one", project="shop"), space="langgraph/users")
    apart = DoxaStore(memory.session(actor="one", project="shop"), space="langgraphs")
    shop.put(("users",), "k", {"who": "shop"})
    shop.put(("users", "x"), "k", {"who": "shop"})
    inner.put(("x",), "k", {"who": "inner"})
    for hostile in [("..", "langgraph"), ("../langgraph",), ("kref://shop",), ("*",), ("~",)]:
        namespace = tuple(label.replace(".", "\u2024") for label in hostile)
        apart.put(namespace, "k", {"who": "apart"})
    assert other.search(()) == []
    assert [one.value for one in inner.search(())] == [{"who": "inner"}]
    assert [one.value for one in shop.search(())] == [{"who": "shop"}] * 2
    assert {one.value["who"] for one in apart.search((), limit=100)} == {"apart"}
    assert other.search((), query="shop") == []
    assert {
        author.author
        for author in memory.session(project="shop")
        .history("kref://shop/langgraph/~/users/k.document")
        .revisions
    } == {"one"}


@pytest.mark.parametrize("space", ["", "a.b", "../x", "a//b", "x?r=1", "/a", "a/", "a/~"])
def test_what_is_not_a_space_is_refused(memory: Memory, space: str) -> None:
    with pytest.raises(InputError):
        DoxaStore(memory.session(project="shop"), space=space)


def test_history_stays(store: DoxaStore, memory: Memory) -> None:
    store.put(("a",), "k", {"n": 1})
    store.put(("a",), "k", {"n": 2})
    store.delete(("a",), "k")
    session = memory.session(project="shop")
    history = session.history("kref://shop/langgraph/~/a/k.document")
    assert [one.metadata["adapter_value"] for one in history.revisions] == ['{"n":1}', '{"n":2}']
    session.restore("kref://shop/langgraph/~/a/k.document")
    assert store.get(("a",), "k").value == {"n": 2}


def test_the_asynchronous_interface(store: DoxaStore) -> None:
    async def run() -> None:
        await asyncio.gather(*(store.aput(("a",), f"k{n}", {"n": n}) for n in range(30)))
        assert (await store.aget(("a",), "k7")).value == {"n": 7}
        assert len(await store.asearch(("a",), limit=100)) == 30
        assert await store.alist_namespaces() == [("a",)]
        await store.adelete(("a",), "k7")
        assert await store.aget(("a",), "k7") is None

    asyncio.run(run())


def test_concurrent_writers_lose_nothing(store: DoxaStore, memory: Memory) -> None:
    def write(who: int) -> None:
        for n in range(15):
            store.batch(
                [
                    base.PutOp(("shared",), "counter", {"who": who, "n": n}),
                    base.PutOp(("own", str(who)), str(n), {"n": n}),
                    base.PutOp(("own", str(who)), str(n - 1), None),
                ]
            )

    threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one.value for one in store.search(("own",), limit=100)] == [{"n": 14}] * 4
    history = memory.session(project="shop").history(
        "kref://shop/langgraph/~/shared/counter.document"
    )
    assert len(history.revisions) == 60
    assert memory.check() == []
