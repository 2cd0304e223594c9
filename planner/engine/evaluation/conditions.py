"""Custom conditions: preconditions, postconditions, validations of variables, assertions of checks, and their
results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Literal, TypeAlias

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import place
from planner.engine.evaluation.schemas import is_write_only
from planner.foundation.values.convert import ConversionError, convert, path_text
from planner.foundation.values.paths import infinite_paths, marked_paths, unknown_paths
from planner.foundation.values.schema import BlockSchema
from planner.foundation.values.types import BOOL, STRING
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Null, Unknown, Value, unmark, unmark_deep
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import (
    CheckedObject,
    Diagnostic,
    Failure,
    Severity,
    error,
    has_errors,
    warning,
)
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.span import Span
from planner.language.config.model import CheckRule, Config, Expr, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.expressions.evaluate import try_evaluate
from planner.language.expressions.operands import operand_values
from planner.language.expressions.scope import Scope
from planner.language.syntax.body import Body, BodySchema, NativeBody, variables
from planner.language.syntax.body import ExpectedBlock as BlockHeader
from planner.language.syntax.nodes import Binary
from planner.logic.model.plan import CheckResult
from planner.world.state.model import InstanceKey

Status: TypeAlias = Literal["pass", "fail", "error", "unknown"]
RuleKind: TypeAlias = Literal["precondition", "postcondition", "output", "assertion", "validation", "data"]

_TITLES = {
    "precondition": "Resource precondition",
    "postcondition": "Resource postcondition",
    "output": "Module output value precondition",
    "assertion": "Check block assertion",
}


_VERDICTS = frozenset(("plan.condition_failed", "plan.assertion_unknown", "plan.validation_failed"))


@frozen(eq=False)
class RuleResult:
    status: Status
    message: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def about(self, kind: str, address: str, rule: RuleKind) -> Iterator[Diagnostic]:
        """The diagnostics of this result. In diagnostics that report a false or unknown condition, `checked` names the
        checked object."""
        for d in self.diagnostics:
            yield evolve(d, checked=CheckedObject(kind, address, rule)) if d.code in _VERDICTS else d


# ---------------------------------------------------------------- one condition


def check_rule(rule: CheckRule, kind: RuleKind, scope: Scope, severity: Severity = "error") -> RuleResult:
    """Check a condition. `severity`: the severity of the diagnostic if the condition is false. If the condition cannot
    be evaluated, the diagnostic is always an error."""
    message, problems = message_of(rule.error_message, scope)
    value, more = try_evaluate(rule.condition.node, scope, rule.condition.source)
    problems += [d for d in more if d not in problems]
    if has_errors(problems):
        return RuleResult("error", "", tuple(problems))
    value = unmark_deep(value)[0]
    span = rule.condition.span
    if value.__class__ is Unknown:
        if kind == "assertion":
            detail = (
                "The condition could not be evaluated at this time, a result will be known when this plan is applied."
            )
            title = f"{_TITLES[kind]} known after apply"
            problems.append(
                warning("plan.assertion_unknown", title, detail, span, is_check=True, values=operands(rule, scope))
            )
        return RuleResult("unknown", "", tuple(problems))
    held = _truth(value, span, "Invalid condition result", problems)
    if held is None:
        return RuleResult("error", "", tuple(problems))
    if held:
        return RuleResult("pass", "", tuple(problems))
    detail = message or "This condition failed, and its error message cannot be evaluated either."
    title = f"{_TITLES[kind]} failed"
    failed = Diagnostic(severity, "plan.condition_failed", title, detail, span, **observed_values(rule, scope))
    problems.append(evolve(failed, is_check=kind == "assertion"))
    return RuleResult("fail", message, tuple(problems))


def check_validation(rule: CheckRule, scope: Scope, subject: Span) -> RuleResult:
    """Check a validation rule of an input variable. `subject`: the place to which the diagnostic about an invalid value
    refers."""
    value, problems = try_evaluate(rule.condition.node, scope, rule.condition.source)
    text, more = _raw_message(rule.error_message, scope)
    problems += [d for d in more if d not in problems]
    value = unmark_deep(value)[0]
    if value.__class__ is Unknown:
        return RuleResult("unknown", "", tuple(problems))
    held = _truth(value, rule.condition.span, "Invalid variable validation result", problems)
    if held is not False:
        return RuleResult("error" if held is None else "pass", "", tuple(problems))
    message = ""
    where = rule.error_message.span if rule.error_message else rule.span
    if not more and rule.error_message is not None:
        plain, marks = unmark_deep(text)
        for mark, word in ((SENSITIVE, "sensitive"), (EPHEMERAL, "ephemeral")):
            if mark in marks:
                detail = f"The message refers to {word} values, so it cannot be shown. Remove them from the message."
                summary = f"Error message refers to {word} values"
                problems.append(error(f"plan.{word}_message", summary, detail, where))
                message = f"The error message contains {word} values and is not shown."
                break
        else:
            if plain.__class__ is Unknown:
                detail = "The message depends on values that are only known after apply."
                problems.append(error("plan.unknown_message", "Invalid error message", detail, where))
                return RuleResult("fail", "", tuple(problems))
            if plain.__class__ is not Null:
                message = _text(plain, where, problems)
    message = message or "The value is not valid, and the error message cannot be evaluated either."
    detail = f"{message}\n\nThis was checked by the validation rule at {rule.span.place}."
    title = "Invalid value for variable"
    problems.append(error("plan.validation_failed", title, detail, subject, **observed_values(rule, scope)))
    return RuleResult("fail", message, tuple(problems))


def operands(rule: CheckRule, scope: Scope) -> tuple[tuple[str, str], ...]:
    return operand_values(rule.condition.node, scope, rule.condition.source)


def observed_values(rule: CheckRule, scope: Scope) -> dict[str, Any]:
    """Fields of the diagnostic of a failed condition. `values`: the values of the operands. `difference`: both sides of
    `a == b`; missing for other conditions, and if a side is ephemeral."""
    node, source = rule.condition.node, rule.condition.source
    result: dict[str, Any] = {"values": operands(rule, scope)}
    if isinstance(node, Binary) and node.operator == "==":
        sides = tuple(try_evaluate(side, scope, source)[0] for side in (node.left, node.right))
        if not any(EPHEMERAL in unmark_deep(side)[1] for side in sides):
            result["difference"] = sides
    return result


def _truth(value: Value, span: Span, summary: str, problems: list[Diagnostic]) -> bool | None:
    if value.__class__ is Null:
        problems.append(
            error("plan.null_condition", summary, "A condition must be true or false, but this one is null.", span)
        )
        return None
    try:
        return convert(value, BOOL) is True
    except ConversionError as bad:
        problems.append(error("plan.condition_type", summary, f"A condition must be true or false: {bad}.", span))
        return None


def _raw_message(expr: Expr | None, scope: Scope) -> tuple[Value, list[Diagnostic]]:
    return try_evaluate(expr.node, scope, expr.source) if expr is not None else ("", [])


def message_of(expr: Expr | None, scope: Scope) -> tuple[str, list[Diagnostic]]:
    """The message of a failed condition, and problems of the message. The message is "" if it is missing, invalid or
    unknown, or must not be shown."""
    value, problems = _raw_message(expr, scope)
    if expr is None or has_errors(problems):
        return "", problems
    value, marks = unmark(value)
    if value.__class__ is Unknown:
        return "", problems
    text = _text(value, expr.span, problems)
    for mark, word in ((SENSITIVE, "sensitive"), (EPHEMERAL, "ephemeral")):
        if mark in marks and not has_errors(problems):
            cure = "nonsensitive" if word == "sensitive" else "ephemeralasnull"
            detail = (
                f"The error expression used to explain this condition refers to {word} values, so planner will not "
                "display the resulting message.\n\nYou can correct this by removing references to "
                f"{word} values, or by carefully using the {cure}() function if the expression will not reveal the "
                f"{word} data."
            )
            summary = f"Error message refers to {word} values"
            values = operand_values(expr.node, scope, expr.source)
            problems.append(warning(f"plan.{word}_message", summary, detail, expr.span, values=values))
            return "", problems
    return text, problems


def _text(value: Value, span: Span, problems: list[Diagnostic]) -> str:
    if value.__class__ is Null:
        problems.append(error("plan.null_message", "Invalid error message", "The error message is null.", span))
        return ""
    try:
        return str(convert(unmark_deep(value)[0], STRING)).strip()
    except ConversionError as bad:
        problems.append(
            error("plan.message_type", "Invalid error message", f"The error message must be a string: {bad}.", span)
        )
        return ""


# ---------------------------------------------------------------- all results


class CheckState:
    """The status of every object with conditions. The objects of a block are announced when the block is expanded. A
    condition that is never evaluated has the status unknown. Several threads may use an object of this class."""

    def __init__(self, config: Config) -> None:
        self._lock = Lock()
        self._rules: dict[tuple[str, str], dict[RuleKind, int]] = {}
        self._objects: dict[tuple[str, str], dict[str, dict[tuple[RuleKind, int], Status]] | None] = {}
        self._messages: dict[tuple[str, str, RuleKind, int], str] = {}
        for kind, address, rules in _checkable(config):
            self._rules[kind, address] = rules
            self._objects[kind, address] = None

    def announce(self, kind: str, config_address: str, addresses: Iterable[str]) -> None:
        """Announce all objects of a block: their conditions have the status unknown at first. Does nothing if the block
        has no conditions or was announced before."""
        rules = self._rules.get((kind, config_address))
        if rules is None:
            return
        with self._lock:
            if self._objects[kind, config_address] is None:
                self._objects[kind, config_address] = {
                    address: {(rule, i): "unknown" for rule, count in rules.items() for i in range(count)}
                    for address in addresses
                }

    def report(self, kind: str, config_address: str, address: str, rule: RuleKind, i: int, result: RuleResult) -> None:
        with self._lock:
            objects = self._objects.get((kind, config_address))
            if objects is not None and address in objects:
                objects[address][rule, i] = result.status
                if result.status == "fail":
                    self._messages[kind, address, rule, i] = result.message

    def status(self, kind: str, config_address: str, address: str) -> Status:
        with self._lock:
            objects = self._objects.get((kind, config_address)) or {}
            return summary(objects.get(address, {}).values())

    def results(self) -> tuple[CheckResult, ...]:
        """One result for each object, sorted by kind and address. For an expanded block without objects, there is one
        result without an address. For a block that was never expanded, there is no result."""
        items = []
        for (kind, config_address), objects in sorted(self._objects.items()):
            if objects is None:
                continue
            if not objects:
                items.append(CheckResult(kind, config_address, "", "pass"))
            for address, statuses in sorted(objects.items()):
                messages = (self._messages.get((kind, address, *rule), "") for rule in statuses)
                status = summary(statuses.values())
                items.append(CheckResult(kind, config_address, address, status, tuple(sorted(filter(None, messages)))))
        return tuple(items)

    def configs(self) -> tuple[tuple[str, str], ...]:
        """(kind, configuration address) of every block with conditions, sorted."""
        return tuple(sorted(self._rules))


def summary(statuses: Iterable[Status]) -> Status:
    """The worst status: error, fail, unknown, pass."""
    items = set(statuses)
    for status in ("error", "fail", "unknown"):
        if status in items:
            return status
    return "pass"


def _checkable(config: Config) -> list[tuple[str, str, dict[RuleKind, int]]]:
    results: list[tuple[str, str, dict[RuleKind, int]]] = []

    def add(kind: str, address: str, *rules: tuple[RuleKind, Sequence[CheckRule]]) -> None:
        counts: dict[RuleKind, int] = {rule: len(given) for rule, given in rules if given}
        if counts:
            results.append((kind, address, counts))

    for module in config.root.walk():
        place = ".".join(f"module.{name}" for name in module.path)
        for variable in module.variables.values():
            add("input_variable", join(place, f"var.{variable.name}"), ("validation", variable.validations))
        for output in module.outputs.values():
            add("output_value", join(place, f"output.{output.name}"), ("output", output.preconditions))
        for resource in module.resources.values():
            lifecycle = resource.lifecycle
            address = join(place, resource.key)
            before, after = lifecycle.preconditions, lifecycle.postconditions
            add("resource", address, ("precondition", before), ("postcondition", after))
        for check in module.checks.values():
            counts: dict[RuleKind, int] = {"assertion": len(check.assertions)}
            if check.data is not None:
                counts["data"] = 1
            results.append(("check", join(place, f"check.{check.name}"), counts))
    return results


# Errors in the body of a resource: references to itself, and values that must not be stored.


class SelfReferences:
    """Finds references of resources to themselves. Searches each block once."""

    def __init__(self) -> None:
        self._of: dict[ResourceDecl, list[tuple[InstanceKey, Diagnostic]]] = {}

    def of(self, it: Instance) -> list[Diagnostic]:
        """Errors for references in an instance's block to the instance itself or its resource, whose values are not
        known yet."""
        if it.decl is None:
            return []
        if it.decl not in self._of:
            self._of[it.decl] = list(_self_references(it.decl, it.schema.block))
        # References to the resource as a whole and to the instance are both errors; for an instance without a key, both
        # have the same name.
        return [problem for own in (None, it.key) for key, problem in self._of[it.decl] if key == own]


def path_name(path: Iterable[tuple[str, Any]]) -> str:
    return path_text(tuple(path))


def unknown_arguments(value: Value) -> str:
    """The arguments with unknown values, for a message; "" if there are none."""
    return ", ".join(sorted({path_name(path) for path in unknown_paths(value)}))


def extend(problems: list[Diagnostic], diagnostics: list[Diagnostic]) -> None:
    """Add diagnostics to `problems`. If one of them is an error, raises Failure with all problems."""
    problems += diagnostics
    if has_errors(diagnostics):
        raise Failure(list(problems))


def _self_references(decl: ResourceDecl, schema: BlockSchema) -> Iterator[tuple[InstanceKey, Diagnostic]]:
    blocks = (*(BlockHeader(name) for name in schema.blocks), BlockHeader("dynamic", ("type",)))
    content, _ = decl.body.partial_content(BodySchema(dict.fromkeys(schema.attributes, False), blocks))
    own = (*(a.expr for a in content.attributes.values()), *(block.body for block in content.blocks))
    for node in (node for part in own for node in variables(part)):
        ref = parse_reference(node)
        if isinstance(ref, Ref) and ref.kind == "resource" and ref.name == decl.key:
            detail = f"{decl.key} refers to itself, but its attributes are known only after it is planned."
            span = Span(decl.block.source, ref.start, ref.end)
            yield ref.key, error("plan.self_reference", "Self-referential block", detail, span)


def of_instance(problems: Iterable[Diagnostic], address: str) -> list[Diagnostic]:
    """The problems in the body of an instance. The address of the instance is added to diagnostics about deprecated
    values."""
    return [d.at(address) if d.deprecation is not None else d for d in problems]


def storage_problems(it: Instance, config: Value) -> list[Diagnostic]:
    """Errors for values that cannot be stored: ephemeral values and infinite numbers."""
    assert it.decl is not None
    problems = ephemeral_values(it.decl, it.schema.block, config, it.address)
    for path in infinite_paths(config):
        span = place(it.decl.body, path[:1])
        problems.append(infinite_number(path_name(path), span).at(it.address))
    return problems


def infinite_number(what: str, span: Span | None) -> Diagnostic:
    detail = f"{what} is infinite, and neither a state nor a plan can store an infinite number."
    return error("plan.infinite_number", "Infinite number", detail, span)


def ephemeral_values(decl: ResourceDecl, schema: BlockSchema, config: Value, address: str) -> list[Diagnostic]:
    if schema.ephemeral or decl.mode == "ephemeral":
        return []
    problems = []
    for path, marks in marked_paths(config):
        if EPHEMERAL in marks and not is_write_only(schema, path):
            detail = f"{path_name(path)} would be stored, so its value must not be ephemeral."
            span = place(decl.body, path[:1])
            summary = "Ephemeral value used in non-ephemeral context"
            problems.append(error("plan.ephemeral_value", summary, detail, span, address=address))
    return problems


def forget_compiled(body: Body) -> None:
    """Free the compiled expressions of a body. They are compiled again when the body is evaluated again."""
    if isinstance(body, NativeBody):
        for attribute in body.attributes.values():
            with suppress(AttributeError):
                del attribute.expr.compiled
        for block in body.blocks:
            forget_compiled(block.body)
