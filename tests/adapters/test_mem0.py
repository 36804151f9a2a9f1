"""mem0's interface: the same commands to mem0 itself and to doxa, scopes, hostile arguments."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory, open_memory
from doxa.base.errors import InputError
from doxa.belief import Revision
from tests.adapters.frameworks import framework

from doxa.adapters.mem0 import AsyncMem0Memory, Mem0Memory  # isort: skip

HOSTILE = (
    "",
    " ",
    "a b",
    "../x",
    "*",
    "%",
    "_",
    "-",
    "a.b",
    "a/b",
    "ann\0",
    "ANN",
    "ánn",
    "x" * 900,
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def ours(memory: Memory) -> Mem0Memory:
    return Mem0Memory(memory.session(project="shop"))


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """mem0's own Memory on a local store, with vectors of hashed words and no language model."""
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    main = framework("mem0.memory.main")
    config = {
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(tmp_path / "q"),
                "on_disk": False,
                "embedding_model_dims": 64,
            },
        },
        "history_db_path": str(tmp_path / "history.db"),
    }
    made = main.Memory.from_config(config)
    made.embedding_model = HashedWords()
    yield made
    made.close()


class HashedWords:
    """An embedder of 64 dimensions without a model."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector = [0.01] * 64
        for word in text.lower().split():
            vector[sum(map(ord, word)) % 64] += 1.0
        return vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def stable(value: Any, names: dict[str, str]) -> Any:
    """A result without what differs from run to run: ids by their order, no times and scores."""
    if isinstance(value, dict):
        return {
            key: stable(one, names)
            for key, one in value.items()
            if key not in ("created_at", "updated_at", "score") and one is not None
        }
    if isinstance(value, list):
        return [stable(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


def by_text(found: dict[str, Any]) -> list[Any]:
    return sorted(found["results"], key=lambda one: str(one["memory"]))


def test_the_same_commands_have_the_same_results(ours: Mem0Memory, theirs: Any) -> None:
    answers = []
    for memory in (ours, theirs):
        names: dict[str, str] = {}
        said: list[Any] = []
        for text, ids, metadata in (
            ("I live in Berlin", {"user_id": "ann"}, {"city": "Berlin", "n": 1}),
            ("I live in Rome", {"user_id": "bob"}, {"city": "Rome", "n": 2, "tags": ["a", "b"]}),
            ("Tea is kept cool", {"user_id": "ann", "agent_id": "shop"}, {"deep": {"x": [1]}}),
            ("The agent is polite", {"agent_id": "shop"}, None),
            ("A run of tests", {"run_id": "r1", "user_id": "ann"}, None),
        ):
            made = memory.add(text, metadata=metadata, infer=False, **ids)
            names[made["results"][0]["id"]] = text
            said.append(made)
        first = next(iter(names))
        for filters in (
            {"user_id": "ann"},
            {"user_id": "bob"},
            {"agent_id": "shop"},
            {"user_id": "ann", "agent_id": "shop"},
            {"run_id": "r1"},
            {"user_id": "ann", "run_id": "r1"},
            {"user_id": "bob", "run_id": "r1"},
            {"user_id": "nobody"},
            {"user_id": "ann", "city": "Berlin"},
            {"user_id": "bob", "n": 2},
        ):
            said.append(by_text(memory.get_all(filters=filters)))
        said.append(memory.get(first))
        said.append(memory.update(first, text="I live in Paris", metadata={"user_id": "bob"}))
        said.append(memory.get(first))
        said.append(memory.history(first))
        said.append(memory.update(first, metadata={"city": "Paris"}))
        said.append(memory.get(first))
        said.append(memory.delete(first))
        said.append(memory.get(first))
        said.append(memory.history("nothing"))
        said.append([row["event"] for row in memory.history(first)])
        said.append(memory.delete_all(user_id="ann"))
        said.append(by_text(memory.get_all(filters={"user_id": "ann"})))
        said.append(by_text(memory.get_all(filters={"agent_id": "shop"})))
        for call in (
            lambda memory=memory: memory.add("x"),
            lambda memory=memory: memory.add("x", user_id=" "),
            lambda memory=memory: memory.add("x", user_id="a b"),
            lambda memory=memory: memory.add(5, user_id="a"),
            lambda memory=memory: memory.get_all(),
            lambda memory=memory: memory.get_all(user_id="ann"),
            lambda memory=memory: memory.get_all(filters={"user_id": "a"}, top_k=-1),
            lambda memory=memory: memory.search("x", user_id="ann"),
            lambda memory=memory: memory.search(" ", filters={"user_id": "ann"}),
            lambda memory=memory: memory.search("x", filters={"user_id": "a"}, threshold=2),
            lambda memory=memory: memory.search("x", filters={"user_id": "a", "b": {"no": 2}}),
            lambda memory=memory: memory.update("x"),
            lambda memory=memory: memory.delete_all(),
            lambda memory=memory: memory.add("x", user_id="a", expiration_date="soon"),
        ):  # fmt: skip
            try:
                said.append(call())
            except Exception as error:  # the type differs where mem0 has its own
                refused = isinstance(error, ValueError) or "mem0" in type(error).__module__
                said.append("refused" if refused else error)
        found = [stable(one, names) for one in said]
        for one in found[-40:]:
            strip_ids(one)
        answers.append(found)
    for mine, other in zip(*answers, strict=True):
        assert mine == other


def strip_ids(found: Any) -> None:
    """History rows have ids of their own."""
    if isinstance(found, list):
        for row in found:
            if isinstance(row, dict) and "event" in row:
                row.pop("id", None)


def test_search_finds_the_same_scope(ours: Mem0Memory, theirs: Any) -> None:
    for memory in (ours, theirs):
        for user, text in (("ann", "green tea at noon"), ("bob", "black tea at night")):
            memory.add(text, user_id=user, infer=False)
        for user, text in (("ann", "green tea at noon"), ("bob", "black tea at night")):
            found = memory.search("tea", filters={"user_id": user}, threshold=0.0)["results"]
            assert [one["memory"] for one in found] == [text]
            assert 0 <= found[0]["score"] <= 1
            assert set(found[0]) >= {"id", "memory", "hash", "created_at", "updated_at", "score"}
        assert memory.search("tea", filters={"user_id": "eve"})["results"] == []


def test_a_correction_revises_and_a_repetition_is_not_kept(ours: Mem0Memory) -> None:
    made = ours.add("I live in Berlin", user_id="ann")["results"]
    assert [one["event"] for one in made] == ["ADD"]
    assert ours.add("I live in Berlin.", user_id="ann")["results"] == []
    assert ours.add("What is the time?", user_id="ann")["results"] == []
    changed = ours.add("I live in Paris", user_id="ann")["results"]
    assert [(one["event"], one["id"]) for one in changed] == [("UPDATE", made[0]["id"])]
    rows = ours.history(made[0]["id"])
    assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
        ("ADD", None, "I live in Berlin"),
        ("UPDATE", "I live in Berlin", "I live in Paris"),
    ]


def test_users_do_not_contradict_each_other(ours: Mem0Memory, memory: Memory) -> None:
    for user, city in (("ann", "Berlin"), ("bob", "Berlin"), ("ann", "Paris"), ("eve", "Rome")):
        ours.add(f"I live in {city}", user_id=user)
    for user, city in (("ann", "Paris"), ("bob", "Berlin"), ("eve", "Rome")):
        found = ours.search("where do I live", filters={"user_id": user})["results"]
        assert [one["memory"] for one in found] == [f"I live in {city}"]
    assert memory.session(project="shop").conflicts() == []


def test_an_answer_of_the_model_does_not_correct_the_user(ours: Mem0Memory) -> None:
    ours.add("I live in Berlin", user_id="ann")
    ours.add([{"role": "assistant", "content": "I live in Paris"}], user_id="ann")
    texts = [one["memory"] for one in ours.get_all(filters={"user_id": "ann"})["results"]]
    assert sorted(texts) == ["I live in Berlin", "I live in Paris"]


@pytest.mark.parametrize("identity", HOSTILE)
def test_an_id_that_was_not_used_finds_nothing_of_others(ours: Mem0Memory, identity: str) -> None:
    ours.add("Ann keeps the key under the mat", user_id="ann", agent_id="a", infer=False)
    for filters in (
        {"user_id": identity},
        {"agent_id": identity},
        {"run_id": identity},
        {"user_id": identity, "OR": [{"user_id": "ann"}]},
        {"user_id": identity, "NOT": [{"user_id": identity}]},
    ):
        for ask in (ours.get_all, lambda **given: ours.search("key under the mat", **given)):
            try:
                assert ask(filters=filters)["results"] == []
            except ValueError:
                assert not identity.strip() or identity == "a b"


@pytest.mark.parametrize(
    "identity",
    ["x", "", "....", "a.b.c.d.fact", "../../other.x._._.fact", "kref://other/a.fact", None, 5,
     "%2e", "_._._.m-1.fact?r=1", "a.b.c.d.fact#x", "\0.\0.\0.\0.fact", "_._._.../../x.fact"],
)  # fmt: skip
def test_an_id_does_not_lead_out_of_the_scope(
    ours: Mem0Memory, memory: Memory, identity: Any
) -> None:
    session = memory.session(project="shop")
    session.remember("Elsewhere", name="m-1", space="other")
    memory.session(project="other").remember("Another project", name="a")
    assert ours.get(identity) is None
    assert ours.history(identity) == []
    for call in (ours.delete, lambda one: ours.update(one, text="gone")):
        with pytest.raises(ValueError, match="not found"):
            call(identity)


def test_the_constructor_confines(memory: Memory) -> None:
    session = memory.session(project="shop")
    whole, own = Mem0Memory(session), Mem0Memory(session, user_id="ann")
    other = whole.add("Bob likes tea", user_id="bob", infer=False)["results"][0]["id"]
    mine = own.add("I like tea", infer=False)["results"][0]["id"]
    assert own.get(other) is None
    assert [one["id"] for one in own.get_all()["results"]] == [mine]
    assert [one["id"] for one in own.search("tea")["results"]] == [mine]
    with pytest.raises(ValueError, match="confined"):
        own.search("tea", filters={"user_id": "bob"})
    with pytest.raises(ValueError, match="confined"):
        own.delete_all(user_id="bob")
    own.reset()
    assert own.get(mine) is None
    assert whole.get(other) is not None


def test_reset_retires_this_space_alone(ours: Mem0Memory, memory: Memory) -> None:
    session = memory.session(project="shop")
    kept = session.remember("The shop opens at nine").kref
    ours.add("I like tea", user_id="ann", infer=False)
    ours.reset()
    assert ours.get_all(filters={"user_id": "ann"})["results"] == []
    found = session.get(kept)
    assert isinstance(found, Revision)
    assert found.status == "current"
    assert ours.add("I like tea", user_id="ann")["results"][0]["event"] == "ADD"


def test_conditions(ours: Mem0Memory) -> None:
    for n, city in enumerate(("Rome", "Paris", "Oslo")):
        held = {"city": city, "n": n, "tags": ["a", n]}
        ours.add(f"Trip {n}", user_id="ann", infer=False, metadata=held)
    for condition, expected in (
        ({"city": {"in": ["Rome", "Oslo"]}}, {"Trip 0", "Trip 2"}),
        ({"n": {"gte": 1, "lt": 2}}, {"Trip 1"}),
        ({"city": {"icontains": "OS"}}, {"Trip 2"}),
        ({"NOT": [{"city": "Rome"}]}, {"Trip 1", "Trip 2"}),
        ({"OR": [{"n": 0}, {"city": "Oslo"}]}, {"Trip 0", "Trip 2"}),
        ({"AND": [{"n": {"gt": 0}}, {"city": {"ne": "Oslo"}}]}, {"Trip 1"}),
        ({"city": "*"}, {"Trip 0", "Trip 1", "Trip 2"}),
        ({"n": {"gt": "x"}}, set()),
        ({"n": {"icontains": "1"}}, set()),
        ({"n": {"contains": "1"}}, set()),
        ({"city": {"contains": 1}}, set()),
        ({"tags": {"in": [["a", 0], ["a", 2]]}}, {"Trip 0", "Trip 2"}),
        ({"tags": {"nin": {"a", "b"}}}, {"Trip 0", "Trip 1", "Trip 2"}),
    ):
        filters = {"user_id": "ann", **condition}
        for found in (ours.get_all(filters=filters), ours.search("trip", filters=filters)):
            assert {one["memory"] for one in found["results"]} == expected, condition
    deep: dict[str, Any] = {"n": 1}
    for _ in range(50):
        deep = {"NOT": [deep]}
    for bad in ({"n": {"like": 1}}, {"OR": []}, {"AND": 1}, {"n": {"in": "abc"}}, deep):
        with pytest.raises(ValueError):
            ours.search("trip", filters={"user_id": "ann", **bad})


def test_what_expired_is_hidden(ours: Mem0Memory) -> None:
    ours.add("Old offer of tea", user_id="ann", infer=False, expiration_date="2020-01-01")
    new = ours.add("New offer of tea", user_id="ann", infer=False, expiration_date="2999-01-01")
    for shown, count in ((False, 1), (True, 2)):
        options: Any = {"filters": {"user_id": "ann"}, "show_expired": shown}
        assert len(ours.get_all(**options)["results"]) == count
        assert len(ours.search("offer of tea", **options)["results"]) == count
    identity = new["results"][0]["id"]
    ours.update(identity, expiration_date=None)
    assert "expiration_date" not in (ours.get(identity) or {})


def test_hostile_texts(ours: Mem0Memory) -> None:
    for text in ("nul \0 here", "𝕿ea 🍵 茶", "x" * 200_000, '"]} kref://shop/x'):
        made = ours.add(text, user_id="ann", infer=False, metadata={"k\0": text[:50], "n": None})
        assert ours.get(made["results"][0]["id"]) is not None
    with pytest.raises(InputError, match="surrogate"):
        ours.add("\ud800", user_id="ann", infer=False)
    with pytest.raises(ValueError, match="not JSON"):
        ours.add("x", user_id="ann", infer=False, metadata={"a": object()})
    assert ours.add([None, 5, {"role": "user"}], user_id="ann")["results"] == []  # type: ignore[list-item]


def test_many_agents_are_searched(ours: Mem0Memory) -> None:
    for n in range(70):
        ours.add(f"Kettle number {n}", user_id=f"u{n}", agent_id="shop", infer=False)
    found = ours.search("kettle", filters={"agent_id": "shop"}, top_k=100, threshold=0.0)
    assert len(found["results"]) == 70


def test_threads_and_coroutines(memory: Memory) -> None:
    session = memory.session(project="shop")
    shared, errors = Mem0Memory(session), []

    def write(n: int) -> None:
        try:
            for k in range(5):
                shared.add(f"Fact {n} {k}", user_id=f"u{n % 2}", infer=False)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not errors

    async def run() -> int:
        other = AsyncMem0Memory(session)
        await asyncio.gather(*(other.add(f"Note {n}", user_id="u0", infer=False) for n in range(5)))
        found = await other.get_all(filters={"user_id": "u0"}, top_k=100)
        first = found["results"][0]
        await other.update(first["id"], text="changed")
        assert len(await other.history(first["id"])) == 2
        await other.delete(first["id"])
        assert await other.get(first["id"]) is None
        await other.delete_all(user_id="u1")
        assert (await other.search("note", filters={"user_id": "u1"}))["results"] == []
        return len(found["results"])

    assert asyncio.run(run()) == 15


def test_what_is_trusted_more_is_not_revised(tmp_path: Path) -> None:
    with open_memory(tmp_path / "a.db", role="operator", embedder=None, background=False) as memory:
        operator = memory.session(project="shop", role="operator")
        ours = Mem0Memory(memory.session(project="shop", role="agent"))
        identity = ours.add("I live in Berlin", user_id="ann")["results"][0]["id"]
        [[kref]] = operator.run("MATCH (i:Item)-[:CURRENT]->() RETURN i.kref")
        assert operator.revise(kref, "I live in Berlin", trust="verified").action == "revised"
        for change in ({"text": "I live in Rome"}, {"metadata": {"n": 1}}):
            with pytest.raises(ValueError, match="trusted more"):
                ours.update(identity, **change)
        made = ours.add("I live in Rome", user_id="ann")["results"]
        assert [one["event"] for one in made] == ["ADD"]
        assert ours.add("I live in Rome", user_id="ann")["results"] == []
        texts = [one["memory"] for one in ours.get_all(filters={"user_id": "ann"})["results"]]
        assert sorted(texts) == ["I live in Berlin", "I live in Rome"]
        assert operator.conflicts() == []


def test_metadata_with_names_of_mem0_itself(ours: Mem0Memory, memory: Memory) -> None:
    given = {"role": {"title": "admin"}, "expiration_date": {"a": 1}, "place": {"city": "Rome"}}
    identity = ours.add("I like tea", user_id="ann", metadata=given)["results"][0]["id"]
    ours.update(identity, metadata=given)
    shown = ours.get(identity) or {}
    assert (shown["role"], shown["metadata"]) == ("user", {"place": {"city": "Rome"}})
    session = memory.session(project="shop")
    [[kref]] = session.run("MATCH (i:Item)-[:CURRENT]->() RETURN i.kref")
    found = session.get(kref)
    assert isinstance(found, Revision)
    for names in (["role", "place", "gone"], 5):  # as other writers may leave it
        held: Any = {**found.metadata, "mem0_json": names, "place": "{not JSON"}
        session.revise(kref, "I like tea", metadata=held)
        [shown] = ours.get_all(filters={"user_id": "ann"})["results"]
        assert (shown["role"], shown["metadata"]) == ("user", {"place": "{not JSON"})
    with pytest.raises(ValueError, match="is a text, not int"):
        unnamed: Any = {1: "x"}
        ours.add("I like tea", user_id="ann", metadata=unnamed)


@pytest.mark.parametrize("infer", [True, False])
def test_messages_without_text_are_passed_over(ours: Mem0Memory, infer: bool) -> None:
    said = ({"role": "assistant", "content": ""}, {"role": "user", "content": " \n"})
    messages = [{"role": "user", "content": "I like tea"}, *said]
    made = ours.add(messages, user_id="ann", infer=infer)["results"]
    assert [one["memory"] for one in made] == ["I like tea"]


def test_a_message_of_many_threads_is_kept_once(ours: Mem0Memory) -> None:
    start = threading.Barrier(8)

    def add() -> None:
        start.wait()
        ours.add("I live in Berlin", user_id="ann")

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ours.get_all(filters={"user_id": "ann"})["results"]) == 1


@pytest.mark.parametrize("ids", [{"user_id": "ann"}, {"run_id": "r"}])
def test_a_search_of_many_spaces_finds_what_others_outnumber(
    ours: Mem0Memory, monkeypatch: pytest.MonkeyPatch, ids: dict[str, str]
) -> None:
    monkeypatch.setattr("doxa.adapters.mem0._PLACES_MAX", 3)
    monkeypatch.setattr("doxa.adapters.mem0.RECALL_HITS_MAX", 10)
    for n in range(4):
        user, run = ids.get("user_id", f"u{n}"), ids.get("run_id", f"r{n}")
        ours.add(f"The cat of room {n} is called Tom", user_id=user, run_id=run, infer=False)
    for n in range(4):
        for _ in range(5):
            ours.add("cat called Tom", user_id=f"u{n}", run_id="other", infer=False)
    found = ours.search("cat called Tom", filters=ids)["results"]
    assert sorted(one["memory"] for one in found if "room" in one["memory"]) == [
        f"The cat of room {n} is called Tom" for n in range(4)
    ]
