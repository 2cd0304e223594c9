"""`explore`: a page about a plan, to look at in a browser."""

from __future__ import annotations

import os

from planner.cli.finish import finish, write_page
from planner.cli.flags import Arguments, Flag, UsageError, no_directory
from planner.cli.options import DESTROY, INPUT, OPERATION, POLICY, STATE, VARIABLES, operation_options
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

USAGE = "[options] -out=FILE.html"
HELP = """Writes one HTML page about a plan, to look at in a browser without a network: the graph, to search, zoom
and fold by module; kinds of edges; changes and what set them off; for each edge the rule and the line
that it stands on; how far a change reaches; the path between two nodes; what policies say.

With -plan the page is about a saved plan, otherwise about one made now. Nothing is changed."""
FLAGS = (
    Flag("out", "string", "Write the page to this file.", value="FILE"),
    Flag("plan", "string", "The page is about this plan file.", value="FILE"),
    Flag("type", "string", "Only this graph: plan or apply (both).", value="TYPE"),
    DESTROY,
    INPUT,
    *POLICY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)
KINDS = {"": ("plan", "apply"), "plan": ("plan",), "apply": ("apply",)}


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when there is no plan or the page cannot be written."""
    from planner.engine.walk.hooks import Hooks
    from planner.foundation.vocabulary.shell import word
    from planner.operations.graph import explore
    from planner.render.page.of_plan import page_of_plan
    from planner.render.page.page import page_html

    no_directory(arguments, "explore")
    if not arguments["out"]:
        raise UsageError("Option -out is needed", "It says where the page is written: planner explore -out=plan.html")
    if arguments["type"] not in KINDS:
        raise UsageError(f"There is no graph of type {arguments['type']}", "The types are: plan, apply.")
    plan_file = arguments["plan"] or None
    settings = operation_options(arguments)
    explored, problems = explore(settings, plan_file, KINDS[arguments["type"]], Hooks())
    if explored is None:
        return finish(problems, terminal)
    title = f"Plan of {os.path.basename(plan_file or os.path.abspath(settings.directory))}"
    asks = " ".join(["planner why -full", *([f"-plan={word(plan_file)}"] if plan_file else [])])
    problems += write_page(arguments["out"], page_html(page_of_plan(explored, title, asks)))
    if not has_errors(problems):
        terminal.out(f"The page is in {arguments['out']}.")
    return finish(problems, terminal)
