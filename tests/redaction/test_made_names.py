"""Names that doxa makes of a text: they outlive an erasure, so no secret of the text is in them;
and a name that was made is never refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.adapters.naming import label
from doxa.agent.growth.candidates import candidate_name
from doxa.app import Memory
from doxa.belief import name_from
from doxa.redaction.redact import redact
from doxa.redaction.token_formats import FORMATS
from tests.fixtures_shared import opened
from tests.imports.import_files import imported

SECRET = "hunter2xyz!"
SAID = f"Log in with password: {SECRET}"
SLUGS = ("hunter2xyz", "s3cretpw99x")


@pytest.mark.parametrize(
    "write",
    [
        lambda memory, folder: memory.remember(SAID),
        lambda memory, folder: memory.store_execution(SAID),
        lambda memory, folder: memory.store_unit(SAID),
        lambda memory, folder: memory.ingest([{"speaker": "Ana", "text": SAID, "session": SAID}]),
        lambda memory, folder: memory.session_open(SAID),
        lambda memory, folder: _import(memory, folder / "CLAUDE.md", f"# Deploy\n- {SAID}\n"),
        lambda memory, folder: _import(
            memory, folder / "AGENTS.md", f"# password: {SECRET}\n\n- DB_PASSWORD=S3cretPw99x\n"
        ),
        lambda memory, folder: _import(
            memory,
            folder / "memory.json",
            json.dumps({"type": "entity", "name": SAID, "entityType": "x", "observations": ["y"]}),
        ),
    ],
    ids="remember execution unit ingest session instructions heading entity".split(),
)
def test_no_secret_of_a_text_is_in_the_file(
    tmp_path: Path, write: Callable[[Memory, Path], object]
) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        write(memory, tmp_path)
    held = b"".join(path.read_bytes() for path in tmp_path.glob("m.db*") if path.is_file()).lower()
    assert b"redacted" in held
    assert not any(secret in held for secret in (b"hunter2xyz", b"s3cretpw99x"))


def _import(memory: Memory, path: Path, text: str) -> None:
    path.write_text(text)
    imported(memory, path)


@pytest.mark.parametrize(
    "text",
    [
        "doxa keeps its beliefs in one sqlite file",
        "Doxa uses a PostgreSQL 16 database for replication of its logs.",
        "sk-learn-models-are-trained-on-2024-data-and-kept-in-s3-buckets",
        "glpat is the prefix of tokens and 20 letters follow it here 2x4",
    ],
)
def test_a_text_that_only_looks_like_a_secret_has_a_name(tmp_path: Path, text: str) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        memory.remember(text)
        memory.store_execution(text)
        memory.ingest([{"speaker": "user", "text": text, "session": text}])
        assert text in [hit.text for hit in memory.recall(text).hits]


@given(st.text(max_size=60), st.sampled_from(FORMATS), st.text(max_size=60))
def test_a_name_that_was_made_is_never_refused(before: str, token: object, after: str) -> None:
    for text in (before + after, f"{before} {token.example} {after}"):  # type: ignore[attr-defined]
        made = f"{name_from(text)}-0123abcd"
        assert redact(made).text == made


ORDINARY = (
    "token-service",
    "password-bot",
    "secret",
    "api_key_user",
    "session-token",
    "user:token:1",
    "secret_santa",
    "I never print the api key.",
    "The password is stored in the vault.",
    "Ask Ana for the token.",
)


@given(st.text(min_size=1, max_size=20), st.sampled_from(ORDINARY))
def test_a_name_with_a_long_digest_is_never_refused(before: str, text: str) -> None:
    for said in (text, f"{before} {text}"):
        for made in (label(said, "user_id"), candidate_name("SOUL", said)):
            assert redact(f"kref://shop/notes/{made}.record").findings == ()


def test_a_name_with_a_long_digest_is_readable_where_nothing_speaks_against_it() -> None:
    assert label("likes tea", "user_id") == "likes-tea-fb06dea94c118988dc4e"
    assert label("token-service", "user_id") == "c30f420aec4cee294952"
    assert candidate_name("SOUL", "I ask first.").startswith("i-ask-first-")


def test_a_line_of_identity_may_name_a_secret_and_holds_none(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        plain = memory.growth_propose("I never print the api key.", file="SOUL")
        assert plain.text == "I never print the api key."
        said = memory.growth_propose("use the token q7Zr2Kx9Lw4Tn8Vb3Yd6 for staging.", file="SOUL")
        assert said.text == "use the token [redacted:named-secret] for staging."


def test_names_of_things_are_no_tokens_of_doxa() -> None:
    for name in (
        "doxa-customer-portal-backend-service-2026",
        "doxa-prod-eu-central-1a-replica-02-blue",
        "doxa-keeps-its-beliefs-in-one-sqlite-file-19017275",
    ):
        assert redact(f"in {name} now").findings == ()
    token = "doxa-" + "aB3_-" * 8 + "xyz"
    assert [one.kind for one in redact(f"use {token} now").findings] == ["doxa-token"]
