"""Read conversation histories of other products as turns. `formats.py` shows the whole path; each
reader module documents one format."""

from doxa.ingestion.readers.formats import FORMATS, OTHERS, OWN_FORMATS, detect, read
from doxa.ingestion.readers.sources import ReadReport

__all__ = ["FORMATS", "OTHERS", "OWN_FORMATS", "ReadReport", "detect", "read"]
