"""Fetch the libraries of the page from npm, pinned, into the package, and write their manifest.

    python scripts/vendor_page.py

A file is what its package publishes, except that the names of other packages in its imports become
paths, since browsers resolve no names without an inline script. The manifest has the hash of the
file, and that of the published one, which the test restores by undoing these replacements.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src/doxa/servers/http/page/static/vendor"
IMPORTS = {
    'from"preact"': 'from"./preact.js"',
    'from"preact/hooks"': 'from"./preact-hooks.js"',
    'from"@preact/signals-core"': 'from"./signals-core.js"',
}
# name here: package, version, licence, the file in the package
FILES = {
    "preact.js": ("preact", "11.2.0", "MIT", "dist/preact.mjs"),
    "preact-hooks.js": ("preact", "11.2.0", "MIT", "hooks/dist/hooks.mjs"),
    "preact-signals.js": ("@preact/signals", "2.11.4", "MIT", "dist/signals.mjs"),
    "signals-core.js": ("@preact/signals-core", "1.14.5", "MIT", "dist/signals-core.mjs"),
    "htm.js": ("htm", "3.1.1", "Apache-2.0", "dist/htm.mjs"),
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    manifest = []
    for name, (package, version, licence, inside) in FILES.items():
        published, licence_text = fetched(package, version, inside)
        text = published.decode()
        for before, after in IMPORTS.items():
            text = text.replace(before, after)
        licence_file = f"{package.rpartition('/')[2]}.LICENSE.txt"
        (FOLDER / name).write_text(text)
        (FOLDER / licence_file).write_bytes(licence_text)
        manifest.append(
            {
                "file": name,
                "package": package,
                "version": version,
                "licence": licence,
                "licence_file": licence_file,
                "published_as": inside,
                "sha256": digest(text.encode()),
                "published_sha256": digest(published),
            }
        )
    made = {"imports": IMPORTS, "files": manifest}
    (FOLDER / "manifest.json").write_text(json.dumps(made, indent=2) + "\n")


def fetched(package: str, version: str, inside: str) -> tuple[bytes, bytes]:
    """Return a file of a package, and its licence."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as found:
            return read(found, f"package/{inside}"), read(found, "package/LICENSE")


def read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None, name
    return member.read()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()
