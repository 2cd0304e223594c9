"""`stacks policy`: results of policies for deployments as a whole."""

from __future__ import annotations

from planner.answers.policy.combined_plans import combined_json
from planner.answers.policy.model import Verdict
from planner.cli.commands.batch_policy import tell
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag
from planner.cli.options import DESTROY, JSON
from planner.cli.stack_options import ASKED, check_words
from planner.foundation.vocabulary.diagnostic import Diagnostics, Failure, error, has_errors
from planner.render.terminal import Terminal
from planner.workflows.stacks.policy import deployment_policies

USAGE = "[options]"
HELP = """Plans deployments, and judges each as a whole by rules that derive deny(code, component, message) or
warn(code, component, message) from the relations of planner stacks query:

  deny("deletions", C, M) :-
    deployment("prod"), component_changes(C, "remove", N), N > 3,
    M = "destroys " ++ N ++ " objects".

planner stacks plan and apply also judge by the policies in .planner/stack-policies: a denied deployment is not applied.
(Their option -policy names policies about the plan of a single component.)

A verdict that depends on values that are not known yet is undecided. A policy that computes something without a value
is broken, as bad as a denial.

The exit code is 0, or 1 when a deployment is denied or on errors."""
FLAGS = (
    Flag("policy", "list", "A file or directory of policies (.planner/stack-policies). May be repeated.", value="PATH"),
    Flag("proofs", "bool", "Show the proof of each verdict below it."),
    JSON,
    DESTROY,
    *ASKED,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when something is denied or on errors."""
    from planner.cli.stack_work import plans_of
    from planner.render.diagnostics_json import diagnostic_json
    from planner.render.verdicts import count_verdicts

    check_words(arguments)
    told = Diagnostics()
    verdicts: list[tuple[str, Verdict]] = []
    with told.until_an_error():
        policies = deployment_policies(".", tuple(arguments["policy"]))
        if policies is None:
            detail = "Name files or directories with -policy, or put rules into .planner/stack-policies."
            raise Failure(error("stack.no_policies", "No policies", detail))
        told += policies.problems
        for asked in plans_of(arguments, told, judges=False):
            if not has_errors(asked.plan.diagnostics):
                verdicts.append((asked.plan.deployment, policies.verdict(asked.plan)))
    is_denied = any(verdict.is_denied for _, verdict in verdicts)
    if arguments["json"]:
        documents = [{"deployment": name, **combined_json(verdict, "component")} for name, verdict in verdicts]
        said = [diagnostic_json(problem) for problem in told]
        terminal.data(json_text({"format_version": "1.0", "deployments": documents, "diagnostics": said}))
        return int(is_denied or has_errors(told))
    tell(verdicts, "COMPONENT", arguments["proofs"], terminal)
    code = finish(told, terminal)
    if not code:
        for name, verdict in verdicts:
            terminal.out(f"{name}: {count_verdicts(verdict)}")
    return max(code, int(is_denied))
