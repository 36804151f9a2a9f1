"""The user's table of projects, and the project of the current folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doxa.hosts.projects import ProjectTable


def table() -> ProjectTable:
    """Return the user's table of projects."""
    from doxa.base.places import config_folder
    from doxa.hosts.projects import ProjectTable

    return ProjectTable(config_folder(os.environ) / "projects.toml")


def project_here(folder: Path | None = None) -> str:
    """Return what `--project auto` means in a folder; by default in that of the host, or this."""
    from doxa.hosts.projects import project_of

    place = folder or Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    return project_of(place, table()).project
