"""planner beside Terragrunt, on one repository of Terragrunt's:

    python tests/bench/fleet_terragrunt.py -terragrunt PROGRAM -tofu PROGRAM [-mirror FOLDER] [-units 40,200]

A fleet is written: an included root.hcl, one module of eight `terraform_data` and, with a file system mirror that has
hashicorp/random, one `random_pet`; states in local files; units in rows of ten, of which each but those of the first
row has a `dependency` in the row before. In turn `terragrunt run --all plan` drives OpenTofu and planner, and `planner
batch plan` reads the same files: on the new fleet, once more, and when everything is applied. Terragrunt gets a plugin
cache, no colours, no questions, and as many units at a time as there are processors, and twice that; the better time
counts. All of them have run before on a fleet of two units, so that caches of programs and plugins are there. Prints
seconds and ratios. `-driven-at-most` leaves Terragrunt with planner out where there are more units: that takes long.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROW = 10
ROOT = """
remote_state {
  backend  = "local"
  generate = { path = "backend.tf", if_exists = "overwrite_terragrunt" }
  config   = { path = "${get_parent_terragrunt_dir()}/states/${path_relative_to_include()}.tfstate" }
}
locals { team = "core" }
inputs = { team = local.team }
"""
MODULE = """
variable "team" {}
variable "name" {}
variable "up" { default = "" }
resource "terraform_data" "objects" {
  count = 8
  input = "${var.name} ${var.team} ${var.up} ${count.index}"
}
output "id" { value = terraform_data.objects[0].id }
output "name" { value = var.name }
"""
RANDOM = """
terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}
resource "random_pet" "name" { length = 2 }
"""
UNIT = """
include "root" { path = find_in_parent_folders("root.hcl") }
terraform { source = "../../modules//thing" }
"""
DEPENDENCY = """
dependency "up" {
  config_path                             = "../%s"
  mock_outputs                            = { id = "mock", name = "mock" }
  mock_outputs_allowed_terraform_commands = ["init", "validate", "plan"]
}
"""


def write(place: Path, units: int, has_plugin: bool) -> None:
    """The repository."""
    (place / "modules/thing").mkdir(parents=True)
    (place / "root.hcl").write_text(ROOT)
    (place / "modules/thing/main.tf").write_text(MODULE + (RANDOM if has_plugin else ""))
    for number in range(units):
        folder = place / "live" / f"u{number:03}"
        folder.mkdir(parents=True)
        above = f"u{number - ROW:03}"
        inputs = f'name = "{folder.name}"' + ("\n  up = dependency.up.outputs.name" if number >= ROW else "")
        more = DEPENDENCY % above if number >= ROW else ""
        (folder / "terragrunt.hcl").write_text(f"{UNIT}{more}inputs = {{\n  {inputs}\n}}\n")


class Bench:
    """Runs programs on a repository, each as if it were alone."""

    def __init__(self, place: Path, environment: dict[str, str], terragrunt: str, tofu: str) -> None:
        self.live, self.environment, self.terragrunt, self.tofu = place / "live", environment, terragrunt, tofu
        self.planner = place / "planner"
        self.planner.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planner "$@"\n')
        self.planner.chmod(0o755)

    def clean(self) -> None:
        """Nothing of earlier runs is left but states."""
        for folder in (*self.live.rglob(".terragrunt-cache"), *self.live.rglob(".planner")):
            shutil.rmtree(folder, ignore_errors=True)
        for lock in self.live.rglob(".terraform.lock.hcl"):
            lock.unlink()

    def with_terragrunt(self, program: str, parallel: int) -> float:
        words = [self.terragrunt, "run", "--all", "--non-interactive", "--no-color", f"--parallelism={parallel}"]
        return self._run([*words, f"--tf-path={program}", "--", "plan", "-input=false", "-no-color"])

    def with_planner(self, *words: str) -> float:
        return self._run([str(self.planner), "batch", *words])

    def _run(self, words: list[str]) -> float:
        began = time.perf_counter()
        done = subprocess.run(words, cwd=self.live, env=self.environment, capture_output=True, text=True)
        seconds = time.perf_counter() - began
        if done.returncode:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return seconds


def measure(bench: Bench, units: int, driven: bool) -> None:
    """All of it on one fleet. `driven`: Terragrunt with planner, too."""
    at_once = os.cpu_count() or 1
    for stage in ("new, nothing installed", "new, once more", "applied, nothing to do"):
        found: dict[str, float] = {}
        if stage.startswith("applied"):
            bench.with_planner("apply", "-auto-approve")
        is_first = not stage.startswith("new, once")
        for name, program in (("tofu", bench.tofu), ("planner", str(bench.planner)))[: 1 + driven]:
            tries = []
            for parallel in (at_once, 2 * at_once):
                if is_first:
                    bench.clean()
                tries.append(bench.with_terragrunt(program, parallel))
            found[f"terragrunt, {name}"] = min(tries)
        if is_first:
            bench.clean()
        found["planner"] = bench.with_planner("plan")
        if not is_first:
            found["planner -no-cache"] = bench.with_planner("plan", "-no-cache")
        for name, seconds in found.items():
            ratio = seconds / found["planner"]
            print(f"{units:4} units  {stage:24} {name:20} {seconds:8.2f} s  {ratio:6.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-terragrunt", required=True)
    parser.add_argument("-tofu", required=True)
    parser.add_argument("-mirror", type=Path)
    parser.add_argument("-units", default="40,200")
    parser.add_argument("-driven-at-most", type=int, default=40)
    arguments = parser.parse_args()
    home, mirror = Path(tempfile.mkdtemp(prefix="fleet", dir="/tmp")), arguments.mirror
    environment = {name: v for name, v in os.environ.items() if not re.match("TF_|TG_|PLANNER_", name)}
    environment |= {"XDG_CACHE_HOME": str(home / "cache"), "TF_PLUGIN_CACHE_DIR": str(home / "plugins")}
    environment |= {"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "1"}
    environment |= {"TF_CLI_CONFIG_FILE": str(home / "settings.tfrc")}
    text = f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n' if mirror else ""
    (home / "settings.tfrc").write_text(text)
    (home / "plugins").mkdir()
    for units in (2, *map(int, arguments.units.split(","))):
        place = home / str(units)
        write(place, units, mirror is not None)
        bench = Bench(place, environment, arguments.terragrunt, arguments.tofu)
        if units == 2:
            bench.with_terragrunt(bench.tofu, 1)
            bench.with_planner("plan", "-executor=processes")
        else:
            measure(bench, units, units <= arguments.driven_at_most)
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
