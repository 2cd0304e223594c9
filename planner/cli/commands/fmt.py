"""`fmt`: the standard layout of configuration files."""

from __future__ import annotations

from planner.cli import layout
from planner.cli.flags import Arguments
from planner.render.terminal import Terminal
from planner.vocabulary.diagnostic import Diagnostic, has_errors

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Rewrites configuration files in the standard layout and lists those that changed: the files of the working
directory, or the files and directories that are named. With - it reads standard input and prints the result."""
FLAGS = layout.FLAGS
ENDINGS = (".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl")


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 2 when a file cannot be read, parsed or written; with -check 3 when one has another layout."""
    files = layout.Layout(ENDINGS, "configuration in native syntax", "Not a configuration file", read, laid_out)
    return layout.rewrite(files, arguments.words or ["."], arguments, terminal)


def read(data: bytes, name: str, problems: list[Diagnostic]) -> str | None:
    """The text of a file, None when it cannot be parsed (reported)."""
    from planner.syntax.files import load_text

    _, source, found = load_text(data, name, keep=False)
    problems += found
    return None if has_errors(found) else source.text


def laid_out(text: str) -> str:
    """The text in the standard layout."""
    from planner.syntax.format import format_text

    return format_text(text)
