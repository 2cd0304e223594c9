"""Policies about several plans together: the plans of a fleet's units, or of a deployment's components. These policies
are three-valued, like policies about one plan (planner/answers/policy/three_valued.py): a verdict that depends on
unknown values is undecided."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from planner.answers.policy.model import KINDS, Finding, Kind, Verdict
from planner.answers.policy.packs import is_pack_file
from planner.answers.policy.pending_values import waits
from planner.answers.policy.program import foreign_rules
from planner.answers.policy.sources import files_below
from planner.answers.policy.three_valued import VERDICTS, Modal, rewrite, written_name
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.logic.datalog.engine.evaluate import Database
from planner.logic.datalog.engine.program import RuleProgram
from planner.logic.datalog.explain.proof import proof_json
from planner.logic.datalog.explain.search import Prover
from planner.logic.datalog.language.values import Row
from planner.logic.programs.rule_programs import Files, check_fleet_rules, load

KEYS = 2
"""number of columns that identify the owner of a value: the unit (or component) and the address"""
Missing: TypeAlias = tuple[str, str, str]
"""(unit, address, path) of an unknown value"""


def combined_json(verdict: Verdict, noun: str = "unit") -> dict[str, Any]:
    """A verdict as JSON, in format 1.0: {"format_version", "verdict": "deny", "broken", "undecided" or "pass",
    "denied", "counts", "findings"}. `noun`: the word for the things that the addresses of findings name, such as
    "unit"."""
    return {
        "format_version": "1.0",
        "verdict": verdict.outcome,
        "denied": verdict.is_denied,
        "counts": {kind: n for kind, n in verdict.counts.items() if n or kind != "overridden"},
        "findings": [_finding_json(finding, noun) for finding in verdict.findings],
    }


def _finding_json(finding: Finding, noun: str) -> dict[str, Any]:
    document: dict[str, Any] = {
        "kind": finding.kind,
        "code": finding.code,
        noun: finding.address,
        "message": finding.message,
        "rule": finding.rule,
        "proof": finding.proof,
    }
    if finding.kind == "undecided":
        document["would"] = finding.would
        document["waits_for"] = [{noun: u, "address": a, "path": p} for u, a, p in finding.waits_for]
    return document


def policy_files(words: tuple[str, ...], of_packs: str) -> Files:
    """(name, text) of each policy file that the words of the command name: files, and directories with their
    subdirectories. `of_packs`: the sentence about packs in the error message. Raises Failure."""
    files_read: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("builtin:"):
            raise Failure(error("policy.pack_for_all", "Packs check single plans", f"{word}: {of_packs}"))
        problems: list[Diagnostic] = []
        files = files_below(word, problems) if os.path.isdir(word) else [Path(word)]
        if problems:
            raise Failure(problems)
        if not files:
            raise Failure(error("policy.none_there", "No policies in the directory", f"{word} contains no .dl file."))
        for file in files:
            if is_pack_file(str(file)):
                detail = f"{file}: {of_packs}"
                raise Failure(error("policy.pack_for_all", "Packs check single plans", detail))
            try:
                files_read.append((str(file), read_text(file)))
            except (OSError, ValueError) as problem:
                raise Failure(error("policy.unreadable", "Cannot read a policy", f"{file}: {problem}.")) from None
    return tuple(files_read)


def three_valued(own: Files, closed: frozenset[str], name: str) -> tuple[Modal, RuleProgram, list[Diagnostic]]:
    """(rewritten rules of the user, the product program `name` with these rules, warnings). No rule may add to
    relations that a file in `closed` declares. Raises Failure."""
    plain, problems = check_fleet_rules(own, name)
    foreign = list(foreign_rules(plain, closed))
    if foreign:
        raise Failure(foreign)
    modal, more = rewrite(plain, keys=KEYS)
    if modal is None:
        raise Failure([*problems, *more])
    program, wrong = load(name, made=[modal.file])
    if program is None:
        raise Failure([d for d in wrong if d.is_error])
    return modal, program, [*problems, *more]


def verdict_of(
    modal: Modal, program: RuleProgram, database: Database, source: Callable[[Any], dict[str, Any]]
) -> Verdict:
    """The verdict with its findings and their proofs. `source`: converts the source location of a fact to JSON."""
    return Verdict(tuple(_Judge(modal, program, database, source).findings()))


class _Judge:
    def __init__(
        self, modal: Modal, program: RuleProgram, database: Database, source: Callable[[Any], dict[str, Any]]
    ) -> None:
        self.modal, self.program, self.database, self.source = modal, program, database, source
        self.prover = Prover(program, database)

    def findings(self) -> list[Finding]:
        findings = []
        for name in VERDICTS:
            certain = self.database[name]
            findings += [self._finding(name, name, name, row, str(row[2])) for row in certain]
            could = self.modal.could.get(name)
            if could is not None:
                known = {row[:2] for row in certain}
                findings += [self._undecided(name, could, row) for row in self.database[could] if row[:2] not in known]
        if self.modal.broken:
            rows = self.database[self.modal.broken]
            findings += [self._finding("broken", "", self.modal.broken, row, str(row[2])) for row in rows]
        return sorted(findings, key=lambda f: (KINDS.index(f.kind), f.code, f.address, f.would, f.message))

    def _undecided(self, name: str, could: str, row: Row) -> Finding:
        rows, _ = waits(self.program, self.modal, self.database, self.prover, could, row, KEYS)
        missing = sorted((str(unit), str(address), str(path)) for unit, address, path in rows)
        shown = ", ".join(f"{a}.{p} of {u}" if p else f"{a} of {u}" for u, a, p in missing[:5])
        verb = "are" if len(missing) > 1 else "is"
        message = f"is decided when {shown or 'more'}{', ...' if len(missing) > 5 else ''} {verb} known"
        return self._finding("undecided", name, could, row, message, tuple(missing))

    def _finding(
        self,
        kind: Kind,
        would: str,
        predicate: str,
        row: Row,
        message: str,
        missing: tuple[Missing, ...] = (),
    ) -> Finding:
        proof = self.prover.why(predicate, row)
        assert proof is not None and proof.rule is not None
        rule = written_name(proof.rule.name)
        shown = proof_json(proof, self.database.facts, self.source)
        return Finding(kind, str(row[0]), str(row[1]), message, rule, None, None, shown, would, missing)
