"""Evaluates the inputs of deployments. They can use identity tokens, stores, and outputs that other stacks
published."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.support.disk import read_given, read_text
from planner.foundation.values.types import STRING
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, UNKNOWN, Unknown, Value, mark, unmark
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Expr
from planner.language.config.stack_files.model import Deployment, StackConfig
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax import nodes
from planner.language.syntax.files import load_file
from planner.workflows.stacks.flow import checked_inputs
from planner.workflows.stacks.promises import Promises

_SECRET = frozenset((EPHEMERAL, SENSITIVE))


@frozen(eq=False)
class ServiceStandIns:
    """Files that replace services of the hosted runtime. `tokens`: {name of an `identity_token` block: file with the
    token}. `varsets`: directory with variable sets (NAME.tfvars, NAME.env). `upstream`: {address of an upstream stack:
    its directory}."""

    tokens: Mapping[str, str] = field(factory=dict)
    varsets: str = "varsets"
    upstream: Mapping[str, str] = field(factory=dict)


class DeploymentFlow:
    """Evaluates the deployment files of a stack. `published(directory)`: the last published outputs of the stack in a
    directory; None if it has never published. `outputs(name)`: the outputs of a deployment of this stack; None if there
    are none."""

    def __init__(
        self,
        stack: StackConfig,
        around: ServiceStandIns,
        published: Callable[[str], Mapping[str, Value] | None],
        outputs: Callable[[str], Mapping[str, Value] | None],
    ) -> None:
        self.stack, self.around = stack, around
        self.published, self.outputs = published, outputs
        self.promises: Promises[str] = Promises(self._make)

    def inputs(self, deployment: Deployment) -> Mapping[str, Value]:
        """The inputs of a deployment, as {variable of the stack: value}. If the argument `inputs` is unknown as a
        whole, all values are unknown. Raises Failure."""
        if deployment.inputs is None:
            return {}
        value, _ = unmark(self.evaluate(deployment.inputs))
        if isinstance(value, Unknown):
            return dict.fromkeys(self.stack.root.variables, UNKNOWN)
        items: Any = value if isinstance(value, dict) else getattr(value, "items", None)
        if not isinstance(items, dict):
            detail = "inputs must be an object: the stack's variables with their values."
            raise Failure(error("stack.inputs", "Invalid inputs", detail, deployment.inputs.span))
        extra = sorted(set(items) - set(self.stack.root.variables))
        if extra:
            hint = did_you_mean(extra[0], self.stack.root.variables)
            detail = f"The stack has no variable {extra[0]}.{hint}"
            raise Failure(error("stack.undeclared_input", "Undeclared input", detail, deployment.inputs.span))
        try:
            checked_inputs(self.stack.root.variables, items, f'the deployment "{deployment.name}"')
        except Failure as failure:
            raise Failure([evolve(d, subject=deployment.inputs.span) for d in failure.diagnostics]) from None
        return dict(items)

    def is_destroyed(self, deployment: Deployment) -> bool:
        """Whether the deployment sets `destroy = true`. Raises Failure."""
        if deployment.destroy is None:
            return False
        value, _ = unmark(self.evaluate(deployment.destroy))
        if value.__class__ is not bool:
            detail = "destroy must be true or false, and known before planning."
            raise Failure(error("stack.destroy", "Invalid argument", detail, deployment.destroy.span))
        return bool(value)

    def evaluate(self, expr: Expr, context: Mapping[str, Value] | None = None) -> Value:
        """The value of an expression in a deployment file. Raises Failure."""
        value, problems = try_evaluate(expr.node, _Scope(self, context), expr.source)
        if has_errors(problems):
            raise Failure(problems)
        return value

    def _make(self, name: str) -> Value:
        kind, _, rest = name.partition(".")
        return getattr(self, f"_{kind}")(rest)

    def _local(self, name: str) -> Value:
        return self.evaluate(self.stack.deployments.locals[name].expr)

    def _identity_token(self, name: str) -> Value:
        path = self.around.tokens.get(name)
        if path is None:
            return {"jwt": mark(Unknown(STRING), _SECRET)}
        try:
            text = read_given(path).decode().strip()
        except (OSError, UnicodeDecodeError) as problem:
            detail = f"The file {path} with the identity token {name} cannot be read: {problem}."
            raise Failure(error("stack.identity_token", "Identity token cannot be read", detail)) from None
        return {"jwt": mark(text, _SECRET)}

    def _store(self, name: str) -> Value:
        store = self.stack.deployments.stores[name]
        words = {key: unmark(self.evaluate(expr))[0] for key, expr in store.settings.items()}
        called = str(words.get("name", words.get("id", "")))
        if words.get("category") == "env":
            values: dict[str, Value] = dict(_environment(self.around.varsets, called, store.span))
        else:
            values = _tfvars(self.around.varsets, called, store.span)
        return {**{key: mark(value, _SECRET) for key, value in values.items()}, "stable": values}

    def _upstream_input(self, name: str) -> Value:
        result = self.upstream(name)
        return UNKNOWN if result is None else dict(result)

    def upstream(self, name: str) -> Mapping[str, Value] | None:
        """The published outputs of an upstream stack; None if it has never published. Raises Failure."""
        result: Mapping[str, Value] | None = self.promises.ask(f"upstream.{name}")
        return result

    def _upstream(self, name: str) -> Mapping[str, Value] | None:
        upstream = self.stack.deployments.upstream[name]
        return self.published(self.around.upstream.get(upstream.source, upstream.source))

    def _published(self, name: str) -> Value:
        upstream, _, output = name.partition(".")
        result = self.upstream(upstream)
        assert result is not None, "the result was checked before"
        return result[output]

    def _deployment(self, name: str) -> Value:
        result = self.outputs(name)
        own: Value = {"deployment_name": name}
        if result is None:
            return UNKNOWN
        return {**dict(result), **own}


class _Scope(Scope):
    def __init__(self, flow: DeploymentFlow, context: Mapping[str, Value] | None) -> None:
        self.flow, self.given = flow, context

    def resolve(self, node: nodes.Traversal | nodes.Variable, source: Source | None) -> tuple[Value, int]:
        root = node.name if isinstance(node, nodes.Variable) else node.root
        steps = () if isinstance(node, nodes.Variable) else node.steps
        span = Span(source or Source("", ""), node.start, node.end)
        if root == "context" and self.given is not None:
            return dict(self.given), 0
        if root == "deployment" and self.given is not None and steps and isinstance(steps[0], nodes.GetAttr):
            return {
                "deployment_name": steps[0].name
            }, 1  # the form of context.plan.deployment, so that a check can compare both
        names = [step.name for step in steps if isinstance(step, nodes.GetAttr)]
        count = 2 if root == "store" else 1
        if root not in ("local", "identity_token", "store", "upstream_input", "deployment") or len(names) < count:
            detail = f"{root} cannot be used alone here."
            raise Failure(error("stack.reference", "Invalid reference", detail, span))
        if root == "upstream_input" and len(names) > 1 and isinstance(steps[1], nodes.GetAttr):
            result = self.flow.upstream(names[0])
            if result is not None and names[1] in result:
                return self.flow.promises.ask(f"published.{names[0]}.{names[1]}", span), 2
        return self.flow.promises.ask(".".join((root, *names[:count])), span), count


def _environment(folder: str, name: str, span: Span) -> dict[str, str]:
    """The environment variables of a variable set. They come from the file NAME.env or, if there is no such file, from
    the environment of this process. Raises Failure."""
    path = os.path.join(folder, f"{name}.env")
    if not os.path.lexists(path):
        return dict(os.environ)
    try:
        text = read_text(path)
    except (OSError, ValueError) as problem:
        detail = f"The file {path} cannot be read: {getattr(problem, 'strerror', None) or problem}."
        raise Failure(error("stack.varset", "Variable set cannot be read", detail, span)) from None
    lines = (line.strip() for line in text.splitlines())
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in pairs}


def _tfvars(folder: str, name: str, span: Span) -> dict[str, Value]:
    """The values in NAME.tfvars. Raises Failure."""
    path = os.path.join(folder, f"{name}.tfvars")
    if not os.path.lexists(path):
        detail = (
            f"The variable set {name} does not exist: write its values into {path}, or name another directory with "
            "-varset-dir."
        )
        raise Failure(error("stack.varset", "No such variable set", detail, span))
    body, source, problems = load_file(path, path, keep=False)
    if body is None or has_errors(problems):
        raise Failure(problems)
    attributes, problems = body.just_attributes()
    values: dict[str, Value] = {}
    for key, attribute in attributes.items():
        value, item = try_evaluate(attribute.expr, Scope(), source)
        problems += item
        values[key] = value
    if has_errors(problems):
        raise Failure(problems)
    return values
