"""Checks a stack without evaluating it: references in its blocks, and inputs and providers of its modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, Expr, ProviderRef, Reference, VariableDecl
from planner.language.config.reading import Problems
from planner.language.config.sources import BUILTIN, provider_display
from planner.language.config.stack_files.model import (
    ComponentDecl,
    ProviderSource,
    RemovedComponent,
    StackConfig,
    StackModule,
)
from planner.language.syntax import nodes
from planner.language.syntax.body import variables

Mention = nodes.Traversal | nodes.Variable


def check_stack(config: StackConfig) -> list[Diagnostic]:
    problems = Problems()
    for module in config.root.walk():
        _StackChecks(module, problems).check()
    check_deployments(config, problems)
    return problems


@frozen
class ExpressionSite:
    """The context of an expression. `what`: the name of the context in messages. `has_each`: whether `each` is
    available."""

    what: str
    has_each: bool = False


class _StackChecks:
    """The checks of one stack, without its child stacks."""

    def __init__(self, module: StackModule, problems: Problems) -> None:
        self.module, self.problems = module, problems

    def check(self) -> None:
        module = self.module
        for local in module.locals.values():
            self.expression(local.expr, ExpressionSite(f"local.{local.name}"))
        for output in module.outputs.values():
            self.expression(output.value, ExpressionSite(f"output.{output.name}"))
        for key, provider in module.providers.items():
            if provider.type not in module.required_providers:
                detail = (
                    f"required_providers has no entry {provider.type} with the source of the provider."
                    f"{did_you_mean(provider.type, module.required_providers)}"
                )
                self.error("provider_not_required", "Provider not required", detail, provider.span)
            self.expression(provider.for_each, ExpressionSite(f"for_each of {key}"))
            if provider.config is not None:
                place = ExpressionSite(f"the configuration of {key}", provider.for_each is not None)
                for node in variables(provider.config):
                    self.mention(node, provider.span.source, place)
        for component in module.components.values():
            self.component(component)
        for removed in module.removed:
            self.check_removed(removed)

    def error(self, code: str, title: str, detail: str, span: Span) -> None:
        self.problems.error(code, title, detail, span)

    # ------------------------------------------------------------ components

    def component(self, component: ComponentDecl) -> None:
        place = ExpressionSite(component.key, component.for_each is not None)
        self.expression(component.for_each, ExpressionSite(f"for_each of {component.key}"))
        self.expression(component.inputs, place)
        self.providers(component.providers, place)
        for reference in component.depends_on:
            self.dependency(reference)
        if component.config is not None:
            self.check_inputs(component.key, component.config, component.inputs, component.span)
            self.check_providers(component.key, component.config, component.providers, component.span)
        child = self.module.children.get(component.name) if component.kind == "stack" else None
        if child is not None:
            check_inputs(component.key, child.variables, component.inputs, component.span, self.problems)

    def check_removed(self, removed: RemovedComponent) -> None:
        key = f"{removed.kind}.{removed.name}"
        place = ExpressionSite(f"the removed {key}", removed.for_each is not None)
        self.expression(removed.for_each, ExpressionSite(f"for_each of the removed {key}"))
        self.expression(removed.inputs, place)
        self.expression(removed.key, place)
        self.providers(removed.providers, place)
        declared = self.module.components.get(key)
        if declared is not None and removed.key is None and declared.for_each is None:
            detail = f"{key} has a removed block, but it is still declared: delete one of the two."
            self.error("removed_still_declared", "Removed component still exists", detail, removed.span)
        if removed.config is not None:
            self.check_providers(f"The removed {key}", removed.config, removed.providers, removed.span)

    def dependency(self, reference: Reference) -> None:
        node = reference.node
        if isinstance(node, nodes.Traversal) and node.root in ("component", "stack"):
            self.mention(node, reference.source, ExpressionSite("depends_on"), whole=True)
            return
        detail = "depends_on can name only components and child stacks: component.NAME or stack.NAME."
        self.error("invalid_dependency", "Invalid depends_on reference", detail, reference.span)

    def check_inputs(self, key: str, config: Config, inputs: Expr | None, span: Span) -> None:
        """Report inputs that a component's module does not declare, missing inputs, and blocks that the module must not
        have (provider configurations, encryption, backend)."""
        check_inputs(key, config.root.variables, inputs, span, self.problems)
        for module in config.root.walk():
            where = f"module {'.'.join(module.path)} of {key}" if module.path else f"the module of {key}"
            for provider in module.providers.values():
                if provider.is_empty and module.path:
                    continue
                detail = f"Configure providers in the stack, and pass them to {key} in its argument providers."
                title = f"Provider configuration in {where}"
                self.error("provider_in_component", title, detail, provider.span)
            if module.encryption is not None and not module.path:
                detail = "The encryption of a stack's states is configured by TF_ENCRYPTION only."
                self.error("encryption_in_component", f"Encryption in {where}", detail, module.encryption.span or span)
            if module.backend is not None and not module.path:
                detail = (
                    "The stack stores the states of its components, so the modules that it calls cannot have a backend."
                )
                self.error("backend_in_component", f"Backend in {where}", detail, module.backend.span)

    # ------------------------------------------------------------ providers

    def providers(self, given: Iterable[tuple[ProviderRef, ProviderSource]], place: ExpressionSite) -> None:
        for _, source in given:
            provider = self.module.providers.get(source.name)
            if provider is None:
                hint = did_you_mean(source.name, self.module.providers)
                detail = f"There is no {source.name} in this stack.{hint}"
                self.error("undeclared_provider", "Undeclared provider configuration", detail, source.span)
            elif provider.for_each is None and source.key is not None:
                detail = f"{source.name} has no for_each, so it is a single configuration without a key."
                self.error("provider_key", "Unexpected key of a provider configuration", detail, source.span)
            elif provider.for_each is not None and source.key is None:
                detail = f"{source.name} has for_each: select an instance with a key, such as {source.name}[each.key]."
                self.error("provider_key", "Missing key of a provider configuration", detail, source.span)
            self.expression(source.key, place)

    def check_providers(
        self, key: str, config: Config, given: tuple[tuple[ProviderRef, ProviderSource], ...], span: Span
    ) -> None:
        """Report passed configurations that the module does not expect, expected configurations that are not passed,
        and configurations of a different provider than the module requires."""
        root = config.root
        wanted = needed_configurations(config)
        for inner, outer in given:
            source, own = root.provider_source(inner.name), self.module.required_providers.get(outer.type)
            if inner.alias is not None and str(inner) not in wanted:
                detail = f"The module of {key} declares no configuration_aliases {inner}."
                self.error("unexpected_provider", "Undeclared provider alias", detail, inner.span or span)
            if own is not None and own.source != source:
                detail = (
                    f"{key} requires {inner} to be {provider_display(source)}, but {outer.name} configures "
                    f"{provider_display(own.source)}."
                )
                self.error("other_provider", "Configuration of a different provider", detail, outer.span)
        there = {str(inner) for inner, _ in given}
        for name in sorted(set(wanted) - there):
            detail = (
                f"{key} uses {provider_display(wanted[name])}. Pass a configuration: "
                f"providers = {{ {name} = provider.{name.partition('.')[0]}.NAME }}."
            )
            self.error("missing_provider", "Missing provider configuration", detail, span)

    # ------------------------------------------------------------ references

    def expression(self, expr: Expr | None, place: ExpressionSite) -> None:
        if expr is not None:
            for node in variables(expr.node):
                self.mention(node, expr.source, place)

    def mention(self, node: Mention, source: Source, place: ExpressionSite, whole: bool = False) -> None:
        """Check a reference. `whole`: whether the reference must name a component as a whole, not an output of the
        component."""
        root = node.name if isinstance(node, nodes.Variable) else node.root
        steps = () if isinstance(node, nodes.Variable) else node.steps
        span = Span(source, node.start, node.end)
        first = steps[0] if steps else None
        name = first.name if isinstance(first, nodes.GetAttr) else ""
        if root == "each":
            if not place.has_each:
                detail = f"{place.what} has no for_each, so each.key and each.value are not available."
                self.error("each_without_for_each", "Reference to each", detail, span)
        elif root in ("var", "local"):
            among: Mapping[str, object] = self.module.variables if root == "var" else self.module.locals
            called = "variable" if root == "var" else "local value"
            if name not in among:
                detail = f"This stack has no {called} {name or 'without a name'}.{did_you_mean(name, among)}"
                self.error("undeclared_reference", f"Undeclared {called}", detail, span)
        elif root in ("component", "stack"):
            self.output_of(root, name, steps[1:], span, whole)
        else:
            detail = (
                f"{root} is not available in a stack. The available names are var, local, component, stack and, with "
                "for_each, each."
            )
            self.error("unknown_reference", "Invalid reference", detail, span)

    def output_of(self, root: str, name: str, rest: tuple[nodes.Step, ...], span: Span, whole: bool) -> None:
        component = self.module.components.get(f"{root}.{name}")
        if component is None:
            alike = [c.name for c in self.module.components.values() if c.kind == root]
            detail = f"This stack has no {root} {name or 'without a name'}.{did_you_mean(name, alike)}"
            self.error("undeclared_reference", f"Undeclared {root}", detail, span)
            return
        if component.for_each is not None:
            rest = rest[1:] if rest and isinstance(rest[0], nodes.GetIndex) else ()
        elif rest and isinstance(rest[0], nodes.GetIndex):
            detail = f"{component.key} has no for_each: there is one instance, without a key."
            self.error("unexpected_key", f"Unexpected key of a {root}", detail, span)
            return
        if whole or not rest or not isinstance(rest[0], nodes.GetAttr):
            return
        outputs = self.outputs(component)
        if outputs is not None and rest[0].name not in outputs:
            detail = f"{component.key} has no output {rest[0].name}.{did_you_mean(rest[0].name, outputs)}"
            where = Span(span.source, rest[0].start, rest[0].end)
            self.error("undeclared_output", "Undeclared output", detail, where)

    def outputs(self, component: ComponentDecl) -> Mapping[str, object] | None:
        if component.kind == "component":
            return component.config.root.outputs if component.config is not None else None
        child = self.module.children.get(component.name)
        return child.outputs if child is not None else None


def needed_configurations(config: Config) -> dict[str, str]:
    """The provider configurations that a component's module expects from its caller: provider addresses by `name` or
    `name.alias`. The built-in provider is excluded, because it needs no configuration."""
    table: dict[str, str] = {}
    root = config.root
    for required in root.required_providers.values():
        table |= {str(ref): required.source for ref in required.configuration_aliases}
    for module in root.walk():
        if module.path and (module.call is None or module.call.providers):
            continue  # this module uses configurations that its caller passes; they are checked there
        for resource in module.resources.values():
            ref = resource.provider
            if ref is None or ref.alias is None:
                table.setdefault(resource.provider_name, module.provider_source(resource.provider_name))
        for call in module.calls.values():
            for _, outer in call.providers:
                table.setdefault(str(outer), module.provider_source(outer.name))
    return {name: source for name, source in table.items() if source != BUILTIN}


CONTEXT = ("operation", "success", "errors", "warnings", "plan")
_SHARED = ("local", "identity_token", "store", "upstream_input")


def check_deployments(config: StackConfig, problems: Problems) -> None:
    """Check references in deployments and approval blocks, and that inputs match the stack's variables."""
    _DeploymentChecks(config, problems).check()


def check_inputs(
    who: str,
    declared: Mapping[str, VariableDecl],
    inputs: Expr | None,
    span: Span,
    problems: Problems,
    is_strict: bool = False,
) -> None:
    """Check that the inputs in a literal object are declared, and that all required inputs are set. Other expressions,
    and objects with computed keys, are not checked here. Undeclared inputs are reported as errors with `is_strict` (for
    deployments), otherwise as warnings."""
    node = inputs.node if inputs is not None else None
    if inputs is not None and not isinstance(node, nodes.Object):
        return  # other expressions are checked during evaluation
    names: set[str] = set()
    for item in node.items if isinstance(node, nodes.Object) else ():
        if not isinstance(item.key, nodes.Literal) or not isinstance(item.key.value, str):
            return
        names.add(item.key.value)
        if item.key.value not in declared and inputs is not None:
            hint = did_you_mean(item.key.value, declared)
            detail = f"{who} has no variable {item.key.value}, so this value is not used.{hint}"
            if is_strict:
                detail = f"The stack has no variable {item.key.value}.{hint}"
            where = Span(inputs.source, item.key.start, item.key.end)
            tell = problems.error if is_strict else problems.warning
            tell("undeclared_input", "Undeclared input", detail, where)
    missing = sorted(name for name, variable in declared.items() if variable.default is None and name not in names)
    if missing:
        detail = f"{who} needs a value for {', '.join(missing)}: a variable without a default."
        problems.error("missing_input", "Missing input", detail, inputs.span if inputs is not None else span)


class _DeploymentChecks:
    def __init__(self, config: StackConfig, problems: Problems) -> None:
        self.all, self.root, self.problems = config.deployments, config.root, problems

    def error(self, code: str, title: str, detail: str, span: Span) -> None:
        self.problems.error(code, title, detail, span)

    def check(self) -> None:
        for local in self.all.locals.values():
            self.expression(local.expr, _SHARED)
        for deployment in self.all.deployments.values():
            called = f'The deployment "{deployment.name}"'
            variables = self.root.variables
            check_inputs(called, variables, deployment.inputs, deployment.span, self.problems, is_strict=True)
            self.expression(deployment.inputs, _SHARED)
            self.expression(deployment.destroy, _SHARED)
            self.expression(deployment.imported, _SHARED)
            if deployment.imported is not None:
                self.problems.warning(
                    "stack_import",
                    "Nothing is imported",
                    f"{called} has the argument import, which the hosted service uses to move states. planner ignores "
                    "it: to move the state of a root module, run planner stacks from-modules.",
                    deployment.imported.span,
                )
            if deployment.group is not None and deployment.group_span is not None:
                self.check_name(deployment.group, self.all.groups, "deployment_group", deployment.group_span)
        for group in self.all.groups.values():
            for name, span in group.checks:
                self.check_name(name, self.all.rules, "deployment_auto_approve", span)
        for rule in (*self.all.rules.values(), *self.all.orchestrations):
            for check in rule.checks:
                self.expression(check.condition, (*_SHARED, "context", "deployment"))
                self.expression(check.reason, (*_SHARED, "context", "deployment"))
        for token in self.all.tokens.values():
            self.expression(token.audience, ("local",))
        for published in self.all.published.values():
            self.expression(published.value, (*_SHARED, "deployment"))

    def check_name(self, name: str, among: Mapping[str, object], kind: str, span: Span) -> None:
        if name not in among:
            detail = f'There is no {kind} "{name}".{did_you_mean(name, among)}'
            self.error("undeclared_reference", f"Undeclared {kind}", detail, span)

    def expression(self, expr: Expr | None, roots: tuple[str, ...]) -> None:
        for node in variables(expr.node) if expr is not None else ():
            assert expr is not None
            root = node.name if isinstance(node, nodes.Variable) else node.root
            names = [s.name for s in (() if isinstance(node, nodes.Variable) else node.steps) if hasattr(s, "name")]
            span = Span(expr.source, node.start, node.end)
            if root not in roots:
                detail = f"{root} is not valid here. Valid names are {', '.join(roots[:-1])} and {roots[-1]}."
                self.error("unknown_reference", "Invalid reference", detail, span)
            elif root == "context":
                if not names or names[0] not in CONTEXT:
                    detail = f"The attributes of context are {', '.join(CONTEXT[:-1])} and {CONTEXT[-1]}."
                    self.error("unknown_reference", "Invalid reference", detail, span)
            else:
                self.check_declared(root, names, span)

    def check_declared(self, root: str, names: list[str], span: Span) -> None:
        kinds: dict[str, Mapping[str, object]] = {
            "local": self.all.locals,
            "identity_token": self.all.tokens,
            "store": self.all.stores,
            "upstream_input": self.all.upstream,
            "deployment": self.all.deployments,
        }
        name = ".".join(names[:2]) if root == "store" else ".".join(names[:1])
        self.check_name(name, kinds[root], root, span)
