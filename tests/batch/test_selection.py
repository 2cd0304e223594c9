"""Which units a command is about, and why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from batch.fleets import BACKEND, batch, chain, unit, write

FILE = """
unit "net" { tags = ["core"] }
unit "db" { tags = ["core", "data"] }
unit "app" {}
unit "web" {}
group "front" { units = ["app", "web"] }
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, {
        "planner.batch.hcl": FILE,
        "net/main.tf": unit(),
        "db/main.tf": unit({"up": "net"}),
        "app/main.tf": unit({"up": "db"}, more='module "m" {\n  source = "../modules/m"\n}\n'),
        "web/main.tf": unit({"up": "app"}),
        "modules/m/main.tf": "locals {\n  x = 1\n}\n",
    })  # fmt: skip
    return tmp_path


def chosen(root: Path, *words: str) -> dict[str, set[str]]:
    nodes = batch(root, "graph", "-json", *words).json["nodes"]
    return {node["unit"]: {by["way"] for by in node["selected_by"]} for node in nodes}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"net": "all", "db": "all", "app": "all", "web": "all"}),
        (["app"], {"app": "named"}),
        (["*b"], {"db": "named", "web": "named"}),
        (["deps(app)"], {"app": "named", "db": "dependency", "net": "dependency"}),
        (["rdeps(db)"], {"db": "named", "app": "dependent", "web": "dependent"}),
        (["net", "web"], {"net": "named", "web": "named"}),
        (["deps(db,web)", "-exclude=net"], {"db": "named", "web": "named", "app": "dependency"}),
        (["tag:core"], {"net": "named", "db": "named"}),
        (["rdeps(tag:data)"], {"db": "named", "app": "dependent", "web": "dependent"}),
        (["group:front"], {"app": "named", "web": "named"}),
        (["-tag=data"], {"db": "all"}),
        (["-tag=data", "-tag=core", "-exclude=d*"], {"net": "all"}),
        (["-group=front", "deps(web)"], {"web": "named", "app": "dependency"}),
        (["./app"], {"app": "named"}),
        (["deps(web, 1)"], {"web": "named", "app": "dependency"}),
        (["rdeps(net, 2)"], {"net": "named", "db": "dependent", "app": "dependent"}),
        (["deps(web, 0)"], {"web": "named"}),
        (["deps(web) - deps(db)"], {"web": "named", "app": "named"}),
        (["deps(web) & tag:core"], {"db": "named", "net": "named"}),
        (["(net + web) & rdeps(db - net)"], {"web": "named"}),
        (["net + (rdeps(db) - (app + db))"], {"net": "named", "web": "named"}),
        (["tag:core - tag:data + web"], {"net": "named", "web": "named"}),
        (["rdeps(deps(db) - net)"], {"db": "named", "app": "dependent", "web": "dependent"}),
        (["reading:modules/*"], {"app": "named"}),
        (["deps(reading:modules/m/main.tf, 1)"], {"app": "named", "db": "dependency"}),
        (["-exclude=deps(db)"], {"app": "all", "web": "all"}),
        (["-exclude=tag:core - net"], {"app": "all", "web": "all", "net": "all"}),
        (["deps(app)", "-exclude=tag:data"], {"app": "named", "net": "dependency"}),
        (["."], {"net": "named", "db": "named", "app": "named", "web": "named"}),
    ],
)
def test_selectors(fleet: Path, words: list[str], expected: dict[str, str]) -> None:
    assert chosen(fleet, *words) == {name: {way} for name, way in expected.items()}


def test_a_word_that_names_nothing(fleet: Path) -> None:
    ran = batch(fleet, "plan", "dbb")
    assert ran.code == 1 and 'No unit matches dbb. Did you mean "db"?' in ran.errors


WRONG = {
    "tagg:core": 'Did you mean "tag"?',
    "reading:modules/m/main.ft": 'No unit reads a file modules/m/main.ft. Did you mean "modules/m/main.tf"?',
    "outcome:fail": "fail is not an outcome",
    "deps(app": "must be closed here",
    "dep(app)": 'There is no verb dep. Did you mean "deps"?',
    "app + ": "A name, a verb or a parenthesis is expected",
    "deps()": "deps takes one set of units",
    "app db": "An operator (+, - or &)",
    "(" * 200 + "app" + ")" * 200: "nested more than 100 levels",
}


@pytest.mark.parametrize("word", WRONG)
@pytest.mark.parametrize("option", ["", "-exclude="])
def test_words_that_are_no_sets(fleet: Path, word: str, option: str) -> None:
    ran = batch(fleet, "graph", f"{option}{word}")
    assert ran.code == 1 and WRONG[word] in " ".join(ran.errors.split())


def test_how_units_ended_and_what_is_left_behind(fleet: Path) -> None:
    assert batch(fleet, "apply", "-auto-approve").code == 0
    write(fleet, {"db/main.tf": unit({"up": "net"}, '"y"'), "web/main.tf": unit({"up": "app"}, "nonsense.x.y")})
    batch(fleet, "plan")
    assert set(chosen(fleet, "outcome:failed")) == {"web"}
    assert set(chosen(fleet, "outcome:changes + outcome:unchanged")) == {"db", "net", "app"}
    ran = batch(fleet, "plan", "app")
    assert "app waits for db, which is excluded from this run and whose last outcome was changes" in " ".join(
        ran.out.split()
    )
    assert "A dependency is excluded" not in batch(fleet, "plan", "app", "db").out
    assert "A dependency is excluded" in batch(fleet, "plan", "-exclude=db").out
    assert batch(fleet, "apply", "-auto-approve", "db").code == 0
    assert "A dependency is excluded" not in batch(fleet, "plan", "app").out


def test_changed_since_a_revision(fleet: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", str(fleet)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], check=True)
    assert chosen(fleet, "-changed=HEAD") == {}
    write(fleet, {"modules/m/main.tf": "locals {\n  x = 2\n}\n", "README.md": "x"})
    assert chosen(fleet, "-changed=HEAD") == {"app": {"all"}}
    assert chosen(fleet, "rdeps(changed:HEAD)") == {"app": {"named"}, "web": {"dependent"}}
    write(fleet, {"net/new.auto.tfvars": ""})
    write(fleet, {"db/new.tf": ""})
    assert set(chosen(fleet, "changed:HEAD")) == {"app", "db"}
    proof = batch(fleet, "why", "-select=rdeps(changed:HEAD)", "web")
    assert "modules/m/main.tf, which app reads, changed" in proof.out
    assert "git rev-parse" not in batch(fleet, "graph", "-changed=nonsense").out
    ran = batch(fleet, "graph", "-changed=nonsense")
    assert ran.code == 1 and "git diff failed" in ran.errors
    assert batch(fleet, "graph", "-changed=--output=x").code == 1 and not (fleet / "x").exists()


def test_without_a_file_root_modules_are_found(tmp_path: Path) -> None:
    write(tmp_path, {
        "one/main.tf": BACKEND,
        "deep/two/main.tf": "terraform {\n  required_providers {\n  }\n}\n",
        "three/main.tf": 'terraform {\n  required_version = ">= 1.0"\n}\n',
        "json/main.tf.json": '{"terraform": {"backend": {"local": {}}}}',
        "marked/main.tf": "",
        "marked/.planner-unit": "",
        "module/main.tf": '# terraform { backend "local" {} }\nlocals {\n  x = "terraform { backend }"\n}\n',
        "empty/readme.md": "terraform { backend }",
        ".hidden/main.tf": BACKEND,
        "one/.terraform/modules/x/main.tf": BACKEND,
    })  # fmt: skip
    assert set(chosen(tmp_path)) == {"one", "deep/two", "three", "json", "marked"}
    assert set(chosen(tmp_path, "deep")) == {"deep/two"}
    assert set(chosen(tmp_path, "d*", "one")) == {"deep/two", "one"}
    assert set(chosen(tmp_path, ".", "t*")) == {"three", "one", "deep/two", "json", "marked"}
    assert set(chosen(tmp_path, "one", "-exclude=one")) == set()


def test_rules_of_users_order_units(fleet: Path) -> None:
    write(fleet, {".planner/batch-rules/order.dl": 'order_before("web", "net").\n', "web/main.tf": unit()})
    graph = batch(fleet, "graph", "-json").json
    assert ["net", "web"] in graph["edges"]
    assert "one of your rules orders web before net" in batch(fleet, "why", "net", "web").out
    assert batch(fleet, "why", "-not", "web", "net").code == 0
    assert "can run before" in batch(fleet, "why", "web", "net").errors
    dot = batch(fleet, "graph").out
    assert '\t"net" -> "web"' in dot.splitlines()


def test_an_unreadable_rule_is_said(fleet: Path) -> None:
    write(fleet, {".planner/batch-rules/order.dl": "order_before(X).\n"})
    ran = batch(fleet, "graph")
    assert ran.code == 1 and "order.dl" in ran.errors


@pytest.mark.parametrize("words", [["-tag=cor"], ["tag:cor"], ["-group=cor"], ["deps(group:cor)"]])
def test_tags_and_groups_that_nobody_has(tmp_path: Path, words: list[str]) -> None:
    chain(tmp_path, "a")
    file = 'unit "a" {\n  tags = ["core"]\n}\ngroup "core" {\n  units = ["a"]\n}\n'
    write(tmp_path, {"planner.batch.hcl": file})
    ran = batch(tmp_path, "plan", *words)
    assert ran.code == 1 and 'cor. Did you mean "core"?' in " ".join(ran.errors.split())


def test_nothing_is_selected(tmp_path: Path) -> None:
    chain(tmp_path, "a")
    ran = batch(tmp_path, "plan", "-exclude=a")
    assert (ran.code, ran.out) == (0, "No unit is selected: nothing to do.\n")


def test_the_options_that_leave_a_unit_in_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a/main.tf": unit(), "planner.batch.hcl": 'unit "a" {}\ngroup "g" {\n  units = ["a"]\n}\n'})
    said = batch(tmp_path, "why", "-group=g", "a").out
    assert "a belongs to the selected group g" in said and "command line -group=g" in said
