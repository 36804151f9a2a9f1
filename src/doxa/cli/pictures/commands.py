"""Pictures of commands, written to a file that does not exist yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doxa.cli.context import Db, Json, must_be_new, opened
from doxa.cli.output import fields_text, show, walk_text

if TYPE_CHECKING:
    from doxa.app import Memory

Svg = Annotated[
    Path | None, typer.Option(help="Write it as SVG to a new file.", show_default=False)
]


def write_svg(path: Path, text: str) -> dict[str, object]:
    """Write a picture to a new file; return what to show of it."""
    must_be_new(path)
    path.write_text(text, encoding="utf-8")
    return {"path": str(path), "bytes": path.stat().st_size}


def graph(
    kref: Annotated[str, typer.Argument(help="An address.", show_default=False)],
    depth: Annotated[int, typer.Option(min=1, max=3, help="How many edges away.")] = 2,
    svg: Svg = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from doxa.cli.pictures.svg import walk_svg

    with opened(db, as_json, read_only=True) as memory:
        walk = memory.traverse(kref, direction="both", depth=depth)
        if svg is None:
            show(walk, as_json, walk_text)
            return
        krefs = [walk.start, *(step.kref for step in walk.steps)]
        show(write_svg(svg, walk_svg(walk, _texts(memory, krefs))), as_json, fields_text)


def _texts(memory: Memory, krefs: list[str]) -> dict[str, str]:
    """Return what addresses mean, in a line each."""
    rows = memory.read(
        "MATCH (n) WHERE n.kref IN $krefs OPTIONAL MATCH (n)-[:CURRENT]->(r)"
        " RETURN n.kref AS kref, coalesce(r.summary, n.summary, n.text, n.name, '') AS text",
        {"krefs": krefs},
    ).records()
    return {row["kref"]: str(row["text"]) for row in rows}
