"""Planned actions: the steps of each, and what can be said of it, as rules/shared/action_classes.dl derives it.

steps("create-then-delete")              ("create", "delete")
does("create-then-delete", "replaces")   True
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.cache import derived
from planner.logic.programs.rule_files import files_of

NO_OP = "no-op"


@frozen
class _ActionTable:
    steps: Mapping[str, tuple[str, ...]]
    """by action, those of one step first"""
    classes: Mapping[str, frozenset[str]]
    """class -> its actions"""


def does(action: str, kind: str) -> bool:
    """Whether an action belongs to a class: changes, makes, creates, replaces, destroys, deletes, sets_aside, forgets,
    removes, releases, ends, stirs or disturbs (action_class says what they mean)."""
    return action in _table().classes[kind]


def steps(action: str) -> tuple[str, ...]:
    """What is done, in order; nothing for no-op. Raises KeyError for what is no action."""
    return _table().steps[action]


@cache
def actions() -> tuple[str, ...]:
    """All actions, those of one step before those of several."""
    return tuple(_table().steps)


def words(action: str) -> list[str]:
    """The action as plan JSON has it: its steps, or no-op."""
    return list(steps(action)) or [NO_OP]


def verb_of(action: str) -> str:
    """What people call an action: replace, or by its own name."""
    return "replace" if does(action, "replaces") else action


def verbs() -> dict[str, tuple[str, ...]]:
    """What people call actions -> the actions."""
    named: dict[str, tuple[str, ...]] = {}
    for action in actions():
        named[verb_of(action)] = (*named.get(verb_of(action), ()), action)
    return named


@cache
def _table() -> _ActionTable:
    rows = derived(files_of("action_classes"), ("action_step", "action_class"))
    made: dict[str, list[str]] = {NO_OP: []}
    for action, _, step in sorted(rows["action_step"], key=lambda row: (row[0], row[1])):
        made.setdefault(str(action), []).append(str(step))
    classes: dict[str, set[str]] = {}
    for action, kind in rows["action_class"]:
        classes.setdefault(str(kind), set()).add(str(action))
    order = sorted(made, key=lambda a: (len(made[a]), "forget" in made[a], made[a][:1] == ["create"], a))
    return _ActionTable(
        {action: tuple(made[action]) for action in order},
        {kind: frozenset(members) for kind, members in classes.items()},
    )
