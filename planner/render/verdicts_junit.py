"""Verdicts as JUnit XML, as CI servers read it: a suite for each code, a test case for each verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from planner.answers.policy.model import Finding, Verdict
from planner.render.proof import proof_text
from planner.render.terminal import Paint

# XML 1.0 has no other characters, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verdict: Verdict) -> str:
    """A denial is a failure, a broken policy an error; undecided, overridden and waived findings are skipped, warnings
    pass with their message. A code without findings is one test that passes."""
    lines, totals = _suites(verdict, "")
    return _document(lines, totals)


def junit_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> str:
    """The report on several documents, by name: each has its own suites, which begin with the name. One that could not
    be checked (None) is an error."""
    lines: list[str] = []
    totals = [0, 0, 0, 0]
    for name, verdict in judged:
        if verdict is None:
            more, counts = _not_judged(name), [1, 0, 1, 0]
        else:
            more, counts = _suites(verdict, f"{name}: ")
        lines += more
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
    return _document(lines, totals)


def _document(lines: list[str], totals: list[int]) -> str:
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="planner policy check" {_counts(totals)}>'
    return "\n".join([head, *lines, "</testsuites>"])


def _not_judged(name: str) -> list[str]:
    case = f'    <testcase classname={_attribute(name)} name="document">'
    error = '      <error message="cannot be judged" type="document"/>'
    suite = f"  <testsuite name={_attribute(name)} {_counts([1, 0, 1, 0])}>"
    return [suite, case, error, "    </testcase>", "  </testsuite>"]


def _suites(verdict: Verdict, begin: str) -> tuple[list[str], list[int]]:
    """The suites of one verdict, and how many tests, failures, errors and skipped ones there are. `begin` is what
    names of suites and classes begin with."""
    lines: list[str] = []
    codes = sorted({*verdict.codes, *(finding.code for finding in verdict.findings)})
    totals = [0, 0, 0, 0]
    for code in codes:
        findings = [finding for finding in verdict.findings if finding.code == code]
        counts = [
            max(1, len(findings)),
            sum(f.kind == "deny" for f in findings),
            sum(f.kind == "broken" for f in findings),
            sum(f.kind in ("undecided", "overridden", "waived") for f in findings),
        ]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        lines.append(f"  <testsuite name={_attribute(begin + code)} {_counts(counts)}>")
        if code in verdict.judged:
            lines.append(f'    <properties><property name="judged" value="{verdict.judged[code]}"/></properties>')
        if not findings:
            lines.append(f'    <testcase classname={_attribute(begin + code)} name="policy"/>')
        for finding in findings:
            lines += _case(finding, begin)
        lines.append("  </testsuite>")
    return lines, totals


def _counts(counts: list[int]) -> str:
    tests, failures, errors, skipped = counts
    return f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'


def _case(finding: Finding, begin: str) -> list[str]:
    place = f' file={_attribute(finding.span.filename)} line="{finding.span.line}"' if finding.span else ""
    of = f"classname={_attribute(begin + finding.code)} name={_attribute(finding.address or 'plan')}"
    opening = f"    <testcase {of}{place}>"
    message = _attribute(finding.message)
    proof = escape(_clean(proof_text(finding.proof, Paint(False), full=True)))
    if finding.kind == "deny":
        inner = f'      <failure message={message} type="deny">{proof}</failure>'
    elif finding.kind == "broken":
        inner = f'      <error message={message} type="broken">{proof}</error>'
    elif finding.kind in ("warn", "info"):
        word = "warning" if finding.kind == "warn" else "info"
        inner = f"      <system-out>{escape(_clean(f'{word}: {finding.message}'))}\n{proof}</system-out>"
    else:
        because = f"{finding.kind}: {finding.reason}" if finding.kind in ("overridden", "waived") else finding.message
        inner = f"      <skipped message={_attribute(because)}/>"
    return [opening, inner, "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
