"""The native operators of the language: what they are called, take and give. The engine has their functions."""

from __future__ import annotations

from typing import NamedTuple


class Operator(NamedTuple):
    """`inputs` are the arities of the relations it takes, `columns` the arity of its result."""

    inputs: tuple[int, ...]
    columns: int


OPERATORS: dict[str, Operator] = {
    "behind": Operator((2, 2), 2),
    "closing": Operator((2, 2), 2),
    "closure": Operator((2,), 2),
    "json_parts": Operator((3,), 5),
    "json_values": Operator((3,), 4),
    "levels": Operator((2,), 2),
    "reachable": Operator((2, 1), 1),
    "reduction": Operator((2,), 2),
    "scc": Operator((2,), 2),
}
