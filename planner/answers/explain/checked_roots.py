"""Finds the root causes that interventions confirm. An intervention evaluates a value again with one changed input
reverted. The input matters to the value if the value is then different."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

from planner.answers.explain.changed_inputs import RESOURCES, ChangedInput, ChangedInputs, covers

_INPUTS = ("variable", "text", "file")
"""kinds of leaves (ends of chains of causes) that are inputs; other leaves are objects or values that were read"""


class Steps(Protocol):
    """The relations of rules/plan/because.dl. `further`: {name: the next steps towards its causes}. `leaves`: {name at
    which a chain ends: kind}. `forces`: {instance: the steps that each force its replacement}. `besides`: {created
    instance: values that would have changed it if it had existed before}. `renewed`: values that are unknown because
    their instance is replaced. `perhaps_renewed`: values that may be unknown for this reason. `doubtful`: values for
    which not all causes may be known. `alone`: the values in the relation `sole_input`."""

    further: dict[str, list[str]]
    leaves: dict[str, str]
    forces: dict[str, list[str]]
    besides: dict[str, list[str]]
    renewed: set[str]
    perhaps_renewed: set[str]
    doubtful: set[str]
    alone: set[str]

    def is_guess(self, name: str) -> bool:
        """Whether the steps from a name to its causes are only candidates."""


class CheckedRoots:
    """Finds the root causes that interventions confirm. `checks`: {tested value: the changed inputs that matter to it}.
    `unit`: returns the input that a leaf represents. `owner`: returns the change of an instance's resource as an input.
    `instances`: {change of a resource: the changed instances}. `name_of`: returns the name of an input as a root
    cause."""

    def __init__(
        self,
        steps: Steps,
        checks: Mapping[str, ChangedInputs | None],
        unit: Callable[[str], ChangedInput | None],
        owner: Callable[[str], ChangedInput | None],
        instances: Mapping[ChangedInput, Sequence[str]],
        name_of: Callable[[ChangedInput, str], str],
    ) -> None:
        self._steps, self._unit, self._owner = steps, unit, owner
        self._instances, self._name_of = instances, name_of
        self._further, self._leaves = steps.further, steps.leaves
        self._checks = {value: self._only_input(value) if units is None else units for value, units in checks.items()}
        self._known: dict[tuple[str, bool, bool], frozenset[str] | None] = {}
        self._met: dict[str, set[str]] = {}
        """{name: the values and instances between the name and its roots}"""
        self._met_besides: dict[str, set[str]] = {}
        """like `_met`, but for the steps from an instance to its values in `Steps.besides`"""

    def _only_input(self, value: str) -> ChangedInputs | None:
        """The only possible input of a value that could not be tested because a former value is sensitive. It is the
        input at the end of the chain from the value, if no step of this chain has an alternative. None if there may be
        other causes."""
        seen = {value}
        while value in self._steps.alone and not self._is_noted(value):
            steps = self._further.get(value, ())
            if len(steps) != 1 or steps[0] in seen:
                return None
            value = steps[0]
            seen.add(value)
        unit = self._unit(value) if self._leaves.get(value) in _INPUTS else None
        return frozenset((unit,)) if unit is not None else None

    def is_alone(self, name: str) -> bool:
        """Whether a change is its own root cause: it is a leaf, and no step leads from it to a cause."""
        is_reached = name in self._checks or self._further.get(name) or self._steps.forces.get(name)
        return name in self._leaves and not is_reached

    def roots(self, name: str) -> frozenset[str] | None:
        """The confirmed root causes of a change; None if not all of its root causes can be confirmed."""
        return self._behind(name, False, for_others=False)

    def of_value(self, value: str) -> Collection[str]:
        """The confirmed root causes of a value; empty if not all of its root causes can be confirmed."""
        units = self._checks.get(value)
        return (self._behind_value(value, units) if units else None) or ()

    def _behind(self, name: str, only_replaced: bool, for_others: bool = True) -> frozenset[str] | None:
        """The confirmed root causes of a change; None if not all can be confirmed. `only_replaced`: whether to return
        only root causes that force the replacement. `for_others`: whether to include the root causes of values in
        `Steps.besides`, because these matter to objects that read the changed object."""
        key = name, only_replaced, for_others
        if key not in self._known:
            self._known[key] = frozenset()  # for cycles that lead back to this name
            self._known[key] = self._roots(name, only_replaced, for_others)
        return self._known[key]

    def is_guess(self, name: str) -> bool:
        """Whether a step on the paths from a name to its confirmed root causes is only a candidate."""
        seen, waiting = {name}, [name]
        for at in waiting:
            besides = self._met_besides.get(at, set()) if at != name else set()
            met = (self._met.get(at, set()) | besides) - seen
            seen |= met
            waiting += met
        return any(map(self._is_doubtful, seen))

    def _is_doubtful(self, name: str) -> bool:
        if name in self._steps.perhaps_renewed:
            return len({self._behind(step, only) for step in self._further.get(name, ()) for only in (False, True)}) > 1
        if name in self._steps.doubtful:
            return True
        return not (self._checks.get(name) or name in self._met) and self._steps.is_guess(name)

    def _is_noted(self, value: str) -> bool:
        return value in self._steps.perhaps_renewed or value in self._steps.doubtful

    def _roots(self, name: str, only_replaced: bool, for_others: bool) -> frozenset[str] | None:
        if name in self._checks:  # an output is both a change and a value
            units = self._checks[name]
            known = self._behind_value(name, units) if units is not None else None
            return frozenset(known) if known is not None else None
        roots: set[str] = {name} if name in self._leaves else set()
        further = self._steps.forces if only_replaced else self._further
        is_checked = not further.get(name)
        seen, waiting = {name}, [name]
        while waiting:
            at = waiting.pop()
            besides = self._steps.besides.get(name, ()) if for_others and at == name else ()
            for step in [*(further if at == name else self._further).get(at, ()), *besides]:
                met = self._met_besides if step in besides else self._met
                behind: Collection[str] | None = ()
                if step == name:  # the step leads back to the change
                    continue
                if step in self._checks:
                    units = self._checks[step]
                    behind = self._behind_value(step, units) if units is not None else None
                    met.setdefault(name, set()).add(step)
                    is_checked = True
                elif self._owner(step) is not None:
                    # the path does not go through an untested value, unless the provider decides that value
                    is_own = at != name and self._object_of(at) == self._owner(step)
                    behind = self._behind(step, is_own and at in self._steps.renewed) if at == name or is_own else None
                    met.setdefault(name, set()).update((step, *([at] if self._is_noted(at) else [])))
                    is_checked = True
                elif step not in seen:
                    seen.add(step)
                    waiting.append(step)
                    # a leaf that is reached only through an untested value cannot be confirmed
                    behind = None if at != name and step in self._leaves else [step] if step in self._leaves else []
                if behind is None:
                    return None
                roots.update(behind)
        return frozenset(roots) if is_checked else None

    def _behind_value(self, value: str, units: ChangedInputs) -> set[str] | None:
        """The confirmed root causes of a tested value: the leaves whose inputs matter to it, and the root causes of the
        objects that matter to it. None if not all can be confirmed. `units`: the inputs that matter to the value."""
        if not units and value in self._leaves:
            return {value}
        roots: set[str] = set()
        met: set[ChangedInput] = set()
        through = self._met.setdefault(value, set())
        leaves, objects, values, steps = self._nearest(value, units)
        met_objects = {unit for unit in map(self._object_of, values) if unit is not None}
        for at in values:
            inner = self._checks[at]
            of_value = self._behind_value(at, inner) if inner is not None else None
            if of_value is None:
                return None
            through.add(at)
            # if a value is newly configured, other values do not see that it was changed outside planner
            roots |= of_value - ({at} if inner and self._leaves.get(at) == "drift" else set())
        for leaf in leaves:
            unit = self._unit(leaf)
            if self._leaves[leaf] not in _INPUTS and (leaf == value or unit is None):
                if not units or self._leaves[leaf] != "as-before":
                    roots.add(leaf)
                continue
            fitting = {one for one in units if unit is not None and covers(one, unit)}
            if unit is None or fitting or not units:
                roots |= self._parts(leaf, unit, fitting, value)
                met |= fitting
        met_objects |= {owner for instance in objects if (owner := self._owner(instance)) is not None}
        for unit in units - met:
            changed = _as_object(unit)
            for instance in self._instances.get(changed, ()) if changed not in met_objects else ():
                objects[instance] = changed not in units
        for instance, only_replaced in objects.items():
            if self._is_in(units, instance):
                behind = self._behind(instance, only_replaced)
                if behind is None:
                    return None
                through.add(instance)
                roots |= behind
        missing = {unit for unit in units - met if unit.kind not in RESOURCES}
        for unit in units - met:
            if unit.kind == "object" and not self._instances.get(unit) and not _is_among(unit, steps):
                if not unit.name.startswith("data."):
                    return None
                missing.add(unit)  # the data source was read while planning
        return roots | {self._leaf_or_name(unit, value) for unit in missing}

    def _parts(self, leaf: str, unit: ChangedInput | None, fitting: Collection[ChangedInput], value: str) -> set[str]:
        """The root causes for a leaf. If the leaf is a variable or a file of which only some keys or entries matter,
        the root causes are these keys or entries. Otherwise it is the leaf itself. `fitting`: the inputs that matter
        and are part of the leaf."""
        if unit is None or unit.kind not in ("variable", "file") or not fitting:
            return {leaf}
        deeper = [one.path[len(unit.path) :] for one in fitting]
        if not all(path and (unit.kind == "file" or path[0][1].__class__ is str) for path in deeper):
            return {leaf}
        return {self._name_of(one, value) for one in fitting}

    def _leaf_or_name(self, unit: ChangedInput, value: str) -> str:
        """The root cause for an input of a value. If exactly one leaf on the chains from the value represents the
        input, it is this leaf, otherwise the name of the input."""
        seen, waiting = {value}, [value]
        while waiting:
            for step in self._further.get(waiting.pop(), ()):
                if step not in seen:
                    seen.add(step)
                    waiting.append(step)
        leaves = [leaf for leaf in seen if self._leaves.get(leaf) in _INPUTS]
        if unit.kind not in ("variable", "file", "repetition"):
            return self._name_of(unit, value)  # the leaf may be a different part of the expression
        known = [leaf for leaf in leaves if (of := self._unit(leaf)) is not None and covers(of, unit)]
        is_entry = unit.kind == "file" and bool(unit.path)
        return known[0] if len(known) == 1 and not is_entry else self._name_of(unit, value)

    def _nearest(self, value: str, units: ChangedInputs) -> tuple[set[str], dict[str, bool], set[str], set[str]]:
        """Search the steps from `value` towards its causes, up to changed instances and up to tested values of objects.
        Returns (leaves, {changed instance: whether only its replacement matters}, tested values, all values) that the
        search reaches. `units`: the inputs that matter to `value`."""
        leaves, values, seen = set(), set(), {value}
        objects: dict[str, bool] = {}
        waiting = deque([value])
        while waiting:
            at = waiting.popleft()
            if at in self._leaves:
                leaves.add(at)
            for step in self._further.get(at, ()):
                owner = None
                if (changed := self._owner(step)) is not None:
                    objects[step] = changed not in units
                    if self._is_noted(at) and self._is_in(units, step):
                        self._met[value].add(at)
                elif step in self._checks and (owner := self._object_of(step)) in units:
                    if owner is not None and owner.kind == "object":
                        values.add(step)
                elif step not in seen:
                    seen.add(step)
                    waiting.append(step)
        return leaves, objects, values, seen | values

    def _is_in(self, units: ChangedInputs, instance: str) -> bool:
        """Whether the inputs `units` contain the change of the instance's resource, or the values that are unknown
        because the instance is replaced."""
        return _is_met(self._owner(instance), units)

    def _object_of(self, value: str) -> ChangedInput | None:
        """The change of the resource whose instance contains a value, as an input; None if no changed instance contains
        it."""
        owners = (self._owner(whole) for whole in wholes(value) if whole != value)
        return next((owner for owner in owners if owner is not None), None)

    def ways(self, name: str, is_forced: bool) -> Iterator[list[str]]:
        """The paths from the parts of a change to their causes that interventions confirmed. A path begins at a part of
        the change (if `is_forced`, at a part that forces the replacement). It ends at a changed object or at a root
        cause that matters to this part."""
        inside = (f"{name}.", f"{name}[")
        forced = self._steps.forces.get(name, ())
        others = [part for part in self._further.get(name, ()) if part not in forced]
        parts = [*forced] if is_forced else [name] if name in self._checks else others
        for part in parts:
            if part in self._checks:
                yield from self._ways_of(name, part, self._checks[part] or frozenset())
            elif part.startswith(inside):
                parts += [step for step in self._further.get(part, ()) if step.startswith(inside) and step not in parts]
            elif self._object_of(f"{part}.") is not None:
                yield [part]

    def matters_to(self, root: str, part: str) -> bool:
        """Whether the input that the root cause `root` represents matters to the tested value `part`."""
        unit = self._unit(root)
        return unit is not None and any(covers(one, unit) for one in self._checks.get(part) or ())

    def behind_way(self, value: str, instance: str) -> Collection[str] | None:
        """The confirmed root causes of the last step of a path. They are those of `value` if it was tested, otherwise
        those of the changed `instance`, which contains the value. None if not all can be confirmed."""
        units = self._checks.get(value)
        return self._behind_value(value, units) if units else self._behind(instance, value in self._steps.renewed)

    def _ways_of(self, name: str, part: str, units: ChangedInputs) -> Iterator[list[str]]:
        before = {part: ""}
        waiting = deque([part])
        while waiting:
            at = waiting.popleft()
            owner = self._object_of(f"{at}.")
            is_end = owner is not None and not f"{at}.".startswith((f"{name}.", f"{name}["))
            unit = self._unit(at) if at in self._leaves and not is_end else None
            if (is_end and _is_met(owner, units)) or (unit is not None and any(covers(one, unit) for one in units)):
                yield _steps_to(at, before)
            for step in () if is_end else self._further.get(at, ()):
                if step not in before:
                    before[step] = at
                    waiting.append(step)

    def path(self, name: str, roots: Collection[str], unknown: Collection[str] = ()) -> list[str]:
        """The steps from a change to the nearest of these root causes. Steps that force replacements are preferred.
        Empty if no chain leads to one of them. `unknown`: the unknown values; if possible, the steps explain why they
        are unknown."""
        ends = {self._end_of(root): root for root in sorted(roots, reverse=True)}
        units = [self._unit(root) for root in ends.values()]
        known = [unit for unit in units if unit is not None]
        ways = [(True, unknown), (True, ()), (False, ())] if unknown else [(True, ()), (False, ())]
        for inputs in (known, ()) if len(known) == len(units) else ((),):
            for is_forced, open_ones in ways:
                steps = self._path_by(name, ends, is_forced, open_ones, inputs)
                if steps:
                    return [*steps[:-1], ends[steps[-1]]]
        return []

    def _end_of(self, root: str) -> str:
        """The leaf to which chains lead for a root cause. For an entry of a file, this is the file; otherwise it is the
        root cause itself."""
        unit = self._unit(root) if root not in self._leaves else None
        if unit is None or unit.kind != "file":
            return root
        file = unit._replace(path=())
        files = (leaf for leaf, kind in self._leaves.items() if kind == "file")
        return next((leaf for leaf in files if self._unit(leaf) == file), root)

    def _path_by(
        self,
        name: str,
        roots: Collection[str],
        is_forced: bool,
        unknown: Collection[str],
        units: Collection[ChangedInput],
    ) -> list[str]:
        """The shortest path from a change to one of `roots`, for `path`; empty if there is none. If `units` is not
        empty, the path does not lead through tested values to which only other inputs matter."""
        before: dict[str, str] = {name: ""}
        waiting = deque([name])
        while waiting:
            at = waiting.popleft()
            if at in roots and at != name:
                return _steps_to(at, before)[1:]
            is_replaced = is_forced and (before[at] == "" or before[at] in self._steps.renewed)
            forced = self._steps.forces.get(at, ()) if is_replaced else ()
            steps = forced or self._further.get(at, ())
            if at in unknown and not any(one.startswith((f"{at}.", f"{at}[")) for one in steps):
                steps = [one for one in steps if one in unknown or self._owner(one) is not None] or steps
            for step in steps:
                if step not in before and not (units and self._is_of_others(step, units)):
                    before[step] = at
                    waiting.append(step)
        return []

    def _is_of_others(self, value: str, units: Collection[ChangedInput]) -> bool:
        """Whether inputs matter to a tested value, but none of them is in `units` or is a change of a resource."""
        known = self._checks.get(value) or ()
        matter = (one.kind in RESOURCES or any(covers(one, unit) for unit in units) for one in known)
        return bool(known) and not any(matter)


def wholes(name: str) -> Iterator[str]:
    """A name, and the names of the values that contain it, from the innermost to the outermost: `a.b[0]`, `a.b`,
    `a`."""
    return (name[:at] for at in range(len(name), 0, -1) if at == len(name) or name[at] in ".[")


def _steps_to(end: str, before: Mapping[str, str]) -> list[str]:
    """The steps from the start of a search to `end`. `before`: {step: previous step}."""
    steps = [end]
    while before[steps[-1]]:
        steps.append(before[steps[-1]])
    return steps[::-1]


def _is_met(owner: ChangedInput | None, units: ChangedInputs) -> bool:
    """Whether the inputs `units` contain `owner` (the change of a resource), or the values that are unknown because
    instances of this resource are replaced."""
    return any(_as_object(unit) == owner for unit in units)


def _is_among(unit: ChangedInput, names: Collection[str]) -> bool:
    """Whether one of the names is that of an instance of the resource in `unit`, or of a value in such an instance."""
    return any(f".{unit.name}{end}" in f".{name}." for name in names for end in ".[")


def _as_object(unit: ChangedInput) -> ChangedInput:
    """The input. If its kind is `renewed` (values that are unknown because an object is replaced), the result is the
    change of the object."""
    return unit._replace(kind="object") if unit.kind == "renewed" else unit
