"""The signatures of functions and procedures for the semantic check. `query` implements them.

Types: any, boolean, integer, float, number, string, map, node, edge, path, list (list<x>), temporal
types, point. A trailing ? marks an optional argument, ... a repeated one.
"""

from __future__ import annotations

from typing import NamedTuple

_FUNCTIONS = """
coalesce(any...) any
startNode(edge) node
endNode(edge) node
head(list) any
last(list) any
id(node|edge) integer
elementId(node|edge) string
length(path) integer
properties(node|edge|map) map
randomUUID() string
size(list|string) integer
timestamp() integer
toBoolean(boolean|string|integer) boolean
toBooleanOrNull(any) boolean
toFloat(number|string) float
toFloatOrNull(any) float
toInteger(number|string|boolean) integer
toIntegerOrNull(any) integer
toString(number|string|boolean|temporal|point) string
toStringOrNull(any) string
type(edge) string
valueType(any) string
nullIf(any, any) any
char_length(string) integer
character_length(string) integer
keys(node|edge|map) list<string>
labels(node) list<string>
nodes(path) list<node>
relationships(path) list<edge>
rels(path) list<edge>
range(any, any, any?) list<integer>
reverse(list|string) any
tail(list) list
toBooleanList(list) list<boolean>
toFloatList(list) list<float>
toIntegerList(list) list<integer>
toStringList(list) list<string>
exists(any) boolean
isEmpty(list|map|string) boolean
abs(number) number
ceil(number) float
floor(number) float
isNaN(number) boolean
rand() float
round(number, integer?, string?) float
sign(number) integer
e() float
exp(number) float
log(number) float
log10(number) float
sqrt(number) float
pi() float
sin(number) float
cos(number) float
tan(number) float
cot(number) float
sinh(number) float
cosh(number) float
tanh(number) float
coth(number) float
asin(number) float
acos(number) float
atan(number) float
atan2(number, number) float
degrees(number) float
radians(number) float
haversin(number) float
left(string, integer) string
right(string, integer) string
lTrim(string, string?) string
rTrim(string, string?) string
bTrim(string, string?) string
trim(string) string
replace(string, string, string) string
split(string, string|list) list<string>
substring(string, integer, integer?) string
toLower(string) string
toUpper(string) string
lower(string) string
upper(string) string
normalize(string, string?) string
date(any?) date
date.transaction(any?) date
date.statement(any?) date
date.realtime(any?) date
date.truncate(string, temporal?, map?) date
time(any?) time
time.transaction(any?) time
time.statement(any?) time
time.realtime(any?) time
time.truncate(string, temporal?, map?) time
localtime(any?) localtime
localtime.transaction(any?) localtime
localtime.statement(any?) localtime
localtime.realtime(any?) localtime
localtime.truncate(string, temporal?, map?) localtime
datetime(any?) datetime
datetime.transaction(any?) datetime
datetime.statement(any?) datetime
datetime.realtime(any?) datetime
datetime.truncate(string, temporal?, map?) datetime
datetime.fromepoch(number, number) datetime
datetime.fromepochmillis(number) datetime
localdatetime(any?) localdatetime
localdatetime.transaction(any?) localdatetime
localdatetime.statement(any?) localdatetime
localdatetime.realtime(any?) localdatetime
localdatetime.truncate(string, temporal?, map?) localdatetime
duration(string|map|duration) duration
duration.between(temporal, temporal) duration
duration.inMonths(temporal, temporal) duration
duration.inDays(temporal, temporal) duration
duration.inSeconds(temporal, temporal) duration
decayScore(any, map?) float
decay(any, map?) map
policy(any) map
reveal(any) any
point(map) point
point.distance(point, point) float
distance(point, point) float
point.withinBBox(point, point, point) boolean
vector.similarity.cosine(list, list) float
vector.similarity.euclidean(list, list) float
file() string
linenumber() integer
apoc.map.clean(map|node|edge, list, list) map
apoc.coll.flatten(list, boolean?) list
apoc.coll.toSet(list) list
apoc.any.property(node|edge|map, string) any
apoc.meta.cypher.types(node|edge|map) map
apoc.util.validatePredicate(boolean, string, list) boolean
apoc.date.convertFormat(string, string, string?) string
"""


_AGGREGATES = """
avg(number|duration) any
collect(any) list
count(any) integer
max(any) any
min(any) any
percentileCont(number, number) float
percentileDisc(number, number) number
stDev(number) float
stDevP(number) float
sum(number|duration) any
"""


TEMPORAL = frozenset({"date", "time", "localtime", "datetime", "localdatetime", "duration"})
_WIDER = {"number": frozenset({"integer", "float"}), "temporal": TEMPORAL}


class Argument(NamedTuple):
    accepts: frozenset[str]  # empty: anything
    optional: bool = False
    repeats: bool = False


class Signature(NamedTuple):
    name: str
    args: tuple[Argument, ...]
    result: str
    aggregate: bool = False

    @property
    def least(self) -> int:
        return sum(1 for item in self.args if not item.optional and not item.repeats) + (
            1 if any(item.repeats for item in self.args) else 0
        )

    @property
    def most(self) -> int | None:
        return None if any(item.repeats for item in self.args) else len(self.args)

    def argument(self, index: int) -> Argument:
        return self.args[min(index, len(self.args) - 1)]


class ProcedureSignature(NamedTuple):
    """args and results are (name, Cypher type as text). `writes`: it may change the graph."""

    name: str
    args: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    writes: bool = False
    optional: int = 0  # how many of the last arguments may be left out
    description: str = ""


def _argument(text: str) -> Argument:
    bare = text.rstrip("?.").strip()
    names: set[str] = set()
    for word in bare.split("|"):
        names |= _WIDER.get(word, frozenset({word}))
    return Argument(
        frozenset() if "any" in names else frozenset(names),
        text.endswith("?"),
        text.endswith("..."),
    )


def _signature(line: str, *, aggregate: bool) -> Signature:
    head, _, result = line.rpartition(" ")
    name, _, inside = head.partition("(")
    parts = [part.strip() for part in inside.rstrip(")").split(",") if part.strip()]
    return Signature(name, tuple(_argument(part) for part in parts), result, aggregate)


FUNCTIONS: dict[str, Signature] = {
    item.name.lower(): item
    for text, aggregate in ((_FUNCTIONS, False), (_AGGREGATES, True))
    for item in (_signature(line, aggregate=aggregate) for line in text.strip().splitlines())
}


def accepted(kind: str, argument: Argument) -> bool:
    """Return whether an argument accepts a static type: only a certain mismatch is refused."""
    if not argument.accepts or kind in ("any", "null"):
        return True
    base = kind.partition("<")[0]
    if base == "number":
        return bool(argument.accepts & {"integer", "float"})
    return base in argument.accepts
