"""`batch query`: a question in Datalog about all units together."""

from __future__ import annotations

from planner.cli.batch_options import REUSE, RUN, SELECT, batch_options
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import JSON
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal
from planner.workflows.batch.schedule import BatchListener

USAGE = "[options] 'QUESTION' [WORDS...]"
HELP = """Runs a query over the units of a fleet. If it reads plans, the units are planned first:
  planner batch query 'edge(U, "network")'
  planner batch query 'unit_change(U, Address, "delete")'
  planner batch query 'unit_planned(U, A, "input.name", N), U != "app"'

The most useful relations:
  unit(U, Directory), tag(U, Tag), group(U, Group), wave(U, Number)
  edge(U, V)                         U waits for V directly
  waits_for(U, V)                    directly or through others
  reads_state(U, Object, State), writes_state(U, State)
  takes_output(U, Variable, V, Output), reads_file(U, File)
  status(U, Outcome)                 changes, incomplete, unchanged, ...
  pending(U, V, Output, Path)        U's plan depends on a value of V's output
                                     that is known only after V is applied
  unit_change(U, Address, Action)    the planned action of an instance
  kind_of(U, Address, Mode, Type), unit_reason(U, Address, Reason)
  unit_planned(U, Address, Path, V)  a value after apply; also unit_prior
  unit_unknown_after(U, Address, P)  a value that is known only after apply

Sensitive values are omitted. For WORDS see planner batch plan."""
FLAGS = (
    Flag("timeout", "duration", "Stop the query after this time (30s).", 30.0, "DURATION"),
    Flag("csv", "bool", "Print comma-separated values."),
    JSON,
    REUSE,
    *SELECT,
    *RUN,
)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 (also when there is no answer), or 1 when the question makes no sense or takes too long."""
    from planner.render.rows import csv_text, json_text, table
    from planner.workflows.batch.questions import query

    if not arguments.words:
        raise UsageError("A question is needed", "Put it between single quotes.")
    if arguments["csv"] and arguments["json"]:
        raise UsageError("Conflicting options", "Choose one of -json and -csv.")
    question = arguments.words.pop(0)
    answers, diagnostics = query(batch_options(arguments), question, BatchListener(), arguments["timeout"])
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if arguments["json"] or arguments["csv"]:
        terminal.data((json_text if arguments["json"] else csv_text)(answers.columns, answers.rows))
        return 0
    if not answers.columns:
        terminal.out("Yes." if answers.rows else "No.")
    else:
        terminal.out(table(answers.columns, answers.rows) if answers.rows else "No answer.")
    return finish(diagnostics, terminal)
