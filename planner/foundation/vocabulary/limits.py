"""The addresses of -target, -exclude, -replace and -invoke, and the kinds of plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from planner.foundation.vocabulary.address import Address, ResourceAddress, parse_address, parse_resource_instance
from planner.foundation.vocabulary.records import evolve, frozen


@frozen
class Limits:
    """The addresses that limit a plan, the objects to replace, and the actions to invoke. They come from options, from
    `plan_options` of a test run, from a plan file or from another process."""

    targets: tuple[Address, ...] = ()
    excludes: tuple[Address, ...] = ()
    replace: tuple[ResourceAddress, ...] = ()
    invoke: tuple[ResourceAddress, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the plan may leave out a part of the configuration."""
        return bool(self.targets or self.excludes)

    def bringing(self, address: ResourceAddress) -> tuple[Address, ...]:
        """The targets that may bring an object into the plan as a dependency: all targets, or none if a target covers
        the object itself."""
        return () if any(target.covers(address) for target in self.targets) else self.targets

    def options(self) -> Iterator[tuple[str, Address]]:
        """Pairs (option name, address), for example ("target", address)."""
        yield from (("target", address) for address in self.targets)
        yield from (("exclude", address) for address in self.excludes)
        yield from (("replace", address) for address in self.replace)
        yield from (("invoke", address) for address in self.invoke)

    def excluding(self, blocks: Iterable[str]) -> Limits:
        """A copy in which these addresses are excluded, too. Raises AddressError."""
        return evolve(self, excludes=(*self.excludes, *map(parse_address, blocks)))

    def including(self, blocks: Iterable[str]) -> Limits:
        """A copy in which these addresses are not excluded."""
        known = set(blocks)
        return evolve(self, excludes=tuple(address for address in self.excludes if str(address) not in known))

    def to_json(self) -> dict[str, list[str]]:
        return {
            "targets": list(map(str, self.targets)),
            "excludes": list(map(str, self.excludes)),
            "replace": list(map(str, self.replace)),
            **({"invoke": list(map(str, self.invoke))} if self.invoke else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Iterable[str]]) -> Limits:
        """The inverse of `to_json`. Raises KeyError, TypeError and AddressError for invalid data."""
        return cls(
            tuple(map(parse_address, data["targets"])),
            tuple(map(parse_address, data["excludes"])),
            tuple(map(parse_resource_instance, data["replace"])),
            tuple(map(parse_resource_instance, data.get("invoke", ()))),
        )


UNLIMITED = Limits()


# Names of the kinds of plans and walks, as used on the command line, in the fact `walk(kind)` of the graph rules, and
# in evaluation.


Mode: TypeAlias = Literal["normal", "destroy", "refresh-only"]
"""the kind of a plan: match the configuration, destroy everything, or only refresh"""

Walk: TypeAlias = Literal["validate", "plan", "plan-destroy", "apply", "destroy", "eval"]
"""`plan-destroy` plans to destroy everything, `destroy` applies such a plan; `eval` only computes values, for example
for the console"""

_OF_DESTROYING: dict[str, Walk] = {"plan": "plan-destroy", "apply": "destroy"}


def walk_of(verb: Literal["plan", "apply"], mode: Mode) -> Walk:
    return _OF_DESTROYING[verb] if mode == "destroy" else verb
