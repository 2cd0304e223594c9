"""Cases with the tests' plugins whose outcome was recorded from the reference implementation.

One JSON file a case: `protocol` of plugin_server.py, or `providers`, the names of those made with packages from PyPI
(see plugins.py), or both; `attached` when the plugins run all the time; `steps`; and `expected`, what happened. A step
has `files` of the working directory (what it does not name stays), `args` of plan, `schemas` (whether they are asked
for), `state` (what it is before the step), `made` (objects that are there from the start) and `world` (objects removed
or changed behind everybody's back: name -> new attributes or null). After `plan`, `show -json` and `apply` of each step
it is reduced by `outcome` to what any implementation must agree on: values, actions, events, positions; no words, no
times.

Run as a program (`REFERENCE=PROGRAM python recorded.py`) it records all cases anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases")
SECRETIVE = "example.com/test/pyvider"
"""the provider that encrypts what it keeps for itself, each time anew"""
EVENTS = {"apply_start", "apply_complete", "apply_errored", "ephemeral_action_started", "ephemeral_action_complete"}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
Run = Callable[..., tuple[int, str]]
"""words of a command, run in the working directory -> exit code and standard output"""


def play(case: dict[str, Any], folder: Path, world: Path, run: Run) -> list[dict[str, Any]]:
    """What each step of a case comes to."""
    found = []
    for step in case["steps"]:
        for name, text in step.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(required(case) + text if name == "main.tf" else text)
        for name, attributes in step.get("made", {}).items():
            (world / f"{name}.json").write_text(json.dumps(attributes))
        for name, attributes in step.get("world", {}).items():
            path = world / f"{name}.json"
            if attributes is None:
                path.unlink()
            else:
                path.write_text(json.dumps({**json.loads(path.read_text()), **attributes}))
        state = folder / "terraform.tfstate"
        if "state" in step:
            state.write_text(json.dumps(step["state"]))
        found.append(outcome(step, folder, run))
    return found


def names(case: dict[str, Any]) -> list[str]:
    """The providers of a case by their local names."""
    return list(case.get("providers", ["test"]))


def required(case: dict[str, Any]) -> str:
    """The block that says where the providers of a case come from."""
    lines = "".join(f'    {name} = {{ source = "example.com/test/{name}" }}\n' for name in names(case))
    return f"terraform {{\n  required_providers {{\n{lines}  }}\n}}\n"


def outcome(step: dict[str, Any], folder: Path, run: Run) -> dict[str, Any]:
    """What one step comes to."""
    plan = folder / "plan.bin"
    plan.unlink(missing_ok=True)
    code, out = run("plan", "-json", "-input=false", f"-out={plan.name}", *step.get("args", ()))
    found: dict[str, Any] = {"plan": {"code": code, "diagnostics": diagnostics(out), "changes": planned(out)}}
    if plan.exists():
        shown = json.loads(run("show", "-json", plan.name)[1] or "{}")  # a plan that failed may not be shown
        for name in ("resource_changes", "resource_drift", "output_changes", "planned_values"):
            if name in shown:
                found["plan"][name] = shown[name]
    if code == 0:
        code, out = run("apply", "-json", "-input=false", plan.name)
        found["apply"] = {"code": code, "diagnostics": diagnostics(out), "events": events(out)}
    if "schemas" in step:
        found["schemas"] = json.loads(run("providers", "schema", "-json")[1])
    state = folder / "terraform.tfstate"
    if state.exists():
        found["state"] = recorded(json.loads(state.read_text()))
    return dict(json.loads(UUID.sub("<random>", json.dumps(found))))


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def diagnostics(out: str) -> list[Any]:
    """Severity and place of each problem; that providers are overridden is said by one and not by the other."""
    found = []
    for line in lines(out):
        problem = line.get("diagnostic")
        if problem is not None and "overrides" not in problem["summary"]:
            at = problem.get("range") or {}
            start = at.get("start") or {}
            found.append([problem["severity"], at.get("filename"), start.get("line"), start.get("column")])
    return sorted(found, key=str)


def planned(out: str) -> list[Any]:
    found = []
    for line in lines(out):
        if line["type"] in ("planned_change", "resource_drift"):
            change = line["change"]
            found.append([line["type"], change["resource"]["addr"], change["action"], change.get("reason")])
    return sorted(found, key=str)


def events(out: str) -> list[Any]:
    found = []
    for line in lines(out):
        if line["type"] in EVENTS:
            hook = line["hook"]
            found.append([line["type"], hook["resource"]["addr"], hook.get("action"), hook.get("id_value")])
    return sorted(found, key=str)


def recorded(state: dict[str, Any]) -> dict[str, Any]:
    for resource in state["resources"]:
        resource.pop("each", None)
        for instance in resource["instances"]:
            if instance.get("deposed"):
                instance["deposed"] = "<new>"
            if instance.get("private") and SECRETIVE in resource.get("provider", ""):
                instance["private"] = "<encrypted>"
    return {"resources": state["resources"], "outputs": state["outputs"]}


def record(path: Path, reference: str) -> None:
    """Fill in what the reference implementation makes of a case."""
    from provider.plugins import attached, write, write_settings

    case = json.loads(path.read_text())
    base = Path(tempfile.mkdtemp())
    folder, world = base / "project", base / "world"
    folder.mkdir()
    world.mkdir()
    programs = {name: write(name, base / "bin" / name, case.get("protocol", 6)) for name in names(case)}
    environment = {
        **os.environ,
        "TF_CLI_CONFIG_FILE": str(write_settings(base, {} if "attached" in case else programs)),
        "TEST_PROVIDER_WORLD": str(world),
        "TEST_PROVIDER_START": "tls",  # the reference implementation insists on it
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run([reference, *words], cwd=folder, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    attach = attached(programs, TEST_PROVIDER_WORLD=str(world)) if "attached" in case else nullcontext("")
    with attach as environment["TF_REATTACH_PROVIDERS"]:
        case["expected"] = play(case, folder, world, run)
    path.write_text(json.dumps(case, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    shutil.rmtree(base)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    for found in sorted(CASES.glob(f"{sys.argv[1] if len(sys.argv) > 1 else '*'}.json")):
        record(found, os.environ["REFERENCE"])
        print(found.stem)
