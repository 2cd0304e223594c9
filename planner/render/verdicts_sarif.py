"""Verdicts as SARIF 2.1.0 (OASIS standard): a result for each, its proof as a code flow from facts to conclusion."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from planner.answers.policy.model import Finding, Verdict
from planner.foundation.vocabulary.release import RELEASE
from planner.render.proof import fact_text, is_tautology

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"deny": "error", "broken": "error", "overridden": "error", "warn": "warning", "undecided": "note"}
LEVELS |= {"waived": "error", "info": "note"}


def sarif(verdict: Verdict) -> dict[str, Any]:
    """The log of one run. An overridden or waived denial is a suppressed result, an undecided one a note."""
    return _log([_run(verdict)])


def sarif_of_several(judged: Iterable[tuple[str, Verdict | None]]) -> dict[str, Any]:
    """The log with a run for each document, by name; one that could not be judged (None) is a run that failed."""
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
"""the sort key of code hosts: a score as of CVSS, in the middle of its band"""


def _rule(verdict: Verdict, code: str) -> dict[str, Any]:
    """The description of a code: from its pack, where it has one."""
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
    """The location of the result: the configuration; without one, the policy."""
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
    """A path as a URI reference: relative ones stay relative."""
    plain = path.replace("\\", "/")
    return f"file://{quote(plain)}" if plain.startswith("/") else quote(plain)


def _steps(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a proof, facts before what follows from them; the last one is the conclusion."""
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
