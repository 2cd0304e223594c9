"""`plan` for large configurations. If the stored data of the last plan determines the result, the plan is derived from
this data. Otherwise a new plan is made and stored. For small configurations, planning is faster than checking stored
data."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import process_time
from typing import TYPE_CHECKING, Any

from planner.answers.policy.standing_policies import OWN, SETTINGS
from planner.cli.flags import Arguments
from planner.cli.views import causes_told, how_told
from planner.foundation.support.disk import lock_waits, read_whole, service_reads
from planner.foundation.support.store import Shelf
from planner.foundation.vocabulary.records import define, evolve
from planner.render.terminal import Terminal
from planner.render.view import HumanView
from planner.workflows.batch.files_read import RECORDER, ReadComparison, entries
from planner.workflows.renew.kept import KeptPlan, read, rules_stamp, shelf, write
from planner.world.provider.plugin.kept_answers import logged_calls

if TYPE_CHECKING:
    from planner.api.base import OperationOptions
    from planner.api.making import MadePlan, Start
    from planner.render.plan import PlanText
    from planner.workflows.renew.keep import KeepingFacts
    from planner.workflows.renew.renewal import Renewed

_ENVIRONMENT = ("TF_", "TOFU_", "PLANNER_", "XDG_", "HOME", "NO_COLOR", "TERM", "CI", "GITHUB_ACTIONS")

WORTH = 0.5
"""minimum CPU time of a plan without plugins, in seconds; a plan that takes less time is not stored"""


@define(eq=False)
class Watched:
    """Receives the events of a plan that may be stored. `pieces`, `errors`: the strings that were printed to standard
    output and to standard error. `services`, `waits`: the numbers of reads from services and of waits for locks before
    planning began. `logs`: log entries of calls to plugins."""

    pieces: list[str]
    errors: list[str]
    services: int
    waits: int
    before: int = 0
    text: PlanText | None = None
    told: list[tuple[Any, int]] | None = None
    """(change, number of pieces after the change was printed)"""
    made: MadePlan[Start] | None = None
    gathered: KeepingFacts | None = None
    logs: dict[str, Any] | None = None

    def gathers(self, made: MadePlan[Start], has_remarks: bool, needs_values: bool) -> MadePlan[Start]:
        """Keep the facts of a finished plan, so that it can be stored, unless planning it again would take little time.
        Returns the plan; if its facts are kept, values and graph are removed unless they are still needed
        (`needs_values`)."""
        if not self.logs and process_time() < WORTH:
            return made
        from planner.workflows.renew.keep import gathered

        self.gathered = gathered(made, has_remarks, self.logs)
        if not needs_values and made.context is not None:
            made.context.take_apart()
            made.loaded.derived.plan_graph = None
            made = evolve(made, context=None)
        self.made = made
        return made

    def begins(self, text: PlanText) -> None:
        """Begin to record the printed text of a plan. Must be called before the plan is printed."""
        lines: list[tuple[Any, int]] = []
        self.before, self.text = len(self.pieces), text
        self.told = lines
        text.told = lambda change: lines.append((change, len(self.pieces)))


def planned_again(
    arguments: Arguments,
    terminal: Terminal,
    settings: OperationOptions,
    make: Callable[[Watched | None], int],
) -> int:
    """Print the plan from stored data, if the data determines it. Otherwise `make` makes and prints a new plan, which
    is stored. Returns the exit code."""
    at = shelf()
    policies = repr((settings.policies, settings.standing_policies))
    name = at.name(rules_stamp(), os.getcwd(), policies, *_determining_inputs(arguments, terminal))
    known = read(at, name)
    if known is not None:
        code = _again(known, terminal, settings, arguments)
        if code is not None:
            return code
    return _made_and_kept(at, name, terminal, settings, make)


def _determining_inputs(arguments: Arguments, terminal: Terminal) -> tuple[str, ...]:
    """The flags, environment variables and properties of the terminal that determine the plan and its text."""
    around = sorted((k, v) for k, v in os.environ.items() if k.startswith(_ENVIRONMENT))
    flags = sorted((flag, repr(arguments[flag])) for flag in arguments.given)
    looks = (terminal.width, terminal.error_width, terminal.paint.enabled, terminal.error_paint.enabled, terminal.boxed)
    return repr(flags), repr(arguments.ordered), repr(around), repr(looks)


# ---------------------------------------------------------------- from stored data


def _again(known: KeptPlan, terminal: Terminal, settings: OperationOptions, arguments: Arguments) -> int | None:
    """Print the plan if the stored data determines it, and return the exit code. Otherwise nothing is printed, and the
    result is None."""
    changed = _changed_inputs(known)
    edits = _edited(known, changed)
    if edits is None:
        return None
    texts, calls = edits
    lock = _lock(known)
    if lock is None:
        return None
    try:
        if known.plugins is not None and not _are_answers_same(known):
            return None
        renewed = _renewed(known, texts, calls, settings) if texts or calls else None
    finally:
        lock()
    if ((texts or calls) and renewed is None) or not _changed_inputs(known) <= changed:
        return None  # a new plan is needed: the edits affect more than can be derived, or an input changed meanwhile
    if renewed is not None:
        return _tell_renewed(known, renewed, terminal, arguments)
    terminal.stdout.write(known.output)
    if known.errors:
        terminal.stdout.flush()
        terminal.stderr.write(known.errors)
    return known.code


def _changed_inputs(known: KeptPlan) -> set[str]:
    comparison = ReadComparison()
    return {entry[0] for entry in known.reads if not comparison.is_same(*entry)}


def _edited(known: KeptPlan, changed: set[str]) -> tuple[dict[str, str], set[str]] | None:
    """{name of an edited file of the root module: its text}, and the calls of modules with edited files. None if inputs
    of other kinds changed, too."""
    texts: dict[str, str] = {}
    calls: set[str] = set()
    here = os.getcwd()
    for path in changed:
        name = os.path.relpath(path, here)
        if known.parts is None:
            return None
        if name in known.parts.modules:
            calls.update(known.parts.modules[name])
            continue
        if name not in known.parts.files:
            return None
        try:
            texts[name] = read_whole(name).decode()
        except (OSError, ValueError):
            return None
    return {name: text for name, text in texts.items() if known.parts and known.parts.files[name] != text}, calls


def _lock(known: KeptPlan) -> Callable[[], object] | None:
    """Lock the state. Returns a function that releases the lock, or None if the lock is not available."""
    from planner.world.state.lock import FileLock

    if not known.lock:
        return lambda: None
    lock = FileLock(known.lock)
    return None if lock.acquire("OperationTypePlan", 0.0) else lock.release


def _renewed(known: KeptPlan, texts: dict[str, str], calls: set[str], settings: OperationOptions) -> Renewed | None:
    from planner.workflows.renew.renewal import Renewal

    assert known.parts is not None
    return Renewal(known, known.parts, texts, settings, calls).renewed()


def _are_answers_same(known: KeptPlan) -> bool:
    from planner.workflows.renew.plugin_calls import are_answers_same

    assert known.plugins is not None
    return are_answers_same(known.plugins, known.reads, ".")


def _tell_renewed(known: KeptPlan, renewed: Renewed, terminal: Terminal, arguments: Arguments) -> int | None:
    """Print the renewed plan if its whole output is known, and return the exit code. Otherwise nothing is printed, and
    the result is None."""
    from planner.render.diff_block import SchemaLookup
    from planner.workflows.renew.renewal import hides_rename, shown_causes
    from planner.workflows.renew.splice import SplicedText

    parts = known.parts
    assert parts is not None
    if hides_rename(renewed, parts):
        return None
    lookup = SchemaLookup(renewed.made.loaded.schemas).resource_schema
    text = SplicedText(renewed, parts, known.output, lookup, terminal)
    how = how_told(text.changed, arguments, terminal)
    if how != "none":
        chains = None if text.repeats else shown_causes(renewed, parts)
        if chains is None:
            return None  # the stored output has no causes, or its causes are outdated
        text.causes = causes_told(renewed.made, how, terminal, chains)
    terminal.stdout.write(known.output[: parts.told])
    text.show()
    if text.plan.can_apply:
        HumanView(terminal).next_steps("", "")
    return 2 if arguments["detailed-exitcode"] and text.plan.can_apply else 0


# ---------------------------------------------------------------- making and storing plans


def _made_and_kept(
    at: Shelf, name: str, terminal: Terminal, settings: OperationOptions, make: Callable[[Watched | None], int]
) -> int:
    watched = Watched([], [], service_reads(), lock_waits())
    out, errors = terminal.outputs[0], terminal.outputs[1]
    out.copies, errors.copies = watched.pieces, watched.errors
    try:
        with logged_calls() as watched.logs, RECORDER.recording() as looked:
            for folder in (OWN, os.path.join(".planner", "rules")):
                RECORDER.look(folder, "folder")
            for file in SETTINGS:
                RECORDER.look(file)
            code = make(watched)
    finally:
        out.copies = errors.copies = None
    if watched.made is None or watched.text is None:
        return code
    terminal.stdout.flush()
    for path in [path for path in looked if _is_in_package(path, watched.logs)]:
        del looked[path]  # the checksum of the package is compared instead
    reads = entries(looked)
    read_files = (
        *watched.made.loaded.config.files,
        *watched.made.plan.files,
        *[path for kind, path in settings.var_args if kind == "var-file"],
    )
    if RECORDER.has_unseen or not all(RECORDER.has_seen(path, looked) for path in read_files):
        return code  # a later run could not compare these inputs
    if reads is not None:
        _keep(at, name, watched, reads, code, terminal)
    return code


def _is_in_package(path: str, logs: dict[str, Any] | None) -> bool:
    folder = os.path.realpath(os.path.dirname(path)) if logs else ""
    return any(log is not None and log.folder == folder for log in (logs or {}).values())


def _keep(at: Shelf, name: str, watched: Watched, reads: list[list[Any]], code: int, terminal: Terminal) -> None:
    from planner.workflows.renew.keep import Printed, keep_plan

    assert watched.made is not None
    assert watched.gathered is not None
    assert watched.text is not None
    printed = Printed(
        watched.pieces,
        "".join(watched.errors),
        watched.before,
        watched.told or (),
        watched.text,
        code,
        watched.services != service_reads(),
        watched.waits != lock_waits(),
    )
    asked = terminal.interactive and _asks(watched)
    result = keep_plan(watched.made, watched.gathered, printed, reads, asked, watched.logs)
    if result is not None:
        write(at, name, result)


def _asks(watched: Watched) -> bool:
    """Whether the value of a root variable was entered at a prompt."""
    assert watched.made is not None
    given = watched.made.loaded.given
    declared = watched.made.loaded.config.root.variables
    return any(name not in given and decl.default is None for name, decl in declared.items())
