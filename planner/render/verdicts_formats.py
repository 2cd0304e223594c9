"""Verdicts as SARIF 2.1.0 (OASIS standard). Each finding is a result, with its proof as a code flow from facts to the
conclusion."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from planner.answers.policy.model import REFUSALS, Finding, Verdict
from planner.foundation.vocabulary.release import RELEASE
from planner.render.proof import fact_text, is_tautology, proof_text
from planner.render.terminal import Paint, cell
from planner.render.verdicts import count_verdicts, judged

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"deny": "error", "broken": "error", "overridden": "error", "warn": "warning", "undecided": "note"}
LEVELS |= {"waived": "error", "info": "note"}


def sarif(verdict: Verdict) -> dict[str, Any]:
    """The log of a run. An overridden or waived denial is a suppressed result; undecided findings and info are
    notes."""
    return _log([_run(verdict)])


def sarif_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> dict[str, Any]:
    """A log with a run for each document (name, verdict). None as a verdict becomes a failed run, because the document
    could not be checked."""
    runs = []
    for name, verdict in judged:
        run = _run(verdict if verdict is not None else Verdict())
        run["automationDetails"] = {"id": f"planner/{uri(name)}/"}
        run["invocations"] = [{"executionSuccessful": verdict is not None}]
        runs.append(run)
    return _log(runs)


def _log(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _run(verdict: Verdict) -> dict[str, Any]:
    codes = sorted({*verdict.codes, *(finding.code for finding in verdict.findings)})
    rules = [_rule(verdict, code) for code in codes]
    index = {code: i for i, code in enumerate(codes)}
    driver = {"name": "planner", "version": RELEASE, "semanticVersion": RELEASE, "rules": rules}
    results = [_result(finding, index[finding.code]) for finding in verdict.findings]
    properties = {"properties": {"judged": verdict.judged}} if verdict.judged else {}
    return {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results, **properties}


SEVERITIES = {"low": "3.0", "medium": "5.5", "high": "8.0", "critical": "9.5"}
"""{severity: a CVSS score of that severity}; code hosts sort findings by this score"""


def _rule(verdict: Verdict, code: str) -> dict[str, Any]:
    """The SARIF rule of a policy code, with the metadata from its pack if it belongs to one."""
    info = verdict.policies.get(code)
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": verdict.codes.get(code) or code}}
    if info is None:
        return rule
    if info.title:
        rule["shortDescription"] = {"text": info.title}
        rule["fullDescription"] = {"text": info.title}
    if info.links:
        rule["helpUri"] = info.links[0]
        rule["help"] = {"text": "\n".join(info.links)}
    if info.level in ("warn", "info"):
        rule["defaultConfiguration"] = {"level": LEVELS[info.level]}
    properties: dict[str, Any] = {"pack": info.pack, "level": info.level, "tags": [*info.controls]}
    if info.severity:
        properties |= {"severity": info.severity, "security-severity": SEVERITIES[info.severity]}
    rule["properties"] = {name: value for name, value in properties.items() if value}
    return rule


def _result(finding: Finding, index: int) -> dict[str, Any]:
    text = f"{finding.address} {finding.message}".strip()
    identity = "\0".join((finding.code, finding.address, finding.rule, finding.would))
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "kind": "review" if finding.kind == "undecided" else "fail",
        "level": "none" if finding.kind == "undecided" else LEVELS[finding.kind],
        "message": {"text": text},
        "locations": [_subject(finding)],
        "partialFingerprints": {"planner/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()},
        "codeFlows": [{"threadFlows": [{"locations": list(_steps(finding.proof))}]}],
        "properties": {"verdict": finding.kind, "policyRule": finding.rule},
    }
    if finding.kind == "undecided":
        waits = [{"address": address, "path": path} for address, path in finding.waits_for]
        result["properties"].update(would=finding.would, waitsFor=waits)
    if finding.kind in ("overridden", "waived"):
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": finding.reason}]
    return result


def _subject(finding: Finding) -> dict[str, Any]:
    """The location of a result: the place in the configuration or, if that is unknown, the place in the policy."""
    location: dict[str, Any] = {}
    span = finding.span or finding.rule_span
    if span is not None:
        start, end = span.start_position, span.end_position
        region = {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}
        location["physicalLocation"] = {"artifactLocation": {"uri": uri(span.filename)}, "region": region}
    if finding.address:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.address, "kind": "resource"}]
    return location


def uri(path: str) -> str:
    """A path as a URI reference; relative paths remain relative."""
    plain = path.replace("\\", "/")
    return f"file://{quote(plain)}" if plain.startswith("/") else quote(plain)


def _steps(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a proof, facts before consequences. The last step is the conclusion."""
    proofs = proof["proofs"]
    done: set[str] = set()
    stack = [(proof["root"], 0, False)]
    order = 0
    while stack:
        name, depth, is_left = stack.pop()
        step = proofs[name]
        if is_left:
            order += 1
            yield {"location": _step_location(step), "nestingLevel": depth, "executionOrder": order}
        elif name not in done:
            done.add(name)
            stack.append((name, depth, True))
            below = [entry["proof"] for entry in step.get("body", ()) if "proof" in entry]
            stack += [(other, depth + 1, False) for other in reversed(below)]


def _step_location(step: dict[str, Any]) -> dict[str, Any]:
    text = fact_text(step["tuple"])
    if "rule" in step:
        text = f"{text}: {step['reason']} [{step['rule']}]"
        conditions = [e for e in step["body"] if "proof" not in e and not is_tautology(e)]
        text += "".join(f"; {_condition(entry)}" for entry in conditions)
    location: dict[str, Any] = {"message": {"text": text}}
    source = step.get("source", {})
    if "file" in source:
        region: dict[str, Any] = {"startLine": source["line"], "startColumn": source["column"]}
        if source.get("snippet"):
            region["snippet"] = {"text": source["snippet"]}
        location["physicalLocation"] = {"artifactLocation": {"uri": uri(source["file"])}, "region": region}
    elif "state" in source:
        location["logicalLocations"] = [{"fullyQualifiedName": source["state"], "kind": "resource"}]
    return location


def _condition(entry: dict[str, Any]) -> str:
    if "not" in entry:
        return f"not {fact_text(entry['not'])}"
    if "aggregate" in entry:
        return f"{entry['aggregate']} = {entry['value']}"
    return str(entry["test"])


# verdicts as JUnit XML for CI servers: a suite for each code, a test case for each verdict


# matches characters that are invalid in XML 1.0, even when escaped
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(verdict: Verdict) -> str:
    """A verdict as JUnit XML. A denial is a failure, a broken policy an error; undecided, overridden and waived
    findings are skipped; warnings and info pass with their message. A policy code without findings is a test that
    passes."""
    lines, totals = _suites(verdict, "")
    return _document(lines, totals)


def junit_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> str:
    """A report on several documents. Each document has its own suites, whose names begin with the name of the document.
    If a verdict is None, the document could not be checked; its suite then reports an error."""
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
    error = '      <error message="cannot be checked" type="document"/>'
    suite = f"  <testsuite name={_attribute(name)} {_counts([1, 0, 1, 0])}>"
    return [suite, case, error, "    </testcase>", "  </testsuite>"]


def _suites(verdict: Verdict, begin: str) -> tuple[list[str], list[int]]:
    """A verdict's suites, and the numbers of tests, failures, errors and skipped tests. `begin`: the prefix of the
    names of suites and classes."""
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


# verdicts as Markdown, for a pull request: counts, a table, and the proofs of denials, folded


MOST = 60_000
"""maximum number of characters of the Markdown: code hosts accept about 65,000 in a comment"""
_LONGEST = 300
"""maximum length of a cell"""
_LONGEST_PROOF = 4_000  # characters


def markdown_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> str:
    """The verdicts about several documents as Markdown, each below the name of its document. If a verdict is None, the
    document could not be checked."""
    every = list(judged)
    parts = []
    for name, verdict in every:
        title = f"Policies: {name}"
        if verdict is None:
            parts.append(f"### {_text(title)}\n\n**It could not be checked.**")
        else:
            parts.append(markdown(verdict, title, MOST // len(every)))
    return "\n\n".join(parts)


def markdown(verdict: Verdict, title: str = "Policies", most: int = MOST) -> str:
    """The verdict as Markdown. `most`: the approximate maximum number of characters. Omitted rows of the table are
    counted, other omitted parts are not."""
    lines = [f"### {_text(title)}", "", f"**{_text(count_verdicts(verdict))}**", ""]
    if verdict.findings:
        lines += ["| verdict | policy | severity | address | message |", "| --- | --- | --- | --- | --- |"]
    size = sum(len(line) + 1 for line in lines)
    left_out = 0
    for finding in verdict.findings:
        row = _row(finding)
        if size + len(row) > most * 2 // 3:
            left_out += 1
            continue
        lines.append(row)
        size += len(row) + 1
    if left_out:
        lines += ["", f"{left_out} more: see `planner policy check`."]
    for line in (*map(_text, judged(verdict)), *_proofs(verdict)):
        if size + len(line) + 2 > most:
            break
        lines += ["", line]
        size += len(line) + 2
    return "\n".join(lines)


def _row(finding: Finding) -> str:
    info = finding.info
    code = f"[{_text(finding.code)}]({info.links[0]})" if info is not None and info.links else _text(finding.code)
    place = f" ({_text(str(finding.span))})" if finding.span is not None else ""
    message = _text(finding.message) + (f"; {_text(finding.reason)}" if finding.reason else "")
    kind = f"**{finding.kind}**" if finding.kind in REFUSALS else finding.kind
    severity = info.severity if info is not None else ""
    return f"| {kind} | {code} | {severity} | {_text(finding.address) or 'the plan'}{place} | {message} |"


def _proofs(verdict: Verdict) -> Iterator[str]:
    """The proofs of denials and of broken policies, each folded and limited to `_LONGEST_PROOF` characters."""
    for finding in verdict.of(*REFUSALS):
        proof = proof_text(finding.proof, Paint(False), full=True)[:_LONGEST_PROOF]
        title = _html(f"{finding.code}: {finding.address or 'the plan'}")
        yield f"<details><summary>Why {title}</summary>\n\n<pre>{_html(proof)}</pre>\n</details>"


def _text(text: str) -> str:
    """Literal text for a cell, escaped so that it contains no markup, links, mentions or line breaks."""
    plain = cell(" ".join(text.split()))
    plain = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
    return re.sub(r"([\\`*_{}\[\]<>()#|~@!])", r"\\\1", plain)


def _html(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return "".join(c for c in escaped if c == "\n" or c.isprintable())
