"""Plans and applies on a server: uploads a configuration, creates a run for it, and reads its logs.

For a run that waits to be applied, a small file with the id of the run takes the place of the plan file."""

from __future__ import annotations

import io
import json
import os
import posixpath
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.foundation.clients.tfe import Tfe, path_of
from planner.foundation.support.disk import absolute_path, on_disk, read_given, replace_file
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import field, frozen

FINAL = frozenset(("planned_and_finished", "applied", "discarded", "errored", "canceled", "force_canceled"))
WAITING = frozenset(("policy_soft_failed", "policy_override", "post_plan_awaiting_decision"))
"""statuses in which the server waits for a decision"""
SAVED = "planned_and_saved"
PENDING = "pending"
_LARGEST_NOTE = 4096  # the maximum size of a file that names a run, in bytes
_CHUNK = 1 << 16
_ENDED = frozenset(("finished", "errored", "canceled", "unreachable"))
_PAUSES = (0.1, 0.3, 0.7, 1.5, 3.0)  # seconds between repeated requests; the last pause is repeated


@frozen(eq=False)
class ServerRun:
    """A run of a workspace. `page`: its URL for browsers. `check`: called before each pause; it raises ServiceError to
    stop waiting. Methods raise ServiceError."""

    api: Tfe
    id: str
    page: str
    check: Callable[[ServerRun], None] = field(default=lambda run: None)

    def read(self) -> dict[str, Any]:
        """The attributes and relationships of the run."""
        return _data(self.api.ask("GET", path_of("runs", self.id)))

    def log(self, part: str) -> Iterator[str]:
        """The lines of the log of `plan` or `apply`, until it ends."""
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
            self.pause(tries)

    def related(self, kind: str) -> list[str]:
        """The ids of objects of the run: plan, apply, workspace, cost-estimate, policy-checks or task-stages."""
        relation = (self.read().get("relationships") or {}).get(kind) or {}
        data = relation.get("data") or []
        return [str(one["id"]) for one in (data if isinstance(data, list) else [data]) if one.get("id")]

    def part(self, kind: str, id: str) -> dict[str, Any]:
        """The attributes of a related object, such as `cost-estimates`."""
        return attributes(_data(self.api.ask("GET", path_of(kind, id))))

    def plan_json(self, redacted: bool) -> bytes:
        """The plan as JSON. `redacted`: without sensitive values, and with the schemas of the providers."""
        name = "json-output-redacted" if redacted else "json-output"
        return self.api.download(path_of("plans", self._part_id("plan"), name))

    def _part_id(self, part: str) -> str:
        return next(iter(self.related(part)), "")

    def wait(self, done: Callable[[Mapping[str, Any]], bool], changed: Callable[[str], None]) -> dict[str, Any]:
        """Wait until `done` accepts the attributes of the run, or the run has ended. Returns these attributes.
        `changed` receives each new status."""
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
            self.pause(tries)

    def act(self, action: str) -> None:
        """`apply` (confirm), `discard` or `cancel` the run."""
        self.api.ask("POST", path_of("runs", self.id, "actions", action), {"comment": "planner"})

    def override(self, kind: str, id: str) -> None:
        """Override a failed policy check or task stage. `kind`: policy-checks or task-stages."""
        self.api.ask("POST", path_of(kind, id, "actions", "override"))

    def pause(self, tries: int) -> None:
        """Wait before a request is repeated. The wait grows with the number of tries."""
        self.check(self)
        self.api.pause(_PAUSES[min(tries, len(_PAUSES) - 1)])


@frozen
class SavedRun:
    """A run that waits to be applied, as `plan -out` saves it."""

    run_id: str
    hostname: str

    def write(self, path: str) -> None:
        """Write the file that names the run. Raises OSError."""
        content = {"remote_plan_format": 1, "run_id": self.run_id, "hostname": self.hostname}
        replace_file(path, json.dumps(content, separators=(",", ":")).encode(), 0o644)


def saved_run(path: str) -> SavedRun | None:
    """The run that a file names; None if the file names none or cannot be read."""
    try:
        where = on_disk(path)
        if not os.path.isfile(where) or os.path.getsize(where) > _LARGEST_NOTE:
            return None
        content = json.loads(read_given(path, _LARGEST_NOTE))
        saved = SavedRun(content["run_id"], content["hostname"])
        is_valid = content["remote_plan_format"] == 1 and saved.hostname and saved.run_id.startswith("run-")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return saved if is_valid else None


def upload_root(directory: str, working_directory: str) -> Path:
    """The directory to upload: a parent directory if the workspace has its root module in a subdirectory."""
    root = absolute_path(directory)
    inner = posixpath.normpath(working_directory) if working_directory else "."
    if inner not in (".", "/") and f"{root}/".endswith(f"/{inner.strip('/')}/"):
        root = root[: -len(inner.strip("/")) - 1] or "/"
    return Path(root)


def start_run(
    api: Tfe, workspace: str, folder: Path, given: Mapping[str, Any], page: str, check: Callable[[ServerRun], None]
) -> ServerRun:
    """Upload a configuration and start a run. `given`: attributes of the run. Raises ServiceError."""
    packed = archive(folder)
    body = {"auto-queue-runs": False, "speculative": bool(given.get("plan-only"))}
    if given.get("save-plan"):
        body["provisional"] = True
    made = _data(
        api.ask("POST", path_of("workspaces", workspace, "configuration-versions"), _of("configuration-versions", body))
    )
    api.upload(str(attributes(made).get("upload-url") or ""), packed)
    version = str(made["id"])
    for tries in range(100):
        status = attributes(_data(api.ask("GET", path_of("configuration-versions", version)))).get("status")
        if status == "uploaded":
            break
        if status == "errored":
            raise ServiceError("the server could not read the uploaded configuration")
        api.pause(_PAUSES[min(tries, len(_PAUSES) - 1)])
    else:
        raise ServiceError("the server did not process the uploaded configuration in time")
    relations = {
        "workspace": {"data": {"type": "workspaces", "id": workspace}},
        "configuration-version": {"data": {"type": "configuration-versions", "id": version}},
    }
    run = _data(api.ask("POST", "runs", _of("runs", dict(given), relations)))
    return ServerRun(api, str(run["id"]), f"{page}/runs/{run['id']}", check)


def attributes(data: Mapping[str, Any]) -> dict[str, Any]:
    given = data.get("attributes")
    return given if isinstance(given, dict) else {}


def _of(kind: str, given: Mapping[str, Any], relations: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"data": {"type": kind, "attributes": given, **({"relationships": relations} if relations else {})}}


def _data(answer: Any) -> dict[str, Any]:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, dict) or not data.get("id"):
        raise ServiceError("resource not found" if answer is None else "the response has no data with an id")
    return data


# The archive of a configuration for runs on a server: all files of a directory that `.terraformignore` does not
# exclude.

IGNORE_FILE = ".terraformignore"
_USUAL = (".git/", ".terraform/", "!.terraform/modules/", "terraform.rc", ".terraformrc")
_LARGEST = 1 << 30  # bytes
Patterns = list[tuple[re.Pattern[str], bool]]
"""(pattern, whether it excludes files); the last pattern that matches decides"""


def archive(folder: Path) -> bytes:
    """The files to upload, as .tar.gz. Raises ServiceError."""
    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
            for name in sorted(files_to_upload(folder)):
                path = folder / name
                if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                    raise ServiceError(
                        f"{name} is a link to a target outside the configuration; exclude it with .terraformignore"
                    )
                packed.add(path, name, recursive=False)
                if buffer.tell() > _LARGEST:
                    raise ServiceError("the configuration is larger than 1 GiB; exclude files with .terraformignore")
    except OSError as problem:
        if isinstance(problem, ServiceError):
            raise
        raise ServiceError(f"{problem.filename or folder}: {problem.strerror or problem}") from None
    return buffer.getvalue()


def files_to_upload(folder: Path) -> Iterator[str]:
    patterns = ignore_patterns(folder)
    for base, folders, files in os.walk(folder):
        inner = os.path.relpath(base, folder)
        prefix = "" if inner == "." else f"{inner}/"
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        for name in (*files, *links):
            if not is_ignored(f"{prefix}{name}", patterns):
                yield f"{prefix}{name}"


def ignore_patterns(folder: Path) -> Patterns:
    """The default patterns, followed by the patterns in the directory's `.terraformignore`."""
    try:
        lines = (folder / IGNORE_FILE).read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    return [_pattern(line) for line in (*_USUAL, *map(str.strip, lines)) if line and not line.startswith("#")]


def is_ignored(name: str, patterns: Patterns) -> bool:
    """Whether a file is excluded, directly or with a parent directory."""
    ignored = False
    for pattern, leaves_out in patterns:
        if pattern.match(name):
            ignored = leaves_out
    return ignored


def _pattern(line: str) -> tuple[re.Pattern[str], bool]:
    leaves_out = not line.startswith("!")
    line = line.removeprefix("!")
    anchored = line.startswith("/")
    text = ""
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", line.strip("/")):
        text += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    within = "/.*" if line.endswith("/") else "(?:/.*)?"
    return re.compile(f"{'' if anchored else '(?:.*/)?'}{text}{within}$", re.DOTALL), leaves_out
