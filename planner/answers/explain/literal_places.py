"""Where a part of a value stands that is written out: in a file of values, or as the default of a variable."""

from __future__ import annotations

from planner.answers.explain.origins import Path
from planner.foundation.vocabulary.span import Source, Span
from planner.language.syntax.nodes import Expression, Literal, Object, Parens, Tuple


class WrittenValues:
    """Reads each text once."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, int], Expression | None] = {}

    def part(self, whole: Span, path: Path) -> tuple[Span, bool]:
        """The text of a part, or the nearest around it; and whether the part may be in there."""
        node, at = self._node(whole) if path else None, whole
        for _, key in path:
            while isinstance(node, Parens):
                node = node.expr
            if isinstance(node, Object) and all(isinstance(item.key, Literal) for item in node.items):
                given = [item.value for item in node.items if getattr(item.key, "value", None) == key]
                if not given:
                    return at, False
                node = given[-1]
            elif isinstance(node, Tuple) and key.__class__ is int and 0 <= key < len(node.items):
                node = node.items[key]
            else:
                return at, True
            at = Span(whole.source, whole.start + node.start, whole.start + node.end)
        return at, True

    def _node(self, whole: Span) -> Expression | None:
        key = (whole.filename, whole.start)
        if key not in self._nodes:
            self._nodes[key] = _parsed(whole)
        return self._nodes[key]


def _parsed(whole: Span) -> Expression | None:
    from planner.language.syntax.parse import parse_expression

    if whole.filename.endswith(".json"):
        return None
    node, problems = parse_expression(Source(whole.filename, whole.text))
    return None if problems else node
