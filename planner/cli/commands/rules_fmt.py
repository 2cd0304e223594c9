"""`rules fmt`: the standard layout of rule files."""

from __future__ import annotations

from planner.cli import layout
from planner.cli.flags import Arguments
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.render.terminal import Terminal

USAGE = "[options] [FILE|DIRECTORY...]"
HELP = """Rewrites rule files and case files in the standard layout and lists those that changed: the files of
.planner/rules, or else of the working directory, or the named files and directories. Line breaks and comments are
kept; long lines are broken between literals. With - it reads standard input and prints the result."""
FLAGS = layout.FLAGS
ENDINGS = (".dl", ".case")


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0; 2 when a file cannot be read, parsed or written; with -check 3 when one has another layout."""
    from planner.answers.policy.rule_files import default_words

    files = layout.Layout(ENDINGS, "a file of rules or cases", "Not a rule file", _laid_out)
    return layout.rewrite(files, arguments.words or default_words(), arguments, terminal)


def _laid_out(data: bytes, name: str, problems: list[Diagnostic]) -> str | None:
    from planner.language.syntax.rule_format import format_rules
    from planner.language.syntax.rule_parse import parse_rules

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        detail = f"The file is not valid UTF-8: invalid byte at offset {problem.start}."
        problems.append(error("file.encoding", f"Cannot read {name}", detail))
        return None
    result = parse_rules(name, text)[1]
    problems += result
    return None if has_errors(result) else format_rules(text)
