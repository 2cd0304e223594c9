"""`docs`: the documentation in the terminal, and the manual pages."""

from __future__ import annotations

from pathlib import Path

from planner.cli.flags import Arguments, Flag, UsageError
from planner.cli.manual import MADE, PAGES, topic_text
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal

USAGE = "[options] [TOPIC]"
HELP = """Shows a page of the documentation. Without TOPIC, lists the topics. The text is that of the site.

With -man the manual pages of all commands are written into a directory: planner docs -man=man1"""
FLAGS = (Flag("man", "string", "Write manual pages into this directory.", value="DIR"),)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 1 when there is no such topic."""
    topic = arguments.at_most_one_word("Name one topic.")
    if arguments["man"]:
        return _write_manual_pages(arguments["man"], terminal)
    titles = {name: title for name, (title, _) in PAGES.items()} | MADE
    if topic is None:
        width = max(map(len, titles))
        for name, title in titles.items():
            terminal.out(f"{name:{width}}  {title}")
    elif topic in titles:
        terminal.out(topic_text(topic).rstrip("\n"))
    else:
        raise UsageError(f"There is no topic {topic}", f"planner docs lists all.{did_you_mean(topic, titles)}")
    return 0


def _write_manual_pages(directory: str, terminal: Terminal) -> int:
    from planner.cli.reference import manual_pages

    pages = manual_pages()
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            Path(directory, name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError("Cannot write the manual pages", f"{directory}: {problem.strerror or problem}.") from None
    terminal.out(f"{len(pages)} manual pages are in {directory}.")
    return 0
