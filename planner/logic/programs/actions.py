"""Steps, classes and words of planned actions. rules/shared/action_classes.dl derives the steps and classes.

steps("create-then-delete")              ("create", "delete")
does("create-then-delete", "replaces")   True"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from planner.foundation.vocabulary.records import frozen
from planner.logic.datalog.engine.cache import derive_rows
from planner.logic.programs.rule_programs import files_of

if TYPE_CHECKING:
    from planner.logic.model.plan import Plan

NO_OP = "no-op"


@frozen
class _ActionTable:
    steps: Mapping[str, tuple[str, ...]]  # steps of each action; actions with one step come first
    classes: Mapping[str, frozenset[str]]  # actions in each class


def does(action: str, kind: str) -> bool:
    """Whether an action belongs to the class `kind`: changes, makes, creates, replaces, destroys, deletes, sets_aside,
    forgets, removes, releases, ends, stirs or disturbs (documented at `action_class` in the rules). Raises KeyError for
    an unknown class."""
    return action in _table().classes[kind]


def steps(action: str) -> tuple[str, ...]:
    """The steps of an action, in order; () for no-op. Raises KeyError for an unknown action."""
    return _table().steps[action]


@cache
def actions() -> tuple[str, ...]:
    return tuple(_table().steps)


def words(action: str) -> list[str]:
    """The words for an action in plan JSON: its steps, or no-op. Raises KeyError for an unknown action."""
    return list(steps(action)) or [NO_OP]


def action_of(named: Sequence[str]) -> str:
    """The action with these words in plan JSON. Raises KeyError if there is none."""
    for action in actions():
        if words(action) == list(named):
            return action
    raise KeyError(f"no action is called {list(named)}")


def verb_of(action: str) -> str:
    """The name of an action in output: `replace` for all replacements, otherwise the action itself."""
    return "replace" if does(action, "replaces") else action


def verbs() -> dict[str, tuple[str, ...]]:
    """{name in output (see `verb_of`): actions with this name}."""
    named: dict[str, tuple[str, ...]] = {}
    for action in actions():
        named[verb_of(action)] = (*named.get(verb_of(action), ()), action)
    return named


class EventPlace(NamedTuple):
    """The time at which an event of a trigger occurs: before or after (`position`) a step (create, update or delete) of
    the action."""

    position: str
    step: str


def event_place(event: str) -> EventPlace:
    """The time at which an event occurs. Raises KeyError for an unknown event."""
    return _event_table()[0][event]


def failure_effects(on_failure: str, event: str) -> frozenset[str]:
    """The effects of a failed invocation: stop, warn and taint (documented at `failure_effect` in the rules). The
    effect is stop if the combination of arguments is unknown."""
    return _event_table()[1].get((on_failure, event), frozenset(("stop",)))


def known_triggers() -> frozenset[tuple[str, str]]:
    """(event, on_failure) for all combinations that a trigger may have."""
    return frozenset((event, on_failure) for on_failure, event in _event_table()[1])


@cache
def _event_table() -> tuple[dict[str, EventPlace], dict[tuple[str, str], frozenset[str]]]:
    rows = derive_rows(files_of("action_classes"), ("trigger_event", "failure_effect"))
    effects: dict[tuple[str, str], set[str]] = {}
    for on_failure, event, effect in rows["failure_effect"]:
        effects.setdefault((str(on_failure), str(event)), set()).add(str(effect))
    places = {str(event): EventPlace(str(position), str(step)) for event, position, step in rows["trigger_event"]}
    return places, {key: frozenset(kinds) for key, kinds in effects.items()}


UNKNOWN = "unknown"  # the argument of `why` for unknown values


def is_word(text: str) -> bool:
    """Whether an argument of `why` is the word `unknown` or the name of an action (see `verb_of`)."""
    return text == UNKNOWN or text in verbs()


@cache
def _table() -> _ActionTable:
    rows = derive_rows(files_of("action_classes"), ("action_step", "action_class"))
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


# Numbers of objects in a plan or an apply.


class Counts(NamedTuple):
    """The numbers of objects that are created, changed, destroyed, imported and forgotten, of invoked actions, and of
    failures."""

    add: int = 0
    change: int = 0
    remove: int = 0
    imports: int = 0
    forget: int = 0
    invoke: int = 0
    failed: int = 0

    @classmethod
    def of_plan(cls, plan: Plan) -> Counts:
        """The counts of a plan. Data sources and other unmanaged objects that are only removed from the state are not
        counted."""
        add = update = remove = imports = forget = 0
        for change in plan.changes:
            action = change.action
            if change.mode != "managed" and does(action, "ends"):
                continue
            imports += change.importing is not None
            add += does(action, "creates")
            update += action == "update"
            remove += does(action, "destroys")
            forget += does(action, "forgets")
        return cls(add, update, remove, imports, forget, len(plan.invocations))

    @property
    def by_name(self) -> dict[str, int]:
        """{name in documents: count}. `invoke` and `failed` are left out if they are 0."""
        add, change, remove, imports, forget, invoke, failed = self
        objects = {"add": add, "change": change, "remove": remove, "import": imports, "forget": forget}
        return {**objects, **({"invoke": invoke} if invoke else {}), **({"failed": failed} if failed else {})}

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """These counts plus `times` the counts of `other`."""
        return Counts(*(own + times * more for own, more in zip(self, other, strict=True)))


# Words for planned actions in all output: signs, colours, verbs and nouns.
#
# rules/shared/action_classes.dl defines actions by their steps. An action with several steps is shown with the words of
# `replace`, or with the words of each step.


class ActionWords(NamedTuple):
    """The words for an action, or for one step of it. `sign`, `colour`: mark changes in output. `legend`: explains the
    sign. `is_planned`: continues a sentence that begins with an address ("aws_instance.a"). `done`: the participle.
    `noun`: singular and plural. `progress`: the words for the beginning, progress and end of the operation. `risk`: the
    position in lists of changes."""

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
    """The words for an action, or for the name `replace`."""
    known = _WORDS.get(action)
    return known if known is not None else _WORDS.get(verb_of(action)) or _other(action)


def step_words(action: str) -> list[ActionWords]:
    return [_WORDS.get(step) or _other(step) for step in steps(action)]


def _other(action: str) -> ActionWords:
    progress = ("Applying", "applying", "Apply")
    return ActionWords("*", "", action, f"has the action {action}", action, (action, action), progress, 3)
