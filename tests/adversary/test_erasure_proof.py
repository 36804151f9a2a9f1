"""`verify_erased` finds a text wherever the file or a known copy still holds it, and says so of a
place only if a search there can find something."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from doxa.app import Memory, open_memory
from doxa.base.files.places import hooks_folder
from doxa.hosts.events import HookEvent
from doxa.hosts.pipeline import Pipeline
from doxa.hosts.spool import Spool
from doxa.maintenance.erasing import erase_text
from doxa.maintenance.erasure_proof import ErasureProof, verify_erased
from doxa.store import Identity

OPERATOR = Identity("op", "operator")
CANARY = "Zqxcanary of Ürümqi"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db", role="operator", embedder=None) as opened:
        opened.remember(f"{CANARY} lives in Graz", project="p", kind="note")
        opened.remember("Ben lives in Ürümqi", project="p", kind="note")
        opened.run("CREATE (:Brief {long: $t})", {"t": "x" * 9_000 + CANARY.upper()})
        yield opened


def erase(memory: Memory) -> None:
    shown = erase_text(memory.store, OPERATOR, CANARY, preview=True)
    erase_text(memory.store, OPERATOR, CANARY, confirm=shown.token)


def states(proof: ErasureProof) -> dict[str, str]:
    return {trace.place: trace.state for trace in proof.traces}


def test_before_the_erasure_it_is_found_and_after_it_is_not(memory: Memory) -> None:
    before = verify_erased(memory.store, CANARY)
    assert not before.erased
    found = states(before)
    assert found["nodes"] == found["log payloads"] == found["tables"] == "holds"
    erase(memory)
    after = verify_erased(memory.store, CANARY)
    assert after.erased and after.complete, after.traces
    assert len(after.words) == 1 and after.words[0].startswith("ürümqi")
    assert "other texts hold them" in after.note


def test_copies_that_hold_it_are_named(memory: Memory, tmp_path: Path) -> None:
    kept, gone, packed, fresh = (tmp_path / f"copies{n}.db" for n in range(4))
    exported = tmp_path / "out.jsonl"
    for target in (kept, gone, packed):
        memory.backup(target)
    memory.export_to(exported)
    gone.unlink()
    packed.write_bytes(gzip.compress(packed.read_bytes()))
    erase(memory)
    memory.backup(fresh)
    proof = verify_erased(memory.store, CANARY)
    assert proof.erased and not proof.complete
    found = states(proof)
    assert found[f"backup {kept}"] == "holds"
    assert found[f"export {exported}"] == "holds"
    assert found[f"backup {gone}"] == "missing"
    assert found[f"backup {packed}"] == "unknown"
    assert found[f"backup {fresh}"] == "gone"


def test_a_snapshot_next_to_the_file_is_looked_at(memory: Memory) -> None:
    beside = Path(f"{memory.store.path}.before-0009-x")
    copy = apsw.Connection(str(beside))
    with copy.backup("main", memory.store.connection(), "main") as step:
        step.step(-1)
    copy.close()
    erase(memory)
    proof = verify_erased(memory.store, CANARY)
    assert not proof.erased and states(proof)[str(beside)] == "holds"


def test_a_reader_of_an_older_state_is_seen_in_the_log(memory: Memory) -> None:
    reader = apsw.Connection(memory.store.path)
    reader.execute("BEGIN; SELECT count(*) FROM node")
    erase(memory)
    proof = verify_erased(memory.store, CANARY)
    assert not proof.erased
    held = [trace for trace in proof.traces if trace.state == "holds"]
    assert held and all("reader" in trace.detail for trace in held), held
    reader.close()
    assert verify_erased(memory.store, CANARY).erased


@pytest.mark.parametrize("name", ["spool.jsonl", "taken-17.jsonl"])
def test_what_hooks_captured_is_named_until_it_is_stored_and_erased(
    memory: Memory, name: str
) -> None:
    spool = Spool(hooks_folder(Path(memory.store.path)))
    spool.append(HookEvent("prompt", "codex", "s1", text=f"Ask {CANARY} about it."), "p")
    spool.append(HookEvent("answer", "codex", "s1", text="Asked."), "p")
    (spool.folder / "spool.jsonl").replace(spool.folder / name)
    erase(memory)
    proof = verify_erased(memory.store, CANARY)
    assert not proof.erased and states(proof)[str(spool.folder / name)] == "holds"
    (held,) = (trace for trace in proof.traces if trace.state == "holds")
    assert "not stored yet" in held.detail and "doxa mcp" in held.detail
    Pipeline(memory.session(project="p"), spool).settle()
    assert states(verify_erased(memory.store, CANARY))["nodes"] == "holds"
    erase(memory)
    assert verify_erased(memory.store, CANARY).erased


def test_planted_bytes_in_a_derived_table_are_found(memory: Memory) -> None:
    erase(memory)
    memory.store.connection().execute(
        "INSERT INTO meta VALUES('stray', ?)", ("y" * 9_000 + CANARY.lower(),)
    )
    proof = verify_erased(memory.store, CANARY)
    assert not proof.erased and states(proof)["tables"] == "holds"


# Cells whose change breaks what is read before the search: that is damage, which `check` names.
_READ_FIRST = frozenset(("catalogue", "log", "receipt", "migration", "sqlite_sequence"))


def cells(db: apsw.Connection) -> list[tuple[str, str]]:
    """Return every column of text or bytes of every table with rows."""
    found = []
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
    for (table,) in db.execute(tables).fetchall():
        if table in _READ_FIRST or table.startswith("sqlite_"):
            continue
        for row in db.execute(f"PRAGMA table_info({table})").fetchall():
            kinds = f"SELECT count(*) FROM {table} WHERE typeof({row[1]}) IN ('text', 'blob')"
            if row[1] not in ("props", "labels") and db.execute(kinds).fetchone() != (0,):
                found.append((table, row[1]))
    return found


def test_a_text_planted_in_any_cell_is_found(
    memory: Memory, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    """A cell of any table, at any depth of a long value, in any case: it is found as long as it is
    there."""
    erase(memory)
    rng, db = random.Random(seed), memory.store.connection()
    places = cells(db)
    assert len(places) >= 8
    for turn in range(12 * campaign):
        table, column = places[turn % len(places)] if turn < len(places) else rng.choice(places)
        text = rng.choice((CANARY, CANARY.lower(), CANARY.upper()))
        text = "y" * rng.choice((0, 7, 4_000, 9_000)) + text + "z" * rng.randint(0, 50)
        db.execute("BEGIN IMMEDIATE")
        old = db.execute(
            f"SELECT {column} FROM {table} WHERE typeof({column}) IN ('text', 'blob') LIMIT 1"
        ).fetchone()
        assert old is not None
        value: object = text.encode() if isinstance(old[0], bytes) else text
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (value, old[0]))
        db.execute("COMMIT")
        proof = verify_erased(memory.store, CANARY)
        assert not proof.erased, (table, column, proof.traces)
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (old[0], value))
        memory.store.scrub()
    tally(planted_cells=12 * campaign)
