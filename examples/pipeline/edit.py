"""The edit agent: joins the approved comps of all shots of the brief into the cut.

python -m examples.pipeline.edit DB FOLDER [--follow]
"""

from __future__ import annotations

from examples.pipeline import pictures
from examples.pipeline.stage import PROJECT, Stage, run


def join(stage: Stage, item: str) -> None:
    """Make the cut as soon as every shot is approved; until then, wait for the others."""
    brief = stage.approved(f"kref://{PROJECT}/film.brief")
    shots = [] if brief is None else brief.metadata["shots"]
    assert isinstance(shots, list | tuple)
    found = [stage.approved(f"kref://{PROJECT}/comps/{shot}.comp") for shot in map(str, shots)]
    comps = [one for one in found if one is not None]
    if brief is None or not comps or len(comps) < len(found):
        return
    stage.register(
        "The cut joins " + ", ".join(f"{one.item}?r={one.number}" for one in comps),
        name="cut",
        kind="edit",
        data=pictures.cut([stage.read(one, "picture.ppm") for one in comps]),
        sources=[one.kref for one in comps],
    )


if __name__ == "__main__":
    run("edit", "comp", join)
