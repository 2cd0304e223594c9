"""Interventions: an intervention computes the value that would result if only some of the changed inputs had changed.
The engine itself evaluates the expressions, with subsets of the changes. An input matters if, for some combination of
the other inputs, the value depends on it. An input of an unknown value matters if it makes any difference to the
result, and an input of a new value matters if the value would not exist without it. So `length(var.names)` does not
depend on a name that was replaced by another name, `c ? a : b` depends on `b` only if `c` selects `b`, and a cause is
found even if another cause hides its effect."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from planner.answers.explain.changed_inputs import RESOURCES, ChangedInput, ChangedInputs, block_of, covers
from planner.answers.explain.data_files import changed_entries, mixed_file
from planner.answers.explain.declared_instances import DeclaredInstances, renewed_attributes
from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.mixtures import MixedObjects, MixedTree, exchange, mixed_value, union_of
from planner.answers.explain.origins import Path, differing, reads_files, same_parts, select, uses_files
from planner.answers.explain.places import LocationLookup, ValueLocation, block_name
from planner.answers.explain.secret_files import SecretFiles
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.lazy import LazyContext
from planner.engine.evaluation.repetition import expand
from planner.engine.evaluation.scope import ModuleScope, is_unrecorded
from planner.foundation.support.disk import view
from planner.foundation.values.value import Null, Set, Value, is_wholly_known, unmark
from planner.foundation.vocabulary.address import InstanceKey, join
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Config, Expr, ModuleCall, ModuleConfig, ModulePath, OutputDecl, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.config.variables import RootVariable
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import try_evaluate
from planner.language.functions.file_names import HASHES, locate, shown_reads
from planner.language.syntax.body import Block, NativeBody
from planner.language.syntax.nodes import Call, Expression
from planner.logic.model.plan import ResourceChange

MOST_ENUMERATED = 5
"""maximum number of inputs of which all subsets are tried; for more inputs, see `_subsets` and `_needed`"""
MOST_UNITS = 24
_REPETITION = ("count", "for_each", "enabled")


_UNKNOWN = "unknown"
"""kind of an input whose former value is not recorded; every mixture contains its current value"""
_NOTHING = object()
"""an outcome: there is no value"""
_INVALID = object()
"""an outcome: the mixture of old and new inputs is not a valid configuration"""


class UncheckedError(Exception):
    """The inputs that matter to a value cannot be determined."""


class Interventions:
    """Finds the inputs that matter to the values of a plan. `places`: looks up the values of the plan. `given`: {name:
    value} of the root variables. `changes`: the changes of objects, including the changes made outside planner."""

    def __init__(
        self,
        former: FormerWorld,
        places: LocationLookup,
        given: Mapping[str, RootVariable],
        changes: Iterable[ResourceChange],
    ) -> None:
        self.former, self.places, self.given = former, places, given
        self.declared = DeclaredInstances(places, former)
        self.secret_files = SecretFiles([(places.context, None), (former.context, former.tree)])
        changing = list(changes)
        self._changing = frozenset(unit for change in changing for unit in self.declared.inputs_of(change))
        self._renewed = {change.address: renewed_attributes(change) for change in changing}
        self._now = {module.path: module for module in places.context.config.root.walk()}
        was = {module.path: module for module in former.context.config.root.walk()}
        self._was = {path: was[one] for path in self._now if (one := self._former_path(path)) in was}
        self._known: dict[ValueLocation, ChangedInputs | None] = {}
        self._texts: dict[tuple[ModulePath, str, str], ChangedInputs | None] = {}
        self._contexts: dict[tuple[ChangedInputs, ChangedInputs, frozenset[str]], tuple[LazyContext, MixedTree]] = {}
        self._union: Config | None = None
        self._shown: set[str] = set()
        """files whose contents are part of results"""
        self._hashed: set[str] = set()
        self._changed_entries: dict[str, tuple[Path, ...]] = {}
        self.mentioned: set[ChangedInput] = set()
        """the changed inputs that checked values mention, directly or through other names"""
        self._mixed_files: dict[tuple[str, frozenset[Path]], str] = {}
        self._expansions: dict[tuple[int, str], tuple[ModuleInstance, Mapping[InstanceKey, Any]]] = {}
        self._unread: set[str] = set()
        """new or edited files that only expressions read"""

    def matters(self, place: ValueLocation) -> ChangedInputs | None:
        """The inputs that matter to the value at a place; None if they cannot be determined."""
        if place not in self._known:
            try:
                self._known[place] = self._decide(place)
            except (UncheckedError, RecursionError):
                self._known[place] = None
        return self._known[place]

    def value_without(self, place: ValueLocation, unit: ChangedInput) -> Value:
        """The value that would be at a place if one input (`unit`) had its former value; None if this value cannot be
        determined, or if there would be no value."""
        try:
            units = frozenset(one for one in self._units_of(place) if one.kind != _UNKNOWN)
            outcome = self._outcome(place, frozenset(one for one in units if not covers(one, unit)), units)
        except (UncheckedError, RecursionError):
            return None
        return None if outcome is _NOTHING or outcome is _INVALID else outcome

    def _decide(self, place: ValueLocation) -> ChangedInputs:
        inputs = self._units_of(place)
        self.mentioned |= inputs
        units = frozenset(unit for unit in inputs if unit.kind != _UNKNOWN)
        if len(units) > MOST_UNITS or (units != inputs and not self._is_enough(place, units)):
            raise UncheckedError
        if not units:
            return units
        now = self._outcome(place, units, units)
        if now is _INVALID:
            raise UncheckedError
        outcomes: dict[ChangedInputs, Any] = {units: now}

        def outcome(subset: ChangedInputs) -> Any:
            if subset not in outcomes:
                outcomes[subset] = self._outcome(place, subset, units)
            return outcomes[subset]

        none: ChangedInputs = frozenset()
        if place.kind in ("each", "each_call") and _same(outcome(none), now):
            raise UncheckedError  # an unchanged repetition is not the cause if the instance is created or destroyed
        if outcome(none) is _NOTHING:  # formerly without a value; only its existence matters
            return _needed(units, lambda some: outcome(some) not in (_NOTHING, _INVALID))
        if now is _NOTHING or is_wholly_known(now):
            return _needed(units, lambda some: _same(outcome(some), now))
        makers = frozenset(unit for unit in units if _is_open(outcome(frozenset((unit,)))))
        rest = units - makers
        if makers and not _is_open(outcome(none)) and not _is_open(beside := outcome(rest)) and beside is not _INVALID:
            return makers | _needed(rest, lambda some: _same(outcome(some), beside))

        def matters(without: ChangedInputs, within: ChangedInputs) -> bool:
            before, after = outcome(without), outcome(within)
            return _INVALID not in (before, after) and not _same(before, after)

        return frozenset(unit for unit in units if any(matters(s, s | {unit}) for s in _subsets(units, unit)))

    def _is_enough(self, place: ValueLocation, units: ChangedInputs) -> bool:
        """Whether undoing the changes of all these inputs (`units`) restores the former value of an object or output,
        or makes an unknown value known."""
        before, is_known = self.former.value(place) if place.kind in ("resource", "output") else (None, False)
        outcome = self._outcome(place, frozenset(), units) if is_known or place.kind == "output" else _INVALID
        if outcome is _NOTHING:
            return is_known and (before is None or before.__class__ is Null)
        if outcome is not _INVALID and is_wholly_known(outcome) and _is_open(self._value_now(place)):
            return True
        return is_known and before is not None and _same(outcome, before)

    def differs_besides(self, place: ValueLocation) -> bool:
        """Whether an argument of a new instance depends on changed inputs that do not determine the key of the
        instance; True if this cannot be determined."""
        try:
            units = self._units_of(place)
            return not units <= self._units_of(ValueLocation(place.module, "each", place.name))
        except (UncheckedError, RecursionError):
            return True

    def _former_path(self, path: ModulePath) -> ModulePath:
        """The path of a module in the former configuration. It is different only if the module was moved."""
        instance = next(iter(self.places.context.instances(path)), None)
        names = self.former.names
        return names.path(path) if instance is None else names.module(instance.text).path

    def former_module(self, path: ModulePath) -> ModuleConfig | None:
        """The former configuration of a module; None if the module did not exist."""
        return self._was.get(path)

    def inputs_of(self, place: ValueLocation) -> ChangedInputs | None:
        """The changed inputs that the expression of a value mentions, directly or through other names; None if they
        cannot be determined."""
        try:
            return self._units_of(place)
        except (UncheckedError, RecursionError):
            return None

    def edits(self) -> Iterator[ChangedInput]:
        """The edited inputs, among the inputs that exist both in the former and in the current configuration. Inputs
        are root variables, entries of files that checked values read, and the expressions of local values, outputs,
        arguments and repetitions."""
        for name in sorted(self.given):
            yield from sorted((unit for unit in self._variable(name) if unit.kind == "variable"), key=str)
        for name, entries in sorted(self._changed_entries.items()):
            yield from (ChangedInput("file", (), name, entry) for entry in entries if entry)
        for path, now in sorted(self._now.items()):
            was, module = self._was.get(path), next(iter(self.places.context.instances(path)), None)
            if was is None or module is None:
                continue
            for unit, before, after in _expressions(was, now):
                if before.span.text == after.span.text:  # the common case
                    continue
                nodes = [getattr(one, "node", None) or one.expr for one in (before, after)]
                if not self._is_lost(_EitherText(nodes[0])) and not self.former.is_same_text(
                    module, nodes[1], nodes[0]
                ):
                    yield unit

    # ---------------------------------------------------------------- inputs that changed

    def _units_of(self, place: ValueLocation) -> ChangedInputs:
        """The changed inputs that the current or the former expression of a value mentions, directly or through other
        names. Raises UncheckedError if they cannot be determined."""
        units = self._mentioned_by(place)
        whole = {unit.name for unit in units if unit.kind == "file" and not unit.path}
        return frozenset(unit for unit in units if not (unit.path and unit.kind == "file" and unit.name in whole))

    def _mentioned_by(self, place: ValueLocation) -> ChangedInputs:
        """The result of `_units_of`, in which a whole file may occur together with entries of the same file. Raises
        UncheckedError."""
        module, path = place.module, place.module.config.path
        if place.kind == "resource":
            now, was = self.places.whole_text(place), self.former.text(place)
            unit = _attribute_unit(place)
            if now is None and was is None:
                return self._in_blocks(place, unit)
            return self._text(unit, now, was, module, place.name)
        if place.kind in ("each", "each_call"):
            units = self._repetition(path, place.name if place.kind == "each" else f"module.{place.name}", module)
            while module.parent is not None:
                units |= self._repetition(module.parent.config.path, f"module.{module.config.path[-1]}", module.parent)
                module = module.parent
            return units
        if place.kind == "output":
            return self._of_name(module, "output", place.name)
        raise UncheckedError

    def _in_blocks(self, place: ValueLocation, unit: ChangedInput) -> ChangedInputs:
        """The changed inputs of a value that consists of nested blocks. `unit`: the input for an edit of these blocks.
        Raises UncheckedError."""
        module, name = place.module, str(place.path[0][1])
        now, was = (_texts_of_blocks(decl, name) for decl in self._declarations(place))
        if not (now or was):
            raise UncheckedError
        units: set[ChangedInput] = set()
        if now.keys() != was.keys() or not all(self.former.is_same_text(module, now[at], was[at]) for at in now):
            units.add(unit)
        for node in (*now.values(), *was.values()):
            units |= self._mentions(node, None, module, place.name)
        return frozenset(units)

    def _declarations(self, place: ValueLocation) -> tuple[Any, Any]:
        return place.module.config.resources.get(place.name), self._former_block(place.module, place.name)

    def _repetition(self, path: ModulePath, block: str, module: ModuleInstance) -> ChangedInputs:
        """The changed inputs of the repetition of a block; empty for a block that is missing in the former
        configuration. Raises UncheckedError."""
        units: ChangedInputs = frozenset()
        now, was = block_of(self._now.get(path), block), self._former_block(module, block)
        for argument in _REPETITION if was is not None else ():
            before, after = _expr(getattr(now, argument, None)), _expr(getattr(was, argument, None))
            units |= self._text(ChangedInput("repetition", path, f"{block}.{argument}"), before, after, module)
        return units

    def _own_repetition(self, path: ModulePath, block: str, module: ModuleInstance) -> ChangedInputs:
        """The changed inputs of the repetition of a block that exists in only one of the two configurations (current
        and former). Raises UncheckedError."""
        decl = block_of(self._now.get(path), block) or self._former_block(module, block)
        exprs = (_expr(getattr(decl, argument, None)) for argument in _REPETITION)
        units = (self._mentions(expr.node, None, module, block) for expr in exprs if expr is not None)
        return frozenset[ChangedInput]().union(*units)

    def _former_block(self, module: ModuleInstance, block: str) -> ResourceDecl | ModuleCall | None:
        was = self._was.get(module.config.path)
        if block.startswith("module."):
            child = self._was.get((*module.config.path, block.removeprefix("module.")))
            return child.call if child is not None else None
        return block_of(was, self.former.names.resource(module.text, block, None)[1])

    def _text(self, unit: ChangedInput, now: Any, was: Any, module: ModuleInstance, block: str = "") -> ChangedInputs:
        """The changed inputs of an expression: its text (`unit`), if the text changed, and the changed inputs of the
        mentions in its current (`now`) and its former text (`was`). Raises UncheckedError."""
        key = (unit.module, unit.kind, unit.name)
        known = self._texts.get(key, frozenset())
        if self.former.lacks(module) or known is None:
            raise UncheckedError
        if key in self._texts:
            return known
        self._texts[key] = frozenset()  # for cycles that lead back to this expression
        try:
            self._texts[key] = units = self._inputs_in(unit, now, was, module, block)
        except UncheckedError:
            self._texts[key] = None
            raise
        return units

    def _inputs_in(self, unit: ChangedInput, now: Any, was: Any, module: ModuleInstance, block: str) -> ChangedInputs:
        units: set[ChangedInput] = set()
        nodes = [given.node for given in (now, was) if given is not None]
        if len(nodes) == 2 and self.former.is_same_text(module, *nodes):
            nodes = nodes[:1]
        elif nodes:
            units.add(unit if not self._is_lost(was) else unit._replace(kind=_UNKNOWN))
        for node in nodes:
            is_new = now is not None and node is now.node and unit in units
            units |= self._mentions(node, now or was, module, block, is_new)
        return frozenset(units)

    def _mentions(
        self, node: Expression, given: Any, module: ModuleInstance, block: str, is_new: bool = False
    ) -> set[ChangedInput]:
        """The changed inputs on which the mentions in an expression depend, and the changed files that the expression
        reads. `is_new`: whether the expression was edited; then inputs that were not read before the edit are left out.
        Raises UncheckedError."""
        units: set[ChangedInput] = set()
        mentions, calls = self.former.mentions(node)
        for mention in mentions:
            ref = parse_reference(mention)
            if isinstance(ref, Ref) and not (is_new and self._is_unread(ref, module)):
                units |= self._mention(ref, module, block)
        if any(map(uses_files, calls)):
            units |= self._files(node, given, module, is_new)
        return units

    def _is_unread(self, ref: Ref, module: ModuleInstance) -> bool:
        """Whether a reference means a root variable that is not sensitive and whose former value was not recorded,
        because no recorded expression read the variable."""
        was = self.former.context.given.get(ref.name) if ref.kind == "var" and module.parent is None else None
        decl = module.config.variables.get(ref.name)
        return was is not None and decl is not None and not decl.sensitive and not is_wholly_known(was.value)

    def _mention(self, ref: Ref, module: ModuleInstance, block: str) -> ChangedInputs:
        path = module.config.path
        if ref.kind in ("var", "local"):
            return self._of_name(module, ref.kind, ref.name)
        if ref.kind == "resource":
            units = frozenset(ChangedInput(kind, path, ref.name) for kind in RESOURCES) & self._changing
            if self.former.has_created(module, ref.name):
                units |= {ChangedInput("instances", path, ref.name)}
            has_others = any(u.kind == "instances" for u in units) or self.declared.have_other_keys(path, ref.name)
            if has_others and self.declared.are_by_key(path, ref.name):
                units = frozenset(unit for unit in units if unit.kind != "instances")
                is_in_both = self.declared.is_in_both(module, ref.name)
                units |= (self._repetition if is_in_both else self._own_repetition)(path, ref.name, module)
            if self.former.is_later(module, ref.name):
                units |= {ChangedInput(_UNKNOWN, path, ref.name)}
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
        """Whether `name` is a data source whose result in this plan differs from its result in the state."""
        decl = module.config.resources.get(name)
        if decl is None or decl.mode != "data":
            return False
        place = ValueLocation(module, "resources" if decl.count or decl.for_each else "resource", name)
        return self.former.status(place, self.places.value(place)) == "other"

    def _of_name(self, module: ModuleInstance, kind: str, name: str) -> ChangedInputs:
        """The changed inputs of a variable, local value or output of a module. Raises UncheckedError."""
        path = module.config.path
        now, was = self._now.get(path), self._was.get(path)
        if kind == "var":
            return self._variable(name) if module.parent is None else self._argument(module, name)
        tables = [(one.locals if kind == "local" else one.outputs) if one is not None else {} for one in (now, was)]
        before, after = (_expr(_expression(table.get(name))) for table in tables)
        unit = ChangedInput(kind, path, name)
        types = [decl.type for table in tables if isinstance(decl := table.get(name), OutputDecl)]
        is_converted = len(types) == 2 and types[0] != types[1]  # the type belongs to the output's expression
        return self._text(unit, before, after, module) | ({unit} if is_converted else frozenset())

    def _variable(self, name: str) -> ChangedInputs:
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
            self._is_lost(exprs[1])
            or defaults[0] is defaults[1]
            or _same(*(_NOTHING if d is None else d for d in defaults))
        ):
            units |= {ChangedInput("argument", path, name)}
        return units

    def _is_lost(self, was: Any) -> bool:
        """Whether parts of a former expression are not recorded."""
        return was is not None and any(map(is_unrecorded, self.former.mentions(was.node)[0]))

    def _files(self, node: Expression, given: Any, module: ModuleInstance, is_new: bool) -> ChangedInputs:
        """The changed files that an expression reads or lists. A file whose former content is unknown is ignored if the
        expression is new (`is_new`); otherwise, UncheckedError is raised."""
        scope, source = getattr(given, "scope", module.scope), getattr(given, "source", None)
        files = self.former.files(lambda: try_evaluate(node, scope, source))
        unknown = {name for name, status in files.items() if status == "unknown"}
        if unknown and not is_new:
            raise UncheckedError
        self._unread |= unknown
        calls = self.former.mentions(node)[1]
        named = [try_evaluate(call.arguments[0], scope, source)[0] for call in shown_reads(calls) if call.arguments]
        if all(name.__class__ is str for name in named):
            self._shown |= {os.path.abspath(locate(name, "")) for name in named}
            if any(call.name.removeprefix("core::").startswith(HASHES) for call in calls):
                self._hashed |= set(map(os.path.abspath, files))
        else:
            self._shown |= set(map(os.path.abspath, files))
        changed = [name for name, status in files.items() if status == "other"]
        if not _are_decoded(calls):
            return frozenset(ChangedInput("file", (), name) for name in changed)
        return frozenset(ChangedInput("file", (), name, entry) for name in changed for entry in self._entries(name))

    def _entries(self, name: str) -> tuple[Path, ...]:
        """The paths of the changed entries of a YAML or JSON file; only `()`, the path of the whole file, if the
        entries cannot be compared separately."""
        if name not in self._changed_entries:
            texts = self.former.file_texts(name) if not self.secret_files.has(name) else None
            self._changed_entries[name] = (changed_entries(name, *texts) if texts is not None else ()) or ((),)
        return self._changed_entries[name]

    def _is_digested(self, path: str) -> bool:
        return path in self._hashed and path not in self._shown

    # ---------------------------------------------------------------- mixtures

    def _outcome(self, place: ValueLocation, new: ChangedInputs, units: ChangedInputs) -> Any:
        """The value that would be at a place if, among the inputs `units`, only those in `new` had their current
        values. _NOTHING: there would be no value. _INVALID: the mixture is not a valid configuration. Raises
        UncheckedError."""
        if new == units:
            return self._value_now(place)
        context, tree = self._context(new, units)
        with view(tree):
            module = context.module(place.module.address)
            if module is None:
                if place.kind in ("each", "each_call"):
                    return False if place.path else 0
                module = context.module(self.former.names.module(place.module.text))  # a moved block renamed its key
            if module is None:
                return _NOTHING
            try:
                outcome = self._evaluate(place, module, new)
            except Failure:
                outcome = _INVALID
        if tree.is_incomplete or (outcome is _INVALID and getattr(context.objects, "has_lost_ones", False)):
            raise UncheckedError
        return outcome

    def _value_now(self, place: ValueLocation) -> Any:
        if place.kind in ("each", "each_call"):
            return self._presence(place, place.module)
        if place.kind == "resource":
            given = self.places.whole_text(place)
            if given is None and self.former.text(place) is None:
                return self._value_in_blocks(place, self._declarations(place)[0], self.places.instance_scope(place))
            return _only(given.parts(), given.rest) if given is not None else _NOTHING
        return _part(place.module.outputs.get(place.name), place.path)

    def _evaluate(self, place: ValueLocation, module: ModuleInstance, new: ChangedInputs) -> Any:
        if place.kind in ("each", "each_call"):
            return self._presence(place, module)
        if place.kind == "output":
            return _part(module.outputs.get(place.name), place.path)
        decl = module.config.resources[place.name]
        instances = self._instances(decl, module, place.name)
        repetition = instances.get(place.key)
        if repetition is None and self.former.names.has_any:
            repetition = instances.get(self.former.names.resource(place.module.text, place.name, place.key)[2])
        if repetition is None:
            return _NOTHING
        scope = module.with_repetition(repetition)
        now, was = self.places.whole_text(place), self.former.text(place)
        if now is None and was is None:
            return self._value_in_blocks(place, self._declarations(place)[_attribute_unit(place) not in new], scope)
        is_old = _attribute_unit(place) not in new and not self._is_lost(was)
        is_other = was is None or now is None or not self.former.is_same_text(place.module, now.node, was.node)
        given = was if is_old and is_other else now
        if given is None:
            return _NOTHING
        mixed = given._replace(scope=scope)
        return _only(mixed.parts(), mixed.rest)

    def _presence(self, place: ValueLocation, module: ModuleInstance) -> Any:
        """For the place of one instance, whether the repetition includes the instance. For the place of the whole
        repetition, the number of instances. Raises Failure."""
        table: Mapping[str, Any] = module.config.calls if place.kind == "each_call" else module.config.resources
        instances = self._instances(table[place.name], module, f"{place.kind} {place.name}")
        return place.path[0][1] in instances if place.path else len(instances)

    def _instances(self, block: Any, module: ModuleInstance, key: str) -> Mapping[InstanceKey, Any]:
        """{key: values of each and count} for the instances of a block. `key`: identifies the block in the module.
        Raises Failure."""
        known = self._expansions.get((id(module), key))
        if known is None:  # the module is stored, so that no other module gets its id
            known = self._expansions[id(module), key] = (module, expand(block, module.scope, key).instances)
        return known[1]

    def _value_in_blocks(self, place: ValueLocation, decl: ResourceDecl | None, scope: ModuleScope) -> Any:
        """The value of an attribute in nested blocks, or the whole set if the blocks form a set; _NOTHING if there is
        no such value. Raises Failure."""
        if decl is None:
            return _NOTHING
        schema = self.places.context.schemas.of(place.module.config, decl)
        value, problems = decode_block(decl.body, schema.block, scope)
        if has_errors(problems):
            raise Failure(problems)
        whole = _part(value, place.path[:1])
        return whole if unmark(whole)[0].__class__ is Set else _part(value, place.path)

    def _context(self, new: ChangedInputs, units: ChangedInputs) -> tuple[LazyContext, MixedTree]:
        """The context and the files for evaluating a mixture. In the mixture, the inputs in `new` have their current
        values, all other inputs in `units` have their former values, and everything else is current."""
        new, old = (frozenset(unit for unit in some if unit.kind != "attribute") for some in (new, units - new))
        key = new, old, frozenset(self._unread)
        if key not in self._contexts:
            tried = {unit.name for unit in new | old if unit.kind == "variable"}
            given = {n: self._mixed_variable(n, new) if n in tried else one for n, one in self.given.items()}
            config = Config(self._mixed_module(self._whole().root, old, None), {})
            former = self.former
            of_objects = {unit for unit in old if unit.kind in RESOURCES}
            objects = MixedObjects(self.places, former, self.declared, of_objects, self._renewed)
            context = self.places.context
            new_files = {unit.name for unit in new if unit.kind == "file"} | self._unread
            divided = new_files & {unit.name for unit in old if unit.kind == "file"}
            texts = {name: self._mixed_file(name, new) for name in divided}
            tree = MixedTree(former.tree, new_files, self._is_digested, texts)
            mixed = LazyContext(config, given, context.schemas, objects, context.workspace, context.plan_timestamp)
            self._contexts[key] = mixed, tree
        return self._contexts[key]

    def _mixed_variable(self, name: str, new: ChangedInputs) -> RootVariable:
        now, was = self.given[name], self.former.context.given.get(name)
        if was is None or not is_wholly_known(was.value):
            return now
        chosen = {unit.path for unit in new if unit.kind == "variable" and unit.name == name}
        return evolve(now, value=mixed_value(was.value, now.value, (), chosen))

    def _mixed_file(self, name: str, new: ChangedInputs) -> str:
        chosen = frozenset(unit.path for unit in new if unit.kind == "file" and unit.name == name)
        if (name, chosen) not in self._mixed_files:
            texts = self.former.file_texts(name)
            assert texts is not None
            self._mixed_files[name, chosen] = mixed_file(name, *texts, chosen)
        return self._mixed_files[name, chosen]

    def _whole(self) -> Config:
        """The current configuration, with added declarations that exist only in the former configuration."""
        if self._union is None:
            root = self.places.context.config.root
            self._union = Config(union_of(root, self._was.get(())), {})
        return self._union

    def _mixed_module(self, module: ModuleConfig, old: ChangedInputs, call: ModuleCall | None) -> ModuleConfig:
        """The current configuration of a module, in which the expressions of the inputs `old` have their former texts.
        `call`: the call of the module in the mixture; None for the root module."""
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
                    exchange(tables, self._former_block(instance, block), block, argument)
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


def _expressions(was: ModuleConfig, now: ModuleConfig) -> Iterator[tuple[ChangedInput, Any, Any]]:
    """(input, former expression, current expression) for each expression that exists in both versions of a module."""
    for kind, tables in (("local", (was.locals, now.locals)), ("output", (was.outputs, now.outputs))):
        for name, before, after in _in_both(*tables):
            yield ChangedInput(kind, now.path, name), _expression(before), _expression(after)
    for name, *decls in _in_both(was.resources, now.resources):
        for argument, before, after in _in_both(*(decl.body.just_attributes()[0] for decl in decls)):
            yield ChangedInput("attribute", now.path, join(name, argument)), before, after
    calls = [{f"module.{name}": call for name, call in one.calls.items()} for one in (was, now)]
    for name, *blocks in (*_in_both(was.resources, now.resources), *_in_both(*calls)):
        for argument in _REPETITION:
            before, after = (getattr(block, argument, None) for block in blocks)
            if before is not None and after is not None:
                yield ChangedInput("repetition", now.path, f"{name}.{argument}"), before, after
    for name, *blocks in _in_both(was.calls, now.calls):
        for argument, before, after in _in_both(*(call.inputs for call in blocks)):
            yield ChangedInput("argument", (*now.path, name), argument), before, after


def _in_both(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    return ((name, was[name], now[name]) for name in sorted(was) if name in now)


def _expr(expr: Expr | None) -> _EitherText | None:
    return _EitherText(expr.node) if expr is not None else None


def _expression(decl: Any) -> Expr | None:
    return getattr(decl, "expr", None) or getattr(decl, "value", None) if decl is not None else None


def _are_decoded(calls: Iterable[Call]) -> bool:
    """Whether an expression reads files only to decode them, so that only the decoded values of the files matter."""
    decoded = {id(one.arguments[0]) for one in calls if one.name.removeprefix("core::") in _DECODING and one.arguments}
    readers = [call for call in calls if reads_files((call.name,))]
    return all(call.name.removeprefix("core::") == "file" and id(call) in decoded for call in readers)


_DECODING = ("yamldecode", "jsondecode")


def _attribute_unit(place: ValueLocation) -> ChangedInput:
    return ChangedInput("attribute", place.module.config.path, join(place.name, str(place.path[0][1])))


def _texts_of_blocks(decl: ResourceDecl | None, name: str) -> dict[str, Expression]:
    """{position of an attribute in nested blocks: its expression}, for the blocks of a resource with the type `name`.
    Raises UncheckedError for a resource that is written in JSON."""
    if decl is None:
        return {}
    if not isinstance(decl.body, NativeBody):
        raise UncheckedError
    return dict(_texts_in([block for block in decl.body.blocks if block_name(block) == name], ""))


def _texts_in(blocks: Iterable[Block], prefix: str) -> Iterator[tuple[str, Expression]]:
    for number, block in enumerate(blocks):
        here, body = f"{prefix}{block.type}[{number}]", block.body
        if not isinstance(body, NativeBody):
            raise UncheckedError
        yield from ((f"{here}.{name}", attribute.expr) for name, attribute in body.attributes.items())
        yield from _texts_in(body.blocks, f"{here}.")


def _needed(units: ChangedInputs, is_enough: Callable[[ChangedInputs], bool]) -> ChangedInputs:
    """The union of all minimal sets of inputs that suffice for the current value; empty if no set suffices.
    `is_enough`: returns whether a set of inputs suffices. For more than MOST_ENUMERATED inputs, the function searches
    one minimal set for each input (only among the indispensable inputs, if these suffice together), and returns all
    inputs if no set suffices."""
    if len(units) <= MOST_ENUMERATED:
        sets = (
            frozenset(some) for size in range(len(units) + 1) for some in combinations(sorted(units, key=str), size)
        )
        enough: list[ChangedInputs] = []
        for some in sets:
            if not any(one <= some for one in enough) and is_enough(some):
                enough.append(some)
        return frozenset().union(*enough)
    ordered = sorted(units, key=str)
    alone = _indispensable(ordered, units, is_enough)
    if is_enough(alone):  # usually one or two of many
        units, ordered = alone, sorted(alone, key=str)
    if not is_enough(units):
        return units
    needed: ChangedInputs = frozenset()
    for last in ordered:  # a minimal set that contains this input, if the others can be left out first
        if last not in needed:
            left = units
            for unit in (*(one for one in ordered if one != last), last):
                left = left - {unit} if is_enough(left - {unit}) else left
            needed |= left
    return needed


def _indispensable(
    some: Sequence[ChangedInput], units: ChangedInputs, is_enough: Callable[[ChangedInputs], bool]
) -> ChangedInputs:
    """The inputs among `some` that are necessary for the current value. If a group of inputs can be removed without a
    change of the value, none of its inputs is necessary, so the search divides only the other groups."""
    if not some or is_enough(units.difference(some)):
        return frozenset()
    if len(some) == 1:
        return frozenset(some)
    middle = len(some) // 2
    return _indispensable(some[:middle], units, is_enough) | _indispensable(some[middle:], units, is_enough)


def _is_open(outcome: Any) -> bool:
    return outcome not in (_NOTHING, _INVALID) and not is_wholly_known(outcome)


def _subsets(units: ChangedInputs, without: ChangedInput) -> Iterator[ChangedInputs]:
    """The sets of other inputs with which the input `without` is tried. If there are at most MOST_ENUMERATED inputs,
    these are all subsets of the other inputs. If there are more, they are only the empty set, the sets of one other
    input, the sets of all other inputs but one, and the set of all other inputs."""
    rest = sorted(units - {without}, key=str)
    if len(units) <= MOST_ENUMERATED:
        sizes: Iterable[int] = range(len(rest) + 1)
    else:
        sizes = sorted({0, 1, len(rest) - 1, len(rest)})
    for size in sizes:
        yield from map(frozenset, combinations(rest, size))


def _part(value: Value, path: Path) -> Any:
    return _only(select(value, path) if value is not None else [], path)


def _only(parts: Sequence[tuple[Path, Value]], path: Path) -> Any:
    return parts[0][1] if parts and len(parts[0][0]) == len(path) else _NOTHING


def _same(one: Any, other: Any) -> bool:
    """Whether two outcomes are equal. Two unknown values are treated as equal. An invalid mixture is not equal to any
    outcome."""
    if _INVALID in (one, other):
        return False
    if _NOTHING in (one, other) or one.__class__ is bool or one.__class__ is int:
        return one is other or (one.__class__ is other.__class__ and one == other)
    known = is_wholly_known(one), is_wholly_known(other)
    return known == (False, False) or (known == (True, True) and same_parts(one, other))
