"""Ephemeral resources that a walk has opened. They are renewed until no vertex needs them any more, and are then
closed."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Condition, Lock, Thread
from time import time

from planner.engine.evaluation.instance import Instance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.world.provider.interface import AttributeDiagnostic, OpenedEphemeral

CLOSE_SECONDS = 10.0  # seconds until closing counts as failed


class OpenResource:
    """An open ephemeral resource. A thread renews it if its provider requires this."""

    def __init__(self, it: Instance, opened: OpenedEphemeral, hooks: Hooks) -> None:
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
        """Close the resource. Returns diagnostics, including diagnostics of renewals. If the provider does not close it
        in time, only an error about this is returned."""
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
            detail = f"{it.address} was not closed within {CLOSE_SECONDS:g} seconds. Its values may remain valid."
            summary = "Closing ephemeral resource timed out"
            return [error("provider.close_timeout", summary, detail, address=it.address)]
        self.hooks.ephemeral_complete(it.address, "close")
        return in_body([*self._problems, *done[0]], it.body, it.address)


class OpenResources:
    """The open resources of a walk, by the vertex that closes them: `ephemeral.TYPE.NAME (close)`."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self._lock = Lock()
        self._open: dict[str, list[OpenResource]] = {}

    def add(self, it: Instance, opened: OpenedEphemeral) -> None:
        resource = OpenResource(it, opened, self.hooks)
        with self._lock:
            self._open.setdefault(f"{it.config_address} (close)", []).append(resource)

    def has(self, node: str) -> bool:
        return node in self._open

    def close(self, node: str) -> list[Diagnostic]:
        with self._lock:
            resources = self._open.pop(node, [])
        return _close(resources)

    def close_all(self) -> list[Diagnostic]:
        """Close the resources that are still open because the walk did not finish."""
        with self._lock:
            resources = [resource for node in sorted(self._open) for resource in self._open[node]]
            self._open.clear()
        return _close(resources)


def _close(resources: Iterable[OpenResource]) -> list[Diagnostic]:
    return [problem for resource in resources for problem in resource.close()]
