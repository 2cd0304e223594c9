"""Why outputs change, data is read, triggers trigger, objects have drifted and imports are dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from explain.explaining import explain_text
from plan.planning import recorded, write_state

from planner.answers.explain.why import Explainer
from planner.foundation.vocabulary.diagnostic import Failure
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reasons(document: dict[str, Any]) -> list[str]:
    """All reasons of a proof, from its root down."""
    found, waiting, seen = [], [document["root"]], set()
    while waiting:
        name = waiting.pop()
        step = document["proofs"][name]
        if name in seen or step.get("input"):
            continue
        seen.add(name)
        found.append(step["reason"])
        waiting += [entry["proof"] for entry in reversed(step["body"]) if "proof" in entry]
    return found


OUTPUTS = """
variable "x" { default = "2" }
resource "terraform_data" "a" { triggers_replace = var.x }
output "known" { value = "is ${terraform_data.a.triggers_replace}" }
output "late" { value = terraform_data.a.id }
output "same" { value = "s" }
output "fresh" { value = var.x }
output "hidden" {
  sensitive = true
  value     = "pw-${var.x}"
}
"""


@pytest.fixture
def outputs(work: Path) -> Explainer:
    values = {"known": "is 1", "late": "some-id", "same": "s", "gone": "g", "hidden": "pw-1"}
    hidden = {"hidden": {"sensitive": True}}
    told = {name: {"value": value, "type": "string", **hidden.get(name, {})} for name, value in values.items()}
    write_state(work, recorded("a", triggers="1"), outputs=told)
    return explain_text(OUTPUTS)


def test_why_an_output_changes(outputs: Explainer) -> None:
    found = reasons(outputs.action("output.known"))
    assert found[0] == "output.known is updated: its value differs"
    assert 'output.known changes from "is 1" to "is 2"; it refers to terraform_data.a.triggers_replace' in found
    assert 'terraform_data.a.triggers_replace, which copies var.x, was "1"' in found


def test_chains_of_replacements_end_in_outputs(outputs: Explainer) -> None:
    found = reasons(outputs.action("output.late", "update"))
    assert "output.late refers to terraform_data.a.id, which is not known yet" in found
    replaced = "terraform_data.a is replaced (replace_because_cannot_update): triggers_replace forces replacement"
    assert replaced in found


def test_why_an_output_comes_stays_or_goes(outputs: Explainer) -> None:
    words = {
        "fresh": "the state has no value of output.fresh yet",
        "same": "output.same is the same as in the state",
        "gone": "the configuration no longer has output.gone",
    }
    for name, reason in words.items():
        assert reason in reasons(outputs.action(f"output.{name}"))
    sources = [step.get("source") for step in outputs.action("output.gone")["proofs"].values()]
    assert {"state": "output.gone"} in sources


def test_a_proof_about_a_sensitive_output_shows_no_value(outputs: Explainer) -> None:
    assert "pw-" not in json.dumps(outputs.action("output.hidden"))


def test_why_an_output_is_not_replaced(outputs: Explainer) -> None:
    with pytest.raises(Failure) as raised:
        outputs.action("output.known", "create")
    (problem,) = raised.value.diagnostics
    assert problem.summary == "No create is planned for output.known"
    assert outputs.not_action("output.known", "delete")["goal"] == ["output_action", "output.known", "delete"]


def test_every_output_goes_with_a_plan_that_destroys(work: Path) -> None:
    write_state(work, recorded("a", input="1"), outputs={"o": {"value": "v", "type": "string"}})
    explained = explain_text('resource "terraform_data" "a" { input = "1" }\noutput "o" { value = "v" }\n', "-destroy")
    proof = explained.action("output.o", "delete")
    assert "the plan destroys everything" in reasons(proof)
    assert {"command_line": "-destroy"} in [step.get("source") for step in proof["proofs"].values()]


DATA = """
resource "terraform_data" "a" { input = "new" }
data "terraform_remote_state" "now" {
  backend = "local"
  config  = { path = "other.tfstate" }
}
data "terraform_remote_state" "later" {
  backend    = "local"
  config     = { path = "other.tfstate" }
  depends_on = [terraform_data.a]
}
data "terraform_remote_state" "careful" {
  backend = "local"
  config  = { path = "other${length(data.terraform_remote_state.now.outputs)}.tfstate" }
  lifecycle {
    postcondition {
      condition     = length(local.all) > 0
      error_message = "none"
    }
  }
}
locals { all = [terraform_data.a.input] }
"""


def test_why_data_is_read_now_or_later(work: Path) -> None:
    empty = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {}, "resources": []}
    for name in ("other", "other0"):
        (work / f"{name}.tfstate").write_text(json.dumps(empty))
    explained = explain_text(DATA)
    now, later = "data.terraform_remote_state.now", "data.terraform_remote_state.later"
    assert reasons(explained.action(now))[0] == f"{now} is read while planning"
    found = reasons(explained.action(later, "read"))
    assert f"create is planned for terraform_data.a, and {later} waits for terraform_data.a" in found
    careful = explained.action("data.terraform_remote_state.careful", "read")
    assert "terraform_data.a is declared and does not exist yet" in reasons(careful)
    assert explained.not_action(now, "read")["rules"]


def test_where_facts_come_from_is_said_of_every_input() -> None:
    program = product_program("decisions")
    told = [row[0] for row in evaluate(program, FactBuilder().build(), ["fact_source"]).sorted("fact_source")]
    assert told == sorted(p.name for p in program.predicates.values() if p.is_input)
