"""`explain`: the cause and the cure of an error or a warning."""

from __future__ import annotations

from planner.cli.diagnostic_pages import diagnostic_pages, find
from planner.cli.flags import Arguments, UsageError
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal, wrap

USAGE = "CODE | TITLE"
HELP = """Explains an error or a warning: what it means, and what to do. Name it by its title, as the message begins, or
by its code:

  planner explain 'Invalid for_each argument'
  planner explain state.locked

planner docs diagnostics lists all codes."""
FLAGS = ()
_WIDTH = 76


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 1 when there is no such diagnostic."""
    words = " ".join(arguments.words)
    if not words:
        raise UsageError("A code or a title is needed", "For example: planner explain state.locked")
    pages = find(words)
    if not pages:
        names = [name for page in diagnostic_pages() for name in (page.code, *page.titles)]
        raise UsageError(
            f"No diagnostic is called {words}", f"planner docs diagnostics lists all.{did_you_mean(words, names)}"
        )
    for number, page in enumerate(pages):
        heading = f"{page.code}: {' / '.join(page.titles)}" if page.titles else page.code
        lines = [*([""] if number else []), heading]
        for name, text in (("Cause", page.cause), ("Cure", page.cure)):
            first, *rest = wrap(text, _WIDTH - 9).split("\n")
            lines += [f"  {name:5}  {first}", *(f"         {line}" for line in rest)]
        terminal.out("\n".join(lines))
    return 0
