"""A release: the same bytes from two checkouts, the right files in the wheel, and a manifest and
`server.json` that follow the rules of their formats. The rules in `packaging/schemas` are our own
statement of what doxa uses of them; `scripts/mcpb.sh` asks the official tool."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from doxa.servers.mcp.tools import TOOLS
from scripts.release import build_bundle, build_wheel, invalid, locked, problems, version

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
AT = 1_700_000_000


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel of this checkout, and that of a copy with other times, modes, umask and what an
    earlier build left in it."""
    folder = tmp_path_factory.mktemp("release")
    copy = folder / "elsewhere"
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    left = copy / "build" / "lib" / "doxa" / "removed_long_ago.py"
    left.parent.mkdir(parents=True)
    left.write_text("")
    cached = copy / "src" / "doxa" / "__pycache__"
    cached.mkdir(exist_ok=True)
    (cached / "demo.cpython-311.pyc").write_bytes(b"")
    for path in copy.rglob("*"):
        path.chmod(path.stat().st_mode | 0o020)
        os.utime(path, (AT - 5_000_000, AT - 5_000_000))
    one = build_wheel(ROOT, folder / "one", at=AT)
    before = os.umask(0o002)
    try:
        return one, build_wheel(copy, folder / "two", at=AT)
    finally:
        os.umask(before)


def test_two_checkouts_give_the_same_wheel(wheels: tuple[Path, Path]) -> None:
    assert digest(wheels[0]) == digest(wheels[1])


PAGE = ROOT / "src" / "doxa" / "servers" / "http" / "page" / "static"


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(
    wheels: tuple[Path, Path],
) -> None:
    with zipfile.ZipFile(wheels[0]) as made:
        names = set(made.namelist())
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "doxa").rglob("*")
        if path.suffix in (".py", ".jsonl", ".npz", ".typed", ".json")
        or (path.is_file() and PAGE in path.parents)
    }
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert any(name.startswith("doxa/sample/") for name in names)


def test_the_wheel_can_be_asked_for_the_local_model_by_name(wheels: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(wheels[0]) as made:
        info = f"doxa_memory-{version(ROOT)}.dist-info"
        about = made.read(f"{info}/METADATA").decode()
        scripts = made.read(f"{info}/entry_points.txt").decode()
    weights = (ROOT / "weights" / "pyproject.toml").read_text()
    assert 'name = "doxa-memory-minilm"' in weights
    assert 'Requires-Dist: doxa-memory-minilm>=1; extra == "minilm"' in about
    assert "doxa = doxa.cli:main" in scripts and "doxa-memory = doxa.cli:main" in scripts


def test_two_bundles_are_the_same_and_hold_what_the_manifest_names(tmp_path: Path) -> None:
    one, two = (build_bundle(ROOT, tmp_path / name, at=AT) for name in ("one", "two"))
    assert digest(one) == digest(two)
    with zipfile.ZipFile(one) as made:
        names = made.namelist()
        manifest = json.loads(made.read("manifest.json"))
    assert sorted(names) == ["LICENSE", "manifest.json", "pyproject.toml", "server.py"]
    assert manifest["server"]["entry_point"] in names


def test_manifest_server_json_and_versions_are_right() -> None:
    assert list(problems(ROOT)) == []


def test_the_manifest_names_the_tools_of_the_core_profile() -> None:
    manifest = json.loads((PACKAGING / "mcpb" / "manifest.json").read_text())
    assert [tool["name"] for tool in manifest["tools"]] == [tool["name"] for tool in TOOLS]
    for stated, tool in zip(manifest["tools"], TOOLS, strict=True):
        assert tool["description"].startswith(stated["description"].rstrip("."))


def spoiled(name: str, *path: str | int, value: Any = None) -> Any:
    """A document with one value changed, or with `value` None taken out."""
    document = json.loads((PACKAGING / name).read_text())
    *outer, last = path
    inside = document
    for step in outer:
        inside = inside[step]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("manifest_version",), "0.9"),
        (("name",), None),
        (("author",), "somebody"),
        (("server", "type"), "python3"),
        (("server", "mcp_config", "command"), None),
        (("server", "mcp_config", "shell"), True),
        (("user_config", "project", "title"), None),
        (("compatibility", "platforms"), ["amiga"]),
        (("colour",), "red"),
    ],
)
def test_a_wrong_manifest_is_found(path: tuple[str, ...], value: Any) -> None:
    document = spoiled("mcpb/manifest.json", *path, value=value)
    assert list(invalid(document, PACKAGING / "schemas" / "mcpb-manifest.schema.json"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "doxa"),
        (("description",), "x" * 101),
        (("version",), "latest"),
        (("packages",), []),
        (("packages", 0, "version"), ">=0.1"),
        (("packages", 0, "registryType"), "apt"),
        (("packages", 0, "transport"), {"type": "pipe"}),
        (("packages", 0, "packageArguments", 0, "value"), None),
        (("packages", 0, "environmentVariables", 0, "name"), None),
    ],
)
def test_a_wrong_server_json_is_found(path: tuple[str | int, ...], value: Any) -> None:
    document = spoiled("server.json", *path, value=value)
    assert list(invalid(document, PACKAGING / "schemas" / "server.schema.json"))


def test_every_dependency_of_the_project_is_locked() -> None:
    names = {name.lower() for name in locked(ROOT)}
    assert len(names) > 20
    assert {"apsw", "msgspec", "numpy", "pystemmer", "typer", "rich", "mcp", "tzdata"} <= names


def test_the_lock_holds_for_the_first_python_that_is_supported() -> None:
    """Debian 12 has Python 3.11.2, for which redis needs a package that later ones do not."""
    lock = (ROOT / "requirements" / "run.txt").read_text()
    assert "python_full_version < '3.11.3'" in lock
    assert "--python-version 3.11.0" in (ROOT / "Makefile").read_text()
