"""Compares the instances that the current and the former configuration declare with count or for_each."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.answers.explain.changed_inputs import ChangedInput, changed_resource
from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.places import LocationLookup, ValueLocation
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.repetition import expand
from planner.foundation.support.disk import view
from planner.foundation.values.paths import parts
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Null, Unknown, Value, is_wholly_known, unmark
from planner.foundation.vocabulary.address import InstanceKey, ModuleAddress, join, parse_module
from planner.foundation.vocabulary.diagnostic import Failure, has_errors
from planner.language.config.model import ModulePath, ResourceDecl
from planner.language.expressions.decode import decode_block
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does

Keys = Collection[InstanceKey]


class DeclaredInstances:
    """Compares the instances that the current and the former configuration declare. `places`: looks up values in the
    current configuration."""

    def __init__(self, places: LocationLookup, former: FormerWorld) -> None:
        self._places, self._former = places, former
        self._known: dict[tuple[str, str], tuple[Keys, Keys] | None] = {}
        self._by_key: dict[tuple[ModulePath, str], bool] = {}
        self._all_new: dict[tuple[ModulePath, str], bool] = {}

    def input_of(self, change: ResourceChange) -> ChangedInput:
        """The change of an instance, as an input of other values. If an instance is created although both
        configurations declare it, only its object was lost, so the kind of the input is `object` instead of
        `instances`."""
        unit = changed_resource(change)
        if unit.kind != "instances" or change.deposed:
            return unit
        is_kept = self.is_kept(parse_module(change.module), unit.name, change.key)
        return unit._replace(kind="object") if is_kept else unit

    def inputs_of(self, change: ResourceChange) -> Iterator[ChangedInput]:
        """The change of an instance, as an input of other values. If values are unknown because the instance is
        replaced, also the input for these values (kind `renewed`)."""
        unit = self.input_of(change)
        yield unit
        if unit.kind == "object" and renewed_attributes(change):
            yield unit._replace(kind="renewed")

    def are_by_key(self, path: ModulePath, name: str) -> bool:
        """Whether the existing instances of a resource are exactly those that its repetition argument declares, before
        and after the plan. If only one configuration has the block, only this one is compared. Instances that are lost
        from the state are ignored."""
        if (path, name) not in self._by_key:
            instances = self._places.context.instances(path)
            self._by_key[path, name] = all(self._is_by_key(module, name) for module in instances)
        return self._by_key[path, name]

    def have_other_keys(self, path: ModulePath, name: str) -> bool:
        """Whether a resource's repetition argument declares other keys than in the former configuration; False if the
        keys are unknown."""
        known = (self._keys(module, name) for module in self._places.context.instances(path))
        return any(keys is not None and set(keys[0]) != set(keys[1]) for keys in known)

    def is_in_both(self, module: ModuleInstance, name: str) -> bool:
        """Whether the block of a resource is in the current and in the former configuration."""
        was = self._former.declaration(module, name)
        return was is not None and name in module.config.resources

    def _is_by_key(self, module: ModuleInstance, name: str) -> bool:
        was = self._former.place(ValueLocation(module, "resource", name))
        if was is not None and not self.is_in_both(module, name):
            return self._is_by_own_key(module, was, name)
        keys = self._keys(module, name)
        if keys is None or was is None or module.config.resources[name].mode != "managed":
            return False
        if any(self._former.names.resource(module.text, name, key)[2] != key for key in keys[1]):
            return False
        return _present(module, name) == set(keys[1]) and _present(was.module, was.name) <= set(keys[0])

    def _is_by_own_key(self, module: ModuleInstance, was: ValueLocation, name: str) -> bool:
        is_new = name in module.config.resources
        there, tree = (module, None) if is_new else (was.module, self._former.tree)
        decl = there.config.resources.get(name)
        if decl is None or decl.mode != "managed" or self._former.names.is_former(join(was.module.text, name)):
            return False
        try:
            with view(tree):
                return _present(there, name) == set(expand(decl, there.scope, name).instances)
        except Failure:
            return False

    def _keys(self, module: ModuleInstance, name: str) -> tuple[Keys, Keys] | None:
        """(former keys, current keys); None if a configuration lacks the block or the keys are unknown."""
        if (module.text, name) not in self._known:
            self._known[module.text, name] = self._expand(module, name)
        return self._known[module.text, name]

    def _expand(self, module: ModuleInstance, name: str) -> tuple[Keys, Keys] | None:
        decl = module.config.resources.get(name)
        was = self._former.place(ValueLocation(module, "resource", name)) if decl is not None else None
        former = was.module.config.resources.get(was.name) if was is not None else None
        if decl is None or was is None or former is None:
            return None
        try:
            with view(self._former.tree):
                before = expand(former, was.module.scope, was.name).instances.keys()
            return before, expand(decl, module.scope, name).instances.keys()
        except Failure:
            return None

    def is_kept(self, module: ModuleAddress, name: str, key: InstanceKey) -> bool:
        """Whether the former configuration declared an instance, and the current one still does; False if the keys are
        unknown."""
        now = self._places.context.module(module)
        keys = self._keys(now, name) if now is not None else None
        return keys is not None and all(key in some for some in keys)

    def new_object(self, module: ModuleInstance, decl: ResourceDecl, key: InstanceKey) -> Value:
        """A substitute for the object of an instance that does not exist: the configured values, and an unknown value
        for each attribute that is not configured. If the configuration cannot be evaluated, the whole object is
        unknown."""
        schemas = module.context.schemas
        of = schemas.object_type(module.config, decl)
        scope = module.with_repetition(expand(decl, module.scope, decl.key).instances[key])
        given, problems = decode_block(decl.body, schemas.of(module.config, decl).block, scope)
        if has_errors(problems) or given.__class__ is not dict:
            return Unknown(of)
        return {name: Unknown(of.attributes[name]) if v.__class__ is Null else v for name, v in given.items()}

    def are_all_new(self, path: ModulePath, name: str) -> bool:
        """Whether a resource lost all former instances because its keys, or the keys of its module, are new."""
        if (path, name) not in self._all_new:
            self._all_new[path, name] = self._have_new_keys(path, name)
        return self._all_new[path, name]

    def _have_new_keys(self, path: ModulePath, name: str) -> bool:
        modules = self._places.context.instances(path)
        address, former_name, _ = self._former.names.resource(modules[0].text, name, None)
        try:
            now = {
                self._former.names.resource(module.text, name, key)
                for module in modules
                for key in expand(module.config.resources[name], module.scope, name).instances
            }
            with view(self._former.tree):
                was = {
                    (module.address, former_name, key)
                    for module in self._former.context.instances(address.path)
                    if former_name in module.config.resources
                    for key in expand(module.config.resources[former_name], module.scope, former_name).instances
                }
        except Failure:
            return False
        return bool(was) and not now & was

    def lost_object(self, module: ModuleInstance, decl: ResourceDecl, key: InstanceKey) -> Value:
        """A substitute for an object that is lost from the state: the values in the former configuration. An unknown
        value of type string or any is replaced by a string that names the attribute and its resource. Other unknown
        values remain unknown."""
        places, known = self._former.places, {}
        for name, of in module.context.schemas.object_type(module.config, decl).attributes.items():
            with view(self._former.tree):
                given = places.whole_text(ValueLocation(module, "resource", decl.key, key, (("attr", name),)))
                value = given.evaluate(given.node) if given is not None else Unknown(of)
            if not is_wholly_known(value) and of in (STRING, DYNAMIC):
                value = f"the former {name} of {decl.key}"
            known[name] = value
        return known


def renewed_attributes(change: ResourceChange) -> Collection[str]:
    """The attributes of a replaced object that are unknown because of the replacement. Empty for objects that are not
    replaced, and if it is not certain that the replacement is the reason."""
    known: dict[str, set[str]] = {}
    for row in change.facts:
        known.setdefault(row[0], set()).update(row[2:])
    is_tainted = "tainted" in known
    if not does(change.action, "replaces") or (is_tainted and "sound_plan" not in known):
        return ()
    differing = known.get("sound_plan_differs" if is_tainted else "differs", set())
    unknown = {str(step[1]) for step, value in parts(unmark(change.after)[0]) if not is_wholly_known(value)}
    return known.get("renews", set()) & unknown | unknown - differing


def _present(module: ModuleInstance, name: str) -> set[InstanceKey]:
    resource = module.resource(name)
    known = module.context.objects.keys(module, resource.decl) or ()
    return {key for key in {*known, *resource.planned} if resource.instance(key) is not None}
