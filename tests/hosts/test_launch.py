"""The words by which a host starts doxa from an environment that uvx made, which does not last."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from doxa.hosts.setup import launch


@pytest.mark.parametrize(("installed", "extras"), [(True, "mcp,minilm"), (False, "mcp")])
def test_uvx_brings_the_local_model_where_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool, extras: str
) -> None:
    uvx = tmp_path / "path" / "uvx"
    uvx.parent.mkdir()
    uvx.write_text("#!/bin/sh\n")
    uvx.chmod(0o755)
    monkeypatch.setenv("PATH", str(uvx.parent))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "archive-v0" / "x" / "bin" / "python"))
    spec = importlib.util.spec_from_loader("doxa_memory_minilm", None) if installed else None
    monkeypatch.setattr(launch, "find_spec", lambda name: spec)
    assert launch.launch_words() == (str(uvx), "--from", f"doxa-memory[{extras}]", "doxa")
