"""`schema`: the JSON Schemas of documents."""

from __future__ import annotations

from planner.api.schemas import SCHEMAS, schema
from planner.cli.finish import json_text
from planner.cli.flags import Arguments, UsageError
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal

USAGE = "[NAME]"
HELP = """Prints the JSON Schema of a document that planner prints. Without NAME, lists the documents and the commands
that print them."""
FLAGS = ()


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0."""
    if len(arguments.words) > 1:
        raise UsageError("Too many words", "Name one document.")
    if not arguments.words:
        wide = max(map(len, SCHEMAS))
        for name, one in SCHEMAS.items():
            terminal.out(f"{name:{wide}}  {one['description']}")
        return 0
    (name,) = arguments.words
    if name not in SCHEMAS:
        raise UsageError(f"There is no document {name}", f"planner schema lists all.{did_you_mean(name, SCHEMAS)}")
    terminal.data(json_text(schema(name)))
    return 0
