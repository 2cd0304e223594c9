"""The report of a batch as JUnit XML, with a test case for each unit."""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from planner.workflows.batch.reports.document import because_text

# characters that XML 1.0 forbids even in escaped form
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILED = frozenset(("failed", "denied"))
_ERRORS = frozenset(("died", "stopped"))
_SKIPPED = frozenset(("skipped", "declined"))


def junit(document: dict[str, Any], texts: dict[str, str]) -> str:
    """The report as JUnit XML. Failed and denied units are JUnit failures; units that were stopped or whose process
    died are errors; skipped and declined units are skipped tests."""
    units = document["units"]
    failures = sum(unit["outcome"] in _FAILED for unit in units)
    errors = sum(unit["outcome"] in _ERRORS for unit in units)
    skipped = sum(unit["outcome"] in _SKIPPED for unit in units)
    name = _attribute(f"planner batch {document['command']}")
    numbers = f'tests="{len(units)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name={name} {numbers} time="{document["seconds"]}">')
    lines.append(f'  <testsuite name={name} {numbers} time="{document["seconds"]}">')
    for unit in units:
        lines += _case(unit)
    lines += ["  </testsuite>", "</testsuites>", ""]
    return "\n".join(lines)


def _case(unit: dict[str, Any]) -> list[str]:
    head = f'    <testcase classname="wave {unit["wave"]}" name={_attribute(unit["unit"])} time="{unit["seconds"]}"'
    message = "\n\n".join(f"{d['severity']}: {d['summary']}\n{d['detail']}" for d in unit["diagnostics"])
    changes = "\n".join(f"{change['action']} {change['address']}" for change in unit["changes"])
    outcome = unit["outcome"]
    first = next((d["summary"] for d in unit["diagnostics"] if d["severity"] == "error"), outcome)
    if outcome in _FAILED:
        inner = f"      <failure message={_attribute(first)}>{_text(message)}</failure>"
    elif outcome in _ERRORS:
        inner = f"      <error message={_attribute(first)}>{_text(message)}</error>"
    elif outcome in _SKIPPED:
        because = f" {because_text(unit)}" if unit["because"] else ""
        inner = f"      <skipped message={_attribute(outcome + because)}/>"
    else:
        text = _text("\n".join(filter(None, (outcome, changes, message))))
        inner = f"      <system-out>{text}</system-out>"
    return [f"{head}>", inner, "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
