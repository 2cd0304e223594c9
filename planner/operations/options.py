"""The options of commands, by purpose: read a configuration, work on a state, plan and apply.

An option with `eq=False` does not affect the plan: a cached plan may be reused regardless of its value
(planner/workflows/batch/cache.py). All other options are compared with those of the cached plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.foundation.support.assets import setting_files
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.limits import UNLIMITED, Limits, Mode
from planner.foundation.vocabulary.nearest import nearest
from planner.foundation.vocabulary.provider_address import provider_source
from planner.foundation.vocabulary.records import field, frozen

if TYPE_CHECKING:
    from planner.engine.plan.options import ComingState, Settled
    from planner.language.config.model import Config
    from planner.world.state.model import State


@frozen
class Options:
    """Options of every command that reads a configuration. `var_args` are ("var", text) and ("var-file", path) in
    order."""

    directory: str = "."
    var_args: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    """directories with the user's own rules"""
    ask_variable: Callable[[str, str, bool], str | None] | None = field(default=None, eq=False)
    """a function that prompts for the value of a variable (name, description, whether it is sensitive); None if no
    prompt is possible, or if no value is entered"""
    inputs: Mapping[str, Any] = field(factory=dict)
    """values of root variables from other sources, which may be unknown and take precedence over all others"""
    surrounding: Mapping[str, Any] = field(factory=dict)
    """values that TF_VAR_ variables override; they may be unknown"""
    offline: bool = False
    """whether providers are not called"""
    mocked: bool = False
    """whether providers are mocked, except for those that are part of this program; the state is then the file
    `state_path`, whatever backend is configured"""
    queries: bool = False
    """whether the list blocks of query files are also read, as part of the root module"""
    workspace: str = ""
    """the workspace; "" for the one that is selected in the directory"""


@frozen
class StateOptions(Options):
    """Options of commands that read or write a state."""

    lock: bool = field(default=True, eq=False)
    lock_timeout: float = field(default=0.0, eq=False)
    """the maximum time to wait for a lock, in seconds"""
    state_path: str | None = None
    state_out: str | None = None
    backup: str | None = None
    ignore_remote_version: bool = field(default=False, eq=False)
    """whether the state may be edited even though runs on its server use another version"""


@frozen
class OperationOptions(StateOptions):
    """Options of commands that plan, or explain plans."""

    command: str = ""
    """the command: `plan`, `apply`, `policy check`"""
    about: tuple[tuple[str, str], ...] = ()
    """additional facts about the run for policies: (key, value)"""
    mode: Mode = "normal"
    refresh: bool = True
    minimal_refresh: bool = False
    """whether only objects that are about to change are read before planning"""
    limits: Limits = UNLIMITED
    allow_deferral: bool = False
    """whether blocks with an unknown count or for_each are left for later, with all objects that depend on them"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """the blocks that have been left for later so far, as in Plan.deferred"""
    parallelism: int = field(default=10, eq=False)
    provider_parallelism: tuple[tuple[str, int], ...] = field(default=(), eq=False)
    """limits for single providers, by name"""
    generate_config_out: str | None = None
    needs_configuration: bool = False
    """whether a directory without configuration is refused, except when everything is to be destroyed"""
    policies: tuple[str, ...] = ()
    """directories and files of policies, or builtin:NAME"""
    standing_policies: tuple[str, ...] = ()
    """the permanent policies of the organisation; no other policies may extend the relations that they declare"""
    more_policies: Callable[[Any], tuple[tuple[str, str], ...]] | None = field(default=None, eq=False, repr=False)
    """a function that returns additional rule files of policies for a plan (MadePlan): the rules that Python functions
    compute"""
    policy_overrides: tuple[str, ...] = ()
    """the codes of denials that are overridden"""
    policy_reason: str = ""
    """the reason for overriding them"""
    signatures: tuple[Requirement, ...] = field(default=(), eq=False)
    """the signatures that a plan needs to be applied, in addition to those that the organisation requires"""
    approval: Approval = field(default=(), eq=False)
    """the approval of the plan, if it has already been checked together with other plans"""
    adopts_journal: bool = False
    """whether the objects in a journal are added to the state, if a later state does not contain them"""
    suppress_forget_errors: bool = False
    """whether an apply may leave forgotten objects behind without an error"""
    keeps_values: bool = field(default=False, eq=False)
    """whether the input values of the plan will be queried"""
    shown_edges: int = field(default=0, eq=False)
    """if not 0, the graph of the plan is kept for a page, and implied edges are shown only if there are at most this
    many edges"""
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """states that are about to be written (`planner.world.state.backend`); whatever reads such a state receives its
    planned content"""
    evaluates_once: bool = field(default=False, eq=False)
    """whether the expressions of the configuration are evaluated only once, while the plan is made"""
    since: str = ""
    """the git revision of the former configuration with which changes are explained; "" for none"""
    made: Any = field(default=None, eq=False, repr=False)
    """the plan that questions are about (planner.operations.plan.MadePlan); if None, a plan is made for each question,
    or read from a file"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """resources of the root module, by address, whose planned objects are known, so that they are not planned again"""

    @property
    def judges(self) -> bool:
        """Whether policies check the plans."""
        return bool(self.policies or self.standing_policies)


# Limits for single providers: `-provider-parallelism NAME=N`.


def provider_limits(options: OperationOptions, config: Config, state: State) -> dict[str, int]:
    """The maximum number of concurrent operations by source address. A provider is named by its local name in the root
    module, by its source address (a default host and namespace may be omitted) or by its type; if several limits apply,
    the last one counts. Raises Failure for unknown or ambiguous names."""
    if not options.provider_parallelism:
        return {}
    # The providers of the configuration and of the objects in the state.
    from planner.operations.providers_needed import needed_providers

    known = sorted(needed_providers(config, state).all)
    limits: dict[str, int] = {}
    problems: list[Diagnostic] = []
    for name, count in options.provider_parallelism:
        result = _providers_named(config, name, known)
        if len(result) == 1:
            limits[result[0]] = count
        else:
            problems.append(_ambiguous(name, result) if result else _unknown(name, known))
    if problems:
        raise Failure(problems)
    return limits


def _providers_named(config: Config, name: str, known: list[str]) -> list[str]:
    if name in config.root.required_providers:
        return [config.root.provider_source(name)]
    by_type = [source for source in known if source.rpartition("/")[2] == name]
    if by_type:
        return by_type
    try:
        return [source for source in known if source == provider_source(name)]
    except ValueError:
        return []


def _unknown(name: str, known: list[str]) -> Diagnostic:
    hit = nearest(name, [text for source in known for text in (source, source.rpartition("/")[2])])
    guess = f" Did you mean {hit}?" if hit else ""
    listed = "".join(f"\n  - {source}" for source in known)
    detail = (
        f"Neither the configuration nor the state has a provider {name}.{guess} Known providers:{listed or ' none'}"
    )
    return error("cli.provider_parallelism", "Unknown provider in -provider-parallelism", detail)


def _ambiguous(name: str, names: list[str]) -> Diagnostic:
    detail = f"{name} is the type of several providers: {', '.join(names)}. Name one of them by its address."
    return error("cli.provider_parallelism", "Ambiguous provider in -provider-parallelism", detail)


# Requirements for applying plans: signatures by keys from the command line and from the organisation.


class Requirement(NamedTuple):
    """The plan must be signed by a number of these keys. `source`: where the requirement comes from."""

    keys: tuple[str, ...]
    number: int = 1
    source: str = "-require-signature"


Approval = tuple[tuple[str, str], ...]
"""A checked approval: the digest of the file (("plan", "sha256:...")), and the time at which each key signed it; () for
none"""


def requirements(given: Iterable[Requirement], environ: Mapping[str, str]) -> tuple[Requirement, ...]:
    """The requirements of the command line and of the organisation. Raises Failure if settings cannot be read."""
    given = tuple(Requirement(*one) for one in given)  # plain tuples, if they were sent by another process
    if not setting_files(environ):
        return given
    from planner.foundation.clients.cli_config import load_cli_config

    settings = load_cli_config(environ)
    if not settings.signature_keys:
        return given
    return (*given, Requirement(settings.signature_keys, settings.signatures_required, "the organisation"))


def refusal(required: Iterable[Requirement]) -> Failure:
    """The error for an apply without a saved plan if approvals are required."""
    sources = ", ".join(one.source for one in required)
    detail = (
        f"{sources} requires signed plans: save a plan (plan -out=FILE), have it signed (planner sign FILE -key=KEY), "
        "and apply it (apply FILE)."
    )
    return Failure(error("signature.unsaved_plan", "Approved plan required", detail))
