"""Deployments of stacks as units of fleets, among root modules."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from batch.fleets import batch, inside, write
from batch.stack_fleets import NET, SHOP, linked

WAVES = {"net/eu": 0, "net/us": 0, "shop/test": 0, "shop/live": 1, "root": 2}


def states(root: Path) -> list[str]:
    return sorted(
        str(path.parent.relative_to(root)) for path in root.rglob("terraform.tfstate") if path.parent.name[0] != "."
    )


def test_each_deployment_is_a_unit_and_what_components_are_made_from_is_none(tmp_path: Path) -> None:
    ran = batch(linked(tmp_path), "graph", "-json")
    assert ran.code == 0, ran.errors
    assert {node["unit"]: node["wave"] for node in ran.json["nodes"]} == WAVES
    assert ran.json["edges"] == [["root", "shop/live"], ["shop/live", "net/eu"], ["shop/live", "net/us"]]


def test_why_names_the_upstream_and_what_is_published(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "why", "shop/live", "net/eu")
    assert "shop/live reads a published output of net/eu as upstream_input.net" in ran.out
    assert 'shop/x.tfdeploy.hcl:2: upstream_input "net" {' in ran.out
    assert 'net/x.tfdeploy.hcl:4: publish_output "id"' in ran.out
    ran = batch(tmp_path, "why", "root", "shop/live")
    assert "reads the state of component.base, a component of shop/live" in ran.out and "root/main.tf:7" in ran.out


def test_planned_outputs_are_seen_by_value(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes == {
        "net/eu": "changes",
        "net/us": "changes",
        "shop/test": "changes",
        "shop/live": "incomplete",  # the id of the network is not known yet
        "root": "changes",  # the name of the component is known, though it is not there
    }
    assert ran.unit("shop/live")["because"] == "net/eu"
    assert [(c["action"], c["address"]) for c in ran.unit("shop/live")["changes"]] == [
        ("create", "component.base: terraform_data.service"),
        ("defer", "component.web[*]"),
    ]
    ran = batch(tmp_path, "why", "pending", "shop/live")
    assert "terraform_data.service of shop/live depends on the output id of net/eu" in ran.out


def test_at_once_all_rounds_are_done(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "apply", "-auto-approve", "-json")
    assert set(ran.outcomes.values()) == {"applied"}, ran.errors
    assert ran.unit("shop/live")["counts"]["add"] == 2
    assert states(tmp_path / "shop") == [
        "stack-states/live",
        "stack-states/live.base",
        "stack-states/live.web~a-36",
        "stack-states/test",
        "stack-states/test.base",
    ]
    assert set(batch(tmp_path, "plan", "-json").outcomes.values()) == {"unchanged"}
    again = batch(tmp_path, "plan", "-json")
    assert all(unit["reused"] for unit in again.json["units"])
    write(tmp_path, {"shop/service/main.tf": SHOP["shop/service/main.tf"].replace("[var.net", '["x", var.net')})
    assert batch(tmp_path, "plan", "-json").outcomes["shop/test"] == "changes"
    ran = batch(tmp_path, "destroy", "-auto-approve", "-json")
    assert set(ran.outcomes.values()) == {"applied"}, ran.errors
    assert states(tmp_path / "shop") == ["stack-states/live", "stack-states/test"]


def test_by_waves_each_round_is_shown_and_approved(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "apply", answers="yes\n" * 4)
    assert ran.code == 0, ran.errors
    assert ran.out.count("Do you want to continue") == 4
    shown = ran.out.index("Wave 2 of 3, deferred parts:")
    assert 'create component.web["a-36"]: terraform_data.service' in ran.out[shown:]
    assert "1  shop/live  applied    2" in ran.out


def test_what_was_deferred_may_be_declined(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "apply", answers="yes\nyes\nno\n")
    assert ran.code == 1
    assert "shop/live  declined" in ran.out and "root       skipped" in ran.out
    assert not (tmp_path / "shop/stack-states/live.web~a-36").exists()


def test_who_is_approved_by_checks_is_not_asked_about(tmp_path: Path) -> None:
    write(tmp_path, NET)
    more = """
deployment_group "careful" { auto_approve_checks = [deployment_auto_approve.few] }
deployment_auto_approve "few" {
  check {
    condition = context.plan.changes.add < 2
    reason    = "too many"
  }
}
"""
    text = NET["net/x.tfdeploy.hcl"].replace('"eu" {', '"eu" {\n  deployment_group = deployment_group.careful\n')
    text = text.replace('inputs = { zone = "eu" } }', 'inputs = { zone = "eu" }\n}') + more
    write(tmp_path, {"net/x.tfdeploy.hcl": text})
    ran = batch(tmp_path, "apply", "net/eu")
    assert ran.code == 0 and "Do you want" not in ran.out
    ran = batch(tmp_path, "apply", answers="no\n")
    assert ran.code == 1 and "net/us  declined" in ran.out
    write(tmp_path, {"net/x.tfdeploy.hcl": text.replace('zone = "eu"', 'zone = "es"').replace("< 2", "< 0")})
    ran = batch(tmp_path, "apply", "net/eu", answers="no\n")
    assert ran.code == 1 and "Not approved by few: the check at x.tfdeploy.hcl:" in ran.out and "too many" in ran.out


def test_a_saved_plan_is_applied_as_it_was_seen(tmp_path: Path) -> None:
    linked(tmp_path)
    assert batch(tmp_path, "apply", "-auto-approve", "net/*").code == 0
    assert batch(tmp_path, "plan", "-out=saved").code == 0
    ran = batch(tmp_path, "apply", "-auto-approve", "saved")
    assert ran.code == 1 and "has deferred changes that were not approved" in ran.errors
    assert batch(tmp_path, "plan", "-out=again", "shop/*").code == 0
    assert batch(tmp_path, "apply", "-auto-approve", "again").code == 0
    assert batch(tmp_path, "plan", "-out=third", "net/us").code == 0
    write(tmp_path, {"net/main/main.tf": NET["net/main/main.tf"].replace("= var.zone }", '= "other" }', 1)})
    ran = batch(tmp_path, "apply", "-auto-approve", "third")
    assert ran.code == 1 and "has changed" in ran.errors


def test_the_fleets_file_names_stacks(tmp_path: Path) -> None:
    linked(tmp_path)
    write(
        tmp_path,
        {
            "planner.batch.hcl": """
unit "base" {
  path = "net"
  tags = ["core"]
}
unit "late" { inputs = { id = unit.base["us"].id, zone = unit.base.eu.zone } }
units "s*" {}
""",
            "late/main.tf": """
variable "id" {}
variable "zone" {}
resource "terraform_data" "x" { input = [var.id, var.zone] }
""",
        },
    )
    ran = batch(tmp_path, "graph", "-json")
    assert {tuple(edge) for edge in ran.json["edges"]} == {
        ("late", "base/eu"),
        ("late", "base/us"),
        ("shop/live", "base/eu"),
        ("shop/live", "base/us"),
    }
    ran = batch(tmp_path, "plan", "-json", "deps(late)")
    assert ran.outcomes == {"base/eu": "changes", "base/us": "changes", "late": "incomplete"}
    assert set(batch(tmp_path, "plan", "-json", "base").outcomes) == {"base/eu", "base/us"}
    assert set(batch(tmp_path, "plan", "-json", "tag:core - base/us").outcomes) == {"base/eu"}
    assert batch(tmp_path, "apply", "-auto-approve", "deps(late)").code == 0
    written = (tmp_path / "late/terraform.tfstate").read_text()
    state = json.loads((tmp_path / "net/stack-states/us/terraform.tfstate").read_text())
    assert state["outputs"]["id"]["value"] in written


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('variables = { zone = "x" }', "Stacks do not accept values"),
        ('workspace = "x"', "Stacks do not accept values"),
        ("inputs = { zone = unit.other.zone }", "Stacks do not accept values"),
        ('for_each = toset(["a"])\npath = "net"', "Stack with for_each"),
    ],
)
def test_a_stack_is_given_nothing_by_the_fleets_file(tmp_path: Path, body: str, said: str) -> None:
    write(tmp_path, {**NET, "other/main.tf": 'output "zone" { value = "z" }\n'})
    write(tmp_path, {"planner.batch.hcl": f'unit "net" {{\n{body}\n}}\nunit "other" {{}}\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and said in ran.errors and "planner.batch.hcl line" in ran.errors


def test_options_of_root_modules_are_not_for_deployments(tmp_path: Path) -> None:
    write(tmp_path, NET)
    ran = batch(tmp_path, "plan", "-target=net/eu:terraform_data.x")
    assert ran.code == 1 and "Option not supported for deployments" in ran.errors


def test_broken_files_keep_nobody_else(tmp_path: Path) -> None:
    linked(tmp_path)
    write(tmp_path, {"bad/x.tfdeploy.hcl": "deployment {{{", "odd/x.tfdeploy.hcl": 'deployment "a b" {}\n'})
    write(
        tmp_path, {"worse/x.tfdeploy.hcl": 'deployment "a" { inputs = { nothing = 1 } }\n', "empty/x.tfdeploy.hcl": ""}
    )
    ran = batch(tmp_path, "plan", "-json")
    assert {u: o for u, o in ran.outcomes.items() if u not in WAVES} == {
        "bad": "failed",
        "odd": "failed",
        "worse/a": "failed",
        "empty": "failed",
    }
    assert ran.outcomes["shop/live"] == "incomplete"
    said = {
        unit["unit"]: unit["diagnostics"][0]["summary"] for unit in ran.json["units"] if unit["outcome"] == "failed"
    }
    assert said["odd"] == "Invalid deployment name" and said["empty"] == "Nothing to deploy"


def test_circles_between_stacks_are_shown(tmp_path: Path) -> None:
    linked(tmp_path)
    text = NET["net/x.tfdeploy.hcl"].replace('zone = "eu"', "zone = upstream_input.shop.id")
    text += 'upstream_input "shop" {\n  type = "stack"\n  source = "../shop"\n}\n'
    write(tmp_path, {"net/x.tfdeploy.hcl": text})
    shop = SHOP["shop/x.tfdeploy.hcl"] + 'publish_output "id" { value = deployment.live.id }\n'
    write(tmp_path, {"shop/x.tfdeploy.hcl": shop})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "Units wait for each other" in ran.errors
    assert "net/eu waits for shop/live: net/eu reads a published output of shop/live" in ran.errors
    assert "(net/x.tfdeploy.hcl:6)" in ran.errors


def test_two_stacks_do_not_share_a_state(tmp_path: Path) -> None:
    write(tmp_path, NET)
    for name, text in NET.items():
        write(tmp_path, {name.replace("net/", "other/", 1): text})
    place = f'backend "local" {{\n  workspace_dir = "{tmp_path}/all"\n}}\n'
    write(tmp_path, {"net/planner.stack.hcl": place, "other/planner.stack.hcl": place})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "net/eu and other/eu would both write" in ran.errors


def test_a_renamed_deployment_is_told(tmp_path: Path) -> None:
    write(tmp_path, NET)
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    write(tmp_path, {"net/x.tfdeploy.hcl": 'deployment "es" { inputs = { zone = "eu" } }\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 0 and 'The deployment "eu" has states' in ran.errors + ran.out


def test_a_folder_and_a_deployment_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, {**NET, "net/eu/main.tf": 'terraform {\n  backend "local" {}\n}\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "Two units have the same name" in ran.errors


def test_a_stuck_deployment_has_failed(tmp_path: Path) -> None:
    """What it waits for is published by a stack elsewhere, which was never applied."""
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    write(fleet, SHOP)
    write(
        tmp_path,
        {
            "elsewhere/x.tfcomponent.hcl": 'output "zone" {\n  type  = string\n  value = "z"\n}\n',
            "elsewhere/x.tfdeploy.hcl": 'deployment "d" {}\npublish_output "zone" { value = deployment.d.zone }\n',
            "fleet/shop/x.tfcomponent.hcl": """
variable "zone" { type = string }
component "web" {
  for_each = toset([var.zone])
  source   = "./service"
  inputs   = { net = "n", name = each.key }
}
""",
            "fleet/shop/x.tfdeploy.hcl": """
upstream_input "up" {
  type   = "stack"
  source = "../../elsewhere"
}
deployment "live" { inputs = { zone = upstream_input.up.zone } }
""",
        },
    )
    ran = batch(fleet, "plan", "-json")
    assert ran.outcomes == {"shop/live": "incomplete"}, ran.out
    for words in (("-auto-approve",), ()):
        ran = batch(fleet, "apply", *words, answers="yes\n")
        assert ran.code == 1 and "Deployment does not converge" in ran.errors


@pytest.mark.skipif(sys.platform != "linux", reason="the worker is found through /proc")
def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, NET)
    marker = tmp_path / "killed"
    write(
        tmp_path,
        {
            "net/main/main.tf": NET["net/main/main.tf"]
            + f"""
resource "terraform_data" "kills" {{
  input = terraform_data.net.id
  provisioner "local-exec" {{
    command = "if mkdir {marker} 2>/dev/null; then kill -9 $PPID; sleep 5; fi"
  }}
}}
"""
        },
    )
    ran = batch(tmp_path, "apply", "-executor=processes", "-workers=2", "-auto-approve", "-json")
    assert marker.exists()
    assert sorted(ran.outcomes.values()) == ["applied", "died"]  # what was being made is tainted, and spared
    assert ran.code == 1
    with inside(tmp_path):
        assert not [name for name in os.listdir("net/stack-states") if name.endswith(".lock.info")]
    died = next(unit for unit, outcome in ran.outcomes.items() if outcome == "died")
    assert batch(tmp_path, "apply", "-auto-approve", died).code == 0


def test_what_is_to_be_destroyed_publishes_nothing_more(tmp_path: Path) -> None:
    linked(tmp_path)
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    text = (
        NET["net/x.tfdeploy.hcl"]
        .replace('"eu" {', '"eu" {\n  destroy = true\n')
        .replace('zone = "eu" } }', 'zone = "eu" }\n}')
    )
    write(tmp_path, {"net/x.tfdeploy.hcl": text})
    write(
        tmp_path,
        {"other/x.tfdeploy.hcl": SHOP["shop/x.tfdeploy.hcl"].replace("local.net.id", "upstream_input.net.zone")},
    )
    write(
        tmp_path,
        {
            "other/x.tfcomponent.hcl": SHOP["shop/x.tfcomponent.hcl"],
            "other/service/main.tf": SHOP["shop/service/main.tf"],
        },
    )
    ran = batch(tmp_path, "plan", "-json")
    assert ran.unit("net/eu")["counts"]["remove"] == 1
    assert (ran.outcomes["shop/live"], ran.outcomes["other/live"]) == ("failed", "incomplete")
    assert ran.unit("shop/live")["diagnostics"][0]["summary"] == "Published outputs would be removed"


def test_deployments_are_asked_about_with_the_rest(tmp_path: Path) -> None:
    linked(tmp_path)
    ran = batch(tmp_path, "query", "unit_change(U, A, X)")
    assert ran.code == 0, ran.errors
    rows = {tuple(line.split("  ")) for line in ran.out.splitlines()}
    assert {row[0] for row in rows} >= {"net/eu", "net/us", "shop/live", "shop/test", "root"}
    assert "component.main: terraform_data.net" in ran.out
    ran = batch(tmp_path, "query", "unit_output(U, O, A)")
    assert sorted(line.split() for line in ran.out.splitlines()[2:]) == [
        ["net/eu", "id", "create"],
        ["net/eu", "zone", "create"],
        ["net/us", "id", "create"],
        ["net/us", "zone", "create"],
        ["shop/live", "id", "create"],
        ["shop/test", "id", "create"],
    ]


def test_shards_and_pages(tmp_path: Path) -> None:
    linked(tmp_path)
    found = [batch(tmp_path, "plan", "-json", f"-shard={n}/2").outcomes for n in (1, 2)]
    assert found[0].keys() | found[1].keys() == WAVES.keys() and not found[0].keys() & found[1].keys()
    assert {**found[0], **found[1]}["shop/live"] == "incomplete"
    ran = batch(tmp_path, "plan", "-html=page.html", "-markdown=report.md")
    assert ran.code == 0 and "Deployment live" in (tmp_path / "page.html").read_text()
    assert "+ component.base: terraform_data.service" in (tmp_path / "report.md").read_text()


def test_an_upstream_by_its_address(tmp_path: Path) -> None:
    linked(tmp_path)
    write(tmp_path, {"shop/x.tfdeploy.hcl": SHOP["shop/x.tfdeploy.hcl"].replace("../net", "app.terraform.io/o/p/net")})
    ran = batch(tmp_path, "graph", "-json", "-upstream=app.terraform.io/o/p/net=net")
    assert ["shop/live", "net/eu"] in ran.json["edges"]
    ran = batch(tmp_path, "plan", "-json", "-upstream=app.terraform.io/o/p/net=net")
    assert ran.outcomes["shop/live"] == "incomplete"
    ran = batch(tmp_path, "plan", "-json")
    assert ran.outcomes["shop/live"] == "failed" and "-upstream=ADDRESS=DIRECTORY" in ran.out


def test_policies_that_come_later_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, NET)
    assert batch(tmp_path, "plan", "-json").outcomes == {"net/eu": "changes", "net/us": "changes"}
    write(tmp_path, {"net/.planner/policies/p.dl": 'deny("no", A, M) :- action(A, "create"), M = "never".\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and ran.errors.count("Denied by policy no") == 2
    (tmp_path / "net/.planner/policies/p.dl").unlink()
    (tmp_path / "net/.planner/policies").rmdir()
    assert batch(tmp_path, "plan").code == 0
    write(tmp_path, {"net/.planner/stack-policies/p.dl": 'deny("no", C, A) :- unit_change(C, A, "create").\n'})
    assert batch(tmp_path, "plan").errors.count("Denied by policy no") == 2
    (tmp_path / "net/.planner/stack-policies/p.dl").rename(tmp_path / "p.dl")
    (tmp_path / "net/.planner/stack-policies").rmdir()
    assert batch(tmp_path, "plan").code == 0
    monkeypatch.setenv("PLANNER_STACK_POLICIES", str(tmp_path / "p.dl"))
    assert batch(tmp_path, "plan", "-executor=processes").errors.count("Denied by policy no") == 2


def test_states_are_compared_with_real_objects(tmp_path: Path) -> None:
    linked(tmp_path)
    assert batch(tmp_path, "plan", "-refresh-only").code == 0  # before anything is there
    assert batch(tmp_path, "apply", "-auto-approve").code == 0
    assert set(batch(tmp_path, "plan", "-refresh-only", "-json").outcomes.values()) == {"unchanged"}


def test_the_fleets_file_removes_no_deployment(tmp_path: Path) -> None:
    write(tmp_path, {**NET, "planner.batch.hcl": 'unit "net" {}\nremoved "net/old" { action = "destroy" }\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "A deployment cannot be removed here" in ran.errors and "planner.batch.hcl:2" in ran.errors


def test_stacks_that_others_call_are_no_units(tmp_path: Path) -> None:
    write(tmp_path, {name.replace("net/", "net/child/"): text for name, text in NET.items() if "deploy" not in name})
    write(
        tmp_path,
        {
            "net/x.tfcomponent.hcl": 'stack "c" {\n  source = "./child"\n  inputs = { zone = "z" }\n}\n',
            "net/x.tfdeploy.hcl": 'deployment "eu" {}\n',
        },
    )
    assert batch(tmp_path, "plan", "-json").outcomes == {"net/eu": "changes"}
    assert "No units below net/child" in batch(tmp_path, "plan", "net/child").errors
    write(tmp_path, {"planner.batch.hcl": 'unit "c" { path = "net/child" }\n'})
    ran = batch(tmp_path, "plan")
    assert ran.code == 1 and "Nothing to deploy" in ran.errors
