"""What a Cypher statement returns, for interfaces that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doxa.query.core.elements import Edge, Node, Path

if TYPE_CHECKING:
    from doxa.query.result import GraphResult
    from doxa.query.session import GraphSession

    __all__ = ["Edge", "GraphResult", "GraphSession", "Node", "Path"]
else:
    __all__ = ["Edge", "Node", "Path"]
