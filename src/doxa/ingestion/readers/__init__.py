"""Readers of histories: what other products wrote, as turns. `formats.py` shows the whole path;
each other file draws one format."""

from doxa.ingestion.readers.formats import FORMATS, detect, read
from doxa.ingestion.readers.sources import ReadReport

__all__ = ["FORMATS", "ReadReport", "detect", "read"]
