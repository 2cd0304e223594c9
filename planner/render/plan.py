"""A plan for people: changes made outside planner, each object's action and reason, changes of outputs, and a summary.

Sentences that other programs look for (`Plan: 1 to add, ...`, `No changes. ...`) are only here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from planner.foundation.values.value import SENSITIVE, mark
from planner.foundation.vocabulary.address import format_key, parse_resource_instance
from planner.foundation.vocabulary.release import follows_next
from planner.logic.model.plan import Invocation, OutputChange, Plan, ResourceChange, change_name, deferral_cause
from planner.logic.programs.actions import Counts, does, event_place, step_words, verb_of
from planner.render.diff import diff_dynamic, null_is_missing
from planner.render.diff_block import diff_object
from planner.render.diff_model import EVERYWHERE, Diff, Paths, ValueChange
from planner.render.diff_text import DiffText, Style
from planner.render.terminal import Paint, Terminal, fold, wrap
from planner.render.value import attribute_name
from planner.world.provider.interface import ResourceSchema

if TYPE_CHECKING:
    from planner.render.cause_summary import Causes

SchemaOf: TypeAlias = "Callable[[str, str, str], ResourceSchema | None]"
"""returns the schema for (address of the provider configuration, mode, type); None if it is unknown"""

_FIRST = ("create", "update", "delete", "delete-then-create", "create-then-delete", "read", "forget-then-create")
"""the order in which the signs of actions are explained; other signs come last"""
_LINES_OF_A_CHANGE = 6
"""minimum number of lines that the text of a change usually has"""


def override_lines(plan: Plan) -> list[str]:
    """The plan's overridden policies, with reasons."""
    overrides = plan.policy.overrides if plan.policy is not None else ()
    return [f"Made with a policy override: {code} ({reason})" for code, reason in overrides]


class PlanText:
    """Prints one plan."""

    def __init__(
        self,
        plan: Plan,
        schema_of: SchemaOf,
        terminal: Terminal,
        show_sensitive: bool = False,
        causes: Causes | None = None,
        only: frozenset[str] = frozenset(),
    ) -> None:
        self.plan = plan
        self.only = only
        """verbs of the actions to show; empty: all actions. Counts always include the whole plan"""
        self.schema_of = schema_of
        self.terminal = terminal
        self.paint = terminal.paint
        self.text = DiffText(terminal.paint)
        self.style = Style(secrets=show_sensitive)
        self.causes = causes
        self.told: Callable[[ResourceChange], None] | None = None
        """called for each object after it is printed"""
        self.begins = False
        """whether the causes were printed before the changes"""
        self.opening = "The execution plan follows. The symbols mean:"

    def show(self) -> None:
        """Print drift, actions, summary, outputs and deferred blocks. If -only matches no change, only a remark is
        printed."""
        plan, out = self.plan, self.terminal.out
        everything = [c for c in plan.changes if is_shown(c)]
        changes = [c for c in everything if not self.only or verb_of(c.action) in self.only]
        if everything and not changes:
            out(f"Changes in this plan: {len(everything)}; none of them matches -only={','.join(sorted(self.only))}.")
            return
        outputs = self.outputs()
        drifted = self._drift(bool(changes or outputs))
        if not everything and plan.invocations:
            self._invocations()
            return
        if not changes and not outputs:
            self._nothing(drifted)
            self._deferred()
            return
        if drifted:
            self._rule()
        self._begin(changes)
        self._legend(changes)
        if changes:
            out()
            if plan.errored:
                self._say("Planning failed. The changes planned so far:")
            else:
                self._say("Planner will perform the following actions:")
            self.bodies(changes)
            out()
            counts = self.counts()
            out(f"{self.paint('Plan:', 'bold')} {pending(counts)}.{pending_actions(counts)}")
            if len(changes) < len(everything):
                out(f"Shown are {len(changes)} of {len(everything)} changes (-only={','.join(sorted(self.only))}).")
            if not self.begins and (line := rename_line(plan, self.causes)):
                out(line)
        if outputs:
            out()
            out("Changes to Outputs:")
            out("\n".join(outputs))
            if not any(c.action != "no-op" for c in changes):
                out()
                self._say(
                    "You can apply this plan to save these new output values to the state, "
                    "without changing any real infrastructure."
                )

        self._foot()
        self._deferred()

    # ---- parts

    def _begin(self, changes: list[ResourceChange]) -> None:
        """Print the causes with their changes before the plan, if objects are destroyed or replaced, or if the plan is
        longer than the screen. Nothing is printed if the output is not a terminal, or if planning failed."""
        terminal, causes = self.terminal, self.causes
        is_risky = any(does(c.action, "removes") or does(c.action, "replaces") for c in changes)
        if causes is None or not terminal.height or self.plan.errored:
            return
        if not is_risky and len(changes) * _LINES_OF_A_CHANGE < terminal.height:
            return
        self.begins = causes.are_numbered = True
        terminal.out()
        terminal.out(self.paint(causes.headline(pending(self.counts()), pending_actions(self.counts())), "bold"))
        terminal.out()
        for line in causes.summary(self.paint):
            terminal.out(line)
        if line := rename_line(self.plan, causes, is_listed=True):
            terminal.out()
            for part in fold(line, terminal.width - 1, ""):
                terminal.out(part)
        self._rule()

    def _foot(self) -> None:
        """Print the causes that changes name only by number."""
        lines = self.causes.foot() if self.causes is not None and not self.begins else []
        if lines:
            self.terminal.out()
        for line in lines:
            self.terminal.out(line)

    def bodies(self, changes: list[ResourceChange]) -> None:
        for change in changes:
            self.terminal.out()
            for line in self.body(change):
                self.terminal.out(line)
            if self.told is not None:
                self.told(change)

    def body(self, change: ResourceChange) -> list[str]:
        """The lines about an object's change, and about the actions that the change invokes."""
        return [self.change(change), *self.invocations(change.address if not change.deposed else None)]

    def _invocations(self) -> None:
        """Print a plan that only invokes actions."""
        out = self.terminal.out
        out()
        self._say("Planner will invoke the following actions, and change nothing else:")
        for one in self.plan.invocations:
            called = f" (called from {one.caller})" if one.caller else ""
            out()
            out(f"{self.paint(f'    # {one.address}', 'bold')} will be invoked{called}")
            out(self._invocation(one))
        counts = self.counts()
        out()
        out(f"{self.paint('Plan:', 'bold')} {pending(counts)}.{pending_actions(counts)}")

    def invocations(self, caller: str | None) -> list[str]:
        """The lines about the actions that the change of `caller` invokes; actions before the change come first. For
        None, which represents a deposed object, the result is empty."""
        mine = [one for one in self.plan.invocations if one.caller == caller]
        lines: list[str] = []
        for position in ("before", "after"):
            placed = [one for one in mine if event_place(one.event).position == position]
            if placed:
                lines += ["", f"    # Actions to be invoked {position} this change in order:"]
                lines += [self._invocation(one) for one in placed]
        return lines

    def _invocation(self, one: Invocation) -> str:
        schema = self.schema_of(one.provider, "action", one.type)
        diff = diff_object(ValueChange(None, one.config), schema.block if schema else None)
        style = Style(symbols=False, secrets=self.style.secrets)
        name = f"{one.name}{format_key(one.key)}"
        header = f'    action "{one.type}" "{name}"'
        body = self.text.render(diff, 2, style)
        return f"{header} {{\n        config {body}\n    }}"

    def counts(self) -> Counts:
        return Counts.of_plan(self.plan)

    def _deferred(self) -> None:
        if self.plan.deferred:
            self.terminal.out()
            self._say("Left for a later plan, together with everything that depends on it:")
            for block, argument, place in self.plan.deferred:
                self.terminal.out(f"  - {block}: {deferral_cause(argument) or f'{argument} at {place}'}")

    def change(self, change: ResourceChange, drift: bool = False) -> str:
        """The change of an object as text: comments, then a block."""
        diff = self.difference(change, drift)
        forgets = does(change.action, "releases")
        style = Style(
            plain_end=forgets,
            all=change.importing is not None,
            symbols=not forgets,
            secrets=self.style.secrets,
        )
        keyword = "resource" if change.mode == "managed" else change.mode
        header = f'{keyword} "{change.type}" "{change.name}"'
        symbol = self.text.symbol(change.action)
        comments = change_comment(change, drift, self.paint)
        if not drift and (along := self._along(change)):
            comments.append(f"  # {along}")
        if self.causes is not None and not drift:
            comments += [f"  # {line}" for line in self.causes.lines(change_name(change))]
        comment = "\n".join(comments)
        return f"{comment}\n{symbol} {header} {self.text.render(diff, 0, style)}"

    def _along(self, change: ResourceChange) -> str:
        """A remark on an object that is in the plan only because a target of -target depends on it; "" for other
        objects."""
        targets = self.plan.limits.bringing(parse_resource_instance(change.address)) if self.plan.limits.targets else ()
        more = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
        return f"(included by -target={targets[0]}{more})" if targets else ""

    def difference(self, change: ResourceChange, drift: bool = False) -> Diff:
        relevant = self._relevant(change) if drift else EVERYWHERE
        replace = Paths(change.replace_paths)
        schema = self.schema_of(change.provider, change.mode, change.type)
        before, after = null_is_missing(change.before), null_is_missing(change.after)
        return diff_object(ValueChange(before, after, replace, relevant), schema.block if schema else None)

    def outputs(self) -> list[str]:
        """Lines for each changed root output."""
        parts = self.output_parts()
        width = max((len(attribute_name(name)) for name, _, _ in parts), default=0)
        return [f"{sign} {attribute_name(name):<{width}} = {value}" for name, sign, value in parts if sign]

    def output_parts(self) -> list[tuple[str, str, str]]:
        """(name, sign of the change, value) of each root output. The sign and the value of an unchanged output are
        ""."""
        parts = []
        for output in sorted(self.plan.outputs, key=lambda o: o.name):
            diff = output_diff(output)
            if diff.action == "no-op":
                parts.append((output.name, "", ""))
            else:
                value = self.text.render(diff, 0, self.style)
                parts.append((output.name, self.text.symbol(diff.action), value))
        return parts

    def _relevant(self, change: ResourceChange) -> Paths:
        """The drifted paths to show: the paths on which the plan depends; in a refresh-only plan, all paths."""
        if self.plan.mode == "refresh-only":
            return EVERYWHERE
        paths = [tuple(path) for address, path in self.plan.relevant_attributes if address == change.address]
        return Paths(paths, deep=True)

    def _drift(self, others: bool) -> bool:
        """Print changes made outside planner. If there are no `others` to print, only a refresh-only plan prints them.
        Returns whether changes were printed."""
        plan, out = self.plan, self.terminal.out
        refresh_only = plan.mode == "refresh-only"
        drifted = [c for c in plan.drift if self._drift_is_shown(c)]
        if not drifted or not (others or refresh_only):
            return False
        out()
        out(f"{self.paint('Note:', 'bold', 'cyan')} {self.paint('Objects have changed outside planner', 'bold')}")
        out()
        self._say(
            "The following was changed outside planner since the last apply"
            + (":" if refresh_only else " and may have affected this plan:")
        )
        for change in drifted:
            out()
            out(self.change(change, drift=True))
        out()
        if refresh_only:
            self._say(
                "This is a refresh-only plan: nothing will be done to undo these changes. If you expected them, apply "
                "this plan to record them in the state; real objects are not changed."
            )
        else:
            self._say(
                "Unless the configuration was changed in the same way, or ignores these attributes, the actions below "
                "may undo these changes or respond to them."
            )
        return True

    def _drift_is_shown(self, change: ResourceChange) -> bool:
        if self.plan.mode == "refresh-only":
            return change.action != "no-op" or change.address != change.previous_address
        return change.action != "no-op" and self.difference(change, drift=True).action != "no-op"

    def _legend(self, changes: list[ResourceChange]) -> None:
        """Print the meanings of the symbols in use."""
        actions = {c.action for c in changes}
        if not actions - {"no-op"}:
            return
        self.terminal.out()
        self._say(self.opening)
        for action in sorted(actions - {"no-op"}, key=lambda a: (_FIRST.index(a) if a in _FIRST else len(_FIRST), a)):
            self.terminal.out(f"{self.text.symbol(action)} {_meaning(action)}")

    def _nothing(self, drifted: bool) -> None:
        """Print the message for a plan without changes, depending on the kind of plan. `drifted`: whether changes made
        outside planner were already printed; a refresh-only plan then needs no message."""
        plan = self.plan
        if drifted and plan.mode == "refresh-only" and not plan.errored:
            return  # the output above already explains what an apply does
        if drifted:
            self._rule()
        self.terminal.out()
        if plan.errored:
            title = self.paint("Planning failed.", "bold", "red")
            self.terminal.out(f"{title} {self.paint('No changes were planned before the first error.', 'bold')}")
            self.terminal.out()
            return
        sentence, remark = DEFERRED if plan.deferred else NOTHING[plan.mode]
        colour = "yellow" if plan.deferred else "green"
        self.terminal.out(f"{self.paint('No changes.', 'bold', colour)} {self.paint(sentence, 'bold')}")
        unread = sum(any(row[0] == "recorded_only" for row in change.facts) for change in plan.changes)
        if unread:  # -minimal-refresh
            remark = f"{_objects(unread)} not read: the state matches the configuration."
        if unread or not follows_next():
            self.terminal.out()
            self._say(remark)

    def _rule(self) -> None:
        self.terminal.out()
        self.terminal.out(self.terminal.rule())

    def _say(self, text: str) -> None:
        self.terminal.out(wrap(text, self.terminal.width - 1))


def _objects(count: int) -> str:
    return "1 object was" if count == 1 else f"{count} objects were"


def _meaning(action: str) -> str:
    """The meaning of an action's sign: `destroy and then create replacement`."""
    legends = [step.legend for step in step_words(action)]
    if does(action, "replaces"):
        legends = ["create replacement" if legend == "create" else legend for legend in legends]
    return " and then ".join(legends)


DEFERRED = (
    "The rest is left for a later plan.",
    "The part that can be planned now matches the real objects.",
)
NOTHING = {
    "normal": (
        "Your infrastructure matches the configuration.",
        "The real objects were compared with the configuration and no differences were found.",
    ),
    "refresh-only": (
        "Your infrastructure still matches the configuration.",
        "The real objects have not changed since the last apply.",
    ),
    "destroy": (
        "No objects need to be destroyed.",
        "No objects are managed here, or all of them were already deleted outside planner.",
    ),
}


def is_shown(change: ResourceChange) -> bool:
    """Whether a plan shows a change. No-ops without a move or import, ephemeral resources, and data sources that are
    only removed from the state are not shown."""
    # decided in Python: which changes are printed -- this affects the output, not the plan
    if change.mode == "ephemeral" or (change.mode != "managed" and does(change.action, "ends")):
        return False
    moved = change.address != change.previous_address
    return change.action != "no-op" or moved or change.importing is not None


def output_diff(output: OutputChange) -> Diff:
    before, after = null_is_missing(output.before), null_is_missing(output.after)
    if output.sensitive:
        hide = frozenset((SENSITIVE,))
        before = mark(before, hide) if output.action != "create" else before
        after = mark(after, hide) if output.action != "delete" else after
    return diff_dynamic(ValueChange(before, after))


# the comment above a planned change: the action on the object, and the reason for it


REPLACE = {
    "replace_because_tainted": ("is tainted, so it must be ", ""),
    "replace_by_request": ("will be ", ", as requested"),
    "replace_by_triggers": ("will be ", " due to changes in replace_triggered_by"),
}
READ = {
    "read_because_config_unknown": "(config refers to values not yet known)",
    "read_because_dependency_pending": "(depends on a resource or a module with changes pending)",
    "read_because_check_nested": "(config will be reloaded to verify a check block)",
}

UNDECIDED = {
    "object": "whether it differs from the state",
    "replacement": "whether it can be changed in place",
    "values": "its result",
    "import": "the imported object",
}


def change_comment(change: ResourceChange, drift: bool, paint: Paint) -> list[str]:
    """The comment on a change: indented lines with `#`."""
    name = f"{change.address} (deposed object {change.deposed})" if change.deposed else change.address
    moved = change.previous_address != change.address
    lines = [f"{paint(f'  # {name}', 'bold')} {_headline(change, drift, paint)}"]
    if change.action == "no-op" and moved:
        lines = [f"{paint(f'  # {change.previous_address}', 'bold')} has moved to {paint(name, 'bold')}"]
    because = _because(change)
    if because:
        lines.append(f"  # {because}")
    if change.deposed and (does(change.action, "ends") or does(change.action, "forgets")):
        lines.append("  # (left over from a partially-failed replacement of this instance)")
    if moved and change.action != "no-op":
        lines.append(f"  # (moved from {change.previous_address})")
    if change.undecided:
        open_questions = ", ".join(UNDECIDED[what] for what in change.undecided)
        lines.append(f"  # (undecided because its provider is not called: {open_questions})")
    if change.importing is not None:
        if change.generated_config:
            lines.append("  # (config will be generated)")
        if change.importing.id:
            lines.append(f'  # (imported from "{change.importing.id}")')
        else:
            lines.append("  # (will be imported first)")
        if does(change.action, "replaces"):
            lines.append(f"  # {paint('Warning: this will destroy the imported resource', 'yellow')}")
    return lines


def _headline(change: ResourceChange, drift: bool, paint: Paint) -> str:
    action = change.action
    if action == "create":
        return "will be created"
    if action == "read":
        return "will be read during apply"
    if action == "update":
        return "has changed" if drift else "will be updated in-place"
    if does(action, "removes"):
        return "has been deleted" if drift else f"will be {paint('destroyed', 'bold', 'red')}"
    if does(action, "releases"):
        return f"will be removed from the state {paint('but will not be destroyed', 'bold', 'red')}"
    if does(action, "replaces"):
        before, after = REPLACE.get(change.reason, ("must be ", ""))
        kept = " - the older instance will not be destroyed (lifecycle.destroy = false)"
        end = kept if does(action, "forgets") else ""
        return f"{before}{paint('replaced', 'bold', 'red')}{after}{end}"
    return "will be imported"


def _because(change: ResourceChange) -> str:
    """The reason in parentheses; "" if the headline already contains the reason."""
    reason = change.reason
    if change.action == "read":
        return READ.get(reason, "")
    if reason == "delete_because_no_resource_config" and does(change.action, "removes"):
        return f"(because {change.type}.{change.name} is not in configuration)"
    if reason == "delete_because_no_move_target":
        return f"(because {change.previous_address} was moved to {change.address}, which is not in configuration)"
    if reason == "delete_because_no_module":
        return f"(because {change.module} is not in configuration)"
    if reason == "delete_because_wrong_repetition":
        if change.key is None:
            return "(because resource uses count or for_each)"
        return f"(because resource does not use {'for_each' if isinstance(change.key, str) else 'count'})"
    if reason == "delete_because_count_index":
        return f"(because index {format_key(change.key)} is out of range for count)"
    if reason == "delete_because_each_key":
        return f"(because key {format_key(change.key)} is not in for_each map)"
    if reason == "delete_because_enabled_false":
        return "(because enabled is false)"
    if reason == "forgot_because_lifecycle_destroy_in_state":
        return "(because it was created with lifecycle.destroy = false)"
    if reason == "forgot_because_lifecycle_destroy_in_config":
        return "(because lifecycle.destroy = false is set in the configuration)"
    return ""


# Numbers of objects imported, added, changed, destroyed and forgotten.  The sentences are OpenTofu's, word for word,
# because other programs look for them.


def pending(counts: Counts) -> str:
    """The numbers of planned changes: `1 to add, 0 to change, 0 to destroy`, with imported and forgotten objects if
    there are any."""
    first = f"{counts.imports} to import, " if counts.imports else ""
    last = f", {counts.forget} to forget" if counts.forget else ""
    return f"{first}{counts.add} to add, {counts.change} to change, {counts.remove} to destroy{last}"


def pending_actions(counts: Counts) -> str:
    """The sentence about planned invocations, after the counts; "" if there are none."""
    return f" Actions: {counts.invoke} to invoke." if counts.invoke else ""


def finished_actions(counts: Counts) -> str:
    """The sentence about invoked actions, after the counts; "" if there are none."""
    if not counts.invoke and not counts.failed:
        return ""
    return f" Actions: {counts.invoke} invoked{f', {counts.failed} failed' if counts.failed else ''}."


def finished(counts: Counts) -> str:
    """The numbers of applied changes: `1 added, 0 changed, 0 destroyed`, with imported and forgotten objects if there
    are any."""
    first = f"{counts.imports} imported, " if counts.imports else ""
    last = f", {counts.forget} forgotten" if counts.forget else ""
    return f"{first}{counts.add} added, {counts.change} changed, {counts.remove} destroyed{last}"


def rename_line(plan: Plan, causes: Causes | None = None, is_listed: bool = False) -> str:
    """The line about destroyed and created objects that look renamed; "" if there are none. If `is_listed`, the line
    omits objects that the list of causes shows."""
    if causes is not None:
        return causes.renames(is_listed)
    if not any(does(change.action, "removes") for change in plan.changes):
        return ""
    from planner.answers.explain.renames import rename_text, same_objects

    return rename_text(same_objects(plan))


def plan_summary(counts: Counts) -> str:
    """The sentence at the end of a plan."""
    return f"Plan: {pending(counts)}.{pending_actions(counts)}"


def apply_summary(counts: Counts, destroys: bool = False) -> str:
    """The sentence at the end of an apply, or of `destroy`."""
    if destroys:
        return f"Destroy complete! Resources: {counts.remove} destroyed.{finished_actions(counts)}"
    return f"Apply complete! Resources: {finished(counts)}.{finished_actions(counts)}"
