"""A generated test file as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from textwrap import wrap

from planner.foundation.values.value import List, Map, Set, Value, is_null
from planner.render.value import attribute_name, number_text
from planner.workflows.testing.generate import GeneratedRun, GeneratedTests

_HEAD = (
    "A first test file, made by planner test -generate: a run for each combination of variables that reaches something "
    "new in this module, and one for each validation. Providers are mocked, so nothing real is made. It is yours now: "
    "keep what matters, and say what is to be so."
)


def generated_text(made: GeneratedTests) -> str:
    """The file."""
    parts = ["\n".join(_comment([_HEAD, *made.remarks]))]
    parts += ["\n".join(_mock(name, alias)) for name, alias in made.mocks]
    parts += ["\n".join(_run(run)) for run in made.runs]
    return "\n\n".join(parts) + "\n"


def _comment(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from wrap(" ".join(text.split()), 78, initial_indent="# ", subsequent_indent="# ")


def _mock(name: str, alias: str) -> Iterator[str]:
    yield f'mock_provider "{name}" {{'
    if alias:
        yield f'  alias = "{alias}"'
    yield "}"


def _run(run: GeneratedRun) -> Iterator[str]:
    if run.remarks:
        yield from _comment(["This run does not pass yet:", *run.remarks])
    yield f'run "{run.name}" {{'
    if run.refused:
        yield "  command         = plan"
        yield f"  expect_failures = [var.{run.refused}]"
    else:
        yield "  command = plan"
    if run.values:
        width = max(map(len, run.values))
        yield from ("", "  variables {")
        yield from (f"    {name:<{width}} = {literal(run.values[name])}" for name in sorted(run.values))
        yield "  }"
    for name, value in run.outputs:
        yield from ("", "  assert {")
        yield f"    condition     = output.{name} == {literal(value)}"
        yield f'    error_message = "The output {name} is not what it was when this file was made."'
        yield "  }"
    yield "}"


def literal(value: Value) -> str:
    """A known value without marks as an expression on one line."""
    if is_null(value):
        return "null"
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is str:
        return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
    if value.__class__ is tuple or isinstance(value, List | Set):
        items = value.items if isinstance(value, List | Set) else value
        return f"[{', '.join(map(literal, items))}]"
    if value.__class__ is dict or isinstance(value, Map):
        named: dict[str, Value] = value.items if isinstance(value, Map) else value
        inside = ", ".join(f"{attribute_name(name)} = {literal(named[name])}" for name in sorted(named))
        return f"{{ {inside} }}" if inside else "{}"
    return number_text(value)
