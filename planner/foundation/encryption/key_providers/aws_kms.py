"""`aws_kms`: keys that AWS KMS generates and encrypts with one of its own keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from planner.foundation.clients.aws import Service
from planner.foundation.clients.aws_settings import aws_of
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
    check_next,
)
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType, MapType, ObjectType, Type
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen

_LIST = ListType(STRING)
_ROLE: dict[str, Type] = {
    "role_arn": STRING,
    "duration": STRING,
    "external_id": STRING,
    "policy": STRING,
    "policy_arns": _LIST,
    "session_name": STRING,
    "tags": MapType(STRING),
    "transitive_tag_keys": _LIST,
}
_WEB_ROLE: dict[str, Type] = {
    name: _ROLE[name] for name in ("role_arn", "duration", "policy", "policy_arns", "session_name")
} | {
    "web_identity_token": STRING,
    "web_identity_token_file": STRING,
}
_TEXTS = (
    "access_key",
    "profile",
    "region",
    "secret_key",
    "sts_region",
    "token",
    "no_proxy",
    "custom_ca_bundle",
    "ec2_metadata_service_endpoint",
    "ec2_metadata_service_endpoint_mode",
    "retry_mode",
)
_FLAGS = (
    "skip_credentials_validation",
    "skip_requesting_account_id",
    "insecure",
    "use_dualstack_endpoint",
    "use_fips_endpoint",
)
_LISTS = ("shared_credentials_files", "shared_config_files", "allowed_account_ids", "forbidden_account_ids")
SETTINGS = EncryptionArguments(
    {
        "kms_key_id": Setting(required=True),
        "key_spec": Setting(required=True),
        **{name: Setting() for name in _TEXTS},
        **{name: Setting(BOOL) for name in _FLAGS},
        **{name: Setting(_LIST, nullable=True) for name in _LISTS},
        "encryption_context": Setting(MapType(STRING), nullable=True),
        "max_retries": Setting(NUMBER),
        "http_proxy": Setting(nullable=True),
        "https_proxy": Setting(nullable=True),
        "skip_metadata_api_check": Setting(BOOL, nullable=True),
        "assume_role": Setting(ObjectType(_ROLE, frozenset(_ROLE)), nullable=True),
        "assume_role_with_web_identity": Setting(ObjectType(_WEB_ROLE, frozenset(_WEB_ROLE)), nullable=True),
    },
    {"endpoints": {"iam": Setting(), "sts": Setting()}},
)
_SPECS = ("AES_256", "AES_128")


@frozen(eq=False)
class AwsKms:
    service: Service
    key_id: str
    key_spec: str
    context: Mapping[str, str]

    def provide(self, metadata: Metadata | None) -> tuple[Keys, Metadata]:
        try:
            made = self._call("GenerateDataKey", self.context, KeyId=self.key_id, KeySpec=self.key_spec)
        except ServiceError as problem:
            raise ProviderError(f"failed to generate key: {problem.text}") from None
        encryption, blob = _bytes(made, "Plaintext"), _bytes(made, "CiphertextBlob")
        known = bytes_of(metadata, "ciphertext_blob") if metadata is not None else b""
        decryption = b""
        if known:
            try:
                context = metadata.get("encryption_context") if metadata is not None else None
                result = self._call(
                    "Decrypt",
                    context if isinstance(context, Mapping) else {},
                    KeyId=self.key_id,
                    CiphertextBlob=encode(known),
                )
            except ServiceError as problem:
                raise ProviderError(f"failed to decrypt key: {problem.text}") from None
            decryption = _bytes(result, "Plaintext")
        more = {"encryption_context": dict(self.context)} if self.context else {}
        return Keys(Key.of(encryption), Key.of(decryption)), {"ciphertext_blob": encode(blob), **more}

    def _call(self, operation: str, context: Mapping[str, str], **body: str) -> dict[str, object]:
        more = {"EncryptionContext": dict(context)} if context else {}
        return self.service.target(operation, "TrentService", {**body, **more}, "1.1")


def _bytes(answer: dict[str, object], name: str) -> bytes:
    try:
        return decode(str(answer[name]))
    except (KeyError, Base64Error):
        raise ProviderError(f"the response of KMS has no {name}") from None


def build(settings: Given) -> AwsKms:
    """The key provider with these settings. Raises ProviderError."""
    check_next(settings, "encryption_context")
    if not settings.get("kms_key_id"):
        raise ProviderError("no kms_key_id provided")
    spec = settings.get("key_spec")
    if not spec:
        raise ProviderError("no key_spec provided")
    if spec not in _SPECS:
        raise ProviderError(f"invalid key_spec {spec}, expected one of [{' '.join(_SPECS)}]")
    if settings.get("allowed_account_ids") and settings.get("forbidden_account_ids"):
        raise ProviderError(
            "conflicting config attributes: only allowed_account_ids or forbidden_account_ids can be specified, not "
            "both"
        )
    wrong: list[str] = []
    given = {**settings, "max_retries": settings.get("max_retries") or 5}
    try:
        aws = aws_of(given, os.environ, lambda title, detail: wrong.append(f"\n{title} : {detail}"))
        if not aws.region:
            raise ProviderError(
                'the "region" attribute or the "AWS_REGION" or "AWS_DEFAULT_REGION" environment variables must be set.'
            )
        if wrong:
            raise ProviderError("errors were encountered in aws kms configuration" + "".join(wrong))
        aws.check_account()
    except ServiceError as problem:
        raise ProviderError(f"errors were encountered in aws kms configuration\n{problem.text}") from None
    return AwsKms(aws.service("kms", "KMS"), settings["kms_key_id"], spec, settings.get("encryption_context") or {})
