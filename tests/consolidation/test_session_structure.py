"""The schema: published, read leniently entry by entry, strict about what is not a structure."""

from __future__ import annotations

import json
from collections import Counter

import msgspec
import pytest

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import CONSOLIDATED_TEXT_CHARS_MAX
from doxa.consolidation.structure import (
    SECTIONS,
    FactEntry,
    Structure,
    TextEntry,
    entries,
    read_structure,
    schema,
)


def test_the_schema_describes_every_section_and_every_entry_has_sources() -> None:
    published = schema()
    kinds = published["$defs"]
    sections = kinds["Structure"]["properties"]
    assert set(sections) == {"title", *SECTIONS}
    for name, (kind, field, _) in SECTIONS.items():
        assert sections[name]["items"]["$ref"].endswith(f"/{kind.__name__}")
        assert "sources" in kinds[kind.__name__]["properties"]
        assert field in kinds[kind.__name__]["required"]
    json.dumps(published)


def test_a_structure_is_read_as_it_was_written() -> None:
    given = Structure(
        title=TextEntry(text="Disks", sources=("t1",)),
        facts=(FactEntry(claim="The disk is full.", certainty=0.5, sources=("t1", "t2")),),
    )
    for value in (given, msgspec.json.encode(given), msgspec.to_builtins(given)):
        assert read_structure(value) == (given, Counter())


def test_entries_of_another_form_are_counted_and_the_rest_is_kept() -> None:
    found, lost = read_structure(
        {
            "summary": [{"text": "One.", "sources": ["t1"]}, "Two.", {"text": 3}, None],
            "facts": "none",
            "events": [{"event": "x", "sources": "t1"}],
            "unheard_of": [1],
        }
    )
    assert [line.text for line in found.summary] == ["One."]
    assert lost == {"malformed": 5}
    assert [section for section, _ in entries(found)] == ["summary"]


@pytest.mark.parametrize(
    "value", ["", "{", "[1]", "null", b"\xff", 3, [], {}, {"notes": []}, "[" * 9]
)
def test_what_is_no_structure_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="not the structure of a session"):
        read_structure(value)


def test_a_structure_has_a_size_limit() -> None:
    with pytest.raises(LimitError, match="characters"):
        read_structure(" " * (CONSOLIDATED_TEXT_CHARS_MAX + 1))
