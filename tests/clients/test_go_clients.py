"""terraform-exec as it is, driving planner under the name `terraform`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tests.clients.conftest import DRIVE

pytestmark = pytest.mark.slow

FILE = """\
variables {
  name = "two"
}

run "makes" {
  assert {
    condition     = output.name == "%s"
    error_message = "another name"
  }
}
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """The program of `drive/terraform_exec`. Skips the test when it cannot be built."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = tmp_path_factory.mktemp("terraform_exec")
    shutil.copytree(DRIVE / "terraform_exec", folder, dirs_exist_ok=True)
    built = subprocess.run(["go", "build", "-o", "drive", "."], cwd=folder, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"terraform-exec cannot be built here: {built.stderr.strip()[-200:]}")
    return folder / "drive"


def told(result, kind):
    """The messages of one type, of the JSON lines the client hands on."""
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [line for line in lines if line.get("type") == kind]


@pytest.mark.parametrize(("name", "status"), [("two", "pass"), ("one", "fail")])
def test_terraform_exec_test(run, root, terraform, driver, name, status):
    (root / "tests").mkdir()
    (root / "tests" / "names.tftest.hcl").write_text(FILE % name)
    result = run(driver, terraform, root, code=int(status == "fail"), HOME=os.environ["HOME"])
    (summary,) = told(result, "test_summary")
    assert summary["test_summary"]["status"] == status
    assert [line["test_run"]["status"] for line in told(result, "test_run")] == [status]
    assert len(told(result, "version")) == 2  # of init -json, and of test -json
    assert not list(root.glob("*.tfstate*"))
