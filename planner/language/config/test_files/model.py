"""The model of test files: runs with assertions, variables, providers, mocks and overrides. Nothing is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from planner.foundation.vocabulary.records import field, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.mocking import Override
from planner.language.config.model import CheckRule, Config, Expr, ProviderDecl, ProviderRef, Reference
from planner.language.syntax.body import Block

Command = Literal["apply", "plan"]


@frozen(eq=False)
class ModuleOverride:
    """An `override_module` block: `outputs` ({name: value}) replace the outputs of the module at `path`, which is not
    evaluated."""

    path: tuple[str, ...]
    target: Reference
    outputs: Mapping[str, object]


@frozen(eq=False)
class PlanSettings:
    """The `plan_options` block of a run."""

    mode: Literal["normal", "refresh-only"] = "normal"
    refresh: bool = True
    replace: tuple[Reference, ...] = ()
    targets: tuple[Reference, ...] = ()
    span: Span | None = None


@frozen(eq=False)
class RunModule:
    """The block `module` of a run: the module that is run instead of the root module. `written`: the source before
    normalization."""

    source: str
    source_kind: str
    version: str | None
    span: Span
    source_span: Span
    block: Block
    written: str = ""


@frozen(eq=False)
class PolicyExpectation:
    """The block `policy "CODE"` of a run: the expected result of a policy for the run's plan. `verdict` is pass, deny,
    warn, undecided, broken, overridden, waived or info. `address`: the object that the verdict concerns; None for any
    object."""

    code: str
    verdict: str
    address: str | None
    span: Span


@frozen(eq=False)
class QueryExpectation:
    """The block `query` of a run: the expected number of answers to a question about the run's plan. `rows` is None for
    any number except zero. `message`: the message if the number differs."""

    question: str
    rows: int | None
    message: str
    span: Span


@frozen(eq=False)
class TestRun:
    """A `run` block."""

    __test__ = False

    name: str
    command: Command
    span: Span
    settings: PlanSettings = PlanSettings()
    variables: Mapping[str, Expr] = field(factory=dict)
    providers: tuple[tuple[ProviderRef, ProviderRef], ...] = ()  # (name in the module, name in the test file)
    assertions: tuple[CheckRule, ...] = ()
    expected: tuple[Reference, ...] = ()
    module: RunModule | None = None
    overrides: tuple[Override, ...] = ()
    module_overrides: tuple[ModuleOverride, ...] = ()
    state_key: str = ""  # the name of a state shared with other runs; "" for the state of its module
    policies: tuple[PolicyExpectation, ...] = ()
    queries: tuple[QueryExpectation, ...] = ()
    config: Config | None = None  # the configuration of `module`
    parallel: bool = False  # whether the run may be executed together with other parallel runs
    keeps_state: bool = False  # whether the run's objects are not destroyed at the end
    written: str = ""  # the text of the block; "" in JSON


def state_name(run: TestRun) -> str:
    """The name of the state that a run uses. "" is the state of the module under test, which the runs without `module`
    and `state_key` share."""
    return run.state_key or (run.module.source if run.module is not None else "")


@frozen(eq=False)
class TestFile:
    """One test file. `name` is its path relative to the root module."""

    __test__ = False

    name: str
    runs: tuple[TestRun, ...] = ()
    variables: Mapping[str, Expr] = field(factory=dict)
    providers: Mapping[str, ProviderDecl] = field(factory=dict)  # by `name` or `name.alias`
    mocks: Mapping[str, ProviderDecl] = field(factory=dict)  # `mock_provider` blocks by `name` or `name.alias`
    overrides: tuple[Override, ...] = ()
    module_overrides: tuple[ModuleOverride, ...] = ()
    sources: tuple[str, ...] = ()  # directories from which mock files were read
