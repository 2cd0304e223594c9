"""The cause of a change in one line: `because var.b (-var) -> local.x (main.tf:12)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from planner.answers.explain.causes import Because, CauseStep
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.logic.model.graph import CommandLine, StateEntry
from planner.logic.programs.actions import words_for

MOST_STEPS = 5
"""steps that a line shows; of longer chains the ends"""
_NEW = "because it is declared{place} and does not exist yet"
_GONE = "because it was removed outside"
_KINDS = {
    "drift": "what was changed outside",
    "as-before": "none of its inputs changed since the last apply",
    "unignored": "until now ignore_changes kept it as it was",
    "unapplied": "the state has another value than the former configuration gives",
    "gone": "removed outside",
    "no-call": "not called any more",
    "read": "as it was read",
    "function": "a function of the time of the apply",
    "ephemeral": "opened when it is needed",
    "left-out": "left out of this plan",
    "replace_because_tainted": "tainted",
    "replace_by_request": "-replace",
    "delete_because_no_resource_config": "no longer declared",
    "delete_because_no_module": "its module is no longer declared",
    "delete_because_no_move_target": "moved to where nothing is declared",
}

_ASKED = ("replace_by_request", "no-call")
"""kinds whose word implies the place"""


@frozen(eq=False)
class Causes:
    """The causes to print: `chains` by name of the change, `actions` of all changes, and `how`: line or full."""

    chains: Mapping[str, Because]
    actions: Mapping[str, str]
    how: str = "line"

    def lines(self, name: str) -> list[str]:
        """The lines under the headline of a change."""
        because = self.chains.get(name)
        if because is None:
            return []
        if self.how == "full":
            return because_lines(because, name, self.actions)
        line = because_line(because, name, self.actions)
        return [line] if line else []

    def json(self, name: str) -> dict[str, Any]:
        """The causes of a change as JSON: `because` (steps from the root cause on), `root_causes`,
        `because_is_certain`."""
        because = self.chains.get(name)
        return {} if because is None else because.json


def because_lines(because: Because, address: str, actions: Mapping[str, str]) -> list[str]:
    """Every step, from the change to its root, and the other roots."""
    root = because.steps[0]
    if root.what == address:
        return [line for line in [because_line(because, address, actions)] if line]
    lines = ["because:", *_without_repeats(f"  {words_of(step, actions)}" for step in reversed(because.steps))]
    others = because.roots[1:]
    if others:
        word = "any of these may be the cause, too" if because.is_guess else "more causes"
        lines.append(f"  {word}: {', '.join(words_of(step, actions) for step in others)}")
    return lines


def because_line(because: Because, address: str, actions: Mapping[str, str]) -> str:
    """The sentence; empty where the headline of the change already contains it. `actions`: of all changes, by name."""
    root = because.steps[0]
    if root.what == address:
        return {"create": _NEW.format(place=_place(root.source)), "gone": _GONE}.get(root.kind, "")
    shown = [step for step in because.steps if not _is_own(step, address)] or [because.steps[-1]]
    kept = [step for at, step in enumerate(shown) if at + 1 == len(shown) or not _is_part(step, shown[at + 1])]
    words = _without_repeats(words_of(step, actions) for step in kept)
    if len(words) > MOST_STEPS:
        hidden = len(words) - MOST_STEPS + 1
        words = [*words[: MOST_STEPS - 2], f"... {hidden} more ...", words[-1]]
    others = len(because.roots) - 1
    if because.is_guess and others:
        names = ", ".join(words_of(step, actions) for step in because.roots[:3])
        more = f" and {others - 2} more" if others > 2 else ""
        return f"because one of these may have changed: {names}{more}"
    more = "" if not others else f", and {words_of(because.roots[1], actions)}"
    if others > 1:
        more = f", and {others} more causes"
    return f"because {' -> '.join(words)}{more}"


def _without_repeats(words: Iterable[str]) -> list[str]:
    """A text and what it is the text of have the same words."""
    return [said for said, _ in groupby(words)]


def _is_own(step: CauseStep, address: str) -> bool:
    """Whether a step is in the changed object itself, and no cause of its own."""
    return not step.kind and step.what.startswith((f"{address}.", f"{address}["))


def _is_part(step: CauseStep, following: CauseStep) -> bool:
    """Whether the next step only names the whole of what this one is a part of."""
    return not step.kind and following.what.startswith((f"{step.what}.", f"{step.what}["))


def words_of(step: CauseStep, actions: Mapping[str, str]) -> str:
    """A step with its place."""
    what = step.what.removeprefix("the text of ") if step.kind == "text" else step.what
    what += difference_of(step)
    if step.kind == "variable":
        return f"{what} ({origin_of(step)})"
    action = actions.get(step.what, "")
    said = _KINDS.get(step.kind, words_for(action).done if action else "")
    place = "" if step.kind in _ASKED else _place(step.source)
    if said:
        return f"{what}{place[:-1]}, {said})" if place else f"{what} ({said})"
    return f"{what}{place}"


def difference_of(step: CauseStep) -> str:
    """` "v1" -> "v2"`, ready to append to a name: the former and the present value; empty where the former is not
    known."""
    return f" {step.before} -> {step.value or 'nothing'}" if step.before else ""


def origin_of(step: CauseStep) -> str:
    """The source of a variable's value."""
    source = step.source
    if isinstance(source, CommandLine):
        return source.argument.partition("=")[0]
    place = _at(source)
    return f"{step.note}, {place}" if step.note else place


def _place(source: Any) -> str:
    place = _at(source)
    return f" ({place})" if place else ""


def _at(source: Any) -> str:
    if isinstance(source, Span):
        return f"{source.filename}:{source.start_position.line}"
    if isinstance(source, CommandLine):
        return source.argument
    return "state" if isinstance(source, StateEntry) else ""
