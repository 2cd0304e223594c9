"""What people mean by names of vertices and by addresses, as the rules say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attrs import frozen

from planner.vocabulary.nearest import did_you_mean

SPOKEN = ("spoken", "may_mean_vertex")
"""the relations that names are read from"""
SPOKEN_AT_FIRST = ("spoken_at_first", "may_mean")
"""the same, also of what is left out of the graph"""


@frozen(eq=False)
class Names:
    """`meant`: the vertex that people mean by each name and address; `texts`: (text, node), all that can be meant."""

    meant: Mapping[str, str]
    texts: Collection[tuple[str, str]]

    @classmethod
    def of(cls, relations: Mapping[str, Collection[Any]], read_from: tuple[str, str] = SPOKEN) -> Names:
        """From the relations of rules/graph/names.dl; what has no vertices has no names."""
        spoken, may_mean = read_from
        if spoken not in relations:
            return cls({}, ())
        return cls(dict(relations[spoken]), [(text, node) for text, _, node in relations[may_mean]])

    def unknown(self, text: str) -> str:
        """That no vertex is called so, and the name that was most likely meant."""
        return f'The graph has no vertex "{text}".{did_you_mean(text, sorted(self.meant))}'
