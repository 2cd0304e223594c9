"""Prints the progress of a batch, line by line."""

from __future__ import annotations

from planner.render.terminal import Terminal
from planner.workflows.batch.model import FinishedUnit, Share, units_text
from planner.workflows.batch.schedule import BatchListener

SHOWN = 10
"""maximum number of units in a list"""
STYLES = {
    "changes": ("yellow",),
    "incomplete": ("cyan",),
    "unchanged": ("grey",),
    "applied": ("green",),
    "failed": ("red", "bold"),
    "denied": ("red", "bold"),
    "died": ("red", "bold"),
    "declined": ("yellow",),
    "skipped": ("grey",),
    "stopped": ("yellow",),
}


class BatchLines(BatchListener):
    """Prints a line when a unit begins, and a line when it ends. With `show`, it also prints the unit's plan."""

    def __init__(self, terminal: Terminal, show: bool = False) -> None:
        self.terminal, self.show = terminal, show

    def say(self, text: str) -> None:
        self.terminal.out(text)
        self.terminal.stdout.flush()

    def shares(self, share: Share, selected: int) -> None:
        self.say(share_text(share, selected))

    def goes_on(self, applied: list[str], begun: list[str]) -> None:
        self.say(goes_on_text(applied, begun))

    def began(self, unit: str, attempt: int) -> None:
        again = " (again, because a process ended)" if attempt > 1 else ""
        self.say(f"{unit}: started{again}")

    def finish_unit(self, done: FinishedUnit) -> None:
        if done.reused:
            return  # the unit did not run; the table lists it
        shown = done.result.text if self.show and done.result is not None else ""
        self.say("\n".join(filter(None, (line(done, self.terminal), shown))))

    def stopping(self, units: list[str]) -> None:
        self.say(stopping_text(units))


def share_text(share: Share, selected: int) -> str:
    """A sentence about the shard of a batch. It lists the units of other shards that are also planned, because this
    shard needs their outputs."""
    units = f"{len(share.units):,} of {selected:,} units"
    if not share.beside:
        return f"Shard {share.number} of {share.count}: {units}."
    return (
        f"Shard {share.number} of {share.count}: {units}. Also planned, only for their values (their own shards "
        f"report them): {few(sorted(share.beside))}."
    )


def goes_on_text(applied: list[str], begun: list[str]) -> str:
    """A message that lists the units of a saved plan that an earlier run applied, or began to apply."""
    lines = [f"Already applied from this plan: {few(applied)}."] if applied else []
    lines += [f"{unit}: was being applied when an earlier run was interrupted or failed" for unit in begun]
    return "\n".join(lines)


def few(names: list[str]) -> str:
    """The first names, and the number of further names: `a, b and 3 more`."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def stopping_text(units: list[str]) -> str:
    rest = f" {', '.join(units)}: finishing. Interrupt again to stop immediately." if units else ""
    return f"Interrupted: no more units are started.{rest}"


def line(done: FinishedUnit, terminal: Terminal) -> str:
    """A unit's result, in one line."""
    word = terminal.paint(done.outcome, *STYLES.get(done.outcome, ()))
    because = f", {units_text(done.causes)}" if done.causes else ""
    result = done.result
    if result is None or done.outcome in ("failed", "died", "stopped", "unchanged"):
        return f"{done.unit}: {word}{because}"
    add, change, remove, _, _, invoke, failed = result.counts
    actions = f", {invoke + failed} action{'s' * (invoke + failed != 1)}" if invoke + failed else ""
    return f"{done.unit}: {word}{because}, +{add} ~{change} -{remove}{actions} ({result.seconds:.2f}s)"
