"""Converts the body of a test file to a TestFile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.foundation.vocabulary.address import valid_identifier
from planner.language.config.file_content import passed_providers
from planner.language.config.mocking import Override
from planner.language.config.model import CheckRule, Expr, ProviderDecl
from planner.language.config.named_values import check_rule, label_span
from planner.language.config.provider_blocks import provider_block, version_constraint
from planner.language.config.reading import (
    BAD_NAME,
    Problems,
    constant,
    constant_bool,
    constant_string,
    expr_of,
    keyword,
    piece,
    read,
    references,
)
from planner.language.config.sources import SourceError, parse_module_source, without_secrets
from planner.language.config.test_files.mocks import (
    RESOURCE_OVERRIDES,
    Sources,
    mock_provider_block,
    module_override,
    resource_override,
)
from planner.language.config.test_files.model import (
    ModuleOverride,
    PlanSettings,
    PolicyExpectation,
    QueryExpectation,
    RunModule,
    TestFile,
    TestRun,
)
from planner.language.syntax.body import Block, Body, BodySchema, ExpectedBlock

_OVERRIDES = (*map(ExpectedBlock, RESOURCE_OVERRIDES), ExpectedBlock("override_module"))
_FILE = BodySchema(
    {},
    (
        ExpectedBlock("run", ("name",)),
        ExpectedBlock("provider", ("name",)),
        ExpectedBlock("variables"),
        *_OVERRIDES,
        ExpectedBlock("mock_provider", ("name",)),
    ),
)
_RUN = BodySchema(
    dict.fromkeys(("command", "providers", "expect_failures"), False),
    (
        ExpectedBlock("plan_options"),
        ExpectedBlock("assert"),
        ExpectedBlock("variables"),
        ExpectedBlock("module"),
        *_OVERRIDES,
    ),
)
_OWN_FILE = BodySchema({}, (*_FILE.blocks, ExpectedBlock("test")))
_OWN_RUN = BodySchema(
    {**_RUN.attributes, **dict.fromkeys(("state_key", "parallel", "skip_cleanup"), False)},
    (*_RUN.blocks, ExpectedBlock("policy", ("code",)), ExpectedBlock("query")),
)
_TEST = BodySchema(dict.fromkeys(("parallel", "skip_cleanup"), False))
_POLICY = BodySchema({"verdict": True, "address": False})
_QUERY = BodySchema({"question": True, **dict.fromkeys(("rows", "holds", "error_message"), False)})
_VERDICTS = ("pass", "deny", "warn", "undecided", "broken", "overridden", "waived", "info")
_SETTINGS = BodySchema(dict.fromkeys(("mode", "refresh", "replace", "target"), False))
_MODULE = BodySchema(dict.fromkeys(("source", "version"), False))


def read_test_file(body: Body, name: str, problems: Problems, sources: Sources | None = None) -> TestFile:
    """The content of a test file. Invalid parts are reported and left out. `sources` reads files with mocks; it is set
    if the file may use planner's extensions."""
    is_own = sources is not None
    content = read(body, _OWN_FILE if is_own else _FILE, problems)
    runs: list[TestRun] = []
    providers: dict[str, ProviderDecl] = {}
    mocks: dict[str, ProviderDecl] = {}
    shared = _Shared("test file", is_own)
    usual = _settings_of_file([block for block in content.blocks if block.type == "test"], shared, problems)
    for block in content.blocks:
        if block.type == "run":
            run = _run(block, problems, is_own, usual)
            if run is not None:
                runs.append(run)
        elif block.type == "test":
            continue
        elif block.type == "provider":
            provider = provider_block(block, problems)
            if provider is not None:
                providers[provider.key] = provider
        elif block.type == "mock_provider":
            mock = mock_provider_block(block, problems, sources)
            if mock is not None and mock.key in mocks:
                detail = (
                    f"It is not allowed to have multiple `mock_provider` blocks with the same address: `{mock.key}`."
                )
                problems.error("duplicate_mock", "Duplicated `mock_provider` block", detail, mock.span)
            elif mock is not None:
                mocks[mock.key] = mock
        else:
            shared.add(block, problems)
    return TestFile(
        name,
        tuple(runs),
        shared.variables,
        providers,
        mocks,
        tuple(shared.overrides),
        tuple(shared.module_overrides),
    )


class _Shared:
    """Collects the blocks that are allowed both in a test file and in a run block. `what` names the file or run in
    messages. `is_own`: whether planner's extensions of the language are allowed."""

    def __init__(self, what: str, is_own: bool) -> None:
        self.what, self.is_own = what, is_own
        self.variables: dict[str, Expr] = {}
        self.first: dict[str, Block] = {}
        self.overrides: list[Override] = []
        self.module_overrides: list[ModuleOverride] = []

    def add(self, block: Block, problems: Problems) -> None:
        if block.type in RESOURCE_OVERRIDES:
            override = resource_override(block, problems, self.is_own)
            self.overrides += [] if override is None else [override]
        elif block.type == "override_module":
            module = module_override(block, problems)
            self.module_overrides += [] if module is None else [module]
        elif not self.is_second(block, problems):
            attributes, diagnostics = block.body.just_attributes()
            problems.extend(diagnostics)
            self.variables = {name: expr_of(attribute, problems) for name, attribute in attributes.items()}

    def is_second(self, block: Block, problems: Problems) -> bool:
        first = self.first.setdefault(block.type, block)
        if first is block:
            return False
        detail = f"This {self.what} already has a {block.type} block defined at {first.header_span.place}."
        title = f'Multiple "{block.type}" blocks'
        problems.error("duplicate_block", title, detail, block.header_span)
        return True


def _settings_of_file(blocks: list[Block], shared: _Shared, problems: Problems) -> dict[str, bool]:
    usual: dict[str, bool] = {}
    for block in blocks:
        if not shared.is_second(block, problems):
            attributes = read(block.body, _TEST, problems).attributes
            usual = {name: constant_bool(attribute, problems) is True for name, attribute in attributes.items()}
    return usual


def _run(block: Block, problems: Problems, is_own: bool, usual: Mapping[str, bool]) -> TestRun | None:
    mine = Problems()
    content = read(block.body, _OWN_RUN if is_own else _RUN, mine)
    name = block.labels[0].value
    if not valid_identifier(name):
        mine.error("invalid_name", "Invalid run block name", BAD_NAME, label_span(block, 0))
    shared = _Shared("run block", is_own)
    assertions: list[CheckRule] = []
    policies: list[PolicyExpectation] = []
    queries: list[QueryExpectation] = []
    settings, module = PlanSettings(), None
    for inner in content.blocks:
        if inner.type == "assert":
            rule = check_rule(inner, False, mine)
            assertions += [] if rule is None else [rule]
        elif inner.type == "policy":
            policies += _policy(inner, mine)
        elif inner.type == "query":
            queries += _query(inner, mine)
        elif inner.type == "plan_options":
            settings = settings if shared.is_second(inner, mine) else _settings(inner, mine)
        elif inner.type == "module":
            module = module if shared.is_second(inner, mine) else _module(inner, mine)
        else:
            shared.add(inner, mine)
    attributes = content.attributes
    command: Any = "apply"
    if "command" in attributes:
        command = keyword(piece(attributes["command"]))
        if command not in ("apply", "plan"):
            detail = 'The "command" argument requires one of the following keywords without quotes: apply or plan.'
            mine.error("invalid_command", 'Invalid "command" keyword', detail, attributes["command"].expr_span)
    providers = passed_providers(piece(attributes["providers"]), mine) if "providers" in attributes else ()
    expected = references(attributes["expect_failures"], mine) if "expect_failures" in attributes else ()
    switches = {name: constant_bool(attributes[name], mine) is True for name in _TEST.attributes if name in attributes}
    state = constant_string(attributes["state_key"], mine) if "state_key" in attributes else None
    problems.extend(mine)
    if mine.has_errors:
        return None
    switches = {**usual, **switches}
    return TestRun(
        name,
        command,
        block.header_span,
        settings,
        shared.variables,
        providers,
        tuple(assertions),
        expected,
        module,
        tuple(shared.overrides),
        tuple(shared.module_overrides),
        state or "",
        tuple(policies),
        tuple(queries),
        parallel=switches.get("parallel", False),
        keeps_state=switches.get("skip_cleanup", False),
        written="" if block.source.filename.endswith(".json") else block.span.text,
    )


def _policy(block: Block, problems: Problems) -> list[PolicyExpectation]:
    attributes = read(block.body, _POLICY, problems).attributes
    if "verdict" not in attributes:
        return []
    verdict = constant_string(attributes["verdict"], problems)
    address = constant_string(attributes["address"], problems) if "address" in attributes else None
    if verdict is not None and verdict not in _VERDICTS:
        detail = f"The verdict must be {', '.join(_VERDICTS[:-1])} or {_VERDICTS[-1]}, not {verdict}."
        problems.error("invalid_verdict", "Invalid verdict", detail, attributes["verdict"].expr_span)
        return []
    return [] if verdict is None else [PolicyExpectation(block.labels[0].value, verdict, address, block.header_span)]


def _query(block: Block, problems: Problems) -> list[QueryExpectation]:
    attributes = read(block.body, _QUERY, problems).attributes
    if "question" not in attributes:
        return []
    question = constant_string(attributes["question"], problems)
    message = (constant_string(attributes["error_message"], problems) or "") if "error_message" in attributes else ""
    if ("rows" in attributes) == ("holds" in attributes):
        detail = (
            "Set either rows, the number of rows in the answer, or holds (true: the answer must have rows; false: it "
            "must have none)."
        )
        problems.error("query_answer", "Invalid query", detail, block.header_span)
        return []
    rows: int | None = None
    if "rows" in attributes:
        given = constant(piece(attributes["rows"]), problems)
        if given.__class__ is not int or given < 0:
            detail = "The number of rows must be a whole number that is not negative."
            problems.error("query_answer", "Invalid query", detail, attributes["rows"].expr_span)
            return []
        rows = given
    elif constant_bool(attributes["holds"], problems) is False:
        rows = 0
    return [] if question is None else [QueryExpectation(question, rows, message, block.header_span)]


def _settings(block: Block, problems: Problems) -> PlanSettings:
    content = read(block.body, _SETTINGS, problems)
    attributes = content.attributes
    mode: Any = "normal"
    if "mode" in attributes:
        mode = keyword(piece(attributes["mode"]))
        if mode not in ("normal", "refresh-only"):
            detail = 'The "mode" argument requires one of the following keywords without quotes: normal or refresh-only'
            problems.error("invalid_mode", 'Invalid "mode" keyword', detail, attributes["mode"].expr_span)
    refresh = constant_bool(attributes["refresh"], problems) if "refresh" in attributes else True
    if refresh is False and mode == "refresh-only":
        detail = 'The "refresh" option cannot be set to false when running a test in "refresh-only" mode.'
        problems.error("incompatible_options", "Incompatible plan options", detail, attributes["refresh"].span)
    replace = references(attributes["replace"], problems) if "replace" in attributes else ()
    targets = references(attributes["target"], problems) if "target" in attributes else ()
    return PlanSettings(mode, refresh is not False, replace, targets, block.header_span)


def _module(block: Block, problems: Problems) -> RunModule | None:
    content = read(block.body, _MODULE, problems)
    attributes = content.attributes
    version = version_constraint(attributes["version"], problems) if "version" in attributes else None
    if "source" not in attributes:
        detail = "You must specify a source attribute when executing alternate modules during test executions."
        title = 'Missing "source" attribute for module block'
        problems.error("missing_source", title, detail, block.header_span)
        return None
    where = attributes["source"].span
    text = constant_string(attributes["source"], problems)
    if text is None:
        return None
    try:
        source = parse_module_source(text, registry_only="version" in attributes)
    except SourceError as bad:
        kind = "registry module" if "version" in attributes else "module"
        shown = where if without_secrets(text) == text else block.header_span
        problems.error("invalid_module_source", f"Invalid {kind} source address", str(bad), shown)
        return None
    return RunModule(source.text, source.kind, version, block.header_span, where, block, text)
