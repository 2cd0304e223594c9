"""What may stand in the blocks of key providers and methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.values.types import STRING, Type
from planner.foundation.vocabulary.records import field, frozen


@frozen
class Setting:
    """An argument. `keys`: it takes the keys of a key provider, whatever `type` says. `nullable`: null is the same as
    leaving it out; elsewhere it is a mistake."""

    type: Type = STRING
    required: bool = False
    keys: bool = False
    nullable: bool = False


@frozen(eq=False)
class EncryptionArguments:
    """The arguments by name, and those of the blocks that may stand there once."""

    arguments: Mapping[str, Setting]
    blocks: Mapping[str, Mapping[str, Setting]] = field(factory=dict)


Given = Mapping[str, Any]
"""what was given: texts, whole numbers, truth values, tuples and dictionaries of them, Keys; nothing for what was not.
Blocks are dictionaries"""
