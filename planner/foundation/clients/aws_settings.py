"""Credential and endpoint settings of AWS, shared by the `s3` backend and KMS keys. The settings are completed from the
environment and validated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from planner.foundation.clients.aws import Service, element, endpoint_of
from planner.foundation.clients.aws_credentials import CredentialChain, CredentialRole, CredentialSettings, WebRole
from planner.foundation.clients.http import Http, Retries, Tls, proxies_of
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

Wrong = Callable[[str, str], None]  # Reports a problem: called with a summary and a detail.
_REGIONS = frozenset(
    re.findall(
        r"\S+",
        """
        af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1
        ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1
        cn-north-1 cn-northwest-1 eu-central-1 eu-central-2 eu-isoe-west-1 eu-north-1 eu-south-1 eu-south-2 eu-west-1
        eu-west-2 eu-west-3 eusc-de-east-1 il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1 us-east-1
        us-east-2 us-gov-east-1 us-gov-west-1 us-iso-east-1 us-iso-west-1 us-isob-east-1 us-isob-west-1
        us-isof-east-1 us-isof-south-1 us-west-1 us-west-2
        """,
    )
)
"""the known regions; others need skip_region_validation"""
_RETRY_MODES = ("standard", "adaptive")
_validated: dict[tuple[str, str, str], str] = {}
"""account ids by (endpoint, access key, token), for credentials that STS has accepted"""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_METADATA_MODE = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"
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
"""{deprecated name: current name} of the settings of a role"""


@frozen(repr=False)
class Aws:
    """A factory of clients for AWS services (see `service`). `validates`: whether credentials are validated before use.
    `asks_account`: whether the account id is requested if the credentials are not validated."""

    region: str
    chain: CredentialChain
    http: Http
    endpoints: Mapping[str, str]
    dual_stack: bool
    fips: bool
    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    validates: bool = True
    asks_account: bool = True

    def service(self, name: str, title: str) -> Service:
        where = self.endpoints.get(name) or endpoint_of(name, self.region, self.dual_stack, self.fips)
        return Service(name, title, where, self.region, self.chain, self.http)

    def check_account(self) -> None:
        """Raises ServiceError if the credentials are invalid (not checked without `validates`), or if their account is
        not allowed."""
        account = ""
        if self.validates:
            try:
                account = self._account()
            except ServiceError as problem:
                raise ServiceError(
                    f"validating provider credentials: {problem.text}\n(if the service has no STS, skip this with "
                    "skip_credentials_validation = true)"
                ) from None
        if not self.allowed and not self.forbidden:
            return
        if not self.validates and self.asks_account:
            account = self._account()
        if self.forbidden and account in self.forbidden:
            raise ServiceError(f"Invalid account ID: AWS Account ID not allowed: {account}")
        if self.allowed and account not in self.allowed:
            raise ServiceError(f"Invalid account ID: AWS Account ID not allowed: {account}")

    def _account(self) -> str:
        sts, keys = self.service("sts", "STS"), self.chain()
        key = (sts.endpoint, keys.access_key, keys.token)
        if key not in _validated:
            _validated[key] = element(sts.query("GetCallerIdentity", "2011-06-15", {}), "Account")
        return _validated[key]


def aws_of(settings: Mapping[str, Any], environment: Mapping[str, str], wrong: Wrong) -> Aws:
    """The factory of clients for these settings. Problems of the settings are passed to `wrong`."""
    present = {name: value for name, value in settings.items() if value not in (None, "")}
    region = present.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or ""
    check_region(settings, wrong)
    for one, other in (
        ("shared_credentials_file", "shared_credentials_files"),
        ("allowed_account_ids", "forbidden_account_ids"),
    ):
        only_one(present, wrong, one, other)
    retry_mode = present.get("retry_mode") or environment.get("AWS_RETRY_MODE") or "standard"
    if retry_mode not in _RETRY_MODES:
        name = "" if present.get("retry_mode") else f'AWS_RETRY_MODE is "{retry_mode}". '
        wrong("Invalid retry mode", f'{name}Valid values are "standard" and "adaptive".')
    metadata_mode = present.get("ec2_metadata_service_endpoint_mode") or environment.get(_METADATA_MODE) or ""
    if metadata_mode.lower() not in ("", "ipv4", "ipv6"):
        wrong("Invalid endpoint mode", f'The endpoint mode of IMDS must be IPv4 or IPv6, not "{metadata_mode}".')
    endpoints = {name: _endpoint(name, present, environment) for name in ("s3", "iam", "sts", "dynamodb", "kms")}
    web = present.get("assume_role_with_web_identity")
    if web is not None:
        only_one(web, wrong, "web_identity_token", "web_identity_token_file", prefix="assume_role_with_web_identity.")
    proxies = dict(proxies_of(environment))
    for scheme, name in (("http", "http_proxy"), ("https", "https_proxy"), ("no", "no_proxy")):
        if present.get(name):
            proxies[scheme] = present[name]
    retries = Retries(
        max(int(present.get("max_retries", 5)) - 1, 0),
        0.5,
        20.0,
        refused=False,
        adaptive=retry_mode == "adaptive",
    )
    authorities = present.get("custom_ca_bundle") or environment.get("AWS_CA_BUNDLE") or ""
    tls = Tls(authorities=str(authorities), verify=not present.get("insecure", False))
    http = Http(retries=retries, tls=tls, proxies=proxies)
    files = tuple(present.get("shared_credentials_files") or ())
    if present.get("shared_credentials_file"):
        files = (present["shared_credentials_file"],)
    given = CredentialSettings(
        access_key=present.get("access_key", ""),
        secret_key=present.get("secret_key", ""),
        token=present.get("token", ""),
        profile=present.get("profile", ""),
        credentials_files=files,
        config_files=tuple(present.get("shared_config_files") or ()),
        role=_role(present, wrong),
        web_role=_web_role(web, environment, wrong) if web is not None else None,
        region=region,
        sts_endpoint=endpoints["sts"],
        sts_region=present.get("sts_region", ""),
        skip_metadata=bool(present.get("skip_metadata_api_check", False)),
        metadata_endpoint=present.get("ec2_metadata_service_endpoint", ""),
        metadata_ipv6=metadata_mode.lower() == "ipv6",
        environment=environment,
    )
    chain = CredentialChain(given, http)
    return Aws(
        region,
        chain,
        http,
        endpoints,
        bool(present.get("use_dualstack_endpoint", False)),
        bool(present.get("use_fips_endpoint", False)),
        tuple(present.get("allowed_account_ids") or ()),
        tuple(present.get("forbidden_account_ids") or ()),
        not present.get("skip_credentials_validation", False),
        not present.get("skip_requesting_account_id", False),
    )


def check_region(settings: Mapping[str, Any], wrong: Wrong) -> None:
    region = settings.get("region")
    if region and not settings.get("skip_region_validation") and region not in _REGIONS:
        wrong("Invalid region value", f"invalid AWS Region: {region}")


def _endpoint(name: str, settings: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    upper = name.upper()
    former = "endpoint" if name == "s3" else f"{name}_endpoint"
    result = str(
        (settings.get("endpoints") or {}).get(name)
        or settings.get(former)
        or environment.get(f"AWS_ENDPOINT_URL_{upper}")
        or environment.get(f"AWS_{upper}_ENDPOINT")
        or environment.get("AWS_ENDPOINT_URL")
        or ""
    )
    return result if not result or "://" in result else f"https://{result}"


def only_one(settings: Mapping[str, Any], wrong: Wrong, *names: str, prefix: str = "") -> None:
    if sum(settings.get(name) not in (None, "") for name in names) > 1:
        wrong("Invalid Attribute Combination", f"Only one of {', '.join(prefix + n for n in names)} can be set.")


def _role(settings: Mapping[str, Any], wrong: Wrong) -> CredentialRole | None:
    nested = settings.get("assume_role")
    former = sorted((old, new) for old, new in DEPRECATED_ROLE.items() if settings.get(old))
    if nested is not None and former:
        lines = "".join(f"\n  * {old} -> {new}" for old, new in former)
        detail = (
            'The following deprecated parameters conflict with the parameter "assume_role". Replace them as follows:'
        )
        wrong("Conflicting Parameters", detail + lines)
    if nested is not None:
        return _checked_role(nested, "assume_role", wrong)
    if not settings.get("role_arn"):
        return None
    return CredentialRole(
        settings["role_arn"],
        settings.get("session_name", ""),
        settings.get("external_id", ""),
        settings.get("assume_role_policy", ""),
        tuple(settings.get("assume_role_policy_arns") or ()),
        tuple(sorted((settings.get("assume_role_tags") or {}).items())),
        tuple(settings.get("assume_role_transitive_tag_keys") or ()),
        int(settings.get("assume_role_duration_seconds", 0)),
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
    """The seconds of a duration in Go's notation, for example `1h30m`; 0 if it is not set or cannot be parsed. Invalid
    durations, and durations outside 15 minutes to 12 hours, are reported."""
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
