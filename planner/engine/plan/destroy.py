"""Plans to destroy or forget objects that are no longer declared (orphans), deposed objects, and all objects in a
destroy plan."""

from __future__ import annotations

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.repetition import repetition_argument
from planner.engine.evaluation.schemas import without_write_only
from planner.engine.plan.action import Facts, decide_instance, keeps_object, rows
from planner.engine.plan.refresh import must_read, read_current, refresh_recorded
from planner.engine.plan.shared_work import PlanWork
from planner.foundation.values.types import DYNAMIC
from planner.foundation.values.value import Null, Value, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, error, has_errors, warning
from planner.foundation.vocabulary.records import evolve
from planner.logic.model.plan import Action, ResourceChange
from planner.logic.programs.actions import does
from planner.world.provider.interface import PlanRequest


def plan_orphan(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Plan to destroy or forget an object whose instance is no longer declared. In a refresh-only plan, the object is
    only read. A data source is only removed from the refreshed state. Raises Failure."""
    # decided in Python: undeclared data sources are removed from the state without an action -- no provider is called
    if it.mode != "managed":
        walk.record.refreshed.remove_object(it.resource_address, it.key)
        _hide(it)
        return []
    current, problems = read_current(walk, it)
    if current is not None and must_read(walk, {"orphaned": (), "exists": ()}):
        current = refresh_recorded(walk, it, current, problems)
    if walk.options.mode == "refresh-only":
        if it.objects is not None and current is not None:
            it.objects.set(it.key, current.value)
        else:
            _hide(it)
        return problems
    if current is None:
        _hide(it)
        return problems
    facts: Facts = {"orphaned": ()}
    _add_orphan_facts(walk, it, facts)
    problems += _end(walk, it, current, facts, warns=True)
    if not has_errors(problems):
        _hide(it)
    return problems


def plan_deposed(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Plan to destroy or forget a deposed object. In a refresh-only plan, the object is only read. Raises Failure."""
    current, problems = read_current(walk, it)
    if current is not None and walk.options.mode != "destroy" and must_read(walk, {"deposed_object": (), "exists": ()}):
        current = refresh_recorded(walk, it, current, problems)
    if walk.options.mode != "refresh-only":
        problems += _end(walk, it, current, {"deposed_object": ()}, warns=True)
    return problems


def plan_destroy(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Plan to destroy or forget an object in a plan that destroys everything. Raises Failure."""
    if it.mode != "managed":
        facts: Facts = {"destroy_requested": (), "exists": ()}
        decision, _ = decide_instance(it, facts, walk.module_scope(it))
        walk.record.add(_change(walk, it, decision.action, "", None, facts))
        return []
    current, problems = read_current(walk, it)
    return problems + _end(walk, it, current, {"destroy_requested": ()}, warns=False)


def _end(walk: PlanWork, it: Instance, current: RemoteObject | None, facts: Facts, warns: bool) -> list[Diagnostic]:
    if it.is_offline:
        facts["offline"] = ()
    if current is not None:
        facts["exists"] = ()
        if keeps_object(it.decl):
            facts["kept_by_configuration"] = ()
        if current.record.skip_destroy:
            facts["kept_by_state"] = ()
        removal = walk.removal(it.config_address) if walk.options.mode != "destroy" else None
        if removal is not None:
            facts["removal"] = ("destroy" if removal.destroy else "keep",)
    decision, destruction = decide_instance(it, facts, walk.module_scope(it))
    problems: list[Diagnostic] = []
    private = current.record.private if current else None
    identity: Value = None
    if does(decision.action, "destroys") and current is not None:
        request = PlanRequest(
            it.type,
            unmark_deep(current.value)[0],
            Null(it.object_type),
            Null(it.object_type),
            private,
            current.identity,
            walk.meta(it),
        )
        answer = it.provider.plan(request)
        problems += in_body(answer.diagnostics, it.body, it.address)
        if answer.planned.__class__ is not Null and not has_errors(problems):
            detail = f"{it.configuration} planned an object although {it.address} should be destroyed."
            problems.append(error("provider.invalid_plan", "Provider produced invalid plan", detail))
        if has_errors(problems):
            return problems
        private, identity = answer.private, answer.identity
    elif does(decision.action, "forgets") and warns:
        detail = f"After the apply, {it.address} is no longer managed. To manage the object again, import it."
        problems.append(warning("plan.forgets", "Resource will be removed from the state", detail))
    has_triggers = it.decl is not None and bool(it.decl.lifecycle.action_triggers)
    if current is not None and has_triggers and not it.deposed and not has_errors(destruction):
        from planner.engine.plan.invocations import plan_invocations

        plan_invocations(walk, it, facts, current.value, Null(it.object_type), problems)
    change = _change(walk, it, decision.action, decision.reason, current, facts, private, identity)
    walk.record.add(evolve(change, undecided=decision.undecided))
    return problems + destruction


def _change(
    walk: PlanWork,
    it: Instance,
    action: Action,
    reason: str,
    current: RemoteObject | None,
    facts: Facts,
    private: str | None = None,
    identity: Value = None,
) -> ResourceChange:
    absent = Null(DYNAMIC if current is None else it.object_type)
    return walk.record.change_of(
        it,
        action,
        reason,
        without_write_only(current.value, it.schema.block) if current else absent,
        absent,
        private=private,
        facts=rows(it.address, facts),
        before_identity=current.identity if current else None,
        after_identity=identity,
    )


def _add_orphan_facts(walk: PlanWork, it: Instance, facts: Facts) -> None:
    if it.address in walk.record.moves.moves:
        facts["moved_here"] = ()
    kind = "none" if it.key is None else "number" if isinstance(it.key, int) else "string"
    facts["key_kind"] = (kind,)
    if it.decl is not None:
        facts["resource_declared"] = ()
        facts["repetition"] = (repetition_argument(it.decl),)
        if it.module is None:
            facts["module_undeclared"] = ()


def _hide(it: Instance) -> None:
    if it.objects is not None:
        it.objects.remove(it.key)
