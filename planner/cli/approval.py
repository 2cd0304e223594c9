"""Prompts for approval of changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.render.terminal import Terminal

if TYPE_CHECKING:
    from planner.api.making import Start
    from planner.cli.options import W

QUESTIONS = {
    "normal": ("Do you want to perform these actions{}?", "All actions described above will be performed."),
    "destroy": (
        "Do you really want to destroy all resources{}?",
        "All managed objects will be destroyed, as shown above. This cannot be undone.",
    ),
    "refresh-only": (
        "Would you like to update the state{} to reflect these detected changes?",
        "Only the state is written; real objects are not changed.",
    ),
}


def approved(mode: str, start: Start, terminal: Terminal, may_ask: bool) -> bool:
    """Prompt for approval; only `yes` approves. Raises Failure if prompts are disabled, and at the end of the input."""
    from planner.world.state.backend import DEFAULT_WORKSPACE

    question, remark = QUESTIONS[mode]
    inside = f' in workspace "{start.workspace}"' if start.workspace != DEFAULT_WORKSPACE else ""
    remark += f"\nWorkspace: {start.workspace}. State: {start.store.place} (backend {start.backend.type})."
    return (
        ask(question.format(inside), f"{remark}\nOnly 'yes' will be accepted to approve.", terminal, may_ask) == "yes"
    )


def ask(
    question: str,
    remark: str,
    terminal: Terminal,
    may_ask: bool,
    hidden: bool = False,
    instead: str = "Use -auto-approve to approve in advance, or apply a saved plan.",
) -> str:
    """Prompt the user with a question, and return the answer without surrounding blanks. `may_ask`: whether prompts are
    enabled. `hidden`: whether to hide the input. `instead`: advice on how to avoid the prompt. Raises Failure if
    prompts are disabled, and at the end of the input."""
    if not may_ask:
        raise Failure(
            error(
                "cli.no_input",
                "Approval is required, but prompts are disabled",
                f'"{question}" {instead}',
            )
        )
    lines = "\n".join(f"  {line}" for line in remark.split("\n"))
    terminal.out(f"\n{terminal.paint(question, 'bold')}\n{lines}\n")
    with _unseen(terminal) if hidden and terminal.interactive else nullcontext():
        terminal.stdout.write(f"  {terminal.paint('Enter a value:', 'bold')} ")
        terminal.stdout.flush()
        answer = _line(terminal)
    if hidden or not terminal.interactive:
        terminal.out()  # the terminal did not show a line break that the user typed
    if not answer:
        raise Failure(
            error("cli.no_answer", "No answer", f'"{question}" was not answered, because standard input has ended.')
        )
    return answer.strip()


def asking(calls: W, terminal: Terminal, may_ask: bool) -> W:
    """A copy of `calls` that prompts for root variables without a value; `calls` itself if prompts are disabled."""
    if not may_ask:
        return calls

    def ask_variable(name: str, description: str, sensitive: bool) -> str | None:
        remark = description or "The variable has no default, and no value is set."
        try:
            return ask(f"var.{name}", remark, terminal, True, sensitive)
        except (Failure, OSError):  # the missing value is reported as if prompts were disabled
            return None

    return calls.having(ask_variable=ask_variable)


@contextmanager
def _unseen(terminal: Terminal) -> Iterator[None]:
    """A context in which the terminal does not show the input."""
    import termios

    number = terminal.stdin.fileno()
    before = termios.tcgetattr(number)
    silent = [*before]
    silent[3] = before[3] & ~termios.ECHO
    try:
        termios.tcsetattr(number, termios.TCSADRAIN, silent)
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _line(terminal: Terminal) -> str:
    from planner.foundation.support.signals import at_once

    if not terminal.owns_process:
        return terminal.stdin.readline()
    with at_once():
        return terminal.stdin.readline()
