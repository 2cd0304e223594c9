"""Mocks: values that replace real objects in tests of modules, for mocked providers and for overridden resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import ResourceAddress
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span

Values: TypeAlias = Mapping[str, Value]
"""the values of the attributes that are not generated, by name"""

OVERRIDES = {"override_resource": "managed", "override_data": "data", "override_ephemeral": "ephemeral"}
"""the blocks that override resources, each with the mode of these resources; the last one comes from Terraform 1.17"""


@frozen(eq=False)
class Override:
    """`override_resource`, `override_data` or `override_ephemeral`: the objects of the resource `target` (an address
    without keys) are not real. `mode` is the mode of that resource."""

    mode: str
    target: ResourceAddress
    values: Values
    span: Span
    """the place of the target in the source"""
    known_late: bool = False
    """whether generated values of a new object become known only when the object is applied, instead of when it is
    planned"""

    @property
    def block(self) -> str:
        return next(block for block, mode in OVERRIDES.items() if mode == self.mode)


@frozen(eq=False)
class Mocking:
    """`mock_provider`: none of the provider's objects is real. `defaults`: the default values, by mode and type."""

    defaults: Mapping[tuple[str, str], Values] = field(factory=dict)
    overrides: tuple[Override, ...] = ()
    known_late: bool = False
    """whether generated values of new objects become known only when the objects are applied, instead of when they are
    planned"""
    late_types: Mapping[str, bool] = field(factory=dict)
    """the types of managed objects whose mocks set explicitly whether generated values become known at the apply"""

    def with_shared(self, other: Mocking) -> Mocking:
        """These mocks, combined with another set of mocks for other types and resources."""
        mine = {str(override.target) for override in self.overrides}
        more = tuple(override for override in other.overrides if str(override.target) not in mine)
        late = {**other.late_types, **self.late_types}
        return Mocking({**other.defaults, **self.defaults}, (*self.overrides, *more), self.known_late, late)

    def is_late(self, mode: str, type: str, config_address: str) -> bool:
        """Whether generated values of a new object are unknown when it is planned."""
        override = self.override(mode, config_address)
        return self.late_types.get(type, self.known_late) if override is None else override.known_late

    def override(self, mode: str, config_address: str) -> Override | None:
        """The override that applies to a resource."""
        mine = (o for o in self.overrides if o.mode == mode and str(o.target) == config_address)
        return next(mine, None)

    def values(self, mode: str, type: str, config_address: str) -> Values:
        """The values for the objects of a resource; missing ones are generated."""
        override = self.override(mode, config_address)
        return self.defaults.get((mode, type), {}) if override is None else override.values
