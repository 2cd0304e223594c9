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
        (["."], {"net": "named", "db": "named", "app": "named", "web": "named"}),
    ],
)
def test_selectors(fleet: Path, words: list[str], expected: dict[str, str]) -> None:
    assert chosen(fleet, *words) == {name: {way} for name, way in expected.items()}


def test_a_word_that_names_nothing(fleet: Path) -> None:
    ran = batch(fleet, "plan", "dbb")
    assert ran.code == 1 and 'No unit is called dbb. Did you mean "db"?' in ran.errors


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
    assert ran.code == 1 and "git diff says" in ran.errors
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
    assert "a rule of yours says that web comes before net" in batch(fleet, "why", "net", "web").out
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
