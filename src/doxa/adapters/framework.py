"""Whether a framework is installed in a version that its adapter was written for."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

_NUMBER = re.compile(r"\d+")


class FrameworkMissing(ImportError):
    """A framework is absent, or of a version that the adapter does not support."""


def require(package: str, *, extra: str, oldest: str, below: str) -> str:
    """Return the version of an installed package that an adapter supports.

    `package` is a distribution's name; the versions from `oldest` on and before `below` are
    supported. Raises FrameworkMissing, an ImportError, that names the extra to install.
    """
    install = f"Install it: pip install 'doxa-memory[{extra}]'"
    window = f"{package}>={oldest},<{below}"
    try:
        found = version(package)
    except PackageNotFoundError:
        raise FrameworkMissing(
            f"This adapter needs {window}, which is not installed. {install}", name=package
        ) from None
    if not _parts(oldest) <= _parts(found) < _parts(below):
        raise FrameworkMissing(
            f"This adapter needs {window}; {found} is installed. {install}", name=package
        )
    return found


def _parts(text: str) -> tuple[int, ...]:
    """The numbers of a version's release; 1.2.0rc1 counts as 1.2.0."""
    release = re.match(r"[\d.]*", text)
    assert release is not None
    numbers = [int(number) for number in _NUMBER.findall(release.group())]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
