"""Flags of several commands about stacks."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import LOCK, POLICY, SHOW_SENSITIVE, named_values
from planner.cli.review import LINKS
from planner.workflows.stacks.deployments import ServiceStandIns

AROUND = (
    Flag("identity-token", "list", "The file with an identity token. May be repeated.", value="NAME=FILE"),
    Flag("varset-dir", "string", "The directory with variable sets (varsets).", value="DIR"),
    Flag("upstream", "list", "The directory of an upstream stack. May be repeated.", value="ADDRESS=DIR"),
)
WORKERS = Flag("workers", "int", "The number of deployments that run at a time (default: one per processor).", 0, "N")
DEPLOYMENTS = Flag(
    "deployment", "list", "Select only these deployments; patterns are allowed. May be repeated.", value="NAME"
)
PLANNING = (
    Flag("parallelism", "int", "The maximum number of concurrent operations in a deployment (default: 10).", 10, "N"),
    Flag("refresh", "bool", "Do not read the real objects before planning.", True),
)
ASKED = (DEPLOYMENTS, *AROUND, *PLANNING)
"""flags of commands that plan only for a query, and therefore do not lock states"""
REPORTS = (
    Flag("markdown", "string", "Write the report as Markdown, for a comment on a pull request.", value="FILE"),
    Flag("html", "string", "Write an HTML page with the graph of components and all changes.", value="FILE"),
    Flag("review", "string", "Write the review as JSON (planner schema review).", value="FILE"),
    *LINKS,
)
SHARED = (*ASKED, *LOCK, SHOW_SENSITIVE, *POLICY)


def check_words(arguments: Arguments) -> None:
    """Raises UsageError for positional arguments, because the stack is in the working directory, and for a negative
    -workers."""
    if arguments.get("workers", 0) < 0:
        raise UsageError("Option -workers must not be negative", "0 means one per processor.")
    if arguments.words:
        detail = "The stack is in the working directory (or that of -chdir). Select deployments with -deployment."
        raise UsageError("Too many words", detail)


def surroundings(arguments: Arguments) -> ServiceStandIns:
    """The tokens, variable sets and upstream stacks that the flags set. Raises UsageError."""
    return ServiceStandIns(
        named_values(arguments, "identity-token"),
        arguments["varset-dir"] or "varsets",
        named_values(arguments, "upstream"),
    )
