"""How a memory is opened: the options as a value, their checks, and the path of the user's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.base.clock import Clock
from doxa.base.errors import InputError, StoreError
from doxa.base.ids import Role
from doxa.base.limits import (
    ACCESS_FLUSH_MS,
    IMAGE_BYTES_MAX,
    RETAIN_EVERY_S,
    WORKING_TTL_S,
    WORKING_TTL_S_MAX,
)
from doxa.ingestion import arguments
from doxa.settings import configuration, memory_path

if TYPE_CHECKING:
    from doxa.models.contract import Completer, Embedder, Reranker


@dataclass(frozen=True, slots=True)
class Config:
    """The options of `doxa.open` as a value.

    `shared` is the URL of a shared log, of which `path` is then the replica; `tenant` names the log
    there, and `read_level` what a read asks for: local, session or latest.

    `embedder` is "auto" (as configured, else the local model if it is installed), None (words
    only), a text such as "ollama:NAME", or an object of the contract; `model` and `reranker`
    likewise, with "auto" for the configured one or none. `model_urls` maps roles or providers to
    endpoints, `model_prices` models to the price of a million tokens; the caps are for this
    opening. `working` is the Redis URL of working memory, None for as configured, else a SQLite
    file next to `path`. `decay_enabled` None means what the file's policies say, True the same with
    the standard policies for a new file, False that no policy has effect. `retain_every_s`
    is how often the background applies retention policies, 0 never; None for as configured, else a
    day. `image_bytes_max` bounds the arrays in memory that wide queries are answered from, 0: none
    are kept; None for as configured, else 64 MiB. With `background` False, embedding is left to
    `embed()` and retention to `retain()`.
    """

    path: Path
    role: Role = "agent"
    actor: str = "local"
    project: str = "default"
    embedder: Embedder | str | None = "auto"
    model_folder: Path | None = None
    clock: Clock | None = None
    background: bool = True
    read_only: bool = False
    csv_folder: Path | None = None
    decay_enabled: bool | None = None
    access_flush_ms: int = ACCESS_FLUSH_MS
    model: Completer | str | None = "auto"
    reranker: Reranker | str | None = "auto"
    model_urls: Mapping[str, str] | None = None
    model_prices: Mapping[str, Sequence[float]] | None = None
    model_calls_max: int | None = None
    model_tokens_max: int | None = None
    working: str | None = field(default=None, repr=False)  # it may hold a password
    working_ttl_s: int = WORKING_TTL_S
    retain_every_s: int | None = None
    image_bytes_max: int | None = None
    shared: str | None = field(default=None, repr=False)  # it may hold a password
    tenant: str = ""
    replica: Path | None = None
    read_level: str = "session"


def default_path() -> Path:
    """Return the setting `database` (DOXA_DB), or doxa/memory.db in the user's data folder
    (XDG_DATA_HOME, or ~/.local/share)."""
    return memory_path()


def working_url(config: Config) -> str | None:
    """Return where working memory is, if it is on Redis: as given, else the setting `working`
    (DOXA_WORKING)."""
    return config.working or configuration().text("working")


def retain_every_s(config: Config) -> int:
    """Return after how many seconds the background applies the retention policies again, 0 never:
    as given, else the setting `policies.retain_every_s` (DOXA_RETAIN_EVERY_S), else a day."""
    if config.retain_every_s is not None:
        return config.retain_every_s
    return _configured(
        "policies.retain_every_s",
        RETAIN_EVERY_S,
        unit="seconds",
        zero="to switch retention in the background off",
    )


def image_bytes_max(config: Config) -> int:
    """Return how many bytes resident columns and adjacency may occupy, 0 for none: as given, else
    the setting `queries.image_bytes_max` (DOXA_IMAGE_BYTES_MAX), else 64 MiB."""
    if config.image_bytes_max is not None:
        return config.image_bytes_max
    return _configured(
        "queries.image_bytes_max", IMAGE_BYTES_MAX, unit="bytes", zero="to keep no image"
    )


def _configured(key: str, default: int, *, unit: str, zero: str) -> int:
    """Return a setting that is a number; `zero` says what 0 is for."""
    said = configuration().get(key)
    if said is None:
        return default
    if not said.text.isdecimal() or len(said.text) > (9 if unit == "seconds" else 15):
        raise InputError(
            f"{said.name} is {said.text[:40]!r}, not a number of {unit}.",
            next_step=f"Give whole {unit}, or 0 {zero}.",
            field=said.name,
        )
    return int(said.text)


def check_config(config: Config) -> None:
    """Refuse what a wrong argument of `open` would otherwise do much later."""
    arguments.check_role(config.role)
    for name, value in (
        ("path", str(arguments.path(config.path, "path"))),
        ("actor", config.actor),
    ):
        arguments.text(value, name)
    arguments.project(config.project)
    arguments.flags(background=config.background, read_only=config.read_only)
    if config.decay_enabled is not None:
        arguments.flags(decay_enabled=config.decay_enabled)
    arguments.whole(config.access_flush_ms, "access_flush_ms")
    if not config.access_flush_ms:
        raise InputError(
            "access_flush_ms is at least 1.",
            next_step="Give milliseconds; the default is 2,000.",
            field="access_flush_ms",
        )
    arguments.whole(config.working_ttl_s, "working_ttl_s")
    if not 1 <= config.working_ttl_s <= WORKING_TTL_S_MAX:
        raise InputError(
            f"working_ttl_s is from 1 to {WORKING_TTL_S_MAX:,}.",
            next_step=f"Give seconds; the default is {WORKING_TTL_S:,}.",
            field="working_ttl_s",
        )
    if config.retain_every_s is not None:
        arguments.whole(config.retain_every_s, "retain_every_s")
    if config.image_bytes_max is not None:
        arguments.whole(config.image_bytes_max, "image_bytes_max")
    if config.working is not None:
        arguments.text(config.working, "working")
    # opening a pipe would wait for its other end
    if config.path.exists() and not (config.path.is_file() or config.path.is_dir()):
        raise StoreError(
            f"{config.path} is not a file.",
            next_step="Give the path of a memory file, or of a new one.",
            path=str(config.path),
        )
    if config.model_folder is not None:
        arguments.path(config.model_folder, "model_folder")
    for name, cap in (
        ("model_calls_max", config.model_calls_max),
        ("model_tokens_max", config.model_tokens_max),
    ):
        arguments.whole(cap, name, optional=True)
    if config.clock is not None and not hasattr(config.clock, "now_ns"):
        raise InputError(
            f"{config.clock!r:.80} is not a clock.",
            next_step="Give an object with `now_ns`, or leave it out.",
            field="clock",
        )
