"""The options of commands, in classes by purpose: reading a configuration, working on a state, planning and applying.

An option with `eq=False` does not affect plans, so a cached plan is valid for all of its values
(planner/workflows/batch/cache.py). All other options are compared with the cached plan's options."""

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
    """Options of all commands that read a configuration. `var_args`: ("var", text) and ("var-file", path), in order."""

    directory: str = "."
    var_args: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    """directories with the user's own rules"""
    ask_variable: Callable[[str, str, bool], str | None] | None = field(default=None, eq=False)
    """function (name, description, whether sensitive) that prompts for a variable, and returns None if nothing is
    entered; None: prompts are not possible"""
    inputs: Mapping[str, Any] = field(factory=dict)
    """{root variable: value} with precedence over all other values; the values may be unknown"""
    surrounding: Mapping[str, Any] = field(factory=dict)
    """{root variable: value} with lower precedence than TF_VAR_ variables; the values may be unknown"""
    offline: bool = False
    """whether providers are not called"""
    mocked: bool = False
    """whether all providers except built-in ones are mocks; the state is then the file `state_path`, whichever backend
    is configured"""
    queries: bool = False
    """whether list blocks in query files are also read, as part of the root module"""
    workspace: str = ""
    """"" for the workspace selected in the directory"""


@frozen
class StateOptions(Options):
    """Options of commands that read or write a state."""

    lock: bool = field(default=True, eq=False)
    lock_timeout: float = field(default=0.0, eq=False)
    """maximum time to wait for a lock, in seconds"""
    state_path: str | None = None
    state_out: str | None = None
    backup: str | None = None
    ignore_remote_version: bool = field(default=False, eq=False)
    """whether the state may be edited even if runs on its server use a different version"""


@frozen
class OperationOptions(StateOptions):
    """Options of commands that plan, or explain plans."""

    command: str = ""
    """the command: `plan`, `apply`, `policy check`"""
    about: tuple[tuple[str, str], ...] = ()
    """further facts about the run for policies: (key, value)"""
    mode: Mode = "normal"
    refresh: bool = True
    minimal_refresh: bool = False
    """whether only objects that are about to change are read before planning"""
    limits: Limits = UNLIMITED
    allow_deferral: bool = False
    """whether blocks with unknown count or for_each are deferred, with all their dependents"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """the blocks that were deferred so far, as in Plan.deferred"""
    parallelism: int = field(default=10, eq=False)
    provider_parallelism: tuple[tuple[str, int], ...] = field(default=(), eq=False)
    """(provider, maximum number of concurrent operations of this provider)"""
    generate_config_out: str | None = None
    needs_configuration: bool = False
    """whether a directory without configuration is an error, unless everything is destroyed"""
    policies: tuple[str, ...] = ()
    """directories and files of policies, and builtin:NAME"""
    standing_policies: tuple[str, ...] = ()
    """the organisation's permanent policies; other policies must not extend relations that these policies declare"""
    more_policies: Callable[[Any], tuple[tuple[str, str], ...]] | None = field(default=None, eq=False, repr=False)
    """computes additional rule files for a plan (MadePlan), from policies in Python"""
    policy_overrides: tuple[str, ...] = ()
    """codes of overridden denials"""
    policy_reason: str = ""
    """reason for overriding denials"""
    signatures: tuple[Requirement, ...] = field(default=(), eq=False)
    """the signatures that are required to apply a plan, in addition to those that the organisation requires"""
    approval: Approval = field(default=(), eq=False)
    """the approval of the plan, if it was already checked together with other plans"""
    adopts_journal: bool = False
    """whether the objects in journals are added to the state when it is read, even if the state changed after the
    journals were written"""
    suppress_forget_errors: bool = False
    """whether an apply may leave forgotten objects without an error"""
    keeps_values: bool = field(default=False, eq=False)
    """whether the plan keeps the values and the graph with which it was made, for questions about the plan"""
    shown_edges: int = field(default=0, eq=False)
    """maximum number of edges of a graph for which a page also shows implied edges; 0: no page is made"""
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """states that are about to be written (`planner.world.state.backend`): reading such a state returns its planned
    content"""
    evaluates_once: bool = field(default=False, eq=False)
    """whether expressions of the configuration are evaluated only once, while planning"""
    since: str = ""
    """git revision of the former configuration that explains changes; "" for none"""
    made: Any = field(default=None, eq=False, repr=False)
    """the plan in question (planner.operations.plan.MadePlan); None: read from a file, or made for each question"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """{resource of the root module: its known planned objects}; these objects are not planned again"""

    @property
    def judges(self) -> bool:
        """Whether the options or the organisation name policies."""
        return bool(self.policies or self.standing_policies)


# Limits for single providers: `-provider-parallelism NAME=N`.


def provider_limits(options: OperationOptions, config: Config, state: State) -> dict[str, int]:
    """{source address: maximum number of concurrent operations}. A provider's name is its local name in the root
    module, its source address (the default host and namespace may be omitted) or its type. If a provider has several
    limits, the last applies. Raises Failure for unknown or ambiguous names."""
    if not options.provider_parallelism:
        return {}
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
    """A requirement: at least `number` of these keys must have signed the plan. `source`: the place where the
    requirement is set."""

    keys: tuple[str, ...]
    number: int = 1
    source: str = "-require-signature"


Approval = tuple[tuple[str, str], ...]
"""a checked approval: the digest of the file ("plan", "sha256:..."), and the time at which each key signed it; () if
there is no approval"""


def requirements(given: Iterable[Requirement], environ: Mapping[str, str]) -> tuple[Requirement, ...]:
    """The requirements of the command line and of the organisation. Raises Failure if settings cannot be read."""
    given = tuple(Requirement(*one) for one in given)  # requirements from another process are plain tuples
    if not setting_files(environ):
        return given
    from planner.foundation.clients.cli_config import load_cli_config

    settings = load_cli_config(environ)
    if not settings.signature_keys:
        return given
    return (*given, Requirement(settings.signature_keys, settings.signatures_required, "the organisation"))


def refusal(required: Iterable[Requirement]) -> Failure:
    """The error for an apply without a saved plan although signatures are required."""
    sources = ", ".join(one.source for one in required)
    detail = (
        f"{sources} requires signed plans: save a plan (plan -out=FILE), have it signed (planner sign FILE -key=KEY), "
        "and apply it (apply FILE)."
    )
    return Failure(error("signature.unsaved_plan", "Approved plan required", detail))
