"""What programs that drive the `tofu` or `terraform` binary rely on, as cases that any such binary can be put through.

A case is a list of steps in one directory: write a file, remove one, or run a command line. After every run the exit
code, the files, the states and the backend that is set up are noted; of the output only what clients read. What
OpenTofu 1.12.6 did is recorded in `contract_expected.json`; to record again:

    python -m tests.clients.contract /path/to/tofu > tests/clients/contract_expected.json
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.clients.contract_cases import CASES
from tests.conformance import forked

ANSI = re.compile("\x1b\\[[0-9;]*m")
TIME = re.compile(r"\.\d{10}\.")
KEPT = ("PATH", "HOME", "LANG", "PYTHONPATH", "PYTHONHASHSEED", "VIRTUAL_ENV", "XDG_CACHE_HOME", "TMPDIR")
SENTENCES = (
    "Plan: 1 to add, 0 to change, 0 to destroy.",
    "Plan: 0 to add, 1 to change, 0 to destroy.",
    "Plan: 0 to add, 0 to change, 1 to destroy.",
    "No changes. Your infrastructure matches the configuration.",
    "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.",
    "Apply complete! Resources: 0 added, 1 changed, 0 destroyed.",
    "Destroy complete! Resources: 1 destroyed.",
    "Refreshing state...",
    "Error: Backend initialization required",
    "Error: Module not installed",
)


def environment(folder: Path, more: dict[str, str]) -> dict[str, str]:
    """The variables that a run sees: none that could change what the program does, but those of the step."""
    settings = folder.parent / "settings"
    settings.touch()
    plain = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**plain, "TF_CLI_CONFIG_FILE": str(settings), "CHECKPOINT_DISABLE": "1", **more}


def play(binary: list[str] | None, steps: list[Any], folder: Path) -> list[dict[str, Any]]:
    """Go through the steps of a case with a binary, or with ours; tell what was seen after every run."""
    folder.mkdir(parents=True)
    seen = []
    for step in steps:
        if "write" in step:
            path = folder / step["write"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step["text"])
        elif "remove" in step:
            (folder / step["remove"]).unlink()
        else:
            seen.append(_run(binary, step, folder))
    return seen


def _run(binary: list[str] | None, step: dict[str, Any], folder: Path) -> dict[str, Any]:
    words = [word.replace("{here}", str(folder)) for word in step["run"]]
    variables, answers = environment(folder, step.get("env", {})), step.get("stdin", "")
    if binary is None:
        result = forked.run(words, folder, variables, answers)
    else:
        settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
        result = subprocess.run([*binary, *words], cwd=folder, env=variables, input=answers, **settings)
    out = ANSI.sub("", result.stdout)
    seen: dict[str, Any] = {"run": " ".join(step["run"]), "code": result.returncode}
    read = step.get("read")
    if read == "text":
        seen["out"] = out.replace(str(folder), "{here}")
    elif read == "json":
        seen["out"] = _json(out)
    elif read == "keys":
        seen["keys"] = sorted(_json(out) or ())
        seen["one line"] = out.count("\n") == 1
    elif read == "lines":
        lines = [_json(line) for line in out.splitlines()]
        seen["types"] = sorted({line.get("type", "") for line in lines if line} - {"", "log", "diagnostic"})
        seen["errors"] = any(line.get("@level") == "error" for line in lines if line)
        seen["pure"] = all(lines)
        seen["stderr"] = bool(result.stderr.strip())
    elif read == "sentences":
        both = out + ANSI.sub("", result.stderr)
        seen["sentences"] = [sentence for sentence in SENTENCES if sentence in both]
    return {**seen, **_left(folder)}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _left(folder: Path) -> dict[str, Any]:
    """What lies in the directory: which files, and what the states and the backend's description say."""
    left: dict[str, Any] = {"files": [], "states": {}}
    for path in sorted(folder.rglob("*")):
        name = TIME.sub(".TIME.", path.relative_to(folder).as_posix())
        # .applied.json: the record of what values were, which is ours alone and which no client looks at
        if not path.is_file() or name.endswith((".tf", ".tofu", ".tfvars", ".hcl", "/plugin_path", ".applied.json")):
            continue
        if name in left["files"]:
            continue
        left["files"].append(name)
        text = path.read_text(errors="replace")
        if name.endswith(".terraform/terraform.tfstate") or name == "data/terraform.tfstate":
            left["backend"] = json.loads(text).get("backend")
        elif ".tfstate" in path.name and ".TIME." not in name:
            left["states"][name] = _state(text)
        elif path.name == "modules.json":
            left["modules"] = json.loads(text)
        elif path.name == "environment":
            left["workspace"] = text
    return left


def _state(text: str) -> Any:
    if not text:
        return None
    document = json.loads(text)
    objects = {
        f"{r.get('module', '')}/{r['type']}.{r['name']}": [i["attributes"].get("input") for i in r["instances"]]
        for r in document["resources"]
    }
    return {"objects": objects, "outputs": document["outputs"]}


def main() -> None:
    """Record what a binary does."""
    binary = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        found = {name: play(binary, steps, Path(folder) / name / "work") for name, steps in CASES.items()}
    print(json.dumps(found, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
