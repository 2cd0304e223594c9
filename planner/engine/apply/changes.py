"""Applies planned changes: creates, updates and destroys objects, and reads data sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.engine.apply.invocations import invoke_actions
from planner.engine.apply.operation import Operation, OperationProgress, recorded_object, run_operation
from planner.engine.apply.provisioners import provisioner_schema, run_provisioner, unsupported
from planner.engine.apply.shared_work import ApplyWork
from planner.engine.evaluation.conditions import extend, unknown_arguments
from planner.engine.evaluation.data import (
    data_configuration,
    open_resource,
    read_data,
    register_opened,
    report_to_check,
)
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject, write_object
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.repetition import repetition_of
from planner.engine.evaluation.schemas import marked_by_schema, without_write_only
from planner.engine.evaluation.scope import ModuleScope
from planner.engine.plan.action import Decision, Facts, decide
from planner.engine.plan.managed import configuration_of, differences, propose
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Null, Value, is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.model import Provisioner
from planner.language.config.provisioners import connection_schema, joined_connection
from planner.language.expressions.decode import decode_block
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import does
from planner.world.provider.conformity import object_problems
from planner.world.provider.interface import PlanRequest
from planner.world.state.taint_record import TaintOrigin


def apply_managed(walk: ApplyWork, it: Instance, change: ResourceChange) -> list[Diagnostic]:
    """Create or update the object of an instance, and invoke its actions and provisioners. Before this, the change is
    planned again, because values that were unknown in the plan are known now. If there is nothing to change, only the
    conditions are checked. Raises Failure."""
    deposed = walk.depose(it) if does(change.action, "sets_aside") else ""
    current, problems = recorded_object(walk, it)
    extend(problems, walk.conditions(it, "precondition"))
    if change.action == "no-op":
        value = current.value if current is not None else Null(it.object_type)
        return problems + walk.conditions(it, "postcondition", value)
    operation = _plan_again(walk, it, current, change, problems)
    if operation is None:
        assert current is not None
        return problems + walk.conditions(it, "postcondition", current.value)
    refused = violated_policies(walk, it, operation.after)
    if refused and deposed:
        walk.record.state.restore(it.resource_address, it.key, deposed)
    extend(problems, refused)
    before: list[Diagnostic] = []
    invoke_actions(walk, it, operation.action, "before", operation.after, before)
    if deposed and has_errors(before):
        walk.record.state.restore(it.resource_address, it.key, deposed)
    extend(problems, before)
    report = OperationProgress(walk, it, operation.action, operation.before)
    diagnostics: list[Diagnostic] = []
    made = run_operation(it, operation, current, diagnostics)
    creating = operation.action == "create"
    provisions = creating and made is not None and not has_errors(diagnostics) and provisions_creation(it)
    if creating and has_errors(diagnostics):
        assert it.decl is not None
        walk.record.taints[it.address] = TaintOrigin("creating it", f"{it.decl.span.filename}:{it.decl.span.line}")
    after = _write(walk, it, made, provisions or (creating and has_errors(diagnostics)))
    if provisions and made is not None:
        walk.record.flush()  # the object exists now, and provisioners may take long
        diagnostics += provision_created(walk, it, made.value)
        after = _write(walk, it, made, has_errors(diagnostics))
    if deposed and has_errors(diagnostics):
        walk.record.state.restore(it.resource_address, it.key, deposed)
    value = after.value if after is not None else Null(it.object_type)
    report.end(diagnostics, value)
    if walk.options.guard is not None:
        walk.options.guard.note_value(it.address, value)
    if not has_errors(diagnostics) and invoke_actions(walk, it, operation.action, "after", value, diagnostics):
        _write(walk, it, after, True)
    return problems + diagnostics + walk.conditions(it, "postcondition", value)


def violated_policies(walk: ApplyWork, it: Instance, value: Value) -> list[Diagnostic]:
    """Errors for the policies that an object would violate with this value. Called before the object is changed or
    recorded, with the values that are known at this time."""
    guard = walk.options.guard
    return guard.decide(it.address, value) if guard is not None else []


def _write(walk: ApplyWork, it: Instance, after: RemoteObject | None, unfinished: bool) -> RemoteObject | None:
    """Write the object `after` to the state, and return it with its new record. If `after` is None, remove the object
    from the state and return None. With `unfinished`, the object is recorded as tainted, because its creation failed or
    is not complete."""
    assert it.objects is not None
    if after is None:
        walk.record.write(it, None)
        it.objects.remove(it.key)
        return None
    record = evolve(after.record, tainted=after.record.tainted or unfinished, dependencies=walk.dependencies(it.node))
    walk.record.write(it, record)
    it.objects.set(it.key, after.value)
    return RemoteObject(after.value, record, after.identity)


def _plan_again(
    walk: ApplyWork, it: Instance, current: RemoteObject | None, change: ResourceChange, problems: list[Diagnostic]
) -> Operation | None:
    """Plan the change again with the values that are known now, and return the operation to run; None if there is
    nothing to change. Raises Failure, with all problems so far, if the change now differs from the planned change."""
    config = configuration_of(it, problems)
    plain_config = unmark_deep(config)[0]
    if not is_wholly_known(plain_config):
        where = unknown_arguments(plain_config)
        detail = f"These arguments of {it.address} are still unknown: {where}."
        extend(problems, [error("apply.unknown_configuration", "Configuration contains unknown value", detail)])
    meta = walk.meta(it)
    proposal = propose(it, current, config, problems, meta)
    prior, answer, marked = proposal.prior, proposal.answer, proposal.planned
    facts: Facts = {"desired": (), "planned_before": (change.action,)}
    if current is not None:
        facts["exists"] = ()
        if current.record.tainted:
            facts["tainted"] = ()
        differences(it, prior, marked, answer, facts)
    decision = decide(facts)
    extend(problems, _inconsistent(it, change, decision, marked))
    if decision.action == "no-op":
        return None
    return Operation(decision.action, prior, marked, plain_config, answer.private, answer.identity, meta)


def _inconsistent(it: Instance, change: ResourceChange, decision: Decision, planned: Value) -> list[Diagnostic]:
    summary = "Provider produced inconsistent final plan"
    intro = f"Now that all values are known, {it.configuration} plans {it.address} differently than before"
    hint = "This is a bug in the provider."
    diagnostics = []
    if decision.unforeseen:
        detail = f"{intro}: {decision.action} instead of {change.action}. {hint}"
        diagnostics.append(error("provider.inconsistent_plan", summary, detail))
    wanted = unmark_deep(change.after)[0]
    actual = without_write_only(unmark_deep(planned)[0], it.schema.block)
    for problem in object_problems(it.schema.block, wanted, actual):
        diagnostics.append(error("provider.inconsistent_plan", summary, f"{intro}: {problem}. {hint}"))
    return diagnostics


def apply_data(walk: ApplyWork, it: Instance, change: ResourceChange) -> list[Diagnostic]:
    """Read a data source. If it was already read for the plan, only check its conditions again. Raises Failure."""
    assert it.decl is not None
    assert it.objects is not None
    problems: list[Diagnostic] = []
    extend(problems, walk.conditions(it, "precondition"))
    if change.action == "no-op":
        return problems + walk.conditions(it, "postcondition", it.objects.instance(it.key))
    config = data_configuration(it, problems)
    value, diagnostics = read_data(walk, it, config)
    if it.decl.check is not None:
        diagnostics = report_to_check(walk, it, it.decl.check, diagnostics)
    problems += diagnostics
    if has_errors(diagnostics):
        return problems
    if value is not None:
        extend(problems, violated_policies(walk, it, value))
        walk.record.write(it, write_object(value, it.schema))
        it.objects.set(it.key, marked_by_schema(value, it.schema.block))
    return problems + walk.conditions(it, "postcondition", it.objects.instance(it.key))


# Destroying and forgetting objects, current and deposed ones.


def destroy_current(walk: ApplyWork, it: Instance, change: ResourceChange) -> list[Diagnostic]:
    """Destroy the current object of an instance, if the state contains one. Actions are invoked before and after this
    step. Destroy provisioners run before the object is destroyed, unless it is tainted. A data source is only removed
    from the state. Raises Failure."""
    if it.mode != "managed":
        walk.record.write(it, None)
        return []
    current, problems = recorded_object(walk, it)
    if current is None:
        return problems
    invoke_actions(walk, it, "delete", "before", current.value, problems)
    if has_errors(problems):
        return problems
    report = OperationProgress(walk, it, "delete", current.value)
    result = [] if current.record.tainted else provision_departing(walk, it, current.value)
    if has_errors(result):
        report.end(result, current.value)
        return problems + result
    after = _destroy(walk, it, current, change.private, change.after_identity, result)
    if after is None and it.objects is not None:
        it.objects.remove(it.key)
    report.end(result, after.value if after is not None else Null(it.object_type))
    if not has_errors(result):
        invoke_actions(walk, it, "delete", "after", current.value, result)
    return problems + result


def destroy_deposed(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Destroy a deposed object. Returns an error if the state does not contain this object. Raises Failure."""
    current, problems = recorded_object(walk, it)
    if current is None:
        detail = f"The state has no deposed object {it.deposed} of {it.address}."
        return [*problems, error("apply.missing_deposed", "Deposed object not present", detail)]
    absent = Null(it.object_type)
    request = PlanRequest(it.type, unmark_deep(current.value)[0], absent, absent, current.record.private)
    request = evolve(request, prior_identity=current.identity, meta=walk.meta(it))
    answer = it.provider.plan(request)
    problems += in_body(answer.diagnostics, it.body, it.address)
    is_replaced = it.deposed == walk.deposed_keys.get(it.address, "")
    if is_replaced and not has_errors(problems):
        invoke_actions(walk, it, "delete", "before", current.value, problems)
    if has_errors(problems):
        return problems
    report = OperationProgress(walk, it, "delete", current.value)
    diagnostics: list[Diagnostic] = []
    after = _destroy(walk, it, current, answer.private, answer.identity, diagnostics)
    if not has_errors(diagnostics):
        report.end(diagnostics, Null(it.object_type))
        if is_replaced:
            invoke_actions(walk, it, "delete", "after", current.value, diagnostics)
    elif after is not None:
        report.end(diagnostics, after.value)
    return problems + diagnostics


def _destroy(
    walk: ApplyWork,
    it: Instance,
    current: RemoteObject,
    private: str | None,
    identity: Value,
    problems: list[Diagnostic],
) -> RemoteObject | None:
    absent, meta = Null(it.object_type), walk.meta(it)
    operation = Operation("delete", current.value, absent, Null(DYNAMIC), private, identity, meta)
    after = run_operation(it, operation, current, problems)
    walk.record.write(it, after.record if after is not None else None, it.deposed)
    return after


def forget_instance(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Remove an instance from the state, with its current object and its deposed objects. If the instance has no
    current object, nothing is removed."""
    instance = walk.record.state.instance(it.resource_address, it.key)
    if instance is None or instance.current is None:
        return []
    for deposed in instance.deposed:
        walk.record.write(it, None, deposed)
    walk.record.write(it, None)
    if it.objects is not None:
        it.objects.remove(it.key)
    return []


def forget_deposed(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    walk.record.write(it, None, it.deposed)
    return []


# Opens ephemeral resources during an apply.


def apply_ephemeral(walk: ApplyWork, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource and check its conditions. Raises Failure."""
    assert it.decl is not None
    problems = walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    if not is_wholly_known(config):
        where = unknown_arguments(config)
        detail = f"These arguments of {it.address} are still unknown: {where}."
        summary = "Incomplete configuration for ephemeral resource"
        return [*problems, error("apply.unknown_configuration", summary, detail, it.decl.span, address=it.address)]
    given, item = open_resource(walk, it, config)
    problems += item
    if given is None:
        return problems
    return problems + register_opened(walk, it, marked_by_schema(given, it.schema.block))


# Runs the provisioners of an instance for its creation or its destruction.


def provisions_creation(it: Instance) -> bool:
    return it.decl is not None and any(p.when == "create" for p in it.decl.provisioners)


def provision_created(walk: ApplyWork, it: Instance, value: Value) -> list[Diagnostic]:
    wanted = [p for p in it.decl.provisioners if p.when == "create"] if it.decl is not None else []
    if not wanted:
        return []
    assert it.objects is not None
    return _run(walk, it, wanted, it.scope.inside(self_value=it.objects.deprecated(value)))


def provision_departing(walk: ApplyWork, it: Instance, value: Value) -> list[Diagnostic]:
    wanted = destroy_provisioners(walk, it)
    if not wanted:
        return []
    return _run(walk, it, wanted, walk.module_scope(it).inside(repetition_of(it.key), self_value=value))


def destroy_provisioners(walk: ApplyWork, it: Instance) -> list[Provisioner]:
    """The destroy provisioners of an instance, from its resource block or, if there is none, from the `removed` block
    for the resource."""
    if it.decl is not None:
        return [p for p in it.decl.provisioners if p.when == "destroy"]
    removal = walk.removal(it.config_address)
    return [p for p in removal.provisioners if p.when == "destroy"] if removal is not None else []


def _run(walk: ApplyWork, it: Instance, wanted: Iterable[Provisioner], scope: ModuleScope) -> list[Diagnostic]:
    """Run provisioners one after the other. If a provisioner fails, its errors are returned, and the remaining
    provisioners do not run. If the failed provisioner has on_failure = continue, its errors are ignored, and the
    remaining provisioners run."""
    problems: list[Diagnostic] = []
    for provisioner in wanted:
        schema = provisioner_schema(provisioner.type)
        if schema is None:
            problem = unsupported(provisioner.type)
            return problems + in_body([problem] if problem else [], provisioner.body, it.address)
        config, diagnostics = decode_block(provisioner.body, schema, scope)
        problems += diagnostics
        if has_errors(problems):
            return problems
        connection: Value | None = None
        body = joined_connection(it.decl.connection if it.decl is not None else None, provisioner)
        if body is not None:
            marked, invalid = decode_block(body, connection_schema(), scope)
            problems += invalid
            if has_errors(problems):
                return problems
            connection = unmark_deep(marked)[0]
        walk.hooks.provision_start(it.address, provisioner.type)
        plain, marks = unmark_deep(config)
        output = _output(walk, it, provisioner.type, marks)
        results = run_provisioner(provisioner.type, plain, connection, output, walk.stopping)
        diagnostics = in_body(results, provisioner.body, it.address)
        if not has_errors(diagnostics):
            walk.hooks.provision_complete(it.address, provisioner.type)
            problems += diagnostics
            continue
        walk.hooks.provision_errored(it.address, provisioner.type)
        if provisioner.on_failure != "continue":
            if provisioner.when == "create":
                place = f"{provisioner.span.filename}:{provisioner.span.line}"
                how = next((result.ending for result in results if result.ending), "")
                walk.record.taints[it.address] = TaintOrigin(f'provisioner "{provisioner.type}"', place, how)
            return problems + diagnostics
    return problems


def _output(walk: ApplyWork, it: Instance, type: str, marks: frozenset[object]) -> Callable[[str], None]:
    """A function that passes output of a provisioner to the hooks. If `marks` show that the provisioner's configuration
    has sensitive or ephemeral values, the output is passed as secret."""
    hidden = "ephemeral" if EPHEMERAL in marks else "sensitive" if SENSITIVE in marks else ""

    def show(text: str) -> None:
        if hidden:
            walk.hooks.provision_secret(it.address, type, text, hidden)
        else:
            walk.hooks.provision_progress(it.address, type, text)

    return show
