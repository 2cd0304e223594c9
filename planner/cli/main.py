"""The command line: finds the command, parses arguments, runs it, and converts exceptions to messages.

Exit codes: 0 for success, 1 for errors, 127 without a command; other codes are documented at the commands that return
them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

from planner.cli import index
from planner.cli.flags import Command, UsageError, deprecation_level, parse
from planner.foundation.vocabulary.release import COMPATIBILITIES, COMPATIBLE_VERSION, RELEASE
from planner.render.terminal import Terminal

HELP = frozenset(("-h", "-help", "--help"))
VERSION = frozenset(("-v", "-version", "--version"))
OBSERVATION = ("TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER", "TF_LOG_CLOUD", "OTEL_TRACES_EXPORTER")
"""environment variables that request a log or traces"""
JSON_WORDS = frozenset(("-json", "--json", "-json=true"))


def run(argv: list[str], leave: Callable[[int], object] | None = None) -> int:
    """Run a command line, which does not include the program's name. Returns the exit code, and never raises. `leave`:
    a function that ends the process immediately. It is called at the end if no other thread must finish first. If
    `leave` is None, the caller manages the process and its signals."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names may be invalid UTF-8, and the locale may be C
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    terminal = Terminal()
    terminal.owns_process = leave is not None
    try:
        if leave is not None:
            _handle_interrupts()
        path = os.environ.get("TOFU_CPU_PROFILE", "")
        code = terminal.close(_profiled(path, argv, terminal, as_pprof=True) if path else dispatch(argv, terminal))
        if leave is not None and (_is_stopped() or not _waits_for_threads()):
            # this is faster than a normal exit, which frees all objects and handles interrupts differently
            leave(code)
        return code
    except KeyboardInterrupt:
        terminal.err("\nInterrupted.")
        if leave is not None:
            leave(1)
        return 1


def _is_stopped() -> bool:
    """Whether a stop was requested, for example by an interrupt."""
    stop = getattr(sys.modules.get("planner.foundation.support.signals"), "STOP", None)
    return stop is not None and bool(stop.requested)


def _waits_for_threads() -> bool:
    """Whether a thread must finish before the process can end."""
    threading = sys.modules.get("threading")
    return threading is not None and any(
        not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate()
    )


def _handle_interrupts() -> None:
    """Make Ctrl-C and SIGTERM raise KeyboardInterrupt in this thread, so that locks and files are released. Python
    drops exceptions in callbacks of its import system, so `STOP` is also set, for long waits. Commands that walk a
    graph handle both signals themselves."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        stop = getattr(
            sys.modules.get("planner.foundation.support.signals"), "STOP", None
        )  # the module may be partly imported
        if stop is not None:
            stop.requested = True
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)


def dispatch(argv: list[str], terminal: Terminal) -> int:
    """Find the command, add arguments from the environment, and run it. Exceptions become diagnostics."""
    words = list(argv)
    if "COMP_LINE" in os.environ:
        return _complete(os.environ["COMP_LINE"], words[1] if len(words) == 3 else "", terminal)
    has_directory = False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in HELP:
            return _help(words, terminal)
        if word in VERSION:
            words.insert(0, "version")
            break
        name, equals, directory = word.lstrip("-").partition("=")
        if name == "cpu-profile":
            return _profiled(directory, words, terminal)
        if name in ("install-autocomplete", "uninstall-autocomplete"):
            if HELP.intersection(words):
                return _help([], terminal)
            return _install_completion(name.startswith("un"), terminal)
        if name != "chdir":
            code = _usage_error(terminal, UsageError(f"Unknown global option {word}", "See planner -help."))
            return code if words else 127
        if has_directory:
            return _usage_error(terminal, UsageError("Option -chdir is given twice", "Name one directory."))
        has_directory = True
        if not equals or not directory:
            return _usage_error(terminal, UsageError("Option -chdir needs a directory", "Write -chdir=DIR."))
        try:
            os.chdir(directory)
        except OSError as problem:
            detail = f"{directory}: {problem.strerror or problem}."
            return _usage_error(terminal, UsageError("Cannot change to the directory of -chdir", detail))
    if not words:
        _help([], terminal)
        return 127
    command, rest = find(words)
    if command is None:
        return _unknown(words, terminal)
    if command in index.FAMILIES and rest and not rest[0].startswith("-"):
        return _unknown([f"{command} {rest[0]}"], terminal)
    if words[0] == index.DEPRECATED:
        terminal.deprecated_command = " ".join(words[: len(words) - len(rest)])
    try:
        rest = _environment_words(command) + rest
    except UsageError as problem:
        return _usage_error(terminal, problem)
    if any(word in HELP for word in _before_end(rest)):
        return _help([*command.split(), *rest], terminal)
    return guarded(command, rest, terminal)


def _profiled(path: str, words: list[str], terminal: Terminal, as_pprof: bool = False) -> int:
    from planner.cli.profile import profiled, with_pprof
    from planner.foundation.vocabulary.diagnostic import Failure
    from planner.render.diagnostics import show

    try:
        if as_pprof:
            return with_pprof(path, lambda: dispatch(words, terminal))
        return profiled(path, lambda: dispatch(words, terminal), terminal)
    except Failure as failure:
        show(failure.diagnostics, terminal)
        return 1


def _complete(line: str, current: str, terminal: Terminal) -> int:
    from planner.cli.completion import completions

    at = os.environ.get("COMP_POINT", "")
    for word in completions(line[: int(at)] if at.isascii() and at.isdigit() else line, current):
        terminal.out(word)
    return 0


def _install_completion(remove: bool, terminal: Terminal) -> int:
    from planner.cli.completion import install

    try:
        return install(terminal, remove)
    except UsageError as problem:
        return _usage_error(terminal, problem)


def find(words: list[str]) -> tuple[str | None, list[str]]:
    """The command that the first words (at most three) name, and the remaining words; None and all words if they do not
    name a command."""
    for count in (3, 2, 1):
        if len(words) < count:
            continue
        name = " ".join(words[:count])
        name = index.ALIASES.get(name, name)
        if name in index.COMMANDS:
            return name, words[count:]
    return None, words


def guarded(command: str, words: list[str], terminal: Terminal) -> int:
    """Run a command. UsageError, Failure and unexpected exceptions become diagnostics."""
    if any(os.environ.get(name) for name in OBSERVATION):
        return _observe(command, words, terminal)
    return _run_command(command, words, terminal)


def _observe(command: str, words: list[str], terminal: Terminal) -> int:
    """Run a command, and record a log or traces as the environment requests."""
    from planner.foundation.support import trace

    remark = trace.start(os.environ)
    if remark:
        terminal.err(f"[WARN] {remark}")
    trace.note("INFO", f"planner {RELEASE}, compatible with {COMPATIBLE_VERSION}", python=sys.version.split()[0])
    trace.note("INFO", f"command {command}", words=_without_values(words), directory=os.getcwd())
    try:
        with trace.span(command, "INFO"):
            code = _run_command(command, words, terminal)
            if code and trace.RECORDER is not None:
                trace.RECORDER.failed(f"exit code {code}")
            return code
    finally:
        trace.stop()


def _without_values(words: list[str]) -> list[str]:
    """The words of a command line for the log. Values of variables, which may be secret, are replaced with "..."."""
    shown, is_value = list[str](), False
    for word in words:
        flag, _, value = ("", "", word) if is_value else word.partition("=")
        if is_value or (flag.lstrip("-") == "var" and value):
            word = f"{flag}{'=' if flag else ''}{value.partition('=')[0]}=..."
        is_value = flag.lstrip("-") == "var" and not value
        shown.append(word)
    return shown


def _run_command(name: str, words: list[str], terminal: Terminal) -> int:
    command: Command | None = None
    try:
        wanted = os.environ.get("PLANNER_COMPATIBILITY", "")
        if wanted not in ("", *COMPATIBILITIES):
            detail = f"PLANNER_COMPATIBILITY is {wanted}; it must be 1.12, 1.13 or terraform."
            raise UsageError("Unknown version", detail)
        command = index.load(name)
        if command.run is None and (below := [f"{name} {one}" for one in words if f"{name} {one}" in index.COMMANDS]):
            raise UsageError(
                "An option precedes the command", f"Write options after the command: planner {below[0]} [options]."
            )
        arguments = parse(words, command.flags)
        arguments.command = name
        terminal.set_colour(not arguments["no-color"])
        terminal.compact_warnings = arguments["compact-warnings"]
        terminal.consolidate = {
            "warning": arguments["consolidate-warnings"],
            "error": arguments["consolidate-errors"],
        }
        terminal.concise = arguments["concise"]
        terminal.deprecation = deprecation_level(arguments["deprecation"])
        terminal.stdout_is_data = name in index.ANSWERS or bool(arguments.get("json"))
        if os.environ.get("TF_REATTACH_PROVIDERS"):
            # check the variable even for commands that need no provider: raises Failure if it is invalid
            from planner.world.provider.plugin.process import attachments

            attachments(os.environ)
        if name != "version":  # `version` needs no settings, and must start fast
            _look_for_settings(terminal)
        return _help(name.split(), terminal) or 1 if command.run is None else command.run(arguments, terminal)
    except UsageError as problem:
        if any(word.lstrip("-") in ("no-color", "no-color=true") for word in words):
            terminal.set_colour(False)
        if any(word in JSON_WORDS for word in words) and _prints_json_problems(command):
            from planner.cli.views import usage_error_lines

            return ((command and command.usage_error) or usage_error_lines)(problem, terminal)
        return _usage_error(terminal, problem, name)
    except KeyboardInterrupt:
        raise
    except Exception as problem:
        if any(word in JSON_WORDS for word in words) and _prints_json_problems(command):
            # if a command prints JSON lines, the diagnostics that end it are also printed as JSON lines
            from planner.render.view import JsonView

            if terminal.view is None:
                terminal.view = JsonView(terminal.stdout)
        return _failed(problem, terminal)


def _prints_json_problems(command: Command | None) -> bool:
    """Whether a command prints diagnostics as JSON."""
    from planner.cli.options import JSON_LINES

    return command is not None and (command.usage_error is not None or JSON_LINES[0] in command.flags)


def _look_for_settings(terminal: Terminal) -> None:
    """Warn if an environment variable names a missing CLI configuration file, which is ignored. The warning is never
    printed on standard output, which may contain data for programs."""
    for name in ("TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"):
        path = os.environ.get(name)
        if path:
            if not os.path.exists(path):
                _no_settings(f"{name} names {path}, which does not exist.", terminal)
            return


def _no_settings(detail: str, terminal: Terminal) -> None:
    from planner.foundation.vocabulary.diagnostic import warning
    from planner.render.diagnostics import render

    missing = warning("cli.no_settings", "Unable to open CLI configuration file", detail)
    terminal.err(render(missing, terminal.error_paint, terminal.error_width, terminal.boxed))


def _failed(problem: Exception, terminal: Terminal) -> int:
    """Report an exception that was not handled. A Failure has a message; every other exception is a defect of
    planner."""
    from planner.foundation.vocabulary.diagnostic import Failure, defect
    from planner.render.diagnostics import show

    if isinstance(problem, Failure):
        if terminal.view is not None:
            terminal.view.diagnostics(problem.diagnostics)
        else:
            show(problem.diagnostics, terminal)
        return 1
    diagnostic = defect(problem)
    if diagnostic.code == "cli.internal_error" and not os.environ.get("PLANNER_DEBUG"):
        _log_crash(problem, terminal)
    show([diagnostic], terminal)
    return 1


CRASH_LOG = "crash.log"


def _log_crash(problem: Exception, terminal: Terminal) -> None:
    """Write the traceback of an internal error to standard error if TF_LOG requests a log. Otherwise write it to a file
    that only the user can read, because exceptions may contain values."""
    import traceback

    from planner.foundation.support.disk import on_disk

    trace = "".join(traceback.format_exception(problem))
    if os.environ.get("TF_LOG"):
        terminal.err(trace)
        return
    try:
        descriptor = os.open(on_disk(CRASH_LOG), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(f"planner {RELEASE}, Python {sys.version}\n{trace}\n")
    except OSError:
        return
    terminal.err(f"{CRASH_LOG} contains the traceback of the following problem.")


def _usage_error(terminal: Terminal, problem: UsageError, command: str = "") -> int:
    from planner.foundation.vocabulary.diagnostic import error
    from planner.render.diagnostics import USAGE, show

    show([error(USAGE, problem.summary, problem.detail)], terminal)
    if command:
        terminal.err(f"\nTo see all options of this command:\n  planner {command} -help")
    return 1


def _unknown(words: list[str], terminal: Terminal) -> int:
    from planner.foundation.vocabulary.nearest import nearest

    name = words[0]
    if name in index.HOSTED:
        detail = f"planner {name} belongs to the hosted service, which planner does not use: {index.HOSTED[name]}."
        return _usage_error(terminal, UsageError(f"{name} is a command for the hosted service", detail))
    family, gap, member = name.rpartition(" ")
    hit = nearest(member, [c.rpartition(" ")[2] for c in index.COMMANDS if c.rpartition(" ")[0] == family])
    detail = f"Did you mean {family}{gap}{hit}?\n" if hit else ""
    detail += f"To list the commands:\n  planner {family}{gap}-help"
    return _usage_error(terminal, UsageError(f"There is no command {name}", detail))


def _help(words: list[str], terminal: Terminal) -> int:
    from planner.cli.help import command_help, overview

    name, _ = find([word for word in words if not word.startswith("-")])
    if name is None:
        terminal.out(overview())
        return 0
    terminal.out(command_help(name, index.load(name)))
    return 0


def _before_end(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words


def _environment_words(command: str) -> list[str]:
    """The arguments in TF_CLI_ARGS_COMMAND and TF_CLI_ARGS, which are inserted before the arguments of the command
    line."""
    words: list[str] = []
    for name in (f"TF_CLI_ARGS_{command.replace('-', '_').replace(' ', '_')}", "TF_CLI_ARGS"):
        text = os.environ.get(name)
        if text:
            words += _split(name, text)
    return words


def _split(name: str, text: str) -> list[str]:
    import shlex

    try:
        return shlex.split(text)
    except ValueError as problem:
        raise UsageError(f"Cannot read the arguments in {name}", f"{problem}.") from None
