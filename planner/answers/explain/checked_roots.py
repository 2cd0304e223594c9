"""The root causes that interventions confirm: of all that a change leads back to, those that make a difference."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

from planner.answers.explain.interventions import RESOURCES, ChangedInput, ChangedInputs, covers

_INPUTS = ("variable", "text", "file")
"""kinds of leaves that are inputs; others are what an object, or what was read, is in itself"""


class CheckedRoots:
    """`further`: the steps behind each name; `leaves`: where they end, with their kinds; `checks`: the inputs that
    matter to values of changes; `unit`: the input that a leaf is; `owner`: the resource of an instance, for names of
    instances; `instances`: those of a resource; `name_of`: the name of an input as a leaf."""

    def __init__(
        self,
        further: Mapping[str, Sequence[str]],
        leaves: Mapping[str, str],
        checks: Mapping[str, ChangedInputs | None],
        unit: Callable[[str], ChangedInput | None],
        owner: Callable[[str], ChangedInput | None],
        instances: Mapping[ChangedInput, Sequence[str]],
        name_of: Callable[[ChangedInput], str],
    ) -> None:
        self._further, self._leaves, self._checks = further, leaves, checks
        self._unit, self._owner, self._instances, self._name_of = unit, owner, instances, name_of
        self._known: dict[str, frozenset[str] | None] = {}

    def roots(self, name: str) -> frozenset[str] | None:
        """The confirmed roots of a change; None where they cannot all be confirmed."""
        if name not in self._known:
            self._known[name] = frozenset()  # in a cycle
            self._known[name] = self._roots(name)
        return self._known[name]

    def _roots(self, name: str) -> frozenset[str] | None:
        if name in self._checks:  # an output is both a change and a value
            units = self._checks[name]
            known = self._behind_value(name, units) if units is not None else None
            return frozenset(known) if known is not None else None
        roots: set[str] = {name} if name in self._leaves else set()
        is_checked = not self._further.get(name)
        seen, waiting = {name}, [name]
        while waiting:
            at = waiting.pop()
            for step in self._further.get(at, ()):
                behind: Collection[str] | None = ()
                if step in self._checks:
                    units = self._checks[step]
                    behind = self._behind_value(step, units) if units is not None else None
                    is_checked = True
                elif self._owner(step) is not None:
                    behind = self.roots(step)
                    is_checked = True
                elif step not in seen:
                    seen.add(step)
                    waiting.append(step)
                    behind = [step] if step in self._leaves else []
                if behind is None:
                    return None
                roots.update(behind)
        return frozenset(roots) if is_checked else None

    def _behind_value(self, value: str, units: ChangedInputs) -> set[str] | None:
        """The roots of a value: the leaves that are inputs which matter, and the roots of objects that do."""
        roots: set[str] = set()
        met: set[ChangedInput] = set()
        leaves, objects, values = self._nearest(value, units)
        met_objects = {unit for unit in map(self._object_of, values) if unit is not None}
        for at in values:
            inner = self._checks[at]
            of_value = self._behind_value(at, inner) if inner is not None else None
            if of_value is None:
                return None
            roots |= of_value
        for leaf in leaves:
            unit = self._unit(leaf)
            if self._leaves[leaf] not in _INPUTS and (leaf == value or unit is None):
                if not units or self._leaves[leaf] != "as-before":
                    roots.add(leaf)
                continue
            fitting = {one for one in units if unit is not None and covers(one, unit)}
            if unit is None or fitting or not units:
                roots.add(leaf)
                met |= fitting
        met_objects |= {owner for instance in objects if (owner := self._owner(instance)) in units}
        unmet = (unit for unit in units - met - met_objects if unit.kind in RESOURCES)
        for instance in [*objects, *(one for unit in unmet for one in self._instances.get(unit, ()))]:
            if self._owner(instance) in units:
                behind = self.roots(instance)
                if behind is None:
                    return None
                roots |= behind
        missing = {unit for unit in units - met if unit.kind not in RESOURCES}
        return roots | {self._name_of(unit) for unit in missing}

    def _nearest(self, value: str, units: ChangedInputs) -> tuple[set[str], set[str], set[str]]:
        """The leaves behind a value, the instances, and the known values of these; not what is behind them."""
        leaves, objects, values, seen = set(), set(), set(), {value}
        waiting = deque([value])
        while waiting:
            at = waiting.popleft()
            if at in self._leaves:
                leaves.add(at)
            for step in self._further.get(at, ()):
                if self._owner(step) is not None:
                    objects.add(step)
                elif step in self._checks and self._object_of(step) in units:
                    values.add(step)
                elif step not in seen:
                    seen.add(step)
                    waiting.append(step)
        return leaves, objects, values

    def _object_of(self, value: str) -> ChangedInput | None:
        """The input that the instance which has a value is for others."""
        ends = (at for at in range(len(value) - 1, 0, -1) if value[at] in ".[")
        return next((owner for at in ends if (owner := self._owner(value[:at])) is not None), None)

    def path(self, name: str, roots: Collection[str]) -> list[str]:
        """The steps from a change to the nearest of its roots, the root included; none where no chain leads there."""
        before: dict[str, str] = {name: ""}
        waiting = deque([name])
        while waiting:
            at = waiting.popleft()
            if at in roots and at != name:
                steps = [at]
                while before[steps[-1]] != name:
                    steps.append(before[steps[-1]])
                return steps[::-1]
            for step in self._further.get(at, ()):
                if step not in before:
                    before[step] = at
                    waiting.append(step)
        return []
