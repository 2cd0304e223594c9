"""`stacks query`: a question about a planned deployment."""

from __future__ import annotations

from planner.cli.commands.query import ANSWER, check_formats, tell
from planner.cli.flags import Arguments, UsageError
from planner.cli.options import DESTROY
from planner.cli.stack_options import ASKED
from planner.foundation.vocabulary.diagnostic import Diagnostics
from planner.render.terminal import Terminal
from planner.workflows.stacks.questions import query

USAGE = "[options] 'QUESTION' | VERB NODES"
HELP = """Plans a deployment and queries it, in the language of `planner query`:

  planner stacks query 'made_from(A, "component.network")'
  planner stacks query 'component_changes(C, "remove", N), N > 0'
  planner stacks query 'unit_planned(C, A, "input.port", P)'
  planner stacks query rdeps component.network

The verbs are those of `planner query` (deps, rdeps, somepath, allpaths, blast), over the graph of `planner stacks
graph`. The most useful relations:

  component(C), recorded(C, Declaration)
                                 declared instances; those with a state
  does(C, What)                  plan, destroy, forget or defer
  made_from(A, B)                instance A is made from instance B
  reads_value(Value, Other)         data flow of all values
  edge(A, B), flow_node(N, Kind, Stack)
                                 the graph
  component_deferred(C, Why), waits_until(C, Other)
                                 deferred instances, and their conditions
  component_changes(C, Action, N)
                                 how many objects: add, change, remove, ...
  unit_change(C, Address, Action), unit_planned(C, Address, Path, Value),
  unit_prior, unit_unknown_after, unit_output, kind_of
                                 the content of each instance's plan

All relations: planner rules doc."""
FLAGS = (*ANSWER, DESTROY, *ASKED)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0 (also when there is no answer), or 1 when the question makes no sense or takes too long."""
    from planner.cli.stack_work import plans_of

    if not arguments.words:
        raise UsageError("A question is needed", "Put it between single quotes, or name a verb and its nodes.")
    check_formats(arguments)
    told = Diagnostics()
    (asked,) = plans_of(arguments, told, is_single=True)
    answers, problems = query(
        asked.plan, tuple(arguments.words), arguments["timeout"], arguments["limit"], arguments["dot"]
    )
    return tell(answers, [*told, *problems], arguments, terminal)
