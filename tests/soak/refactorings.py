"""Random refactorings of random configurations: the plan stays empty, and what is taken back is as it was.

    python tests/soak/refactorings.py [-number 200] [-seed 0] [-verbose]

A configuration of random_changes.py is applied, and one to three refactorings follow each other. Each has to leave a
plan without changes, or write nothing at all; then all are taken back, and every file has its former bytes, and the
state its objects.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from cli.conftest import make_terminal
from isolation import isolate
from random_changes import Changes

from planner.api.making import Making
from planner.cli import main
from planner.cli.flags import parse
from planner.cli.options import DESTROY, OPERATION, STATE, VARIABLES, plan_calls
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Failure
from planner.operations.options import OperationOptions
from planner.operations.plan import plan
from planner.workflows.editor import refactoring, refactoring_record
from planner.workflows.editor.adoption import adopt
from planner.workflows.editor.extraction import extract_module
from planner.workflows.editor.inlining import inline_module
from planner.workflows.editor.state_moves import from_record, split_state

FLAGS = (DESTROY, *OPERATION, *STATE, *VARIABLES)
_KEYED = re.compile(r'((?:module\.\w+|terraform_data\.\w+))\["([^"]+)"\]$')
Texts = dict[str, bytes]


def run_one(seed: int, kinds: Counter[str], verbose: bool = False) -> list[str]:
    """The mistakes of one configuration, in words. `kinds` counts the refactorings, and those that were refused."""
    rendered = Changes(seed, plugin=False).render(())
    for name, text in rendered.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    os.environ.update(rendered.environment)
    screen = make_terminal(False)
    for words in (["init"], ["apply", "-auto-approve", *rendered.options]):
        if main.dispatch(words, screen) != 0:
            return []
    options = plan_calls(Making, parse(list(rendered.options), FLAGS)).options
    if changes(options):
        return []  # such as a value of its own at each plan
    before, objects, problems = texts(), state(), []
    random, done = Random(seed), 0
    for number in range(random.randint(1, 3)):
        if not re.search(r"^resource ", Path("main.tf").read_text(), re.M):
            break
        kind, words, made = choose(random, options, can_split=number == 0)
        try:
            result = made()
        except Failure as failure:
            kinds[f"{kind}: {failure.diagnostics[0].summary}"] += 1
            report(verbose, seed, words, failure)
            continue
        refactoring_record.write(options, result, words)
        kinds[kind] += 1
        done += 1
        if kind == "split":
            problems += [f"seed {seed}: {' '.join(words)}: {one} in the other directory" for one in changes_in("other")]
        if different := changes(options):
            problems.append(f"seed {seed}: {' '.join(words)}: {different}")
    for _ in range(done):
        refactoring_record.undo(options, from_record)
    shutil.rmtree("other", ignore_errors=True)
    if texts() != before:
        problems.append(f"seed {seed}: not taken back")
    if state() != objects:
        problems.append(f"seed {seed}: the state is another one")
    return [*problems, *adopted(seed, options, kinds, verbose)]


def report(verbose: bool, seed: int, words: list[str], failure: Failure) -> None:
    """Print why a refactoring was refused."""
    if verbose:
        print(seed, words, *(f"{one.summary}: {one.detail}" for one in failure.diagnostics), sep="\n  ")


def adopted(seed: int, options: OperationOptions, kinds: Counter[str], verbose: bool) -> list[str]:
    """The mistakes of adopting all objects of a state in a directory without configuration."""
    known = {address for address in addresses(options) if not address.startswith("module.")}
    contents = texts()
    for name in contents:
        if name.endswith((".tf", ".tfvars")):
            os.remove(name)
    problems = []
    try:
        made = adopt(options, [], "adopted.tf")
    except Failure as failure:
        kinds[f"adopt: {failure.diagnostics[0].summary}"] += 1
        report(verbose, seed, ["adopt"], failure)
    else:
        refactoring_record.write(options, made, ["adopt"])
        kinds["adopt"] += 1
        planned = plan(options, Hooks()).complete
        left = [c.address for c in planned.plan.changes if c.action != "no-op"] if planned is not None else ["fails"]
        problems = [f"seed {seed}: adopted {name}" for name in left if name == "fails" or name in known]
        refactoring_record.undo(options)
        if Path("adopted.tf").exists():
            problems.append(f"seed {seed}: adopted, and not taken back")
    for name, data in contents.items():
        Path(name).write_bytes(data)
    return problems


def choose(
    random: Random, options: OperationOptions, can_split: bool
) -> tuple[str, list[str], Callable[[], refactoring.Refactoring]]:
    """A refactoring of something that the configuration declares."""
    text = Path("main.tf").read_text()
    new = f"n{random.randint(0, 999)}"
    resources = [f"terraform_data.{name}" for name in re.findall(r'^resource "terraform_data" "(\w+)"', text, re.M)]
    others = [f"module.{name}" for name in re.findall(r'^module "(\w+)"', text, re.M)]
    names = [f"var.{name}" for name in re.findall(r'^variable "(\w+)"', text, re.M)]
    names += [f"local.{name}" for name in re.findall(r"^locals \{\n\s+(\w+) =", text, re.M)]
    keyed = sorted(filter(_KEYED.match, addresses(options)))
    counted = [one for one in resources if f"{one}[0]" in addresses(options)]
    kind = random.choice(
        [
            "mv",
            "name",
            "extract",
            "extract",
            *(["inline"] * 2 if others else []),
            *(["key"] if keyed else []),
            *(["count"] if counted else []),
        ]
    )
    if can_split and random.random() < 0.4:
        kind = "split"
        number = random.choice([1, len(resources + others)])  # all together need nothing of what stays
        chosen = random.sample(resources + others, number)
        return kind, ["split-state", *chosen], lambda: split_state(options, chosen, "other")
    if kind == "inline":
        of = random.choice(others)
        return kind, ["inline-module", of], lambda: inline_module(options, of)
    if kind == "extract":
        chosen = random.sample(resources + others, min(random.randint(1, 3), len(resources + others)))
        return kind, ["extract-module", *chosen, new], lambda: extract_module(options, chosen, f"modules/{new}")
    if kind == "key":
        of = random.choice(keyed)
        return kind, ["rename-key", of, new], lambda: refactoring.rename_key(options, of, new)
    if kind == "count":
        of = random.choice(counted)
        return kind, ["count-to-for-each", of], lambda: refactoring.count_to_for_each(options, of)
    pool = resources + others if kind == "mv" else names
    of = random.choice(pool or resources)
    return kind, ["mv", of, new], lambda: refactoring.move(options, of, new)


def addresses(options: OperationOptions) -> list[str]:
    """The addresses of the objects, and of the module instances around them."""
    planned = plan(options, Hooks()).complete
    assert planned is not None
    known = {change.address for change in planned.plan.changes}
    return sorted(known | {match.group() for one in known for match in re.finditer(r"^module\.\w+\[[^]]+\]", one)})


def changes(options: OperationOptions) -> list[str]:
    """What a plan would change; "fails" if there is none."""
    planned = plan(options, Hooks()).complete
    if planned is None:
        return ["fails"]
    made = planned.plan
    return [c.address for c in made.changes if c.action != "no-op"] + [
        o.name for o in made.outputs if o.action != "no-op"
    ]


def changes_in(directory: str) -> list[str]:
    """What a plan in another directory would change."""
    above = os.getcwd()
    os.chdir(directory)
    try:
        if main.dispatch(["init"], make_terminal(False)) != 0:
            return ["init"]
        return changes(plan_calls(Making, parse([], FLAGS)).options)
    finally:
        os.chdir(above)
        for name in (".terraform", ".terraform.lock.hcl"):
            shutil.rmtree(Path(directory, name), ignore_errors=True)


def state() -> dict[str, Any]:
    """The content of the state without its serial, which only grows."""
    return {
        name: value for name, value in json.loads(Path("terraform.tfstate").read_bytes()).items() if name != "serial"
    }


def texts() -> Texts:
    """The bytes of all files but the state and its record."""
    return {
        str(path): path.read_bytes()
        for path in sorted(Path().rglob("*"))
        if path.is_file() and ".tfstate" not in path.name and path.name != "refactorings.json"
    }


def run() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-number", type=int, default=200)
    parser.add_argument("-seed", type=int, default=0)
    parser.add_argument("-verbose", action="store_true", help="print why refactorings were refused")
    arguments = parser.parse_args()
    isolate()
    kinds: Counter[str] = Counter()
    problems: list[str] = []
    seed = arguments.seed
    while sum(number for kind, number in kinds.items() if ":" not in kind) < arguments.number:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            problems += run_one(seed, kinds, arguments.verbose)
            os.chdir("/")
        seed += 1
    for kind, number in sorted(kinds.items()):
        print(f"{number:6} {kind}")
    print("\n".join(problems) or f"no mistakes, seeds {arguments.seed} to {seed - 1}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(run())
