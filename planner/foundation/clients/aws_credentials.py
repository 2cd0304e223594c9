"""Obtains access keys for AWS from settings, environment variables, profiles, programs, web identity tokens, and the
metadata services of containers and machines, in the order of AWS's SDKs. Assumes roles. botocore (extra `s3`) handles
single sign-on and other sources."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from threading import Lock
from typing import Any
from urllib.parse import urlencode, urlsplit

from planner.foundation.clients.aws import Credentials, CredentialSource, Service, element, endpoint_of
from planner.foundation.clients.http import EARLY, NONE, Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import field, frozen

_VERSION = "2011-06-15"


@frozen
class CredentialRole:
    """A role to assume. `duration`: in seconds; 0 for the default."""

    arn: str
    session: str = ""
    external_id: str = ""
    policy: str = ""
    policy_arns: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    transitive_tags: tuple[str, ...] = ()
    duration: int = 0


@frozen
class WebRole:
    """A role to assume with a web identity token of another identity provider: the token itself, or a file that
    contains it."""

    role: CredentialRole
    token: str = ""
    token_file: str = ""

    def read(self) -> str:
        """The token. Raises ServiceError."""
        if self.token:
            return self.token
        try:
            with open(self.token_file, encoding="utf-8") as file:
                return file.read(1 << 20).strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise ServiceError(f"cannot read the web identity token file {self.token_file}: {problem}") from None


@frozen(repr=False)
class CredentialSettings:
    access_key: str = ""
    secret_key: str = ""
    token: str = ""
    profile: str = ""
    credentials_files: tuple[str, ...] = ()
    config_files: tuple[str, ...] = ()
    role: CredentialRole | None = None
    web_role: WebRole | None = None
    region: str = ""
    sts_endpoint: str = ""
    sts_region: str = ""
    skip_metadata: bool = False
    metadata_endpoint: str = ""
    metadata_ipv6: bool = False
    environment: Mapping[str, str] = field(factory=lambda: os.environ)


class CredentialChain:
    """A function that returns access keys. It obtains them on the first call and renews them before they expire. May be
    called by several threads. Raises ServiceError."""

    def __init__(self, given: CredentialSettings, http: Http) -> None:
        self.given, self.http = given, http
        self._known: Credentials | None = None
        self._lock = Lock()
        self._profiles: dict[str, dict[str, str]] | None = None

    def __call__(self) -> Credentials:
        with self._lock:
            known = self._known
            if known is None or (known.expires and known.expires - time.time() < EARLY):
                self._known = known = self._fresh()
            return known

    @property
    def region(self) -> str:
        """The region that the profile sets, "" if it sets none."""
        name = self.given.profile or self.given.environment.get("AWS_PROFILE") or "default"
        return self.profiles.get(name, {}).get("region", "")

    def _fresh(self) -> Credentials:
        base = self._web(self.given.web_role) if self.given.web_role is not None else self._base()
        return base if self.given.role is None else self._assume_role(self.given.role, lambda: base)

    def _base(self) -> Credentials:
        given, variables = self.given, self.given.environment
        if given.access_key and given.secret_key:
            return Credentials(given.access_key, given.secret_key, given.token, source="settings")
        if given.profile:
            return self._profile(given.profile, ())
        key = variables.get("AWS_ACCESS_KEY_ID") or variables.get("AWS_ACCESS_KEY")
        secret = variables.get("AWS_SECRET_ACCESS_KEY") or variables.get("AWS_SECRET_KEY")
        if key and secret:
            return Credentials(key, secret, variables.get("AWS_SESSION_TOKEN", ""), source="environment")
        token_file = variables.get("AWS_WEB_IDENTITY_TOKEN_FILE")
        if token_file and variables.get("AWS_ROLE_ARN"):
            role = CredentialRole(variables["AWS_ROLE_ARN"], variables.get("AWS_ROLE_SESSION_NAME", ""))
            return self._web(WebRole(role, token_file=token_file))
        name = variables.get("AWS_PROFILE") or "default"
        if name in self.profiles:
            return self._profile(name, ())
        if variables.get("AWS_PROFILE"):
            raise ServiceError(f"failed to get shared config profile, {name}")
        return self._container() or self._machine()

    # ------------------------------------------------------------ profiles

    @property
    def profiles(self) -> dict[str, dict[str, str]]:
        if self._profiles is None:
            self._profiles = self._read_profiles()
        return self._profiles

    def _read_profiles(self) -> dict[str, dict[str, str]]:
        variables = self.given.environment
        home = variables.get("HOME") or os.path.expanduser("~")
        configs = self.given.config_files or _one_of(
            variables.get("AWS_SHARED_CONFIG_FILE") or variables.get("AWS_CONFIG_FILE"), f"{home}/.aws/config"
        )
        secrets = self.given.credentials_files or _one_of(
            variables.get("AWS_SHARED_CREDENTIALS_FILE"), f"{home}/.aws/credentials"
        )
        result: dict[str, dict[str, str]] = {}
        for path, prefix in [*((p, "profile ") for p in configs), *((p, "") for p in secrets)]:
            parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
            try:
                parser.read(os.path.expanduser(path), encoding="utf-8")
            except (configparser.Error, UnicodeDecodeError, OSError) as problem:
                raise ServiceError(f"failed to load shared config file, {path}: {problem}") from None
            for section in parser.sections():
                name = section.removeprefix(prefix).strip() if section.startswith(prefix) else section
                result.setdefault(name, {}).update(parser.items(section))
        return result

    def _profile(self, name: str, seen: tuple[str, ...]) -> Credentials:
        profile = self.profiles.get(name)
        if profile is None:
            raise ServiceError(f"failed to get shared config profile, {name}")
        if name in seen:
            if profile.get("aws_access_key_id"):
                return _static(profile, name)
            raise ServiceError(f"profiles name each other as their source: {', '.join((*seen, name))}")
        if profile.get("role_arn"):
            role = CredentialRole(
                profile["role_arn"],
                profile.get("role_session_name", ""),
                profile.get("external_id", ""),
                duration=_whole_number(profile.get("duration_seconds", "")),
            )
            if profile.get("web_identity_token_file"):
                return self._web(WebRole(role, token_file=profile["web_identity_token_file"]))
            return self._assume_role(role, lambda: self._source(profile, (*seen, name)))
        if profile.get("aws_access_key_id") and profile.get("aws_secret_access_key"):
            return _static(profile, name)
        if profile.get("credential_process"):
            return _from_program(profile["credential_process"])
        return _from_botocore(name)

    def _source(self, profile: Mapping[str, str], seen: tuple[str, ...]) -> Credentials:
        if profile.get("source_profile"):
            return self._profile(profile["source_profile"], seen)
        source = profile.get("credential_source", "")
        variables = self.given.environment
        if source == "Environment":
            key, secret = variables.get("AWS_ACCESS_KEY_ID", ""), variables.get("AWS_SECRET_ACCESS_KEY", "")
            return Credentials(key, secret, variables.get("AWS_SESSION_TOKEN", ""))
        result = self._container() if source == "EcsContainer" else None
        return result if result is not None else self._machine()

    # ------------------------------------------------------------ roles

    def _sts(self, credentials: CredentialSource) -> Service:
        given = self.given
        region = given.sts_region or given.region or self.region or "us-east-1"
        endpoint = given.sts_endpoint or endpoint_of("sts", region)
        return Service("sts", "STS", endpoint, region, credentials, self.http)

    def _assume_role(self, role: CredentialRole, source: CredentialSource) -> Credentials:
        parameters = _role_parameters(role)
        for number, (name, value) in enumerate(role.tags, 1):
            parameters |= {f"Tags.member.{number}.Key": name, f"Tags.member.{number}.Value": value}
        for number, name in enumerate(role.transitive_tags, 1):
            parameters[f"TransitiveTagKeys.member.{number}"] = name
        if role.external_id:
            parameters["ExternalId"] = role.external_id
        try:
            return _in_answer(self._sts(source).query("AssumeRole", _VERSION, parameters))
        except ServiceError as problem:
            raise ServiceError(
                f"Cannot assume IAM Role: IAM Role ({role.arn}) cannot be assumed.\n\n{problem.text}"
            ) from None

    def _web(self, web: WebRole) -> Credentials:
        parameters = {**_role_parameters(web.role), "WebIdentityToken": web.read()}
        sts = self._sts(lambda: Credentials("", ""))
        body = urlencode({"Action": "AssumeRoleWithWebIdentity", "Version": _VERSION, **parameters}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self.http.ask("POST", f"{sts.endpoint.rstrip('/')}/", headers, body)
        if answer.status >= 300:
            text = element(answer.text, "Message") or f"status {answer.status}"
            raise ServiceError(f"IAM Role ({web.role.arn}) cannot be assumed with web identity token: {text}")
        return _in_answer(answer.text)

    # ------------------------------------------------------------ containers and machines

    def _container(self) -> Credentials | None:
        variables = self.given.environment
        url = variables.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
        if relative := variables.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
            url = f"http://169.254.170.2{relative}"
        if not url:
            return None
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in _CONTAINER_HOSTS:
            raise ServiceError(f"{url} must begin with https://, or be an address of this machine")
        headers = {}
        token = variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        if path := variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
            token = WebRole(CredentialRole(""), token_file=path).read()
        if token:
            headers["Authorization"] = token
        answer = self.http.ask("GET", url, headers)
        if answer.status != 200:
            raise ServiceError(f"the container's credentials cannot be obtained: {url} returned status {answer.status}")
        return _of_json(answer.json(), "container")

    def _machine(self) -> Credentials:
        variables = self.given.environment
        if self.given.skip_metadata or variables.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
            raise ServiceError(NO_CREDENTIALS)
        base = (
            self.given.metadata_endpoint
            or variables.get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
            or ("http://[fd00:ec2::254]" if self.given.metadata_ipv6 else "http://169.254.169.254")
        ).rstrip("/")
        quick = {"retries": NONE, "timeout": 2.0}
        try:
            wanted = {"X-aws-ec2-metadata-token-ttl-seconds": "300"}
            token = self.http.ask("PUT", f"{base}/latest/api/token", wanted, **quick)  # type: ignore[arg-type]
            headers = {"X-aws-ec2-metadata-token": token.text} if token.status == 200 else {}
            path = f"{base}/latest/meta-data/iam/security-credentials/"
            role = self.http.ask("GET", path, headers, **quick)  # type: ignore[arg-type]
            if role.status != 200:
                raise ServiceError(NO_CREDENTIALS)
            name = role.text.split("\n")[0].strip()
            answer = self.http.ask("GET", path + name, headers, **quick)  # type: ignore[arg-type]
        except ServiceError:
            raise ServiceError(NO_CREDENTIALS) from None
        if answer.status != 200:
            raise ServiceError(NO_CREDENTIALS)
        return _of_json(answer.json(), "machine")


NO_CREDENTIALS = "No valid credential sources found"
_CONTAINER_HOSTS = frozenset(("127.0.0.1", "localhost", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"))


def _one_of(named: str | None, otherwise: str) -> tuple[str, ...]:
    return (named or otherwise,)


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _static(profile: Mapping[str, str], name: str) -> Credentials:
    token = profile.get("aws_session_token", "")
    return Credentials(
        profile["aws_access_key_id"], profile.get("aws_secret_access_key", ""), token, source=f"profile {name}"
    )


def _role_parameters(role: CredentialRole) -> dict[str, str]:
    parameters = {"RoleArn": role.arn, "RoleSessionName": role.session or f"planner-{time.time_ns()}"}
    if role.duration:
        parameters["DurationSeconds"] = str(role.duration)
    if role.policy:
        parameters["Policy"] = role.policy
    for number, arn in enumerate(role.policy_arns, 1):
        parameters[f"PolicyArns.member.{number}.arn"] = arn
    return parameters


def _in_answer(xml: str) -> Credentials:
    key, secret, token = (element(xml, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
    if not key or not secret:
        raise ServiceError("the answer of STS has no credentials")
    return Credentials(key, secret, token, _moment(element(xml, "Expiration")), "role")


def _moment(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _of_json(document: Any, source: str) -> Credentials:
    try:
        key, secret = document["AccessKeyId"], document["SecretAccessKey"]
    except (KeyError, TypeError):
        raise ServiceError(f"the credentials of the {source} cannot be read") from None
    token = str(document.get("Token") or document.get("SessionToken") or "")
    return Credentials(str(key), str(secret), token, _moment(document.get("Expiration") or ""), source)


def _from_program(command: str) -> Credentials:
    """Credentials from the JSON that the `credential_process` of a profile prints. Raises ServiceError."""
    try:
        ran = subprocess.run(shlex.split(command), capture_output=True, timeout=60, check=True)
        return _of_json(json.loads(ran.stdout), "program")
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        raise ServiceError(f"credential_process failed: {problem}") from None


def _from_botocore(profile: str) -> Credentials:
    """Credentials that only botocore can obtain, such as those of single sign-on. Raises ServiceError."""
    try:
        from botocore.session import Session  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        detail = f'the profile {profile} needs botocore: install the extra "s3" (pip install "planner-iac[s3]")'
        raise ServiceError(detail) from None
    try:
        result = Session(profile=profile).get_credentials()
        if result is None:
            raise ServiceError(NO_CREDENTIALS)
        keys = result.get_frozen_credentials()
    except ServiceError:
        raise
    except Exception as problem:
        raise ServiceError(f"the profile {profile} cannot be used: {problem}") from None
    return Credentials(keys.access_key, keys.secret_key, keys.token or "", time.time() + 2 * EARLY, "botocore")
