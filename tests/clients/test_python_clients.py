"""Clients from PyPI, as they are, driving planner under the name `terraform`."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.clients.conftest import DRIVE, program
from tests.clients.contract import ANSI
from tests.clients.environments import client

pytestmark = pytest.mark.slow


def test_tftest(run, root):
    seen = json.loads(run(client("tftest") / "python", DRIVE / "use_tftest.py", root).stdout)
    assert seen["plan text"]
    assert seen["root resources"] == ["terraform_data.a"]
    assert seen["child resources"] == ["terraform_data.b"]
    assert seen["changes"] == ["module.m.terraform_data.b", "terraform_data.a"]
    assert seen["variables"] == {"name": "two", "tags": {"a": "b"}}
    assert seen["planned outputs"] == ["name", "secret", "tags"]
    assert seen["outputs"] == {"name": "two", "secret": "s3cret", "tags": {"a": "b"}}
    assert seen["sensitive"] == ["secret"]
    assert seen["pulled"] == ["None.terraform_data.a", "module.m.terraform_data.b"]  # its own way of naming
    assert seen["prior"] == ["terraform_data.a"]
    assert "not a valid address" in seen["error"][0]
    assert seen["left"] == {}


def test_python_terraform(run, root, terraform):
    python = client("python-terraform") / "python"
    seen = json.loads(run(python, DRIVE / "use_python_terraform.py", root, terraform).stdout.splitlines()[-1])
    assert (seen["init"], seen["plan"], seen["apply"], seen["plan again"]) == (0, 2, 0, 0)
    assert seen["state"] == ["terraform_data"]
    assert seen["tfstate"] == 2
    assert seen["outputs"]["name"] == {"sensitive": False, "type": "string", "value": "two"}
    assert seen["show"] == ["format_version", "terraform_version", "values"]
    assert seen["workspaces"] == [0, 0, 0]
    assert seen["missing workspace"] == 1
    assert seen["destroy with -force"] == 1
    assert seen["destroy"] == 0


def test_pytest_terraform(run, root, terraform, tmp_path):
    tests = tmp_path / "tests"
    shutil.copytree(root, tests / "terraform" / "things")
    shutil.copy(DRIVE / "use_pytest_terraform.py", tests / "test_fixture.py")
    python = client("pytest-terraform") / "python"
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--tf-binary={terraform}")
    result = run(python, *words, f"--rootdir={tests}", tests / "test_fixture.py")
    assert "1 passed" in result.stdout
    assert not list((tests / "terraform" / "things").glob("*.tfstate*"))


def planned(run) -> str:
    """The plan of the root module in a file, as JSON."""
    run("terraform", "init", "-input=false", "-no-color")
    run("terraform", "plan", "-input=false", "-out=plan.bin")
    return run("terraform", "show", "-json", "plan.bin").stdout


def test_checkov(run, root):
    """One process, which is slow to start, reads the plan and one whose version is missing: that is passed over."""
    document = json.loads(planned(run))
    (root / "plan.json").write_text(json.dumps(document))
    del document["terraform_version"]
    (root / "nameless.json").write_text(json.dumps(document))
    words = ("--skip-download", "--framework", "terraform_plan", "-c", "CKV2_OWN_1", "-o", "json")
    files = ("-f", root / "plan.json", "-f", root / "nameless.json", "--external-checks-dir", DRIVE)
    results = json.loads(run(client("checkov") / "checkov", *files, *words, code=None).stdout)["results"]
    passed, failed = (
        [(check["file_path"], check["resource"]) for check in results[f"{verdict}_checks"]]
        for verdict in ("passed", "failed")
    )
    assert passed == [("/plan.json", "terraform_data.a")]
    assert failed == [("/plan.json", "module.m.terraform_data.b")]


def compliant(run, root, terraform, plan) -> str:
    """What terraform-compliance says about a plan. The program comes before the plan, or the one on PATH is used."""
    features = root / "features"
    if not features.exists():
        features.mkdir()
        shutil.copy(DRIVE / "names.feature", features)
    compliance = client("terraform-compliance") / "terraform-compliance"
    result = run(compliance, "-f", features, "-t", terraform, "-p", plan, code=None)
    return ANSI.sub("", result.stdout + result.stderr)


def test_terraform_compliance(run, root, terraform):
    document = planned(run)
    assert document.count("\n") == 1
    assert (root / "plan.bin").read_bytes()[:4] == b"PK\x03\x04"
    (root / "plan.json").write_text(document)
    for plan in ("plan.json", "plan.bin"):
        said = compliant(run, root, terraform, root / plan)
        assert "2 scenarios (2 passed)" in said, said
        assert "6 steps (6 passed)" in said, said


# ---------------------------------------------------------------- mistakes that the clients above must notice


def test_an_old_version_is_noticed(run, root, terraform):
    document = {**json.loads(planned(run)), "terraform_version": "0.1.0"}
    (root / "plan.json").write_text(json.dumps(document))
    assert "(2 passed)" not in compliant(run, root, terraform, root / "plan.json")


def test_a_missing_version_is_noticed(run, root, terraform):
    document = json.loads(planned(run))
    del document["terraform_version"]
    (root / "plan.json").write_text(json.dumps(document))
    assert "(2 passed)" not in compliant(run, root, terraform, root / "plan.json")


def test_a_refused_flag_is_noticed(run, root, terraform):
    script = 'case "$*" in output*-no-color*) echo "flag provided but not defined: -no-color" >&2; exit 1;; esac'
    program(terraform, script)
    result = run(client("tftest") / "python", DRIVE / "use_tftest.py", root, code=None)
    assert result.returncode != 0
    assert "-no-color" in result.stderr


def test_a_warning_before_json_is_noticed(run, root, terraform):
    program(terraform, 'case "$1" in output) echo "Warning: something";; esac')
    result = run(client("tftest") / "python", DRIVE / "use_tftest.py", root, code=None)
    assert result.returncode != 0
    assert "error decoding output" in result.stderr
