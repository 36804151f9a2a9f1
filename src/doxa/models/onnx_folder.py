"""Runs an embedder or a cross-encoder from a folder of the user's, as common export tools write it.

    FOLDER/model.onnx         the graph; its weights may be in a second file (model.onnx_data)
    FOLDER/tokenizer.json     the tokenizer
    FOLDER/doxa.json          optional: {"pooling": "mean" | "cls" | "pooled", "output": name,
                              "query_prefix": text, "passage_prefix": text, "tokens_max": number}

The inputs of the graph are `input_ids` and optionally `attention_mask` and `token_type_ids`, each
[1, tokens]. The output of an embedder is [1, tokens, dimensions], which is pooled, or
[1, dimensions]; that of a cross-encoder is one number. Texts run one by one. Nothing is downloaded,
and no code in the folder is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from doxa.base.errors import ModelError
from doxa.base.limits import (
    ONNX_SETTINGS_BYTES_MAX,
    ONNX_TOKENIZER_BYTES_MAX,
    ONNX_TOKENS_DEFAULT,
    ONNX_TOKENS_MAX,
    RERANK_ITEMS_MAX,
)
from doxa.models.runtime import (
    Encoding,
    GraphRun,
    Tokenizer,
    each_text,
    import_runtime,
    open_graph,
)
from doxa.models.texts import check_count, readable
from doxa.models.vectors import finite_scores, first_axis, unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Pooling = Literal["mean", "cls", "pooled"]

_INSTALL_STEP = "Install the runtime: pip install 'doxa-memory[local]'"
_FILES = ("model.onnx", "model.onnx_data", "model.onnx.data", "tokenizer.json", "doxa.json")
_INPUTS = frozenset(("input_ids", "attention_mask", "token_type_ids"))
_ELEMENTS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_PROBE = "How many dimensions does this model have?"


class Settings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The content of doxa.json. By default the graph decides: the mean is taken of an output of
    three axes, and an output of two is used as it is."""

    pooling: Pooling | None = None
    output: str | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    tokens_max: int | None = None


class _Files:
    """An opened folder: the parts that both kinds of model use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.off = f"The model in {folder} cannot be used"
        try:
            self._open()
        except OSError as error:  # no permission, or a name that is too long
            raise self.refusal(f"its files cannot be read ({error.strerror or error})") from error

    def _open(self) -> None:
        runtimes = [
            import_runtime(name, off=self.off, step=_INSTALL_STEP)
            for name in ("onnxruntime", "tokenizers")
        ]
        if not (self.folder / "model.onnx").is_file():
            raise self.refusal("it has no file model.onnx")
        self.settings = self._read_settings()
        self.tokenizer, self.tokens_max = self._open_tokenizer(runtimes[1])
        step = "Export the model again, or install a newer onnxruntime."
        self.graph: GraphRun = open_graph(
            runtimes[0], self.folder / "model.onnx", off=self.off, step=step, name=str(self.folder)
        )
        self._inputs = {port.name: _ELEMENTS.get(port.type) for port in self.graph.get_inputs()}
        unknown = sorted(
            name for name, element in self._inputs.items() if name not in _INPUTS or element is None
        )
        if unknown or "input_ids" not in self._inputs:
            raise self.refusal(
                f"its graph requires {', '.join(unknown)}, which text models do not have"
                if unknown
                else "its graph has no input input_ids"
            )
        self.digest = self._digest()

    def run(self, encoding: Encoding, output: str) -> NDArray[Any]:
        """Return the named output for one text. Raises ModelError."""
        import numpy as np

        # A tokenizer without special tokens has no token for a blank text.
        ids = encoding.ids or [0]
        values = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": encoding.type_ids or [0],
        }
        feed = {
            name: np.array([values[name]], dtype=element) for name, element in self._inputs.items()
        }
        try:
            return self.graph.run([output], feed)[0]
        # onnxruntime raises classes of its own that share no base but Exception.
        except Exception as error:
            raise self.refusal(
                f"its graph failed on a text of {len(ids)} tokens ({error})"
            ) from error

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """Tokenize a text or a pair. Raises ModelError."""
        try:
            return (
                self.tokenizer.encode(text) if pair is None else self.tokenizer.encode(text, pair)
            )
        # tokenizers too raises classes of its own.
        except Exception as error:
            raise self.refusal(
                f"its tokenizer failed on a text of {len(text)} characters ({error})"
            ) from error

    def output(self, *, preferred: str = "") -> str:
        """Return the name of the output to read: that of the settings, else `preferred` if the
        graph has it, else the first."""
        names = [port.name for port in self.graph.get_outputs()]
        wanted = self.settings.output
        if wanted is not None and wanted not in names:
            raise self.refusal(
                f"its graph has no output {wanted[:80]!r}, only {', '.join(names)[:200]}"
            )
        return wanted or (preferred if preferred in names else names[0])

    def refusal(self, reason: str) -> ModelError:
        return ModelError(
            f"{self.off}: {reason}.",
            next_step="Give a folder with model.onnx and tokenizer.json of one text model.",
            path=str(self.folder),
        )

    def _read(self, name: str, bytes_max: int) -> bytes:
        try:
            with (self.folder / name).open("rb") as file:
                content = file.read(bytes_max + 1)
        except OSError as error:
            raise self.refusal(f"{name} cannot be read ({error.strerror or error})") from error
        if len(content) > bytes_max:
            raise self.refusal(f"{name} is longer than {bytes_max:,} bytes")
        return content

    def _read_settings(self) -> Settings:
        if not (self.folder / "doxa.json").exists():
            return Settings()
        try:
            found = msgspec.json.decode(
                self._read("doxa.json", ONNX_SETTINGS_BYTES_MAX), type=Settings
            )
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.refusal(f"doxa.json is not valid ({error})") from error
        if found.tokens_max is not None and not 1 < found.tokens_max <= ONNX_TOKENS_MAX:
            raise self.refusal(
                f"doxa.json has a tokens_max that is not from 2 to {ONNX_TOKENS_MAX:,}"
            )
        return found

    def _open_tokenizer(self, tokenizers: Any) -> tuple[Tokenizer, int]:
        content = self._read("tokenizer.json", ONNX_TOKENIZER_BYTES_MAX)
        try:
            tokenizer = tokenizers.Tokenizer.from_str(content.decode("utf-8"))
            tokenizer.no_padding()
            own = (tokenizer.truncation or {}).get("max_length") or ONNX_TOKENS_DEFAULT
            tokens_max = self.settings.tokens_max or min(own, ONNX_TOKENS_MAX)
            tokenizer.enable_truncation(tokens_max)
        except Exception as error:
            raise self.refusal(f"tokenizer.json is not a tokenizer ({error})") from error
        return tokenizer, tokens_max

    def _digest(self) -> str:
        """Return a digest of all files that the answers depend on, but not of their place."""
        digest = hashlib.blake2b(digest_size=6)
        for name in _FILES:
            path = self.folder / name
            if path.is_file():
                with path.open("rb") as file:
                    digest.update(name.encode() + hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()


class OnnxEmbedder:
    """An embedder from a folder, made by `load_onnx_embedder`. Safe to share between threads."""

    def __init__(self, files: _Files) -> None:
        self._files = files
        self._output = files.output(preferred="sentence_embedding")
        self._pooling: Pooling | None = files.settings.pooling
        self.tokens_max = files.tokens_max
        self.dimensions = self._vector(files.settings.query_prefix + _PROBE, None).shape[0]
        self.name = f"onnx-{files.digest}-{self.dimensions}"
        self.local = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Embedder.embed`."""
        return self._embed(texts, self._files.settings.passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `QuestionEmbedder.embed_queries`."""
        return self._embed(texts, self._files.settings.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"

        def vector(text: str) -> NDArray[np.float32]:
            shown = readable(text)
            if not shown:
                return first_axis(self.dimensions)
            return self._vector(prefix + shown, self.dimensions)

        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, found in zip(vectors, each_text(vector, texts), strict=True):
            row[:] = found
        return vectors

    def _vector(self, text: str, dimensions: int | None) -> NDArray[np.float32]:
        import numpy as np

        found = np.asarray(
            self._files.run(self._files.encode(text), self._output), dtype=np.float64
        )
        pooling = self._pooling or ("mean" if found.ndim == 3 else "pooled")
        if found.ndim != (2 if pooling == "pooled" else 3) or found.shape[0] != 1:
            raise self._files.refusal(
                f"its output {self._output} has the shape {found.shape}, which {pooling} pooling"
                " does not accept"
            )
        # One text has no padding, so every token has the same weight.
        row = (
            found
            if pooling == "pooled"
            else found.mean(axis=1)
            if pooling == "mean"
            else found[:, 0]
        )
        vector: NDArray[np.float32] = unit_rows(
            row, count=1, dimensions=dimensions, model=str(self._files.folder)
        )[0]
        return vector


class OnnxReranker:
    """A cross-encoder from a folder, made by `load_onnx_reranker`. Safe to share between
    threads."""

    texts_max = RERANK_ITEMS_MAX

    def __init__(self, files: _Files) -> None:
        self._files = files
        self._output = files.output(preferred="logits")
        self.name = f"onnx-{files.digest}"
        self._logit("A question", "A text")

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Reranker.score`: the logits of the pairs."""
        check_count(texts, self.texts_max)
        settings, asked = self._files.settings, readable(query)
        logits = each_text(
            lambda text: self._logit(
                settings.query_prefix + asked, settings.passage_prefix + readable(text)
            ),
            texts,
        )
        return finite_scores(logits, count=len(texts), model=str(self._files.folder))

    def _logit(self, query: str, text: str) -> float:
        found = self._files.run(self._files.encode(query, text), self._output)
        if found.size != 1:
            raise self._files.refusal(
                f"its output {self._output} has the shape {found.shape}, and that of a"
                " cross-encoder must be one number"
            )
        return float(found.reshape(-1)[0])


def load_onnx_embedder(folder: Path) -> OnnxEmbedder:
    """Load the embedder of a folder and embed one text to test it. Raises ModelError. Its name
    depends on the files, not on the folder."""
    return OnnxEmbedder(_Files(folder))


def load_onnx_reranker(folder: Path) -> OnnxReranker:
    """Load the cross-encoder of a folder and score one pair to test it. Raises ModelError."""
    return OnnxReranker(_Files(folder))
