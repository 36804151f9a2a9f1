"""Writes what is shipped of the local model's noise: run it after a change of the texts in
src/doxa/recall/lanes/noise_texts.py or of the model.

    python scripts/noise.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import doxa
from doxa.recall.lanes.noise import SHIPPED, measure_noise, texts_id
from doxa.recall.lanes.noise_texts import TEXTS


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "noise.db", background=False) as memory,
    ):
        embedder = memory.embedder
        if embedder is None:
            print("The local model is not installed.", file=sys.stderr)
            return 1
        found: dict[str, object] = {"embedder": embedder.name, "texts": texts_id()}
        for name, texts in TEXTS.items():
            noise = measure_noise(embedder.embed(texts.questions), embedder.embed(texts.statements))
            found[f"{name}.question"] = noise.question.astype(np.float16)
            found[f"{name}.statement"] = noise.statement.astype(np.float16)
            found[f"{name}.scale"] = np.array([noise.mean, noise.spread])
        np.savez_compressed(SHIPPED, **found)  # type: ignore[arg-type]  # its stub names one keyword
    print(f"{SHIPPED}: {SHIPPED.stat().st_size:,} bytes, {embedder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
