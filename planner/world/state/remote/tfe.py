"""States in workspaces of Terraform Enterprise or a similar server: the common part of the backends `remote` and
`cloud`. planner.operations.remote_run implements runs on the server."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import md5
from typing import Any

from planner.foundation.clients.tfe import Host, Tfe, path_of, settings
from planner.foundation.vocabulary.diagnostic import Diagnostic, ServiceError, error, warning
from planner.foundation.vocabulary.records import evolve, frozen
from planner.foundation.vocabulary.release import COMPATIBLE_VERSION
from planner.foundation.vocabulary.version_constraints import Version, parse_constraints
from planner.world.state.backend import DEFAULT_WORKSPACE, REMOTE_RUNS
from planner.world.state.encryption_seal import Seal
from planner.world.state.journal import Journal
from planner.world.state.lock import LockInfo, Stop, lock_info_of
from planner.world.state.model import State
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateOnlyClient, VersionConflict
from planner.world.state.remote.store import READ, RemoteStore

NO_DEFAULT = 'default workspace not supported\nYou can create a new workspace with the "workspace new" command.'
_RUNS = frozenset(("OperationTypePlan", "OperationTypeApply", "OperationTypeRefresh"))
_REASON = "Locked by OpenTofu"
_JSON_API = "application/vnd.api+json"
_INTERVAL = "x-terraform-snapshot-interval"
_LONGEST_INTERVAL = 3600  # seconds
_LONGEST_NUMBER = 18  # the maximum number of digits of a serial
_PENDING = 30  # seconds that a server may take to process a state before the lock is released


class Organization:
    """An organization on a host. Services, token and existence are checked on first use."""

    def __init__(self, kind: str, host: str, name: str, token: str, services: tuple[str, ...]) -> None:
        self.host, self.name = host, name
        self.kind, self._token, self._services = kind, token, services
        self._api: Tfe | None = None
        self._runs = True

    @property
    def api(self) -> Tfe:
        """The client for the API of the host. Raises ServiceError."""
        if self._api is None:
            host = Host(self.host, settings())
            url = host.service(*self._services)
            token = self._token or host.tokens.token(host.name)
            if not token:
                text = f"Run the following command to generate a token for {self.host}:\n    planner login {self.host}"
                raise ServiceError(f"Required token could not be found\n{text}")
            api = Tfe(url, token)
            self._runs = self._may_run(api)
            self._api = api
        return self._api

    @property
    def runs(self) -> bool:
        """Whether plans and applies may run on the host: it supports this, and TF_FORCE_LOCAL_BACKEND is not set.
        Raises ServiceError."""
        return self.api is not None and self._runs and not os.environ.get("TF_FORCE_LOCAL_BACKEND")

    def _may_run(self, api: Tfe) -> bool:
        failed = f'Failed to read organization "{self.name}" at host {self.host}'
        try:
            result = api.ask("GET", path_of("organizations", self.name, "entitlement-set"))
        except ServiceError as problem:
            raise ServiceError(f"{failed}\n{problem.text}", code=problem.code, may_pass=problem.may_pass) from None
        if result is None:
            raise ServiceError(
                f'{failed}\norganization "{self.name}" at host {self.host} not found.\n\nPlease ensure that the '
                f"organization and hostname are correct and that your API token for {self.host} is valid."
            )
        return _attributes(result.get("data")).get("operations") is not False


@frozen
class WorkspaceSettings:
    tags: tuple[str, ...] = ()
    project: str = ""


class TfeClient(StateOnlyClient):
    """The state of a workspace on the server. Its version is the id of a state version on the server."""

    locks = True
    lock_path = ""

    def __init__(self, organization: Organization, name: str, made: WorkspaceSettings, refused: str = "") -> None:
        self.organization, self.name = organization, name
        self._made, self._refusal = made, refused
        self._found: dict[str, Any] | None = None
        self._mine = ""
        self._upload_failed = False
        self._server_interval = 0
        """seconds between two snapshots, as requested by the server; 0: not set"""

    def snapshot_interval(self, interval: float, is_urgent: bool) -> float | None:
        """Seconds between two snapshots, as in OpenTofu; None if none are written. For `cloud`, it is 0 if `is_urgent`
        is set, otherwise None if the server sets no interval, otherwise the longer of the user's and the server's
        intervals. For `remote`, it is the same as for other services, but None if this process itself runs on the
        server."""
        if self.organization.kind == "remote":
            return None if os.environ.get("TFE_RUN_ID") else super().snapshot_interval(interval, is_urgent)
        if is_urgent:
            return 0.0
        return max(interval, float(self._server_interval)) if self._server_interval else None

    def _read_headers(self, headers: Mapping[str, str]) -> None:
        if _JSON_API in headers.get("content-type", ""):
            seconds = headers.get(_INTERVAL, "").removeprefix("+")
            is_number = seconds.isascii() and seconds.isdigit() and len(seconds) < _LONGEST_NUMBER
            self._server_interval = min(int(seconds), _LONGEST_INTERVAL) if is_number else 0

    @property
    def place(self) -> str:
        return f"{self.organization.host}/{self._lock_id}"

    @property
    def _lock_id(self) -> str:
        return f"{self.organization.name}/{self.name}"

    def _workspace(self, again: bool = False) -> dict[str, Any] | None:
        if self._refusal:
            raise ServiceError(self._refusal)
        if self._found is None or again:
            organization = self.organization
            path = path_of("organizations", organization.name, "workspaces", self.name)
            api = organization.api
            try:
                result = api.ask("GET", path)
            except ServiceError as problem:
                text = f"Failed to retrieve workspace {self.name}: {problem.text}"
                raise ServiceError(text, code=problem.code, may_pass=problem.may_pass) from None
            self._found = _data(result) if result is not None else None
        return self._found

    def ensure(self) -> str:
        """The id of the workspace, which is created if missing. Raises ServiceError."""
        result = self._workspace()
        if result is None:
            api = self.organization.api
            body: dict[str, Any] = {"type": "workspaces", "attributes": {"name": self.name}}
            relations: dict[str, Any] = {}
            if self._made.tags:
                tags = [{"type": "tags", "attributes": {"name": tag}} for tag in self._made.tags]
                relations["tags"] = {"data": tags}
            if self._made.project:
                project = {"type": "projects", "id": project_of(self.organization, self._made.project, makes=True)}
                relations["project"] = {"data": project}
            body |= {"relationships": relations} if relations else {}
            try:
                made = api.ask("POST", path_of("organizations", self.organization.name, "workspaces"), {"data": body})
            except ServiceError as problem:
                raise ServiceError(f"Error creating workspace {self.name}: {problem.text}", code=problem.code) from None
            if made is None:
                raise ServiceError(f"Error creating workspace {self.name}: resource not found")
            result = self._found = _data(made)
        return str(result["id"])

    @property
    def runs_there(self) -> bool:
        """Whether the plans and applies of the workspace run on the server. Raises ServiceError."""
        result = self._workspace()
        if result is None or not self.organization.runs:
            return False
        attributes = _attributes(result)
        return (
            str(attributes.get("execution-mode") or ("local" if attributes.get("operations") is False else "remote"))
            != "local"
        )

    @property
    def working_directory(self) -> str:
        """The directory of the root module in uploaded configurations ("": the top). Raises ServiceError."""
        return str(_attributes(self._workspace()).get("working-directory") or "")

    @property
    def has_structured_output(self) -> bool:
        """Whether the logs of runs are structured (JSON) and do not contain the plan. Raises ServiceError."""
        return bool(_attributes(self._workspace()).get("structured-run-output-enabled"))

    @property
    def workspace_variables(self) -> list[dict[str, Any]]:
        """Variables of runs on the server: key, value, category, hcl, sensitive; [] if the workspace's runs are local.
        Raises ServiceError."""
        if not self.runs_there:
            return []
        path = path_of("workspaces", self.ensure(), "vars")
        return [_attributes(one) for one in self.organization.api.all(path)]

    def version_conflict(self) -> str:
        """A sentence if runs on the server use an incompatible or invalid version of OpenTofu, otherwise "". Raises
        ServiceError."""
        if not self.runs_there:
            return ""
        wanted = str(_attributes(self._workspace()).get("terraform-version") or "latest")
        if wanted == "latest":
            return ""
        try:
            version = Version(wanted)
        except ValueError:
            constraint = wanted
        else:
            constraint = wanted if version.prerelease else f"~> {version.numbers[0]}.{version.numbers[1]}.0"
        try:
            if parse_constraints(constraint).allows(COMPATIBLE_VERSION):
                return ""
        except ValueError:
            return f"The workspace {self._lock_id} has the version {wanted!r}, which is not a version or constraint."
        return (
            f"Runs of the workspace {self._lock_id} use OpenTofu {wanted}, but planner is compatible with "
            f"{COMPATIBLE_VERSION}: these runs may not be able to read the state that planner writes."
        )

    # ------------------------------------------------------------ state

    def get(self) -> Payload | None:
        result = self._workspace()
        if result is None:
            return None
        try:
            version = self._current(str(result["id"]))
        except ServiceError as problem:
            raise ServiceError(f"Error retrieving state: {problem.text}", may_pass=problem.may_pass) from None
        if version is None:
            return None
        try:
            data = self.organization.api.download(str(_attributes(version).get("hosted-state-download-url") or ""))
        except ServiceError as problem:
            raise ServiceError(f"Error downloading state: {problem.text}", may_pass=problem.may_pass) from None
        return Payload(data, str(version["id"])) if data else None

    def _current(self, workspace: str) -> dict[str, Any] | None:
        path = path_of("workspaces", workspace, "current-state-version")
        result = self.organization.api.ask("GET", path, None, self._read_headers)
        return _data(result) if result is not None else None

    def put(self, data: bytes, before: str | None) -> str:
        api, workspace = self.organization.api, self.ensure()
        self._check(workspace, before)
        serial, lineage, outputs = _serial_lineage_outputs(data)
        attributes: dict[str, Any] = {
            "serial": serial,
            "lineage": lineage,
            "md5": md5(data, usedforsecurity=False).hexdigest(),
            "force": before is None,
            "json-state-outputs": b64encode(outputs).decode("ascii"),
        }
        body: dict[str, Any] = {"type": "state-versions", "attributes": attributes}
        if os.environ.get("TFE_RUN_ID"):
            body["relationships"] = {"run": {"data": {"type": "runs", "id": os.environ["TFE_RUN_ID"]}}}
        try:
            made = self._create(workspace, body)
            if made is None:  # an older server, which requires the state in the same request
                attributes["state"] = b64encode(data).decode("ascii")
                made = api.ask("POST", path_of("workspaces", workspace, "state-versions"), {"data": body})
            elif _attributes(_data(made)).get("hosted-state-upload-url"):
                api.upload(str(_attributes(_data(made))["hosted-state-upload-url"]), data)
            if made is None:
                raise ServiceError("resource not found")
        except ServiceError as problem:
            if problem.code == "409":
                self._check(workspace, before)
            self._upload_failed = True
            raise ServiceError(f"error uploading state: {problem.text}", may_pass=problem.may_pass) from None
        self._upload_failed = False
        return str(_data(made)["id"])

    def _check(self, workspace: str, before: str | None) -> None:
        """Check that the state still has the version `before` ("": there is none; None: any version). Raises
        VersionConflict and ServiceError."""
        if before is not None:
            current = self._current(workspace)
            if (str(current["id"]) if current is not None else "") != before:
                raise VersionConflict(f"the content of {self.place} has changed since it was read")

    def _create(self, workspace: str, body: dict[str, Any]) -> Any:
        try:
            path = path_of("workspaces", workspace, "state-versions")
            return self.organization.api.ask("POST", path, {"data": body}, self._read_headers) or _workspace_missing(
                "resource not found"
            )
        except ServiceError as problem:
            if "param is missing or the value is empty: state" in problem.text:
                return None
            raise

    def delete(self) -> None:
        try:
            self.organization.api.ask(
                "DELETE", path_of("organizations", self.organization.name, "workspaces", self.name)
            )
        except ServiceError as problem:
            raise ServiceError(f"error deleting workspace {self.name}: {problem.text}", code=problem.code) from None
        self._found = None

    # ------------------------------------------------------------ lock

    def lock(self, info: LockInfo) -> LockInfo:
        workspace = self.ensure()
        try:
            done = self._act(workspace, "lock", {"reason": f"{_REASON} {info.to_json().decode()}"})
        except ServiceError as problem:
            if problem.code != "409":
                raise
            said = self._holder_info(self._workspace(again=True))
            # an earlier request may have taken the lock although its response was lost
            if said is None or said.id != info.id:
                holder = evolve(said, id=self._lock_id) if said is not None else self._unknown_holder()
                raise LockHeld(f'workspace already locked (lock ID: "{self._lock_id}")', holder) from None
            done = {}
        self._found = _data(done) if done else self._found
        self._mine = info.id
        return evolve(info, id=self._lock_id)

    def _act(self, workspace: str, action: str, body: Any = None) -> Any:
        result = self.organization.api.ask("POST", path_of("workspaces", workspace, "actions", action), body)
        return result if result is not None else _workspace_missing("resource not found")

    def _unknown_holder(self) -> LockInfo:
        return LockInfo(self._lock_id, "", "", "", "", "", "")

    def _holder_info(self, workspace: Mapping[str, Any] | None) -> LockInfo | None:
        """The lock info of the holder; None if the holder is not planner, because other programs record none."""
        reason = str(_attributes(workspace).get("locked-reason") or "")
        return lock_info_of(reason[reason.find("{") :].encode()) if "{" in reason else None

    def unlock(self, lock_id: str) -> None:
        mine, self._mine = self._mine, ""
        if not mine:
            return self.force_unlock(lock_id)
        if self._upload_failed:
            raise ServiceError(
                "The state could not be uploaded, so the workspace remains locked until the state is uploaded. "
                f"`force-unlock {self._lock_id}` unlocks it"
            )
        workspace = self.ensure()
        for left in reversed(range(_PENDING)):
            try:
                self._act(workspace, "unlock")
                return None
            except ServiceError as problem:
                if left and "latest state version is still pending" in problem.text:
                    self.organization.api.pause(1.0)
                    continue
                result = self._workspace(again=True)
                if problem.code == "409" and not _attributes(result).get("locked"):
                    return None  # this request removed the lock, but its response was lost
                raise
        return None

    def force_unlock(self, lock_id: str) -> None:
        if lock_id != self._lock_id:
            raise ServiceError(f'lock ID "{lock_id}" does not match existing lock ID "{self._lock_id}"')
        try:
            self._act(self.ensure(), "force-unlock")
        except ServiceError as problem:
            raise ServiceError("workspace already unlocked" if problem.code == "409" else problem.text) from None

    def has_lock(self, lock_id: str) -> bool:
        result = self._workspace(again=True)
        if lock_id != self._lock_id or not _attributes(result).get("locked"):
            return False
        holder = self._holder_info(result)
        return not self._mine or holder is None or holder.id == self._mine

    def holder(self) -> LockInfo | None:
        result = self._workspace(again=True)
        if not _attributes(result).get("locked"):
            return None
        holder = self._holder_info(result)
        return evolve(holder, id=self._lock_id) if holder is not None else self._unknown_holder()


def _workspace_missing(text: str) -> Any:
    raise ServiceError(text, code="404")


def _data(document: Any) -> dict[str, Any]:
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict) or not data.get("id"):
        raise ServiceError("the response has no data with an id")
    return data


def _attributes(data: Mapping[str, Any] | None) -> dict[str, Any]:
    entry = (data or {}).get("attributes")
    return entry if isinstance(entry, dict) else {}


def _serial_lineage_outputs(data: bytes) -> tuple[int, str, bytes]:
    """The serial, the lineage and the outputs (JSON) in a state file; no outputs if the state is encrypted. 0, "" and
    no outputs if the bytes are not a state."""
    try:
        state = json.loads(data)
        serial, lineage = int(state.get("serial") or 0), str(state.get("lineage") or "")
        outputs = {} if "encrypted_data" in state else dict(state.get("outputs") or {})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 0, "", b"{}"
    entry = {}
    for name, output in sorted(outputs.items()):
        kept = {key: output[key] for key in ("value", "type") if isinstance(output, dict) and key in output}
        entry[name] = {"sensitive": bool(isinstance(output, dict) and output.get("sensitive")), **kept}
    return serial, lineage, json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()


def project_of(organization: Organization, name: str, makes: bool = False) -> str:
    """The id of a project, "" if it does not exist. `makes`: whether a missing project is created. Raises
    ServiceError."""
    path = path_of("organizations", organization.name, "projects")
    for item in organization.api.all(path, **{"filter[names]": name}):
        if _attributes(item).get("name") == name:
            return str(item.get("id"))
    if not makes:
        return ""
    try:
        body = {"data": {"type": "projects", "attributes": {"name": name}}}
        return str(_data(organization.api.ask("POST", path, body))["id"])
    except ServiceError as problem:
        raise ServiceError(f"failed to create project {name}: {problem.text}", code=problem.code) from None


class TfeStore(RemoteStore):
    """The state of a workspace whose plans and applies run locally."""

    client: TfeClient

    def lock(
        self,
        operation: str,
        timeout: float = 0.0,
        on_wait: Callable[[], None] | None = None,
        stop: Stop | None = None,
    ) -> list[Diagnostic]:
        refused = self._refusal() if operation in _RUNS else []
        return refused or super().lock(operation, timeout, on_wait, stop)

    def version_problems(self, ignored: bool) -> list[Diagnostic]:
        try:
            conflict = self.client.version_conflict()
        except ServiceError:
            return []  # the problem is reported when the state is read
        if not conflict:
            return []
        if ignored:
            return [warning("state.version", "Incompatible version", conflict)]
        detail = f"{conflict} To continue nevertheless, use -ignore-remote-version."
        return [error("state.version", "Incompatible version", detail)]

    def begin_journal(
        self, operation: str, begins_with: State | None = None
    ) -> tuple[Journal | None, list[Diagnostic]]:
        refused = self._refusal() if not self.is_locked else []
        return (None, refused) if refused else super().begin_journal(operation, begins_with)

    def _refusal(self) -> list[Diagnostic]:
        try:
            if not self.client.runs_there:
                return []
        except ServiceError as problem:
            return [error(READ, "Error loading state", problem.text)]
        detail = (
            f"The workspace {self.client.name} runs its plans and applies at {self.client.organization.host}, so only "
            "plan, apply and destroy are available. Nothing was changed. Set the execution mode of the workspace to "
            '"local", or set TF_FORCE_LOCAL_BACKEND=1, to plan on this machine.'
        )
        return [error(REMOTE_RUNS, "Remote runs are not supported", detail)]


class TfeBackend(RemoteBackend):
    """The workspaces of an organization, as a backend."""

    def __init__(self, settings: Mapping[str, Any], seal: Seal, organization: Organization) -> None:
        super().__init__(settings, seal)
        self.organization = organization

    def client(self, workspace: str) -> TfeClient:
        raise NotImplementedError

    def remote_store(self, workspace: str, backup: str = "") -> RemoteStore:
        return TfeStore(self.client(workspace), self.seal, backup)

    def create_workspace(self, workspace: str, with_lock: bool = True) -> None:
        if not self.has_workspaces:
            raise ServiceError("workspaces not supported")
        self.client(workspace).ensure()

    def prepare(self, workspace: str, with_lock: bool = True) -> list[Diagnostic]:
        try:
            self.client(workspace).ensure()
        except ServiceError as problem:
            summary, _, detail = problem.text.partition("\n")
            return [error(READ, summary[:1].upper() + summary[1:], detail.strip())]
        return []

    def delete_workspace(self, workspace: str) -> None:
        if workspace == DEFAULT_WORKSPACE:
            raise ServiceError(NO_DEFAULT)
        super().delete_workspace(workspace)

    def list_names(self, **query: str) -> list[str]:
        """The names of the organization's workspaces that match a query (parameters of the API). Raises
        ServiceError."""
        path = path_of("organizations", self.organization.name, "workspaces")
        return [str(_attributes(one).get("name")) for one in self.organization.api.all(path, **query)]
