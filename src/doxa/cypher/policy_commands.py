"""Parse commands on persistence policies. One text may contain several commands.

    CREATE [OR REPLACE] DECAY PROFILE [IF NOT EXISTS] name OPTIONS { key: value, … }
    a bundle of options

    CREATE [OR REPLACE] DECAY PROFILE [IF NOT EXISTS] name FOR target APPLY { directive … }
    a binding to a target

    CREATE [OR REPLACE] PROMOTION PROFILE [IF NOT EXISTS] name OPTIONS { key: value, … }
    CREATE [OR REPLACE] PROMOTION POLICY [IF NOT EXISTS] name FOR target
        APPLY { ON ACCESS { set … } WHEN condition APPLY PROFILE name … }
    ALTER kind name SET OPTIONS { … }
    ALTER kind name ENABLE | DISABLE
    DROP kind name [IF EXISTS]

    target     (v)   (v:A:B)   ()-[v]-()   ()-[v:TYPE]->()
    directive  [v.property] NO DECAY | DECAY PROFILE name | DECAY HALF LIFE seconds
               | DECAY FLOOR share | DECAY VISIBILITY THRESHOLD share
    set        [WITH KALMAN [{q: …, r: …}]] SET v.property = expression, …

Parts are separated by commas, semicolons or nothing. A directive after one about a property applies
to that property only on the same line. Source: the paper "Persistence Semantics" (NornicDB, 2026),
sections 4.2 to 4.4.
"""

from __future__ import annotations

from typing import NoReturn

from doxa.cypher import tree as t
from doxa.cypher.clauses import ClauseParser
from doxa.cypher.errors import fail
from doxa.cypher.policy_options import (
    OPEN,
    agree,
    directive_value,
    option_key,
    option_value,
    option_words,
)

_SAID = {
    "profile": "DECAY PROFILE",
    "half_life": "DECAY HALF LIFE",
    "floor": "DECAY FLOOR",
    "threshold": "DECAY THRESHOLD",
    "none": "NO DECAY",
}


class PolicyParser(ClauseParser):
    def policy_commands(self) -> t.Clause | None:
        """Parse one command or several; None if the text is something else."""
        if not self._policy_follows():
            return None
        commands = [self._policy_command()]
        while True:
            start = self.index
            while self.take_op(";"):
                pass
            if not self._policy_follows():
                self.index = start
                return (
                    commands[0]
                    if len(commands) == 1
                    else t.PolicyCommands(tuple(commands), at=commands[0].at)
                )
            commands.append(self._policy_command())

    def _policy_follows(self) -> bool:
        """CREATE decay = (a) makes a path."""
        if not (self.is_word("CREATE") or self.is_word("ALTER") or self.is_word("DROP")):
            return False
        words = 3 if self.is_word("CREATE", "OR", "REPLACE") else 1
        return (
            self.ahead(words).upper in ("DECAY", "PROMOTION") and self.ahead(words + 1).text != "="
        )

    def _policy_command(self) -> t.Clause:
        at = self.token.at
        if self.take_word("ALTER"):
            return self._altered_policy(at)
        if self.take_word("DROP"):
            what = self._policy_kind()
            present = self.take_word("IF", "EXISTS")
            name = self._policy_name()
            return t.DropPolicy(what, name, self.take_word("IF", "EXISTS") or present, at=at)
        self.need_word("CREATE")
        replace = self.take_word("OR", "REPLACE")
        what = self._policy_kind()
        name, absent = self._policy_name_and_absent(replace=replace)
        if what == "PROMOTION POLICY":
            return self._promotion_policy(name, at, replace=replace, absent=absent)
        if what == "DECAY PROFILE" and self.is_word("FOR"):
            return self._decay_binding(name, at, replace=replace, absent=absent)
        if not self.is_word("OPTIONS"):
            self.unexpected("OPTIONS or FOR" if what == "DECAY PROFILE" else "OPTIONS")
        options = self._all_options(what)
        if self.is_word("FOR"):
            hint = (
                "Bind it in a command of its own: CREATE DECAY PROFILE other FOR (n:Label) APPLY {"
                " DECAY PROFILE 'name' }."
            )
            fail("What has OPTIONS has no target.", self.token.at, hint=hint)
        made = t.CreateDecayBundle if what == "DECAY PROFILE" else t.CreatePromotionProfile
        return made(name, options, replace, absent, at=at)

    def _policy_kind(self) -> t.PolicyKind:
        if self.take_word("DECAY"):
            self.need_word("PROFILE")
            return "DECAY PROFILE"
        self.need_word("PROMOTION")
        if self.take_word("POLICY"):
            return "PROMOTION POLICY"
        if not self.take_word("PROFILE"):
            self.unexpected("PROFILE or POLICY")
        return "PROMOTION PROFILE"

    def _policy_name(self, what: str = "a name") -> str | t.ParameterRef:
        token = self.token
        if token.kind == "PARAMETER":
            self.take()
            return t.ParameterRef(token.text, at=token.at)
        if token.kind == "TEXT":
            self.take()
            assert isinstance(token.value, str)
            return token.value or fail("A name has at least one character.", token.at)
        if (self.is_word("FOR") and self.ahead().text == "(") or (
            self.is_word("OPTIONS") and self.ahead().text == "{"
        ):
            self.unexpected(what)
        return self.dotted(what)

    def _policy_name_and_absent(self, *, replace: bool) -> tuple[str | t.ParameterRef, bool]:
        at = self.token.at
        absent = self.take_word("IF", "NOT", "EXISTS")
        name = self._policy_name()
        if not absent:
            at = self.token.at
            absent = self.take_word("IF", "NOT", "EXISTS")
        if replace and absent:
            fail(
                "OR REPLACE and IF NOT EXISTS exclude each other.",
                at,
                hint="Leave one of them out.",
            )
        return name, absent

    def _altered_policy(self, at: int) -> t.Clause:
        what = self._policy_kind()
        name = self._policy_name()
        token = self.token
        if self.take_word("ENABLE") or self.take_word("DISABLE"):
            enabled = t.Literal(token.upper == "ENABLE", at=token.at)
            return t.AlterPolicy(
                what, name, (t.PolicyOption("enabled", enabled, at=token.at),), at=at
            )
        if not self.take_word("SET"):
            self.unexpected("SET OPTIONS, ENABLE or DISABLE")
        options = self._all_options(what, whole=False)
        if not options:
            fail("There is nothing to change.", token.at, hint="Write SET OPTIONS { key: value }.")
        return t.AlterPolicy(what, name, options, at=at)

    def _separators(self) -> None:
        while self.take_op(",") or self.take_op(";"):
            pass

    # OPTIONS

    def _all_options(self, what: str, *, whole: bool = True) -> tuple[t.PolicyOption, ...]:
        self.need_word("OPTIONS")
        options = self._option_map(what)
        values = {
            one.key: one.value.value if isinstance(one.value, t.Literal) else OPEN
            for one in options
        }
        agree(what, values, {one.key: one.at for one in options}, whole=whole)
        return options

    def _option_map(self, what: str) -> tuple[t.PolicyOption, ...]:
        self.need_op("{")
        found: dict[str, t.PolicyOption] = {}
        while not self.take_op("}"):
            at = self.token.at
            key = option_key(what, self.name("an option or '}'"), at)
            if key in found:
                fail(f"The option {key} is given twice.", at, hint="Keep one of them.")
            if not (self.take_op(":") or self.take_op("=")):
                self.unexpected("':'")
            found[key] = t.PolicyOption(key, self._option_value(what, key), at=at)
            self._separators()
        return tuple(found.values())

    def _option_value(self, what: str, key: str) -> t.Expression:
        value = self.expression()
        if isinstance(value, t.Variable) and option_words(what, key):
            value = t.Literal(value.name, at=value.at)
        if isinstance(value, t.Sign) and value.op == "+" and isinstance(value.of, t.Literal):
            value = value.of
        if isinstance(value, t.Literal):
            return t.Literal(option_value(what, key, value.value, value.at), at=value.at)
        return value

    # FOR

    def _policy_target(self) -> t.PolicyTarget:
        self.need_word("FOR")
        at = self.token.at
        before, self.dynamic_labels = self.dynamic_labels, True
        pattern = self.path_pattern()
        self.dynamic_labels = before
        elements = pattern.elements
        for element in elements:
            if isinstance(element, t.QuantifiedPattern):
                fail(
                    "A policy is for single elements, not for paths of any length.",
                    element.at,
                    hint="Write ()-[r:TYPE]-().",
                )
        if pattern.variable or pattern.shortest or len(elements) > 3:
            place = elements[3].at if len(elements) > 3 else at
            fail(
                "A policy is for single elements, not for paths.",
                place,
                hint="Write (n:Label) or ()-[r:TYPE]-().",
            )
        middle = elements[len(elements) // 2]
        for end in elements[:1] + elements[2:] if len(elements) == 3 else ():
            if end != t.NodePattern():
                fail(
                    "A policy for relationships says nothing of their ends.",
                    end.at,
                    hint="Write empty parentheses: ()-[r:TYPE]-().",
                )
        assert isinstance(middle, (t.NodePattern, t.EdgePattern))
        if isinstance(middle, t.EdgePattern) and middle.length is not None:
            fail(
                "A policy is for single relationships, not for paths of any length.",
                middle.at,
                hint="Write ()-[r:TYPE]-().",
            )
        for part in (middle.properties, middle.where):
            if part is not None:
                fail(
                    "The target of a policy is a label or a type, without further conditions.",
                    part.at,
                    hint="Put conditions into WHEN.",
                )
        labels = middle.types if isinstance(middle, t.EdgePattern) else middle.labels
        edge = isinstance(middle, t.EdgePattern)
        names = tuple(one.name for one in _target_labels(labels, edge=edge))
        return t.PolicyTarget(edge, middle.variable or "", names, at=at)

    def _apply(self, what: str, example: str) -> None:
        if not self.take_word("APPLY"):
            fail(
                f"Expected APPLY: {what} says what it does.",
                self.token.at,
                hint=f"Write {example}.",
            )
        self.need_op("{")

    def _owned_property(self, target: t.PolicyTarget) -> str:
        """v.property of the target's variable."""
        token = self.token
        if self.name("a property of the variable") != target.variable or not target.variable:
            _no_variable(token.text, target, token.at)
        self.need_op(".")
        return self.name("a property")

    # Bindings

    def _decay_binding(
        self, name: str | t.ParameterRef, at: int, *, replace: bool, absent: bool
    ) -> t.Clause:
        target = self._policy_target()
        self._apply("a binding", "APPLY { NO DECAY } or APPLY { DECAY PROFILE 'name' }")
        found: list[t.DecayDirective] = []
        while not self.is_op("}"):
            for directive in self._directives(target):
                _fits(directive, found)
                found.append(directive)
            self._separators()
        if not found:
            fail(
                "APPLY needs at least one directive.",
                self.token.at,
                hint="Write NO DECAY, DECAY PROFILE 'name' or DECAY HALF LIFE seconds.",
            )
        self.need_op("}")
        return t.CreateDecayBinding(name, target, tuple(found), replace, absent, at=at)

    def _directives(self, target: t.PolicyTarget) -> list[t.DecayDirective]:
        """Parse a directive for the whole element, or all directives on the line of a property."""
        if self.token.kind not in ("NAME", "QUOTED") or self.ahead().text != ".":
            return [self._directive(None)]
        of = self._owned_property(target)
        apart = self._begins_line()
        found = [self._directive(of)]
        while (self.is_word("DECAY") or self.is_word("NO", "DECAY")) and self.ahead().text != ".":
            if self._begins_line():
                if apart:
                    hint = (
                        f"Begin the line with {target.variable}.{of}, or with a semicolon if it is"
                        " about the whole."
                    )
                    fail(
                        f"This could be about {of} or about the whole element.",
                        self.token.at,
                        hint=hint,
                    )
                break
            found.append(self._directive(of))
        return found

    def _begins_line(self) -> bool:
        before = self.tokens[self.index - 1]
        return self.text.count("\n", before.at, self.token.at) > before.text.count("\n")

    def _directive(self, of: str | None) -> t.DecayDirective:
        at = self.token.at
        if self.take_word("NO"):
            self.need_word("DECAY")
            return t.DecayDirective(of, "none", None, at=at)
        if not self.take_word("DECAY"):
            self.unexpected("DECAY or NO DECAY" if of else "DECAY, NO DECAY, a property or '}'")
        if self.take_word("PROFILE"):
            token = self.token
            name = self._policy_name("the name of a decay profile")
            return t.DecayDirective(
                of,
                "profile",
                t.Literal(name, at=token.at) if isinstance(name, str) else name,
                at=at,
            )
        if self.take_word("HALF", "LIFE"):
            return t.DecayDirective(of, "half_life", self._directive_value("half_life"), at=at)
        if self.take_word("FLOOR"):
            return t.DecayDirective(of, "floor", self._directive_value("floor"), at=at)
        if of and (self.is_word("VISIBILITY") or self.is_word("THRESHOLD")):
            fail(
                "A threshold is the whole element's, not a property's.",
                at,
                hint="State it without the property.",
            )
        if not (
            self.take_word("VISIBILITY", "THRESHOLD")
            or self.take_word("VISIBILITY")
            or self.take_word("THRESHOLD")
        ):
            self.unexpected(
                "PROFILE, HALF LIFE or FLOOR"
                if of
                else "PROFILE, HALF LIFE, FLOOR or VISIBILITY THRESHOLD"
            )
        return t.DecayDirective(of, "threshold", self._directive_value("threshold"), at=at)

    def _directive_value(self, kind: str) -> t.Expression:
        """A number with or without a sign, or a parameter."""
        token = self.token
        if token.kind == "PARAMETER":
            self.take()
            return t.ParameterRef(token.text, at=token.at)
        negative = self.take_op("-")
        if not negative:
            self.take_op("+")
        number = self.token
        if number.kind not in ("INT", "FLOAT"):
            self.unexpected("a number or a parameter")
        self.take()
        assert isinstance(number.value, (int, float))
        return t.Literal(
            directive_value(kind, -number.value if negative else number.value, token.at),
            at=token.at,
        )

    # Promotion policies

    def _promotion_policy(
        self, name: str | t.ParameterRef, at: int, *, replace: bool, absent: bool
    ) -> t.Clause:
        target = self._policy_target()
        self._apply("a policy", "APPLY { WHEN condition APPLY PROFILE 'name' }")
        accesses: tuple[t.AccessSet, ...] = ()
        rules: list[t.PromotionRule] = []
        while not self.is_op("}"):
            token = self.token
            if self.take_word("ON", "ACCESS"):
                if accesses:
                    fail(
                        "ON ACCESS can stand once.",
                        token.at,
                        hint="Write all of its SETs into one block.",
                    )
                accesses = self._access_block(target)
            elif self.take_word("WHEN"):
                when = self.expression()
                self.need_word("APPLY", "PROFILE")
                rules.append(
                    t.PromotionRule(
                        when, self._policy_name("the name of a promotion profile"), at=token.at
                    )
                )
            else:
                self.unexpected("ON ACCESS, WHEN or '}'")
            self._separators()
        if not accesses and not rules:
            hint = "Write ON ACCESS { SET … } or WHEN condition APPLY PROFILE 'name'."
            fail(
                "APPLY needs what happens on access, or at least one WHEN.",
                self.token.at,
                hint=hint,
            )
        self.need_op("}")
        return t.CreatePromotionPolicy(name, target, accesses, tuple(rules), replace, absent, at=at)

    def _access_block(self, target: t.PolicyTarget) -> tuple[t.AccessSet, ...]:
        self.need_op("{")
        found: list[t.AccessSet] = []
        while not self.is_op("}"):
            kalman: tuple[t.PolicyOption, ...] | None = None
            if self.take_word("WITH"):
                self.need_word("KALMAN")
                kalman = self._option_map("KALMAN") if self.is_op("{") else ()
            if not self.take_word("SET"):
                self.unexpected("SET" if kalman is not None else "SET, WITH KALMAN or '}'")
            found.append(self._access_set(target, kalman))
            while self.is_op(",") and not self._set_ends():
                self.take()
                found.append(self._access_set(target, kalman))
            self._separators()
        if not found:
            fail(
                "ON ACCESS needs at least one SET.",
                self.token.at,
                hint=f"Write SET {target.variable or 'n'}.property = expression.",
            )
        self.need_op("}")
        return tuple(found)

    def _set_ends(self) -> bool:
        """Whether a comma separates statements, rather than the items of one SET."""
        after = self.ahead()
        begins = after.upper in ("SET", "WITH") and self.ahead(2).text != "."
        return begins or (after.kind == "OP" and after.text in ("}", ",", ";"))

    def _access_set(
        self, target: t.PolicyTarget, kalman: tuple[t.PolicyOption, ...] | None
    ) -> t.AccessSet:
        at = self.token.at
        found = self._target()
        variable = target.variable or "n"
        if not isinstance(found, t.Property) or not isinstance(found.of, t.Variable):
            fail(
                "ON ACCESS sets single properties of the element.",
                at,
                hint=f"Write SET {variable}.property = expression.",
            )
        if found.of.name != target.variable:
            _no_variable(found.of.name, target, at)
        if self.is_op("+="):
            fail(
                "+= adds a map to an element; ON ACCESS sets single properties.",
                self.token.at,
                hint=f"Write {variable}.{found.name} = expression.",
            )
        self.need_op("=")
        return t.AccessSet(found.name, self.expression(), kalman, at=at)


def _no_variable(name: str, target: t.PolicyTarget, at: int) -> NoReturn:
    hint = (
        f"Write {target.variable}."
        if target.variable
        else "Name the element in FOR, as in (n:Label) or ()-[r:TYPE]-()."
    )
    fail(f"{name} is not the variable of this policy.", at, detail="UndefinedVariable", hint=hint)


def _target_labels(labels: t.LabelExpression | None, *, edge: bool) -> list[t.LabelName]:
    match labels:
        case None:
            return []
        case t.LabelName():
            return [labels]
        case t.LabelOr():
            what = "one type" if edge else "all labels that it names, not for one of several"
            fail(f"A policy is for {what}.", labels.at, hint="Create one policy object for each.")
        case t.LabelAnd(items) if not edge:
            found = [name for item in items for name in _target_labels(item, edge=edge)]
            for number, one in enumerate(found):
                if one in found[:number]:
                    fail(f"The label {one.name} is named twice.", one.at, hint="Keep one of them.")
            return found
        case t.LabelAnd():
            fail(
                "A relationship has one type.", labels.at, hint="Create one policy object for each."
            )
        case t.LabelAny():
            fail(
                "% stands for no label or type of its own.",
                labels.at,
                hint="Leave it out: (n) is every node, ()-[r]-() every relationship.",
            )
        case _:
            fail(
                "The target of a policy is a label or a type by its name.",
                labels.at,
                hint="Write (n:Label) or ()-[r:TYPE]-().",
            )


def _fits(directive: t.DecayDirective, earlier: list[t.DecayDirective]) -> None:
    """Refuse repeated and contradictory directives. The floor of an element that does not decay
    still limits its promoted score."""
    kinds = [one.kind for one in earlier if one.property == directive.property]
    about = f"{_SAID[directive.kind]}{f' of {directive.property}' if directive.property else ''}"
    if directive.kind in kinds:
        fail(f"{about} is said twice.", directive.at, hint="Keep one of them.")
    against = ["profile", "half_life", "floor"] if directive.property else ["profile", "half_life"]
    found = (
        [kind for kind in kinds if kind in against]
        if directive.kind == "none"
        else kinds
        if directive.kind in against
        else []
    )
    other = next((kind for kind in found if directive.kind == "none" or kind == "none"), None)
    if other is not None:
        fail(
            f"{about} and {_SAID[other]} contradict each other.",
            directive.at,
            hint="Keep one of them.",
        )
