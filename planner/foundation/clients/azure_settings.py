"""Credential settings of Azure, completed from the environment. They select the cloud and the authentication method.
The first method whose settings are complete is used. If no method is complete, the missing settings of each method are
reported."""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planner.foundation.clients.http import Http
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate

Reason = tuple[str, str]  # summary and detail
METADATA_HOST = ("ARM_METADATA_HOST", "ARM_METADATA_HOSTNAME")
_VARIABLES = {
    "client_id": ("ARM_CLIENT_ID",),
    "client_id_file_path": ("ARM_CLIENT_ID_FILE_PATH",),
    "client_secret": ("ARM_CLIENT_SECRET",),
    "client_secret_file_path": ("ARM_CLIENT_SECRET_FILE_PATH",),
    "client_certificate": ("ARM_CLIENT_CERTIFICATE",),
    "client_certificate_password": ("ARM_CLIENT_CERTIFICATE_PASSWORD",),
    "client_certificate_path": ("ARM_CLIENT_CERTIFICATE_PATH",),
    "oidc_token": ("ARM_OIDC_TOKEN",),
    "oidc_token_file_path": ("ARM_OIDC_TOKEN_FILE_PATH", "AZURE_FEDERATED_TOKEN_FILE"),
    "oidc_request_url": ("ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_OIDCREQUESTURI"),
    "oidc_request_token": ("ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SYSTEM_ACCESSTOKEN"),
    "ado_service_connection_id": (
        "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
        "ARM_OIDC_AZURE_SERVICE_CONNECTION_ID",
        "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID",
    ),
    "tenant_id": ("ARM_TENANT_ID",),
    "environment": ("ARM_ENVIRONMENT",),
    "metadata_host": METADATA_HOST,
    "subscription_id": ("ARM_SUBSCRIPTION_ID",),
    "msi_endpoint": ("ARM_MSI_ENDPOINT", "MSI_ENDPOINT"),
}
_FLAGS = {
    "use_oidc": "ARM_USE_OIDC",
    "use_msi": "ARM_USE_MSI",
    "use_aks_workload_identity": "ARM_USE_AKS_WORKLOAD_IDENTITY",
    "use_cli": "ARM_USE_CLI",
}


@frozen(repr=False)
class AzureAccount:
    """Settings for credentials by name, completed from the environment."""

    said: Mapping[str, Any]

    def text(self, name: str) -> str:
        entry = self.said.get(name)
        return entry if isinstance(entry, str) else ""

    def flag(self, name: str, otherwise: bool = False) -> bool:
        entry = self.said.get(name)
        return entry if isinstance(entry, bool) else otherwise


def account_of(settings: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> AzureAccount:
    values = {name: value for name, value in settings.items() if value not in (None, "")}
    for name, variables in _VARIABLES.items():
        result = next((value for v in variables if (value := environment.get(v))), None)
        if name not in values and result:
            values[name] = result
    for name, variable in _FLAGS.items():
        if name not in values and environment.get(variable):
            values[name] = environment[variable].lower() in ("1", "t", "true")
    return AzureAccount(values)


@frozen
class Cloud:
    """The URLs of the services of an Azure cloud, without a slash at the end. `storage` is the domain suffix of storage
    accounts."""

    login: str
    management: str
    storage: str
    audience: str = ""  # the audience of tokens for the management API; "" if it is the URL of the API


_PUBLIC = Cloud("https://login.microsoftonline.com", "https://management.azure.com", "core.windows.net")
_GOVERNMENT = Cloud(
    "https://login.microsoftonline.us", "https://management.usgovcloudapi.net", "core.usgovcloudapi.net"
)
_CHINA = Cloud("https://login.chinacloudapi.cn", "https://management.chinacloudapi.cn", "core.chinacloudapi.cn")
CLOUDS = {
    **dict.fromkeys(("", "public", "global", "canary"), _PUBLIC),
    **dict.fromkeys(("usgovernment", "usgovernmentl4", "dod", "usgovernmentl5"), _GOVERNMENT),
    "china": _CHINA,
}


def cloud_of(environment: str, metadata_host: str, http: Http) -> Cloud:
    """The cloud that `metadata_host` describes or, without a metadata host, the cloud with the name `environment`.
    Raises ServiceError."""
    if not metadata_host:
        if environment not in CLOUDS:
            raise ServiceError(f"unknown environment identifier: {environment}")
        return CLOUDS[environment]
    try:
        document = http.ask("GET", f"https://{metadata_host}/metadata/endpoints?api-version=2023-11-01").json()
    except ServiceError as problem:
        raise ServiceError(f"retrieving environments from Azure MetaData service: {problem.text}") from None
    document = document if isinstance(document, dict) else {}
    storage = (document.get("suffixes") or {}).get("storage")
    if not isinstance(storage, str) or not storage:
        raise ServiceError("could not find storage endpoint in given metadata host")
    who = document.get("authentication") or {}
    if not who.get("audiences"):
        raise ServiceError("could not find token audience in given metadata host")
    audience = str(who["audiences"][0])
    login, management = str(who.get("loginEndpoint") or ""), str(document.get("resourceManager") or "")
    return Cloud(login.rstrip("/"), management.rstrip("/"), storage, audience)


def method_of(account: AzureAccount) -> tuple[str, list[Reason]]:
    """The first authentication method whose settings are complete, or "" and the reasons why no method can be used."""
    reasons: list[Reason] = []
    for name, title, missing in _METHODS:
        result = missing(account)
        if not result:
            return name, []
        reasons += [(f"Invalid {title}", text) for text in result]
    last = "Please see above warnings for details about what each auth method needs to properly work."
    return "", [*reasons, ("No valid azure auth methods found", last)]


def value_or_file(account: AzureAccount, name: str, path: str, title: str, is_needed: bool = True) -> str:
    """The value of a setting that is set directly (by the setting `name`) or in a file (whose path is the setting
    `path`); "" if it is not set and not `is_needed`. `title`: its name in messages. Raises ServiceError."""
    value, file, content = account.text(name), account.text(path), ""
    if file:
        try:
            with open(file, encoding="utf-8") as opened:
                content = opened.read(1 << 20)
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            raise ServiceError(f"error reading {title} file: open {file}: {why}") from None
        except UnicodeDecodeError as bad:
            raise ServiceError(f"error reading {title} file: {file}: {bad}") from None
    if is_needed and not value and not content:
        raise ServiceError(f"missing {title}, a {title} is required")
    if value and content and value != content:
        same = "make them equal, or provide only one"
        raise ServiceError(f"the {title} provided directly and the one in the file do not match; {same}")
    return value or content


def client_id(account: AzureAccount) -> str:
    return value_or_file(account, "client_id", "client_id_file_path", "client ID")


def certificate_of(account: AzureAccount) -> tuple[RSAPrivateKey, Certificate]:
    """The client's key and certificate, from a PKCS #12 or PEM file. Raises ServiceError."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, pkcs12
    from cryptography.x509 import load_pem_x509_certificate

    data, password = _bundle(account), account.text("client_certificate_password").encode() or None
    key: Any
    certificate: Certificate | None
    try:
        if b"-----BEGIN" in data:
            key, certificate = load_pem_private_key(data, password), load_pem_x509_certificate(data)
        else:
            key, certificate, _ = pkcs12.load_key_and_certificates(data, password)
    except (ValueError, TypeError) as bad:
        raise ServiceError(f"The Client Certificate is invalid: {bad}.") from None
    if not isinstance(key, RSAPrivateKey) or certificate is None:
        raise ServiceError("The Client Certificate is invalid: it has no RSA key, or no certificate.")
    return key, certificate


def _bundle(account: AzureAccount) -> bytes:
    text, path = account.text("client_certificate"), account.text("client_certificate_path")
    given = content = b""
    if text:
        try:
            given = b64decode(text, validate=True)
        except ValueError:
            raise ServiceError("error decoding client certificate: illegal base64 data") from None
    if path:
        try:
            with open(path, "rb") as opened:
                content = opened.read(1 << 20)
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            raise ServiceError(f"error reading client certificate file: open {path}: {why}") from None
    if not given and not content:
        raise ServiceError("missing certificate, client certificate is required")
    if given and content and given != content:
        same = "make them equal, or provide only one"
        raise ServiceError(f"the client certificate provided directly and the one in the file do not match; {same}")
    return given or content


def _wrong(what: str, ask: Callable[[], object]) -> list[str]:
    try:
        ask()
    except ServiceError as problem:
        return [f"{what} is misconfigured: {problem.text}."]
    return []


def _tenant(account: AzureAccount) -> list[str]:
    return [] if account.text("tenant_id") else ["Tenant ID is missing."]


def _certificate(account: AzureAccount) -> list[str]:
    return [
        *_tenant(account),
        *_wrong("The Client ID", lambda: client_id(account)),
        *(_wrong("The Client Certificate", lambda: _bundle(account)) or _invalid(account)),
    ]


def _invalid(account: AzureAccount) -> list[str]:
    try:
        certificate_of(account)
    except ServiceError as problem:
        return [problem.text]
    return []


def _secret(account: AzureAccount) -> list[str]:
    return [
        *_tenant(account),
        *_wrong("The Client ID", lambda: client_id(account)),
        *_wrong(
            "The Client Secret",
            lambda: value_or_file(account, "client_secret", "client_secret_file_path", "client secret"),
        ),
    ]


def _pipelines(account: AzureAccount) -> list[str]:
    if not account.flag("use_oidc") or not account.text("ado_service_connection_id"):
        return [
            "To use Azure DevOps Auth, use_oidc must be set directly or via environment variable ARM_USE_OIDC. "
            "Additionally, the Azure DevOps Service Connection ID must be provided. If you are running in Azure DevOps,"
            " make sure you have serviceConnection configured for the pipeline task."
        ]
    items = []
    if not os.environ.get("SYSTEM_OIDCREQUESTURI"):
        items.append(
            "ADO System OIDC Request URI is missing. This should be set by the Azure DevOps pipeline service via the "
            "SYSTEM_OIDCREQUESTURI environment variable."
        )
    if not account.text("oidc_request_token"):
        items.append("An access token for fetching a federation token must be provided.")
    return [*items, *_tenant(account)]


def _oidc(account: AzureAccount) -> list[str]:
    if not account.flag("use_oidc"):
        return [
            "OpenID Connect Auth is disabled when use_oidc or the environment variable ARM_USE_OIDC are unset or set "
            "explicitly to false."
        ]
    result = [*_tenant(account), *_wrong("The Client ID", lambda: client_id(account))]
    is_given = account.text("oidc_token") or account.text("oidc_token_file_path")
    if not is_given and not (account.text("oidc_request_url") and account.text("oidc_request_token")):
        result.append(
            "An access token must be provided, either directly with a variable or through a file, or indirectly "
            "through a request URL and request token (as in GitHub Actions)."
        )
    try:
        value_or_file(account, "oidc_token", "oidc_token_file_path", "token", is_needed=False)
    except ServiceError as problem:
        result.append(f"The token is misconfigured: {problem.text}")
    return result


def _machine(account: AzureAccount) -> list[str]:
    text = (
        'The Managed Service Identity (MSI) needs to have "use_msi" (or ARM_USE_MSI) set to true in order to be used.'
    )
    return [] if account.flag("use_msi") else [text]


def _workload(account: AzureAccount) -> list[str]:
    text = (
        'The AKS Workload Identity Auth needs to have "use_aks_workload_identity" (or ARM_USE_AKS_WORKLOAD_IDENTITY) '
        "set to true in order to be used."
    )
    return [] if account.flag("use_aks_workload_identity") else [text]


def _program(account: AzureAccount) -> list[str]:
    if not account.flag("use_cli", True):
        return ["Setting use_cli to false prevents the use of command-line auth (az)."]
    if shutil.which("az") is None:
        return [
            "Error looking for command az in your PATH. Make sure the Azure Command Line tool is installed and "
            "executable."
        ]
    return []


_METHODS: tuple[tuple[str, str, Callable[[AzureAccount], list[str]]], ...] = (
    ("certificate", "Azure Client Certificate Auth", _certificate),
    ("secret", "Azure Client Secret Auth", _secret),
    ("pipelines", "Azure DevOps Auth", _pipelines),
    ("oidc", "Azure OpenID Connect Auth", _oidc),
    ("machine", "Azure Managed Service Identity Auth", _machine),
    ("workload", "AKS Workload Identity Auth", _workload),
    ("program", "Azure Command Line Auth", _program),
)
