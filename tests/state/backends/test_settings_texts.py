"""What is said about settings that are wrong, in the words of OpenTofu, and which state settings mean."""

from __future__ import annotations

import base64
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import planner.world.state.backends
from planner.foundation.clients.http import Http
from planner.foundation.values.types import DYNAMIC, STRING
from planner.foundation.values.value import Null
from planner.foundation.vocabulary.diagnostic import has_errors
from planner.world.provider.builtin import BuiltinProvider
from planner.world.state.backend import module_of, open_backend
from planner.world.state.backends.inmem import InMemory

MISSING = str(Path(__file__).with_name("missing"))
KEY = base64.b64encode(bytes(32)).decode()
TOKEN = {"bucket": "b", "access_token": "x"}
WRONG: list[tuple[str, dict[str, Any], dict[str, str], list[str]]] = [
    ("gcs", {}, {}, ['"bucket": required field is not set']),
    (
        "gcs",
        {"bucket": "b", "credentials": MISSING},
        {},
        ["the string provided in credentials is neither valid json nor a valid file path"],
    ),
    (
        "gcs",
        {"bucket": "b", "credentials": '{"x": 1}'},
        {},
        ["storage.NewClient() failed: dialing: credentials: unsupported unidentified file type"],
    ),
    (
        "gcs",
        {"bucket": "b"},
        {"GOOGLE_APPLICATION_CREDENTIALS": MISSING},
        [f"storage.NewClient() failed: dialing: open {MISSING}: no such file or directory"],
    ),
    (
        "gcs",
        TOKEN | {"encryption_key": "zz?"},
        {},
        ["Error decoding encryption key: illegal base64 data at input byte 2"],
    ),
    ("gcs", TOKEN, {"GOOGLE_ENCRYPTION_KEY": "/etc"}, ["Error loading encryption key: read /etc: is a directory"]),
    (
        "gcs",
        TOKEN | {"kms_encryption_key": "k"},
        {"GOOGLE_ENCRYPTION_KEY": KEY},
        [
            '"encryption_key": conflicts with kms_encryption_key',
            '"kms_encryption_key": conflicts with encryption_key',
        ],
    ),
]
_NAMES = "See documentation here: https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/"
_RULES = f"{_NAMES}resource-name-rules#microsoftstorage"
AZURE = {"storage_account_name": "acc", "container_name": "cont", "key": "k"}
WRONG += [
    (
        "azurerm",
        {},
        {},
        [f'"{name}": required field is not set' for name in ("container_name", "key", "storage_account_name")],
    ),
    (
        "azurerm",
        AZURE | {"storage_account_name": "A"},
        {},
        [
            "invalid storage account name: Azure requires a storage account name consists of 3-24 lowercase characters "
            f"and numbers only. {_RULES}"
        ],
    ),
    (
        "azurerm",
        AZURE | {"container_name": "co"},
        {},
        [
            "invalid storage container name: Azure requires a storage container name consists of 3-63 lowercase "
            f"characters, numbers, and hyphens only. It cannot start or end with a hyphen. {_RULES}"
        ],
    ),
    (
        "azurerm",
        AZURE | {"container_name": "co--nt"},
        {},
        [f"invalid storage container name: Hyphens in a storage container name must be nonconsecutive. {_RULES}"],
    ),
    ("azurerm", AZURE | {"environment": "mars"}, {}, ["unknown environment identifier: mars"]),
    (
        "azurerm",
        AZURE | {"environment": "public"},
        {"ARM_METADATA_HOST": "h"},
        ['"environment": conflicts with metadata_host', '"metadata_host": conflicts with environment'],
    ),
    (
        "azurerm",
        AZURE | {"customer_provided_key": "zz?", "encryption_scope": "s"},
        {},
        [
            '"customer_provided_key": conflicts with encryption_scope',
            '"encryption_scope": conflicts with customer_provided_key',
        ],
    ),
    (
        "azurerm",
        AZURE | {"customer_provided_key": "YWJj"},
        {},
        ["CPK: Key must be 32 bytes (AES-256), got 3 bytes"],
    ),
    (
        "azurerm",
        AZURE,
        {"ARM_TIMEOUT_SECONDS": "-3", "ARM_ACCESS_KEY": KEY},
        ["timeout_seconds expected to be a non-negative integer"],
    ),
    (
        "azurerm",
        AZURE,
        {"ARM_TIMEOUT_SECONDS": "x", "ARM_USE_CLI": "maybe"},
        [
            'error setting default for "timeout_seconds": a number is required',
            'error setting default for "use_cli": a bool is required',
        ],
    ),
    (
        "azurerm",
        AZURE | {"access_key": "zz?"},
        {},
        ["error creating credential from shared access key: decode account key: illegal base64 data at input byte 2"],
    ),
    (
        "azurerm",
        AZURE | {"tenant_id": "t", "client_id": "c", "client_secret": "s"},
        {},
        ["Resource Group is empty", "Subscription ID is empty"],
    ),
    (
        "azurerm",
        AZURE | {"use_cli": False, "endpoint": "e"},
        {},
        [
            '"endpoint": [DEPRECATED] This variable is unused and does not affect any execution. Please use '
            "environment or metadata host instead.",
            *["Invalid Azure Client Certificate Auth"] * 3,
            *["Invalid Azure Client Secret Auth"] * 3,
            "Invalid Azure DevOps Auth",
            "Invalid Azure OpenID Connect Auth",
            "Invalid Azure Managed Service Identity Auth",
            "Invalid AKS Workload Identity Auth",
            "Invalid Azure Command Line Auth",
            "No valid azure auth methods found",
        ],
    ),
]
WRONG += [
    (
        "oss",
        {"prefix": "/x", "key": "/k", "acl": "x", "assume_role_session_expiration": 3},
        {},
        [
            '"bucket": required field is not set',
            "workspace_key_prefix must not start with '/' or './'",
            "key can not start and end with '/'",
            '"acl" must be a valid ACL value , expected private, public-read or public-read-write, got "x"',
            "expected assume_role_session_expiration to be in the range (900 - 3600), got 3",
        ],
    ),
    (
        "oss",
        {"bucket": "b", "assume_role": [{"role_arn": "r", "session_expiration": 5}]},
        {},
        ["expected assume_role.0.session_expiration to be in the range (900 - 3600), got 5"],
    ),
    ("oss", {"bucket": "b", "tablestore_table": "t"}, {}, ['"tablestore_table": needs "tablestore_endpoint"']),
    (
        "cos",
        {"bucket": "b", "prefix": "./x", "key": "k/", "acl": "x"},
        {},
        [
            '"region": required field is not set',
            "acl value invalid, expected private or public-read, got x",
            "key can not start and end with '/'",
            "prefix must not start with '/' or './'",
        ],
    ),
    (
        "cos",
        {"bucket": "b", "assume_role": [{"session_duration": 50000}]},
        {"TENCENTCLOUD_REGION": "r", "TENCENTCLOUD_ASSUME_ROLE_ARN": "a"},
        [
            '"assume_role.0.session_name": required field is not set',
            '"assume_role.0.session_duration" cannot be higher than 43200: 50000',
        ],
    ),
]
TFE = {"hostname": "h", "organization": "o"}
STATES: list[tuple[str, dict[str, Any], str, str]] = [
    ("consul", {"path": "tf/x"}, "default", "consul:127.0.0.1:8500/tf/x"),
    ("consul", {"path": "x", "address": "https://c/p", "datacenter": "d"}, "w", "consul:c/p@d/x-env:w"),
    (
        "kubernetes",
        {"secret_suffix": "s", "host": "https://k", "config_path": "/none"},
        "w",
        "kubernetes:k/default/tfstate-w-s",
    ),
    ("remote", TFE | {"workspaces": {"name": "n"}}, "default", "h/o/n"),
    ("remote", TFE | {"workspaces": {"prefix": "p-"}}, "w", "h/o/p-w"),
    ("cloud", TFE | {"workspaces": {"name": "n"}}, "n", "h/o/n"),
    ("cloud", TFE | {"workspaces": {"tags": ["t"]}}, "w", "h/o/w"),
    ("gcs", TOKEN, "default", "gs://b/default.tfstate"),
    ("gcs", TOKEN | {"prefix": "/a//b"}, "w", "gs://b/a/b/w.tfstate"),
    ("azurerm", AZURE | {"access_key": KEY}, "default", "https://acc.blob.core.windows.net/cont/k"),
    (
        "azurerm",
        AZURE | {"sas_token": "?sig=x", "environment": "china"},
        "w",
        "https://acc.blob.core.chinacloudapi.cn/cont/kenv:w",
    ),
    ("cos", {"bucket": "b", "region": "r"}, "default", "cos://b/terraform.tfstate"),
    ("cos", {"bucket": "b", "region": "r", "prefix": "p", "key": "k"}, "w", "cos://b/p/w/k"),
    ("oss", {"bucket": "b", "endpoint": "e"}, "default", "oss://b/env:/terraform.tfstate"),
    ("oss", {"bucket": "b", "endpoint": "e", "prefix": "p/", "key": "k"}, "w", "oss://b/p/w/k"),
    ("gcs", TOKEN | {"prefix": "a/"}, "default", "gs://b/a/default.tfstate"),
]

WRONG += [("http", {"address": "http://[::1/x"}, {}, ["failed to parse address: Invalid IPv6 URL"])]

WRONG += [("http", {"address": "http://h", "lock_method": "L K\r\n"}, {}, ['invalid method "L K\\r\\n"'])]
WRONG += [
    ("http", {"address": "http://h", "retry_max": number}, {}, ["Invalid backend configuration"])
    for number in (1.5, float("inf"), 10**400)
]


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variables of this machine."""
    import os

    for name in list(os.environ):
        if name.startswith(("GOOGLE_", "ARM_", "AZURE_", "ALICLOUD_", "OSS_", "TENCENTCLOUD_", "STORAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(("kind", "settings", "environment", "texts"), WRONG)
def test_wrong_settings(
    kind: str,
    settings: dict[str, Any],
    environment: dict[str, str],
    texts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    backend, problems = open_backend(kind, settings)
    assert backend is None and [problem.summary for problem in problems] == texts


@pytest.mark.parametrize(("kind", "settings", "workspace", "place"), STATES)
def test_states(kind: str, settings: dict[str, Any], workspace: str, place: str) -> None:
    backend, problems = open_backend(kind, settings)
    assert backend is not None and not problems
    assert backend.store(workspace).place == place


@pytest.mark.parametrize(("kind", "settings"), sorted({kind: given for kind, given, _, _ in STATES}.items()))
def test_identities(kind: str, settings: dict[str, Any]) -> None:
    """A state has a name of its own, without secrets."""
    identity = module_of(kind).identity
    assert identity(settings, "default", ".") != identity(settings, "other", ".")
    secrets = {"access_token": "cHJpdmF0ZQ==", "access_key": "cHJpdmF0ZQ==", "secret_key": "cHJpdmF0ZQ=="}
    assert "cHJpdmF0ZQ" not in identity({**settings, **secrets}, "default", ".")


ENOUGH: dict[str, dict[str, Any]] = {
    "azurerm": {"storage_account_name": "No Name", "container_name": "c", "key": "k"},
    "cloud": {"organization": "o", "workspaces": {"name": "w"}},
    "consul": {"path": "/p"},
    "cos": {"bucket": "b", "region": "r", "assume_role": ({"role_arn": "a", "session_name": "s"},)},
    "gcs": {"bucket": "b", "credentials": MISSING},
    "http": {"address": "ftp://nowhere", "headers": {"content-type": "x"}},
    "inmem": {"lock_id": "held"},
    "kubernetes": {"secret_suffix": "s", "config_path": MISSING, "client_key": "no PEM"},
    "local": {},
    "oss": {"bucket": "b", "assume_role_role_arn": "a", "tablestore_table": "t"},
    "pg": {},
    "remote": {"organization": "o", "workspaces": {"name": "w"}},
    "s3": {"bucket": "b", "key": "k", "region": "nowhere", "sse_customer_key": "short"},
}
"""settings that OpenTofu accepts while it validates, of each type; most would fail to connect"""


def test_each_type_is_checked_without_connecting() -> None:
    assert sorted(ENOUGH) == sorted(module.name for module in iter_modules(planner.world.state.backends.__path__))


@pytest.mark.parametrize(("kind", "settings"), ENOUGH.items())
def test_a_check_neither_connects_nor_looks_for_credentials(
    kind: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(InMemory, "kept", {})
    monkeypatch.setattr(Http, "ask", lambda *given, **_: asked.append(str(given)))
    assert open_backend(kind, settings, only_check=True) == (None, [])
    assert asked == []
    assert InMemory.kept == {}, "a workspace was locked"
    nothing = dict.fromkeys(("outputs", "defaults"), Null(DYNAMIC))
    config = {"backend": kind, "config": settings, "workspace": Null(STRING), **nothing}
    assert BuiltinProvider().validate_resource("data", "terraform_remote_state", config) == []


@pytest.mark.parametrize(
    "kind", sorted({"azurerm", "cloud", "consul", "cos", "gcs", "http", "kubernetes", "oss", "s3"})
)
def test_a_check_reports_what_is_missing(kind: str) -> None:
    backend, problems = open_backend(kind, {}, only_check=True)
    assert backend is None
    assert has_errors(problems)


@pytest.mark.parametrize("path", ["a\0b", "a\ud800"])
def test_characters_that_no_name_has(path: str) -> None:
    for kind, setting in (("local", "path"), ("s3", "key"), ("http", "address")):
        backend, problems = open_backend(kind, {setting: path})
        assert backend is None
        assert "it has characters that are not allowed in names" in problems[0].detail


def test_fractions_in_settings() -> None:
    backend, _ = open_backend("local", {"path": 1.5})
    assert backend is not None
    assert backend.settings["path"] == "1.5"
    for value in (1.5, float("inf")):
        assert open_backend("http", {"address": "http://a", "retry_max": value})[1]
