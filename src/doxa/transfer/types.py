"""What an import returns."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.belief.types import Retracted


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import, or of its preview.

    Numbers of new and known exchanges, of revisions, artifacts, bundles and edges created, of what
    was skipped because its element is missing here, it was erased here, or rules are not merged
    (the first are in `places`), of redacted secrets, of other nodes created, and of the beliefs
    among them that are verified or carry a protected tag; the threads and the changes. `losses` are
    beliefs retracted
    because they contradict more entrenched ones, imported or existing. `restored`: the file was
    empty and has the whole state of the export now; `digest` is the sha256 of the export.
    """

    added: int = 0
    known: int = 0
    revisions: int = 0
    artifacts: int = 0
    bundles: int = 0
    edges: int = 0
    passed_over: int = 0
    redacted: int = 0
    threads: tuple[str, ...] = ()
    changes: tuple[int, ...] = ()
    places: tuple[str, ...] = ()
    losses: tuple[Retracted, ...] = ()
    nodes: int = 0
    verified: int = 0
    restored: bool = False
    digest: str = ""
