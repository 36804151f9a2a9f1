"""neomodel doing real work against the server: schema, objects, relationships, queries,
transactions. Prints JSON for each check.

Run by its own environment (`scripts/compat.sh`): `python tool_neomodel.py PORT`.
"""

from __future__ import annotations

import datetime
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

import neomodel as nm

nm.get_config().database_url = f"bolt://ana:a-good-secret@127.0.0.1:{sys.argv[1]}"


class Knows(nm.StructuredRel):
    since = nm.IntegerProperty()


class City(nm.StructuredNode):
    name = nm.StringProperty(required=True)


class Person(nm.StructuredNode):
    uid = nm.UniqueIdProperty()
    name = nm.StringProperty(unique_index=True)
    age = nm.IntegerProperty(index=True, default=0)
    tags = nm.ArrayProperty(nm.StringProperty())
    born = nm.DateProperty()
    seen = nm.DateTimeProperty(default_now=True)
    data = nm.JSONProperty()
    home = nm.RelationshipTo(City, "LIVES_IN", cardinality=nm.ZeroOrOne)
    knows = nm.RelationshipTo("Person", "KNOWS", model=Knows)


def schema() -> None:
    nm.db.install_all_labels()
    assert {tuple(index["properties"]) for index in nm.db.list_indexes()} >= {
        ("uid",),
        ("name",),
        ("age",),
    }
    assert len(nm.db.list_constraints()) == 2
    assert nm.db.database_edition == "community"


def objects() -> None:
    city = City(name="Uppsala").save()
    ana = Person(
        name="Ana", age=31, tags=["a", "b"], born=datetime.date(1990, 1, 2), data={"x": [1]}
    ).save()
    kai = Person(name="Kai", age=29).save()
    ana.home.connect(city)
    ana.knows.connect(kai, {"since": 2001})
    found = Person.nodes.get(name="Ana")
    assert (found.age, found.tags, found.born, found.data) == (
        31,
        ["a", "b"],
        datetime.date(1990, 1, 2),
        {"x": [1]},
    )
    assert found.home.single().name == "Uppsala"
    assert [friend.name for friend in found.knows] == ["Kai"]
    assert found.knows.relationship(kai).since == 2001
    found.age = 40
    found.save()
    ana.refresh()
    assert ana.age == 40


def queries() -> None:
    assert [one.name for one in Person.nodes.filter(age__gt=28).order_by("-age")] == ["Ana", "Kai"]
    assert [
        one.name for one in Person.nodes.filter(nm.Q(name__istartswith="a") | nm.Q(age__in=[0]))
    ] == ["Ana"]
    assert [one.name for one in Person.nodes.order_by("name")[0:1]] == ["Ana"]
    assert [one.name for one in Person.nodes.get(name="Ana").knows.match(since__gt=2000)] == ["Kai"]
    assert len(Person.nodes) == 2
    rows, names = nm.db.cypher_query(
        "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r, b", resolve_objects=True
    )
    assert names == ["a", "r", "b"]
    assert isinstance(rows[0][0], Person)
    assert isinstance(rows[0][1], Knows)


def batches() -> None:
    assert len(Person.create(*[{"name": f"n{at}"} for at in range(50)])) == 50
    ana = Person.nodes.get(name="Ana")
    (same,) = Person.get_or_create({"name": "Ana", "uid": ana.uid})
    assert same.uid == ana.uid
    (changed,) = Person.create_or_update({"name": "Ana", "uid": ana.uid, "age": 50})
    assert changed.age == 50


def transactions() -> None:
    with nm.db.transaction:
        Person(name="T1").save()
    try:
        with nm.db.transaction:
            Person(name="T2").save()
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert [one.name for one in Person.nodes.filter(name__startswith="T")] == ["T1"]


def uniqueness() -> None:
    try:
        Person(name="Ana").save()
    except nm.exceptions.UniqueProperty:
        return
    raise AssertionError("a second Ana was let in")


def taking_away() -> None:
    ana, kai = Person.nodes.get(name="Ana"), Person.nodes.get(name="Kai")
    ana.knows.disconnect(kai)
    assert len(ana.knows) == 0
    ana.home.reconnect(ana.home.single(), City(name="Lund").save())
    assert ana.home.single().name == "Lund"
    kai.delete()
    assert Person.nodes.get_or_none(name="Kai") is None
    nm.db.drop_constraints()
    nm.db.drop_indexes()
    assert nm.db.list_constraints() == []


def clearing() -> None:
    # MATCH (a) CALL { WITH a DETACH DELETE a } IN TRANSACTIONS OF 5000 rows
    nm.db.clear_neo4j_database()
    assert len(Person.nodes) == 0


def check(work: Callable[[], Any]) -> None:
    problem = ""
    try:
        work()
    except BaseException:
        problem = traceback.format_exc()
    print("CHECK " + json.dumps({"name": work.__name__, "problem": problem}))


for each in (schema, objects, queries, batches, transactions, uniqueness, taking_away, clearing):
    check(each)
