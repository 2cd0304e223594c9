"""Collects the data of a plan that is stored so that the plan can be reused or renewed later."""

from __future__ import annotations

import _pickle  # the same functions as in pickle, which also imports other code
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from planner.foundation.support.digests import sha256_of
from planner.foundation.support.disk import read_whole
from planner.foundation.values.paths import parts
from planner.foundation.values.value import (
    EPHEMERAL,
    NO_MARKS,
    SENSITIVE,
    Mark,
    Marked,
    Null,
    Unknown,
    is_marked_deep,
    unmark_deep,
)
from planner.foundation.vocabulary.limits import UNLIMITED
from planner.foundation.vocabulary.records import field, frozen
from planner.language.config.directory import is_secret
from planner.language.config.model import Config, ModuleCall, ModuleConfig, ResourceDecl
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.rule_programs import product_program
from planner.operations.load import UNENCRYPTED
from planner.operations.plan import MadePlan, Start, may_have_cycle
from planner.operations.providers_needed import asks_plugins, provider_constraints, running_command
from planner.workflows.renew.kept import KeptPlan, RenewableParts
from planner.workflows.renew.partial_plan import CALL, block_of, blocks_with_data, moved_blocks, uses_of
from planner.world.state.backends.local import StateStore
from planner.world.state.model import ResourceState

if TYPE_CHECKING:
    from planner.engine.evaluation.context import ModuleInstance
    from planner.foundation.values.value import Value
    from planner.foundation.vocabulary.address import InstanceKey
    from planner.render.plan import PlanText
    from planner.world.provider.plugin.kept_answers import CallLog

    Logs = Mapping[str, CallLog | None]

TOGETHER = 64
"""number of resources whose objects are pickled together, so that parts that the objects share are stored only once"""


@frozen(eq=False)
class Printed:
    """The output of a command that planned. `pieces`: standard output, in the pieces in which it was written. `errors`:
    standard error. `before`: the number of pieces before the plan itself. `code`: the exit code."""

    pieces: Sequence[str]
    errors: str
    before: int
    told: Sequence[tuple[ResourceChange, int]]
    """each printed change, with the number of pieces when it had been printed"""
    text: PlanText
    code: int
    asks_services: bool
    """whether states were read from services"""
    has_waited: bool
    """whether the plan waited for a state's lock"""


@frozen(eq=False)
class KeepingFacts:
    """Facts that are collected about a plan before it is printed. `found`: the kinds of content of the plan
    (rules/renew/whole.dl), which determine whether it may be stored. If the plan may be renewed in part, `data`
    contains the pickled planned objects, `objects` their position for each resource and module call, and `uses` the
    references between blocks."""

    found: frozenset[str]
    has_secrets: bool = False
    """whether `data` contains sensitive values"""
    data: bytes = b""
    objects: dict[str, tuple[int, int]] = field(factory=dict)
    uses: dict[str, list[str]] | None = None


def gathered(
    made: MadePlan[Start], has_remarks: bool, logs: Logs | None = None, compares_data: bool = True
) -> KeepingFacts:
    """The facts for which the plan's values and graph are needed. `has_remarks`: whether there were diagnostics.
    `logs`: logged calls of plugins. `compares_data`: whether data sources are read again and compared before the plan
    is reused."""
    root = made.context.root if made.context is not None else None
    between, marks = _marks(root) if root is not None else (NO_MARKS, NO_MARKS)
    items = frozenset(_keeping_facts(made, has_remarks, logs)).union(_marks_found(between, marks))
    if not compares_data and blocks_with_data(made.loaded.config.root):
        items |= {"data that is not compared"}
    context, graph = made.context, made.loaded.derived.plan_graph
    if context is None or graph is None or any(_verdict(items)[:2]):
        return KeepingFacts(items)
    pieces: list[bytes] = []
    objects: dict[str, tuple[int, int]] = {}
    at = 0
    names = list(context.root.resources)
    for first in range(0, len(names), TOGETHER):
        some = names[first : first + TOGETHER]
        piece = _pickle.dumps({name: context.root.resources[name].planned for name in some}, 5)
        objects.update(dict.fromkeys(some, (at, len(piece))))
        pieces.append(piece)
        at += len(piece)
    for name in context.root.calls:
        piece = _pickle.dumps({f"{CALL}{name}": call_values(context.root, name)}, 5)
        objects[f"{CALL}{name}"] = (at, len(piece))
        pieces.append(piece)
        at += len(piece)
    shown = (value for change in made.plan.changes for value in (change.before, change.after))
    has_secrets = SENSITIVE in marks or any(map(_is_secret_value, shown))
    return KeepingFacts(items, has_secrets, b"".join(pieces), objects, uses_of(graph))


def call_values(root: ModuleInstance, name: str) -> dict[InstanceKey, Value]:
    """The planned outputs of a module call: {instance key: object with the outputs}."""
    return {key: module.output_object() for key, module in root.calls.get(name, {}).items()}


def keep_plan(
    made: MadePlan[Start],
    known: KeepingFacts,
    printed: Printed,
    reads: list[list[Any]],
    asked: bool = False,
    logs: Logs | None = None,
) -> KeptPlan | None:
    """The data of a plan to store; None if the rules do not permit storing it, or if it depends on plugin calls that
    cannot be stored. `known`: result of `gathered`. `reads`: the files that the command read, as in
    planner.workflows.batch.files_read. `asked`: whether the user was prompted for values. `logs`: logged calls of
    plugins."""
    found = known.found.union(_found_told(printed), ["answers to prompts"] if asked else [])
    texts = _texts(made.loaded.config)
    if len(texts) < len(made.loaded.config.files):
        found |= {"files that have changed since they were read"}
    if is_secret(texts.values()):
        found |= {"secrets"}
    not_kept, only_whole, repeated = _verdict(found, made.loaded.options, logs)
    if not_kept:
        return None
    plugins = None
    if logs:
        from planner.workflows.renew.plugin_calls import sealed_calls

        plugins = sealed_calls(logs, repeated, provider_constraints(made.loaded.config), reads)
        if plugins is None:
            return None
    store = made.loaded.store
    lock = store.path if isinstance(store, StateStore) and made.loaded.options.lock else ""
    parts = None
    if not only_whole and known.uses is not None:
        parts = _parts(made, known.uses, printed, texts)
    return KeptPlan(
        reads,
        printed.code,
        lock,
        printed.errors,
        parts,
        printed.pieces,
        known.objects,
        known.data,
        plugins,
        known.has_secrets,
    )


def _verdict(
    properties: frozenset[str], options: object = None, logs: Logs | None = None
) -> tuple[bool, bool, frozenset[str]]:
    """Three decisions of the rules: whether storing is forbidden, whether the plan can be reused only as a whole, and
    which kinds of plugin calls must be repeated before it is reused."""
    facts = FactBuilder()
    for what in properties:
        facts.add("content_kind", what)
    if logs:
        running_command(facts, options)
    for call in {sent[1] for log in (logs or {}).values() if log is not None for sent in log.sent}:
        facts.add("plugin_call", call)
    verdict = evaluate(product_program("renewal"), facts.build(), ["not_kept", "only_whole", "call_is_repeated"])
    repeated = frozenset(row[0] for row in verdict["call_is_repeated"])
    return bool(verdict["not_kept"]), bool(verdict["only_whole"]), repeated


def _found_told(printed: Printed) -> Iterator[str]:
    """The kinds of content that are known once the plan is printed, for the rules."""
    if printed.asks_services:
        yield "services"
    if printed.code == 1:
        yield "errors"
    if printed.has_waited:
        yield "waiting for a lock"
    if printed.errors:
        yield "diagnostics"
    if printed.text.causes is not None and printed.told:
        yield "printed causes"


def _keeping_facts(made: MadePlan[Start], has_remarks: bool, logs: Logs | None) -> Iterator[str]:
    """The kinds of content of a plan and its configuration, for the rules."""
    # decided in Python: which properties of a plan are examined before it is stored -- rules decide which prevent this
    loaded, plan = made.loaded, made.plan
    config, options = loaded.config, loaded.options
    if not logs:
        is_incomplete = asks_plugins(config, plan.prior_state)
    else:
        is_incomplete = any(log is None or not log.is_complete for log in logs.values())
    if is_incomplete:
        yield "plugins"
    if loaded.encryption is not UNENCRYPTED:
        yield "an encrypted state"
    if not isinstance(loaded.store, StateStore):
        yield "services"
    elif loaded.store.journals():
        yield "a journal"
    if options.judges or plan.policy is not None:
        yield "policies"
    if options.more_policies is not None:
        yield "policies in Python"
    if plan.errored:
        yield "errors"
    if not {os.path.normpath(name) for name in config.files}.isdisjoint(map(os.path.normpath, plan.files)):
        yield "expressions that read configuration files"
    if has_remarks:
        yield "diagnostics"
    if any(change.action != "no-op" for change in plan.drift):
        yield "drift"
    if loaded.rules:
        yield "rules"
    if plan.limits != UNLIMITED or plan.mode != "normal":
        yield "options or a mode that limit the plan"
    yield from _declarations(config)
    if made.context is None or made.loaded.derived.plan_graph is None:
        yield "options or a mode that limit the plan"
    if may_have_cycle(plan) or any(map(_is_replaced_first, plan.previous_state.resources.values())):
        yield "operations whose order may change"


def _marks_found(between: frozenset[Mark], marks: frozenset[Mark]) -> Iterator[str]:
    if EPHEMERAL in marks:
        yield "ephemeral values"
    if between - {SENSITIVE, EPHEMERAL}:
        yield "deprecated values"


def _marks(root: ModuleInstance) -> tuple[frozenset[Mark], frozenset[Mark]]:
    """Two sets of marks: first the marks of the root module's variables and of the outputs of its module calls, then
    the same marks with those of the planned objects in the root module. The objects count because they are stored,
    too."""
    outputs = (value for name in root.calls for value in call_values(root, name).values())
    between = _marks_of((*root.variables.values(), *outputs))
    return between, between | _marks_of(value for one in root.resources.values() for value in one.planned.values())


def _marks_of(values: Iterable[Value]) -> frozenset[Mark]:
    return frozenset(mark for value in values if is_marked_deep(value) for mark in unmark_deep(value)[1])


def _texts(config: Config) -> dict[str, bytes]:
    """The configuration files that have not changed since the plan read them: {name: content}."""
    result = {}
    for name, digest in config.files.items():
        try:
            data = read_whole(name)
        except OSError:  # the file no longer exists
            continue
        if sha256_of(data) == digest:
            result[name] = data
    return result


def _declarations(config: Config) -> Iterator[str]:
    names = [name for name in config.files if _is_in_root(config, name)]
    if any(name.endswith(".json") or name.rsplit(".", 1)[0].endswith("override") for name in names):
        yield "override files or JSON files"
    for module in config.root.walk():
        yield from _declared_in(module)
    if any(output.type is not None for child in config.root.children.values() for output in child.outputs.values()):
        yield "module outputs with a declared type"
    if any(call.enabled is not None for call in config.root.calls.values()):
        yield "arguments named enabled"
    if any(child.providers for child in config.root.walk() if child.path):
        yield "provider configurations of modules"
    if any(block.for_each is not None for block in config.root.providers.values()):
        yield "provider instances"


def _declared_in(module: ModuleConfig) -> Iterator[str]:
    if module.imports:
        yield "import blocks"
    if any(check.data is not None for check in module.checks.values()):
        yield "checks with data"
    for decl in module.resources.values():
        if decl.mode == "ephemeral":
            yield "ephemeral values"
        if decl.enabled is not None:
            yield "arguments named enabled"
        if decl.provisioners or decl.connection is not None:
            yield "provisioners"
        if decl.lifecycle.create_before_destroy is not None or decl.lifecycle.replace_triggered_by:
            yield "operations whose order may change"
    if any(output.ephemeral for output in module.outputs.values()):
        yield "ephemeral values"


def _is_replaced_first(resource: ResourceState) -> bool:
    return any(one.current is not None and one.current.create_before_destroy for one in resource.instances.values())


def _is_secret_value(value: Value) -> bool:
    """Whether a value has a part that is sensitive, known and not null."""
    if value.__class__ is Marked:
        return value.value.__class__ not in (Null, Unknown)
    if not is_marked_deep(value):
        return False
    return any(_is_secret_value(part) for _, part in parts(value))


def _parts(
    made: MadePlan[Start], uses: dict[str, list[str]], printed: Printed, texts: dict[str, bytes]
) -> RenewableParts:
    ends = list(accumulate(map(len, printed.pieces)))
    places: dict[str, tuple[int, int]] = {}
    for change, written in printed.told:
        # an object is printed in two pieces, a line break and its text; its output starts at the end of the previous
        # piece
        places[change.address] = (ends[written - 3] if written >= 3 else 0, ends[written - 1])
    changes = [
        (c.address, block_of(c.resource_address), c.mode, c.action, *places.get(c.address, (-1, -1)))
        for c in made.plan.changes
    ]
    actions = {one.name: one.action for one in made.plan.outputs}
    outputs = [(name, actions[name], sign, value) for name, sign, value in printed.text.output_parts()]
    root = made.loaded.config.root
    blocks = {name: (*_place(decl), _argument(decl), str(decl.provider or "")) for name, decl in root.resources.items()}
    blocks |= {f"{CALL}{name}": (*_place(call), _argument(call), "") for name, call in root.calls.items()}
    return RenewableParts(
        {name: data.decode() for name, data in texts.items() if _is_in_root(made.loaded.config, name)},
        _module_files(made.loaded.config),
        blocks,
        blocks_with_data(root),
        moved_blocks(root),
        uses,
        changes,
        outputs,
        sum(map(len, printed.pieces[: printed.before])),
    )


def _is_in_root(config: Config, name: str) -> bool:
    return os.path.normpath(os.path.dirname(name) or ".") == os.path.normpath(config.root.directory or ".")


def _module_files(config: Config) -> dict[str, list[str]]:
    """The files of called modules: {file: names of the root module's calls that use it, directly or through other
    modules}."""
    users: dict[str, set[str]] = {}
    for module in config.root.walk():
        if module.path:
            users.setdefault(os.path.normpath(module.directory), set()).add(f"{CALL}{module.path[0]}")
    folders = {name: users.get(os.path.normpath(os.path.dirname(name) or ".")) for name in config.files}
    return {os.path.normpath(name): sorted(calls) for name, calls in folders.items() if calls}


def _place(decl: ResourceDecl | ModuleCall) -> tuple[str, int, int]:
    return decl.block.source.filename, decl.block.start, decl.block.end


def _argument(decl: ResourceDecl | ModuleCall) -> str:
    return "count" if decl.count is not None else "for_each" if decl.for_each is not None else "none"
