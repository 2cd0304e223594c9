"""Reports in files for other programs: coverage as JSON and lcov, and JUnit."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import quoteattr

from planner.render.terminal import visible
from planner.workflows.testing.coverage import Coverage
from planner.workflows.testing.results import RunResult, TestFileResult


def coverage_text(found: Coverage) -> str:
    """The parts that were not reached, and how much was."""
    count, of = found.counts
    lines = []
    for item, seen in found.items:
        missing = [way for way in item.ways if way not in seen]
        if missing:
            lines.append(f"  {item.span}: {item.kind} {visible(item.name)}: never {' or '.join(missing)}")
    head = f"Coverage: {count} of {of} ({100 * count // of if of else 100}%)"
    return "\n".join([f"{head}. No run reached:", *lines] if lines else [f"{head}."])


def coverage_json(found: Coverage) -> dict[str, Any]:
    """The coverage as a document."""
    count, of = found.counts
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
            for item, seen in found.items
        ],
    }


def coverage_lcov(found: Coverage) -> str:
    """A record for each file: its lines with something to reach, and a branch for each way."""
    files: dict[str, list[tuple[int, list[bool]]]] = {}
    for item, seen in found.items:
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


# Test files as JUnit XML, as CI servers read it: a suite for each file, a test case for each run.

# XML 1.0 has no other characters, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = ("skip", "fail", "error")


def junit(files: Iterable[TestFileResult]) -> str:
    """A run with an assertion that does not hold is a failure, one that could not be run an error."""
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
    """Text as CDATA."""
    return f"<![CDATA[{_NOT_XML.sub(chr(0xFFFD), text).replace(']]>', ']]]]><![CDATA[>')}]]>"
