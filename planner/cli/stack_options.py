"""Flags that commands about stacks share."""

from __future__ import annotations

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.options import LOCK, POLICY, SHOW_SENSITIVE, named_values
from planner.cli.review import LINKS
from planner.workflows.stacks.deployments import ServiceStandIns

AROUND = (
    Flag("identity-token", "list", "The file with an identity token. May be repeated.", value="NAME=FILE"),
    Flag("varset-dir", "string", "Where variable sets are (varsets).", value="DIR"),
    Flag("upstream", "list", "Where an upstream stack is. May be repeated.", value="ADDRESS=DIR"),
)
WORKERS = Flag("workers", "int", "How many deployments are worked on at a time (one for each processor).", 0, "N")
DEPLOYMENTS = Flag("deployment", "list", "Only these deployments; patterns are allowed. May be repeated.", value="NAME")
PLANNING = (
    Flag("parallelism", "int", "How many operations of providers may run at once in a deployment (10).", 10, "N"),
    Flag("refresh", "bool", "Do not look at the real objects before planning.", True),
)
ASKED = (DEPLOYMENTS, *AROUND, *PLANNING)
"""flags of commands that plan only to answer a query, and lock nothing"""
REPORTS = (
    Flag("markdown", "string", "Write a report for a comment, Markdown.", value="FILE"),
    Flag("html", "string", "Write a page with the graph of components and all changes.", value="FILE"),
    Flag("review", "string", "Write the review as JSON (planner schema review).", value="FILE"),
    *LINKS,
)
SHARED = (*ASKED, *LOCK, SHOW_SENSITIVE, *POLICY)


def check_words(arguments: Arguments) -> None:
    """Raises UsageError for words, as the stack is the one in the working directory, and for a negative -workers."""
    if arguments.get("workers", 0) < 0:
        raise UsageError("Option -workers must not be negative", "0 means one for each processor.")
    if arguments.words:
        detail = "The stack is the one in the working directory (or of -chdir); deployments are named by -deployment."
        raise UsageError("Too many words", detail)


def surroundings(arguments: Arguments) -> ServiceStandIns:
    """The tokens, variable sets and upstreams of the flags. Raises UsageError."""
    return ServiceStandIns(
        named_values(arguments, "identity-token"),
        arguments["varset-dir"] or "varsets",
        named_values(arguments, "upstream"),
    )
