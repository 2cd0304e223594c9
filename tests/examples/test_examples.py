"""Every example, run in a copy as its README says, does what its README says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conformance import forked
from thinned import thinned

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
FENCE = re.compile(r"^```\n(.*?)^```$", re.S | re.M)
FAILING = {
    ("05_cycle", "planner validate"),
    ("06_partial_failure", "planner apply -auto-approve"),
    ("08_policies", "planner policy check -policy=policies"),
    ("08_policies", "planner policy check -policy=policies -proofs"),
    ("08_policies", "planner apply -auto-approve -policy=policies -policy-override=open -override-reason=demo"),
    ("13_python", "python gate.py image=web:1.5"),
}
"""the commands that end with 1; all others end with 0"""

Outputs = dict[str, tuple[str, str]]
"""what each command printed: standard output, standard error"""


def commands(name: str) -> list[str]:
    """The commands of an example's README, in order."""
    text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    lines = [line for block in FENCE.findall(text) for line in block.splitlines()]
    return [line for line in lines if line.startswith(("planner ", "python "))]


def run(command: str, folder: Path) -> tuple[int, str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PLANNER_"))}
    program, *words = shlex.split(command)
    if program == "planner":
        planned = forked.run(words, folder, environment)
        return planned.returncode, planned.stdout, planned.stderr
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def in_order(text: str, *parts: str) -> None:
    """Assert that these parts stand in the text, each once, in this order."""
    assert [text.count(part) for part in parts] == [1] * len(parts), text
    places = [text.index(part) for part in parts]
    assert places == sorted(places), text


def first_plan(outputs: Outputs, folder: Path) -> None:
    plan = outputs["planner plan"][0]
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in plan
    assert '"shop-staging-1"' in plan and "+ id     = (known after apply)" in plan
    (why,) = [out for command, (out, _) in outputs.items() if command.startswith("planner why")]
    assert "main.tf:23: network = terraform_data.network.id" in why
    code, _, errors = run("planner plan -var=environment=dev", folder)
    assert code == 1
    assert "The environment must be either staging or production." in errors and "main.tf line 1" in errors


def modules(outputs: Outputs, folder: Path) -> None:
    plan = outputs["planner plan"][0]
    assert "Plan: 3 to add, 0 to change, 0 to destroy." in plan
    for key in ("blue", "green"):
        assert f'# module.network["{key}"].terraform_data.vpc will be created' in plan
    graph = outputs["planner graph"][0]
    edges = set(re.findall(r'"\[root\] (.*?)" -> "\[root\] (.*?)"\n', graph))
    assert ("terraform_data.gateway (expand)", "module.network (close)") in edges
    assert ("module.network.var.name (expand, input)", "module.network (expand)") in edges
    (why,) = [out for command, (out, _) in outputs.items() if command.startswith("planner why")]
    assert "main.tf:10: input = { for name, network in module.network : name => network.id }" in why
    assert "network/main.tf:9:" in why


def replacement(outputs: Outputs, folder: Path) -> None:
    plan = outputs["planner plan -var=release=2 -out=next"][0]
    assert "Plan: 3 to add, 0 to change, 3 to destroy." in plan
    assert plan.count("+/- resource") == 3 and "-/+" not in plan
    graph = outputs["planner graph -type=apply -plan=next"][0]
    edges = set(
        re.findall(r'"\[root\] (.*?)" -> "\[root\] (.*?)"\n', re.sub(r" deposed [0-9a-f]{8}", " deposed", graph))
    )
    assert ("terraform_data.image (destroy deposed)", "terraform_data.disk (destroy deposed)") in edges
    assert ("terraform_data.server (destroy deposed)", "terraform_data.server") in edges
    apply = re.sub(r" \(deposed object [0-9a-f]{8}\)", "", outputs["planner apply next"][0])
    in_order(
        apply,
        "terraform_data.image: Creation complete",
        "terraform_data.disk: Creation complete",
        "terraform_data.server: Creation complete",
        "terraform_data.server: Destroying...",
        "terraform_data.disk: Destroying...",
        "terraform_data.image: Destroying...",
        "Apply complete! Resources: 3 added, 0 changed, 3 destroyed.",
    )


def destroy_order(outputs: Outputs, folder: Path) -> None:
    assert "Plan: 0 to add, 0 to change, 3 to destroy." in outputs["planner plan -destroy -out=end"][0]
    destroyed = [
        "terraform_data.app: Destroying...",
        "terraform_data.app: Destruction complete",
        "terraform_data.schema: Destroying...",
        "terraform_data.schema: Destruction complete",
        "terraform_data.database: Destroying...",
        "Apply complete! Resources: 0 added, 0 changed, 3 destroyed.",
    ]
    apply = outputs["planner apply end"][0]
    in_order(apply, *destroyed)
    in_order(apply, "terraform_data.app (local-exec): the app goes first", "terraform_data.app: Destruction complete")
    # the state remembers the order: without the configuration, too
    assert run("planner apply -auto-approve", folder)[0] == 0
    (folder / "main.tf").write_text("")
    code, plan, _ = run("planner plan", folder)
    assert (code, plan.count("is not in configuration")) == (0, 3)
    code, apply, _ = run("planner apply -auto-approve", folder)
    assert code == 0
    in_order(apply, *destroyed)


def cycle(outputs: Outputs, folder: Path) -> None:
    errors = outputs["planner validate"][1]
    for name, needed, line in (("first", "third", 2), ("next", "first", 3), ("third", "next", 4)):
        assert f"local.{name} needs local.{needed} (main.tf:{line}: {name}" in errors
    assert "To break it, remove one of these:" in errors
    for name, needed in (("first", "third"), ("next", "first"), ("third", "next")):
        assert f"  - the reference from local.{name} to local.{needed}" in errors


def partial_failure(outputs: Outputs, folder: Path) -> None:
    out, errors = outputs["planner apply -auto-approve"]
    assert errors.count("Error:") == 1 and "exit status 3" in errors and "main.tf line 8" in errors
    assert "never_reached: Creating" not in out
    assert outputs["planner state list"][0].split() == [
        "terraform_data.fails",
        "terraform_data.ok",
        "terraform_data.unrelated",
    ]
    plan = outputs["planner plan"][0]
    assert "# terraform_data.fails is tainted, so it must be replaced" in plan
    assert "# terraform_data.never_reached will be created" in plan
    assert "Plan: 2 to add, 0 to change, 1 to destroy." in plan


def remote_state(outputs: Outputs, folder: Path) -> None:
    assert outputs["planner -chdir=consumer output subnet"][0] == '"10.3.1.0/24"\n'
    plan = outputs["planner -chdir=consumer apply -auto-approve"][0]
    assert '+ input  = "10.3.1.0/24"' in plan.split("Plan: 1 to add")[0]
    (folder / "producer" / "terraform.tfstate").unlink()
    code, _, errors = run("planner -chdir=consumer plan", folder)
    assert code == 1
    assert "../producer/terraform.tfstate" in errors and "main.tf line 1" in errors


def policies(outputs: Outputs, folder: Path) -> None:
    table, _ = outputs["planner policy check -policy=policies"]
    assert "Policies: 2 denied, 1 undecided." in table
    assert re.search(r"deny +open +terraform_data.gateway ", table) and re.search(
        r"deny +owner +terraform_data.d", table
    )
    assert re.search(r"undecided +owner +terraform_data.replica +is decided when", table)
    assert "main.tf:11" in outputs["planner policy check -policy=policies -proofs"][0]
    (errors,) = [errors for command, (_, errors) in outputs.items() if command.startswith("planner apply")]
    assert errors.count("Error:") == 1 and "Denied by policy owner" in errors
    (folder / "main.tf").write_text(re.sub(r"\{ Environment = ", "{ Owner = ", (folder / "main.tf").read_text()))
    assert (
        run("planner apply -auto-approve -policy=policies -policy-override=open -override-reason=demo", folder)[0] == 0
    )


def fleet(outputs: Outputs, folder: Path) -> None:
    assert "Batch plan: 9 unchanged (9 reused)." in outputs["planner batch plan"][0]  # of two, the later one
    (why,) = [out for command, (out, _) in outputs.items() if command.startswith("planner batch why mon")]
    assert "monitoring waits for network, through 2 others:" in why
    assert "planner.batch.hcl:" in why and "live/monitoring/main.tf:12" in why
    assert "Batch apply: 9 applied." in outputs["planner batch apply -auto-approve"][0]
    assert "none denied." in outputs["planner batch policy -policy=policies"][0]
    (chosen,) = [json.loads(out) for command, (out, _) in outputs.items() if "-json 'rdeps(queue)'" in command]
    assert [unit["unit"] for unit in chosen["units"]] == ["queue", "service/orders", "service/users", "monitoring"]
    (part,) = [json.loads(out) for command, (out, _) in outputs.items() if "graph -json tag:core" in command]
    units = [node["unit"] for node in part["nodes"]]
    assert units == ["identity", "network", "database/users", "queue", "service/users"]
    assert "queue means queue" in outputs["planner batch why -select='rdeps(queue)' monitoring"][0]
    assert "Batch destroy: 9 applied." in outputs["planner batch destroy -auto-approve"][0]
    assert {path.name for path in folder.glob("fleet.*")} == {"fleet.html", "fleet.xml", "fleet.md"}
    code, out, _ = run("planner batch plan", folder)
    assert (code, "Batch plan: 3 units change, 6 incomplete." in out) == (0, True)
    storage = folder / "modules" / "storage" / "main.tf"
    storage.write_text(storage.read_text().replace("${var.name}-data", "data"))
    code, out, _ = run("planner batch policy -policy=policies", folder)
    assert code == 1
    assert "deny       bucket  database/orders  module.storage.terraform_data.bucket has the bucket of" in out


def stack(outputs: Outputs, folder: Path) -> None:
    assert "component.service[*] is deferred" in outputs["planner stacks plan -deployment=test"][0]
    (why,) = [out for command, (out, _) in outputs.items() if " why " in command]
    assert "shop.tfcomponent.hcl:11" in why and "component.network, which changes" in why
    applied = outputs["planner stacks apply -deployment=test -input=false"][0]
    assert "Approved by nothing_goes." in applied and "test: 2 added" in applied
    shown = outputs["planner stacks output"][0]
    assert '"b" = "server-b"' in shown.partition("test:")[0]
    destroyed = outputs["planner stacks destroy -auto-approve"][0]
    lines = [line for line in destroyed.splitlines() if "Destruction complete" in line]
    order = [line.partition(":")[0].partition("[")[0] for line in lines]
    assert order == ["component.service"] * 2 + ["component.network"] * 2 + ["component.service", "component.network"]
    assert {path.name for path in (folder / "stack-states").iterdir()} == {"production", "test"}


def python(outputs: Outputs, folder: Path) -> None:
    assert outputs["python gate.py"][0] == "4 added, 0 changed, 0 destroyed\n"
    refused = outputs["python gate.py image=web:1.5"][0]
    assert 'because of var.image "web:1.4" -> "web:1.5"' in refused
    assert outputs["python drift.py"][0] == "All 4 objects match the state.\n"
    notebook = json.loads((folder / "graph.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    program = "\n".join(source for source in sources if "pandas" not in source)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def linked_stacks(outputs: Outputs, folder: Path) -> None:
    in_order(outputs["planner batch why shop/eu network/eu"][0], "shop/shop.tfdeploy.hcl:1", "network.tfdeploy.hcl:9")
    planned = outputs["planner batch plan"][0]
    assert "shop/eu     incomplete    1                   because of network/eu" in planned
    assert (
        "terraform_data.service of shop/eu depends on id in the output vpc"
        in outputs["planner batch why pending shop/eu"][0]
    )
    assert "Batch apply: 5 applied." in outputs["planner batch apply -auto-approve"][0]
    assert "Batch plan: 3 unchanged." in outputs["planner batch plan 'deps(monitoring)'"][0]
    assert "Objects: 5 destroyed." in outputs["planner batch destroy -auto-approve"][0]


CLAIMS: dict[str, Callable[[Outputs, Path], None]] = {
    "01_first_plan": first_plan,
    "02_modules": modules,
    "03_replacement": replacement,
    "04_destroy_order": destroy_order,
    "05_cycle": cycle,
    "06_partial_failure": partial_failure,
    "07_remote_state": remote_state,
    "08_policies": policies,
    "09_fleet": fleet,
    "11_stack": stack,
    "12_linked_stacks": linked_stacks,
    "13_python": python,
}


@pytest.mark.parametrize("name", thinned(NAMES, 3))
def test_example(name: str, tmp_path: Path) -> None:
    if "postgres" in str(name):
        pytest.skip("tests/batch/test_services.py runs it on a database of its own")
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    outputs: Outputs = {}
    for command in commands(name):
        code, out, errors = run(command, folder)
        assert code == int((name, command) in FAILING), f"{command}\n{out}{errors}"
        if code == 0:
            assert errors == "", command
        outputs[command] = (out, errors)
    assert outputs
    CLAIMS[name](outputs, folder)
