"""Imports of frameworks for tests, which are skipped where one is absent."""

from __future__ import annotations

import asyncio
import gc
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

ABSENT = "{} is not installed: run scripts/install_frameworks.py"


def framework(module: str) -> Any:
    """Return a module of a framework; skip the test module that asks for it if there is none.

    Frameworks warn while they are imported, of what is theirs.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != module.partition(".")[0]:
            raise
        pytest.skip(ABSENT.format(module), allow_module_level=True)


def leftovers_collected() -> Iterator[None]:
    """A fixture of a module: close the event loop and collect the connections that a framework left
    open, which would be errors of the last test or of pytest's end."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.get_event_loop_policy().get_event_loop().close()
        asyncio.set_event_loop(None)
        gc.collect()
