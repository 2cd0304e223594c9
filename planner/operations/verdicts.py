"""Implements `why deny`, `why warn`, `why undecided` and `why broken`: the proofs of findings of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.answers.policy.model import Finding, Verdict
from planner.answers.policy.standing_policies import NAME_POLICIES
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.operations.explanations import explainer_of
from planner.operations.options import OperationOptions
from planner.operations.plan import MadePlan
from planner.operations.plan_files import Unstored, open_or_make_plan
from planner.operations.policies import judged_plainly

if TYPE_CHECKING:
    from planner.answers.policy.two_valued import PlainProofs

WORDS = ("deny", "warn", "undecided", "broken")
"""the words of `why` for findings of policies"""


def why_verdict(
    options: OperationOptions, kind: str, words: tuple[str, ...], plan_file: str | None
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """The proofs of findings as one document, and diagnostics; None if planning has errors. `kind`: the kind of
    finding, such as deny or undecided. `words`: the code and the address, or one of them. Raises Failure."""
    from planner.answers.explain.verdicts import explain_finding

    answer = open_or_make_plan(options, plan_file)
    if answer.made is None or has_errors(answer.diagnostics):
        return None, list(answer.diagnostics)
    verdict, plain = judged_for(options, answer.made)
    explainer = explainer_of(answer.made)
    documents = [explain_finding(finding, plain, explainer) for finding in the_findings(verdict, kind, words)]
    first, *others = documents
    return ({**first, "also": others} if others else first), []


def why_no_verdict(
    options: OperationOptions, kind: str, words: tuple[str, ...], plan_file: str | None
) -> tuple[dict[str, Any] | None, list[Diagnostic]]:
    """Why a policy does not deny an object, or does not warn about it; None if planning has errors. `words`: the code
    of the policy and the address of the object. Raises Failure."""
    if kind not in ("deny", "warn") or len(words) != 2:
        detail = "Name deny or warn, a code and an address: planner why -not deny CODE ADDRESS."
        raise Failure(error("why.words", "Nothing to explain", detail))
    answer = open_or_make_plan(options, plan_file)
    if answer.made is None or has_errors(answer.diagnostics):
        return None, list(answer.diagnostics)
    verdict, plain = judged_for(options, answer.made)
    code, address = words
    findings = [f for f in verdict.findings if (f.code, f.address) == words]
    if any(f.kind in (kind, "overridden") for f in findings):
        raise Failure(
            error("why.holds", "The fact holds", f"To see why it holds: planner why {kind} {code} {address}.")
        )
    if code not in verdict.codes and not findings:
        hint = did_you_mean(code, sorted(verdict.codes))
        raise Failure(error("why.no_code", "No such policy", f"No rule derives the code {code}.{hint}"))
    rules = plain.obstacles(kind, code, address)
    lines = [f"[{rule['rule']}] would need {rule['fails']}" for rule in rules]
    lines += [f"it is {f.kind}: planner why {f.kind} {code} {address}" for f in findings]
    near = {"kind": "policy", "text": f"Policy {code} does not {kind} {address}.", "lines": lines, "sources": []}
    goal = [kind, code, address]
    return {"format_version": "1.0", "goal": goal, "holds": False, "nearest": [near], "rules": rules}, []


def judged_for(options: OperationOptions, made: MadePlan[Unstored]) -> tuple[Verdict, PlainProofs]:
    """The verdict of policies about a plan, and an object that proves findings. Raises Failure if there are no
    policies, or if a policy is invalid."""
    recorded = made.plan.policy is not None and made.plan.policy.files
    if not options.judges and not recorded:
        raise Failure(error("why.no_policies", "No policies", NAME_POLICIES))
    verdict, plain, problems = judged_plainly(made)
    if verdict is None or plain is None:
        raise Failure(problems)
    return verdict, plain


def the_findings(verdict: Verdict, kind: str, words: tuple[str, ...]) -> list[Finding]:
    """The findings of a kind, including findings whose kind was changed by a level, an override or a waiver. Each of
    the words must equal the code or the address of the finding. Raises Failure if there are no such findings."""
    of_kind = [finding for finding in verdict.findings if kind in (finding.kind, finding.origin)]
    result = [f for f in of_kind if all(word in (f.code, f.address) for word in words)]
    if len(words) == 2:
        result = [f for f in result if {f.code, f.address} == set(words) or f.code == f.address]
    if result:
        return result
    others = [f for f in verdict.findings if all(word in (f.code, f.address) for word in words)]
    asked = " ".join(words)
    if others:
        text = "; ".join(f"{f.kind} {f.code} {f.address}".rstrip() for f in others)
        raise Failure(
            error("why.other_verdict", f"No {kind} for {asked}", f"The verdicts of the policies are: {text}.")
        )
    known = sorted({f.code for f in of_kind} | {f.address for f in of_kind if f.address} | set(verdict.codes))
    hint = next((text for text in (did_you_mean(word, known) for word in words if word not in known) if text), "")
    listed = "; ".join(f"{f.code} {f.address}".rstrip() for f in of_kind[:5])
    detail = f"The policies have no {kind} for {asked}.{hint}" + (
        f" There is a {kind} for: {listed}." if listed else ""
    )
    raise Failure(error("why.no_verdict", "Nothing to explain", detail))
