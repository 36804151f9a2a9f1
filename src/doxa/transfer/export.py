"""Export the whole state of a file as the lines that lines.py draws.

What was erased is in no version, so it is in no export. The log is not exported: an import begins a
log of its own. Vectors and search rows are made again from the text.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from doxa.base.errors import NO_SPACE, DiskFullError, InputError
from doxa.base.values import canonical
from doxa.ingestion.arguments import unusable
from doxa.store import (
    EdgeVersion,
    NodeVersion,
    Reader,
    Store,
    access_records,
    edge_versions,
    last_ids,
    latest_time,
    node_versions,
)
from doxa.store.stages import Stages, no_stages
from doxa.transfer.lines import FORMAT

_TABLES = ("node", "node_past", "edge", "edge_past", "access")  # a line for each row
_REPORTED = 1_000


def export_lines(store: Store, stages: Stages = no_stages) -> Iterator[bytes]:
    """Yield the whole state of one snapshot, one JSON object per line."""
    store.require_whole("an export")
    sha, count = hashlib.sha256(), 0
    with store.read() as snapshot:
        total = 0 if stages is no_stages else _lines_of(snapshot)
        advance = stages("lines", total)
        for line in _state_lines(snapshot):
            sha.update(line)
            sha.update(b"\n")
            count += 1
            if not count % _REPORTED:
                advance(_REPORTED)
            yield line
        advance(count % _REPORTED)
    yield b'{"type":"end","lines":%d,"sha256":"%b"}' % (count, sha.hexdigest().encode())


def state_digest(store: Store) -> str:
    """Return the sha256 of the whole state as an export says it: the `sha256` of its last line.
    Equal exactly if every element, version, time and rule is."""
    store.require_whole("the digest of its state")
    sha = hashlib.sha256()
    with store.read() as snapshot:
        for line in _state_lines(snapshot):
            sha.update(line)
            sha.update(b"\n")
    return sha.hexdigest()


def _lines_of(snapshot: Reader) -> int:
    """Return how many lines the state is."""
    counts = (f"(SELECT count(*) FROM {table})" for table in _TABLES)
    return (
        1 + len(snapshot.catalogue_all()) + int(snapshot.rows(f"SELECT {'+'.join(counts)}")[0][0])
    )


def _state_lines(snapshot: Reader) -> Iterator[bytes]:
    yield b'{"type":"doxa-export","format":%d,"time":%d,"last_node":%d,"last_edge":%d}' % (
        FORMAT,
        latest_time(snapshot),
        *last_ids(snapshot),
    )
    for name, value in snapshot.catalogue_all().items():
        yield b'{"type":"rule","name":%b,"value":%b}' % (canonical(name), canonical(value))
    yield from map(_node_line, node_versions(snapshot))
    yield from map(_edge_line, edge_versions(snapshot))
    for edge, identity, data in access_records(snapshot):
        yield b'{"type":"access","element":"%b","id":%d,"data":%b}' % (
            b"edge" if edge else b"node",
            identity,
            data.encode(),
        )


def _node_line(node: NodeVersion) -> bytes:
    return b'{"type":"node","id":%d,"labels":%b,"properties":%b%b,"born":%d,"since":%d%b}' % (
        node.id,
        node.labels.encode(),
        node.props.encode(),
        _project(node.project),
        node.born,
        node.since,
        _until(node.until),
    )


def _edge_line(edge: EdgeVersion) -> bytes:
    return (
        b'{"type":"edge","id":%d,"edge":%b,"source":%d,"target":%d,"properties":%b%b,"born":%d'
        b',"since":%d%b}'
        % (
            edge.id,
            canonical(edge.type),
            edge.src,
            edge.dst,
            edge.props.encode(),
            _project(edge.project),
            edge.born,
            edge.since,
            _until(edge.until),
        )
    )


def _project(project: str | None) -> bytes:
    return b"" if project is None else b',"project":' + canonical(project)


def _until(until: int | None) -> bytes:
    return b"" if until is None else b',"until":%d' % until


def write_export(store: Store, target: Path, stages: Stages = no_stages) -> int:
    """Write an export to a new file, readable by its owner only, as the memory itself is; one whose
    name ends in .gz is compressed. The file appears under its name when it is complete. Returns the
    number of lines. Raises InputError if the path exists, StoreError or DiskFullError if writing
    fails."""
    _require_absent(target)
    part = None
    try:
        handle, part = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part"
        )  # mode 600
        count = 0
        with os.fdopen(handle, "wb") as file:
            count = _write(store, file, stages, compressed=target.suffix == ".gz")
            file.flush()
            os.fsync(file.fileno())
        _require_absent(target)
        Path(part).rename(target)
        part = None
        return count
    except OSError as error:
        if error.errno in NO_SPACE:
            raise DiskFullError(
                f"There is no room for the export {target}: {error.strerror}.",
                next_step="Free some space, or give a path on another disk.",
                path=str(target),
            ) from None
        raise unusable(target, error) from None
    finally:
        if part is not None:
            with suppress(OSError):
                Path(part).unlink()


def _write(store: Store, file: IO[bytes], stages: Stages, *, compressed: bool) -> int:
    if compressed:  # without a name or time, so that equal states give equal files
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            return _write(store, packed, stages, compressed=False)  # type: ignore[arg-type]
    count = 0
    for line in export_lines(store, stages):
        file.write(line + b"\n")
        count += 1
    return count


def _require_absent(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise InputError(
            f"{target} exists already.",
            next_step="Give a path that does not exist yet.",
            path=str(target),
        )
