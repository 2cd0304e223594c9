"""The settings for credentials and endpoints of AWS, common to the backend `s3` and to keys of KMS: their meaning
together with the environment, and their validation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.clients.aws import Service, element, endpoint_of
from planner.foundation.clients.aws_credentials import CredentialChain, CredentialRole, CredentialSettings, WebRole
from planner.foundation.clients.http import Http, Retries, Tls, proxies_of
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

Wrong = Callable[[str, str], None]
"""Called with a summary and a detail."""
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
DEPRECATED_ROLE = {
    "role_arn": "assume_role.role_arn",
    "session_name": "assume_role.session_name",
    "external_id": "assume_role.external_id",
    "assume_role_duration_seconds": "assume_role.duration",
    "assume_role_policy": "assume_role.policy",
    "assume_role_policy_arns": "assume_role.policy_arns",
    "assume_role_tags": "assume_role.tags",
    "assume_role_transitive_tag_keys": "assume_role.transitive_tag_keys",
}
"""former settings of a role, and where they are now"""


@frozen(repr=False)
class Aws:
    """Services configured by the settings: `service` returns one."""

    region: str
    chain: CredentialChain
    http: Http
    endpoints: Mapping[str, str]
    dual_stack: bool
    fips: bool
    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def service(self, name: str, title: str) -> Service:
        where = self.endpoints.get(name) or endpoint_of(name, self.region, self.dual_stack, self.fips)
        return Service(name, title, where, self.region, self.chain, self.http)

    def check_account(self) -> None:
        """Whether the account is one of those that it may be. Raises ServiceError."""
        if not self.allowed and not self.forbidden:
            return
        answer = self.service("sts", "STS").query("GetCallerIdentity", "2011-06-15", {})
        account = element(answer, "Account")
        if self.forbidden and account in self.forbidden:
            raise ServiceError(f"Invalid account ID: AWS Account ID not allowed: {account}")
        if self.allowed and account not in self.allowed:
            raise ServiceError(f"Invalid account ID: AWS Account ID not allowed: {account}")


def aws_of(settings: Mapping[str, Any], environment: Mapping[str, str], wrong: Wrong) -> Aws:
    """The services that the settings configure; problems are passed to `wrong`."""
    said = {name: value for name, value in settings.items() if value not in (None, "")}
    region = said.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or ""
    check_region(settings, wrong)
    for one, other in (
        ("shared_credentials_file", "shared_credentials_files"),
        ("allowed_account_ids", "forbidden_account_ids"),
    ):
        only_one(said, wrong, one, other)
    if said.get("retry_mode") not in (None, "standard", "adaptive"):
        wrong("Invalid retry mode", 'Valid values are "standard" and "adaptive".')
    endpoints = {name: _endpoint(name, said, environment) for name in ("s3", "iam", "sts", "dynamodb", "kms")}
    web = said.get("assume_role_with_web_identity")
    if web is not None:
        only_one(web, wrong, "web_identity_token", "web_identity_token_file", prefix="assume_role_with_web_identity.")
    proxies = dict(proxies_of(environment))
    for scheme, name in (("http", "http_proxy"), ("https", "https_proxy"), ("no", "no_proxy")):
        if said.get(name):
            proxies[scheme] = said[name]
    retries = Retries(max(int(said.get("max_retries", 5)) - 1, 0), 0.5, 20.0, refused=False)
    authorities = said.get("custom_ca_bundle") or environment.get("AWS_CA_BUNDLE") or ""
    tls = Tls(authorities=str(authorities), verify=not said.get("insecure", False))
    http = Http(retries=retries, tls=tls, proxies=proxies)
    files = tuple(said.get("shared_credentials_files") or ())
    if said.get("shared_credentials_file"):
        files = (said["shared_credentials_file"],)
    given = CredentialSettings(
        access_key=said.get("access_key", ""),
        secret_key=said.get("secret_key", ""),
        token=said.get("token", ""),
        profile=said.get("profile", ""),
        credentials_files=files,
        config_files=tuple(said.get("shared_config_files") or ()),
        role=_role(said, wrong),
        web_role=_web_role(web, environment, wrong) if web is not None else None,
        region=region,
        sts_endpoint=endpoints["sts"],
        sts_region=said.get("sts_region", ""),
        skip_metadata=bool(said.get("skip_metadata_api_check", False)),
        metadata_endpoint=said.get("ec2_metadata_service_endpoint", ""),
        environment=environment,
    )
    chain = CredentialChain(given, http)
    return Aws(
        region,
        chain,
        http,
        endpoints,
        bool(said.get("use_dualstack_endpoint", False)),
        bool(said.get("use_fips_endpoint", False)),
        tuple(said.get("allowed_account_ids") or ()),
        tuple(said.get("forbidden_account_ids") or ()),
    )


def check_region(settings: Mapping[str, Any], wrong: Wrong) -> None:
    """A named region must be valid, unless validation is turned off."""
    region = settings.get("region")
    if region and not settings.get("skip_region_validation") and not _REGION.fullmatch(region):
        wrong("Invalid region value", f"invalid AWS Region: {region}")


def _endpoint(name: str, said: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """The address of a service, if one is configured; else ""."""
    upper = name.upper()
    former = "endpoint" if name == "s3" else f"{name}_endpoint"
    result = str(
        (said.get("endpoints") or {}).get(name)
        or said.get(former)
        or environment.get(f"AWS_ENDPOINT_URL_{upper}")
        or environment.get(f"AWS_{upper}_ENDPOINT")
        or environment.get("AWS_ENDPOINT_URL")
        or ""
    )
    return result if not result or "://" in result else f"https://{result}"


def only_one(said: Mapping[str, Any], wrong: Wrong, *names: str, prefix: str = "") -> None:
    """Of some settings only one may be given."""
    if sum(said.get(name) not in (None, "") for name in names) > 1:
        wrong("Invalid Attribute Combination", f"Only one of {', '.join(prefix + n for n in names)} can be set.")


def _role(said: Mapping[str, Any], wrong: Wrong) -> CredentialRole | None:
    nested = said.get("assume_role")
    former = sorted((old, new) for old, new in DEPRECATED_ROLE.items() if said.get(old))
    if nested is not None and former:
        lines = "".join(f"\n  * {old} -> {new}" for old, new in former)
        detail = (
            'The following deprecated parameters conflict with the parameter "assume_role". Replace them as follows:'
        )
        wrong("Conflicting Parameters", detail + lines)
    if nested is not None:
        return _checked_role(nested, "assume_role", wrong)
    if not said.get("role_arn"):
        return None
    return CredentialRole(
        said["role_arn"],
        said.get("session_name", ""),
        said.get("external_id", ""),
        said.get("assume_role_policy", ""),
        tuple(said.get("assume_role_policy_arns") or ()),
        tuple(sorted((said.get("assume_role_tags") or {}).items())),
        tuple(said.get("assume_role_transitive_tag_keys") or ()),
        int(said.get("assume_role_duration_seconds", 0)),
    )


def _checked_role(nested: Mapping[str, Any], name: str, wrong: Wrong, needs_arn: bool = True) -> CredentialRole:
    if needs_arn and not nested.get("role_arn"):
        wrong(
            "Missing Required Value",
            f'The attribute "{name}.role_arn" is required by the backend.\n\nRefer to the backend documentation for '
            "additional information which attributes are required.",
        )
    for text in ("external_id", "policy", "session_name"):
        if nested.get(text) is not None and not str(nested[text]).strip():
            wrong("Invalid Value", "The value cannot be empty or all whitespace")
    for arn in nested.get("policy_arns") or ():
        parts = str(arn).split(":", 5)
        if len(parts) < 6 or parts[0] != "arn":
            wrong("Invalid ARN", f'The value "{arn}" cannot be parsed as an ARN: arn: invalid prefix')
        elif not parts[5].startswith("policy/"):
            wrong("Invalid IAM Policy ARN", f'Value must be a valid IAM Policy ARN, got "{arn}"')
    return CredentialRole(
        nested.get("role_arn") or "",
        nested.get("session_name") or "",
        nested.get("external_id") or "",
        nested.get("policy") or "",
        tuple(nested.get("policy_arns") or ()),
        tuple(sorted((nested.get("tags") or {}).items())),
        tuple(nested.get("transitive_tag_keys") or ()),
        _seconds(nested.get("duration"), wrong),
    )


def _web_role(web: Mapping[str, Any], environment: Mapping[str, str], wrong: Wrong) -> WebRole:
    role = _checked_role(web, "assume_role_with_web_identity", wrong, needs_arn=False)
    role = CredentialRole(
        role.arn or environment.get("AWS_ROLE_ARN", ""),
        role.session or environment.get("AWS_ROLE_SESSION_NAME", ""),
        policy=role.policy,
        policy_arns=role.policy_arns,
        duration=role.duration,
    )
    token = web.get("web_identity_token") or ""
    file = web.get("web_identity_token_file") or ""
    if not token and not file:
        token = environment.get("AWS_WEB_IDENTITY_TOKEN", "")
        file = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE", "")
    return WebRole(role, token, file)


def _seconds(text: Any, wrong: Wrong) -> int:
    """A duration in Go's notation: 15 minutes to 12 hours."""
    if not text:
        return 0
    pieces = _DURATION.findall(str(text))
    if not pieces or "".join(a + b for a, b in pieces) != text:
        wrong("Invalid Duration", f'The value "{text}" cannot be parsed as a duration: time: invalid duration "{text}"')
        return 0
    seconds = sum(float(amount) * _UNITS[unit] for amount, unit in pieces)
    if not 900 <= seconds <= 43200:
        wrong("Invalid Duration", f"Duration must be between 15m0s and 12h0m0s, had {text}")
    return int(seconds)
