"""Policies from Python: `planner policy check` for programs that embed it.

from planner.api import judge

verdict = judge("plan.json", policies=["builtin:exposure", "policies"])
for finding in verdict.findings:
    print(finding.kind, finding.code, finding.address, finding.message)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from planner.answers.policy.model import Finding, Verdict
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.operations.judge_documents import check_document
from planner.operations.options import OperationOptions
from planner.operations.policies import check
from planner.operations.standing_policies import organisation, own

__all__ = ["Diagnostic", "Failure", "Finding", "Verdict", "judge"]


def judge(
    document: str | os.PathLike[str] | None = None,
    *,
    policies: Sequence[str] = (),
    directory: str | os.PathLike[str] = ".",
    kind: Literal["plan", "state"] = "plan",
) -> Verdict:
    """The result of policies for a plan or a state.

    `document` is the path of a plan file, of the output of `show -json` (of planner, OpenTofu or Terraform), or of a
    state; without one, a plan is made of the configuration in `directory`. `policies` are directories, files, packs
    and builtin:NAME; those of the directory (.planner/policies, .planner/policy.toml) and of the organisation are used
    as always. Nothing is printed, and nothing but a plan of one's own touches providers. Raises Failure, whose
    `diagnostics` are the problems of the document or the policies.
    """
    folder = os.fspath(directory)
    named = tuple(dict.fromkeys((*own(folder), *policies)))
    standing = organisation("policies", os.environ)
    options = OperationOptions(folder, policies=named, standing_policies=standing)
    if document is not None and kind == "state":
        verdict, problems = check_document(options, os.fspath(document), kind)
    else:
        verdict, problems = check(options, os.fspath(document) if document is not None else None, Hooks())
    if verdict is None:
        raise Failure(problems)
    return verdict
