"""What policies say about all plans of a fleet together."""

from __future__ import annotations

import os

from planner.answers.policy.combined_plans import CombinedVerdict, policy_files, three_valued, verdict_of
from planner.answers.policy.standing_policies import FLEET, organisation
from planner.answers.policy.standing_policies import own as own_folder
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.workflows.batch.facts import fleet_source
from planner.workflows.batch.questions import failed_units, over_plans
from planner.workflows.batch.schedule import BatchListener
from planner.workflows.batch.session import Batch, BatchOptions, own_rules

_OF_PACKS = (
    "packs judge the plans of single units, whose .planner/policy.toml or batch plan -policy=PACK names them. What is "
    "said of all plans together stands in rule files of no pack."
)


def policy(
    options: BatchOptions, words: tuple[str, ...], listener: BatchListener
) -> tuple[CombinedVerdict, list[Diagnostic]]:
    """What policies say about all plans together. A unit without a plan is an error: nobody knows what they would say
    about it. Raises Failure."""
    fleet = Batch(options, "plan").fleet
    standing = policy_files(organisation("batch_policies", os.environ), _OF_PACKS)
    rules = dict(own_rules(options, fleet))
    own = {**rules, **dict(policy_files((*own_folder(fleet.root, FLEET), *words), _OF_PACKS))}
    if not standing and not any(name not in rules for name in own):
        detail = "Name files or folders with -policy, or put rules into .planner/batch-policies."
        raise Failure(error("batch.no_policies", "No policies", detail))
    modal, program, problems = three_valued((*{**own, **dict(standing)}.items(),), frozenset(dict(standing)), "batch")
    database, report, more = over_plans(options, program, modal.verdicts, listener)
    problems = [*problems, *more]
    if database is None:
        return CombinedVerdict(), problems
    verdict = verdict_of(modal, program, database, fleet_source)
    return verdict, [*problems, *failed_units(report, error)]
