"""Reads data sources, opens ephemeral resources, and evaluates their configurations."""

from __future__ import annotations

from planner.engine.evaluation.conditions import RuleResult, of_instance, storage_problems
from planner.engine.evaluation.configuration_walk import ConfigurationWalk
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import object_id
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.foundation.values.paths import apply_marks, marked_paths
from planner.foundation.values.value import EPHEMERAL, Null, Value, is_wholly_known, mark, unmark_deep
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.diagnostic import CheckedObject, Diagnostic, Failure, error, has_errors, warning
from planner.language.expressions.decode import decode_block


def read_data(walk: ConfigurationWalk, it: Instance, config: Value) -> tuple[Value | None, list[Diagnostic]]:
    """Read a data source. Returns the value from the provider, with the marks of the configuration; None after an
    error. Also returns diagnostics. Raises Failure for an invalid provider_meta block."""
    plain = unmark_deep(config)[0]
    problems = in_body(it.provider.validate_resource("data", it.type, plain), it.body, it.address)
    if has_errors(problems):
        return None, problems
    walk.hooks.apply_start(it.address, "read")
    answer = it.provider.read_data(it.type, plain, walk.meta(it), it.address)
    problems += in_body(answer.diagnostics, it.body, it.address)
    value = answer.value
    if not has_errors(problems) and (value.__class__ is Null or not is_wholly_known(value)):
        detail = f"{it.configuration} returned an incomplete object for {it.address}."
        problems.append(error("provider.invalid_object", "Provider produced invalid object", detail))
    if has_errors(problems):
        return None, problems
    value = apply_marks(value, marked_paths(config))
    walk.hooks.apply_complete(it.address, "read", object_id(value))
    return value, problems


def data_configuration(it: Instance, problems: list[Diagnostic]) -> Value:
    """The configuration of an instance, with marks. Raises Failure with all problems so far."""
    assert it.decl is not None
    config, item = decode_block(it.decl.body, it.schema.block, it.scope)
    problems += of_instance(item, it.address)
    problems += storage_problems(it, config)
    if has_errors(problems):
        raise Failure(problems)
    return config


def report_to_check(walk: ConfigurationWalk, it: Instance, check: str, problems: list[Diagnostic]) -> list[Diagnostic]:
    """Report to the check `check` whether its data source could be read. If `problems` contains errors, the check
    fails, but not the plan. Returns the problems as warnings."""
    assert it.module is not None
    config_address = join(str(it.module.address.config), f"check.{check}")
    address = join(it.module_text, f"check.{check}")
    if has_errors(problems):
        message = "; ".join(d.summary for d in problems if d.is_error)
        result = RuleResult("fail", message)
    else:
        result = RuleResult("pass")
    walk.checks.report("check", config_address, address, "data", 0, result)
    return [
        warning(
            d.code,
            d.summary,
            d.detail,
            d.subject,
            address=d.address,
            is_check=True,
            checked=CheckedObject("check", address, "data", d.is_error),
        )
        for d in problems
    ]


# Opens ephemeral resources when the walk reaches them. Their values are marked as ephemeral, never stored, and exist
# only during the walk. If a resource cannot be opened yet, because it needs a value that is known only while applying,
# its value in the plan contains only the values of its configuration.


_EPHEMERAL = frozenset((EPHEMERAL,))


def register_opened(walk: ConfigurationWalk, it: Instance, value: Value) -> list[Diagnostic]:
    """Make the values of an opened ephemeral resource available to other vertices, and check its postconditions.
    Returns diagnostics."""
    assert it.objects is not None
    value = mark(value, _EPHEMERAL)
    it.objects.set(it.key, value)
    return walk.conditions(it, "postcondition", value)


def open_resource(walk: ConfigurationWalk, it: Instance, config: Value) -> tuple[Value | None, list[Diagnostic]]:
    """Open an ephemeral resource. Returns its values, with the marks of the configuration; None after an error. Also
    returns diagnostics."""
    plain = unmark_deep(config)[0]
    problems = in_body(it.provider.validate_resource("ephemeral", it.type, plain), it.body, it.address)
    if has_errors(problems):
        return None, problems
    walk.hooks.ephemeral_start(it.address, "open")
    answer = it.provider.open(it.type, plain)
    problems += in_body(answer.diagnostics, it.body, it.address)
    if has_errors(problems):
        return None, problems
    if answer.value.__class__ is Null or not is_wholly_known(answer.value):
        detail = f"{it.configuration} returned an incomplete object for {it.address}."
        problems.append(error("provider.invalid_object", "Provider produced invalid object", detail))
        problems += in_body(it.provider.close_ephemeral(it.type, answer.private), it.body, it.address)
        return None, problems
    walk.hooks.ephemeral_complete(it.address, "open")
    walk.opened.add(it, answer)
    return apply_marks(answer.value, marked_paths(config)), problems
