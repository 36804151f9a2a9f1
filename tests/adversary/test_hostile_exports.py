"""Exports that lie, break off or attack: each is refused by one of doxa's own errors that names the
line, and the file that it was to go into is as it was."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError, InputError, RoleError
from doxa.store import digest, replayed_digest
from doxa.transfer import lines
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph

T = 1_700_000_000_000_000_000  # where a fake clock stands
HEADER = {"type": "doxa-export", "format": 2, "time": T, "last_node": 9, "last_edge": 9}
NODE = {"type": "node", "id": 1, "labels": ["A"], "properties": {}, "born": T, "since": T}
OTHER = NODE | {"id": 2}
EDGE = {
    "type": "edge",
    "id": 1,
    "edge": "R",
    "source": 1,
    "target": 2,
    "properties": {},
    "born": T,
    "since": T,
}
RULE = {"type": "rule", "name": "index:i", "value": 5}
INDEX = {
    "id": 1,
    "kind": "range",
    "edge": False,
    "names": ["A"],
    "properties": ["a"],
    "options": {},
    "owner": None,
}
UNIQUE = {
    "kind": "unique",
    "edge": False,
    "name": "A",
    "properties": ["a"],
    "detail": [],
    "index": 1,
}
REVISION = {
    "kref": "kref://p/a.fact?r=1",
    "project": "p",
    "space": "",
    "kind": "fact",
    "summary": "x",
    "trust": "stated",
    "author": "x",
    "number": 1,
    "time": T,
    "confidence": 1.0,
}
ITEM = {"kref": "kref://p/a.fact", "project": "p", "space": "", "name": "a", "kind": "fact"}
END = {"type": "end"}


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def item(identity: int, **properties: object) -> dict[str, object]:
    return NODE | {"id": identity, "labels": ["Item"], "properties": ITEM | properties}


def revision(identity: int, **properties: object) -> dict[str, object]:
    return NODE | {"id": identity, "labels": ["Revision"], "properties": REVISION | properties}


def joined(identity: int, kind: str, source: int, target: int) -> dict[str, object]:
    return EDGE | {"id": identity, "edge": kind, "source": source, "target": target}


def place(identity: int) -> dict[str, object]:
    """The project that items of these exports lie in."""
    return NODE | {
        "id": identity,
        "labels": ["Project"],
        "properties": {"kref": "kref://p", "name": "p"},
    }


HOSTILE: dict[str, list[Any]] = {
    "no end": [HEADER, NODE],
    "after the end": [HEADER, END, NODE],
    "two headers": [HEADER, HEADER, END],
    "another digest": [HEADER, NODE, END | {"sha256": "0" * 64}],
    "another count": [HEADER, NODE, END | {"lines": 7}],
    "a format of the future": [HEADER | {"format": 3}, END],
    "no format": [{"type": "doxa-export"}, END],
    "a header of text": [HEADER | {"time": "now"}, END],
    "a state of the future": [HEADER | {"time": T + 10**15}, END],
    "a state of the end of time": [HEADER | {"time": 2**63 - 1}, END],
    "too many ids": [HEADER | {"last_node": 2**60}, END],
    "an unknown type": [HEADER, {"type": "query"}, END],
    "an unknown field": [HEADER, NODE | {"owner": "me"}, END],
    "a missing field": [HEADER, {"type": "node", "id": 1}, END],
    "not an object": [HEADER, [1, 2], END],
    "edges before nodes": [HEADER, EDGE, NODE, OTHER, END],
    "ids that fall": [HEADER, OTHER, NODE, END],
    "a node twice": [HEADER, NODE, NODE, END],
    "an edge twice": [HEADER, NODE, OTHER, EDGE, EDGE, END],
    "an id beyond the last": [HEADER, NODE | {"id": 10}, END],
    "an id of nothing": [HEADER, NODE | {"id": 0}, END],
    "a negative id": [HEADER, NODE | {"id": -1}, END],
    "an id of text": [HEADER, NODE | {"id": "1"}, END],
    "an edge to nowhere": [HEADER, NODE, EDGE, END],
    "an edge to what is gone": [
        HEADER,
        NODE,
        OTHER | {"since": T - 9, "born": T - 9, "until": T},
        EDGE,
        END,
    ],
    "a past edge to nowhere": [
        HEADER,
        NODE,
        EDGE | {"born": T - 9, "since": T - 9, "until": T},
        END,
    ],
    "later than the header": [HEADER, NODE | {"since": T + 1}, END],
    "an end later than the header": [HEADER, NODE | {"until": T + 1}, END],
    "born after it was": [HEADER, NODE | {"born": T, "since": T - 1}, END],
    "no length": [HEADER, NODE | {"until": T}, END],
    "versions that overlap": [
        HEADER,
        NODE | {"born": 1, "since": 1, "until": 9},
        NODE | {"born": 1, "since": 8},
        END,
    ],
    "a version after the live one": [
        HEADER,
        NODE | {"since": T - 5, "born": T - 5},
        NODE | {"since": T - 1, "until": T, "born": T - 5},
        END,
    ],
    "labels out of order": [HEADER, NODE | {"labels": ["B", "A"]}, END],
    "a label twice": [HEADER, NODE | {"labels": ["A", "A"]}, END],
    "a label without a name": [HEADER, NODE | {"labels": [""]}, END],
    "a label of a number": [HEADER, NODE | {"labels": [5]}, END],
    "a long label": [HEADER, NODE | {"labels": ["x" * 10_000]}, END],
    "a type without a name": [HEADER, NODE, OTHER, EDGE | {"edge": ""}, END],
    "properties of a list": [HEADER, NODE | {"properties": []}, END],
    "properties of null": [HEADER, NODE | {"properties": None}, END],
    "a map as a value": [HEADER, NODE | {"properties": {"a": {"b": 1}}}, END],
    "lists in lists": [HEADER, NODE | {"properties": {"a": [[1]]}}, END],
    "a nested value": [HEADER, b'{"a": ' + deep(5_000) + b"}", END],
    "a number beyond 64 bits": [HEADER, b'{"a": 9999999999999999999999}', END],
    "NaN": [HEADER, b'{"a": NaN}', END],
    "a half of a pair": [HEADER, b'{"a": "\\ud800"}', END],
    "no UTF-8": [HEADER, b'{"a": "\xff"}', END],
    "a date of text": [HEADER, NODE | {"properties": {"a": {"$date": "soon"}}}, END],
    "a date beyond all": [HEADER, NODE | {"properties": {"a": {"$date": 10**30}}}, END],
    "a date in a list": [HEADER, NODE | {"properties": {"a": [{"$date": "x"}]}}, END],
    "a point of text": [HEADER, NODE | {"properties": {"a": {"$point": [7203, "x", "y"]}}}, END],
    "a zone of a list": [HEADER, NODE | {"properties": {"a": {"$datetime": [1, 2, 3, []]}}}, END],
    "bytes of a number": [HEADER, NODE | {"properties": {"a": {"$bytes": 5}}}, END],
    "a text beyond the limit": [HEADER, NODE | {"properties": {"a": "x" * 1_100_000}}, END],
    "an address twice": [
        HEADER,
        NODE | {"properties": {"kref": "kref://p"}},
        OTHER | {"properties": {"kref": "kref://p"}},
        END,
    ],
    "a belief without a number": [HEADER, revision(1, number="one"), END],
    "a belief of nothing": [HEADER, NODE | {"labels": ["Revision"]}, END],
    "two items of a revision": [
        HEADER,
        item(1),
        item(2, kref="kref://p/b.fact", name="b"),
        revision(3),
        joined(1, "HAS_REVISION", 1, 3),
        joined(2, "HAS_REVISION", 2, 3),
        END,
    ],
    "current without a revision": [HEADER, item(1), revision(2), joined(1, "CURRENT", 1, 2), END],
    "a revision of a revision": [
        HEADER,
        revision(1),
        revision(2, kref="kref://p/a.fact?r=2"),
        joined(1, "HAS_REVISION", 1, 2),
        END,
    ],
    "a space that holds itself": [
        HEADER,
        NODE
        | {"labels": ["Space"], "properties": {"kref": "kref://p/a", "name": "a", "project": "p"}},
        OTHER
        | {"labels": ["Space"], "properties": {"kref": "kref://p/b", "name": "b", "project": "p"}},
        joined(1, "HAS_SPACE", 1, 2),
        joined(2, "HAS_SPACE", 2, 1),
        joined(3, "HAS_SPACE", 2, 2),
        END,
    ],
    "an index of a number": [HEADER, RULE, END],
    "an index without fields": [HEADER, RULE | {"value": {"id": 1}}, END],
    "an index of another kind": [HEADER, RULE | {"value": INDEX | {"kind": "hash"}}, END],
    "two indexes of one id": [
        HEADER,
        RULE | {"value": INDEX},
        RULE | {"name": "index:j", "value": INDEX},
        END,
    ],
    "a constraint of no index": [HEADER, RULE | {"name": "constraint:c", "value": UNIQUE}, END],
    "a constraint that is broken": [
        HEADER,
        RULE | {"name": "constraint:c", "value": UNIQUE},
        RULE | {"value": INDEX},
        NODE | {"properties": {"a": 1}},
        OTHER | {"properties": {"a": 1}},
        END,
    ],
    "a policy of text": [HEADER, RULE | {"name": "policy:policy:p", "value": "x"}, END],
    "a policy of nothing": [HEADER, RULE | {"name": "policy:binding:p", "value": {}}, END],
    "constraints of a number": [HEADER, RULE | {"name": "constraints:p", "value": 5}, END],
    "an entrenchment of a list": [HEADER, RULE | {"name": "entrenchment:p", "value": [5]}, END],
    "a suppression of text": [HEADER, RULE | {"name": "suppressing", "value": "all"}, END],
    "a nested rule": [
        HEADER,
        b'{"type":"rule","name":"x:y","value":' + deep(3_000) + b"}",
        END,
    ],
    "a rule nested as far as it parses": [
        HEADER,
        b'{"type":"rule","name":"x:y","value":' + deep(950) + b"}",
        END,
    ],
    "a rule twice": [
        HEADER,
        RULE | {"name": "x", "value": 1},
        RULE | {"name": "x", "value": 2},
        END,
    ],
    "a rule without a name": [HEADER, RULE | {"name": ""}, END],
    "an edge in the project of one end": [
        HEADER,
        NODE | {"project": "p"},
        OTHER | {"project": "q"},
        EDGE | {"project": "p"},
        END,
    ],
    "a node in another project than its address": [HEADER, place(1) | {"project": "q"}, END],
    "an access of nothing": [
        HEADER,
        {"type": "access", "element": "node", "id": 1, "data": {}},
        END,
    ],
    "an access of text": [
        HEADER,
        NODE,
        {"type": "access", "element": "node", "id": 1, "data": {"count": "many"}},
        END,
    ],
    "an access twice": [HEADER, NODE]
    + [{"type": "access", "element": "node", "id": 1, "data": {"count": 1}}] * 2
    + [END],
    "an access of a map": [
        HEADER,
        NODE,
        {"type": "access", "element": "node", "id": 1, "data": {"held": {"a": {"b": 1}}}},
        END,
    ],
}


def written(path: Path, given: list[Any]) -> Path:
    parts = []
    for line in given:
        if isinstance(line, bytes) and b"type" not in line:  # properties as they are
            line = msgspec.json.encode(NODE | {"properties": "@"}).replace(b'"@"', line)
        parts.append(line if isinstance(line, bytes) else msgspec.json.encode(line))
    path.write_bytes(b"\n".join(parts) + b"\n")
    return path


def state(memory: Memory) -> tuple[object, ...]:
    return digest(memory.store), memory.log(limit=1)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_export_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "x.jsonl", HOSTILE[name])
    for filled in (False, True):
        with opened(tmp_path / f"{filled}.db", clock=FakeClock()) as memory:
            if filled:
                memory.remember("one", name="one")
            before = state(memory)
            if filled and name == "a constraint that is broken":
                continue  # rules are not merged
            for dry_run in (True, False):
                with pytest.raises(InputError):
                    memory.import_(path, dry_run=dry_run)
            assert state(memory) == before
    assert {each.name for each in tmp_path.iterdir()} <= {"x.jsonl", "True.db", "False.db"}


def test_the_good_lines_of_these_are_good(tmp_path: Path) -> None:
    """So that the cases above fail for their own reason."""
    rules = [RULE | {"name": "constraint:c", "value": UNIQUE}, RULE | {"value": INDEX}]
    belief = [item(3), revision(4), place(5)]
    edges = [EDGE, joined(2, "HAS_REVISION", 3, 4), joined(3, "CURRENT", 3, 4)]
    edges.append(joined(4, "HAS_ITEM", 5, 3))
    access = {"type": "access", "element": "node", "id": 1, "data": {"count": 1}}
    path = written(
        tmp_path / "x.jsonl", [HEADER, *rules, NODE, OTHER, *belief, *edges, access, END]
    )
    with opened(tmp_path / "a.db", clock=FakeClock()) as memory:
        assert memory.import_(path).restored
        assert memory.check() == []


def test_an_item_in_nothing_is_not_restored(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", [HEADER, item(3), END])
    with opened(tmp_path / "a.db", clock=FakeClock()) as memory:
        with pytest.raises(InputError, match="lies in nothing"):
            memory.import_(path)
        assert memory.log(limit=1)[0].op == "declare"


def test_an_error_names_the_line(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", [HEADER, NODE, EDGE, END])
    with (
        opened(tmp_path / "a.db", clock=FakeClock()) as memory,
        pytest.raises(InputError, match=r"line 3.*no node 2") as caught,
    ):
        memory.import_(path)
    assert caught.value.fields["line"] == 3


def test_rules_of_the_program_are_not_taken_from_a_file(tmp_path: Path) -> None:
    """An export that lifts a guard lifts none."""
    open_tag = {"type": "rule", "name": "guard:edge:TAG", "value": {"role": "agent"}}
    path = written(tmp_path / "x.jsonl", [HEADER, open_tag, NODE, END])
    with opened(tmp_path / "a.db", clock=FakeClock()) as memory:
        done = memory.import_(path)
        assert "rule guard:edge:TAG" in done.places
        memory.remember("one", name="one")
        with pytest.raises(RoleError):
            memory.session(role="agent").tag("kref://default/one.fact", "approved")


def test_an_agent_forges_no_past(tmp_path: Path) -> None:
    """What an agent imports is new: only an operator brings times and versions of the past."""
    past = [item(1), revision(2), joined(1, "HAS_REVISION", 1, 2), joined(2, "CURRENT", 1, 2)]
    path = written(tmp_path / "x.jsonl", [HEADER, *past, END])
    clock = FakeClock()
    clock.advance(days=30)
    with opened(tmp_path / "a.db", clock=clock, role="agent") as memory:
        assert not memory.import_(path).restored
        rows = memory.run("MATCH (r:Revision) RETURN r.summary AS s").records()
        assert [row["s"] for row in rows] == ["x"]
        with memory.store.read() as snapshot:
            assert all(node.born >= clock.now_ns() for node in snapshot.labelled("Revision"))


def test_a_long_line_and_a_bomb_are_refused_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "IMPORT_LINE_BYTES_MAX", 100_000)
    monkeypatch.setattr(lines, "EXPORT_BYTES_MAX", 10_000_000)
    first = msgspec.json.encode(HEADER) + b"\n"
    long = tmp_path / "long.jsonl"
    long.write_bytes(first + b"x" * 200_000)
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(first + b"\n" * 20_000_000))
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(first * 50)[:-9])
    odd = tmp_path / "odd.jsonl.gz"
    odd.write_bytes(gzip.compress(first)[:20] + b"\x00" * 30)
    with opened(tmp_path / "a.db", clock=FakeClock()) as memory:
        before = state(memory)
        for path in (long, bomb, cut, odd):
            with pytest.raises(DoxaError):
                memory.import_(path)
        assert state(memory) == before


def test_a_cycle_of_spaces_bundles_and_grounds_ends(tmp_path: Path) -> None:
    """Whatever is joined in a circle is read to its end."""
    bundles = [
        NODE
        | {
            "id": number,
            "labels": ["Bundle", "Item"],
            "properties": {
                "kref": f"kref://p/{name}.bundle",
                "project": "p",
                "space": "",
                "name": name,
                "kind": "bundle",
            },
        }
        for number, name in ((1, "a"), (2, "b"))
    ]
    edges = [joined(1, "MEMBER", 1, 2), joined(2, "MEMBER", 2, 1), joined(3, "DEPENDS_ON", 1, 2)]
    edges += [joined(4, "DEPENDS_ON", 2, 1), *(joined(4 + n, "HAS_ITEM", 3, n) for n in (1, 2))]
    path = written(tmp_path / "x.jsonl", [HEADER, *bundles, place(3), *edges, END])
    with opened(tmp_path / "a.db", clock=FakeClock()) as memory:
        memory.import_(path)
        assert memory.check() == []
        assert memory.get("kref://p/a.bundle") is not None
        assert memory.impact("kref://p/a.bundle").steps is not None


def test_mutated_exports_never_surprise(
    tmp_path: Path, campaign: int, tally: Callable[..., None]
) -> None:
    """Bytes and lines of good exports are changed at random: an import ends in doxa's own error and
    an unchanged file, or in a file that is sound."""
    chosen = int(os.environ.get("DOXA_SEED", 7))
    rng = random.Random(chosen)
    outcomes: Counter[str] = Counter()
    for seed in range(2 * campaign):
        clock = FakeClock()
        with opened(tmp_path / "a.db", clock=clock) as first:
            RandomGraph(first, clock, 30_000 + chosen + seed).run(30)
            good = list(first.export())
        for number in range(40):
            path = tmp_path / "x.jsonl"
            path.write_bytes(mutated(rng, good))
            target = tmp_path / "t.db"
            with opened(target, clock=clock) as memory:
                if number % 4 == 0:
                    memory.remember("one", name="one")
                before = state(memory)
                try:
                    memory.import_(path, accept_protected=True)
                except DoxaError:
                    outcomes["refused"] += 1
                    assert state(memory) == before, (seed, number)
                else:
                    outcomes["taken"] += 1
                    assert memory.check() == [], (seed, number)
                    assert digest(memory.store) == replayed_digest(memory.store)
                    memory.recall("Ana", lanes=("words",))
                    memory.run("MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN n, r, m").records()
            for each in tmp_path.glob("t.db*"):
                each.unlink()
        (tmp_path / "a.db").unlink()
    tally(mutants=sum(outcomes.values()), **outcomes)
    assert outcomes["refused"] and outcomes["taken"]


def mutated(rng: random.Random, good: list[bytes]) -> bytes:
    """An export with one to three changes; its end claims nothing, so that they are not found by
    its digest."""
    found = [*good[:-1], b'{"type":"end"}']
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(found))
        line = found[at]
        match rng.randrange(8):
            case 0:
                spot = rng.randrange(len(line))
                found[at] = line[:spot] + bytes((rng.randrange(256),)) + line[spot + 1 :]
            case 1:
                found[at : at + 1] = []
            case 2:
                found.insert(at, line)
            case 3:
                other = rng.randrange(len(found))
                found[at], found[other] = found[other], line
            case 4:
                found[at] = line[: rng.randrange(len(line))]
            case 5:
                found[at] = with_another_value(rng, line)
            case 6:
                found[at] = with_another_value(rng, with_another_value(rng, line))
            case 7:
                digits = [spot for spot in range(len(line)) if line[spot : spot + 1].isdigit()]
                if digits:
                    spot = rng.choice(digits)
                    found[at] = line[:spot] + b"%d" % rng.randrange(10) + line[spot + 1 :]
        if not found:
            break
    return b"\n".join(found) + b"\n"


def with_another_value(rng: random.Random, line: bytes) -> bytes:
    """Replace a value somewhere in the line by one of another kind."""
    try:
        value = msgspec.json.decode(line)
    except ValueError:
        return line
    at: Any = value
    while isinstance(at, (dict, list)) and at:
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.3:
            at[key] = rng.choice(
                (None, True, 0, -1, 5, 2**63, 1.5, "", "x", "current", [], {}, [1], {"$date": 1})
            )
            break
        at = at[key]
    return msgspec.json.encode(value)
