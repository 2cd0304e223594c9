"""Packs, levels and waivers through the command line: installed, locked, configured, judged, applied."""

from __future__ import annotations

import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from .conftest import Ran

Run = Callable[..., Ran]
MAIN = """
variable "port" {
  type    = number
  default = 22
}
resource "terraform_data" "first" {
  input = var.port
}
resource "terraform_data" "second" {
  input = terraform_data.first.output
}
"""
PACK = """name = "acme.ports"
version = "{version}"
[parameters.closed]
type = "list(number)"
default = [22]
description = "ports that nothing has"
[policies.port]
{policy}
"""
RULES = """@reason("{A} has port {V}")
deny("port", A, "has port " ++ V) :- change(A, _, "second", _, _, _), planned(A, "input", V), closed(V).
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def pack(version: str = "1.0.0", policy: str = 'severity = "high"') -> dict[str, str]:
    return {"pack.toml": PACK.format(version=version, policy=policy), "ports.dl": RULES}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    write(work, {"main.tf": MAIN, ".planner/policy.toml": '[packs."acme.ports"]\nsource = "../ports"\n'})
    write(work / "ports", pack())
    monkeypatch.chdir(work)
    monkeypatch.delenv("PLANNER_POLICIES", raising=False)
    return work


def applied(planner: Run) -> None:
    """The first object is there, so that the second's value is known."""
    assert planner("apply", "-auto-approve", "-target=terraform_data.first").code == 0


def kinds(planner: Run, *words: str) -> list[tuple[str, str]]:
    return [(f["verdict"], f["code"]) for f in json.loads(planner("policy", "check", "-json", *words).out)["findings"]]


def said(ran: Ran) -> str:
    return " ".join((ran.out + ran.err).split())


# ---------------------------------------------------------------- configured


def test_a_pack_in_the_directory_judges_with_its_parameters(folder: Path, planner: Run) -> None:
    applied(planner)
    assert kinds(planner) == [("deny", "port")]
    finding = json.loads(planner("policy", "check", "-json").out)["findings"][0]
    assert finding["metadata"] == {"pack": "acme.ports", "severity": "high"}
    assert finding["rule"] == "acme.ports/ports.1"
    assert " ports/pack.toml:5" in planner("policy", "check", "-proofs").out
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write('[packs."acme.ports".parameters]\nclosed = [80]\n')
    assert kinds(planner) == []
    assert kinds(planner, "-var=port=80") == [("undecided", "port")]


def test_workspaces_have_parameters_of_their_own(folder: Path, planner: Run) -> None:
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write('[workspace.lax.packs."acme.ports".parameters]\nclosed = []\n')
    applied(planner)
    assert kinds(planner) == [("deny", "port")]
    assert planner("workspace", "new", "lax").code == 0
    assert kinds(planner) == []


def test_a_saved_plan_keeps_its_packs(folder: Path, planner: Run) -> None:
    assert planner("plan", "-out=plan.bin").code == 0
    shutil.rmtree(folder / "ports")
    shutil.rmtree(folder / ".planner")
    ran = planner("apply", "plan.bin")
    assert ran.code == 1 and "has port 22" in said(ran)


def test_a_pack_of_the_library_with_some_of_its_policies(folder: Path, planner: Run) -> None:
    text = '[packs."planner.changes"]\npolicies = ["max_deletes"]\n'
    text += '[packs."planner.changes".parameters]\ndelete_limit = 0\n'
    write(folder, {".planner/policy.toml": text})
    applied(planner)
    assert kinds(planner, "-destroy") == []
    write(folder, {"main.tf": ""})
    assert kinds(planner) == [("deny", "max_deletes")]
    write(folder, {".planner/policy.toml": text.replace("= 0", '= "none"')})
    assert "policy.toml line 4" in said(planner("policy", "check"))


@pytest.mark.parametrize(("name", "version"), [("acme.ports", "1.0.0"), ("planner.changes", "1.0.0")])
def test_packs_that_are_at_hand_have_the_version_that_is_wanted(
    folder: Path, planner: Run, name: str, version: str
) -> None:
    source = 'source = "../ports"\n' if name == "acme.ports" else ""
    write(folder, {".planner/policy.toml": f'[packs."{name}"]\n{source}version = "~> 2.0"\n'})
    text = said(planner("policy", "check"))
    assert (
        f'{name} has the version {version} here, but the constraint is "~> 2.0"' in text
        and "policy.toml line 1" in text
    )
    write(folder, {".planner/policy.toml": f'[packs."{name}"]\n{source}version = "~> 1.0"\n'})
    assert planner("plan").code in (0, 1) and "but the constraint is" not in said(planner("policy", "check"))


def test_a_level_for_a_code_that_there_is_not_is_warned_about(folder: Path, planner: Run) -> None:
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write('[policies.prot]\nlevel = "warn"\n[policies.max_deletes]\nlevel = "warn"\n')
    text = said(planner("policy", "check"))
    assert "No policy has the code prot. Did you mean" in text and "max_deletes" not in text


# ---------------------------------------------------------------- levels


def levels(folder: Path, policy: str) -> None:
    write(folder / "ports", pack(policy=policy))


def test_levels_of_a_pack(folder: Path, planner: Run) -> None:
    applied(planner)
    override = ("-policy-override=port", "-override-reason=x")
    assert kinds(planner, *override) == [("overridden", "port")]
    levels(folder, 'level = "warn"')
    assert kinds(planner) == [("warn", "port")] and planner("plan").code == 0
    levels(folder, 'level = "info"')
    assert kinds(planner) == [("info", "port")] and "1 info" in planner("policy", "check").out
    levels(folder, 'level = "deny"')
    ran = planner("plan", *override)
    assert ran.code == 1 and "port is at level deny (hard), which cannot be overridden" in said(ran)
    levels(folder, 'level = "soft"\noverride = ["nobody-is-in-here"]')
    ran = planner("plan", *override)
    assert ran.code == 1 and "only by members of nobody-is-in-here" in said(ran)


def test_the_organisation_says_who_may_override(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import os
    import pwd

    applied(planner)
    me = pwd.getpwuid(os.getuid()).pw_name
    override = ("-policy-override=port", "-override-reason=x")
    text = '[policies.port]\nlevel = "soft"\noverride = ["platform"]\n[groups]\nplatform = ["{}"]\n'
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    write(tmp_path, {"policy.toml": text.format("somebody")})
    monkeypatch.setenv("USER", "somebody")
    monkeypatch.setenv("LOGNAME", "somebody")
    ran = planner("policy", "check", *override)
    assert ran.code == 1 and "only by members of platform" in said(ran)
    write(tmp_path, {"policy.toml": text.format(me)})
    assert kinds(planner, *override) == [("overridden", "port")]
    levels(folder, 'level = "soft"\noverride = ["anybody"]')
    write(tmp_path, {"policy.toml": text.format("somebody")})
    assert planner("policy", "check", *override).code == 1
    write(tmp_path, {"policy.toml": '[defaults]\nlevel = "deny"\n'})
    levels(folder, "")
    assert "cannot be overridden" in said(planner("policy", "check", *override))


def test_nobody_loosens_what_the_organisation_says(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    write(tmp_path, {"policy.toml": '[policies.port]\nlevel = "soft"\n'})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    own = folder / ".planner/policy.toml"
    before = own.read_text()
    own.write_text(f'{before}[policies.port]\nlevel = "warn"\n')
    ran = planner("policy", "check")
    assert ran.code == 1
    assert "policy.toml line 3" in said(ran) and f"level soft ({tmp_path}/policy.toml:1)".replace(" ", "") in said(
        ran
    ).replace(" ", "")
    own.write_text(f'{before}[policies.port]\nlevel = "deny"\n')
    assert kinds(planner) == [("deny", "port")]
    own.write_text(f'{before}[packs."acme.ports".parameters]\nclosed = []\n')
    assert kinds(planner) == []
    write(tmp_path, {"policy.toml": f'[packs."acme.ports"]\nsource = "{folder}/ports"\n'})
    own.write_text('[packs."acme.ports".parameters]\nclosed = []\n')
    ran = planner("policy", "check")
    assert ran.code == 1 and "fixes the parameters of" in said(ran)


def test_an_override_of_what_no_policy_gives_is_told(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    override = ("-policy-override=prot", "-override-reason=x")
    wanted = 'No active policy has the code prot. Did you mean "port"?'
    ran = planner("policy", "check", *override)
    assert ran.code == 1 and wanted in said(ran)
    ran = planner("plan", *override)
    assert ran.code == 0 and f"Warning: Override does not match a policy {wanted}" in said(ran)
    assert planner("plan", "-out=plan.bin").code == 0
    write(folder, {"plan.json": planner("show", "-json", "plan.bin").out})
    ran = planner("policy", "check", "-plan=plan.json", *override)
    assert ran.code == 1 and wanted in said(ran)
    write(tmp_path, {"policy.toml": '[defaults]\nlevel = "deny"\n'})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    ran = planner("policy", "check", *override)
    assert ran.code == 1 and wanted in said(ran) and "hard" not in said(ran)


COMPUTED = """/// closed_port(code, port): nothing has the port. Example: closed_port("ssh", 22)
.decl closed_port(code: text, port: number)
closed_port("ssh", 22).
closed_port("web", 80).
deny(C, A, "has port " ++ V) :- closed_port(C, V), planned(A, "input", V).
"""
LOCAL = """deny("ssh", A, "has port " ++ V) :- planned(A, "input", V), V < 23.
deny("own", A, "is small") :- planned(A, "input", V), V < 23.
"""


def test_codes_that_the_organisation_computes_are_its_own(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path, {"house/house.dl": COMPUTED})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "house"))
    write(folder, {".planner/policy.toml": '[policies.ssh]\nlevel = "info"\n'})
    assert "less strict. It may be made stricter here, but not less strict" in said(planner("policy", "check"))
    write(folder, {".planner/policies/local.dl": LOCAL})  # another rule that says the same does not hide it
    assert "The organisation has ssh at level open" in said(planner("policy", "check"))
    write(folder, {".planner/policy.toml": '[policies.own]\nlevel = "info"\n'})
    assert ("info", "own") in kinds(planner)


def test_what_a_workspace_says_of_a_policy_leaves_the_rest_as_it_is(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    waive(folder)
    text = '[policies.port]\nlevel = "soft"\noverride = ["nobody"]\nwaivable = false\n'
    text += "[workspace.default.policies.port]\n{}\n"
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    write(tmp_path, {"policy.toml": text.format('level = "soft"')})
    assert ("deny", "port") in kinds(planner)
    assert "only by members of nobody" in said(
        planner("policy", "check", "-policy-override=port", "-override-reason=x")
    )
    write(tmp_path, {"policy.toml": text.format("waivable = true")})
    assert kinds(planner) == [("waived", "port")]


def test_files_of_the_organisation_do_not_loosen_each_other(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    pack = f'[packs."acme.ports"]\nsource = "{folder}/ports"\n'
    write(tmp_path, {"a.toml": f'{pack}[policies.port]\nlevel = "deny"\n[groups]\nx = ["a"]\n'})
    monkeypatch.setenv("PLANNER_POLICIES", f"{tmp_path}/a.toml:{tmp_path}/b.toml")
    write(tmp_path, {"b.toml": '[policies.port]\nlevel = "info"\n'})
    own = folder / ".planner/policy.toml"
    own.unlink()
    assert kinds(planner) == [("deny", "port")]
    write(tmp_path, {"b.toml": '[packs."acme.ports"]\nsettable = ["closed"]\n'})
    own.write_text('[packs."acme.ports".parameters]\nclosed = []\n')
    assert "add closed to settable" in said(planner("policy", "check"))
    own.unlink()
    write(tmp_path, {"b.toml": '[groups]\nx = ["a", "b"]\n'})
    assert "organisation sets members of the group x differently" in said(planner("policy", "check"))
    write(tmp_path, {"b.toml": '[groups]\nx = ["a"]\n'})
    assert kinds(planner) == [("deny", "port")]


# ---------------------------------------------------------------- waivers

WAIVER = """[[waiver]]
code = "{code}"
address = "{address}"
owner = "anna"
expires = {expires}
ticket = "OPS-1"
reason = "until the migration"
"""


def waive(folder: Path, code: str = "port", address: str = "terraform_data.*", expires: str = "2099-12-31") -> None:
    text = WAIVER.format(code=code, address=address, expires=expires)
    write(folder, {".planner/waivers.toml": text})


def test_a_waiver_lets_a_denial_pass(folder: Path, planner: Run) -> None:
    applied(planner)
    waive(folder)
    assert kinds(planner) == [("waived", "port")]
    assert "1 waived" in planner("policy", "check").out
    finding = json.loads(planner("policy", "check", "-json").out)["findings"][0]
    assert finding["reason"] == "until the migration (OPS-1); waived by anna until 2099-12-31"
    assert "waived: until the migration" in planner("policy", "check", "-proofs").out
    assert "terraform_data.second is waived: has port 22 waived: until" in said(planner("why", "deny", "port"))
    assert planner("apply", "-auto-approve").code == 0


def test_a_waived_undecided_denial_stays_waived_when_it_becomes_known(folder: Path, planner: Run) -> None:
    waive(folder, address="terraform_data.second")
    assert kinds(planner) == [("waived", "port")]
    assert planner("plan", "-out=plan.bin").code == 0
    assert planner("apply", "plan.bin").code == 0
    waive(folder, address="terraform_data.first")
    assert planner("destroy", "-auto-approve").code == 0
    ran = planner("apply", "-auto-approve")
    assert ran.code == 1 and "has port 22" in said(ran)


def test_what_has_expired_is_judged_by_the_time_of_the_apply(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    applied(planner)
    waive(folder)
    assert planner("plan", "-out=plan.bin").code == 0
    later = time.time() + 3600 * 24 * 365 * 100
    with monkeypatch.context() as patch:
        patch.setattr("planner.operations.policies.time.time", lambda: later)
        assert kinds(planner, "-plan=plan.bin") == [("waived", "port")]
        ran = planner("apply", "plan.bin")
    assert ran.code == 1 and "has port 22" in said(ran)


@pytest.mark.parametrize(
    ("waiver", "found"),
    [
        ({"expires": "2020-01-01"}, "has expired (2020-01-01)"),
        ({"address": "terraform_data.third"}, "matches no finding of this plan"),
        ({"address": "*"}, "matches everything"),
        ({"code": "prot"}, "names a code that does not belong to any policy"),
    ],
)
def test_waivers_that_do_nothing_are_findings(folder: Path, planner: Run, waiver: dict[str, str], found: str) -> None:
    applied(planner)
    waive(folder, **waiver)
    assert kinds(planner) == [("deny", "port"), ("warn", "waivers")]
    document = json.loads(planner("policy", "check", "-json").out)["findings"][1]
    assert found in document["message"] and document["subject"] == {"file": ".planner/waivers.toml", "line": 1}


def test_the_organisation_says_how_long_waivers_may_last(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    waive(folder)
    write(tmp_path, {"policy.toml": "[waivers]\nlongest_days = 365\n"})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    assert kinds(planner) == [("deny", "port"), ("warn", "waivers")]
    assert "than the organisation allows" in said(planner("policy", "check"))
    write(tmp_path, {"policy.toml": "[waivers]\nlongest_days = 36500\n"})
    assert kinds(planner) == [("waived", "port")]
    write(tmp_path, {"policy.toml": "[waivers]\nlongest_days = 0\n"})
    assert "from 1 to 36500" in said(planner("policy", "check"))
    monkeypatch.delenv("PLANNER_POLICIES")
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write("[waivers]\nlongest_days = 10\n")
    assert "Setting reserved for the organisation" in said(planner("policy", "check"))


def test_a_waiver_that_names_neither_a_type_nor_a_module_is_told(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    waive(folder, address="t*_data.*")
    assert kinds(planner) == [("warn", "waivers"), ("waived", "port")]
    assert "names neither a type nor a module: it waives 1 finding (OPS-1)" in said(planner("policy", "check"))
    write(tmp_path, {"policy.toml": "[waivers]\nwide = false\n"})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    assert kinds(planner) == [("deny", "port"), ("warn", "waivers")]
    assert "as the organisation requires, so it waives nothing" in said(planner("policy", "check"))
    monkeypatch.delenv("PLANNER_POLICIES")
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write("[waivers]\nwide = false\n")
    assert "Setting reserved for the organisation" in said(planner("policy", "check"))


def test_the_organisation_does_not_let_waive(
    folder: Path, planner: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    applied(planner)
    waive(folder)
    write(tmp_path, {"policy.toml": '[policies.port]\nlevel = "deny"\nwaivable = false\n'})
    monkeypatch.setenv("PLANNER_POLICIES", str(tmp_path / "policy.toml"))
    assert kinds(planner) == [("deny", "port"), ("warn", "waivers")]


def test_waivers_in_other_formats(folder: Path, planner: Run) -> None:
    applied(planner)
    waive(folder)
    assert "<skipped" in planner("policy", "check", "-format=junit").out
    document = json.loads(planner("policy", "check", "-format=sarif").out)
    assert document["runs"][0]["results"][0]["suppressions"][0]["justification"].startswith("until the migration")
    assert planner("plan", "-json").code == 0


# ---------------------------------------------------------------- installed


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    write(folder, {f"ports/{name}": text for name, text in pack().items()})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "1")
    return folder


def from_git(folder: Path, repository: Path, more: str = "") -> None:
    source = f'[packs."acme.ports"]\nsource = "git::file://{repository}//ports"\n{more}'
    write(folder, {".planner/policy.toml": source})


def test_what_is_not_installed_is_an_error(folder: Path, planner: Run, repository: Path) -> None:
    from_git(folder, repository)
    for command in (("plan",), ("policy", "check"), ("apply", "-auto-approve")):
        ran = planner(*command)
        assert ran.code == 1 and "planner policy init" in said(ran)


def test_installed_locked_and_changed(folder: Path, planner: Run, repository: Path) -> None:
    from_git(folder, repository)
    assert planner("policy", "lock").code == 0
    assert not (folder / ".planner/packs/acme.ports").exists()
    ran = planner("policy", "init")
    assert ran.code == 0 and "acme.ports 1.0.0" in ran.out
    lock = json.loads((folder / ".planner/policy.lock").read_text())
    assert lock["packs"]["acme.ports"]["version"] == "1.0.0"
    assert "All packs are installed" in planner("policy", "init").out
    applied(planner)
    assert kinds(planner) == [("deny", "port")]
    installed = folder / ".planner/packs/acme.ports/ports.dl"
    installed.write_text("// nothing\n")
    ran = planner("policy", "check")
    assert (
        ran.code == 1
        and lock["packs"]["acme.ports"]["hash"] in said(ran).replace(" ", "")
        and "acme.ports" in said(ran)
    )
    assert planner("policy", "init").code == 0
    assert kinds(planner) == [("deny", "port")]


def test_what_a_killed_run_left_goes_with_the_next(folder: Path, planner: Run, repository: Path) -> None:
    from_git(folder, repository)
    code = "import os\nfrom planner.__main__ import main\nfrom planner.answers.policy import policy_packs\n"
    code += "policy_packs._check_pack = lambda use, fresh: os.kill(os.getpid(), 9)\nmain()\n"
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    killed = subprocess.run(
        [sys.executable, "-c", code, "policy", "init"], cwd=folder, env={**os.environ, "TMPDIR": str(temporary)}
    )
    packs = folder / ".planner/packs"
    assert killed.returncode == -9 and list(packs.glob(".acme.ports.new-*/fetched/pack/pack.toml"))
    assert not list(temporary.glob("planner-pack-*"))
    assert planner("policy", "init").code == 0
    assert sorted(path.name for path in packs.iterdir()) == [".lock", "acme.ports"]


def test_what_somebody_put_into_an_installed_pack_is_installed_again(
    folder: Path, planner: Run, repository: Path
) -> None:
    from_git(folder, repository)
    assert planner("policy", "init").code == 0
    applied(planner)
    (folder / ".planner/packs/acme.ports/more.dl").symlink_to("/etc/hosts")
    assert "packs must not contain links" in said(planner("policy", "check"))
    assert "acme.ports 1.0.0" in planner("policy", "init").out
    assert kinds(planner) == [("deny", "port")]


def test_another_content_is_refused_without_update(folder: Path, planner: Run, repository: Path) -> None:
    from_git(folder, repository)
    assert planner("policy", "init").code == 0
    before = json.loads((folder / ".planner/policy.lock").read_text())["packs"]["acme.ports"]["hash"]
    write(repository / "ports", {"ports.dl": "// nothing\n"})
    git(repository, "commit", "-qam", "2")
    shutil.rmtree(folder / ".planner/packs")
    ran = planner("policy", "init")
    assert ran.code == 1 and "it was changed since" in said(ran) and before in said(ran).replace(" ", "")
    assert said(ran).replace(" ", "").count("sha256:") == 2
    assert planner("policy", "update").code == 0
    after = json.loads((folder / ".planner/policy.lock").read_text())["packs"]["acme.ports"]["hash"]
    assert after != before


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ('version = "~> 2.0"\n', "contains version 1.0.0"),
        ("", "contains the pack acme.other"),
    ],
)
def test_another_pack_or_version(folder: Path, planner: Run, repository: Path, change: str, found: str) -> None:
    from_git(folder, repository, change)
    if not change:
        write(repository / "ports", {"pack.toml": 'name = "acme.other"\nversion = "1.0.0"\n'})
        git(repository, "commit", "-qam", "2")
    ran = planner("policy", "init")
    assert ran.code == 1 and found in said(ran)


def archive(files: dict[str, str], link: str = "") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        if link:
            member = tarfile.TarInfo("link.dl")
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
    return data.getvalue()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which its files are."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words: object) -> None:
            super().__init__(*words, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def test_a_list_of_archives(folder: Path, planner: Run, site: tuple[Path, str]) -> None:
    place, url = site
    versions = []
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        data = archive(pack(version))
        (place / f"ports-{version}.tar.gz").write_bytes(data)
        versions.append(
            {"version": version, "url": f"ports-{version}.tar.gz", "hash": f"sha256:{sha256(data).hexdigest()}"}
        )
    (place / "ports.json").write_text(json.dumps({"versions": versions[:1]}))
    write(folder, {".planner/policy.toml": f'[packs."acme.ports"]\nsource = "{url}/ports.json"\nversion = "~> 1.0"\n'})
    assert "acme.ports 1.0.0" in planner("policy", "init").out
    (place / "ports.json").write_text(json.dumps({"versions": versions}))
    shutil.rmtree(folder / ".planner/packs")
    assert "acme.ports 1.0.0" in planner("policy", "init").out
    assert "acme.ports 1.1.0" in planner("policy", "update").out
    applied(planner)
    assert kinds(planner) == [("deny", "port")]
    versions[1]["hash"] = "sha256:" + "0" * 64
    (place / "ports.json").write_text(json.dumps({"versions": versions}))
    assert planner("policy", "update").code == 1
    (place / "ports.json").write_text("[]")
    assert "lists no versions" in said(planner("policy", "update"))


@pytest.mark.parametrize("link", ["/etc/passwd", "../../../etc/passwd", "ports.dl"])
def test_archives_with_links_are_refused(folder: Path, planner: Run, site: tuple[Path, str], link: str) -> None:
    place, url = site
    (place / "ports.tar.gz").write_bytes(archive(pack(), link))
    write(folder, {".planner/policy.toml": f'[packs."acme.ports"]\nsource = "{url}/ports.tar.gz"\n'})
    ran = planner("policy", "init")
    assert ran.code == 1 and "link" in said(ran)
    assert not (folder / ".planner/packs/acme.ports").exists()


def test_archives_with_paths_that_lead_out_are_refused(folder: Path, planner: Run, site: tuple[Path, str]) -> None:
    place, url = site
    (place / "ports.tar.gz").write_bytes(archive({**pack(), "../../evil.dl": "// evil\n"}))
    write(folder, {".planner/policy.toml": f'[packs."acme.ports"]\nsource = "{url}/ports.tar.gz"\n'})
    assert planner("policy", "init").code == 1
    assert not list(folder.parent.rglob("evil.dl"))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format_version": "2.0", "packs": {}}',
        '{"format_version": "1.0", "packs": {"acme.ports": {"hash": "x"}}}',
        '{"format_version": "1.0", "packs": {}, "more": 1}',
        "[" * 100000,
    ],
)
def test_a_lock_file_that_cannot_be_read(folder: Path, planner: Run, repository: Path, text: str) -> None:
    from_git(folder, repository)
    write(folder, {".planner/policy.lock": text})
    for command in (("policy", "init"), ("policy", "check")):
        ran = planner(*command)
        assert ran.code == 1 and "lock file of packs" in said(ran)
    assert planner("policy", "update").code == 0


def test_a_command_without_a_policy_file(folder: Path, planner: Run) -> None:
    assert "There is no pack with an external source" in planner("policy", "init").out
    (folder / ".planner/policy.toml").unlink()
    assert planner("policy", "init", ".planner/policy.toml").code == 1
    assert planner("policy", "lock", "a", "b").code == 1


def test_the_cases_of_a_pack(folder: Path, planner: Run) -> None:
    case = 'change("a", "t", "second", "", "p", "managed"). planned("a", "input", 80).\n'
    case += '.case "22 is closed"\n.want none deny.\n'
    case += '.case "a parameter"\nclosed(80).\n.want deny("port", "a", "has port 80").\n'
    write(folder / "ports", {"ports.case": case})
    assert "2 passed" in planner("rules", "test", "ports").out
    assert "2 passed" in planner("rules", "test", "ports/ports.case").out
    assert planner("rules", "check", "ports/ports.dl").code == 0
    manifest = (folder / "ports/pack.toml").read_text()
    more = '[parameters.unused]\ntype = "string"\ndefault = ""\ndescription = "x"\n[policies.prot]\n'
    write(folder / "ports", {"pack.toml": manifest + more})
    ran = planner("rules", "check", "ports")
    assert "No rule reads unused." in said(ran) and "No rule denies or warns with the code prot." in said(ran)
    write(folder / "ports", {"pack.toml": manifest.replace("[22]", '["22"]')})
    ran = planner("rules", "check", "ports")
    assert ran.code == 1 and "ports/pack.toml:5" in said(ran)


def test_what_a_pack_derives_is_asked_with_the_settings_of_the_workspace(folder: Path, planner: Run) -> None:
    applied(planner)
    with (folder / ".planner/policy.toml").open("a") as file:
        file.write('[workspace.lax.packs."acme.ports".parameters]\nclosed = [1]\n')
    assert "22" in planner("query", "policy.acme.ports.closed(X)").out
    assert planner("workspace", "new", "lax").code == 0
    ran = planner("query", "policy.acme.ports.closed(X)")
    assert "22" not in ran.out and "1" in ran.out


def test_a_pack_that_moved_since_the_plan_counts_once(folder: Path, planner: Run) -> None:
    applied(planner)
    waive(folder)
    assert planner("plan", "-out=plan.bin").code == 0
    (folder / "ports").rename(folder / "moved")
    write(folder / "moved", {"ports.dl": f"// changed\n{RULES}"})
    write(folder, {".planner/policy.toml": '[packs."acme.ports"]\nsource = "../moved"\n'})
    assert kinds(planner, "-plan=plan.bin") == [("waived", "port")]
