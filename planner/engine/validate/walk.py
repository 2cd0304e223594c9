"""The validate walk: checks whether the configuration is valid for all values of variables, states and real objects.

In this walk, every module has one instance, and all values that a plan would read are unknown. Therefore every error
that it finds would also occur in a plan. Bodies are decoded with their schemas, and providers validate them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar, Protocol

from planner.engine.evaluation.conditions import check_rule, ephemeral_values, of_instance
from planner.engine.evaluation.configuration_walk import VertexWalk, module_path
from planner.engine.evaluation.configure import ConfiguredProviders
from planner.engine.evaluation.context import EvaluationContext, ModuleInstance, declared_marks
from planner.engine.evaluation.ignore import reference_path
from planner.engine.evaluation.imports import identity_type, import_id, import_identity
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.repetition import (
    NO_REPETITION,
    SINGLE,
    UNKNOWN_REPETITION,
    Repetition,
    for_each_items,
    repetition_problems,
    unknown_repetition,
)
from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.scope import ModuleScope, traversal_problems, trigger_reference
from planner.engine.evaluation.variables import (
    check_validations,
    depends_on_problems,
    deprecated_argument,
    evaluate_local,
    evaluate_output,
)
from planner.foundation.support.trace import as_step
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.schema import BlockSchema, implied_type
from planner.foundation.values.types import BOOL
from planner.foundation.values.value import UNKNOWN, Unknown, Value, mark, unmark_deep
from planner.foundation.vocabulary.address import ResourceAddress, join
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors, warning
from planner.foundation.vocabulary.nearest import did_you_mean
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import (
    CheckRule,
    Config,
    Expr,
    ImportDecl,
    LocalDecl,
    ModuleConfig,
    ModulePath,
    OutputDecl,
    Provisioner,
    ResourceDecl,
    VariableDecl,
)
from planner.language.config.provisioners import connection_schema, joined_connection
from planner.language.config.reading import ExpressionPiece, Problems, lint_discarded, may_discard
from planner.language.config.references import Ref, parse_reference
from planner.language.config.statements import import_blocks
from planner.language.config.variables import finalize
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import references
from planner.language.syntax.nodes import Call, GetAttr, GetIndex, Traversal
from planner.logic.model.graph import Graph, Node
from planner.world.provider.interface import AttributeDiagnostic, ResourceSchema


class Provisioners(Protocol):
    def provisioner_schema(self, type: str) -> BlockSchema | None:
        """The schema of a provisioner's block; None for an unknown type."""

    def provisioner_problems(self, type: str, config: Value | None) -> list[AttributeDiagnostic]:
        """The problems of a provisioner's configuration. If `config` is None, only the problems that every
        configuration of this type has."""

    def connection_problems(self, type: str, connection: Value) -> list[AttributeDiagnostic]:
        """Problems of the connection of a provisioner of this type."""


@as_step("validate")
def validate_walk(
    graph: Graph,
    config: Config,
    schemas: Schemas,
    workspace: str = "default",
    provisioners: Provisioners | None = None,
    settled: Collection[str] = (),
) -> list[Diagnostic]:
    """All problems, sorted by vertex. If `provisioners` is None, provisioner blocks are not checked. `settled`: the
    addresses of resources whose blocks are not checked, because they are already planned."""
    walk = ValidateWalk(graph, config, schemas, workspace, provisioners, settled)
    problems = walk.run_all()
    walk.take_apart()
    return problems


class ValidateWalk(VertexWalk):
    WORK: ClassVar[Mapping[str, str]] = {
        kind: kind
        for kind in (
            "root_variable",
            "module_variable",
            "variable_reference",
            "local",
            "output",
            "module_expand",
            "provider",
            "check_expand",
            "resource",
        )
    }

    def __init__(
        self,
        graph: Graph,
        config: Config,
        schemas: Schemas,
        workspace: str,
        provisioners: Provisioners | None,
        settled: Collection[str],
    ) -> None:
        super().__init__(graph, EvaluationContext(config, "validate", schemas, workspace=workspace))
        self.config, self.schemas = config, schemas
        self.provisioners, self.settled = provisioners, settled
        self.providers = ConfiguredProviders(self.context)
        self._arguments: dict[tuple[ModulePath, str], Value] = {}
        self._alike = SharedValues()
        self._imports: dict[str, list[tuple[ModuleConfig, ResourceAddress, ImportDecl]]] = {}  # by their target
        for declaring, target, block in import_blocks(self.context.config):
            self._imports.setdefault(str(target), []).append((declaring, target, block))
        self._repeated: dict[int, ModuleScope] = {}  # the scope of each module call, for its arguments

    def _module(self, node: Node) -> ModuleInstance:
        return self.context.instances_at(node.module)[0]

    # ---------------------------------------------------------------- values

    def root_variable(self, node: Node) -> list[Diagnostic]:
        decl = self.config.root.variables[node.object]
        value = mark(Unknown(decl.constraint.type), declared_marks(decl.sensitive, decl.ephemeral))
        self.context.root.variables[node.object] = value
        return []

    def module_variable(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        decl, call, parent = module.config.variables[node.object], module.config.call, module.parent
        assert call is not None
        assert parent is not None
        argument = call.inputs.get(node.object)
        problems = Problems()
        value: Value = decl.default
        if argument is not None:
            scope = self._repeated.get(id(parent))
            if scope is None:
                scope = self._repeated[id(parent)] = parent.with_repetition(UNKNOWN_REPETITION)
            given, diagnostics = try_evaluate(argument.expr, scope, argument.source)
            if has_errors(diagnostics):
                return diagnostics
            value = finalize(given, decl, argument.expr_span, problems)
            if may_discard(argument.expr):
                what = f'the variable "{decl.name}"'
                lint_discarded(ExpressionPiece(argument.expr, argument.source), decl.constraint.type, what, problems)
        elif value is None:
            detail = f"The module call {call.name} must set a value for {decl.name}."
            return [error("plan.required_variable", "Required variable not set", detail, decl.span)]
        marks = declared_marks(decl.sensitive, decl.ephemeral)
        # Inside the module, the variable is unknown. Only its validation rules are evaluated with the value in the
        # call.
        module.variables[decl.name] = mark(Unknown(decl.constraint.type), marks)
        self._arguments[module.config.path, decl.name] = mark(value, marks)
        return list(problems)

    def variable_reference(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        decl = module.config.variables[node.object]
        argument = module.config.call.inputs.get(decl.name) if module.config.call is not None else None
        problems: list[Diagnostic] = []
        if decl.validations:
            value = self._arguments.get((module.config.path, decl.name), module.variables.get(decl.name))
            value = Unknown(decl.constraint.type) if value is None else value
            subject = argument.expr_span if argument is not None else decl.span
            problems += check_validations(module, decl, value, subject)
        problems += deprecated_argument(module.config, decl.name)
        return [d for d in problems if d.code != "plan.unknown_message"]

    def local(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        decl = module.config.locals[node.object]
        value = self._alike.value(module, decl, decl.expr)
        if value is not None:
            module.locals[node.object] = value
            return []
        problems = evaluate_local(module, node.object)
        if not problems:
            self._alike.keep(module, decl, module.locals[node.object])
        return problems

    def output(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        decl = module.config.outputs[node.object]
        problems: list[Diagnostic] = []
        is_plain = not decl.preconditions and not decl.depends_on
        value = self._alike.value(module, decl, decl.value) if is_plain else None
        if value is not None:
            module.set_output(decl.name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))
            return []
        for rule in decl.preconditions:
            problems += check_rule(rule, "output", module.scope).diagnostics
        if has_errors(problems):
            return problems
        value, item = evaluate_output(module, decl)
        if is_plain and not item:
            self._alike.keep(module, decl, value)
        if module.parent is not None and not has_errors(item):
            module.set_output(decl.name, mark(value, declared_marks(decl.sensitive, decl.ephemeral)))
        return problems + item

    def module_expand(self, node: Node) -> list[Diagnostic]:
        *above, name = module_path(node.module)
        parent = self.context.instances(tuple(above))[0]
        call = parent.config.calls[name]
        self.context.expand_module(parent, name, SINGLE)
        return repetition_problems(call, parent.scope) + depends_on_problems(call.depends_on, parent.scope)

    def provider(self, node: Node) -> list[Diagnostic]:
        return self.providers.validate(node.object)

    def check_expand(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        scope = module.scope.inside(check=node.object)
        problems: list[Diagnostic] = []
        for rule in module.config.checks[node.object].assertions:
            problems += rule_problems(rule, scope)
        return problems

    # ---------------------------------------------------------------- resources

    def resource(self, node: Node) -> list[Diagnostic]:
        module = self._module(node)
        decl = module.config.resources[node.object]
        address = join(module.text, decl.key)
        if address in self.settled:
            return []
        problems = self._body(module, decl, address)
        problems += _conditions(module, decl)
        problems += _prevent_destroy(decl)
        for provisioner in decl.provisioners:
            if has_errors(problems):
                break
            problems += self._provisioner(module, decl, provisioner)
        for declaring, target, block in self._imports.get(address, ()):
            problems += self._import(self.context.instances(declaring.path)[0], target, block)
        return problems

    def _body(self, module: ModuleInstance, decl: ResourceDecl, address: str) -> list[Diagnostic]:
        source = module.config.provider_source(decl.provider_name)
        schema = self.schemas.resource(source, decl.mode, decl.type)
        problems = repetition_problems(decl, module.scope) + depends_on_problems(decl.depends_on, module.scope)
        if schema is None:
            return [*problems, self._unknown_type(source, decl)]
        scope = module.with_repetition(unknown_repetition(decl))
        if decl.mode == "action":
            from planner.engine.evaluation.action_calls import CallerScope

            scope = CallerScope(scope, UNKNOWN)
        config, item = decode_block(decl.body, schema.block, scope)
        problems += of_instance(item, address)
        if has_errors(item):
            return problems
        problems += ephemeral_values(decl, schema.block, config, address)
        if decl.mode == "managed":
            problems += _ignored_problems(decl, schema) + self._triggers(module, decl) + _action_triggers(module, decl)
        if has_errors(problems):
            return problems
        provider, plain = self.schemas.provider(source), unmark_deep(config)[0]
        if decl.mode == "action":
            return problems + in_body(provider.validate_action(decl.type, plain), decl.body, address)
        if decl.mode == "list":
            from planner.engine.evaluation.searches import list_configuration, search_problems

            return problems + search_problems(provider, decl, list_configuration(plain, schema), plain, address)
        return problems + in_body(provider.validate_resource(decl.mode, decl.type, plain), decl.body, address)

    def _unknown_type(self, source: str, decl: ResourceDecl) -> Diagnostic:
        schema = self.schemas.schema(source)
        known = {
            "managed": schema.resources,
            "data": schema.data_sources,
            "ephemeral": schema.ephemeral,
            "action": schema.actions,
            "list": schema.list_resources,
        }
        summary = {
            "managed": "Invalid resource type",
            "data": "Invalid data source",
            "ephemeral": "Invalid ephemeral resource",
            "action": "Invalid action type",
            "list": "Invalid list resource",
        }[decl.mode]
        hint = did_you_mean(decl.type, known[decl.mode])
        words = {mode: "resource" if mode == "managed" else mode for mode in known}
        for mode, table in known.items():
            if mode != decl.mode and decl.type in table:
                hint = f' Use a block of the kind {words[mode]} "{decl.type}" instead.'
        detail = f"The provider {source} has no {words[decl.mode]} type {decl.type}.{hint}"
        label = decl.block.labels[0] if decl.block.labels else None
        where = Span(decl.block.source, label.start, label.end) if label is not None else decl.span
        return error("plan.invalid_resource_type", summary, detail, where)

    def _triggers(self, module: ModuleInstance, decl: ResourceDecl) -> list[Diagnostic]:
        problems: list[Diagnostic] = []
        key = Repetition(count_index=0) if decl.count is not None else NO_REPETITION
        repetition = Repetition(each_key="") if decl.for_each is not None else key
        for expr in decl.lifecycle.replace_triggered_by:
            try:
                ref = trigger_reference(expr, repetition)
            except Failure as failure:
                problems += failure.diagnostics
                continue
            if ref.kind != "resource":
                continue
            target = module.config.resources.get(ref.name)
            if target is None:
                hint = did_you_mean(ref.name, module.config.resources)
                detail = (
                    f"{decl.key} names {ref.name} in replace_triggered_by, but this module does not declare it.{hint}"
                )
                summary = "Undeclared resource in replace_triggered_by"
                problems.append(error("plan.undeclared_trigger", summary, detail, expr.span))
                continue
            object_type = self.schemas.find_object_type(module.config, target)
            if object_type is not None:
                problems += traversal_problems(object_type, ref.rest, expr.source)
        return problems

    def _provisioner(self, module: ModuleInstance, decl: ResourceDecl, it: Provisioner) -> list[Diagnostic]:
        if self.provisioners is None:
            return []
        address = join(module.text, decl.key)
        schema = self.provisioners.provisioner_schema(it.type)
        useless = self.provisioners.provisioner_problems(it.type, None)
        if schema is None or useless:
            return in_body(useless, it.body, address)
        repetition = unknown_repetition(decl)
        self_value = Unknown(self.schemas.object_type(module.config, decl))
        scope = module.scope.inside(repetition, self_value)
        config, problems = decode_block(it.body, schema, scope)
        if not has_errors(problems):
            result = self.provisioners.provisioner_problems(it.type, unmark_deep(config)[0])
            problems = problems + in_body(result, it.body, address)
        connection = joined_connection(decl.connection, it)
        if connection is not None:
            value, invalid = decode_block(connection, connection_schema(), scope)
            problems += invalid
            if not has_errors(problems):
                result = self.provisioners.connection_problems(it.type, unmark_deep(value)[0])
                problems += in_body(result, connection, address)
        return problems

    def _import(self, module: ModuleInstance, target: ResourceAddress, decl: ImportDecl) -> list[Diagnostic]:
        try:
            wanted = None if decl.identity is None else identity_type(self.context, target, decl.identity)
            if decl.for_each is None:
                repetitions = [NO_REPETITION]
            else:
                try:
                    items = for_each_items(decl.for_each, module.scope, "", allow_tuple=True)
                except Failure as failure:
                    return [d for d in failure.diagnostics if d.code != "plan.unknown_for_each"]
                repetitions = [Repetition(each_key=key, each_value=value) for key, value in items]
            for repetition in repetitions:
                scope = module.with_repetition(repetition)
                if decl.id is not None:
                    import_id(decl.id, scope, allow_unknown=True)
                elif decl.identity is not None and wanted is not None:
                    import_identity(decl.identity, scope, wanted, allow_unknown=True)
        except Failure as failure:
            return failure.diagnostics
        return []


# ---------------------------------------------------------------- parts of a resource


def rule_problems(rule: CheckRule, scope: Scope) -> list[Diagnostic]:
    """Problems of a condition or its message, whether or not the condition is true."""
    _, problems = try_evaluate(rule.condition.node, scope, rule.condition.source)
    if rule.error_message is not None:
        problems = problems + try_evaluate(rule.error_message.node, scope, rule.error_message.source)[1]
    return problems


def _conditions(module: ModuleInstance, decl: ResourceDecl) -> list[Diagnostic]:
    lifecycle = decl.lifecycle
    if not lifecycle.preconditions and not lifecycle.postconditions:
        return []
    scope = module.with_repetition(unknown_repetition(decl))
    problems: list[Diagnostic] = []
    for rule in lifecycle.preconditions:
        problems += rule_problems(rule, scope)
    if lifecycle.postconditions:
        object_type = module.context.schemas.find_object_type(module.config, decl)
        own: Value = Unknown(object_type) if object_type is not None else Unknown()
        scope = scope.inside(self_value=own, check=decl.check)
        for rule in lifecycle.postconditions:
            problems += rule_problems(rule, scope)
    return problems


def _prevent_destroy(decl: ResourceDecl) -> list[Diagnostic]:
    """An error if prevent_destroy is a constant expression that is not a bool. Other expressions are checked by the
    plan."""
    expr = decl.lifecycle.prevent_destroy
    if expr is None:
        return []
    value, problems = try_evaluate(expr.node, Scope(), expr.source)
    if has_errors(problems):
        return []
    try:
        convert(value, BOOL)
    except ConversionError as bad:
        detail = f"prevent_destroy of {decl.key} is not valid: {bad}."
        return [error("plan.prevent_destroy", "Invalid value for prevent_destroy", detail, expr.span)]
    return []


def _as_indexed(steps: tuple[GetAttr | GetIndex, ...], block: BlockSchema) -> tuple[GetAttr | GetIndex, ...]:
    """The steps, with each index of a list of blocks replaced by 0, because ignore_changes accepts any index there."""
    items: list[GetAttr | GetIndex] = []
    inner: BlockSchema | None = block
    is_list = False
    for step in steps:
        if is_list and isinstance(step, GetIndex):
            step, is_list = GetIndex(0, step.start, step.end), False
        elif inner is not None and isinstance(step, GetAttr):
            nested = inner.blocks.get(step.name)
            inner = nested.block if nested is not None else None
            is_list = nested is not None and nested.nesting == "list"
        items.append(step)
    return tuple(items)


def _ignored_problems(decl: ResourceDecl, schema: ResourceSchema) -> list[Diagnostic]:
    """Problems of the paths in ignore_changes: paths that do not exist, and attributes that only the provider sets."""
    if decl.lifecycle.ignore_changes == "all":
        return []
    problems: list[Diagnostic] = []
    for reference in decl.lifecycle.ignore_changes:
        node = reference.node
        steps: tuple[GetAttr | GetIndex, ...] = node.steps if isinstance(node, Traversal) else ()
        name_end = node.root_end if isinstance(node, Traversal) else node.end
        first = GetAttr(reference_path(reference)[0][1], node.start, name_end)
        whole = _as_indexed((first, *steps), schema.block)
        result = traversal_problems(implied_type(schema.block), whole, reference.source)
        problems += result
        attribute = schema.block.attributes.get(first.name)
        if not result and not steps and attribute is not None and attribute.computed and not attribute.optional:
            detail = f"Only the provider sets {first.name}, so there is nothing in the configuration to ignore."
            label = decl.block.labels[0] if decl.block.labels else None
            where = Span(decl.block.source, label.start, label.end) if label is not None else decl.span
            problems.append(warning("plan.redundant_ignore", "Redundant ignore_changes element", detail, where))
    return problems


# Caches values that are equal for all calls of a module. During validation, every variable of a called module is
# unknown, so values that depend only on variables and local values are the same in each call.


_Foundations = tuple["dict[str, VariableDecl]", "dict[str, LocalDecl]"]


class SharedValues:
    """Values of outputs and local values that were evaluated without diagnostics, by declaration."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[OutputDecl | LocalDecl, ModuleConfig, Value]] = {}
        self._foundations: dict[int, _Foundations | None] = {}
        self._mentions: dict[int, tuple[Expr, dict[tuple[str, str], None]]] = {}
        """{id of an expression: the expression, and (kind, name) of each object to which it refers}; ("", "")
        represents provider function calls and references that cannot be parsed"""

    def keep(self, module: ModuleInstance, decl: OutputDecl | LocalDecl, value: Value) -> None:
        if module.parent is not None:
            self._first.setdefault(id(decl), (decl, module.config, value))

    def value(self, module: ModuleInstance, decl: OutputDecl | LocalDecl, expr: Expr) -> Value:
        """The value in an earlier call of the same module, if the value must be the same in this call; otherwise
        None."""
        first = self._first.get(id(decl))
        if first is None:
            return None
        _, config, value = first
        if id(decl) not in self._foundations:
            self._foundations[id(decl)] = self._find_foundations(config, expr)
        foundations, here = self._foundations[id(decl)], module.config
        if foundations is None or here.directory != config.directory:
            return None
        variables, locals = foundations
        if any(here.variables.get(name) is not it for name, it in variables.items()):
            return None
        if any(here.locals.get(name) is not it for name, it in locals.items()):
            return None
        return value

    def _find_foundations(self, config: ModuleConfig, expr: Expr) -> _Foundations | None:
        """The variables and local values on which an expression depends; None if it also depends on other objects."""
        variables: dict[str, VariableDecl] = {}
        locals: dict[str, LocalDecl] = {}
        left = [expr]
        while left:
            for kind, name in self._mentioned(left.pop()):
                if kind == "var" and name in config.variables:
                    variables[name] = config.variables[name]
                elif kind == "local" and name in config.locals:
                    if name not in locals:
                        locals[name] = config.locals[name]
                        left.append(locals[name].expr)
                elif kind not in ("path", "terraform"):
                    return None
        return variables, locals

    def _mentioned(self, expr: Expr) -> Iterable[tuple[str, str]]:
        """(kind, name) of each object to which an expression refers. The result is cached, because many outputs may
        depend on one large local value."""
        if id(expr) not in self._mentions:
            names: dict[tuple[str, str], None] = {}
            for node in references(expr.node):
                ref = parse_reference(node) if not isinstance(node, Call) else None
                names[(ref.kind, ref.name) if isinstance(ref, Ref) else ("", "")] = None
            self._mentions[id(expr)] = expr, names
        return self._mentions[id(expr)][1]


def _action_triggers(module: ModuleInstance, decl: ResourceDecl) -> list[Diagnostic]:
    if not decl.lifecycle.action_triggers:
        return []
    from planner.engine.evaluation.action_calls import condition_value, find_action, key_problems

    problems: list[Diagnostic] = []
    scope = module.with_repetition(unknown_repetition(decl))
    for trigger in decl.lifecycle.action_triggers:
        for ref in trigger.actions:
            try:
                problems += key_problems(find_action(module.config, ref), ref)
            except Failure as failure:
                problems += failure.diagnostics
        if trigger.condition is not None:
            try:
                condition_value(trigger, scope)
            except Failure as failure:
                problems += failure.diagnostics
    return problems
