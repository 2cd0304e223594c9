"""Public repositories as a gate: their modules, fixtures and test suites are run with planner and with OpenTofu, and
every difference is listed by its cause.

    python tests/soak/suites.py -tofu FILE [-planner FILE] [-only NAME,...] [-sources DIRECTORY] [-limit N] [-jobs N]
                                [-report FILE]

suites.toml lists the repositories, each at one commit. -sources: a directory with clones, OWNER+NAME/repo, for machines
without a network; without it they are fetched from GitHub. Nothing of them is kept.

What is run, by the kind of a suite:
- roots: every directory with configuration is a root module. Its modules are installed, it is formatted, its providers
  are listed, it is validated, planned, applied, planned again and destroyed. A provider that is made for it
  (tests/provider/fitted_server.py) has the resource types and arguments that its files mention, so that no real one is
  needed. Exit codes, texts of `fmt` and `providers`, and documents of plans and states have to be the same; what the
  messages of errors say is ours.
- tests: every root module with test files, with `test -json` and such a provider: each run has to end with the same
  status.
- command: a program of the repository that drives the binary, whose path it finds in the variable that the suite names
  (TERRAFORM); the names of the tests that pass have to be the same. Its providers are where TF_CLI_CONFIG_FILE says.

The exit code is 1 when there is a difference that suites.toml does not list with its cause.
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
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import Factory, define, frozen

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Cost
from bench.measure import run as measured
from provider.plugins import SERVER, forks

from planner.language.syntax.body import Block, NativeBody, variables
from planner.language.syntax.files import load_text
from planner.language.syntax.nodes import Traversal

NATIVE, JSON = (".tf", ".tofu"), (".tf.json", ".tofu.json")
SECONDS = 120.0
"""a command that takes longer has ended in an error"""
_CRASHED = 11
"""the exit code of OpenTofu after a panic"""
_RANDOM = re.compile(
    r"(?<=/)(?:planner|tofu)/checkout\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
)
"""directories of a program, identifiers and times, which are other ones in each run"""

_TREE = re.compile(r"[│├└─\s]+")
"""the branches of a tree, whose order OpenTofu does not fix"""


# ---------------------------------------------------------------- what is compared


@frozen
class Suite:
    """A repository and what is run of it: `paths` below its root; `skipped`: parts of paths that are left out;
    `known`: differences (parts of their texts) and their causes; `command`: for the kind of this name."""

    name: str
    repository: str
    commit: str
    kind: str = "roots"
    paths: tuple[str, ...] = (".",)
    skipped: tuple[str, ...] = ()
    known: Mapping[str, str] = Factory(dict)
    command: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Suite:
        lists = {name: tuple(entry[name]) for name in ("paths", "skipped", "command", "needs") if name in entry}
        return cls(**{**entry, **lists})


@define
class Outcome:
    """The steps of one program in one place: a result of each, comparable with that of another program, and the seconds
    (of wall and CPU time) that it took."""

    steps: dict[str, Any] = Factory(dict)
    seconds: dict[str, tuple[float, float]] = Factory(dict)


@define
class Tally:
    """The results of a suite."""

    cases: int = 0
    same: int = 0
    differences: dict[str, list[str]] = Factory(lambda: defaultdict(list))
    """by cause"""
    seconds: dict[str, list[float]] = Factory(lambda: {"planner": [0.0, 0.0], "tofu": [0.0, 0.0]})
    """of wall and CPU time, of all steps that both made"""


class Program:
    """One of the two programs, at work in its own copy of the repository."""

    def __init__(self, name: str, binary: str, checkout: Path, scratch: Path) -> None:
        self.name, self.binary, self.checkout, self.scratch = name, binary, checkout, scratch

    def run(self, outcome: Outcome, step: str, directory: Path, *words: str, **variables: str) -> tuple[Cost, str]:
        """One command; what it printed on standard output."""
        out = self.scratch / f"{self.name}-{os.getpid()}-{id(outcome)}.out"
        command = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", str(out), self.binary, *words]
        settings = {"TF_IN_AUTOMATION": "1", "NO_COLOR": "1", **variables}
        cost, _ = measured(["env", *(f"{n}={v}" for n, v in settings.items()), *command], directory, SECONDS)
        text = out.read_text(errors="replace") if out.exists() else ""
        out.unlink(missing_ok=True)
        (directory / ".bench.log").unlink(missing_ok=True)
        outcome.seconds[step] = (cost.wall, cost.cpu)
        return cost, text


# ---------------------------------------------------------------- providers that fit


def configuration_files(directory: Path) -> list[Path]:
    return sorted(p for p in directory.iterdir() if p.name.endswith((*NATIVE, *JSON)) and p.is_file())


def test_files(root: Path) -> list[Path]:
    return [
        f for folder in (".", "tests", "tests/unit") for f in sorted((root / folder).glob("*.t*test.*")) if f.is_file()
    ]


def modules_of(root: Path) -> Iterator[Path]:
    """A root module and the local ones that it or its test files call, each once."""
    seen, waiting = set[Path](), [root]
    for file in test_files(root):
        for source in re.findall(r'source\s*=\s*"(\.\.?/[^"]*)"', file.read_text(errors="replace")):
            waiting.append((root / source).resolve())
    while waiting:
        folder = waiting.pop()
        if folder in seen or not folder.is_dir():
            continue
        seen.add(folder)
        yield folder
        for file in configuration_files(folder):
            for source in re.findall(r'"?source"?\s*[=:]\s*"(\.\.?/[^"]*)"', file.read_text(errors="replace")):
                waiting.append((folder / source).resolve())


def fit(root: Path) -> tuple[dict[str, Any], set[str]]:
    """The schema that the configuration in a directory expects, and the addresses of its providers."""
    schema: dict[str, Any] = {"provider": {}, "resources": {}, "data": {}, "ephemeral": {}}
    sources, mentioned, texts = dict[str, str](), set[str](), []
    kinds = {"resource": "resources", "data": "data", "ephemeral": "ephemeral"}
    for file in (f for folder in modules_of(root) for f in configuration_files(folder)):
        data = file.read_bytes()
        text = data.decode(errors="replace")
        texts.append(text)
        for name, source in re.findall(r'([\w-]+)"?\s*[=:]\s*\{[^{}]*?"?source"?\s*[=:]\s*"([^"./][^"]*)"', text):
            sources[name] = source
        body, _, _ = load_text(data, file.name, keep=False)
        if isinstance(body, NativeBody):
            for block in body.blocks:
                labels = [label.value for label in block.labels]
                if block.type in kinds and labels:
                    _gather(schema[kinds[block.type]].setdefault(labels[0], {}), block)
                elif block.type == "terraform":
                    for inner in block.body.blocks if isinstance(block.body, NativeBody) else ():
                        if inner.type == "required_providers" and isinstance(inner.body, NativeBody):
                            mentioned.update(inner.body.attributes)
                elif block.type == "provider" and labels:
                    mentioned.add(labels[0])
                    _gather(schema["provider"], block, _OF_PROVIDERS)
        elif file.name.endswith(JSON):
            _gather_json(schema, mentioned, kinds, data)
    for file in test_files(root):
        texts.append(file.read_text(errors="replace"))
        mentioned.update(re.findall(r'^provider "([\w-]+)"', texts[-1], re.M))
    for text in texts:
        for is_data, kind, steps in re.findall(r"\b(data\.)?([a-z]\w*)\.[\w-]+((?:\[[^\]]*\]|\.[\w*-]+)+)", text):
            path = re.findall(r"\.([A-Za-z_][\w-]*)", re.sub(r"\[[^\]]*\]", "", steps))
            for table in ("data",) if is_data else ("resources", "ephemeral"):
                if kind in schema[table] and path:
                    _mention(schema[table][kind], path)
    types = {name for table in kinds.values() for name in schema[table]}
    mentioned |= {name.partition("_")[0] for name in types} | set(sources)
    needed = {sources.get(name, f"hashicorp/{name}") for name in mentioned} - {"hashicorp/terraform"}
    return schema, {source for source in needed if _SOURCE.fullmatch(source)}


_SOURCE = re.compile(r"(?!terraform\.io/)(?:[\w.-]+/)?[\w-]+/[a-zA-Z0-9-]+")


def _mention(schema: dict[str, Any], path: list[str]) -> None:
    """Add the attribute that a reference reads, if no argument or block has its name."""
    blocks = schema.get("blocks", {})
    if path[0] not in blocks:
        schema.setdefault("attributes", {}).setdefault(path[0], "computed")
    elif path[1:]:
        _mention(blocks[path[0]], path[1:])


_META = {"count", "for_each", "depends_on", "provider", "lifecycle", "provisioner", "connection"}
_OF_PROVIDERS = {"alias", "version", "for_each"}


def _gather(schema: dict[str, Any], block: Block, skipped: Collection[str] = _META) -> None:
    """Add the arguments and blocks of a block to a BODY, but for those that the language defines (`skipped`)."""
    body: Any = block.body
    for name in body.attributes:
        if name not in skipped:
            schema.setdefault("attributes", {})[name] = "optional"
    for inner in body.blocks:
        if inner.type == "lifecycle" and skipped is _META and "ignore_changes" in inner.body.attributes:
            for node in variables(inner.body.attributes["ignore_changes"].expr):
                name = node.root if isinstance(node, Traversal) else node.name
                schema.setdefault("attributes", {}).setdefault(name, "optional")
        if inner.type in skipped:
            continue
        if inner.type == "dynamic":
            for content in (b for b in inner.body.blocks if b.type == "content"):
                _gather(schema.setdefault("blocks", {}).setdefault(inner.labels[0].value, {}), content, ())
        else:
            _gather(schema.setdefault("blocks", {}).setdefault(inner.type, {}), inner, ())
    for name in schema.get("blocks", {}):
        schema.get("attributes", {}).pop(name, None)


def _gather_json(schema: dict[str, Any], mentioned: set[str], kinds: Mapping[str, str], data: bytes) -> None:
    try:
        document = json.loads(data)
    except ValueError:
        return
    for section, table in kinds.items():
        types = document.get(section) if isinstance(document, dict) else None
        for kind, objects in types.items() if isinstance(types, dict) else ():
            schema[table].setdefault(kind, {})
            for one in objects.values() if isinstance(objects, dict) else ():
                for name in one if isinstance(one, dict) else ():
                    if name not in _META:
                        schema[table][kind].setdefault("attributes", {})[name] = "optional"
    providers = document.get("provider") if isinstance(document, dict) else None
    for name, settings in providers.items() if isinstance(providers, dict) else ():
        mentioned.add(name)
        for argument in settings if isinstance(settings, dict) else ():
            if argument not in _OF_PROVIDERS:
                schema["provider"].setdefault("attributes", {})[argument] = "optional"


def write_fitted(folder: Path, root: Path) -> dict[str, str]:
    """A provider for a configuration, and the variables with which both programs find it."""
    schema, sources = fit(root)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.json").write_text(json.dumps(schema))
    client, overrides = SERVER.with_name("plugin_client.py"), []
    for number, source in enumerate(sorted(sources)):
        own = folder / str(number)
        own.mkdir(exist_ok=True)
        program = own / f"terraform-provider-{source.rpartition('/')[2]}"
        program.write_text(
            f'#!/bin/sh\nFITTED_SCHEMA="{folder}/schema.json" exec "{sys.executable}" -I -S "{client}" "{forks()}" '
            "fitted_server 6\n"
        )
        program.chmod(0o755)
        overrides.append(f'    "{source}" = "{own}"')
    lines = ["provider_installation {", "  dev_overrides {", *overrides, "  }", "  direct {}", "}"]
    (folder / "rc").write_text("\n".join(lines) + "\n")
    return {"TF_CLI_CONFIG_FILE": str(folder / "rc"), "TEST_PROVIDER_WORLD": str(folder)}


# ---------------------------------------------------------------- root modules


def masked(value: Any) -> Any:
    """A document without what is another one in each run."""
    if isinstance(value, dict):
        return {name: masked(part) for name, part in value.items()}
    if isinstance(value, list):
        return [masked(part) for part in value]
    return _RANDOM.sub("*", value) if isinstance(value, str) else value


def planned(document: Mapping[str, Any]) -> Any:
    """The changes of a plan, from its JSON."""
    keys = ("resource_changes", "output_changes", "resource_drift", "checks", "deferred_changes", "errored", "complete")
    return masked({key: document.get(key) for key in keys})


def stored(document: Mapping[str, Any]) -> Any:
    """The content of a state, from its JSON."""
    return masked(document.get("values"))


def try_root(program: Program, relative: Path, variables: Mapping[str, str]) -> Outcome:
    """All steps of one root module, up to the first that fails."""
    outcome, directory = Outcome(), program.checkout / relative

    def step(name: str, *words: str) -> tuple[int | None, str]:
        cost, text = program.run(outcome, name, directory, *words, **variables)
        outcome.steps[name] = cost.code
        return cost.code, text

    def document(name: str, kept: Any, *words: str) -> None:
        code, text = step(name, "show", "-json", *words)
        if code == 0:
            outcome.steps[name] = kept(json.loads(text))

    code, text = step("fmt", "fmt", "-no-color", "-list=true", "-write=false", "-diff=false")
    outcome.steps["fmt"] = (code, text)
    if step("get", "get", "-no-color")[0]:
        return outcome
    code, text = step("providers", "providers", "-no-color")
    listed = re.split(r"\n\n\n?Warning: |\nProviders required by state", text)[0]
    outcome.steps["providers"] = (
        code,
        [] if code else sorted(_TREE.sub("", line) for line in listed.splitlines() if line),
    )
    code, text = step("validate", "validate", "-json")
    if code:
        return outcome
    common = ("-no-color", "-input=false")
    if step("plan", "plan", *common, "-out=suite.plan")[0]:
        return outcome
    document("planned", planned, "suite.plan")
    if step("apply", "apply", *common, "suite.plan")[0]:
        return outcome
    document("state", stored)
    step("plan again", "plan", *common, "-detailed-exitcode")
    step("destroy", "destroy", *common, "-auto-approve")
    return outcome


def root_modules(checkout: Path, suite: Suite) -> list[Path]:
    found = []
    for path in suite.paths:
        for base, folders, names in os.walk(checkout / path):
            folders[:] = sorted(f for f in folders if f not in (".git", ".terraform"))
            relative = Path(base).relative_to(checkout)
            is_skipped = any(part in f"{relative}/" for part in suite.skipped)
            if not is_skipped and any(name.endswith((*NATIVE, *JSON)) for name in names):
                found.append(relative)
    return sorted(set(found))


def compare_places(
    suite: Suite, programs: Sequence[Program], limit: int, jobs: int, tally: Tally, scratch: Path
) -> None:
    """Root modules, or those with test files: each with both programs, one after the other."""
    tried, found = (try_tests, tested_modules) if suite.kind == "tests" else (try_root, root_modules)
    roots = found(programs[0].checkout, suite)
    if limit and len(roots) > limit:
        roots = [roots[i * len(roots) // limit] for i in range(limit)]

    def one(number: int) -> tuple[Path, list[Outcome]]:
        relative = roots[number]
        variables = write_fitted(scratch / "fitted" / f"{suite.name}-{number}", programs[0].checkout / relative)
        return relative, [tried(program, relative, variables) for program in programs]

    with ThreadPoolExecutor(jobs) as pool:
        for relative, outcomes in pool.map(one, range(len(roots))):
            add(tally, suite, str(relative), *outcomes)


def add(tally: Tally, suite: Suite, case: str, ours: Outcome, theirs: Outcome) -> None:
    """Note a case: whether both did the same, and what it took."""
    tally.cases += 1
    for name in ours.seconds.keys() & theirs.seconds.keys():
        for program, outcome in (("planner", ours), ("tofu", theirs)):
            tally.seconds[program][0] += outcome.seconds[name][0]
            tally.seconds[program][1] += outcome.seconds[name][1]
    for name in [*theirs.steps, *(n for n in ours.steps if n not in theirs.steps)]:
        mine, other = ours.steps.get(name, "not reached"), theirs.steps.get(name, "not reached")
        if mine != other:
            text = f"{case}: {name}: {difference(mine, other)}"
            cause = next((why for part, why in suite.known.items() if part in text), "unknown")
            if other == _CRASHED:
                cause = "OpenTofu crashes"
            tally.differences[cause].append(text)
            return
    tally.same += 1


def difference(ours: Any, theirs: Any, at: str = "") -> str:
    """The first place where two documents differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                return difference(ours.get(name), theirs.get(name), f"{at}.{name}" if at else name)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if one != other:
                return difference(one, other, f"{at}[{number}]")
    return f"{at + ': ' if at else ''}planner {str(ours)[:200]!r}, OpenTofu {str(theirs)[:200]!r}"


# ---------------------------------------------------------------- tests and commands


def try_tests(program: Program, relative: Path, variables: Mapping[str, str]) -> Outcome:
    """The status of each run of the test files of a directory."""
    outcome, directory = Outcome(), program.checkout / relative
    folder = "tests/unit" if (directory / "tests" / "unit").is_dir() else "tests"
    cost, _ = program.run(outcome, "get", directory, "get", f"-test-directory={folder}", **variables)
    outcome.steps["get"] = cost.code
    if cost.code:
        return outcome
    cost, text = program.run(outcome, "test", directory, "test", "-json", f"-test-directory={folder}", **variables)
    outcome.steps["test"] = cost.code
    for line in text.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("type") == "test_run" and message["test_run"].get("progress", "complete") == "complete":
            run = message["test_run"]
            outcome.steps[f"{run['path']} {run['run']}"] = run["status"]
    return outcome


def tested_modules(checkout: Path, suite: Suite) -> list[Path]:
    """The root modules that have test files."""
    found = set()
    for path in suite.paths:
        for file in (checkout / path).rglob("*.t*test.*"):
            folder = file.parent
            while folder.name in ("tests", "unit") and folder != checkout:
                folder = folder.parent
            found.add(folder.relative_to(checkout))
    return sorted(found)


def compare_commands(suite: Suite, programs: Sequence[Program], tally: Tally, scratch: Path) -> None:
    """Run the repository's own program with both, in an environment with what it needs."""
    environment = scratch / "venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "-q", *suite.needs], check=True)
    outcomes = []
    for program in programs:
        outcome = Outcome()
        report = scratch / f"{program.name}.xml"
        words = [word.replace("{report}", str(report)) for word in suite.command]
        variables = {"TERRAFORM": program.binary, "PATH": f"{environment}/bin:{os.environ['PATH']}"}
        if "TF_CLI_CONFIG_FILE" not in os.environ:  # providers come from their registry: once, not for each test
            plugins = scratch / f"{program.name}-plugins"
            plugins.mkdir()
            variables["TF_PLUGIN_CACHE_DIR"] = str(plugins)
            variables["TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"] = "true"
        cost, _ = measured(["env", *(f"{n}={v}" for n, v in variables.items()), *words], program.checkout, 6 * 3600.0)
        outcome.seconds["command"] = (cost.wall, cost.cpu)
        text = report.read_text() if report.exists() else ""
        for case in re.findall(r"<testcase [^>]*?(?:/>|>.*?</testcase>)", text, re.S):
            name = " ".join(re.findall(r'(?:classname|name)="([^"]*)"', case))
            outcome.steps[name] = "fails" if "<failure" in case or "<error" in case else "passes"
        outcomes.append(outcome)
    ours, theirs = outcomes
    for name in sorted(ours.steps | theirs.steps):
        picked = [Outcome({name: o.steps.get(name, "missing")}) for o in (ours, theirs)]
        add(tally, suite, name, *picked)
    for program, outcome in zip(("planner", "tofu"), outcomes, strict=True):
        tally.seconds[program] = list(outcome.seconds["command"])


# ---------------------------------------------------------------- the gate


def check_out(suite: Suite, sources: str, target: Path) -> None:
    """The files of a suite's commit."""
    commit = suite.commit
    if sources:
        clone = Path(sources, suite.repository.replace("/", "+"), "repo")
    else:
        clone = target.with_name(f"{target.name}.git")
        address = f"https://github.com/{suite.repository}"
        subprocess.run(["git", "init", "-q", "--bare", clone], check=True)
        subprocess.run(["git", "-C", clone, "fetch", "-q", "--depth", "1", address, commit], check=True)
        commit = "FETCH_HEAD"
    target.mkdir(parents=True)
    files = subprocess.run(
        ["git", "-C", clone, "ls-tree", "-rz", commit, "--", *suite.paths], stdout=subprocess.PIPE, check=True
    ).stdout
    wanted = [
        (meta.split(), os.fsdecode(path)) for meta, _, path in (x.partition(b"\t") for x in files.split(b"\0")[:-1])
    ]
    blobs = subprocess.Popen(
        ["git", "-C", clone, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1
    )
    assert blobs.stdin is not None and blobs.stdout is not None
    for (mode, kind, name), path in wanted:
        if kind != b"blob" or (suite.kind != "command" and path.endswith(".terraform.lock.hcl")):
            continue  # providers are made for the configuration
        blobs.stdin.write(name + b"\n")
        blobs.stdin.flush()
        head = blobs.stdout.readline().split()
        if len(head) < 3:
            continue  # a large file that this copy of the repository lacks
        data = blobs.stdout.read(int(head[2]) + 1)[:-1]
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if mode == b"120000":
            file.symlink_to(os.fsdecode(data))
        else:
            file.write_bytes(data)
            file.chmod(0o755 if mode == b"100755" else 0o644)
    blobs.stdin.close()
    if blobs.wait() or not wanted:
        raise SystemExit(f"{suite.repository} has no files at {suite.commit}")


def run_suite(suite: Suite, arguments: argparse.Namespace) -> Tally:
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="suite-") as name:
        scratch = Path(name)
        first = scratch / "planner" / "checkout"
        check_out(suite, arguments.sources, first)
        other = scratch / "tofu" / "checkout"
        shutil.copytree(first, other, symlinks=True)
        programs = [
            Program("planner", arguments.planner, first, scratch),
            Program("tofu", arguments.tofu, other, scratch),
        ]
        if suite.kind == "command":
            compare_commands(suite, programs, tally, scratch)
        else:
            compare_places(suite, programs, arguments.limit, arguments.jobs, tally, scratch)
    return tally


def table(results: Mapping[str, tuple[Suite, Tally]]) -> str:
    """The results as a table in Markdown."""
    lines = ["| suite | cases | same | known differences | others | wall | CPU |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, (suite, tally) in results.items():
        known = sum(len(texts) for cause, texts in tally.differences.items() if cause != "unknown")
        others = len(tally.differences.get("unknown", ()))
        ratios = [
            f"{theirs / ours:.1f}" if ours else "-"
            for ours, theirs in zip(tally.seconds["planner"], tally.seconds["tofu"], strict=True)
        ]
        link = f"[{name}](https://github.com/{suite.repository}/tree/{suite.commit})"
        lines.append(f"| {link} | {tally.cases} | {tally.same} | {known} | {others} | {' | '.join(ratios)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-tofu", required=True)
    parser.add_argument("-planner", default=shutil.which("planner") or "planner")
    parser.add_argument("-only", default="")
    parser.add_argument("-sources", default="")
    parser.add_argument("-limit", type=int, default=0)
    parser.add_argument("-jobs", type=int, default=2)
    parser.add_argument("-report", default="")
    arguments = parser.parse_args()
    os.environ.setdefault("CHECKPOINT_DISABLE", "1")
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["suite"]
    suites = [Suite.read(one) for one in listed]
    wanted = arguments.only.split(",") if arguments.only else [s.name for s in suites]
    results = {}
    for suite in (s for s in suites if s.name in wanted):
        tally = run_suite(suite, arguments)
        results[suite.name] = suite, tally
        for cause, texts in sorted(tally.differences.items()):
            print(f"{suite.name}: {cause}: {len(texts)}")
            for text in texts:
                print(f"  {text}")
        print(table({suite.name: results[suite.name]}), flush=True)
    if arguments.report:
        Path(arguments.report).write_text(table(results))
    return int(any("unknown" in tally.differences for _, tally in results.values()))


if __name__ == "__main__":
    sys.exit(main())
