"""What a policy of the library cannot read is no pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.api import judge

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
