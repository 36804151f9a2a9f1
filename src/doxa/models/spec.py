"""Parses the name of a model, `provider:model`, as arguments, environment variables and error texts
use it.

    embedder    auto, none, minilm, openai:NAME, ollama:NAME, onnx:FOLDER; NAME#N for N dimensions
    model       auto, none, openai:NAME, ollama:NAME, anthropic:NAME, command:PROGRAM ARGUMENTS
    reranker    auto, none, model, openai:NAME, onnx:FOLDER

The URL of a provider is configured separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import MODEL_SPEC_CHARS_MAX, VECTOR_ITEMS_MAX

ModelRole = Literal["embedder", "model", "reranker"]

# The words of each role that need no name, and its providers that do.
ALONE: Mapping[ModelRole, tuple[str, ...]] = {
    "embedder": ("auto", "none", "minilm"),
    "model": ("auto", "none"),
    "reranker": ("auto", "none", "model"),
}
NAMED: Mapping[ModelRole, tuple[str, ...]] = {
    "embedder": ("openai", "ollama", "onnx"),
    "model": ("openai", "ollama", "anthropic", "command", "command-json"),
    "reranker": ("openai", "onnx"),
}
_WHAT = {"onnx": "FOLDER", "command": "PROGRAM", "command-json": "PROGRAM"}
PROGRAMS = ("command", "command-json")
ENDPOINTS = ("openai", "ollama", "anthropic")


class Spec(msgspec.Struct, frozen=True):
    """A parsed name. `model` is a name, a folder, or empty; `dimensions` is None unless given."""

    provider: str
    model: str = ""
    dimensions: int | None = None

    @property
    def remote(self) -> bool:
        """Whether using it sends texts to an endpoint."""
        return self.provider in ENDPOINTS

    @property
    def runs_program(self) -> bool:
        """Whether using it runs a program. Only the person's own settings may name one (arguments,
        environment, a file of theirs), never a file that comes with a project."""
        return self.provider in PROGRAMS

    def __str__(self) -> str:
        return (f"{self.provider}:{self.model}" if self.model else self.provider) + (
            f"#{self.dimensions}" if self.dimensions else ""
        )


def parse_spec(text: str, role: ModelRole, *, field: str) -> Spec:
    """Parse `text` for a role. Raises InputError, which lists the providers; `field` is the
    argument or variable that `text` came from."""
    if len(text) > MODEL_SPEC_CHARS_MAX or not text.isprintable():
        raise _unknown(text, role, field)
    provider, colon, model = text.strip().partition(":")
    if provider in ALONE[role] and not colon:
        return Spec(provider)
    if provider not in NAMED[role]:
        raise _unknown(text, role, field)
    model, dimensions = model.strip(), None
    if role == "embedder" and provider != "onnx" and "#" in model:
        model, _, number = model.rpartition("#")
        if not (
            number.isascii()
            and number.isdigit()
            and len(number) < 9
            and 0 < int(number) <= VECTOR_ITEMS_MAX
        ):
            raise InputError(
                f"{field} requests {number[:40]!r} dimensions.",
                next_step=f"Give a whole number from 1 to {VECTOR_ITEMS_MAX:,} after #, or no #.",
                field=field,
            )
        dimensions = int(number)
    if not model:
        what = {"FOLDER": "a folder", "PROGRAM": "a program"}.get(
            _WHAT.get(provider, ""), "the name of a model"
        )
        raise InputError(
            f"{field} names {provider} without a model.",
            next_step=f"Give {provider}: and {what}.",
            field=field,
        )
    return Spec(provider, model, dimensions)


def _unknown(text: str, role: ModelRole, field: str) -> InputError:
    known = [
        *ALONE[role],
        *(f"{name}:{_WHAT.get(name, 'NAME')}" for name in NAMED[role]),
    ]
    return InputError(
        f"{text[:80]!r} does not name a known {role}.",
        next_step=f"Use one of {', '.join(known)}.",
        field=field,
    )
