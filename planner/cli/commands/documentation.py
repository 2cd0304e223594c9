"""Help, documentation, explanations of diagnostics, and metadata for other programs."""

from __future__ import annotations

from planner.cli import index
from planner.cli.finish import json_text
from planner.cli.flags import Arguments, Flag, UsageError, command
from planner.cli.options import JSON
from planner.cli.views import PAGER, paged
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.render.terminal import Terminal, wrap


@command(
    "[COMMAND]", "Shows the commands by purpose. With the name of a command, shows its help: planner help state list"
)
def help(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.help import command_help, overview

    name = " ".join(arguments.words)
    command = index.ALIASES.get(name, name)
    if command and command not in index.COMMANDS:
        raise UsageError(
            f"There is no command {name}", f"To list all commands: planner help.{did_you_mean(name, index.COMMANDS)}"
        )
    terminal.out(command_help(command, index.load(command)) if command else overview())
    return 0


@command(
    "[options] [TOPIC]",
    """Shows a page of the documentation. Without TOPIC, lists the topics. The text is the same as on the site; links
name the command that shows the linked page.

With -man the manual pages of all commands are written into a directory: planner docs -man=man1""",
    (Flag("man", "string", "Write manual pages into this directory.", value="DIR"), PAGER),
)
def docs(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.manual import MADE, PAGES, terminal_text

    topic = arguments.at_most_one_word("Name one topic.")
    if arguments["man"]:
        return _write_manual_pages(arguments["man"], terminal)
    titles = {name: title for name, (title, _) in PAGES.items()} | MADE
    if topic is None:
        width = max(map(len, titles))
        for name, title in titles.items():
            terminal.out(f"{name:{width}}  {title}")
    elif topic in titles:
        with paged(arguments, terminal):
            terminal.out(terminal_text(topic, terminal.width - 1).rstrip("\n"))
    else:
        raise UsageError(
            f"There is no topic {topic}", f"To list all topics: planner docs.{did_you_mean(topic, titles)}"
        )
    return 0


def _write_manual_pages(directory: str, terminal: Terminal) -> int:
    from pathlib import Path

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


_WIDTH = 76


@command(
    "CODE | TITLE",
    """Explains an error or a warning: what it means, and what to do. Name it by its title (the first words of the
message) or by its code:

  planner explain 'Invalid for_each argument'
  planner explain state.locked

planner docs diagnostics lists all codes.""",
)
def explain(arguments: Arguments, terminal: Terminal) -> int:
    from planner.cli.reference import diagnostic_pages, find

    words = " ".join(arguments.words)
    if not words:
        raise UsageError("Missing code or title", "For example: planner explain state.locked")
    pages = find(words)
    if not pages:
        names = [name for page in diagnostic_pages() for name in (page.code, *page.titles)]
        raise UsageError(
            f"Unknown diagnostic {words}", f"To list all codes: planner docs diagnostics.{did_you_mean(words, names)}"
        )
    for number, page in enumerate(pages):
        heading = f"{page.code}: {' / '.join(page.titles)}" if page.titles else page.code
        lines = [*([""] if number else []), heading]
        for name, text in (("Cause", page.cause), ("Cure", page.cure)):
            first, *rest = wrap(text, _WIDTH - 9).split("\n")
            lines += [f"  {name:5}  {first}", *(f"         {line}" for line in rest)]
        terminal.out("\n".join(lines))
    return 0


@command(
    "[NAME]",
    """Prints the JSON Schema of a document that planner prints. Without NAME, lists the documents and the commands
that print them.""",
)
def schema(arguments: Arguments, terminal: Terminal) -> int:
    from planner.api.schemas import SCHEMAS, schema

    if len(arguments.words) > 1:
        raise UsageError("Too many words", "Name one document.")
    if not arguments.words:
        wide = max(map(len, SCHEMAS))
        for name, one in SCHEMAS.items():
            terminal.out(f"{name:{wide}}  {one['description']}")
        return 0
    (name,) = arguments.words
    if name not in SCHEMAS:
        raise UsageError(
            f"There is no document {name}", f"To list all documents: planner schema.{did_you_mean(name, SCHEMAS)}"
        )
    terminal.data(json_text(schema(name)))
    return 0


@command("-json", "Prints the signatures and descriptions of all functions of the configuration language.", (JSON,))
def metadata_functions(arguments: Arguments, terminal: Terminal) -> int:
    from planner.language.functions import metadata

    if not arguments["json"]:
        raise UsageError("Option -json is needed", "This command prints only JSON.")
    terminal.data(json_text(metadata()))
    return 0
