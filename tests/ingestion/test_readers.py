"""Readers: a fixture for each format, and what a hostile file must not be able to do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base import limits
from doxa.base.clock import parse_time
from doxa.base.errors import InputError, LimitError
from doxa.ingestion.readers import FORMATS, ReadReport, detect, read
from doxa.ingestion.readers.locomo import session_time_ns
from doxa.ingestion.readers.sources import clean
from doxa.language.turns import identified

FIXTURES = Path(__file__).parent / "fixtures"
PLACES = {
    "doxa-jsonl": FIXTURES / "doxa.jsonl",
    "locomo": FIXTURES / "locomo.json",
    "chatgpt": FIXTURES / "chatgpt" / "conversations.json",
    "claude-ai": FIXTURES / "claude_ai" / "conversations.json",
}
LINE = '{"thread":"t","session":"s","speaker":"a","text":"x"}\n'


def zipped(source: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(source, "export/" + source.name)
    return target


@pytest.mark.parametrize(("name", "path"), PLACES.items())
def test_detects_and_reads_without_being_told(name: str, path: Path) -> None:
    assert detect(path) == name
    turns = list(read(path))
    assert turns == list(read(str(path), name)) and turns
    assert all(turn.thread and turn.session and turn.speaker for turn in turns)


def test_doxa_jsonl() -> None:
    turns = list(read(PLACES["doxa-jsonl"]))
    assert len(turns) == 11
    assert turns[0].time_ns == parse_time("2026-03-02T14:00:00Z") and turns[0].source_id == "m0"
    assert (
        turns[2].caption == "a folder with labels"
        and turns[8].role == "assistant"
        and turns[10].time_ns is None
    )


def test_locomo_keeps_the_order_and_the_times() -> None:
    turns = list(read(PLACES["locomo"]))
    assert [turn.source_id for turn in turns] == ["D1:1", "D1:2", "D1:3", "D10:1"]
    assert [turn.session for turn in turns] == ["session_1"] * 3 + ["session_10"]
    assert turns[1].time_ns == parse_time("2023-05-08T13:56:01Z") and turns[
        3
    ].time_ns == parse_time("2023-09-13T00:09:00Z")
    assert (
        turns[2].caption == "a photo of a small brown dog"
        and turns[0].thread == "conv-x"
        and turns[0].role == "person"
    )


def test_chatgpt_follows_the_last_branch(tmp_path: Path) -> None:
    report = ReadReport()
    turns = list(read(PLACES["chatgpt"], report=report))
    assert [turn.text for turn in turns] == [
        "Plan a trip to Lisbon.",
        "Three days are enough.",
        "Thank you.",
    ]
    assert (
        turns[0].time_ns == 1772460003_250_000_000
        and turns[0].session == "c-1"
        and report.titles == {"c-1": "Trip"}
    )
    assert (
        list(read(zipped(PLACES["chatgpt"], tmp_path / "e.zip")))
        == turns
        == list(read(FIXTURES / "chatgpt"))
    )


def test_claude_ai_takes_text_blocks(tmp_path: Path) -> None:
    turns = list(read(PLACES["claude-ai"]))
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "When do I plant beans?"),
        ("assistant", "After the last frost."),
        ("user", "Thanks."),
    ]
    assert (
        list(read(zipped(PLACES["claude-ai"], tmp_path / "e.zip")))
        == turns
        == list(read(FIXTURES / "claude_ai"))
    )


def test_a_grown_history_keeps_its_ids(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(LINE * 3)
    before = [name for name, _ in identified(read(path))]
    path.write_text(LINE * 5)
    assert [name for name, _ in identified(read(path))][:3] == before


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   ",
        b"hello",
        b"[]",
        b"{}",
        b"\x00\x01",
        b"[[[[",
        b"PK\x03\x04broken",
        b'{"thread": 1}',
    ],
)
def test_what_is_nothing_is_refused_with_the_list(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        detect(path)
    assert "zip" in str(caught.value)


def test_missing_paths_pipes_and_unknown_formats(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path / "pipe", tmp_path / "nul\0"):
        with pytest.raises(InputError):
            detect(path)
        for name in FORMATS:
            with pytest.raises(InputError):
                list(read(path, name))
    with pytest.raises(InputError, match="no format"):
        read(tmp_path, "word")
    with pytest.raises(InputError):
        detect(tmp_path)


@pytest.mark.parametrize(
    "bad",
    [
        "nonsense",
        '{"thread":"t"}',
        LINE.replace("}", ',"tim":"x"}'),
        LINE.replace("}", ',"time":"noon"}'),
        "[" * 100_000,
        '"\\ud800"',
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(LINE + "\n" + bad + "\n")
    with pytest.raises(InputError, match=r"h\.jsonl, line 3"):
        list(read(path))


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + LINE.encode())
    assert len(list(read(path))) == 1
    path.write_bytes(LINE.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        list(read(path, "doxa-jsonl"))
    path.write_bytes(LINE.encode() + LINE.replace("x", "é").encode("latin-1"))
    with pytest.raises(InputError, match=r"line 2.*utf-8"):
        list(read(path))


def test_nul_and_surrogates_are_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text(LINE.replace('"x"', r'"a\u0000b\ud83dc\ud83d\ude00\\ud800\ude00"'))
    assert next(read(path)).text == "ab\ufffdc\U0001f600\\ud800\ufffd"
    assert clean("a\0\udfff") == "a\ufffd"


def test_long_lines_and_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IMPORT_LINE_BYTES_MAX", 400)
    path = tmp_path / "h.jsonl"
    path.write_text(LINE + LINE.replace("x", "x" * 2_000) + LINE)
    with pytest.raises(LimitError, match="line 2"):
        list(read(path))
    monkeypatch.setattr(limits, "IMPORT_FILE_BYTES_MAX", 100)
    with pytest.raises(LimitError):
        list(read(path, "doxa-jsonl"))


def test_a_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARCHIVE_BYTES_MAX", 100_000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", '[{"mapping": {}}' + " " * 1_000_000 + "]")
    with pytest.raises(LimitError):
        list(read(tmp_path / "bomb.zip"))


def test_a_damaged_zip_is_refused_and_a_climbing_name_is_only_read(tmp_path: Path) -> None:
    path = zipped(PLACES["chatgpt"], tmp_path / "e.zip")
    data = bytearray(path.read_bytes())
    data[80] ^= 255
    (tmp_path / "broken.zip").write_bytes(data)
    with pytest.raises(InputError):
        list(read(tmp_path / "broken.zip", "chatgpt"))
    with zipfile.ZipFile(tmp_path / "up.zip", "w") as archive:
        archive.write(PLACES["chatgpt"], "../../conversations.json")
    before = sorted(tmp_path.parent.rglob("*"))
    assert len(list(read(tmp_path / "up.zip"))) == 3
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_damaged_conversations_are_skipped_and_a_ring_ends(tmp_path: Path) -> None:
    good = json.loads(PLACES["chatgpt"].read_text())[0]
    good["mapping"]["n1"]["parent"] = "n7"
    good["mapping"]["n6"]["message"]["author"] = 5
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([5, {"mapping": []}, good]))
    report = ReadReport()
    assert [turn.text for turn in read(path, "chatgpt", report=report)] == [
        "Plan a trip to Lisbon.",
        "Thank you.",
    ]
    assert report.skipped == 3
    with pytest.raises(InputError, match="contains nothing in the format"):
        list(read(path, "claude-ai"))


def test_one_bad_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    for product in ("chatgpt", "claude-ai"):
        export = tmp_path / product
        export.mkdir()
        shutil.copy(PLACES[product], export / "conversations-2.json")
        (export / "conversations-1.json").write_bytes(b"\xff\xfe[\0]\0")
        (export / "conversations-3.json").write_text("{}")
        with zipfile.ZipFile(tmp_path / f"{product}.zip", "w") as archive:
            for file in sorted(export.iterdir()):
                archive.write(file, file.name)
        for place in (export, tmp_path / f"{product}.zip"):
            report = ReadReport()
            assert len(list(read(place, report=report))) == 3
            assert [
                wanted in said
                for wanted, said in zip(("UTF-16", "JSON list"), report.places, strict=True)
            ] == [True, True]
        for name in ("conversations-1.json", "conversations-3.json"):
            with pytest.raises(InputError):
                list(read(export / name, product))


@pytest.mark.parametrize(
    "text",
    ["13:00 pm on 8 May, 2023", "1:56 pm on 31 June, 2023", "soon", "1:56 pm on 8 Foo, 2023"],
)
def test_impossible_session_times(text: str) -> None:
    with pytest.raises(ValueError):
        session_time_ns(text)


@given(
    st.binary(max_size=300)
    | st.sampled_from([path.read_bytes() for path in PLACES.values() if path.is_file()]),
    st.data(),
)
def test_only_input_errors(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    if content and data.draw(st.booleans()):
        cut = data.draw(st.integers(0, len(content) - 1))
        content = content[:cut] + data.draw(st.binary(max_size=3)) + content[cut + 1 :]
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    for name in FORMATS:
        with contextlib.suppress(InputError):
            list(read(path, name))


def test_a_folder_of_several_formats_is_read_whole(tmp_path: Path) -> None:
    for name, place in PLACES.items():
        target = tmp_path / name / ("sessions" if place.is_dir() else place.name)
        if place.is_dir():
            shutil.copytree(place, target)
        else:
            target.parent.mkdir()
            shutil.copy(place, target)
    zipped(PLACES["chatgpt"], tmp_path / "export.zip")
    (tmp_path / "package.json").write_text('{"name": "atlas"}')
    (tmp_path / "notes.md").write_text("nothing that was said")
    alone = [(turn.thread, turn.text) for place in PLACES.values() for turn in read(place)]
    report = ReadReport()
    found = [(turn.thread, turn.text) for turn in read(tmp_path, report=report)]
    assert set(found) == set(alone)
    assert len(found) == len(alone) + 3  # the zip holds ChatGPT's three turns once more
    assert report.skipped == 0
