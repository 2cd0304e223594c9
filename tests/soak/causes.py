"""Causes of random changes, compared with the truth: what planning every subset of the edits shows.

    python tests/soak/causes.py [-changes 2000] [-seed 0] [-jobs N] [-situations same,other,since,ci,none] [-list]
                                [-least PERCENT] [-most PERCENT]
    python tests/soak/causes.py -case SEED [-situations same]

A configuration of random_changes.py is applied, one to four edits are made, and the causes of all changes of the plan
are compared with the truth. An edit is a *possible* root of a change if it makes a difference to the action or the
reason of the change for some set of the other edits, or to the planned object as it is with all edits. It is a
*required* one if the difference is between existing and not existing, or changing and not changing, as the object does
with all edits; and if it belongs to a set of edits that is enough for the change as it is, and of which none can be
left out: an edit of the branch that a condition leaves is possible and not required, and neither is one that another
undoes, nor one that only keeps an object from being replaced. What is not known of an object is what the changes are
that it is made of. Edits of the state and -replace need not be felt by their own object, but for those about what left
the state. Of what comes or goes with its block, and of what that changes, the block is the root.

Situations: the user who applied (same), with a saved plan (saved), another user (other), no record but git (since), a
pull request in CI (ci), neither (none). With -case everything about one case is printed; with -list every case that is
not exact.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from attrs import field, frozen

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from cli.conftest import make_terminal
from isolation import isolate
from provider.plugins import attached, write_plugin
from random_changes import Changes, Edit, Rendered

from planner.answers.explain.causes import Because, CauseStep
from planner.api.making import Making
from planner.cli import main
from planner.cli.flags import parse
from planner.cli.options import DESTROY, OPERATION, SINCE, STATE, VARIABLES, plan_calls
from planner.engine.walk.hooks import Hooks
from planner.foundation.values.value import is_wholly_known, unmark_deep
from planner.foundation.vocabulary.diagnostic import Failure
from planner.foundation.vocabulary.span import Span
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables
from planner.logic.model.graph import CommandLine
from planner.logic.model.plan import Plan, change_name
from planner.logic.programs.actions import does
from planner.operations.explanations import explainer
from planner.operations.options import OperationOptions
from planner.operations.plan import plan

FLAGS = (DESTROY, SINCE, *OPERATION, *STATE, *VARIABLES)
SITUATIONS = ("same", "saved", "other", "since", "ci", "none")
IN_GIT = ("since", "ci")
MOST_EDITS = 4
TRIED = 9
"""edits that are planned alone, to choose from"""
PARTLY = 5
"""of so many cases one has an apply with -target before the last edits"""
WITH_PLUGIN = 3
"""of so many cases one has resources of a plugin"""
WITH_DATA = 100_000
"""the first seed whose cases read values from a YAML file"""
_GIT = {
    **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{who}_DATE": "2020-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}
Signature = tuple[str, str]
"""action and reason"""


@frozen
class Outcome:
    """How a change is explained in a situation, and what is true."""

    seed: int
    situation: str
    change: str
    signature: Signature
    verdict: str
    """exact; wrong, missing or silent; place: the right name, and a place that was not edited; unknown: candidates that
    have all roots; candidates: some that do not"""
    required: tuple[str, ...]
    possible: tuple[str, ...]
    named: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The class of the outcome, without names."""
        words = [
            self.verdict,
            " ".join(self.signature),
            *sorted(map(_plain, self.required)),
            "named:",
            *map(_plain, self.named),
        ]
        return " | ".join(words)


def _plain(text: str) -> str:
    return re.sub(r"(red|blue|net|web|eu)\d+", "W", re.sub(r"\b([a-z]+)\d+[abx]?\b", r"\1N", text))


class SkippedError(Exception):
    """The case cannot be judged: it has no changes, or does not plan."""


# ---------------------------------------------------------------- a working directory


@contextmanager
def _around(directory: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """In a directory, with these variables."""
    before, here = dict(os.environ), os.getcwd()
    os.chdir(directory)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


def _write(directory: Path, rendered: Rendered, world: Path, things: Mapping[str, str]) -> None:
    """Make a copy of the applied directory what the edits make of it."""
    known = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    for name in known - rendered.files.keys():
        if name.endswith((".tf", ".tfvars", ".txt", ".tftpl", "remote.json")) and not name.startswith("."):
            (directory / name).unlink()
    for name, text in rendered.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in world.glob("*.json"):
        path.unlink()
    for name, text in things.items():
        (world / name).write_text(text)
    for operation, address, value in rendered.state:
        if operation in ("world", "gone", "copy"):
            for path in world.glob(f"*-{address}.json"):
                _edit_world(path, operation, value)
        elif operation == "command":
            with _around(directory, {}):
                screen: Any = make_terminal(False)
                main.dispatch([*value.split(), address], screen)
        else:
            _edit_state(directory / "terraform.tfstate", operation, address, value)


def _edit_world(path: Path, operation: str, value: str) -> None:
    thing = json.loads(path.read_text())
    if operation == "gone":
        path.unlink()
    elif operation == "copy":
        path.with_name(f"thing-{value}.json").write_text(json.dumps({**thing, "id": f"thing-{value}", "name": value}))
    else:
        path.write_text(json.dumps({**thing, "note": value}))


def _edit_state(path: Path, operation: str, address: str, value: str) -> None:
    state = json.loads(path.read_text())
    for resource in state["resources"]:
        for instance in list(resource["instances"]):
            key = f"[{json.dumps(instance['index_key'])}]" if "index_key" in instance else ""
            if f"{resource['type']}.{resource['name']}{key}" != address or "module" in resource:
                continue
            if operation == "taint":
                instance["status"] = "tainted"
            elif operation == "lost":
                resource["instances"].remove(instance)
            else:
                instance["attributes"]["input"] = {"value": value, "type": "string"}
    path.write_text(json.dumps(state))


def _options(arguments: Sequence[str]) -> OperationOptions:
    given = plan_calls(Making, parse(list(arguments), FLAGS)).options
    install_modules(".", variables=collect_variables(".", given.var_args)[0])
    return given


def _git(*words: str) -> None:
    subprocess.run(["git", *words], env={**os.environ, **_GIT}, check=True, capture_output=True)


# ---------------------------------------------------------------- the truth


@frozen
class Planned:
    """The changes of a plan by name: action and reason, and all that is planned."""

    signatures: dict[str, Signature]
    whole: dict[str, str]


def _planned(made: Plan, edits: Collection[Edit], main: str) -> Planned:
    """The changes by the names that they have without renames. `main`: the text of the configuration."""
    signatures, whole, open_ones = {}, {}, set()
    for change in made.changes:
        if change.action != "no-op":
            name = _canonical(change_name(change), edits)
            after = unmark_deep(change.after)[0]
            signatures[name] = (change.action, "" if change.action == "create" else change.reason)
            whole[name] = repr((change.action, change.reason, after, change.replace_paths))
            given = [after.get(argument) for argument in _ARGUMENTS] if isinstance(after, dict) else []
            if change.reason == "replace_by_triggers" or change.mode == "data" or not all(map(_is_known, given)):
                open_ones.add(name)
    for output in made.outputs:
        if output.action != "no-op":
            after = unmark_deep(output.after)[0]
            signatures[f"output.{output.name}"] = (output.action, "")
            whole[f"output.{output.name}"] = repr((output.action, after))
            if not _is_known(after):
                open_ones.add(f"output.{output.name}")
    return Planned(signatures, _with_what_is_behind(whole, open_ones, _mentions(main, edits)))


_ARGUMENTS = ("input", "triggers_replace", "name", "note", "region", "label")
"""arguments of the resources; the rest providers decide"""
_NAME = r"(?:data\.)?(?:terraform_data|test_thing|terraform_remote_state)\.\w+|(?:module|local|output)\.\w+"
_BLOCK = re.compile(r'(?:(resource|data|module|output) "(\w+)"(?: "(\w+)")?|locals) \{\n(.*?)^\}', re.M | re.S)


def _is_known(value: Any) -> bool:
    return value is None or is_wholly_known(value)


def _mentions(main: str, edits: Collection[Edit]) -> dict[str, set[str]]:
    """The names that each block of a configuration mentions."""
    mentions: dict[str, set[str]] = {}
    for kind, first, second, body in _BLOCK.findall(main):
        name = f"{first}.{second}" if kind == "resource" else ".".join(filter(None, (kind, first, second)))
        if not kind:
            name = f"local.{body.split()[0]}"
        mentions[_canonical(name, edits)] = {_canonical(one, edits) for one in re.findall(rf"\b{_NAME}", body)} - {name}
    return mentions


def _with_what_is_behind(
    whole: Mapping[str, str], open_ones: Collection[str], mentions: Mapping[str, set[str]]
) -> dict[str, str]:
    """The changes, each with those that it is not known because of, or triggered by."""
    by_block: dict[str, list[str]] = defaultdict(list)
    for name in whole:
        block = re.match(_NAME, name)
        by_block[block.group() if block is not None else name].append(name)

    def behind(block: str, seen: frozenset[str]) -> Iterator[str]:
        for other in sorted(mentions.get(block, set()) - seen):
            for name in sorted(by_block[other]):
                yield deep(name, seen | {other})
            if other.startswith(("local.", "module.")):
                yield from behind(other, seen | {other})

    def deep(name: str, seen: frozenset[str] = frozenset()) -> str:
        block = re.match(_NAME, name)
        if name not in open_ones or block is None:
            return whole[name]
        return " <- ".join((whole[name], *behind(block.group(), seen | {block.group()})))

    return {name: deep(name) for name in whole}


def _canonical(name: str, edits: Collection[Edit]) -> str:
    for edit in edits:
        if edit.renames is not None and re.match(rf"{re.escape(edit.renames[0])}(\[|\.|$| )", name):
            return edit.renames[1] + name.removeprefix(edit.renames[0])
    return name


@frozen
class Truth:
    """For a change: the edits that have to be named as its roots, and those that may be."""

    required: frozenset[int]
    possible: frozenset[int]


def truths(
    plans: Mapping[frozenset[int], Planned], known: Mapping[int, Edit], edits: frozenset[int], written: Collection[int]
) -> dict[str, Truth]:
    """The truth about all changes that the edits make: of those that are not planned without any edit. `written`: the
    edits with a text in the files."""
    requests = {number for number in edits if known[number].is_request}
    lost = {known[number].subjects for number in requests if "leaves the state" in known[number].about}
    # nothing is there to be replaced, tainted or changed
    void = {n for n in requests if known[n].subjects in lost and "leaves the state" not in known[n].about}
    # -replace names an address from which the object has moved
    moved = {renames[1] for n in edits if (renames := known[n].renames) is not None}
    void |= {n for n in requests if known[n].options[1] and moved.intersection(known[n].subjects)}
    requests -= void
    full, found = plans[edits], {}
    for name in full.signatures.keys() - plans[frozenset()].signatures.keys():
        required, possible = set(), set()
        enough = [some for some, made in plans.items() if made.whole.get(name) == full.whole[name]]
        needed = {edit for some in enough if not any(other < some for other in enough) for edit in some}
        for edit in edits:
            matters = False
            for some in map(frozenset, subsets(edits - {edit})):
                if some not in plans or some | {edit} not in plans:
                    continue
                without, within = plans[some], plans[some | {edit}]
                if within.whole.get(name) == full.whole[name] and without.whole.get(name) not in (
                    None,
                    full.whole[name],
                ):
                    possible.add(edit)  # the change is what it is by it
                if without.signatures.get(name) != within.signatures.get(name):
                    possible.add(edit)
                    is_less = _only_keeps(without.signatures.get(name), within.signatures.get(name))
                    is_alike = _fate(within.signatures.get(name)) == _fate(full.signatures[name])
                    matters = matters or (is_alike and not is_less)
            others = plans.get(edits - {edit})
            is_felt = (
                _is_about(name, known[edit].subjects) or others is None or others.whole.get(name) != full.whole[name]
            )
            if matters and (edit in needed or (edit in requests and is_felt)):
                required.add(edit)
        # what another edit removes is not there to be named
        required -= {n for n in required if known[n].is_text and n not in written} | void
        blocks = {n for n in required if known[n].is_block and _is_about(name, known[n].subjects)}
        if full.signatures[name][0] in ("create", "delete") and blocks:
            required = blocks
        # what is in a new block is new with it
        new = [subject for n in required if known[n].is_block for subject in known[n].subjects]
        inside = {n for n in required - requests if any(_is_about(subject, new) for subject in known[n].subjects)}
        required -= {n for n in inside if not known[n].is_block}
        found[name] = Truth(frozenset(required), frozenset(possible))
    return found


def _fate(signature: Signature | None) -> str:
    """Whether an object comes, goes or changes: what only changes it is no root of its creation."""
    action = signature[0] if signature is not None else ""
    return action if action in ("", "create", "delete", "read") else "change"


def _only_keeps(without: Signature | None, within: Signature | None) -> bool:
    """Whether an edit only keeps an object from being replaced, which is updated all the same."""
    return within is not None and within[0] == "update" and without is not None and does(without[0], "replaces")


def subsets(edits: Collection[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(edits) + 1):
        yield from combinations(sorted(edits), size)


# ---------------------------------------------------------------- what the causes name


def named_edits(root: CauseStep, edits: Mapping[int, Edit], rendered: Rendered) -> tuple[set[int], bool]:
    """The edits that a root may mean, and whether it is their place that is named: the line, option or file."""
    source = root.source
    what = _canonical(re.sub(r"^(the text of|file) ", "", root.what), edits.values())
    if root.kind == "as-before":
        return set(), True
    placed: set[int] = set()
    if isinstance(source, CommandLine):
        argument = source.argument.rstrip(".")
        placed |= {n for n, edit in edits.items() if edit.options[1] and edit.options[1].startswith(argument)}
    elif isinstance(source, Span):
        first, last = source.start_position.line, source.end_position.line
        last += root.kind == "entry" and root.value == "nothing"  # what was removed stood behind the rest
        file = os.path.normpath(source.filename)
        for n in edits:
            spans = rendered.lines.get(n, ())
            placed |= {n for name, start, end in spans if name == file and start <= last and first <= end}
    for n, edit in edits.items():
        if root.kind == "file" and os.path.normpath(what) in edit.subjects:
            placed.add(n)
        if edit.environment is not None and _is_about(what, [f"var.{edit.environment[0].removeprefix('TF_VAR_')}"]):
            placed |= {n} if root.note == "environment" else set()
        is_declared = root.kind in _DECLARED or root.kind.startswith("delete_because")
        if edit.state is not None and _is_about(what, edit.subjects) and not is_declared:
            placed.add(n)
    if (
        placed and root.kind == "variable"
    ):  # a default and what is given instead of it are one root: one hides the other
        variable = re.match(r"var\.\w+", what)
        layers = {_is_default(edits[n]) for n in placed}
        hidden = {n for n, edit in edits.items() if len(layers) == 1 and _is_default(edit) not in layers}
        placed |= {n for n in hidden if variable is not None and variable.group() in edits[n].subjects}
    if placed:
        return placed, True
    named = {n for n, edit in edits.items() if _is_about(what, edit.subjects)}
    is_dropped = any(edits[n].options[0] and not edits[n].options[1] for n in named)  # the default has the place now
    return named, is_dropped or root.kind not in _DECLARED


def _is_default(edit: Edit) -> bool:
    return edit.about.startswith("default of")


_DECLARED = ("variable", "text", "file", "create")
"""kinds of roots that have a line, which is that of the edit"""


def _is_about(what: str, subjects: Collection[str]) -> bool:
    return any(re.match(rf"{re.escape(subject)}([.\[/ ]|$)", what) for subject in subjects)


def judge(
    because: Because | None, truth: Truth, edits: Mapping[int, Edit], rendered: Rendered
) -> tuple[str, list[str]]:
    """The verdict about the causes of a change, and what they name."""
    if because is None or not because.roots:
        return "silent", []
    named: set[int] = set()
    texts, wrong, elsewhere = [], False, False
    for root in because.roots:
        meant, is_placed = named_edits(root, edits, rendered)
        named |= meant
        wrong = wrong or not meant & truth.possible
        elsewhere = elsewhere or not is_placed
        texts.append(
            f"{root.kind} {root.what} {root.source if not isinstance(root.source, Span) else root.source.place}"
        )
    is_complete = truth.required <= named
    if because.is_guess:
        return ("unknown" if is_complete else "candidates"), texts
    if wrong:
        return "wrong", texts
    if not is_complete:
        return "missing", texts
    return ("place" if elsewhere else "exact"), texts


def wrong_ways(because: Because, name: str, case: Case) -> list[str]:
    """The ways into a change through an object that does not change by the roots that come this way."""
    texts = []
    for way in because.ways:
        first = way.steps[0].what
        through = _canonical(first, list(case.edits.values()))
        if through in (name, *(root.what for root in because.roots)) or through not in case.truth:
            continue
        for root in because.roots:
            meant, _ = named_edits(root, case.edits, case.full)
            if (root.what, root.kind) in way.roots and not meant & case.truth[through].possible:
                texts.append(f"{root.what} through {through}")
    return texts


# ---------------------------------------------------------------- a case


@frozen
class Case:
    """A configuration with its edits, applied and edited."""

    seed: int
    changes: Changes
    edits: dict[int, Edit]
    full: Rendered
    planned: Planned
    truth: dict[str, Truth]
    outcomes: list[Outcome] = field(factory=list)
    texts: dict[str, list[str]] = field(factory=dict)


@frozen
class Bench:
    """A directory for cases, and the world of the plugin."""

    folder: Path
    world: Path
    variables: dict[str, str]


def run_case(seed: int, situations: Collection[str], bench: Bench) -> Case:
    """Apply, edit, plan and compare. Raises SkippedError."""
    changes = Changes(seed, plugin=seed % WITH_PLUGIN == 0, data=seed >= WITH_DATA)
    for old in bench.folder.iterdir():
        shutil.rmtree(old)
    applied, work = bench.folder / "applied", bench.folder / "work"
    applied.mkdir()
    _write(applied, changes.render(()), bench.world, {})
    _apply(applied, changes.render(()), bench, in_git=any(situation in IN_GIT for situation in situations))
    things = {path.name: path.read_text() for path in bench.world.glob("*.json")}
    limit = [changes.target] if changes.target else []

    def planned(numbers: Collection[int]) -> Planned | None:
        rendered = changes.render(numbers)
        if not work.exists():
            shutil.copytree(applied, work, ignore=shutil.ignore_patterns(".git"))
        shutil.copy(applied / "terraform.tfstate", work)
        _write(work, rendered, bench.world, things)
        with _around(work, {**bench.variables, **rendered.environment}):
            try:
                made = plan(_options([*rendered.options, *limit]), Hooks()).complete
            except Failure:
                return None
        if made is None:
            return None
        return _planned(made.plan, [changes.edits[n] for n in numbers], rendered.files["main.tf"])

    random = Random(seed + 1)
    tried = random.sample(sorted(changes.edits), min(TRIED, len(changes.edits)))
    alone = {frozenset((n,)): made for n in tried if (made := planned((n,))) is not None}
    effects = {n: set(made.signatures) for (n,), made in alone.items()}
    first: frozenset[int] = frozenset()
    if seed % PARTLY == 1 and not limit:
        first, alone = _partly_applied(changes, effects, applied, bench, random), {}
        things = {path.name: path.read_text() for path in bench.world.glob("*.json")}
    edits = _chosen(random, {n: some for n, some in effects.items() if n not in first})
    plans = {}
    for some in map(frozenset, subsets(edits | first)):
        made = alone.get(some) or planned(some)
        if made is not None:
            plans[some] = made
    if first not in plans or frozenset() not in plans or not plans.get(edits | first, Planned({}, {})).signatures:
        raise SkippedError("no edits that change anything")
    written = changes.render(edits | first).lines.keys()
    rest = {some - first: made for some, made in plans.items() if some >= first}
    truth = truths(rest, changes.edits, edits, written)
    if first:
        # An object that this was not applied to is compared with what came before it, so that it is an edit like the
        # others: without any edit such an object does not change. New objects are compared with the last apply.
        every = truths(plans, changes.edits, edits | first, written)
        there = {name for name, (action, _) in plans[edits | first].signatures.items() if action != "create"}
        truth |= {name: one for name, one in every.items() if name in there or name not in truth}
    edits |= first
    case = Case(seed, changes, {n: changes.edits[n] for n in sorted(edits)}, changes.render(edits), plans[edits], truth)
    for situation in situations:
        outside = any(e.environment or (e.options != ("", "") and not e.is_request) for e in case.edits.values())
        if situation not in IN_GIT or not (outside or first):  # git does not have former options, nor what was left out
            explain(case, situation, bench, applied, work, things)
    return case


def _apply(
    applied: Path, rendered: Rendered, bench: Bench, *arguments: str, in_git: bool = False, fails: bool = False
) -> None:
    """Apply the configuration; `fails`: it does, half-way. Raises SkippedError."""
    with _around(applied, {**bench.variables, **rendered.environment}):
        try:
            _options(rendered.options)
            if in_git:
                (applied / ".gitignore").write_text(".terraform*\n*.tfstate*\n")
                _git("init", "-q", "-b", "main")
                _git("add", "-A")
                _git("commit", "-qm", "before")
            screen: Any = make_terminal(False)
            code = main.dispatch(["apply", "-auto-approve", *rendered.options, *arguments], screen)
        except Failure as failure:
            raise SkippedError(f"apply: {failure.diagnostics[0].detail}") from None
    if bool(code) != fails:
        raise SkippedError(f"apply: {screen.stderr.getvalue()}")


def _partly_applied(
    changes: Changes, effects: Mapping[int, set[str]], applied: Path, bench: Bench, random: Random
) -> frozenset[int]:
    """An edit that is applied to some of the objects that it changes, with -target or since others fail; none where no
    edit changes two."""
    plain = [n for n in effects if not changes.edits[n].renames and not changes.edits[n].state]
    candidates = [n for n in plain if len(effects[n]) > 1]
    if not candidates:
        return frozenset()
    number = random.choice(candidates)
    targets = sorted(name for name in effects[number] if not name.startswith("output."))
    if not targets:
        return frozenset()
    rendered = changes.render((number,))
    _write(applied, rendered, bench.world, {p.name: p.read_text() for p in bench.world.glob("*.json")})
    fails = any(name.startswith("test_thing.") for name in effects[number])
    option = "-var=fail=apply" if fails else f"-target={random.choice(targets)}"
    _apply(applied, rendered, bench, option, fails=fails)
    return frozenset((number,))


def _chosen(random: Random, effects: Mapping[int, set[str]]) -> frozenset[int]:
    """One to four edits; most of them have effects by themselves, and often on the same objects."""
    number = random.randint(1, MOST_EDITS)
    chosen: list[int] = []
    seen: set[str] = set()
    for _ in range(number):
        left = [n for n in effects if n not in chosen]
        near = [n for n in left if effects[n] & seen]
        some = [n for n in left if effects[n]]
        pool = random.choice([near or some, near or some, some or left, left])
        if pool:
            chosen.append(random.choice(pool))
            seen |= effects[chosen[-1]]
    return frozenset(chosen)


def explain(case: Case, situation: str, bench: Bench, applied: Path, work: Path, things: Mapping[str, str]) -> None:
    """Add the outcomes of a situation."""
    shutil.rmtree(work, ignore_errors=True)
    ignored = shutil.ignore_patterns(*([] if situation in IN_GIT else [".git"]))
    shutil.copytree(applied, work, ignore=ignored)
    _write(work, case.full, bench.world, things)
    if situation in (*IN_GIT, "none"):
        for path in work.iterdir():
            if path.name.startswith(".terraform.applied") or ".tfstate." in path.name:
                path.unlink()
    variables = {**bench.variables, **case.full.environment}
    if situation == "other":
        home = str(bench.folder.parent / "other-home")
        variables |= {"HOME": home, "XDG_STATE_HOME": f"{home}/.local/state"}
    options = [*case.full.options, *([case.changes.target] if case.changes.target else [])]
    options += ["-since=HEAD"] if situation == "since" else []
    if situation == "ci":
        variables["GITHUB_BASE_REF"] = "main"
    with _around(work, variables):
        if situation == "ci":
            _git("update-ref", "refs/remotes/origin/main", "main")
            _git("checkout", "-qb", "topic")
            _git("add", "-A")
            _git("commit", "-qm", "topic", "--allow-empty")
        asked = _options(options)
        if situation == "saved":
            screen: Any = make_terminal(False)
            if main.dispatch(["plan", "-out=saved.plan", *options], screen):
                raise SkippedError(f"plan -out: {screen.stderr.getvalue()}")
            explained, problems = explainer(_options([]), "saved.plan")
        else:
            explained, problems = explainer(asked)
        if explained is None:
            raise SkippedError(f"{situation}: {problems}")
        causes = explained.causes()
    by_name = {_canonical(name, list(case.edits.values())): because for name, because in causes.items()}
    required = {n for truth in case.truth.values() for n in truth.required}
    for edit in explained.idle_edits:
        meant, is_placed = named_edits(edit, case.edits, case.full)
        is_whole = all(len(case.full.lines.get(n, ())) == 1 for n in meant)  # an edit may change several places
        if meant and is_placed and is_whole and meant <= required:
            about = tuple(case.edits[n].about for n in sorted(meant))
            outcome = Outcome(case.seed, situation, f"idle {edit.what}", ("idle", ""), "wrong", about, (), ())
            case.outcomes.append(outcome)
    for name, truth in sorted(case.truth.items()):
        verdict, texts = judge(by_name.get(name), truth, case.edits, case.full)
        if verdict == "exact" and (ways := wrong_ways(by_name[name], name, case)):
            verdict, texts = "wrong", ways
        required, possible = (tuple(case.edits[n].about for n in sorted(s)) for s in (truth.required, truth.possible))
        signature = case.planned.signatures[name]
        case.outcomes.append(Outcome(case.seed, situation, name, signature, verdict, required, possible, tuple(texts)))


# ---------------------------------------------------------------- many cases


@contextmanager
def bench() -> Iterator[Bench]:
    """A place for cases, with a running plugin."""
    with tempfile.TemporaryDirectory(prefix="planner-causes-") as name, ExitStack() as stack:
        folder = Path(name)
        for part in ("cases", "world"):
            (folder / part).mkdir()
        program = write_plugin(folder / "bin")
        reattach = stack.enter_context(attached({"test": program}, TEST_PROVIDER_WORLD=str(folder / "world")))
        yield Bench(folder / "cases", folder / "world", {"TF_REATTACH_PROVIDERS": reattach})


def run_cases(seeds: Sequence[int], situations: Sequence[str]) -> tuple[list[Outcome], list[tuple[int, str]]]:
    """The outcomes of several cases, and those that were skipped."""
    outcomes: list[Outcome] = []
    skipped: list[tuple[int, str]] = []
    with bench() as place:
        for seed in seeds:
            try:
                outcomes += run_case(seed, situations, place).outcomes
            except SkippedError as problem:
                skipped.append((seed, str(problem)))
            except Exception as problem:
                skipped.append((seed, f"defect: {problem.__class__.__name__}: {problem}"))
    return outcomes, skipped


def summary(outcomes: Sequence[Outcome]) -> str:
    """The shares of all verdicts by situation, for changes with one root and with several."""
    lines = []
    verdicts = ("exact", "missing", "wrong", "place", "silent", "unknown", "candidates")
    lines.append(f"{'':8} {'changes':>8} " + " ".join(f"{v:>11}" for v in verdicts))
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        rows[one.situation].append(one)
        if len(one.required) > 1:
            rows[f"{one.situation} >1"].append(one)
    for situation, group in sorted(rows.items(), key=lambda row: (SITUATIONS.index(row[0].split()[0]), row[0])):
        counts = Counter(one.verdict for one in group)
        shares = " ".join(f"{counts[v]:>5} {counts[v] / len(group):5.1%}" for v in verdicts)
        lines.append(f"{situation:8} {len(group):>8} {shares}")
    return "\n".join(lines)


def classes(outcomes: Sequence[Outcome], most: int = 40) -> str:
    """The most frequent classes of outcomes that are not exact, each with a case."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if one.verdict != "exact":
            groups[one.kind].append(one)
    lines = []
    certain = [verdict not in ("unknown", "candidates") for verdict in (g[0].verdict for g in groups.values())]
    order = sorted(zip(groups.items(), certain, strict=True), key=lambda row: (not row[1], -len(row[0][1])))
    for (kind, group), _ in order[:most]:
        first = min(group, key=lambda one: (len(one.possible), one.seed))
        lines.append(f"{len(group)} x {kind}\n    seed {first.seed} {first.situation}: {first.change}")
    return "\n".join(lines)


def show(seed: int, situations: Sequence[str]) -> None:
    """Print everything about a case."""
    with bench() as place:
        case = run_case(seed, situations, place)
    before = case.changes.render(())
    for number, edit in case.edits.items():
        print(f"edit {number}: {edit.about} {case.full.lines.get(number, '')}")
    for name in sorted({*before.files, *case.full.files}):
        old, new = before.files.get(name, ""), case.full.files.get(name, "")
        print(f"--- {name}")
        left, right = old.split("\n"), new.split("\n")
        if old == new:
            print(old)
        else:
            import difflib

            print("\n".join(difflib.unified_diff(left, right, lineterm="", n=1000)))
    print("options", before.options, "->", case.full.options, case.full.environment, case.full.state)
    for one in case.outcomes:
        print(f"{one.verdict:10} {one.situation:6} {one.change}: {' '.join(one.signature)}")
        print(f"    required {list(one.required)}")
        if one.possible != one.required:
            print(f"    possible {list(one.possible)}")
        for text in one.named:
            print(f"    named    {text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-changes", type=int, default=2000, help="so many changes in each situation")
    parser.add_argument("-seed", type=int, default=0)
    parser.add_argument("-jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-situations", default=",".join(SITUATIONS))
    parser.add_argument("-least", type=float, default=100, help="percent of the changes that have to be exact")
    parser.add_argument("-most", type=float, default=0, help="percent that may be wrong or incomplete with certainty")
    parser.add_argument("-case", type=int)
    parser.add_argument("-list", action="store_true")
    return parser.parse_args()


def run() -> int:
    arguments = _arguments()
    isolate()
    situations = arguments.situations.split(",")
    if arguments.case is not None:
        show(arguments.case, situations)
        return 0
    outcomes: list[Outcome] = []
    skipped: list[tuple[int, str]] = []
    start, size = time.monotonic(), 10
    with ProcessPoolExecutor(arguments.jobs) as pool:
        seed = arguments.seed
        while min(Counter(one.situation for one in outcomes)[name] for name in situations) < arguments.changes:
            parts = [range(seed + size * n, seed + size * (n + 1)) for n in range(arguments.jobs * 2)]
            seed += size * len(parts)
            for done, left in pool.map(run_cases, parts, [situations] * len(parts)):
                outcomes += done
                skipped += left
            if not outcomes:
                break  # nothing can be judged
    print(summary(outcomes))
    reasons = Counter(re.sub(r"\d+", "N", text)[:100] for _, text in skipped)
    print(f"\n{seed - arguments.seed} cases, {len(skipped)} skipped, {time.monotonic() - start:.0f} s")
    for text, count in reasons.most_common(8):
        print(f"  {count} x {text} (seed {next(s for s, t in skipped if re.sub(r'[0-9]+', 'N', t)[:100] == text)})")
    print(f"\n{classes(outcomes)}")
    if arguments.list:
        for one in outcomes:
            if one.verdict != "exact":
                print(one)
    return 0 if all(_is_enough(outcomes, name, arguments) for name in situations) else 1


def _is_enough(outcomes: Sequence[Outcome], situation: str, arguments: argparse.Namespace) -> bool:
    """Whether enough causes in a situation are exact, and few enough are wrong or incomplete with certainty."""
    verdicts = Counter(one.verdict for one in outcomes if one.situation == situation)
    mistakes = verdicts["wrong"] + verdicts["missing"] + verdicts["silent"]
    return (
        100 * verdicts["exact"] >= arguments.least * (total := verdicts.total())
        and 100 * mistakes <= arguments.most * total
    )


if __name__ == "__main__":
    sys.exit(run())
