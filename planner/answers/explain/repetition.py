"""Finds the argument (count, for_each or enabled, of the resource or of an enclosing module) that decides whether an
instance exists."""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.answers.explain.places import ValueLocation, repeatable, repetition
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import expand
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.address import InstanceKey, format_resource, parse_module
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.model.plan import ResourceChange
from planner.world.state.model import State


@frozen(eq=False)
class RepetitionLocation:
    """The repetition of a resource or of a module call around it. `key`: the key of the resource instance or of the
    enclosing module instance. `before`: the keys in the state; empty if the state has no instance of the block. `now`:
    the keys in the configuration."""

    place: ValueLocation
    key: InstanceKey
    before: Collection[InstanceKey]
    now: Collection[InstanceKey]

    @property
    def argument(self) -> str:
        """The name of the argument: "count", "for_each" or "enabled"."""
        return repetition(repeatable(self.place))[0]

    def counted(self) -> tuple[str, str]:
        """(number of instances now, number of instances before) as texts, such as ("3 instances", "2")."""
        count = len(self.now)
        return f"{count} instance{'s' if count != 1 else ''}", str(len(self.before))


@frozen(eq=False)
class KnownInstances:
    """The keys of the instances in a state: {(module instance, block): keys}. The blocks are module calls or
    resources."""

    calls: dict[tuple[str, str], set[InstanceKey]] = field(factory=dict)
    resources: dict[tuple[str, str], set[InstanceKey]] = field(factory=dict)

    @classmethod
    def of(cls, state: State, previous: State) -> KnownInstances:
        """The keys of the current objects in a state. `state`: the state after the moves and reads of this plan. A data
        source is included only if the `previous` state contains it, too."""
        known, seen = cls(), set()
        read = {(r.address, i.key) for r, i in previous.instances() if r.mode == "data"}
        for resource, instance in state.instances():
            if instance.current is None:
                continue
            if resource.mode == "data" and (resource.address, instance.key) not in read:
                continue
            name = format_resource("", resource.mode, resource.type, resource.name)
            known.resources.setdefault((resource.module, name), set()).add(instance.key)
            if resource.module not in seen:
                seen.add(resource.module)
                address = parse_module(resource.module)
                while address.steps:
                    name, key = address.steps[-1]
                    address = address.parent
                    known.calls.setdefault((str(address), name), set()).add(key)
        return known


def repeated(
    change: ResourceChange,
    context: EvaluationContext,
    known: KnownInstances,
    former: Callable[[RepetitionLocation], Collection[InstanceKey] | None],
) -> RepetitionLocation | None:
    """The outermost repetition that creates or destroys an instance; None if there is none, or if its block no longer
    exists. `former`: returns the former keys of a block (None if they are unknown), because instances of a module may
    be missing in the state."""
    goes = change.after.__class__ is Null
    module: ModuleInstance = context.root
    for name, key in parse_module(change.module).steps:
        if name not in module.config.calls:
            return None
        calls = module.calls.get(name, {})
        before = known.calls.get((module.text, name), set())
        at = RepetitionLocation(ValueLocation(module, "each_call", name), key, before, calls)
        declared = None if goes else former(at)
        if key not in (calls if goes else before if declared is None else declared):
            return at
        if key not in calls:
            return None
        module = calls[key]
    name = format_resource("", change.mode, change.type, change.name)
    decl = module.config.resources.get(name)
    if decl is None or repetition(decl)[1] is None:
        return None
    try:
        now = (module.resource(name).expansion or expand(decl, module.scope, change.address)).instances
    except Failure:
        return None
    before = known.resources.get((module.text, name), set())
    if change.key in now and change.key in before:
        return None
    return RepetitionLocation(ValueLocation(module, "each", name), change.key, before, now)
