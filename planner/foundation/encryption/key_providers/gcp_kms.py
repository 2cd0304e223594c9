"""`gcp_kms`: random keys that Google Cloud KMS encrypts with one of its own keys."""

from __future__ import annotations

import json
import os

from planner.foundation.clients.google import GoogleAccount, GoogleTokens, check
from planner.foundation.clients.http import Http
from planner.foundation.encryption.envelope import Base64Error, decode, encode
from planner.foundation.encryption.keys import (
    EncryptionArguments,
    Given,
    Key,
    Keys,
    Metadata,
    ProviderError,
    Setting,
    bytes_of,
    check_base64,
    check_next,
)
from planner.foundation.values.types import NUMBER, STRING, ListType
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

SETTINGS = EncryptionArguments(
    {
        "kms_encryption_key": Setting(required=True),
        "key_length": Setting(NUMBER, required=True),
        "additional_authenticated_data": Setting(),
        "credentials": Setting(),
        "access_token": Setting(),
        "impersonate_service_account": Setting(),
        "impersonate_service_account_delegates": Setting(ListType(STRING), nullable=True),
    }
)
ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS"
"""the environment variable that overrides the URL of Google Cloud KMS, as in gcloud"""
_MAX_ADDITIONAL = 64 << 10
_SCOPE = "https://www.googleapis.com/auth/cloudkms"


@frozen(eq=False)
class GcpKms:
    """A key provider that uses a key in KMS."""

    tokens: GoogleTokens
    http: Http
    endpoint: str
    key_name: str
    key_length: int
    additional: str

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        encryption = os.urandom(self.key_length)
        try:
            ciphertext = self._call("encrypt", "plaintext", encryption, "ciphertext")
        except ServiceError as problem:
            raise ProviderError(f"failed to encrypt key: {problem.text}") from None
        known = bytes_of(metadata, "ciphertext") if metadata is not None else b""
        try:
            decryption = self._call("decrypt", "ciphertext", known, "plaintext") if known else b""
        except ServiceError as problem:
            raise ProviderError(f"failed to decrypt key: {problem.text}") from None
        return Keys(Key.of(encryption), Key.of(decryption)), {"ciphertext": encode(ciphertext)}

    def _call(self, verb: str, given: str, data: bytes, wanted: str) -> bytes:
        url = f"{self.endpoint.rstrip('/')}/v1/{self.key_name}:{verb}"
        body = {given: encode(data), **({"additionalAuthenticatedData": self.additional} if self.additional else {})}
        headers = {"Authorization": f"Bearer {self.tokens()}", "Content-Type": "application/json"}
        answer = self.http.ask("POST", url, headers, json.dumps(body).encode())
        if answer.status >= 300:
            raise ServiceError(f"status code {answer.status}: {answer.text[:1000]}")
        result = answer.json()
        try:
            return decode(str(result[wanted]))
        except (KeyError, TypeError, Base64Error):
            raise ServiceError(f"the response has no {wanted}") from None


def build(settings: Given) -> GcpKms:
    """The key provider with these settings. Raises ProviderError."""

    def setting(name: str, *variables: str) -> str:
        return str(settings.get(name) or next((v for n in variables if (v := os.environ.get(n))), ""))

    account = GoogleAccount(
        setting("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN"),
        setting("credentials", "GOOGLE_CREDENTIALS"),
        setting(
            "impersonate_service_account",
            "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
            "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
        ),
        tuple(settings.get("impersonate_service_account_delegates") or ()),
    )
    try:
        check(account)
    except ServiceError as problem:
        raise ProviderError(problem.text) from None
    length = settings["key_length"]
    if not settings["kms_encryption_key"]:
        raise ProviderError("kms_key_name must be provided")
    if length < 1:
        raise ProviderError("key_length must be at least 1")
    if length > 1024:
        raise ProviderError("key_length must be less than the GCP limit of 1024")
    check_next(settings, "additional_authenticated_data")
    additional = settings.get("additional_authenticated_data") or ""
    if len(check_base64(settings, "additional_authenticated_data")) > _MAX_ADDITIONAL:
        raise ProviderError("additional_authenticated_data must be less than the GCP limit of 64 KiB")
    http = Http()
    endpoint = os.environ.get(ENDPOINT) or "https://cloudkms.googleapis.com"
    tokens = GoogleTokens(account, (_SCOPE,), http)
    return GcpKms(tokens, http, endpoint, settings["kms_encryption_key"], length, additional)
