"""`backend "s3"`: the state in an object, locked by an object beside it, by an item in DynamoDB, or by both."""

from __future__ import annotations

import hashlib
import os
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from attrs import evolve, frozen

from planner.clients.aws import AwsError, Service, elements, encoded_path
from planner.clients.aws_settings import DEPRECATED_ROLE, Aws, aws_of, only_one
from planner.clients.problem import ServiceError
from planner.state.backend import DEFAULT_WORKSPACE
from planner.state.lock import LockInfo, lock_info_of
from planner.state.remote.backend import RemoteBackend
from planner.state.remote.client import Held, Newer, Payload
from planner.state.seal import Seal
from planner.state.settings import flag, number, text, texts
from planner.values.schema import AttributeSchema, BlockSchema, NestedAttributes
from planner.vocabulary.diagnostic import Diagnostic, error, warning


def _nested(attributes: dict[str, AttributeSchema]) -> AttributeSchema:
    return AttributeSchema(nested=NestedAttributes(attributes), optional=True)


_ROLE = {
    "role_arn": text("The role to be assumed.", required=True),
    "duration": text("The duration, between 15 minutes and 12 hours, of the role session."),
    "external_id": text("The external ID to use when assuming the role."),
    "policy": text("IAM Policy JSON describing further restricting permissions for the role."),
    "policy_arns": texts("ARNs of IAM Policies describing further restricting permissions.", "set"),
    "session_name": text("The session name to use when assuming the role."),
    "tags": texts("Assume role session tags.", "map"),
    "transitive_tag_keys": texts("Assume role session tag keys to pass to any subsequent sessions.", "set"),
}
_WEB_ROLE = {
    "role_arn": text("The role to be assumed."),
    "web_identity_token": text("The token itself.", sensitive=True),
    "web_identity_token_file": text("A file with the token."),
    "session_name": text("The name of the session."),
    "policy": text("IAM Policy JSON describing further restricting permissions for the role."),
    "policy_arns": texts("ARNs of IAM Policies describing further restricting permissions.", "set"),
    "duration": text("The duration, between 15 minutes and 12 hours, of the role session."),
}
SCHEMA = BlockSchema(
    {
        "bucket": text("The name of the S3 bucket", required=True),
        "key": text("The path to the state file inside the bucket", required=True),
        "region": text("AWS region of the S3 Bucket and DynamoDB Table (if used)."),
        "endpoints": _nested({name: text(f"The endpoint of {name}.") for name in ("s3", "iam", "sts", "dynamodb")}),
        "dynamodb_endpoint": text("A custom endpoint for the DynamoDB API", deprecated="Use `endpoints.dynamodb`."),
        "endpoint": text("A custom endpoint for the S3 API", deprecated="Use `endpoints.s3`."),
        "iam_endpoint": text("A custom endpoint for the IAM API", deprecated="Use `endpoints.iam`."),
        "sts_endpoint": text("A custom endpoint for the STS API", deprecated="Use `endpoints.sts`."),
        "sts_region": text("The region where AWS STS operations will take place."),
        "encrypt": flag("Whether to enable server side encryption of the state file"),
        "acl": text("Canned ACL to be applied to the state file"),
        "state_tags": texts("Tags to be applied to the state object", "map"),
        "lock_tags": texts("Tags to be applied to the lock object", "map"),
        "access_key": text("AWS access key"),
        "secret_key": text("AWS secret key"),
        "kms_key_id": text("The ARN of a KMS Key to use for encrypting the state"),
        "dynamodb_table": text("DynamoDB table for state locking and consistency"),
        "profile": text("AWS profile name"),
        "shared_credentials_file": text("A shared credentials file", deprecated="Use `shared_credentials_files`."),
        "shared_credentials_files": texts("Shared credentials files", "set"),
        "shared_config_files": texts("Shared config files", "set"),
        "token": text("MFA token"),
        "skip_credentials_validation": flag("Skip the credentials validation via STS API."),
        "skip_metadata_api_check": flag("Skip the AWS Metadata API check."),
        "skip_region_validation": flag("Skip static validation of region name."),
        "skip_requesting_account_id": flag("Skip requesting the account ID."),
        "sse_customer_key": text("The base64-encoded encryption key (256 bits)", sensitive=True),
        "role_arn": text("The role to be assumed", deprecated="Use `assume_role.role_arn`."),
        "session_name": text("The session name", deprecated="Use `assume_role.session_name`."),
        "external_id": text("The external ID", deprecated="Use `assume_role.external_id`."),
        "assume_role_duration_seconds": number("Seconds to restrict the assume role session duration."),
        "assume_role_policy": text("IAM Policy JSON", deprecated="Use `assume_role.policy`."),
        "assume_role_policy_arns": texts("IAM policies", "set", deprecated="Use `assume_role.policy_arns`."),
        "assume_role_tags": texts("Session tags.", "map", deprecated="Use `assume_role.tags`."),
        "assume_role_transitive_tag_keys": texts(
            "Session tag keys.", "set", deprecated="Use `assume_role.transitive_tag_keys`."
        ),
        "workspace_key_prefix": text("The prefix applied to the non-default state path inside the bucket."),
        "force_path_style": flag("Force s3 to use path style api.", deprecated="Use `use_path_style`."),
        "use_path_style": flag("Enable path-style S3 URLs."),
        "retry_mode": text("How retries are attempted: standard or adaptive."),
        "max_retries": number("The maximum number of times an AWS API request is retried on retryable failure."),
        "custom_ca_bundle": text("File containing custom root and intermediate certificates."),
        "ec2_metadata_service_endpoint": text("The endpoint of IMDS."),
        "ec2_metadata_service_endpoint_mode": text("The endpoint mode of IMDS: IPv4 or IPv6."),
        "http_proxy": text("The address of an HTTP proxy to use when accessing the AWS API."),
        "https_proxy": text("The address of an HTTPS proxy to use when accessing the AWS API."),
        "no_proxy": text("Hosts that are reached without a proxy."),
        "insecure": flag("Explicitly allow the backend to perform insecure SSL requests."),
        "use_dualstack_endpoint": flag("Resolve an endpoint with DualStack capability."),
        "use_fips_endpoint": flag("Resolve an endpoint with FIPS capability."),
        "allowed_account_ids": texts("Account IDs that may be used.", "set"),
        "forbidden_account_ids": texts("Account IDs that may not be used.", "set"),
        "skip_s3_checksum": flag("Do not include checksum when uploading S3 Objects."),
        "assume_role": _nested(_ROLE),
        "assume_role_with_web_identity": _nested(_WEB_ROLE),
        "use_lockfile": flag("Manage locking in the same configured S3 bucket"),
    }
)
_PATIENCE, _PAUSE = 10.0, 2.0
"""Seconds that a state may differ from its digest in DynamoDB, and between two looks."""
_MOST_PAGES = 10_000
"""of 1,000 objects each"""
_KMS_KEY = re.compile(
    r"[a-f0-9]{8}-[a-f0-9]{4}-[1-5][a-f0-9]{3}-[ab89][a-f0-9]{3}-[a-f0-9]{12}|mrk-[a-f0-9]{32}|alias/[a-zA-Z0-9/_-]+"
)


@frozen(repr=False)
class Place:
    """A bucket and a table, and how objects are put there."""

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
        """The key of a workspace's state."""
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
        """What says the customer's key, where there is one."""
        if not self.encrypt or not self.customer_key:
            return {}
        return {
            "x-amz-server-side-encryption-customer-algorithm": "AES256",
            "x-amz-server-side-encryption-customer-key": _base64(self.customer_key),
            "x-amz-server-side-encryption-customer-key-MD5": _base64(_md5(self.customer_key)),
        }


class S3Client:
    """The state in an object. Its version is the entity tag."""

    has_place_beside = True

    def __init__(self, at: Place, workspace: str) -> None:
        self._at, self.path = at, at.path(workspace)
        self._written = ""
        """the entity tag of what we wrote last: writing again, because its sum could not be kept, is allowed"""

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
            if wanted == has:
                return kept
            if time.monotonic() >= deadline:
                raise ServiceError(BAD_CHECKSUM + has)
            time.sleep(_PAUSE)

    def put(self, data: bytes, before: str | None) -> str:
        if before is not None:
            now = self._version()
            if now != before and (not self._written or now != self._written):
                raise Newer(f"{self.place} has the entity tag {now or 'none'}, not {before or 'none'}")
        digest = _Later(lambda: _md5(data).hex()) if self._at.table else None
        try:
            version = self._written = self._put(self.path, data, self._at.state_tags)
        except ServiceError as problem:
            raise ServiceError(f"failed to upload state: {problem.text}", may_pass=problem.may_pass) from None
        try:
            if digest is not None:
                self._put_digest(digest.result())
        except ServiceError as problem:
            raise ServiceError(f"failed to store state MD5: {problem.text}", may_pass=problem.may_pass) from None
        return version

    def _version(self) -> str:
        """The entity tag of what is there; "" for nothing, or nothing in it."""
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

    # ------------------------------------------------------------ DynamoDB

    def _item(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._at.dynamodb.target(operation, "DynamoDB_20120810", {**body, "TableName": self._at.table})

    def _attribute(self, item: str, name: str) -> str:
        body = {"ConsistentRead": True, "Key": _key(item), "ProjectionExpression": f"LockID, {name}"}
        found = self._item("GetItem", body).get("Item") or {}
        return str((found.get(name) or {}).get("S") or "")

    def _digest(self) -> str:
        """What DynamoDB says of the state. One that cannot be asked says nothing."""
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

    def unlock(self, lock_id: str) -> None:
        self._unlock(lock_id)

    def force_unlock(self, lock_id: str) -> None:
        self._unlock(lock_id)

    def _unlock(self, lock_id: str) -> None:
        """Both are tried, whatever comes of the other."""
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
        # the text as it stands there: another program may have written it in another way
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
        found = self._file_holder() if self._at.lock_file else None
        return found or (self._item_holder() if self._at.table else None)

    # ------------------------------------------------------------ beside

    def get_beside(self, name: str) -> bytes | None:
        kept = self._get(f"{self.path}.{name}")
        return kept.data if kept is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        self._put(f"{self.path}.{name}", data, {}, json=False)

    def delete_beside(self, name: str) -> None:
        self._delete(f"{self.path}.{name}")


class _Later(Thread):
    """What is worked out while something is sent: sums of large states take as long."""

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
    """A lock that was refused may be our own, whose answer got lost. Raises Held, or ServiceError, when it is not."""
    try:
        holder = ask()
    except ServiceError as more:
        raise ServiceError(_several(problem, more)) from None
    if holder is None or holder.id != info.id:
        raise Held(problem.text, holder) from None


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


class S3Backend(RemoteBackend):
    """States in a bucket."""

    type = "s3"

    def __init__(self, settings: Mapping[str, Any], seal: Seal, aws: Aws, at: Place) -> None:
        super().__init__(settings, seal)
        self.aws, self.at = aws, at

    def client(self, workspace: str) -> S3Client:
        self.aws.check_account()
        return S3Client(self.at, workspace)

    def names(self) -> list[str]:
        at, found, token = self.at, list[str](), ""
        prefix = f"{at.prefix}/" if at.prefix else ""
        for _ in range(_MOST_PAGES):
            query = {"list-type": "2", "max-keys": "1000", "prefix": prefix}
            if token:
                query["continuation-token"] = token
            try:
                listed = at.s3.ask(
                    "ListObjectsV2", "GET", f"{at.url_path('') or '/'}?{urlencode(sorted(query.items()))}"
                )
            except AwsError as problem:
                if problem.code == "AccessDenied":
                    return []
                raise ServiceError(no_bucket(problem) if problem.code == "NoSuchBucket" else problem.text) from None
            for key in elements(listed.text, "Key"):
                name, slash, rest = key.removeprefix(prefix).partition("/")
                if key.startswith(prefix) and slash and rest == at.key:
                    found.append(name)
            token = next(iter(elements(listed.text, "NextContinuationToken")), "")
            if not token or "<IsTruncated>true" not in listed.text:
                return found
        raise ServiceError(f"the list of objects in {at.bucket} does not end after {_MOST_PAGES} pages")


def open(settings: Mapping[str, Any], seal: Seal) -> tuple[S3Backend | None, list[Diagnostic]]:
    """The backend with the settings of its block, and what the variables AWS_* say."""
    problems: list[Diagnostic] = []

    def wrong(summary: str, detail: str) -> None:
        problems.append(error("state.backend_setting", summary, detail))

    said = {name: value for name, value in settings.items() if value not in (None, "")}
    remarks = _remarks(said)
    if "bucket" not in said:
        wrong("Invalid bucket value", 'The "bucket" attribute value must not be empty.')
    key = said.get("key", "")
    if not key:
        wrong("Invalid key value", 'The "key" attribute value must not be empty.')
    elif key.startswith("/") or key.endswith("/"):
        wrong("Invalid key value", 'The "key" attribute value must not start or end with with "/".')
    prefix = settings.get("workspace_key_prefix")
    prefix = "env:" if prefix is None else prefix
    if prefix.startswith("/") or prefix.endswith("/"):
        wrong(
            "Invalid workspace_key_prefix value",
            'The "workspace_key_prefix" attribute value must not start with "/".',
        )
    aws = aws_of(settings, os.environ, wrong)
    region = aws.region or ("" if problems else aws.chain.region)
    if not region:
        wrong(
            "Missing region value",
            'The "region" attribute or the "AWS_REGION" or "AWS_DEFAULT_REGION" environment variables must be set.',
        )
    aws = evolve(aws, region=region)
    only_one(said, wrong, "force_path_style", "use_path_style")
    for name in ("dynamodb", "iam", "s3", "sts"):
        former = "endpoint" if name == "s3" else f"{name}_endpoint"
        if (said.get("endpoints") or {}).get(name) and said.get(former):
            detail = f"Only one of endpoints.{name}, {former} can be set."
            wrong("Invalid Attribute Combination", detail)
    kms_key = said.get("kms_key_id", "")
    if kms_key:
        _check_kms_key(kms_key, bool(said.get("sse_customer_key")), wrong)
    customer_key = b"" if kms_key else _customer_key(said.get("sse_customer_key", ""), wrong)
    if problems:
        return None, [*problems, *remarks]
    bucket, s3 = said["bucket"], aws.service("s3", "S3")
    path_style = bool(said.get("use_path_style") or said.get("force_path_style")) or "." in bucket
    if not path_style:
        scheme, _, host = s3.endpoint.partition("://")
        s3 = evolve(s3, endpoint=f"{scheme}://{bucket}.{host}")
    at = Place(
        bucket=bucket,
        key=key,
        prefix=prefix,
        table=said.get("dynamodb_table", ""),
        lock_file=bool(said.get("use_lockfile", False)),
        encrypt=bool(said.get("encrypt", False)),
        kms_key=kms_key,
        customer_key=customer_key,
        acl=said.get("acl", ""),
        state_tags=said.get("state_tags") or {},
        lock_tags=said.get("lock_tags") or {},
        checksums=not said.get("skip_s3_checksum", False),
        path_style=path_style,
        s3=s3,
        dynamodb=aws.service("dynamodb", "DynamoDB"),
    )
    return S3Backend(settings, seal, aws, at), remarks


def _remarks(said: Mapping[str, Any]) -> list[Diagnostic]:
    found = []
    for old, new in (("shared_credentials_file", "shared_credentials_files"), ("force_path_style", "use_path_style")):
        if old in said:
            detail = f'Parameter "{old}" is deprecated. Use "{new}" instead.'
            found.append(warning("state.backend_deprecated", "Deprecated Parameter", detail))
    former = sorted((old, new) for old, new in DEPRECATED_ROLE.items() if said.get(old))
    if former and said.get("assume_role") is None:
        width = max(len(old) for old, _ in former)
        lines = "".join(f"\n  * {old:<{width}} -> {new}" for old, new in former)
        detail = f"The following parameters have been deprecated. Replace them as follows:{lines}\n"
        found.append(warning("state.backend_deprecated", "Deprecated Parameters", detail))
    return found


def _check_kms_key(key: str, has_customer_key: bool, wrong: Any) -> None:
    if has_customer_key or os.environ.get("AWS_SSE_CUSTOMER_KEY"):
        name = '"sse_customer_key"' if has_customer_key else 'the environment variable "AWS_SSE_CUSTOMER_KEY"'
        bare = name.rpartition("variable ")[2]
        detail = (
            f'Only one of "kms_key_id" and {name} can be set.\n\n'
            'The "kms_key_id" is used for encryption with KMS-Managed Keys (SSE-KMS)\n'
            f"while {bare} is used for encryption with customer-managed keys (SSE-C).\n"
            "Please choose one or the other."
        )
        wrong("Invalid encryption configuration", detail)
    if key.startswith("arn:"):
        resource = key.split(":", 5)[-1]
        if not _KMS_KEY.fullmatch(resource.removeprefix("key/")) or key.count(":") < 5:
            wrong("Invalid KMS Key ARN", f'Value must be a valid KMS Key ARN, got "{key}"')
    elif not _KMS_KEY.fullmatch(key):
        wrong("Invalid KMS Key ID", f'Value must be a valid KMS Key ID, got "{key}"')


def _customer_key(given: str, wrong: Any) -> bytes:
    summary, name = "Invalid sse_customer_key value", "sse_customer_key"
    if not given:
        given = os.environ.get("AWS_SSE_CUSTOMER_KEY", "")
        summary = "Invalid AWS_SSE_CUSTOMER_KEY value"
        name = 'The environment variable "AWS_SSE_CUSTOMER_KEY"'
    if not given:
        return b""
    if len(given) != 44:
        wrong(summary, f"{name} must be 44 characters in length")
        return b""
    try:
        return b64decode(given, validate=True)
    except ValueError as bad:
        wrong(summary, f"{name} must be base64 encoded: {bad}")
        return b""


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """A state is its object, at its endpoint."""
    prefix = settings.get("workspace_key_prefix", "env:")
    parts = [prefix, workspace] if workspace != DEFAULT_WORKSPACE else []
    key = "/".join(str(part) for part in (*parts, settings.get("key", "")) if part)
    where = (settings.get("endpoints") or {}).get("s3") or settings.get("endpoint") or ""
    return f"s3:{where}:{settings.get('bucket', '')}/{key}"
