"""Where the known programs keep what they keep, as a pure function of the home folder and the
environment that an interface read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def known_places(home: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the places of known programs, as far as they exist."""
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    editor = Path("Cursor", "User", "globalStorage", "state.vscdb")
    places = (
        claude / "projects",
        codex / "sessions",
        codex / "archived_sessions",
        home / ".gemini" / "tmp",
        config / editor,
        home / "Library" / "Application Support" / editor,
        Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / editor,
        home / ".openclaw" / "workspace",
        Path(environ.get("HERMES_HOME") or home / ".hermes") / "memories",
    )
    return [place for place in places if place.exists()]
