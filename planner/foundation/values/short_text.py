"""A value in a few words, for sentences."""

from __future__ import annotations

from planner.foundation.support.exact_json import dumps
from planner.foundation.values.json_codec import CodecError, simple_json
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Null, Unknown, Value, is_wholly_known, unmark_deep

LONGEST = 60
"""characters"""


def short_text(value: Value, hidden: bool = False) -> str:
    """The value as JSON, shortened. What is sensitive, or `hidden`, is not shown."""
    if value is None or value.__class__ is Null:
        return "null"
    plain, marks = unmark_deep(value)
    if hidden or marks & {SENSITIVE, EPHEMERAL}:
        return "(sensitive value)"
    if plain.__class__ is Unknown or not is_wholly_known(plain):
        return "(known after apply)"
    return _short_json(plain)


def _short_json(plain: Value) -> str:
    try:
        text = dumps(simple_json(plain), escape_html=False).decode("utf-8")
    except CodecError:
        return "a value"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
