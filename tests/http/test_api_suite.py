"""The API under tools of others: a validator of OpenAPI, Schemathesis with every role, and a client
in TypeScript that is generated from the description. `sh scripts/api_suite.sh` installs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.servers.http.api.openapi import document
from tests.http.api_fixtures import ROLES, Served, served

SOURCES = Path(__file__).parent / "typescript"
CACHE = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache" / "doxa-tests")
SUITE = CACHE / "api-suite"
SCHEMATHESIS = SUITE / "venv" / "bin" / "schemathesis"
TSC = SUITE / "node_modules" / ".bin" / "tsc"
GENERATOR = SUITE / "node_modules" / ".bin" / "openapi-typescript"
FULL = int(os.environ.get("DOXA_API_EXAMPLES") or 0)
# What a call may answer when its arguments follow the schema: what the memory does not have, or a
# verb cannot use, is refused by the verb.
EXPECTED = ["2xx", "304", "401", "403", "404", "409", "412", "422", "424"]

needs_schemathesis = pytest.mark.skipif(
    not SCHEMATHESIS.exists(),
    reason="Schemathesis is absent: run sh scripts/api_suite.sh to install it",
)
needs_typescript = pytest.mark.skipif(
    not (TSC.exists() and GENERATOR.exists() and shutil.which("node")),
    reason="TypeScript is absent: run sh scripts/api_suite.sh to install it",
)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


@needs_schemathesis
def test_the_description_is_openapi(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document("1.0")))
    python = SUITE / "venv" / "bin" / "python"
    command = [python, "-m", "openapi_spec_validator", "--schema", "3.1", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    broken = document("1.0") | {"paths": {"no-slash": {"get": {}}}}
    file.write_text(json.dumps(broken))
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


# An empty project is deprecated: a server warns, and where warnings are errors it fails.
@pytest.mark.filterwarnings("default::DeprecationWarning")
@needs_schemathesis
@pytest.mark.parametrize("role", ROLES)
def test_schemathesis_finds_nothing(api: Served, role: str, tmp_path: Path) -> None:
    """Every operation and role: no 500, every answer as described, what breaks the schema is
    refused, and what follows it is not. Without DOXA_API_EXAMPLES, an example for each."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        f"[checks.positive_data_acceptance]\nexpected-statuses = {json.dumps(EXPECTED)}\n"
    )
    phases = "coverage,fuzzing" if FULL else "fuzzing"
    done = subprocess.run(
        [
            SCHEMATHESIS,
            "--config-file",
            config,
            "run",
            f"http://127.0.0.1:{api.server.port}/v1/openapi.json",
            "--checks=all",
            "-H",
            f"Authorization: Bearer {api.tokens[role]}",
            f"--max-examples={FULL or 1}",
            f"--phases={phases}",
            "--seed=1",
            "--continue-on-failure",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert "found" not in done.stdout.split("Test cases:")[1].split("\n\n")[0]
    proof = api.memory.verify()
    assert proof.receipts > 0
    assert api.memory.check() == []


def compiled(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [
        TSC,
        "--strict",
        "--target",
        "es2022",
        "--module",
        "es2022",
        "--moduleResolution",
        "bundler",
        "--lib",
        "es2022,dom",
        folder / name,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@needs_typescript
def test_a_client_in_typescript_is_made_of_the_description(api: Served, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "openapi.json").write_text(json.dumps(document("1.0")))
    for source in SOURCES.glob("*.ts"):
        shutil.copy(source, tmp_path)
    made = subprocess.run(
        [GENERATOR, tmp_path / "openapi.json", "-o", tmp_path / "api.d.ts"],
        cwd=SUITE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    done = compiled(tmp_path, "client.ts")
    assert done.returncode == 0, done.stdout
    node = shutil.which("node")
    assert node is not None
    run = subprocess.run(
        [node, tmp_path / "client.js", api.server.uri, api.tokens["agent"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["summary"] == said["best"] == "The harbour opens at six"
    assert said["facts"] == [["harbour", "opens_at", "06:00"]]
    assert said["tx"] == said["change"] and said["code"].startswith("not_found: ")
    errors = compiled(tmp_path, "wrong.ts")
    assert errors.returncode != 0 and errors.stdout.count("error TS") == 3, errors.stdout
