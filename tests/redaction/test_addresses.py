"""Projects and agents may have names that secrets have, too: what lies in them is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.app import open_memory
from doxa.base.errors import InputError
from doxa.redaction.redact import redact

NAMES = ["token-service", "secret-agent", "password-manager", "auth_token", "credentials"]


@pytest.mark.parametrize("project", NAMES)
def test_a_project_named_like_a_secret_takes_turns_and_beliefs(
    tmp_path: Path, project: str
) -> None:
    with open_memory(tmp_path / "m.db", project=project, actor=project) as memory:
        session = memory.session(context={"session": f"{project}-conversation"})
        made = session.ingest(
            [
                {
                    "session": f"{project}-conversation",
                    "speaker": "Ann",
                    "text": f"The {project} runs on Kubernetes since Monday.",
                }
            ]
        )
        assert (made.added, made.redacted) == (1, 0)
        turn = session.recall(project, kinds=("exchange",), limit=1).hits[0].kref
        kept = session.remember(f"The {project} is written in Go.", derived_from=(turn,))
        assert session.get(kept.kref).author == project
        told = session.remember(f"See {turn} for its token.", space="notes")
        assert session.get(told.kref).summary == f"See {turn} for its token."
        assert memory.verify().erased == 0


def test_a_secret_next_to_an_address_is_removed() -> None:
    text = "kref://token-service/a.fact says: the token q7Zr2Kx9Lw4Tn8Vb3Yd6, see kref://p/b.fact"
    assert redact(text).text == text.replace("q7Zr2Kx9Lw4Tn8Vb3Yd6", "[redacted:named-secret]")


@pytest.mark.parametrize(
    "text",
    [
        "The token of kref://p/services/api.fact is {}",
        "The token (see kref://p/notes/a.fact) is {}",
        "password for kref://p/a.fact: {}",
        "use the token kref://p/a.fact?r=2 {}",
        "见 kref://p/a.fact，密码token是{}",
        "kref://p/a.fact…token {}",
        "kref://p/a.fact=token {}",
    ],
)
def test_a_secret_behind_an_address_is_removed(text: str) -> None:
    found = redact(text.format("q7Zr2Kx9Lw4Tn8Vb3Yd6"))
    assert found.text == text.format("[redacted:named-secret]")


def test_an_address_does_not_hide_a_secret_of_a_known_form(tmp_path: Path) -> None:
    with (
        open_memory(tmp_path / "m.db", project="p") as memory,
        pytest.raises(InputError, match="secret"),
    ):
        memory.remember("A name.", name="AKIA" + "Q3EGRJ7XQ2WPLMNB")


def test_many_addresses_are_read_once() -> None:
    text = "token kref://token/a.fact " * 20_000
    assert redact(text).findings == ()
