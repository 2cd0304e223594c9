"""`query`: a question in Datalog about the derived relations."""

from __future__ import annotations

from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import DESTROY, JSON, OPERATION, STATE, VARIABLES, options
from planner.cli.supported import pipeline_function
from planner.cli.terminal import Terminal
from planner.vocabulary.diagnostic import has_errors

USAGE = "[options] QUESTION"
HELP = """Answers a question about the relations that the rules derive, one line for each answer. Words that begin
with a capital letter are variables:
  planner query 'edge(X, "terraform_data.a (expand)")'"""
FLAGS = (
    Flag("type", "string", "About which graph: plan, plan-refresh-only, plan-destroy or apply.", value="TYPE"),
    Flag("plan", "string", "About applying this plan file.", value="FILE"),
    JSON,
    DESTROY,
    *OPERATION,
    *STATE,
    *VARIABLES,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 (also when there is no answer), or 1 when the question makes no sense."""
    if len(arguments.words) != 1:
        raise UsageError("One question is needed", "Put it between single quotes.")
    ask = pipeline_function("query", "query")
    answers, diagnostics = ask(
        options(arguments), arguments.words[0], kind=arguments["type"], plan_file=arguments["plan"] or None
    )
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"]:
        from planner.vocabulary.exact_json import dumps

        document = {
            "format_version": "1.0",
            "variables": list(answers.variables),
            "answers": [list(row) for row in answers.rows],
        }
        terminal.out(dumps(document, escape_html=False).decode("utf-8"))
    elif answers.variables:
        from tabulate import tabulate

        if answers.rows:
            terminal.out(tabulate(answers.rows, headers=answers.variables, disable_numparse=True))
        else:
            terminal.out("No answer.")
    else:
        terminal.out("Yes." if answers.rows else "No.")
    return finish(diagnostics, terminal)
