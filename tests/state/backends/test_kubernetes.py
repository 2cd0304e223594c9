"""Kubernetes: what stands in secrets and leases, who may ask, names that are none."""

from __future__ import annotations

import gzip
import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from state.backends.servers import HERE, SERVERS, answer, free_port, kube_config, started, stop

from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.world.state.backend import DEFAULT_WORKSPACE, open_backend
from planner.world.state.backends.kubernetes import KubernetesBackend
from planner.world.state.lock import new_lock_info
from planner.world.state.remote.client import LockHeld

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases/"
SECRETS = "/api/v1/namespaces/default/secrets/"


def opened(**more: Any) -> tuple[KubernetesBackend, dict[str, Any]]:
    settings = {**SERVERS["kubernetes"]().settings(), **more}
    backend, problems = open_backend("kubernetes", settings)
    assert isinstance(backend, KubernetesBackend) and not problems
    return backend, settings


def kept(settings: dict[str, Any], path: str, body: Any = None) -> dict[str, Any]:
    url = json.loads(Path(settings["config_path"]).read_text())["clusters"][0]["cluster"]["server"]
    data = json.dumps(body).encode() if body is not None else None
    found: dict[str, Any] = json.loads(answer(f"{url}{path}", data, "GET" if body is None else "PUT"))
    return found


def test_a_secret_as_others_see_it() -> None:
    backend, settings = opened(labels={"team": "x", "tfstateWorkspace": "y"})
    one = backend.client(DEFAULT_WORKSPACE)
    one.put(b'{"version": 4}\n', "")
    secret = kept(settings, f"{SECRETS}tfstate-default-{settings['secret_suffix']}")
    assert secret["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "terraform",
        "team": "x",
        "tfstate": "true",
        "tfstateSecretSuffix": settings["secret_suffix"],
        "tfstateWorkspace": "y",
    }
    assert secret["metadata"]["annotations"] == {"encoding": "gzip"}
    assert gzip.decompress(b64decode(secret["data"]["tfstate"])) == b'{"version": 4}\n'


def test_what_others_put_on_a_secret_stays() -> None:
    backend, settings = opened()
    one = backend.client(DEFAULT_WORKSPACE)
    version = one.put(b"{}\n", "")
    path = f"{SECRETS}tfstate-default-{settings['secret_suffix']}"
    secret = kept(settings, path)
    secret["metadata"]["labels"]["of"] = "others"
    kept(settings, path, secret)
    one.put(b'{"a": 1}\n', version)  # its version is another one, the state is not
    assert kept(settings, path)["metadata"]["labels"]["of"] == "others"


def test_a_lease_as_others_see_it() -> None:
    backend, settings = opened()
    one, other = backend.client(DEFAULT_WORKSPACE), backend.client(DEFAULT_WORKSPACE)
    info = new_lock_info("OperationTypeApply", one.lock_path)
    one.lock(info)
    one.lock(info)  # a request whose answer got lost
    path = f"{LEASES}lock-tfstate-default-{settings['secret_suffix']}"
    lease = kept(settings, path)
    assert lease["spec"] == {"holderIdentity": info.id}
    assert lease["metadata"]["annotations"] == {"app.terraform.io/lock-info": info.to_json().decode()}
    assert lease["metadata"]["labels"]["tfstate"] == "true"
    with pytest.raises(LockHeld) as held:
        other.force_unlock("x")
    assert held.value.text == 'lock id "x" does not match existing lock' and held.value.info == info
    with pytest.raises(LockHeld, match=r"^the state is already locked by another tofu client$"):
        other.lock(new_lock_info("OperationTypePlan", ""))
    one.unlock(info.id)
    lease = kept(settings, path)
    assert not lease["spec"] and not lease["metadata"]["annotations"]
    with pytest.raises(ServiceError, match=r"^state is already unlocked$"):
        other.force_unlock(info.id)


def test_a_state_that_is_deleted_leaves_nothing() -> None:
    backend, settings = opened()
    backend.create_workspace("w")
    one = backend.client("w")
    one.put_beside("planner.journal", b"{}")
    info = one.lock(new_lock_info("OperationTypeApply", ""))
    one.delete()
    assert one.has_lock(info.id)
    one.unlock(info.id)
    for path in (
        f"{SECRETS}tfstate-w-{settings['secret_suffix']}",
        f"{LEASES}lock-tfstate-w-{settings['secret_suffix']}",
    ):
        for end in ("", ".planner.journal"):
            with pytest.raises(OSError, match="404"):
                kept(settings, path + end)


def test_secrets_of_others_are_not_deleted() -> None:
    backend, settings = opened(labels={"tfstate": "false"})
    one = backend.client(DEFAULT_WORKSPACE)
    one.put(b"{}\n", "")
    with pytest.raises(ServiceError, match='Secret does not have "tfstate" label'):
        one.delete()
    name = f"tfstate-default-{settings['secret_suffix']}"
    other, _ = opened(secret_suffix=f"{settings['secret_suffix']}.planner.journal")
    other.client(DEFAULT_WORKSPACE).put(b"{}\n", "")
    with pytest.raises(ServiceError, match=rf"the secret {name}.planner.journal has the name"):
        one.get_beside("planner.journal")


def test_states_that_are_too_large() -> None:
    import random

    backend, _ = opened()
    one = backend.client(DEFAULT_WORKSPACE)
    with pytest.raises(ServiceError, match="Too long"):
        one.put(random.Random(1).randbytes(1_200_000), "")


@pytest.mark.parametrize("name", ["A", "a_b", "a" * 250])
def test_names_that_are_none(name: str) -> None:
    backend, _ = opened()
    with pytest.raises(ServiceError, match=r"the secret name .* is invalid, "):
        backend.client(name)


def test_a_token(tmp_path: Path) -> None:
    port = free_port()
    process = started([sys.executable, str(HERE / "kube_server.py"), str(port), "secret"], port)
    try:
        path = tmp_path / "config"
        path.write_text(kube_config(f"http://127.0.0.1:{port}"), "utf-8")
        settings = {"secret_suffix": "x", "config_path": str(path)}
        backend, _ = open_backend("kubernetes", settings)
        assert isinstance(backend, KubernetesBackend)
        with pytest.raises(ServiceError, match=r"^Unauthorized$"):
            backend.workspaces()
        backend, _ = open_backend("kubernetes", {**settings, "token": "secret"})
        assert isinstance(backend, KubernetesBackend) and backend.workspaces() == ["default"]
        script = "import json; print(json.dumps({'apiVersion': 'v', 'status': {'token': 'secret'}}))"
        version = "client.authentication.k8s.io/v1"
        block = {
            "api_version": version,
            "command": sys.executable,
            "args": ["-c", script.replace("'v'", repr(version))],
        }
        backend, _ = open_backend("kubernetes", {**settings, "exec": [block]})
        assert isinstance(backend, KubernetesBackend) and backend.workspaces() == ["default"]
        url = f"http://127.0.0.1:{port}"
        missing = {"secret_suffix": "x", "config_path": str(tmp_path / "none"), "host": url, "token": "secret"}
        backend, _ = open_backend("kubernetes", missing)
        assert isinstance(backend, KubernetesBackend) and backend.workspaces() == ["default"]
    finally:
        stop(process)


def test_a_host_alone() -> None:
    backend, problems = open_backend("kubernetes", {"secret_suffix": "x", "host": "http://x"})
    assert backend is None
    assert problems[0].detail == (
        "Failed to initialize kubernetes configuration: invalid configuration: no configuration has been provided, "
        "try setting KUBERNETES_MASTER environment variable"
    )


def test_a_certificate_that_is_a_path() -> None:
    _, problems = open_backend("kubernetes", {"secret_suffix": "x", "client_key": "key.pem"})
    assert problems[0].summary == '"client_key": it must be a string in PEM format'
