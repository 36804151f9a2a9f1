"""Decide why a sentence asserts nothing: it asks, orders, hedges, supposes, plans, jokes, quotes or
reports, or the next sentence takes it back.

    "Does Ana live in Bonn?"               question
    "Set the port to 9090."                command
    "Ana may live in Bonn."                hedged
    "Ana wants to live in Bonn."           planned
    "If she moved, Ana lives in Bonn."     hypothetical
    "In the novel Ana lives in Bonn."      fiction
    "Ana lives in Bonn, yeah right."       joked
    "Tom says Ana lives in Bonn."          reported
    "The port is 9090 in the old manual."  outdated
    "Ana lives in Bonn. Scratch that."     retracted

The reader adds "quoted", "alternative", "denied" and "unclear" for what it finds in the parts of a
clause. A word counts wherever it stands in the sentence: a statement that is missed can be made
again, and a false one costs a true belief.
"""

from __future__ import annotations

import re
from typing import Literal

from doxa.base.patterns import PatternSet, lazy_re

_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall)"
_SUBJECT = r"(?:I|you|he|she|it|they|we|there|that|this|these|those)"
_QUESTION = lazy_re(
    rf"\?[\s!?]*$|^(?:(?:and|but|so|or|wait|hey|ok|well),? )*(?:{_AUXILIARY}|what|where|who|whom"
    r"|whose|which|why|how|any(?:one|body) (?:know|sure|remember|tell|heard)|any (?:chance|idea"
    r"|clue|news|word)|true or false|is it|may (?=[a-z])|quiz)\b(?! not only)"
    rf"|, ?(?:right|no|yes|yes or no|eh|huh|correct|true|innit|yeah|ok|agreed|or not|or what"
    rf"|{_AUXILIARY}(?: not)? {_SUBJECT}|or (?:am|is|was|are|were|did|does|do|has|have) \w+.*)"
    r"[\s!?.]*$"
    r"|\b(?:wonder(?:s|ed|ing)?|(?:tell|ask|remind|show) (?:me|us|him|her|them) (?:if|whether|who"
    r"|what|where|when|why|how)|(?:check|find out|know|confirm|verify) (?:if|whether))\b",
    re.IGNORECASE,
)
_BASE_VERBS = (
    r"set|change|switch|move|update|make|say|write|translate|put|use|add|remove|delete|rename"
    r"|ignore|forget|assume|consider|take|give|get|let|run|deploy|migrate|replace|send|call|book"
    r"|buy|tell|ask|find|try|start|stop|keep|turn|enable|disable|bump|raise|lower|increase|reduce"
    r"|postpone|reschedule|push|cancel|install|upgrade|downgrade|convert|copy|open|close|show|list"
    r"|create|build|fix|check|explain|describe|summari[sz]e|rewrite|repeat|complete|draft|compose"
    r"|enter|type|dial|press|click|vote|pick|choose|select|visit|bring"
    r"|schedule|invent|read|answer|respond|reply|print|output|act|play|name|store|save|note"
)
_COMMAND = lazy_re(
    rf"^(?:please |kindly |just |now |always |never |then |go ahead and |feel free to |do not )*"
    rf"(?:{_BASE_VERBS})(?: (?:up|down|back|out|over|off|on))? (?:the|a|an|my|our|your|his|her|its"
    r"|their|all|every|each|that|this|these|those|it|them|him|me|us|to|as|from|everything"
    r"|(?-i:[A-Z])\S*|[\d$€£]\S*|\w+ (?:to|in|into|with|from|for|on|as|instead)\b)"
    r"|^vote for\b|^(?:please|kindly) \w+|^(?:let us|let's|shall we|why not|how about|go)\b"
    rf"|^(?:{_BASE_VERBS}):|^(?:please )?(?:make sure|ensure|be sure|see to it|verify"
    rf"|double-check)\b",
    re.IGNORECASE,
)
_MAKE_THAT = lazy_re(r"(?:make|call) (?:that|it) \S*\d", re.IGNORECASE)
# a value set for now on: "Set the timeout to 60 seconds now", "use port 81 from now on"
_SETTING = lazy_re(
    r"(?:please )?(?:set|change|make|use) (?!sure\b|me\b|us\b|you\b)[^,?]*[\d@][^,?]*"
    r" (?:now|from now on|instead|going forward)[.! ]*$",
    re.IGNORECASE,
)
_MAKE_VALUE = lazy_re(r"make (?:the|our|my) [a-z][\w' -]* [$€£]?\d\S*(?: [\w%]+)?[.! ]*$")
_HYPOTHETICAL = lazy_re(
    r"\b(?:if|unless|whether|in case|provided(?: that)?(?= [A-Za-z]+ )|suppos(?:e|ing)|imagin(?:e"
    r"|ing)|assuming|assume|hypothetically|what if|as if|as though|would|could have|should have"
    r"|might have|ought to have|conditional(?:ly)? on|pretend(?:s|ed|ing)?|make believe"
    r"|wish(?:es|ed)?|let's say|let us say|say,|as long as|on condition|depending on (?=whe|how"
    r"|what))\b|^(?:had|were|should|when(?:ever)?|once|until|say(?= (?:that )?[A-Z])"
    r"|given that)\b(?! upon a)",
    re.IGNORECASE,
)
_DOCUMENT = (
    r"(?:brochure|manual|handbook|readme|docs?|documentation|wiki|page|site|website|version|draft"
    r"|edition|release|catalogue?|flyer|leaflet|guide|list|listing|directory|contract|plan|poster"
    r"|spec|specification|slides?|deck|notes?|report|file|sheet|spreadsheet|config|configuration"
    r"|copy|entry|record|records|minutes|mail|email|letter|screenshot|map|article|book|paper|ad"
    r"|template|changelog|post|thread|ticket|agenda|schedule|timetable|menu|register|archive|cv"
    r"|resume|profile|bio|sticker|label|sign|tag|card|badge|invoice|phone ?book|yearbook)s?"
)
_STORY = (
    r"(?:novel|story|stories|fiction|film|movie|book|series|song|play|game|dream|dreams|nightmare"
    r"|example|sample|demo|tutorial|exercise|riddle|joke|fairy ?tale|tale|legend|myth|sitcom|show"
    r"|comic|cartoon|poem|fantasy|simulation|scenario|thought experiment|script|episode|chapter"
    r"|(?:unit |integration |mock )?tests?(?: case| data| fixture)?s?|mock(?:-?up)?|fixtures?"
    r"|sandbox|parallel (?:universe|world)|alternate (?:universe|reality|timeline)|universe"
    r"|commercial|advert|advertisement|video|clip|photo|picture|painting|drawing|meme"
    r"|imagination|season|sequel|prequel|finale|pilot|scene|act|trailer|remake|screenplay"
    r"|musical|opera|video game|case study|quiz|homework)"
)
_OF = (
    r"(?:the|a|an|my|our|his|her|their|its|your|this|that|these|those|one|some|\w+'s"
    r"|(?:last|an earlier|an older) \w+'s)"
)
_FICTION = lazy_re(
    rf"\b(?:in|inside) {_OF}(?: [\w'-]+){{0,3}}? {_STORY}(?=,? (?:the|an?|my|our|his|her|their|I|he"
    r"|she|it|they|we|there|(?-i:[A-Z]))|[,.:;!?]|$)"
    rf"|^from {_OF}(?: [\w'-]+){{0,2}} {_STORY}:"
    r"|\b(?:for example|for instance|e\.g\.|fictional|fictitious|imaginary|make-believe|dreamt"
    r"|dreamed|dreaming|dreams? (?:that|about|of)|once upon a time|an example|as an example"
    r"|theoretically|in theory|in fiction|role-?play\w*)\b"
    rf"|^(?:{_STORY}|placeholder|lorem)$",
    re.IGNORECASE,
)
_FRAME = lazy_re(
    r"^picture (?=[A-Z]\w* \w+ing\b)"
    r"|^(?:let us |let's |now |ok,? |so,? |please |just )*(?:pretend|imagine|suppose|assume|picture"
    r"|play a game|role-?play|make[- ]believe|hypothetically|hypothetical)\b"
    rf"|^(?:(?:here is|this is|consider|take) )?(?:an? |the |my |this )?(?:[\w'-]+ ){{0,2}}?"
    rf"(?:{_STORY})(?: [\w-]+)?[:.!,]*$"
    r"|\bi (?:had a|dreamt|dreamed)\b.*\b(?:dream|dreamt|dreamed|nightmare|this)\b",
    re.IGNORECASE,
)
_OUTDATED = lazy_re(
    rf"\b(?:in|on|from|per|by|under|according to|says) {_OF} (?:[\w'-]+ ){{0,3}}?(?:old|older"
    rf"|outdated"
    rf"|previous|former|obsolete|stale|past|earlier|prior|archived|legacy|last year's|superseded"
    rf"|deprecated|expired|original|first|\d{{4}})(?: [\w'-]+){{0,3}}? {_DOCUMENT}\b"
    rf"|\b(?:in|on|from) (?:old|older|outdated|previous|earlier|last (?:year|month|week)'s)"
    rf"(?: [\w'-]+){{0,2}}? {_DOCUMENT}\b"
    r"|\b(?:back then|back in the day|in the old days|at that time|at the time|in those days"
    r"|originally|once upon|as an? (?:child|kid|boy|girl|teenager|student|baby))\b",
    re.IGNORECASE,
)
_PLANNED = lazy_re(
    r"\b(?:plan(?:s|ned|ning)?(?:(?: on)? (?=\w+ing\b)| to\b)|the plan is|(?:hop(?:es?|ed|ing)"
    r"|hopefully|intends?|intended|intention|tempted|keen to|eager to|ready to|aims? to"
    r"|aspires?)|want(?:s|ed|ing)?\b(?=.*\bto\b)|wan(?:na|ts to)|would (?:like|love)|going to"
    r"|gonna|about to|on (?:the|his|her|my|their) way to|due to (?:move|join|leave|start)|consider"
    r"(?:s|ed|ing)?|thinking (?:of|about)|looking (?:for|into|at|to)|propos(?:es?|ed|ing)|suggest"
    r"(?:s|ed|ing)?|recommend(?:s|ed|ing)?|appl(?:y|ies|ied|ying) (?:for|to)|interview(?:s|ed"
    r"|ing)?|toy(?:s|ed|ing)|compar(?:es|ed|ing)|evaluat\w+|test(?:s|ed|ing)? (?:out )?"
    r"(?=(?-i:[A-Z]))|(?:tried|trying|tries|try) to|trying out|tried(?= [A-Z])|can not decide"
    r"|need(?:s|ed)? to|ha(?:s|ve|d) to|ought|should|must(?! have\b)|shall|supposed to|expect"
    r"(?:s|ed)?(?: to)?|schedul(?:e|ed) to|not yet|pray\w*|fantasi[sz]\w+|might as well"
    r"|offer(?:s|ed) (?:\w+ )?(?:a|an|the|to)|refus(?:es|ed)|forgot|declin(?:es|ed)|decided against"
    r"|turned down|nominated|shortlisted|r[ua]n(?:s|ning)? for (?!\d)|auditioned|campaign\w* for"
    r"|meant to be|used to be able|(?:I|[Ww]e|you|they|he|she)"
    r" will(?: not)? (?!be\b|have\b)[a-z]+|will be\b.*\b(?:after|once|when|as soon as)"
    r"|will (?:soon|probably|maybe|eventually|one day"
    r"|someday|move"
    r"|join|leave|switch|become|migrate|stop|change|use|live|work|be (?:\w+ing|moved|changed"
    r"|switched|migrated|replaced|postponed|pushed|delayed|renamed|upgraded)))\b",
    re.IGNORECASE,
)
_HEDGED = lazy_re(
    r"\b(?:might|maybe|perhaps|possibl[ye]|probabl[ye]|likely|supposed(?:ly)?|apparently|allegedly"
    r"|presumably|purportedly|reportedly|almost|nearly|practically|virtually|hardly|arguably"
    r"|guess(?:es|ed|ing)?|reckon(?:s|ed)?|suspects?|think|thinks|thought|suppose|I figure"
    r"|bet|(?:am|is|are) (?:afraid(?! of)|guessing)|(?:un|not |pretty |fairly |quite |almost"
    r" |half |reasonably |99% |fairly )(?:sure|certain|confident)|not sure|unclear|uncertain"
    r"|doubt(?:s|ed|ful)?|fear(?:s|ed)? that|seem(?:s|ed|ingly)?|appears? to|look(?:s|ed)? (?:like"
    r"|as)|sounds? (?:like|as)|feels? (?:like|as)|feeling|impression|chance|odds|possibility"
    r"|rumou?r(?:s|ed)?|gossip|hearsay|as far as \w+|afaik|afaict|iirc|imho|imo|idk|fwiw|or so"
    r"|or something|or whatever|or thereabouts|somewhere|ish|kind of|sort of|(?:if|unless) \w+"
    r" (?:am|is) (?:not )?mistaken|could be|may be|(?-i:may (?=[a-z]))|can be|ought to be"
    r"|must be"
    r"|must have|should be|to the best of|quote (?:me|us)|not confirmed|unconfirmed|tbc|tbd"
    r"|to be confirmed|to be decided|tentativ\w+|estimated|in (?:my|his|her|their|our"
    r"|\w+'s) (?:opinion|view|eyes|experience|version|account|telling|mind|head|book)|who knows"
    r"|take .* grain of salt)\b|\(\?\)|\?\)",
    re.IGNORECASE,
)
_REPORTED = lazy_re(
    r"\b(?:sa(?:id|ys?|ying)|told|tells?|telling|claim(?:s|ed|ing)?|hear[ds]?|hearing"
    r"|reports?(?= that)|reported(?! to)|according to|as per|per (?-i:(?=[A-Z]))|asks|asked|wrote"
    r"|writes that|announced that|announces|believes?|believed|assum(?:es?|ed)|suspected|denie[sd]"
    r"|deny|mention(?:s|ed)|insist(?:s|ed)|sw(?:ears?|ore)|alleg(?:es|ed)|jok(?:es|ed)|replied"
    r"|shout(?:s|ed)|whisper(?:s|ed)|mutter(?:s|ed)|quot(?:es|ed|ing|e)|reads? (?=[\"Q]|that|the)"
    r"|reads:|stat(?:es|ed) that|warn(?:s|ed)|argue[sd]|read (?:that|somewhere|online|in)|convinced"
    r"|scribbled|(?:wrong|mistaken|false|incorrect|erroneous)ly|by mistake|misprint\w*"
    r"|persuaded|confirm(?:s|ed) that|legend has|word (?:is|has)|has it|it is (?:said|a (?:"
    r"myth|lie|rumou?r|fact of))|under the impression|contrary to|replied to|posted|tweeted"
    r"|predict(?:s|ed)?|pretends|myth|lie that|lied|insinuat\w+|impl(?:ies|ied)|hint(?:s|ed)"
    r"|remind(?:s|ed)|promis(?:es|ed)|threaten(?:s|ed)|(?:his|her|their|your|tom's) claim"
    r"|(?:my|his|her|their) (?:theory|version|story) is)\b"
    r"|\b(?:it|that|this) is (?:not |hardly |no longer )?(?:true|false|correct|wrong|right|the"
    r" case|untrue|nonsense|said|known) that\b",
    re.IGNORECASE,
)
_JOKED = lazy_re(
    r"\b(?:kidding|(?-i:jk)|joking|yeah,? right|april fools?|pigs (?:can |will )?fly|psych"
    r"|gotcha|in your"
    r" dreams|said (?:no ?(?:one|body)|nobody)|I am (?:the|a) (?:pope|queen|king|easter"
    r" bunny|tooth fairy|president)|hell freezes|sarcas\w+|ironic(?:ally)?|irony|as if[.!]*$"
    r"|joke|hoax|prank"
    r"|trolling|tongue in cheek)\b|\bj/k\b|(?<=\s)/s\b|,? (?:not|not at all)!+\s*$|^(?:oh )?sure,"
    r"|\bnot!|^as if\b|^in (?:your|my|his|her) dreams",
    re.IGNORECASE,
)
_RETRACTS = lazy_re(
    r"^(?:(?:oh|oops|whoops|wait|hm+|uh|um|er|lol|haha|sorry|hang on|hold on|ah|argh|damn|but|and"
    r"|actually|well|ok|okay|no|nope|nah)[,.! …-]*)*(?:"
    r"(?:just |only |i am |i was |was |we are |am )*(?:kidding|joking|jk|trolling|teasing)"
    r"|j/k|scratch (?:that|it)|strike (?:that|it)|never ?mind|nvm|(?:please )?(?:forget|ignore"
    r"|disregard|delete|undo|skip) (?:that|this|it|what i|the (?:last|above|previous)|my last)"
    r"|not(?:!|$|\.)|not (?:really|true|at all|correct|right)|psych|april fools?|gotcha"
    r"|yeah,? right"
    r"|yeah,? sure|as if|i take (?:that|it|this) back"
    r"|(?:that|this|it|which) (?:is|was) (?:not (?:true|right|correct|so|accurate|the case)|untrue"
    r"|wrong|false|a (?:joke|lie|mistake|typo|test)|incorrect|nonsense|rubbish|outdated|old news"
    r"|only a|just a)"
    r"|that is not what|wrong (?:window|project|chat|channel|person|thread|one|number|file)"
    r"|(?:that|it) was (?-i:[A-Z])\w+\W*$|wrong (?-i:[A-Z])\w+\W*$|no way"
    r"|my (?:mistake|bad|error)|mistake|typo|i (?:made (?:that|it) up|misread|misspoke|mistyped"
    r"|mixed|lied|was wrong|stand corrected|got (?:that|it) wrong)|correction|or (?:maybe "
    r"|perhaps )?"
    r"not|in (?:your|my|his|her|their) dreams|i wish|if only|false|wrong|(?:only|just) (?:in"
    r" )?(?:a )?(?:joke|dream|test)|said no|pigs|lies|bullshit|nonsense|or so|at least that is what"
    r"|that is what|(?:he|she|they|tom|someone|somebody) (?:was|is|were|are) (?:kidding|joking"
    r"|lying"
    r"|wrong)|not anymore|none of (?:that|this)"
    r"|got you|had you|fooled you|tricked you|made you look|just messing|messing with|pulling your"
    r")(?![\w'-])",
    re.IGNORECASE,
)
_NO = lazy_re(
    r"^(?:(?:oh|oops|wait|hm+|uh|um|er|lol|haha|sorry|hang on|hold on|ah|actually|argh)[,.! …-]*)*"
    r"(?:no,? wait|no (?=(?:he|she|it|they|I|we|that|this)\b)|(?:no|nope|nah|wait|oops"
    r"|whoops)(?:[,.!…]| -|$))|^(?:actually|sorry|i mean"
    r"|rather),? (?:no\b|it"
    r" is|that is|make (?:that|it)|he is|she is|they are)|^make (?:that|it) \S*\d",
    re.IGNORECASE,
)
_OPENING_ONLY = lazy_re(
    r"(?:scratch|strike|never ?mind|nvm|forget|ignore|disregard|correction|my (?:mistake|bad)"
    r"|mistake|typo|wrong|false|not (?:true|right|correct)|kidding|joking)\W*(?:that|it|this)?$",
    re.IGNORECASE,
)
_DOUBTS = lazy_re(
    r"or\b.*\?$|(?:(?:but|or|well|at least|though|and|although) )*(?:not (?:sure|certain|confirmed)"
    r"|i (?:am not"
    r" sure|think(?: so)?|guess(?: so)?|suppose|could be (?:wrong|mistaken)|might be"
    r" (?:wrong|mistaken)|believe so|hope so|wonder)|maybe|perhaps|probably|possibly|right|really"
    r"|or not|since when|who knows|is (?:that|it|he|she) (?:so|true|right)|so (?:i|they|he|she|we)"
    r" (?:heard|hear|say|said|claim|think|was told)|(?:does|do|did|is|are|was|were|has"
    r"|have) (?:he|she"
    r"|it|they|i|we)|do not quote me|allegedly|apparently|supposedly|unconfirmed|correct me if .*"
    r"|if i remember (?:right|correctly)|can (?:anyone|you) confirm.*|hopefully)\W*$",
    re.IGNORECASE,
)
# an answer to what was said before states nothing by itself
_REPLY = lazy_re(
    r"(?:no|nope|never|no way|no chance|nah|not at all|wrong|yes|yeah|yep|sure|right|exactly|really"
    r"|lol|ha(?:ha)+|ok|okay)\W*",
    re.IGNORECASE,
)
_NEITHER = lazy_re(r"\bneither\b.* nor\b", re.IGNORECASE)
_TOLD = (
    ("question", _QUESTION),
    ("joked", _JOKED),
    ("fiction", _FICTION),
    ("outdated", _OUTDATED),
    ("reported", _REPORTED),
    ("hypothetical", _HYPOTHETICAL),
    ("planned", _PLANNED),
    ("hedged", _HEDGED),
)
_SAID = PatternSet(
    search=dict(_TOLD) | {"command": _COMMAND, "denied": _NEITHER, "frame": _FRAME},
    match={"doubts": _DOUBTS, "retracts": _RETRACTS, "no": _NO},
)


def why_unasserted(sentence: str, *, corrects: bool = False) -> str:
    """Return why a sentence asserts nothing, in one word; empty if it asserts something. A
    correction may set a value: "Actually make the budget $900"."""
    may = _SAID.candidates(sentence)
    if "command" in may and _COMMAND.search(sentence):
        setting = _MAKE_THAT.match(sentence) or _SETTING.match(sentence)
        if not setting and not (corrects and _MAKE_VALUE.match(sentence)):
            return "command"
    if _REPLY.fullmatch(sentence):
        return "unclear"
    for reason, pattern in _TOLD:
        if reason in may and pattern.search(sentence):
            return reason
    return "denied" if "denied" in may and _NEITHER.search(sentence) else ""


def modes(sentence: str) -> frozenset[str]:
    """Return every reason why a sentence asserts nothing, where `why_unasserted` returns the
    first."""
    first = why_unasserted(sentence)
    return frozenset(name for name, pattern in _TOLD if pattern.search(sentence)) | (
        {first} if first else frozenset()
    )


def doubts(sentence: str) -> bool:
    """Return whether a sentence only doubts the one before it: "Not sure.", "Or does he?"."""
    return "doubts" in _SAID.candidates(sentence) and _DOUBTS.match(sentence) is not None


def is_frame(sentence: str) -> bool:
    """Return whether a sentence makes everything after it unreal: "Let's pretend."."""
    return "frame" in _SAID.candidates(sentence) and _FRAME.search(sentence) is not None


def retracts(sentence: str) -> Literal["", "whole", "opening"]:
    """Return whether a sentence takes back the one before it: as a whole ("That's not true."), or
    with its opening ("No, it is 9091."), so that the rest may state something."""
    may = _SAID.candidates(sentence)
    found = _RETRACTS.match(sentence) if "retracts" in may else None
    if found is not None:
        rest = sentence[found.end() :].strip(" ,.:!-–—")
        return "opening" if rest and _OPENING_ONLY.search(found[0]) else "whole"
    return "opening" if "no" in may and _NO.match(sentence) is not None else ""
