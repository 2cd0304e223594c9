"""`batch explore`: a page about the plans of a fleet, to look at in a browser."""

from __future__ import annotations

from planner.cli.batch_options import REUSE, RUN, SELECT, WORDS, batch_options
from planner.cli.finish import finish, write_page
from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.support.signals import install
from planner.foundation.vocabulary.records import evolve
from planner.render.terminal import Terminal

USAGE = "[options] -out=FILE [WORDS...]"
HELP = f"""Plans the units of a fleet as `batch plan` does, and writes one HTML page about them for a browser, which
needs no network: the order of units and its reasons, and the plan of each. `batch plan -html=FILE` and `batch apply
-html=FILE` also write this page.

{WORDS}"""
FLAGS = (Flag("out", "string", "Write the page to this file.", value="FILE"), REUSE, *SELECT, *RUN)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a unit failed or the page cannot be written."""
    from planner.cli.batch_lines import BatchLines
    from planner.cli.batch_view import edge_grounds, texts
    from planner.workflows.batch import plan as batch
    from planner.workflows.batch.reports.document import report_json, summary_line
    from planner.workflows.batch.reports.html import html

    if not arguments["out"]:
        raise UsageError("Option -out is required", "It names the file to write: batch explore -out=fleet.html")
    if terminal.owns_process:
        install()
    report = batch.plan(evolve(batch_options(arguments), text=True), BatchLines(terminal), "plan")
    problems = list(report.diagnostics)
    if report.done:
        document = report_json(report)
        problems += write_page(arguments["out"], html(document, texts(report), edge_grounds(report)))
        terminal.out(summary_line(document))
    code = finish(problems, terminal)
    if report.done and not code:
        terminal.out(f"The page is in {arguments['out']}.")
    return 1 if report.failed else code
