"""The lane of the shared log: `DOXA_TEST_DB=postgresql` runs the product's tests on replicas.

    sh scripts/postgres.sh && DOXA_TEST_DB=postgresql .venv/bin/python -m pytest tests/app

Every memory that a test opens by a new path is then the replica of a tenant of its own, at a
PostgreSQL that the lane starts; its file is at that path. So it is in the processes that tests
start (lane_child/sitecustomize.py). A file that the test made otherwise stays a file. `folder` uses
the folder engine. LEFT_OUT says which tests are not about this, and why.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_HERE = Path(__file__).parent
LANE = os.environ.get("DOXA_TEST_DB", "")

_FILES = "it compares or damages the file itself"
_DELETES = "it deletes the file, which its log brings back"
_COPIES = "each case begins with a copy of a file"
LEFT_OUT: dict[str, str] = {
    "tests/agent/test_gate_suite.py::test_a_gate_holds": _COPIES,
    "tests/app/test_app_verbs.py::test_every_verb": "doctor has one more finding, of the replica",
    "tests/app/test_app_models.py::test_opening_reads_no_network_library": (
        "the engine is reached by the network"
    ),
    "tests/app/test_app_models.py::test_the_background_job_outlives_a_time_of_other_writers": (
        "writers of a replica wait for the engine's turn, and not for the file's"
    ),
    "tests/adversary/test_consolidation.py::test_a_bound_session_consolidates_its_projects_alone": (
        "the age of a replica, which changes, is in what it compares"
    ),
    "tests/adversary/test_erasure_verbs.py::test_the_command_line_erases_proves_and_names": (
        "the last trace is one of the engine"
    ),
    "tests/adversary/test_hook_injection.py::test_a_conversation_is_named_like_a_path": _FILES,
    "tests/adversary/test_hostile_exports.py": _FILES,
    "tests/adversary/test_idempotency_keys.py::test_without_a_key_a_write_costs_what_it_did": (
        "it counts statements, and a replica has more"
    ),
    "tests/bench/test_bench_compare.py::test_counts_do_not_grow": (
        "it counts statements, and a replica has more"
    ),
    "tests/bench/test_bench_peers.py::test_a_tiny_run": (
        "several workers serve a file, and no replica"
    ),
    "tests/cli/test_cli_pictures.py::test_long_work_counts_what_it_does": (
        "doctor has one more step, of the replica"
    ),
    "tests/cli/test_cli_start.py::test_opening_a_memory_compiles_few_expressions": (
        "opening a replica compiles some more"
    ),
    "tests/adversary/test_isolation_logins.py::test_a_database_in_use_is_not_dropped": _DELETES,
    "tests/imports/test_resuming.py::test_a_cursor_goes_on_only_in_the_same": _DELETES,
    "tests/crash/": "it kills processes that open a store, not a memory",
    "tests/servers/test_workers.py": "several workers serve a file, and no replica",
    "tests/store/": _FILES,
    "tests/maintenance/": _FILES,
    "tests/replication/": "they open the engines themselves",
}


def begin(config: pytest.Config) -> None:
    """Open every memory through the engine from here on, also in processes that tests start. The
    process that only shares the tests out to others opens none."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return
    url = _engine(config)
    share(url)
    places = [str(_HERE / "lane_child"), str(_HERE.parent)]
    driver = [one for one in sys.path if one.endswith("/postgres/site")]
    given = [one for one in (os.environ.get("PYTHONPATH"),) if one]
    os.environ["PYTHONPATH"] = os.pathsep.join([*places, *driver, *given])
    os.environ["DOXA_LANE_URL"] = url


def share(url: str) -> None:
    """Open every memory of this process through the engine."""
    from doxa.app import file as module

    real = module.MemoryFile.__init__

    def opened(self: Any, given: Any, *rest: Any) -> None:
        real(self, _shared(given, url), *rest)

    module.MemoryFile.__init__ = opened  # type: ignore[method-assign]


def _engine(config: pytest.Config) -> str:
    if LANE == "folder":
        return f"folder:{tempfile.mkdtemp(prefix='doxa-lane-')}"
    import pytest

    from tests.replication.postgres import MISSING, PostgresServer, programs

    if LANE != "postgresql" or programs() is None:
        raise pytest.UsageError(f"DOXA_TEST_DB is postgresql or folder, not {LANE!r}; {MISSING}")
    server = PostgresServer()
    config.add_cleanup(server.close)
    return server.create("lane")


def _shared(given: Any, url: str) -> Any:
    """Return the options with which a memory opens as a replica; as they are if they are wrong, if
    the path is shared already, or if the test made the file."""
    path = getattr(given, "path", None)
    if not isinstance(path, Path) or given.shared is not None or "\0" in str(path):
        return given
    known = Path(f"{path}.heard").exists()
    if (path.exists() and not known) or (given.read_only and not known):
        return given
    if not path.parent.is_dir():
        return given
    tenant = hashlib.sha256(str(path.absolute()).encode("utf-8", "replace")).hexdigest()[:24]
    return replace(given, shared=url, tenant=tenant)


def leave_out(items: list[pytest.Item]) -> None:
    """Skip what is not about a shared log."""
    import pytest

    for item in items:
        for start, why in LEFT_OUT.items():
            if item.nodeid.startswith(start):
                item.add_marker(pytest.mark.skip(reason=why))
