"""The output of a command that plans or applies: for people, as JSON lines, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.engine.walk.hooks import HookGroup, Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.nearest import file
from planner.logic.programs.actions import Counts
from planner.render.terminal import Terminal, wrap

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.logic.model.plan import Plan
    from planner.render.cause_summary import Causes
    from planner.render.json_ui import JsonLines
    from planner.render.plan import PlanText, SchemaOf
    from planner.world.state.model import OutputState


class View:
    """The output of planning and applying. `hooks`: receives the events of walks."""

    hooks: Hooks

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Show diagnostics in the order in which they occurred."""

    def plan(self, plan: Plan, schema_of: SchemaOf, causes: Causes | None = None) -> None:
        """Show the finished plan, with the causes of its changes."""

    def saved_plan(self, plan: Plan) -> None:
        """Show a plan from a file, which is applied without a prompt."""

    def next_steps(self, path: str, generated: str) -> None:
        """Show the paths of the saved plan and of the generated configuration. A path is "" if there is no such
        file."""

    def finished(self, counts: Counts, destroyed: bool) -> None:
        """Show the result of a complete apply."""

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        """Show the outputs after an apply."""

    def log(self, text: str) -> None:
        """Show a remark, such as the progress of a run on a server."""

    def say(self, text: str | None, message: str = "", level: str = "info", **more: Any) -> None:
        """Show a line of a command that neither plans nor applies. `text`: the line for people; None: no line.
        `message`: the message for programs, by default the text without its full stop. `more`: fields of this
        message."""

    def tell(self, text: str) -> None:
        """Show a line only to people."""

    def about(self, **more: str) -> View:
        """A view for messages about one part of the work, for example a deployment. The messages have these additional
        keys."""
        return self

    def document(self, text: str, data: Any) -> None:
        """Show text to people, or `data` as a JSON document to programs."""

    def finish(self, diagnostics: Iterable[Diagnostic]) -> int:
        """Show the command's last diagnostics. Returns the exit code: 0, or 1 if there is an error."""
        problems = list(diagnostics)
        if problems:
            self.diagnostics(problems)
        return int(has_errors(problems))

    def verdict(self, verdict: Verdict) -> None:
        """Show the verdict of policies: the numbers of findings to people, each finding to programs. Denials and
        warnings are also shown later, as diagnostics."""

    def unsaved_state(self, text: str) -> None:
        """Print a state that could not be saved, so that the user can save it."""


class HumanView(View):
    """Shows text on the terminal."""

    def __init__(self, terminal: Terminal, show_sensitive: bool = False) -> None:
        from planner.render.hooks_human import HumanHooks

        self.terminal = terminal
        self.show_sensitive = show_sensitive
        self.keep: Callable[[PlanText], None] | None = None
        """a function that is called with a plan before the plan is printed"""
        self.hooks = HumanHooks(terminal)
        self.hooks.show_sensitive = show_sensitive

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        from planner.render.diagnostics import show

        show(diagnostics, self.terminal)

    def plan(self, plan: Plan, schema_of: SchemaOf, causes: Causes | None = None) -> None:
        from planner.render.plan import PlanText

        text = PlanText(plan, schema_of, self.terminal, self.show_sensitive, causes)
        if self.keep is not None:
            self.keep(text)
        text.show()

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
            terminal.out(f"Saved the plan to: {path}")
            terminal.out(f"\nTo perform exactly these actions, run:\n    planner apply {file(path)}")
            return
        text = (
            "Note: The plan was not saved with -out, so a later apply may perform different actions if anything "
            "changes in between."
        )
        terminal.out(wrap(text, width))

    def saved_plan(self, plan: Plan) -> None:
        from planner.render.plan import override_lines

        for line in override_lines(plan):
            self.terminal.out(line)

    def finished(self, counts: Counts, destroyed: bool) -> None:
        from planner.render.plan import apply_summary

        text = apply_summary(counts, destroyed)
        self.terminal.out(f"\n{self.terminal.paint(text, 'bold', 'green')}")

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        if outputs:
            self._outputs(outputs)

    def _outputs(self, outputs: Mapping[str, OutputState]) -> None:
        from planner.render.value import all_outputs

        self.terminal.out(f"\n{self.terminal.paint('Outputs:', 'bold', 'green')}\n")
        self.terminal.out(all_outputs(outputs, self.show_sensitive))

    def log(self, text: str) -> None:
        self.terminal.out(text)

    def say(self, text: str | None, message: str = "", level: str = "info", **more: Any) -> None:
        if text is not None:
            self.terminal.out(text)

    def tell(self, text: str) -> None:
        self.terminal.out(text)

    def document(self, text: str, data: Any) -> None:
        self.terminal.out(text)

    def verdict(self, verdict: Verdict) -> None:
        from planner.render.verdicts import count_verdicts, judged

        self.terminal.out(f"\n{self.terminal.paint(count_verdicts(verdict), 'bold')}")
        for line in judged(verdict):
            self.terminal.out(line)

    def unsaved_state(self, text: str) -> None:
        self.terminal.out(text)


class JsonView(View):
    """Writes UI messages as JSON lines."""

    def __init__(self, stream: object, show_sensitive: bool = False) -> None:
        from planner.render.json_ui import JsonLines

        self._speak(JsonLines(stream))  # type: ignore[arg-type]
        self.hooks.show_sensitive = show_sensitive
        self.lines.version()

    def _speak(self, lines: JsonLines) -> None:
        from planner.render.json_ui import JsonHooks

        self.lines = lines
        self.hooks = JsonHooks(lines)

    def about(self, **more: str) -> View:
        view = JsonView.__new__(JsonView)
        view._speak(self.lines.about(**more))
        return view

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.lines.diagnostics(diagnostics)

    def plan(self, plan: Plan, schema_of: SchemaOf, causes: Causes | None = None) -> None:
        self.lines.plan(plan, causes)

    def saved_plan(self, plan: Plan) -> None:
        from planner.render.plan import override_lines

        self.lines.planned_changes(change for change in plan.changes if change.action != "no-op")
        for line in override_lines(plan):
            self.lines.log(line)

    def finished(self, counts: Counts, destroyed: bool) -> None:
        from planner.render.plan import apply_summary

        self.lines.summary(apply_summary(counts, destroyed), counts, "destroy" if destroyed else "apply")

    def outputs(self, outputs: Mapping[str, OutputState]) -> None:
        self.lines.outputs(outputs)

    def log(self, text: str) -> None:
        self.lines.log(text)

    def say(self, text: str | None, message: str = "", level: str = "info", **more: Any) -> None:
        if message or text:
            self.lines.message(message or _without_full_stop(str(text).strip("\n")), level=level, **more)

    def document(self, text: str, data: Any) -> None:
        from planner.foundation.support.exact_json import dumps

        self.lines.text(dumps(data).decode("utf-8"))

    def verdict(self, verdict: Verdict) -> None:
        from planner.render.verdicts import judged

        levels = {"deny": "error", "broken": "error", "overridden": "warn", "warn": "warn", "undecided": "warn"}
        levels |= {"waived": "info", "info": "info"}
        for finding in verdict.findings:
            text = f"{finding.address}: {finding.kind} {finding.code}: {finding.message}"
            self.lines.message(text, "policy_result", levels[finding.kind], policy=finding.to_json())
        for line in judged(verdict):
            self.lines.message(line, "policy_judged", "info", judged=verdict.judged)

    def unsaved_state(self, text: str) -> None:
        from planner.foundation.support.exact_json import loads

        self.lines.message("Emergency state dump", "log", state=loads(text.encode()))


def _without_full_stop(text: str) -> str:
    return text if text.endswith("...") else text.removesuffix(".")


class BothViews(View):
    """Writes all output to two views."""

    def __init__(self, first: View, second: View) -> None:
        self.views = (first, second)
        self.hooks = HookGroup(view.hooks for view in self.views)

    def diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        problems = list(diagnostics)
        for view in self.views:
            view.diagnostics(problems)

    def plan(self, plan: Plan, schema_of: SchemaOf, causes: Causes | None = None) -> None:
        for view in self.views:
            view.plan(plan, schema_of, causes)

    def saved_plan(self, plan: Plan) -> None:
        for view in self.views:
            view.saved_plan(plan)

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

    def say(self, text: str | None, message: str = "", level: str = "info", **more: Any) -> None:
        for view in self.views:
            view.say(text, message, level, **more)

    def tell(self, text: str) -> None:
        for view in self.views:
            view.tell(text)

    def about(self, **more: str) -> View:
        return BothViews(*(view.about(**more) for view in self.views))

    def document(self, text: str, data: Any) -> None:
        for view in self.views:
            view.document(text, data)

    def verdict(self, verdict: Verdict) -> None:
        for view in self.views:
            view.verdict(verdict)

    def unsaved_state(self, text: str) -> None:
        for view in self.views:
            view.unsaved_state(text)
