"""Output values as `output -json` prints them."""

from __future__ import annotations

from typing import Any

from planner.foundation.values.json_codec import to_json
from planner.foundation.values.types import DYNAMIC, type_to_json
from planner.foundation.values.value import type_of, unmark_deep
from planner.world.state.model import OutputState


def output_json(output: OutputState) -> dict[str, Any]:
    """sensitive, what its author says of a deprecated one, type and value of one output."""
    value, _ = unmark_deep(output.value)
    type = type_of(value) if output.type is DYNAMIC else output.type
    words = {"deprecated": output.deprecated} if output.deprecated else {}
    return {"sensitive": output.sensitive, **words, "type": type_to_json(type), "value": to_json(value, type)}
