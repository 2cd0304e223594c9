"""The formats of report files and of generated test files: coverage as text, JSON and lcov; results as JUnit XML."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any
from xml.sax.saxutils import quoteattr

from planner.foundation.values.value import List, Map, Set, Value, is_null
from planner.render.terminal import visible
from planner.render.value import attribute_name, number_text
from planner.workflows.testing.coverage import Coverage
from planner.workflows.testing.generate import GeneratedRun, GeneratedTests
from planner.workflows.testing.results import RunResult, TestFileResult


def coverage_text(coverage: Coverage) -> str:
    """A line with the coverage in percent, and a line for each item that runs did not reach in all its `ways`."""
    count, of = coverage.counts
    lines = []
    for item, seen in coverage.items:
        missing = [way for way in item.ways if way not in seen]
        if missing:
            lines.append(f"  {item.span}: {item.kind} {visible(item.name)}: never {' or '.join(missing)}")
    head = f"Coverage: {count} of {of} ({100 * count // of if of else 100}%)"
    return "\n".join([f"{head}. No run reached:", *lines] if lines else [f"{head}."])


def coverage_json(coverage: Coverage) -> dict[str, Any]:
    count, of = coverage.counts
    return {
        "format_version": "1.0",
        "reached": count,
        "total": of,
        "items": [
            {
                "kind": item.kind,
                "name": item.name,
                "filename": item.span.filename,
                "line": item.span.line,
                "reached": sorted(seen),
                "missing": sorted(set(item.ways) - seen),
            }
            for item, seen in coverage.items
        ],
    }


def coverage_lcov(coverage: Coverage) -> str:
    """The coverage in lcov's format. Each line with an item is reported, and an item with several `ways` has a branch
    for each way."""
    files: dict[str, list[tuple[int, list[bool]]]] = {}
    for item, seen in coverage.items:
        entry = item.span.line, [way in seen for way in item.ways]
        files.setdefault(item.span.filename, []).append(entry)
    lines: list[str] = []
    for name in sorted(files):
        lines += ["TN:", f"SF:{name}"]
        hits: dict[int, bool] = {}
        branches = []
        for block, (line, taken) in enumerate(files[name]):
            hits[line] = hits.get(line, False) or any(taken)
            if len(taken) > 1:
                branches += [f"BRDA:{line},{block},{number},{int(hit)}" for number, hit in enumerate(taken)]
        lines += branches
        lines += [f"BRF:{len(branches)}", f"BRH:{sum(branch.endswith(',1') for branch in branches)}"]
        lines += [f"DA:{line},{int(hit)}" for line, hit in sorted(hits.items())]
        lines += [f"LF:{len(hits)}", f"LH:{sum(hits.values())}", "end_of_record"]
    return "\n".join([*lines, ""])


# Test files as JUnit XML: a suite for each file, a test case for each run.

# characters that XML 1.0 forbids even in escaped form
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = ("skip", "fail", "error")


def junit(files: Iterable[TestFileResult]) -> str:
    """The results as JUnit XML. A failed assertion is a failure; a run that could not be executed is an error."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?><testsuites>']
    for file in files:
        skipped, failures, errors = (sum(run.status == status for run in file.runs) for status in _COUNTED)
        counts = f'tests="{len(file.runs)}" skipped="{skipped}" failures="{failures}" errors="{errors}"'
        lines.append(f"  <testsuite name={_attribute(file.name)} {counts}>")
        for run in file.runs:
            lines += _case(file, run)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>", ""])


def _case(file: TestFileResult, run: RunResult) -> list[str]:
    began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.began)) if run.began else ""
    stamp = f' timestamp="{began}"' if began else ""
    head = (
        f'    <testcase name={_attribute(run.name)} classname={_attribute(file.name)} time="{run.seconds:.9f}"{stamp}'
    )
    text = _quoted("\n\n".join(run.texts))
    inside = {
        "fail": f'      <failure message="Test run failed">{text}</failure>',
        "error": f'      <error message="Encountered an error">{text}</error>',
        "skip": '      <skipped message="Testcase skipped"></skipped>',
        "pending": '      <skipped message="Testcase not begun"></skipped>',
    }.get(run.status)
    return [f"{head}></testcase>"] if inside is None else [f"{head}>", inside, "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    """The text as a CDATA section."""
    return f"<![CDATA[{_NOT_XML.sub(chr(0xFFFD), text).replace(']]>', ']]]]><![CDATA[>')}]]>"


# Generated test files


_HEAD = (
    "A first test file, generated by planner test -generate: a run for each combination of variables that increases "
    "the coverage of this module, and one for each validation. Providers are mocked, so no real objects are created. "
    "Edit the file: keep the useful runs, and add assertions."
)


def generated_text(made: GeneratedTests) -> str:
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
        yield f'    error_message = "The value of the output {name} has changed since this file was generated."'
        yield "  }"
    yield "}"


def literal(value: Value) -> str:
    """The source of a value as an expression on one line. The value must be known and without marks."""
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
