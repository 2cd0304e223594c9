"""Test files as JUnit XML, as CI servers read it: a suite for each file, a test case for each run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from planner.workflows.testing.results import RunResult, TestFileResult

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
