"""Parses command lines by a table of each command's flags, in the syntax of Go programs such as OpenTofu.

`-flag`, `--flag`, `-flag=value`, `-flag value`; booleans without value or with `=true`/`=false`. Flags may follow
positional arguments; `--` ends flags. This module is loaded at every start, so to be fast it uses plain classes and
imports nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.render.terminal import Terminal

    Run = Callable[["Arguments", Terminal], int]

TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


class UsageError(Exception):
    """An invalid command line, shown like a diagnostic."""

    def __init__(self, summary: str, detail: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.detail = detail


class Flag:
    """A flag of a command. `kind`: bool, string, int, duration (in seconds), list (may be repeated) or ordered (may be
    repeated, and its order relative to other ordered flags is kept, as for -var and -var-file). `value`: the
    placeholder in help texts. A flag without `help` is accepted but not shown."""

    __slots__ = ("default", "help", "kind", "name", "value")

    def __init__(self, name: str, kind: str, help: str = "", default: Any = None, value: str = "") -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.value = value
        if default is None and kind in ("list", "ordered"):
            default = ()
        elif default is None and kind == "bool":
            default = False
        elif default is None and kind == "string":
            default = ""
        self.default = default


COMMON = (
    Flag("no-color", "bool", "Print without colours."),
    Flag("compact-warnings", "bool", "Show only the titles of warnings if there are no errors."),
    Flag("consolidate-warnings", "bool", "", True),
    Flag("consolidate-errors", "bool", ""),
    Flag("concise", "bool", ""),
    Flag("deprecation", "string", "", value="module:LEVEL"),
)
"""flags of every command"""


GLOBAL = ("chdir", "cpu-profile")
"""options before the command"""


class Command:
    """A command. `run` returns the exit code; None for a family of commands, which prints its help. `usage_error`: a
    function that prints errors in arguments as JSON, for commands whose -json prints a single document."""

    __slots__ = ("flags", "help", "run", "usage", "usage_error")

    def __init__(
        self,
        usage: str,
        help: str,
        flags: tuple[Flag, ...] = (),
        run: Run | None = None,
        usage_error: Callable[[UsageError, Terminal], int] | None = None,
    ) -> None:
        self.usage = usage
        self.help = help
        self.flags = flags
        self.run = run
        self.usage_error = usage_error


def command(
    usage: str,
    help: str,
    flags: tuple[Flag, ...] = (),
    usage_error: Callable[[UsageError, Terminal], int] | None = None,
) -> Callable[[Run], Command]:
    """A decorator that makes a Command from the function that runs it."""
    return lambda run: Command(usage, help, flags, run, usage_error)


class Arguments:
    """A parsed command line. `arguments["out"]`: a flag's value, or its default. `given`: names of the flags on the
    command line. `words`: positional arguments. `ordered`: (flag, value) of ordered flags."""

    __slots__ = ("command", "given", "ordered", "values", "words")

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.command = ""
        self.given: set[str] = set()
        self.words: list[str] = []
        self.ordered: list[tuple[str, str]] = []

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a flag; `default` if the command lacks the flag."""
        return self.values.get(name, default)

    def like(self, command: Command, *omitted: str) -> Arguments:
        """Arguments for `command`: no words, and the values of the flags that both commands have, except flags in
        `omitted`."""
        made = parse([], command.flags)
        for name in made.values.keys() & self.values.keys() - {*omitted}:
            made.values[name] = self.values[name]
        made.given = self.given & made.values.keys() - {*omitted}
        made.ordered = [one for one in self.ordered if one[0] in made.values]
        return made

    def only_word(self, summary: str, detail: str = "") -> str:
        """The only positional argument. Raises UsageError unless there is exactly one."""
        if len(self.words) != 1:
            raise UsageError(summary, detail)
        return self.words[0]

    def at_most_one_word(self, detail: str, default: str | None = None) -> Any:
        """The positional argument; `default` if there is none. Raises UsageError if there are several."""
        if len(self.words) > 1:
            raise UsageError("Too many words", detail)
        return self.words[0] if self.words else default

    def no_words(self, detail: str) -> None:
        """Raises UsageError if there are positional arguments."""
        if self.words:
            raise UsageError("Too many words", detail)


def parse(words: list[str], flags: tuple[Flag, ...]) -> Arguments:
    """Parse the words after the command. Raises UsageError for unknown flags and invalid values."""
    table = {flag.name: flag for flag in COMMON}
    table.update((flag.name, flag) for flag in flags)
    arguments = Arguments({name: flag.default for name, flag in table.items()})
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            arguments.words += words[at:]
            break
        if word == "-" or not word.startswith("-"):
            arguments.words.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        flag = table.get(name)
        if flag is None and name in GLOBAL:
            raise UsageError(f"Option -{name} comes before the command", f"Write planner {word} COMMAND ...")
        if flag is None or word.startswith("---"):
            raise UsageError(f"Unknown option {word.partition('=')[0]}", _did_you_mean(name, table))
        if not equals and flag.kind == "bool":
            value = "true"
        elif not equals:
            if at == len(words):
                raise UsageError(f"Option -{name} needs a value", f"Write -{name}={flag.value.upper() or 'VALUE'}.")
            value = words[at]
            at += 1
        arguments.given.add(name)
        _store(arguments, flag, value)
    return arguments


def _store(arguments: Arguments, flag: Flag, text: str) -> None:
    values = arguments.values
    if flag.kind == "list":
        values[flag.name] = (*values[flag.name], text)
    elif flag.kind == "ordered":
        values[flag.name] = (*values[flag.name], text)
        arguments.ordered.append((flag.name, text))
    else:
        values[flag.name] = _value(flag, text)


def _value(flag: Flag, text: str) -> Any:
    if flag.kind == "bool":
        if text in TRUE:
            return True
        if text in FALSE:
            return False
        raise UsageError(f"Option -{flag.name} must be true or false", f"Its value is {text!r}.")
    if flag.kind == "int":
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"Option -{flag.name} needs a whole number", f"Its value is {text!r}.") from None
    if flag.kind == "duration":
        seconds = duration(text)
        if seconds is None:
            raise UsageError(
                f"Option -{flag.name} needs a duration", f"Its value is {text!r}; write, for example, 30s or 1m30s."
            )
        return seconds
    return text


def deprecation_level(text: str) -> str:
    """The level in a text `module:LEVEL`: all, local or none. Raises UsageError."""
    kind, _, level = text.partition(":")
    if text and (kind != "module" or level not in ("all", "local", "none")):
        raise UsageError(
            "Option -deprecation must be module:all, module:local or module:none", f"Its value is {text!r}."
        )
    return level or "all"


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


def duration(text: str) -> float | None:
    """The seconds of a Go duration (`1h2m3.5s`, `300ms`, `0`); None for any other text."""
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text.lstrip("+-") if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    total, is_given = 0.0, False
    while rest:
        end = 0
        while end < len(rest) and (rest[end].isdigit() or rest[end] == "."):
            end += 1
        number, rest = rest[:end], rest[end:]
        end = 0
        while end < len(rest) and not (rest[end].isdigit() or rest[end] == "."):
            end += 1
        unit, rest = rest[:end], rest[end:]
        if unit not in _UNITS or number.count(".") > 1 or not number.strip("."):
            return None
        total += float(number) * _UNITS[unit]
        is_given = True
    return sign * total if is_given else None


def _did_you_mean(name: str, table: dict[str, Flag]) -> str:
    from planner.foundation.vocabulary.nearest import nearest

    hit = nearest(name, [flag.name for flag in table.values() if flag.help])
    return f"Did you mean -{hit}?" if hit else ""


def no_directory(arguments: Arguments, command: str) -> None:
    """Raises UsageError if there are positional arguments. For commands that always use the working directory."""
    if arguments.words:
        raise UsageError("Too many words", f"{command} takes no directory; use -chdir=DIR before the command.")
