"""What starting costs: the import, the command line, a recall from the command line, the MCP
server. Each in fresh processes, disk warm, modules compiled, as an installed package has them; and
as a ratio to what the interpreter, numpy and the MCP library cost in the same run."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import doxa
from bench.report import Report
from bench.texts import questions_of, turns_of
from bench.timing import Spread, repeated, spread
from doxa.models import Embedder

_STORE_TURNS = 2_000
_WAIT_S = 60
_BASELINES = {"interpreter": "python.start", "numpy": "python.import_numpy"}


class Skipped(Exception):
    """A measurement that cannot be taken here, with the reason."""


def measure_processes(report: Report, embedder: Embedder | None, *, repetitions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        question = _fill(path, embedder, seed=report.seed)
        environment = _installed(os.environ, Path(folder)) | {"DOXA_DB": str(path)}
        steps = {
            "python.start": ("bare interpreter", [sys.executable, "-c", "pass"]),
            "python.import_numpy": (
                "interpreter and `import numpy, apsw`",
                [sys.executable, "-c", "import numpy, apsw"],
            ),
            "import": ("interpreter and `import doxa`", [sys.executable, "-c", "import doxa"]),
            "import_open": (
                "interpreter and `import doxa; doxa.open`",
                [sys.executable, "-c", "import doxa; doxa.open"],
            ),
            "cli.version": ("`doxa --version`", [*_command(), "--version"]),
            "cli.help": ("`doxa --help`", [*_command(), "--help"]),
            "python.import_mcp": (
                "interpreter and `import mcp`",
                [sys.executable, "-c", "import mcp"],
            ),
            "cli.recall": (
                f"`doxa recall … --json`, {_STORE_TURNS:,} turns, model included",
                [*_command(), "recall", question, "--json"],
            ),
        }
        found = {
            key: _measured(partial(_processes, command, environment, repetitions))
            for key, (_, command) in steps.items()
        }
        steps["mcp_to_tools"] = ("`doxa mcp` from start to its list of tools", [])
        found["mcp_to_tools"] = _measured(
            partial(_mcp, [*_command(), "mcp"], environment, repetitions)
        )
    rows = [[name, *_cells(report, key, found)] for key, (name, _) in steps.items()]
    report.table(
        f"Starting (fresh processes, {repetitions} each)",
        ["what", "p50 ms", "p95 ms", "× bare interpreter", "× `import numpy, apsw`"],
        rows,
    )


def _installed(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment with compiled modules in a folder of their own: a checkout may have
    none, an installed package always has."""
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def _fill(path: Path, embedder: Embedder | None, *, seed: int) -> str:
    turns = list(turns_of(_STORE_TURNS, seed=seed))
    with doxa.open(path, embedder=embedder, background=False) as memory:
        memory.ingest(turns, extract=False)
        memory.embed()
    return questions_of(turns, 1, seed=seed)[0]


def _command() -> list[str]:
    found = shutil.which("doxa")
    return [found] if found else [sys.executable, "-c", "from doxa.cli import main; main()"]


def _measured(measure: Callable[[], Spread]) -> Spread | str:
    try:
        return measure()
    except Skipped as reason:
        return f"skipped: {reason}"


def _cells(report: Report, key: str, found: Mapping[str, Spread | str]) -> list[str]:
    """The figures of a row, and their ratios to the two baselines of the same run."""
    result = found[key]
    if isinstance(result, str):
        return [result, "", "", ""]
    report.put(f"start.{key}.p50_ms", result.p50_ms)
    report.put(f"start.{key}.p95_ms", result.p95_ms)
    cells = [f"{result.p50_ms:.0f}", f"{result.p95_ms:.0f}"]
    for name, baseline in _BASELINES.items():
        base = found[baseline]
        if isinstance(base, str):
            cells.append("")
            continue
        ratio = result.p50_ms / base.p50_ms
        report.put(f"start.{key}.ratio_to_{name}", ratio)
        cells.append(f"{ratio:.1f}")
    return cells


def _processes(command: Sequence[str], environment: dict[str, str], repetitions: int) -> Spread:
    def once() -> None:
        done = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=_WAIT_S, text=True
        )
        if done.returncode:
            raise Skipped(_last_line(done.stderr) or f"exit code {done.returncode}")

    return repeated(once, repetitions)


def _last_line(text: str) -> str:
    lines = [line.strip(" │╭╰─╮╯") for line in text.splitlines() if line.strip(" │╭╰─╮╯")]
    return lines[-1][:120] if lines else ""


def _mcp(command: Sequence[str], environment: dict[str, str], repetitions: int) -> Spread:
    if importlib.util.find_spec("mcp") is None:
        raise Skipped("the package mcp is not installed")
    try:
        asyncio.run(_listed_s(command, environment))
        return spread([asyncio.run(_listed_s(command, environment)) for _ in range(repetitions)])
    except Exception as error:  # the client raises classes of several libraries, in groups
        raise Skipped(f"the server did not answer ({type(error).__name__})") from error


async def _listed_s(command: Sequence[str], environment: dict[str, str]) -> float:
    """The time from the start of the process to its list of tools. What it takes to end is not in
    it."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    begun = time.perf_counter()
    server = StdioServerParameters(command=command[0], args=list(command[1:]), env=environment)
    with Path(os.devnull).open("w") as nowhere:
        async with (
            asyncio.timeout(_WAIT_S),
            stdio_client(server, nowhere) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            assert (await session.list_tools()).tools
            listed_s = time.perf_counter() - begun
    return listed_s
