"""Scenarios of belief revision, written as keys, edges, operations and assertions: each asserted
through the Python verbs, recall and Cypher.

A key is an item, its value the fact (key, "value", value) and the text "key: value". What a
scenario calls a DERIVED_FROM edge of a revised key is the edge by which the new revision names the
old one; here that is SUPERSEDES. A revision that states the same value again is asked for with
`again`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import doxa
from bench.persistence_parts import Part, Tally, ask, fresh

NAMES = ("agm_scenarios_49.json", "agm/agm_scenarios_49.json")


def find(data: Path | None) -> Path | None:
    """The file, given itself or a folder that holds it."""
    places = [data, *(data / name for name in NAMES)] if data is not None else []
    return next((place for place in places if place.is_file()), None)


def scenarios(path: Path | None) -> Part:
    """Every assertion through every interface that can show it."""
    part = Part()
    if path is None:
        part.summary = "not run: name the scenarios' file with --data"
        return part
    cases = json.loads(path.read_text(encoding="utf-8"))
    tally = Tally()
    passed: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    with fresh(project="agm") as memory:
        for number, case in enumerate(cases):
            before = len(tally.wrong)
            _Scenario(memory.session(project=f"s{number}"), case, tally).run()
            held = passed[f"{case['postulate']}"]
            held[0] += len(tally.wrong) == before
            held[1] += 1
    right, asked = sum(one for one, _ in passed.values()), sum(all_ for _, all_ in passed.values())
    part.take(tally, key="scenarios")
    part.figures |= {"scenarios.passed": right, "scenarios.all": asked}
    answers = sum(tally.asked.values())
    part.summary = (
        f"{right} of {asked} scenarios, {sum(tally.right.values())} of {answers} assertions, each"
        " by the doors that show it"
    )
    rows = [[name, f"{one} of {all_}"] for name, (one, all_) in passed.items()]
    part.tables.append(("Scenarios, by what they are about", ["postulate", "passed"], rows))
    rows = [[about, str(tally.asked[about]), tally.cell(about)] for about in tally.asked]
    part.tables.append(("Their assertions, by door", ["assertion", "asked", "right"], rows))
    return part


class _Scenario:
    def __init__(self, session: doxa.Session, case: dict[str, Any], tally: Tally) -> None:
        self.session, self.case, self.tally = session, case, tally
        self.revised: set[str] = set()

    def kref(self, key: str) -> str:
        return f"kref://{self.session.project}/{key}.fact"

    def run(self) -> None:
        for belief in self.case["beliefs"]:
            self._state(belief["key"], belief["value"])
        for edge in self.case.get("edges", ()):
            self.session.link(self.kref(edge["from"]), self.kref(edge["to"]), kind=edge["type"])
        for operation in self.case["operations"]:
            self._operate(operation)
        for assertion in self.case["assertions"]:
            getattr(self, f"_{assertion['type']}")(assertion)

    def _state(self, key: str, value: str) -> None:
        self.session.remember(f"{key}: {value}", name=key, facts=[(key, "value", value)])

    def _operate(self, operation: dict[str, Any]) -> None:
        key = operation["key"]
        match operation["type"]:
            case "expand":
                self._state(key, operation["value"])
            case "revise":
                value = operation["new_value"]
                self.session.revise(
                    self.kref(key), f"{key}: {value}", facts=[(key, "value", value)], again=True
                )
                self.revised.add(key)
            case "contract":
                self.session.contract(self.kref(key))
            case "restore":
                self.session.restore(self.kref(key))

    def _see(self, about: str, found: object, wanted: object) -> None:
        self.tally.see(about, found, wanted, of=self.case["id"])

    # What is asserted

    def _values(self, key: str) -> dict[str, list[str]]:
        """The value of a key as each interface gives it."""
        found = self.session.get(self.kref(key))
        assert isinstance(found, doxa.Revision)
        rows = ask(
            self.session,
            "MATCH (i:Item {kref: $kref})-[:CURRENT]->(r) UNWIND r.facts AS fact RETURN fact",
            {"kref": self.kref(key)},
        )
        hits = [
            hit
            for hit in self.session.recall(key.replace("_", " ") + f" {key}", limit=50).hits
            if hit.kref.startswith(self.kref(key) + "?")
        ]
        return {
            "verbs": [str(fact.value) for fact in found.facts] if found.status == "current" else [],
            "Cypher": [json.loads(row[0])[2] for row in rows],
            "recall": [hit.text.partition(": ")[2] for hit in hits],
        }

    def _published_value(self, assertion: dict[str, Any]) -> None:
        for door, values in self._values(assertion["key"]).items():
            self._see(f"value, by {door}", values, [assertion["expected"]])

    def _published_value_not(self, assertion: dict[str, Any]) -> None:
        for door, values in self._values(assertion["key"]).items():
            self._see(f"no other value, by {door}", assertion["excluded"] in values, False)

    def _revision_count(self, assertion: dict[str, Any]) -> None:
        kref, expected = self.kref(assertion["key"]), assertion["expected"]
        self._see("revisions, by verbs", len(self.session.history(kref).revisions), expected)
        rows = ask(
            self.session,
            "MATCH (:Item {kref: $kref})-[:HAS_REVISION]->(r) RETURN count(r)",
            {"kref": kref},
        )
        self._see("revisions, by Cypher", rows, [(expected,)])

    def _item_count(self, assertion: dict[str, Any]) -> None:
        rows = ask(
            self.session,
            "MATCH (:Project {name: $name})-[:HAS_ITEM]->(i:Item) RETURN count(i)",
            {"name": self.session.project},
        )
        self._see("items, by Cypher", rows, [(assertion["expected"],)])
        found = {
            hit.kref.partition("?")[0]
            for hit in self.session.recall(" ".join(self._keys()), limit=50).hits
        }
        self._see("items, by recall", len(found), assertion["expected"])

    def _keys(self) -> set[str]:
        return {one["key"] for one in (*self.case["beliefs"], *self.case["operations"])}

    def _edge_count(self, source: str, target: str | None, kind: str) -> tuple[int, int]:
        kinds = [kind, "SUPERSEDES"] if target is None and source in self.revised else [kind]
        found = [
            step for step in self.session.traverse(self.kref(source), depth=1, types=kinds).steps
        ]
        text = (
            "MATCH (:Item {kref: $from})-[:CURRENT]->()-[e]->()<-[:HAS_REVISION]-(i:Item) WHERE"
            " type(e) IN $kinds RETURN i.kref"
        )
        rows = ask(self.session, text, {"from": self.kref(source), "kinds": kinds})
        if target is None:
            return len(found), len(rows)
        prefix = self.kref(target)
        return sum(step.kref.startswith(prefix + "?") for step in found), sum(
            row[0] == prefix for row in rows
        )

    def _has_edge(self, assertion: dict[str, Any]) -> None:
        verbs, cypher = self._edge_count(assertion["key"], None, assertion["edge_type"])
        self._see("an edge, by verbs", verbs > 0, True)
        self._see("an edge, by Cypher", cypher > 0, True)

    def _no_edge(self, assertion: dict[str, Any]) -> None:
        counts = self._edge_count(
            assertion["from_key"], assertion["to_key"], assertion["edge_type"]
        )
        self._see("no edge, by verbs and Cypher", counts, (0, 0))

    def _is_believed(self, key: str) -> dict[str, bool]:
        found = self.session.get(self.kref(key))
        assert isinstance(found, doxa.Revision)
        rows = ask(
            self.session,
            "MATCH (:Item {kref: $kref})-[:CURRENT]->(r) RETURN count(r)",
            {"kref": self.kref(key)},
        )
        hits = self.session.recall(f"{key} {found.summary}", limit=50).hits
        return {
            "verbs": found.status == "current",
            "Cypher": rows == [(1,)],
            "recall": any(hit.kref == found.kref and hit.status == "current" for hit in hits),
        }

    def _item_active(self, assertion: dict[str, Any]) -> None:
        for door, believed in self._is_believed(assertion["key"]).items():
            self._see(f"believed, by {door}", believed, True)

    def _item_deprecated(self, assertion: dict[str, Any]) -> None:
        for door, believed in self._is_believed(assertion["key"]).items():
            self._see(f"not believed, by {door}", believed, False)
