"""What is reused where units have real plugins: `python tests/bench/fleet_plugins.py -mirror FOLDER [-units N]`.

FOLDER is a file system mirror with hashicorp/random and hashicorp/local. A fleet is applied; then it is planned with
nothing kept, and with one file changed: as usual, which looks at all objects, and with -reuse=1h. At last a file that a
unit made is removed behind its back: the usual plan says so. Prints seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNIT = """
terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    local  = { source = "hashicorp/local" }
  }
  backend "local" {}
}
resource "random_pet" "names" {
  count  = 5
  length = 2
}
resource "local_file" "made" {
  filename = "${path.module}/made.txt"
  content  = join(", ", random_pet.names[*].id)
}
"""


def batch(folder: Path, environment: dict[str, str], *words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "planner", "batch", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return time.perf_counter() - began, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-mirror", type=Path, required=True)
    parser.add_argument("-units", type=int, default=200)
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="fleet", dir="/tmp"))
    settings = place / "settings.tfrc"
    settings.write_text(
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{arguments.mirror}"\n  }}\n}}\n'
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "TF_CLI_CONFIG_FILE": str(settings)}
    environment["TF_PLUGIN_CACHE_DIR"] = str(place / "plugins")
    (place / "plugins").mkdir()
    fleet = place / "fleet"
    for number in range(arguments.units):
        folder = fleet / f"u{number:03}"
        folder.mkdir(parents=True)
        (folder / "main.tf").write_text(UNIT, encoding="utf-8")
    steps = [
        ("apply", ("apply", "-auto-approve")),
        ("plan, nothing kept", ("plan", "-no-cache")),
        ("plan, one file changed", ("plan",)),
        ("plan -reuse=1h, another one changed", ("plan", "-reuse=1h")),
    ]
    for number, (title, words) in enumerate(steps):
        with (fleet / f"u{number:03}" / "main.tf").open("a", encoding="utf-8") as file:
            file.write("# changed\n")
        seconds, done = batch(fleet, environment, *words)
        said = [line for line in done.stdout.splitlines() if line.startswith("Batch ")] or [done.stderr[:2000]]
        print(f"{title:40} {seconds:7.2f} s   {said[0]}", flush=True)
        if done.returncode:
            print(done.stderr[:2000])
    (fleet / "u009" / "made.txt").unlink()
    for words in (("plan", "-reuse=1h"), ("plan",), ("plan", "-refresh-only")):
        seconds, done = batch(fleet, environment, *words, "-detailed-exitcode")
        print(f"{'drift: ' + ' '.join(words):40} {seconds:7.2f} s   exit code {done.returncode}", flush=True)
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
