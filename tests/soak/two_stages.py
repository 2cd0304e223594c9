"""Random configurations in two stages, beside OpenTofu: applied by both, edited, planned and applied by both again.

    TOFU=PATH python tests/soak/two_stages.py [COUNT [SEED]]

Compared are exit codes, the planned actions with their reasons, values known before the apply, outputs, and the states
after each apply. Ids are random, so each id is named by where it stands. What differs is printed with its seed, and the
two directories are kept.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "renew"))

from conformance import forked  # noqa: E402
from random_edits import Files  # noqa: E402
from random_language import configuration, edited, expression  # noqa: E402

TOFU = os.environ.get("TOFU") or shutil.which("tofu") or "tofu"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DIFFER = {"timestamp()": '"t"', "uuid()": '"u"', "sha1(": "length("}
"""what differs from run to run, or with random ids, and what stands in its place"""
MODULE = """
variable "x" {
  default = null
}
resource "terraform_data" "in" {
  input = var.x
}
output "y" {
  value = terraform_data.in.output
}
"""


def steady(text: str) -> str:
    for before, after in DIFFER.items():
        text = text.replace(before, after)
    return text


def first_stage(r: random.Random) -> Files:
    files = {name: steady(text) for name, text in configuration(r).items()}
    names = re.findall(r'^(?:/\* s \*/ )?resource "terraform_data" "([^"]+)"', "".join(files.values()), re.M)
    known = ["var.prefix", *(f"terraform_data.{name}" for name in names)]
    files["extra.tf"] = ""
    for number in range(r.choice([0, 1, 1, 2])):
        repeated = r.choice(["", "  count = 2\n", '  for_each = toset(["k", "é"])\n'])
        files["extra.tf"] += (
            f'module "m{number}" {{\n  source = "./child"\n{repeated}  x = {expression(r, known, lines=False)}\n}}\n'
        )
    files["extra.tf"] = steady(files["extra.tf"])
    files["child/main.tf"] = MODULE
    files["text"] = "a text\n"
    return files


def second_stage(r: random.Random, files: Files) -> tuple[Files, list[str]]:
    """The edited files and the arguments of the second plan."""
    sources = {name: text for name, text in files.items() if "/" not in name}
    files = files | {name: steady(text) for name, text in edited(r, sources).items()}
    names = re.findall(r'^(?:/\* s \*/ )?resource "terraform_data" "([^"]+)"', "".join(files.values()), re.M)
    kind = r.random()
    if names and kind < 0.15:  # a renaming
        name = r.choice(names)
        for file, text in files.items():
            files[file] = re.sub(rf'(terraform_data"? ?[".]){re.escape(name)}\b', rf"\1{name}_new", text)
        if r.random() < 0.7:
            files["moved.tf"] = f"moved {{\n  from = terraform_data.{name}\n  to   = terraform_data.{name}_new\n}}\n"
    elif names and kind < 0.25:
        name = r.choice(names)
        destroy = r.choice(["true", "false"])
        for file, text in files.items():
            files[file] = re.sub(
                rf'^resource "terraform_data" "{re.escape(name)}".*?^}}\n', "", text, flags=re.M | re.S
            )
        files["removed.tf"] = (
            f"removed {{\n  from = terraform_data.{name}\n  lifecycle {{\n    destroy = {destroy}\n  }}\n}}\n"
        )
    elif kind < 0.32:
        files["child/main.tf"] = files["child/main.tf"].replace('"in"', '"inner"').replace(".in.", ".inner.")
        if r.random() < 0.7:
            files["child/main.tf"] += "moved {\n  from = terraform_data.in\n  to   = terraform_data.inner\n}\n"
    elif kind < 0.4 and "module" in files["extra.tf"]:
        files["extra.tf"] = files["extra.tf"].replace('"m0"', '"n0"')
        if r.random() < 0.7:
            files["extra.tf"] += "moved {\n  from = module.m0\n  to   = module.n0\n}\n"
    elif kind < 0.45:
        files["import.tf"] = (
            'import {\n  to = terraform_data.imported\n  id = "an-id"\n}\n'
            'resource "terraform_data" "imported" {\n  input = var.prefix\n}\n'
        )
    words: list[str] = []
    if names and r.random() < 0.2:
        words = [r.choice(["-target", "-exclude", "-replace"]) + f"=terraform_data.{r.choice(names)}"]
        if words[0].startswith("-replace") and re.match(r"-replace=terraform_data\.(count|each)", words[0]):
            words = []
    elif r.random() < 0.1:
        words = [r.choice(["-destroy", "-refresh-only", "-refresh=false"])]
    return files, words


def write(folder: Path, files: Files) -> None:
    for old in [*folder.glob("*.tf"), *folder.glob("*.tfvars")]:
        old.unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode())


def ours(folder: Path, *words: str) -> tuple[int, str, str]:
    ran = forked.run(words, folder, ENVIRONMENT)
    return ran.returncode, ran.stdout, ran.stderr


def theirs(folder: Path, *words: str) -> tuple[int, str, str]:
    ran = subprocess.run([TOFU, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


ENVIRONMENT = {**os.environ, "TF_CLI_CONFIG_FILE": "/dev/null", "NO_COLOR": "1", "CHECKPOINT_DISABLE": "1"}


def named(value: Any, names: dict[str, str]) -> Any:
    """A document with ids named by where they came from."""
    if isinstance(value, str):
        return MOMENT.sub("NOW", ID.sub(lambda found: names.get(found[0], "ID"), value))
    if isinstance(value, list):
        return [named(item, names) for item in value]
    if isinstance(value, dict):
        return {named(key, names): named(item, names) for key, item in value.items()}
    return value


def state_of(folder: Path) -> tuple[Any, dict[str, str]]:
    path = folder / "terraform.tfstate"
    if not path.exists() or not path.read_bytes():
        return None, {}
    state = json.loads(path.read_text())
    names = {}
    for resource in state["resources"]:
        for instance in resource["instances"]:
            where = f"{resource.get('module', '')}.{resource['name']}[{instance.get('index_key')}]"
            names[str(instance["attributes"].get("id"))] = where + instance.get("deposed", "")[:1]
    state = {key: item for key, item in state.items() if key not in ("lineage", "terraform_version")}
    state["check_results"] = sorted(state.get("check_results") or (), key=lambda one: str(one["config_addr"]))
    for check in state["check_results"]:
        check["objects"] = sorted(check["objects"] or (), key=lambda one: str(one["object_addr"]))
    if state["check_results"]:  # which OpenTofu writes in random order, as a change
        del state["serial"]
    for resource in state["resources"]:
        for instance in resource["instances"]:
            instance.pop("private", None)
            instance.get("dependencies", []).sort()
            instance.pop("deposed", None)
    return state, names


def planned(document: str, names: dict[str, str]) -> Any:
    plan = json.loads(document)
    changes = {}
    for change in plan.get("resource_changes", ()):
        key = change["address"] + change.get("deposed", "")[:1]
        what = change["change"]
        changes[key] = {
            "actions": what["actions"],
            "reason": change.get("action_reason"),
            "previous": change.get("previous_address"),
            "importing": what.get("importing"),
            "paths": what.get("replace_paths"),
            "before": what.get("before"),
            "after": what.get("after"),
            "unknown": what.get("after_unknown"),
            "sensitive": what.get("after_sensitive"),
        }
    outputs = {name: [one["actions"], one.get("after")] for name, one in plan.get("output_changes", {}).items()}
    drift = sorted(change["address"] for change in plan.get("resource_drift", ()))
    return named({"changes": changes, "outputs": outputs, "drift": drift}, names)


def compare(seed: int) -> str:
    """What differs, "" for nothing."""
    r = random.Random(seed)
    base = Path(tempfile.mkdtemp(prefix=f"two-{seed}-"))
    folders = {"ours": base / "ours" / "w", "theirs": base / "theirs" / "w"}
    files = first_stage(r)
    second, words = second_stage(r, files)
    for folder in folders.values():
        folder.mkdir(parents=True)
        write(folder, files)
    run = {"ours": ours, "theirs": theirs}
    problem = stage(folders, run, [], "first") or ""
    if not problem:
        for folder in folders.values():
            write(folder, second)
        problem = stage(folders, run, words, "second") or ""
    if problem.startswith("both fail"):
        problem = ""
    if not problem:
        shutil.rmtree(base)
    return f"seed {seed} {base} {words}: {problem}" if problem else ""


def stage(folders: dict[str, Path], run: dict[str, Any], words: list[str], name: str) -> str:
    found: dict[str, dict[str, Any]] = {}
    for who, folder in folders.items():
        do = run[who]
        _, names = state_of(folder)
        begun = do(folder, "init", "-input=false")
        made = do(folder, "plan", "-out=p", "-input=false", *words)
        found[who] = {"init": begun[0], "plan": made[0], "error": begun[2] + made[2]}
        if made[0] == 0:
            shown = do(folder, "show", "-json", "p")
            found[who]["changes"] = planned(shown[1], names) if not shown[0] else shown[2]
            applied = do(folder, "apply", "-auto-approve", "p")
            found[who]["apply"] = applied[0]
            found[who]["error"] += applied[2]
            state, names = state_of(folder)
            found[who]["state"] = named(state, names)
    mine, other = found["ours"], found["theirs"]
    for key in ("init", "plan", "changes", "apply", "state"):
        if mine.get(key) != other.get(key):
            errors = f"{mine['error'][:600]}\n{other['error'][:600]}"
            return f"{name} stage, {key}: {difference(mine.get(key), other.get(key))}\n{errors}"
    return "both fail" if mine["plan"] or mine.get("apply") else ""


def difference(one: Any, other: Any, path: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return difference(one.get(key), other.get(key), f"{path}/{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            if a != b:
                return difference(a, b, f"{path}/{number}")
    return f"{path}: ours {json.dumps(one)[:500]}, theirs {json.dumps(other)[:500]}"


def main() -> int:
    count, seed = [int(word) for word in sys.argv[1:]] + [2000, 1][len(sys.argv) - 1 :]
    bad = 0
    with ProcessPoolExecutor(2) as pool:
        for number, problem in enumerate(pool.map(compare, range(seed, seed + count)), 1):
            if problem:
                bad += 1
                print(problem, flush=True)
            if number % 100 == 0:
                print(f"{number} configurations, {bad} differ", flush=True)
    print(f"{count} configurations, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
