"""Which value of a setting holds: the environment's, else the file's, else the default."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from doxa.base.files.places import config_folder, memory_file
from doxa.settings.file import NAME, read
from doxa.settings.table import IN_FILE, SETTINGS, Setting

_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY = re.compile(r"(?<=[?&;])([^=&;#\s]+)=[^&;#\s]*")
MASK = "***"


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """The value of a setting that holds, as text. `source` is "environment", "file" or "command
    line"; `name` is what an error text calls it: the variable, or the key and the file."""

    text: str
    source: str
    name: str


class Configuration:
    """What the environment and the file say. Reading a value raises nothing: the file is checked
    when this is made."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.path, self._in_file = read(environ)

    def get(self, key: str) -> EffectiveSetting | None:
        """Return what holds for a key of the table, None for the default. An empty variable says
        nothing."""
        setting = IN_FILE[key]
        said = self._environ.get(setting.variable)
        if said:
            return EffectiveSetting(said, "environment", setting.variable)
        if key in self._in_file:
            return EffectiveSetting(self._in_file[key], "file", f"{key} in {self.path}")
        return None

    def text(self, key: str) -> str | None:
        """Return the value of a key as text, None for the default."""
        found = self.get(key)
        return found.text if found else None

    def items(self) -> Iterator[tuple[Setting, EffectiveSetting | None]]:
        """Yield every setting with what holds, None for the default."""
        for setting in SETTINGS:
            if setting.key:
                yield setting, self.get(setting.key)
                continue
            said = self._environ.get(setting.variable)
            yield (
                setting,
                EffectiveSetting(said, "environment", setting.variable) if said else None,
            )


def configuration(environ: Mapping[str, str] | None = None) -> Configuration:
    """Return what is configured now: of this process, or of another environment. Raises InputError
    for a file that cannot be read."""
    return Configuration(os.environ if environ is None else environ)


def memory_path(environ: Mapping[str, str] | None = None) -> Path:
    """Return the memory file where none is given: the setting `database`, else the one in the
    user's data folder. Raises InputError for a file of settings that cannot be read."""
    said = os.environ if environ is None else environ
    named = configuration(said).text("database")
    return Path(named) if named else memory_file(said)


def operator_key(environ: Mapping[str, str] | None = None) -> Path:
    """Return where the operator's key is: DOXA_OPERATOR_KEY, else operator.key in the configuration
    folder."""
    said = os.environ if environ is None else environ
    named = said.get("DOXA_OPERATOR_KEY")
    return Path(named) if named else config_folder(said) / "operator.key"


def shown(setting: Setting, text: str) -> str:
    """Return a value as it may be shown: without secrets, credentials of URLs and values of their
    queries."""
    if setting.secret:
        return MASK
    from doxa.redaction.redact import redact

    bare = _QUERY.sub(rf"\1={MASK}", _USERINFO.sub(f"{MASK}@", text))
    return redact(bare).text


def unread_here(folder: Path) -> Path | None:
    """Return the `doxa.toml` of a folder or of one above it in the same repository, which is not
    read unless it is named."""
    for one in (folder, *folder.parents):
        if (one / NAME).is_file():
            return one / NAME
        if (one / ".git").exists():
            break
    return None
