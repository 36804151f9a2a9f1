"""The request with which a narrated question ends. Pure.

    Ana got into the car after dark with Tom. She said to the car: "My usual light, please."

What precedes the quoted speech is a scene. It shares words and meaning with much that was said, and
asks for nothing; what is wanted is what the last speaker's words are about.
"""

from __future__ import annotations

import re

from doxa.base.words import terms
from doxa.recall import constants

_SPEECH = re.compile(r"""[:\uff1a]\s*["'\u2018\u201c\u201e\u00ab\u300c]""")
_MARKS = " \"'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d"


def quoted_request(text: str) -> str:
    """Return the text from the last quoted speech on that a colon introduces, without its quotation
    marks; empty where there is none, it has few terms, or nothing precedes it."""
    starts = list(_SPEECH.finditer(text))
    if not starts or not terms(text[: starts[-1].start()]):
        return ""
    request = text[starts[-1].end() :].strip(_MARKS)
    return request if len(terms(request)) >= constants.QUESTION_TERMS_MIN else ""
