"""The image agent: paints a plate for each shot of an approved brief.

python -m examples.pipeline.image DB FOLDER [--follow]
"""

from __future__ import annotations

from examples.pipeline import pictures
from examples.pipeline.stage import Stage, run


def paint(stage: Stage, item: str) -> None:
    """Paint the plates of the brief as it is approved now."""
    brief = stage.approved(item)
    if brief is None:  # the approval was taken back meanwhile
        return
    mood, shots = str(brief.metadata["mood"]), brief.metadata["shots"]
    assert isinstance(shots, list | tuple)
    for shot in map(str, shots):
        stage.register(
            f"The plate of shot {shot} is painted, {mood}",
            name=shot,
            kind="plate",
            data=pictures.plate(shot, mood),
            sources=[brief.kref],
        )


if __name__ == "__main__":
    run("image", "brief", paint)
