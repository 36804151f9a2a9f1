"""What the catalogue declares, read once for each of its versions: guards, search rows, indexes, constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from doxa.store.constraint import Constraints
from doxa.store.guard import Guards
from doxa.store.index import Indexes
from doxa.store.search import SearchRule, rules_of


class Declared(NamedTuple):
    guards: Guards
    search: Mapping[str, SearchRule]
    indexes: Indexes
    constraints: Constraints


def declared(catalogue: dict[str, Any]) -> Declared:
    return Declared(Guards(catalogue), rules_of(catalogue), Indexes(catalogue), Constraints(catalogue))
