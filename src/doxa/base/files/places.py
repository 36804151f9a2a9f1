"""Where a user's files are if nothing else is configured, as a pure function of the environment
that an interface read.

the memory file    doxa/memory.db below XDG_DATA_HOME (~/.local/share)
configuration      doxa below XDG_CONFIG_HOME (~/.config)
data of the hooks  <memory file>-hooks, a folder next to the memory file
import cursors     <memory file>-imports, another
archives of agents <memory file>-agents, a third
logs of turns      <memory file>-signals, a fourth
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def memory_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's own memory file."""
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "doxa" / "memory.db"


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's configuration files."""
    base = environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "doxa"


REFUSED = "refused.jsonl"  # in the folder of hooks: what the memory refuses


def hooks_folder(memory: Path) -> Path:
    """Return the folder in which the hooks of a memory file keep what is not stored yet."""
    return memory.with_name(f"{memory.name}-hooks")


def signals_folder(memory: Path) -> Path:
    """Return the folder with the logs of what turns showed."""
    return memory.with_name(f"{memory.name}-signals")


def imports_folder(memory: Path) -> Path:
    """Return the folder that says how far files were imported into a memory file."""
    return memory.with_name(f"{memory.name}-imports")


def agents_folder(memory: Path) -> Path:
    """Return the folder that holds the archives of the agents of a memory file."""
    return memory.with_name(f"{memory.name}-agents")


def is_of_memory(memory: Path, path: Path) -> bool:
    """Return whether a path is a memory file, its write-ahead log, or in a folder that doxa keeps
    next to it. Links are followed."""
    found, file = path.resolve(), memory.resolve()
    folders = (hooks_folder, signals_folder, imports_folder, agents_folder)
    files = (file, *(file.with_name(f"{file.name}-{end}") for end in ("wal", "shm", "journal")))
    return found in files or any(found.is_relative_to(one(file)) for one in folders)


def mark_of_replica(path: Path | str) -> Path:
    """Return the file that lies next to a replica. Its time tells when the engine last answered."""
    return Path(f"{path}.heard")
