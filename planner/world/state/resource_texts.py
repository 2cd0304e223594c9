"""The texts of a large state's resources, so that those that nobody changed need not be encoded again.

The compact form that services keep is cut between resources, and each piece is read by itself: a cut in a wrong place
leaves pieces that are no JSON, and then the text is read as a whole.
"""

from __future__ import annotations

from typing import Any

from planner.foundation.support.exact_json import has_wide_numbers, loads, reader
from planner.foundation.vocabulary.records import frozen
from planner.world.state.model import ResourceState, State

SMALLEST = 1 << 20
"""bytes; smaller states are encoded in no time"""
_BEGIN = b'"resources":[{"m'
_CUT = b'},{"mo'
"""`mode` or `module`"""
_END = b'}],"check_results":'


@frozen
class Texts:
    """What is known of resources, by the identity of the object; an object is kept as long as its text."""

    known: dict[int, tuple[ResourceState, bytes]]

    def of(self, resource: ResourceState) -> bytes | None:
        """The text that a resource was read from."""
        found = self.known.get(id(resource))
        return None if found is None else found[1]


def cut(data: bytes) -> tuple[dict[str, Any], list[bytes]] | None:
    """The JSON object of a state and the texts of its resources, in their order; None when it is not in the form in
    which services keep states, or small, or has numbers that need exact reading."""
    if len(data) < SMALLEST or not data.startswith(b'{"version":4,'):
        return None
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if begin < 0 or end < begin or has_wide_numbers(data):
        return None
    begin += len(_BEGIN) - len(b'{"m')
    first, *others = data[begin:end].split(_CUT)
    texts = [first + b"}", *(b'{"mo%b}' % piece for piece in others)]
    read = reader()
    try:
        root = loads(data[:begin] + data[end + 1 :])
        resources = [read(text) for text in texts]
    except ValueError:
        return None
    if not isinstance(root, dict) or root.get("resources") != [] or not all(isinstance(r, dict) for r in resources):
        return None
    root["resources"] = resources
    return root, texts


def kept(state: State, texts: list[bytes]) -> Texts | None:
    """The texts by resource, when each stands for one."""
    resources = list(state.resources.values())
    if len(resources) != len(texts):
        return None
    return Texts({id(resource): (resource, text) for resource, text in zip(resources, texts, strict=True)})
