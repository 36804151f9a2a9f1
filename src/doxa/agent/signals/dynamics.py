"""Dynamics: a diagnostic of how an agent's turns follow each other. Nothing here is a fact, and
nothing of it reaches a prompt or decides what is kept.

    25 features of a turn, standardised by running means and clipped to ±3
      └─ encoder 25 → 128 → 64 (ReLU, tanh), learnt online by reconstructing the features
           └─ predictor 64 → 128 → 64: the next latent, less this one, learnt online
                └─ surprise: the mean squared error of the prediction that was made a turn before
                     └─ percentile: its rank among the last SURPRISES_KEPT, ties broken evenly

The rank of a surprise among exchangeable ones is uniform on [0, 1], whatever their scale: so the
percentile is calibrated without a distribution. The first SURPRISES_MIN turns have none.

Deterministic: the same features in the same order under the same seed give the same numbers on the
same machine. The log of features is the record; the weights are a copy of what follows from it,
saved now and then (`save`), and rebuilt from the log where they are gone.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from doxa.agent.signals.observation import FEATURES, Observation

LATENT, HIDDEN = 64, 128
RATE, MOMENTUM, CLIP = 0.01, 0.9, 1.0
SURPRISES_KEPT, SURPRISES_MIN = 200, 50
_RUNNING = 0.01  # the least weight of a turn in the running means

Vector = npt.NDArray[np.floating[Any]]


class Dynamics:
    """The learner of one agent. `observe` takes the features of a turn, in the order of FEATURES,
    and returns what it showed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        size = len(FEATURES)
        self._weights = [
            self._layer(HIDDEN, size),
            self._layer(LATENT, HIDDEN),
            self._layer(size, LATENT),
            self._layer(HIDDEN, LATENT),
            self._layer(LATENT, HIDDEN) * np.float32(0.1),
        ]
        self._biases = [np.zeros(len(one), np.float32) for one in self._weights]
        self._moving = [np.zeros_like(one) for one in (*self._weights, *self._biases)]
        self._mean = np.zeros(size, np.float64)
        self._square = np.ones(size, np.float64)
        self._expected: Vector | None = None
        self._held: tuple[Vector, Vector] | None = None
        self._surprises: list[float] = []
        self.updates = 0

    def observe(self, features: Sequence[float]) -> Observation:
        """Take one turn: compare it with what was expected, learn from it, expect the next."""
        values = self._standard(np.asarray(features, np.float64))
        hidden, latent = self._encode(values)
        surprise = percentile = loss = None
        if self._expected is not None:
            error = latent - self._expected
            surprise = float(np.mean(error * error))
            percentile = self._percentile(surprise)
            loss = self._learn_prediction(error)
        rebuilt = self._learn_encoding(values, hidden, latent)
        self._expect(self._encode(values)[1])
        self.updates += 1
        return Observation(surprise, percentile, rebuilt, loss, self.updates)

    def latent(self, features: Sequence[float]) -> Vector:
        """Return the 64 numbers that stand for a turn now, without learning from it."""
        deviation = np.sqrt(np.maximum(self._square - self._mean**2, 1e-6))
        scaled = (np.asarray(features, np.float64) - self._mean) / deviation
        return self._encode(np.clip(scaled, -3, 3).astype(np.float32))[1]

    def save(self, path: Path, read: int) -> None:
        """Write the learner, and how many bytes of the log it has learnt from, under another name
        and then under its own."""
        held = {f"w{n}": one for n, one in enumerate((*self._weights, *self._biases))}
        held |= {f"m{n}": one for n, one in enumerate(self._moving)}
        if self._held is not None and self._expected is not None:
            held |= {"latent": self._held[0], "hidden": self._held[1], "expected": self._expected}
        random = json.dumps(self._random.bit_generator.state)
        numbers = np.asarray([self.updates, read], np.int64)
        data = io.BytesIO()
        np.savez(
            data,
            mean=self._mean,
            square=self._square,
            surprises=np.asarray(self._surprises, np.float64),
            numbers=numbers,
            random=np.asarray(random),
            **held,  # type: ignore[arg-type]  # the stub takes a flag of this name
        )
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.touch(0o600)
        temporary.write_bytes(data.getvalue())
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> tuple[Dynamics, int]:
        """Read a learner, and how many bytes of the log it learnt from. Raises OSError, KeyError
        or ValueError for a file that holds none."""
        made = cls()
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as held:
            count = len(made._weights)
            arrays = [np.array(held[f"w{n}"], np.float32) for n in range(2 * count)]
            made._weights, made._biases = arrays[:count], arrays[count:]
            made._moving = [np.array(held[f"m{n}"], np.float32) for n in range(2 * count)]
            made._mean, made._square = np.array(held["mean"]), np.array(held["square"])
            made._surprises = [float(one) for one in held["surprises"]]
            made._random.bit_generator.state = json.loads(str(held["random"]))
            if "expected" in held:
                made._held = (np.array(held["latent"]), np.array(held["hidden"]))
                made._expected = np.array(held["expected"])
            made.updates, read = (int(one) for one in held["numbers"])
        return made, read

    def _layer(self, rows: int, columns: int) -> Vector:
        scale = np.sqrt(2 / columns)
        made = self._random.standard_normal((rows, columns), np.float32) * np.float32(scale)
        return np.asarray(made, np.float32)

    def _standard(self, values: npt.NDArray[np.float64]) -> Vector:
        weight = max(_RUNNING, 1 / (self.updates + 2))
        self._mean += weight * (values - self._mean)
        self._square += weight * (values * values - self._square)
        deviation = np.sqrt(np.maximum(self._square - self._mean**2, 1e-6))
        scaled: Vector = np.clip((values - self._mean) / deviation, -3, 3).astype(np.float32)
        return scaled

    def _encode(self, values: Vector) -> tuple[Vector, Vector]:
        hidden: Vector = np.maximum(self._weights[0] @ values + self._biases[0], 0)
        latent: Vector = np.tanh(self._weights[1] @ hidden + self._biases[1])
        return hidden, latent

    def _expect(self, latent: Vector) -> None:
        hidden = np.maximum(self._weights[3] @ latent + self._biases[3], 0)
        self._held = (latent, hidden)
        self._expected = latent + self._weights[4] @ hidden + self._biases[4]

    def _percentile(self, surprise: float) -> float | None:
        """The rank among the last surprises: the share that is less, plus an even share of the
        place that is left, so that it is uniform without ties or with them."""
        held = np.asarray(self._surprises)
        even = self._random.random()
        self._surprises = [*self._surprises[1 - SURPRISES_KEPT :], surprise]
        if len(held) < SURPRISES_MIN:
            return None
        less, same = int((held < surprise).sum()), int((held == surprise).sum())
        return float((less + even * (same + 1)) / (len(held) + 1))

    def _learn_prediction(self, error: Vector) -> float:
        """One step down the gradient of the predictor; `error` is actual less expected."""
        assert self._held is not None
        latent, hidden = self._held
        down: Vector = error * np.float32(-2 / LATENT)
        back = (self._weights[4].T @ down) * (hidden > 0)
        self._step({4: (down, hidden), 3: (back, latent)})
        return float(np.mean(error * error))

    def _learn_encoding(self, values: Vector, hidden: Vector, latent: Vector) -> float:
        """One step down the gradient of the reconstruction."""
        error: Vector = self._weights[2] @ latent + self._biases[2] - values
        down: Vector = (error * np.float32(2 / len(FEATURES))).astype(np.float32)
        second: Vector = (self._weights[2].T @ down) * (1 - latent * latent)
        first: Vector = (self._weights[1].T @ second) * (hidden > 0)
        self._step({2: (down, latent), 1: (second, hidden), 0: (first, values)})
        return float(np.mean(error * error))

    def _step(self, gradients: dict[int, tuple[Vector, Vector]]) -> None:
        norm = float(np.sqrt(sum((d @ d) * (1 + given @ given) for d, given in gradients.values())))
        rate = np.float32(RATE * min(1.0, CLIP / max(norm, 1e-12)))
        for index, (down, given) in gradients.items():
            moving, bias = self._moving[index], self._moving[index + len(self._weights)]
            moving *= np.float32(MOMENTUM)
            moving -= np.outer(rate * down, given)
            bias *= np.float32(MOMENTUM)
            bias -= rate * down
            self._weights[index] += moving
            self._biases[index] += bias
