"""What people mean by names of vertices and by addresses, as the rules say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from planner.foundation.vocabulary.address import AddressError, parse_address
from planner.foundation.vocabulary.nearest import instead
from planner.foundation.vocabulary.records import frozen

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

    def find(self, text: str) -> str | None:
        """The vertex that people mean, or else the one that stands for what they name: an instance has no vertex of its
        own where one stands for its whole resource or module."""
        return self.meant.get(text) or self.stand_in(text)

    def stand_in(self, text: str) -> str | None:
        """The vertex that stands for an address of an instance which no vertex is called by."""
        if text in self.meant or "[" not in text:
            return None
        try:
            address = parse_address(text)
        except AddressError:
            return None
        return self.meant.get(str(address.config))

    def unknown(self, text: str) -> str:
        """That no vertex is called so, and the name that was most likely meant: one that is written alike, else the
        same thing in another module, else what there is of the same type."""
        return f'The graph has no vertex "{text}".{instead(text, self.meant)}'


def told_instead(text: str, node: str) -> str:
    """That a vertex stands for what somebody named."""
    return f"Using {node}, which covers {text}: it has no vertex of its own in this graph."
