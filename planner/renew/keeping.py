"""From a plan that was made and told to what is kept of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from planner.batch.plan_unit import asks_plugins
from planner.config.model import Config, ResourceDecl
from planner.config.secrecy import is_secret
from planner.datalog.engine.evaluate import evaluate
from planner.datalog.engine.fact_base import FactBuilder
from planner.operations.plan import may_have_cycle
from planner.programs.rule_programs import renewal_program
from planner.renew.kept import Kept, Parts
from planner.renew.part import uses_of
from planner.state.backends.local import StateStore
from planner.state.model import ResourceState
from planner.support.digests import sha256_of
from planner.support.disk import read_whole
from planner.values.value import is_marked_deep
from planner.vocabulary.records import frozen

if TYPE_CHECKING:
    from planner.model.plan import ResourceChange
    from planner.operations.plan import Made, Start
    from planner.render.plan import PlanText

TOGETHER = 64
"""resources whose objects are kept in one piece: what they share is written once"""
_RESOURCES = {"data": "data", "ephemeral": "ephemeral"}


@frozen(eq=False)
class Printed:
    """What a plan printed: pieces of standard output as they were written, the text on standard error, how many pieces
    there were before the plan, the changes with the number of pieces when all was told of each, and the exit code."""

    pieces: Sequence[str]
    errors: str
    before: int
    told: Sequence[tuple[ResourceChange, int]]
    text: PlanText
    code: int
    asks_services: bool
    """whether services were asked for states"""


def kept(made: Made[Start], printed: Printed, reads: list[list[Any]], has_remarks: bool, asked: bool) -> Kept | None:
    """What is kept of a plan, None when nothing may be. `has_remarks`: there were diagnostics; `asked`: somebody was
    asked for values."""
    found = set(_found(made, printed, has_remarks))
    if asked:
        found.add("answers")
    facts = FactBuilder()
    for what in found:
        facts.add("found", what)
    verdict = evaluate(renewal_program(), facts.build(), ["not_kept", "only_whole"])
    if verdict["not_kept"]:
        return None
    store = made.loaded.store
    lock = store.path if isinstance(store, StateStore) and made.loaded.options.lock else ""
    output = "".join(printed.pieces)
    data: list[bytes] = []
    objects: dict[str, tuple[int, int]] = {}
    parts = None if verdict["only_whole"] else _parts(made, printed, objects, data)
    return Kept(reads, printed.code, lock, printed.errors, parts, output, objects, b"".join(data))


def _found(made: Made[Start], printed: Printed, has_remarks: bool) -> Iterator[str]:
    """What rules/renew/whole.dl is told of a plan."""
    loaded, plan = made.loaded, made.plan
    config, options = loaded.config, loaded.options
    if asks_plugins(made):
        yield "plugins"
    if printed.asks_services or not isinstance(loaded.store, StateStore):
        yield "services"
    if options.judges or plan.policy is not None:
        yield "policies"
    if plan.errored or printed.code == 1:
        yield "errors"
    texts = list(_texts(config).values())
    if len(texts) < len(config.files):
        yield "files that have changed since"
    if is_secret(texts):
        yield "secrets"
    if any(b"plantimestamp" in text for text in texts):
        yield "time"
    if "Acquiring state lock" in "".join(printed.pieces[: printed.before]):
        yield "waiting"
    if has_remarks or printed.errors:
        yield "remarks"
    if printed.text.causes is not None:
        yield "causes"
    if any(change.action != "no-op" for change in plan.drift):
        yield "drift"
    if loaded.rules:
        yield "rules"
    if plan.targets or plan.excludes or plan.replace or plan.mode != "normal":
        yield "limits"
    yield from _declared(config)
    if made.context is None or made.loaded.derived.plan_graph is None:
        yield "limits"
    elif any(map(_is_secret, made.context.root.variables.values())) or any(map(_has_secrets, plan.changes)):
        yield "sensitive values"
    if may_have_cycle(plan) or any(map(_is_replaced_first, plan.previous_state.resources.values())):
        yield "another order"


def _texts(config: Config) -> dict[str, bytes]:
    """The files as the plan has seen them; of those that have changed since, nothing."""
    found = {}
    for name, digest in config.files.items():
        data = read_whole(name)
        if sha256_of(data) == digest:
            found[name] = data
    return found


def _declared(config: Config) -> Iterator[str]:
    root = config.root
    if root.children or root.calls:
        yield "modules"
    if root.moved or root.imports or root.removed:
        yield "moved, import or removed"
    if root.checks:
        yield "checks"
    if root.providers:
        yield "provider configurations"
    if any(name.endswith(".json") or name.rsplit(".", 1)[0].endswith("override") for name in config.files):
        yield "overrides or JSON"
    for decl in root.resources.values():
        if decl.mode != "managed":
            yield _RESOURCES[decl.mode]
        if decl.enabled is not None:
            yield "enabled"
        if decl.provisioners or decl.connection is not None:
            yield "provisioners"
        if decl.lifecycle.create_before_destroy is not None or decl.lifecycle.replace_triggered_by:
            yield "another order"
    for output in root.outputs.values():
        if output.sensitive or output.ephemeral:
            yield "sensitive values"


def _is_replaced_first(resource: ResourceState) -> bool:
    return any(one.current is not None and one.current.create_before_destroy for one in resource.instances.values())


def _is_secret(value: Any) -> bool:
    return is_marked_deep(value)


def _has_secrets(change: ResourceChange) -> bool:
    return is_marked_deep(change.after) or is_marked_deep(change.before)


def _parts(made: Made[Start], printed: Printed, objects: dict[str, tuple[int, int]], data: list[bytes]) -> Parts:
    texts = _texts(made.loaded.config)
    root, context, graph = made.loaded.config.root, made.context, made.loaded.derived.plan_graph
    assert context is not None
    assert graph is not None
    ends = list(accumulate(map(len, printed.pieces)))
    places: dict[str, tuple[int, int]] = {}
    for change, written in printed.told:
        # a line break, and the object: the piece before ends where this begins, but for the first
        places[change.address] = (ends[written - 3] if written >= 3 else 0, ends[written - 1])
    at = 0
    names = list(context.root.resources)
    for first in range(0, len(names), TOGETHER):
        some = names[first : first + TOGETHER]
        piece = pickle.dumps({name: context.root.resources[name].planned for name in some}, 5)
        objects.update(dict.fromkeys(some, (at, len(piece))))
        data.append(piece)
        at += len(piece)
    changes = [
        (c.address, c.resource_address, c.mode, c.action, *places.get(c.address, (-1, -1))) for c in made.plan.changes
    ]
    actions = {one.name: one.action for one in made.plan.outputs}
    outputs = [(name, actions[name], sign, value) for name, sign, value in printed.text.output_parts()]
    return Parts(
        {name: data.decode() for name, data in texts.items()},
        {name: (*_place(decl), _argument(decl)) for name, decl in root.resources.items()},
        uses_of(graph),
        changes,
        outputs,
        sum(map(len, printed.pieces[: printed.before])),
    )


def _place(decl: ResourceDecl) -> tuple[str, int, int]:
    return decl.block.source.filename, decl.block.start, decl.block.end


def _argument(decl: ResourceDecl) -> str:
    return "count" if decl.count is not None else "for_each" if decl.for_each is not None else "none"
