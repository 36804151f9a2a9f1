"""Every setting once: its key in `doxa.toml`, its variable, its kind and its default.

`doxa config`, the template of the file, the checks of the file and the test of the settings guide
read this table. A setting without a key is read from the environment alone: secrets, and what other
programs define.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "path", "model", "url", "integer", "switch"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `default` is what the documentation shows; `secret` is never shown."""

    key: str
    variable: str
    kind: Kind
    about: str
    default: str = ""
    secret: bool = False

    @property
    def name(self) -> str:
        """How output calls it: its key, or its variable where it has none."""
        return self.key or self.variable

    @property
    def expects(self) -> str:
        """What its value is, for error texts."""
        return _EXPECTS[self.kind]


_EXPECTS: dict[Kind, str] = {
    "text": "a text in quotes",
    "path": 'a path in quotes, such as "~/memory.db"',
    "model": 'a text in quotes, such as "ollama:NAME"',
    "url": 'a URL in quotes, such as "http://127.0.0.1:11434"',
    "integer": "a whole number, 0 or more",
    "switch": '"on" or "off"',
}

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "database",
        "DOXA_DB",
        "path",
        "the memory file, where no `--db` or path is given",
        "doxa/memory.db in the data folder",
    ),
    Setting(
        "project",
        "DOXA_PROJECT",
        "text",
        "the project of commands and servers where none is given; auto: that of the folder",
        "default",
    ),
    Setting(
        "working",
        "DOXA_WORKING",
        "url",
        "the Redis URL of working memory",
        "a SQLite file next to the memory file",
    ),
    Setting(
        "models.embedder",
        "DOXA_EMBEDDER",
        "model",
        "the embedder: minilm, none, openai:NAME, ollama:NAME, onnx:FOLDER",
        "the local model",
    ),
    Setting(
        "models.model",
        "DOXA_MODEL",
        "model",
        "the language model: openai:NAME, ollama:NAME, anthropic:NAME, command:PROGRAM ARGUMENTS,"
        " command-json:PROGRAM ARGUMENTS",
        "none",
    ),
    Setting(
        "models.reranker",
        "DOXA_RERANKER",
        "model",
        "the reranker: model, openai:NAME, onnx:FOLDER",
        "none",
    ),
    Setting(
        "models.folder",
        "DOXA_MODELS",
        "path",
        "where the local model is searched for when its package is not installed",
        "doxa in the cache folder",
    ),
    Setting(
        "models.openai_url",
        "DOXA_OPENAI_URL",
        "url",
        "where the provider openai is",
        "https://api.openai.com/v1",
    ),
    Setting(
        "models.ollama_url",
        "DOXA_OLLAMA_URL",
        "url",
        "where Ollama is",
        "http://127.0.0.1:11434",
    ),
    Setting(
        "models.anthropic_url",
        "DOXA_ANTHROPIC_URL",
        "url",
        "where the provider anthropic is",
        "https://api.anthropic.com",
    ),
    Setting(
        "models.embedder_url",
        "DOXA_EMBEDDER_URL",
        "url",
        "where the embedder is, if elsewhere than its provider",
        "the provider's",
    ),
    Setting(
        "models.model_url",
        "DOXA_MODEL_URL",
        "url",
        "where the language model is, likewise",
        "the provider's",
    ),
    Setting(
        "models.reranker_url",
        "DOXA_RERANKER_URL",
        "url",
        "where the reranker is, likewise",
        "the provider's",
    ),
    Setting(
        "models.tokens_max",
        "DOXA_MODEL_TOKENS_MAX",
        "integer",
        "how many tokens the process may send to and get from endpoints",
        "no cap",
    ),
    Setting(
        "models.calls_max",
        "DOXA_MODEL_CALLS_MAX",
        "integer",
        "how many requests it may send to them",
        "no cap",
    ),
    Setting(
        "policies.decay",
        "DOXA_DECAY",
        "switch",
        "what persistence policies do, for every command: on, off",
        "what the file says",
    ),
    Setting(
        "policies.retain_every_s",
        "DOXA_RETAIN_EVERY_S",
        "integer",
        "after how many seconds the background applies retention policies again; 0: never",
        "86,400",
    ),
    Setting(
        "queries.image_bytes_max",
        "DOXA_IMAGE_BYTES_MAX",
        "integer",
        "how many bytes the arrays may occupy that wide queries are answered from; 0: none",
        "67,108,864",
    ),
    Setting(
        "telemetry.otel",
        "DOXA_OTEL",
        "switch",
        "whether servers export spans and metrics by OpenTelemetry, with the extra otel: on, off",
        "off",
    ),
    Setting(
        "",
        "DOXA_MODEL_COMMAND_ENV",
        "text",
        "names of further variables that a program as the model gets, with commas or spaces",
        "none",
    ),
    Setting("", "OPENAI_API_KEY", "text", "the key for the provider openai", "none", secret=True),
    Setting(
        "", "ANTHROPIC_API_KEY", "text", "the key for the provider anthropic", "none", secret=True
    ),
    Setting(
        "", "DOXA_CONFIG", "path", "the configuration file", "doxa/doxa.toml in the config folder"
    ),
    Setting(
        "",
        "DOXA_OPERATOR_KEY",
        "path",
        "the key file of the operator",
        "doxa/operator.key in the config folder",
    ),
    Setting("", "XDG_CONFIG_HOME", "path", "the configuration folder", "~/.config"),
    Setting("", "XDG_DATA_HOME", "path", "the data folder", "~/.local/share"),
    Setting("", "XDG_CACHE_HOME", "path", "the cache folder", "~/.cache"),
    Setting("", "XDG_STATE_HOME", "path", "the state folder", "~/.local/state"),
)
IN_FILE: dict[str, Setting] = {one.key: one for one in SETTINGS if one.key}
