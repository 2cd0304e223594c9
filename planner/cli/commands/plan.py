"""`plan`: shows the changes that an apply would make."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.api.making import Making, save
from planner.cli.approval import asking
from planner.cli.flags import Arguments, Flag, command, no_directory
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON_LINES,
    OFFLINE,
    OPERATION,
    POLICY,
    SHOW_SENSITIVE,
    SINCE,
    STATE,
    VARIABLES,
    WHY,
    may_ask,
    plan_calls,
)
from planner.cli.review import REVIEW, Review
from planner.cli.views import PAGER, judge, may_tell_causes, open_view, paged, runs_there, show_summary, told_causes
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.render.view import HumanView

if TYPE_CHECKING:
    from planner.cli.renewed_plan import Watched

_PLAIN = frozenset(
    ("var", "var-file", "refresh", "lock", "lock-timeout", "no-color", "input", "parallelism", "detailed-exitcode",
     "compact-warnings", "consolidate-warnings", "consolidate-errors", "concise", "deprecation", "state", "explain",
     "policy")
)  # fmt: skip

"""flags with which a cached plan may be used; all other flags change the output or add inputs"""

_ANEW = ("PLANNER_PLAN_ANEW", "PLANNER_NO_CACHE")
_LOGS = ("TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER")
"""environment variables that request a log of planning; no cached plan is used then, because it has no steps to log"""

LARGE = 1 << 18
"""if a root module is larger than this, in bytes, its plan is cached even without plugins and module calls"""


@command(
    "[options]",
    """Compares the configuration with the state and the real objects, and shows what apply would do. Nothing is
changed.

With -out the plan is saved, and `planner apply FILE` applies exactly that plan.

With -offline no provider is configured or called, so checks of pull requests need no credentials. Results that only a
provider can determine are marked as undecided, and such a plan cannot be applied.

-markdown, -html and -review write the review of the plan: the decisions first, then the causes with their effects, then
the changes, without sensitive values. The Markdown of any plan fits into a comment on a pull request.

The plan is checked against policies: those of the directory, of the organisation, and of -policy. A plan that is
denied, or that cannot be checked, is not saved. A saved plan contains its policies, so that apply can decide their
undecided verdicts.

The causes of changes are found by comparing the configuration with the last apply, or, with -since, with the
configuration at a git revision, which is read without a checkout: planner plan -causes -since=main""",
    (
        Flag("out", "string", "Save the plan in this file.", value="FILE"),
        Flag("detailed-exitcode", "bool", "Exit with 0 for no changes, 1 for errors, 2 for changes."),
        Flag(
            "generate-config-out",
            "string",
            "Write configuration for imported objects that have none to this new file.",
            value="FILE",
        ),
        OFFLINE,
        DESTROY,
        INPUT,
        SHOW_SENSITIVE,
        *REVIEW,
        PAGER,
        WHY,
        Flag("causes", "bool", "Show the causes of the changes instead of the changes."),
        SINCE,
        *POLICY,
        *OPERATION,
        *STATE,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def plan(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 1 on errors, 2 if there are changes and -detailed-exitcode is set, and 0 otherwise."""
    no_directory(arguments, "plan")
    calls = asking(plan_calls(Making, arguments, needs_configuration=True), terminal, may_ask(arguments))
    review = Review(arguments)
    tells = may_tell_causes(arguments, terminal) or bool(review)
    told_only = not (tells or calls.options.judges or arguments["out"] or arguments["json"] or arguments["json-into"])
    calls = calls.having(keeps_values=tells, evaluates_once=told_only)
    if not _may_be_kept(arguments):
        return _run(arguments, terminal, calls, review)
    return _planned_again(arguments, terminal, calls.having(keeps_values=True), review)


def _may_be_kept(arguments: Arguments) -> bool:
    """Whether a cached plan may be used, and whether a new plan may be cached."""
    if not arguments.given <= _PLAIN or any(os.environ.get(name, "") not in ("", "0") for name in _ANEW):
        return False
    if any(map(os.environ.get, _LOGS)):
        return False
    data = os.environ.get("TF_DATA_DIR") or ".terraform"
    if any(map(os.path.lexists, (".terraform.lock.hcl", os.path.join(data, "modules", "modules.json")))):
        return True
    total = 0
    try:
        with os.scandir(".") as entries:
            for entry in entries:
                if entry.name.endswith((".tf", ".tofu")):
                    total += entry.stat().st_size
    except OSError:
        return False
    return total >= LARGE


def _planned_again(arguments: Arguments, terminal: Terminal, calls: Making, review: Review) -> int:
    from planner.cli.renewed_plan import planned_again

    return planned_again(
        arguments, terminal, calls.options, lambda kept: _run(arguments, terminal, calls, review, kept)
    )


def _run(arguments: Arguments, terminal: Terminal, calls: Making, review: Review, kept: Watched | None = None) -> int:
    view = open_view(arguments, terminal)
    if kept is not None and isinstance(view, HumanView):
        view.keep = kept.begins
    planned = calls.attempt(view.hooks)
    if runs_there(planned.diagnostics):
        from planner.cli.remote_run import run_there

        return run_there(arguments, terminal, calls, view)
    made, problems = planned.made, list(planned.diagnostics)
    if kept is not None and made is not None:
        still_needed = may_tell_causes(arguments, terminal) or calls.options.judges
        made = kept.gathers(made, bool(problems), still_needed)
    chains = review.chains(made)
    if made is not None:
        with paged(arguments, terminal):
            if arguments["causes"] and not arguments["json"]:
                show_summary(made, terminal, chains=chains)
            else:
                causes = told_causes(made, arguments, terminal, chains)
                view.plan(made.plan, SchemaLookup(made.loaded.schemas).resource_schema, causes)
    may_save, verdict = True, None
    if calls.options.judges and planned.complete is not None:
        made, verdict, findings = judge(planned.complete, view)
        problems += findings
        may_save = not has_errors(findings)
    if made is not None and arguments["out"] and may_save:
        problems += save(made, arguments["out"], review.record(made, problems, verdict, chains))
    saved = arguments["out"] if made is not None and not has_errors(problems) else ""
    problems += review.write(made, problems, verdict, chains=chains, plan_file=saved)
    view.diagnostics(problems)
    if made is not None and arguments["out"] and not may_save:
        view.tell(_not_saved(arguments["out"]))
    if made is None or has_errors(problems):
        return 1
    if made.plan.can_apply:
        view.next_steps(arguments["out"], arguments["generate-config-out"])
    return 2 if arguments["detailed-exitcode"] and (made.plan.can_apply or made.plan.deferred) else 0


def _not_saved(path: str) -> str:
    former = f" The existing file {path} is unchanged." if os.path.lexists(path) else ""
    return f"\nThe plan was not saved to {path}, because a policy denies the plan or cannot be decided.{former}"
