"""The person: states the brief, and approves what the agents made. Only an operator may.

python -m examples.pipeline.person brief DB MOOD SHOT...
python -m examples.pipeline.person approve DB FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import doxa
from examples.pipeline.stage import APPROVED, PROJECT, Stage

BRIEF = f"kref://{PROJECT}/film.brief"


def state_brief(memory: doxa.Memory, mood: str, shots: list[Any]) -> None:
    """State which shots the film has, and approve it."""
    made = memory.remember(
        f"The film is {mood} and has the shots {', '.join(shots)}",
        name="film",
        kind="brief",
        metadata={"mood": mood, "shots": shots},
    )
    memory.tag(made.kref, APPROVED)


def approve(memory: doxa.Memory, folder: Path) -> list[str]:
    """Approve every output that is not, after comparing its file. Returns what was approved."""
    stage, done = Stage(memory, folder), []
    try:
        outputs = memory.get(f"kref://{PROJECT}/outputs.bundle")
    except doxa.NotFoundError:  # nothing was made yet
        return []
    assert isinstance(outputs, doxa.Bundle)
    for member in outputs.members:
        current = memory.get(member.kref)
        assert isinstance(current, doxa.Revision)
        if APPROVED not in current.tags:
            stage.read(current, "picture.ppm")  # nobody approves what is not there
            memory.tag(current.kref, APPROVED)
            done.append(current.kref)
    return done


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description="The person of the pipeline.")
    commands = parser.add_subparsers(dest="command", required=True)
    brief = commands.add_parser("brief", help="state the brief and approve it")
    brief.add_argument("db")
    brief.add_argument("mood")
    brief.add_argument("shots", nargs="+")
    approval = commands.add_parser("approve", help="approve what was made")
    approval.add_argument("db")
    approval.add_argument("folder", type=Path)
    given = parser.parse_args()
    with doxa.open(
        given.db, actor="director", role="operator", project=PROJECT, embedder=None
    ) as memory:
        if given.command == "brief":
            state_brief(memory, given.mood, given.shots)
        else:
            for kref in approve(memory, given.folder):
                print(kref)


if __name__ == "__main__":
    main()
