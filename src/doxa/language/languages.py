"""The form of the tables in `tables`: for German, Spanish, French and Chinese, the words that say
how a sentence is meant, and a phrase book into the English predicates of `predicates`.

The tables are data; `tables.reader` interprets them, in the same way for each language. Lists are
regular expressions in lower case, alternatives separated by bars. A line of `phrases` gives an
English predicate phrase and, separated by slashes, the templates that express it; an indented line
continues the line above. In a template, `{s}`, `{v}` and `{old}` are the subject, the value and the
value that it replaces; `{t}`, `{n}` and `{c}` are values that begin like a time, that are a number
and that are a state; `a|b` is either word; `x?` may be absent; `a_b` is two words; `*` is up to
five words; a phrase such as `is=married` has a value of its own. Without `{s}`, the subject stands
before the first word, or after it. `words` translates nouns of subjects and words of values.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The tables of one language.

    common      words by which a text is recognised as this language
    rewritten   contractions, and how they are spelled out
    articles, of    articles; prepositions that mean "of"
    me, we, my, our, others     pronouns; `others` refer to somebody named before
    contrast    a word between a denied value and the one that holds
    cues        index terms of sentences that speak of their speaker
    own, ours   verbs in the first person, where the pronoun may be omitted
    change, besides, times      words that report a change, an addition, and when something happened
    turns       verbs and other words that a report of a change contains
    ends, nots  words that end or deny what the sentence states
    question, hedge, report     patterns of sentences that assert nothing
    opening     words before the statement itself
    instead     templates of what is replaced: "statt {old}"
    joins       words between two clauses
    new         words for "new", as in "her new office"
    roles       nouns of professions and offices: who "is" one works as one
    values      patterns of values, and their English form
    favourite   a prefix that makes a favourite of a noun
    """

    code: str
    stemmer: str
    common: str
    articles: str
    of: str
    me: str
    we: str
    my: str
    our: str
    others: str
    change: str
    besides: str
    times: str
    ends: str
    nots: str
    question: str
    hedge: str
    report: str
    opening: str
    instead: str
    joins: str
    new: str
    roles: str
    contrast: str
    turns: str
    phrases: str
    words: str
    own: str = ""
    cues: str = ""
    ours: str = ""
    rewritten: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    favourite: str = ""
    spaced: bool = True
