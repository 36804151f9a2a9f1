"""Opens ONNX graphs on the processor, with the settings that were measured to suit a small machine
which others share."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_THREADS_MAX

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray


class Port(Protocol):
    """An input or output of a graph: its name, its element type as "tensor(int64)", its shape with
    None or a name for what is free."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...


class GraphRun(Protocol):
    """An opened graph, as onnxruntime gives it."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: dict[str, NDArray[Any]], /
    ) -> Sequence[NDArray[Any]]: ...
    def get_inputs(self) -> Sequence[Port]: ...
    def get_outputs(self) -> Sequence[Port]: ...


class Encoding(Protocol):
    @property
    def ids(self) -> list[int]: ...
    @property
    def type_ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    def encode(self, text: str, pair: str | None = None, /) -> Encoding: ...


def import_runtime(name: str, *, off: str, step: str) -> ModuleType:
    """A package of the extra `local`. Raises ModelError that begins with `off` and goes on with
    `step`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelError(
            f"{off}: the package {name} cannot be imported ({error}).", next_step=step, package=name
        ) from error


def open_graph(
    onnxruntime: ModuleType, model: Path | bytes, *, off: str, step: str, name: str
) -> GraphRun:
    """The graph of a file or its bytes. Raises ModelError that begins with `off` and goes on with
    `step`."""
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(MODEL_THREADS_MAX, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    # The arena keeps the largest buffers it ever needed: 390 MB for no gain when texts run one by
    # one.
    options.enable_cpu_mem_arena = False
    # Idle threads would spin for the next operator and take the processor from whoever shares it:
    # twice as slow on two busy cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        graph: GraphRun = onnxruntime.InferenceSession(
            str(model) if isinstance(model, Path) else model,
            options,
            providers=["CPUExecutionProvider"],
        )
    # onnxruntime raises classes of its own that share no base but Exception.
    except Exception as error:
        raise ModelError(
            f"{off}: onnxruntime {onnxruntime.__version__} cannot open the model ({error}).",
            next_step=step,
            model=name,
        ) from error
    return graph
