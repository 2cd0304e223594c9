"""`discover`: search for existing objects, as the list blocks of query files describe."""

from __future__ import annotations

import os

from planner.api.making import Making
from planner.cli.approval import asking
from planner.cli.flags import Arguments, Flag, command
from planner.cli.options import INPUT, JSON_LINES, STATE, VARIABLES, may_ask, plan_calls
from planner.cli.views import open_view
from planner.foundation.support.disk import list_directory
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.language.config.file_content import QUERIES
from planner.render.terminal import Terminal

FLEET = Flag("fleet", "string", "Count what the units of the fleet in this directory manage.", value="DIR")
COVERAGE = Flag("coverage", "bool", "Report how much of what was found is managed, by type.")
POLICIES = Flag("policy", "list", "Judge what is managed by this directory or file of policies.", value="PATH")
GENERATE = Flag("generate-config-out", "string", "Write import and resource blocks for what is found.", value="FILE")


@command(
    "[options] [DIRECTORY]",
    """Searches for existing objects, as the list blocks in files *.tfquery.hcl describe, and prints a line for each:
the list block, its identity and its name.

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

A result is managed if the state has an object with its identity, or an import block names it. With -fleet, the states
and import blocks of all units of a fleet count, and objects that two of them manage are reported. Policies read
unmanaged(type, identity), managed_twice(type, identity, instance, other) and coverage(type, kind, number):

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
    """0, or 1 when a search failed."""
    return search(arguments.at_most_one_word("discover takes at most one directory.", "."), arguments, terminal)


def search(directory: str, arguments: Arguments, terminal: Terminal) -> int:
    """Run the searches of a directory; the exit code."""
    calls = asking(plan_calls(Making, arguments, directory=directory), terminal, may_ask(arguments))
    view = open_view(arguments, terminal)
    fleet, covers = arguments.get("fleet") or "", bool(arguments.get("coverage"))
    policies = tuple(arguments.get("policy") or ())
    diagnostics = calls.discover(view.hooks, bool(arguments["json"]), fleet, covers, policies)
    view.diagnostics(diagnostics)
    return int(has_errors(diagnostics))


def has_searches(directory: str) -> bool:
    """Whether there are query files in a directory."""
    try:
        return any(e.name.endswith(QUERIES) and not e.name.startswith(".") for e in list_directory(directory))
    except OSError:
        return False


def searched_directory(words: list[str]) -> str | None:
    """The directory with searches that the words of a query name, None where they are a question."""
    directory = words[0] if words else "."
    return directory if len(words) < 2 and os.path.isdir(directory) and has_searches(directory) else None
