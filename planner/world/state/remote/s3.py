"""The state of a workspace in an object of a bucket. The lock is another object, an item in DynamoDB, or both.

An item in DynamoDB also has the digest of the current content, so that planner notices if S3 returns an outdated
version of the object."""

from __future__ import annotations

import hashlib
import re
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from planner.foundation.clients.aws import AwsError, Service, encoded_path
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict

_PATIENCE, _PAUSE = 10.0, 2.0
"""Maximum seconds for which the state and its digest in DynamoDB may differ, and seconds between two checks."""


@frozen(repr=False)
class S3Bucket:
    """A bucket, a table in DynamoDB ("" if there is none), and the settings for storing objects."""

    bucket: str
    key: str
    prefix: str
    table: str
    lock_file: bool
    encrypt: bool
    kms_key: str
    customer_key: bytes
    acl: str
    state_tags: Mapping[str, str]
    lock_tags: Mapping[str, str]
    checksums: bool
    path_style: bool
    s3: Service
    dynamodb: Service

    def path(self, workspace: str) -> str:
        if workspace == DEFAULT_WORKSPACE:
            return self.key
        return "/".join(part for part in (self.prefix, workspace, self.key) if part)

    def url_path(self, key: str) -> str:
        return (f"/{self.bucket}" if self.path_style else "") + (f"/{encoded_path(key)}" if key else "")

    def put_headers(self, data: bytes, tags: Mapping[str, str], kind: str = "application/json") -> dict[str, str]:
        headers = {"Content-Type": kind}
        if self.checksums:
            headers["x-amz-sdk-checksum-algorithm"] = "SHA256"
            headers["x-amz-checksum-sha256"] = _base64(hashlib.sha256(data).digest())
        if self.encrypt and self.kms_key:
            headers["x-amz-server-side-encryption"] = "aws:kms"
            headers["x-amz-server-side-encryption-aws-kms-key-id"] = self.kms_key
        elif self.encrypt and self.customer_key:
            headers |= self.customer_headers()
        elif self.encrypt:
            headers["x-amz-server-side-encryption"] = "AES256"
        if self.acl:
            headers["x-amz-acl"] = self.acl
        if tags:
            headers["x-amz-tagging"] = urlencode(sorted(tags.items()))
        return headers

    def customer_headers(self) -> dict[str, str]:
        """The headers with the customer's encryption key, if there is one."""
        if not self.encrypt or not self.customer_key:
            return {}
        return {
            "x-amz-server-side-encryption-customer-algorithm": "AES256",
            "x-amz-server-side-encryption-customer-key": _base64(self.customer_key),
            "x-amz-server-side-encryption-customer-key-MD5": _base64(_md5(self.customer_key)),
        }


_WRITING = "planner.writing"
"""the name of the document, next to a state, with the checksum of a new state. The document is written before the
object and DynamoDB are updated, so that the new state is valid even if the process is killed between the two updates"""


class S3Client(StateClient):
    """The state in an S3 object. The version of the state is the object's entity tag."""

    has_place_beside = True

    def __init__(self, at: S3Bucket, workspace: str) -> None:
        self._at, self.path = at, at.path(workspace)
        self._written = ""
        """the entity tag of this process's last write. If storing the digest then failed, the write can be repeated"""

    @property
    def place(self) -> str:
        return f"s3://{self._at.bucket}/{self.path}"

    @property
    def locks(self) -> bool:
        return self._at.lock_file or bool(self._at.table)

    @property
    def lock_path(self) -> str:
        return f"{self._at.bucket}/{self.path}"

    # ------------------------------------------------------------ objects

    def _get(self, key: str) -> Payload | None:
        at = self._at
        try:
            answer = at.s3.ask("GetObject", "GET", f"{at.url_path(key)}", at.customer_headers())
        except AwsError as problem:
            if problem.status == 404 and problem.code in ("NoSuchKey", "NotFound"):
                return None
            if problem.code == "NoSuchBucket":
                raise ServiceError(no_bucket(problem)) from None
            raise
        return Payload(answer.body, answer.headers.get("etag", ""))

    def _put(
        self, key: str, data: bytes, tags: Mapping[str, str], more: Mapping[str, str] | None = None, json: bool = True
    ) -> str:
        at = self._at
        headers = {**at.put_headers(data, tags, "application/json" if json else "text/plain"), **(more or {})}
        return at.s3.ask("PutObject", "PUT", at.url_path(key), headers, data).headers.get("etag", "")

    def _delete(self, key: str) -> None:
        self._at.s3.ask("DeleteObject", "DELETE", self._at.url_path(key))

    def get(self) -> Payload | None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            kept = self._get(self.path)
            if kept is not None and not kept.data:
                kept = None
            wanted = self._digest()
            has = _md5(kept.data).hex() if kept is not None and wanted else ""
            if wanted == has or (has and self.get_beside(_WRITING) == has.encode()):
                return kept
            if time.monotonic() >= deadline:
                raise ServiceError(BAD_CHECKSUM + has)
            time.sleep(_PAUSE)

    def put(self, data: bytes, before: str | None) -> str:
        if before is not None:
            now = self._version()
            if now != before and (not self._written or now != self._written):
                raise VersionConflict(
                    f"{self.place} now has the entity tag {now or '(none)'}, not {before or '(none)'} as when planner "
                    "read it"
                )
        digest = _Later(lambda: _md5(data).hex()) if self._at.table else None
        try:
            if digest is not None:
                self.put_beside(_WRITING, digest.result().encode())
            version = self._written = self._put(self.path, data, self._at.state_tags)
        except ServiceError as problem:
            raise ServiceError(f"failed to upload state: {problem.text}", may_pass=problem.may_pass) from None
        try:
            if digest is not None:
                self._put_digest(digest.result())
                with suppress(ServiceError):
                    self.delete_beside(_WRITING)
        except ServiceError as problem:
            raise ServiceError(f"failed to store state MD5: {problem.text}", may_pass=problem.may_pass) from None
        return version

    def _version(self) -> str:
        """The entity tag; "" if the object is missing or empty."""
        at = self._at
        try:
            answer = at.s3.ask("HeadObject", "HEAD", at.url_path(self.path), at.customer_headers())
        except AwsError as problem:
            if problem.status == 404:
                return ""
            raise
        return "" if answer.headers.get("content-length") == "0" else answer.headers.get("etag", "")

    def delete(self) -> None:
        self._delete(self.path)
        if self._at.table:
            self._item("DeleteItem", {"Key": _key(f"{self.lock_path}-md5")})
            self.delete_beside(_WRITING)

    # ------------------------------------------------------------ DynamoDB

    def _item(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._at.dynamodb.target(operation, "DynamoDB_20120810", {**body, "TableName": self._at.table})

    def _attribute(self, item: str, name: str) -> str:
        body = {"ConsistentRead": True, "Key": _key(item), "ProjectionExpression": f"LockID, {name}"}
        result = self._item("GetItem", body).get("Item") or {}
        return str((result.get(name) or {}).get("S") or "")

    def _digest(self) -> str:
        """The digest of the state in DynamoDB; "" if there is no table, no valid digest, or on errors."""
        if not self._at.table:
            return ""
        try:
            digest = self._attribute(f"{self.lock_path}-md5", "Digest")
        except ServiceError:
            return ""
        return digest if re.fullmatch("[0-9a-f]{32}", digest) else ""

    def _put_digest(self, digest: str) -> None:
        item = {"LockID": {"S": f"{self.lock_path}-md5"}, "Digest": {"S": digest}}
        self._item("PutItem", {"Item": item})

    # ------------------------------------------------------------ locks

    def lock(self, info: LockInfo) -> LockInfo:
        if self._at.lock_file:
            self._lock_file(info)
        if self._at.table:
            try:
                self._lock_item(info)
            except ServiceError:
                if self._at.lock_file:
                    self._unlock_file(info.id)
                raise
        return info

    def _lock_file(self, info: LockInfo) -> None:
        key = f"{self.path}.tflock"
        try:
            self._put(key, info.to_json(), self._at.lock_tags, {"If-None-Match": "*"})
        except ServiceError as problem:
            _check_holder(problem, self._file_holder, info)

    def _lock_item(self, info: LockInfo) -> None:
        item = {"LockID": {"S": self.lock_path}, "Info": {"S": info.to_json().decode()}}
        try:
            self._item("PutItem", {"ConditionExpression": "attribute_not_exists(LockID)", "Item": item})
        except ServiceError as problem:
            _check_holder(problem, self._item_holder, info)

    def _file_holder(self) -> LockInfo | None:
        try:
            kept = self._get(f"{self.path}.tflock")
        except ServiceError as problem:
            raise ServiceError(f"failed to retrieve s3 lock info: {problem.text}") from None
        return lock_info_of(kept.data) if kept is not None else None

    def _item_holder(self) -> LockInfo | None:
        text = self._attribute(self.lock_path, "Info")
        return lock_info_of(text.encode()) if text else None

    def force_unlock(self, lock_id: str) -> None:
        """Remove both locks. If the holder was killed after removing one of the two locks, remove the other lock."""
        has_file = self._at.lock_file and self._file_holder() is not None
        has_item = bool(self._at.table) and self._item_holder() is not None
        if has_file != has_item and self._at.lock_file and self._at.table:
            (self._unlock_file if has_file else self._unlock_item)(lock_id)
        else:
            self.unlock(lock_id)

    def unlock(self, lock_id: str) -> None:
        """Release both locks, even if one fails. Raises ServiceError."""
        problems: list[ServiceError] = []
        file_problem: ServiceError | None = None
        if self._at.lock_file:
            try:
                self._unlock_file(lock_id)
            except ServiceError as problem:
                file_problem = problem
                problems.append(problem)
        if self._at.table:
            try:
                self._unlock_item(lock_id)
            except ServiceError as problem:
                problems.append(problem)
        if not problems:
            return
        if len(problems) == 1 and self._at.lock_file and self._at.table:
            half = (
                "dynamoDB lock released but s3 failed: " if file_problem else "s3 lock released but dynamoDB failed: "
            )
            raise ServiceError(half + problems[0].text)
        raise ServiceError(problems[0].text if len(problems) == 1 else _several(*problems))

    def _unlock_file(self, lock_id: str) -> None:
        holder = self._file_holder()
        if holder is None:
            raise ServiceError(f"failed to retrieve s3 lock info: there is no {self.path}.tflock", code="NoSuchKey")
        if holder.id != lock_id:
            raise ServiceError(f'lock id "{lock_id}" from s3 does not match existing lock')
        self._delete(f"{self.path}.tflock")

    def _unlock_item(self, lock_id: str) -> None:
        text = self._attribute(self.lock_path, "Info")
        if not text:
            raise ServiceError(
                f'failed to retrieve lock info: no lock info found for: "{self.lock_path}" within the DynamoDB table: '
                f"{self._at.table}"
            )
        holder = lock_info_of(text.encode())
        if holder is None or holder.id != lock_id:
            raise ServiceError(f'lock id "{lock_id}" does not match existing lock')
        # the condition compares the stored text, because another program may write the JSON differently
        condition = {"ConditionExpression": "Info = :info", "ExpressionAttributeValues": {":info": {"S": text}}}
        self._item("DeleteItem", {**condition, "Key": _key(self.lock_path)})

    def has_lock(self, lock_id: str) -> bool:
        holders = []
        if self._at.lock_file:
            holders.append(self._file_holder())
        if self._at.table:
            holders.append(self._item_holder())
        return all(holder is not None and holder.id == lock_id for holder in holders)

    def holder(self) -> LockInfo | None:
        result = self._file_holder() if self._at.lock_file else None
        return result or (self._item_holder() if self._at.table else None)

    # ------------------------------------------------------------ documents next to the state

    def get_beside(self, name: str) -> bytes | None:
        kept = self._get(f"{self.path}.{name}")
        return kept.data if kept is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        self._put(f"{self.path}.{name}", data, {}, json=False)

    def delete_beside(self, name: str) -> None:
        self._delete(f"{self.path}.{name}")


class _Later(Thread):
    """A value that a thread computes while data is sent: checksums of a large state take as long as sending it."""

    def __init__(self, work: Callable[[], str]) -> None:
        super().__init__(name="digest", daemon=True)
        self._work, self._found = work, ""
        self.start()

    def run(self) -> None:
        self._found = self._work()

    def result(self) -> str:
        self.join()
        return self._found


def _key(item: str) -> dict[str, Any]:
    return {"LockID": {"S": item}}


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _check_holder(problem: ServiceError, ask: Callable[[], LockInfo | None], info: LockInfo) -> None:
    """Does nothing if this process itself holds the lock that was refused: an earlier request succeeded, but its
    response was lost. Otherwise raises LockHeld or ServiceError."""
    try:
        holder = ask()
    except ServiceError as more:
        raise ServiceError(_several(problem, more)) from None
    if holder is None or holder.id != info.id:
        raise LockHeld(problem.text, holder) from None


def _several(*problems: ServiceError) -> str:
    lines = "".join(f"\n\t* {problem.text}" for problem in problems)
    return f"{len(problems)} errors occurred:{lines}\n"


BAD_CHECKSUM = (
    "state data in S3 does not have the expected content.\n\n"
    "This may be caused by unusually long delays in S3 processing a previous state\n"
    "update.  Please wait for a minute or two and try again. If this problem\n"
    "persists, and neither S3 nor DynamoDB are experiencing an outage, you may need\n"
    "to manually verify the remote state and update the Digest value stored in the\n"
    "DynamoDB table to the following value: "
)


def no_bucket(problem: ServiceError) -> str:
    return (
        "S3 bucket does not exist.\n\nThe referenced S3 bucket must have been previously created. If the S3 bucket\n"
        f"was created within the last minute, please wait for a minute or two and try\nagain.\n\nError: {problem.text}"
    )
