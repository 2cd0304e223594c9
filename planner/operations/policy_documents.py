"""Policies and the documents that they judge: which there are, and what they say of what `show -json` prints. Without
what making plans needs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from planner.answers.documents.kind import STDIN
from planner.foundation.support.disk import MOST_BYTES
from planner.foundation.support.read_ahead import Ahead
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.operations.options import NAME_POLICIES, OperationOptions

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.answers.policy.program import Policies
    from planner.logic.model.plan import PolicyRecord


Known: TypeAlias = "list[tuple[Policies | None, list[Diagnostic]]]"
"""the policies that options name, once they are loaded"""


def check_document(
    options: OperationOptions, path: str, kind: str, processes: int = 1, known: Known | None = None
) -> tuple[Verdict | None, list[Diagnostic]]:
    """What policies say about what `show -json` prints of a plan, or about a state; `kind` says which. For several
    documents they are loaded once, into `known`."""
    ahead = Ahead(path, MOST_BYTES) if path != STDIN else None
    return _judged(options, path, kind, processes, ahead, [] if known is None else known)


def _judged(
    options: OperationOptions, path: str, kind: str, processes: int, ahead: Ahead | None, known: Known
) -> tuple[Verdict | None, list[Diagnostic]]:
    from planner.answers.policy.enforcement import without_policy
    from planner.operations.judge_documents import judged_document

    try:
        if not known:
            known.append(policies_of(options, None))
        policies, problems = known[0]
    except Failure as failure:
        return None, failure.diagnostics
    if policies is None:
        return None, problems
    if not policies.files:
        return None, [error("policy.none", "No policies", NAME_POLICIES)]
    wrong = [evolve(w, severity="error") for w in without_policy(policies, options.policy_overrides)]
    if wrong:
        return None, [*problems, *wrong]
    verdict, more = judged_document(options, path, kind, policies, processes, ahead)
    return verdict, [*problems, *more]


def policies_of(
    options: OperationOptions, record: PolicyRecord | None, workspace: str = ""
) -> tuple[Policies | None, list[Diagnostic]]:
    """The organisation's policies, those on record and those that the options name, as they count in a workspace (the
    selected one, if none is named). Raises Failure."""
    from planner.answers.policy.packs import superseded
    from planner.answers.policy.program import load_policies
    from planner.answers.policy.sources import policy_files
    from planner.world.state.workspace import current_workspace

    workspace = workspace or current_workspace(options.directory, os.environ)[0]
    standing = policy_files(options.standing_policies, workspace)
    named = policy_files(options.policies, workspace)
    texts = {text for _, text in standing}
    recorded = superseded(dict(record.files if record is not None else ()), {**dict(named), **dict(standing)})
    recorded = {name: text for name, text in recorded.items() if text not in texts}
    # The policy file of an organisation is the one that stands here, if any, and not what a plan file says it was.
    theirs = {name for name in recorded if name.endswith("policy.toml") and os.path.isabs(name)}
    recorded = {name: text for name, text in recorded.items() if not standing or name not in theirs}
    files = {**recorded, **dict(named), **dict(standing)}
    return load_policies(tuple(files.items()), frozenset(dict(standing)) or frozenset(theirs), workspace)
