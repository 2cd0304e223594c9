"""Plans one instance of a managed resource: reads and refreshes the object, evaluates the configuration, calls the
provider, and lets the rules decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.engine.evaluation.conditions import extend, of_instance, path_name, storage_problems
from planner.engine.evaluation.context import ModuleInstance
from planner.engine.evaluation.ignore import ignore_changes, reference_path
from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.objects import RemoteObject
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.schemas import (
    combined_marks,
    is_write_only,
    schema_marks,
    sensitive_paths,
    without_write_only,
)
from planner.engine.evaluation.scope import traversal_problems, trigger_reference
from planner.engine.plan.action import Facts, decide_instance, derive, keeps_object, rows
from planner.engine.plan.refresh import import_object, must_read, read_current, refresh_recorded, settle_dependencies
from planner.foundation.values.operations import same_value
from planner.foundation.values.paths import apply_marks, get, marked_paths, unknown_paths
from planner.foundation.values.refine import with_documents
from planner.foundation.values.value import Null, Unknown, Value, identical, type_of, unmark_deep
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.foundation.vocabulary.records import evolve, frozen
from planner.language.config.model import Expr
from planner.language.config.references import Ref
from planner.language.expressions.decode import decode_block
from planner.language.syntax.nodes import GetAttr
from planner.logic.model.plan import DeferredChange, Importing, ResourceChange
from planner.logic.programs.actions import does
from planner.world.provider.conformity import plan_problems
from planner.world.provider.interface import PlanAnswer, PlanRequest
from planner.world.provider.propose import proposed_new

if TYPE_CHECKING:
    from planner.engine.plan.shared_work import PlanWork


def plan_managed(walk: PlanWork, it: Instance) -> list[Diagnostic]:
    """Plan an instance that the configuration declares. In a refresh-only plan, its object is only read. Raises
    Failure."""
    problems = walk.self_references(it)
    if problems:
        return problems
    facts: Facts = {"desired": ()}
    importing = None
    if targets := walk.imports.targets(it.address):
        facts["import_wanted"] = ()
        facts["import_declared"] = tuple(targets)
        importing = targets[str(derive(facts, "import_counts")[0][0])]
        if walk.record.refreshed.instance(it.resource_address, it.key) is not None:
            facts["managed_already"] = ()
        if importing.identity is not None:
            facts["import_names_identity"] = ()
        importing = importing if derive(facts, "imported") else None
    generated = ""
    if importing is not None and it.is_offline:
        current: RemoteObject | None = None
    elif importing is not None:
        current = import_object(walk, it, importing, problems)
        if it.resource_address in walk.options.generated and current is not None:
            from planner.engine.plan.generation import generate

            source = parse_provider_configuration(it.configuration).source
            by_provider = walk.schemas.schema(source).generates_config
            generated = generate(it, current.value, walk.options.generate_to, by_provider)
    else:
        current, problems = read_current(walk, it)
        if current is not None:
            current = refresh_recorded(walk, it, current, problems, not walk.options.minimal_refresh)
    assert it.objects is not None
    # decided in Python: -refresh-only plans no action for managed objects -- no choice is left for rules
    if walk.options.mode == "refresh-only":
        return problems + _without_plan(walk, it, current)
    try:
        change, planned, destruction, current = _plan(walk, it, current, problems, facts)
    except Failure:
        if generated and current is not None:  # record the generated configuration even if it must be corrected by hand
            walk.record.add(_generated_only(walk, it, current, generated))
        raise
    if importing is not None:
        imported = Importing(importing.id or None, identity=importing.identity)
        change = evolve(change, importing=imported, generated_config=generated or None)
    if it.decl is not None and it.decl.lifecycle.action_triggers and not has_errors(destruction):
        from planner.engine.plan.invocations import DeferredInvocation, plan_invocations

        it.objects.set(it.key, planned)  # conditions of triggers may refer to the planned object
        try:
            plan_invocations(walk, it, facts, change.before, planned, problems)
        except DeferredInvocation as put_off:
            change = evolve(change, facts=rows(it.address, facts))
            walk.record.defer(DeferredChange(change, put_off.reason, put_off.unknown, put_off.invoked))
            raise
        change = evolve(change, facts=rows(it.address, facts))
    walk.record.add(change)
    problems += destruction
    if has_errors(destruction):
        return problems
    it.objects.set(it.key, planned)
    if change.action == "no-op" and current is not None:
        settle_dependencies(walk, it, current)
    return problems + walk.conditions(it, "postcondition", planned)


# ---------------------------------------------------------------- the planned object


def _generated_only(walk: PlanWork, it: Instance, current: RemoteObject, generated: str) -> ResourceChange:
    """A change with the action no-op, for an imported object whose generated configuration could not be planned."""
    value = without_write_only(current.value, it.schema.block)
    return walk.record.change_of(
        it,
        "no-op",
        "",
        value,
        value,
        generated_config=generated,
    )


def _without_plan(walk: PlanWork, it: Instance, current: RemoteObject | None) -> list[Diagnostic]:
    assert it.objects is not None
    problems = walk.conditions(it, "precondition")
    if current is None:
        it.objects.remove(it.key)
    else:
        it.objects.set(it.key, current.value)
    return problems + walk.conditions(it, "postcondition", current.value if current else _missing_object(it))


def _missing_object(it: Instance) -> Value:
    """The value that expressions see for an object that neither exists nor is planned."""
    assert it.decl is not None
    return Unknown(it.object_type) if it.decl.enabled is None else Null(it.object_type)


def _plan(
    walk: PlanWork, it: Instance, current: RemoteObject | None, problems: list[Diagnostic], facts: Facts
) -> tuple[ResourceChange, Value, list[Diagnostic], RemoteObject | None]:
    """The change of an instance, its planned object with marks, errors if the change is forbidden, and the current
    object (None if there is none). Raises Failure with all problems so far."""
    assert it.decl is not None
    if it.is_offline:
        facts["offline"] = ()
    watched_changes = _triggers(walk, it)
    if watched_changes:
        facts["watched"] = watched_changes
    extend(problems, walk.conditions(it, "precondition"))
    config = configuration_of(it, problems)
    known, before_reading = dict(facts), list(problems)
    proposal, replace_paths = _propose_with_facts(walk, it, current, config, problems, facts)
    if walk.options.minimal_refresh and current is not None and not derive(facts, "imported"):
        if must_read(walk, facts):
            facts.clear()
            facts.update(known)
            problems[:] = before_reading
            current = refresh_recorded(walk, it, current, problems)
            proposal, replace_paths = _propose_with_facts(walk, it, current, config, problems, facts)
        else:
            facts["recorded_only"] = ()
    deferral = next((p for p in proposal.answer.diagnostics if p.deferred), None)
    answer, marked = proposal.answer, proposal.planned
    planned = marked
    decision, destruction = decide_instance(it, facts, walk.module_scope(it))
    # decided in Python: a replacement is planned a second time, as a new object -- the provider protocol requires this
    if does(decision.action, "replaces") and "tainted" not in facts and deferral is None:
        start = PriorObject(Null(it.object_type), answer.private, meta=walk.meta(it))
        answer = ask_plan(it, start, unmark_deep(config)[0], [])
        marked = with_marks(it, answer.planned, proposal.config_marks)
        # a recorded object has only the marks of its configuration; the marks of the schema are added when the record
        # is read
        planned = apply_marks(answer.planned, proposal.config_marks)
    before = Null(it.object_type) if current is None else current.value
    marked, planned = (without_write_only(value, it.schema.block) for value in (marked, planned))
    change = walk.record.change_of(
        it,
        decision.action,
        decision.reason,
        without_write_only(before, it.schema.block),
        planned,
        replace_paths=replace_paths,
        private=answer.private,
        facts=rows(it.address, facts),
        before_identity=None if current is None else current.identity,
        after_identity=answer.identity,
        undecided=decision.undecided,
    )
    if deferral is not None:
        unknown = tuple(sorted({path_name(path[:1]) for path in unknown_paths(unmark_deep(config)[0])}))
        walk.record.defer(DeferredChange(change, deferral.deferred, unknown))
        extend(problems, in_body([deferral], it.body, it.address))
    return change, marked, destruction, current


def _propose_with_facts(
    walk: PlanWork,
    it: Instance,
    current: RemoteObject | None,
    config: Value,
    problems: list[Diagnostic],
    facts: Facts,
) -> tuple[Proposal, tuple[Any, ...]]:
    """The provider's plan for an instance, and the paths at which a difference requires replacement. Facts about the
    plan and these paths are added to `facts`. Raises Failure with all problems so far."""
    meta = walk.meta(it)
    proposal = propose(it, current, config, problems, meta, True)
    _add_simple_facts(walk, it, current, facts)
    replace_paths: tuple[Any, ...] = ()
    if proposal.ignored:
        facts["ignored_difference"] = proposal.ignored
    if proposal.prior.__class__ is not Null:
        replace_paths = differences(it, proposal.prior, proposal.planned, proposal.answer, facts)
    if current is not None and current.record.tainted:
        _add_untainted_plan(it, current, config, meta, facts)
    return proposal, replace_paths


@frozen(eq=False)
class Proposal:
    """The provider's plan for a configuration. `prior`: the existing object (Null if there is none, or if it is
    tainted). `answer`: the provider's response. `planned`: the planned object, with marks. `config_marks`: the marks of
    the configuration. `ignored`: paths at which ignore_changes hides a difference."""

    prior: Value
    answer: PlanAnswer
    planned: Value
    config_marks: list[Any]
    ignored: tuple[str, ...] = ()


@frozen(eq=False)
class PriorObject:
    """The inputs of the provider for planning an object: the existing object (Null if there is none), its private data
    and identity, and the provider_meta value of the module."""

    prior: Value
    private: str | None = None
    identity: Value = None
    meta: Value = None


def propose(
    it: Instance,
    current: RemoteObject | None,
    config: Value,
    problems: list[Diagnostic],
    meta: Value = None,
    may_defer: bool = False,
) -> Proposal:
    """Let the provider check a configuration and plan the object. `may_defer`: whether the response of a provider that
    defers the object is returned; otherwise a deferral is an error. Raises Failure with all problems so far."""
    assert it.decl is not None
    kept = None if current is None or current.record.tainted else current
    prior: Value = Null(it.object_type) if kept is None else kept.value
    plain_config = unmark_deep(config)[0]
    extend(problems, in_body(it.provider.validate_resource("managed", it.type, plain_config), it.body, it.address))
    ignored = it.decl.lifecycle.ignore_changes
    effective = ignore_changes(prior, config, ignored, it.schema.block)
    plain_prior = unmark_deep(prior)[0]
    start = PriorObject(plain_prior, meta=meta)
    if kept is not None:
        start = PriorObject(plain_prior, kept.record.private, kept.identity, meta)
    plain_effective = unmark_deep(effective)[0]
    answer = ask_plan(it, start, plain_effective, problems, may_defer)
    planned = with_documents(answer.planned, plain_effective)
    if answer.legacy_type_system:
        planned = ignore_changes(plain_prior, planned, ignored, None)
    config_marks = marked_paths(effective)
    hidden = _ignored_paths(it, plain_prior, plain_config, plain_effective)
    return Proposal(prior, answer, with_marks(it, planned, config_marks), config_marks, hidden)


def _ignored_paths(it: Instance, prior: Value, config: Value, effective: Value) -> tuple[str, ...]:
    """The paths at which ignore_changes hides a difference between an existing object and its configuration, sorted."""
    assert it.decl is not None
    ignored = it.decl.lifecycle.ignore_changes
    if not ignored or prior.__class__ is Null or config is effective:
        return ()
    asked, kept = (proposed_new(it.schema.block, prior, value) for value in (config, effective))
    paths = [(("attr", name),) for name in asked] if ignored == "all" else map(reference_path, ignored)
    differing = {path_name(path) for path in paths if not _is_alike(_at(asked, path), _at(kept, path))}
    return tuple(sorted(differing))


def _is_alike(a: Value, b: Value) -> bool:
    return a is b or (a is not None and b is not None and _same(a, b))


def configuration_of(it: Instance, problems: list[Diagnostic]) -> Value:
    """The configuration of an instance, with marks. Raises Failure with all problems so far."""
    assert it.decl is not None
    config, item = decode_block(it.decl.body, it.schema.block, it.scope)
    extend(problems, of_instance(item, it.address))
    extend(problems, storage_problems(it, config))
    return config


def ask_plan(
    it: Instance, start: PriorObject, config: Value, problems: list[Diagnostic], may_defer: bool = False
) -> PlanAnswer:
    """The provider's plan for the object. `may_defer`: as for `propose`. Raises Failure."""
    block, prior = it.schema.block, start.prior
    proposed = proposed_new(block, prior, config)
    request = PlanRequest(it.type, prior, proposed, config, start.private, start.identity, start.meta)
    answer = it.provider.plan(request)
    deferrals = [p for p in answer.diagnostics if p.deferred and may_defer]
    extend(problems, in_body((p for p in answer.diagnostics if p not in deferrals), it.body, it.address))
    if deferrals:  # the planned object, if there is one, is the provider's best guess
        return answer if isinstance(answer.planned, dict) else evolve(answer, planned=proposed)
    if not answer.legacy_type_system:
        plain = unmark_deep(answer.planned)[0]
        wrong = plan_problems(block, prior, config, plain)
        if wrong:
            details = (f"{it.configuration} returned an invalid plan for {it.address}: {p}." for p in wrong)
            hint = " This is a bug in the provider."
            raise Failure([error("provider.invalid_plan", "Provider produced invalid plan", d + hint) for d in details])
    return answer


def with_marks(it: Instance, planned: Value, config_marks: list[Any]) -> Value:
    marks = combined_marks(config_marks, schema_marks(it.schema.block, planned))
    return apply_marks(planned, marks) if marks else planned


def _triggers(walk: PlanWork, it: Instance) -> tuple[tuple[str, str, str], ...]:
    """The rows of the predicate `watched` for the elements of replace_triggered_by, sorted. Raises Failure for an
    invalid element, unless the target of an earlier element changes."""
    assert it.decl is not None
    assert it.module is not None
    rows: set[tuple[str, str, str]] = set()
    is_triggered = False
    for expr in it.decl.lifecycle.replace_triggered_by:
        try:
            ref = trigger_reference(expr, it.repetition)
            address = f"{it.module_text}.{ref.name}" if it.module_text else ref.name
            changes = walk.record.of_resource(address)
            if ref.key is not None or ref.rest:
                changes = [c for c in changes if c.key == ref.key and not c.deposed]
            rows |= watched_facts(expr, ref, it.module, changes)
        except Failure:
            if not is_triggered:
                raise
        is_triggered = is_triggered or bool(derive({"watched": tuple(rows)}, "triggered"))
    return tuple(sorted(rows))


def _add_simple_facts(walk: PlanWork, it: Instance, current: RemoteObject | None, facts: Facts) -> None:
    assert it.decl is not None
    if current is not None:
        facts["exists"] = ()
        if current.record.tainted:
            facts["tainted"] = ()
    if it.address in walk.replace:
        facts["replace_requested"] = ()
    if it.created_first:
        facts["created_first"] = ()
    if keeps_object(it.decl):
        facts["kept_by_configuration"] = ()


def _add_untainted_plan(it: Instance, current: RemoteObject, config: Value, meta: Value, facts: Facts) -> None:
    """Add facts about the plan that a tainted object would have if it were not tainted. Explanations use these facts.
    If this plan fails, no facts are added."""
    sound = evolve(current, record=evolve(current.record, tainted=False))
    differing: Facts = {}
    try:
        proposal = propose(it, sound, config, [], meta)
        forced = differences(it, proposal.prior, proposal.planned, proposal.answer, differing)
    except Failure:
        return
    facts["sound_plan"] = ()
    names = sorted(unmark_deep(proposal.planned)[0]) if forced else differing.get("differs", ())
    if names:
        facts["sound_plan_differs"] = tuple(names)


def differences(it: Instance, prior: Value, planned: Value, answer: PlanAnswer, facts: Facts) -> tuple[Any, ...]:
    """Add facts about the differences between an existing object and the provider's plan. Returns the paths at which a
    difference requires replacement. Raises Failure."""
    before, after = unmark_deep(prior)[0], unmark_deep(planned)[0]
    different = tuple(name for name in sorted(after) if not _same(before[name], after[name]))
    if different:
        facts["differs"] = different
    if sensitive_paths(prior) != sensitive_paths(planned):
        facts["sensitivity_differs"] = ()
    required, write_only = [], []
    for path in answer.requires_replace:
        old, new = _at(before, path), _at(after, path)
        if old is None and new is None:
            where = path_name(path)
            detail = f"{it.configuration} plans to replace {it.address} because of {where}, which does not exist."
            raise Failure(error("provider.invalid_plan", "Provider produced invalid plan", detail))
        old = Null(type_of(new)) if old is None else old
        new = Null(type_of(old)) if new is None else new
        if not same_value(old, new):
            required.append(path)
        elif is_write_only(it.schema.block, path):
            required.append(path)
            write_only.append(path)
    if required:
        facts["requires_replace"] = tuple(map(path_name, required))
    if required and answer.renews:
        facts["renews"] = answer.renews
    if write_only:
        facts["write_only_replace"] = tuple(map(path_name, write_only))
    return tuple(required)


def _at(value: Value, path: Any) -> Value:
    try:
        return get(value, path)
    except KeyError:
        return None


def _same(a: Value, b: Value) -> bool:
    """Whether two values are known to be equal. Nulls of different types are not equal, because objects that contain
    them have different types."""
    return a is b or (same_value(a, b) and (a.__class__ is not Null or a.type == b.type))


# lifecycle.replace_triggered_by: whether a resource or attribute that an element names changes.


def watched_facts(
    expr: Expr, ref: Ref, module: ModuleInstance, changes: Sequence[ResourceChange]
) -> set[tuple[str, str, str]]:
    """The rows of the predicate `watched` for an element of replace_triggered_by: (source of the element, action,
    difference). `changes`: the planned changes of the target. Raises Failure."""
    text = expr.span.text
    decl = module.config.resources.get(ref.name)
    place = module.text or "the root module"
    if decl is None:
        detail = f"No resource {ref.name} is declared in {place}."
        raise Failure(error("plan.undeclared_resource", "Reference to undeclared resource", detail, expr.span))
    if not changes:
        detail = f"replace_triggered_by names {ref.name}, which has no instance in {place}."
        raise Failure(error("plan.trigger_without_change", "Nothing triggers a replacement", detail))
    if not ref.rest:
        return {(text, change.action, "whole") for change in changes}
    change = changes[0]
    if not does(change.action, "stirs"):
        return {(text, change.action, "same")}
    object_type = module.context.schemas.object_type(module.config, decl)
    problems = traversal_problems(object_type, ref.rest, expr.source)
    if problems:
        raise Failure(problems)
    path = tuple(("attr", s.name) if isinstance(s, GetAttr) else ("index", s.key) for s in ref.rest)
    items = []
    for value in (change.before, change.after):
        try:
            items.append(get(unmark_deep(value)[0], path))
        except KeyError:
            items.append(None)
    before, after = items
    is_same = before is after if before is None or after is None else identical(before, after)
    return {(text, change.action, "same" if is_same else "differs")}
