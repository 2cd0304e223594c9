"""Reads the declarations of one configuration file; the files of a module are merged later."""

from __future__ import annotations

from planner.foundation.vocabulary.address import valid_identifier
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.span import Span
from planner.language.config.merge import ExplicitDeclaration, JoinedBody, optional
from planner.language.config.model import (
    CheckDecl,
    Config,
    Expr,
    ImportDecl,
    LocalDecl,
    ModuleCall,
    MovedDecl,
    OutputDecl,
    ProviderDecl,
    ProviderRef,
    RemovedDecl,
    ResourceDecl,
    UnresolvedCall,
    VariableDecl,
)
from planner.language.config.named_values import check_rule, label_span, locals_block, output_block, variable_block
from planner.language.config.provider_blocks import provider_block, provider_entries, provider_reference
from planner.language.config.provisioners import duplicate_escape, reserved_block
from planner.language.config.reading import (
    BAD_NAME,
    ExpressionPiece,
    Problems,
    expr_of,
    piece,
    read,
    read_some,
    references,
)
from planner.language.config.resources import (
    data_block,
    declared_data,
    ephemeral_block,
    exclusive,
    list_block,
    resource_block,
)
from planner.language.config.settings import TerraformSettings, check_versions, language_block, terraform_block
from planner.language.config.statements import import_block, moved_block, removed_block
from planner.language.syntax.body import Block, Body, BodySchema, ExpectedBlock

_MODULE = BodySchema(
    {"source": True, **dict.fromkeys(("version", "count", "for_each", "depends_on", "providers"), False)},
    (ExpectedBlock("_"), ExpectedBlock("lifecycle"), ExpectedBlock("locals"), ExpectedBlock("provider", ("type",))),
)
_OVERRIDE = optional(_MODULE)
_LIFECYCLE = BodySchema({"enabled": False})


def module_block(block: Block, override: bool, problems: Problems) -> ExplicitDeclaration[UnresolvedCall]:
    """The call in a `module` block. In override files, the argument `source` is optional."""
    content, body = read_some(block.body, _OVERRIDE if override else _MODULE, problems)
    attributes = content.attributes
    name = block.labels[0].value
    if not valid_identifier(name):
        problems.error("invalid_name", "Invalid module instance name", BAD_NAME, label_span(block, 0))
    repetition: dict[str, Span] = {}
    repeated: dict[str, Expr | None] = {"count": None, "for_each": None, "enabled": None}
    for word in ("count", "for_each"):
        if word in attributes:
            repetition[word] = attributes[word].name_span
            repeated[word] = expr_of(attributes[word], problems)
    depends_on = references(attributes["depends_on"], problems) if "depends_on" in attributes else ()
    providers = passed_providers(piece(attributes["providers"]), problems) if "providers" in attributes else ()
    lifecycle: Block | None = None
    escape: Block | None = None
    for inner in content.blocks:
        if inner.type == "lifecycle":
            if lifecycle is not None:
                detail = f"There is already a lifecycle block at {lifecycle.header_span}."
                problems.error("duplicate_lifecycle", "Duplicate lifecycle block", detail, inner.header_span)
                continue
            lifecycle = inner
            lifecycle_content = read(inner.body, _LIFECYCLE, problems)
            if "enabled" in lifecycle_content.attributes:
                repetition["enabled"] = lifecycle_content.attributes["enabled"].name_span
                repeated["enabled"] = expr_of(lifecycle_content.attributes["enabled"], problems)
        elif inner.type == "_":
            if escape is not None:
                duplicate_escape(inner, escape, problems)
                continue
            escape = inner
            body = JoinedBody(body, inner.body)
        else:
            reserved_block(inner, "module", problems)
    exclusive(repetition, "module instances", problems)
    call = ModuleCall(
        name,
        "",
        None,
        repeated["count"],
        repeated["for_each"],
        repeated["enabled"],
        depends_on,
        providers,
        {},
        block.header_span,
        block,
    )
    unresolved = UnresolvedCall(call, body, attributes.get("source"), attributes.get("version"))
    given = set(attributes) | {"enabled"} & set(repetition)
    return ExplicitDeclaration(unresolved, frozenset(given))


def passed_providers(expr: ExpressionPiece, problems: Problems) -> tuple[tuple[ProviderRef, ProviderRef], ...]:
    """The entries of a `providers` argument: (name in the called module, configuration of the caller)."""
    detail = "providers must be an object that maps names in the called module to configurations of this module."
    return provider_entries(expr, detail, lambda value, mine: provider_reference(value, "providers", mine), problems)


# Checks of module arguments without evaluation. Evaluation checks the references in expressions (planner.engine.plan).


def check_module_arguments(config: Config) -> list[Diagnostic]:
    """Errors for arguments of module blocks that the called modules do not declare, and for missing required arguments.
    Commands report them before they walk the configuration."""
    problems = Problems()
    for module in config.root.walk():
        for name in sorted(module.children):
            call = module.calls[name]
            variables = module.children[name].variables
            schema = BodySchema({v.name: v.default is None for v in variables.values()})
            if call.body is not None:
                problems.extend(call.body.content(schema).diagnostics)
    return problems


_FILE = BodySchema(
    {},
    (
        ExpectedBlock("language"),
        ExpectedBlock("required_providers"),
        ExpectedBlock("provider", ("name",)),
        ExpectedBlock("variable", ("name",)),
        ExpectedBlock("locals"),
        ExpectedBlock("output", ("name",)),
        ExpectedBlock("module", ("name",)),
        ExpectedBlock("resource", ("type", "name")),
        ExpectedBlock("data", ("type", "name")),
        ExpectedBlock("ephemeral", ("type", "name")),
        ExpectedBlock("action", ("type", "name")),
        ExpectedBlock("moved"),
        ExpectedBlock("import"),
        ExpectedBlock("check", ("name",)),
        ExpectedBlock("removed"),
        ExpectedBlock("terraform"),
    ),
)


QUERIES = ".tfquery.hcl"  # suffix of files with searches (list blocks)
_QUERIES = BodySchema(
    {},
    (
        ExpectedBlock("list", ("type", "name")),
        ExpectedBlock("variable", ("name",)),
        ExpectedBlock("locals"),
        ExpectedBlock("provider", ("name",)),
    ),
)


class FileContent:
    """The declarations of one file: a list for each kind, in source order."""

    def __init__(self) -> None:
        self.settings = TerraformSettings()
        self.providers: list[ProviderDecl] = []
        self.variables: list[ExplicitDeclaration[VariableDecl]] = []
        self.locals: list[LocalDecl] = []
        self.outputs: list[ExplicitDeclaration[OutputDecl]] = []
        self.calls: list[ExplicitDeclaration[UnresolvedCall]] = []
        self.resources: dict[str, list[ExplicitDeclaration[ResourceDecl]]] = {
            "managed": [],
            "data": [],
            "ephemeral": [],
            "action": [],
            "list": [],
        }
        self.moved: list[tuple[MovedDecl | None, Span]] = []
        self.imports: list[tuple[ImportDecl | None, Span]] = []
        self.removed: list[tuple[RemovedDecl | None, Span]] = []
        self.checks: list[CheckDecl] = []


def read_file(body: Body, filename: str, override: bool, problems: Problems) -> FileContent:
    file = FileContent()
    file.settings.languages += check_versions(body, filename, problems)
    for block in read(body, _QUERIES if filename.endswith(QUERIES) else _FILE, problems).blocks:
        _read_block(block, file, override, problems)
    return file


def _read_block(block: Block, file: FileContent, override: bool, problems: Problems) -> None:
    kind = block.type
    if kind == "resource":
        file.resources["managed"].append(resource_block(block, override, problems))
    elif kind == "data":
        file.resources["data"].append(declared_data(block, override, problems))
    elif kind == "ephemeral":
        file.resources["ephemeral"].append(ephemeral_block(block, override, problems))
    elif kind == "action":
        from planner.language.config.actions import action_block

        file.resources["action"].append(action_block(block, override, problems))
    elif kind == "list":
        file.resources["list"].append(list_block(block, problems))
    elif kind == "variable":
        file.variables.append(variable_block(block, override, problems))
    elif kind == "locals":
        file.locals += locals_block(block, problems)
    elif kind == "output":
        file.outputs.append(output_block(block, override, problems))
    elif kind == "module":
        file.calls.append(module_block(block, override, problems))
    elif kind == "provider":
        provider = provider_block(block, problems)
        if provider is not None:
            file.providers.append(provider)
    elif kind == "terraform":
        terraform_block(block, file.settings, problems)
    elif kind == "language":
        language_block(block, override, problems)
    elif kind == "check":
        check = check_block(block, override, problems)
        if check is not None:
            file.checks.append(check)
    elif kind == "moved":
        file.moved.append((moved_block(block, problems), block.header_span))
    elif kind == "import":
        file.imports.append((import_block(block, problems), block.header_span))
    elif kind == "removed":
        file.removed.append((removed_block(block, problems), block.header_span))
    else:  # only to report that required_providers belongs in a terraform block
        where = Span(block.source, block.start, block.type_end)
        detail = "A required_providers block must be inside a terraform block."
        problems.error("misplaced_block", "Invalid required_providers block", detail, where)


_CHECK = BodySchema({}, (ExpectedBlock("data", ("type", "name")), ExpectedBlock("assert")))


def check_block(block: Block, override: bool, problems: Problems) -> CheckDecl | None:
    """The declaration in a `check` block; None in an override file (reported). Also reports a check with more than one
    data source or without assertions."""
    name, span = block.labels[0].value, block.header_span
    if override:
        detail = "Override files must not contain check blocks."
        problems.error("check_in_override", "Can't override check blocks", detail, span)
        return None
    content = read(block.body, _CHECK, problems)
    if not valid_identifier(name):
        label = block.labels[0]
        where = Span(block.source, label.start, label.end)
        problems.error("invalid_name", "Invalid check block name", BAD_NAME, where)
    data = None
    rules = []
    for inner in content.blocks:
        mine = Problems()
        if inner.type == "assert":
            rule = check_rule(inner, override, mine)
            if rule is not None and not mine.has_errors:
                rules.append(rule)
        elif data is not None:
            detail = f"The check already has a data source at {data.span}; it can have only one."
            mine.error("multiple_data_sources", "Multiple data resource blocks", detail, inner.header_span)
        else:
            declared = data_block(inner, override, mine, check=name)
            data = None if mine.has_errors else declared
        problems.extend(mine)
    if not rules:
        detail = "A check needs at least one assert block."
        problems.error("no_assertion", "Zero assert blocks", detail, span)
    return CheckDecl(name, data, tuple(rules), span)
