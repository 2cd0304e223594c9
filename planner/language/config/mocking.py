"""Mocks in tests of modules: values that replace the objects of mocked providers and overridden resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.address import ResourceAddress
from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span

Values: TypeAlias = Mapping[str, Value]  # attribute values by name; the other attributes are generated

OVERRIDES = {"override_resource": "managed", "override_data": "data", "override_ephemeral": "ephemeral"}
"""the types of blocks that override resources, with the mode of these resources. `override_ephemeral` was introduced by
Terraform 1.17"""


@frozen(eq=False)
class Override:
    """An `override_resource`, `override_data` or `override_ephemeral` block, which replaces the objects of the resource
    `target` (an address without keys). `mode` is the mode of that resource."""

    mode: str
    target: ResourceAddress
    values: Values
    span: Span  # the source location of the target
    known_late: bool = False  # whether computed values of a new object are known only after it is applied

    @property
    def block(self) -> str:
        return next(block for block, mode in OVERRIDES.items() if mode == self.mode)


@frozen(eq=False)
class Mocking:
    """A `mock_provider` block, which replaces all objects of a provider. `defaults`: default values by mode and
    type."""

    defaults: Mapping[tuple[str, str], Values] = field(factory=dict)
    overrides: tuple[Override, ...] = ()
    known_late: bool = False  # whether computed values of new objects are known only after these are applied
    late_types: Mapping[str, bool] = field(factory=dict)  # overrides `known_late` by type of managed object

    def with_shared(self, other: Mocking) -> Mocking:
        """A copy with the mocks of `other` added. Mocks of `self` take precedence over them."""
        mine = {str(override.target) for override in self.overrides}
        more = tuple(override for override in other.overrides if str(override.target) not in mine)
        late = {**other.late_types, **self.late_types}
        return Mocking({**other.defaults, **self.defaults}, (*self.overrides, *more), self.known_late, late)

    def is_late(self, mode: str, type: str, config_address: str) -> bool:
        """Whether computed values of a new object are unknown while it is planned."""
        override = self.override(mode, config_address)
        return self.late_types.get(type, self.known_late) if override is None else override.known_late

    def override(self, mode: str, config_address: str) -> Override | None:
        mine = (o for o in self.overrides if o.mode == mode and str(o.target) == config_address)
        return next(mine, None)

    def values(self, mode: str, type: str, config_address: str) -> Values:
        """The mocked values of a resource's objects; other values are generated."""
        override = self.override(mode, config_address)
        return self.defaults.get((mode, type), {}) if override is None else override.values
