"""What is named on the command line and matches nothing: it would change what a plan does without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from planner.vocabulary.address import (
    Address,
    AddressError,
    ModuleAddress,
    ResourceAddress,
    format_key,
    parse_address,
    parse_resource_instance,
)
from planner.vocabulary.diagnostic import Diagnostic, warning
from planner.vocabulary.nearest import nearest
from planner.vocabulary.shell import option

if TYPE_CHECKING:
    from planner.plan.walk import PlanWalk


def unmatched(walk: PlanWalk) -> list[Diagnostic]:
    """Warnings for addresses of -target, -exclude and -replace that no instance of the configuration or of the state
    has. Blocks whose instances are not known, because the plan leaves them out, may have any."""
    options = walk.options
    asked = [("target", text) for text in options.targets] + [("exclude", text) for text in options.excludes]
    asked += [("replace", text) for text in options.replace]
    if not asked or options.before_destroy:
        return []
    instances = {*_declared(walk), *_recorded(walk)}
    blocks = set(_unexpanded(walk))
    found = []
    for name, text in dict.fromkeys(asked):
        try:
            address = parse_address(text)
        except AddressError:
            continue  # refused long before
        known = any(address.covers(instance) for instance in instances)
        if known or any(_may_cover(address, block, options.mode == "destroy") for block in blocks):
            continue
        if name == "replace" and any(_lacks_key(address, instance) for instance in instances):
            continue  # told where the instances are
        hit = nearest(text, _names(address, {*instances, *blocks}), 3)
        detail = f"{option(name, text)} names nothing: neither the configuration nor the state has such an object."
        if hit:
            detail += f" Did you mean {option(name, hit)}?"
        found.append(warning("plan.unmatched_address", "An address matches nothing", detail))
    return found


def _declared(walk: PlanWalk) -> Iterator[ResourceAddress]:
    for config in walk.config.root.walk():
        for module in walk.context.instances(config.path):
            for decl in config.resources.values():
                expansion = module.resource(decl.key).expansion
                for key in expansion.instances if expansion is not None else ():
                    yield ResourceAddress(module.address, decl.mode, decl.type, decl.name, key)


def _unexpanded(walk: PlanWalk) -> Iterator[ResourceAddress]:
    """The blocks of which some instances are not known."""
    for config in walk.config.root.walk():
        modules = walk.context.instances(config.path)
        for decl in config.resources.values():
            if not modules or any(module.resource(decl.key).expansion is None for module in modules):
                yield ResourceAddress(
                    ModuleAddress(tuple((name, None) for name in config.path)), decl.mode, decl.type, decl.name
                )


def _recorded(walk: PlanWalk) -> Iterator[ResourceAddress]:
    for resource, instance in walk.state.instances():
        yield parse_resource_instance(resource.address + format_key(instance.key))


def _may_cover(address: Address, block: ResourceAddress, destroys: bool) -> bool:
    """Whether an address with all its keys left aside is about a block. What is destroyed is in the state, with its
    keys; there a block stands only for an address without any."""
    return address.config.covers(block) and (not destroys or address.config == address)


def _lacks_key(address: Address, instance: ResourceAddress) -> bool:
    return isinstance(address, ResourceAddress) and address.key is None and address.config == instance.config


def _names(address: Address, known: Iterable[ResourceAddress]) -> list[str]:
    """What could have been meant: modules for a module, resources and instances for the others."""
    if isinstance(address, ModuleAddress):
        return sorted(
            {str(ModuleAddress(one.module.steps[: i + 1])) for one in known for i in range(len(one.module.steps))}
        )
    return sorted({str(form) for one in known for form in ((one, one.resource) if address.key is None else (one,))})
