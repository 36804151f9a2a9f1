"""By what a text is recognised as English or as one of the languages of the tables."""

from __future__ import annotations

import re

from doxa.language.languages import Language

ENGLISH = frozenset(
    "a about an and are as at be because been but by does for from had has have he her his i if"
    " in is isn it its just lives moved my no not now of on or our she should so that the their"
    " them they this to uses was we were what when which who will with works you your".split()
)
ALSO_ENGLISH = frozenset(
    "a also am an art as bin but car change chat come descend dice die do dura fast fin hat hay he"
    " her here in is it lit main man me met mine no on once or pain part passe plus porte pour rat"
    " rot sale sans se so son tag toma ton tu un usa vale war was we will y".split()
)
# A word in small letters, so no name, with a letter that English does not write
LETTERS = {
    code: re.compile(rf"(?<![^\W\d_])[a-zà-ÿœ]*[{letters}][a-zà-ÿœ]*")
    for code, letters in (("de", "äöüß"), ("es", "ñáíóú¿¡"), ("fr", "éèêëàâçîïôùûœ"))
}
LETTER_EVIDENCE = 0.8
_TEMPLATE_WORD_CHARS_MIN = 6


def template_words(language: Language) -> set[str]:
    """Return the longer words of the phrase book: verbs and participles."""
    templates = re.sub(r"^[^:\n]*:", "", language.phrases, flags=re.MULTILINE)
    return {
        word
        for word in re.findall(r"[^\W\d_]+", templates.casefold())
        if len(word) >= _TEMPLATE_WORD_CHARS_MIN
    }
