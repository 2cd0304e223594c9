"""Plans, applies, destroys, validates or reads one deployment of a stack in this process. Its components are planned
together, in rounds, as in `planner stacks`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from planner.answers.documents.encoding import encode
from planner.answers.policy.facts.units import facts_of
from planner.answers.policy.standing_policies import STACK
from planner.engine.walk.hooks import Hooks
from planner.foundation.support.signals import STOP
from planner.foundation.values.convert import path_text
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import unknown_paths
from planner.foundation.values.value import SENSITIVE, UNKNOWN, Value, mark, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.stack_files.model import Deployment
from planner.logic.programs.actions import Counts
from planner.operations.options import OperationOptions
from planner.operations.providers_needed import asks_plugins, lacks_selected
from planner.render.diff_block import SchemaLookup
from planner.render.view import HumanView
from planner.workflows.batch.deployment_plans import differences, save
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.batch.model import IDENTITIES, Request, UnitResult, diagnostics_json
from planner.workflows.batch.passed_outputs import NEW, awaited_in, gives, outputs_of, own_outputs, rests_on
from planner.workflows.batch.plan_unit import (
    Check,
    changes_of,
    counts_of,
    deferred_rows,
    failed,
    log,
    spared_result,
    write_json,
    written_at,
)
from planner.workflows.batch.survey_deployment import needs_init
from planner.workflows.batch.unit_setup import options_of
from planner.workflows.stacks.approval import Approval, approval
from planner.workflows.stacks.deploy import Runner, difference_lines
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.init import init_stack
from planner.workflows.stacks.loading import component_configs
from planner.workflows.stacks.opened_stack import OpenedStack, open_stack
from planner.workflows.stacks.policy import judged, standing_policies
from planner.workflows.stacks.report import FORMAT, deployment_json, show_plan
from planner.workflows.stacks.rounds import Deploying, Rounds, RoundsResult, deploy, why_deferred
from planner.workflows.stacks.settings import FILE
from planner.workflows.stacks.states import States
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep
from planner.world.state.model import OutputState

SECRET = "sensitive.outputs"
"""key of an additional entry among the outputs; the entry lists the names of the sensitive outputs"""


def do_deployment(request: Request, check: Check) -> UnitResult:
    """Run the request's command on its deployment. Raises Failure, and Unmet from `check`."""
    RECORDER.look(STACK, "folder")
    RECORDER.look(FILE)
    diagnostics = Diagnostics()
    session = _open(request, diagnostics)
    (deployment,) = session.chosen([request.deployment] if request.deployment else [])[:1]
    if not request.deployment:
        raise Failure(
            error(
                "stack.deployments",
                "Unknown deployments",
                "The names of the stack's deployments are not valid identifiers.",
            )
        )
    if request.command == "state":
        return _state(request, session)
    options = options_of(request)
    if request.command == "validate":
        check()
        return UnitResult(request.unit, "no-changes", diagnostics=diagnostics_json(diagnostics))
    if request.command == "apply_plan":
        return _applied(request, session, deployment, options, diagnostics, check, rounds=1)
    if request.command == "plan" or request.plan_file:
        return _plan(request, session, deployment, options, diagnostics, check)
    return _applied(request, session, deployment, options, diagnostics, check)


def _open(request: Request, diagnostics: Diagnostics) -> OpenedStack:
    """Open the stack in the working directory. If modules or plugins are not installed, run init for the stack first.
    Raises Failure."""
    around, coming = _around(request), _coming(request)
    first = Diagnostics()
    try:
        session = open_stack(".", around, first, coming=coming)
    except Failure as failure:
        problems = [*first, *failure.diagnostics]
        if not needs_init(problems) and not any(d.code == _NOT_SELECTED for d in problems):
            raise Failure(problems) from None
    else:
        if not any(lacks_selected(config, ".") for config in component_configs(session.stack.root)):
            diagnostics += first
            return session
    made = init_stack(".")
    if has_errors(made):
        raise Failure(made)
    try:
        return open_stack(".", around, diagnostics, coming=coming)
    except Failure as failure:
        raise Failure([*diagnostics, *failure.diagnostics]) from None


_NOT_SELECTED = "provider.not_installed"


def _around(request: Request) -> ServiceStandIns:
    given = {kind: value for kind, _, value in request.around if kind == "varsets"}
    return ServiceStandIns(
        {name: value for kind, name, value in request.around if kind == "token"},
        given.get("varsets", "varsets"),
        {name: value for kind, name, value in request.around if kind == "upstream"},
    )


def _coming(request: Request) -> dict[tuple[str, str], dict[str, Value]]:
    """{(directory of the stack, deployment): planned outputs} of the upstream deployments that the request contains.
    Raises Failure."""
    result = {}
    for one in request.upstream:
        if not one.seen or not one.deployment:
            continue
        values = outputs_of(one.unit, one.planned)
        secret = values.get(SECRET, ())
        outputs = own_outputs(values)
        for name in secret if isinstance(secret, tuple) else ():
            if name in outputs:
                outputs[name] = mark(outputs[name], frozenset((SENSITIVE,)))
        result[os.path.realpath(one.directory), one.deployment] = outputs
    return result


# ---------------------------------------------------------------- planning


def _plan(
    request: Request,
    session: OpenedStack,
    deployment: Deployment,
    options: OperationOptions,
    diagnostics: Diagnostics,
    check: Check,
) -> UnitResult:
    runner = session.runner(deployment, options, Hooks())
    try:
        plan = runner.plan()
        check()
        diagnostics += _left_behind(session, deployment)
        diagnostics += [d for d in plan.diagnostics if d not in diagnostics]
        findings = judged(standing_policies("."), plan)
        diagnostics += [d for d in findings if d not in diagnostics]
        if has_errors(diagnostics):
            return failed(request, diagnostics)
        result = of_plan(request, runner, plan, diagnostics)
        decision = approval(session.flow, deployment, plan, 0, findings)
        result = evolve(result, approved_by=decision.by, refusals=tuple(refusal.text for refusal in decision.refusals))
        if plan.is_partial and not plan.can_apply and not result.rests_on:
            result = evolve(result, stuck=diagnostics_json(Rounds().problems(plan)))
        if session.stack.deployments.stores:
            # stores may read environment variables, which are not among the recorded inputs
            result = evolve(result, asks_plugins=True)
        seal = session.encryption.plan
        if request.json_file:
            table = {"format_version": FORMAT, "deployments": [deployment_json(plan)]}
            write_json(table, request.json_file)
        if request.approved_file:
            result = evolve(result, differs=differences(request.approved_file, plan, seal))
        is_kept = request.keeps_incomplete if result.rests_on else result.result == "changes"
        if request.plan_file and is_kept:
            save(plan, request.plan_file, seal)
            result = evolve(result, plan_file=request.plan_file)
        return result
    finally:
        runner.release()


def _left_behind(session: OpenedStack, deployment: Deployment) -> list[Diagnostic]:
    """Diagnostics about removed deployments of the stack. The result is empty except for the alphabetically first
    deployment, so that the stack reports them once. Raises Failure."""
    return session.left_behind() if deployment.name == min(session.stack.deployments.deployments) else []


def of_plan(request: Request, runner: Runner, plan: DeploymentPlan, diagnostics: Iterable[Diagnostic]) -> UnitResult:
    """A summary of a plan without errors."""
    changes: list[tuple[str, str, str]] = []
    uses_plugins = False
    written: list[float] = []
    counts = Counts()
    for step in plan.steps:
        if step.what == "forget":
            changes.append((str(step.name), "forget", "removed"))
            counts = counts.plus(Counts(forget=1))
        if step.put_off:
            changes.append((str(step.name), "defer", why_deferred(step)))
        if step.planned is None or step.plan is None or step.planned.made is None:
            continue
        counts = counts.plus(counts_of(step.plan))
        changes += [(f"{step.name}: {address}", action, why) for address, action, why in changes_of(step.plan)]
        changes += [(f"{step.name}: {address}", "defer", why) for address, _, why in deferred_rows(step.plan)]
        written.append(written_at(request, step.planned.made.loaded.store))
        uses_plugins = uses_plugins or asks_plugins(step.planned.made.loaded.config, step.plan.prior_state)
    state = runner.states.read()
    short = UnitResult(
        request.unit,
        "changes" if plan.can_apply else "no-changes",
        counts,
        tuple(changes),
        (),
        diagnostics_json(list(diagnostics)),
        text=_text(plan, runner) if request.text else "",
        facts=_facts(request, plan, runner) if request.facts else {},
        asks_plugins=uses_plugins,
        lineage=state.lineage if state is not None else "",
        serial=state.serial if state is not None else 0,
        is_partial=plan.is_partial,
        state_at=min(filter(None, written), default=0.0),
    )
    return _with_outputs(request, runner, plan, short)


def _with_outputs(request: Request, runner: Runner, plan: DeploymentPlan, short: UnitResult) -> UnitResult:
    """Add to the summary `short` the unknown values on which the plan depends. If outputs are requested and the plan is
    partial or has changes, also add the planned outputs of the deployment and of its components."""
    if any(one.seen for one in request.upstream):
        used = [(f"var.{name}", one) for name, value in runner.inputs.items() for one in awaited_in(value)]
        for step in plan.steps:
            if step.plan is not None:
                used += [(f"{step.name}: {user}", one) for user, one in rests_on(step.plan, ())]
        rows = sorted({(user, one.unit, one.output, one.path) for user, one in used})
        short = evolve(short, rests_on=tuple(rows))
    if not request.is_read or (short.result != "changes" and not short.is_partial):
        return short
    state = runner.states.read()
    before = state.outputs if state is not None else {}
    changed = set() if state is not None and state.lineage else {NEW}
    values: dict[str, Any] = {}
    unknown: list[tuple[str, str]] = []
    secret: list[str] = []
    for name, given in sorted(plan.outputs.items()):
        value, marks = unmark_deep(given)
        places = unknown_paths(value)
        values[name] = encode(value, {})
        unknown += [(name, path_text(path)) for path in places]
        if SENSITIVE in marks:
            secret.append(name)
        if places or name not in before or not same_value(value, unmark_deep(before[name].value)[0]):
            changed.add(name)
    changed |= before.keys() - plan.outputs.keys()
    for step in plan.steps:
        result = _of_component(step, runner)
        if result is not None:
            values[str(step.name)] = encode(result, {})
            places = unknown_paths(result)
            unknown += [(str(step.name), path_text(path)) for path in places]
            changed.add(str(step.name))
    if secret:
        values[SECRET] = encode(tuple(secret), {})
    return evolve(
        short,
        changed=tuple(sorted(changed)),
        unknown=tuple(sorted(unknown)),
        planned=values,
        is_planned_secret=bool(secret) or any(_has_secret(step) for step in plan.steps),
    )


def _of_component(step: InstanceStep, runner: Runner) -> dict[str, Value] | None:
    """The planned outputs of a component instance; all of them are unknown if the instance is deferred. Returns None if
    the instance has no plan, if none of its outputs changes, or if it represents deferred instances that are not known
    yet."""
    if step.what == "defer":
        return (
            dict.fromkeys(runner.asked[str(step.name)].config.root.outputs, UNKNOWN) if not step.name.is_wild else None
        )
    if step.what != "plan" or step.plan is None or not gives(step.plan).changed:
        return None
    return {output.name: unmark_deep(output.after)[0] for output in step.plan.outputs}


def _has_secret(step: InstanceStep) -> bool:
    return step.plan is not None and any(output.sensitive for output in step.plan.outputs)


def _facts(request: Request, plan: DeploymentPlan, runner: Runner) -> dict[str, list[list[Any]]]:
    """{relation: rows} about the plans of all components; each address begins with its component. The rows of
    `unit_output` are about the outputs of the deployment."""
    result: dict[str, list[list[Any]]] = {name: [] for name in request.facts}
    for step in plan.steps:
        if step.plan is None:
            continue
        config = runner.asked[str(step.name)].config
        for name, rows in facts_of([n for n in request.facts if n != "unit_output"], step.plan, config).items():
            result[name] += [[f"{step.name}: {row[0]}", *row[1:]] for row in rows]
    if "unit_output" in result:
        state = runner.states.read()
        result["unit_output"] = _output_actions(plan, state.outputs if state is not None else {})
    return result


def _output_actions(plan: DeploymentPlan, before: Mapping[str, OutputState]) -> list[list[Any]]:
    """The actions on the deployment's outputs, including no-op, as [name, action]."""
    rows = [[name, "delete"] for name in sorted(before.keys() - plan.outputs.keys())]
    for name, given in sorted(plan.outputs.items()):
        value, old = unmark_deep(given)[0], before.get(name)
        if old is None:
            rows.append([name, "create"])
        else:
            is_same = not unknown_paths(value) and same_value(value, unmark_deep(old.value)[0])
            rows.append([name, "no-op" if is_same else "update"])
    return rows


def _text(plan: DeploymentPlan, runner: Runner) -> str:
    terminal, _ = log()
    show_plan(plan, HumanView(terminal, False), terminal, SchemaLookup(runner.schemas).resource_schema)
    return str(terminal.stdout.getvalue())


# ---------------------------------------------------------------- applying


def _applied(
    request: Request,
    session: OpenedStack,
    deployment: Deployment,
    options: OperationOptions,
    diagnostics: Diagnostics,
    check: Check,
    rounds: int = 0,
) -> UnitResult:
    """Plan and apply in rounds. An approved plan is applied in a single round, and only if the new plan contains no
    changes that were not approved. If the request spares tainted objects, a plan that replaces a tainted object is not
    applied."""
    terminal, hooks = log()
    spared: list[str] = []
    other: list[tuple[str, str]] = []

    class Approving(Deploying):
        def planned(self, runner: Runner, plan: DeploymentPlan) -> None:
            check()

        def approves(self, plan: DeploymentPlan, decision: Approval) -> bool:
            if request.plan_file:
                other.extend(differences(request.plan_file, plan, session.encryption.plan))
            if request.spares_tainted:
                spared.extend(_tainted(plan))
            return not (other or spared)

    policies = standing_policies(".")
    deployed = deploy(session, deployment, options, hooks, Approving(), policies, diagnostics, rounds)
    if spared:
        return spared_result(request, diagnostics, spared)
    if other:
        lines = difference_lines(other)
        detail = (
            f"The plan of {request.unit} has changed since it was approved:{lines}\n\nNothing was applied. Plan again."
        )
        diagnostics += [error("stack.not_approved", "The plan differs from the approved one", detail)]
    return _result(request, deployed, diagnostics, terminal, session)


def _tainted(plan: DeploymentPlan) -> list[str]:
    return [
        f"{step.name}: {change.address}"
        for step in plan.steps
        for change in (step.plan.changes if step.plan is not None else ())
        if change.reason == "replace_because_tainted"
    ]


def _result(
    request: Request, deployed: RoundsResult, diagnostics: Diagnostics, terminal: Any, session: OpenedStack
) -> UnitResult:
    if not deployed.is_done:
        return (
            failed(request, diagnostics, terminal)
            if has_errors(diagnostics) or STOP.requested
            else _undone(request, diagnostics)
        )
    changes = [
        (f"{step.name}: {address}", action, why)
        for plan in deployed.plans
        for step in plan.steps
        for address, action, why in (changes_of(step.plan) if step.plan is not None else ())
    ]
    is_changed = any(plan.can_apply for plan in deployed.plans)
    states = States(session.backend, request.deployment or "")
    state = states.read()
    forgotten = sum(step.what == "forget" for plan in deployed.plans for step in plan.steps)
    result = UnitResult(
        request.unit,
        "applied" if is_changed or deployed.is_partial else "no-changes",
        deployed.counts.plus(Counts(forget=forgotten)),
        tuple(changes),
        diagnostics=diagnostics_json(diagnostics),
        text=terminal.stdout.getvalue(),
        is_partial=deployed.is_partial,
    )
    if state is not None:
        result = evolve(result, lineage=state.lineage, serial=state.serial)
    return evolve(result, planned=_recorded_outputs(states)) if request.is_read else result


def _undone(request: Request, diagnostics: Diagnostics) -> UnitResult:
    detail = f"The changes of {request.unit} were not completed."
    return failed(request, [*diagnostics, error("stack.not_done", "Deployment not completed", detail)])


def _recorded_outputs(states: States) -> dict[str, Any]:
    """The encoded outputs of an applied deployment and of its components, by name. Raises Failure."""
    state = states.read()
    outputs = state.outputs if state is not None else {}
    table = {name: encode(unmark_deep(output.value)[0], {}) for name, output in sorted(outputs.items())}
    for name in states.recorded():
        part = states.read(name)
        if part is not None:
            values = {called: unmark_deep(output.value)[0] for called, output in sorted(part.outputs.items())}
            table[str(name)] = encode(values, {})
    secret = tuple(sorted(name for name, output in outputs.items() if output.sensitive))
    return {**table, SECRET: encode(secret, {})} if secret else table


def _state(request: Request, session: OpenedStack) -> UnitResult:
    states = States(session.backend, request.deployment or "")
    state = states.read()
    text = "" if state is None or not state.terraform_version else f"written by version {state.terraform_version}"
    result = UnitResult(request.unit, "no-changes", text=text)
    if state is not None:
        result = evolve(result, lineage=state.lineage, serial=state.serial)
    if IDENTITIES in request.facts:
        from planner.operations.discover import recorded_objects

        parts = [(name, states.read(name)) for name in states.recorded()]
        rows = [one.row for name, part in parts if part for one in recorded_objects(part, f"{request.unit}: {name}")]
        result = evolve(result, facts={IDENTITIES: rows})
    return evolve(result, planned=_recorded_outputs(states)) if request.is_read else result
