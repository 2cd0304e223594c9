"""Finds the paths from changes and values to their root causes, and the places of both."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from planner.logic.datalog.engine.fact_base import FactBase

TEXT = "the text of "
"""prefix of names that mean the source text of an expression instead of its value"""
WORLD = "\0"
"""separates the name of a value from the number of the former configuration with which the value is compared"""


def plain(name: str) -> str:
    """The name without the number of a former configuration (see `_Worlds` in planner.answers.explain.causes)."""
    return name.partition(WORLD)[0]


def is_part(name: str, source: str) -> bool:
    """Whether `name` is `source` or a part of it."""
    own = name.removeprefix(TEXT)
    return own == source or own.startswith((f"{source}.", f"{source}["))


def _is_same_part(step: str, part: str, whole: str) -> bool:
    """Whether a step is a value of the object `whole` that corresponds to `part`, a value of the same object. They
    correspond if their paths without the first attribute name are equal, or if one of these paths is a beginning of the
    other."""
    if not whole or not is_part(step, whole):
        return False
    own, other = (_IN_ATTRIBUTE.sub("", name[len(whole) :]) for name in (step, part))
    return is_part(own, other) or is_part(other, own)


_IN_ATTRIBUTE = re.compile(r"^\.[\w-]+")


class CausePaths:
    """The chains of steps from changes and values to their causes. A leaf is a name at which a chain ends, because the
    rules derive no further cause for it. `_next`: {name: the next step towards the nearest leaf}."""

    def __init__(self, relations: Mapping[str, Collection[Any]]) -> None:
        self.leaves: dict[str, str] = {}
        for what, kind in sorted(relations["leaf"], reverse=True):
            self.leaves[what] = kind
        self._next: dict[str, str] = {}
        self._depths: dict[str, int] = {}
        """{name: number of steps to its nearest leaf}"""
        self._guesses: set[str] = set()
        self.further: dict[str, list[str]] = {}
        backwards: dict[str, list[str]] = {}
        for what, whence in sorted(relations["because"]):
            self.further.setdefault(what, []).append(whence)
            backwards.setdefault(whence, []).append(what)
        self.renewed = {row[0] for row in relations["renewed"]}
        self.perhaps_renewed = {row[0] for row in relations["perhaps_renewed"]}
        self.doubtful = {row[0] for row in relations["perhaps_edited"]}
        self.alone = {row[0] for row in relations["sole_input"]}
        self.forces: dict[str, list[str]] = {}
        self.besides: dict[str, list[str]] = {}
        for table, relation in ((self.forces, "forces"), (self.besides, "changed_besides")):
            for what, whence in sorted(relations[relation]):
                table.setdefault(what, []).append(whence)
        self.mentioned = {(what, plain(whence)): part for what, whence, part in sorted(relations["mentions_part"])}
        """{(value, unknown value to which it refers): the part of the unknown value that is mentioned}"""
        guessed = {row[0] for row in relations["unrecorded_value"]}
        certain = self.leaves.keys() - guessed
        self._spread(sorted(certain), backwards, guessed)
        self._guesses = {*backwards, *self.further, *self.leaves} - certain - self._next.keys()
        self._spread(sorted({*self.leaves, *self._next}), backwards, set())
        self._roots: dict[str, frozenset[str]] = {}
        self._same: dict[frozenset[str], frozenset[str]] = {}

    def _spread(self, starts: Sequence[str], backwards: Mapping[str, list[str]], closed: Collection[str]) -> None:
        waiting = deque(starts)
        seen = {*starts, *self._next}
        while waiting:
            at = waiting.popleft()
            for what in backwards.get(at, ()):
                if what not in seen and what not in closed:
                    seen.add(what)
                    self._next[what] = at
                    self._depths[what] = self._depths.get(at, 0) + 1
                    waiting.append(what)

    def is_guess(self, name: str) -> bool:
        """Whether every chain from a name to a leaf contains a step that is only a candidate."""
        return name in self._guesses

    def chain(self, name: str) -> list[str]:
        """The steps from a change to its nearest root cause, without the change itself. For a replacement, and for a
        value that is unknown because of a replacement, the steps lead to a cause that forces the replacement. If an
        expression refers to a part of a value that is unknown as a whole, the steps lead, if possible, to a change at
        the same path of the object."""
        steps = [name]
        mentioned, whole = "", ""  # a part of an unknown value, and the object that contains it
        while (at := steps[-1]) in self._next:
            after = self._next[at]
            known = self.forces.get(at, ()) if len(steps) == 1 or steps[-2] in self.renewed else ()
            forced = [step for step in known if self._is_open(step, steps)]
            if forced and after not in forced:
                after = min(forced, key=self._order)
            whole = at if is_part(mentioned, at) else whole
            alike = [step for step in forced or self.further.get(at, []) if _is_same_part(step, mentioned, whole)]
            after = min((step for step in alike if self._is_open(step, steps)), key=self._order, default=after)
            if after in steps:
                break
            steps.append(after)
            if (at, plain(after)) in self.mentioned:
                mentioned, whole = self.mentioned[at, plain(after)], ""
        return steps[1:]

    def _is_open(self, step: str, steps: Collection[str]) -> bool:
        """Whether a chain with these steps can continue with `step`."""
        return (step in self._next or step in self.leaves) and step not in steps

    def _order(self, step: str) -> tuple[bool, int, str]:
        return self.is_guess(step), self._depths.get(step, 0), step

    def roots(self, name: str) -> list[str]:
        """All leaves to which chains from a name lead, including the name itself if it is a leaf. The leaf at the end
        of `chain(name)` comes first."""
        nearest = self.chain(name)
        if not nearest and name not in self.leaves:
            return []
        first = nearest[-1] if nearest else name
        return [first, *sorted(self._leaves_behind(name) - {first})]

    def beside(self, name: str) -> set[str]:
        """The changed arguments of created instances on which a name depends, directly or through other values."""
        seen, waiting = {name}, [name]
        values: set[str] = set()
        for at in waiting if self.besides else ():
            further = [one for one in self.further.get(at, ()) if one not in seen]
            waiting += further
            seen.update(further)
            values.update(self.besides.get(at, ()) if at != name else ())
        return values

    def reader(self, name: str, file: str) -> str:
        """The name of the value whose expression reads the file in the leaf `file`, and on which `name` depends. "" if
        there is no such value, or if the leaf is not a file."""
        if self.leaves[file] != "file":
            return ""
        seen, waiting = {name}, [name]
        for at in waiting:
            further = self.further.get(at, ())
            if file in further:
                return at
            waiting += [one for one in further if one not in seen]
            seen.update(further)
        return ""

    def _leaves_behind(self, name: str) -> frozenset[str]:
        """All leaves to which chains from a name lead. They are the union of the leaves of its next steps or, if the
        steps form a cycle, the result of a search."""
        stack = [(name, False)]
        open_ones: set[str] = set()
        while stack:
            at, is_done = stack.pop()
            if at in self._roots:
                continue
            further = self.further.get(at, ())
            if not is_done and at not in open_ones:
                open_ones.add(at)
                stack.append((at, True))
                stack += [(one, False) for one in further if one not in self._roots and one not in open_ones]
                continue
            if is_done:
                if any(one not in self._roots for one in further):
                    self._roots[at] = self._searched(at)
                else:
                    self._roots[at] = self._joined(at, further)
        return self._roots[name]

    def _joined(self, at: str, further: Sequence[str]) -> frozenset[str]:
        own = frozenset((at,)) if at in self.leaves else frozenset()
        sets = {id(item): item for item in (self._roots[one] for one in further)}
        if not own and len(sets) == 1:
            return next(iter(sets.values()))
        return self._same.setdefault(joined := own.union(*sets.values()), joined)

    def _searched(self, name: str) -> frozenset[str]:
        seen, waiting = {name}, [name]
        while waiting:
            for further in self.further.get(waiting.pop(), ()):
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
        return frozenset(seen & self.leaves.keys())


class FactLocations:
    """The places of names. The place of a name is the source of a fact that has the name in its first or second column.
    Facts of the predicates in _TELLING, and `desired`, are preferred."""

    _ASKING: Mapping[str, tuple[str, ...]] = {
        "replace_by_request": ("replace_requested",),
        "replace_because_tainted": ("tainted",),
        "gone": ("removed_outside",),
        "delete_because_no_resource_config": ("removal",),
        "delete_because_no_module": ("removal",),
    }
    """{kind of a leaf that is an object: the predicates of the facts that determine its action}"""
    _TELLING = ("root_variable", "read_file", "own_text", "named_value", "altered", "read_value", "unknown_value")

    def __init__(self, facts: FactBase) -> None:
        self._facts = facts
        self._sources: dict[str, Any] = {}
        for predicate in sorted(
            facts.predicates, key=lambda predicate: predicate != "desired"
        ):  # `desired` first: its source is the block
            rank = predicate in self._TELLING
            column = (
                1
                if predicate
                in ("own_text", "call_gone", "call_new", "provider_changed", "new_trigger", "hidden_trigger")
                else 0
            )
            for row in facts.relation(predicate):
                if len(row) <= column or row[column].__class__ is not str:
                    continue
                if rank or row[column] not in self._sources:
                    source = facts.source(predicate, row)
                    if source is not None:
                        self._sources[row[column]] = source

    def of_leaf(self, what: str, kind: str, reader: str) -> Any:
        """The place of a root cause; None if it is unknown. The place of a file is the expression of `reader`, which
        reads the file. The place of an action is the source of the fact that determines it, such as an option."""
        if reader:
            return self._facts.source("refers_value", (reader, what))
        for predicate in self._ASKING.get(kind, ()):
            for row in self._facts.relation(predicate):
                if row[0] == what:
                    return self._facts.source(predicate, row)
        return self.of(what)

    def of(self, what: str) -> Any:
        """The place of a name; None if it is unknown."""
        return self._sources.get(what)
