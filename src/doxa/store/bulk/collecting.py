"""Holding back Python's collector of cycles while very many objects are made and kept."""

from __future__ import annotations

import gc
import threading

_OBJECTS = 50_000  # new ones before a collection; Python's default is some hundred
_lock = threading.Lock()
_inside = 0
_before = (0, 0, 0)


class many_objects:
    """Let the collector run once in many new objects within the block.

    A statement, or a batch of a file, makes objects that all stay until it ends; with the usual
    threshold a quarter of its time goes into looking for garbage among them. Blocks of several
    threads may overlap; a higher threshold, or none, is left as it is.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _inside, _before
        with _lock:
            if _inside == 0:
                _before = gc.get_threshold()
                if 0 < _before[0] < _OBJECTS:
                    gc.set_threshold(_OBJECTS, *_before[1:])
            _inside += 1

    def __exit__(self, *_: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0 and 0 < _before[0] < _OBJECTS:
                gc.set_threshold(*_before)
