"""The build backend of doxa-memory-minilm: writes `model.onnx` and `tokenizer.json` into the
package's folder and lets setuptools make the wheel.

The build is deterministic. Its digest is pinned here and in `doxa.models.minilm`, which refuses
every other file; a file that is already there with that digest is kept. The source of the weights
can be named with `--config-settings source=PATH`; see `source.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setuptools import build_meta

from minilm_builder.graph import build_model
from minilm_builder.safetensors import read_safetensors
from minilm_builder.source import TOKENIZER_SHA256, SourceError, read_source

MODEL_SHA256 = "8a98d7e50b12b90a6bc4bea09ea39a1f66e857b36a6477f009d2c2d9ab747722"
FOLDER = Path(__file__).parents[1] / "data" / "doxa_memory_minilm"

_DIGESTS = {"model.onnx": MODEL_SHA256, "tokenizer.json": TOKENIZER_SHA256}

get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel into `wheel_directory` and return its file name (PEP 517)."""
    source = (config_settings or {}).get("source")
    try:
        write_files(FOLDER, source=Path(source) if source else None)
    except SourceError as error:
        raise SystemExit(f"doxa-memory-minilm: {error}") from None
    return str(build_meta.build_wheel(wheel_directory, None, metadata_directory))


def write_files(folder: Path, *, source: Path | None = None) -> None:
    """Write both files into `folder`, unless they are there. Raises SourceError."""
    if all(_digest(folder / name) == digest for name, digest in _DIGESTS.items()):
        return
    published = read_source(source)
    model = build_model(read_safetensors(published.weights))
    # The rounding of weights needs IEEE float32 division; a processor without it builds another
    # file.
    if hashlib.sha256(model).hexdigest() != MODEL_SHA256:
        raise SourceError("The model built on this machine differs from the released one.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_bytes(published.tokenizer)


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
