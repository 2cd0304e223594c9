"""Plans of deployments as a batch report (document.py), so that all formats of batch reports can be used. In this
report, a "unit" is a component instance, and "folder" is its deployment.

Additional keys: "about" (Stack), "noun" (component), "left_out" (components that were not planned). `outcome` can also
be deferred or forgotten. `because` is the instance or value for which a deferred instance waits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.diagnostic import Diagnostic, has_errors
from planner.foundation.vocabulary.records import evolve, field, frozen
from planner.logic.programs.actions import Counts
from planner.workflows.batch.model import diagnostics_json
from planner.workflows.batch.plan_unit import changes_of
from planner.workflows.batch.reports.review import UnitReviews
from planner.workflows.stacks.decisions import in_order
from planner.workflows.stacks.rounds import why_deferred
from planner.workflows.stacks.steps import DeploymentPlan, InstanceStep

if TYPE_CHECKING:
    from planner.render.page.document import PageView

OUTCOMES = ("applied", "changes", "incomplete", "deferred", "forgotten", "unchanged", "failed")
Plans = Sequence["DeploymentPlan"]
"""the plans of one deployment: one for each round of planning and applying"""


@frozen(eq=False)
class DeploymentReport:
    """The report about one deployment. `units`: its component instances, in the form of document.py. `edges`:
    (instance, instance before it). `texts`, `views`: data for the HTML page (deployment_page.py)."""

    deployment: str
    mode: str
    units: tuple[dict[str, Any], ...]
    edges: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(factory=dict)
    views: tuple[PageView, ...] = ()
    reviews: UnitReviews = field(factory=UnitReviews)


def part_of(deployment: str, plans: Plans, reviews: UnitReviews) -> DeploymentReport:
    """The report about a deployment, without the data for the HTML page. `plans`: its plans so far."""
    steps = done_steps(plans)
    follows = _follows(plans, steps)
    waves = _waves(steps, follows)
    units = [
        {
            **_unit(steps[name], plans[-1]),
            "folder": deployment,
            "wave": waves[name],
            "waits_for": sorted(b for a, b in follows if a == name),
        }
        for name in in_order(steps, follows)
    ]
    left_out = plans[-1].left_out if plans else ()
    mode = plans[-1].mode if plans else "normal"
    return DeploymentReport(deployment, mode, tuple(units), tuple(sorted(follows)), left_out, reviews=reviews)


def after_round(before: DeploymentReport, after: DeploymentReport) -> DeploymentReport:
    """The report `after` about the last round, with the instances that were applied or forgotten in earlier rounds
    (`before`)."""
    now = {unit["unit"]: unit for unit in after.units}
    done = {unit["unit"]: unit for unit in before.units if unit["outcome"] in ("applied", "forgotten")}
    kept = {name: unit for name, unit in done.items() if name not in now or now[name]["outcome"] == "unchanged"}
    units = sorted({**now, **kept}.values(), key=lambda unit: (unit["wave"], unit["unit"]))
    edges = tuple(sorted({*before.edges, *after.edges}))
    texts = {**after.texts, **{name: text for name, text in before.texts.items() if name in kept}}
    return evolve(after, units=tuple(units), edges=edges, texts=texts, reviews=before.reviews.and_later(after.reviews))


def prefix_of(part: DeploymentReport, parts: Sequence[DeploymentReport]) -> str:
    """The prefix of component names in the report: `DEPLOYMENT: ` if the report is about several deployments; otherwise
    ""."""
    return f"{part.deployment}: " if len(parts) > 1 else ""


def stack_report(
    command: str, parts: Sequence[DeploymentReport], diagnostics: Iterable[Diagnostic], begun: float
) -> dict[str, Any]:
    """The report about the components of several deployments, in the form of document.py. `begun`: when the command
    started, in seconds since 1970."""
    units: list[dict[str, Any]] = []
    edges: list[list[str]] = []
    for part in parts:
        before = prefix_of(part, parts)
        for unit in part.units:
            named = {"unit": f"{before}{unit['unit']}", "waits_for": [f"{before}{name}" for name in unit["waits_for"]]}
            units.append({**unit, **named, "because": f"{before}{unit['because']}" if unit["because"] else ""})
        edges += [[f"{before}{a}", f"{before}{b}"] for a, b in part.edges]
    outcomes = Counter(unit["outcome"] for unit in units)
    problems = list(diagnostics)
    elsewhere = [problem for unit in units for problem in unit["diagnostics"]]
    return {
        "format_version": "1.0",
        "about": "Stack",
        "noun": "component",
        "command": command,
        "mode": next((part.mode for part in parts), "normal"),
        "run": "",
        "seconds": round(time.time() - begun, 3),
        "workers": 1,
        "peak_memory": 0,
        "succeeded": not has_errors(problems),
        "outcomes": {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]},
        "in_flight": [],
        "units": sorted(units, key=lambda unit: unit["wave"]),
        "orphaned": [],
        "edges": edges,
        "left_out": [f"{prefix_of(part, parts)}{name}" for part in parts for name in part.left_out],
        "diagnostics": [problem for problem in diagnostics_json(problems) if problem not in elsewhere],
        "shard": None,
    }


def stack_reviews(parts: Sequence[DeploymentReport]) -> UnitReviews:
    """The reviews of all components by their names in the report."""
    reviews: dict[str, Mapping[str, Any]] = {}
    reads: dict[str, dict[str, frozenset[tuple[str, str]]]] = {}
    for part in parts:
        before = prefix_of(part, parts)
        reviews |= {f"{before}{name}": review for name, review in part.reviews.reviews.items()}
        for name, inputs in part.reviews.reads.items():
            reads[f"{before}{name}"] = {
                variable: frozenset((f"{before}{other}", output) for other, output in outputs)
                for variable, outputs in inputs.items()
            }
    return UnitReviews(reviews, reads)


def done_steps(plans: Plans) -> dict[str, InstanceStep]:
    """{instance: step} over all rounds. A step that applied changes takes precedence over later steps of the same
    instance. An instance that was deferred in an earlier round and is not in the last round is left out."""
    table: dict[str, InstanceStep] = {}
    for plan in plans:
        for step in plan.steps:
            before = table.get(str(step.name))
            if before is None or not (before.applied and before.has_changes):
                table[str(step.name)] = step
    last = {str(step.name) for step in plans[-1].steps} if plans else set()
    return {name: step for name, step in table.items() if step.what != "defer" or name in last}


def _unit(step: InstanceStep, plan: DeploymentPlan) -> dict[str, Any]:
    planned = step.planned
    counts = Counts.of_plan(step.plan) if step.plan is not None else Counts()
    deferred = step.plan.deferred if step.plan is not None else ()
    changes = changes_of(step.plan) if step.plan is not None else ()
    outputs = [o for o in step.plan.outputs if o.action != "no-op"] if step.plan is not None else []
    return {
        "unit": str(step.name),
        "tags": [],
        "groups": [],
        "outcome": _outcome(step),
        "because": _because(step, plan),
        "reused": False,
        "age": None,
        "state_age": None,
        "attempts": 1,
        "selected_by": [],
        "counts": counts.by_name,
        "changes": [
            *({"address": a, "action": b, "reason": c} for a, b, c in changes),
            *({"address": a, "action": "defer", "reason": _words(*why)} for a, *why in deferred),
            *({"address": str(step.name), "action": "defer", "reason": why_deferred(step)} for _ in step.put_off[:1]),
        ],
        "outputs": [{"name": output.name, "action": output.action} for output in outputs],
        "changed_outputs": [],
        "unknown_outputs": [],
        "awaits": [],
        "diagnostics": list(diagnostics_json(list(planned.diagnostics))) if planned is not None else [],
        "seconds": 0.0,
        "plan_file": "",
    }


def _words(because: str, what: str) -> str:
    return f"{because} {what}".strip()


def _outcome(step: InstanceStep) -> str:
    if step.planned is not None and (step.planned.complete is None or has_errors(step.planned.diagnostics)):
        return "failed"
    if step.what == "defer":
        return "deferred"
    if step.what == "forget":
        return "forgotten"
    if step.applied and step.has_changes:
        return "applied"
    if step.plan is not None and step.plan.deferred:
        return "incomplete"
    return "changes" if step.has_changes else "unchanged"


def _because(step: InstanceStep, plan: DeploymentPlan) -> str:
    """The instance or value for which a deferred instance waits; "" if there is none, or if the instance is not
    deferred."""
    awaited = [what for because, what in step.put_off if because != "for_each"]
    waits = sorted(b for a, b in plan.decided.waits_until if a == str(step.name)) if plan.decided is not None else []
    return next(iter([*awaited, *waits]), "") if step.put_off else ""


def _follows(plans: Plans, steps: Mapping[str, InstanceStep]) -> set[tuple[str, str]]:
    """The order of instances in all rounds, as (instance, instance before it). A deferred instance comes after the
    instances whose outputs it uses."""
    items: set[tuple[str, str]] = set()
    for plan in plans:
        if plan.decided is not None:
            database = plan.decided.database
            made_from = {(str(a), str(b)) for a, b in database["made_from"] if plan.decided.does.get(str(a)) == "defer"}
            items |= {pair for pair in (*plan.decided.follows, *made_from) if pair[0] in steps and pair[1] in steps}
    return {(a, b) for a, b in items if a != b}


def _waves(steps: Mapping[str, InstanceStep], follows: Iterable[tuple[str, str]]) -> dict[str, int]:
    """{instance: number of instances in the longest chain of instances before it}."""
    before: dict[str, set[str]] = {name: set() for name in steps}
    for name, other in follows:
        before[name].add(other)
    waves: dict[str, int] = {}
    for name in in_order(steps, follows):
        waves[name] = max((waves[other] + 1 for other in before[name] if other in waves), default=0)
    return waves
