"""`backend "kubernetes"`: states in secrets, locked by leases."""

from __future__ import annotations

import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from planner.foundation.clients.kube_config import Access, Plugin, from_files, in_cluster
from planner.foundation.clients.kubernetes import KubernetesApi, problem_of, with_static
from planner.foundation.values.schema import BlockSchema, NestedBlock
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import frozen
from planner.world.state.encryption_seal import Seal
from planner.world.state.lock import LockInfo, lock_info_of
from planner.world.state.remote.backend import RemoteBackend
from planner.world.state.remote.client import LockHeld, Payload, StateClient, VersionConflict, compress, decompress
from planner.world.state.settings import SettingsReading, flag, text, texts

SCHEMA = BlockSchema(
    {
        "secret_suffix": text(
            "Suffix used when creating the secret. The secret will be named in the format: "
            "`tfstate-{workspace}-{secret_suffix}`.",
            required=True,
        ),
        "labels": texts("Map of additional labels to be applied to the secret.", kind="map"),
        "namespace": text("Namespace to store the secret in."),
        "in_cluster_config": flag("Used to authenticate to the cluster from inside a pod."),
        "load_config_file": flag("Load local kubeconfig."),
        "host": text("The hostname (in form of URI) of Kubernetes master."),
        "username": text("The username to use for HTTP basic authentication when accessing the Kubernetes endpoint."),
        "password": text("The password to use for HTTP basic authentication when accessing the Kubernetes endpoint."),
        "insecure": flag("Whether server should be accessed without verifying the TLS certificate."),
        "client_certificate": text("PEM-encoded client certificate for TLS authentication."),
        "client_key": text("PEM-encoded client certificate key for TLS authentication."),
        "cluster_ca_certificate": text("PEM-encoded root certificates bundle for TLS authentication."),
        "config_paths": texts("A list of paths to kube config files. Can be set with KUBE_CONFIG_PATHS."),
        "config_path": text("Path to the kube config file. Can be set with KUBE_CONFIG_PATH."),
        "config_context": text("The context of the kube config file."),
        "config_context_auth_info": text("A user of the kube config file, instead of the context's user."),
        "config_context_cluster": text("A cluster of the kube config file, instead of the context's cluster."),
        "token": text("Token to authenticate a service account."),
    },
    {
        "exec": NestedBlock(
            BlockSchema(
                {
                    "api_version": text(required=True),
                    "command": text(required=True),
                    "env": texts(kind="map"),
                    "args": texts(),
                }
            ),
            max_items=1,
        )
    },
)
_INFO = "app.terraform.io/lock-info"
_MINE = "planner.world.state"  # a label of secrets that contain documents; its value identifies the state
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_ATTEMPTS = 8


@frozen(repr=False)
class Namespace:
    """A namespace of a cluster, and the names and labels of states in it."""

    api: KubernetesApi
    namespace: str
    suffix: str
    labels: Mapping[str, str]

    def secret(self, workspace: str) -> str:
        """The name of a workspace's secret. Raises ServiceError."""
        name = f"tfstate-{workspace}-{self.suffix}"
        wrong = []
        if len(name) > 253:
            wrong.append("must be no more than 253 characters")
        if not _NAME.fullmatch(name):
            wrong.append(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
                "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                f"'{_NAME.pattern}')"
            )
        if wrong:
            raise ServiceError(
                f"the secret name {name} is invalid, {','.join(wrong)}\nThis is a requirement for Kubernetes secret "
                "names. \nThe workspace name and key must adhere to Kubernetes naming conventions."
            )
        return name

    def path(self, kind: str, name: str = "") -> str:
        api = "api/v1" if kind == "secrets" else "apis/coordination.k8s.io/v1"
        return f"/{api}/namespaces/{quote(self.namespace, safe='')}/{kind}" + (f"/{name}" if name else "")

    def read(self, kind: str, name: str) -> dict[str, Any] | None:
        """An object of the cluster; None if it does not exist. Raises ServiceError."""
        answer = self.api.ask("GET", self.path(kind, name))
        if answer.status == 404:
            return None
        if answer.status == 409:
            raise problem_of(answer)
        result = answer.json()
        if not isinstance(result, dict) or not isinstance(result.get("metadata"), dict):
            raise ServiceError(f"the server did not return an object for {kind} {name}")
        return result

    def create(self, kind: str, body: dict[str, Any]) -> bool:
        """Create an object. Returns False if it already exists. Raises ServiceError."""
        answer = self.api.ask("POST", self.path(kind), body)
        if answer.status == 404:
            raise problem_of(answer)
        return answer.status != 409

    def replace(self, kind: str, body: dict[str, Any]) -> bool:
        """Replace an object. Returns False if another process has replaced or removed it. Raises ServiceError."""
        return self.api.ask("PUT", self.path(kind, body["metadata"]["name"]), body).status not in (404, 409)

    def remove(self, kind: str, name: str) -> None:
        """Remove an object if it exists. Raises ServiceError."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        answer = self.api.ask("DELETE", self.path(kind, name), body)
        if answer.status == 409:
            raise problem_of(answer)

    def list_items(self, selector: str) -> list[dict[str, Any]]:
        """The metadata of the secrets that match a label selector. Raises ServiceError."""
        answer = self.api.ask("GET", f"{self.path('secrets')}?labelSelector={quote(selector, safe='')}")
        if answer.status in (404, 409):
            raise problem_of(answer)
        items = answer.json().get("items") or []
        return [item["metadata"] for item in items if isinstance(item, dict) and isinstance(item.get("metadata"), dict)]


class KubernetesClient(StateClient):
    """The state in a secret. Its version is a digest of the content, because other programs may change labels."""

    def __init__(self, at: Namespace, workspace: str) -> None:
        self._at, self._workspace = at, workspace
        self._secret = at.secret(workspace)
        self._lease = f"lock-{self._secret}"
        self._held = ""
        self._is_deleted = False

    locks = True
    lock_path = ""
    has_place_beside = True

    @property
    def place(self) -> str:
        return f"kubernetes:{self._at.api.url.partition('://')[2]}/{self._at.namespace}/{self._secret}"

    def _labels(self) -> dict[str, str]:
        return {
            "app.kubernetes.io/managed-by": "terraform",
            "tfstate": "true",
            "tfstateSecretSuffix": self._at.suffix,
            "tfstateWorkspace": self._workspace,
            **self._at.labels,
        }

    # ------------------------------------------------------------ state

    def get(self) -> Payload | None:
        secret = self._at.read("secrets", self._secret)
        kept = _data(secret).get("tfstate") if secret is not None else None
        if not kept:
            return None
        return Payload(decompress(_decode(kept, self.place), self.place), _digest(kept))

    def put(self, data: bytes, before: str | None) -> str:
        kept = b64encode(compress(data)).decode("ascii")
        for _ in range(_ATTEMPTS):
            secret = self._at.read("secrets", self._secret)
            now = _data(secret).get("tfstate") if secret is not None else None
            if before is not None and before != (_digest(now) if now else ""):
                raise VersionConflict(f"the content of {self.place} has changed since it was read")
            if secret is None:
                metadata = {
                    "name": self._secret,
                    "namespace": self._at.namespace,
                    "labels": self._labels(),
                    "annotations": {"encoding": "gzip"},
                }
                body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"tfstate": kept}}
                if self._at.create("secrets", body):
                    return _digest(kept)
            else:
                secret["data"] = {**_data(secret), "tfstate": kept}
                if self._at.replace("secrets", secret):
                    return _digest(kept)
        raise ServiceError(f"other clients keep changing {self.place}", may_pass=True)

    def delete(self) -> None:
        self._remove("secrets", self._secret, "Secret")
        for item in self._at.list_items(f"{_MINE}={self._mark}"):
            self._at.remove("secrets", str(item.get("name")))
        if self._held:
            self._is_deleted = True  # unlocking removes the lease
        else:
            self._remove("leases", self._lease, "Lease")

    def _remove(self, kind: str, name: str, title: str) -> None:
        result = self._at.read(kind, name)
        if result is None:
            return
        if (result["metadata"].get("labels") or {}).get("tfstate") != "true":
            raise ServiceError(f'{title} does not have "tfstate" label')
        self._at.remove(kind, name)

    # ------------------------------------------------------------ lock

    def lock(self, info: LockInfo) -> LockInfo:
        info_text = info.to_json().decode()
        for _ in range(_ATTEMPTS):
            lease = self._at.read("leases", self._lease)
            if lease is None:
                metadata = {
                    "name": self._lease,
                    "namespace": self._at.namespace,
                    "labels": self._labels(),
                    "annotations": {_INFO: info_text},
                }
                body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
                done = self._at.create("leases", {**body, "spec": {"holderIdentity": info.id}})
            else:
                holder = _holder(lease)
                if holder == info.id:  # an earlier request of ours took the lock, but its response was lost
                    done = True
                elif holder is not None:
                    raise LockHeld("the state is already locked by another tofu client", _info(lease), may_wait=True)
                else:
                    done = self._at.replace("leases", _held_by(lease, info.id, info_text))
            if done:
                self._held = info.id
                return info
        raise ServiceError(f"other clients keep changing the lease {self._lease}", may_pass=True)

    def unlock(self, lock_id: str) -> None:
        self._held = ""
        for _ in range(_ATTEMPTS):
            lease = self._at.read("leases", self._lease)
            if lease is None or _holder(lease) is None:
                raise ServiceError("state is already unlocked")
            if _holder(lease) != lock_id:
                raise LockHeld(f'lock id "{lock_id}" does not match existing lock', _info(lease))
            if self._is_deleted:
                self._is_deleted = False
                return self._remove("leases", self._lease, "Lease")
            if self._at.replace("leases", _held_by(lease, None, "")):
                return None
        raise ServiceError(f"other clients keep changing the lease {self._lease}", may_pass=True)

    def force_unlock(self, lock_id: str) -> None:
        self.unlock(lock_id)

    def has_lock(self, lock_id: str) -> bool:
        lease = self._at.read("leases", self._lease)
        return lease is not None and _holder(lease) == lock_id

    def holder(self) -> LockInfo | None:
        lease = self._at.read("leases", self._lease)
        if lease is None or _holder(lease) is None:
            return None
        return _info(lease) or LockInfo(_holder(lease) or "", "", "", "", "", "", "")

    # ------------------------------------------------------------ documents next to the state

    @property
    def _mark(self) -> str:
        return sha256(self._secret.encode()).hexdigest()[:40]

    def _document(self, name: str) -> tuple[str, dict[str, Any] | None]:
        """The name of a document's secret, and the secret (None if it does not exist). Raises ServiceError if the
        secret is not a document."""
        whole = f"{self._secret}.{name.lower()}"
        result = self._at.read("secrets", whole)
        if result is not None and (result["metadata"].get("labels") or {}).get(_MINE) != self._mark:
            raise ServiceError(f"the secret {whole} has the name of a document of {self.place}, but is not one")
        return whole, result

    def get_beside(self, name: str) -> bytes | None:
        whole, item = self._document(name)
        return _decode(_data(item).get("document") or "", whole) if item is not None else None

    def put_beside(self, name: str, data: bytes) -> None:
        kept = {"document": b64encode(data).decode("ascii")}
        for _ in range(_ATTEMPTS):
            whole, item = self._document(name)
            if item is not None:
                item["data"] = kept
                done = self._at.replace("secrets", item)
            else:
                labels = {"app.kubernetes.io/managed-by": "planner", _MINE: self._mark}
                metadata = {"name": whole, "namespace": self._at.namespace, "labels": labels}
                done = self._at.create(
                    "secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": kept}
                )
            if done:
                return
        raise ServiceError(f"other clients keep changing the secret {whole}", may_pass=True)

    def delete_beside(self, name: str) -> None:
        whole, item = self._document(name)
        if item is not None:
            self._at.remove("secrets", whole)


def _data(secret: Mapping[str, Any] | None) -> dict[str, str]:
    entry = (secret or {}).get("data")
    return {str(k): str(v) for k, v in entry.items()} if isinstance(entry, dict) else {}


def _decode(kept: str, place: str) -> bytes:
    try:
        return b64decode(kept, validate=True)
    except ValueError:
        raise ServiceError(f"the content of {place} is not Base64") from None


def _digest(kept: str) -> str:
    return sha256(kept.encode()).hexdigest()


def _holder(lease: Mapping[str, Any]) -> str | None:
    holder = (lease.get("spec") or {}).get("holderIdentity")
    return None if holder is None else str(holder)


def _info(lease: Mapping[str, Any]) -> LockInfo | None:
    annotation = (lease["metadata"].get("annotations") or {}).get(_INFO)
    return lock_info_of(str(annotation).encode()) if annotation else None


def _held_by(lease: dict[str, Any], holder: str | None, message: str) -> dict[str, Any]:
    """The lease with a new holder (None for no holder) and the lock info `message`."""
    metadata, spec = dict(lease["metadata"]), dict(lease.get("spec") or {})
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _INFO}
    spec.pop("holderIdentity", None)
    if holder is not None:
        annotations[_INFO], spec["holderIdentity"] = message, holder
    return {**lease, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


class KubernetesBackend(RemoteBackend):
    """The `kubernetes` backend: states in secrets of a namespace."""

    type = "kubernetes"
    makes_empty = True

    def __init__(self, settings: Mapping[str, Any], seal: Seal, at: Namespace) -> None:
        super().__init__(settings, seal)
        self._at = at

    def client(self, workspace: str) -> KubernetesClient:
        return KubernetesClient(self._at, workspace)

    def names(self) -> list[str]:
        labels = [item.get("labels") or {} for item in self._at.list_items("tfstate=true")]
        names = [one.get("tfstateWorkspace") for one in labels if one.get("tfstateSecretSuffix") == self._at.suffix]
        return [str(name) for name in names if name]


def open(read: SettingsReading, seal: Seal) -> KubernetesBackend:
    """Open the backend. Settings that are not set come from the environment variables KUBE_*. Raises ServiceError if
    the settings do not determine the cluster."""
    suffix = read.required("secret_suffix")
    namespace = read.text("namespace", "KUBE_NAMESPACE", default="default")
    is_inside = read.flag("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG")
    read.flag("load_config_file", "KUBE_LOAD_CONFIG_FILE")
    static = {
        "host": read.text("host", "KUBE_HOST"),
        "user": read.text("username", "KUBE_USER"),
        "password": read.text("password", "KUBE_PASSWORD"),
        "insecure": read.flag("insecure", "KUBE_INSECURE"),
        "authorities": read.text("cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA"),
        "certificate": read.text("client_certificate", "KUBE_CLIENT_CERT_DATA"),
        "key": read.text("client_key", "KUBE_CLIENT_KEY_DATA"),
        "token": read.text("token", "KUBE_TOKEN"),
    }
    read.finish_check()
    for name in ("authorities", "certificate", "key"):
        if static[name] and "-----BEGIN" not in str(static[name]):
            setting = {
                "authorities": "cluster_ca_certificate",
                "certificate": "client_certificate",
                "key": "client_key",
            }
            read.wrong(f'"{setting[name]}": it must be a string in PEM format')
    context, user, cluster = (
        read.text("config_context", "KUBE_CTX"),
        read.text("config_context_auth_info", "KUBE_CTX_AUTH_INFO"),
        read.text("config_context_cluster", "KUBE_CTX_CLUSTER"),
    )
    path = read.text("config_path", "KUBE_CONFIG_PATH")
    paths = [path] if path else [str(one) for one in read.settings.get("config_paths") or ()]
    paths = paths or [one for one in os.environ.get("KUBE_CONFIG_PATHS", "").split(os.pathsep) if one]
    plugin = None
    for block in read.settings.get("exec") or ():
        variables = {name: value or "" for name, value in (block.get("env") or {}).items()}
        arguments = tuple(word or "" for word in block.get("args") or ())
        plugin = Plugin(block.get("api_version") or "", block.get("command") or "", arguments, variables)
    read.check()
    if is_inside:
        access: Access | None = in_cluster(os.environ)
    else:
        try:
            paths = [os.path.expanduser(one) for one in paths]
            access = from_files(paths, os.environ, context, user, cluster, plugin)
        except ServiceError as problem:
            raise ServiceError(f"Failed to initialize kubernetes configuration: {problem.text}") from None
    api = KubernetesApi(with_static(access or Access(), **static))
    place = Namespace(api, namespace, suffix, {k: v or "" for k, v in (read.settings.get("labels") or {}).items()})
    return KubernetesBackend(read.settings, seal, place)


def identity(settings: Mapping[str, Any], workspace: str, directory: str) -> str:
    """The identity of the state: the secret, in the cluster that the settings select."""
    where = settings.get("host") or os.environ.get("KUBE_HOST") or ""
    if not where:
        paths = [settings.get("config_path") or os.environ.get("KUBE_CONFIG_PATH")]
        paths = paths if paths[0] else settings.get("config_paths") or [os.environ.get("KUBE_CONFIG_PATHS")]
        files = [os.path.normpath(os.path.join(directory, os.path.expanduser(one))) for one in paths if one]
        chosen = [settings.get(f"config_context{part}") or "" for part in ("", "_auth_info", "_cluster")]
        where = json.dumps([files, *chosen])
    namespace = settings.get("namespace") or os.environ.get("KUBE_NAMESPACE") or "default"
    return f"kubernetes:{where}/{namespace}/{settings.get('secret_suffix') or ''}#{workspace}"
