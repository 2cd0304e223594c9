"""`watch`: plans again whenever files are saved."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from planner.answers.policy.library import BUILTIN
from planner.answers.policy.rule_files import OWN_FOLDER
from planner.answers.policy.standing_policies import OWN
from planner.api.making import Making, actions_of, chains_of, compared, judgement
from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, command, no_directory
from planner.cli.options import DESTROY, JSON, OPERATION, POLICY, STATE, VARIABLES, plan_calls
from planner.cli.views import causes_of, plan_headline, show_summary
from planner.foundation.support.disk import files_read, looked_at
from planner.foundation.support.signals import STOP
from planner.foundation.support.watch import Watch
from planner.language.config.directory import manifest_path
from planner.render.terminal import Terminal
from planner.render.verdicts import compared_verdicts
from planner.render.what_if import differences_lines, what_if_json
from planner.workflows.renew.watch import Changed, Standing
from planner.world.provider.lock_file import NAME as LOCK_FILE
from planner.world.state.backends.local import StateStore
from planner.world.state.workspace import data_directory

if TYPE_CHECKING:
    from planner.answers.policy.model import Verdict
    from planner.api.making import MadePlan
    from planner.foundation.vocabulary.diagnostic import Diagnostic


@command(
    "[options]",
    """Makes a plan, and plans again whenever one of its input files is saved: configuration, variables, the state,
rules, policies, and files that functions read. Shows how each plan differs from the previous one, and why, then the
causes of all changes unless the plan is unchanged. With policies, it also shows how the verdicts differ. Nothing is
changed.

With -refresh=false no provider reads objects, which is fastest. Ctrl-C ends the command.""",
    (JSON, DESTROY, *POLICY, *OPERATION, *STATE, *VARIABLES),
)
def watch(arguments: Arguments, terminal: Terminal) -> int:
    """Returns 0 after an interrupt, and 1 if the output was closed."""
    no_directory(arguments, "watch")

    def calls() -> Making:  # for each plan, because policies may be added to the directory
        return plan_calls(Making, arguments, needs_configuration=True)

    return _watch(calls, terminal, arguments["json"])


# successive plans in one process, and the differences of each plan from the previous plan


SECONDS = 0.1

"""seconds between two checks of the files"""

GRAIN = 20_000_000

"""resolution of file timestamps in nanoseconds: within this time, a file may change twice and get the same timestamp"""


def _watch(calls_of: Callable[[], Making], terminal: Terminal, is_json: bool) -> int:
    """Plan again after each change. A failed plan is reported; the next plan is compared with the last successful one.
    Returns 0 after an interrupt, and 1 if the output was closed."""
    files = PlanFiles()
    verdict: Verdict | None = None
    last: MadePlan[Any] | None = None
    standing: Standing | None = None
    changed: frozenset[str] = frozenset()
    parts: dict[int, Changed] = {}

    try:
        while True:
            began, since = time.monotonic(), time.time_ns()
            calls = calls_of()
            may_part = standing is not None and not calls.options.judges
            parted = standing.after(changed, calls.options) if standing is not None and may_part else None
            if parted is not None and (more := files.edits()):
                parted, changed = None, changed | more  # the plan may have read a file while the file was being changed
            if parted is None:
                result = calls.plan_to_explain()
                made, problems = result.complete, result.diagnostics
                standing = None if made is None else Standing(made, bool(problems), terminal)
            else:
                made, problems = parted.made, ()
                parts[id(made)] = parted
            judging: list[Diagnostic] = []
            former, verdict = verdict, None
            if made is not None and calls.options.judges:
                _, verdict, judging = judgement(made)
            is_judged = verdict is not None or not calls.options.judges
            if changed and not is_json:
                terminal.out(f"\n{files.sentence(changed)}")
            _tell(last, made, parts, terminal, is_json, verdict, former if is_judged else None)
            if calls.options.judges or made is None:
                verdict = verdict or former  # failed verdicts are not compared, like failed plans
            finish([*problems, *judging], terminal)
            files.also(calls, made or last, since)
            if not is_json:
                outcome = f"{'Planned' if made is not None else 'Failed'} in {time.monotonic() - began:.1f} s"
                terminal.out(f"\n{outcome}. Waiting for changes; press Ctrl-C to stop.")
            terminal.stdout.flush()
            if terminal.outputs[0].problem is not None:
                return 1  # the output was closed
            last = made or last
            parts = {id(last): parts[id(last)]} if id(last) in parts else {}
            gc.collect()  # `main` disables automatic collection, and this process makes many plans
            changed = _next(files)
    except KeyboardInterrupt:
        return 0


def _next(files: PlanFiles) -> frozenset[str]:
    changed: frozenset[str] = frozenset()
    while not changed:
        if STOP.requested:  # KeyboardInterrupt is lost if it is raised in the finalizer of an object
            raise KeyboardInterrupt
        changed = files.edits()
        time.sleep(SECONDS / 5 if changed else SECONDS)  # an editor may write several files at once
    return changed | files.edits()


class PlanFiles:
    """The input files of plans, watched for changes."""

    def __init__(self) -> None:
        self._watch = Watch()
        self._watch.also((".", os.path.dirname(OWN), OWN))
        self._exact: set[str] = set()

    def also(self, calls: Making, made: MadePlan[Any] | None, since: int) -> None:
        """Also watch the input files of a plan. Files that changed after planning began (`since`, in nanoseconds) count
        as changed. `made`: None if no plan succeeded."""
        self._exact |= {os.path.normpath(path) for path in (*_exact_paths(calls, made), *_rule_paths(calls))}
        self._watch.also((*sorted(self._exact), *_folders(made)), since - GRAIN)

    def edits(self) -> frozenset[str]:
        """The changed files that may be inputs."""
        return frozenset(filter(self._counts, self._watch.changes()))

    def sentence(self, changed: frozenset[str]) -> str:
        """`main.tf changed. extra.tf was added.` A directory is named only if it contains no changed file."""
        inner = {os.path.dirname(path) for path in changed}
        groups: dict[str, list[str]] = {}
        for path in sorted(changed - inner):
            word = "added" if path in self._watch.added else "changed" if os.path.exists(path) else "deleted"
            groups.setdefault(word, []).append(path)
        self._watch.added.clear()
        sentences = []
        for word, names in groups.items():
            verb = word if word == "changed" else f"{'was' if len(names) == 1 else 'were'} {word}"
            sentences.append(f"{', '.join(names[:3])}{f' and {len(names) - 3} more' * (len(names) > 3)} {verb}.")
        return " ".join(sentences)

    def _counts(self, path: str) -> bool:
        # count files that a function or a policy read, and configuration files in watched directories
        folder = os.path.dirname(path)
        is_listed = folder in self._exact or folder.startswith(os.path.dirname(OWN))
        return path in self._exact or (_counts(path) and (is_listed or path.endswith(_CONFIGURATION)))


_CONFIGURATION = (".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json")


def _counts(path: str) -> bool:
    """Whether a change of this file may require a new plan. False for hidden files, temporary files of editors, and
    backups and journals of states."""
    name = os.path.basename(path)
    return not (name.startswith(".") or name.endswith(("~", ".swp", ".tmp", ".backup", ".journal")))


def _tell(
    last: MadePlan[Any] | None,
    made: MadePlan[Any] | None,
    parts: Mapping[int, Changed],
    terminal: Terminal,
    is_json: bool,
    verdict: Verdict | None,
    former: Verdict | None,
) -> None:
    """Print the differences of a plan and its verdict from the previous plan and verdict, and the causes of a changed
    plan. Nothing is printed if planning failed (`made` is None). `parts`: {id(plan): Changed} of plans that were only
    partly made again; a Changed has only the causes of changes in the part that was made again."""
    if made is None:
        return
    chains = chains_of(made) if id(made) not in parts else None

    def causes(one: MadePlan[Any]) -> Any:
        return chains if one is made and chains is not None else parts.get(id(one)) or chains_of(one)

    comparison = compared(last or made, made, causes)
    if is_json:
        judged = {"policies": verdict.to_json()} if verdict is not None else {}
        terminal.data(json_text({**what_if_json(comparison), **judged}))
        return
    if last is not None:
        actions = {**actions_of(last), **actions_of(made)}
        lines = differences_lines(comparison, actions, terminal.paint, is_next=True)
        terminal.out("\n".join(lines or ["The plan is unchanged."]))
        terminal.out()
    if chains is None or not actions_of(made) or (last is not None and not comparison.differences):
        terminal.out(plan_headline(made, causes_of(made, {}, terminal)))
    else:
        show_summary(made, terminal, chains=chains)
    if verdict is not None or former is not None:
        terminal.out()
        for line in compared_verdicts(verdict, former, terminal.paint):
            terminal.out(line)


def _rule_paths(calls: Making) -> Iterator[str]:
    """Paths of the user's rules and of policies, with everything below directories."""
    for word in (*(calls.options.rules or (OWN_FOLDER,)), *calls.options.policies, *calls.options.standing_policies):
        if not word.startswith(BUILTIN):
            yield word
            for folder, _, names in os.walk(word):
                yield from (folder, *(os.path.join(folder, name) for name in names))


def _exact_paths(calls: Making, made: MadePlan[Any] | None) -> Iterator[str]:
    """The paths of all input files of a plan, including files that do not exist."""
    yield os.path.join(data_directory(os.environ), "environment")
    yield from (os.path.normpath(manifest_path(".", data_directory(os.environ))), LOCK_FILE)  # files that init writes
    yield from files_read()
    yield from looked_at()
    yield from (text for kind, text in calls.options.var_args if kind == "var-file")
    yield from _rule_paths(calls)
    if made is not None:
        yield from made.loaded.config.files
        if isinstance(made.loaded.store, StateStore):
            yield made.loaded.store.path


def _folders(made: MadePlan[Any] | None) -> Iterator[str]:
    """The directories of the configuration's files, which are watched because files may be added there."""
    yield "."
    if made is not None:
        for path in made.loaded.config.files:
            yield os.path.dirname(path) or "."
