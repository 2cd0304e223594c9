"""`explore`: a page about a plan, to look at in a browser."""

from __future__ import annotations

import os

from planner.api.questions import Questions
from planner.cli.finish import finish, write_page
from planner.cli.flags import Arguments, Flag, UsageError, command, no_directory
from planner.cli.options import DESTROY, INPUT, OPERATION, POLICY, SINCE, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.foundation.vocabulary.nearest import word
from planner.render.terminal import Terminal

KINDS = {"": ("plan", "apply"), "plan": ("plan",), "apply": ("apply",)}


@command(
    "[options] -out=FILE.html",
    """Writes one HTML page about a plan for a browser, which needs no network. It shows the graph, with search,
zoom and collapsible modules; kinds of edges; changes and their causes; the rule and the source line of each edge; the
reach of a change; the path between two nodes; and policy verdicts.

With -plan the page shows a saved plan, otherwise a new one. Nothing is changed.""",
    (
        Flag("out", "string", "Write the page to this file.", value="FILE"),
        Flag("plan", "string", "Show this plan file.", value="FILE"),
        Flag("type", "string", "Show only this graph: plan or apply (default: both).", value="TYPE"),
        DESTROY,
        INPUT,
        *POLICY,
        SINCE,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def explore(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is no plan or the page cannot be written."""
    from planner.render.page.of_plan import page_of_plan
    from planner.render.page.page import page_html
    from planner.render.progress import ProgressHooks

    no_directory(arguments, "explore")
    if not arguments["out"]:
        raise UsageError("Option -out is required", "It names the file to write: planner explore -out=plan.html")
    if arguments["type"] not in KINDS:
        raise UsageError(f"There is no graph of type {arguments['type']}", "The types are: plan, apply.")
    plan_file = arguments["plan"] or None
    calls, kinds = plan_calls(Questions, arguments), KINDS[arguments["type"]]
    explored, problems = calls.exploration(kinds, plan_file, ProgressHooks(terminal))
    if explored is None:
        return finish(problems, terminal)
    title = f"Plan of {os.path.basename(plan_file or os.getcwd())}"
    asks = " ".join(["planner why -full", *([f"-plan={word(plan_file)}"] if plan_file else [])])
    problems += write_page(arguments["out"], page_html(page_of_plan(explored, title, asks)))
    if not has_errors(problems):
        terminal.out(f"The page is in {arguments['out']}.")
    return finish(problems, terminal)
