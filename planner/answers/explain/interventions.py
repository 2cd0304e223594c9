"""Interventions: what a value would be if only some of the inputs that changed since the former world had changed.

An input matters to a value if it makes it what it is now, with some of the others; to one that is not known yet, if it
makes a difference at all. The value is evaluated with subsets of the changes, by the same engine. So
`length(var.names)` does not depend on a name that was replaced by another one, `c ? a : b` on `b` only if c chooses it,
and what one of two causes hides is a cause, too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.origins import Path, differing, same_parts, uses_files
from planner.answers.explain.places import LocationLookup, ValueLocation, place_name, select
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.lazy import LazyContext
from planner.engine.evaluation.repetition import expand
from planner.engine.evaluation.scope import is_unrecorded
from planner.foundation.support.disk import Entry, Tree, list_directory, read_whole, view
from planner.foundation.values.value import List, Map, Marked, Null, Value, is_wholly_known
from planner.foundation.vocabulary.address import InstanceKey, format_module, format_resource, join, parse_module
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, Expr, ModuleCall, ModuleConfig, ModulePath, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.config.variables import RootVariable
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.nodes import Expression
from planner.logic.model.plan import ResourceChange

MOST_ENUMERATED = 5
"""inputs of which all subsets are tried; of more the ends, and pairs"""
MOST_UNITS = 24
RESOURCES = ("instances", "object")
"""kinds of inputs that are about a resource"""
_REPETITION = ("count", "for_each", "enabled")


class ChangedInput(NamedTuple):
    """An input that changed: a part of a root `variable`, a `file`, the text of an expression (`local`, `output`,
    `argument` of a module call or its default, `repetition`, `attribute`), or of a resource: which `instances` it has,
    and what its `object`s are. `name`: within its module."""

    kind: str
    module: ModulePath
    name: str
    path: Path = ()


ChangedInputs: TypeAlias = frozenset[ChangedInput]
_UNKNOWN = "unknown"
"""the kind of an input of which is not on record what it was: it stays as it is now"""
_NOTHING = object()
"""the outcome where there is no value"""
_INVALID = object()
"""the outcome where a mixture is not a valid configuration"""


class UncheckedError(Exception):
    """The inputs of a value cannot be distinguished."""


class Interventions:
    """The inputs that matter to values of a plan. `places`: of the plan; `given`: its root variables; `changing`: the
    resources with an instance that changes, or did so outside, as inputs."""

    def __init__(
        self,
        former: FormerWorld,
        places: LocationLookup,
        given: Mapping[str, RootVariable],
        changing: Collection[ChangedInput],
    ) -> None:
        self.former, self.places, self.given, self.changing = former, places, given, changing
        self._now = {module.path: module for module in places.context.config.root.walk()}
        was = {module.path: module for module in former.context.config.root.walk()}
        self._was = {path: was[one] for path in self._now if (one := self._former_path(path)) in was}
        self._known: dict[ValueLocation, ChangedInputs | None] = {}
        self._texts: dict[tuple[ModulePath, str, str], ChangedInputs] = {}
        self._contexts: dict[ChangedInputs, LazyContext] = {}
        self._union: Config | None = None

    def matters(self, place: ValueLocation) -> ChangedInputs | None:
        """The inputs that matter to the value at a place; None where that cannot be decided."""
        if place not in self._known:
            try:
                self._known[place] = self._decide(place)
            except (UncheckedError, RecursionError):
                self._known[place] = None
        return self._known[place]

    def _decide(self, place: ValueLocation) -> ChangedInputs:
        inputs = self._units_of(place)
        units = frozenset(unit for unit in inputs if unit.kind != _UNKNOWN)
        if len(units) > MOST_UNITS or (units != inputs and not self._is_enough(place, units)):
            raise UncheckedError
        if not units:
            return units
        now = self._outcome(place, units, units)
        if now is _INVALID:
            raise UncheckedError
        outcomes: dict[ChangedInputs, Any] = {units: now}

        def matters(without: ChangedInputs, within: ChangedInputs) -> bool:
            for subset in (without, within):
                if subset not in outcomes:
                    outcomes[subset] = self._outcome(place, subset, units)
            before, after = outcomes[without], outcomes[within]
            if _INVALID in (before, after) or _same(before, after):
                return False
            return _same(after, now) or not is_decided

        is_decided = now is _NOTHING or is_wholly_known(now)
        return frozenset(unit for unit in units if any(matters(s, s | {unit}) for s in _subsets(units, unit)))

    def _is_enough(self, place: ValueLocation, units: ChangedInputs) -> bool:
        """Whether taking back all of these inputs takes back the value of an object."""
        before, is_known = self.former.value(place) if place.kind == "resource" else (None, False)
        return is_known and before is not None and _same(self._outcome(place, frozenset(), units), before)

    def _former_path(self, path: ModulePath) -> ModulePath:
        """The path that a module had before it was moved."""
        instance = next(iter(self.places.context.instances(path)), None)
        return path if instance is None else self.former.names.module(instance.text).path

    def former_module(self, path: ModulePath) -> ModuleConfig | None:
        """A module in its former version; None where there was none."""
        return self._was.get(path)

    # ---------------------------------------------------------------- inputs that changed

    def _units_of(self, place: ValueLocation) -> ChangedInputs:
        """The changed inputs that the value at a place mentions, directly or through names, now or formerly."""
        module, path = place.module, place.module.config.path
        if place.kind == "resource":
            now, was = self._attribute(place)
            unit = ChangedInput("attribute", path, join(place.name, str(place.path[0][1])))
            return self._text(unit, now, was, module, place.name)
        if place.kind == "each":
            return self._repetition(path, place.name, module)
        if place.kind == "each_call":
            return self._repetition(path, f"module.{place.name}", module)
        if place.kind == "output":
            return self._of_name(module, "output", place.name)
        raise UncheckedError

    def _attribute(self, place: ValueLocation) -> tuple[Any, Any]:
        """The present and the former expression of an argument at the top of a resource."""
        now, was = self.places.whole_text(place), self.former.text(place)
        if now is None and was is None:
            raise UncheckedError
        return now, was

    def _repetition(self, path: ModulePath, block: str, module: ModuleInstance) -> ChangedInputs:
        """The inputs of the repetition of a block."""
        units: ChangedInputs = frozenset()
        now, was = _block(self._now.get(path), block), self._former_block(module, block)
        for argument in _REPETITION if was is not None else ():
            before, after = _expr(getattr(now, argument, None)), _expr(getattr(was, argument, None))
            units |= self._text(ChangedInput("repetition", path, f"{block}.{argument}"), before, after, module)
        return units

    def _former_block(self, module: ModuleInstance, block: str) -> ResourceDecl | ModuleCall | None:
        was = self._was.get(module.config.path)
        if block.startswith("module."):
            child = self._was.get((*module.config.path, block.removeprefix("module.")))
            return child.call if child is not None else None
        return _block(was, self.former.names.resource(module.text, block, None)[1])

    def _text(self, unit: ChangedInput, now: Any, was: Any, module: ModuleInstance, block: str = "") -> ChangedInputs:
        """The inputs of an expression: its text, if it is another, and what it mentions now, and did."""
        key = (unit.module, unit.kind, unit.name)
        if key in self._texts:
            return self._texts[key]
        if self.former.lacks(module):
            raise UncheckedError
        self._texts[key] = frozenset()
        units: set[ChangedInput] = set()
        nodes = [given.node for given in (now, was) if given is not None]
        if len(nodes) == 2 and self.former.is_same_text(module, *nodes):
            nodes = nodes[:1]
        elif nodes:
            units.add(unit if not _is_lost(was) else unit._replace(kind=_UNKNOWN))
        for node in nodes:
            for mention in variables(node):
                ref = parse_reference(mention)
                if isinstance(ref, Ref):
                    units |= self._mention(ref, module, block)
            if any(map(uses_files, function_calls(node))):
                units |= self._files(node, now or was, module)
        self._texts[key] = frozenset(units)
        return self._texts[key]

    def _mention(self, ref: Ref, module: ModuleInstance, block: str) -> ChangedInputs:
        path = module.config.path
        if ref.kind in ("var", "local"):
            return self._of_name(module, ref.kind, ref.name)
        if ref.kind == "resource":
            units = frozenset(ChangedInput(kind, path, ref.name) for kind in RESOURCES) & frozenset(self.changing)
            is_read = self._reads_otherwise(module, ref.name)
            return units | {ChangedInput("object", path, ref.name)} if is_read else units
        if ref.kind in ("output", "module"):
            child = next(iter(self.places.context.instances((*path, ref.name))), None)
            is_whole = ref.kind == "module" or ref.key is None
            units = self._repetition(path, f"module.{ref.name}", module) if is_whole else frozenset()
            if child is None:
                return units
            names = (ref.output,) if ref.kind == "output" else child.config.outputs
            return units.union(*(self._of_name(child, "output", name) for name in names))
        if ref.kind in ("each", "count") and block:
            return self._repetition(path, block, module)
        return frozenset()

    def _reads_otherwise(self, module: ModuleInstance, name: str) -> bool:
        """Whether a data source gave something else now than the state has."""
        decl = module.config.resources.get(name)
        if decl is None or decl.mode != "data":
            return False
        place = ValueLocation(module, "resources" if decl.count or decl.for_each else "resource", name)
        return self.former.status(place, self.places.value(place)) == "other"

    def _of_name(self, module: ModuleInstance, kind: str, name: str) -> ChangedInputs:
        """The inputs of a variable, a local value or an output."""
        path = module.config.path
        now, was = self._now.get(path), self._was.get(path)
        if kind == "var":
            return self._variable(name) if module.parent is None else self._argument(module, name)
        tables = [(one.locals if kind == "local" else one.outputs) if one is not None else {} for one in (now, was)]
        before, after = (_expr(_expression(table.get(name))) for table in tables)
        return self._text(ChangedInput(kind, path, name), before, after, module)

    def _variable(self, name: str) -> ChangedInputs:
        """The parts of a root variable that changed."""
        now, was = self.given.get(name), self.former.context.given.get(name)
        if now is None or was is None:
            return frozenset()
        if not is_wholly_known(was.value):
            return frozenset((ChangedInput(_UNKNOWN, (), name),))
        return frozenset(ChangedInput("variable", (), name, path) for path, _ in differing(was.value, now.value))

    def _argument(self, module: ModuleInstance, name: str) -> ChangedInputs:
        path = module.config.path
        assert module.parent is not None
        pairs = [
            (one.call.inputs.get(name), one.variables.get(name))
            if one is not None and one.call is not None
            else (None, None)
            for one in (self._now.get(path), self._was.get(path))
        ]
        exprs = [_EitherText(attribute.expr) if attribute is not None else None for attribute, _ in pairs]
        units = self._text(
            ChangedInput("argument", path, name), exprs[0], exprs[1], module.parent, f"module.{path[-1]}"
        )
        defaults = [decl.default if decl is not None else None for _, decl in pairs]
        if None in exprs and not (
            _is_lost(exprs[1]) or defaults[0] is defaults[1] or _same(*(_NOTHING if d is None else d for d in defaults))
        ):
            units |= {ChangedInput("argument", path, name)}
        return units

    def _files(self, node: Expression, given: Any, module: ModuleInstance) -> ChangedInputs:
        """The files that an expression reads or lists, as far as they changed."""
        scope, source = getattr(given, "scope", module.scope), getattr(given, "source", None)
        files = self.former.files(lambda: try_evaluate(node, scope, source))
        if "unknown" in files.values():
            raise UncheckedError
        return frozenset(ChangedInput("file", (), name) for name, status in sorted(files.items()) if status == "other")

    # ---------------------------------------------------------------- mixtures

    def _outcome(self, place: ValueLocation, new: ChangedInputs, units: ChangedInputs) -> Any:
        """The value at a place if only these of the inputs are what they are now."""
        if new == units:
            return self._value_now(place)
        context = self._context(new, units)
        with view(_MixedTree(self.former.tree, {unit.name for unit in new if unit.kind == "file"})):
            module = context.module(place.module.address)
            if module is None:
                return _NOTHING
            try:
                return self._evaluate(place, module, new)
            except Failure:
                return _INVALID

    def _value_now(self, place: ValueLocation) -> Any:
        if place.kind in ("each", "each_call"):
            return _presence(place, place.module)
        given = self.places.whole_text(place) if place.kind == "resource" else None
        if given is not None:
            return _part(given.evaluate(given.node), given.rest)
        if place.kind == "resource":
            return _NOTHING
        return _part(place.module.outputs.get(place.name), place.path)

    def _evaluate(self, place: ValueLocation, module: ModuleInstance, new: ChangedInputs) -> Any:
        if place.kind in ("each", "each_call"):
            return _presence(place, module)
        if place.kind == "output":
            return _part(module.outputs.get(place.name), place.path)
        decl = module.config.resources[place.name]
        unit = ChangedInput("attribute", module.config.path, join(place.name, str(place.path[0][1])))
        now, was = self._attribute(place)
        given = now
        if unit not in new and not _is_lost(was):
            is_same = was is not None and now is not None and self.former.is_same_text(module, now.node, was.node)
            given = now if is_same else was
        if given is None:
            return _NOTHING
        expansion = expand(decl, module.scope, place.root_text)
        repetition = expansion.instances.get(place.key)
        if repetition is None:
            return _NOTHING
        mixed = given._replace(scope=module.with_repetition(repetition))
        return _part(mixed.evaluate(mixed.node), mixed.rest)

    def _context(self, new: ChangedInputs, units: ChangedInputs) -> LazyContext:
        """The values of a mixture: of the inputs, these are new, the others old; all else is as it is now."""
        key = frozenset((*new, ChangedInput("", (), ""), *(ChangedInput(f"old {u.kind}", *u[1:]) for u in units - new)))
        if key not in self._contexts:
            old = units - new
            given = {name: self._mixed_variable(name, new) for name in self.given}
            config = Config(self._mixed_module(self._whole().root, old, None), {})
            former = self.former
            objects = _MixedObjects(self.places, former, {unit for unit in old if unit.kind in RESOURCES})
            context = self.places.context
            self._contexts[key] = LazyContext(
                config, given, context.schemas, objects, context.workspace, context.plan_timestamp
            )
        return self._contexts[key]

    def _mixed_variable(self, name: str, new: ChangedInputs) -> RootVariable:
        now, was = self.given[name], self.former.context.given.get(name)
        if was is None or not is_wholly_known(was.value):
            return now
        chosen = {unit.path for unit in new if unit.kind == "variable" and unit.name == name}
        return evolve(now, value=_mix(was.value, now.value, (), chosen))

    def _whole(self) -> Config:
        """The present configuration, with what only the former one declares."""
        if self._union is None:
            root = self.places.context.config.root
            self._union = Config(_union(root, self._was.get(())), {})
        return self._union

    def _mixed_module(self, module: ModuleConfig, old: ChangedInputs, call: ModuleCall | None) -> ModuleConfig:
        """A module with the old texts of some of its expressions."""
        path, was = module.path, self._was.get(module.path)
        if was is None or not any(unit.module[: len(path)] == path for unit in old if unit.kind not in _NO_TEXTS):
            return module if call is module.call or call is None else evolve(module, call=call)
        mine = [unit for unit in old if unit.module == path]
        tables: dict[str, Any] = {
            "locals": dict(module.locals),
            "outputs": dict(module.outputs),
            "variables": dict(module.variables),
            "resources": dict(module.resources),
            "calls": dict(module.calls),
        }
        for unit in mine:
            if unit.kind in ("local", "output"):
                table, before = tables[f"{unit.kind}s"], getattr(was, f"{unit.kind}s")
                if unit.name in before:
                    table[unit.name] = before[unit.name]
            elif unit.kind == "argument" and unit.name in was.variables:
                tables["variables"][unit.name] = was.variables[unit.name]
            elif unit.kind == "repetition":
                block, _, argument = unit.name.rpartition(".")
                instance = next(iter(self.places.context.instances(path)), None)
                if instance is not None:
                    _exchange(tables, self._former_block(instance, block), block, argument)
        for name, called in tables["calls"].items():
            inputs, below = dict(called.inputs), (*path, name)
            child = self._was.get(below)
            former_call = child.call if child is not None else None
            for unit in old:
                if unit.kind == "argument" and unit.module == below and former_call is not None:
                    if unit.name in former_call.inputs:
                        inputs[unit.name] = former_call.inputs[unit.name]
                    else:
                        inputs.pop(unit.name, None)
            tables["calls"][name] = evolve(called, inputs=inputs)
        children = {
            name: self._mixed_module(child, old, tables["calls"].get(name)) for name, child in module.children.items()
        }
        return evolve(module, call=call or module.call, children=children, **tables)


_NO_TEXTS = ("variable", "file", *RESOURCES, "attribute")


class _EitherText(NamedTuple):
    node: Expression


def _expr(expr: Expr | None) -> _EitherText | None:
    return _EitherText(expr.node) if expr is not None else None


def _expression(decl: Any) -> Expr | None:
    return getattr(decl, "expr", None) or getattr(decl, "value", None) if decl is not None else None


def _block(module: ModuleConfig | None, name: str) -> ResourceDecl | ModuleCall | None:
    if module is None:
        return None
    return module.calls.get(name.removeprefix("module.")) if name.startswith("module.") else module.resources.get(name)


def _exchange(tables: dict[str, Any], before: Any, block: str, argument: str) -> None:
    """Give a block the old text of its repetition."""
    table, name = ("calls", block.removeprefix("module.")) if block.startswith("module.") else ("resources", block)
    if before is not None and name in tables[table]:
        tables[table][name] = evolve(tables[table][name], **{argument: getattr(before, argument)})


def _union(now: ModuleConfig, was: ModuleConfig | None) -> ModuleConfig:
    if was is None:
        return now
    tables: dict[str, Any] = {
        name: {**getattr(was, name), **getattr(now, name)}
        for name in ("variables", "locals", "outputs", "resources", "calls")
    }
    children = {**was.children, **{name: _union(one, was.children.get(name)) for name, one in now.children.items()}}
    return evolve(now, children=children, **tables)


def _is_lost(was: Any) -> bool:
    """Whether parts of a former expression are not on record."""
    return was is not None and any(map(is_unrecorded, variables(was.node)))


def _subsets(units: ChangedInputs, without: ChangedInput) -> Iterator[ChangedInputs]:
    """The subsets of inputs to try an input with: all of them, or for many the smallest and the largest."""
    rest = sorted(units - {without}, key=str)
    if len(units) <= MOST_ENUMERATED:
        sizes: Iterable[int] = range(len(rest) + 1)
    else:
        sizes = sorted({0, 1, len(rest) - 1, len(rest)})
    for size in sizes:
        yield from map(frozenset, combinations(rest, size))


def _presence(place: ValueLocation, module: ModuleInstance) -> Any:
    """Whether a block has the instance that a place of its repetition is about; its number of instances otherwise."""
    table: Mapping[str, Any] = module.config.calls if place.kind == "each_call" else module.config.resources
    instances = expand(table[place.name], module.scope, str(place)).instances
    return place.path[0][1] in instances if place.path else len(instances)


def _part(value: Value, path: Path) -> Any:
    parts = select(value, path) if value is not None else []
    return parts[0][1] if parts and len(parts[0][0]) == len(path) else _NOTHING


def _same(one: Any, other: Any) -> bool:
    """Whether two outcomes are equal; two values that are not known are."""
    if _NOTHING in (one, other) or one.__class__ is bool or one.__class__ is int:
        return one is other or (one.__class__ is other.__class__ and one == other)
    known = is_wholly_known(one), is_wholly_known(other)
    return known == (False, False) or (known == (True, True) and same_parts(one, other))


def _mix(was: Value, now: Value, path: Path, chosen: Collection[Path]) -> Value:
    """A value with some of its differing parts as they are now, the others as they were."""
    if path in chosen:
        return now
    if not any(one[: len(path)] == path for one in chosen):
        return was
    if was.__class__ is Marked and now.__class__ is Marked:
        return Marked(_mix(was.value, now.value, path, chosen), now.marks)
    if was.__class__ is dict and now.__class__ is dict:
        return _mixed_items(was, now, "attr", path, chosen)
    if was.__class__ is Map and now.__class__ is Map:
        return Map(now.element, _mixed_items(was.items, now.items, "index", path, chosen))
    if was.__class__ is now.__class__ is tuple and len(was) == len(now):
        return tuple(_mix(a, b, (*path, ("index", i)), chosen) for i, (a, b) in enumerate(zip(was, now, strict=True)))
    if was.__class__ is List and now.__class__ is List and len(was.items) == len(now.items):
        pairs = enumerate(zip(was.items, now.items, strict=True))
        return List(now.element, tuple(_mix(a, b, (*path, ("index", i)), chosen) for i, (a, b) in pairs))
    return now


def _mixed_items(
    was: Mapping[str, Value], now: Mapping[str, Value], kind: str, path: Path, chosen: Collection[Path]
) -> dict[str, Value]:
    items = {}
    for key in sorted({**was, **now}):
        inner = (*path, (kind, key))
        if key in was and key in now:
            items[key] = _mix(was[key], now[key], inner, chosen)
        elif (key in now) == any(one == inner for one in chosen):
            items[key] = now[key] if key in now else was[key]
    return items


class _MixedObjects:
    """The objects of a plan, but for some resources those of the state (planner.engine.evaluation.context)."""

    def __init__(self, places: LocationLookup, former: FormerWorld, old: Collection[ChangedInput]) -> None:
        self._now, self._was, self._old = places.context, former, old

    def _objects(self, module: ModuleInstance, resource: ResourceDecl, is_old: bool) -> Any:
        """The instances of a resource in one of the worlds, or in the other where that does not declare it."""
        address, former_name, _ = self._was.names.resource(module.text, resource.key, None)
        was = self._was.context.module(address), former_name
        now = self._now.module(module.address), resource.key
        for there, name in (was, now) if is_old else (now, was):
            if there is not None and name in there.config.resources:
                return there.resource(name)
        return None

    def _is_old(self, kind: str, module: ModuleInstance, resource: ResourceDecl) -> bool:
        return ChangedInput(kind, module.config.path, resource.key) in self._old

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        there = self._objects(module, resource, self._is_old("instances", module, resource))
        if there is None:
            return None
        known = there.context.objects.keys(there.module, there.decl) or ()
        return [key for key in {*known, *there.planned} if there.instance(key) is not None]

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        return ()

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        is_old = self._is_old("object", module, resource)
        worlds = [self._objects(module, resource, one) for one in (is_old, not is_old)]
        instances = (there.instance(key) for there in worlds if there is not None)
        return next((instance for instance in instances if instance is not None), None)


class _MixedTree:
    """The former files, but for some the present ones."""

    root = "/"

    def __init__(self, former: Tree, new: Collection[str]) -> None:
        self._former, self._new = former, {os.path.abspath(name) for name in new}

    def read(self, name: str) -> bytes:
        """As planner.foundation.support.disk.Tree."""
        with view(None if f"/{name}" in self._new else self._former):
            return read_whole(f"/{name}")

    def entries(self, directory: str) -> Iterable[Entry]:
        """As planner.foundation.support.disk.Tree."""
        entries: dict[str, Entry] = {}
        for tree, is_new in ((self._former, False), (None, True)):
            with view(tree):
                try:
                    listed = list_directory(f"/{directory}")
                except OSError:
                    continue
            entries |= {e.name: e for e in listed if (os.path.join(f"/{directory}", e.name) in self._new) == is_new}
        return list(entries.values())


def describe(unit: ChangedInput, config: Config) -> tuple[str, str, Span | None]:
    """The name of an input as a root cause, its kind as that, and its place."""
    if unit.kind == "variable":
        return place_name(f"var.{unit.name}", unit.path), "variable", None
    if unit.kind == "file":
        return f"file {unit.name}", "file", None
    path = format_module((name, None) for name in unit.module)
    module = config.root.descendant(unit.module)
    if unit.kind == "local" and module is not None and unit.name in module.locals:
        return f"the text of {join(path, f'local.{unit.name}')}", "text", module.locals[unit.name].expr.span
    if unit.kind == "output":
        name = f"{path}.{unit.name}" if path else f"output.{unit.name}"
        known = module is not None and unit.name in module.outputs
        return f"the text of {name}", "text", module.outputs[unit.name].value.span if known and module else None
    if unit.kind == "argument":
        name, call = join(path, f"var.{unit.name}"), module.call if module is not None else None
        argument = call.inputs.get(unit.name) if call is not None else None
        variable = module.variables.get(unit.name) if module is not None else None
        span = argument.expr_span if argument is not None else variable.span if variable is not None else None
        return f"the text of {name}", "text", span
    name = join(path, unit.name)
    block, _, argument_name = unit.name.rpartition(".")
    decl = _block(module, block)
    expr = getattr(decl, argument_name, None) if unit.kind == "repetition" else None
    return f"the text of {name}", "text", expr.span if expr is not None else decl.span if decl is not None else None


def changed_resource(change: ResourceChange) -> ChangedInput:
    """The input that the change of an instance is for others."""
    comes_or_goes = change.mode != "data" and Null in (change.before.__class__, change.after.__class__)
    key = format_resource("", change.mode, change.type, change.name)
    return ChangedInput("instances" if comes_or_goes else "object", parse_module(change.module).path, key)


def unit_of(place: ValueLocation) -> ChangedInput | None:
    """The input that the value at a place is itself, or its expression; None for what is not written down."""
    path, name = place.module.config.path, place.name
    if place.kind == "var":
        return (
            ChangedInput("variable", (), name, place.path)
            if place.module.parent is None
            else ChangedInput("argument", path, name)
        )
    if place.kind in ("local", "output"):
        return ChangedInput(place.kind, path, name)
    if place.kind == "resource" and place.path:
        return ChangedInput("attribute", path, join(name, str(place.path[0][1])))
    if place.kind in ("each", "each_call"):
        block = name if place.kind == "each" else f"module.{name}"
        return ChangedInput("repetition", path, f"{block}.")
    return None


def covers(one: ChangedInput, other: ChangedInput) -> bool:
    """Whether two inputs are the same, or one is a part of the other."""
    if one.kind == other.kind == "repetition":
        return one.module == other.module and (one.name.startswith(other.name) or other.name.startswith(one.name))
    if one[:3] != other[:3]:
        return False
    keys = [[key for _, key in unit.path] for unit in (one, other)]
    shortest = min(map(len, keys))
    return keys[0][:shortest] == keys[1][:shortest]
