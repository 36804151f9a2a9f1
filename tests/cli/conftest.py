"""The command line's parser is built once: Typer's runner would build it again for each call, which
takes ten times as long as most calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
import typer.testing


@pytest.fixture(scope="session", autouse=True)
def parser_built_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield
