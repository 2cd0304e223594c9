"""Plans and applies on a server: a configuration is uploaded, a run is made of it, and its logs are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.foundation.clients.tfe import Tfe, path_of
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import field, frozen
from planner.world.state.remote.upload import archive

FINAL = frozenset(("planned_and_finished", "applied", "discarded", "errored", "canceled", "force_canceled"))
WAITING = frozenset(("policy_soft_failed", "policy_override", "post_plan_awaiting_decision", "planned_and_saved"))
"""statuses in which a decision on the server is needed"""
_CHUNK = 1 << 16
_ENDED = frozenset(("finished", "errored", "canceled", "unreachable"))
_PAUSES = (0.1, 0.3, 0.7, 1.5, 3.0)


@frozen(eq=False)
class ServerRun:
    """A run of a workspace. Methods raise ServiceError."""

    api: Tfe
    id: str
    page: str
    """its address for browsers"""
    stopped: Callable[[], bool] = field(default=bool)

    def read(self) -> dict[str, Any]:
        """Its data: attributes and relationships."""
        return _data(self.api.ask("GET", path_of("runs", self.id)))

    def log(self, part: str) -> Iterator[str]:
        """The lines of the log of a part of the run, `plan` or `apply`, until it ends."""
        rest = b""
        for data in self._log(part):
            *lines, rest = (rest + data).replace(b"\x02", b"").replace(b"\x03", b"").split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in lines)
        if rest:
            yield rest.decode("utf-8", "replace")

    def _log(self, part: str) -> Iterator[bytes]:
        offset, is_last, tries = 0, False, 0
        path = path_of(f"{part}s" if part == "plan" else "applies", self._part_id(part))
        while True:
            state = attributes(_data(self.api.ask("GET", path)))
            is_last = state.get("status") in _ENDED
            url = str(state.get("log-read-url") or "")
            data = self.api.download(f"{url}{'&' if '?' in url else '?'}limit={_CHUNK}&offset={offset}") if url else b""
            offset += len(data)
            if data:
                yield data
            if data.endswith(b"\x03") or (is_last and not data):
                return
            tries = 0 if data else tries + 1
            self._pause(tries)

    def _part_id(self, part: str) -> str:
        relation = (self.read().get("relationships") or {}).get(part) or {}
        return str((relation.get("data") or {}).get("id") or "")

    def wait(self, done: Callable[[Mapping[str, Any]], bool], changed: Callable[[str], None]) -> dict[str, Any]:
        """The attributes of the run as soon as they are as wanted; `changed` is called with each new status."""
        status, tries = "", 0
        while True:
            state = attributes(self.read())
            now = str(state.get("status") or "")
            if now != status:
                status, tries = now, 0
                changed(now)
            if now in FINAL or done(state):
                return state
            tries += 1
            self._pause(tries)

    def act(self, action: str) -> None:
        """Confirm (`apply`), `discard` or `cancel` the run."""
        self.api.ask("POST", path_of("runs", self.id, "actions", action), {"comment": "planner"})

    def _pause(self, tries: int) -> None:
        if self.stopped():
            raise ServiceError("interrupted")
        self.api.pause(_PAUSES[min(tries, len(_PAUSES) - 1)])


def start_run(
    api: Tfe, workspace: str, folder: Path, given: Mapping[str, Any], page: str, stopped: Callable[[], bool]
) -> ServerRun:
    """Upload a configuration and start a run of it. `given`: attributes of the run. Raises ServiceError."""
    packed = archive(folder)
    body = {"auto-queue-runs": False, "speculative": bool(given.get("plan-only"))}
    made = _data(
        api.ask("POST", path_of("workspaces", workspace, "configuration-versions"), _of("configuration-versions", body))
    )
    api.upload(str(attributes(made).get("upload-url") or ""), packed)
    version = str(made["id"])
    for tries in range(100):
        status = attributes(_data(api.ask("GET", path_of("configuration-versions", version)))).get("status")
        if status == "uploaded":
            break
        if status == "errored" or stopped():
            raise ServiceError(
                "the server could not read the uploaded configuration" if not stopped() else "interrupted"
            )
        api.pause(_PAUSES[min(tries, len(_PAUSES) - 1)])
    else:
        raise ServiceError("the server has not taken over the uploaded configuration in time")
    relations = {
        "workspace": {"data": {"type": "workspaces", "id": workspace}},
        "configuration-version": {"data": {"type": "configuration-versions", "id": version}},
    }
    run = _data(api.ask("POST", "runs", _of("runs", dict(given), relations)))
    return ServerRun(api, str(run["id"]), f"{page}/runs/{run['id']}", stopped)


def attributes(data: Mapping[str, Any]) -> dict[str, Any]:
    given = data.get("attributes")
    return given if isinstance(given, dict) else {}


def _of(kind: str, given: Mapping[str, Any], relations: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"data": {"type": kind, "attributes": given, **({"relationships": relations} if relations else {})}}


def _data(answer: Any) -> dict[str, Any]:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, dict) or not data.get("id"):
        raise ServiceError("resource not found" if answer is None else "the answer has no data with an id")
    return data
