"""Values that come from deprecated outputs are told where they decide about instances, and only where they are used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

MODULE = "".join(
    f'output "{name}" {{\n  value      = {value}\n  deprecated = "use another"\n}}\n'
    for name, value in {"n": "1", "b": "true", "f": "false", "s": 'toset(["k"])'}.items()
)
DATA = 'resource "terraform_data" "r" {\n  BODY\n}\n'
CALL = 'module "m" {\n  source = "./empty"\n  BODY\n}\n'


@pytest.fixture
def planner_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Ran]) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)
    for folder, text in (("old", MODULE), ("empty", "")):
        Path(folder).mkdir()
        Path(folder, "main.tf").write_text(text)
    return planner


def places(planner: Callable[..., Ran], body: str, *words: str) -> list[str]:
    """The code that each warning about a deprecated value points at."""
    Path("main.tf").write_text(f'module "old" {{\n  source = "./old"\n}}\n{body}')
    assert planner("init").code == 0
    text = Path("main.tf").read_text()
    done = planner(*words, "-json")
    assert done.code == 0, done.out
    found = [json.loads(line).get("diagnostic") for line in done.out.splitlines()]
    ranges = [d["range"] for d in found if d and d["summary"] == "Value derived from a deprecated source"]
    return sorted(text[r["start"]["byte"] : r["end"]["byte"]] for r in ranges)


@pytest.mark.parametrize("block", [DATA, CALL], ids=["resource", "module"])
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("count = module.old.n", "module.old.n"),
        ("for_each = module.old.s", "module.old.s"),
        ("lifecycle {\n    enabled = module.old.n == 1\n  }", "module.old.n == 1"),
    ],
    ids=["count", "for_each", "enabled"],
)
def test_what_decides_about_instances(block: str, body: str, place: str, planner_here: Callable[..., Ran]) -> None:
    assert places(planner_here, block.replace("BODY", body), "plan") == [place]


def test_the_id_of_an_import(planner_here: Callable[..., Ran]) -> None:
    block = 'import {\n  to = terraform_data.r\n  id = "x${module.old.n}"\n}\n'
    assert places(planner_here, DATA.replace("BODY", "") + block, "plan") == ['"x${module.old.n}"']


def test_prevent_destroy_is_used_where_something_is_destroyed(planner_here: Callable[..., Ran]) -> None:
    guarded = DATA.replace("BODY", "lifecycle {\n    prevent_destroy = module.old.f\n  }")
    assert places(planner_here, guarded, "apply", "-auto-approve") == []
    assert places(planner_here, guarded, "plan") == []
    assert places(planner_here, guarded, "plan", "-destroy") == ["module.old.f"]


def test_an_apply_uses_them_again(planner_here: Callable[..., Ran]) -> None:
    counted = DATA.replace("BODY", "count = module.old.n")
    assert places(planner_here, counted, "apply", "-auto-approve") == ["module.old.n"] * 2


def test_what_a_remote_module_calls_deprecated(planner_here: Callable[..., Ran]) -> None:
    """A module within a remote one is as remote."""
    Path("remote/in").mkdir(parents=True)
    Path("remote/main.tf").write_text(
        'module "in" {\n  source = "./in"\n  v      = 1\n}\noutput "o" {\n  value = module.in.n\n}\n'
    )
    declared = 'variable "v" {\n  deprecated = "no"\n}\n'
    Path("remote/in/main.tf").write_text(MODULE + declared.replace("no", "never"))
    Path("old/v.tf").write_text(declared)
    calls = 'module "far" {\n  source = "FAR"\n}\nmodule "old" {\n  source = "./old"\n  v      = 1\n}\n'
    Path("main.tf").write_text(
        calls.replace("FAR", str(Path("remote").absolute())) + 'output "o" {\n  value = module.old.n\n}\n'
    )
    assert planner_here("init").code == 0
    counts = {level: planner_here("plan", f"-deprecation=module:{level}").out.count("Warning: ") for level in LEVELS}
    assert counts == LEVELS


LEVELS = {"all": 4, "local": 2, "none": 0}


def test_conditions_are_places_and_not_objects(planner_here: Callable[..., Ran]) -> None:
    checks = (
        'check "c" {\n  assert {\n    condition     = module.old.n == 2\n    error_message = "no"\n  }\n}\n'
        'resource "terraform_data" "p" {\n  input = module.old.n\n}\n'
    )
    Path("main.tf").write_text('module "old" {\n  source = "./old"\n}\n' + checks)
    assert planner_here("init").code == 0
    found = [json.loads(line).get("diagnostic") for line in planner_here("plan", "-json").out.splitlines()]
    assert sorted((d["summary"], d.get("address", "")) for d in found if d) == [
        ("Check block assertion failed", ""),
        ("Value derived from a deprecated source", ""),
        ("Value derived from a deprecated source", "terraform_data.p"),
    ]


def test_files_of_a_directory_come_before_those_below(planner_here: Callable[..., Ran]) -> None:
    Path("a").mkdir()
    Path("a/main.tf").write_text('module "old" {\n  source = "../old"\n}\noutput "o" {\n  value = module.old.n\n}\n')
    calls = 'module "a" {\n  source = "./a"\n}\nmodule "old" {\n  source = "./old"\n}\n'
    Path("main.tf").write_text(calls + 'output "o" {\n  value = module.old.b\n}\n')
    assert planner_here("init").code == 0
    out = planner_here("plan").out
    assert -1 < out.index("on main.tf line") < out.index("on a/main.tf line")
