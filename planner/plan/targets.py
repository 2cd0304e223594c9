"""-target and -exclude inside a resource: which of its instances are meant.

Whole resources and modules are taken out of the graph before the walk; what is left to decide here are addresses with
keys, once the instances are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.vocabulary.address import Address, ModuleAddress, ResourceAddress


def contains(target: Address, instance: ResourceAddress) -> bool:
    """Whether a target covers an instance. A module without a key at the end, and a resource without one, stand for all
    their instances."""
    if isinstance(target, ResourceAddress):
        return target.contains(instance)
    steps, own = instance.module.steps, target.steps
    if len(steps) < len(own):
        return False
    for i, (name, key) in enumerate(own):
        if steps[i][0] != name:
            return False
        if i == len(own) - 1 and key is None:
            return True
        if steps[i][1] != key:
            return False
    return True


def names_resource(target: Address, instance: ResourceAddress) -> bool:
    """Whether a target names the instance's resource or a module around it, when keys do not count."""
    if isinstance(target, ModuleAddress):
        return target.config.contains(instance.config)
    return target.config == instance.config


def is_in_scope(instance: ResourceAddress, targets: Sequence[Address], excludes: Sequence[Address]) -> bool:
    """Whether an instance takes part in a plan in which its resource does. A resource that is only there because a
    target depends on it takes part with all its instances."""
    if any(contains(exclude, instance) for exclude in excludes):
        return False
    about = [target for target in targets if names_resource(target, instance)]
    return not about or any(contains(target, instance) for target in about)
