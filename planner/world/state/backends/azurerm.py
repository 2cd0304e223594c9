"""`backend "azurerm"`: the state is a blob in Azure Storage. A lease locks the blob, and the blob's metadata name the
holder.

Every lock changes the entity tag of the blob. Therefore versions are digests of the content, and the blob is replaced
only if it still has the entity tag that was read with the content."""

from __future__ import annotations

import hashlib
import os
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from planner.foundation.clients.azure import AzureTokens, run_az
from planner.foundation.clients.azure_blobs import AzureError, Container, access_key
from planner.foundation.clients.azure_settings import (
    METADATA_HOST,
    AzureAccount,
    Cloud,
    account_of,
    cloud_of,
    method_of,
)
from planner.foundation.clients.http import Http, HttpResponse
from planner.foundation.encryption.envelope import Base64Error, decode
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError, error, warning
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, Unopened, flag, number, text

SCHEMA = BlockSchema(
    {
        "storage_account_name": text("The name of the storage account.", required=True),
        "container_name": text("The container name.", required=True),
        "key": text("The blob key.", required=True),
        "metadata_host": text("The host that describes the Azure environment."),
        "environment": text("The Azure cloud environment."),
        "access_key": text("The access key."),
        "sas_token": text("A SAS token used to interact with the blob storage account."),
        "snapshot": flag("Whether to take a snapshot of the blob before replacing the blob."),
        "resource_group_name": text("The resource group of the storage account."),
        "client_id": text("The client ID."),
        "client_id_file_path": text("A file with the client ID."),
        "endpoint": text("Unused.", deprecated="Use environment or metadata_host."),
        "timeout_seconds": number("The timeout of requests, in seconds."),
        "subscription_id": text("The subscription ID."),
        "tenant_id": text("The tenant ID."),
        "client_certificate": text("A PKCS #12 bundle with the client's certificate, base64-encoded."),
        "client_certificate_password": text("The password of the client's certificate."),
        "client_certificate_path": text("A PKCS #12 file with the client's certificate."),
        "client_secret": text("The client secret."),
        "client_secret_file_path": text("A file with the client secret."),
        "use_msi": flag("Whether the identity of the machine is used."),
        "msi_endpoint": text("The address of the machine's identity service.", deprecated="Use MSI_ENDPOINT."),
        "use_oidc": flag("Whether OpenID Connect is used."),
        "oidc_token": text("A token of OpenID Connect."),
        "oidc_token_file_path": text("A file with a token of OpenID Connect."),
        "oidc_request_url": text("The address from which an OpenID Connect token is requested."),
        "oidc_request_token": text("The bearer token for requests to oidc_request_url."),
        "ado_service_connection_id": text("The service connection of an Azure DevOps pipeline."),
        "use_aks_workload_identity": flag("Whether the identity of a workload in AKS is used."),
        "use_azuread_auth": flag(
            "Whether blobs are accessed with a Microsoft Entra ID token instead of an access key."
        ),
        "use_cli": flag("Whether to get credentials from the program az."),
        "customer_provided_key": text("A base64-encoded key of 32 bytes that encrypts the blob.", sensitive=True),
        "encryption_scope": text("The encryption scope of the blob."),
    }
)
_META = "terraformlockid"
_RACES = 5
_NAMES = "See documentation here: https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/"
_RULES = f"{_NAMES}resource-name-rules#microsoftstorage"
_DEPRECATED = {
    "endpoint": "This variable is unused and does not affect any execution. Please use environment or metadata host "
    "instead.",
    "msi_endpoint": "This configuration is now managed in a dependent library, not directly by OpenTofu. Please use "
    "the `MSI_ENDPOINT` environment variable to set the Managed Service Identity endpoint.",
}


class AzureClient(StateClient):
    """The state in a blob."""

    locks = True
    has_place_beside = True

    def __init__(self, container: Container, blob: str, beside: str, snapshot: bool) -> None:
        self._to, self._blob, self._folder, self._snapshot = container, blob, beside, snapshot
        self._lease = ""

    @property
    def place(self) -> str:
        return unquote(self._to.url(self._blob))

    @property
    def lock_path(self) -> str:
        return self._to.url(self._blob)

    def _ask(
        self,
        method: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        lease: str | None = None,
    ) -> HttpResponse:
        """Send a request about the state's blob. `lease`: the id of a lease; "" for no lease, None for our own
        lease."""
        held = self._lease if lease is None else lease
        headers_of_lease = {"x-ms-lease-id": held} if held else {}
        return self._to.ask(method, self._blob, query, {**headers_of_lease, **(headers or {})}, body)

    def _properties(self) -> HttpResponse | None:
        """The response with the headers of the blob; None if the blob does not exist."""
        secret = {k: v for k, v in self._to.secret.items() if "scope" not in k}
        try:
            return self._ask("HEAD", headers=secret, lease="")
        except AzureError as problem:
            if problem.status == 404:
                return None
            raise

    # ------------------------------------------------------------ content

    def get(self) -> Payload | None:
        try:
            answer = self._to.ask("GET", self._blob, headers=self._to.secret)
        except AzureError as problem:
            if problem.status == 404 and problem.code != "ContainerNotFound":
                return None
            raise _with("error downloading azure blob: ", problem) from None
        except ServiceError as problem:
            raise _with("error downloading azure blob: ", problem) from None
        return Payload(answer.body, _digest(answer.body)) if answer.body else None

    def put(self, data: bytes, before: str | None) -> str:
        if self._snapshot:
            try:
                self._ask("PUT", {"comp": "snapshot"}, self._to.secret)
            except ServiceError as problem:
                raise _with(f"error snapshotting Blob {self._to.url(self._blob)}: ", problem) from None
        for attempt in range(_RACES):
            try:
                known = self._properties()
            except ServiceError as problem:
                raise _with("error getting blob properties while doing Put: ", problem) from None
            if before is not None:
                now = self._version(known)
                if now != before:
                    raise VersionConflict(
                        f"{self.place} now has the digest {now or '(none)'}, not {before or '(none)'} as when planner "
                        "read it"
                    )
            seen = {"If-None-Match": "*"} if known is None else {"If-Match": known.headers.get("etag", "*")}
            try:
                self._write(self._blob, data, {**_metadata(known), **seen}, self._lease)
                return _digest(data)
            except ServiceError as problem:
                # the lock or the blob has changed: try again
                raced = isinstance(problem, AzureError) and problem.code in ("ConditionNotMet", "BlobAlreadyExists")
                if not raced or attempt == _RACES - 1:
                    raise _with("error uploading blob: ", problem) from None
        raise AssertionError

    def _version(self, known: HttpResponse | None) -> str:
        """The digest of the content; "" if the blob is missing or empty."""
        if known is None or known.headers.get("content-length") == "0":
            return ""
        checksum = known.headers.get("content-md5", "")
        if checksum:
            return checksum
        kept = self.get()  # a blob that was written in several parts has no checksum
        return kept.version if kept is not None else ""

    def _write(self, blob: str, data: bytes, headers: Mapping[str, str], lease: str = "") -> None:
        sent = {
            "x-ms-blob-type": "BlockBlob",
            "x-ms-blob-content-type": "application/json",
            "Content-MD5": _digest(data),
            **self._to.secret,
            **({"x-ms-lease-id": lease} if lease else {}),
            **headers,
        }
        self._to.ask("PUT", blob, None, sent, data)

    def delete(self) -> None:
        try:
            self._ask("DELETE")
        except AzureError as problem:
            if problem.status != 404:
                raise _with("error deleting blob: ", problem) from None
        except ServiceError as problem:
            raise _with("error deleting blob: ", problem) from None

    # ------------------------------------------------------------ locks

    def lock(self, info: LockInfo) -> LockInfo:
        try:
            known = self._properties()
        except ServiceError as problem:
            raise _with("error getting blob properties while doing Lock: ", problem) from None
        if known is None:
            try:
                self._write(self._blob, b"", {"If-None-Match": "*"})
            except AzureError as problem:
                if problem.status not in (409, 412):  # 409 and 412: another process was faster
                    raise
        elif known.headers.get("x-ms-lease-status") == "locked":
            holder = _holder(known)
            if holder is None or holder.id != info.id:
                raise LockHeld("state blob is already locked", holder, may_wait=True)
        headers = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "-1", "x-ms-proposed-lease-id": info.id}
        try:
            answer = self._ask("PUT", {"comp": "lease"}, headers)
        except AzureError as problem:
            if problem.status != 409:
                raise
            raise LockHeld(problem.text, self.holder(), may_wait=True) from None
        self._lease = answer.headers.get("x-ms-lease-id", info.id)
        mine = evolve(info, id=self._lease)
        try:
            self._record_holder(mine)
        except ServiceError:
            self._release(self._lease)
            raise
        return mine

    def _record_holder(self, info: LockInfo | None, lease: str | None = None) -> None:
        known = _metadata(self._properties())
        known.pop(f"x-ms-meta-{_META}", None)
        if info is not None:
            known[f"x-ms-meta-{_META}"] = b64encode(info.to_json()).decode("ascii")
        self._ask("PUT", {"comp": "metadata"}, {**self._to.secret, **known}, lease=lease)

    def _release(self, lease: str) -> None:
        try:
            self._ask("PUT", {"comp": "lease"}, {"x-ms-lease-action": "release"}, lease=lease)
        except AzureError as problem:
            known = self._properties() if problem.status in (409, 412) else None
            if known is None or known.headers.get("x-ms-lease-status") == "locked":
                raise
        finally:
            self._lease = ""

    def unlock(self, lock_id: str) -> None:
        try:
            known = self._properties()
        except ServiceError as problem:
            raise LockHeld(f"failed to retrieve lock info: error getting lock info: {problem.text}") from None
        if known is None:
            raise LockHeld(f"failed to retrieve lock info: error getting lock info: there is no blob {self.place}")
        holder = _holder(known)
        if holder is None:
            # the holder ended before it recorded itself; the id of the lease is sufficient
            if known.headers.get("x-ms-lease-status") == "locked":
                try:
                    self._release(lock_id)
                    return
                except ServiceError:
                    pass
            raise LockHeld(f'failed to retrieve lock info: blob metadata "{_META}" was empty')
        if holder.id != lock_id:
            raise LockHeld(f'lock id "{lock_id}" does not match existing lock', holder)
        try:
            self._record_holder(None, lease=lock_id)
        except ServiceError as problem:
            raise LockHeld(f"failed to delete lock info from metadata: {problem.text}", holder) from None
        try:
            self._release(lock_id)
        except ServiceError as problem:
            raise LockHeld(f"error when releasing lease for azure lock: {problem.text}", holder) from None

    def force_unlock(self, lock_id: str) -> None:
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        known = self._properties()
        holder = _holder(known) if known is not None else None
        locked = known is not None and known.headers.get("x-ms-lease-status") == "locked"
        return locked and holder is not None and holder.id == lock_id

    def holder(self) -> LockInfo | None:
        known = self._properties()
        return _holder(known) if known is not None else None

    # ------------------------------------------------------------ documents next to the state

    def get_beside(self, name: str) -> bytes | None:
        try:
            return self._to.ask("GET", self._folder + name, headers=self._to.secret).body
        except AzureError as problem:
            if problem.status == 404:
                return None
            raise

    def put_beside(self, name: str, data: bytes) -> None:
        self._write(self._folder + name, data, {})

    def delete_beside(self, name: str) -> None:
        try:
            self._to.ask("DELETE", self._folder + name)
        except AzureError as problem:
            if problem.status != 404:
                raise


def _with(what: str, problem: ServiceError) -> ServiceError:
    return ServiceError(what + problem.text, code=problem.code, may_pass=problem.may_pass)


def _digest(data: bytes) -> str:
    return b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode("ascii")


def _metadata(known: HttpResponse | None) -> dict[str, str]:
    return {k: v for k, v in known.headers.items() if k.startswith("x-ms-meta-")} if known is not None else {}


def _holder(known: HttpResponse) -> LockInfo | None:
    try:
        return lock_info_of(b64decode(known.headers.get(f"x-ms-meta-{_META}", ""), validate=True))
    except ValueError:
        return None


class AzureBackend(RemoteBackend):
    type = "azurerm"
    makes_empty = True

    def __init__(self, settings: Mapping[str, Any], seal: Seal, container: Container, key: str, snapshot: bool) -> None:
        super().__init__(settings, seal)
        self.container, self.key, self.snapshot = container, key, snapshot

    def client(self, workspace: str) -> AzureClient:
        # In accounts with directories, nothing can be stored below the blob of the state. So documents are in a
        # separate directory, whose name cannot be that of a workspace's blob.
        folder = f"{self.key}.planner/{workspace}/"
        return AzureClient(self.container, _blob(self.key, workspace), folder, self.snapshot)

    def names(self) -> list[str]:
        prefix, result, marker = f"{self.key}env:", [], ""
        while True:
            query = {"restype": "container", "comp": "list", "prefix": prefix, **({"marker": marker} if marker else {})}
            try:
                listed = ElementTree.fromstring(self.container.ask("GET", "", query).body)
            except ServiceError as problem:
                raise _with("error listing blobs: ", problem) from None
            except ElementTree.ParseError as bad:
                raise ServiceError(f"error listing blobs: the answer is not valid XML ({bad})") from None
            for name in (element.text or "" for element in listed.iterfind("Blobs/Blob/Name")):
                if name.startswith(prefix) and "/" not in name.removeprefix(prefix):
                    result.append(name.removeprefix(prefix))
            marker = listed.findtext("NextMarker") or ""
            if not marker:
                return result

    def remove(self, workspace: str) -> None:
        if workspace == DEFAULT_WORKSPACE:
            raise ServiceError("can't delete default state")
        super().remove(workspace)


def _blob(key: str, workspace: str) -> str:
    return key if workspace == DEFAULT_WORKSPACE else f"{key}env:{workspace}"


def open(read: SettingsReading, seal: Seal) -> AzureBackend:
    """Open the backend. Settings that are not set come from the environment variables ARM_*. Raises Unopened."""
    container, key, name = (read.required(n) for n in ("container_name", "key", "storage_account_name"))
    environment, host = read.text("environment", "ARM_ENVIRONMENT"), read.text("metadata_host", *METADATA_HOST)
    customer = read.text("customer_provided_key", "ARM_CUSTOMER_PROVIDED_KEY")
    scope = read.text("encryption_scope", "ARM_ENCYRPTION_SCOPE", "ARM_ENCRYPTION_SCOPE")
    for one, other, both in (
        ("environment", "metadata_host", environment and host),
        ("customer_provided_key", "encryption_scope", customer and scope),
    ):
        if both:
            read.wrong(f'"{one}": conflicts with {other}')
            read.wrong(f'"{other}": conflicts with {one}')
    seconds = read.number("timeout_seconds", "ARM_TIMEOUT_SECONDS", default=300)
    if seconds < 0:
        read.wrong("timeout_seconds expected to be a non-negative integer")
    snapshot, use_token = read.flag("snapshot", "ARM_SNAPSHOT"), read.flag("use_azuread_auth", "ARM_USE_AZUREAD")
    for way in ("use_oidc", "use_msi", "use_aks_workload_identity", "use_cli"):
        read.flag(way, f"ARM_{way.upper()}")
    secret = {} if read.problems else _secret(read, customer, scope)
    read.remarks += [
        warning("state.backend_deprecated", f'"{old}": [DEPRECATED] {why}')
        for old, why in _DEPRECATED.items()
        if read.settings.get(old) or (old == "msi_endpoint" and os.environ.get("ARM_MSI_ENDPOINT"))
    ]
    http = Http(timeout=float(seconds or 300))
    read.finish_check()
    try:
        cloud = cloud_of(environment, host, http)
        _check_names(name, container)
    except ServiceError as problem:
        read.wrong(problem.text)
        raise Unopened from None
    to = Container(name, cloud.storage, container, http, secret=secret)
    access, sas = read.text("access_key", "ARM_ACCESS_KEY"), read.text("sas_token", "ARM_SAS_TOKEN")
    try:
        if not access and not sas:
            account = account_of(read.settings)
            if method_of(account)[0] and use_token:
                tokens = AzureTokens(account, "https://storage.azure.com/.default", http, cloud.login)
                return AzureBackend(read.settings, seal, evolve(to, tokens=tokens), key, snapshot)
            access = _bootstrap(account, read, name, cloud, http)
        if access:
            to = evolve(to, key=_account_key(access))
        else:
            to = evolve(to, sas=sas)
    except ServiceError as problem:
        read.wrong(problem.text)
    read.check()
    return AzureBackend(read.settings, seal, to, key, snapshot)


def _secret(read: SettingsReading, customer: str, scope: str) -> dict[str, str]:
    if scope:
        return {"x-ms-encryption-scope": scope}
    if not customer:
        return {}
    try:
        key = decode(customer)
    except Base64Error as bad:
        read.wrong(f"CPK: failed to decode base64 key {bad}")
        return {}
    if len(key) != 32:
        read.wrong(f"CPK: Key must be 32 bytes (AES-256), got {len(key)} bytes")
    return {
        "x-ms-encryption-key": customer,
        "x-ms-encryption-key-sha256": b64encode(hashlib.sha256(key).digest()).decode("ascii"),
        "x-ms-encryption-algorithm": "AES256",
    }


def _check_names(account: str, container: str) -> None:
    """Check the names of a storage account and a container. Raises ServiceError if one is invalid."""
    if not re.fullmatch("[0-9a-z]{3,24}", account):
        rule = "Azure requires a storage account name consists of 3-24 lowercase characters and numbers only."
        raise ServiceError(f"invalid storage account name: {rule} {_RULES}")
    if not re.fullmatch("[0-9a-z][0-9a-z-]{1,61}[0-9a-z]", container):
        rule = "Azure requires a storage container name consists of 3-63 lowercase characters, numbers, and hyphens"
        rule += " only. It cannot start or end with a hyphen."
        raise ServiceError(f"invalid storage container name: {rule} {_RULES}")
    if "--" in container:
        rule = "Hyphens in a storage container name must be nonconsecutive."
        raise ServiceError(f"invalid storage container name: {rule} {_RULES}")


def _account_key(text: str) -> bytes:
    try:
        return decode(text)
    except Base64Error as bad:
        why = f"decode account key: {bad}"
        raise ServiceError(f"error creating credential from shared access key: {why}") from None


def _bootstrap(account: AzureAccount, read: SettingsReading, name: str, cloud: Cloud, http: Http) -> str:
    """The key of the storage account, requested with a token; "" after a problem (reported). Raises ServiceError."""
    method, reasons = method_of(account)
    for summary, detail in reasons:
        read.problems.append(error("state.backend_setting", summary, detail))
    if reasons:
        return ""
    subscription, group = account.text("subscription_id"), read.text("resource_group_name")
    if not subscription and method == "program":
        document = run_az("account", "show")
        subscription = str(document.get("id") or "") if isinstance(document, dict) else ""
    for what, title, given in (
        ("a resource group", "Resource Group", group),
        ("a subscription id", "Subscription ID", subscription),
    ):
        if not given:
            read.wrong(f"{title} is empty", f"In order to obtain a Storage Account Access Key, {what} is necessary")
    if read.problems:
        return ""
    tokens = AzureTokens(account, f"{cloud.audience or cloud.management}/.default", http, cloud.login)
    return access_key(name, group, subscription, cloud.management, tokens, http)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    where = "/".join(str(settings.get(name) or "") for name in ("storage_account_name", "container_name"))
    cloud = settings.get("metadata_host") or settings.get("environment") or ""
    return f"azurerm:{cloud}:{where}/{_blob(str(settings.get('key') or ''), workspace)}"
