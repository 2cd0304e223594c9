"""Names of vertices, as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.vocabulary.nearest import did_you_mean

MEANT = (" (expand)", " (destroy)", " (orphan)", " (expand, reference)", " (expand, input)", " (forget)", " (close)")
"""what an address stands for when no vertex is called just that, the first that exists"""


def meant_node(nodes: Any, text: str) -> str | None:
    """The vertex that somebody means by a name or an address: in a plan graph where a resource is expanded, in an apply
    graph its change, or its destruction if that is all that happens."""
    if text in nodes:
        return text
    return next((text + suffix for suffix in MEANT if text + suffix in nodes), None)


def address_part(node: str) -> str:
    """The name of a vertex without what stands behind it in parentheses: `module.net` of `module.net (close)`."""
    return node.rpartition(" (")[0] if node.endswith(")") else node


def nearest_node(text: str, nodes: Iterable[str]) -> str:
    """` Did you mean "x"?` for the vertex or address that a wrong name most likely meant, else an empty text."""
    names = set(nodes)
    return did_you_mean(text, sorted(names | set(map(address_part, names))))
