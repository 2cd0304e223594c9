"""Small fleets for tests, written from a few words; and the command line run in this process."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planner.cli.main import dispatch
from planner.render.terminal import Terminal

BACKEND = 'terraform {\n  backend "local" {}\n}\n'


def unit(reads: Mapping[str, str] | None = None, value: str = '"x"', more: str = "") -> str:
    """A root module with one resource and one output; `reads` are data sources and the folders that they read."""
    parts = [BACKEND]
    for name, folder in (reads or {}).items():
        parts.append(
            f'data "terraform_remote_state" "{name}" {{\n  backend = "local"\n'
            f'  config  = {{ path = "../{folder}/terraform.tfstate" }}\n}}\n'
        )
    inputs = [f"data.terraform_remote_state.{name}.outputs.id" for name in reads or {}]
    joined = "[" + ", ".join([*inputs, value]) + "]"
    parts.append(f'resource "terraform_data" "main" {{\n  input = {joined}\n}}\n')
    parts.append('output "id" {\n  value = terraform_data.main.id\n}\n')
    return "".join([*parts, more])


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def chain(root: Path, *names: str) -> None:
    """Units of which each reads the state of the one before."""
    for i, name in enumerate(names):
        write(root, {f"{name}/main.tf": unit({"up": names[i - 1]} if i else None)})


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    here = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


class Ran:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, errors: str) -> None:
        self.code, self.out, self.errors = code, out, errors

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def outcomes(self) -> dict[str, str]:
        return {found["unit"]: found["outcome"] for found in self.json["units"]}

    def unit(self, name: str) -> Any:
        return next(found for found in self.json["units"] if found["unit"] == name)


def batch(root: Path, *words: str, answers: str = "") -> Ran:
    """A batch command in this process, units included unless the words say otherwise."""
    running = ("plan", "apply", "destroy", "validate", "query", "policy")
    if words[0] in running and not any(word.startswith("-executor") for word in words):
        words = (words[0], "-executor=inline", *words[1:])
    terminal = Terminal(io.StringIO(answers), io.StringIO(), io.StringIO(), colour=False)
    with inside(root):
        code = dispatch(["batch", *words], terminal)
    out, err = (output.getvalue() for output in terminal.outputs)
    return Ran(code, out, err)
