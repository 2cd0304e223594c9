"""`azure_vault`: random keys that Azure Key Vault encrypts with one of its own keys."""

from __future__ import annotations

import json
import os
import re
from base64 import urlsafe_b64decode
from typing import Any
from urllib.parse import urlsplit

from planner.foundation.clients.azure import AzureTokens
from planner.foundation.clients.azure_settings import account_of
from planner.foundation.clients.http import Http, base64url
from planner.foundation.encryption.envelope import encode
from planner.foundation.encryption.keys import (
    EncryptionArguments,
    Given,
    Key,
    Keys,
    Metadata,
    ProviderError,
    Setting,
    bytes_of,
    text_of,
)
from planner.foundation.values.types import BOOL, NUMBER
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_TEXTS = (
    "client_id",
    "client_id_file_path",
    "client_secret",
    "client_secret_file_path",
    "client_certificate",
    "client_certificate_password",
    "client_certificate_path",
    "oidc_token",
    "oidc_token_file_path",
    "oidc_request_url",
    "oidc_request_token",
    "msi_endpoint",
    "metadata_host",
    "environment",
    "subscription_id",
    "tenant_id",
)
SETTINGS = EncryptionArguments(
    {
        "vault_uri": Setting(required=True),
        "vault_key_name": Setting(required=True),
        "key_length": Setting(NUMBER, required=True),
        "symmetric": Setting(BOOL),
        "symmetric_key_size": Setting(NUMBER),
        "use_cli": Setting(BOOL, nullable=True),
        **{name: Setting(BOOL) for name in ("use_oidc", "use_msi", "use_aks_workload_identity")},
        **{name: Setting() for name in _TEXTS},
    }
)
_VERSION = "7.6"
_KEY = re.compile(r"[0-9a-zA-Z-]{1,127}")
_VAULT = re.compile(r"[a-zA-Z][0-9a-zA-Z-]{1,22}[0-9a-zA-Z]")
_RULES = (
    "See documentation here: https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/"
    "resource-name-rules#microsoftkeyvault"
)
_SCOPES = {
    "public": "https://vault.azure.net/.default",
    "usgovernment": "https://vault.usgovcloudapi.net/.default",
    "china": "https://vault.azure.cn/.default",
}
_ALGORITHM = re.compile(r"[A-Z0-9_-]{1,32}|RSA-OAEP-256")


@frozen(eq=False)
class AzureVault:
    """A key provider that uses a key in a vault."""

    tokens: AzureTokens
    http: Http
    vault: str
    key_name: str
    key_length: int
    algorithm: str

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        encryption = os.urandom(self.key_length)
        try:
            made = self._call("encrypt", "", {"alg": self.algorithm, "value": base64url(encryption)})
            kept = {
                "ciphertext": encode(_bytes(made, "value") or b""),
                "iv": _encode(_bytes(made, "iv")),
                "authentication_tag": _encode(_bytes(made, "tag")),
                "additional_authenticated_data": _encode(_bytes(made, "aad")),
                "key_version": str(made.get("kid", "")).rstrip("/").rpartition("/")[2],
                "algo": self.algorithm,
            }
        except ServiceError as problem:
            raise ProviderError(f"failed to encrypt key: {problem.text}") from None
        decryption = b""
        if metadata is not None and bytes_of(metadata, "ciphertext"):
            try:
                decryption = self._decrypt(metadata)
            except ServiceError as problem:
                raise ProviderError(f"failed to decrypt key: {problem.text}") from None
        return Keys(Key.of(encryption), Key.of(decryption)), kept

    def _decrypt(self, metadata: Metadata) -> bytes:
        """The stored key, decrypted with the key version and algorithm named in the metadata. Raises ServiceError, and
        MetadataError for invalid metadata."""
        algorithm, version = text_of(metadata, "algo") or self.algorithm, text_of(metadata, "key_version")
        if _ALGORITHM.fullmatch(algorithm) is None or (version and _KEY.fullmatch(version) is None):
            raise ServiceError("the key algorithm or key version in the metadata is malformed")
        body = {"alg": algorithm, "value": base64url(bytes_of(metadata, "ciphertext"))}
        for name, member in (
            ("iv", "iv"),
            ("tag", "authentication_tag"),
            ("aad", "additional_authenticated_data"),
        ):
            data = bytes_of(metadata, member)
            if data:
                body[name] = base64url(data)
        return _bytes(self._call("decrypt", version, body), "value") or b""

    def _call(self, verb: str, version: str, body: dict[str, str]) -> dict[str, Any]:
        path = f"/keys/{self.key_name}/{version}/{verb}" if version else f"/keys/{self.key_name}/{verb}"
        url = f"{self.vault.rstrip('/')}{path}?api-version={_VERSION}"
        headers = {"Authorization": f"Bearer {self.tokens()}", "Content-Type": "application/json"}
        answer = self.http.ask("POST", url, headers, json.dumps(body).encode())
        if answer.status >= 300:
            raise ServiceError(f"status code {answer.status}: {answer.text[:1000]}")
        result = answer.json()
        return result if isinstance(result, dict) else {}


def _bytes(answer: dict[str, Any], name: str) -> bytes | None:
    entry = answer.get(name)
    if not isinstance(entry, str):
        if name == "value":
            raise ServiceError("the response has no value")
        return None
    try:
        return urlsafe_b64decode(entry + "=" * (-len(entry) % 4))
    except ValueError:
        raise ServiceError(f"the response has no valid {name}") from None


def _encode(data: bytes | None) -> str | None:
    return encode(data) if data is not None else None


def build(settings: Given) -> AzureVault:
    """The key provider with these settings. Raises ProviderError."""
    algorithm = "RSA-OAEP-256"
    if settings.get("symmetric"):
        size = settings.get("symmetric_key_size", 0)
        if size not in (128, 192, 256):
            raise ProviderError(
                "when symmetric is set to true, symmetric_key_size must be given a value of 128, 192, or 256"
            )
        algorithm = f"A{size}GCM"
    if not settings["vault_key_name"]:
        raise ProviderError("vault_key_name must be provided")
    if not settings["vault_uri"]:
        raise ProviderError("vault_uri must be provided")
    wrong = _wrong_name(settings["vault_key_name"], settings["vault_uri"])
    if wrong:
        raise ProviderError(f"misconfigured key vault name or key name: {wrong}")
    if settings["key_length"] < 1:
        raise ProviderError("key_length must be at least 1")
    if settings["key_length"] > 4096:
        raise ProviderError("key_length is larger than the largest key that can be encrypted")
    account = account_of(settings)
    http = Http()
    scope = _SCOPES.get(account.text("environment") or "public", _SCOPES["public"])
    tokens = AzureTokens(account, scope, http)
    return AzureVault(
        tokens, http, settings["vault_uri"], settings["vault_key_name"], settings["key_length"], algorithm
    )


def _wrong_name(key: str, vault: str) -> str:
    if _KEY.fullmatch(key) is None:
        return f"invalid key name: Azure requires a key name consists of 1-127 letters, numbers, or hyphens. {_RULES}"
    try:
        name = (urlsplit(vault).hostname or "").partition(".")[0]
    except ValueError as bad:
        return f"invalid key vault URL: {bad}"
    if _VAULT.fullmatch(name) is None:
        return (
            "invalid key vault name: Azure requires a key vault name consists of 3-24 letters, numbers, and hyphens "
            f"only. It must start with a letter and cannot end with a hyphen. {_RULES}"
        )
    if "--" in name:
        return f"invalid key vault name: Hyphens in a key vault name must be nonconsecutive. {_RULES}"
    return ""
