"""Tables of words that express the same predicate: "lives in", "moved to" and "is based in" all
state where someone's home is.

A predicate has a name, verbs (after any form of be, have or do) and nouns ("the price of X", "X's
boss"). With `single`, a subject has one such value at a time, so a new value replaces the old one.
Otherwise it may have several (a person likes more than one thing), and only explicit words
("instead of", "no longer") retire a value. Inverse verbs swap subject and value: "Nadia leads the
team" states the same as "the team is led by Nadia". Verbs in `ends` deny the predicate: "left Acme"
means "no longer works at Acme".

A change verb reports an event and not a habit ("joined", "moved to"): in the past tense it still
states what holds now, unlike "lived in".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doxa.base.words import stem


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and the words that express it: regular expressions in lower case, alternatives
    separated by bars."""

    name: str
    verbs: str = ""
    changes: str = ""
    ends: str = ""
    inverse: str = ""
    nouns: str = ""
    single: bool = True
    family: str = ""


# A verb that may change any property: "moved to" a city, an office, a host, a day.
ANY = "any"

PREDICATES: tuple[Predicate, ...] = (
    Predicate(
        "home",
        "lives? in|lives? at|living in|resides? in|resident in|based in|headquartered in|located"
        " in|settled in|home is in",
        changes=(
            "moved (?:back |house |home )?to|relocated to|has moved to|resettled in|came back to"
        ),
        ends="moved (?:away|out) (?:from|of)|moved from",
        nouns="home|residence|headquarters",
        family="place",
    ),
    Predicate("where", "(?:lives?|sits?|lies) on", nouns="location|whereabouts", family="place"),
    Predicate(
        "work",
        "works? (?:at|for|in|with)|working (?:at|for|in|with)|employed (?:by|at)|has a job at|have"
        " a job at",
        changes=(
            "joined|started (?:working )?(?:at|for)|(?:got|found|took|accepted|has|have|started"
            "|landed)"
            " (?:an?|his|her|their|my) (?:new )?(?:job|position) (?:at|with)|got hired (?:by|at)"
            "|hired by|went to work for"
        ),
        ends=(
            "(?:left|quit|lost)(?: \\w+ job)(?: (?:at|with|in))?|resigned from|resigned|laid off"
            " (?:by|from)|fired (?:by|from)|retired from"
        ),
        nouns="job|employer|workplace",
    ),
    Predicate(
        "school",
        "goes to|go to|attends?|enrolled (?:at|in)|studies at|study at",
        changes="switched schools to|enrolled at",
        nouns="school",
    ),
    Predicate(
        "name",
        "called|named|goes by|known as",
        changes="renamed to|now called",
        nouns="name|nickname",
    ),
    Predicate(
        "price",
        "costs?|priced at|sells for",
        changes="went (?:up|down) in price to",
        nouns="price|cost|fee|fare",
    ),
    Predicate("weight", "weighs?", nouns="weight"),
    Predicate("age", changes="turned(?= \\d)", nouns="age"),
    Predicate(
        "when",
        "meets?(?= (?:on|at|every|each))|meets?(?= [A-Z])|takes? place|held|scheduled for|planned"
        " for|(?:runs?|happens?|occurs?)(?= (?:at|every|each|on"
        " [MTWFS]|daily|weekly|hourly|monthly))|happens|collected|due to take place|set"
        " for|slated for",
        changes=(
            "postponed (?:to|until)|rescheduled (?:to|for)|pushed (?:back )?to|moved"
            " (?:forward|up|back) to|brought forward to|delayed (?:to|until)"
        ),
        ends="cancelled|canceled|called off",
        nouns="date|schedule|day",
        family="time",
    ),
    Predicate("birthday", "born on", nouns="birthday|birth date|date of birth"),
    Predicate("birthplace", "born in", nouns="birthplace"),
    Predicate("deadline", "due (?:on|by|in)?", changes="now due", nouns="deadline|due date"),
    Predicate(
        "duration",
        "takes?(?= (?:about |around )?(?:\\d|an? |one|two|three|half))|lasts?",
        nouns="duration",
    ),
    Predicate(
        "port",
        "(?:listens?|runs?|listening|running) on port|listens? on (?:port )?|listening on (?:port"
        " )?|bound to port|exposed on port",
        nouns="port",
    ),
    Predicate(
        "manager", "reports? to|managed by", inverse="manages", nouns="manager|boss|supervisor"
    ),
    Predicate(
        "lead",
        "led by|headed by|run by|chaired by",
        inverse="leads?|heads?|chairs?",
        nouns="lead|leader|head",
    ),
    Predicate(
        "assignee",
        "assigned to|handled by",
        changes="reassigned to|handed over to",
        nouns="assignee",
    ),
    Predicate("owner", "owned by|belongs? to", changes="taken over by", nouns="owner"),
    Predicate(
        "spouse",
        "married to",
        changes="got married to|married",
        ends="divorced|separated from",
        nouns="wife|husband|spouse",
    ),
    Predicate("kind", family="role"),
    Predicate(
        "role",
        "works? as|serves? as|working as",
        changes="promoted to|became|appointed(?: as)?",
        nouns="role|title|profession|position",
        family="role",
    ),
    Predicate("drives", "drives?|driving"),
    Predicate("seat", "sits? (?:at|in|on)|seated (?:at|in)", family="place"),
    Predicate("holder", "with(?= [A-Z])|kept by"),
    Predicate(
        "hosting",
        "hosted (?:on|at|by|in|with)|deployed (?:on|to|in)",
        nouns="hosting|provider|hosting provider",
        family="stack",
    ),
    Predicate(
        "runs on",
        "runs? on|running on|runs?(?= [A-Z])|powered by|built (?:on|with)",
        family="stack",
    ),
    Predicate(
        "language",
        "written in|implemented in|coded in|built in",
        changes="rewritten in|ported to",
        nouns="language|programming language",
        family="stack",
    ),
    Predicate(
        "uses",
        "uses?|using|relies on|rely on",
        changes="adopted|went with|chose|settled on|decided (?:on|to use)|going with",
        single=False,
        family="stack",
    ),
    Predicate(
        "switched",
        changes=(
            "switched(?: back| over)? to|migrated(?: back)? to|changed(?: over)? to|went back"
            " to|went over to|upgraded to|downgraded to"
        ),
        family=ANY,
    ),
    Predicate(
        "given up",
        family=ANY,
        ends=(
            "gave up|given up|got rid of|gotten rid of|(?:dropped|left|quit|sold|lost)(?!"
            " (?:for|at|to|in|on|by|out|off|early|behind|with|\\w+ job)\\b)|gave away|given"
            " away|threw away|parted with|abandoned|ditched|retired(?= the)|stopped"
            " (?:using|eating|drinking|playing|taking|selling|supporting|working (?:at|for)|living"
            " in|learning|driving|smoking|going to)"
        ),
    ),
    Predicate(
        "set",
        changes=(
            "(?:went|gone) (?:up|down) to|rose to|fell to|dropped to|increased to|decreased"
            " to|raised to|lowered to|reduced to|grew to|grown to|changed to|changes to|updated"
            " to|bumped to|cut to|extended (?:to|until)|shortened to|corrected to|shifted to|now"
            " stands at|set to"
        ),
        family=ANY,
    ),
    Predicate("allergic", "allergic to", nouns="allergy|allergies", single=False),
    Predicate(
        "likes",
        "likes?|loves?|enjoys?|adores?|fond of|keen on|prefers?|into",
        ends="dislikes?|hates?|tired of|fed up with|went off",
        single=False,
    ),
    Predicate("knows", "knows?|familiar with", changes="learned|learnt", single=False),
    Predicate("speaks", "speaks?|fluent in", single=False),
    Predicate(
        "has",
        "(?:has|have) got(?! to\\b)|(?:has|have)(?! (?:[a-z]+ly |always |never |all |just |both "
        "|yet"
        " |ever |even )?(?:been|done|made|known|come|gone|met|found|felt|put|taken|seen|had|given"
        "|become|begun|written|read|won|lost|left|heard|kept|told|said|thought|brought|grown|run"
        "|set|built|sent|spent|gotten|got|learnt|\\w{3,}ed)\\b)|owns?|having",
        changes="bought|acquired|adopted(?= an? )",
        single=False,
    ),
    Predicate("plays", "plays?|playing", changes="took up", single=False),
    Predicate("takes", "takes?|taking|on medication", ends="came off", single=False),
    Predicate("consumes", "drinks?|drinking|eats?|eating", single=False),
    Predicate("smokes", "smokes?|smoking"),
    Predicate("rides", "rides?|riding", single=False),
    Predicate("sells", "sells?|selling", single=False),
    Predicate("supports", "supports?|supporting", ends="dropped support for", single=False),
    Predicate(
        "depends", "depends? on|depending on|requires?|requiring", nouns="dependency", single=False
    ),
    Predicate("needs", "needs?|needing", single=False),
    Predicate("contains", "contains?|includes?|containing|including", single=False),
    Predicate(
        "member",
        "a member of|members of|belongs to the|part of",
        changes="became a member of|joined(?= (?:an?|the|my|our|this) )",
        single=False,
    ),
    Predicate("visited", "been to|visited", single=False),
    Predicate("teaches", "teaches|teach|teaching", single=False),
    Predicate("studies", "studies|study|studying|learning|learns?", single=False),
    Predicate("can", "able to", single=False),
    Predicate("opens", "opens|open(?= (?:at|from|on)\\b)", nouns="opening time"),
    Predicate("closes", "closes|close(?= (?:at|on)\\b)|shuts?(?= at)", nouns="closing time"),
    Predicate(
        "starts",
        "starts?(?= (?:on|at|in|\\d))|begins?(?= (?:on|at|in|\\d))",
        nouns="start|start date|start time",
        family="time",
    ),
    Predicate(
        "ends",
        "ends?(?= (?:on|at|in|\\d))|finishes|finish(?= (?:on|at))|expires?|(?:valid|runs?|lasts?)"
        " (?:until|till|through)",
        nouns="end|end date|expiry date",
        family="time",
    ),
    Predicate(
        "leaves",
        "leaves?(?= at| on)|departs?(?= at| on)",
        nouns="departure|departure time",
        family="time",
    ),
    Predicate("leaves from", "leaves? from|departs? from", nouns="departure gate"),
    Predicate("arrives", "arrives?(?= at| on)|lands?(?= at| on)", nouns="arrival"),
    Predicate(
        "stored", "stored (?:in|on|at)|kept (?:in|on)|saved (?:in|on|to)|lies in", family="place"
    ),
    Predicate("kept at", "kept at|limited to|capped at"),
    Predicate(
        "deploys",
        "(?:deploys?|ships?|releases?)(?: on| every| at)?(?= [A-Z\\d])|deploys?|ships?|releases?",
    ),
    Predicate("points", "points? to|resolves? to|connects? to|talks? to"),
    Predicate("pays", "pays?|earns?|charges?"),
    Predicate("maintained", "maintained by", inverse="maintains", nouns="maintainer"),
    Predicate("sponsor", "sponsored by|funded by", inverse="sponsors", nouns="sponsor"),
    Predicate("author", "written by", nouns="author"),
    Predicate(
        "supplier", "supplied by|delivered by", inverse="supplies|delivers", nouns="supplier"
    ),
    Predicate("insurer", "insured (?:by|with|at)", nouns="insurer"),
)


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


# States that exclude each other: a subject is in one state of each line at a time.
STATES: tuple[frozenset[str], ...] = tuple(
    _stems(line)
    for line in (
        (
            "open closed shut locked unlocked fixed resolved done finished pending merged reopened"
            " unresolved started completed"
        ),
        "enabled disabled on off active inactive",
        "up down online offline running stopped broken working healthy",
        "alive dead",
        "single married divorced engaged widowed",
        "available unavailable free busy occupied",
        "public private",
        "full empty",
        "vegetarian vegan",
        "pregnant",
        "employed unemployed retired",
        "approved rejected",
        "paid unpaid overdue",
        "deprecated stable experimental",
        "sick ill well recovered",
        "awake asleep",
        "hired fired",
        "mandatory optional",
        "green amber yellow",
    )
)

# Products and values that replace each other in a system, with the words for their category.
CATEGORIES: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (_stems(names), _stems(line))
    for names, line in (
        (
            "database db store storage",
            (
                "mysql mariadb postgresql postgres sqlite oracle mongodb cassandra dynamodb"
                " cockroachdb mssql redis"
            ),
        ),
        (
            "host provider cloud",
            "heroku netlify vercel aws azure gcp fly fly.io hetzner render digitalocean linode ovh",
        ),
        ("os system", "linux windows macos debian ubuntu fedora arch nixos freebsd alpine centos"),
        ("editor ide", "vim emacs helix neovim vscode nano"),
        ("ci build", "jenkins circleci travis gitlab buildkite"),
        ("browser", "chrome firefox safari edge"),
        ("framework frontend", "react vue angular svelte"),
        ("framework backend", "flask django fastapi rails"),
        ("chat messenger", "slack teams discord mattermost"),
        ("manager", "npm pnpm yarn bun"),
        ("manager", "pip uv poetry conda"),
        ("phone", "iphone android"),
        ("bundler", "webpack vite rollup"),
        ("queue broker", "kafka rabbitmq nats pulsar"),
        ("search", "elasticsearch opensearch solr meilisearch"),
        (
            "language",
            "python java go rust kotlin ruby scala typescript javascript c++ c# elixir php",
        ),
        (
            "color",
            (
                "red blue green yellow black white gray orange purple pink brown turquoise violet"
                " beige silver gold"
            ),
        ),
        (
            "profession job",
            (
                "teacher nurse engineer doctor lawyer baker architect journalist pilot librarian"
                " carpenter plumber electrician chef designer manager"
            ),
        ),
    )
)

PRODUCTS: frozenset[str] = frozenset().union(
    *(line for names, line in CATEGORIES if not names & _stems("color profession"))
)

# Spelling variants and synonyms, as stems: a key contains "phone" for "mobile" and "telephone".
SPELLINGS: dict[str, str] = {
    stem(word): stem(first)
    for first, *others in (
        line.split()
        for line in (
            "phone telephone mobile cellphone",
            "boss manager supervisor",
            "favorite favourite preferred",
            "color colour",
            "center centre",
            "gray grey",
            "license licence",
            "neighbor neighbour",
            "harbor harbour",
            "flavor flavour",
            "behavior behaviour",
            "catalog catalogue",
            "program programme",
            "tire tyre",
            "jewelry jewellery",
            "organization organisation",
            "max maximum",
            "min minimum",
            "apartment flat",
            "salary wage pay",
            "kid child children",
            "email e-mail mail",
            "database db",
            "repository repo",
            "configuration config",
            "number no. nr",
            "password passwd pw pwd passcode",
            "temperature temp",
            "mom mum mother",
            "dad father",
            "team crew",
            "bike bicycle",
            "car automobile",
            "environment env",
            "address addr",
            "meter metre",
            "theater theatre",
        )
    )
    for word in others
}


@dataclass(frozen=True, slots=True)
class VerbForm:
    """A verb as written, and how it expresses its predicate."""

    predicate: Predicate
    change: bool = False
    ends: bool = False
    inverse: bool = False


def _verbs() -> tuple[tuple[str, VerbForm], ...]:
    found: list[tuple[str, VerbForm]] = []
    for predicate in PREDICATES:
        for text, verb in (
            (predicate.verbs, VerbForm(predicate)),
            (predicate.changes, VerbForm(predicate, change=True)),
            (predicate.ends, VerbForm(predicate, change=True, ends=True)),
            (predicate.inverse, VerbForm(predicate, inverse=True)),
        ):
            found += [(part, verb) for part in _split(text) if part]
    # the longer form is more specific: "moved back to" before "moved to"
    found.sort(key=lambda item: -len(item[0]))
    return tuple((text.strip(), verb) for text, verb in found)


def _split(text: str) -> list[str]:
    """Split an expression into its top-level alternatives."""
    parts, depth, held = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            parts.append(held)
            held = ""
        else:
            held += char
    return [*parts, held]


VERBS = _verbs()
NOUNS: dict[str, Predicate] = {
    noun: predicate for predicate in PREDICATES for noun in _split(predicate.nouns) if noun
}
BY_NAME: dict[str, Predicate] = {predicate.name: predicate for predicate in PREDICATES}


def cue_words(name: str) -> list[str]:
    """Return words that sentences with a predicate use, so that a full-text search finds "I live in
    Berlin" for "I moved to Munich"."""
    predicate = BY_NAME.get(name)
    if predicate is None:
        return []
    text = " ".join((predicate.verbs, predicate.changes, predicate.nouns, predicate.inverse))
    return sorted(set(re.findall(r"[a-z]{3,}", re.sub(r"\(\?=.*?\)|\(\?:|\?", " ", text))))


def is_state(word: str) -> bool:
    """Return whether a word is a state, such as open."""
    return any(stem(word.casefold()) in line for line in STATES)


def same_state(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two words are states that exclude each other, such as open and closed."""
    return any(one & line and other & line and (one & line).isdisjoint(other) for line in STATES)


def shared_category(one: frozenset[str], other: frozenset[str]) -> frozenset[str] | None:
    """Return the words for the category of both values, such as database for two databases; None if
    they share none."""
    return next(
        (
            names
            for names, line in CATEGORIES
            if one & line and other & line and (one & line).isdisjoint(other)
        ),
        None,
    )
