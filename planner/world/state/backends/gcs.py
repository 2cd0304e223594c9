"""`backend "gcs"`: the state in an object of Google Cloud Storage, locked by an object next to it. Versions are
generations; the id of a lock is the generation of its lock object."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from planner.foundation.clients.google import KINDS, GoogleAccount, GoogleTokens, contents_of, error_text, parse_json
from planner.foundation.clients.http import NONE, Http, HttpResponse, Retries
from planner.foundation.encryption.envelope import Base64Error, decode
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve, frozen
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, text, texts

SCHEMA = BlockSchema(
    {
        "bucket": text("The name of the Google Cloud Storage bucket", required=True),
        "prefix": text("The directory where state files will be saved inside the bucket"),
        "credentials": text("Google Cloud JSON Account Key"),
        "access_token": text("An OAuth2 token used for GCP authentication"),
        "impersonate_service_account": text("The service account to impersonate for all Google API Calls"),
        "impersonate_service_account_delegates": texts("The delegation chain for the impersonated service account"),
        "encryption_key": text("A base64-encoded key of 32 bytes, with which the state is encrypted in the bucket."),
        "kms_encryption_key": text("The name of a Cloud KMS key, with which the state is encrypted in the bucket."),
        "storage_custom_endpoint": text("The address of the storage API"),
        "universe_domain": text("The domain of a sovereign cloud"),
    }
)
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_STATE, _LOCK = ".tfstate", ".tflock"
_RACES = 20  # number of immediate retries if another process releases the lock while its lock object is read


class GoogleError(ServiceError):
    """An error reported by the storage; `status` is the HTTP status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text, may_pass=status >= 500 or status in (408, 429))
        self.status = status


@frozen(repr=False)
class Bucket:
    """A client for a bucket. `endpoint` ends with a slash. Objects are encrypted with `key` or the named KMS key."""

    name: str
    endpoint: str
    tokens: Callable[[], str] | None
    http: Http
    key: bytes = b""
    kms_key: str = ""

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        retries: Retries | None = None,
    ) -> HttpResponse:
        """Send a request. Raises GoogleError for a status of 300 or higher."""
        token = {"Authorization": f"Bearer {self.tokens()}"} if self.tokens is not None else {}
        answer = self.http.ask(method, url, {**token, **(headers or {})}, body, retries=retries)
        if answer.status >= 300:
            raise GoogleError(error_text(answer), answer.status)
        return answer

    def url(self, name: str, **query: str) -> str:
        path = f"{self.endpoint}b/{quote(self.name, safe='')}/o" + (f"/{quote(name, safe='')}" if name else "")
        return f"{path}?{urlencode(sorted({'alt': 'json', **query}.items()))}"

    def _secret(self, is_secret: bool) -> dict[str, str]:
        if not self.key or not is_secret:
            return {}
        return {
            "X-Goog-Encryption-Algorithm": "AES256",
            "X-Goog-Encryption-Key": _base64(self.key),
            "X-Goog-Encryption-Key-Sha256": _base64(hashlib.sha256(self.key).digest()),
        }

    def read(self, name: str, is_secret: bool = True) -> Payload | None:
        """The content of an object and its generation; None if the object does not exist. `is_secret`: whether the
        object is encrypted with the customer's key; lock objects are not."""
        try:
            answer = self.ask("GET", self.url(name, alt="media"), self._secret(is_secret))
        except GoogleError as problem:
            if problem.status == 404:
                return None
            raise
        return Payload(answer.body, answer.headers.get("x-goog-generation", ""))

    def write(self, name: str, data: bytes, is_secret: bool = True, before: str | None = None) -> str:
        """Store an object and return its generation. `before`: as in StateClient.put. Raises GoogleError, with the
        status 412 if the object has changed."""
        digest = hashlib.md5(data, usedforsecurity=False).digest()
        query = {"name": name, "uploadType": "multipart"}
        if before is not None:
            query["ifGenerationMatch"] = before or "0"
        if self.kms_key and is_secret:
            query["kmsKeyName"] = self.kms_key
        parts = urlsplit(self.endpoint)
        where = f"{parts.scheme}://{parts.netloc}/upload/storage/v1/b/{quote(self.name, safe='')}/o"
        about = json.dumps({"bucket": self.name, "md5Hash": _base64(digest), "name": name})
        limit = uuid.uuid4().hex
        head = (
            f"--{limit}\r\nContent-Type: application/json\r\n\r\n{about}\r\n"
            f"--{limit}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        )
        body = b"".join((head.encode(), data, f"\r\n--{limit}--\r\n".encode()))
        headers = {"Content-Type": f"multipart/related; boundary={limit}", **self._secret(is_secret)}
        answer = self.ask("POST", f"{where}?{urlencode(sorted({'alt': 'json', **query}.items()))}", headers, body)
        document = answer.json()
        return str(document.get("generation") or "") if isinstance(document, dict) else ""

    def generation(self, name: str) -> str:
        """The generation of an object; "" if there is none."""
        try:
            document = self.ask("GET", self.url(name)).json()
        except GoogleError as problem:
            if problem.status == 404:
                return ""
            raise
        return str(document.get("generation") or "") if isinstance(document, dict) else ""

    def remove(self, name: str, **conditions: str) -> None:
        """Remove an object. Raises GoogleError, also if the object does not exist. If the response to a removal was
        lost, a missing object counts as removed."""
        url = self.url(name, **conditions)
        try:
            self.ask("DELETE", url, retries=NONE)
            return
        except ServiceError as problem:
            if not problem.may_pass:
                raise
        try:
            self.ask("DELETE", url)
        except GoogleError as problem:
            if problem.status != 404:
                raise


class GcsClient(StateClient):
    """The state of one workspace."""

    locks = True
    has_place_beside = True

    def __init__(self, bucket: Bucket, path: str) -> None:
        self._bucket = bucket
        self._state, self._lock = f"{path}{_STATE}", f"{path}{_LOCK}"

    @property
    def place(self) -> str:
        return f"gs://{self._bucket.name}/{self._state}"

    @property
    def lock_path(self) -> str:
        return f"gs://{self._bucket.name}/{self._lock}"

    def get(self) -> Payload | None:
        try:
            return self._bucket.read(self._state)
        except ServiceError as problem:
            raise _with(f"Failed to open state file at {self.place}: ", problem) from None

    def put(self, data: bytes, before: str | None) -> str:
        try:
            return self._bucket.write(self._state, data, before=before)
        except GoogleError as problem:
            if problem.status == 412:
                now = self._bucket.generation(self._state)
                text = f"{self.place} has the generation {now or '(none)'}, not {before or '(none)'}"
                raise VersionConflict(text) from None
            raise _with(f"Failed to upload state to {self.place}: ", problem) from None
        except ServiceError as problem:
            raise _with(f"Failed to upload state to {self.place}: ", problem) from None

    def delete(self) -> None:
        try:
            self._bucket.remove(self._state)
        except ServiceError as problem:
            text = f"Failed to delete state file {self.place}: {_missing(problem)}"
            raise ServiceError(text, may_pass=problem.may_pass) from None

    # ------------------------------------------------------------ locks

    def lock(self, info: LockInfo) -> LockInfo:
        for _ in range(_RACES):
            try:
                return evolve(info, id=self._bucket.write(self._lock, info.to_json(), is_secret=False, before=""))
            except ServiceError as problem:
                text = f'writing "{self.lock_path}" failed: {problem.text}'
                try:
                    kept = self._bucket.read(self._lock, is_secret=False)
                except ServiceError as more:
                    raise ServiceError(_several(text, more.text), may_pass=more.may_pass) from None
                is_taken = isinstance(problem, GoogleError) and problem.status == 412
                if kept is None and is_taken:
                    continue  # the lock was just released
                holder = lock_info_of(kept.data) if kept is not None else None
                if kept is None or holder is None:
                    raise LockHeld(text, may_wait=is_taken) from None
                # an earlier request of ours created the lock object, but its response was lost
                if holder.id == info.id:
                    return evolve(info, id=kept.version)
                raise LockHeld(text, evolve(holder, id=kept.version)) from None
        raise LockHeld(text, may_wait=True)

    def unlock(self, lock_id: str) -> None:
        if not lock_id.isascii() or not lock_id.removeprefix("-").isdigit():
            raise LockHeld(f"Lock ID should be numerical value, got '{lock_id}'")
        try:
            self._bucket.remove(self._lock, ifGenerationMatch=lock_id)
        except ServiceError as problem:
            raise LockHeld(_missing(problem), self.holder()) from None

    def force_unlock(self, lock_id: str) -> None:
        """Release the lock if it has this ID. The generation is compared here, too, because not all compatible servers
        compare it when they remove an object. Raises LockHeld and ServiceError."""
        holder = self.holder()
        if holder is not None and holder.id != lock_id and lock_id.isdigit():
            text = "At least one of the pre-conditions you specified did not hold."
            raise LockHeld(f"googleapi: Error 412: {text}, conditionNotMet", holder)
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        return self._bucket.generation(self._lock) == lock_id

    def holder(self) -> LockInfo | None:
        kept = self._bucket.read(self._lock, is_secret=False)
        holder = lock_info_of(kept.data) if kept is not None else None
        return evolve(holder, id=kept.version) if kept is not None and holder is not None else None

    # ------------------------------------------------------------ documents next to the state

    def get_beside(self, name: str) -> bytes | None:
        kept = self._bucket.read(f"{self._state}.{name}")
        return kept.data if kept is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        self._bucket.write(f"{self._state}.{name}", data)

    def delete_beside(self, name: str) -> None:
        try:
            self._bucket.remove(f"{self._state}.{name}")
        except GoogleError as problem:
            if problem.status != 404:
                raise


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _with(what: str, problem: ServiceError) -> ServiceError:
    return ServiceError(what + problem.text, may_pass=problem.may_pass)


def _missing(problem: ServiceError) -> str:
    is_missing = isinstance(problem, GoogleError) and problem.status == 404
    return f"storage: object doesn't exist: {problem.text}" if is_missing else problem.text


def _several(*texts: str) -> str:
    return f"{len(texts)} errors occurred:" + "".join(f"\n\t* {text}" for text in texts) + "\n"


class GcsBackend(RemoteBackend):
    """The `gcs` backend: states in a bucket."""

    type = "gcs"
    makes_empty = True

    def __init__(self, settings: Mapping[str, Any], seal: Seal, bucket: Bucket, prefix: str) -> None:
        super().__init__(settings, seal)
        self.bucket, self.prefix = bucket, prefix

    def client(self, workspace: str) -> GcsClient:
        return GcsClient(self.bucket, _path(self.prefix, workspace))

    def names(self) -> list[str]:
        result, page = [], ""
        while True:
            query = {"delimiter": "/", "prefix": self.prefix, **({"pageToken": page} if page else {})}
            try:
                document = self.bucket.ask("GET", self.bucket.url("", **query)).json()
            except GoogleError as problem:
                text = f"storage: bucket doesn't exist: {problem.text}" if problem.status == 404 else problem.text
                raise ServiceError(f"querying Cloud Storage failed: {text}", may_pass=problem.may_pass) from None
            except ServiceError as problem:
                raise _with("querying Cloud Storage failed: ", problem) from None
            document = document if isinstance(document, dict) else {}
            for item in document.get("items") or ():
                name = posixpath.basename(str(item.get("name", "")))
                if name.endswith(_STATE):
                    result.append(name.removesuffix(_STATE))
            page = str(document.get("nextPageToken") or "")
            if not page:
                return result

    def remove(self, workspace: str) -> None:
        if workspace == DEFAULT_WORKSPACE:
            raise ServiceError(f'cowardly refusing to delete the "{workspace}" state')
        super().remove(workspace)


def _prefix(message: str) -> str:
    prefix = message.lstrip("/")
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def _path(prefix: str, workspace: str) -> str:
    return posixpath.normpath(posixpath.join(prefix, workspace))


def open(read: SettingsReading, seal: Seal) -> GcsBackend:
    """Open the backend. Settings that are not set come from the environment variables GOOGLE_*."""
    http = Http()
    bucket = read.required("bucket")
    given_key, kms_key = (
        read.text("encryption_key", "GOOGLE_ENCRYPTION_KEY"),
        read.text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY"),
    )
    if given_key and kms_key:
        read.wrong('"encryption_key": conflicts with kms_encryption_key')
        read.wrong('"kms_encryption_key": conflicts with encryption_key')
    read.finish_check()
    account = GoogleAccount(
        read.text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN"),
        read.text("credentials", "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"),
        read.text(
            "impersonate_service_account",
            "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
            "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
        ),
        tuple(read.settings.get("impersonate_service_account_delegates") or ()),
    )
    key = b""
    try:
        if account.credentials and not account.access_token:
            known = parse_json(contents_of(account.credentials, "credentials"))
            if known.get("type") not in KINDS:
                read.wrong("storage.NewClient() failed: dialing: credentials: unsupported unidentified file type")
        key = decode(contents_of(given_key, "encryption key")) if given_key else b""
    except Base64Error as bad:
        read.wrong(f"Error decoding encryption key: {bad}")
    except ServiceError as problem:
        read.wrong(problem.text)
    endpoint, is_emulator = _endpoint(read)
    has_account = bool(account.access_token or account.credentials or account.impersonate)
    tokens = GoogleTokens(account, (_SCOPE,), http) if has_account or not is_emulator else None
    if tokens is not None and not has_account and not read.problems:
        try:
            tokens()
        except ServiceError as problem:
            what = "credentials: " if problem.text.startswith("could not find") else ""
            read.wrong(f"storage.NewClient() failed: dialing: {what}{problem.text}")
    read.check()
    return GcsBackend(
        read.settings, seal, Bucket(bucket, endpoint, tokens, http, key, kms_key), _prefix(read.text("prefix"))
    )


def _endpoint(read: SettingsReading) -> tuple[str, bool]:
    """The URL of the storage, and whether it is a test server, which requires no credentials."""
    given = read.text(
        "storage_custom_endpoint", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"
    )
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    if not given and emulator:
        parts = urlsplit(emulator if "://" in emulator else f"http://{emulator}")
        given = f"{parts.scheme}://{parts.netloc}/storage/v1/"
    variables = ("GOOGLE_BACKEND_UNIVERSE_DOMAIN", "GOOGLE_CLOUD_UNIVERSE_DOMAIN")
    domain = read.text("universe_domain", *variables, default="googleapis.com")
    endpoint = given or f"https://storage.{domain}/storage/v1/"
    endpoint = endpoint if "://" in endpoint else f"https://{endpoint}"
    return endpoint if endpoint.endswith("/") else f"{endpoint}/", bool(emulator)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the object at its endpoint."""
    where = settings.get("storage_custom_endpoint") or ""
    path = _path(_prefix(str(settings.get("prefix") or "")), workspace)
    return f"gcs:{where}:{settings.get('bucket', '')}/{path}"
