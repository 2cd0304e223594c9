"""Evaluates import blocks: their target instances and the ids of the objects to import."""

from __future__ import annotations

from threading import Lock

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition, for_each_items
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.support.exact_json import dumps
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.json_codec import to_json
from planner.foundation.values.types import NUMBER, STRING, ObjectType, Type
from planner.foundation.values.value import (
    EPHEMERAL,
    SENSITIVE,
    Null,
    Unknown,
    Value,
    is_wholly_known,
    type_of,
    unmark,
    unmark_deep,
)
from planner.foundation.vocabulary.address import AddressError, ResourceAddress, address_of
from planner.foundation.vocabulary.address import TraversalStep as AddressStep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.nearest import did_you_mean, enumerate_words
from planner.foundation.vocabulary.records import frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Config, Expr, ImportDecl, ModuleConfig
from planner.language.config.statements import import_blocks
from planner.language.expressions.evaluate import try_evaluate
from planner.language.syntax.nodes import Expression, GetAttr, GetIndex, Index, Relative, Step, Traversal, Variable


@frozen(eq=False)
class ImportTarget:
    """An object to import into a resource instance. The object is identified by its id or, if the id is "", by its
    identity. If both are missing, nothing is imported. `module`: the address, without keys, of the module that contains
    the import block."""

    address: ResourceAddress
    id: str
    decl: ImportDecl
    identity: Value = None
    module: str = ""

    @property
    def shown(self) -> str:
        return self.id or import_text(self.identity)


class Imports:
    """The import blocks of all modules. Each block is evaluated when its target resource is expanded."""

    def __init__(self, context: EvaluationContext) -> None:
        self.context = context
        self._lock = Lock()
        self._blocks: dict[str, list[tuple[ModuleConfig, ImportDecl]]] = {}
        for module, target, decl in import_blocks(context.config):
            self._blocks.setdefault(str(target), []).append((module, decl))
        self._targets: dict[str, list[ImportTarget]] = {}

    def resolve(self, config_address: str) -> list[Diagnostic]:
        """Evaluate the import blocks whose target is this resource (its address without keys). Returns the problems."""
        problems: list[Diagnostic] = []
        for config, decl in self._blocks.get(config_address, ()):
            for module in self.context.instances(config.path):
                try:
                    for repetition in self._repetitions(module, decl):
                        problems += self._resolve(module, decl, repetition)
                except Failure as failure:
                    problems += failure.diagnostics
        return problems

    def targets_of(self, module: ModuleInstance, decl: ImportDecl) -> list[ImportTarget]:
        """The targets of one import block in a module instance. Raises Failure."""
        known = {address: len(targets) for address, targets in self._targets.items()}
        for repetition in self._repetitions(module, decl):
            self._resolve(module, decl, repetition)
        return [one for address, targets in self._targets.items() for one in targets[known.get(address, 0) :]]

    def targets(self, instance: str) -> dict[str, ImportTarget]:
        """The import targets for a resource instance, by the address of the module that contains the import block. As
        in OpenTofu, an empty id imports nothing, so that a variable can disable an import."""
        known = self._targets.get(instance, ())
        return {target.module: target for target in known if target.id or target.identity is not None}

    def missing(self) -> list[Diagnostic]:
        """Errors for imports into instances that the expanded configuration does not have."""
        return [
            _without_config(address, None)
            for address, (target, *_) in sorted(self._targets.items())
            if not self.context.declares_instance(target.address)
        ]

    def _repetitions(self, module: ModuleInstance, decl: ImportDecl) -> list[Repetition]:
        if decl.for_each is None:
            return [NO_REPETITION]
        items = for_each_items(decl.for_each, module.scope, "", allow_tuple=True)
        return [Repetition(each_key=key, each_value=value) for key, value in items]

    def _resolve(self, module: ModuleInstance, decl: ImportDecl, repetition: Repetition) -> list[Diagnostic]:
        scope = module.with_repetition(repetition)
        steps = _steps(decl.to, decl.to.node, scope)
        try:
            address = address_of(steps)
        except AddressError as bad:
            raise Failure(error("plan.import_address", bad.summary, bad.detail, decl.to.span)) from None
        assert isinstance(address, ResourceAddress)
        address = address.inside(module.address)
        identifier, identity = "", None
        remarks: list[Diagnostic] = []
        if decl.id is not None:
            identifier = import_id(decl.id, scope, remarks=remarks)
        elif decl.identity is not None:
            wanted = identity_type(self.context, address.config, decl.identity)
            identity = import_identity(decl.identity, scope, wanted, remarks=remarks)
        with self._lock:
            known = self._targets.setdefault(str(address), [])
            path = str(module.address.config)
            for other in known:
                if other.module == path:
                    detail = f"There is already an import block for {address} at {other.decl.span}."
                    where = other.decl.span
                    raise Failure(error("plan.duplicate_import", "Duplicate import configuration", detail, where))
            known.append(ImportTarget(address, identifier, decl, identity, path))
        return remarks


def import_id(
    expr: Expr, scope: ModuleScope, allow_unknown: bool = False, remarks: list[Diagnostic] | None = None
) -> str:
    """The id in an import block. With `allow_unknown`, the result for an unknown id is "". Adds warnings to `remarks`.
    Raises Failure."""
    result = _evaluate(expr, scope, STRING, "id", allow_unknown, remarks)
    return "" if result is None else str(result)


def import_identity(
    expr: Expr,
    scope: ModuleScope,
    wanted: ObjectType,
    allow_unknown: bool = False,
    remarks: list[Diagnostic] | None = None,
) -> Value:
    """The identity in an import block. With `allow_unknown`, the result for an unknown identity is None. Adds warnings
    to `remarks`. Raises Failure."""
    identity = _evaluate(expr, scope, wanted, "identity", allow_unknown, remarks)
    absent = [] if identity is None else [n for n in sorted(wanted.attributes) if identity[n].__class__ is Null]
    if missing := [name for name in absent if name not in wanted.optional]:
        reason = f"{enumerate_words(missing)} must not be null: the provider needs it to find the object."
        raise Failure(error("plan.import_id", "Invalid import identity argument", reason, expr.span))
    return identity


def _check_names(value: Value, wanted: ObjectType, expr: Expr) -> None:
    """Raises Failure if an identity has attributes that its type does not have. (A conversion to the type would
    silently drop these attributes.)"""
    given = type_of(value)
    if not isinstance(given, ObjectType):
        return
    for name in sorted(given.attributes.keys() - wanted.attributes.keys()):
        hint = did_you_mean(name, wanted.attributes) or f" It has {enumerate_words(sorted(wanted.attributes))}."
        reason = f'The identity has no attribute named "{name}".{hint}'
        raise Failure(error("plan.import_id", "Invalid import identity argument", reason, expr.span))


def identity_type(context: EvaluationContext, address: ResourceAddress, expr: Expr) -> ObjectType:
    """The type of a resource's identities. Raises Failure if the resource has no identities or is not declared."""
    module = context.config.root.descendant(address.path)
    decl = module.resources.get(address.relative) if module is not None else None
    if module is None or decl is None:
        raise Failure(_without_config(str(address), None))
    schema = context.schemas.of(module, decl)
    if schema.identity is None:
        detail = f"The provider of {address} does not support identities for {address.type}: use id."
        raise Failure(error("plan.import_identity", "Import by identity is not possible", detail, expr.span))
    optional = frozenset(name for name, a in schema.identity.attributes.items() if not a.required)
    return ObjectType({name: a.type for name, a in schema.identity.attributes.items()}, optional)


def import_text(identity: Value) -> str:
    """The identity as JSON; "" for None."""
    return "" if identity is None else dumps(to_json(identity, type_of(identity))).decode()


def _evaluate(
    expr: Expr,
    scope: ModuleScope,
    wanted: Type,
    what: str,
    allow_unknown: bool,
    remarks: list[Diagnostic] | None,
) -> Value:
    """The value of an argument of an import block. With `allow_unknown`, the result for an unknown value is None. Adds
    warnings to `remarks`. Raises Failure."""
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        raise Failure(problems)
    if remarks is not None:
        remarks += problems
    if isinstance(wanted, ObjectType):
        _check_names(unmark(value)[0], wanted, expr)
    try:
        value = convert(value, wanted)
    except ConversionError as bad:
        raise Failure(error("plan.value_type", "Incorrect value type", f"{bad.about(value)}.", expr.span)) from None
    plain, marks = unmark_deep(value)
    reason = ""
    if plain.__class__ is Null:
        reason = "It is null."
    elif not is_wholly_known(plain):
        if allow_unknown:
            return None
        detail = "The value is known only after apply, so the import cannot be planned."
        raise Failure(error("plan.unknown_import", f"Invalid import {what} argument", detail, expr.span))
    elif SENSITIVE in marks or EPHEMERAL in marks:
        reason = "The value is sensitive or ephemeral, but the id or identity of an import is shown and stored."
    if reason:
        raise Failure(error("plan.import_id", f"Invalid import {what} argument", reason, expr.span))
    return plain


def check_imports(config: Config) -> list[Diagnostic]:
    problems = []
    for _, target, decl in import_blocks(config):
        module = config.root.descendant(target.path)
        if module is None or target.relative not in module.resources:
            known = () if module is None else module.resources
            hint = did_you_mean(target.relative, known)
            problems.append(_without_config(str(target), decl, hint))
    return problems


def _without_config(address: str, decl: ImportDecl | None, hint: str = "") -> Diagnostic:
    detail = f"An import block names {address}, which is not declared: write a resource block for it.{hint}"
    summary = "Configuration for import target does not exist"
    return error("plan.import_without_config", summary, detail, decl.span if decl else None)


# ---------------------------------------------------------------- the address


def _steps(to: Expr, node: Expression, scope: ModuleScope) -> list[AddressStep]:
    if isinstance(node, Index):
        step = AddressStep(_key(to, node.key, scope), True, node.bracket, node.end)
        return [*_steps(to, node.collection, scope), step]
    if isinstance(node, Relative):
        return _steps(to, node.source, scope) + [_constant(step) for step in node.steps]
    if isinstance(node, Variable):
        return [AddressStep(node.name, False, node.start, node.end)]
    if isinstance(node, Traversal):
        root = AddressStep(node.root, False, node.start, node.root_end)
        return [root, *(_constant(step) for step in node.steps)]
    detail = "The target of an import must be a resource instance; keys may be expressions."
    span = Span(to.source, node.start, node.end)
    raise Failure(error("plan.import_address", "Invalid import address expression", detail, span))


def _constant(step: Step) -> AddressStep:
    if isinstance(step, GetAttr):
        return AddressStep(step.name, False, step.start, step.end)
    assert isinstance(step, GetIndex)
    return AddressStep(step.key, True, step.start, step.end)


def _key(to: Expr, node: Expression, scope: ModuleScope) -> str | int:
    span = Span(to.source, node.start, node.end)
    value, problems = try_evaluate(node, scope, to.source)
    if has_errors(problems):
        raise Failure(problems)
    value, marks = unmark(value)
    if value.__class__ is Unknown:
        reason = "it is only known after apply"
    elif value.__class__ is Null:
        reason = "it is null"
    elif type_of(value) is not STRING and not _is_whole(value):
        reason = "a key must be a string or a whole number"
    elif SENSITIVE in marks or EPHEMERAL in marks:
        reason = "it is sensitive or ephemeral, but addresses are shown and stored"
    else:
        key: str | int = value
        return key
    detail = f"The key of the import target is not valid: {reason}."
    raise Failure(error("plan.import_key", "Import block 'to' address contains an invalid key", detail, span))


def _is_whole(value: Value) -> bool:
    return type_of(value) is NUMBER and value.__class__ is int
