"""What policies say about all plans of a fleet together, in three values as about one plan (planner/policy/modal.py):
what hinges on values that are not known yet is undecided, inputs from units with changes included."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

from planner.batch.ask import failed_units, over_plans
from planner.batch.batch import Batch, BatchOptions, own_rules
from planner.batch.facts import fleet_source
from planner.batch.schedule import Listener
from planner.datalog.engine.evaluate import Database
from planner.datalog.engine.program import Program
from planner.datalog.explain.proof import proof_json
from planner.datalog.explain.search import Prover
from planner.datalog.front.values import Row
from planner.policy.modal import VERDICTS, Modal, rewrite, written_name
from planner.policy.model import KINDS, REFUSALS
from planner.policy.packs import is_pack_file
from planner.policy.program import foreign_rules
from planner.policy.sources import files_below
from planner.policy.standing import FLEET, organisation
from planner.policy.standing import own as own_folder
from planner.policy.waits import waits
from planner.programs.fleet import checked
from planner.programs.table import Files, load
from planner.support.disk import read_text
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.records import frozen

KEYS = 2
"""a value in a fleet belongs to a unit and an address"""
Missing: TypeAlias = tuple[str, str, str]
"""(unit, address, path) of a value that is not known yet"""


@frozen
class Finding:
    """What a policy says: `kind` deny, broken, warn or undecided, with the rule and the proof. What is undecided may
    become `would`, deny or warn, when the values `waits_for` are known."""

    kind: str
    code: str
    unit: str
    message: str
    rule: str
    proof: dict[str, Any]
    would: str = ""
    waits_for: tuple[Missing, ...] = ()

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "kind": self.kind,
            "code": self.code,
            "unit": self.unit,
            "message": self.message,
            "rule": self.rule,
            "proof": self.proof,
        }
        if self.kind == "undecided":
            document["would"] = self.would
            document["waits_for"] = [{"unit": u, "address": a, "path": p} for u, a, p in self.waits_for]
        return document


@frozen(eq=False)
class Verdict:
    """All findings about a fleet: denials first, then by code, unit and message."""

    findings: tuple[Finding, ...] = ()

    @property
    def is_denied(self) -> bool:
        return any(finding.kind in REFUSALS for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Format 1.0: {"format_version", "verdict": deny, broken, undecided or pass, "denied", "counts",
        "findings"}."""
        counts: dict[str, int] = {kind: sum(f.kind == kind for f in self.findings) for kind in KINDS}
        counts = {kind: n for kind, n in counts.items() if n or kind in ("deny", "undecided", "warn")}
        return {
            "format_version": "1.0",
            "verdict": next((kind for kind in (*REFUSALS, "undecided") if counts.get(kind)), "pass"),
            "denied": self.is_denied,
            "counts": counts,
            "findings": [finding.to_json() for finding in self.findings],
        }


def policy(options: BatchOptions, words: tuple[str, ...], listener: Listener) -> tuple[Verdict, list[Diagnostic]]:
    """What policies say about all plans together. A unit without a plan is an error: nobody knows what they would say
    about it. Raises Failure."""
    fleet = Batch(options, "plan").fleet
    standing = policy_files(organisation("batch_policies", os.environ))
    rules = dict(own_rules(options, fleet))
    own = {**rules, **dict(policy_files((*own_folder(fleet.root, FLEET), *words)))}
    if not standing and not any(name not in rules for name in own):
        detail = "Name files or folders with -policy, or put rules into .planner/batch-policies."
        raise Failure(error("batch.no_policies", "No policies", detail))
    modal, program, problems = _three_valued((*{**own, **dict(standing)}.items(),), frozenset(dict(standing)))
    database, report, more = over_plans(options, program, modal.verdicts, listener)
    problems = [*problems, *more]
    if database is None:
        return Verdict(), problems
    findings = _Judge(modal, program, database).findings()
    return Verdict(tuple(findings)), [*problems, *failed_units(report, error)]


def policy_files(words: tuple[str, ...]) -> Files:
    """(name, text) of the policies that are named: files, and folders with those below. Raises Failure."""
    files_read: list[tuple[str, str]] = []
    for word in words:
        problems: list[Diagnostic] = []
        files = files_below(word, problems) if os.path.isdir(word) else [Path(word)]
        if problems:
            raise Failure(problems)
        if not files:
            raise Failure(error("batch.policy", "No policies in the folder", f"{word} holds no file *.dl."))
        for file in files:
            if is_pack_file(str(file)):
                detail = (
                    f"{file}: packs judge the plans of single units, whose .planner/policy.toml or batch plan "
                    "-policy=PACK names them. What is said of all plans together stands in rule files of no pack."
                )
                raise Failure(error("batch.pack", "A pack cannot judge a fleet", detail))
            try:
                files_read.append((str(file), read_text(file)))
            except (OSError, ValueError) as problem:
                raise Failure(error("batch.policy", "Cannot read a policy", f"{file}: {problem}.")) from None
    return tuple(files_read)


def _three_valued(own: Files, closed: frozenset[str]) -> tuple[Modal, Program, list[Diagnostic]]:
    """Users' rules for what certainly holds and what could hold, with warnings about them; nobody adds to what the
    files named in `closed` declare. Raises Failure."""
    plain, problems = checked(own)
    foreign = list(foreign_rules(plain, closed))
    if foreign:
        raise Failure(foreign)
    modal, more = rewrite(plain, keys=KEYS)
    if modal is None:
        raise Failure([*problems, *more])
    program, wrong = load("batch", made=[modal.file])
    if program is None:
        raise Failure([d for d in wrong if d.is_error])
    return modal, program, [*problems, *more]


class _Judge:
    def __init__(self, modal: Modal, program: Program, database: Database) -> None:
        self.modal, self.program, self.database = modal, program, database
        self.prover = Prover(program, database)

    def findings(self) -> list[Finding]:
        found = []
        for name in VERDICTS:
            certain = self.database[name]
            found += [self._finding(name, name, name, row, str(row[2])) for row in certain]
            could = self.modal.could.get(name)
            if could is not None:
                known = {row[:2] for row in certain}
                found += [self._undecided(name, could, row) for row in self.database[could] if row[:2] not in known]
        if self.modal.broken:
            rows = self.database[self.modal.broken]
            found += [self._finding("broken", "", self.modal.broken, row, str(row[2])) for row in rows]
        return sorted(found, key=lambda f: (KINDS.index(f.kind), f.code, f.unit, f.would, f.message))

    def _undecided(self, name: str, could: str, row: Row) -> Finding:
        rows, _ = waits(self.program, self.modal, self.database, self.prover, could, row, KEYS)
        missing = sorted((str(unit), str(address), str(path)) for unit, address, path in rows)
        shown = ", ".join(f"{a}.{p} of {u}" if p else f"{a} of {u}" for u, a, p in missing[:5])
        message = f"is decided when {shown or 'more'}{', ...' if len(missing) > 5 else ''} is known"
        return self._finding("undecided", name, could, row, message, tuple(missing))

    def _finding(
        self,
        kind: str,
        would: str,
        predicate: str,
        row: Row,
        message: str,
        missing: tuple[Missing, ...] = (),
    ) -> Finding:
        proof = self.prover.why(predicate, row)
        assert proof is not None and proof.rule is not None
        rule = written_name(proof.rule.name)
        shown = proof_json(proof, self.database.facts, fleet_source)
        return Finding(kind, str(row[0]), str(row[1]), message, rule, shown, would, missing)
