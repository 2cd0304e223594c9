"""Selects the view from a command's flags, prints through it, and starts the pager for long output: PLANNER_PAGER or
`less`, disabled by -pager=false or NO_PAGER."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from planner.cli.flags import Arguments, Flag, UsageError
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, warning
from planner.logic.programs.actions import Counts
from planner.render.terminal import Output, Terminal, is_terminal
from planner.render.view import BothViews, HumanView, JsonView, View
from planner.world.state.backend import REMOTE_RUNS

if TYPE_CHECKING:
    from planner.answers.explain.causes import Because
    from planner.answers.policy.model import Verdict
    from planner.api.making import Chains, L, MadePlan
    from planner.render.cause_summary import Causes


def runs_there(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a diagnostic rejects the operation because the operation must run on a server."""
    return any(d.code == REMOTE_RUNS for d in diagnostics)


def open_view(arguments: Arguments, terminal: Terminal) -> View:
    """The view that -json and -json-into select, for a command that walks a graph. If planner owns the process, the
    first interrupt stops the walk. Raises UsageError if the file of -json-into cannot be written."""
    view = open_plain_view(arguments, terminal)
    if terminal.owns_process:
        hear_interrupts(view)
    return view


def hear_interrupts(view: View) -> None:
    """Make the first interrupt stop the walk, and report the interrupt."""
    from planner.foundation.support import signals

    signals.STOP.listen(view.hooks.stopping)
    signals.install()


def open_plain_view(arguments: Arguments, terminal: Terminal) -> View:
    """The view that the flags select, for a command that does not walk a graph. The view also shows failures that end
    the command. Raises UsageError if the file of -json-into cannot be written."""
    terminal.view = view = _made_view(arguments, terminal)
    if terminal.deprecated_command:
        _warn_of_former_name(terminal.deprecated_command, arguments, view, terminal)
    return view


def _warn_of_former_name(name: str, arguments: Arguments, view: View, terminal: Terminal) -> None:
    """Warn that the name by which a command was called is deprecated. With JSON output, the warning has no type, as in
    OpenTofu."""
    from planner.render.diagnostics import show

    summary = f'The command "planner {name}" is deprecated'
    detail = f'Use "planner {arguments.command}" instead.'
    if not arguments["json"]:
        show([warning("cli.deprecated_command", summary, detail)], terminal)
    view.say(None, f"{summary}. {detail}", "warn")


def _made_view(arguments: Arguments, terminal: Terminal) -> View:
    stream, shows = open_json_into(arguments, terminal), bool(arguments.get("show-sensitive"))
    if arguments.get("json"):
        if arguments.get("json-into"):
            raise UsageError(
                "Conflicting options", "-json prints JSON lines, and -json-into writes them to a file: choose one."
            )
        return JsonView(terminal.stdout, shows)
    view = HumanView(terminal, shows)
    return view if stream is None else BothViews(view, JsonView(stream, shows))


MOST_EXPLAINED = 200
"""up to this number of changes, a plan on a terminal shows causes by default"""


def may_tell_causes(arguments: Arguments, terminal: Terminal) -> bool:
    """Whether causes of changes may be shown, so that their data must be kept."""
    how = arguments.get("explain")
    return bool(arguments.get("causes")) or (how or "none") != "none" or (not how and is_terminal(terminal.stdout))


def told_causes(
    made: MadePlan[Any], arguments: Arguments, terminal: Terminal, chains: Chains | None = None
) -> Causes | None:
    """The causes to print below a plan's changes; None if the flags do not request causes, or if planning failed.
    `chains`: the causes of all changes, if they are known."""
    how = how_told(sum(change.action != "no-op" for change in made.plan.changes), arguments, terminal)
    return None if how == "none" or made.plan.errored else causes_told(made, how, terminal, chains)


def how_told(changes: int, arguments: Arguments, terminal: Terminal) -> str:
    """How the causes of a plan with this number of changes are shown: none, line or full."""
    how: str = arguments.get("explain") or ""
    is_quiet = arguments.get("json") or not is_terminal(terminal.stdout) or changes > MOST_EXPLAINED
    return how or ("none" if is_quiet else "line")


def show_summary(
    made: MadePlan[Any], terminal: Terminal, everything: bool = False, chains: Chains | None = None
) -> None:
    """Print the causes of a plan's changes, each with its effects; with `everything`, each object and each step.
    `chains`: the causes of all changes, if they are known."""
    from planner.render.plan import rename_line

    shown = causes_of(made, chains, terminal, notes=chains.remarks if chains is not None else ())
    if shown.planned or shown.moves or made.plan.invocations:
        terminal.out(terminal.paint(plan_headline(made, shown), "bold"))
        terminal.out()
        for line in shown.summary(terminal.paint, everything):
            terminal.out(line)
        if line := rename_line(made.plan, shown, is_listed=True):
            terminal.out(f"\n{line}")
    else:
        terminal.out("No changes. There is nothing to explain.")


def plan_headline(made: MadePlan[Any], shown: Causes) -> str:
    """The number of changes by kind, with changes of outputs."""
    from planner.render.plan import pending, pending_actions

    counts = Counts.of_plan(made.plan)
    return shown.headline(pending(counts), pending_actions(counts))


def summary_document(made: MadePlan[Any], terminal: Terminal) -> dict[str, Any]:
    """The causes of a plan's changes, as the JSON document of `planner why -json`."""
    from planner.render.cause_summary import summary_json

    shown = causes_of(made, None, terminal, "line")
    return summary_json(shown.separate, shown.planned)


def causes_told(made: MadePlan[Any], how: str, terminal: Terminal, chains: Chains | None = None) -> Causes:
    """The causes of a plan's changes: for each change one line, or the full causes. Frees the values of the plan."""
    shown = causes_of(made, chains, terminal, how, chains.remarks if chains is not None else ())
    if made.context is not None:
        # freed early, because freeing everything at the end takes time; values needed later are evaluated again
        made.context.take_apart()
    return shown


def causes_of(
    made: MadePlan[Any],
    chains: Mapping[str, Because] | None,
    terminal: Terminal,
    how: str = "line",
    notes: Sequence[str] = (),
) -> Causes:
    """The causes to print, for all changes or only for `chains`. `notes`: remarks about missing former values."""
    from planner.api.making import cause_lines

    width = terminal.width - 1 if is_terminal(terminal.stdout) else 0
    return cause_lines(made, how, width, chains, notes)


def open_json_into(arguments: Arguments, terminal: Terminal) -> TextIO | None:
    """The emptied file of -json-into; a new file is readable only for its owner. None without the flag. Raises
    UsageError if the file cannot be written, or if -json is also given."""
    path = arguments.get("json-into")
    if not path:
        return None
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as problem:
        raise UsageError("Cannot write the file of -json-into", f"{path}: {problem.strerror or problem}.") from None
    if arguments.get("json"):
        os.close(number)
        raise UsageError(
            "Conflicting options", "JSON can be written either to standard output or to a file, but not to both."
        )
    output = Output(open(number, "w", encoding="utf-8", errors="surrogateescape"), path)  # noqa: SIM115 -- closed at the end
    terminal.outputs.append(output)
    return cast(TextIO, output)


def usage_error_lines(problem: UsageError, terminal: Terminal) -> int:
    """Print a usage error as JSON lines, for a command that prints JSON lines. Returns the exit code 1."""
    return failure_lines([error("cli.usage", problem.summary, problem.detail)], terminal)


def failure_lines(diagnostics: Iterable[Diagnostic], terminal: Terminal) -> int:
    """Print diagnostics that prevented a command with JSON output from starting. Returns the exit code 1."""
    JsonView(terminal.stdout).diagnostics(diagnostics)
    return 1


def judge(made: MadePlan[L], view: View) -> tuple[MadePlan[L], Verdict | None, list[Diagnostic]]:
    """Check a plan by the policies in its options, and show the result. Returns the plan with the result, the verdict
    (None if a policy has errors), and the problems, followed by the findings as diagnostics."""
    from planner.api.making import findings_of, judgement

    made, verdict, problems = judgement(made)
    if verdict is not None:
        view.verdict(verdict)
    return made, verdict, [*problems, *findings_of(verdict)]


PAGER = Flag("pager", "bool", "On a terminal, show long output in a pager (PLANNER_PAGER, less).", True)
_LESS = ("less", "-FRX")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def paged(arguments: Arguments, terminal: Terminal) -> Iterator[None]:
    """A context that collects standard output if a pager may be used. The output is shown at the end, in the pager if
    it is long."""
    if not _is_welcome(arguments, terminal):
        yield
        return
    output = terminal.outputs[0]
    output.held = held = list[str]()
    try:
        yield
    finally:
        output.held = None
        text = "".join(held)
        if _lines(text, terminal.width) < terminal.height or not _show(text):
            output.write_over(text)


def _is_welcome(arguments: Arguments, terminal: Terminal) -> bool:
    """Whether a user works at a terminal that can show a pager, and the pager is not disabled."""
    get = os.environ.get
    refused = not arguments["pager"] or arguments.get("json") or get("NO_PAGER") or get("PLANNER_PAGER") == ""
    is_attended = terminal.owns_process and terminal.interactive and is_terminal(terminal.stdout)
    is_watched = is_attended and not (terminal.in_automation or get("CI"))
    return is_watched and not refused and get("TERM", "dumb") not in ("", "dumb")


def _lines(text: str, width: int) -> int:
    """Number of terminal lines that a text needs."""
    return sum(1 + max(0, len(line) - 1) // max(width, 1) for line in _STYLES.sub("", text).split("\n"))


def _show(text: str) -> bool:
    """Show the text in a pager. Returns False if no pager works."""
    import shlex
    import signal
    import subprocess

    try:
        words = shlex.split(os.environ.get("PLANNER_PAGER", "")) or list(_LESS)
        process = subprocess.Popen(words, stdin=subprocess.PIPE)
    except (OSError, ValueError):
        return False
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pager handles interrupts itself
    try:
        process.communicate(text.encode("utf-8", "replace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return True
