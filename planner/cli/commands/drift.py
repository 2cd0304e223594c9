"""`drift`: the changes made outside since the last apply."""

from __future__ import annotations

from planner.api.making import Making
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, command, no_directory
from planner.cli.options import JSON, OPERATION, STATE, VARIABLES, plan_calls
from planner.cli.review import REVIEW, Review
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.render.terminal import Terminal

_OTHERS = ("refresh", "refresh-only", "replace", "allow-deferral")


@command(
    "[options]",
    """Compares the state with the real objects, and shows each attribute that was changed outside since the last
apply: its values, and whether applying the configuration would restore it. Where an object has them, with the time and
the author of its last modification. Nothing is changed or locked.

-markdown, -html and -review write the report to files; -json prints it.

The exit code is 0 without drift, 2 when there is drift, and 1 on errors.""",
    (*(flag for flag in OPERATION if flag.name not in _OTHERS), JSON, *REVIEW, *STATE, *VARIABLES),
)
def drift(arguments: Arguments, terminal: Terminal) -> int:
    """0, 1 on errors, or 2 when there is drift."""
    from planner.render.review.drift import drift_lines

    no_directory(arguments, "drift")
    calls = plan_calls(Making, arguments, "refresh-only", needs_configuration=True)
    review = Review(arguments, "drift", prints=True)
    document, problems = calls.drift(review.subject)
    problems += review.write_document(document)
    if arguments["json"]:
        terminal.data(json_text(document))
    elif not has_errors(problems):
        for line in drift_lines(document, terminal.paint):
            terminal.out(line)
    return finish(problems, terminal) or (2 if document["changes"] else 0)
