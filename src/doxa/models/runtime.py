"""Opens ONNX graphs on the processor, with settings measured for a small, shared machine.

A graph computes one text in one thread, and several texts in several threads (`each_text`): two
threads for the same short text spend more on waiting for each other than they gain.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_THREADS_MAX
from doxa.base.run_slot import use_any_processor

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray


_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


class Port(Protocol):
    """An input or output of a graph: its name, its element type such as "tensor(int64)", and its
    shape with None or a name for a free dimension."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...


class GraphRun(Protocol):
    """An opened graph of onnxruntime."""

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
    """Import a package of the extra `local`. Raises ModelError, whose message begins with `off` and
    whose next step is `step`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelError(
            f"{off}: the package {name} cannot be imported ({error}).", next_step=step, package=name
        ) from error


def open_graph(
    onnxruntime: ModuleType, model: Path | bytes, *, off: str, step: str, name: str
) -> GraphRun:
    """Open the graph in a file or in bytes. Raises ModelError, whose message begins with `off` and
    whose next step is `step`."""
    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    # The arena keeps its largest buffers: 390 MB, without any gain when texts run one by one.
    options.enable_cpu_mem_arena = False
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


def each_text(work: Callable[[str], _Made], texts: Sequence[str]) -> list[_Made]:
    """Return what a model makes of each text, in order, some at the same time. Raises the error of
    the first text that has one."""
    if len(texts) > 1:
        use_any_processor()
    return in_threads(work, texts, threads=MODEL_THREADS_MAX)


def in_threads(
    work: Callable[[_Given], _Made], items: Sequence[_Given], *, threads: int
) -> list[_Made]:
    """Return `work` of each item, in order, computed by this thread and up to `threads` - 1 others,
    no more than it may use processors. Raises the error of the first item that has one; what nobody
    began yet is then left."""
    made: dict[int, _Made] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(range(len(items)))  # each number goes to one thread

    def run() -> None:
        while not errors:
            number = next(waiting, None)
            if number is None:
                return
            try:
                made[number] = work(items[number])
            except Exception as error:  # raised by the thread that asked
                errors[number] = error

    def run_elsewhere() -> None:
        try:
            run()
        except BaseException as error:  # such as a panic of a library
            errors[-1] = error

    others: list[threading.Thread] = []
    try:
        for _ in range(min(threads, processors(), len(items)) - 1):
            other = threading.Thread(target=run_elsewhere, name="doxa-in-threads")
            with suppress(RuntimeError):  # the system, or an interpreter that ends, gives no more
                other.start()
                others.append(other)
        run()
        for other in others:
            other.join()
    except BaseException as error:  # this thread is interrupted: the others stop after their item
        errors[-1] = error
        for other in others:
            other.join()
    if errors:
        raise errors[min(errors)]
    return [made[number] for number in range(len(items))]


def processors() -> int:
    """Return how many processors this thread may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
