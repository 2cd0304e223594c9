"""Implements `apply`, which executes a plan, and `refresh`, which only records the refreshed objects in the state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.engine.walk.hooks import Hooks
from planner.foundation.support.disk import replace_file
from planner.foundation.support.signals import current_stop
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, Failure, error, has_errors, warning
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.programs.actions import Counts
from planner.operations.graphs import apply_graph
from planner.operations.options import Approval, OperationOptions, provider_limits, refusal, requirements
from planner.operations.plan import MadePlan, Planned, Start, plan, release
from planner.operations.plan_files import open_saved_plan
from planner.operations.state_access import locked
from planner.world.state.backend import Store
from planner.world.state.file import write_state
from planner.world.state.journal import Journal
from planner.world.state.model import State, same_managed
from planner.world.state.recovery import ERRORED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.answers.policy.apply_guard import PolicyGuard
    from planner.engine.apply.outcomes import Outcome
    from planner.logic.model.graph import Graph


@frozen(eq=False)
class Applied:
    """The result of a complete or partial apply. `state`: the state after the apply; None if nothing was applied."""

    state: State | None
    counts: Counts = Counts()
    diagnostics: tuple[Diagnostic, ...] = ()
    unsaved: bytes = b""
    """the content of the state file, for printing, if the state could not be saved anywhere; otherwise empty"""
    outcomes: Mapping[str, Outcome] = field(factory=dict)
    """{name of the change: outcome}; empty if there were no errors, or if nothing was applied"""


def apply(options: OperationOptions, planned: Planned[Start] | str, hooks: Hooks) -> Applied:
    """Execute a plan. `planned`: the plan, or the path of a plan file. Nothing is applied if planning failed, if the
    plan was made with -offline, if policies deny the plan, or if a required signature is missing. The resulting state
    is saved even after errors."""
    diagnostics = Diagnostics()
    applied = Applied(None)
    with diagnostics.until_an_error():
        if isinstance(planned, str):
            planned = open_saved_plan(options, planned)
            diagnostics += planned.diagnostics
        if planned.complete is None:
            raise Failure(() if diagnostics else planned.diagnostics)
        approval = planned.approval or options.approval
        if not approval and (required := requirements(options.signatures, os.environ)):
            raise refusal(required)
        made = planned.complete
        refuse(made)
        guard = _guard(made, diagnostics)
        with locked(made.loaded.store, made.loaded.options, "OperationTypeApply", diagnostics, hooks=hooks):
            applied = _apply(made, hooks, guard, diagnostics, approval)
            if guard is not None and applied.state is not None:
                outputs = {} if has_errors(diagnostics) else applied.state.outputs
                diagnostics += guard.afterwards(outputs)
    return evolve(applied, diagnostics=tuple(diagnostics))


def refuse(made: MadePlan[Start]) -> None:
    """Raises Failure for a plan that cannot be applied, because planning failed or because it was made with
    -offline."""
    if made.plan.errored:
        detail = "Planning failed, so the plan is not complete and cannot be applied."
        raise Failure(error("apply.errored_plan", "Cannot apply failed plan", detail))
    if made.plan.offline:
        detail = (
            "The plan was made without calling providers (-offline). Make a plan without -offline, and apply that plan."
        )
        raise Failure(error("apply.offline_plan", "Cannot apply an offline plan", detail))


def _guard(made: MadePlan[Start], diagnostics: Diagnostics) -> PolicyGuard | None:
    """The object that checks policies during the apply; None if there are no policies. Raises Failure if the policies
    deny the plan, or if a policy is invalid."""
    if made.plan.policy is None and not made.loaded.options.judges:
        return None
    from planner.operations.policies import apply_guard

    guard, problems = apply_guard(made)
    if guard is None:
        raise Failure(problems)
    return guard


def _apply(
    made: MadePlan[Start],
    hooks: Hooks,
    guard: PolicyGuard | None,
    diagnostics: Diagnostics,
    approval: Approval,
) -> Applied:
    from planner.answers.documents.plan_file import stale
    from planner.engine.apply.shared_work import ApplyOptions
    from planner.engine.apply.walk import apply_walk
    from planner.operations.input_record import keep_moves, keep_record, keep_taints, moves_of
    from planner.world.state.snapshots import Snapshots, persist_interval

    plan, start, store = made.plan, made.loaded, made.loaded.store
    snapshots = Snapshots(store, persist_interval(os.environ), current_stop())
    stored, problems = store.read()
    diagnostics.check([*problems, *stale(plan, stored)])
    graph = apply_graph(plan, start)
    diagnostics.check(_not_available(graph, start))
    limits = provider_limits(start.options, start.config, start.state)
    journal, problems = store.begin_journal("apply", plan.prior_state)
    diagnostics.check(problems)
    options = ApplyOptions(
        parallelism=start.options.parallelism,
        workspace=start.workspace,
        stop=current_stop(),
        suppress_forget_errors=start.options.suppress_forget_errors,
        journal=journal,
        snapshots=snapshots,
        guard=guard,
        provider_limits=limits,
    )
    try:
        outcome = apply_walk(graph, plan, start.config, made.variables, start.schemas, options, hooks)
    finally:
        snapshots.close()
    start.schemas.close()
    diagnostics += outcome.diagnostics
    if has_errors(diagnostics) and not outcome.has_begun and same_managed(stored or State(), plan.prior_state):
        return Applied(None)  # the stored state is unchanged, so the plan can still be applied
    state, problems = store.write(outcome.state)
    invoked = outcome.counts.invoke + outcome.counts.failed
    if invoked and not problems and stored is not None and state.serial == stored.serial:
        # the state does not show that an action was invoked, but the plan must not be applied again
        state, problems = store.put(evolve(state, serial=state.serial + 1))
    diagnostics += problems
    whole = not (plan.limits.is_partial or has_errors(outcome.diagnostics))
    unsaved = b""
    if has_errors(problems):
        more, unsaved = rescue(store, state)
        diagnostics += more
        return Applied(state, outcome.counts, unsaved=unsaved, outcomes=outcome.outcomes)
    if plan.mode != "refresh-only":  # a refresh-only apply does not use the current inputs
        diagnostics += keep_record(made, stored or State(), state, whole, dict(approval))
    else:
        diagnostics += keep_moves(store, state, moves_of(plan))
    diagnostics += keep_taints(store, state, outcome.taints)
    return Applied(state, outcome.counts, unsaved=unsaved, outcomes=outcome.outcomes)


def _not_available(graph: Graph, start: Start) -> list[Diagnostic]:
    """Errors for providers that the apply needs and that are not installed here. (The plan may have been made on a
    different machine.)"""
    problems: list[Diagnostic] = []
    configurations = [node.object for node in graph.nodes.values() if node.kind == "provider"]
    for source in sorted({parse_provider_configuration(one).source for one in configurations}):
        try:
            start.schemas.provider(source)
        except Failure as failure:
            problems += failure.diagnostics
    return problems


def refresh(options: OperationOptions, hooks: Hooks) -> Applied:
    """Make a plan, and record only its refreshed objects in the state. If planning fails, nothing is recorded."""
    from planner.operations.input_record import keep_moves, moves_of

    planned = plan(options, hooks, to_apply=True, remarks=_nothing_to_refresh)
    made = planned.complete
    if made is None:
        return Applied(None, diagnostics=(*planned.diagnostics, *release(planned)))
    store = made.loaded.store
    state, problems = store.write(made.plan.prior_state)
    if not has_errors(problems):
        problems += keep_moves(store, state, moves_of(made.plan))
    return Applied(state, diagnostics=(*planned.diagnostics, *problems, *release(planned)))


def _nothing_to_refresh(state: State) -> list[Diagnostic]:
    """A warning if the state has no objects to refresh."""
    if any(r.mode == "managed" for r in state.resources.values()):
        return []
    detail = "The state contains no managed resources, so there is nothing to refresh."
    return [warning("state.nothing_to_refresh", "Empty or non-existent state", detail)]


# Rescues a state that could not be saved after an apply, and reports where the state is and what to do. The state is in
# the journal if that is complete. It is also written to `errored.tfstate` in the working directory, where users of
# OpenTofu look for it. If no file can be written, the state is printed.


def rescue(store: Store, state: State) -> tuple[list[Diagnostic], bytes]:
    """Save a state that could not be written to its store. Returns diagnostics, and the content of the state file for
    printing (empty if the state was saved)."""
    journal = store.journal
    recovered = journal is not None and journal.is_complete
    if not recovered:
        # the journal may contain some of the changes under this serial, so the complete state gets the next serial
        state = evolve(state, serial=state.serial + 1)
    try:
        data = store.seal.seal(write_state(state, compact=not store.seal.is_plain))
    except Failure as failure:  # encryption failed, and the state must not be stored or printed unencrypted
        return list(failure.diagnostics), b""
    try:
        replace_file(ERRORED, data, 0o600)
    except OSError as problem:
        reason = f"{ERRORED}: {problem.strerror or problem}."
        if journal is not None and recovered:
            return [_kept_in_journal(journal, f"It could not be written to {reason}")], b""
        detail = (
            f"{reason} The state is not saved on disk. It is printed instead: save it, from the first brace to "
            f"the last, as {ERRORED}, then run `planner state push {ERRORED}`."
        )
        return [error("state.unsaved", "State could not be saved", detail)], data
    if journal is not None and recovered:
        return [_kept_in_journal(journal, f"A copy is in {ERRORED}; `planner state push {ERRORED}` restores it.")], b""
    detail = (
        f"The state was written to {ERRORED} in the working directory instead. Remove the cause and run "
        f"`planner state push {ERRORED}` before the next plan or apply. Otherwise the same changes are made again."
    )
    return [error("state.rescued", "State saved to a local file", detail)], b""


def _kept_in_journal(journal: Journal, more: str) -> Diagnostic:
    detail = (
        f"The completed changes are in the journal {journal.path}. Once the cause is removed, the next command "
        f"that writes the state adopts them. {more}"
    )
    return warning("state.in_journal", "State saved in the journal, not in its usual place", detail)
