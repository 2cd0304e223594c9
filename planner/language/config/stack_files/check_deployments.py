"""What can be said of deployments without any value."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, VariableDecl
from planner.language.config.reading import Problems
from planner.language.config.stack_files.model import StackConfig
from planner.language.syntax import nodes
from planner.language.syntax.references import variables

CONTEXT = ("operation", "success", "errors", "warnings", "plan")
_SHARED = ("local", "identity_token", "store", "upstream_input")


def check_deployments(config: StackConfig, problems: Problems) -> None:
    """What deployments and what decides about them refer to, and whether inputs fit the stack's variables."""
    _DeploymentChecks(config, problems).check()


def check_inputs(
    who: str,
    declared: Mapping[str, VariableDecl],
    inputs: Expr | None,
    span: Span,
    problems: Problems,
    is_strict: bool = False,
) -> None:
    """Whether inputs that are written out as an object are those that are declared. What is given for nothing is an
    error of a deployment (`is_strict`), whose inputs are those of the stack, and a warning elsewhere."""
    node = inputs.node if inputs is not None else None
    if inputs is not None and not isinstance(node, nodes.Object):
        return  # only evaluating it can tell
    names: set[str] = set()
    for item in node.items if isinstance(node, nodes.Object) else ():
        if not isinstance(item.key, nodes.Literal) or not isinstance(item.key.value, str):
            return
        names.add(item.key.value)
        if item.key.value not in declared and inputs is not None:
            hint = did_you_mean(item.key.value, declared)
            detail = f"{who} has no variable {item.key.value}, so this value is given to nothing.{hint}"
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
                    f"{called} has an argument import, by which the hosted service moves states. Here it does nothing: "
                    "planner stacks from-modules moves the state of a root module.",
                    deployment.imported.span,
                )
            if deployment.group is not None and deployment.group_span is not None:
                self.named(deployment.group, self.all.groups, "deployment_group", deployment.group_span)
        for group in self.all.groups.values():
            for name, span in group.checks:
                self.named(name, self.all.rules, "deployment_auto_approve", span)
        for rule in (*self.all.rules.values(), *self.all.orchestrations):
            for check in rule.checks:
                self.expression(check.condition, (*_SHARED, "context", "deployment"))
                self.expression(check.reason, (*_SHARED, "context", "deployment"))
        for token in self.all.tokens.values():
            self.expression(token.audience, ("local",))
        for published in self.all.published.values():
            self.expression(published.value, (*_SHARED, "deployment"))

    def named(self, name: str, among: Mapping[str, object], kind: str, span: Span) -> None:
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
                detail = f"{root} means nothing here. There are {', '.join(roots[:-1])} and {roots[-1]}."
                self.error("unknown_reference", "Invalid reference", detail, span)
            elif root == "context":
                if not names or names[0] not in CONTEXT:
                    detail = f"context has {', '.join(CONTEXT[:-1])} and {CONTEXT[-1]}."
                    self.error("unknown_reference", "Invalid reference", detail, span)
            else:
                self.declared(root, names, span)

    def declared(self, root: str, names: list[str], span: Span) -> None:
        kinds: dict[str, Mapping[str, object]] = {
            "local": self.all.locals,
            "identity_token": self.all.tokens,
            "store": self.all.stores,
            "upstream_input": self.all.upstream,
            "deployment": self.all.deployments,
        }
        name = ".".join(names[:2]) if root == "store" else ".".join(names[:1])
        self.named(name, kinds[root], root, span)
