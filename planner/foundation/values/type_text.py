"""Types as text: what the console's `type()` prints, and type constraints as one would write them."""

from __future__ import annotations

from planner.foundation.values.types import ObjectType, Primitive, TupleType, Type


def type_text(t: Type, depth: int = 0) -> str:
    """A type over several lines, as `type()` prints it."""
    pad, end = "    " * (depth + 1), "    " * depth
    if isinstance(t, Primitive):
        return t.name
    if isinstance(t, ObjectType):
        lines = "".join(f"{pad}{name}: {type_text(a, depth + 1)},\n" for name, a in t.attributes.items())
        return f"object({{\n{lines}{end}}})" if lines else "object({})"
    if isinstance(t, TupleType):
        lines = "".join(f"{pad}{type_text(e, depth + 1)},\n" for e in t.elements)
        return f"tuple([\n{lines}{end}])" if lines else "tuple([])"
    if isinstance(t.element, (ObjectType, TupleType)):
        return f"{t.kind}(\n{pad}{type_text(t.element, depth + 1)},\n{end})"
    return f"{t.kind}({type_text(t.element, depth)})"
