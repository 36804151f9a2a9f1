"""The names of the lanes and of the ways to fuse them (fusion.py). Apart, so that code that handles
hits need not import numpy."""

from __future__ import annotations

from typing import Literal, get_args

Lane = Literal["words", "meaning", "entities", "time", "graph", "mentions", "recency", "policy"]
LANES: tuple[str, ...] = get_args(Lane)
# those in use unless others are named: what does not gain more than its interval is left out
LANES_DEFAULT: tuple[str, ...] = tuple(lane for lane in LANES if lane != "mentions")
Mode = Literal["auto", "max", "rrf", "convex"]
MODES: tuple[str, ...] = get_args(Mode)
