"""Mixtures of current and former inputs: values, configurations, objects and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from planner.answers.explain.changed_inputs import ChangedInput
from planner.answers.explain.declared_instances import DeclaredInstances
from planner.answers.explain.former_world import FormerWorld
from planner.answers.explain.origins import Path
from planner.answers.explain.places import LocationLookup
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.repetition import expand
from planner.foundation.support.disk import (
    ChangedError,
    Entry,
    Tree,
    UnrecordedError,
    absolute_path,
    is_hashed,
    list_directory,
    read_whole,
    view,
)
from planner.foundation.values.value import List, Map, Marked, Value
from planner.foundation.vocabulary.address import InstanceKey
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import ModuleConfig, ResourceDecl


def mixed_value(was: Value, now: Value, path: Path, chosen: Collection[Path]) -> Value:
    """A value in which the parts at the `chosen` paths are current and all other differing parts are former. A part
    that cannot be divided, such as a list whose length changed, is current if something in it is chosen. `path`: the
    path of the given values."""
    if path in chosen:
        return now
    if not any(one[: len(path)] == path for one in chosen):
        return was
    if was.__class__ is Marked and now.__class__ is Marked:
        return Marked(mixed_value(was.value, now.value, path, chosen), now.marks)
    if was.__class__ is dict and now.__class__ is dict:
        return _mixed_items(was, now, "attr", path, chosen)
    if was.__class__ is Map and now.__class__ is Map:
        return Map(now.element, _mixed_items(was.items, now.items, "index", path, chosen))
    if was.__class__ is now.__class__ is tuple and len(was) == len(now):
        return tuple(
            mixed_value(a, b, (*path, ("index", i)), chosen) for i, (a, b) in enumerate(zip(was, now, strict=True))
        )
    if was.__class__ is List and now.__class__ is List and len(was.items) == len(now.items):
        pairs = enumerate(zip(was.items, now.items, strict=True))
        return List(now.element, tuple(mixed_value(a, b, (*path, ("index", i)), chosen) for i, (a, b) in pairs))
    return now


def _mixed_items(
    was: Mapping[str, Value], now: Mapping[str, Value], kind: str, path: Path, chosen: Collection[Path]
) -> dict[str, Value]:
    items = {}
    for key in sorted({**was, **now}):
        inner = (*path, (kind, key))
        if key in was and key in now:
            items[key] = mixed_value(was[key], now[key], inner, chosen)
        elif (key in now) == any(one == inner for one in chosen):
            items[key] = now[key] if key in now else was[key]
    return items


def union_of(now: ModuleConfig, was: ModuleConfig | None) -> ModuleConfig:
    """The current configuration of a module, with added declarations that exist only in the former configuration `was`
    (None: the module did not exist)."""
    if was is None:
        return now
    tables: dict[str, Any] = {
        name: {**getattr(was, name), **getattr(now, name)}
        for name in ("variables", "locals", "outputs", "resources", "calls")
    }
    children = {**was.children, **{name: union_of(one, was.children.get(name)) for name, one in now.children.items()}}
    return evolve(now, children=children, **tables)


def exchange(tables: dict[str, Any], before: Any, block: str, argument: str) -> None:
    """Replace the repetition of a block in `tables` by its former expression, the `argument` of the block `before`
    (None: there was no block, so nothing is replaced)."""
    table, name = ("calls", block.removeprefix("module.")) if block.startswith("module.") else ("resources", block)
    if before is not None and name in tables[table]:
        tables[table][name] = evolve(tables[table][name], **{argument: getattr(before, argument)})


class MixedObjects:
    """The objects of a mixture: the planned objects, except that the resources in `old` have their objects in the
    state. `renewed`: {replaced object: attributes that its replacement renews}. Implements ObjectSource of
    planner.engine.evaluation.context. `has_lost_ones`: whether an object was needed that is no longer in the state."""

    has_lost_ones = False

    def __init__(
        self,
        places: LocationLookup,
        former: FormerWorld,
        declared: DeclaredInstances,
        old: Collection[ChangedInput],
        renewed: Mapping[str, Collection[str]],
    ) -> None:
        self._now, self._was, self._declared, self._old = places.context, former, declared, old
        self._renewed = renewed
        self._expanded: dict[tuple[str, str], Collection[InstanceKey]] = {}
        """{(module instance, resource): keys}"""

    def _objects(self, module: ModuleInstance, resource: ResourceDecl, is_old: bool) -> Any:
        """The instances of a resource in the former configuration (`is_old`) or in the current one. If the resource is
        not declared in that configuration, these are its instances in the other configuration; None if neither declares
        it."""
        address, former_name, _ = self._was.names.resource(module.text, resource.key, None)
        with view(self._was.tree):
            was = self._was.context.module(address), former_name
        now = self._now.module(module.address), resource.key
        for there, name in (was, now) if is_old else (now, was):
            if there is not None and name in there.config.resources:
                return there.resource(name)
        return None

    def _is_old(self, kind: str, module: ModuleInstance, resource: ResourceDecl) -> bool:
        return ChangedInput(kind, module.config.path, resource.key) in self._old

    def keys(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey] | None:
        if self._declared.are_by_key(module.config.path, resource.key):
            place = module.text, resource.key
            keys = self._expanded.get(place)
            if keys is None:
                keys = self._expanded[place] = expand(resource, module.scope, resource.key).instances.keys()
            return keys
        there = self._objects(module, resource, self._is_old("instances", module, resource))
        if there is None:
            return None
        known = there.context.objects.keys(there.module, there.decl) or ()
        return [key for key in {*known, *there.planned} if there.instance(key) is not None]

    def between(self, module: ModuleInstance, resource: ResourceDecl) -> Collection[InstanceKey]:
        return ()

    def object(self, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        is_old = self._is_old("object", module, resource)
        names: Collection[str] = ()
        if is_old != self._is_old("renewed", module, resource):
            names = self._renewed.get(module.instance_address(resource, key), ())
        value: Any = self._of_world(is_old, module, resource, key)
        other: Any = self._of_world(not is_old, module, resource, key) if names else None
        if value.__class__ is not dict or other.__class__ is not dict:
            return value
        return {**value, **{name: other[name] for name in names if name in other}}

    def _of_world(self, is_old: bool, module: ModuleInstance, resource: ResourceDecl, key: InstanceKey) -> Value:
        for world in (is_old, not is_old):
            there = self._objects(module, resource, world)
            instance = there.instance(key) if there is not None else None
            if instance is not None:
                return instance
            if world and is_old and there is not None and self._declared.is_kept(module.address, resource.key, key):
                self.has_lost_ones = True
                return self._declared.lost_object(there.module, there.decl, key)
        if self._declared.are_by_key(module.config.path, resource.key):
            return self._declared.new_object(module, resource, key)
        return None


class MixedTree:
    """The files of a mixture: the former files, except that the files in `new` are current. `texts`: {file in `new`:
    content} of files whose content is itself a mixture of the former and the current content. `is_digested`: returns
    whether only the digest of a file matters, so that its former content need not be recorded. `is_incomplete`: whether
    content was needed that is not recorded."""

    root = "/"
    is_incomplete = False

    def __init__(
        self, former: Tree, new: Collection[str], is_digested: Callable[[str], bool], texts: Mapping[str, str]
    ) -> None:
        self._former, self._new = former, {absolute_path(name) for name in new}
        self._is_digested = is_digested
        self._texts = {absolute_path(name): text.encode() for name, text in texts.items()}

    def read(self, name: str) -> bytes:
        """See planner.foundation.support.disk.Tree."""
        if (text := self._texts.get(f"/{name}")) is not None:
            return text
        with view(None if f"/{name}" in self._new else self._former):
            try:
                return read_whole(f"/{name}")
            except UnrecordedError as problem:
                if isinstance(problem, ChangedError) and (is_hashed() or self._is_digested(f"/{name}")):
                    return f"the former content of {name}".encode()
                self.is_incomplete = True
                raise

    def entries(self, directory: str) -> Iterable[Entry]:
        """See planner.foundation.support.disk.Tree."""
        entries: dict[str, Entry] = {}
        for tree, is_new in ((self._former, False), (None, True)):
            with view(tree):
                try:
                    listed = list_directory(f"/{directory}")
                except OSError:
                    continue
            entries |= {e.name: e for e in listed if (os.path.join(f"/{directory}", e.name) in self._new) == is_new}
        return list(entries.values())
