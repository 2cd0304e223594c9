"""The model of plans: planned actions, and everything that is needed to apply, show and explain them. Objects of these
classes are never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from planner.foundation.values.value import Value
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.world.state.model import InstanceKey, State, same_managed

Action: TypeAlias = str  # `no-op`, or an action in rules/shared/action_classes.dl; see planner.logic.programs.actions


@frozen(eq=False)
class Importing:
    """The object that an import block imports, given by its ID or its identity. `unknown`: whether the ID is unknown;
    then `id` is None."""

    id: str | None
    unknown: bool = False
    identity: Value = None


@frozen(eq=False)
class ResourceChange:
    """An entry of the plan: the planned action for one object, which may be `no-op`. `before`, `after`: values of the
    resource's type (Null if there is no object); `after` may contain unknown values and marks. `reason`: the
    `action_reason` in plan JSON; "" if there is none."""

    address: str
    previous_address: str  # differs from `address` only if the object was moved
    module: str  # module instance address, "" for the root
    mode: str
    type: str
    name: str
    key: InstanceKey
    deposed: str  # the deposed key; "" for the current object
    provider: str  # the address of the provider configuration
    action: Action
    reason: str
    before: Value
    after: Value
    replace_paths: tuple[Any, ...] = ()
    importing: Importing | None = None
    generated_config: str | None = None
    private: str | None = None
    provider_key: InstanceKey = None
    facts: tuple[tuple[str, ...], ...] = ()  # the facts of the decision (predicate, columns...), for `why`
    before_identity: Value = None  # the object's identity at the provider, or None
    after_identity: Value = None
    undecided: tuple[str, ...] = ()  # decisions that only the provider can make: object, replacement, values or import

    @property
    def resource_address(self) -> str:
        prefix = f"{self.module}." if self.module else ""
        return f"{prefix}{'' if self.mode == 'managed' else self.mode + '.'}{self.type}.{self.name}"


def change_name(change: ResourceChange) -> str:
    """The name of a change in explanations: the instance address, with the deposed key if there is one."""
    return f"{change.address} (deposed {change.deposed})" if change.deposed else change.address


@frozen(eq=False)
class DeferredChange:
    """The known part of a change that the provider of the object deferred. `reason`: the provider's reason. `unknown`:
    the arguments whose values were unknown. `invoked`: the action whose invocation was deferred; "" if the change of an
    object was deferred."""

    change: ResourceChange
    reason: str
    unknown: tuple[str, ...] = ()
    invoked: str = ""


@frozen(eq=False)
class Invocation:
    """A planned invocation of an action. `config`: the configuration of the action, with marks, perhaps with unknown
    parts, and without ephemeral values. `caller`: the resource instance whose change invokes the action ("" for the
    command line). `event`: the event that invokes it. `block`: the index of the trigger in the resource block. `index`:
    the index of the action in the trigger."""

    address: str
    module: str  # module instance address, "" for the root
    type: str
    name: str
    key: InstanceKey
    provider: str  # the address of the provider configuration
    config: Value
    caller: str = ""
    event: str = ""
    block: int = 0
    index: int = 0
    on_failure: str = "halt"
    provider_key: InstanceKey = None

    def at(self, caller: str, event: str, block: int, index: int, on_failure: str) -> Invocation:
        """A copy of the invocation, for the given trigger."""
        return evolve(self, caller=caller, event=event, block=block, index=index, on_failure=on_failure)


@frozen(eq=False)
class OutputChange:
    """The change of an output of the root module."""

    name: str
    action: Action
    before: Value
    after: Value
    sensitive: bool
    facts: tuple[tuple[str, ...], ...] = ()  # as in ResourceChange


@frozen(eq=False)
class CheckResult:
    """The result of the conditions of an object. `status`: "pass", "fail", "error" or "unknown". `messages`: the
    messages of failed conditions."""

    kind: str  # resource, output_value, check, input_variable
    config_address: str
    address: str
    status: str
    messages: tuple[str, ...] = ()


@frozen(eq=False)
class PolicyRecord:
    """The policies with which a plan was checked, and their results. `files`: (name, text). `overrides`: (code,
    reason). `verdicts`: (kind, code, address, message), without sensitive values."""

    files: tuple[tuple[str, str], ...]
    overrides: tuple[tuple[str, str], ...] = ()
    verdicts: tuple[tuple[str, str, str, str], ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    """facts (relation, columns...) about the time, the run and the versions at the first check, so that a later check
    has the same result"""


@frozen(eq=False)
class Plan:
    """A plan, which may be incomplete because of errors (`errored`). `previous_state`: the state before the refresh.
    `prior_state`: the state after it. `planned_state`: the state expected after the apply, read from a plan file that
    contains it; None in plans that planner makes."""

    mode: Mode
    changes: tuple[ResourceChange, ...]
    drift: tuple[ResourceChange, ...]
    outputs: tuple[OutputChange, ...]
    prior_state: State
    previous_state: State
    planned_state: State | None
    variables: dict[str, Value]  # values of root variables, whether set or default; None for ephemeral variables
    checks: tuple[CheckResult, ...] = ()
    check_configs: tuple[tuple[str, str], ...] = ()
    """(kind, configuration address) of every object with conditions, even if it has no instances"""
    relevant_attributes: Sequence[tuple[str, tuple[Any, ...]]] = ()
    """(resource instance address, path of steps ("attr", name) and ("index", key))"""
    limits: Limits = UNLIMITED
    timestamp: str = ""
    errored: bool = False
    backend: dict[str, Any] = field(factory=dict)  # the settings, with the type as "type"
    facts: tuple[tuple[str, ...], ...] = ()  # facts about read data sources, which have no entry in `changes`
    rules: tuple[tuple[str, str], ...] = ()  # (path, text) of the user's rule files; the apply uses the same rules
    policy: PolicyRecord | None = None
    offline: bool = False  # made without calling providers: shows possible changes and cannot be applied
    files: tuple[str, ...] = ()  # the files that functions read
    origins: tuple[tuple[str, str], ...] = ()
    """(name, origin) of each root variable whose value does not come from a file. The origins are: command line,
    environment, input, default"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """(block, argument, position) of each deferred block. The instances of the block are unknown because of the
    argument. If a provider deferred the block, the argument is the provider's reason. Everything that depends on these
    blocks is deferred, too, and the blocks are excluded by `limits`."""
    deferred_changes: tuple[DeferredChange, ...] = ()  # objects that a provider deferred after planning them
    deferred_dependents: tuple[str, ...] = ()  # deferred because they depend on blocks in `deferred`
    deferred_settings: tuple[tuple[str, str], ...] = ()
    """(provider configuration, argument) for each argument with an unknown value; empty if the plan defers no
    objects"""
    providers: tuple[tuple[str, Value], ...] = ()
    """(address with key, value) of each provider configuration, with unknown values in place of ephemeral parts"""
    invocations: tuple[Invocation, ...] = ()  # sorted by the invoking object, then in the order of invocation
    module_outputs: Mapping[str, Value] = field(factory=dict)
    """{address: value} of the completely known outputs of called modules, which an apply need not evaluate again. Plan
    files do not contain them"""

    @property
    def is_empty(self) -> bool:
        """Whether the plan does nothing (exit code 0 of -detailed-exitcode): each entry is `no-op` without an import or
        move, root outputs do not change, and no action is invoked."""
        # decided in Python: whether a plan has changes -- this summarizes decisions of rules
        return (
            not any(
                c.action != "no-op" or c.importing is not None or c.address != c.previous_address for c in self.changes
            )
            and not any(o.action != "no-op" for o in self.outputs)
            and not self.invocations
        )

    @property
    def can_apply(self) -> bool:
        """Whether the plan has no errors, and an apply would change, import or move objects, change outputs, invoke
        actions or, in refresh-only mode, update the state."""
        if self.errored or not self.is_empty:
            return not self.errored
        return self.mode == "refresh-only" and not same_managed(self.previous_state, self.prior_state)


_DEFERRED = {
    "resource_config_unknown": "its provider needs values of its configuration that are not known yet",
    "provider_config_unknown": "values in the configuration of its provider are not known yet",
    "absent_prereq": "something that its provider needs does not exist yet",
}


def deferral_cause(argument: str) -> str:
    """The reason why a provider deferred a block, as a clause; "" if the entry in `Plan.deferred` contains an argument
    instead."""
    return _DEFERRED.get(argument, "")
