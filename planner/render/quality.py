"""The quality of the cases of rules, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.logic.datalog.tools.coverage import LiteralCoverage, RuleCoverage
    from planner.operations.rule_quality import Noticed, Quality
    from planner.render.terminal import Paint


def as_text(quality: Quality, shows_coverage: bool, paint: Paint) -> str:
    """Rules that no case exercises, mistakes that no case detects, and the counts."""
    lines: list[str] = []
    if shows_coverage:
        for rule in quality.coverage:
            missing = [(one, _missing(one)) for one in rule.literals if one.taken < one.ways]
            if missing:
                lines += ["", f"{rule.rule.name}, {rule.rule.file}:{rule.rule.line}"]
                lines += [f"  {what}  {one.text}" for one, what in missing]
        lines += ["", paint(_covered(quality), "bold")]
    survivors = [one.mutant for one in quality.mutants if one.case is None]
    for mutant in survivors:
        lines += ["", f"{mutant.rule}, {mutant.file}", f"  no case notices  {mutant.what}"]
    if quality.mutants:
        noticed, of = quality.score
        lines += ["", paint(f"Mistakes noticed: {noticed} of {of} ({percent(noticed, of)}).", "bold")]
    return "\n".join(lines)


def _missing(literal: LiteralCoverage) -> str:
    if not literal.held and not literal.failed:
        return "is never reached"
    return "never holds     " if not literal.held else "never fails     "


def _covered(quality: Quality) -> str:
    covered, of = quality.covered
    fired = sum(rule.fired for rule in quality.coverage)
    return (
        f"Rules that derive something in a case: {fired} of {len(quality.coverage)}. "
        f"Ways that literals go: {covered} of {of} ({percent(covered, of)})."
    )


def percent(part: int, whole: int) -> str:
    """`87%`, rounded down: 100% is all."""
    return f"{100 * part // whole}%" if whole else "100%"


def as_json(quality: Quality | None) -> dict[str, Any]:
    """The members `coverage` and `mutants`; none where they were not requested."""
    if quality is None:
        return {}
    members: dict[str, Any] = {"coverage": [_rule(rule) for rule in quality.coverage]}
    if quality.mutants:
        members["mutants"] = [_mutant(one) for one in quality.mutants]
    return members


def _rule(rule: RuleCoverage) -> dict[str, Any]:
    literals = [{"text": one.text, "held": one.held, "failed": one.failed} for one in rule.literals]
    return {"rule": rule.rule.name, "file": rule.rule.file, "line": rule.rule.line, "literals": literals}


def _mutant(one: Noticed) -> dict[str, Any]:
    return {"rule": one.mutant.rule, "file": one.mutant.file, "mistake": one.mutant.what, "noticed_by": one.case}
