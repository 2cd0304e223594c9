"""The former configuration, with its variables and files, with which a plan is compared. It comes from the record of
the last apply, or from a git commit. The same engine evaluates it with the objects in the state. Values that are in
neither the record nor the commit are unknown (sensitive values, files of which only a digest is recorded)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Literal, Protocol

from planner.answers.explain.expression_keys import changed_part, expression_keys
from planner.answers.explain.former_names import FormerNames
from planner.answers.explain.origins import GivenExpression, same_parts
from planner.answers.explain.places import LocationLookup, ValueLocation, repeatable
from planner.answers.explain.repetition import RepetitionLocation
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.ignore import reference_path
from planner.engine.evaluation.lazy import LazyContext, LazyModule
from planner.engine.evaluation.objects import UnknownAttributes
from planner.engine.evaluation.repetition import expand, unknown_repetition
from planner.engine.evaluation.scope import is_unrecorded
from planner.foundation.support.disk import (
    ChangedError,
    FilesUsed,
    Tree,
    UnrecordedError,
    files_used,
    read_whole,
    view,
)
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.value import Value, is_wholly_known, type_of, unmark_deep
from planner.foundation.vocabulary.address import InstanceKey, ModuleAddress, join, parse_resource_instance
from planner.foundation.vocabulary.diagnostic import Failure
from planner.language.config.model import ModuleConfig, ModulePath, ResourceDecl
from planner.language.syntax.body import function_calls, variables
from planner.language.syntax.nodes import Call, Expression, SyntaxNode, Traversal, Variable
from planner.logic.model.plan import OutputChange, ResourceChange

Status = Literal["same", "other", "unknown"]


class FormerWorldsOf(Protocol):
    """The former configuration and inputs of each change."""

    origin: str
    """`record`, or a revision; "" without a former configuration"""
    notes: list[str]
    """remarks about missing parts of the former configurations and inputs"""
    assumes: bool
    """whether unrecorded values count as unchanged"""

    def doubt(self) -> None:
        """Treat unrecorded values as unknown from now on."""

    def of(self, change: ResourceChange | OutputChange | None) -> FormerWorld | None:
        """The former configuration and inputs of a change; without a change, the latest former configuration and
        inputs. None if no former configuration is known."""


class FormerWorld:
    """Compares places of a plan with their former values. `names`: former addresses of moved objects. `tree`: the
    former files. `providers`: {source address: former version}. `lost`: modules without a former version. `later`:
    {former address: attributes with unknown former values}; an attribute "" means all attributes."""

    is_whole = False
    """whether the last apply applied all declared objects"""
    has_entries = False
    """whether the record lists the objects in the state after the last apply"""
    destroyed: Collection[str] = ()
    """instances that a later apply destroyed"""
    created: Collection[str] = ()
    """former addresses of resources of which a later apply created instances"""

    def __init__(
        self,
        context: LazyContext,
        names: FormerNames,
        tree: Tree,
        providers: Mapping[str, str] | None = None,
        lost: Collection[ModulePath] = (),
        later: UnknownAttributes = MappingProxyType({}),
    ) -> None:
        self.context, self.names, self.tree, self.providers = context, names, tree, providers or {}
        self.lost, self.later = lost, later
        self.entry: Callable[[str], Status] = lambda _: "unknown"
        """returns the status of an instance in the state compared with the last apply"""
        self.places = LocationLookup(context)
        self._unknown: dict[str, ModuleInstance] = {}
        self._texts: dict[ValueLocation, GivenExpression | None] = {}
        self._changed_parts: dict[tuple[int, int], tuple[Expression, tuple[SyntaxNode | None, SyntaxNode]]] = {}
        """{ids of a former and a current expression: (former expression, their changed parts)}"""
        self._mentioned: dict[int, tuple[Expression, tuple[list[Traversal | Variable], list[Call]]]] = {}
        self._keys: dict[tuple[int, str | None], tuple[Expression, dict[int, int]]] = {}

    def place(self, place: ValueLocation, exists: bool = True) -> ValueLocation | None:
        """The former place of a value; None if its module instance did not exist. If `exists` is false, the module
        instance need not have existed; then the result is None only if the module was not called."""
        name, key = place.name, place.key
        if place.kind in ("resource", "resources", "each"):
            address, name, key = self.names.resource(place.module.text, name, key)
        else:
            address = self.names.module(place.module.text)
            if place.kind in ("call", "each_call"):
                name = self.names.path((*place.module.config.path, name))[-1]
        with view(self.tree):  # keys of calls may depend on files
            module = self._module(address, exists)
        return place._replace(module=module, name=name, key=key) if module is not None else None

    def _module(self, address: ModuleAddress, exists: bool) -> ModuleInstance | None:
        """A former module instance. Its repetition is unknown if the keys of the module call are unknown, or if the
        instance did not exist and `exists` is false. None if there was no such module or, if `exists` is true, no such
        instance."""
        here: ModuleInstance | None = self.context.root
        for name, key in address.steps:
            if here is None or name not in here.config.children:
                return None
            known = here.calls.get(name, {}).get(key)
            if known is not None or (exists and name in here.calls):
                here = known
                continue
            inner = here.address.child(name, key)
            if str(inner) not in self._unknown:
                call = here.config.calls[name]
                child = here.config.children[name]
                self._unknown[str(inner)] = LazyModule(self.context, child, inner, here, unknown_repetition(call))
            here = self._unknown[str(inner)]
        return here

    def value(self, place: ValueLocation) -> tuple[Value, bool]:
        """The former value at a place of the plan (None if there was no value), and whether the former value is
        known."""
        with view(self.tree):
            was = self.place(place)
            if was is None:
                return None, not self.lacks(place.module)
            parts = self._parts_at(was)
        if not parts:
            return None, was.path != () or self._declares(was) is False
        if len(parts) > 1 or len(parts[0][0].path) != len(was.path):
            return None, False
        return parts[0][1], is_wholly_known(parts[0][1])

    def lacks(self, module: ModuleInstance) -> bool:
        """Whether the module, or a module around it, has no former version."""
        path = self.names.module(module.text).path
        return any(path[: len(lost)] == lost for lost in self.lost)

    def has_created(self, module: ModuleInstance, name: str) -> bool:
        """Whether a later apply created instances of a resource."""
        address, former_name, _ = self.names.resource(module.text, name, None)
        return join(str(address), former_name) in self.created

    def is_later(self, module: ModuleInstance, name: str, attribute: str = "") -> bool:
        """Whether later applies changed the objects of a resource, or this attribute of them, so that the former value
        is unknown."""
        address, former_name, _ = self.names.resource(module.text, name, None)
        instances = self.later.get(join(str(address), former_name), {}).values()
        return any(not attribute or attribute in names or "" in names for names in instances)

    def _parts_at(self, place: ValueLocation) -> list[tuple[ValueLocation, Value]]:
        try:
            return self.places.found(place)
        except (Failure, KeyError):
            return []

    def _declares(self, place: ValueLocation) -> bool:
        return self.places.declaration(place) is not None

    def status(self, place: ValueLocation, value: Value) -> Status:
        """The status of the value at a place compared with its former value. `value`: the current value, None if there
        is none."""
        was, is_known = self.value(place)
        if not is_known:
            return "unknown"
        if was is None or value is None:
            return "same" if was is value else "other"
        return "same" if same_parts(was, value) else "other"

    def is_applied(self, place: ValueLocation, state: Value) -> Status:
        """The status of the value in the state (None: no value) compared with the result of the former expression.
        "other" if the value was changed in another way, or the expression was never applied. "same" if there is no
        value or no former expression."""
        given = self.text(place)
        if given is None or state is None:
            return "same"
        with view(self.tree):
            parts = given.parts()
        if len(parts) != 1 or len(parts[0][0]) != len(given.rest) or not is_wholly_known(parts[0][1]):
            return "unknown"
        try:
            was = convert(unmark_deep(parts[0][1])[0], type_of(unmark_deep(state)[0]))
        except ConversionError:
            return "other"
        return "same" if same_parts(was, state) else "other"

    def ignores(self, place: ValueLocation) -> bool:
        """Whether the former configuration ignored changes at a place, or at a part of its value (ignore_changes)."""
        was = self.place(place)
        decl = was.module.config.resources.get(was.name) if was is not None else None
        ignores = decl.lifecycle.ignore_changes if decl is not None else ()
        if was is None or decl is None or place.kind != "resource":
            return False
        if ignores == "all":
            return True
        keys = [step[1] for step in was.path]
        paths = ([step[1] for step in reference_path(reference)] for reference in ignores)
        return any(keys[: len(path)] == path[: len(keys)] for path in paths)

    def text(self, place: ValueLocation) -> GivenExpression | None:
        """The former expression of the value at a place; None if there was no expression."""
        if place not in self._texts:
            with view(self.tree):
                was = self.place(place, exists=False)
                self._texts[place] = None
                with suppress(Failure, KeyError):
                    self._texts[place] = self.places.whole_text(was) if was is not None else None
        return self._texts[place]

    def is_lost(self, place: ValueLocation) -> bool:
        """Whether the former value at a place, or a part of its expression, is unknown: it is not recorded, or a later
        apply changed the object."""
        attribute = str(place.path[0][1]) if place.kind == "resource" and place.path else ""
        if place.kind in ("resource", "resources") and self.is_later(place.module, place.name, attribute):
            return True
        if place.kind == "var" and place.module.parent is None:
            return place.name in self.context.given and not is_wholly_known(self.context.given[place.name].value)
        was = self.text(place)
        return was is not None and any(map(is_unrecorded, self.mentions(was.node)[0]))

    def mentions(self, node: Expression) -> tuple[list[Traversal | Variable], list[Call]]:
        """The references and calls in an expression of the current or the former configuration."""
        known = self._mentioned.get(id(node))
        if known is None:
            known = self._mentioned[id(node)] = (node, (variables(node), function_calls(node)))
        return known[1]

    def text_status(self, place: ValueLocation, node: Expression, whole: Expression) -> Status:
        """The status of an expression in the `whole` expression at a place: `same` if the former expression at the
        place contains an equal expression, `other` if the expression was edited or is new, `unknown` if the former
        expression is not fully recorded."""
        was = self.text(place)
        if was is None:
            return "unknown" if self.lacks(place.module) else "other"
        before, now = self._expressions(was.node), self._expressions(whole, place.module.text)
        key = now.get(id(node))
        if key is None or not before:
            return "unknown"
        if key in before.values():
            return "same"
        return "unknown" if self.is_lost(place) else "other"

    def _expressions(self, whole: Expression, module: str | None = None) -> dict[int, int]:
        """{id of an expression: key} for an expression and all its parts. Equal keys mean equal expressions. `module`:
        the module of a current expression, whose references are compared by their former names."""
        known = self._keys.get((id(whole), module))
        if known is None:
            former = partial(self.names.reference, module) if module is not None and self.names.has_any else None
            known = self._keys[id(whole), module] = (whole, expression_keys(whole, former))
        return known[1]

    def changed_part(self, place: ValueLocation, whole: Expression) -> tuple[SyntaxNode | None, SyntaxNode]:
        """The former and the current part of the `whole` expression at a place that contain all its changes; None for
        the former part if there is none."""
        was = self.text(place)
        if was is None:
            return None, whole
        key = (id(was.node), id(whole))
        if key not in self._changed_parts:
            former = partial(self.names.reference, place.module.text) if self.names.has_any else None
            self._changed_parts[key] = (was.node, changed_part(was.node, whole, former))
        return self._changed_parts[key][1]

    def is_sensitive(self, place: ValueLocation) -> bool:
        """Whether the former value at a place was sensitive, or may have been, because its expression is not fully
        recorded or cannot be evaluated."""
        with view(self.tree):
            was, given = self.place(place), self.text(place)
            if given is not None and any(map(is_unrecorded, self.mentions(given.node)[0])):
                return True
            try:
                return was is not None and self.places.is_sensitive(was)
            except (Failure, KeyError):
                return True

    def is_same_text(self, module: ModuleInstance, now: Expression, was: Expression) -> bool:
        """Whether an expression is unchanged, except for layout and names of moved objects."""
        keys, before = self._expressions(now, module.text), self._expressions(was)
        return now is was or (bool(keys) and keys[id(now)] == before.get(id(was)))

    def new_call(self, module: ModuleInstance) -> ModuleConfig | None:
        """The outermost module that the former configuration did not call, among a module instance and the modules that
        contain it; None if it called all of them."""
        outer = self.new_call(module.parent) if module.parent is not None else None
        # for a moved module with a new key, only the path has a former name
        paths = (self.names.module(module.text).path, self.names.path(module.config.path))
        if self.lacks(module) or any(self.context.config.root.descendant(was) is not None for was in paths):
            return outer
        return outer or module.config

    def declaration(self, module: ModuleInstance, name: str) -> ResourceDecl | None:
        """The former block of a resource; None if there was none."""
        address, former_name, _ = self.names.resource(module.text, name, None)
        was = self.context.config.root.descendant(address.path)
        return was.resources.get(former_name) if was is not None else None

    def declares(self, address: str) -> bool:
        """Whether the former configuration had an instance at this former address."""
        of = parse_resource_instance(address)
        with view(self.tree):
            module = self.context.module(of.module)
            decl = module.config.resources.get(of.resource.relative) if module is not None else None
            try:
                return (
                    module is not None and decl is not None and of.key in expand(decl, module.scope, address).instances
                )
            except Failure:
                return False

    def had(self, place: ValueLocation) -> bool:
        """Whether the former configuration declared the instance at a place."""
        with view(self.tree):
            was = self.place(place)
            if was is None or not self._declares(was):
                return False
            try:
                decl = was.module.config.resources[was.name]
                return was.key in expand(decl, was.module.scope, was.root_text).instances
            except Failure:
                return False

    def is_new(self, place: ValueLocation) -> bool:
        """Whether the object or call at a place was not declared by the former configuration. False if the module has
        no former version."""
        was = self.place(place.whole)
        return not self.lacks(place.module) and (was is None or not self._declares(was))

    def instances(self, at: RepetitionLocation) -> Collection[InstanceKey] | None:
        """The instance keys of a former block; None if it was not declared or the keys are unknown."""
        with view(self.tree):
            was = self.place(at.place.whole)
            if was is None or not self._declares(was):
                return None
            try:
                return expand(repeatable(was), was.module.scope, str(was)).instances.keys()
            except (Failure, KeyError):
                return None

    def files(self, evaluate: Callable[[], object]) -> dict[str, Status]:
        """{file: its status compared with its former content}, for files that an evaluation reads in the current or the
        former configuration, or that match its patterns in only one of them."""
        with files_used() as now:
            evaluate()
        was = self.files_used(evaluate)
        statuses: dict[str, Status] = dict.fromkeys(now.matched ^ was.matched, "other")
        statuses |= {path: self.file_status(path) for path in (now.read | was.read) - statuses.keys()}
        return statuses

    def files_used(self, evaluate: Callable[[], object]) -> FilesUsed:
        """The files that an evaluation reads in the former configuration."""
        with view(self.tree), files_used() as used:
            evaluate()
        return used

    def file_status(self, path: str, before: str = "") -> Status:
        """The status of a file compared with its former content or, with `before`, with this former file."""
        now = _content(path)
        try:
            with view(self.tree):
                return "same" if _content(before or path) == now else "other"
        except ChangedError:
            return "other"
        except UnrecordedError:
            return "unknown"

    def file_texts(self, path: str) -> tuple[str, str] | None:
        """The former and the current content of a file; None if one of them is unknown, missing or empty."""
        try:
            with view(self.tree):
                before = _content(path)
        except UnrecordedError:
            return None
        now = _content(path)
        return (before.decode(errors="replace"), now.decode(errors="replace")) if before and now else None


def _content(path: str) -> bytes | None:
    """The content of a file; None if it cannot be read. Raises UnrecordedError."""
    try:
        return read_whole(path)
    except UnrecordedError:
        raise
    except (OSError, ValueError):
        return None
