"""The words for planned actions, for everything that prints one: signs, colours, verbs and nouns.

rules/shared/action_classes.dl defines the actions by their steps. An action of several steps takes its words from them,
or from `replace`; a new kind of step needs one line here.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.logic.programs.actions import NO_OP, steps, verb_of


class ActionWords(NamedTuple):
    """`legend` explains the sign; `is_planned` completes "aws_instance.a ..."; `noun` is the singular and plural;
    `progress` has the words at the start, while the operation runs, and at its end; `risk` orders lists of changes."""

    sign: str
    colour: str
    legend: str
    is_planned: str
    done: str
    noun: tuple[str, str]
    progress: tuple[str, str, str]
    risk: int


# fmt: off
_WORDS = {
    "replace": ActionWords("-/+", "red", "replace", "is replaced", "replaced",
                           ("replacement", "replacements"), ("Replacing", "replacing", "Replacement"), 0),
    "delete": ActionWords("-", "red", "destroy", "is destroyed", "destroyed",
                          ("destruction", "destructions"), ("Destroying", "destroying", "Destruction"), 1),
    "forget": ActionWords(".", "red", "forget", "is forgotten", "forgotten",
                          ("removal from the state", "removals from the state"),
                          ("Removing", "removing", "Removal"), 2),
    "update": ActionWords("~", "yellow", "update in-place (current -> planned)", "is updated in place", "updated",
                          ("update", "updates"), ("Modifying", "modifying", "Modifications"), 4),
    "create": ActionWords("+", "green", "create", "is created", "created",
                          ("creation", "creations"), ("Creating", "creating", "Creation"), 5),
    "read": ActionWords("<=", "cyan", "read (data resources)", "is read while applying", "read",
                        ("read", "reads"), ("Reading", "reading", "Read"), 6),
    NO_OP: ActionWords("", "", "no change", "does not change", "", ("no change", "no changes"),
                       ("Applying", "applying", "Apply"), 7),
}
# fmt: on


def words_for(action: str) -> ActionWords:
    """The words for an action, or for the verb that people use for it (`replace`)."""
    known = _WORDS.get(action)
    return known if known is not None else _WORDS.get(verb_of(action)) or _other(action)


def step_words(action: str) -> list[ActionWords]:
    """The words for the steps of an action, in their order."""
    return [_WORDS.get(step) or _other(step) for step in steps(action)]


def _other(action: str) -> ActionWords:
    progress = ("Applying", "applying", "Apply")
    return ActionWords("*", "", action, f"has the action {action}", action, (action, action), progress, 3)
