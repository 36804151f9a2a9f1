"""Imports of frameworks for tests, which are skipped where one is absent."""

from __future__ import annotations

import importlib
import warnings
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
