"""The review of a fleet: causes across units, outputs with their readers, attributes; its size."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch.fleets import batch, inside, write
from jsonschema import Draft202012Validator
from render.review.documents import attribute, cause, change, document

from planner.api.schemas import schema
from planner.workflows.batch.reports.markdown import markdown

FLEET = {
    "planner.batch.hcl": """
unit "db" { path = "db" }
unit "svc" {
  path   = "svc"
  inputs = { db_port = unit.db.port }
}
unit "mon" { path = "mon" }
""",
    "db/main.tf": """
variable "port" {}
variable "password" {
  default   = "very-secret"
  sensitive = true
}
output "port" { value = var.port }
resource "terraform_data" "copy" { input = [var.password, "same"] }
""",
    "db/terraform.tfvars": "port = 5432\n",
    "svc/main.tf": """
variable "db_port" {}
resource "terraform_data" "app" {
  count            = 2
  input            = var.db_port
  triggers_replace = [var.db_port]
}
""",
    "mon/main.tf": """
data "terraform_remote_state" "db" {
  backend = "local"
  config  = { path = "../db/terraform.tfstate" }
}
resource "terraform_data" "check" { input = data.terraform_remote_state.db.outputs.port }
""",
}
FILES = ("-markdown=r.md", "-html=r.html", "-review=r.json", "-link=https://host.test/{file}#L{line}")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, FLEET)
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    write(tmp_path, {"db/terraform.tfvars": "port = 5433\n"})
    return tmp_path


def test_an_output_is_why_another_unit_is_replaced(fleet: Path) -> None:
    assert batch(fleet, "plan", *FILES).code == 0
    review = json.loads((fleet / "r.json").read_text())
    assert list(Draft202012Validator(schema("review")).iter_errors(review)) == []
    (one,) = review["causes"]
    assert (one["unit"], one["what"], one["before"], one["after"]) == ("db", "var.port", "5432", "5433")
    assert one["sets_off"] == {"replace": 2, "update": 1, "output": 1}
    assert one["link"] == "https://host.test/db/terraform.tfvars#L1"
    (output,) = review["outputs"]
    assert (output["unit"], output["name"], output["read_by"]) == ("db", "port", ["mon", "svc"])
    text = (fleet / "r.md").read_text()
    assert "**replaces 2**, changes 1, 1 output, read by `mon`, `svc` |" in text
    assert re.search(r"\| `db` \| changes \|  \|  \|  \| output `port` `5432` → `5433`, read by `mon`, `svc` \|", text)
    assert "| `triggers_replace[0]` | `5432` | `5433` | forces replacement |" in text
    texts = [text, (fleet / "r.html").read_text(), json.dumps(review)]
    batch(fleet, "plan", *FILES)  # from the cache
    assert [(fleet / name).read_text() for name in ("r.md", "r.html")] != [] and "very-secret" not in "".join(texts)
    assert json.loads((fleet / "r.json").read_text())["causes"] == review["causes"]


def test_an_apply_has_the_review_of_what_it_did(fleet: Path) -> None:
    assert batch(fleet, "apply", "-auto-approve", *FILES).code == 0
    review = json.loads((fleet / "r.json").read_text())
    assert [one["what"] for one in review["causes"]] == ["var.port"]
    assert {one["unit"] for one in review["changes"]} == {"svc", "mon"}


@pytest.mark.parametrize("saved", [False, True])
def test_a_failed_apply_of_a_unit_has_the_outcome_of_each_object(tmp_path: Path, saved: bool) -> None:
    bad = 'resource "terraform_data" "bad" {\n  provisioner "local-exec" { command = "exit 3" }\n}\n'
    after = 'resource "terraform_data" "after" { input = terraform_data.bad.id }\n'
    good = 'resource "terraform_data" "good" {}\n'
    write(tmp_path, {"planner.batch.hcl": 'unit "u" { path = "u" }\n', "u/main.tf": bad + after + good})
    if saved:
        assert batch(tmp_path, "plan", "-out=saved", *FILES).code == 0
    assert batch(tmp_path, "apply", "-auto-approve", *FILES, *(["saved"] if saved else [])).code == 1
    review = json.loads((tmp_path / "r.json").read_text())
    assert list(Draft202012Validator(schema("review")).iter_errors(review)) == []
    outcomes = {one["address"].rpartition(".")[2]: one["result"]["outcome"] for one in review["changes"]}
    assert outcomes == {"bad": "tainted", "after": "not_reached", "good": "done"}
    assert [one["kind"] for one in review["decisions"]] == ["result_tainted", "result_not_reached", "result_done"]
    assert "created, but tainted" in (tmp_path / "r.md").read_text()


def test_a_saved_fleet_has_the_review_of_its_plan(fleet: Path, planner: Callable[..., Any]) -> None:
    assert batch(fleet, "plan", "-out=saved", *FILES).code == 0
    review = json.loads((fleet / "r.json").read_text())
    with inside(fleet):
        shown = planner("show", "saved", *FILES)
    assert shown.code == 0 and "Batch plan: 3 units change." in shown.out
    assert json.loads((fleet / "r.json").read_text()) == review
    for record in fleet.rglob("*.applied.json"):  # as in another clone
        record.unlink()
    assert batch(fleet, "apply", "-auto-approve", "saved", *FILES).code == 0
    assert json.loads((fleet / "r.json").read_text())["causes"] == review["causes"]


def test_joined_shards_have_the_review_of_a_single_job(fleet: Path) -> None:
    assert batch(fleet, "plan", *FILES).code == 0
    whole = json.loads((fleet / "r.json").read_text())
    for number in "12":
        assert batch(fleet, "plan", f"-shard={number}/2", f"-report={number}.json").code == 0
    assert batch(fleet, "join", "1.json", "2.json", *FILES).code == 0
    joined = json.loads((fleet / "r.json").read_text())
    assert joined["causes"] == whole["causes"] and joined["outputs"] == whole["outputs"]
    damaged = json.loads((fleet / "1.json").read_text())
    for review in damaged["reviews"].values():
        review["review"]["changes"] = [{"address": 1}]
    (fleet / "1.json").write_text(json.dumps(damaged))
    ran = batch(fleet, "join", "1.json", "2.json", *FILES)
    assert ran.code == 1 and "1.json is damaged: address has an unexpected value" in " ".join(ran.errors.split())


@pytest.mark.slow
def test_the_comment_of_a_thousand_units_fits() -> None:
    counts = dict.fromkeys(("add", "change", "remove", "import", "forget"), 7)
    head = {"wave": 0, "reused": False, "age": None, "state_age": None, "diagnostics": [], "because": ""}
    head |= {"counts": counts, "outcome": "changes"}
    units: list[dict[str, Any]] = [
        head | {"unit": f"live/u{n:04}", "changes": [{"address": "a", "action": "update", "reason": ""}]}
        for n in range(1000)
    ]
    changes = [
        change(f"a.b[{n}]", unit=unit["unit"], causes=[number], attributes=[attribute(f"x{n}", "y" * 500, "z" * 500)])
        for number, unit in enumerate(units, 1)
        for n in range(20)
    ]
    causes = [cause(f"var.a{n}", changes[:1], n, unit=unit["unit"]) for n, unit in enumerate(units, 1)]
    outputs = [
        {"name": "o", "unit": unit["unit"], "before": "1", "after": "2", "read_by": [u["unit"] for u in units]}
        for unit in units
    ]
    report = {"command": "plan", "units": units, "outcomes": {"changes": 1000}}
    text = markdown(report, {}, document(causes=causes, changes=changes, outputs=outputs))
    assert len(text) <= 65_536
    shown = len(re.findall(r"^\| \S+ \| \[\d+\]", text, re.MULTILINE))
    assert f"**{1000 - shown} more causes** do not fit here." in text
    rows = len(re.findall(r"^\| 0 \|", text, re.MULTILINE))
    assert f"**Cut:** {1000 - rows} more units" in text
    assert text.count("<details") == text.count("</details>") > 1
    for one in changes:
        one["causes"] = [1]
    text = markdown(report, {}, document(causes=causes[:1], changes=changes))
    assert "| 0 | `live/u0000..u0999` (1,000) | changes | 7,000 | 7,000 | 7,000 |" in text and len(text) < 30_000
    assert text.count("1,000 units change") == 1 and "<code>live/u0000..u0999</code> (1,000): changes" in text
