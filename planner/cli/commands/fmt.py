"""`fmt` and `stacks fmt`: the standard layout of configuration and stack files."""

from __future__ import annotations

from planner.cli import layout
from planner.cli.flags import Arguments, command
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.render.terminal import Terminal

ENDINGS = (".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl")


@command(
    "[options] [FILE|DIRECTORY...]",
    """Rewrites configuration files in the standard layout and lists those that changed: the files of the working
directory, or the named files and directories. With - it reads standard input and prints the result.""",
    layout.FLAGS,
)
def fmt(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 2 if a file cannot be read, parsed or written, 3 with -check if a layout differs, and 0 otherwise."""
    files = layout.Layout(ENDINGS, "configuration in native syntax", "Not a configuration file", laid_out)
    return layout.rewrite(files, arguments.words or ["."], arguments, terminal)


def laid_out(data: bytes, name: str, problems: list[Diagnostic]) -> str | None:
    """The text of a file in the standard layout; None if it cannot be parsed; in this case, the reasons are appended to
    `problems`."""
    from planner.language.syntax.format import format_file

    text, item = format_file(data, name)
    problems += item
    return text


STACK_ENDINGS = (".tfcomponent.hcl", ".tfdeploy.hcl", ".tfstack.hcl")


@command(
    "[options] [FILE|DIRECTORY...]",
    """Rewrites stack files in the standard layout and lists those that changed: the files of the working directory,
or the files and directories that are named. With - it reads standard input and prints the result.""",
    layout.FLAGS,
)
def stacks_fmt(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 2 if a file cannot be read, parsed or written, 3 with -check if a layout differs, and 0 otherwise."""
    files = layout.Layout(STACK_ENDINGS, "a stack in native syntax", "Not a stack file", laid_out)
    return layout.rewrite(files, arguments.words or ["."], arguments, terminal)
