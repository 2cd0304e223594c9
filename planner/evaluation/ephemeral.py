"""Ephemeral resources: opened when their turn comes, renewed while they are used, closed when nothing needs them.

What they give is never kept: it lives as long as the walk, marked as ephemeral. When it cannot be opened yet, because
something that it needs is only known while applying, the plan sees what the configuration tells and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Condition, Lock, Thread
from time import time
from typing import TYPE_CHECKING

from planner.evaluation.instance import Instance
from planner.evaluation.provider_diagnostics import in_body
from planner.evaluation.schema_marks import marked_by_schema
from planner.plan.data import data_configuration, readiness
from planner.plan.decide import derive
from planner.plan.managed import path_name, self_references
from planner.provider.interface import AttributeDiagnostic, Opened
from planner.provider.propose import planned_unknown_object
from planner.values.paths import apply_marks, marked_paths, unknown_paths
from planner.values.value import EPHEMERAL, Null, Value, is_wholly_known, mark, unmark_deep
from planner.vocabulary.diagnostic import Diagnostic, error, has_errors
from planner.walk.hooks import Hooks

if TYPE_CHECKING:
    from planner.apply.walk import ApplyWalk
    from planner.evaluation.configuration_walk import ConfigurationWalk
    from planner.plan.walk import PlanWalk

CLOSE_SECONDS = 10.0
"""how long closing may take before it is an error"""
_EPHEMERAL = frozenset((EPHEMERAL,))


# ---------------------------------------------------------------- what is open


class OpenResource:
    """An open resource; a thread of its own renews it whenever its provider asked for that."""

    def __init__(self, it: Instance, opened: Opened, hooks: Hooks) -> None:
        self.it, self.hooks = it, hooks
        self._private, self._renew_at = opened.private, opened.renew_at
        self._problems: list[AttributeDiagnostic] = []
        self._changed = Condition()
        self._closing = False
        self._renewer: Thread | None = None
        if opened.renew_at is not None:
            self._renewer = Thread(target=self._keep_open, name=f"renew {it.address}", daemon=True)
            self._renewer.start()

    def _keep_open(self) -> None:
        while True:
            with self._changed:
                while not self._closing and (self._renew_at is None or self._renew_at > time()):
                    self._changed.wait(None if self._renew_at is None else max(0.0, self._renew_at - time()))
                if self._closing:
                    return
            self.hooks.ephemeral_start(self.it.address, "renew")
            answer = self.it.provider.renew(self.it.type, self._private)
            self._problems += answer.diagnostics
            self._private, self._renew_at = answer.private, answer.renew_at
            self.hooks.ephemeral_complete(self.it.address, "renew")

    def close(self) -> list[Diagnostic]:
        """Close it; what renewing found wrong is told then too."""
        it = self.it
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._renewer is not None:
            self._renewer.join(CLOSE_SECONDS)
        done: list[list[AttributeDiagnostic]] = []

        def work() -> None:
            done.append(it.provider.close_ephemeral(it.type, self._private))

        self.hooks.ephemeral_start(it.address, "close")
        thread = Thread(target=work, name=f"close {it.address}", daemon=True)
        thread.start()
        thread.join(CLOSE_SECONDS)
        if not done:
            detail = f"{it.address} was not closed within {CLOSE_SECONDS:g} seconds. What it gave may stay valid."
            summary = "Closing ephemeral resource timed out"
            return [error("provider.close_timeout", summary, detail, address=it.address)]
        self.hooks.ephemeral_complete(it.address, "close")
        return in_body([*self._problems, *done[0]], it.body, it.address)


class OpenResources:
    """All that a walk has opened, by the vertex that closes it: `ephemeral.TYPE.NAME (close)`."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self._lock = Lock()
        self._open: dict[str, list[OpenResource]] = {}

    def add(self, it: Instance, opened: Opened) -> None:
        """The resource of an instance is open now."""
        resource = OpenResource(it, opened, self.hooks)
        with self._lock:
            self._open.setdefault(f"{it.config_address} (close)", []).append(resource)

    def has(self, node: str) -> bool:
        """Whether a vertex has anything to close."""
        return node in self._open

    def close(self, node: str) -> list[Diagnostic]:
        """Close what a vertex has to close."""
        with self._lock:
            resources = self._open.pop(node, [])
        return _close(resources)

    def close_all(self) -> list[Diagnostic]:
        """Close what is left open because the walk did not come to its end."""
        with self._lock:
            resources = [resource for node in sorted(self._open) for resource in self._open[node]]
            self._open.clear()
        return _close(resources)


def _close(resources: Iterable[OpenResource]) -> list[Diagnostic]:
    return [problem for resource in resources for problem in resource.close()]


# ---------------------------------------------------------------- opening


def plan_ephemeral(walk: PlanWalk, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource, or leave that to the apply. Raises Failure."""
    assert it.objects is not None
    problems = self_references(walk, it) or walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    if not derive({"ephemeral_resource": (), **readiness(walk, it, config)}, "read_now"):
        if walk.options.mode == "refresh-only":
            value: Value = Null(it.object_type)
        else:
            known = planned_unknown_object(it.schema.block, unmark_deep(config)[0])
            value = apply_marks(known, marked_paths(config))
    else:
        opened, found = _open(walk, it, config)
        problems += found
        if opened is None:
            return problems
        value = marked_by_schema(opened, it.schema.block)
    return problems + _opened(walk, it, value)


def apply_ephemeral(walk: ApplyWalk, it: Instance) -> list[Diagnostic]:
    """Open an ephemeral resource. Raises Failure."""
    assert it.decl is not None
    problems = walk.conditions(it, "precondition")
    if has_errors(problems):
        return problems
    config = data_configuration(it, problems)
    if not is_wholly_known(config):
        where = ", ".join(sorted({path_name(path) for path in unknown_paths(config)}))
        detail = f"These arguments of {it.address} are still unknown: {where}."
        summary = "Incomplete configuration for ephemeral resource"
        return [*problems, error("apply.unknown_configuration", summary, detail, it.decl.span, address=it.address)]
    opened, found = _open(walk, it, config)
    problems += found
    if opened is None:
        return problems
    return problems + _opened(walk, it, marked_by_schema(opened, it.schema.block))


def _opened(walk: ConfigurationWalk, it: Instance, value: Value) -> list[Diagnostic]:
    assert it.objects is not None
    value = mark(value, _EPHEMERAL)
    it.objects.set(it.key, value)
    return walk.conditions(it, "postcondition", value)


def _open(walk: ConfigurationWalk, it: Instance, config: Value) -> tuple[Value | None, list[Diagnostic]]:
    """What the resource gives, with the configuration's marks; None when it cannot be opened."""
    plain = unmark_deep(config)[0]
    problems = in_body(it.provider.validate_resource("ephemeral", it.type, plain), it.body, it.address)
    if has_errors(problems):
        return None, problems
    walk.hooks.ephemeral_start(it.address, "open")
    answer = it.provider.open(it.type, plain)
    problems += in_body(answer.diagnostics, it.body, it.address)
    if has_errors(problems):
        return None, problems
    if answer.value.__class__ is Null or not is_wholly_known(answer.value):
        detail = f"The provider {it.configuration} gave no complete object for {it.address}."
        problems.append(error("provider.invalid_object", "Provider produced invalid object", detail))
        problems += in_body(it.provider.close_ephemeral(it.type, answer.private), it.body, it.address)
        return None, problems
    walk.hooks.ephemeral_complete(it.address, "open")
    walk.opened.add(it, answer)
    return apply_marks(answer.value, marked_paths(config)), problems
