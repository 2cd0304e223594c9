"""Completion of command lines by shells: with COMP_LINE in its environment the program prints words that can follow.
`-install-autocomplete` sets this up in the shells of the user."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from planner.cli import index
from planner.cli.flags import COMMON, UsageError
from planner.render.terminal import Terminal

GLOBAL = ("-chdir=", "-cpu-profile", "-help", "-install-autocomplete", "-uninstall-autocomplete", "-version")
_FISH = """function __complete_planner
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    {program}
end
complete -f -c planner -a "(__complete_planner)"
"""


def completions(line: str) -> list[str]:
    """The words that can complete a command line, which begins with the name of the program."""
    words = line.split()[1:]
    last = "" if line[-1:].isspace() or not words else words.pop()
    while words and words[0].startswith("-"):
        words.pop(0)
    command: list[str] = []
    while words and index.ALIASES.get(name := " ".join((*command, words[0])), name) in index.COMMANDS:
        command.append(words.pop(0))
    return sorted(word for word in _next(" ".join(command), last.startswith("-"), not words) if word.startswith(last))


def _next(command: str, flag: bool, may_be_command: bool) -> list[str]:
    command = index.ALIASES.get(command, command)
    if not flag:
        names = [name for name in index.COMMANDS if name.rpartition(" ")[0] == command] if may_be_command else []
        return [name.rpartition(" ")[2] for name in names]
    if not command:
        return list(GLOBAL) if may_be_command else []
    shown = [flag for flag in (*index.load(command).flags, *COMMON) if flag.help]
    return ["-help", *(f"-{flag.name}{'' if flag.kind == 'bool' else '='}" for flag in shown)]


def install(terminal: Terminal, remove: bool = False) -> int:
    """Add completion to the start files of bash, zsh and fish that exist, or remove it. Raises UsageError."""
    program = os.path.abspath(shutil.which("planner") or sys.argv[0])
    home = Path.home()
    bash, zsh = f"complete -C {program} planner", f"complete -o nospace -C {program} planner"
    wanted = {
        home / ".bashrc": [bash],
        home / ".bash_profile": [bash],
        home / ".zshrc": ["autoload -U +X bashcompinit && bashcompinit", zsh],
    }
    changed: list[str] = []
    try:
        for path, lines in wanted.items():
            if path.is_file() and _change(path, lines, remove):
                changed.append(str(path))
        fish = home / ".config/fish/completions/planner.fish"
        if remove and fish.is_file():
            fish.unlink()
            changed.append(str(fish))
        elif not remove and fish.parents[1].is_dir() and not fish.exists():
            fish.parent.mkdir(exist_ok=True)
            fish.write_text(_FISH.format(program=program))
            changed.append(str(fish))
    except OSError as problem:
        detail = f"{problem.filename}: {problem.strerror or problem}."
        raise UsageError("Completion cannot be set up", detail) from None
    if not changed:
        there = "no shell has it" if remove else "it is there already, or there is no start file of bash, zsh or fish"
        raise UsageError(f"Completion was not {'removed' if remove else 'installed'}", f"Nothing was changed: {there}.")
    for name in changed:
        terminal.out(f"{'Removed from' if remove else 'Added to'} {name}")
    return 0


def _change(path: Path, lines: list[str], remove: bool) -> bool:
    """Whether the file was changed."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    present = text.splitlines()
    if remove:
        own = [line for line in present if line.startswith("complete ") and line.endswith(" planner")]
        kept = [line for line in present if line not in own]
        if not own:
            return False
        text = "".join(f"{line}\n" for line in kept)
    else:
        missing = [line for line in lines if line not in present]
        if lines[-1] not in missing:
            return False
        text += ("" if not text or text.endswith("\n") else "\n") + "".join(f"{line}\n" for line in missing)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return True
