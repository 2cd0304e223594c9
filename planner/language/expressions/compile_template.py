"""Templates: texts with interpolations.

After HCL (hclsyntax/expression_template.go): an unknown part makes the whole unknown, with what stands before it as its
known prefix; marks of parts go to the whole.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.refine import PREFIX_LIMIT, UNKNOWN_STRING, safe_prefix
from planner.foundation.values.types import STRING
from planner.foundation.values.value import NO_MARKS, Marked, Null, Refinement, Unknown, Value, mark
from planner.language.expressions.environment import Environment, Run
from planner.language.syntax import nodes

if TYPE_CHECKING:
    from planner.language.expressions.compiler import Compiler


def compile_template(compiler: Compiler, node: nodes.Template) -> Run:
    parts = [(compiler.compile(part), part) for part in node.parts]

    def run(env: Environment) -> Value:
        texts: list[str] = []
        marks, known = NO_MARKS, True
        before = len(env.errors)
        for part, part_node in parts:
            value = part(env)
            if value.__class__ is not str:
                if value.__class__ is Marked:
                    if value.value.__class__ is not Null:
                        marks |= value.marks
                    value = value.value
                if value.__class__ is Unknown:
                    known = False
                    continue
                text = _part_text(env, value, part_node)
                if text is None:
                    continue
                value = text
            if known and len(env.errors) == before:
                texts.append(value)
        whole = "".join(texts)
        if not whole.isascii():
            whole = unicodedata.normalize("NFC", whole)
        if known:
            return mark(whole, marks) if marks else whole
        return mark(_unknown_text(whole if len(env.errors) == before else ""), marks)

    return run


def _part_text(env: Environment, value: Value, node: Any) -> str | None:
    summary = "Invalid template interpolation value"
    if value.__class__ is Null:
        env.report("template_null", summary, "The value is null; a text cannot hold that.", node.start, node.end)
        return None
    try:
        return convert(value, STRING)  # type: ignore[no-any-return]
    except ConversionError as e:
        env.report("template_part", summary, f"The value does not fit into a text: {e}.", node.start, node.end)
        return None


def _unknown_text(prefix: str) -> Value:
    """An unknown string that starts with the prefix, as far as that is certain."""
    if not prefix:
        return UNKNOWN_STRING
    if len(prefix) > PREFIX_LIMIT or not prefix.isascii():
        prefix = prefix.encode("utf-8", "surrogatepass")[:PREFIX_LIMIT].decode("utf-8", "ignore")
    return Unknown(STRING, Refinement(True, safe_prefix(prefix)))
