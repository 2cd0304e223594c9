"""`backend "oss"`: the state in an object of Alibaba Cloud's OSS, locked by a row in TableStore."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import time
from collections.abc import Mapping
from typing import Any

from planner.foundation.clients.aliyun import AliyunKeys, assume_role, call, machine_keys, oss_bucket, profile
from planner.foundation.clients.buckets import BucketClient, put_checked
from planner.foundation.clients.http import NONE, Http
from planner.foundation.clients.tablestore import ABSENT, TablestoreTable
from planner.foundation.values.schema import BlockSchema, NestedBlock
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict
from planner.world.state.settings import SettingsReading, flag, number, text

_ROLE = {
    "role_arn": text("The ARN of a RAM role to assume.", required=True),
    "session_name": text("The session name to use when assuming the role."),
    "policy": text("The permissions applied when assuming a role."),
    "session_expiration": number("Seconds that the session lasts."),
}
SCHEMA = BlockSchema(
    {
        "access_key": text("Alibaba Cloud Access Key ID"),
        "secret_key": text("Alibaba Cloud Access Secret Key"),
        "security_token": text("Alibaba Cloud Security Token"),
        "ecs_role_name": text("The RAM role of the ECS instance."),
        "region": text("The region of the OSS bucket."),
        "sts_endpoint": text("A custom endpoint for the STS API"),
        "tablestore_endpoint": text("A custom endpoint for the TableStore API"),
        "endpoint": text("A custom endpoint for the OSS API"),
        "bucket": text("The name of the OSS bucket", required=True),
        "prefix": text("The directory where state files will be saved inside the bucket"),
        "key": text("The path of the state file inside the bucket"),
        "tablestore_table": text("TableStore table for state locking and consistency"),
        "encrypt": flag("Whether to enable server side encryption of the state file"),
        "acl": text("Object ACL to be applied to the state file"),
        "shared_credentials_file": text("The file of profiles, ~/.aliyun/config.json by default."),
        "profile": text("The name of a profile in shared_credentials_file."),
        "assume_role_role_arn": text("The ARN of a RAM role to assume."),
        "assume_role_session_name": text("The session name to use when assuming the role."),
        "assume_role_policy": text("The permissions applied when assuming a role."),
        "assume_role_session_expiration": number("Seconds that the session lasts."),
    },
    {"assume_role": NestedBlock(BlockSchema(_ROLE), "set", max_items=1)},
)
_PATIENCE, _PAUSE = 10.0, 2.0
"""seconds for which the state and its digest in TableStore may differ, and seconds between two checks"""
_BAD_DIGEST = (
    "state data in OSS does not have the expected content.\n\n"
    "This may be caused by unusually long delays in OSS processing a previous state\n"
    "update.  Please wait for a minute or two and try again. If this problem\n"
    "persists, and neither OSS nor TableStore are experiencing an outage, you may need\n"
    "to manually verify the remote state and update the Digest value stored in the\n"
    "TableStore table to the following value: "
)


@frozen(repr=False)
class OssBucket:
    """A bucket, a table (None if there is none), and the settings for storing objects."""

    name: str
    bucket: BucketClient
    prefix: str
    key: str
    table: TablestoreTable | None
    encrypt: bool = False
    acl: str = ""

    def path(self, workspace: str) -> str:
        parts = [workspace] if workspace != DEFAULT_WORKSPACE else []
        return posixpath.normpath(posixpath.join(self.prefix, *parts, self.key))


class OssClient(StateClient):
    """The state in an object. Its version is the object's entity tag."""

    has_place_beside = True

    def __init__(self, at: OssBucket, workspace: str) -> None:
        self._at, self.path = at, at.path(workspace)
        # documents are outside the prefix, because OpenTofu considers every name below the prefix a workspace
        self._folder = f"{at.prefix}.planner/{self.path.removeprefix(at.prefix).lstrip('/')}/"

    @property
    def place(self) -> str:
        return f"oss://{self._at.name}/{self.path}"

    @property
    def locks(self) -> bool:
        return self._at.table is not None

    @property
    def lock_path(self) -> str:
        return f"{self._at.name}/{self.path}"

    # ------------------------------------------------------------ content

    def get(self) -> Payload | None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                answer = self._at.bucket.get(self.path)
            except ServiceError as problem:
                raise ServiceError(f"error getting object: {problem.text}", may_pass=problem.may_pass) from None
            wanted = self._digest()
            has = _md5(answer.body) if answer is not None and answer.body else ""
            if not wanted or wanted == has:
                return Payload(answer.body, answer.headers.get("etag", "")) if answer is not None else None
            if time.monotonic() >= deadline:
                raise ServiceError(_BAD_DIGEST + has)
            time.sleep(_PAUSE)

    def put(self, data: bytes, before: str | None) -> str:
        at, headers = self._at, {"Content-Type": "application/json"}
        if at.acl:
            headers["x-oss-object-acl"] = at.acl
        if at.encrypt:
            headers["x-oss-server-side-encryption"] = "AES256"
        if before == "":
            headers["x-oss-forbid-overwrite"] = "true"
        try:
            answer = put_checked(at.bucket, self.path, before, headers, data)
        except ServiceError as problem:
            text = f"failed to upload state {self.path}: {problem.text}"
            raise ServiceError(text, may_pass=problem.may_pass) from None
        if answer is None:
            raise VersionConflict(f"the entity tag of {self.place} is no longer {before or '(none)'}")
        if at.table is not None:
            try:
                at.table.put(f"{self.lock_path}-md5", {"Digest": _md5(data)})
            except ServiceError as problem:
                text = f"failed to store state MD5: {problem.text}"
                raise ServiceError(text, may_pass=problem.may_pass) from None
        return answer.headers.get("etag", "")

    def delete(self) -> None:
        try:
            self._at.bucket.delete(self.path)
        except ServiceError as problem:
            raise ServiceError(f"error deleting state {self.path}: {problem.text}") from None
        if self._at.table is not None:
            self._at.table.delete(f"{self.lock_path}-md5")

    def _digest(self) -> str:
        """The digest of the state in the table; "" if there is no table, no valid digest, or on errors."""
        if self._at.table is None:
            return ""
        try:
            digest = self._at.table.get(f"{self.lock_path}-md5", "Digest")
        except ServiceError:
            return ""
        return digest if re.fullmatch("[0-9a-f]{32}", digest) else ""

    # ------------------------------------------------------------ locks

    def lock(self, info: LockInfo) -> LockInfo:
        if self._at.table is None:
            return info
        try:
            self._at.table.put(self.lock_path, {"Info": info.to_json().decode()}, ABSENT)
        except ServiceError as problem:
            text = f"invoking PutRow got an error: {problem.text}"
            try:
                holder = self.holder()
            except ServiceError as more:
                lines = f"\n\t* {text}\n\t* \ngetting lock info got an error: {more.text}\n"
                raise ServiceError(f"2 errors occurred:{lines}", may_pass=more.may_pass) from None
            # an earlier request of ours took the lock, and its response was lost
            if holder is not None and holder.id == info.id:
                return info
            raise LockHeld(text, holder, may_wait=problem.code == "OTSConditionCheckFail") from None
        return info

    def unlock(self, lock_id: str) -> None:
        if self._at.table is None:
            return
        try:
            kept = self._at.table.get(self.lock_path, "Info")
        except ServiceError as problem:
            raise LockHeld(f"failed to retrieve lock info: {problem.text}") from None
        holder = lock_info_of(kept.encode()) if kept else None
        if holder is None:
            raise LockHeld("failed to retrieve lock info: unexpected end of JSON input")
        if holder.id != lock_id:
            raise LockHeld(f'lock id "{lock_id}" does not match existing lock', holder)
        try:
            self._at.table.delete(self.lock_path)
        except ServiceError as problem:
            raise LockHeld(problem.text, holder) from None

    def force_unlock(self, lock_id: str) -> None:
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        holder = self.holder()
        return holder is not None and holder.id == lock_id

    def holder(self) -> LockInfo | None:
        kept = self._at.table.get(self.lock_path, "Info") if self._at.table is not None else ""
        return lock_info_of(kept.encode()) if kept else None

    # ------------------------------------------------------------ documents next to the state

    def get_beside(self, name: str) -> bytes | None:
        answer = self._at.bucket.get(self._folder + name)
        return answer.body if answer is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        headers = {"Content-Type": "text/plain"}
        if self._at.encrypt:
            headers["x-oss-server-side-encryption"] = "AES256"
        self._at.bucket.ask("PUT", self._folder + name, None, headers, data)

    def delete_beside(self, name: str) -> None:
        self._at.bucket.delete(self._folder + name)


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class OssBackend(RemoteBackend):
    """The `oss` backend: states in a bucket."""

    type = "oss"

    def __init__(self, settings: Mapping[str, Any], seal: Seal, at: OssBucket) -> None:
        super().__init__(settings, seal)
        self.at = at

    def client(self, workspace: str) -> OssClient:
        if self.at.table is not None:
            try:
                self.at.table.check()
            except ServiceError as problem:
                text = f"error describing table store {self.at.table.name}: {problem.text}"
                raise ServiceError(text, may_pass=problem.may_pass) from None
        return OssClient(self.at, workspace)

    def names(self) -> list[str]:
        prefix, result = f"{self.at.prefix}/" if self.at.prefix else "", []
        for key in self.at.bucket.keys(prefix, {"max-keys": "1000"}):
            name = key.removeprefix(prefix).partition("/")[0]
            if name and key != self.at.path(DEFAULT_WORKSPACE) and key == self.at.path(name):
                result.append(name)
        return result

    def remove(self, workspace: str) -> None:
        if workspace == DEFAULT_WORKSPACE:
            raise ServiceError("can't delete default state")
        super().remove(workspace)


def open(read: SettingsReading, seal: Seal) -> OssBackend:
    """Open the backend. Settings that are not set come from the environment variables ALICLOUD_*."""
    http = Http()
    bucket = read.required("bucket")
    given = read.settings.get("prefix")
    prefix = "env:" if given is None else str(given)
    key = read.text("key", default="terraform.tfstate")
    acl = read.text("acl")
    if prefix.startswith(("/", "./")):
        read.wrong("workspace_key_prefix must not start with '/' or './'")
    if key.startswith("/") or key.endswith("/"):
        read.wrong("key can not start and end with '/'")
    if acl not in ("", "private", "public-read", "public-read-write"):
        expected = "expected private, public-read or public-read-write"
        read.wrong(f'"acl" must be a valid ACL value , {expected}, got "{acl}"')
    role: Mapping[str, Any] = next(iter(read.settings.get("assume_role") or ()), {})
    for name, seconds in (
        ("assume_role_session_expiration", read.settings.get("assume_role_session_expiration")),
        ("assume_role.0.session_expiration", role.get("session_expiration")),
    ):
        if seconds is not None and not 900 <= int(seconds) <= 3600:
            read.wrong(f"expected {name} to be in the range (900 - 3600), got {int(seconds)}")
    read.finish_check()
    table, where = read.text("tablestore_table"), read.text("tablestore_endpoint", "ALICLOUD_TABLESTORE_ENDPOINT")
    if table and not where:
        read.wrong(
            '"tablestore_table": needs "tablestore_endpoint"', "Locking with a table requires the table's endpoint."
        )
    region = read.text("region", "ALICLOUD_REGION", "ALICLOUD_DEFAULT_REGION")
    endpoint = read.text("endpoint", "ALICLOUD_OSS_ENDPOINT", "OSS_ENDPOINT")
    read.check()
    keys, region = _keys(read, role, region, http)
    endpoint = endpoint or _endpoint(region, keys, http)
    endpoint, where = (url if url.startswith("http") or not url else f"https://{url}" for url in (endpoint, where))
    prefix = prefix.strip("/").removeprefix("./")
    place = OssBucket(
        name=bucket,
        bucket=oss_bucket(endpoint, bucket, keys, http),
        prefix=prefix,
        key=key,
        table=TablestoreTable(where, table, "LockID", keys, http) if table else None,
        encrypt=read.flag("encrypt"),
        acl=acl,
    )
    return OssBackend(read.settings, seal, place)


def _keys(read: SettingsReading, role: Mapping[str, Any], region: str, http: Http) -> tuple[AliyunKeys, str]:
    """The credentials and the region. Raises ServiceError."""
    name = read.text("profile", "ALICLOUD_PROFILE")
    path = read.text("shared_credentials_file", "ALICLOUD_SHARED_CREDENTIALS_FILE")
    known = profile(name, path) if name else {}
    mode = str(known.get("mode") or "")

    def of(member: str, *modes: str) -> str:
        return str(known.get(member) or "") if not modes or mode in modes else ""

    on_machine = mode == "EcsRamRole"
    keys = AliyunKeys(
        read.text("access_key", "ALICLOUD_ACCESS_KEY", "ALICLOUD_ACCESS_KEY_ID")
        or ("" if on_machine else of("access_key_id")),
        read.text("secret_key", "ALICLOUD_SECRET_KEY", "ALICLOUD_ACCESS_KEY_SECRET")
        or ("" if on_machine else of("access_key_secret")),
        read.text("security_token", "ALICLOUD_SECURITY_TOKEN") or of("sts_token", "StsToken"),
    )
    region = region or of("region_id")
    if not keys.access:
        machine = read.text("ecs_role_name", "ALICLOUD_ECS_ROLE_NAME") or of("ram_role_name", "EcsRamRole")
        if machine:
            keys = machine_keys(machine, http)
    arn = read.text("assume_role_role_arn", "ALICLOUD_ASSUME_ROLE_ARN")
    if arn:
        session = read.text("assume_role_session_name", "ALICLOUD_ASSUME_ROLE_SESSION_NAME")
        policy, seconds = read.text("assume_role_policy"), read.settings.get("assume_role_session_expiration")
    elif role.get("role_arn"):
        arn, session = str(role["role_arn"]), str(role.get("session_name") or "")
        policy, seconds = str(role.get("policy") or ""), role.get("session_expiration")
    else:
        arn, session, policy = of("ram_role_arn", "RamRoleArn"), of("ram_session_name", "RamRoleArn"), ""
        seconds = known.get("expired_seconds") if mode == "RamRoleArn" else None
    if arn:
        lasting = os.environ.get("ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION", "")
        wanted = int(seconds or (lasting if lasting.isdigit() else 0) or 3600)
        sts = read.text("sts_endpoint", "ALICLOUD_STS_ENDPOINT")
        keys = assume_role(keys, arn, session or "tofu", policy, wanted, sts, region, http)
    return keys, region


def _endpoint(region: str, keys: AliyunKeys, http: Http) -> str:
    """The address of OSS in a region: from the location service or, if that fails, the usual name."""
    query = {"ServiceCode": "oss", "Id": region, "Type": "openAPI"}
    quick = Http(timeout=10.0, retries=NONE, proxies=http.proxies)
    try:
        document = call("location-readonly.aliyuncs.com", "DescribeEndpoints", "2015-06-12", query, keys, quick)
        items = [e["Endpoint"] for e in document["Endpoints"]["Endpoint"] if e.get("Type") == "openAPI"]
    except (ServiceError, KeyError, TypeError, AttributeError):
        items = []
    return str(items[0]) if items else f"oss-{region}.aliyuncs.com"


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the object at its endpoint."""
    prefix = str(settings.get("prefix", "env:")).strip("/").removeprefix("./")
    parts = [workspace] if workspace != DEFAULT_WORKSPACE else []
    key = posixpath.normpath(posixpath.join(prefix, *parts, str(settings.get("key") or "terraform.tfstate")))
    return f"oss:{settings.get('endpoint') or ''}:{settings.get('bucket', '')}/{key}"
