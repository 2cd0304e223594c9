"""`plan -causes`, `why` without an address, `show -only` and `what-if`: causes, and what they set off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .terminals import conversation

Run = Callable[..., Any]

CONFIGURATION = """variable "image" { default = "1.2" }
variable "more" {
  type    = map(string)
  default = { a = "x", b = "y" }
}
resource "terraform_data" "web" {
  count            = 2
  input            = var.image
  triggers_replace = count.index == 0 ? [var.image] : []
}
resource "terraform_data" "more" {
  for_each = var.more
  input    = each.value
}
resource "terraform_data" "gone" {}
"""


@pytest.fixture(autouse=True)
def applied(tmp_path: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    main = tmp_path / "main.tf"
    main.write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 0
    main.write_text(
        CONFIGURATION.replace('resource "terraform_data" "gone" {}\n', 'resource "terraform_data" "new" {}\n')
    )
    (tmp_path / "prod.tfvars").write_text('more  = { a = "x", c = "z" }\nimage = "1.3"\n')
    return tmp_path


SUMMARY = """Plan: 3 to add, 1 to change, 3 to destroy (1 replaced).

[1] terraform_data.gone looks renamed to terraform_data.new (main.tf:15)
    causes 2 of 6 changes: 1 destruction, 1 creation
    To keep the object: planner suggest -write (adds a moved block)

[2] var.image "1.2" -> "1.3" (prod.tfvars:2)
    causes 2 of 6 changes: 1 replacement, 1 update
    replace  terraform_data.web[0]
    update   terraform_data.web[1]

[3] var.more: added "c"; removed "b" (prod.tfvars:1)
      -> terraform_data.more["b"] removed (for_each, main.tf:12)
      -> terraform_data.more["c"] added (for_each, main.tf:12)
    causes 2 of 6 changes: 1 destruction, 1 creation
    destroy  terraform_data.more["b"]
    create   terraform_data.more["c"]
"""


def test_the_causes_of_a_plan(planner: Run) -> None:
    assert planner("why", "-var-file=prod.tfvars").out == SUMMARY
    assert SUMMARY in planner("plan", "-causes", "-var-file=prod.tfvars", "-no-color").out
    assert planner("plan", "-out=saved", "-var-file=prod.tfvars").code == 0
    saved = planner("why", "-plan=saved").out
    assert '[2] var.image "1.2" -> "1.3" (plan, main.tf:1)\n    causes 2 of 6 changes' in saved


def test_a_plan_that_destroys_begins_with_its_causes(applied: Path) -> None:
    code, shown = conversation(applied, ["plan", "-var-file=prod.tfvars"], [], ())
    head, _, bodies = shown.partition("The execution plan follows.")
    assert code == 0 and " ".join(SUMMARY.split()) in " ".join(head.split())
    assert max(map(len, head.partition("Plan: ")[2].splitlines())) < 78
    assert "  # because [2] var.image\n" in bodies and "Causes:" not in bodies
    assert "  # [1] looks renamed from terraform_data.gone\n" in bodies
    assert "does not exist yet" not in bodies


def test_a_small_plan_ends_with_its_causes(applied: Path) -> None:
    (applied / "main.tf").write_text(CONFIGURATION)
    _, shown = conversation(applied, ["plan", '-var=more={a="x",b="z"}'], [], ())
    bodies, _, foot = shown.partition("\nPlan: 0 to add, 1 to change, 0 to destroy.\n")
    assert '  # because [1] var.more["b"] "y" -> "z" (-var=more)\n' in bodies and "Causes:" not in bodies
    assert foot.startswith(
        '\nCauses:\n  [1] var.more["b"] "y" -> "z" (-var=more)\n'
        '        -> terraform_data.more["b"] (for_each, main.tf:12)\n'
    )


def test_as_json(planner: Run) -> None:
    document = json.loads(planner("why", "-json", "-var-file=prod.tfvars").out)
    assert (document["changes"], document["objects"], document["outputs"]) == (6, 6, 0)
    first = document["causes"][0]
    assert first["root"]["what"] == "var.image" and first["root"]["source"]["line"] == 2 and first["certain"]
    assert (first["root"]["before"], first["root"]["value"]) == ('"1.2"', '"1.3"')
    assert first["changes"] == [
        {"address": "terraform_data.web[0]", "action": "replace"},
        {"address": "terraform_data.web[1]", "action": "update"},
    ]


def test_nothing_to_explain(planner: Run, applied: Path) -> None:
    (applied / "main.tf").write_text(CONFIGURATION)
    assert "No changes" in planner("why").out


def test_alike_objects_are_one_line(planner: Run, applied: Path) -> None:
    (applied / "main.tf").write_text(CONFIGURATION.replace("count            = 2", "count            = 30"))
    assert "    create  terraform_data.web[2..29]\n" in planner("why").out
    assert "    create  terraform_data.web[17]\n" in planner("why", "-full").out


def test_long_lists_are_cut(planner: Run, applied: Path) -> None:
    objects = "".join(f'resource "terraform_data" "x{n}" {{}}\n' for n in range(30))
    (applied / "main.tf").write_text(CONFIGURATION + objects)
    assert "    ... 10 more (planner why -full)" in planner("why").out
    assert "more (planner why -full" not in planner("why", "-full").out


def test_part_of_a_saved_plan(planner: Run) -> None:
    assert planner("plan", "-out=saved", "-var-file=prod.tfvars").code == 0
    shown = planner("show", "-only=delete|replace", "saved").out
    lines = [line.split(" ")[3] for line in shown.splitlines() if line.startswith("  # terraform_data")]
    assert lines == ["terraform_data.gone", 'terraform_data.more["b"]', "terraform_data.web[0]"]
    document = json.loads(planner("show", "-json", "-only=create", "saved").out)
    assert [c["address"] for c in document["resource_changes"]] == ['terraform_data.more["c"]', "terraform_data.new"]
    total = next(line for line in planner("show", "saved").out.splitlines() if line.startswith("Plan: "))
    assert total in shown and "Shown are 3 of " in shown
    shown = planner("show", "-only=forget", "saved").out
    assert "none of them matches -only=forget" in shown and "No changes" not in shown
    assert planner("show", "-only=nothing", "saved").code == 1
    assert planner("show", "-only=create").code == 1


def test_what_if(planner: Run) -> None:
    said = planner("what-if", "-var=image=9")
    assert (said.code, said.err) == (0, "")
    assert said.out == (
        'because var.image "1.2" -> "9" (-var=image)\n'
        "  terraform_data.web[0]: would be replaced (now: unchanged)\n"
        "  terraform_data.web[1]: would be updated (now: unchanged)\n"
        "\n"
        "Without: 1 to add, 0 to change, 1 to destroy.\n"
        "With:    2 to add, 1 to change, 2 to destroy.\n"
    )


def test_what_if_there_is_a_base(planner: Run) -> None:
    said = planner("what-if", "-base-var=image=8", "-var=image=9", "-json")
    document = json.loads(said.out)
    assert [(d["address"], d["without"], d["with"]) for d in document["differences"]] == [
        ("terraform_data.web[0]", "replace", "replace"),
        ("terraform_data.web[1]", "update", "update"),
    ]
    assert document["with"] == document["without"] == {"add": 2, "change": 1, "remove": 2, "import": 0, "forget": 0}


def test_what_if_limits_and_replacements(planner: Run) -> None:
    limited = planner("what-if", "-target=terraform_data.web").out
    assert "terraform_data.new: would not be planned (now: created)" in limited
    replaced = planner("what-if", "-replace=terraform_data.web[1]").out
    assert "terraform_data.web[1]: would be replaced (now: unchanged)" in replaced
    destroyed = planner("what-if", "-destroy").out
    assert "terraform_data.web[0, 1]: would be destroyed (now: unchanged)\n" in destroyed


def test_what_if_nothing_is_tried(planner: Run) -> None:
    said = planner("what-if", "-var-file=prod.tfvars")
    assert said.code == 1 and "Nothing to compare" in said.err
    wrong = planner("what-if", "-var=nope=1")
    assert wrong.code == 1 and "nope" in wrong.err


def test_nothing_would_be_otherwise(planner: Run) -> None:
    assert planner("what-if", "-var=image=1.2").out.startswith("The planned changes would be the same.\n")


def test_the_document_of_a_plan_has_causes_when_asked(planner: Run) -> None:
    assert planner("plan", "-out=saved", "-var-file=prod.tfvars").code == 0
    changes = json.loads(planner("show", "-json", "-explain=line", "saved").out)["resource_changes"]
    roots = {c["address"]: [root["what"] for root in c.get("root_causes", ())] for c in changes}
    assert roots["terraform_data.web[0]"] == ["var.image"]
    assert roots['terraform_data.more["b"]'] == ['var.more["b"]']
    assert not any("because" in c for c in json.loads(planner("show", "-json", "saved").out)["resource_changes"])


def test_a_plan_that_destroys_everything(planner: Run) -> None:
    assert "\n-destroy: 5 destructions\n" in planner("why", "-destroy").out


def test_one_cause_of_many_instances_is_told_once(tmp_path: Path, planner: Run) -> None:
    (tmp_path / "site").mkdir()
    site = tmp_path / "site" / "main.tf"
    site.write_text('variable "level" { default = "info" }\nresource "terraform_data" "r" { input = var.level }\n')
    call = 'module "site" {\n  source = "./site"\n  for_each = toset(["a", "b"])\n}\n'
    (tmp_path / "main.tf").write_text(call)
    assert planner("get").code == 0
    assert planner("apply", "-auto-approve").code == 0
    site.write_text(site.read_text().replace("info", "debug"))
    told = planner("why").out
    assert 'module.site[*].var.level "info" -> "debug" (site/main.tf:1)\n    causes all 2 changes\n' in told


def test_what_is_replaced_on_request_stands_with_what_it_sets_off(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "a" {}\nresource "terraform_data" "b" { triggers_replace = terraform_data.a.id }\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    told = planner("why", "-replace=terraform_data.a").out
    end = ", so it is replaced\n      -> terraform_data.b (main.tf:2, replaced)\n    causes all 2 changes\n"
    assert f"terraform_data.a is named by -replace{end}" in told
    assert planner("taint", "terraform_data.a").code == 0
    remedy = "    To keep it: planner untaint terraform_data.a\n"
    assert f"terraform_data.a is tainted{end}{remedy}" in planner("why").out


def test_a_line_says_no_step_twice(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text('locals { a = "x" }\nresource "terraform_data" "a" { input = local.a }\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text('locals { a = "y" }\nresource "terraform_data" "a" { input = local.a }\n')
    assert '# because local.a "x" -> "y" (main.tf:1)\n' in planner("plan", "-explain=line", "-no-color").out
    full = planner("plan", "-explain=full", "-no-color").out
    assert full.count('local.a "x" -> "y" (main.tf:1)') == 1


RECORDED = """variable "a" { default = 1 }
variable "b" { default = 1 }
resource "terraform_data" "x" {
  input = "${var.a}-${var.b}"
  lifecycle { ignore_changes = [] }
}
"""


def test_looking_at_objects_is_no_apply_of_new_values(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(RECORDED)
    assert planner("apply", "-auto-approve").code == 0
    for command in (("apply", "-refresh-only"), ("refresh",)):
        assert planner(*command, *(["-auto-approve"] if command[0] == "apply" else []), "-var=a=2").code == 0
        assert '# because var.a 1 -> "2" (-var=a)\n' in planner("plan", "-explain=line", "-no-color", "-var=a=2").out


def test_nobody_is_blamed_for_what_was_ignored(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(RECORDED.replace("[]", "[input]"))
    assert planner("apply", "-auto-approve").code == 0
    assert planner("apply", "-auto-approve", "-var=a=2").code == 0
    (tmp_path / "main.tf").write_text(RECORDED)
    told = planner("plan", "-explain=line", "-no-color", "-var=a=2").out
    assert "ignore_changes ignored it until now" in told and "outside" not in told


def test_lines_that_hold_secrets_are_not_quoted(planner: Run, tmp_path: Path) -> None:
    text = """variable "p" { sensitive = true, default = "SECRET-1" }
locals { mixed = { open = "o", secret = sensitive("SECRET-2") } }
resource "terraform_data" "a" { input = [var.p, local.mixed.secret] }
"""
    text = text.replace("{ sensitive = true, default =", "{\n  sensitive = true\n  default   =").replace(
        '1" }', '1"\n}'
    )
    (tmp_path / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(text.replace("SECRET-", "SECRET-x"))
    for command in (
        ("-full", "terraform_data.a"),
        ("-json", "terraform_data.a"),
        ("-json",),
        ("-fix", "terraform_data.a"),
    ):
        told = planner("why", *command).out
        assert "SECRET" not in told and "local.mixed" in told, command


def test_the_line_of_an_object_is_the_one_that_uses_the_value_or_the_first_one_of_its_block(
    planner: Run, tmp_path: Path
) -> None:
    text = """variable "v" { default = 1 }
resource "terraform_data" "a" {
  triggers_replace = [var.v]
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "b" {
  triggers_replace = terraform_data.a.id
}
"""
    (tmp_path / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    hops = "      -> terraform_data.a (main.tf:3, replaced)\n        -> terraform_data.b (main.tf:9, replaced)\n"
    assert hops in planner("why", "-var=v=2").out
    renewed = (
        '  <- terraform_data.a is replaced, so its id is known after apply: triggers_replace[0] 1 -> "2" (main.tf:3)\n'
    )
    assert renewed in planner("why", "terraform_data.b", "-var=v=2").out


def test_without_a_record_many_candidates_are_not_listed(planner: Run, tmp_path: Path) -> None:
    names = [f"v{n}" for n in range(5)]
    variables = "".join(f'variable "{name}" {{ default = "1" }}\n' for name in names)
    value = "-".join(f"${{var.{name}}}" for name in names)
    (tmp_path / "main.tf").write_text(f'{variables}resource "terraform_data" "x" {{ input = "{value}" }}\n')
    assert planner("apply", "-auto-approve").code == 0
    for record in tmp_path.glob("*applied*"):
        record.unlink()
    for record in tmp_path.glob(".*applied*"):
        record.unlink()
    said = "No causes for 1 update: there is no record of earlier values. Apply once with planner"
    shown = planner("plan", "-explain=line", "-no-color", "-var=v0=2").out
    assert "# because" not in shown and shown.count(said) == 1
    summary = planner("why", "-var=v0=2").out
    assert summary.count(said) == 1 and "may be a cause" not in summary
    assert "may be a cause" in planner("why", "-full", "-var=v0=2").out


def test_the_share_of_a_cause_in_a_module_and_in_the_plan(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text('variable "x" {}\nresource "terraform_data" "a" { input = var.x }\n')
    (tmp_path / "main.tf").write_text(
        'variable "x" { default = 1 }\nmodule "m" {\n  source = "./m"\n  x = var.x\n}\n'
        'resource "terraform_data" "b" { input = var.x }\n'
    )
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    assert (
        "    causes the only change in module.m: 1 update (and 1 elsewhere)\n"
        in planner("why", "module.m", "-var=x=2").out
    )


def test_a_mention_of_several_parts_is_one_of_their_whole(planner: Run, tmp_path: Path) -> None:
    """The first of the parts would be a wrong lead."""
    text = """variable "base" { default = 1 }
locals {
  numbers = [for n in [10, 20] : n + var.base]
  named   = { for i, k in ["a", "b"] : k => local.numbers[i] }
}
resource "terraform_data" "x" { input = element(values(local.named), 1) }
resource "terraform_data" "y" { input = local.named["b"] }
"""
    (tmp_path / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    out = planner("why", "terraform_data.x", "-var=base=2").out
    assert "  <- local.numbers (main.tf:3)\n" in out and "[0]" not in out
    assert "  <- local.numbers[1] (main.tf:3)\n" in planner("why", "terraform_data.y", "-var=base=2").out


def test_secrets_have_the_places_that_others_have(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text(
        'variable "x" {\n  sensitive = true\n}\nresource "terraform_data" "a" {\n  input = {\n    x = var.x\n  }\n}\n'
    )
    (tmp_path / "main.tf").write_text(
        'variable "x" { default = "old" }\nmodule "m" {\n  source = "./m"\n  x = var.x\n}\n'
    )
    for words in ("init", "apply -auto-approve"):
        assert planner(*words.split()).code == 0
    out = planner("why", "module.m.terraform_data.a", "-var=x=new").out
    assert " in place: input.x differs (sensitive, m/main.tf:6)\n  <- module.m.var.x (main.tf:4)\n" in out


def test_every_part_that_differs_and_the_line_of_a_text(planner: Run, tmp_path: Path) -> None:
    text = """variable "x" { default = "one" }
resource "terraform_data" "a" {
  input = {
    name = "n-${var.x}"
    tags = { X = var.x, Y = "y" }
  }
}
resource "terraform_data" "t" { input = "first\\nsecond ${var.x}" }
"""
    (tmp_path / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    out = planner("why", "terraform_data.a", "-var=x=two").out
    assert '  input.name "n-one" -> "n-two" (main.tf:4)\n  input.tags.X "one" -> "two" (main.tf:5)\n  <- var.x' in out
    out = planner("why", "terraform_data.t", "-var=x=two").out
    assert ' is updated in place: input, line 2: "second one" -> "second two" (main.tf:8)\n' in out


def test_a_value_that_only_a_module_declares(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text("locals { inner = 1 }\n")
    (tmp_path / "main.tf").write_text('module "m" { source = "./m" }\n')
    assert planner("init").code == 0
    err = " ".join(planner("why", "local.inner").err.split())
    assert "does not declare it. Did you mean module.m.local.inner (m/main.tf:1)?" in err


def test_parts_of_one_variable_on_one_line_are_named_by_what_contains_them(planner: Run, applied: Path) -> None:
    (applied / "main.tf").write_text(
        'variable "apps" {}\n'
        'resource "terraform_data" "image" {\n  for_each = var.apps\n  input = each.value.image\n}\n'
        'resource "terraform_data" "port" {\n  for_each = var.apps\n  input = each.value.port\n}\n'
    )
    values = applied / "terraform.tfvars"
    values.write_text('apps = {\n  "a.b" = { image = "1", port = 1 }\n  c = { image = "1", port = 1 }\n}\n')
    assert planner("apply", "-auto-approve").code == 0
    values.write_text('apps = {\n  "a.b" = { image = "2", port = 2 }\n  c = { image = "1", port = 1 }\n}\n')
    assert '\n[1] var.apps["a.b"]: 2 changed values (terraform.tfvars:2)\n' in planner("why").out
    values.write_text('apps = { "a.b" = { image = "2", port = 2 }, c = { image = "1", port = 3 } }\n')
    assert "\n[1] var.apps: 3 changed values (terraform.tfvars:1)\n" in planner("why").out


def test_keys_that_a_local_map_loses_are_one_cause(planner: Run, applied: Path) -> None:
    text = (
        'locals {\n  tenants = {\n    acme  = { plan = "a" }\n    lumen = { plan = "b" }\n'
        '    river = { plan = "a" }\n  }\n}\n'
        'resource "terraform_data" "tenant" {\n  for_each = local.tenants\n  input = each.value.plan\n}\n'
        'output "count" {\n  value = length(local.tenants)\n}\n'
    )
    (applied / "main.tf").write_text(text)
    assert planner("apply", "-auto-approve").code == 0
    kept = [line for line in text.splitlines() if "acme" not in line and "river" not in line]
    (applied / "main.tf").write_text("\n".join(kept))
    found = planner("why").out
    assert '\n[1] local.tenants: removed "acme", "river" (main.tf:2)\n' in found
    assert "[2]" not in found


def test_variables_with_fractions_and_large_numbers_are_recorded(planner: Run, applied: Path) -> None:
    (applied / "main.tf").write_text(
        'variable "slo" {}\nresource "terraform_data" "alarm" {\n  input = "above ${var.slo.latency}"\n}\n'
    )
    values = applied / "terraform.tfvars"
    values.write_text("slo = { latency = 99.95, most = 123456789012345678901234567890 }\n")
    assert planner("apply", "-auto-approve").code == 0
    values.write_text("slo = { latency = 99.9, most = 123456789012345678901234567890 }\n")
    assert (
        "\n[1] var.slo.latency 99.95 -> 99.9 (terraform.tfvars:1)\n    causes the only change: " in planner("why").out
    )


def test_elements_that_move_to_other_indexes_are_mentioned_where_these_are_read(planner: Run, applied: Path) -> None:
    (applied / "main.tf").write_text(
        'variable "jobs" {}\nresource "terraform_data" "job" {\n  count = length(var.jobs)\n'
        "  input = var.jobs[count.index]\n}\n"
        'resource "terraform_data" "by_name" {\n  for_each = toset(var.names)\n}\nvariable "names" {}\n'
    )
    values = applied / "terraform.tfvars"
    values.write_text('jobs = ["a", "b"]\nnames = ["a", "b"]\n')
    assert planner("apply", "-auto-approve").code == 0
    values.write_text('jobs = ["z", "a", "b"]\nnames = ["z", "a", "b"]\n')
    found = planner("why").out
    assert '[1] var.jobs: added "z"; later elements moved (terraform.tfvars:1)\n' in found
    assert '[2] var.names: added "z" (terraform.tfvars:2)\n' in found
    chain = json.loads(planner("why", "-json", "terraform_data.job[1]").out)
    assert chain["because"][0]["elements"] is True
    assert chain["because"][0]["shifted"] is True


REMOVED = """
resource "terraform_data" "wall" {
  input = {
    name    = "wall"
    ingress = [{ port = 443 }, { port = 80 }]
  }
}

data "terraform_remote_state" "zone" {
  backend    = "local"
  config     = { path = "zone.tfstate" }
  depends_on = [terraform_data.wall]
}

variable "v" { default = ["1", "1", "1"] }

variable "key" {
  default   = "old"
  sensitive = true
}

variable "salt" {
  default   = "old"
  sensitive = true
}

resource "terraform_data" "app" {
  input = [data.terraform_remote_state.zone.outputs, var.v, "${var.key}-${SALT}"]
}
"""


def test_a_removed_element_of_an_argument_is_one_cause_with_its_value_and_line(planner: Run, tmp_path: Path) -> None:
    zone = {"version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.12.6", "outputs": {}, "resources": []}
    (tmp_path / "zone.tfstate").write_text(json.dumps(zone))
    (tmp_path / "main.tf").write_text(REMOVED.replace("SALT", "var.salt"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(REMOVED.replace("SALT", "var.salt").replace(", { port = 80 }", ""))
    summary = planner("why").out
    assert summary.count("ingress") == 1
    assert "[1] terraform_data.wall.input.ingress[1] removed, was { port = 80 } (main.tf:5)\n" in summary


def test_with_a_record_many_candidates_are_listed(planner: Run, tmp_path: Path) -> None:
    zone = {"version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.12.6", "outputs": {}, "resources": []}
    (tmp_path / "zone.tfstate").write_text(json.dumps(zone))
    (tmp_path / "main.tf").write_text(REMOVED.replace("SALT", "var.salt"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(REMOVED.replace("SALT", "var.salt").replace(", { port = 80 }", ""))
    (tmp_path / "terraform.tfvars").write_text('key = "new"\nsalt = "new"\nv = [\n"2",\n"2",\n"2",\n]\n')
    summary = planner("why").out
    assert "no record" not in summary
    assert summary.count("may be a cause") == 6  # the former values of the key and the salt are not on record
    answer = planner("why", "terraform_data.app").out
    assert "is updated in place: input differs\n  Possible causes, not all of which could be checked:\n" in answer
    assert answer.count("  <- ") == 6 and '  <- var.v[2] "1" -> "2" (terraform.tfvars:6)\n' in answer


def test_the_only_possible_cause_of_a_sensitive_value_is_certain(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "zone.tfstate").write_text(json.dumps({"version": 4, "serial": 1, "lineage": "l", "resources": []}))
    (tmp_path / "main.tf").write_text(REMOVED.replace("SALT", "var.key"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "terraform.tfvars").write_text('key = "new"\nv = ["1", "1", "2"]\n')
    summary = planner("why").out
    assert summary.count("causes the only change: update terraform_data.app") == 2


def test_keys_that_a_module_variable_gained_and_lost_in_all_instances(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    keys = (
        'resource "terraform_data" "a" {{ for_each = toset(keys(var.alarms)) }}\nvariable "alarms" {{ default = {} }}\n'
    )
    (tmp_path / "m/main.tf").write_text(keys.format("{ p95 = 1, up = 1 }"))
    (tmp_path / "main.tf").write_text('module "m" {\n  source   = "./m"\n  for_each = toset(["x", "y"])\n}\n')
    assert planner("init").code == planner("apply", "-auto-approve").code == 0
    (tmp_path / "m/main.tf").write_text(keys.format("{ p99 = 1, up = 1 }"))
    assert '[1] module.m[*].var.alarms: added "p99"; removed "p95" (m/main.tf:2)\n' in planner("why").out


def test_the_number_of_changed_values_of_a_local_value(planner: Run, tmp_path: Path) -> None:
    values = 'locals {{ s = {{ a = "{0}/1", b = "{0}/2" }} }}\nresource "terraform_data" "a" {{ input = local.s }}\n'
    (tmp_path / "main.tf").write_text(values.format("old"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(values.format("new"))
    edited = 'edited: { a = "old/1", b = "old/2" } -> { a = "new/1", b = "new/2" }'
    assert f"[1] local.s, {edited} (main.tf:1)\n" in planner("why").out


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ('"${each.key}-db"', '"${each.key}-data"', ", edited: -db -> -data (main.tf:3)"),
        (
            "upper(\n    each.key\n  )",
            "lower(\n    each.key\n  )",
            ", edited: upper( -> lower( (main.tf:3)",
        ),
        (
            "{\n    name = each.key\n  }",
            "{\n    name = each.key\n    host = upper(each.key)\n  }",
            ", added: host = upper(each.key) (main.tf:5)",
        ),
        (
            "<<-T\n  host = ${each.key}.old\n  T",
            "<<-T\n  host = ${each.key}.new\n  T",
            ", edited: .old -> .new (main.tf:4)",
        ),
        ('sensitive("${each.key}-db")', 'sensitive("${each.key}-data")', " (sensitive, main.tf:3)"),
    ],
)
def test_an_edit_whose_values_differ_in_all_instances(
    planner: Run, tmp_path: Path, before: str, after: str, title: str
) -> None:
    text = 'resource "terraform_data" "a" {{\n  for_each = toset(["x", "y"])\n  input = {}\n}}\n'
    (tmp_path / "main.tf").write_text(text.format(before))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(text.format(after))
    assert f"[1] terraform_data.a[*].input{title}\n" in planner("why").out


EACH = 'resource "terraform_data" "a" {\n  for_each = toset(["p", "q"])\n  input = %s\n}\n'
SECRET = 'variable "s" {\n%s  default = "x"\n}\n'
ONE = 'resource "terraform_data" "a" { input = %s }\n'


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (
            'locals { f = "one" }\n' + ONE % "sensitive(local.f)",
            'locals { f = "two" }\n' + ONE % "sensitive(local.f)",
            "local.f (main.tf:1)",
        ),
        (
            SECRET % "  sensitive = true\n" + EACH % '"${each.key}-one-${var.s}"',
            SECRET % "" + EACH % '"${each.key}-two-${var.s}"',
            "terraform_data.a[*].input: 2 changed values (main.tf:6)",
        ),
        (
            SECRET % "  sensitive = true\n" + EACH % '"${each.key}-one-${var.s}"',
            SECRET % "  sensitive = true\n" + EACH % '"${each.key}-two"',
            "terraform_data.a[*].input: 2 changed values (main.tf:7)",
        ),
        (
            'variable "s" {\n  sensitive = true\n  default = ["a", "one"]\n}\n' + ONE % "var.s",
            'variable "s" {\n  default = ["a", "two"]\n}\n' + ONE % "var.s",
            'var.s (sensitive value) -> ["a", "two"] (default, main.tf:2)',
        ),
    ],
    ids=["a literal of a sensitive value", "a former secret beside", "a secret that went", "a list that was secret"],
)
def test_the_text_of_an_edit_shows_no_former_secret(
    planner: Run, tmp_path: Path, before: str, after: str, title: str
) -> None:
    (tmp_path / "main.tf").write_text(before)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(after)
    shown = planner("why").out
    assert f"[1] {title}\n" in shown and "one" not in shown


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (
            'join("-", [\n  each.key,\n  "b",\n])',
            'join("-", [\n    each.key,\n    "B",\n    "c",\n  ])',
            "2 changed values (main.tf:5)",
        ),
        ("{\n  a = each.key\n  # why\n  b = each.key\n}", "{\n  a = each.key\n}", "2 changed values (main.tf:3)"),
        (
            "[\n  upper(each.key),\n  each.key,\n]",
            "[\n  lower(each.key),\n  title(each.key),\n]",
            "2 changed values (main.tf:4)",
        ),
    ],
    ids=["several parts, indented", "a part that went", "several lines"],
)
def test_the_text_of_an_edit_of_several_lines_is_not_shown(
    planner: Run, tmp_path: Path, before: str, after: str, title: str
) -> None:
    (tmp_path / "main.tf").write_text(EACH % before)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(EACH % after)
    assert f"[1] terraform_data.a[*].input: {title}\n" in planner("why").out


@pytest.mark.parametrize(
    ("name", "before", "after", "title"),
    [
        ("t.yaml", "a: {x: 1}\nb: {y: 1}\n", "a: {x: 2}\nc: {y: 1}\n", ": removed b; added c; changed a"),
        ("t.json", '{"a": {"b": {"x": 1}, "c": 1}}', '{"a": {"b": {"x": 2}, "c": 1}}', " in a.b: changed x"),
        ("t.yaml", "a: 1\n", "a: [\n", " at line 1: a: 1 -> a: ["),
        ("t.txt", "one\ntwo\nthree\n", "one\n2\nthree\n", " at line 2: two -> 2"),
        ("t.txt", "one\nfour\n", "one\ntwo\nthree\nfour\n", " at line 2: added two and 1 more line"),
        ("t.yml", "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n", "a: 2\nb: 2\nc: 2\nd: 2\ne: 2\n", ": changed a, b, c, 2 more"),
    ],
)
def test_the_changed_keys_of_a_file(
    planner: Run, tmp_path: Path, name: str, before: str, after: str, title: str
) -> None:
    (tmp_path / "main.tf").write_text(ONE % f'file("{name}")')
    (tmp_path / name).write_text(before)
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / name).write_text(after)
    assert f"[1] {name} was edited{title} (read at main.tf:1)\n" in planner("why").out


def test_the_keys_of_a_secret_file_are_not_shown(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(ONE % 'sensitive(file("t.yaml"))')
    (tmp_path / "t.yaml").write_text("a: 1\n")
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "t.yaml").write_text("b: 1\n")
    shown = planner("why").out
    assert "t.yaml (read at main.tf:1)\n" in shown and "removed" not in shown


def test_a_list_without_an_element_has_each_input_as_cause(planner: Run, tmp_path: Path) -> None:
    """The element at index 0 is "b" with and without the removal of "c", which only the length shows."""
    text = 'variable "all" {{ default = {} }}\noutput "keys" {{ value = sort(keys(var.all)) }}\n'
    (tmp_path / "main.tf").write_text(text.format("{ c = 1, d = 1 }"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(text.format("{ b = 1, d = 1 }"))
    shown = planner("why", "output.keys").out
    assert "var.all.b added: 1" in shown and "var.all.c removed, was 1" in shown


def test_a_moved_instance_is_compared_with_the_instance_that_it_was(planner: Run, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    inner = (
        'variable "seats" {{}}\nvariable "name" {{}}\nlocals {{ gb = {} }}\n'
        'resource "terraform_data" "quota" {{ input = var.seats * local.gb }}\n'
        'resource "terraform_data" "name" {{ input = var.name }}\n'
    )
    outer = (
        'variable "all" {{ default = {{ a = 7, {0} = 76 }} }}\nmodule "t" {{\n  source = "./t"\n  for_each = var.all\n'
        '  seats    = each.value\n  name     = each.key\n}}\nresource "terraform_data" "r" {{\n'
        "  for_each = toset(keys(var.all))\n  input    = [each.key, module.t[each.key].gb]\n}}\n"
    )
    inner += 'output "gb" {{ value = local.gb }}\n'
    (tmp_path / "t/main.tf").write_text(inner.format(5))
    (tmp_path / "main.tf").write_text(outer.format("fjord"))
    assert planner("init").code == planner("apply", "-auto-approve").code == 0
    (tmp_path / "t/main.tf").write_text(inner.format(8))
    moved = 'moved {\n  from = module.t["fjord"]\n  to   = module.t["bright"]\n}\n'
    moved += 'moved {\n  from = terraform_data.r["fjord"]\n  to   = terraform_data.r["bright"]\n}\n'
    (tmp_path / "main.tf").write_text(outer.format("bright") + moved)
    summary = planner("why").out
    assert "[1] module.t[*].local.gb 5 -> 8 (t/main.tf:3)" in summary and "causes 4 of 5 changes" in summary
    assert "[2] var.all.bright added: 76 (default, main.tf:1)" in summary and "causes 2 of 5 changes" in summary
    quota = planner("why", 'module.t["bright"].terraform_data.quota').out
    assert 'input 380 -> 608 (t/main.tf:4)\n  <- module.t["bright"].local.gb 5 -> 8 (t/main.tf:3)\n' in quota


SECRET_READERS = {
    "a sensitive argument that does not change": (
        'resource "terraform_data" "db" { triggers_replace = sensitive(yamldecode(file("c.yaml")).db.password) }\n'
    ),
    "a local value above a sensitive one": (
        'locals {\n  c = yamldecode(file("c.yaml"))\n  p = sensitive(local.c.db.password)\n}\n'
        'resource "terraform_data" "db" { input = local.p }\n'
    ),
    "a sensitive output": 'output "p" {\n  value     = yamldecode(file("c.yaml")).db.password\n  sensitive = true\n}\n',
    "a sensitive variable of a module, behind for_each": (
        'module "m" {\n  source   = "./m"\n  for_each = { a = yamldecode(file("c.yaml")).db }\n'
        "  pw       = each.value.password\n}\n"
    ),
    "a provisioner": (
        'resource "terraform_data" "p" {\n  provisioner "local-exec" {\n    command = "true"\n'
        '    environment = { P = yamldecode(file("c.yaml")).db.password }\n  }\n}\n'
    ),
    "a file with a sensitive name": (
        'variable "f" {\n  default   = "c.yaml"\n  sensitive = true\n}\n'
        'resource "terraform_data" "db" { input = nonsensitive(sha256(yamldecode(file(var.f)).db.password)) }\n'
    ),
}


@pytest.mark.parametrize("reader", SECRET_READERS)
def test_nothing_of_a_file_with_a_secret_is_shown(planner: Run, tmp_path: Path, reader: str) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/main.tf").write_text(
        'variable "pw" { sensitive = true }\nresource "terraform_data" "d" { input = sha256(var.pw) }\n'
    )
    read = 'yamldecode(file("c.yaml"))'
    web = f'resource "terraform_data" "web" {{ input = {read}.size + length({read}.db.password) }}\n'
    (tmp_path / "main.tf").write_text(web + SECRET_READERS[reader])
    (tmp_path / "c.yaml").write_text("{size: 1, db: {password: hunter1}}\n")
    assert planner("init").code == planner("apply", "-auto-approve").code == 0
    (tmp_path / "c.yaml").write_text("{size: 2, db: {password: hunter22}}\n")
    words = [["plan", "-causes"], ["why"], ["why", "-json"], ["why", "-json", "terraform_data.web"]]
    shown = [
        planner(*one) for one in [*words, ["why", "-fix", "terraform_data.web"], ["plan", "-json", "-explain=full"]]
    ]
    assert all("c.yaml was edited" in ran.out for ran in shown[:2])
    assert not any("hunter" in ran.out + ran.err for ran in shown)
    assert planner("explore", "-out=page.html").code == 0 and "hunter" not in (tmp_path / "page.html").read_text()


def test_a_removed_part_of_a_variable_has_its_former_line(tmp_path: Path, planner: Run) -> None:
    """The lines of objects in value files are recorded by an apply, but not those of sensitive variables."""
    (tmp_path / "main.tf").write_text(
        'variable "shows" {\n  type = map(object({ hall = string }))\n}\n'
        'variable "codes" {\n  type = map(string)\n  sensitive = true\n}\n'
        'resource "terraform_data" "show" {\n  for_each = var.shows\n  input = each.value.hall\n}\n'
        'resource "terraform_data" "code" {\n  input = var.codes\n}\n'
    )
    codes = 'codes = {\n  x = "hidden-1"\n  y = "hidden-2"\n}\n'
    values = tmp_path / "terraform.tfvars"
    values.write_text(f'shows = {{\n  a = {{ hall = "x" }}\n  b = {{\n    hall = "y"\n  }}\n}}\n{codes}')
    assert planner("apply", "-auto-approve").code == 0
    record = (tmp_path / ".terraform.tfstate.applied.json").read_text()
    assert '"lines":{"var.shows[' in record.replace(" ", "") and "codes[" not in record
    values.write_text('shows = {\n  a = { hall = "x" }\n}\n' + codes.replace('  y = "hidden-2"\n', ""))
    place = "(terraform.tfvars:1, was line 3)"
    assert f'var.shows["b"] removed, was {{ hall = "y" }} {place}' in planner("plan", "-causes").out
    assert f'var.shows["b"] removed {place}' in planner("why", 'terraform_data.show["b"]').out
    document = json.loads(planner("plan", "-causes", "-out=p").out and planner("show", "-json", "p").out)
    assert "hidden" not in json.dumps(document.get("causes", ""))
    parsed = json.loads(record)
    [run] = parsed["runs"].values()
    run["variables"]["shows"]["lines"] = {'var.shows["b"]': "x\u001b[2J", "other": None}  # not a line
    (tmp_path / ".terraform.tfstate.applied.json").write_text(json.dumps(parsed))
    assert 'var.shows["b"] removed (terraform.tfvars:1)' in planner("why", 'terraform_data.show["b"]').out
