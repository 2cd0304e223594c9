"""What programs and reviewers get of deployments: JSON lines, documents, Markdown and pages."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from render.page.browser import needs_browser, opened
from stacks.test_deployments import LATER, MODULE, TWO, Stack, stack

from planner.api.schemas import schema

__all__ = ["stack"]
DEPLOY = 'deployment "a" { inputs = { name = "a", regions = ["eu"] } }\n'
BOTH = DEPLOY + 'deployment "b" { inputs = { name = "b", regions = ["eu"] } }\n'
SECRET = """
variable "name" { type = string }
resource "terraform_data" "x" { input = sensitive(var.name) }
output "name" {
  value     = terraform_data.x.output
  sensitive = true
}
"""
KEEPING = """
component "c" {
  source = "./m"
  inputs = { name = "hush-hush" }
}
output "name" {
  type      = string
  value     = component.c.name
  sensitive = true
}
"""


def lines(stack: Stack, *words: str, code: int = 0) -> list[dict[str, Any]]:
    ran = stack.planner("stacks", *words, "-json")
    assert ran.code == code, ran.out + ran.err
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert found[0]["type"] == "version"
    return found[1:]


def of_type(found: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [line for line in found if line["type"] == type]


def test_lines_of_a_plan_say_where(stack: Stack) -> None:
    stack.write(TWO, BOTH)
    stack.run("init")
    found = lines(stack, "plan")
    assert {line["deployment"] for line in found} == {"a", "b"}
    changes = [(c["deployment"], c["component"], c["change"]["action"]) for c in of_type(found, "planned_change")]
    both = [(d, c, "create") for d in "ab" for c in ("component.net", 'component.web["eu"]')]
    assert changes == both
    assert of_type(found, "planned_change")[0]["change"]["resource"]["addr"] == "terraform_data.x"
    (one, other) = of_type(found, "deployment_planned")
    assert (one["deployment"], one["applyable"], one["complete"]) == ("a", True, True)
    assert other["changes"] == {"add": 2, "change": 0, "forget": 0, "import": 0, "remove": 0}


def test_lines_of_an_apply_and_of_a_destruction(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    found = lines(stack, "apply", "-auto-approve")
    done = [(c["component"], c["hook"]["resource"]["addr"]) for c in of_type(found, "apply_complete")]
    assert done[0] == ("component.first", "terraform_data.x") and len(done) == 4
    rounds = [line["complete"] for line in of_type(found, "deployment_planned")]
    assert rounds[0] is False and rounds[-1] is True
    deferred = [line for line in of_type(found, "component_planned") if line["component"] == "component.many[*]"]
    assert deferred[0]["deferred"] == [{"because": "for_each", "what": ""}]
    whole = [line for line in of_type(found, "change_summary") if "component" not in line]
    assert [(line["changes"]["operation"], line["changes"]["add"]) for line in whole] == [("apply", 4)]
    assert found[-1]["outputs"] == {"count": {"sensitive": False, "type": "number", "value": 1}}
    found = lines(stack, "destroy", "-auto-approve")
    whole = [line for line in of_type(found, "change_summary") if "component" not in line]
    assert [(line["changes"]["operation"], line["changes"]["remove"]) for line in whole] == [("destroy", 4)]


def test_problems_say_which_deployment(stack: Stack) -> None:
    stack.write(TWO, DEPLOY + 'deployment "b" { inputs = { name = [1], regions = [] } }\n')
    stack.run("init")
    (problem,) = of_type(lines(stack, "plan", code=1), "diagnostic")
    assert problem["deployment"] == "b" and problem["@level"] == "error"
    (problem,) = of_type(lines(stack, "plan", "-deployment=c", code=1), "diagnostic")
    assert "deployment" not in problem
    (problem,) = of_type(lines(stack, "plan", "-parallelism=x", code=1), "diagnostic")
    assert problem["@level"] == "error"


def test_without_somebody_to_ask_nothing_is_applied(stack: Stack) -> None:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    (problem,) = of_type(lines(stack, "apply", code=1), "diagnostic")
    assert "prompts are disabled" in problem["@message"] and stack.states() == {}


def test_lines_go_to_a_file_beside_the_text(stack: Stack) -> None:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    text = stack.run("apply", "-auto-approve", "-json-into=lines")
    assert "a: 2 added" in text
    found = [json.loads(line) for line in (stack.folder / "lines").read_text().splitlines()]
    assert len(of_type(found, "apply_complete")) == 2
    assert stat.S_IMODE((stack.folder / "lines").stat().st_mode) == 0o600


def test_sensitive_values_are_in_no_line(stack: Stack) -> None:
    (stack.folder / "m" / "main.tf").write_text(SECRET)
    stack.write(KEEPING, 'deployment "a" { inputs = {} }\n')
    stack.run("init")
    found = lines(stack, "apply", "-auto-approve")
    assert "hush" not in json.dumps(found)
    assert found[-1]["outputs"]["name"] == {"sensitive": True, "type": "string"}


def test_the_document_is_for_its_owner(stack: Stack) -> None:
    stack.write(LATER, 'deployment "a" { inputs = { name = "a" } }\n')
    stack.run("init")
    stack.run("plan", "-report=plans.json")
    assert stat.S_IMODE((stack.folder / "plans.json").stat().st_mode) == 0o600
    document = json.loads((stack.folder / "plans.json").read_text())
    assert document["errored"] is False
    (deployment,) = document["deployments"]
    first = deployment["components"][0]
    assert (first["address"], first["changes"]["add"]) == ("component.first", 1)
    assert first["plan"]["resource_changes"][0]["address"] == "terraform_data.x"
    assert deployment["outputs"] == {"count": {"known": False, "sensitive": False}}
    assert "Cannot write" in stack.run("plan", "-report=no/where", code=1)


# ---------------------------------------------------------------- Markdown and pages

NESTED = """
variable "names" { type = set(string) }
required_providers {
  terraform = { source = "terraform.io/builtin/terraform" }
}
provider "terraform" "x" {
  config {}
}
component "net" {
  source    = "./m"
  inputs    = { name = "net" }
  providers = { terraform = provider.terraform.x }
}
stack "inner" {
  for_each = var.names
  source   = "./s"
  inputs   = { name = component.net.name }
}
component "late" {
  for_each = toset([component.net.id])
  source   = "./m"
  inputs   = { name = each.key }
}
"""
ODD = "x&<y>|z`\\u001b[31m\\\\"
ODD_DEPLOY = f'deployment "a" {{ inputs = {{ names = ["{ODD}"] }} }}\n'


def data_of(page: Path) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_markdown_has_changes_and_causes_first(stack: Stack) -> None:
    stack.write(NESTED, ODD_DEPLOY)
    stack.run("init")
    stack.run("plan", "-markdown=r.md")
    text = (stack.folder / "r.md").read_text()
    assert text.startswith("### Stack plan: 2 components change, 1 deferred.\n\nObjects: **2** to add.\n")
    rows = [line.split(" | ")[1:3] for line in text.splitlines() if re.match(r"\| \d+(?: \(after \d+\))? \|", line)]
    assert rows[0] == ["`component.net`", "changes"]
    assert rows[-1] == ["`component.late[*]`", "deferred"]
    assert "because of component.net" in text
    assert "\x1b" not in text and text.count("<details") == 5
    assert "? component.late[*]  (how many instances there are is not known yet)" in text
    stack.run("apply", "-auto-approve", "-markdown=r.md")
    text = (stack.folder / "r.md").read_text()
    assert text.startswith("### Stack apply: 3 applied.\n\nObjects: **3** added.\n") and "deferred" not in text
    stack.run("plan", "-markdown=r.md")
    assert "3 components are unchanged." in (stack.folder / "r.md").read_text()
    stack.run("destroy", "-auto-approve", "-markdown=r.md")
    assert "Objects: **3** destroyed." in (stack.folder / "r.md").read_text()


def test_reports_say_what_was_left_out(stack: Stack) -> None:
    stack.write(TWO, DEPLOY)
    stack.run("init")
    stack.run("plan", "-component=component.net", "-markdown=r.md", "-html=r.html", "-report=r.json")
    text = (stack.folder / "r.md").read_text()
    assert text.startswith("### Stack plan: 1 component changes.") and 'Left out: `component.web["eu"]`.' in text
    (deployment,) = json.loads((stack.folder / "r.json").read_text())["deployments"]
    assert deployment["left_out"] == ['component.web["eu"]']
    assert len(data_of(stack.folder / "r.html")["changes"]) == 1


FLOWING = {
    "s.tfcomponent.hcl": """
variable "cidr" { type = string }
locals { net = component.net.cidr }
component "net" {
  source = "./net"
  inputs = { cidr = var.cidr }
}
stack "apps" {
  source = "./apps"
  inputs = { range = local.net }
}
""",
    "apps/s.tfcomponent.hcl": """
variable "range" { type = string }
component "web" {
  for_each = toset(["eu", "us"])
  source   = "./web"
  inputs   = { range = var.range }
}
""",
    "apps/web/main.tf": """
variable "range" { type = string }
resource "terraform_data" "w" { triggers_replace = var.range }
""",
    "net/main.tf": """
variable "cidr" { type = string }
output "cidr" { value = var.cidr }
""",
    "d.tfdeploy.hcl": 'deployment "prod" { inputs = { cidr = "10.0.0.0/8" } }\n',
}


def test_an_output_of_a_component_is_why_others_are_replaced(stack: Stack) -> None:
    for name, text in FLOWING.items():
        (stack.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (stack.folder / name).write_text(text)
    stack.run("init")
    stack.run("apply", "-auto-approve")
    deploy = stack.folder / "d.tfdeploy.hcl"
    deploy.write_text(deploy.read_text().replace("10.0", "10.1"))
    for words in (["plan"], ["apply", "-auto-approve"]):
        stack.run(*words, "-markdown=r.md", "-html=r.html", "-review=r.json")
        review = json.loads((stack.folder / "r.json").read_text())
        assert list(Draft202012Validator(schema("review")).iter_errors(review)) == []
        (one,) = review["causes"]
        assert (one["unit"], one["what"], one["after"]) == ("component.net", "var.cidr", '"10.1.0.0/8"')
        assert one["sets_off"] == {"replace": 2, "output": 1} and (one["file"], one["line"]) == ("d.tfdeploy.hcl", 1)
        (output,) = review["outputs"]
        assert output["read_by"] == [f'stack.apps.component.web["{key}"]' for key in ("eu", "us")]
        assert "**replaces 2**, 1 output" in (stack.folder / "r.md").read_text()
        assert "<h2>Causes</h2>" in (stack.folder / "r.html").read_text()


def test_markdown_says_what_is_wrong(stack: Stack) -> None:
    bad = MODULE + 'resource "terraform_data" "y" {\n  provisioner "local-exec" { command = "exit 3" }\n}\n'
    (stack.folder / "m" / "main.tf").write_text(bad)
    stack.write(TWO, BOTH.replace('["eu"]', "[]").replace('name = "b"', "name = [1]"))
    stack.run("init")
    stack.run("apply", "-auto-approve", "-markdown=r.md", "-review=r.json", code=1)
    text = (stack.folder / "r.md").read_text()
    assert "error: local-exec provisioner error" in text and "deployment" in text
    assert "created, but tainted" in text
    changes = json.loads((stack.folder / "r.json").read_text())["changes"]
    results = {(one["unit"], one["address"]): one["result"]["outcome"] for one in changes}
    assert results == {
        ("a: component.net", "terraform_data.x"): "done",
        ("a: component.net", "terraform_data.y"): "tainted",
    }
    assert "Cannot write" in stack.run("plan", "-markdown=no/where", code=1)


def test_a_page_has_components_child_stacks_and_values(stack: Stack) -> None:
    stack.write(NESTED, ODD_DEPLOY)
    stack.run("init")
    stack.run("plan", "-html=r.html")
    path = stack.folder / "r.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "x&<y>" not in text and not re.findall(r"https?://", text) and "\x1b" not in text
    page = data_of(path)
    components, flow = page["views"]
    names = [page["strings"][n] for n in components["nodes"]["name"]]
    kinds = dict(zip(names, (page["strings"][n] for n in components["nodes"]["kind"]), strict=True))
    inner = next(name for name in names if name.endswith("component.c"))
    assert kinds == {
        "component.net": "component",
        "component.late[*]": "component",
        "provider.terraform.x": "provider",
        inner.removesuffix(".component.c"): "stack",
        inner: "component",
    }
    assert [box[1] for box in components["boxes"]] == ["", inner.removesuffix(".component.c")]
    edges = components["edges"]
    grounds = {
        (names[a], names[b]): page["grounds"][ground if isinstance(ground, int) else ground[0]]
        for a, b, ground in zip(edges["from"], edges["to"], edges["grounds"], strict=True)
    }
    rule, _, places = grounds["component.late[*]", "component.net"]
    assert page["strings"][rule] == "stacks/deployment.made-from"
    assert any("toset([component.net.id])" in page["places"][place][1] for place in places)
    assert len(flow["nodes"]["name"]) > len(names)
    changes = {address: action for address, action, *_ in page["changes"]}
    assert changes == {"component.net": "changes", inner: "changes", "component.late[*]": "deferred"}


def test_a_page_of_several_deployments_tells_them_apart(stack: Stack) -> None:
    stack.write(TWO, BOTH)
    stack.run("init")
    stack.run("apply", "-auto-approve", "-html=r.html")
    page = data_of(stack.folder / "r.html")
    assert [box[1] for box in page["views"][0]["boxes"]] == ["", "a", "b"]
    assert ["a: component.net", "applied"] in [change[:2] for change in page["changes"]]
    assert page["title"] == "Stack apply: 4 applied."


def test_no_secret_is_in_a_page(stack: Stack) -> None:
    (stack.folder / "m" / "main.tf").write_text(SECRET)
    stack.write(KEEPING, 'deployment "a" { inputs = {} }\n')
    stack.run("init")
    stack.run("apply", "-auto-approve", "-html=r.html", "-markdown=r.md")
    stack.run("plan", "-destroy", "-html=d.html", "-markdown=d.md")
    for name in ("r.html", "r.md", "d.html", "d.md"):
        assert "hush" not in (stack.folder / name).read_text().replace(KEEPING, ""), name


@pytest.mark.slow
@needs_browser
def test_the_page_works_in_a_browser(stack: Stack) -> None:
    stack.write(NESTED, ODD_DEPLOY)
    stack.run("init")
    stack.run("plan", "-html=r.html")
    with opened(stack.folder / "r.html") as tab:
        tab.keyboard.press("/")
        tab.keyboard.type("component.late")
        tab.get_by_role("button", name="component.late[*]", exact=True).first.press("Enter")
        details = tab.get_by_role("complementary", name="Details")
        said = details.inner_text()
        assert "? deferred" in said and "because of component.net" in said
        assert "how many instances there are is not known yet" in said
        details.get_by_role("button", name="why it waits for component.net").press("Enter")
        assert "x.tfcomponent.hcl:" in details.inner_text()
        details.locator("summary", has_text="Rule").press("Enter")
        details.get_by_text("stacks/deployment.made-from", exact=True).wait_for()
        assert "Components" in tab.locator(".below").inner_text()


def test_reports_say_the_same_of_deployments_in_processes(stack: Stack) -> None:
    many = [f'deployment "d{n}" {{ inputs = {{ name = "d{n}", regions = ["eu"] }} }}\n' for n in range(4)]
    stack.write(TWO, "".join(many))
    stack.run("init")
    for words in (("-workers=1", "-markdown=1.md", "-html=1.html"), ("-workers=2", "-markdown=2.md", "-html=2.html")):
        stack.run("plan", *words)
    one, two = ((stack.folder / f"{n}.md").read_text() for n in (1, 2))
    assert one == two and "`d0..d3: component.net` (4)" in one
    pages = [data_of(stack.folder / f"{n}.html") for n in (1, 2)]
    for page in pages:
        page["summary"] = page["summary"][:1]  # the second line has seconds
    assert pages[0] == pages[1] and len(pages[0]["changes"]) == 8
