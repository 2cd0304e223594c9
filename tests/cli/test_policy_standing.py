"""Policies that nobody can leave out: the configuration's own ones, and those of the organisation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran

Run = Callable[..., Ran]
DENY = '@reason("{{A}}")\ndeny("{0}", A, "is there") :- change(A, _, "{1}", _, _, _), not excused(A).\n'
EXCUSED = '/// excused(a): may be. Example: excused("a")\n.decl excused(a: address)\nexcused("nobody").\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "org").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "XDG_CONFIG_HOME", "PLANNER_POLICIES"):
        monkeypatch.delenv(name, raising=False)
    (work / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    (tmp_path / "org" / "org.dl").write_text(EXCUSED + DENY.format("org", "a"))
    (work / "mine.dl").write_text('@reason("{A}")\nwarn("mine", A, "is mine") :- change(A, _, _, _, _, _).\n')
    return work


def codes(planner: Run, *words: str) -> set[str]:
    return {f["code"] for f in json.loads(planner("policy", "check", "-json", *words).out)["findings"]}


def from_environment(folder: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PLANNER_POLICIES", path)


def from_settings(folder: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    (folder.parent / "settings").write_text(f'policies {{\n  plans = ["{path}"]\n}}\nplugin_cache_dir = ""\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(folder.parent / "settings"))


WAYS = pytest.mark.parametrize("way", [from_environment, from_settings], ids=["environment", "settings"])


def test_the_folder_of_the_configuration_is_always_asked(folder: Path, planner: Run) -> None:
    (folder / ".planner" / "policies").mkdir(parents=True)
    (folder / ".planner" / "policies" / "own.dl").write_text(EXCUSED + DENY.format("own", "a"))
    assert codes(planner) == {"own"}
    assert codes(planner, "-policy=mine.dl") == {"own", "mine"}
    assert planner("plan", "-policy=mine.dl").code == 1
    assert planner("apply", "-auto-approve", "-policy=mine.dl").code == 1
    assert not (folder / "terraform.tfstate").exists()


def test_a_folder_that_leads_nowhere_is_an_error(folder: Path, planner: Run) -> None:
    (folder / ".planner").mkdir()
    (folder / ".planner" / "policies").symlink_to("nowhere")
    assert planner("plan").code == 1


@WAYS
def test_the_organisations_are_always_asked(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, way: Callable[..., None]
) -> None:
    assert planner("plan", "-out=before.plan").code == 0
    way(folder, monkeypatch, str(folder.parent / "org"))
    assert codes(planner) == {"org"}
    assert codes(planner, "-policy=mine.dl") == {"org", "mine"}
    assert codes(planner, "-plan=before.plan") == {"org"}
    for words in (
        ("plan",),
        ("plan", "-policy=mine.dl", "-out=p.plan"),
        ("apply", "-auto-approve"),
        ("apply", "before.plan"),
    ):
        ran = planner(*words)
        assert ran.code == 1 and "Denied by policy org" in ran.err, words
    assert not (folder / "p.plan").exists() and not (folder / "terraform.tfstate").exists()


@WAYS
@pytest.mark.parametrize("what", ["missing", "empty", "builtin:nothing"])
def test_what_is_not_there_is_an_error(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, way: Callable[..., None], what: str
) -> None:
    (folder.parent / "empty").mkdir()
    way(folder, monkeypatch, what if ":" in what else str(folder.parent / what))
    for words in (("plan", "-policy=mine.dl"), ("apply", "-auto-approve"), ("policy", "check")):
        ran = planner(*words)
        assert ran.code == 1 and what.removeprefix("builtin:") in ran.err
    assert not (folder / "terraform.tfstate").exists()


def test_several_paths_and_ready_made_ones(folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["builtin:no_forgetting", str(folder.parent / "org" / "org.dl")]
    monkeypatch.setenv("PLANNER_POLICIES", os.pathsep.join(words))
    assert codes(planner) == {"org"}
    suites = planner("policy", "check", "-format=junit").out
    assert 'name="no_forgetting"' in suites


def test_paths_of_the_settings_are_seen_from_their_folder(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_settings(folder, monkeypatch, "org")
    assert codes(planner) == {"org"}


def test_nobody_adds_to_what_the_organisation_declares(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine.dl").write_text('excused("terraform_data.a").\n')
    monkeypatch.setenv("PLANNER_POLICIES", str(folder.parent / "org"))
    ran = planner("policy", "check", "-policy=mine.dl")
    assert (
        ran.code == 1 and "Rule for a relation reserved for the organisation" in ran.err and "mine.dl line 1" in ran.err
    )


def test_a_plan_on_record_outlives_a_file_that_moves(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    org = folder.parent / "org" / "org.dl"
    org.write_text(EXCUSED + DENY.format("org", "elsewhere"))
    monkeypatch.setenv("PLANNER_POLICIES", str(org))
    assert planner("plan", "-out=p.plan").code == 0
    monkeypatch.setenv("PLANNER_POLICIES", str(org.rename(org.with_name("other.dl"))))
    assert planner("apply", "p.plan").code == 0


def test_bad_settings(folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "settings").write_text('policies { plans = "one" }\n')
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(folder.parent / "settings"))
    ran = planner("policy", "check")
    assert ran.code == 1 and "plans must be a list of strings" in ran.err
    (folder.parent / "settings").write_text("policies { fleet = [] }\n")
    assert "policies cannot have the argument fleet" in planner("policy", "check").err
    (folder.parent / "settings").write_text('policies { stacks = [""] }\n')
    assert "stacks contains an empty path" in planner("policy", "check").err


# ---------------------------------------------------------------- fleets


@pytest.fixture
def fleet(folder: Path) -> Path:
    for name in ("one", "two"):
        (folder / name).mkdir()
        text = 'terraform {\n  backend "local" {}\n}\nresource "terraform_data" "%s" {}\n'
        (folder / name / "main.tf").write_text(text % ("a" if name == "one" else "b"))
    (folder / "main.tf").unlink()
    return folder


def outcomes(planner: Run, *words: str) -> dict[str, str]:
    return {u["unit"]: u["outcome"] for u in json.loads(planner("batch", *words, "-json").out)["units"]}


def test_plans_of_a_fleet_are_judged(fleet: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-executor=inline",)
    before = outcomes(planner, "plan", *words)
    assert set(before.values()) == {"changes"}
    monkeypatch.setenv("PLANNER_POLICIES", str(fleet.parent / "org"))
    assert outcomes(planner, "plan", *words) == {"one": "denied", "two": "changes"}
    assert "Denied by policy org" in planner("batch", "plan", *words).err
    assert outcomes(planner, "apply", "-auto-approve", *words)["one"] == "denied"
    assert not (fleet / "one" / "terraform.tfstate").exists()
    monkeypatch.delenv("PLANNER_POLICIES")
    (fleet / "two" / ".planner" / "policies").mkdir(parents=True)
    (fleet / "two" / ".planner" / "policies" / "own.dl").write_text(EXCUSED + DENY.format("own", "b"))
    assert outcomes(planner, "plan", *words) == {"one": "changes", "two": "denied"}


def test_the_policies_of_a_fleet(fleet: Path, planner: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = 'deny("{0}", U, "is here") :- unit(U, _), U = "one".\n'
    (fleet / "p.dl").write_text(rule.format("named"))
    (fleet.parent / "org.dl").write_text(rule.format("org"))
    (fleet / ".planner" / "batch-policies").mkdir(parents=True)
    (fleet / ".planner" / "batch-policies" / "own.dl").write_text(rule.format("own"))

    def found(*words: str) -> set[str]:
        ran = planner("batch", "policy", "-json", "-executor=inline", *words)
        return {f["code"] for f in json.loads(ran.out)["findings"]}

    assert found() == {"own"} and found("-policy=p.dl") == {"own", "named"}
    monkeypatch.setenv("PLANNER_BATCH_POLICIES", str(fleet.parent / "org.dl"))
    assert found("-policy=p.dl") == {"own", "named", "org"}
    monkeypatch.setenv("PLANNER_BATCH_POLICIES", str(fleet.parent / "missing"))
    assert planner("batch", "policy", "-executor=inline").code == 1
