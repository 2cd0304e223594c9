"""`query`: runs a Datalog query over derived relations, or a graph query."""

from __future__ import annotations

import os
from typing import Any

from planner.api.making import Making
from planner.api.questions import Questions
from planner.cli.approval import asking
from planner.cli.finish import finish
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import (
    DESTROY,
    INPUT,
    JSON,
    JSON_LINES,
    OPERATION,
    POLICY,
    STATE,
    VARIABLES,
    may_ask,
    plan_calls,
)
from planner.cli.views import open_view
from planner.foundation.support.disk import list_directory
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.language.config.file_content import QUERIES
from planner.render.terminal import Terminal

KINDS = ("plan", "plan-refresh-only", "plan-destroy", "apply")

ANSWER = (
    Flag("timeout", "duration", "Stop the query after this time (default: 30s).", 30.0, "DURATION"),
    Flag("limit", "int", "The maximum number of paths that allpaths lists (default: 100).", 100, "N"),
    Flag("csv", "bool", "Print comma-separated values."),
    Flag("dot", "bool", "Print the subgraph of the answer in the DOT language."),
    Flag(
        "full",
        "bool",
        "In tables of deps, rdeps, somepath, allpaths and blast, list every vertex, also those that only begin or end.",
    ),
    JSON,
)

FORMATS = ("json", "csv", "dot")

GENERATE = Flag("generate-config-out", "string", "Write import and resource blocks for the results.", value="FILE")


@command(
    "[options] 'QUESTION' | VERB NODES...",
    """Queries the relations that the rules derive. Words that begin with a capital letter are variables, _
matches anything, and an address in a column of vertices means its vertex:

  planner query 'edge(X, "terraform_data.a")'
  planner query 'operation(X, "delete"), edge(X, Y), not operation(Y, _)'
  planner query 'edge(_, X), N = count : { edge(_, X) }, N > 10'

Verbs query the graph:

  planner query deps NODES       the nodes and their dependencies
  planner query rdeps NODES      the nodes and their dependents
  planner query somepath A B     a shortest path of edges from A to B
  planner query allpaths A B     all paths, the shortest first, up to -limit
  planner query blast NODES      everything that a change of NODES may affect,
                                 by depth, with the planned actions

NODES are an address, a vertex as "planner graph" names it, a pattern with * and ?, or sets of these: + is union, & is
intersection, - (after a blank) is difference, from left to right. In sets, verbs are functions with an optional depth:

  planner query 'deps(module.net.*) & rdeps(terraform_data.a) - data.*'
  planner query 'rdeps(terraform_data.a, 1)'

The most useful relations:

  edge(A, B)                     vertex A waits for vertex B directly
  waits_for(A, B)                directly or through others
  vertex(N, Kind, Module, Object)
                                 the vertices
  resource(R, Module, Mode, Type)
                                 a resource block (also: input_variable,
                                 local, output_value, child_module)
  reference(R, Target, Path)     R mentions Target in its configuration
  requires_provider(R, Module, Provider, Alias)
  in_state(I), state_deposed(I, Key)
                                 the state has an object of instance I
  instance(I, R, ...)            instance I belongs to resource R
  state_depends_on(I, R)         in the state, I depends on R
  state_provider(I, P)           the provider configuration in the state
  action(I, Action)              the planned action of instance I
  operation(N, Action)           the action of vertex N in the apply graph
  instance_node(N, I)            vertex N belongs to instance I
  planned(A, Path, V), change(A, Type, ...), policy.deny(Code, A, Message)
                                 the relations of policies, including those
                                 of -policy

A query that reads action, operation or a relation of policies makes a plan, or uses the saved one that -plan names.
For all relations and their columns: planner rules doc.

Without a query, in a directory with files *.tfquery.hcl, it does the same as planner discover.""",
    (
        Flag("type", "string", f"The graph to query: {', '.join(KINDS)}.", value="TYPE"),
        Flag(
            "plan",
            "string",
            "Query the apply graph of this plan file; with -type=plan, its plan graph.",
            value="FILE",
        ),
        Flag("state-only", "string", "Query this state file alone, without a configuration.", value="FILE"),
        *ANSWER,
        GENERATE,
        POLICY[0],
        DESTROY,
        *OPERATION,
        *STATE,
        *VARIABLES,
    ),
)
def query(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 even if the query has no answers."""
    directory = searched_directory(arguments.words)
    if directory is not None:
        return search(directory, arguments, terminal)
    if not arguments.words:
        detail = (
            "Write the query in single quotes, or name a verb and its nodes. No resource to query: there is no file "
            f"*{QUERIES}."
        )
        raise UsageError("Missing query", detail)
    answers, diagnostics = plan_calls(Questions, arguments).answers(tuple(arguments.words), **_query_subject(arguments))
    return tell(answers, diagnostics, arguments, terminal)


def tell(answers: Any, diagnostics: list[Diagnostic], arguments: Arguments, terminal: Terminal) -> int:
    """Print the answers in the requested format. Returns the exit code."""
    if has_errors(diagnostics):
        return finish(diagnostics, terminal)
    if not any(arguments[name] for name in FORMATS):
        terminal.out(_text(answers, arguments["full"]))
        return finish(diagnostics, terminal)
    terminal.data(_document(arguments, answers))
    # standard output contains a document, so warnings go to standard error
    from planner.render.diagnostics import render

    for diagnostic in diagnostics:
        terminal.err(render(diagnostic, terminal.error_paint, terminal.error_width, terminal.boxed))
    return 0


def check_formats(arguments: Arguments) -> None:
    """Check the output format, the time limit and the number of paths. Raises UsageError."""
    if sum(arguments[name] for name in FORMATS) > 1:
        raise UsageError("Conflicting options", "Choose one of -json, -csv and -dot.")
    if arguments["timeout"] <= 0:
        raise UsageError("Option -timeout must be positive", "Write, for example, -timeout=30s.")
    if arguments["limit"] < 1:
        raise UsageError("Option -limit must be at least 1")


def _query_subject(arguments: Arguments) -> dict[str, Any]:
    """The arguments of `answers` that come from flags: the graph, plan file or state file to query, the limits, and
    whether to draw the result. Raises UsageError for conflicting flags."""
    kind, plan_file, state_file = (arguments[name] for name in ("type", "plan", "state-only"))
    if kind and kind not in KINDS:
        raise UsageError(f"Unknown graph type {kind}", f"The types are: {', '.join(KINDS)}.")
    if plan_file and kind not in ("", "plan", "apply"):
        raise UsageError("Conflicting options", "A plan file contains only the graphs of the types apply and plan.")
    if state_file and (plan_file or kind):
        raise UsageError(
            "Conflicting options", "-state-only queries only a state. Remove the options about plans and graphs."
        )
    check_formats(arguments)
    return {
        "kind": kind,
        "plan_file": plan_file or None,
        "state_file": state_file or None,
        "seconds": arguments["timeout"],
        "limit": arguments["limit"],
        "draw": arguments["dot"],
    }


def _text(answers: Any, has_vertices: bool) -> str:
    from planner.render.rows import by_object, table

    if not answers.columns:
        return "Yes." if answers.rows else "No."
    if not answers.rows:
        return "No answer."
    return table(answers.columns, answers.rows if has_vertices else by_object(answers.columns, answers.rows))


def _document(arguments: Arguments, answers: Any) -> str:
    from planner.render.dot import subgraph_dot
    from planner.render.rows import csv_text, json_text

    if arguments["dot"]:
        return subgraph_dot(answers.picture.nodes, answers.picture.edges).removesuffix("\n")
    return (json_text if arguments["json"] else csv_text)(answers.columns, answers.rows)


# `discover`: searches for existing objects with the list blocks of query files


FLEET = Flag(
    "fleet",
    "string",
    "Also count objects as managed if a unit of the fleet in this directory manages them.",
    value="DIR",
)
COVERAGE = Flag("coverage", "bool", "Report the share of managed objects among the results, by type.")
POLICIES = Flag("policy", "list", "Check the results and their coverage against these policies.", value="PATH")


@command(
    "[options] [DIRECTORY]",
    """Searches for existing objects with the list blocks in files *.tfquery.hcl, and prints a line for each: the list
block, its identity and its name.

  list "aws_instance" "web" {
    provider = aws
    config {
      region = "eu-central-1"
    }
    limit            = 100      # the default
    include_resource = true     # for list.aws_instance.web.data[0].state
  }

Query files may also have the blocks variable, locals and provider. A list block that refers to another one runs
after it.

A result is marked as managed if the state has an object with its identity, and as imported if an import block names it.
With -fleet, the states and import blocks of all units of a fleet are included, and objects that two units manage are
reported. Policies read unmanaged(type, identity), managed_twice(type, identity, instance, other) and coverage(type,
kind, number):

  deny("unmanaged", I, "no unit manages it") :- unmanaged("aws_s3_bucket", I).""",
    (
        GENERATE,
        FLEET,
        COVERAGE,
        POLICIES,
        INPUT,
        Flag("parallelism", "int", "", 10, "N"),
        *STATE,
        *VARIABLES,
        *JSON_LINES,
    ),
)
def discover(arguments: Arguments, terminal: Terminal) -> int:
    return search(arguments.at_most_one_word("discover takes at most one directory.", "."), arguments, terminal)


def search(directory: str, arguments: Arguments, terminal: Terminal) -> int:
    """List existing objects with the query files of a directory. Returns the exit code."""
    calls = asking(plan_calls(Making, arguments, directory=directory), terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    fleet, covers = arguments.get("fleet") or "", bool(arguments.get("coverage"))
    policies = tuple(arguments.get("policy") or ())
    diagnostics = calls.discover(view.hooks, bool(arguments["json"]), fleet, covers, policies)
    view.diagnostics(diagnostics)
    return int(has_errors(diagnostics))


def has_searches(directory: str) -> bool:
    try:
        return any(e.name.endswith(QUERIES) and not e.name.startswith(".") for e in list_directory(directory))
    except OSError:
        return False


def searched_directory(words: list[str]) -> str | None:
    """The directory that the arguments name (by default the working directory); None if it has no query files, and the
    arguments are therefore a query."""
    directory = words[0] if words else "."
    return directory if len(words) < 2 and os.path.isdir(directory) and has_searches(directory) else None
