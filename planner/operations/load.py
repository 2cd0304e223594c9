"""Loads a configuration, and the data needed with it, in steps. The results of the steps are RunInputs, Loaded, and (in
state_access.py) Opened and Stored. Each result includes the data of the earlier steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from planner.foundation.support.disk import view
from planner.foundation.support.trace import as_step
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, has_errors
from planner.foundation.vocabulary.records import define, field, fields, frozen
from planner.language.config.directory import VARIABLE, is_secret_directory
from planner.language.config.load import load_config, load_root
from planner.language.config.model import Config
from planner.language.config.variables import RawValue, RawVariables, RootVariable, collect_variables, root_variables
from planner.language.syntax.body import Body, BodySchema, ExpectedBlock
from planner.operations.options import Options
from planner.operations.providers_needed import provider_constraints, reused_calls
from planner.world.state.encryption_seal import PLAIN, Seal
from planner.world.state.workspace import current_workspace, data_directory

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.logic.datalog.engine.fact_base import FactBase
    from planner.logic.model.graph import Graph
    from planner.logic.model.plan import ResourceChange
    from planner.world.provider.interface import Provider
    from planner.world.provider.locate import Located, Locator
    from planner.world.provider.plugin.kept_answers import KeptAnswers
    from planner.world.provider.plugin.provider import PluginProvider
    from planner.world.state.model import State


class Encryption(Protocol):
    """The encryption of states and plans in a command. A seal encrypts and decrypts data. No expression of the
    encryption configuration is evaluated before `check` is called or a seal is used."""

    def check(self) -> list[Diagnostic]:
        """Diagnostics of the encryption configuration. If there are errors, the seals must not be used."""

    @property
    def state(self) -> Seal:
        """The seal of states."""

    @property
    def plan(self) -> Seal:
        """The seal of plan files."""

    def remote_state(self, address: str) -> Seal:
        """The seal of the state that a `terraform_remote_state` data source reads. Raises Failure."""


class Unencrypted:
    """No encryption."""

    def check(self) -> list[Diagnostic]:
        return []

    @property
    def state(self) -> Seal:
        return PLAIN

    @property
    def plan(self) -> Seal:
        return PLAIN

    def remote_state(self, address: str) -> Seal:
        return PLAIN


UNENCRYPTED = Unencrypted()


def encryption_of(config: Config | None, given: RawVariables, workspace: str) -> Encryption:
    """The encryption that a root module and the environment variable TF_ENCRYPTION configure. `config`: None if the
    configuration is missing."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text and (config is None or config.root.encryption is None):
        return UNENCRYPTED
    from planner.operations.encryption_seals import Encrypted

    return Encrypted(config, given, workspace, text)


def encryption_of_directory(directory: str, given: RawVariables, workspace: str) -> Encryption:
    """The encryption of a directory's root module. The module is read only if it may configure encryption. Raises
    Failure."""
    if not is_secret_directory(directory):
        return encryption_of(None, given, workspace)
    config, problems = load_root(directory, variables=given, workspace=workspace)
    if config is None:
        raise Failure(problems)
    return encryption_of(config, given, workspace)


O = TypeVar("O", bound=Options, covariant=True)  # noqa: E741 -- the options that a step was made with
A = TypeVar("A", bound=Options)
_STORE = BodySchema({}, (ExpectedBlock("store"), ExpectedBlock("dynamic", ("type",))))
Grown = TypeVar("Grown", bound="RunInputs[Any]")
UserRules = tuple[tuple[str, str], ...]
"""(path, text) of the user's own rule files"""


@frozen(eq=False)
class RunInputs(Generic[O]):
    """The inputs of a command that are known before the configuration is read: the options, the selected workspace, and
    the values of root variables."""

    options: O
    workspace: str
    given: RawVariables


@define(eq=False)
class Derived:
    """A cache of facts and graphs, for further graphs in the same command. `declared`: {whether import blocks are
    included: facts about the configuration}."""

    declared: dict[bool, FactBase] = field(factory=dict)
    with_state: dict[bool, tuple[State, FactBase]] = field(factory=dict)
    plan_graph: Graph | None = None
    """the graph from which the plan was made; None if neither policies nor questions need it"""
    apply_graph: tuple[tuple[ResourceChange, ...], Graph] | None = None
    """(changes, graph): the apply graph that was built and checked for these changes while planning"""


@frozen(eq=False)
class Loaded(RunInputs[O]):
    """A configuration without errors, and the data loaded with it."""

    config: Config
    schemas: Schemas
    rules: UserRules
    encryption: Encryption = field(default=UNENCRYPTED, repr=False, kw_only=True)
    derived: Derived = field(factory=Derived, repr=False, kw_only=True)


@frozen(eq=False)
class ConfigurationReading(Generic[O]):
    """A configuration, which may have errors or be missing, with its diagnostics."""

    begun: RunInputs[O]
    config: Config | None
    rules: UserRules
    problems: tuple[Diagnostic, ...]

    def loaded(self) -> Loaded[O]:
        """The configuration and its schemas. Raises Failure, with all diagnostics, if there are errors."""
        if self.config is None or has_errors(self.problems):
            raise Failure(self.problems)
        options, begun = self.begun.options, self.begun
        encryption = encryption_of(self.config, begun.given, begun.workspace)
        defers = bool(getattr(options, "allow_deferral", False))
        schemas = new_schemas(
            options.directory,
            self.config,
            options.offline,
            encryption,
            options.mocked,
            defers,
            lambda: reused_calls(options),
        )
        return grown(Loaded, begun, config=self.config, encryption=encryption, schemas=schemas, rules=self.rules)


def grown(kind: type[Grown], step: RunInputs[Any], **more: Any) -> Grown:
    """The record of the next step, of the class `kind`: all fields of `step`, and the fields in `more`."""
    return kind(**{one.name: getattr(step, one.name) for one in fields(step.__class__)}, **more)


def begin(options: A) -> tuple[RunInputs[A], list[Diagnostic]]:
    """The inputs that are known before the configuration is read, and diagnostics."""
    workspace, problems = selected_workspace(options)
    given, more = load_variables(options)
    return RunInputs(options, workspace, given), [*problems, *more]


def selected_workspace(options: Options) -> tuple[str, list[Diagnostic]]:
    """The workspace in the options or, if they name none, the selected workspace of the directory; and diagnostics."""
    environment = {**os.environ, "TF_WORKSPACE": options.workspace} if options.workspace else os.environ
    workspace, _, problems = current_workspace(options.directory, environment)
    return workspace, problems


def load_variables(options: Options) -> tuple[RawVariables, list[Diagnostic]]:
    """The values of root variables from files, the environment, the command line and the options `surrounding` and
    `inputs`, and diagnostics."""
    given, problems = collect_variables(options.directory, options.var_args)
    for name, value in options.surrounding.items():
        if name not in given:
            given[name] = RawValue(name, "environment", given=value)
    given.update((name, RawValue(name, "input", given=value)) for name, value in options.inputs.items())
    return given, problems


@as_step("load")
def read_configuration(options: A) -> ConfigurationReading[A]:
    """Read the configuration in the directory. The result may have errors."""
    begun, problems = begin(options)
    config, more = load_config(
        options.directory,
        variables=begun.given,
        workspace=begun.workspace,
        data_dir=data_directory(os.environ),
        queries=options.queries,
    )
    rules, wrong = load_rules(options)
    return ConfigurationReading(begun, config, rules, (*problems, *more, *wrong))


def load(options: A, diagnostics: Diagnostics) -> Loaded[A]:
    """Read the configuration in the directory. Warnings are added to `diagnostics`. Raises Failure if the configuration
    has errors."""
    reading = read_configuration(options)
    loaded = reading.loaded()
    diagnostics += reading.problems
    return loaded


def load_rules(options: Options) -> tuple[UserRules, list[Diagnostic]]:
    if not options.rules:
        return (), []
    return _load_rules(options)


def _load_rules(options: Options) -> tuple[UserRules, list[Diagnostic]]:
    from planner.logic.graph.build import graph_program, user_files

    try:
        rules = user_files(options.rules)
        graph_program(rules)
    except Failure as failure:
        return (), failure.diagnostics
    return rules, []


def load_values(loaded: Loaded[Any]) -> tuple[dict[str, RootVariable], list[Diagnostic]]:
    """The values of root variables, and diagnostics. If prompts are possible, the user is prompted for variables
    without a value and without a default."""
    given, declared = dict(loaded.given), loaded.config.root.variables
    ask = loaded.options.ask_variable
    for name in sorted(declared) if ask is not None else ():
        if name not in given and declared[name].default is None:
            variable = declared[name]
            answer = ask(name, variable.description or "", variable.sensitive)
            if answer is not None:
                given[name] = RawValue(name, "input", answer)
    return root_variables(declared, given)


def new_schemas(
    directory: str = ".",
    config: Config | None = None,
    offline: bool = False,
    encryption: Encryption = UNENCRYPTED,
    mocked: bool = False,
    deferral_allowed: bool = False,
    reused: Callable[[], dict[str, bool]] | None = None,
) -> Schemas:
    """An object that starts providers and caches their schemas. Plugins are located for the working directory
    `directory`, in the versions that the configuration allows. `offline`: whether providers are used only for their
    schemas. `mocked`: whether providers are replaced by mocks that generate objects. `encryption`: decrypts states that
    data sources read. `deferral_allowed`: whether providers may defer objects. `reused`: a function that returns which
    plugin calls may be answered with stored responses of earlier commands."""
    from planner.engine.evaluation.schemas import Schemas
    from planner.world.provider.registry import start_provider

    located: list[Any] = []
    answers: dict[str, KeptAnswers | None] = {}
    extensions = {"store"} if config is not None and _uses_store(config) else set[str]()

    def start(address: str) -> Provider:
        seal_of = encryption.remote_state
        with view(None):  # a former configuration also uses the plugins that are installed now
            provider = start_provider(address, locate, seal_of, deferral_allowed, extensions, kept_answers)
        if provider.is_inline:
            return provider
        return _mocked(provider) if mocked else _offline(provider) if offline else provider

    def kept_answers(plugin: PluginProvider) -> KeptAnswers | None:
        if reused is not None and plugin.address not in answers:
            answers[plugin.address] = plugin.answers_of(reused())
        return answers.get(plugin.address)

    def locate(address: str) -> Located:
        if not located:
            located.append(_locator(directory, config))
        answer: Located = located[0].locate(address)
        return answer

    schemas = Schemas(start)
    schemas.extensions = extensions
    return schemas


def _uses_store(config: Config) -> bool:
    """Whether a `terraform_data` resource has a nested block `store`. (OpenTofu does not support this block.)"""
    return any(
        decl.type == "terraform_data" and getattr(decl.body, "blocks", True) and _has_store(decl.body)
        for module in config.root.walk()
        for decl in module.resources.values()
    )


def _has_store(body: Body) -> bool:
    blocks = body.partial_content(_STORE)[0].blocks
    return any(block.type == "store" or block.labels[0].value == "store" for block in blocks)


def _offline(provider: Provider) -> Provider:
    from planner.world.provider.registry import OfflineProvider

    return OfflineProvider(provider)


def _mocked(provider: Provider) -> Provider:
    from planner.world.provider.mock import MockedProvider

    return MockedProvider(provider, known_late=True, owns=True)


def _locator(directory: str, config: Config | None) -> Locator:
    from planner.world.provider.locate import Locator

    wanted = provider_constraints(config) if config is not None else {}
    return Locator(directory, os.environ, wanted, data_directory(os.environ))
