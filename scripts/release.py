"""Write the files of a release from the checkout, the same bytes on every machine.

    python scripts/release.py check            compare versions, validate manifest and server.json
    python scripts/release.py wheel DIST       the wheel
    python scripts/release.py bundle DIST      the MCPB bundle
    python scripts/release.py all DIST --sbom-tool PATH     these and the bill of materials

The wheel is built from a copy of the files that belong to it, with one time for all of them
(SOURCE_DATE_EPOCH, else that of the last commit) and one umask: what an earlier build left in the
folder, or who made the checkout, has no part in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_WHEEL = ("pyproject.toml", "README.md", "LICENSE", "src/doxa")
_LEFT_OUT = ("__pycache__", "*.pyc", "*.egg-info")
_MCPB = ("manifest.json", "pyproject.toml", "server.py")
_DAY = 86_400


def epoch() -> int:
    """Return the time of everything in a release, in seconds: SOURCE_DATE_EPOCH, else that of the
    last commit, else the first that a zip file can hold."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if said:
        return int(said)
    done = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True
    )
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else 3_652 * _DAY


def build_wheel(root: Path, dist: Path, *, at: int) -> Path:
    """Build the wheel of a checkout into `dist` and return its path."""
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "source"
            source.mkdir()
            for name in _WHEEL:
                _copy(root / name, source / name)
            made = Path(folder) / "made"
            words = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(made), str(source)]
            subprocess.run(
                [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *words],
                env=os.environ | {"SOURCE_DATE_EPOCH": str(at)},
                check=True,
            )
            (wheel,) = made.glob("*.whl")
            dist.mkdir(parents=True, exist_ok=True)
            return Path(shutil.copyfile(wheel, dist / wheel.name))
    finally:
        os.umask(before)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        ignored = shutil.ignore_patterns(*_LEFT_OUT)
        # without modes: data would keep those of the checkout
        shutil.copytree(source, target, ignore=ignored, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(source, target)


def build_bundle(root: Path, dist: Path, *, at: int) -> Path:
    """Zip the MCPB bundle into `dist` and return its path."""
    dist.mkdir(parents=True, exist_ok=True)
    path = dist / f"doxa-{version(root)}.mcpb"
    moment = time.gmtime(max(at, 3_652 * _DAY))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in (*_MCPB, "LICENSE"):
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            source = root / name if name == "LICENSE" else root / "packaging" / "mcpb" / name
            made.writestr(entry, source.read_bytes())
    return path


def build_sbom(root: Path, dist: Path, *, tool: Path) -> Path:
    """Write the CycloneDX bill of materials of what `requirements/run.txt` locks. The tool checks
    it against CycloneDX's schema."""
    path = dist / f"doxa-memory-{version(root)}.cdx.json"
    words = [
        "requirements",
        str(root / "requirements" / "run.txt"),
        "--pyproject",
        str(root / "pyproject.toml"),
        "--mc-type",
        "application",
        "--output-reproducible",
        "--spec-version",
        "1.6",
        "--validate",
        "--output-file",
        str(path),
    ]
    subprocess.run([str(tool), *words], env=os.environ | {"PYTHONWARNINGS": "ignore"}, check=True)
    listed = {one["name"]: one["version"] for one in json.loads(path.read_text())["components"]}
    if listed != locked(root):
        raise SystemExit("The bill of materials differs from requirements/run.txt.")
    return path


def locked(root: Path) -> dict[str, str]:
    """Return the versions in `requirements/run.txt` by package."""
    text = (root / "requirements" / "run.txt").read_text()
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", text, re.MULTILINE))


def version(root: Path) -> str:
    """Return the version in `pyproject.toml`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def _version_in(module: Path) -> str:
    found = re.search(r'^__version__ = "([^"]+)"$', module.read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def problems(root: Path) -> Iterator[str]:
    """Yield what is wrong with the manifest, `server.json` and the versions."""
    packaging = root / "packaging"
    manifest = json.loads((packaging / "mcpb" / "manifest.json").read_text())
    server = json.loads((packaging / "server.json").read_text())
    bundled = tomllib.loads((packaging / "mcpb" / "pyproject.toml").read_text())["project"]
    yield from invalid(manifest, packaging / "schemas" / "mcpb-manifest.schema.json")
    yield from invalid(server, packaging / "schemas" / "server.schema.json")
    own = version(root)
    stated = {
        "doxa/__init__.py": _version_in(root / "src" / "doxa" / "__init__.py"),
        "manifest.json": manifest["version"],
        "server.json": server["version"],
        "the package in server.json": server["packages"][0]["version"],
        "the bundle's pyproject.toml": bundled["version"],
        "what the bundle installs": bundled["dependencies"][0].rpartition("==")[2],
    }
    for where, found in stated.items():
        if found != own:
            yield f"{where} has version {found}, pyproject.toml {own}."
    if f"<!-- mcp-name: {server['name']} -->" not in (root / "README.md").read_text():
        yield f"README.md lacks the comment mcp-name: {server['name']}, the registry's proof."


def invalid(document: Any, schema: Path) -> Iterator[str]:
    """Yield where a document differs from a JSON schema."""
    from jsonschema import Draft202012Validator

    rules = json.loads(schema.read_text())
    Draft202012Validator.check_schema(rules)
    for error in Draft202012Validator(rules).iter_errors(document):
        yield f"{schema.name}: {error.json_path}: {error.message}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("check", "wheel", "bundle", "all"))
    parser.add_argument("dist", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--sbom-tool", type=Path, help="the program cyclonedx-py")
    given = parser.parse_args()
    found = list(problems(ROOT)) if given.what in ("check", "all") else []
    if found:
        sys.stderr.write("\n".join(found) + "\n")
        return 1
    made: list[Path] = []
    if given.what in ("wheel", "all"):
        made.append(build_wheel(ROOT, given.dist, at=epoch()))
    if given.what in ("bundle", "all"):
        made.append(build_bundle(ROOT, given.dist, at=epoch()))
    if given.what == "all":
        if given.sbom_tool is None:
            parser.error("all needs --sbom-tool")
        made.append(build_sbom(ROOT, given.dist, tool=given.sbom_tool))
    for path in made:
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
