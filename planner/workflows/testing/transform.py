"""Makes the configuration of a run: the tested module with the test file's providers, mocks and overrides. The module
is copied, so that other runs are not affected."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.answers.documents.json_providers import module_text
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.for_each import for_each_items
from planner.language.config.mocking import Override
from planner.language.config.model import (
    Config,
    Expr,
    ModuleConfig,
    OutputDecl,
    ProviderDecl,
    ResourceDecl,
)
from planner.language.config.reading import Problems
from planner.language.config.test_files.model import ModuleOverride, TestFile, TestRun
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import Attribute, Block, Body, NativeBody
from planner.language.syntax.nodes import Literal
from planner.workflows.testing.variables import names_of


def transformed(config: Config, file: TestFile, run: TestRun, scope: Scope) -> tuple[Config, list[Diagnostic]]:
    """The configuration of a run, and diagnostics. `scope`: the names that the test file's provider blocks can use."""
    problems = Problems()
    root = _with_providers(config.root, file, run, scope, problems)
    root = _with_resources(root, file, run, problems)
    root = _with_modules(root, file, run, problems)
    return (config if root is config.root else evolve(config, root=root)), problems


def depends_on_values(file: TestFile, run: TestRun) -> bool:
    """Whether the configuration of a run may depend on the values of variables or on outputs of other runs: the file
    has provider configurations, or mocks with for_each."""
    return bool(file.providers) or any(mock.for_each is not None for mock in file.mocks.values())


# ---------------------------------------------------------------- providers


def _with_providers(root: ModuleConfig, file: TestFile, run: TestRun, scope: Scope, problems: Problems) -> ModuleConfig:
    if not run.providers and not file.providers and not file.mocks:
        return root
    providers = dict(root.providers)
    if run.providers:
        for inner, outer in run.providers:
            result = file.providers.get(str(outer)) or file.mocks.get(str(outer))
            if result is None:
                detail = "This provider block references a provider definition that does not exist."
                title = f"Missing provider definition for {outer}"
                problems.error("missing_test_provider", title, detail, outer.span)
                continue
            providers[str(inner)] = evolve(_fill(result, scope), name=inner.name, alias=inner.alias)
    else:
        for key, provider in file.providers.items():
            providers[key] = _fill(provider, scope)
        for key, mock in file.mocks.items():
            providers[key] = _with_instances(mock, scope, problems)
    return evolve(root, providers=providers)


def _fill(provider: ProviderDecl, scope: Scope) -> ProviderDecl:
    """The provider block, in which expressions that use outputs of earlier runs are replaced with their values. A mock
    is returned unchanged."""
    return provider if provider.mocking is not None else evolve(provider, body=evaluated_body(provider.body, scope))


def _with_instances(mock: ProviderDecl, scope: Scope, problems: Problems) -> ProviderDecl:
    if mock.for_each is None:
        return mock
    value, item = try_evaluate(mock.for_each.node, scope, mock.for_each.source)
    problems.extend(item)
    items = None if Problems(item).has_errors else for_each_items(value, mock.for_each, problems)
    return evolve(mock, instances=items)


# ---------------------------------------------------------------- resources


def _with_resources(root: ModuleConfig, file: TestFile, run: TestRun, problems: Problems) -> ModuleConfig:
    for override in _merged_resources(run.overrides, file.overrides, problems):
        path, key = override.target.path, override.target.relative
        module = root.descendant(path)
        if module is None:
            detail = "Target points to resource in undefined module. Please, ensure module exists."
            problems.error("override_target", f"Module not found: {module_text(path)}", detail, override.span)
            continue
        resource = module.resources.get(key)
        if resource is None:
            detail = "Target points to undefined resource. Please, ensure resource exists."
            problems.error("override_target", f"Resource not found: {override.target}", detail, override.span)
            continue
        if resource.mode != override.mode:
            kind = "resource" if resource.mode == "managed" else resource.mode
            detail = (
                f"Target `{override.target}` is `{kind}` block itself and cannot be overridden with `{override.block}`."
            )
            title = f"Unsupported `{kind}` target in `{override.block}` block"
            problems.error("override_target", title, detail, override.span)
            continue
        made_up = evolve(resource, made_up=override)
        root = _replace_module(root, path, _replacing(key, made_up))
    return root


def _replacing(key: str, resource: ResourceDecl) -> Callable[[ModuleConfig], ModuleConfig]:
    return lambda module: evolve(module, resources={**module.resources, key: resource})


def _merged_resources(run: Iterable[Override], file: Iterable[Override], problems: Problems) -> Iterable[Override]:
    mine = {str(override.target): override for override in run}
    merged = list(run)
    for override in file:
        if str(override.target) not in mine:
            merged.append(override)
            continue
        detail = (
            f"`{override.target}` is overridden in both global file and local run blocks. The declaration in global "
            "file block will be ignored."
        )
        title = f"Multiple `{override.block}` blocks for the same address"
        problems.warning("override_twice", title, detail, override.span)
    return merged


# ---------------------------------------------------------------- modules


def _with_modules(root: ModuleConfig, file: TestFile, run: TestRun, problems: Problems) -> ModuleConfig:
    declared, emptied = root, set[tuple[str, ...]]()
    for override in _merged_modules(run.module_overrides, file.module_overrides, problems):
        module = declared.descendant(override.path)
        if module is None:
            detail = "Target points to an undefined module. Please, ensure module exists."
            title = f"Module not found: {module_text(override.path)}"
            problems.error("override_target", title, detail, override.target.span)
            continue
        for name in sorted(override.outputs):
            if name not in module.outputs:
                detail = "Specified output to override is not present in the module and will be ignored."
                problems.warning("override_output", f"Output not found: {name}", detail, override.target.span)
        # nothing to do if this module or an enclosing module was overridden already
        if not any(override.path[: len(path)] == path for path in emptied):
            root = _replace_module(root, override.path, _giving(override))
            emptied.add(override.path)
    return root


def _giving(override: ModuleOverride) -> Callable[[ModuleConfig], ModuleConfig]:
    def emptied(module: ModuleConfig) -> ModuleConfig:
        given = {name: _overridden_output(decl, override) for name, decl in module.outputs.items()}
        return evolve(
            module,
            outputs=given,
            resources={},
            calls={},
            children={},
            checks={},
            locals={},
            imports=(),
        )

    return emptied


def _overridden_output(decl: OutputDecl, override: ModuleOverride) -> OutputDecl:
    node = decl.value.node
    constant = Expr(Literal(override.outputs.get(decl.name, Null()), node.start, node.end), decl.value.source)
    made_up = decl.name in override.outputs, override.target.span
    return evolve(decl, value=constant, depends_on=(), preconditions=(), made_up=made_up)


def _merged_modules(
    run: Iterable[ModuleOverride], file: Iterable[ModuleOverride], problems: Problems
) -> Iterable[ModuleOverride]:
    mine = {override.path for override in run}
    merged = list(run)
    for override in file:
        if override.path not in mine:
            merged.append(override)
            continue
        detail = (
            f"Module `{module_text(override.path)}` is overridden in both global file and local run blocks. The "
            "declaration in global file block will be ignored."
        )
        title = "Multiple `override_module` blocks for the same address"
        problems.warning("override_twice", title, detail, override.target.span)
    return merged


def _replace_module(
    module: ModuleConfig, path: tuple[str, ...], change: Callable[[ModuleConfig], ModuleConfig]
) -> ModuleConfig:
    """The module tree in which `change` is applied to the module at `path`."""
    if not path:
        return change(module)
    name, *rest = path
    child = _replace_module(module.children[name], tuple(rest), change)
    return evolve(module, children={**module.children, name: child})


# ---------------------------------------------------------------- errors that do not depend on other blocks


def duplicates(overrides: Iterable[Override], modules: Iterable[ModuleOverride]) -> list[Diagnostic]:
    """Errors for objects and modules that a test file, or a run, overrides twice. The arguments are the overrides of
    one file or of one run."""
    problems = Problems()
    seen: set[str] = set()
    for override in overrides:
        address = str(override.target)
        if address in seen:
            detail = f"It is not allowed to have multiple `{override.block}` blocks with the same target: `{address}`."
            problems.error("duplicate_override", f"Duplicated `{override.block}` block", detail, override.span)
        seen.add(address)
    paths: set[tuple[str, ...]] = set()
    for module in modules:
        if module.path in paths:
            what = module_text(module.path)
            detail = f"It is not allowed to have multiple `override_module` blocks with the same target: `{what}`."
            problems.error("duplicate_override", "Duplicated `override_module` block", detail, module.target.span)
        paths.add(module.path)
    return problems


# Provider blocks in test files, whose expressions may refer to earlier runs


def evaluated_body(body: Body, scope: Scope) -> Body:
    """The body, in which expressions that refer to earlier runs are replaced with their values. A body in JSON syntax
    and an expression that cannot be evaluated are unchanged."""
    if not isinstance(body, NativeBody):
        return body
    attributes = {name: _provider_bodies_filled(attribute, scope) for name, attribute in body.attributes.items()}
    blocks = [
        Block(b.type, b.type_end, b.labels, b.header_end, evaluated_body(b.body, scope), b.source, b.start, b.end)
        for b in body.blocks
    ]
    return NativeBody(attributes, blocks, body.source, body.start, body.end, body.taken, body.taken_types)


def _provider_bodies_filled(attribute: Attribute, scope: Scope) -> Attribute:
    expr = Expr(attribute.expr, attribute.source)
    if "run" not in names_of(expr):
        return attribute
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        return attribute  # decoding the body reports the problem
    constant = Literal(value, expr.node.start, expr.node.end)
    return Attribute(attribute.name, attribute.name_end, constant, attribute.source, attribute.start, attribute.end)
