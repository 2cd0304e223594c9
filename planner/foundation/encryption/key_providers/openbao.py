"""`openbao`: keys that the transit engine of OpenBao (or Vault) generates and can decrypt."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Mapping
from urllib.parse import quote

from planner.foundation.clients.http import Http, Retries, Tls, proxies_of
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
from planner.foundation.values.types import NUMBER
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

SETTINGS = EncryptionArguments(
    {
        "key_name": Setting(required=True),
        "address": Setting(),
        "token": Setting(),
        "transit_engine_path": Setting(),
        "key_length": Setting(NUMBER),
        "associated_data": Setting(),
    }
)
_LENGTHS = (16, 32, 64)
_HINT = "(check whether the configuration is valid and the OpenBao server can be reached)"
_BUG = "(the version of OpenBao may be incompatible)"


@frozen(eq=False, repr=False)
class OpenBao:
    """A key provider that uses a key of the transit engine of a server."""

    http: Http
    address: str
    headers: Mapping[str, str]
    engine: str
    key_name: str
    key_length: int
    associated: str

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        try:
            made = self._write(
                "datakey request", "datakey/plaintext", {"bits": self.key_length * 8, **self._more(self.associated)}
            )
            ciphertext, encryption = _text(made, "ciphertext"), _plaintext(made)
        except ServiceError as problem:
            raise ProviderError(f"failed to generate OpenBao data key {_HINT}: {problem.text}") from None
        known = bytes_of(metadata, "ciphertext") if metadata is not None else b""
        decryption = b""
        if known:
            try:
                stored = metadata.get("associated_data") if metadata is not None else None
                request = {"ciphertext": known.decode("utf-8", "replace"), **self._more(stored)}
                decryption = _plaintext(self._write("decryption request", "decrypt", request))
            except ServiceError as problem:
                raise ProviderError(f"failed to decrypt ciphertext {_HINT}: {problem.text}") from None
        made_with = {"ciphertext": encode(ciphertext.encode()), **self._more(self.associated)}
        return Keys(Key.of(encryption), Key.of(decryption)), made_with

    def _more(self, associated: object) -> dict[str, object]:
        return {"associated_data": associated} if isinstance(associated, str) and associated else {}

    def _write(self, what: str, operation: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Send a request about the key. Returns the member `data` of the response, {} if it is missing. Raises
        ServiceError."""
        path = posixpath.normpath(f"/v1/{self.engine}/{operation}/{quote(self.key_name, safe='')}")
        url = f"{self.address.rstrip('/')}/{path.lstrip('/')}"
        try:
            answer = self.http.ask("PUT", url, self.headers, json.dumps(body).encode())
            if answer.status >= 300:
                raise ServiceError(_refusal(url, answer.status, answer.text))
            data = answer.json()
        except ServiceError as problem:
            raise ServiceError(f"error sending {what} to OpenBao: {problem.text}") from None
        result = data.get("data") if isinstance(data, dict) else None
        return result if isinstance(result, dict) else {}


def _refusal(url: str, status: int, text: str) -> str:
    """An error message in the words of OpenBao's own client."""
    head = f"Error making API request.\n\nURL: PUT {url}\nCode: {status}. "
    try:
        errors = json.loads(text)["errors"]
        return f"{head}Errors:\n\n" + "\n".join(f"* {error}" for error in errors)
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"{head}Raw Message:\n\n{text[:1000]}"


def _text(answer: Mapping[str, object], name: str) -> str:
    result = answer.get(name)
    if not isinstance(result, str):
        raise ServiceError(f"failed to deserialize '{name}' {_BUG}")
    return result


def _plaintext(answer: Mapping[str, object]) -> bytes:
    try:
        return decode(_text(answer, "plaintext"))
    except Base64Error as bad:
        raise ServiceError(f"base64 decoding 'plaintext' {_BUG}: {bad}") from None


def build(settings: Given) -> OpenBao:
    """The key provider with these settings. Raises ProviderError."""
    if not settings.get("key_name"):
        raise ProviderError("no key name found")
    check_next(settings, "associated_data")
    check_base64(settings, "associated_data")
    length = settings.get("key_length") or 32
    if length not in _LENGTHS:
        raise ProviderError(
            f"invalid key provider configuration: data key length should one of 16, 32 or 64 bytes: got {length}"
        )
    address = settings.get("address") or _variable("ADDR") or "https://127.0.0.1:8200"
    headers = {"X-Vault-Request": "true", "Content-Type": "application/json"}
    token, namespace = settings.get("token") or _variable("TOKEN"), _variable("NAMESPACE")
    if token:
        headers["X-Vault-Token"] = token
    if namespace:
        headers["X-Vault-Namespace"] = namespace
    engine = settings.get("transit_engine_path") or "/transit"
    return OpenBao(
        _http(), address, headers, engine, settings["key_name"], length, settings.get("associated_data") or ""
    )


def _http() -> Http:
    """An HTTP client for OpenBao, configured by the environment variables of OpenBao and Vault."""
    proxies = proxies_of(os.environ)
    proxy = _variable("PROXY_ADDR") or _variable("HTTP_PROXY")
    if proxy:
        proxies = {"http": proxy, "https": proxy, "no": ""}
    tls = Tls(
        authorities=_variable("CACERT_BYTES") or _variable("CACERT"),
        certificate=_variable("CLIENT_CERT"),
        key=_variable("CLIENT_KEY"),
        verify=_variable("SKIP_VERIFY").lower() not in ("1", "t", "true"),
        server_name=_variable("TLS_SERVER_NAME"),
    )
    most = _variable("MAX_RETRIES")
    return Http(retries=Retries(int(most) if most.isdecimal() else 2, 1.0, 1.5), tls=tls, proxies=proxies)


def _variable(name: str) -> str:
    return os.environ.get(f"BAO_{name}") or os.environ.get(f"VAULT_{name}") or ""
