"""Kubeconfig files: contexts, several files, what is wrong with them, programs that give credentials."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from planner.foundation.clients.kube_config import Access, Plugin, from_files, in_cluster
from planner.foundation.clients.kubernetes import KubernetesApi
from planner.foundation.vocabulary.diagnostic import ServiceError

TWO = """
current-context: one
contexts:
- {name: one, context: {cluster: a, user: u, namespace: ignored}}
- {name: two, context: {cluster: b, user: v}}
- {name: lost, context: {cluster: c, user: u}}
clusters:
- {name: a, cluster: {server: "https://a:6443", certificate-authority: ca.pem, tls-server-name: n}}
- {name: b, cluster: {server: "https://b", insecure-skip-tls-verify: true, proxy-url: "http://p:1"}}
- {name: none, cluster: {}}
users:
- {name: u, user: {token: t}}
- {name: v, user: {username: n, password: p, as: other}}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n", "utf-8")
    (tmp_path / "config").write_text(TWO, "utf-8")
    return str(tmp_path / "config")


def read(*paths: str, **more: Any) -> Access:
    found = from_files(paths, {}, **more)
    assert found is not None
    return found


def test_the_current_context(config: str, tmp_path: Path) -> None:
    authorities = str(tmp_path / "ca.pem")
    assert read(config) == Access("https://a:6443", authorities, server_name="n", token="t")


def test_another_context_user_and_cluster(config: str) -> None:
    two = Access("https://b", insecure=True, proxy="http://p:1", user="n", password="p")
    assert read(config, context="two") == Access(
        two.host, insecure=True, proxy=two.proxy, user="n", password="p", acting_as={"Impersonate-User": "other"}
    )
    assert read(config, context="two", user="u").token == "t"
    assert read(config, cluster="b").host == "https://b"


def test_the_first_of_several_files_counts(config: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(
        json.dumps(
            {
                "current-context": "two",
                "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
                "users": [{"name": "u", "user": {"token": "other"}}],
            }
        ),
        "utf-8",
    )
    found = read(config, str(other), str(tmp_path / "missing"), context="lost")
    assert (found.host, found.token) == ("https://c", "t")
    assert read(str(other), config).host == "https://b"


def test_one_file_that_is_missing_says_nothing(tmp_path: Path) -> None:
    assert from_files([str(tmp_path / "missing")], {}) is None


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"context": "x"}, 'context "x" does not exist'),
        ({"user": "x"}, 'auth info "x" does not exist'),
        ({"cluster": "x"}, 'cluster "x" does not exist'),
        ({"context": "lost"}, 'cluster "c" does not exist'),
        (
            {"cluster": "none"},
            "invalid configuration: no configuration has been provided, "
            "try setting KUBERNETES_MASTER environment variable",
        ),
    ],
)
def test_names_that_are_missing(config: str, more: dict[str, str], text: str) -> None:
    with pytest.raises(ServiceError) as problem:
        read(config, **more)
    assert problem.value.text == text


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ({"client-certificate": "/nowhere"}, "client-key-data or client-key must be specified for u"),
        ({"client-certificate": "/nowhere", "client-key": "k"}, "unable to read client-cert /nowhere for u due to"),
        ({"client-key-data": "%"}, "client-key-data of u is not PEM text encoded as Base64"),
        ({"token": "t", "password": "p"}, "more than one authentication method found for u"),
        ({"auth-provider": {"name": "gcp"}}, 'the auth-provider of user "u" is not supported'),
        ({"exec": {"command": "x"}}, "apiVersion must be specified for u to use exec authentication plugin"),
        ({"as-groups": ["g"]}, 'groups and extras that user "u" acts as are not supported'),
    ],
)
def test_users_that_cannot_be_used(tmp_path: Path, user: dict[str, Any], text: str) -> None:
    path = tmp_path / "config"
    cluster = [{"name": "k", "cluster": {"server": "http://x"}}]
    contexts = [{"name": "c", "context": {"cluster": "k", "user": "u"}}]
    whole = {"current-context": "c", "contexts": contexts, "clusters": cluster, "users": [{"name": "u", "user": user}]}
    path.write_text(json.dumps(whole), "utf-8")
    with pytest.raises(ServiceError) as problem:
        read(str(path))
    assert text in problem.value.text


@pytest.mark.parametrize("text", ["[", "- a", "clusters: 1", "clusters: [1]", "users: [{name: u, user: 1}]"])
def test_files_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, "utf-8")
    with pytest.raises(ServiceError, match=str(path)):
        read(str(path))


def test_certificates_in_the_file(tmp_path: Path) -> None:
    text = "-----BEGIN CERTIFICATE-----\n"
    data = b64encode(text.encode()).decode()
    path = tmp_path / "config"
    cluster = {"server": "https://x", "certificate-authority-data": data}
    user = {"client-certificate-data": data, "client-key-data": data}
    whole = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(whole), "utf-8")
    found = read(str(path))
    assert (found.authorities, found.certificate, found.key) == (text, text, text)


def test_nothing_at_all() -> None:
    with pytest.raises(ServiceError, match="no configuration has been provided"):
        from_files([], {})


def test_inside_a_cluster(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ServiceError, match="unable to load in-cluster configuration"):
        in_cluster({}, str(tmp_path))
    with pytest.raises(ServiceError, match=r"token: no such file or directory"):
        in_cluster(environ, str(tmp_path))
    (tmp_path / "token").write_text("t\n", "utf-8")
    (tmp_path / "ca.crt").write_text("ca", "utf-8")
    found = in_cluster(environ, str(tmp_path))
    assert (found.host, found.authorities) == ("https://10.0.0.1:443", str(tmp_path / "ca.crt"))
    assert found.token_file == str(tmp_path / "token")


VERSION = "client.authentication.k8s.io/v1"


def plugin(tmp_path: Path, answer: str, code: int = 0, version: str = VERSION) -> Plugin:
    script = tmp_path / "plugin.py"
    script.write_text(
        "import os, sys\n"
        f"open({str(tmp_path / 'asked')!r}, 'a').write(os.environ['KUBERNETES_EXEC_INFO'] + '\\n')\n"
        f"print({answer!r})\nsys.exit({code})\n",
        "utf-8",
    )
    return Plugin(version, sys.executable, (str(script),), {"A": "b"})


def credentials(given: Plugin) -> dict[str, str]:
    return KubernetesApi(Access("http://x", plugin=given))._credentials()


def test_a_plugin(tmp_path: Path) -> None:
    said = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "t"}}
    api = KubernetesApi(Access("http://x", plugin=plugin(tmp_path, json.dumps(said))))
    assert api._credentials() == {"Authorization": "Bearer t"} == api._credentials()
    (asked,) = (tmp_path / "asked").read_text().splitlines()  # once
    assert json.loads(asked) == {"kind": "ExecCredential", "apiVersion": VERSION, "spec": {"interactive": False}}


def test_what_a_plugin_gave_expires(tmp_path: Path) -> None:
    status = {"token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    given = plugin(tmp_path, json.dumps({"apiVersion": VERSION, "status": status}))
    api = KubernetesApi(Access("http://x", plugin=given))
    api._credentials()
    api._credentials()
    assert len((tmp_path / "asked").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ("{}", 0, "exec plugin didn't return a status field"),
        ("no", 0, "decoding stdout"),
        (json.dumps({"apiVersion": VERSION, "status": {}}), 0, "didn't return a token or cert/key pair"),
        (json.dumps({"apiVersion": "x", "status": {}}), 0, "plugin returned version x"),
        (
            json.dumps({"apiVersion": VERSION, "status": {"clientKeyData": "k"}}),
            0,
            "exec plugin returned only certificate or key, not both",
        ),
        ("", 3, "failed with exit code 3"),
    ],
)
def test_plugins_that_fail(tmp_path: Path, answer: str, code: int, text: str) -> None:
    with pytest.raises(ServiceError, match=text):
        credentials(plugin(tmp_path, answer, code))


def test_a_plugin_that_is_missing() -> None:
    with pytest.raises(ServiceError, match=r"exec: executable /nowhere/x not found\n\ninstall it"):
        credentials(Plugin(VERSION, "/nowhere/x", hint="install it"))
    with pytest.raises(ServiceError, match='exec plugin: invalid apiVersion "v0"'):
        credentials(Plugin("v0", "x"))


def test_settings_that_exclude_each_other() -> None:
    with pytest.raises(ServiceError, match="specifying a root certificates file with the insecure flag"):
        KubernetesApi(Access("https://x", authorities="ca.pem", insecure=True))
    with pytest.raises(ServiceError, match="username/password or bearer token may be set, but not both"):
        KubernetesApi(Access("https://x", token="t", user="u"))


@pytest.mark.parametrize(
    ("access", "url"),
    [
        (Access(), "http://localhost"),
        (Access("x:1"), "http://x:1"),
        (Access("x", insecure=True), "https://x"),
        (Access("https://x/p/"), "https://x/p"),
    ],
)
def test_urls(access: Access, url: str) -> None:
    assert KubernetesApi(access).url == url
