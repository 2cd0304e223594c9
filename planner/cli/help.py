"""Help texts, made from the tables of commands and flags."""

from __future__ import annotations

from types import ModuleType

from planner.cli import index
from planner.cli.flags import COMMON, Flag
from planner.render.terminal import wrap

_WIDTH = 78


def overview() -> str:
    """The text of `planner -help`."""
    main = [(name, index.COMMANDS[name]) for name in index.MAIN]
    rest = [(n, text) for n, text in sorted(index.COMMANDS.items()) if n not in index.MAIN and " " not in n]
    width = max(len(name) for name, _ in main + rest)
    lines = ["Usage: planner [global options] <command> [options]", "", "Main commands:"]
    lines += [f"  {name:<{width}}  {text}" for name, text in main]
    lines += ["", "All other commands:"]
    lines += [f"  {name:<{width}}  {text}" for name, text in rest]
    lines += ["", "Global options, before the command:"]
    lines += _table(
        [
            ("-chdir=DIR", "Work in this directory."),
            ("-cpu-profile[=FILE]", "Report where the time goes; FILE is for speedscope."),
            ("-install-autocomplete", "Complete commands and options in bash, zsh and fish."),
            ("-uninstall-autocomplete", "Remove that."),
            ("-help", "Show this help, or after a command the help of that command."),
            ("-version", "The same as the version command."),
        ]
    )
    return "\n".join(lines)


def command_help(command: str, module: ModuleType) -> str:
    """The text of `planner COMMAND -help`, from the module's USAGE, HELP and FLAGS."""
    lines = [f"Usage: planner [global options] {command} {module.USAGE}".rstrip(), ""]
    lines += [f"  {line}".rstrip() for line in wrap(_reflow(module.HELP), _WIDTH - 2).split("\n")]
    below = index.subcommands(command)
    if below:
        lines += ["", "Commands:"]
        lines += _table([(name.rpartition(" ")[2], index.COMMANDS[name]) for name in below])
    shown = [(_spelling(flag), flag.help) for flag in (*module.FLAGS, *COMMON) if flag.help]
    lines += ["", "Options:"]
    lines += _table(sorted(shown))
    return "\n".join(lines)


def _reflow(text: str) -> str:
    """Paragraphs as one line each; indented lines stay as they are."""
    lines: list[str] = []
    for line in text.strip().split("\n"):
        joins = lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" ")
        if joins:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _spelling(flag: Flag) -> str:
    if flag.kind == "bool":
        return f"-{flag.name}=false" if flag.default else f"-{flag.name}"
    return f"-{flag.name}={flag.value or 'VALUE'}"


def _table(rows: list[tuple[str, str]]) -> list[str]:
    width = min(max((len(left) for left, _ in rows), default=0), 26)
    lines = []
    for left, right in rows:
        first, *rest = wrap(right, _WIDTH - width - 4).split("\n")
        lines.append(f"  {left:<{width}}  {first}")
        lines += [f"  {'':<{width}}  {line}" for line in rest]
    return lines
