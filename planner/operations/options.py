"""The options of commands. There is a class for reading a configuration, one for working on a state, and one for
planning and applying. An option with `eq=False` does not affect plans. All other options are compared with those of a
cached plan, to decide whether the plan is still valid (planner/workflows/batch/cache.py)."""

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
    """The options of all commands that read a configuration. `var_args`: ("var", "NAME=VALUE") and ("var-file", path),
    in the order of the command line."""

    directory: str = "."
    var_args: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    """directories with the user's own rules"""
    ask_variable: Callable[[str, str, bool], str | None] | None = field(default=None, eq=False)
    """a function (name, description, whether sensitive) that prompts for the value of a variable, and returns None if
    nothing is entered; if the option is None, prompts are not possible"""
    inputs: Mapping[str, Any] = field(factory=dict)
    """{root variable: value}; these values take precedence over all others, and may be unknown"""
    surrounding: Mapping[str, Any] = field(factory=dict)
    """{root variable: value}; these values are used for variables that have no other value, and may be unknown"""
    offline: bool = False
    """whether providers are not called"""
    mocked: bool = False
    """whether all providers except built-in ones are mocks; the state is then the file `state_path`, whichever backend
    is configured"""
    queries: bool = False
    """whether list blocks in query files are also read, as part of the root module"""
    workspace: str = ""
    """the name of the workspace; "" for the selected workspace of the directory"""


@frozen
class StateOptions(Options):
    """The options of commands that read or write a state."""

    lock: bool = field(default=True, eq=False)
    lock_timeout: float = field(default=0.0, eq=False)
    """the maximum time to wait for the lock of the state, in seconds"""
    state_path: str | None = None
    state_out: str | None = None
    backup: str | None = None
    ignore_remote_version: bool = field(default=False, eq=False)
    """whether the state may be edited even if runs on its server use a different version"""


@frozen
class OperationOptions(StateOptions):
    """The options of commands that make, apply or explain plans."""

    command: str = ""
    """the name of the command, such as `plan`, `apply` or `policy check`"""
    about: tuple[tuple[str, str], ...] = ()
    """(key, value) of further facts about the run, which policies can read"""
    mode: Mode = "normal"
    refresh: bool = True
    minimal_refresh: bool = False
    """whether only objects that are about to change are read before planning"""
    limits: Limits = UNLIMITED
    allow_deferral: bool = False
    """whether blocks with unknown count or for_each are deferred, with all their dependents"""
    deferred: tuple[tuple[str, str, str], ...] = ()
    """the blocks that earlier attempts to make this plan have deferred, as in Plan.deferred"""
    parallelism: int = field(default=10, eq=False)
    provider_parallelism: tuple[tuple[str, int], ...] = field(default=(), eq=False)
    """(provider, maximum number of concurrent operations of this provider)"""
    generate_config_out: str | None = None
    needs_configuration: bool = False
    """whether a directory without configuration is an error, unless everything is destroyed"""
    policies: tuple[str, ...] = ()
    """directories and files of policies, and builtin:NAME"""
    standing_policies: tuple[str, ...] = ()
    """the policies of the organisation, which always apply; other policies must not add rules to relations that these
    declare"""
    more_policies: Callable[[Any], tuple[tuple[str, str], ...]] | None = field(default=None, eq=False, repr=False)
    """a function that runs policies in Python for a plan (MadePlan), and returns the resulting rule files (name,
    content)"""
    policy_overrides: tuple[str, ...] = ()
    """codes of overridden denials"""
    policy_reason: str = ""
    """the reason why denials are overridden"""
    signatures: tuple[Requirement, ...] = field(default=(), eq=False)
    """the signatures that an apply requires, in addition to those that the organisation requires"""
    approval: Approval = field(default=(), eq=False)
    """the approval of the plan, if it was already checked together with other plans"""
    adopts_journal: bool = False
    """whether the objects in journals of interrupted operations are added to the state when it is read, even if the
    state has changed since"""
    suppress_forget_errors: bool = False
    """whether a destroy plan may only forget some objects, without an error"""
    keeps_values: bool = field(default=False, eq=False)
    """whether the plan keeps the values and the graph with which it was made, for questions about the plan"""
    shown_edges: int = field(default=0, eq=False)
    """the maximum number of edges for which a page about the plan shows implied edges; 0 if no page is made"""
    coming_states: Mapping[str, ComingState] = field(factory=dict)
    """{identity of a state (see `planner.world.state.backend`): planned content}, for states that other units of a
    fleet will write; data sources that read such a state get the planned content"""
    evaluates_once: bool = field(default=False, eq=False)
    """whether expressions of the configuration are evaluated only once, while planning"""
    since: str = ""
    """the git revision with which the configuration is compared to explain changes; "" for none"""
    made: Any = field(default=None, eq=False, repr=False)
    """the plan that questions are about (planner.operations.plan.MadePlan); if it is None, the plan is read from a
    file, or made for each question"""
    settled: Mapping[str, Settled] = field(factory=dict)
    """{address of a resource in the root module: its planned objects by instance key}; these resources are not planned
    again"""

    @property
    def judges(self) -> bool:
        """Whether the options or the organisation name policies."""
        return bool(self.policies or self.standing_policies)


# Limits for single providers: `-provider-parallelism NAME=N`.


def provider_limits(options: OperationOptions, config: Config, state: State) -> dict[str, int]:
    """{source address: maximum number of concurrent operations}, from the option -provider-parallelism. The option
    names a provider by its local name in the root module, by its source address (the default host and namespace may be
    omitted), or by its type. If a provider has several limits, the last one applies. Raises Failure for unknown or
    ambiguous names."""
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
    """A requirement for applying a plan: at least `number` of these keys must have signed it. `source`: the option or
    the setting that requires this."""

    keys: tuple[str, ...]
    number: int = 1
    source: str = "-require-signature"


Approval = tuple[tuple[str, str], ...]
"""a verified approval of a plan file: ("plan", "sha256:DIGEST"), and (key, time of the signature) for each key; () if
there is no approval"""


def requirements(given: Iterable[Requirement], environ: Mapping[str, str]) -> tuple[Requirement, ...]:
    """The signature requirements from the command line and from the organisation. Raises Failure if the CLI
    configuration cannot be read."""
    given = tuple(Requirement(*one) for one in given)  # requirements from another process are plain tuples
    if not setting_files(environ):
        return given
    from planner.foundation.clients.cli_config import load_cli_config

    settings = load_cli_config(environ)
    if not settings.signature_keys:
        return given
    return (*given, Requirement(settings.signature_keys, settings.signatures_required, "the organisation"))


def refusal(required: Iterable[Requirement]) -> Failure:
    """The error for an apply of a plan that is not saved, although signatures are required."""
    sources = ", ".join(one.source for one in required)
    detail = (
        f"{sources} requires signed plans: save a plan (plan -out=FILE), have it signed (planner sign FILE -key=KEY), "
        "and apply it (apply FILE)."
    )
    return Failure(error("signature.unsaved_plan", "Approved plan required", detail))
