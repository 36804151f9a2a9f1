"""The text of a `doxa.toml` in which every setting is a comment: `doxa config --template`."""

from __future__ import annotations

from doxa.settings.table import IN_FILE, Setting

_HEAD = """\
# The configuration of doxa. Take the # off a line to set it. A variable of the environment goes
# before this file, the command line before both. Keys of providers are read from the environment
# alone. Paths are relative to this file.
"""
_EXAMPLES = {
    "database": '"~/memory.db"',
    "project": '"auto"',
    "working": '"redis://127.0.0.1:6379/0"',
    "models.embedder": '"ollama:nomic-embed-text"',
    "models.model": '"ollama:NAME"',
    "models.reranker": '"model"',
    "models.folder": '"~/models"',
    "models.embedder_url": '"http://127.0.0.1:8080/v1"',
    "models.model_url": '"http://127.0.0.1:8080/v1"',
    "models.reranker_url": '"http://127.0.0.1:8080/v1"',
    "models.tokens_max": "200000",
    "models.calls_max": "1000",
    "policies.decay": '"on"',
    "policies.retain_every_s": "86400",
    "queries.image_bytes_max": "67108864",
}


def template() -> str:
    """Return the text."""
    lines, before = [_HEAD], ""
    for key, setting in IN_FILE.items():
        table, _, name = key.rpartition(".")
        if table != before:
            lines.append(f"\n[{table}]\n")
            before = table
        lines.append(_line(name, setting))
    return "".join(lines)


def _line(name: str, setting: Setting) -> str:
    about = setting.about.replace("`", "")
    default = f" (default: {setting.default})"
    return f"# {about}{default}\n# {name} = {_EXAMPLES.get(setting.key) or _quoted(setting)}\n"


def _quoted(setting: Setting) -> str:
    return f'"{setting.default}"'
