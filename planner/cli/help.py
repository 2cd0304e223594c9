"""Help texts, generated from the tables of commands and flags."""

from __future__ import annotations

from planner.cli import index
from planner.cli.flags import COMMON, Command, Flag
from planner.render.terminal import wrap

_WIDTH = 78

GLOBAL = (
    ("-chdir=DIR", "Work in this directory: planner -chdir=DIR plan"),
    ("-cpu-profile[=FILE]", "Report which steps take the time; FILE is a profile for speedscope."),
    ("-install-autocomplete", "Complete commands and options in bash, zsh and fish."),
    ("-uninstall-autocomplete", "Remove the completion of commands and options."),
    ("-help", "Show this help, or after a command the help of that command."),
    ("-version", "Same as the version command."),
)
"""options before the command"""

_GROUPS = {
    "Operation": "adopt auto-approve backend causes check component config deployment destroy discard draw-cycles "
    "dry-run exclude exclude-file expand filter fix force generate get module not offline only plan recursive refresh "
    "refresh-only replace select since target target-file type update upgrade watch write allow-deferral allow-missing "
    "or-create no-tests mutants depth group tag changed shard reuse no-cache keep older-than program "
    "generate-config-out",
    "Values": "var var-file base-var identity-token upstream varset-dir input",
    "State": "state state-out state-only backup backup-out lock lock-timeout migrate-state reconfigure force-copy "
    "backend-config ignore-remote-version id",
    "Policies and rules": "policy policy-override override-reason rules strict proofs require-signature signatures key "
    "expires rule-times",
    "Output": "coverage coverage-json coverage-lcov csv detailed-exitcode diff dot explain format full html json "
    "json-into json-out-dir junit junit-xml limit list markdown out raw report show show-sensitive verbose timeout "
    "no-color compact-warnings",
}
PURPOSES = {name: purpose for purpose, names in _GROUPS.items() for name in names.split()}
"""{flag: heading in help}; flags without an entry have the heading `OTHER`"""
OTHER = "Execution"
ORDER = ("Operation", "Values", "State", "Policies and rules", OTHER, "Output")


def overview() -> str:
    """`planner help`: all commands by purpose."""
    commands = [name for names in index.PURPOSES.values() for name in names]
    width = max(map(len, commands))
    lines = ["planner plans infrastructure, and explains why.", ""]
    lines += ["Usage: planner [global options] COMMAND [options]"]
    for purpose, names in index.PURPOSES.items():
        lines += ["", f"{purpose}:", *(f"  {name:<{width}}  {index.COMMANDS[name]}" for name in names)]
    lines += ["", "Global options, before the command:", *_table(list(GLOBAL)), ""]
    return "\n".join([*lines, "planner help COMMAND explains a command, planner docs lists the documentation."])


def command_help(name: str, command: Command) -> str:
    """`planner COMMAND -help`: usage, help and flags."""
    lines = [f"Usage: planner [global options] {name} {command.usage}".rstrip(), ""]
    lines += [f"  {line}".rstrip() for line in wrap(reflow(command.help), _WIDTH - 2).split("\n")]
    below = index.subcommands(name)
    if below:
        lines += ["", "Commands:"]
        lines += _table([(one.rpartition(" ")[2], index.COMMANDS[one]) for one in below])
    groups = flags_by_purpose(command)
    rows = sum(map(len, groups.values()))
    for purpose, flags in groups.items() if rows > _FEW else [("Options", [f for g in groups.values() for f in g])]:
        lines += ["", f"{purpose}:", *_table(sorted((spelling(flag), flag.help) for flag in flags))]
    return "\n".join(lines)


_FEW = 8
"""up to this number, options are listed without headings"""


def flags_by_purpose(command: Command) -> dict[str, list[Flag]]:
    """The flags in the help of a command, by purpose."""
    shown = {flag.name: flag for flag in (*COMMON, *command.flags) if flag.help}
    groups: dict[str, list[Flag]] = {}
    for purpose in ORDER:
        flags = [flag for name, flag in sorted(shown.items()) if PURPOSES.get(name, OTHER) == purpose]
        if flags:
            groups[purpose] = flags
    return groups


def reflow(text: str) -> str:
    """The text with each paragraph on one line; indented lines are unchanged."""
    lines: list[str] = []
    for line in text.strip().split("\n"):
        joins = lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" ")
        if joins:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def spelling(flag: Flag) -> str:
    """A flag as typed: `-out=FILE`."""
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
