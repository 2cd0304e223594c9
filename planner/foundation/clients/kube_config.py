"""The address of a Kubernetes API server and credentials for it, from kubeconfig files or from inside a pod.

Files are merged, and problems reported, as in Kubernetes' own programs: the first of several entries with the same name
is used."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from planner.foundation.support.disk import read_text, read_whole
from planner.foundation.vocabulary.diagnostic import ServiceError
from planner.foundation.vocabulary.records import evolve, frozen

POD = "/var/run/secrets/kubernetes.io/serviceaccount"
_LARGEST = 1 << 24  # the maximum size of a file, in bytes
_NO_CLUSTER = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
_NOTHING = "no configuration has been provided, try setting KUBERNETES_MASTER environment variable"


@frozen(repr=False)
class Plugin:
    """A program that returns credentials (`exec` in kubeconfig files). `cluster`: data about the cluster that is passed
    to the program, or None."""

    version: str
    command: str
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    cluster: Mapping[str, Any] | None = None
    hint: str = ""


@frozen(repr=False)
class Access:
    """A server and credentials for it. Certificates and keys are PEM texts or files. `token_file` is read again
    regularly, because Kubernetes replaces the token in it before it expires."""

    host: str = ""
    authorities: str = ""
    insecure: bool = False
    server_name: str = ""
    proxy: str = ""
    certificate: str = ""
    key: str = ""
    token: str = ""
    token_file: str = ""
    user: str = ""
    password: str = ""
    plugin: Plugin | None = None
    acting_as: Mapping[str, str] = {}  # headers for impersonating another user


def in_cluster(environ: Mapping[str, str], folder: str = POD) -> Access:
    """The API server and credentials that Kubernetes provides to a pod. Raises ServiceError."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ServiceError(_NO_CLUSTER)
    token = os.path.join(folder, "token")
    try:
        read_text(token)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ServiceError(f"open {token}: {str(reason)[:1].lower()}{str(reason)[1:]}") from None
    authorities = os.path.join(folder, "ca.crt")
    shown = f"[{host}]" if ":" in host else host
    return Access(f"https://{shown}:{port}", authorities if os.path.exists(authorities) else "", token_file=token)


def from_files(
    paths: Iterable[str],
    environ: Mapping[str, str],
    context: str = "",
    user: str = "",
    cluster: str = "",
    plugin: Plugin | None = None,
) -> Access | None:
    """The server and credentials of a context in kubeconfig files, by default the current context. `user` and `cluster`
    replace the user and the cluster of the context; `plugin` replaces the credentials. If nothing is configured, the
    result is the server and credentials that Kubernetes provides to this pod. None if `paths` has only one path, and
    this file does not exist. Raises ServiceError."""
    paths = list(paths)
    if len(paths) == 1 and not os.path.exists(paths[0]):
        return None
    merged = _merge([path for path in paths if os.path.exists(path)])
    if not any(merged.values()) and plugin is None and not (context or user or cluster):
        if environ.get("KUBERNETES_SERVICE_HOST") and os.path.exists(os.path.join(POD, "token")):
            return in_cluster(environ)
        raise _invalid([_NOTHING])
    wanted = context or merged["current-context"]
    contexts, clusters, users = merged["contexts"], merged["clusters"], merged["users"]
    if wanted and wanted not in contexts:
        if context or user or cluster or plugin is not None or contexts:
            raise ServiceError(f'context "{wanted}" does not exist')
        raise ServiceError(f"context was not found for specified context: {wanted}")
    chosen = contexts.get(wanted, {})
    user, cluster = user or _text(chosen, "user"), cluster or _text(chosen, "cluster")
    if user and user not in users and plugin is None:
        raise ServiceError(f'auth info "{user}" does not exist')
    if cluster and cluster not in clusters:
        raise ServiceError(f'cluster "{cluster}" does not exist')
    if not clusters.get(cluster):
        raise _invalid([_NOTHING])
    return _user_access(
        _cluster_access(clusters[cluster], cluster), users.get(user, {}), user, plugin, clusters[cluster]
    )


def _merge(paths: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {"current-context": "", "contexts": {}, "clusters": {}, "users": {}}
    for path in paths:
        read = _read(path)
        result["current-context"] = result["current-context"] or _text(read, "current-context")
        for kind, inner in (("contexts", "context"), ("clusters", "cluster"), ("users", "user")):
            for item in read.get(kind) or []:
                if not isinstance(item, dict) or not isinstance(item.get(inner) or {}, dict):
                    raise ServiceError(f"{path}: {kind} must be a list of entries, each with a name and its {inner}")
                file = _resolve_paths(item.get(inner) or {}, os.path.dirname(os.path.abspath(path)))
                result[kind].setdefault(str(item.get("name", "")), file)
    return result


def _read(path: str) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = read_whole(path)
        if len(data) > _LARGEST:
            raise ServiceError(f"{path} is larger than {_LARGEST >> 20} MiB")
        read = yaml.load(data, loader)  # `loader` is a safe loader
    except ServiceError:
        raise
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as problem:
        reason = getattr(problem, "strerror", None) or " ".join(str(problem).split())
        raise ServiceError(f'error loading config file "{path}": {reason}') from None
    if not isinstance(read or {}, dict):
        raise ServiceError(f'error loading config file "{path}": it is not a mapping')
    for kind in ("contexts", "clusters", "users"):
        if not isinstance((read or {}).get(kind) or [], list):
            raise ServiceError(f'error loading config file "{path}": {kind} is not a list')
    return read or {}


def _resolve_paths(body: dict[str, Any], folder: str) -> dict[str, Any]:
    result = dict(body)
    for name in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
        if _text(body, name):
            result[name] = os.path.normpath(os.path.join(folder, _text(body, name)))
    plugin = body.get("exec")
    if isinstance(plugin, dict):
        command = _text(plugin, "command")
        if "/" in command:
            result["exec"] = {**plugin, "command": os.path.normpath(os.path.join(folder, command))}
    return result


def _cluster_access(cluster: Mapping[str, Any], name: str) -> Access:
    server = _text(cluster, "server")
    if not server:
        raise _invalid([f'no server found for cluster "{name}"'])
    authorities = _data(cluster, "certificate-authority-data", name) or _text(cluster, "certificate-authority")
    _readable(authorities, f"certificate-authority {authorities} for {name}")
    insecure = cluster.get("insecure-skip-tls-verify") is True
    return Access(server, authorities, insecure, _text(cluster, "tls-server-name"), _text(cluster, "proxy-url"))


def _user_access(
    where: Access, user: Mapping[str, Any], name: str, plugin: Plugin | None, cluster: Mapping[str, Any]
) -> Access:
    certificate = _data(user, "client-certificate-data", name) or _text(user, "client-certificate")
    key = _data(user, "client-key-data", name) or _text(user, "client-key")
    if certificate and not key:
        raise _invalid(
            [f"client-key-data or client-key must be specified for {name} to use the clientCert authentication method."]
        )
    _readable(certificate, f"client-cert {certificate} for {name}")
    _readable(key, f"client-key {key} for {name}")
    token, password = _text(user, "token"), _text(user, "password")
    if (token or user.get("tokenFile")) and (password or _text(user, "username")):
        methods = "more than one authentication method found for"
        raise _invalid([f"{methods} {name}; found [token basicAuth], only one is allowed"])
    if user.get("auth-provider") and plugin is None and not (token or certificate):
        raise ServiceError(f'the auth-provider of user "{name}" is not supported: use an exec plugin instead')
    acting = {"Impersonate-User": _text(user, "as"), "Impersonate-Uid": _text(user, "as-uid")}
    if user.get("as-groups") or user.get("as-user-extra"):
        raise ServiceError(f'groups and extras that user "{name}" acts as are not supported')
    return evolve(
        where,
        certificate=certificate,
        key=key,
        token=token,
        token_file="" if token else _text(user, "tokenFile"),
        user=_text(user, "username"),
        password=password,
        plugin=plugin or _plugin(user.get("exec"), name, cluster),
        acting_as={header: value for header, value in acting.items() if value},
    )


def _plugin(given: Any, name: str, cluster: Mapping[str, Any]) -> Plugin | None:
    if not given:
        return None
    if not isinstance(given, dict):
        raise _invalid([f"exec of {name} must be a mapping"])
    command, version = _text(given, "command"), _text(given, "apiVersion")
    use = f"must be specified for {name} to use exec authentication plugin"
    missing = [f"{what} {use}" for what, value in (("command", command), ("apiVersion", version)) if not value]
    if missing:
        raise _invalid(missing)
    cluster_settings = None
    if given.get("provideClusterInfo") is True:
        names = ("server", "certificate-authority-data", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
        cluster_settings = {name: cluster[name] for name in names if cluster.get(name)}
    return Plugin(
        version,
        command,
        tuple(str(word) for word in given.get("args") or ()),
        {_text(v, "name"): _text(v, "value") for v in given.get("env") or () if isinstance(v, dict)},
        cluster_settings,
        _text(given, "installHint"),
    )


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return "" if value is None else str(value)


def _data(body: Mapping[str, Any], name: str, whose: str) -> str:
    try:
        return b64decode(_text(body, name), validate=True).decode("ascii")
    except ValueError:
        raise ServiceError(f"{name} of {whose} is not PEM text encoded as Base64") from None


def _readable(path: str, what: str) -> None:
    if not path or "-----BEGIN" in path:
        return
    try:
        open(path, "rb").close()
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise _invalid([f"unable to read {what} due to open {path}: {reason}"]) from None


def _invalid(reasons: list[str]) -> ServiceError:
    text = reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"
    return ServiceError(f"invalid configuration: {text}")
