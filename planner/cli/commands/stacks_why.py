"""`stacks why`: explains why a component instance is deferred or depends on another instance, why a plan is approved,
and why an action in a component is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.cli.finish import json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import DESTROY, JSON, POLICY
from planner.cli.stack_options import ASKED
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error
from planner.logic.programs.actions import is_word
from planner.render.terminal import Terminal
from planner.workflows.stacks.approval import approval
from planner.workflows.stacks.policy import deployment_policies, judged, standing_policies
from planner.workflows.stacks.questions import why, why_approved, why_planned

if TYPE_CHECKING:
    from planner.cli.commands.stacks_query import PendingDeployment

VERDICTS = ("deny", "warn", "undecided", "broken")


@command(
    "[options] COMPONENT OTHER | WORD...",
    """Plans a deployment and explains:

  planner stacks why COMPONENT OTHER     why an instance depends on the other
                                         one, with the values between them
                                         and their lines; -deployment is only
                                         needed if the answers differ
  planner stacks why deferred COMPONENT  why it is deferred, and what it
                                         waits for
  planner stacks why approved            which checks approve the plan, or
                                         fail
  planner stacks why ADDRESS             why this action is planned for a
                                         resource instance or output of a
                                         component:
                                         component.web["eu"].aws_eip.main
  planner stacks why WORD ADDRESS        as in `planner why`: replace, delete,
                                         create, update; or unknown, for a
                                         value
  planner stacks why deny CODE           the verdict of policies about the
                                         deployment; also warn, undecided,
                                         broken; COMPONENT may follow

With -not, explains why something does not hold, with the unmet conditions of each rule.""",
    (
        Flag("full", "bool", "Show the whole proof."),
        Flag("not", "bool", "Explain why something does not hold."),
        DESTROY,
        *ASKED,
        *POLICY,
        JSON,
    ),
)
def stacks_why(arguments: Arguments, terminal: Terminal) -> int:
    """Raises Failure if no proof answers the question."""
    from planner.render.proof import proof_text

    if not 1 <= len(arguments.words) <= 3 or (len(arguments.words) == 3 and arguments.words[0] not in VERDICTS):
        raise UsageError("Expected one or two arguments", "See planner stacks why -help.")
    proofs = _answer(arguments)
    if arguments["json"]:
        terminal.data(json_text({"format_version": "1.0", "proofs": proofs}))
        return 0
    for number, proof in enumerate(proofs):
        if number:
            terminal.out()
        terminal.out(proof_text(proof, terminal.paint, arguments["full"]))
    return 0


def _answer(arguments: Arguments) -> list[dict[str, Any]]:
    """Proofs that answer the question for the single selected deployment. For a question about two components, several
    deployments may be selected if all of them have the same proofs. Raises Failure."""
    from planner.cli.commands.stacks_query import plans_of
    from planner.workflows.stacks.opened_stack import several

    first, *rest = arguments.words
    if not rest or first in (*VERDICTS, "deferred") or is_word(first):
        (pending,) = plans_of(arguments, Diagnostics(), keeps_values=True, is_single=True)
        return approval_proofs(arguments, pending)
    answers: list[list[dict[str, Any]]] = []
    failures: list[Failure] = []
    deployment_plans = plans_of(arguments, Diagnostics(), keeps_values=True)
    for one in deployment_plans:
        try:
            answers.append(approval_proofs(arguments, one))
        except Failure as failure:
            failures.append(failure)
    if not answers:
        raise failures[0]
    if failures or any(answer != answers[0] for answer in answers):
        raise several(one.deployment.name for one in deployment_plans)
    return answers[0]


def approval_proofs(arguments: Arguments, pending: PendingDeployment) -> list[dict[str, Any]]:
    """Proofs that answer the question on the command line for one deployment. Raises Failure if there are no such
    proofs."""

    plan, negated = pending.plan, arguments["not"]
    first, *rest = arguments.words
    if first in VERDICTS and rest:
        return _verdicts(arguments, pending)
    if not rest and first == "deferred":
        raise UsageError(
            "Which component?", "Write the component after the word: planner stacks why deferred COMPONENT."
        )
    if not rest and first == "approved":
        findings = judged(standing_policies("."), plan)
        return why_approved(approval(pending.session.flow, pending.deployment, plan, 0, findings), negated)
    if not rest:
        return why_planned(plan, first, "", negated)
    if first == "deferred":
        return [*why(plan, "put_off", rest[0], "", negated), *([] if negated else waiting(plan, rest[0]))]
    if is_word(first):
        return why_planned(plan, rest[0], first, negated)
    return why(plan, "made_from", first, rest[0], negated)


def _verdicts(arguments: Arguments, pending: PendingDeployment) -> list[dict[str, Any]]:
    """Proofs of policy verdicts about the whole deployment. Raises Failure if no verdict matches, and UsageError for
    -not."""
    if arguments["not"]:
        detail = "To see the relations on which verdicts depend, use planner stacks query."
        raise UsageError("Verdicts are explained without -not", detail)
    kind, *wanted = arguments.words
    policies = deployment_policies(".")
    verdict = policies.verdict(pending.plan) if policies is not None else None
    findings = [f for f in (verdict.findings if verdict is not None else ()) if f.kind == kind]
    proofs = [f.proof for f in findings if [f.code, f.address][: len(wanted)] == wanted]
    if not proofs:
        given = ", ".join(dict.fromkeys(f"{f.code} {f.address}".strip() for f in findings)) or "none"
        detail = f"No policy in .planner/stack-policies has the verdict {' '.join(arguments.words)}. Verdicts: {given}."
        raise Failure(error("stack.no_verdict", "Nothing to explain", detail))
    return proofs


def waiting(plan: Any, name: str) -> list[dict[str, Any]]:
    """Proofs of the instances for which a deferred instance waits; empty if it waits for none."""

    try:
        return why(plan, "waits_until", name)
    except Failure:
        return []
