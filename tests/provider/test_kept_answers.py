"""Kept answers of plugins: a later command does not repeat a call whose answer it has, and its output is the same."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

import pytest
from provider.plugins import SOURCE, override, write_plugin
from random_tests import examples
from thinned import thinned

from planner.cli import renewed_plan
from planner.cli.commands import plan as command
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.renew import plugin_calls
from planner.world.provider.locate import own_platform
from planner.world.provider.plugin import base, kept_answers, schema_parts
from planner.world.provider.plugin.client import PluginClient

CONFIG = f"""terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
provider "test" {{ prefix = "p" }}
resource "test_thing" "a" {{
  name   = "a"
  secret = "s3cret"
}}
module "m" {{
  source = "./m"
  name   = test_thing.a.name
}}
output "double" {{ value = provider::test::double(1, 2) }}
"""
MODULE = f"""terraform {{
  required_providers {{
    test = {{ source = "{SOURCE}" }}
  }}
}}
variable "name" {{}}
resource "test_thing" "b" {{
  count = 2
  name  = "${{var.name}}-${{count.index}}"
}}
"""
UNREFRESHED = ("plan", "-refresh=false", "-no-color")


class Project:
    """A working directory with applied objects; `calls` are those that reached the plugin since the last look."""

    def __init__(self, folder: Path, cache: Path, command: Callable[..., Any]) -> None:
        self.folder, self.cache, self.command = folder, cache, command
        self.log: list[str] = []

    def run(self, *words: str, code: int = 0) -> str:
        os.environ.pop("PYTEST_CURRENT_TEST", None)  # another one while a fixture is made
        done = self.command(*words)
        assert done.code == code, done.out + done.err
        return str(done.out + done.err)

    def without_cache(self, *words: str) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PLANNER_NO_CACHE", "1")
            return self.run(*words)

    def calls(self) -> list[str]:
        names = [name for name in self.log if name != "GetProviderSchema"]
        self.log.clear()
        return names

    def edit(self, old: str, new: str, name: str = "main.tf") -> None:
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def entries(self) -> list[Path]:
        return list((self.cache / "planner" / "answers").iterdir())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: Callable[..., Any]) -> Project:
    """The plugin of the tests is a script, whose answers are not kept: here it counts as a program."""
    override(monkeypatch, tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module in (base, schema_parts):
        monkeypatch.setattr(module, "identity_of", lambda binary: f"{binary} {os.stat(binary).st_mtime_ns}")
    folder = tmp_path / "project"
    (folder / "m").mkdir(parents=True)
    (folder / "main.tf").write_text(CONFIG)
    (folder / "m" / "main.tf").write_text(MODULE)
    monkeypatch.chdir(folder)
    project = Project(folder, tmp_path / "cache", planner)
    send = PluginClient.call_bytes

    def call_bytes(self: PluginClient, name: str, request: Any, quick: bool = False) -> bytes:
        project.log.append(name)
        return send(self, name, request, quick)

    monkeypatch.setattr(PluginClient, "call_bytes", call_bytes)
    project.run("init")
    project.run("apply", "-auto-approve")
    project.run(*UNREFRESHED)
    project.calls()
    return project


def test_a_plan_without_refresh_needs_no_process_for_what_is_known(project: Project) -> None:
    first = project.without_cache(*UNREFRESHED)
    assert "PlanResourceChange" in project.calls()
    assert project.run(*UNREFRESHED) == first
    assert project.calls() == []


def test_only_what_was_edited_is_planned_by_the_plugin(project: Project) -> None:
    project.edit('name   = "a"', 'name   = "z"')
    shown = project.run(*UNREFRESHED)
    assert "3 to change" in shown
    calls = project.calls()
    assert calls.count("PlanResourceChange") == 3 and calls.count("ConfigureProvider") == 1
    assert calls.index("ConfigureProvider") < calls.index("PlanResourceChange")
    project.edit('"${var.name}-', 'count.index == 0 ? var.name : "${var.name}-', "m/main.tf")
    project.run(*UNREFRESHED)
    calls = project.calls()
    assert calls.count("PlanResourceChange") == 1 and "ConfigureProvider" in calls


def test_a_plan_that_reads_objects_asks_for_everything_but_validation_and_upgrades(project: Project) -> None:
    project.run("plan")
    calls = project.calls()
    assert calls.count("ReadResource") == calls.count("PlanResourceChange") == 3
    assert {"ConfigureProvider"} == {*calls} - {"ReadResource", "PlanResourceChange"}


def test_an_apply_plans_with_the_plugin(project: Project) -> None:
    project.run("apply", "-refresh=false", "-auto-approve")
    assert project.calls().count("PlanResourceChange") >= 3


def test_a_data_source_is_read_by_a_configured_plugin(project: Project) -> None:
    project.edit("output", 'data "test_thing" "d" { id = test_thing.a.id }\noutput')
    first = project.without_cache(*UNREFRESHED)
    project.run(*UNREFRESHED)
    project.calls()
    assert project.run(*UNREFRESHED) == first
    assert project.calls() == ["ConfigureProvider", "ReadDataSource"]


@pytest.mark.parametrize("what", ["environment", "plugin", "provider", "settings", "cache", "age"])
def test_what_an_answer_depends_on(project: Project, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    if what == "environment":
        monkeypatch.setenv("TEST_PROVIDER_UPGRADED", "1")
    elif what == "plugin":
        os.utime(project.folder.parent / "bin" / "terraform-provider-test", (1, 1))
    elif what == "provider":
        project.edit('prefix = "p"', 'prefix = "q"')
    elif what == "settings":
        monkeypatch.setenv("KUBECONFIG", str(project.folder / "kube"))
    elif what == "cache":
        monkeypatch.setenv("PLANNER_NO_CACHE", "1")
    else:
        monkeypatch.setattr(kept_answers, "SECONDS", 0)
    project.run(*UNREFRESHED)
    assert project.calls().count("PlanResourceChange") == 3


def test_a_file_that_a_request_names_is_part_of_it(project: Project) -> None:
    (project.folder / "page.html").write_text("one")
    project.edit('name   = "a"', 'name   = "a"\n  note   = "page.html"')
    project.run(*UNREFRESHED)
    project.run(*UNREFRESHED)
    project.calls()
    project.run(*UNREFRESHED)
    assert project.calls() == []
    (project.folder / "page.html").write_text("another")
    project.run(*UNREFRESHED)
    assert project.calls().count("PlanResourceChange") == 1
    times = (project.folder / "page.html").stat()
    (project.folder / "page.html").write_text("changed")  # of the same length, and at the same time
    os.utime(project.folder / "page.html", ns=(times.st_atime_ns, times.st_mtime_ns))
    project.run(*UNREFRESHED)
    assert project.calls().count("PlanResourceChange") == 1


def test_a_file_that_a_provider_configuration_names_is_part_of_it(project: Project) -> None:
    (project.folder / "p").write_text("one")
    for calls in (4, 0):
        project.run(*UNREFRESHED)
        assert len([name for name in project.calls() if name in ("ConfigureProvider", "PlanResourceChange")]) == calls
    (project.folder / "p").write_text("another")
    project.run(*UNREFRESHED)
    assert {"ValidateProviderConfig", "ConfigureProvider"} <= {*project.calls()}


def test_problems_are_asked_for_again(project: Project) -> None:
    project.edit('name   = "a"', 'name   = "a"\n  fail   = "plan"')
    for _ in range(2):
        assert "No plan" in project.run(*UNREFRESHED, code=1)
        assert "PlanResourceChange" in project.calls()
    project.edit('fail   = "plan"', 'fail   = "warn"')
    warned = [project.run(*UNREFRESHED) for _ in range(2)]
    assert "Careful" in warned[0] and warned[0] == warned[1]


def test_the_cache_discloses_no_value(project: Project) -> None:
    (entry,) = project.entries()
    data = entry.read_bytes()
    assert len(data) > 500 and not re.search(rb"s3cret|thing-a|name", data)


def test_a_damaged_entry_is_made_anew(project: Project) -> None:
    (entry,) = project.entries()
    whole = entry.read_bytes()
    for data in (whole[:-9], b"", whole[:100] + bytes(len(whole) - 100)):
        entry.write_bytes(data)
        project.run(*UNREFRESHED)
        assert project.calls().count("PlanResourceChange") == 3
        project.run(*UNREFRESHED)
        assert project.calls() == []


def test_answers_that_are_not_used_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(40):
        kept = kept_answers.KeptAnswers("plugin", {"Call": True})
        kept.put("Call", b"%d" % number, b"answer")
        assert kept.get("Call", b"0") == b"answer"  # used by each command
        kept.save()
    kept = kept_answers.KeptAnswers("plugin", {"Call": True})
    known = [number for number in range(40) if kept.get("Call", b"%d" % number)]
    assert 0 in known and known[-1] == 39 and 10 < len(known) < 20


def test_random_edits_give_the_plan_without_kept_answers(project: Project) -> None:
    choice = random.Random(41)
    for _ in range(12):
        arguments = [("name", choice.choice(["a", "z"]))]
        arguments += [(name, choice.choice(["x", "y"])) for name in ("note", "region") if choice.random() < 0.6]
        block = "".join(f'  {name} = "{value}"\n' for name, value in arguments)
        text = CONFIG.replace('  name   = "a"\n  secret = "s3cret"\n', block)
        (project.folder / "main.tf").write_text(text)
        (project.folder / "m" / "main.tf").write_text(MODULE.replace("= 2", f"= {choice.randint(0, 3)}"))
        assert project.run(*UNREFRESHED) == project.without_cache(*UNREFRESHED)


@pytest.fixture
def kept(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """A project whose plans are kept as a whole; `plan anew` is in the log if one is not used again."""
    monkeypatch.setattr(command, "LARGE", 0)
    made = renewed_plan._made_and_kept

    def made_anew(*given: Any) -> int:
        project.log.append("plan anew")
        return made(*given)

    monkeypatch.setattr(renewed_plan, "_made_and_kept", made_anew)
    RECORDER.install()
    monkeypatch.setattr(RECORDER, "_ignored", (*RECORDER._ignored, f"{tmp_path}/cache/"))
    return project


def again(project: Project, *words: str) -> tuple[str, list[str]]:
    """The output of a plan, which is that of a plan without kept data, and the calls of the plugin."""
    first = project.without_cache(*words)
    project.calls()
    assert in_order(project.run(*words)) == in_order(first)
    return first, project.calls()


def in_order(output: str) -> list[str]:
    """The lines of a plan; those about reading objects come as answers arrive."""
    lines = output.splitlines()
    told = [line for line in lines if re.search(r": (Refreshing state|Reading|Read complete)", line)]
    return sorted(told) + [line for line in lines if line not in told]


def test_a_plan_is_used_again_if_all_answers_are_the_same(kept: Project) -> None:
    kept.edit("output", 'data "test_thing" "d" { id = test_thing.a.id }\noutput')
    for words, calls in (
        (("plan", "-no-color"), {"ConfigureProvider", "ReadResource", "PlanResourceChange", "ReadDataSource"}),
        (UNREFRESHED, {"ConfigureProvider", "ReadDataSource"}),
    ):
        assert "plan anew" in again(kept, *words)[1]
        assert {*again(kept, *words)[1]} == calls


def test_a_plan_without_refresh_is_used_again_without_a_process(kept: Project) -> None:
    kept.edit('name   = "a"', 'name   = "z"')
    assert "plan anew" in again(kept, *UNREFRESHED)[1]
    for _ in range(2):
        shown, calls = again(kept, *UNREFRESHED)
        assert "3 to change" in shown and calls == []


DATA = 'data "test_thing" "d" { id = test_thing.a.id }\noutput "d" { value = data.test_thing.d.name }\n'


@pytest.mark.parametrize("refresh", [pytest.param("true", marks=pytest.mark.slow), "false"])
@pytest.mark.parametrize(
    "what",
    thinned(
        ["object", "missing object", "environment", "variable", "plugin", "settings", "module", "named file",
         "new file", "state", "provider", "age", "workspace", "command line", "variable file"], 3,
    ),
)  # fmt: skip
def test_a_kept_plan_is_not_used_after(
    kept: Project, monkeypatch: pytest.MonkeyPatch, what: str, refresh: str, tmp_path: Path
) -> None:
    words = ("plan", "-no-color", f"-refresh={refresh}")
    kept.edit("output", f'variable "v" {{ default = "v" }}\noutput "v" {{ value = var.v }}\n{DATA}output')
    kept.edit('name   = "a"', 'name   = "a"\n  tags   = { page = "./pages/a.html" }')
    kept.run("apply", "-auto-approve")
    (kept.folder / "pages").mkdir()
    if what == "named file":
        (kept.folder / "pages" / "a.html").write_text("one")
    again(kept, *words)
    assert "plan anew" not in again(kept, *words)[1]
    (world,) = {path.parent for path in tmp_path.rglob("p-a.json")}
    if what == "object":
        path = world / "p-a.json"
        path.write_text(path.read_text().replace('"name": "a"', '"name": "changed"'))
    elif what == "missing object":
        (world / "p-a-1.json").unlink()
    elif what == "environment":
        monkeypatch.setenv("TEST_PROVIDER_UPGRADED", "1")
    elif what == "variable":
        monkeypatch.setenv("TF_VAR_v", "w")
    elif what == "command line":
        words = (*words, "-var=v=w")
    elif what == "variable file":
        (kept.folder / "terraform.tfvars").write_text('v = "w"\n')
    elif what == "plugin":
        os.utime(tmp_path / "bin" / "terraform-provider-test", (1, 1))
    elif what == "settings":
        monkeypatch.setenv("KUBECONFIG", str(kept.folder / "kube"))
    elif what == "module":
        kept.edit("count = 2", "count = 3", "m/main.tf")
    elif what in ("named file", "new file"):
        (kept.folder / "pages" / "a.html").write_text("two")
    elif what == "state":
        kept.run("state", "rm", "test_thing.a")
    elif what == "provider":
        kept.edit('prefix = "p"', 'prefix = "q"')
    elif what == "workspace":
        kept.run("workspace", "new", "other")
    else:
        monkeypatch.setattr(plugin_calls, "time", lambda: time() + 3601)
    calls = again(kept, *words)[1]
    # without refresh, objects do not matter; a data source is read in any case
    assert ("plan anew" in calls) == (what != "missing object" or refresh == "true")
    assert "plan anew" not in again(kept, *words)[1] or what == "age"


@pytest.mark.parametrize("fail", ["warn", "plan", "validate"])
def test_problems_are_not_taken_from_a_kept_plan(kept: Project, fail: str) -> None:
    kept.edit('name   = "a"', f'name   = "a"\n  fail   = "{fail}"')
    for _ in range(3):
        first = kept.command(*UNREFRESHED)
        monkeypatch = pytest.MonkeyPatch()
        monkeypatch.setenv("PLANNER_NO_CACHE", "1")
        anew = kept.command(*UNREFRESHED)
        monkeypatch.undo()
        assert (first.code, first.out, first.err) == (anew.code, anew.out, anew.err)


def test_a_kept_plan_discloses_no_value(kept: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(kept, monkeypatch, tmp_path)
    kept.edit('secret = "s3cret"', "secret = var.secret")
    kept.edit("output", 'resource "terraform_data" "e" { input = "e" }\nvariable "secret" { sensitive = true }\noutput')
    (kept.folder / "terraform.tfvars").write_text('secret = "s3cret"\n')
    for _ in range(2):
        again(kept, *UNREFRESHED)
    for entry in (kept.cache / "planner" / "plans").iterdir():
        data = entry.read_bytes()
        assert len(data) > 500 and not re.search(rb"s3cret|token of|private", data)
    kept.edit("test_thing.a.name", "test_thing.a.secret")
    assert "plan anew" not in again(kept, *UNREFRESHED)[1]
    kept.edit("test_thing.a.secret", "test_thing.a.name")
    monkeypatch.setenv("SOMETHING", "else")
    assert "plan anew" in again(kept, *UNREFRESHED)[1]


PARTS = (
    CONFIG.replace('"test_thing" "a"', '"test_named" "a"')
    .replace('  secret = "s3cret"\n', "")
    .replace("thing.a.", "named.a.")
    + """variable "prefix" { default = "p" }
locals { note = "n" }
provider "test" {
  alias  = "q"
  prefix = var.prefix
}
resource "test_named" "c" {
  provider = test.q
  count    = 2
  name     = "c${count.index}${local.note}"
}
data "test_thing" "d" { id = "p-${test_named.a.name}-0" }
resource "terraform_data" "d" { input = [test_named.c[*].name, data.test_thing.d.name, module.m] }
resource "terraform_data" "e" { input = "e" }
"""
)
EDITS = [
    ('input = "e"', 'input = "f"', False),
    ('"n"', '"o"', False),
    ("name   = test_named.a.name", "name   = test_named.c[0].name", False),
    ('input = "e"', "input = data.test_thing.d.name", False),
    ("count    = 2", "count    = 1", True),  # what is destroyed is ordered with all other changes
    ('default = "p"', 'default = "q"', False),  # of a provider configuration
    ('prefix = "p"', 'prefix = "q"', True),
    ("prefix = var.prefix", 'prefix = "q"', True),
    ("name}-0", "name}-1", True),
    ('name   = "a"', 'name   = "z"', True),  # the data source is read after it has changed
]


def install(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Install the plugin from a mirror, since each plan with an overridden one has a warning."""
    mirror = tmp_path / "mirror"
    program = write_plugin(mirror / SOURCE / "1.0.0" / own_platform())
    program.rename(program.with_name("terraform-provider-test_v1.0.0"))
    rc = tmp_path / "mirror.rc"
    rc.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(rc))
    project.run("init")


@pytest.mark.parametrize(("old", "new", "is_whole"), thinned(EDITS, 3))
@pytest.mark.parametrize("refresh", [pytest.param("true", marks=pytest.mark.slow), "false"])
def test_with_provider_blocks_and_data_sources_only_a_part_is_planned(
    kept: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old: str, new: str, is_whole: bool, refresh: str
) -> None:
    words = ("plan", "-no-color", f"-refresh={refresh}")
    install(kept, monkeypatch, tmp_path)
    (kept.folder / "main.tf").write_text(PARTS)
    kept.run("apply", "-auto-approve")
    again(kept, *words)
    assert "plan anew" not in again(kept, *words)[1]
    kept.edit(old, new)
    assert ("plan anew" in again(kept, *words)[1]) == is_whole


def test_random_edits_give_the_plan_without_kept_plans(
    kept: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(kept, monkeypatch, tmp_path)
    choice = random.Random(42)
    texts = [CONFIG.replace('name   = "a"', f'name   = "{name}"') for name in "az"] + [CONFIG + DATA]
    texts += [PARTS, *(PARTS.replace(old, new) for old, new, _ in EDITS)]
    for _ in range(examples(32)):
        (kept.folder / "main.tf").write_text(choice.choice(texts))
        (kept.folder / "m" / "main.tf").write_text(MODULE.replace("= 2", f"= {choice.randint(1, 2)}"))
        words = ("plan", "-no-color", f"-refresh={choice.choice(['true', 'false'])}")
        assert in_order(kept.run(*words)) == in_order(kept.without_cache(*words))
