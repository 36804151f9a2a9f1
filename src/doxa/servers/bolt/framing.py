"""The layers below messages: the handshake that negotiates a version, and the chunking of messages.
Pure functions of bytes, without sockets.

    client   60 60 B0 17, four proposals of 4 bytes: 00 range minor major
    server   00 00 minor major, or zeros if no version is supported

    client   a proposal 00 00 01 FF requests a manifest
    server   00 00 01 FF, count, versions as ranges, capabilities
    client   its choice 00 00 minor major, capabilities

    message  (size in 2 bytes, data)*, 00 00; between messages 00 00 is a no-op

Counts and capabilities are variable-length integers with seven bits per byte, lowest first.

Source: the Bolt documentation, "Bolt protocol handshake specification" and "Message transfer
encoding".
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.errors import InputError, LimitError

MAGIC = b"\x60\x60\xb0\x17"
HANDSHAKE_BYTES = 20
MANIFEST = b"\x00\x00\x01\xff"
NO_VERSION = b"\0\0\0\0"
NEWEST_MINOR = 8

_VARINT_BYTES_MAX = 9
_CHOICE_STEP = "Choose one of the versions that the manifest lists."


class Version(NamedTuple):
    """A version of Bolt, ordered numerically."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


# Newest first, each with the number of minor versions below it.
OFFERED = ((Version(5, NEWEST_MINOR), NEWEST_MINOR), (Version(4, 4), 0))


def supported(version: Version) -> bool:
    """Return whether the server supports a version."""
    return any(
        top.major == version.major and top.minor - span <= version.minor <= top.minor
        for top, span in OFFERED
    )


def negotiate(request: bytes) -> Version | bytes | None:
    """Negotiate from the first 20 bytes: a version, MANIFEST, or None if there is no common
    version. Raises InputError if the bytes are not Bolt."""
    if request[:4] != MAGIC:
        raise InputError(
            "The connection does not start with a Bolt handshake.",
            next_step="Use a Bolt driver with this address.",
        )
    for at in range(4, HANDSHAKE_BYTES, 4):
        proposal = request[at : at + 4]
        if proposal == MANIFEST:
            return MANIFEST
        _, span, minor, major = proposal
        for lower in range(minor, max(minor - span, 0) - 1, -1):
            if supported(Version(major, lower)):
                return Version(major, lower)
    return None


def manifest() -> bytes:
    """Return the manifest of the server; there are no capabilities yet."""
    offers = b"".join(bytes((0, span, top.minor, top.major)) for top, span in OFFERED)
    return MANIFEST + bytes((len(OFFERED),)) + offers + b"\0"


def manifest_choice(data: bytes) -> tuple[Version, int] | None:
    """Return the version that a client chose and the length of the choice, or None if more bytes
    are needed. Raises InputError for an invalid choice."""
    if len(data) < 5:
        return None
    length = next(
        (at for at, byte in enumerate(data[4 : 4 + _VARINT_BYTES_MAX], 1) if byte < 0x80), 0
    )
    if not length:
        if len(data) < 4 + _VARINT_BYTES_MAX:
            return None
        raise InputError("The capabilities of the handshake are too long.", next_step=_CHOICE_STEP)
    version = Version(data[3], data[2])
    if data[:2] != b"\0\0" or not supported(version):
        raise InputError(f"Bolt {version} is not offered.", next_step=_CHOICE_STEP)
    return version, 4 + length


class Dechunker:
    """Assembles messages from received bytes. `bytes_max` may be raised after login. Buffers at
    most one incomplete message and chunk."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._rest = b""
        self._message = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes and return the messages that are complete. Raises LimitError, after which the
        object cannot be used."""
        found: list[bytes] = []
        if self._rest:
            data = self._rest + data
            self._rest = b""
        at, end, collected = 0, len(data), self._message
        while end - at >= 2:
            size = data[at] << 8 | data[at + 1]
            if end - at - 2 < size:
                break
            at += 2
            if not size:
                if collected:
                    found.append(bytes(collected))
                    collected.clear()
                continue
            if len(collected) + size > self.bytes_max:
                raise LimitError(
                    f"A message is longer than {self.bytes_max:,} bytes.",
                    next_step="Send the parameters in several batches.",
                    bytes_max=self.bytes_max,
                )
            after = at + size
            if not collected and data[after : after + 2] == b"\0\0":  # most are one chunk
                found.append(data[at:after])
                at = after + 2
            else:
                collected += data[at:after]
                at = after
        if at < end:
            self._rest = data[at:]
        return found
