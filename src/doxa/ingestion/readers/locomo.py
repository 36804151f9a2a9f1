"""Read the conversations of the LoCoMo benchmark, so that its questions can be asked of a memory
that was filled by normal ingestion.

    [ { "sample_id": "conv-26",
        "conversation": {
          "speaker_a": "Caroline", "speaker_b": "Melanie",
          "session_1_date_time": "1:56 pm on 8 May, 2023",
          "session_1": [ { "speaker": "Caroline", "dia_id": "D1:1", "text": "...",
                           "blip_caption": "a photo of ..." } ] } } ]

The source has one time per session and no zone. It is read as UTC, and each turn is one second
after the previous one, which keeps the order and in practice moves no turn to another day.
Questions, summaries and observations are not conversation and are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from doxa.base.calendar_names import MONTH_NUMBERS
from doxa.base.clock import NS, parse_time
from doxa.base.errors import InputError
from doxa.ingestion.readers.sources import clean, decode, documents
from doxa.language.turns import Turn

_SESSION = re.compile(r"session_(\d{1,6})")
_TIME = re.compile(
    r"\s*(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([A-Za-z]+),?\s+(\d{4})\s*", re.IGNORECASE
)


class _LocomoSample(msgspec.Struct):
    conversation: dict[str, msgspec.Raw]
    sample_id: str = ""


class _LocomoMessage(msgspec.Struct):
    speaker: str
    text: str = ""
    dia_id: str = ""
    blip_caption: str | None = None


_samples = msgspec.json.Decoder(list[_LocomoSample])
_sample = msgspec.json.Decoder(_LocomoSample)
_messages = msgspec.json.Decoder(list[_LocomoMessage])
_text = msgspec.json.Decoder(str)


def read_locomo(path: Path) -> Iterator[Turn]:
    """Yield the turns sample by sample and session by session. Raises InputError if the file is not
    in the published form."""
    for name, data in documents(path):
        try:
            samples = (
                [decode(_sample, data)] if data.lstrip()[:1] == b"{" else decode(_samples, data)
            )
        except ValueError as error:
            raise _not_locomo(name, "the file", error=error) from None
        for position, sample in enumerate(samples):
            yield from _read_sample(name, position, sample=sample)


def _read_sample(name: str, position: int, *, sample: _LocomoSample) -> Iterator[Turn]:
    thread = clean(sample.sample_id) or f"sample-{position}"
    sessions = sorted(
        (int(match.group(1)), key)
        for key in sample.conversation
        if (match := _SESSION.fullmatch(key))
    )
    for _, session in sessions:
        place = f"{thread}, {session}"
        try:
            messages = decode(_messages, bytes(sample.conversation[session]))
            when = sample.conversation.get(f"{session}_date_time")
            start_ns = None if when is None else session_time_ns(decode(_text, bytes(when)))
        except ValueError as error:
            raise _not_locomo(name, place, error=error) from None
        for index, message in enumerate(messages):
            yield Turn(
                thread=thread,
                session=session,
                speaker=clean(message.speaker),
                role="person",
                text=clean(message.text),
                time_ns=None if start_ns is None else start_ns + index * NS,
                source_id=clean(message.dia_id),
                caption=clean(message.blip_caption or ""),
            )


def session_time_ns(text: str) -> int:
    """Parse "1:56 pm on 8 May, 2023" to ns UTC. Raises ValueError for another form."""
    match = _TIME.fullmatch(text)
    if not match or match.group(5)[:3].lower() not in MONTH_NUMBERS:
        raise ValueError(f"{text[:80]!r} is not a session time such as '1:56 pm on 8 May, 2023'")
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12:
        raise ValueError(f"{text[:80]!r} has an invalid hour")
    hours = int(hour) % 12 + (12 if half.lower() == "pm" else 0)
    moment = datetime(
        int(year), MONTH_NUMBERS[month[:3].lower()], int(day), hours, int(minute), tzinfo=UTC
    )
    try:
        return parse_time(moment)
    except InputError as error:
        raise ValueError(error.message) from None


def _not_locomo(name: str, place: str, *, error: ValueError) -> InputError:
    return InputError(
        f"{name}: {place} is not in the LoCoMo format: {error}.",
        next_step="Give the JSON file as published by the benchmark.",
        path=name,
        place=place,
    )
