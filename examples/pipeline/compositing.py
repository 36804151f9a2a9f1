"""The compositing agent: puts a title on each approved plate.

python -m examples.pipeline.compositing DB FOLDER [--follow]
"""

from __future__ import annotations

from examples.pipeline import pictures
from examples.pipeline.stage import Stage, run


def compose(stage: Stage, item: str) -> None:
    """Compose a shot from its plate as it is approved now."""
    plate = stage.approved(item)
    if plate is None:
        return
    shot = plate.item.rpartition("/")[2].removesuffix(".plate")
    stage.register(
        f"Shot {shot} is composed from plate {plate.number}",
        name=shot,
        kind="comp",
        data=pictures.comp(stage.read(plate, "picture.ppm"), shot),
        sources=[plate.kref],
    )


if __name__ == "__main__":
    run("compositing", "plate", compose)
