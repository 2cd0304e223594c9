"""What a policy of the library cannot read is no pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner import Failure, judge

PRIVILEGED = "kind: Pod\nspec: {containers: [{securityContext: {privileged: true}}]}\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [(PRIVILEGED, "deny"), (f"{PRIVILEGED}---\n{PRIVILEGED}", "broken"), ("a: [", "broken"), ("kind: Pod\n", "")],
)
def test_yaml_of_kubectl(tmp_path: Path, text: str, kind: str) -> None:
    change = {"actions": ["create"], "before": None, "after": {"yaml_body": text}, "after_unknown": {}}
    place = {"address": "kubectl_manifest.a", "mode": "managed", "type": "kubectl_manifest", "name": "a"}
    plan = {"format_version": "1.2", "resource_changes": [{**place, "provider_name": "p", "change": change}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    verdict = judge(tmp_path / "plan.json", policies=["builtin:k8s_privileged"], directory=tmp_path)
    assert {finding.kind for finding in verdict.findings} == ({kind} if kind else set())


RULE = 'deny("owner", A, "no owner") :- change(A, "t", _, _, _, _), not planned(A, "owner", _).\n'


def judged(folder: Path, change: dict[str, object], **more: str) -> set[str]:
    place = {"address": "t.a", "mode": "managed", "type": "t", "name": "a", "provider_name": "p", **more}
    (folder / "plan.json").write_text(
        json.dumps({"format_version": "1.2", "resource_changes": [{**place, "change": change}]})
    )
    (folder / "rule.dl").write_text(RULE)
    verdict = judge(folder / "plan.json", policies=[str(folder / "rule.dl")], directory=folder)
    return {finding.kind for finding in verdict.findings}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"actions": ["create"], "before": None, "after": None}, "undecided"),
        ({"actions": ["update"], "before": {}, "after": None, "after_unknown": {}}, "undecided"),
        ({"actions": ["create"], "before": None, "after": {}}, "deny"),
        ({"actions": ["delete"], "before": {"owner": "x"}, "after": None}, "deny"),
    ],
)
def test_objects_of_which_nothing_is_said(tmp_path: Path, change: dict[str, object], kind: str) -> None:
    assert judged(tmp_path, change) == {kind}


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        ({"actions": ["create"], "before": None, "after": []}, {}, "change.after: an object expected"),
        (
            {"actions": ["create"], "before": None, "after": {}},
            {"deposed": "00000001"},
            "a deposed object can only be deleted",
        ),
    ],
)
def test_changes_that_cannot_be(tmp_path: Path, change: dict[str, object], more: dict[str, str], said: str) -> None:
    with pytest.raises(Failure) as caught:
        judged(tmp_path, change, **more)
    assert said in " ".join(d.detail for d in caught.value.diagnostics)
