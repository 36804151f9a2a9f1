"""Validate OPTIONS of schema commands. Misspelt keys and unsupported values are errors.

    OPTIONS {indexProvider: 'vector-2.0', indexConfig: {`vector.dimensions`: 384,
    `vector.similarity_function`: 'cosine'}}

Some keys of Neo4j tune how an index is built. They change no answer and have no effect here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from doxa.query.core.errors import fail, shown
from doxa.store.index import SIMILARITIES

DIMENSIONS_MAX = 4_096
ANALYSERS = (
    "english",
    "standard-no-stop-words",
)  # doxa's own analyser, and Neo4j's default, which tools write explicitly
_PROVIDERS = {
    "range": ("range-1.0", "native-btree-1.0"),
    "text": ("text-1.0", "text-2.0", "trigram-1.0"),
    "point": ("point-1.0",),
    "fulltext": ("fulltext-1.0", "fulltext-2.0"),
    "vector": ("vector-1.0", "vector-2.0", "vector-3.0"),
}
_CORNERS = tuple(
    f"spatial.{system}.{end}"
    for system in ("cartesian", "cartesian-3d", "wgs-84", "wgs-84-3d")
    for end in ("min", "max")
)


def checked_options(kind: str, options: Any) -> dict[str, Any]:
    """Return the options of a kind of index. Raises QueryError for unknown keys and invalid
    values."""
    if options is None:
        return {}
    found = _map(options, "OPTIONS")
    _known(found, ("indexProvider", "indexConfig"), "OPTIONS")
    provider = found.get("indexProvider")
    providers = (*_PROVIDERS[kind], f"doxa-{kind}")
    if provider is not None and provider not in providers:
        _refuse(
            f"A {kind} index has no provider {shown(provider)}.",
            f"Leave it out, or give one of {', '.join(providers)}.",
            "indexProvider",
        )
    config = {} if found.get("indexConfig") is None else _map(found["indexConfig"], "indexConfig")
    keys = _CONFIG[kind]
    _known(config, tuple(keys), f"indexConfig of a {kind} index")
    for key, value in config.items():
        test, wanted = keys[key]
        if not test(value):
            _refuse(
                f"{key} is {wanted}, not {shown(value)}.",
                "Correct the value, or leave the key out.",
                key,
            )
    return found


def _map(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(f"{what} takes a map, not {shown(value)}.", "Write {indexConfig: {...}}.", what)
    return dict(value)


def _known(given: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    unknown = next((key for key in given if key not in keys), None)
    if unknown is not None:
        known = (
            f"Known are {', '.join(f'`{key}`' for key in keys)}."
            if keys
            else "It takes none: leave the key out."
        )
        _refuse(f"{where} has no key {unknown[:100]!r}.", known, unknown[:100])


def _refuse(message: str, hint: str, field: str) -> NoReturn:
    fail(message, kind="ArgumentError", detail="InvalidArgumentValue", hint=hint, field=field)


def _whole(least: int, most: int) -> tuple[Callable[[Any], bool], str]:
    return (
        lambda value: type(value) is int and least <= value <= most,
        f"a whole number from {least} to {most:,}",
    )


def _one_of(names: tuple[str, ...]) -> tuple[Callable[[Any], bool], str]:
    return (
        lambda value: isinstance(value, str) and value.lower() in names,
        f"one of {', '.join(names)}",
    )


def _corner(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (2, 3)
        and all(type(item) in (int, float) for item in value)
    )


_FLAG: tuple[Callable[[Any], bool], str] = (lambda value: type(value) is bool, "true or false")
_CONFIG: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "range": {},
    "text": {},
    "point": dict.fromkeys(_CORNERS, (_corner, "a list of two or three numbers")),
    "fulltext": {"fulltext.analyzer": _one_of(ANALYSERS), "fulltext.eventually_consistent": _FLAG},
    "vector": {
        "vector.dimensions": _whole(1, DIMENSIONS_MAX),
        "vector.similarity_function": _one_of(SIMILARITIES),
        "vector.quantization.enabled": _FLAG,
        "vector.hnsw.m": _whole(1, 512),
        "vector.hnsw.ef_construction": _whole(1, 3_200),
    },
}
