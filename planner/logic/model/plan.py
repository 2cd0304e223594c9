"""Plan: the actions, and everything needed to apply, show and explain them. Frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.world.state.model import InstanceKey, State, same_managed

Action: TypeAlias = str
"""`no-op`, or one that rules/shared/action_classes.dl has steps for; see planner.logic.programs.actions"""


@frozen(eq=False)
class Importing:
    """The request of an import block: the id (None when unknown), and whether it is unknown; or an identity."""

    id: str | None
    unknown: bool = False
    identity: Value = None


@frozen(eq=False)
class ResourceChange:
    """The change of one object. `before` and `after` are values of the resource's type (Null when absent), with
    unknowns and marks in `after`; `reason` is the `action_reason` of plan JSON ("" for none)."""

    address: str
    previous_address: str
    """differs from address when the object was moved"""
    module: str
    """module instance address, "" for the root"""
    mode: str
    type: str
    name: str
    key: InstanceKey
    deposed: str
    """deposed key, "" for the current object"""
    provider: str
    """provider configuration address, as in state"""
    action: Action
    reason: str
    before: Value
    after: Value
    replace_paths: tuple[Any, ...] = ()
    importing: Importing | None = None
    generated_config: str | None = None
    private: str | None = None
    provider_key: InstanceKey = None
    facts: tuple[tuple[str, ...], ...] = ()
    """the decision's facts: (predicate, columns...), kept for `why`"""
    before_identity: Value = None
    """the identity of the object for its provider; None if there is none"""
    after_identity: Value = None
    undecided: tuple[str, ...] = ()
    """the decisions that depend on the provider alone: object, replacement, values or import"""

    @property
    def resource_address(self) -> str:
        prefix = f"{self.module}." if self.module else ""
        return f"{prefix}{'' if self.mode == 'managed' else self.mode + '.'}{self.type}.{self.name}"


def change_name(change: ResourceChange) -> str:
    """The name of a change in explanations: its instance, or the deposed object of it."""
    return f"{change.address} (deposed {change.deposed})" if change.deposed else change.address


@frozen(eq=False)
class DeferredChange:
    """The change of an object that its provider deferred, as far as it is known: `reason` comes from the provider, and
    `unknown` lists arguments whose values were unknown. `invoked`: the action whose provider deferred it."""

    change: ResourceChange
    reason: str
    unknown: tuple[str, ...] = ()
    invoked: str = ""


@frozen(eq=False)
class Invocation:
    """A planned invocation of an action. `config` carries marks and may have unknown parts; it contains nothing
    ephemeral. `caller` is the resource instance whose change invokes it ("" for the command line), `block` and `index`
    the places of the trigger among the triggers of the resource, and of the action in it."""

    address: str
    module: str
    """module instance address, "" for the root"""
    type: str
    name: str
    key: InstanceKey
    provider: str
    """provider configuration address"""
    config: Value
    caller: str = ""
    event: str = ""
    block: int = 0
    index: int = 0
    on_failure: str = "halt"
    provider_key: InstanceKey = None

    def at(self, caller: str, event: str, block: int, index: int, on_failure: str) -> Invocation:
        """The invocation by a trigger."""
        return evolve(self, caller=caller, event=event, block=block, index=index, on_failure=on_failure)


@frozen(eq=False)
class OutputChange:
    """The change of a root output value."""

    name: str
    action: Action
    before: Value
    after: Value
    sensitive: bool
    facts: tuple[tuple[str, ...], ...] = ()
    """the decision's facts, as in ResourceChange"""


@frozen(eq=False)
class CheckResult:
    """Status of one checkable object: "pass", "fail", "error" or "unknown", with the failure messages."""

    kind: str
    """resource, output_value, check, input_variable"""
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
    """(relation, columns...) of the circumstances when the plan was first judged: the time, the run, versions; so that
    judging the plan again has the same result"""


@frozen(eq=False)
class Plan:
    """A finished (or errored) plan. `prior_state` is the state after refreshing, `previous_state` the one before."""

    mode: Mode
    changes: tuple[ResourceChange, ...]
    drift: tuple[ResourceChange, ...]
    outputs: tuple[OutputChange, ...]
    prior_state: State
    previous_state: State
    planned_state: State | None
    variables: dict[str, Value]
    """root variable values that were given or defaulted; ephemeral ones only by name (value None)"""
    checks: tuple[CheckResult, ...] = ()
    check_configs: tuple[tuple[str, str], ...] = ()
    """(kind, configuration address) of every checkable object, also those without instances"""
    relevant_attributes: Sequence[tuple[str, tuple[Any, ...]]] = ()
    limits: Limits = UNLIMITED
    timestamp: str = ""
    errored: bool = False
    backend: dict[str, Any] = field(factory=dict)
    facts: tuple[tuple[str, ...], ...] = ()
    """facts of decisions about objects without a change: data sources that were read"""
    rules: tuple[tuple[str, str], ...] = ()
    """(path, text) of the user's own rule files that the plan was made with; its apply is ordered by them too"""
    policy: PolicyRecord | None = None
    offline: bool = False
    """made without calling providers: it shows possible changes and cannot be applied"""
    files: tuple[str, ...] = ()
    """files that functions read"""
    origins: tuple[tuple[str, str], ...] = ()
    """the origins of root variables without a place, as (name, origin): command line, environment, input or default"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """(block, argument, place) of the blocks that are left for later, with all that depends on them, because their
    instances are not known yet; these blocks are among `excludes`. For a block that a provider deferred, the argument
    is the provider's reason."""
    deferred_changes: tuple[DeferredChange, ...] = ()
    """the objects that a provider deferred after it had planned them"""
    deferred_dependents: tuple[str, ...] = ()
    """the resources that are left for later because they depend on blocks that `deferred` names"""
    deferred_settings: tuple[tuple[str, str], ...] = ()
    """(provider configuration, argument) of arguments without a value, if something is deferred"""
    providers: tuple[tuple[str, Value], ...] = ()
    """(address with key, value) of the provider configurations with which the plan was made; their ephemeral parts
    count as unknown"""
    invocations: tuple[Invocation, ...] = ()
    """the actions that it invokes, sorted by the invoking object, then in their order"""
    module_outputs: Mapping[str, Value] = field(factory=dict)
    """the wholly known outputs of called modules, by address, which an apply does not evaluate again. Plan files do not
    contain them"""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes, as reported by exit code 0 of -detailed-exitcode."""
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
        """Whether applying would have any effect: changes or, in refresh-only mode, changed records."""
        if self.errored or not self.is_empty:
            return not self.errored
        return self.mode == "refresh-only" and not same_managed(self.previous_state, self.prior_state)


_DEFERRED = {
    "resource_config_unknown": "its provider needs values of its configuration that are not known yet",
    "provider_config_unknown": "values in the configuration of its provider are not known yet",
    "absent_prereq": "something that its provider needs does not exist yet",
}


def deferral_cause(argument: str) -> str:
    """The reason why a provider deferred a block, as a clause; "" if the row of Plan.deferred names an argument of the
    block."""
    return _DEFERRED.get(argument, "")
