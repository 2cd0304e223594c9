"""`planner explore`: what the page says, and how it is used in a browser."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Ran
from render.page.browser import needs_browser, opened

from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBase

EXAMPLE = Path(__file__).parents[3] / "examples" / "01_first_plan" / "main.tf"
HOSTILE = "</script><script>throw 1</script><!-- & \u2028 ' \" `${1}`"

MAIN = """
variable "secret" {
  default   = "hunter2"
  sensitive = true
}
resource "terraform_data" "a" { input = var.secret }
module "m" {
  source = "./m"
  given  = terraform_data.a.id
}
resource "terraform_data" "z" {
  for_each   = toset([%s])
  input      = module.m.out
  depends_on = [terraform_data.a]
}
"""
INNER = """
variable "given" {}
resource "terraform_data" "b" {
  count = 2
  input = var.given
}
output "out" { value = terraform_data.b[0].id }
"""
ORDERED = """
variable "size" { default = 1 }
resource "terraform_data" "first" { input = var.size }
resource "terraform_data" "second" { depends_on = [terraform_data.first] }
resource "terraform_data" "late" {
  input      = var.size
  depends_on = [terraform_data.second]
}
module "m" {
  source     = "./m"
  for_each   = toset([tostring(var.size)])
  given      = terraform_data.first.id
  depends_on = [terraform_data.late]
}
output "all" { value = [module.m, terraform_data.late.id] }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "main.tf").write_text(MAIN % json.dumps(HOSTILE, ensure_ascii=False).replace("${", "$${"), "utf-8")
    (tmp_path / "m" / "main.tf").write_text(INNER)
    monkeypatch.chdir(tmp_path)
    assert planner("get").code == 0
    return tmp_path


def document(text: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def without_time(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "", text)


def explored(planner: Callable[..., Ran], folder: Path, *words: str) -> tuple[str, Any]:
    ran = planner("explore", *words, f"-out={folder}/page.html")
    assert (ran.code, ran.err) == (0, ""), ran.err
    assert ran.out == f"The page is in {folder}/page.html.\n"
    text = (folder / "page.html").read_text("utf-8")
    return text, document(text)


@pytest.mark.parametrize(("kind", "count"), [("", 2), ("plan", 1), ("apply", 2)])
def test_a_graph_is_derived_once(
    folder: Path, planner: Callable[..., Ran], kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = []

    def counted(program: Any, facts: FactBase, *rest: Any, **named: Any) -> Any:
        walks.append(facts.sorted("walk"))
        return evaluate(program, facts, *rest, **named)

    monkeypatch.setattr("planner.logic.graph.build.evaluate", counted)
    monkeypatch.setattr("planner.logic.graph.build._lately", deque(maxlen=0))
    explored(planner, folder, f"-type={kind}")
    assert walks == [[("plan",)], [("apply",)]][:count]


def test_the_document(folder: Path, planner: Callable[..., Ran]) -> None:
    text, page = explored(planner, folder)
    from planner.render.page import document as documented

    words = set(re.findall(r'"([a-z_]+)"', documented.__doc__ or ""))
    assert set(page) | set(page["views"][0]) | set(page["views"][0]["nodes"]) | set(page["views"][0]["edges"]) <= words
    assert [view["name"] for view in page["views"]] == ["apply", "plan"]
    assert [change[:2] for change in page["changes"]][:2] == [
        ["module.m.terraform_data.b[0]", "create"], ["module.m.terraform_data.b[1]", "create"],
    ]  # fmt: skip
    plan = page["views"][1]
    names = [page["strings"][n] for n in plan["nodes"]["name"]]
    assert names == sorted(names) and "module.m.terraform_data.b (expand)" in names
    pairs = list(zip(plan["edges"]["from"], plan["edges"]["to"], plan["edges"]["layers"], strict=True))
    kinds = {(names[a], names[b]): bits for a, b, bits in pairs}
    layers = [name for name, _ in page["layers"]]
    asked = kinds["terraform_data.z (expand)", "terraform_data.a (expand)"]
    assert asked & 1 << layers.index("order") and not asked & 1 << layers.index("reference")
    assert kinds["module.m.var.given (expand, reference)", "module.m.var.given (expand, input)"] & 1
    assert [word for word, _ in page["about"]] == ["Directory", "Workspace", "Plan", "Planned", "Policies"]
    assert page["about"][-1][1] == "none"
    assert without_time(explored(planner, folder)[0]) == without_time(text)


def test_nothing_hostile_and_nothing_secret(folder: Path, planner: Callable[..., Ran]) -> None:
    text, page = explored(planner, folder)
    assert "hunter2" not in text
    assert [address for address, *_ in page["changes"] if "</script><script>throw 1" in address]
    assert text.count("<script") == 2 and "\u2028" not in text
    assert (
        not re.search(r"<(script|link|img)[^>]*(src|href)=", text) and "http://" not in text and "https://" not in text
    )


def test_a_plan_file_and_its_policies(folder: Path, planner: Callable[..., Ran]) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "a.dl").write_text('deny("two", A, "is new") :- acts(A, "create"), ends_with(A, "b[1]").\n')
    page = explored(planner, folder, "-policy=p")[1]
    assert page["verdicts"] == [["deny", "two", "module.m.terraform_data.b[1]", "is new"]]
    assert planner("plan", "-out=x.plan").code == 0
    page = explored(planner, folder, "-plan=x.plan", "-type=apply")[1]
    assert [view["name"] for view in page["views"]] == ["apply"] and page["verdicts"] == []


def test_what_cannot_be(folder: Path, planner: Callable[..., Ran]) -> None:
    assert "Option -out is required" in planner("explore").err
    assert "Cannot write the file" in planner("explore", "-out=nowhere/x.html").err
    assert "Unknown graph type x" in planner("explore", "-out=x.html", "-type=x").err
    (folder / "main.tf").write_text("resource {}")
    assert planner("explore", "-out=x.html").code == 1 and not (folder / "x.html").exists()


@pytest.mark.slow
@needs_browser
def test_search_and_proof(folder: Path, planner: Callable[..., Ran]) -> None:
    explored(planner, folder)
    with opened(folder / "page.html") as tab:
        tab.get_by_label("Graph", exact=True).select_option("Configuration")
        tab.get_by_label("Search").fill("given")
        assert tab.get_by_role("status").inner_text() == "1 hit."
        tab.get_by_label("Search").fill("input module.M  given")  # all words
        assert tab.get_by_role("status").inner_text() == "1 hit."
        tab.get_by_role("button", name="module.m.var.given").first.click()
        details = tab.get_by_role("complementary", name="Details")
        assert details.get_by_role("heading").first.inner_text() == "module.m.var.given"
        details.get_by_role("button", name="why it waits for terraform_data.a").click()
        said = details.inner_text()
        assert "by-reference" not in said and "given  = terraform_data.a.id" in said and "main.tf:9" in said
        details.get_by_role("button", name="terraform_data.a").click()
        details.get_by_role("button", name="What depends on it").click()
        assert "terraform_data.z" in details.inner_text() and "(expand" not in details.inner_text()


@pytest.mark.slow
@needs_browser
def test_by_keyboard_alone(folder: Path, planner: Callable[..., Ran]) -> None:
    explored(planner, folder)
    with opened(folder / "page.html") as tab:
        tab.keyboard.press("/")
        tab.keyboard.type("data.z")
        tab.keyboard.press("Enter")
        status = tab.get_by_role("status")
        assert re.match(r"terraform_data\.z\[.*\], object, create; waits for", status.inner_text())
        tab.keyboard.press("Escape")
        assert tab.evaluate("document.activeElement.id") == "graph"
        tab.keyboard.press("ArrowLeft")
        assert not status.inner_text().startswith("terraform_data.z[")
        tab.keyboard.press("Enter")
        assert tab.evaluate("document.activeElement.id") == "details"
        for key in ("+", "-", "0", "Escape"):
            tab.keyboard.press(key)
        assert status.inner_text() == "Nothing is marked."


def test_no_secret_of_a_change(folder: Path, planner: Callable[..., Ran]) -> None:
    assert planner("apply", "-auto-approve").code == 0
    main = (folder / "main.tf").read_text("utf-8")
    (folder / "main.tf").write_text(main.replace("hunter2", "hunter3"), "utf-8")
    text, page = explored(planner, folder)
    assert ["terraform_data.a", "update"] in [change[:2] for change in page["changes"]]
    assert any("var.secret" in group for change in page["changes"] for group in change[3])
    assert "hunter" not in text


def test_an_order_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".planner" / "rules").mkdir(parents=True)
    rule = (
        '@name("mine.first") @reason("{A} is older") order_before(A, "terraform_data.b") :- A = "terraform_data.a".\n'
    )
    (tmp_path / ".planner" / "rules" / "mine.dl").write_text(rule)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" {}\nresource "terraform_data" "b" {}\n')
    page = explored(planner, tmp_path)[1]
    reasons = {page["strings"][rule]: page["strings"][reason] for rule, reason, _ in page["grounds"]}
    assert "is older" in reasons["mine.first"] and "graph/references.by-reference" not in reasons


def test_signs_and_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    main = """
resource "terraform_data" "first" {
  triggers_replace = %s
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "second" { triggers_replace = %s }
output "out" { value = %s }
"""
    (tmp_path / "main.tf").write_text(main % (1, 1, 1))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(main % (2, 2, 2))
    page = explored(planner, tmp_path)[1]
    assert sorted(page["actions"]) == [
        ["create-then-delete", "replace", "+/-", "replace (create before destroy)"],
        ["delete-then-create", "replace", "-/+", "replace"],
        ["update", "update", "~", "update in-place"],
    ]
    number = [change[0] for change in page["changes"]].index("output.out")
    assert page["changes"][number][1] == "update" and page["texts"][str(number)] == "~ out = 1 -> 2"
    for view in page["views"]:
        assert [number] in view["nodes"]["changes"].values()


def test_nothing_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text("")
    assert [view["name"] for view in explored(planner, tmp_path)[1]["views"]] == ["plan"]
    assert [view["name"] for view in explored(planner, tmp_path, "-type=apply")[1]["views"]] == ["apply"]
    assert [view["name"] for view in explored(planner, tmp_path, "-destroy")[1]["views"]] == ["plan"]


def test_causes_have_their_values_and_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    main = """
variable "image" {}
variable "keys" {}
locals { tag = "v-${var.image}" }
resource "terraform_data" "a" {
  for_each = toset(var.keys)
  input    = local.tag
}
"""
    (tmp_path / "main.tf").write_text(main)
    (tmp_path / "terraform.tfvars").write_text('image = "1"\nkeys = ["x", "y"]\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "terraform.tfvars").write_text('image = "2"\nkeys = ["x", "z"]\n')
    page = explored(planner, tmp_path)[1]
    parts = {part[0]: part[1:] for _, parts, *_ in page["causes"] for part in parts}
    assert parts["var.image"] == ['"1"', '"2"', "terraform.tfvars:1", 'image = "2"', ""]
    assert parts["var.keys[1]"] == ['"y"', '"z"', "terraform.tfvars:2", 'keys = ["x", "z"]', ""]
    (tmp_path / "terraform.tfvars").write_text('image = "1"\nkeys = ["y", "z"]\n')
    (_, ((*part,),), *_) = explored(planner, tmp_path)[1]["causes"][0]
    line = 'keys = ["y", "z"]'  # no element has the index that it had
    assert part == ["var.keys", "", "", "terraform.tfvars:2", line, 'added "z"; removed "x"']
    (tmp_path / "terraform.tfvars").write_text('image = "1"\nkeys = [\n  "x",\n]\n')
    (_, ((_, _, _, where, line, _),), *_) = explored(planner, tmp_path)[1]["causes"][0]
    assert (where, line) == ("terraform.tfvars:2", "")  # the line only opens the list
    (tmp_path / "terraform.tfvars").write_text('image = "2"\nkeys = ["x", "z"]\n')
    groups = [group for group, *_ in page["causes"]]
    assert {group for change in page["changes"] for group in change[3]} == set(groups)
    printed = re.findall(r"^ *\[(\d+)\] (var\.[\w\[\]]+:?)", planner("plan", "-causes", "-no-color").out, re.MULTILINE)
    assert len(printed) == 2 and printed == [(str(number), group.split()[0]) for group, _, number, *_ in page["causes"]]
    for view in page["views"]:
        names = [page["strings"][n] for n in view["nodes"]["name"]]
        causes = {names[int(n)]: [groups[c] for c in numbers] for n, numbers in view["nodes"]["causes"].items()}
        assert "var.image" in causes and all("var.image" in group for group in causes["var.image"])
        assert "local.tag (expand)" in names and "local.tag (expand)" not in causes


def test_a_cause_that_forces_no_replacement_only_updates_the_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'variable "suffix" { default = "a" }\nvariable "owner" { default = "ann" }\n'
        'resource "terraform_data" "db" {\n  triggers_replace = var.suffix\n  input            = var.owner\n}\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "terraform.tfvars").write_text('suffix = "b"\nowner = "bob"\n')
    page = explored(planner, tmp_path)[1]
    assert [change[0] for change in page["changes"]] == ["terraform_data.db"]
    assert {group.split()[0]: updates for group, _, _, updates, _ in page["causes"]} == {
        "var.suffix": [],
        "var.owner": [0],
    }


def test_a_page_has_declarations_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    main = """
variable "plain" {
  default = "seen"
}
variable "pin" {
  default   = 123456
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.plain
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "b" {
  connection {
    password = "xyz"
  }
}
locals {
  all = {
    a = 1
  }
}
output "one" { value = local.all }
"""
    (tmp_path / "main.tf").write_text(main)
    text, page = explored(planner, tmp_path)
    lines = main.splitlines()
    assert page["blocks"] == {
        "main.tf:2": "\n".join(lines[1:4]),
        "main.tf:9": "\n".join(lines[8:14]),
        "main.tf:21": "all = {\n  a = 1\n}",
    }
    assert "123456" not in text and "xyz" not in text


READERS = """kind => {
  const graph = new Graph(data.views.find(view => view.name === kind));
  const read = node => [...graph.readersOf([node, ...graph.halves(node)])].map(other => graph.name(other)).sort();
  return Object.fromEntries(Array.from({ length: graph.count }, (_, node) => [graph.name(node), read(node)]));
}"""


@needs_browser
def test_the_readers_of_a_value_are_complete_where_implied_edges_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    (tmp_path / "m").mkdir()
    ordered = 'resource "terraform_data" "c" { depends_on = [terraform_data.b] }\n'
    (tmp_path / "m" / "main.tf").write_text(INNER + ordered)
    (tmp_path / "main.tf").write_text(ORDERED)
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    found, kinds = [], ("plan", "apply")
    for most in (10_000, 1):
        monkeypatch.setattr("planner.operations.graph.MAX_EDGES", most)
        assert planner("explore", "-out=page.html").code == 0
        with opened(tmp_path / "page.html") as tab:
            assert tab.evaluate("data.views.map(view => view.is_reduced)") == [most == 1] * 2
            assert not tab.evaluate("data.views.every(view => view.edges.reads[0].length)") or most == 1
            found.append([tab.evaluate(READERS, kind) for kind in kinds])
    assert "terraform_data.late" in found[0][1]["var.size"]
    assert found[0] == found[1]


@needs_browser
def test_reasons_and_counts_do_not_depend_on_what_was_shown_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(INNER)
    (tmp_path / "main.tf").write_text(ORDERED + 'resource "terraform_data" "whole" { input = module.m }\n')
    monkeypatch.chdir(tmp_path)
    assert planner("init").code == 0
    assert planner("explore", "-out=page.html").code == 0
    with opened(tmp_path / "page.html") as tab:
        panel = tab.get_by_role("complementary", name="Details")
        read = """name => {
          choose(scene.find(name));
          for (const one of document.querySelectorAll('#details details')) one.open = true;
        }"""
        tab.evaluate(read, "terraform_data.late")
        tab.get_by_text("terraform_data.late refers to terraform_data.second in depends_on.").wait_for()
        tab.evaluate(read, "terraform_data.whole")
        tab.get_by_text("module.m (its outputs)").wait_for()
        counts = panel.locator("h3", has_text="It waits for").inner_text()
        assert f"waits for {counts.split('(')[1].rstrip(')')}," in tab.evaluate(
            "spoken(scene.find('terraform_data.whole'))"
        )
        panel.get_by_role("button", name="why it waits for module.m", exact=True).click()
        tab.go_back()
        assert panel.locator("h3", has_text="It waits for").inner_text() == counts


@needs_browser
def test_what_used_a_destroyed_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
resource "terraform_data" "net" {
  for_each = toset([%s])
}
resource "terraform_data" "uses" { input = [for one in terraform_data.net : one.id] }
"""
    (tmp_path / "main.tf").write_text(text % '"a", "b"' + 'resource "terraform_data" "old" {}\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(text % '"b"')
    assert planner("explore", "-out=page.html").code == 0
    with opened(tmp_path / "page.html") as tab:
        panel = tab.get_by_role("complementary", name="Details")
        tab.evaluate("name => showBlast(scene.find(name))", 'terraform_data.net["a"] (destroy)')
        said = panel.inner_text()
        assert "After this plan nothing reads it." in said and "1 object that changes." in said
        panel.get_by_role("button", name="terraform_data.uses").wait_for()
        assert tab.evaluate("drawing.marked.nodes.has(scene.find('terraform_data.uses'))")
        tab.evaluate("name => showBlast(scene.find(name))", "terraform_data.old (destroy)")
        assert "nothing in the configuration refers to it" in panel.inner_text()


@needs_browser
def test_links_name_objects_and_long_differences_are_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text(INNER)
    (tmp_path / "main.tf").write_text(
        ORDERED + 'resource "terraform_data" "long" { input = [for one in range(200) : "x${one}"] }\n'
    )
    assert planner("init").code == 0
    assert planner("explore", "-out=page.html").code == 0
    with opened(tmp_path / "page.html") as tab:
        panel = tab.get_by_role("complementary", name="Details")
        tab.evaluate("location.hash = '#node=module.m.output.out'")
        panel.get_by_role("heading", name="module.m.output.out").wait_for()
        assert "a value" in tab.locator("#legend").inner_text()
        tab.evaluate("choose(scene.find('terraform_data.long'))")
        panel.get_by_text("more lines").click()
        panel.get_by_text('"x199"').wait_for()
        assert panel.get_by_text('"x199"').is_visible()


@needs_browser
def test_objects_have_the_numbers_of_causes_in_their_own_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    site = 'resource "terraform_data" "site" {{\n  for_each = toset([{}])\n  input    = each.key\n}}\n'
    for keys, words in (
        ('"shop", "blog"', ("apply", "-auto-approve")),
        ('"shop", "docs"', ("explore", "-out=page.html")),
    ):
        (tmp_path / "main.tf").write_text(site.format(keys))
        assert planner(*words).code == 0
    with opened(tmp_path / "page.html") as tab:
        numbers = "name => causeNumbers(scene.causesShown(scene.find(name)))"
        assert tab.evaluate(numbers, 'terraform_data.site["blog"] (destroy)') == "1"
        assert tab.evaluate(numbers, 'terraform_data.site["docs"]') == "1"


REPLACED = """
variable "image" { type = string }
resource "terraform_data" "db" { triggers_replace = [var.image] }
resource "terraform_data" "app" {
  input            = terraform_data.db.id
  triggers_replace = [var.image]
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "still" {
  for_each = toset(["a"])
  input    = "same"
}
"""


@needs_browser
def test_why_a_new_object_is_created_first_and_where_unchanged_objects_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(REPLACED)
    assert planner("apply", "-auto-approve", "-var=image=1").code == 0
    assert planner("explore", "-var=image=2", "-out=page.html").code == 0
    with opened(tmp_path / "page.html") as tab:
        panel = tab.get_by_role("complementary", name="Details")
        reason = "the new object is created first, because terraform_data.app sets create_before_destroy (main.tf:8)"
        tab.evaluate("choose(scene.find('terraform_data.db'))")
        assert reason in panel.inner_text()
        tab.evaluate("choose(scene.find('terraform_data.app'))")
        assert "created first, because" not in panel.inner_text()
        tab.get_by_label("Search").fill('still["a"]')
        tab.get_by_role("button", name='terraform_data.still["a"]').click()
        assert tab.evaluate("scene.view.name") == "plan"


def test_modules_around_a_cause_are_not_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'module "service" {\n  source   = "./service"\n  for_each = toset(["a", "b"])\n  name     = each.key\n}\n'
    )
    (tmp_path / "service").mkdir()
    inner = tmp_path / "service" / "main.tf"
    text = (
        'variable "name" {}\nlocals {\n  limit = 1\n}\n'
        'resource "terraform_data" "alarm" {\n  input = "${var.name} ${local.limit}"\n}\n'
        'resource "terraform_data" "other" {\n  input = var.name\n  triggers_replace = local.limit\n}\n'
    )
    inner.write_text(text)
    assert planner("init").code == 0
    assert planner("apply", "-auto-approve").code == 0
    inner.write_text(text.replace("limit = 1", "limit = 2"))
    page = explored(planner, tmp_path)[1]
    for view in page["views"]:
        names = {page["strings"][view["nodes"]["name"][int(node)]] for node in view["nodes"]["causes"]}
        assert names == {"module.service.local.limit (expand)"}


def test_reasons_of_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        'variable "limit" { default = 1 }\nvariable "major" { default = "1" }\n'
        'resource "terraform_data" "defaults" {\n  input = { registry = "r", limit = var.limit }\n}\n'
        'resource "terraform_data" "template" {\n  input = terraform_data.defaults.output.registry\n}\n'
        'resource "terraform_data" "both" {\n  input = [terraform_data.defaults.output.registry, var.limit]\n}\n'
        'resource "terraform_data" "cluster" {\n  triggers_replace = var.major\n}\n'
        'resource "terraform_data" "backup" {\n  input = terraform_data.cluster.id\n}\n'
        'resource "terraform_data" "node" {\n  lifecycle {\n'
        "    replace_triggered_by = [terraform_data.cluster]\n  }\n}\n"
    )
    (tmp_path / "main.tf").write_text(text + 'resource "terraform_data" "gone" {\n}\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(text + 'resource "terraform_data" "new" {\n}\n')
    page = explored(planner, tmp_path, "-var=limit=2", "-var=major=2")[1]
    reasons = {name.removeprefix("terraform_data."): reason for name, _, reason, *_ in page["changes"]}
    known_later = "all values that may differ are known only after the apply, so it may turn out to be unchanged"
    assert reasons == {
        "backup": "",  # the id is a new one
        "both": "",
        "cluster": "cannot be updated in place",
        "defaults": "",
        "gone": "no longer declared",
        "new": "declared, and does not exist yet (main.tf:23)",
        "node": "replace_triggered_by names an object or a value that changes (main.tf:20)",
        "template": known_later,
    }


def test_objects_that_look_renamed_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    block = 'resource "terraform_data" "{}" {{\n  input = "unique"\n}}\n'
    (tmp_path / "main.tf").write_text(block.format("old"))
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(block.format("new"))
    advice = "terraform_data.old looks renamed to terraform_data.new. To see what a moved block keeps: planner suggest"
    page = explored(planner, tmp_path)[1]
    assert page["advice"] == advice
    remarks = {page["changes"][int(n)][0]: text for n, text in page["renamed"].items()}
    assert remarks == {
        "terraform_data.old": "looks renamed to terraform_data.new",
        "terraform_data.new": "looks renamed from terraform_data.old",
    }


TEAMS = """
locals {
  teams = yamldecode(file("teams.yaml"))
}
module "team" {
  source   = "./team"
  for_each = local.teams
  size     = each.value.size
}
resource "terraform_data" "all" { input = keys(local.teams) }
"""


@pytest.mark.slow
@needs_browser
def test_a_file_that_is_a_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> None:
    """The value that reads the file has the number of the cause, and a path from the value to an effect is the chain of
    the cause, though the effect does not wait for the value. Enter in the search leads to the first of alike hits."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team").mkdir()
    (tmp_path / "team/main.tf").write_text(
        'variable "size" {}\nresource "terraform_data" "disk" { input = var.size }\n'
    )
    (tmp_path / "main.tf").write_text(TEAMS)
    (tmp_path / "teams.yaml").write_text("".join(f"{name}: {{size: 1}}\n" for name in "abcdef"))
    assert planner("init").code == planner("apply", "-auto-approve").code == 0
    (tmp_path / "teams.yaml").write_text("".join(f"{name}: {{size: 2}}\n" for name in "abcde"))
    page = explored(planner, tmp_path)[1]
    edits = [f"{name}.size in teams.yaml 1 -> 2 (teams.yaml:{n})" for n, name in enumerate("abcde", 1)]
    removed = "f in teams.yaml removed, was { size = 1 } (teams.yaml:1, was line 6)"
    assert [group for group, *_ in page["causes"]] == [removed, *edits]
    for view in page["views"]:
        nodes = {page["strings"][view["nodes"]["about"][int(n)]] for n in view["nodes"]["causes"]}
        assert nodes == {"local.teams"}
    with opened(tmp_path / "page.html") as tab:
        tab.get_by_label("Search").fill("disk")
        tab.get_by_label("Search").press("Enter")
        details = tab.get_by_role("complementary", name="Details")
        tab.wait_for_function("""document.querySelector("#details h2")?.innerText.includes('["f"]')""")
        tab.get_by_role("button", name="Path to another").click()
        tab.get_by_label("Search").fill("local.teams")
        tab.get_by_label("Search").press("Enter")
        shown = details.inner_text()
        assert "But local.teams is a cause of the change of" in shown or "How local.teams changes" in shown
        assert "f in teams.yaml" in shown


def test_the_cause_of_an_instance_is_its_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" { count = 2 }\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text('resource "terraform_data" "a" { count = 1 }\n')
    page = explored(planner, tmp_path)[1]
    assert [group for group, *_ in page["causes"]] == ["terraform_data.a.count 2 -> 1 (main.tf:1)"]
    nodes = next(view for view in page["views"] if view["name"] == "apply")["nodes"]
    assert [page["strings"][nodes["name"][int(n)]] for n in nodes["causes"]] == ["terraform_data.a[1] (destroy)"]


EDITED = """
variable "token" {
  sensitive = true
}

resource "terraform_data" "edited" {
  for_each = toset(["a", "b"])
  input    = { size = SIZE }
}

resource "terraform_data" "reader" {
  for_each = terraform_data.edited
  input    = each.value.output.size
}

resource "terraform_data" "secret" {
  input = var.token
}
"""


@needs_browser
def test_an_edit_of_several_instances_and_the_place_of_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(EDITED.replace("SIZE", "1"))
    (tmp_path / "terraform.tfvars").write_text('token = "hunter2-old"\n')
    assert planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(EDITED.replace("SIZE", "2"))
    (tmp_path / "terraform.tfvars").write_text('token = "hunter2-new"\n')
    page = explored(planner, tmp_path)[1]
    places = {part[0]: part[3:5] for cause in page["causes"] for part in cause[1]}
    assert places["var.token"] == ["terraform.tfvars:1", ""]
    with opened(tmp_path / "page.html") as tab:
        tab.evaluate("""showBlast(scene.find('terraform_data.edited["a"]'))""")
        listed = tab.locator("#details .byaction li").all_inner_texts()
        assert [text for text in listed if "edited" in text] == []
        assert any('reader["a"]' in text for text in listed)


SHOWS = """
locals {
  days   = ["mon", "tue", "wed"]
  halls  = yamldecode(file("halls.yaml"))
  letter = "a"
  word   = "old"
}
resource "terraform_data" "show" {
  count = length(local.days)
  input = local.days[count.index]
}
resource "terraform_data" "hall" {
  for_each = local.halls
  input    = "${each.key} is ${each.value}"
}
output "length" { value = length(local.letter) }
output "words" { value = length(local.word) }
"""


def test_shifted_indexes_renames_and_edits_without_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    monkeypatch.chdir(tmp_path)
    main = tmp_path / "main.tf"
    main.write_text(SHOWS)
    (tmp_path / "halls.yaml").write_text("loft: red\ncellar: blue\n")
    assert planner("apply", "-auto-approve").code == 0
    main.write_text(
        SHOWS.replace('"mon", ', "").replace('"a"', 'lower("A")').replace('"old"', '"new"')
        + 'resource "terraform_data" "word" { input = local.word }\n'  # a value of a created object
    )
    (tmp_path / "halls.yaml").write_text("hayloft: red\ncellar: blue\n")
    page = explored(planner, tmp_path)[1]
    names = [change[0] for change in page["changes"]]
    shifted = {names[int(n)]: text for n, text in page["shifted"].items()}
    last = "terraform_data.show[2] is destroyed because it has the last index"
    assert shifted == {
        "terraform_data.show[0]": f"Indexes have shifted: its values are removed, and {last}.",
        "terraform_data.show[1]": "Indexes have shifted: its values move to terraform_data.show[0].",
        "terraform_data.show[2]": "Indexes have shifted: its values move to terraform_data.show[1].",
    }
    assert page["idle"] == [["local.letter", "main.tf:5"]]
    causes = [group.partition(" in ")[0] for group, *_ in page["causes"]]
    pairs = {causes[int(n)]: (causes[other], number) for n, (other, number) in page["counterparts"].items()}
    assert pairs == {"loft": ("hayloft", 1), "hayloft": ("loft", 1)}
    hops = {cause: own for cause, (*_, own) in zip(causes, page["causes"], strict=True)}
    assert any("terraform_data.hall" in hop for hop in hops["loft"]) and hops["loft"][0].startswith("-> ")
    assert "Edits that are not a cause of any change: local.letter (main.tf:5)." in planner("plan", "-causes").out


def test_data_that_is_lost_and_moved_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]
) -> None:
    """Destroyed objects that hold data are marked, types about which nothing is known are named, and a moved block has
    its objects."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "kept" {}\nresource "terraform_data" "old" {}\nresource "terraform_data" "gone" {}\n'
    )
    assert planner("init").code == planner("apply", "-auto-approve").code == 0
    (tmp_path / "main.tf").write_text(
        'resource "terraform_data" "kept" {}\nmoved {\n  from = terraform_data.old\n  to = terraform_data.new\n}\n'
        'resource "terraform_data" "new" {}\n'
    )
    page = explored(planner, tmp_path)[1]
    assert (page["holds_data"], page["unknown_data"]) == ({}, [])
    [(where, [moved])] = page["moved_blocks"]
    assert (where, page["changes"][moved][0]) == ("main.tf:2", "terraform_data.new")
    (tmp_path / ".planner").mkdir(exist_ok=True)
    (tmp_path / ".planner" / "policy.toml").write_text(
        '[packs."planner.changes"]\npolicies = []\n'
        '[packs."planner.changes".parameters]\nstateful_type = ["terraform_data"]\n'
    )
    page = explored(planner, tmp_path)[1]
    assert {page["changes"][int(n)][0]: text for n, text in page["holds_data"].items()} == {
        "terraform_data.gone": "It holds data: protect_stateful.stateful_type contains terraform_data."
    }
