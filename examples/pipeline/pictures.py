"""Pictures as PPM files (P6): plain bytes, the same on every machine, written whole or not at
all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

WIDTH, HEIGHT = 48, 27
_HEADER = f"P6 {WIDTH} {HEIGHT} 255\n".encode()
Pixel = tuple[int, int, int]


def plate(shot: str, mood: str) -> bytes:
    """Paint the background of a shot: a gradient between two colours made of its name and the
    mood."""
    top, bottom = _colour(f"{shot} {mood} top"), _colour(f"{shot} {mood} bottom")
    rows = []
    for y in range(HEIGHT):
        share = y / (HEIGHT - 1)
        pixel = bytes(round(a + (b - a) * share) for a, b in zip(top, bottom, strict=True))
        rows.append(pixel * WIDTH)
    return _HEADER + b"".join(rows)


def comp(picture: bytes, shot: str) -> bytes:
    """Put a title, a bar in a colour of its own, on a plate."""
    pixels = bytearray(_pixels(picture))
    bar = bytes(_colour(f"{shot} title")) * (WIDTH // 2)
    for y in range(HEIGHT // 2 - 2, HEIGHT // 2 + 2):
        start = (y * WIDTH + WIDTH // 4) * 3
        pixels[start : start + len(bar)] = bar
    return _HEADER + bytes(pixels)


def cut(pictures: list[bytes]) -> bytes:
    """Join pictures one below the other."""
    header = f"P6 {WIDTH} {HEIGHT * len(pictures)} 255\n".encode()
    return header + b"".join(map(_pixels, pictures))


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. A file of the same name is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _pixels(picture: bytes) -> bytes:
    if not picture.startswith(_HEADER):
        raise ValueError("not a picture of this pipeline")
    return picture[len(_HEADER) :]


def _colour(words: str) -> Pixel:
    red, green, blue = hashlib.sha256(words.encode()).digest()[:3]
    return red, green, blue
