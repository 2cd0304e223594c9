"""Policies from Python: `planner policy check` for programs that embed it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from planner.answers.policy.model import Finding as Finding
from planner.answers.policy.model import Verdict as Verdict
from planner.api.plan import Judged
from planner.api.policies import all_policies
from planner.api.session import session
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Failure
from planner.operations.judge_documents import check_document
from planner.operations.options import OperationOptions
from planner.operations.policies import check


def judge(
    document: str | os.PathLike[str] | None = None,
    *,
    policies: Sequence[str] = (),
    directory: str | os.PathLike[str] = ".",
    kind: Literal["plan", "state"] = "plan",
) -> Verdict:
    """The result of policies for a plan or a state.

    `document` is the path of a plan file, of the output of `show -json` (of planner, OpenTofu or Terraform), or of a
    state; without one, a plan is made of the configuration in `directory`. `policies` are directories, files and packs
    (relative to `directory`) and builtin:NAME; Python files judge no documents. The policies of the directory
    (.planner/policies, .planner/policy.toml) and of the organisation are used as always. Nothing is printed, and
    nothing but a plan of one's own touches providers. Raises Failure, whose `diagnostics` are the problems of the
    document or the policies.
    """
    folder = os.path.abspath(directory)
    path = os.path.abspath(document) if document is not None else None
    with session(folder):
        options = OperationOptions(folder, **all_policies(folder, policies, Judged.of))
        if path is not None and kind == "state":
            verdict, problems = check_document(options, path, kind)
        else:
            verdict, problems = check(options, path, Hooks())
        if verdict is None:
            raise Failure(problems)
        return verdict
