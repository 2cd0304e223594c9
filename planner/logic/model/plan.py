"""Plans: the actions, and everything needed to apply, show and explain them. All classes are frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.world.state.model import InstanceKey, State, same_managed

Action: TypeAlias = str
"""`no-op`, or an action whose steps are in rules/shared/action_classes.dl; see planner.logic.programs.actions"""


@frozen(eq=False)
class Importing:
    """The object that an import block requests: either an id (None with `unknown` if it is unknown) or an identity."""

    id: str | None
    unknown: bool = False
    identity: Value = None


@frozen(eq=False)
class ResourceChange:
    """The change of one object. `before` and `after` are values of the resource's type (Null if there is no object);
    `after` has unknown values and marks. `reason` is the `action_reason` in plan JSON, or ""."""

    address: str
    previous_address: str  # the former address, which differs from `address` if the object was moved
    module: str  # module instance address, "" for the root
    mode: str
    type: str
    name: str
    key: InstanceKey
    deposed: str  # the deposed key; "" for the current object
    provider: str  # the address of the provider configuration, as in the state
    action: Action
    reason: str
    before: Value
    after: Value
    replace_paths: tuple[Any, ...] = ()
    importing: Importing | None = None
    generated_config: str | None = None
    private: str | None = None
    provider_key: InstanceKey = None
    facts: tuple[tuple[str, ...], ...] = ()  # the facts of the decision, as (predicate, columns...); kept for `why`
    before_identity: Value = None  # the identity by which the provider knows the object; None if there is none
    after_identity: Value = None
    undecided: tuple[str, ...] = ()
    """the decisions that only the provider can make: object, replacement, values or import"""

    @property
    def resource_address(self) -> str:
        prefix = f"{self.module}." if self.module else ""
        return f"{prefix}{'' if self.mode == 'managed' else self.mode + '.'}{self.type}.{self.name}"


def change_name(change: ResourceChange) -> str:
    """The name of a change in explanations: the address of its instance, with the deposed key if it has one."""
    return f"{change.address} (deposed {change.deposed})" if change.deposed else change.address


@frozen(eq=False)
class DeferredChange:
    """The change of an object that its provider deferred, as far as it is known. `reason` comes from the provider;
    `unknown` lists the arguments whose values were unknown. `invoked`: the action whose invocation the provider
    deferred, if any."""

    change: ResourceChange
    reason: str
    unknown: tuple[str, ...] = ()
    invoked: str = ""


@frozen(eq=False)
class Invocation:
    """A planned invocation of an action. `config` has marks, and may have unknown parts; it contains no ephemeral
    values. `caller` is the resource instance whose change invokes the action ("" for the command line). `block` is the
    position of the trigger among the triggers of the resource, `index` the position of the action in the trigger."""

    address: str
    module: str  # module instance address, "" for the root
    type: str
    name: str
    key: InstanceKey
    provider: str  # provider configuration address
    config: Value
    caller: str = ""
    event: str = ""
    block: int = 0
    index: int = 0
    on_failure: str = "halt"
    provider_key: InstanceKey = None

    def at(self, caller: str, event: str, block: int, index: int, on_failure: str) -> Invocation:
        """The invocation that a trigger causes."""
        return evolve(self, caller=caller, event=event, block=block, index=index, on_failure=on_failure)


@frozen(eq=False)
class OutputChange:
    """The change of a root output value."""

    name: str
    action: Action
    before: Value
    after: Value
    sensitive: bool
    facts: tuple[tuple[str, ...], ...] = ()  # the facts of the decision, as in ResourceChange


@frozen(eq=False)
class CheckResult:
    """The status of one checkable object: "pass", "fail", "error" or "unknown", with the messages of failed
    conditions."""

    kind: str  # resource, output_value, check, input_variable
    config_address: str
    address: str
    status: str
    messages: tuple[str, ...] = ()


@frozen(eq=False)
class PolicyRecord:
    """The policies with which a plan was checked, and their results: `files` are (name, text), `overrides` (code,
    reason), `verdicts` (kind, code, address, message) without sensitive values."""

    files: tuple[tuple[str, str], ...]
    overrides: tuple[tuple[str, str], ...] = ()
    verdicts: tuple[tuple[str, str, str, str], ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    """facts (relation, columns...) about the context in which the plan was first checked: the time, the run, versions.
    With these facts, checking the plan again has the same result."""


@frozen(eq=False)
class Plan:
    """A finished (or errored) plan. `prior_state` is the state after refreshing, `previous_state` the state before
    refreshing."""

    mode: Mode
    changes: tuple[ResourceChange, ...]
    drift: tuple[ResourceChange, ...]
    outputs: tuple[OutputChange, ...]
    prior_state: State
    previous_state: State
    planned_state: State | None
    variables: dict[str, Value]
    """the values of root variables, whether set or default; ephemeral variables have only their names (value None)"""
    checks: tuple[CheckResult, ...] = ()
    check_configs: tuple[tuple[str, str], ...] = ()
    """(kind, configuration address) of every checkable object, including objects without instances"""
    relevant_attributes: Sequence[tuple[str, tuple[Any, ...]]] = ()
    limits: Limits = UNLIMITED
    timestamp: str = ""
    errored: bool = False
    backend: dict[str, Any] = field(factory=dict)
    facts: tuple[tuple[str, ...], ...] = ()
    """the facts of decisions about objects without a change: data sources that were read"""
    rules: tuple[tuple[str, str], ...] = ()
    """(path, text) of the user's rule files with which the plan was made; the apply uses the same rules"""
    policy: PolicyRecord | None = None
    offline: bool = False
    """whether the plan was made without calling providers; such a plan shows possible changes and cannot be applied"""
    files: tuple[str, ...] = ()  # the files that functions read
    origins: tuple[tuple[str, str], ...] = ()
    """the origins of root variables whose values are not from a file, as (name, origin); an origin is command line,
    environment, input or default"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """(block, argument, position) of the blocks whose instances are not known yet. These blocks are deferred with
    everything that depends on them, and are among `excludes`. For a block that a provider deferred, the argument is the
    provider's reason."""
    deferred_changes: tuple[DeferredChange, ...] = ()  # the objects that a provider deferred after planning them
    deferred_dependents: tuple[str, ...] = ()
    """the resources that are deferred because they depend on blocks in `deferred`"""
    deferred_settings: tuple[tuple[str, str], ...] = ()
    """(provider configuration, argument) of arguments without a known value, if anything is deferred"""
    providers: tuple[tuple[str, Value], ...] = ()
    """(address with key, value) of the provider configurations with which the plan was made; their ephemeral parts are
    replaced by unknown values"""
    invocations: tuple[Invocation, ...] = ()
    """the action invocations, sorted by the invoking object, and in order for each object"""
    module_outputs: Mapping[str, Value] = field(factory=dict)
    """the completely known outputs of called modules, by address, which an apply need not evaluate again. These outputs
    are not stored in plan files"""

    @property
    def is_empty(self) -> bool:
        """Whether there are no changes, as exit code 0 of -detailed-exitcode reports."""
        # decided in Python: whether a plan has changes -- a sum of the rules' decisions
        return (
            not any(
                c.action != "no-op" or c.importing is not None or c.address != c.previous_address for c in self.changes
            )
            and not any(o.action != "no-op" for o in self.outputs)
            and not self.invocations
        )

    @property
    def can_apply(self) -> bool:
        """Whether applying would have an effect: it changes something or, in refresh-only mode, updates the state."""
        if self.errored or not self.is_empty:
            return not self.errored
        return self.mode == "refresh-only" and not same_managed(self.previous_state, self.prior_state)


_DEFERRED = {
    "resource_config_unknown": "its provider needs values of its configuration that are not known yet",
    "provider_config_unknown": "values in the configuration of its provider are not known yet",
    "absent_prereq": "something that its provider needs does not exist yet",
}


def deferral_cause(argument: str) -> str:
    """The reason why a provider deferred a block, as a clause; "" if the entry in Plan.deferred names an argument of
    the block instead."""
    return _DEFERRED.get(argument, "")
