"""The names in a question: speakers, projects and threads.

A name selects where to look. A question that names a speaker ("what did Ana say"), by first name or
a short form too, or the project or thread in which something was said ("in project apollo")
prefers what was said by or in it, and the name is removed from the words. A person who is only
addressed ("Hey Bob, where are the keys?") is neither a word nor a preference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import apsw

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import STOP_WORDS, terms
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.recall.lanes.frequent_words import is_frequent
from doxa.recall.lanes.phrases import QUOTED
from doxa.recall.question import read_question
from doxa.store import Reader, int64_array

_ROLE_NAMES = frozenset(("user", "assistant", "system", "tool", "human"))
_TITLES = frozenset(("mr", "mrs", "ms", "dr", "prof", "sir", "herr", "frau", "señor", "señora"))
# Names that are ordinary words too: they count only with a capital inside a sentence.
_ORDINARY = frozenset(
    """
    admin agent amber angel april art august autumn baker banks bell best bill bishop black brook
    brown bush carter case chase chuck church client cliff cook crystal customer dad daisy dawn day
    dean dev doctor drew earl english eve faith father field fields ford fox frank french gene
    glen good grace grant gray green grey group guest guy harmony hill hope host hunter ivy jack joy
    june king lake lily little long love manager march mark mason may melody miles miller moon mom
    mother north olive ops page park pat pearl penny person price ray reed rice rich rivers rob rose
    ruby sage sales sharp short sky small smith south staff star stone strong sue summer support
    taylor teacher team victor wade west white will wolf wood woods young
    """.split()
)
_MONTHS = frozenset(("april", "august", "june", "march", "may"))
_BEFORE_MONTH = frozenset(
    "in of by since until till last next early late mid this every before after during from".split()
)
_SHORT_FORMS = {
    short: frozenset(names.split("|"))
    for short, _, names in (
        pair.partition(":")
        for pair in """
        abby:abigail al:albert|alan|alexander|alfred alex:alexander|alexandra|alexis andy:andrew
        annie:anne|anna|ann barb:barbara becky:rebecca ben:benjamin bert:albert|robert|herbert
        beth:elizabeth bill:william billy:william bob:robert bobby:robert
        cathy:catherine|katherine charlie:charles|charlotte chuck:charles dan:daniel
        danny:daniel dave:david deb:deborah dick:richard don:donald ed:edward|edwin|eduardo
        eddie:edward ellie:eleanor|elena|ellen gabe:gabriel gabi:gabriela|gabriele greg:gregory
        hal:harold hank:henry harry:harold|henry jack:john jake:jacob jamie:james jen:jennifer
        jenny:jennifer jess:jessica jim:james jimmy:james joe:joseph joey:joseph johnny:john
        jon:jonathan josh:joshua kate:katherine|catherine kathy:katherine|kathleen
        katie:katherine ken:kenneth kim:kimberly larry:lawrence lena:helena|magdalena
        leo:leonard|leonardo liz:elizabeth lizzie:elizabeth lou:louis|louise maggie:margaret
        matt:matthew|matthias max:maximilian|maxwell meg:margaret|megan mickey:michael
        mike:michael molly:mary nate:nathan|nathaniel ned:edward nick:nicholas|nicolas|nikolaus
        nina:antonina paco:francisco pam:pamela pat:patrick|patricia patty:patricia
        peggy:margaret pepe:josé|jose pete:peter phil:philip|phillip ray:raymond rich:richard
        rick:richard rob:robert robbie:robert ron:ronald sally:sarah sam:samuel|samantha
        sandy:sandra|alexander sasha:alexander|alexandra sepp:josef|joseph steve:stephen|steven
        stu:stuart sue:susan|suzanne susie:susan ted:theodore|edward teddy:theodore|edward
        theo:theodore|theodor tim:timothy toby:tobias tom:thomas tommy:thomas toni:antonia|anton
        tony:anthony|antonio trish:patricia uli:ulrich val:valerie|valentina vicky:victoria
        walt:walter wes:wesley will:william willy:wilhelm|william zack:zachary
        """.split()
    )
}
_SHORT_CHARS_MIN = 3
_WORD = lazy_re(r"\w+")
_SENTENCE_START = lazy_re(r"(?:^|[.!?:]\s)\W*$")
# Somebody who is addressed: after a greeting any name is, otherwise that of a known speaker.
_GREETED = lazy_re(
    r"^\W*(?:(?P<any>hey|hi|hello|hallo)(?:,?\s+there)?|thanks|thank\s+you|many\s+thanks|dear"
    r"|cheers|good\s+(?:morning|afternoon|evening)),?\s+(?P<name>[^\W\d_][\w’'-]*)\s*[,.!:–—]+"
    r"\s*(?=\w)",
    re.IGNORECASE,
)
_ADDRESSED = (
    lazy_re(
        r"^\W*(?:(?i:ok|okay|so|well|alright|please|sorry|listen),?\s+)?(?P<name>[A-Z][\w’'-]*)"
        r"[,:–—]\s*(?=\w)"
    ),
    lazy_re(r"(?<=\w),\s*(?P<name>[A-Z][\w’'-]*)(?=\s*[?.!]*\s*$)"),
)
# Where it was said: a project or thread is named next to its kind, or after a preposition by a name
# that is not made of ordinary words.
_KINDS = frozenset(
    "project repo repository workspace thread chat channel conversation session meeting".split()
)
_PREPOSITIONS = frozenset("in for on at from within inside".split())
_ARTICLES = frozenset("the our my this that a an".split())
_PLACE = lazy_re(r"[\w#]+(?:[./-]\w+)*")
_PLACE_WORDS_MAX = 4
_PROJECTS_MAX = 64  # whose threads are looked up
_THREAD_SPACES = ("conversations/", "")  # where ingestion puts turns unless it is given a space


def extract_names(
    reader: Reader, projects: Sequence[ProjectIndex], text: str, *, places: bool
) -> tuple[str, frozenset[int]]:
    """Return a question without the names of speakers and, if `places` is true, of projects and
    threads, and their tokens. Where nothing would prefer a place, its name stays a word."""
    text = text[:QUERY_CHARS_READ]
    speakers = [one for project in projects for one in project.speakers(reader) if one[1]]
    text, addressed = _without_address(text, speakers)
    text, where = _without_places(reader, projects, text) if places else (text, frozenset())
    remove, named = _speakers_in(text, speakers)
    if read_question(text).side == "assistant":
        named |= addressed
    if not remove:
        return text, named | where
    names = "|".join(map(re.escape, sorted(remove)))
    plain = re.sub(rf"({QUOTED})|\b(?:{names})\b(?:['’]s\b)?", lambda match: match[1] or " ", text)
    plain = " ".join(plain.split())
    return plain if _WORD.search(plain) else text, named | where


def _speakers_in(
    text: str, speakers: Iterable[tuple[int, str]]
) -> tuple[frozenset[str], frozenset[int]]:
    """The words of a question that name speakers, as they are written, and whom."""
    written: dict[str, set[str]] = {}
    for word in _WORD.findall(text):
        written.setdefault(word.casefold(), set()).add(word)
    inside = _capitals_inside(text)
    remove: set[str] = set()
    named: set[int] = set()
    for token, name in speakers:
        parts = [part.casefold() for part in _WORD.findall(name)]
        known = set(filter(_is_name, parts)) & written.keys()
        found = {part for part in known if part not in _ORDINARY or part in inside}
        if not found and parts:
            found = {word for word in inside if _is_short_form(word, parts[0])}
        if found:
            named.add(token)
        for word in found:
            remove |= {form for form in written[word] if word not in _ORDINARY or form[0].isupper()}
    return frozenset(remove), frozenset(named)


def _is_name(part: str) -> bool:
    return part not in _ROLE_NAMES and part not in STOP_WORDS - _ORDINARY and part not in _TITLES


def _capitals_inside(text: str) -> set[str]:
    """The words with a capital that do not begin a sentence, folded. A month after a preposition is
    not a name."""
    found = set()
    before = ""
    for match in _WORD.finditer(text):
        word = match.group().casefold()
        month = word in _MONTHS and before in _BEFORE_MONTH
        if (
            match.group()[0].isupper()
            and not month
            and not _SENTENCE_START.search(text[: match.start()])
        ):
            found.add(word)
        before = word
    return found


def _is_short_form(word: str, first: str) -> bool:
    """Return whether a word is another form of a first name: `Mel` of Melanie, `Bob` of Robert, and
    Robert of `Bob`."""
    return (
        (len(word) >= _SHORT_CHARS_MIN and len(first) > len(word) and first.startswith(word))
        or first in _SHORT_FORMS.get(word, ())
        or word in _SHORT_FORMS.get(first, ())
    )


def _without_address(text: str, speakers: list[tuple[int, str]]) -> tuple[str, frozenset[int]]:
    """A question without the name of whom it addresses, and the tokens of that speaker."""

    def tokens(name: str) -> frozenset[int]:
        word = name.casefold()
        return frozenset(
            token
            for token, speaker in speakers
            if word in (parts := [part.casefold() for part in _WORD.findall(speaker)])
            or (parts and _is_short_form(word, parts[0]))
        )

    if (match := _GREETED.match(text)) and (match["any"] or match["name"][0].isupper()):
        return text[match.end() :], tokens(match["name"])
    for pattern in _ADDRESSED:
        match = pattern.search(text)
        if match and (found := tokens(match["name"])):
            rest = text[: match.start()] + text[match.end() :]
            return (rest if _WORD.search(rest) else text), found
    return text, frozenset()


def _without_places(
    reader: Reader, projects: Sequence[ProjectIndex], text: str
) -> tuple[str, frozenset[int]]:
    """A question without the project or thread that it names, and its token; no token where nothing
    but that project is searched."""
    phrases = _place_phrases(text)
    if not phrases:
        return text, frozenset()
    scopes = [project.scope for project in projects]
    names = dict(
        reader.rows("SELECT id, text FROM token WHERE id IN carray(?)", (int64_array(scopes),))
    )
    tokens: dict[str, str] = {}
    for phrase in phrases:
        for name in _spellings(phrase):
            tokens[f"scope:{name}"] = phrase
            for scope in scopes[:_PROJECTS_MAX]:
                project = names[scope].removeprefix("scope:")
                for space in _THREAD_SPACES:
                    tokens[f"thread:kref://{project}/{space}{name}.thread"] = phrase
    found = {
        tokens[name]: token
        for token, name in reader.rows(
            "SELECT id, text FROM token WHERE text IN carray(?)", (apsw.carray(tuple(tokens)),)
        )
        if token in names or name.startswith("thread:")
    }
    for phrase in phrases:
        if phrase in found:
            kinds = "|".join(_KINDS)
            rest = re.sub(
                rf"(?:\b(?:{'|'.join(_PREPOSITIONS)}|of|about)\s+)?(?:\b(?:the|our|my)\s+)?"
                rf"(?:\b(?:{kinds})\s+)?[\"'#]?{re.escape(phrase)}[\"']?(?:\s+(?:{kinds})\b)?",
                " ",
                text,
                count=1,
                flags=re.IGNORECASE,
            )
            rest = re.sub(r"\s+([.,;:?!])", r"\1", " ".join(rest.split()))
            token = found[phrase]
            only = scopes == [token]
            return (
                (rest, frozenset() if only else frozenset((token,)))
                if terms(rest)
                else (text, frozenset())
            )
    return text, frozenset()


def _place_phrases(text: str) -> list[str]:
    """The parts of a question that may name a project or thread, the longest first."""
    words = [match.group() for match in _PLACE.finditer(text)]
    found: list[list[str]] = []
    for place, word in enumerate(map(str.casefold, words)):
        sizes = range(1, _PLACE_WORDS_MAX + 1)
        if word in _KINDS:
            found += [words[max(0, place - size) : place] for size in sizes]
            found += [words[place + 1 : place + 1 + size] for size in sizes]
            found += [words[place : place + 2]]
        elif word in _PREPOSITIONS:
            start = place + 1
            start += words[start : start + 1] != [] and words[start].casefold() in _ARTICLES
            found += [
                phrase
                for size in sizes
                if not all(map(_is_ordinary, phrase := words[start : start + size]))
            ]
    phrases = dict.fromkeys(
        " ".join(phrase)
        for phrase in sorted(found, key=len, reverse=True)
        if not {word.casefold() for word in phrase} <= STOP_WORDS | _ARTICLES | _KINDS
    )
    return [phrase for phrase in phrases if phrase in text]


def _is_ordinary(word: str) -> bool:
    return is_frequent(word) and not word[0].isupper()


def _spellings(phrase: str) -> set[str]:
    """How a phrase may be written as the name of a project or thread."""
    plain = phrase.lstrip("#")
    return {
        sign.join(words)
        for words in (plain.split(), plain.casefold().split())
        for sign in ("-", "_", "")
    }
