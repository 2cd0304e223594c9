"""View: how a command that plans or applies speaks: to people, in JSON lines, or both at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from planner.cli.flags import Arguments, UsageError
from planner.cli.summary import Counts
from planner.cli.terminal import Terminal, wrap
from planner.vocabulary.diagnostic import Diagnostic
from planner.walk.hooks import HookGroup, Hooks

if TYPE_CHECKING:
    from planner.cli.render_plan import SchemaOf
    from planner.plan.model import Plan
    from planner.policy.model import Verdict
    from planner.state.model import OutputState


class View:
    """What there is to say while planning and applying. `hooks` listens to the walks."""

    hooks: Hooks

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Problems, in the order of the run."""

    def plan(self, plan: Plan, schema_of: SchemaOf) -> None:
        """The finished plan."""

    def next_steps(self, path: str, generated: str) -> None:
        """Where the plan was saved ("" when it was not) and where configuration was generated."""

    def finished(self, counts: Counts, destroyed: bool) -> None:
        """Everything was applied."""

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        """The output values after apply."""

    def log(self, text: str) -> None:
        """A remark."""

    def verdict(self, verdict: Verdict) -> None:
        """What policies say; denials and warnings follow as diagnostics."""


class HumanView(View):
    """Text on the terminal."""

    def __init__(self, terminal: Terminal, show_sensitive: bool = False) -> None:
        from planner.cli.hooks_human import HumanHooks

        self.terminal = terminal
        self.show_sensitive = show_sensitive
        self.hooks = HumanHooks(terminal)

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        from planner.cli.render_diagnostics import show

        show(list(dict.fromkeys(diagnostics)), self.terminal)

    def plan(self, plan: Plan, schema_of: SchemaOf) -> None:
        from planner.cli.render_plan import PlanText

        PlanText(plan, schema_of, self.terminal, self.show_sensitive).show()

    def next_steps(self, path: str, generated: str) -> None:
        terminal = self.terminal
        if terminal.in_automation:
            return
        terminal.out()
        terminal.out(terminal.rule())
        width = terminal.width - 1
        if generated:
            terminal.out()
            text = f"Configuration was generated and written to {generated}. Review it before you keep it."
            terminal.out(wrap(text, width))
        terminal.out()
        if path:
            from planner.cli.literals import quoted

            terminal.out(f"Saved the plan to: {path}")
            terminal.out(f"\nTo perform exactly these actions, run:\n    planner apply {quoted(path)}")
            return
        text = (
            "Note: The plan was not saved with -out, so applying later may do something else when anything changes "
            "in between."
        )
        terminal.out(wrap(text, width))

    def finished(self, counts: Counts, destroyed: bool) -> None:
        text = counts.destroyed if destroyed else counts.applied
        self.terminal.out(f"\n{self.terminal.paint(text, 'bold', 'green')}")

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        if outputs:
            from planner.cli.commands.output import all_outputs

            self.terminal.out(f"\n{self.terminal.paint('Outputs:', 'bold', 'green')}\n")
            self.terminal.out(all_outputs(outputs, self.show_sensitive))

    def log(self, text: str) -> None:
        self.terminal.out(text)

    def verdict(self, verdict: Verdict) -> None:
        from planner.cli.verdicts import counted

        self.terminal.out(f"\n{self.terminal.paint(counted(verdict), 'bold')}")


class JsonView(View):
    """UI messages."""

    def __init__(self, stream: object) -> None:
        from planner.cli.json_ui import JsonHooks, JsonLines

        self.lines = JsonLines(stream)  # type: ignore[arg-type]
        self.hooks = JsonHooks(self.lines)
        self.lines.version()

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.lines.diagnostics(diagnostics)

    def plan(self, plan: Plan, schema_of: SchemaOf) -> None:
        self.lines.plan(plan)

    def finished(self, counts: Counts, destroyed: bool) -> None:
        if destroyed:
            self.lines.summary(counts.destroyed, counts, "destroy")
        else:
            self.lines.summary(counts.applied, counts, "apply")

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        self.lines.outputs(outputs)

    def log(self, text: str) -> None:
        self.lines.log(text)

    def verdict(self, verdict: Verdict) -> None:
        levels = {"deny": "error", "overridden": "warn", "warn": "warn", "undecided": "warn"}
        for finding in verdict.findings:
            text = f"{finding.address}: {finding.kind} {finding.code}: {finding.message}"
            self.lines.message(text, "policy_result", levels[finding.kind], policy=finding.to_json())


class BothViews(View):
    """Says everything twice."""

    def __init__(self, first: View, second: View) -> None:
        self.views = (first, second)
        self.hooks = HookGroup(view.hooks for view in self.views)

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        found = list(diagnostics)
        for view in self.views:
            view.diagnostics(found)

    def plan(self, plan: Plan, schema_of: SchemaOf) -> None:
        for view in self.views:
            view.plan(plan, schema_of)

    def next_steps(self, path: str, generated: str) -> None:
        for view in self.views:
            view.next_steps(path, generated)

    def finished(self, counts: Counts, destroyed: bool) -> None:
        for view in self.views:
            view.finished(counts, destroyed)

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        for view in self.views:
            view.outputs(outputs)

    def log(self, text: str) -> None:
        for view in self.views:
            view.log(text)

    def verdict(self, verdict: Verdict) -> None:
        for view in self.views:
            view.verdict(verdict)


def open_view(arguments: Arguments, terminal: Terminal) -> View:
    """The view that the flags -json and -json-into ask for. Raises UsageError when the file cannot be written."""
    view = _open_view(arguments, terminal)
    if terminal.owns_process:
        _handle_interrupts(view)
    return view


def _handle_interrupts(view: View) -> None:
    """Let the first interrupt stop the walk, and say so."""
    import threading

    from planner import signals

    signals.install()
    # Not in the signal handler itself: it may have come in the middle of another line.
    signals.STOP.listen(lambda: threading.Thread(target=view.hooks.stopping, daemon=True).start())


def _open_view(arguments: Arguments, terminal: Terminal) -> View:
    if arguments.get("json"):
        return JsonView(terminal.stdout)
    view = HumanView(terminal, bool(arguments.get("show-sensitive")))
    path = arguments.get("json-into")
    if not path:
        return view
    try:
        stream = open(path, "w", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 (open until we exit)
    except OSError as problem:
        raise UsageError("Cannot write the file of -json-into", f"{path}: {problem.strerror}.") from None
    return BothViews(view, JsonView(stream))


def usage_error_lines(problem: UsageError, terminal: Terminal) -> int:
    """A usage error of a command that was asked for JSON lines."""
    from planner.vocabulary.diagnostic import error

    return failure_lines([error("cli.usage", problem.summary, problem.detail)], terminal)


def failure_lines(problems: Iterable[Diagnostic], terminal: Terminal) -> int:
    """What stopped a command that was asked for JSON lines."""
    JsonView(terminal.stdout).diagnostics(problems)
    return 1
