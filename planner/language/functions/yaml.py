"""YAML: `yamldecode` and `yamlencode`."""

from __future__ import annotations

from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Value, is_wholly_known
from planner.language.functions.arguments import text
from planner.language.functions.protocol import Function, FunctionError, Param, function, unknown
from planner.language.functions.yaml_reader import YamlError, read
from planner.language.functions.yaml_writer import write

FUNCTIONS: list[Function] = []


@function(Param("src", STRING, "The YAML document."), result=DYNAMIC, not_null=False, into=FUNCTIONS)
def yamldecode(source: str) -> Value:
    """Reads a YAML document: mappings become objects, sequences become tuples."""
    try:
        return read(source)
    except YamlError as problem:
        raise FunctionError(f"It is not valid YAML: {problem}.") from None


@function(
    Param("value", DYNAMIC, "The value to write.", allow_null=True, allow_dynamic=True),
    result=STRING,
    not_null=False,
    into=FUNCTIONS,
)
def yamlencode(value: Value) -> Value:
    """Writes a value as a YAML document, in block style with all strings quoted."""
    return text(write(value)) if is_wholly_known(value) else unknown(STRING)
