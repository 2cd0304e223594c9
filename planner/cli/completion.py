"""Completion of command lines in shells: with COMP_LINE in its environment, the program prints the words that can
follow. `-install-autocomplete` enables this in the user's shells."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from planner.cli import index
from planner.cli.flags import COMMON, UsageError
from planner.render.terminal import Terminal

GLOBAL = ("-chdir=", "-cpu-profile", "-help", "-install-autocomplete", "-uninstall-autocomplete", "-version")
_PLACEHOLDER = re.compile(r"[A-Z]{2,}")
_BACKSLASH = re.compile(r"\\(.)")
_SPECIAL = {
    "": re.compile(r"[\s\"'\[\](){}$`&;|<>*?!\\#~]"),
    '"': re.compile(r"[\"$`\\]"),
    "'": re.compile(r"(?!)"),
}
"""{quote around a word: characters that have a special meaning for shells within it}"""
_FISH = """function __complete_planner
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    {program}
end
complete -f -c planner -a "(__complete_planner)"
"""


def completions(line: str, current: str = "") -> list[str]:
    """Completions of a command line, which begins with the program's name. `current`: the last word according to the
    shell. The shell replaces only this word. In bash, `=` and `:` begin a new word."""
    words, last, quote = _split(line)
    words = words[1:]
    while words and words[0].startswith("-"):
        words.pop(0)
    command: list[str] = []
    while words and index.ALIASES.get(name := " ".join((*command, words[0])), name) in index.COMMANDS:
        command.append(words.pop(0))
    name = " ".join(command)
    typed = _Typed(index.ALIASES.get(name, name), words, last, quote)
    fitting = [word for word in typed.candidates() if word.startswith(last)]
    begin = len(last) - len(current) if current and last.endswith(current) else 0
    return sorted({word[begin:] for word in fitting})


def _split(line: str) -> tuple[list[str], str, str]:
    """(words before the last word, last word with its backslashes, open quote of the last word). The last word is ""
    after a space."""
    words, word, quote, is_word = [], "", "", False
    characters = iter(line)
    for character in characters:
        if character == "\\" and quote != "'":
            word += character + next(characters, "")
        elif quote:
            quote, word = ("", word) if character == quote else (quote, word + character)
        elif character in "\"'":
            quote, is_word = character, True
        elif character.isspace():
            words += [word] if word or is_word else []
            word, is_word = "", False
        else:
            word += character
    return words, word, quote


@dataclass(frozen=True)
class _Typed:
    """A command line up to the cursor: command, complete words, and the beginning of another word in an open quote."""

    command: str
    words: list[str]
    last: str
    quote: str

    def candidates(self) -> list[str]:
        is_flag = self.last.startswith("-") and not self.quote
        if not self.command and is_flag:
            return [] if self.words else list(GLOBAL)
        if not is_flag:
            parts = [name.rpartition(" ") for name in index.COMMANDS]
            below = [name for family, _, name in parts if family == self.command] if not self.words else []
            if below or not self.command:
                return below
        loaded = index.load(self.command)
        if not is_flag:
            return [word for one in _PLACEHOLDER.findall(loaded.usage) for word in self._quoted(one, self.last)]
        shown = [flag for flag in (*loaded.flags, *COMMON) if flag.help]
        before, equals, value = self.last.partition("=")
        if equals:
            values = {f"-{flag.name}": "POLICY" if flag.name == "policy" else flag.value for flag in shown}
            return [f"{before}={word}" for word in self._quoted(values.get(before.replace("--", "-"), ""), value)]
        return ["-help", *(f"-{flag.name}{'' if flag.kind == 'bool' else '='}" for flag in shown)]

    def _quoted(self, placeholder: str, value: str) -> list[str]:
        """Words for a placeholder, with the shell's special characters escaped."""
        from planner.cli.completion_words import words_for

        plain = value if self.quote == "'" else _BACKSLASH.sub(r"\1", value)
        words = words_for(self.command, placeholder, plain, [_BACKSLASH.sub(r"\1", word) for word in self.words])
        return [_SPECIAL[self.quote].sub(r"\\\g<0>", word) for word in words]


def install(terminal: Terminal, remove: bool = False) -> int:
    """Add completion to existing startup files of bash, zsh and fish, or remove it. Raises UsageError."""
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
        there = (
            "it is not installed in any shell"
            if remove
            else "it is already installed, or there is no startup file of bash, zsh or fish"
        )
        raise UsageError(f"Completion was not {'removed' if remove else 'installed'}", f"Nothing was changed: {there}.")
    for name in changed:
        terminal.out(f"{'Removed from' if remove else 'Added to'} {name}")
    return 0


def _change(path: Path, lines: list[str], remove: bool) -> bool:
    """Add the lines to a file, or remove all completions of planner from it. Returns whether the file changed."""
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
