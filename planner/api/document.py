"""Plans as JSON: the output of `show -json` of planner, OpenTofu or Terraform."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from planner.answers.documents.kind import is_plan_file
from planner.answers.documents.plan_from_json import part_at
from planner.answers.policy.model import Verdict
from planner.api.arguments import absolute
from planner.api.changes import Change, OutputChange, changed_objects, current_object
from planner.api.configuration import read_plan_file
from planner.api.judging import judge
from planner.api.model import Explanation
from planner.api.plan import Plan
from planner.api.session import session
from planner.api.values import UNKNOWN, Sensitive, share_secrets, without_copies
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import field, frozen
from planner.logic.programs.actions import NO_OP, Counts, action_of, does
from planner.operations.judge_documents import read_document


@frozen(eq=False)
class PlanDocument:
    """A plan that was read from plan JSON. It has changes, outputs and drift like a Plan, but no causes, because plan
    JSON does not contain the inputs of the plan."""

    path: str
    document: Mapping[str, Any] = field(repr=False)
    objects: tuple[Change, ...] = field(repr=False)
    drift: tuple[Change, ...] = field(repr=False)
    outputs: tuple[OutputChange, ...] = field(repr=False)
    directory: str = field(repr=False)
    """the directory with the configuration of the plan, which policies may read"""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The objects that change, sorted by address, and imported objects even if they do not change."""
        return changed_objects(self.objects)

    @property
    def is_empty(self) -> bool:
        """Whether the plan has no effect: no object is changed or imported, and no output changes."""
        return not self.changes and all(output.action == NO_OP for output in self.outputs)

    @property
    def counts(self) -> Counts:
        """The numbers of objects that the plan creates, changes, destroys, imports and forgets, as in Plan.counts."""
        managed = [c for c in self.objects if c.mode == "managed"]
        kinds = ("creates", "destroys", "forgets")
        add, remove, forget = (sum(does(c.action, kind) for c in managed) for kind in kinds)
        update = sum(c.action == "update" for c in managed)
        return Counts(add, update, remove, sum(bool(c.import_id) for c in managed), forget)

    def change(self, address: str) -> Change:
        """The change of the current object at an address. Raises KeyError if the plan has no such object."""
        return current_object(self.objects, address)

    def judge(self, policies: Sequence[str] = ()) -> Verdict:
        """The verdict of policies about this plan. `policies`: as for planner.judge."""
        return judge(self.path, policies=policies, directory=self.directory)

    def to_json(self) -> dict[str, Any]:
        """The document itself. It contains sensitive values."""
        return dict(self.document)


def read_plan(
    path: str | os.PathLike[str],
    directory: str | os.PathLike[str] = ".",
    *,
    variables: Mapping[str, Any] | None = None,
) -> Plan | PlanDocument:
    """The plan in a file. A plan file of `Plan.save` or `planner plan -out` can be explained or applied in `directory`.
    `variables` are needed only for ephemeral variables, because a plan file does not contain their values. Plan JSON,
    as printed by `show -json` of planner, OpenTofu or Terraform, is returned as a PlanDocument. Raises Failure for any
    other file."""
    where, folder = absolute("path", path), absolute("directory", directory)
    if is_plan_file(where):
        return read_plan_file(where, folder, variables=variables)
    with session(folder):
        read = read_document(where)
        if read.kind != "plan":
            raise Failure(error("api.no_plan", "Not a plan", f"{where} is a {read.kind}."))
        root = read.whole.root
        try:
            outputs = root.get("output_changes") or {}
            return PlanDocument(
                where,
                root,
                _objects(root.get("resource_changes")),
                _objects(root.get("resource_drift")),
                tuple(_output(name, outputs[name]) for name in sorted(outputs)),
                folder,
            )
        except (AttributeError, IndexError, KeyError, TypeError) as problem:
            detail = f"{where} has a part that plan JSON does not have ({type(problem).__name__}: {problem})."
            raise Failure(error("api.no_plan", "Not a plan", detail)) from problem


def _objects(entries: Any) -> tuple[Change, ...]:
    return tuple(sorted(map(_change, entries or ()), key=lambda change: (change.address, change.deposed)))


def _change(entry: Mapping[str, Any]) -> Change:
    change = entry["change"]
    before, after = _values(change)
    return Change(
        entry["address"],
        _action(change["actions"]),
        entry.get("action_reason", ""),
        before,
        after,
        entry.get("type", ""),
        entry.get("name", ""),
        entry.get("index"),
        entry.get("module_address", ""),
        entry.get("mode", "managed"),
        entry.get("provider_name", ""),
        entry.get("previous_address", ""),
        entry.get("deposed", ""),
        (change.get("importing") or {}).get("id", ""),
        tuple(map(tuple, change.get("replace_paths") or ())),
        _no_explanation,
    )


def _output(name: str, entry: Mapping[str, Any]) -> OutputChange:
    before, after = _values(entry)
    sensitive = isinstance(after, Sensitive) or isinstance(before, Sensitive)
    return OutputChange(name, _action(entry["actions"]), before, after, sensitive, _no_explanation)


def _no_explanation(name: str) -> Explanation:
    return Explanation()


def _action(steps: Sequence[str]) -> str:
    """The action that plan JSON writes as these steps, such as ["delete", "create"]. Raises Failure if there is no such
    action."""
    try:
        return action_of(steps)
    except KeyError as problem:
        detail = f"The plan has the unknown action {list(steps)}."
        raise Failure(error("api.action", "Unknown action", detail)) from problem


def _values(change: Mapping[str, Any]) -> tuple[Any, Any]:
    before = _mark(change.get("before"), None, change.get("before_sensitive"))
    after = _mark(change.get("after"), change.get("after_unknown"), change.get("after_sensitive"))
    before, after = without_copies(share_secrets(before, after), share_secrets(after, before))
    return before, after


def _mark(value: Any, unknown: Any, sensitive: Any) -> Any:
    """The value, with UNKNOWN for each part that is true in `unknown`, and Sensitive for each part that is true in
    `sensitive`."""
    if sensitive is True:
        return Sensitive(_mark(value, unknown, None))
    if unknown is True:
        return UNKNOWN
    if isinstance(value, dict) or isinstance(unknown, dict):
        names = dict.fromkeys([*(value or {}), *(unknown if isinstance(unknown, dict) else ())])
        return (
            {
                name: _mark((value or {}).get(name), part_at(unknown, name), part_at(sensitive, name))
                for name in names
                if name in (value or {}) or part_at(unknown, name)
            }
            if value is not None or unknown
            else None
        )
    if isinstance(value, list):
        return [_mark(item, part_at(unknown, i), part_at(sensitive, i)) for i, item in enumerate(value)]
    return float(value) if isinstance(value, Decimal) else value
