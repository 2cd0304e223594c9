"""`backend "cos"`: the state in an object of Tencent Cloud's COS, locked by an object next to it. While a process
checks for the lock object and creates it, a tag of the account prevents other processes from doing the same. Releasing
a lock requires the digest of the lock object."""

from __future__ import annotations

import hashlib
import os
import posixpath
import time
from collections.abc import Mapping
from typing import Any

from planner.foundation.clients.buckets import BucketClient, put_checked
from planner.foundation.clients.http import Http
from planner.foundation.clients.tencent import TencentKeys, assume_role, call, cos_bucket
from planner.foundation.values.schema import BlockSchema, NestedBlock
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve, frozen
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, flag, number, text

_ROLE = {
    "role_arn": text("The ARN of the role to assume.", required=True),
    "session_name": text("The session name to use when making the AssumeRole call.", required=True),
    "session_duration": number("Seconds that the session lasts, 7200 by default."),
    "policy": text("A more restrictive policy when making the AssumeRole call."),
}
SCHEMA = BlockSchema(
    {
        "secret_id": text("Secret id of Tencent Cloud"),
        "secret_key": text("Secret key of Tencent Cloud", sensitive=True),
        "security_token": text("Security token of temporary credentials", sensitive=True),
        "region": text("The region of the COS bucket", required=True),
        "bucket": text("The name of the COS bucket", required=True),
        "prefix": text("The directory for saving the state file in bucket"),
        "key": text("The path for saving the state file in bucket"),
        "encrypt": flag("Whether to enable server side encryption of the state file"),
        "acl": text("Object ACL to be applied to the state file"),
        "accelerate": flag("Whether to enable global Acceleration"),
    },
    {"assume_role": NestedBlock(BlockSchema(_ROLE), "set", max_items=1)},
)
REQUIRED_VARIABLES = {"region": ("TENCENTCLOUD_REGION",)}  # defaults for required settings
_TAG = "tencentcloud-terraform-lock"
_TRIES = 30  # number of attempts to remove a tag, one second apart


@frozen(repr=False)
class CosBucket:
    """A bucket, the headers for new objects, and the credentials."""

    name: str
    region: str
    bucket: BucketClient
    keys: TencentKeys
    http: Http
    prefix: str
    key: str
    encrypt: bool
    acl: str

    def path(self, workspace: str) -> str:
        parts = [workspace] if workspace != DEFAULT_WORKSPACE else []
        return posixpath.normpath(posixpath.join(self.prefix, *parts, self.key))


class CosClient(StateClient):
    """The state in an object. Its version is the object's entity tag."""

    locks = True
    has_place_beside = True

    def __init__(self, at: CosBucket, workspace: str) -> None:
        self._at, self.path = at, at.path(workspace)
        self._lock = f"{self.path}.tflock"

    @property
    def place(self) -> str:
        return f"cos://{self._at.name}/{self.path}"

    @property
    def lock_path(self) -> str:
        return self._lock

    # ------------------------------------------------------------ objects

    def _read(self, key: str) -> tuple[bytes, str, str] | None:
        """The content of an object, its verified digest, and its entity tag; None if the object does not exist. Raises
        ServiceError."""
        try:
            answer = self._at.bucket.get(key)
        except ServiceError as problem:
            raise ServiceError(f"failed to open file at {key}: {problem.text}", may_pass=problem.may_pass) from None
        if answer is None:
            return None
        recorded, has = answer.headers.get("x-cos-meta-md5", ""), _md5(answer.body)
        if len(recorded) != 32:
            raise ServiceError(f"failed to open file at {key}: checksum {recorded} invalid")
        if recorded != has:
            raise ServiceError(f"failed to open file at {key}: checksum mismatch, {has} != {recorded}")
        return answer.body, has, answer.headers.get("etag", "")

    def _write(self, key: str, data: bytes, before: str | None = None) -> str | None:
        """Store an object, and return its entity tag; None if another process has changed the object. Raises
        ServiceError."""
        headers = {"x-cos-meta-md5": _md5(data), "x-cos-acl": self._at.acl}
        if self._at.encrypt:
            headers["x-cos-server-side-encryption"] = "AES256"
        if before == "":
            headers["x-cos-forbid-overwrite"] = "true"
        try:
            answer = put_checked(self._at.bucket, key, before, headers, data)
        except ServiceError as problem:
            raise ServiceError(f"failed to save file to {key}: {problem.text}", may_pass=problem.may_pass) from None
        return answer.headers.get("etag", "") if answer is not None else None

    def _delete(self, key: str) -> None:
        try:
            self._at.bucket.delete(key)
        except ServiceError as problem:
            raise ServiceError(f"failed to delete file {key}: {problem.text}", may_pass=problem.may_pass) from None

    def get(self) -> Payload | None:
        kept = self._read(self.path)
        return Payload(kept[0], kept[2]) if kept is not None else None

    def put(self, data: bytes, before: str | None) -> str:
        version = self._write(self.path, data, before)
        if version is None:
            raise VersionConflict(f"the entity tag of {self.place} is no longer {before or '(none)'}")
        return version

    def delete(self) -> None:
        self._delete(self.path)

    # ------------------------------------------------------------ locks

    def lock(self, info: LockInfo) -> LockInfo:
        try:
            self._take_tag()
        except ServiceError as problem:
            raise self._held_error(problem.text, may_wait=problem.code.startswith("ResourceInUse")) from None
        try:
            kept = self._read(self._lock)
            if kept is not None:
                holder = lock_info_of(kept[0])
                # an earlier request of ours created the lock object, and its response was lost
                if holder is not None and holder.id == info.id:
                    return evolve(info, id=kept[1])
                raise self._held_error(f"lock file {self._lock} exists")
            data = info.to_json()
            if self._write(self._lock, data, "") is None:
                raise self._held_error(f"lock file {self._lock} exists")
        finally:
            self._give_tag_back()
        return evolve(info, id=_md5(data))

    def _held_error(self, text: str, may_wait: bool | None = None) -> LockHeld:
        try:
            holder = self._holder()
        except ServiceError as problem:
            return LockHeld(_several(text, problem.text), None, may_wait)
        return LockHeld(text, holder, may_wait)

    def _holder(self) -> LockInfo:
        kept = self._read(self._lock)
        if kept is None:
            raise ServiceError(f"lock file {self._lock} not exists", code="NoSuchKey")
        holder = lock_info_of(kept[0])
        if holder is None:
            raise ServiceError(f"lock file {self._lock} is not a lock")
        return evolve(holder, id=kept[1])

    def unlock(self, lock_id: str) -> None:
        try:
            holder = self._holder()
        except ServiceError as problem:
            raise LockHeld(_several(problem.text, problem.text)) from None
        if holder.id != lock_id:
            raise LockHeld(f"lock id mismatch, {holder.id} != {lock_id}", holder)
        self._delete(self._lock)
        self._give_tag_back()

    def force_unlock(self, lock_id: str) -> None:
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        kept = self._read(self._lock)
        return kept is not None and kept[1] == lock_id

    def holder(self) -> LockInfo | None:
        try:
            return self._holder()
        except ServiceError as problem:
            if problem.code == "NoSuchKey":
                return None
            raise

    def _tag(self, action: str) -> dict[str, Any]:
        value = _md5(f"{self._at.name}:{self._lock}".encode())
        body = {"TagKey": _TAG, "TagValue": value}
        return call("tag", action, "2018-08-13", self._at.region, body, self._at.keys, self._at.http)

    def _take_tag(self) -> None:
        try:
            self._tag("CreateTag")
        except ServiceError as problem:
            value = _md5(f"{self._at.name}:{self._lock}".encode())
            text = f"failed to create tag: {_TAG} -> {value}: {problem.text}"
            raise ServiceError(text, code=problem.code, may_pass=problem.may_pass) from None

    def _give_tag_back(self) -> None:
        for last in range(_TRIES):
            if not self._tag("DescribeTags").get("Tags"):
                return
            try:
                self._tag("DeleteTag")
                return
            except ServiceError:
                if last == _TRIES - 1:
                    raise
            time.sleep(1)

    # ------------------------------------------------------------ documents next to the state

    def get_beside(self, name: str) -> bytes | None:
        kept = self._read(f"{self.path}.{name}")
        return kept[0] if kept is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        self._write(f"{self.path}.{name}", data)

    def delete_beside(self, name: str) -> None:
        self._delete(f"{self.path}.{name}")


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _several(*texts: str) -> str:
    return f"{len(texts)} errors occurred:" + "".join(f"\n\t* {text}" for text in texts) + "\n"


class CosBackend(RemoteBackend):
    """The `cos` backend: states in a bucket."""

    type = "cos"

    def __init__(self, settings: Mapping[str, Any], seal: Seal, at: CosBucket) -> None:
        super().__init__(settings, seal)
        self.at = at

    def client(self, workspace: str) -> CosClient:
        return CosClient(self.at, workspace)

    def names(self) -> list[str]:
        prefix, result = f"{self.at.prefix.rstrip('/')}/" if self.at.prefix else "", []
        try:
            for key in self.at.bucket.keys(self.at.prefix):
                name = key.removeprefix(prefix).partition("/")[0]
                if name and key != self.at.path(DEFAULT_WORKSPACE) and key == self.at.path(name):
                    result.append(name)
        except ServiceError as problem:
            if problem.code == "NoSuchBucket":
                raise ServiceError(f"the bucket {self.at.name} does not exist") from None
            raise
        return result

    def remove(self, workspace: str) -> None:
        if workspace == DEFAULT_WORKSPACE:
            raise ServiceError("the default state cannot be deleted")
        super().remove(workspace)


def open(read: SettingsReading, seal: Seal) -> CosBackend:
    """Open the backend. Settings that are not set come from the environment variables TENCENTCLOUD_*."""
    http = Http(timeout=60.0)
    bucket, region = read.required("bucket"), read.required("region", "TENCENTCLOUD_REGION")
    prefix, key = read.text("prefix"), read.text("key", default="terraform.tfstate")
    acl = read.text("acl", default="private")
    if acl not in ("private", "public-read"):
        read.wrong(f"acl value invalid, expected private or public-read, got {acl}")
    if key.startswith("/") or key.endswith("/"):
        read.wrong("key can not start and end with '/'")
    if prefix.startswith(("/", "./")):
        read.wrong("prefix must not start with '/' or './'")
    role = next(iter(read.settings.get("assume_role") or ()), None)
    arn, session, seconds = _role(role, read) if role is not None else ("", "", 0)
    read.finish_check()
    keys = TencentKeys(
        read.text("secret_id", "TENCENTCLOUD_SECRET_ID"),
        read.text("secret_key", "TENCENTCLOUD_SECRET_KEY"),
        read.text("security_token", "TENCENTCLOUD_SECURITY_TOKEN"),
    )
    if role is not None:
        keys = assume_role(keys, arn, session, seconds, str(role.get("policy") or ""), region, http)
    where = "accelerate" if read.flag("accelerate") else region
    place = CosBucket(
        name=bucket,
        region=region,
        bucket=cos_bucket(f"https://{bucket}.cos.{where}.myqcloud.com", keys, http),
        keys=keys,
        http=http,
        prefix=prefix,
        key=key,
        encrypt=read.flag("encrypt", default=True),
        acl=acl,
    )
    return CosBackend(read.settings, seal, place)


def _role(role: Mapping[str, Any], read: SettingsReading) -> tuple[str, str, int]:
    """The role to assume, the name of the session, and its duration in seconds."""
    problems = []
    for name in ("role_arn", "session_name"):
        variable = f"TENCENTCLOUD_ASSUME_ROLE_{name.removeprefix('role_').upper()}"
        problems.append(str(role.get(name) or os.environ.get(variable) or ""))
        if not problems[-1]:
            read.wrong(f'"assume_role.0.{name}": required field is not set')
    given = role.get("session_duration")
    if given is None:
        text = os.environ.get("TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION", "")
        given = int(text) if text.isascii() and text.isdigit() else 7200
    seconds = int(given)
    if seconds < 0:
        read.wrong(f'"assume_role.0.session_duration" cannot be lower than 0: {seconds}')
    if seconds > 43200:
        read.wrong(f'"assume_role.0.session_duration" cannot be higher than 43200: {seconds}')
    return problems[0], problems[1], seconds


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    parts = [workspace] if workspace != DEFAULT_WORKSPACE else []
    key = str(settings.get("key") or "terraform.tfstate")
    path = posixpath.normpath(posixpath.join(str(settings.get("prefix") or ""), *parts, key))
    return f"cos:{settings.get('region') or ''}:{settings.get('bucket', '')}/{path}"
