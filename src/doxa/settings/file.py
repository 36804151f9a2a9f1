"""`doxa.toml`: found, read whole, and checked key by key before any of it holds.

    --config FILE, DOXA_CONFIG     the file that is named
    doxa/doxa.toml                 below XDG_CONFIG_HOME (~/.config), if it is there

A `doxa.toml` in a working folder is not read unless it is named: a file that came with somebody
else's repository could send memories to an endpoint, run a program as the language model, or open a
memory file with beliefs of its author. Secrets have no key, so none needs to be in a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from doxa.base.errors import InputError
from doxa.base.files.places import config_folder
from doxa.base.limits import CONFIG_FILE_BYTES_MAX
from doxa.settings.table import IN_FILE, Setting

NAME = "doxa.toml"
_SEE = "See `doxa config --template`."
_SECRET = ("key", "secret", "password", "token")  # how the name of one ends


def place_of(environ: Mapping[str, str]) -> tuple[Path, bool]:
    """Return where the file is, and whether it was named and therefore has to be there."""
    named = environ.get("DOXA_CONFIG")
    return (Path(named), True) if named else (config_folder(environ) / NAME, False)


def read(environ: Mapping[str, str]) -> tuple[Path | None, Mapping[str, str]]:
    """Return the file that holds, None if there is none, and its values as text, by key. Raises
    InputError for a file that is not fit to be read, whole."""
    path, named = place_of(environ)
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not named:
            return None, {}
        raise InputError(
            f"{path} is not there, and DOXA_CONFIG or --config names it.",
            next_step="Correct the path, or write the file: `doxa config --template`.",
            path=str(path),
        ) from None
    except (OSError, ValueError) as error:
        raise _unread(path, str(error)) from None
    if str(path) == os.devnull:
        return path, {}
    if not stat.S_ISREG(found.st_mode):
        raise _unread(path, "it is not a file")
    if found.st_mode & stat.S_IWOTH:
        raise InputError(
            f"{path} can be written by everybody, and a configuration may name programs to run.",
            next_step=f"Take that away: chmod o-w {path}",
            path=str(path),
        )
    if found.st_size > CONFIG_FILE_BYTES_MAX:
        raise _unread(path, f"it is longer than {CONFIG_FILE_BYTES_MAX:,} bytes")
    return path, _read(path.absolute(), found.st_mtime_ns, found.st_size, found.st_ino)


def parsed(path: Path, text: str) -> dict[str, Any]:
    """Return the values of a text by key, checked as those of the file at `path`."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unread(path, " ".join(str(error).split())[:300]) from None
    found = dict(_flat(document))
    for key, value in found.items():
        _value(path, key, value)
    return found


@lru_cache(maxsize=8)
def _read(path: Path, *_version: int) -> Mapping[str, str]:
    """Read a version of a file once: several values are asked for at an opening."""
    import tomllib

    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unread(path, " ".join(str(error).split())[:300]) from None
    return {key: _value(path, key, value) for key, value in _flat(document)}


def _flat(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value with its key, `table.key` for one in a table."""
    for name, value in document.items():
        key = f"{before}{name}"
        if isinstance(value, Mapping) and value and not before:
            yield from _flat(value, f"{key}.")
        elif not (isinstance(value, Mapping) and not value):
            yield key, value


def _value(path: Path, key: str, value: Any) -> str:
    setting = IN_FILE.get(key)
    if setting is None:
        raise _unknown(path, key)
    if setting.kind == "integer":
        fits = type(value) is int and 0 <= value < 10**18
    elif setting.kind == "switch":
        fits = value in ("on", "off")
    else:
        fits = isinstance(value, str) and bool(value.strip()) and "\0" not in value
    if not fits:
        raise InputError(
            f"{path}: {key} is {setting.expects}; this is {_shown(value)}.",
            next_step="Correct it, or take the line out: the default then holds.",
            field=key,
            path=str(path),
        )
    return _placed(path.parent, setting, str(value))


def _placed(folder: Path, setting: Setting, value: str) -> str:
    """A path is relative to the folder of the file that names it."""
    if setting.kind == "model" and value.startswith("onnx:"):
        return f"onnx:{_path(folder, value.removeprefix('onnx:'))}"
    return str(_path(folder, value)) if setting.kind == "path" else value


def _path(folder: Path, value: str) -> Path:
    home = value == "~" or value.startswith("~/")
    return Path.home() / value[2:] if home else folder / value


def _shown(value: Any) -> str:
    """A wrong value as an error quotes it: short, and of a table its kind alone."""
    return f"{value!r:.60}" if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"


def _unknown(path: Path, key: str) -> InputError:
    from difflib import get_close_matches

    near = get_close_matches(key, IN_FILE, 1, 0.8) or [
        known for known in IN_FILE if known.rpartition(".")[2] == key.rpartition(".")[2]
    ]
    if near:
        step = f"Did you mean {near[0]}? {_SEE}"
    elif key.lower().endswith(_SECRET):
        step = "Secrets are read from the environment alone, as OPENAI_API_KEY; take the line out."
    else:
        step = f"Take the line out. {_SEE}"
    return InputError(
        f"{path}: {key[:80]} is not a setting.", next_step=step, field=key[:80], path=str(path)
    )


def _unread(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} cannot be read as the configuration: {why}.",
        next_step=f"Correct the file in an editor. {_SEE}",
        path=str(path),
    )
