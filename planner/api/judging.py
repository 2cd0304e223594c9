"""Checks plans against policies from Python, as `planner policy check` does."""

from __future__ import annotations

import os
from typing import Literal

from planner.answers.documents.kind import is_document
from planner.answers.policy.model import Finding as Finding
from planner.answers.policy.model import Verdict as Verdict
from planner.api.arguments import Paths, absolute, one_of
from planner.api.base import Work
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure
from planner.operations.judge_documents import Known as Known
from planner.operations.judge_documents import check_document
from planner.operations.options import OperationOptions


class Judging(Work):
    """Checks plans and states against the policies that the options name."""

    def verdict(
        self, path: str | None = None, kind: str = "plan", processes: int = 1, known: Known | None = None
    ) -> tuple[Verdict | None, list[Diagnostic]]:
        """The verdict about the plan or state in the file `path`, or about a new plan if `path` is None; and
        diagnostics. The verdict is None if there are errors. `kind`: whether a JSON document is a "plan" or a "state".
        `processes`: the maximum number of processes among which a large document is divided. With 0, the document is
        not divided, so that the cost of each rule can be measured. `known`: a cache of loaded policies, which calls for
        several documents share."""
        with self._session():
            if path is not None and (kind == "state" or is_document(path)):
                return check_document(self.options, path, kind, processes, known)
            from planner.operations.policies import check

            return check(self.options, path, Hooks())


def judge(
    document: str | os.PathLike[str] | None = None,
    *,
    policies: Paths = (),
    directory: str | os.PathLike[str] = ".",
    kind: Literal["plan", "state"] = "plan",
) -> Verdict:
    """Check a plan or a state against policies, and return the verdict. `document` is the path of a plan file, of the
    output of `show -json` (from planner, OpenTofu or Terraform), or of a state. Without a document, the configuration
    in `directory` is planned, and this plan is checked. `kind`: whether a JSON document is a plan or a state.
    `policies` are paths of directories, files and packs (relative to `directory`), or have the form builtin:NAME.
    Policies in Python files cannot be used for JSON documents. The policies of the directory
    (.planner/policies, .planner/policy.toml) and of the organisation always apply. Nothing is printed, and providers
    are called only if a plan is made. Raises Failure; its `diagnostics` are the problems of the document or of the
    policies."""
    from planner.api.plan import Judged
    from planner.api.policies import all_policies
    from planner.api.session import session

    one_of("kind", kind, ("plan", "state"))
    folder = absolute("directory", directory)
    path = absolute("document", document) if document is not None else None
    with session(folder):
        options = OperationOptions(folder, **all_policies(folder, policies, Judged.of))
    verdict, problems = Judging(options).verdict(path, kind if path is not None else "plan")
    if verdict is None:
        raise Failure(problems)
    return verdict
