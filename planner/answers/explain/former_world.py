"""The former configuration, with its variables and files, with which a plan is compared. It comes from the record of
the last apply or from a git commit, and is evaluated with the objects in the state. Values that neither the record nor
the commit contains are unknown, for example sensitive values, and files of which only a digest is recorded."""

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
    """Provides the former configuration and inputs with which each change is compared."""

    origin: str
    """"record" for the record of an apply, or the name of a git revision; "" if there is no former configuration"""
    notes: list[str]
    """remarks about missing parts of the former configurations and inputs"""
    assumes: bool
    """whether values that are not recorded count as unchanged"""

    def doubt(self) -> None:
        """From now on, treat values that are not recorded as unknown."""

    def of(self, change: ResourceChange | OutputChange | None) -> FormerWorld | None:
        """The former configuration and inputs of a change; if `change` is None, the latest ones. None if no former
        configuration is known."""


class FormerWorld:
    """Compares the values of a plan with their values in the former configuration. `context`: the values of the former
    configuration. `names`: the former addresses of moved objects. `tree`: the former files. `providers`: {source
    address: former version}. `lost`: the modules of which the former version is not available. `later`: the attributes
    whose former values are unknown, because later applies changed them; the attribute "" means all attributes."""

    is_whole = False
    """whether the apply was without -target and -exclude, and succeeded, so that all declared objects were applied"""
    has_entries = False
    """whether it is recorded which objects were in the state after the last apply"""
    destroyed: Collection[str] = ()
    """the instances that a later apply destroyed"""
    lines: Mapping[str, int] = MappingProxyType({})
    """{part of a root variable: its former line}, as far as these lines are recorded"""
    created: Collection[str] = ()
    """the former addresses of the resources of which a later apply created instances"""

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
        """The place of a value in the former configuration; None if its module instance did not exist. If `exists` is
        false, it is enough that the module was called, even if this instance did not exist."""
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
        """A module instance in the former configuration; None if there was no such module or, if `exists` is true, no
        such instance. If the keys of the module call are unknown, or if the instance did not exist, its count.index and
        each are unknown."""
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
        """(former value at a place of the plan, whether the former value is known). If it is known that there was no
        value, the result is (None, True)."""
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
        """Whether the former version of the module, or of a module that contains it, is not available."""
        path = self.names.module(module.text).path
        return any(path[: len(lost)] == lost for lost in self.lost)

    def has_created(self, module: ModuleInstance, name: str) -> bool:
        """Whether a later apply created instances of a resource."""
        address, former_name, _ = self.names.resource(module.text, name, None)
        return join(str(address), former_name) in self.created

    def is_later(self, module: ModuleInstance, name: str, attribute: str = "") -> bool:
        """Whether later applies changed the objects of a resource (or, if `attribute` is set, this attribute), so that
        the former values are unknown."""
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
        """Whether the value at a place is the same as its former value: "same", "other" or "unknown". `value`: the
        current value; None if there is none."""
        was, is_known = self.value(place)
        if not is_known:
            return "unknown"
        if was is None or value is None:
            return "same" if was is value else "other"
        return "same" if same_parts(was, value) else "other"

    def is_applied(self, place: ValueLocation, state: Value) -> Status:
        """Whether the value in the state is the result of the former expression at a place: "same", "other" or
        "unknown". "other" means that the value was changed in another way, or that the expression was never applied.
        "same" if there is no value in the state (`state` is None) or no former expression."""
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
        """Whether ignore_changes in the former configuration contains a place, or a part of its value."""
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
        """Whether the former value at a place is unknown, because it or a part of its expression is not recorded, or
        because a later apply changed the object."""
        attribute = str(place.path[0][1]) if place.kind == "resource" and place.path else ""
        if place.kind in ("resource", "resources") and self.is_later(place.module, place.name, attribute):
            return True
        if place.kind == "var" and place.module.parent is None:
            return place.name in self.context.given and not is_wholly_known(self.context.given[place.name].value)
        was = self.text(place)
        return was is not None and any(map(is_unrecorded, self.mentions(was.node)[0]))

    def mentions(self, node: Expression) -> tuple[list[Traversal | Variable], list[Call]]:
        """The references and the function calls in an expression. The expression may be in the current or the former
        configuration."""
        known = self._mentioned.get(id(node))
        if known is None:
            known = self._mentioned[id(node)] = (node, (variables(node), function_calls(node)))
        return known[1]

    def text_status(self, place: ValueLocation, node: Expression, whole: Expression) -> Status:
        """Whether the expression `node`, a part of the `whole` expression at a place, was edited. "same": the former
        expression at the place contains an equal expression. "other": `node` was edited or is new. "unknown": the
        former expression is not fully recorded."""
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
        """{id of an expression: key} for an expression and all its parts; equal keys mean equal expressions. `module`:
        the address of the module of a current expression, in which references are compared by the former names of
        objects; None for a former expression."""
        known = self._keys.get((id(whole), module))
        if known is None:
            former = partial(self.names.reference, module) if module is not None and self.names.has_any else None
            known = self._keys[id(whole), module] = (whole, expression_keys(whole, former))
        return known[1]

    def changed_part(self, place: ValueLocation, whole: Expression) -> tuple[SyntaxNode | None, SyntaxNode]:
        """(former part, current part): the smallest parts of the `whole` expression at a place and of the former
        expression there that contain all differences. The former part is None if there is none."""
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
        """The outermost module, among a module instance and the modules that contain it, that the former configuration
        did not call; None if it called all of them."""
        outer = self.new_call(module.parent) if module.parent is not None else None
        # for a moved module with a new key, only the path has a former name
        paths = (self.names.module(module.text).path, self.names.path(module.config.path))
        if self.lacks(module) or any(self.context.config.root.descendant(was) is not None for was in paths):
            return outer
        return outer or module.config

    def declaration(self, module: ModuleInstance, name: str) -> ResourceDecl | None:
        """The block of a resource in the former configuration; None if there was none."""
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
        """The instance keys of a block in the former configuration; None if the block was not declared, or if the keys
        are unknown."""
        with view(self.tree):
            was = self.place(at.place.whole)
            if was is None or not self._declares(was):
                return None
            try:
                return expand(repeatable(was), was.module.scope, str(was)).instances.keys()
            except (Failure, KeyError):
                return None

    def files(self, evaluate: Callable[[], object]) -> dict[str, Status]:
        """{file: "same", "other" or "unknown", compared with its former content}. The files are those that an
        evaluation reads now or read in the former configuration, and those that match its patterns (fileset) in only
        one of the two."""
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
        """Whether the content of a file is the same as its former content: "same", "other" or "unknown". `before`: the
        former path of the file, if it was different."""
        now = _content(path)
        try:
            with view(self.tree):
                return "same" if _content(before or path) == now else "other"
        except ChangedError:
            return "other"
        except UnrecordedError:
            return "unknown"

    def file_texts(self, path: str) -> tuple[str, str] | None:
        """(former content, current content) of a file; None if one of them is unknown, missing or empty."""
        try:
            with view(self.tree):
                before = _content(path)
        except UnrecordedError:
            return None
        now = _content(path)
        return (before.decode(errors="replace"), now.decode(errors="replace")) if before and now else None


def _content(path: str) -> bytes | None:
    """The content of a file; None if it cannot be read. Raises UnrecordedError if the former content of the file is not
    recorded."""
    try:
        return read_whole(path)
    except UnrecordedError:
        raise
    except (OSError, ValueError):
        return None
