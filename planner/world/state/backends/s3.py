"""`backend "s3"`: settings, and the workspaces in a bucket. planner.world.state.remote.s3 reads and writes the
objects."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from planner.foundation.clients.aws import AwsError, elements
from planner.foundation.clients.aws_settings import DEPRECATED_ROLE, Aws, aws_of, check_region, only_one
from planner.foundation.values.schema import AttributeSchema, BlockSchema, NestedAttributes
from planner.foundation.vocabulary.diagnostic import Diagnostic, ServiceError, warning
from planner.foundation.vocabulary.records import evolve
from planner.world.state.backend import DEFAULT_WORKSPACE
from planner.world.state.encryption_seal import Seal
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.s3 import S3Bucket, S3Client, no_bucket
from planner.world.state.settings import SettingsReading, flag, number, text, texts


def _nested_attribute(attributes: dict[str, AttributeSchema]) -> AttributeSchema:
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
        "endpoints": _nested_attribute(
            {name: text(f"The endpoint of {name}.") for name in ("s3", "iam", "sts", "dynamodb")}
        ),
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
        "max_retries": number("The maximum number of attempts for an AWS API request, including the first."),
        "custom_ca_bundle": text("File containing custom root and intermediate certificates."),
        "ec2_metadata_service_endpoint": text("The endpoint of IMDS."),
        "ec2_metadata_service_endpoint_mode": text("The endpoint mode of IMDS: IPv4 or IPv6."),
        "http_proxy": text("The address of an HTTP proxy to use when accessing the AWS API."),
        "https_proxy": text("The address of an HTTPS proxy to use when accessing the AWS API."),
        "no_proxy": text("Hosts that are accessed without a proxy."),
        "insecure": flag("Explicitly allow the backend to perform insecure SSL requests."),
        "use_dualstack_endpoint": flag("Resolve an endpoint with DualStack capability."),
        "use_fips_endpoint": flag("Resolve an endpoint with FIPS capability."),
        "allowed_account_ids": texts("Account IDs that may be used.", "set"),
        "forbidden_account_ids": texts("Account IDs that must not be used.", "set"),
        "skip_s3_checksum": flag("Do not include checksum when uploading S3 Objects."),
        "assume_role": _nested_attribute(_ROLE),
        "assume_role_with_web_identity": _nested_attribute(_WEB_ROLE),
        "use_lockfile": flag("Manage locking in the same configured S3 bucket"),
    }
)
_MAX_PAGES = 10_000  # maximum number of pages of a list, with 1,000 objects each
_KMS_KEY = re.compile(
    r"[a-f0-9]{8}-[a-f0-9]{4}-[1-5][a-f0-9]{3}-[ab89][a-f0-9]{3}-[a-f0-9]{12}|mrk-[a-f0-9]{32}|alias/[a-zA-Z0-9/_-]+"
)


class S3Backend(RemoteBackend):
    """The `s3` backend: states in a bucket."""

    type = "s3"

    def __init__(self, settings: Mapping[str, Any], seal: Seal, aws: Aws, at: S3Bucket) -> None:
        super().__init__(settings, seal)
        self.aws, self.at = aws, at

    def client(self, workspace: str) -> S3Client:
        self.aws.check_account()
        return S3Client(self.at, workspace)

    def names(self) -> list[str]:
        at, result, token = self.at, list[str](), ""
        prefix = f"{at.prefix}/" if at.prefix else ""
        for _ in range(_MAX_PAGES):
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
                    result.append(name)
            token = next(iter(elements(listed.text, "NextContinuationToken")), "")
            if not token or "<IsTruncated>true" not in listed.text:
                return result
        raise ServiceError(f"the list of objects in {at.bucket} does not end after {_MAX_PAGES} pages")


def open(read: SettingsReading, seal: Seal) -> S3Backend:
    """Open the backend. Settings that are not set come from the environment variables AWS_*."""
    settings, wrong = read.settings, read.wrong
    present = {name: value for name, value in settings.items() if value not in (None, "")}
    read.remarks += _remarks(present)
    if "bucket" not in present:
        wrong("Invalid bucket value", 'The "bucket" attribute value must not be empty.')
    key = present.get("key", "")
    if not key:
        wrong("Invalid key value", 'The "key" attribute value must not be empty.')
    elif key.startswith("/") or key.endswith("/"):
        wrong("Invalid key value", 'The "key" attribute value must not start or end with "/".')
    prefix = settings.get("workspace_key_prefix")
    prefix = "env:" if prefix is None else prefix
    if prefix.startswith("/") or prefix.endswith("/"):
        wrong(
            "Invalid workspace_key_prefix value",
            'The "workspace_key_prefix" attribute value must not start with "/".',
        )
    aws = aws_of({**settings, "skip_region_validation": True}, os.environ, wrong)
    region = aws.region or ("" if read.problems else aws.chain.region)
    if not region:
        wrong(
            "Missing region value",
            'The "region" attribute or the "AWS_REGION" or "AWS_DEFAULT_REGION" environment variables must be set.',
        )
    aws = evolve(aws, region=region)
    only_one(present, wrong, "force_path_style", "use_path_style")
    for name in ("dynamodb", "iam", "s3", "sts"):
        former = "endpoint" if name == "s3" else f"{name}_endpoint"
        if (present.get("endpoints") or {}).get(name) and present.get(former):
            detail = f"Only one of endpoints.{name}, {former} can be set."
            wrong("Invalid Attribute Combination", detail)
    kms_key = present.get("kms_key_id", "")
    if kms_key:
        _check_kms_key(kms_key, bool(present.get("sse_customer_key")), wrong)
    read.finish_check()
    check_region(settings, wrong)
    customer_key = b"" if kms_key else _customer_key(present.get("sse_customer_key", ""), wrong)
    read.check()
    bucket, s3 = present["bucket"], aws.service("s3", "S3")
    path_style = bool(present.get("use_path_style") or present.get("force_path_style")) or "." in bucket
    if not path_style:
        scheme, _, host = s3.endpoint.partition("://")
        s3 = evolve(s3, endpoint=f"{scheme}://{bucket}.{host}")
    at = S3Bucket(
        bucket=bucket,
        key=key,
        prefix=prefix,
        table=present.get("dynamodb_table", ""),
        lock_file=bool(present.get("use_lockfile", False)),
        encrypt=bool(present.get("encrypt", False)),
        kms_key=kms_key,
        customer_key=customer_key,
        acl=present.get("acl", ""),
        state_tags=present.get("state_tags") or {},
        lock_tags=present.get("lock_tags") or {},
        checksums=not present.get("skip_s3_checksum", False),
        path_style=path_style,
        s3=s3,
        dynamodb=aws.service("dynamodb", "DynamoDB"),
    )
    return S3Backend(settings, seal, aws, at)


def _remarks(settings: Mapping[str, Any]) -> list[Diagnostic]:
    diagnostics = []
    for old, new in (("shared_credentials_file", "shared_credentials_files"), ("force_path_style", "use_path_style")):
        if old in settings:
            detail = f'Parameter "{old}" is deprecated. Use "{new}" instead.'
            diagnostics.append(warning("state.backend_deprecated", "Deprecated Parameter", detail))
    former = sorted((old, new) for old, new in DEPRECATED_ROLE.items() if settings.get(old))
    if former and settings.get("assume_role") is None:
        width = max(len(old) for old, _ in former)
        lines = "".join(f"\n  * {old:<{width}} -> {new}" for old, new in former)
        detail = f"The following parameters have been deprecated. Replace them as follows:{lines}\n"
        diagnostics.append(warning("state.backend_deprecated", "Deprecated Parameters", detail))
    return diagnostics


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
    """The identity of the state: the object at its endpoint."""
    prefix = settings.get("workspace_key_prefix", "env:")
    parts = [prefix, workspace] if workspace != DEFAULT_WORKSPACE else []
    key = "/".join(str(part) for part in (*parts, settings.get("key", "")) if part)
    where = (settings.get("endpoints") or {}).get("s3") or settings.get("endpoint") or ""
    return f"s3:{where}:{settings.get('bucket', '')}/{key}"
