"""The compiler of policies' expressions, loaded with the query engine when it is first needed."""

from __future__ import annotations

from doxa.store import Condition, Expressions, Value


class LazyExpressions:
    """The compiler of policies' expressions, loaded with the query engine when a policy first needs
    it."""

    def __init__(self) -> None:
        self._found: Expressions | None = None

    def _compiler(self) -> Expressions:
        if self._found is None:
            from doxa.query.expressions.policy_expressions import PolicyExpressions

            self._found = PolicyExpressions()
        return self._found

    def condition(self, variable: str, text: str) -> Condition:
        return self._compiler().condition(variable, text)

    def value(self, variable: str, text: str, *, target: str, smoothed: bool) -> Value:
        return self._compiler().value(variable, text, target=target, smoothed=smoothed)
