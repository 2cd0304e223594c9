"""Texts of a page without sensitive values: what a plan shows of an attribute that a provider computed may repeat one,
and a page goes from hand to hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from planner.foundation.values.paths import parts
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Marked, Value, unmark_deep
from planner.logic.model.plan import Plan

MASK = "(sensitive value)"
SHORTEST = 4
"""characters; shorter texts are parts of too many words"""


def hiding(plan: Plan) -> Callable[[str], str]:
    """What takes the sensitive texts of a plan out of others."""
    found = {text for value in _values(plan) for text in _secrets(value, False)}
    found |= {line.strip() for text in found for line in text.splitlines()}
    found |= {text.replace("\\", "\\\\").replace('"', '\\"') for text in found}
    known = sorted((text for text in found if len(text) >= SHORTEST), key=lambda text: (-len(text), text))
    if not known:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, known)))
    return lambda text: pattern.sub(MASK, text)


def _values(plan: Plan) -> Iterator[Value]:
    for change in (*plan.changes, *plan.drift):
        yield from (change.before, change.after)
    for output in plan.outputs:
        if output.sensitive:
            yield from (Marked(unmark_deep(v)[0], frozenset((SENSITIVE,))) for v in (output.before, output.after))
    yield from plan.variables.values()


def _secrets(value: Value, is_secret: bool) -> Iterator[str]:
    """The texts in a value that are marked, or in something that is."""
    if isinstance(value, Marked):
        yield from _secrets(value.value, is_secret or bool(value.marks & {SENSITIVE, EPHEMERAL}))
    elif isinstance(value, str):
        if is_secret:
            yield value
    else:
        for _, inner in parts(value):
            yield from _secrets(inner, is_secret)
