"""The settings of the command line tool: sources of providers and modules, credentials, policies and signatures.

The file is `$TF_CLI_CONFIG_FILE`. If this variable is not set, the file is `~/.tofurc`, `~/.terraformrc` or
`$XDG_CONFIG_HOME/opentofu/tofurc`, and `*.tfrc` files in `~/.terraform.d` (or `$XDG_CONFIG_HOME/opentofu`) are read,
too. The settings define how providers are installed, the services and credentials of hosts, and retries and timeouts of
requests to registries. Two blocks are read only by planner, not by OpenTofu: `policies` has the lists `plans`, `fleets`
and `stacks`, which name policies for all plans, fleets and stacks; `signatures` names trusted keys; a plan can be
applied only if enough of these keys have signed it. Other settings in these files are ignored."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.foundation.clients.oci import OciSettings, check_template, credentials_block, default_credentials
from planner.foundation.clients.settings_syntax import SettingsError, read_settings
from planner.foundation.support.assets import setting_files
from planner.foundation.support.disk import read_text
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, warning
from planner.foundation.vocabulary.provider_address import DEFAULT_HOST, provider_source
from planner.foundation.vocabulary.records import evolve, frozen


@frozen
class Mirror:
    """A directory with provider packages. `include` and `exclude` are patterns HOST/NAMESPACE/TYPE, where `*` matches
    anything. An empty `include` matches all providers."""

    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def serves(self, address: str) -> bool:
        if self.include and not any(_matches(p, address) for p in self.include):
            return False
        return not any(_matches(p, address) for p in self.exclude)


@frozen
class InstallMethod:
    """A method of installing providers. `kind` is direct, filesystem_mirror, network_mirror or oci_mirror. `location`
    is the directory, URL or template of a mirror. `retries`: the number of retries of a failed download (None: the
    default). `trusted`: whether all checksums that the mirror reports may be recorded."""

    kind: str
    location: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    retries: int | None = None
    trusted: bool = False

    def serves(self, address: str) -> bool:
        return Mirror(self.location, self.include, self.exclude).serves(address)


@frozen
class CliConfig:
    """The settings in the files and the environment. `overrides`: directories (or files) of providers in development,
    by provider address. `methods`: how providers are installed, None if there are no settings for this. `mirrors`: the
    filesystem mirrors in `methods`, None if `methods` is None. `cache`: the shared directory of downloaded packages, ""
    for none. `may_break_lock`: whether a package from the cache may be used without a recorded checksum. `hosts`:
    services by host. `tokens`: credentials by host. `helper`: the name and the arguments of the credentials helper, a
    program that stores credentials for all other hosts. `retries` and `timeout` (seconds) apply to requests to
    registries, `download_retries` to downloads of packages. `policies`, `batch_policies` and `stack_policies`: files,
    directories and builtin:NAME with the policies for all plans, for fleets, and for deployments of stacks. `oci`:
    credentials for OCI registries."""

    overrides: Mapping[str, str] = {}
    methods: tuple[InstallMethod, ...] | None = None
    cache: str = ""
    may_break_lock: bool = False
    hosts: Mapping[str, Mapping[str, Any]] = {}
    tokens: Mapping[str, str] = {}
    helper: tuple[str, ...] = ()
    retries: int = 1
    timeout: float = 10.0
    download_retries: int = 2
    signature_keys: tuple[str, ...] = ()
    """files and directories with public keys; `signatures_required` of these keys must sign a plan before it can be
    applied"""
    signatures_required: int = 1
    policies: tuple[str, ...] = ()
    batch_policies: tuple[str, ...] = ()
    stack_policies: tuple[str, ...] = ()
    oci: OciSettings = OciSettings()

    @property
    def mirrors(self) -> tuple[Mirror, ...] | None:
        if not self.methods:
            return None
        folders = (m for m in self.methods if m.kind == "filesystem_mirror")
        return tuple(Mirror(m.location, m.include, m.exclude) for m in folders)


def load_cli_config(environ: Mapping[str, str]) -> CliConfig:
    config = CliConfig()
    for file in setting_files(environ):
        try:
            text = read_text(file)
        except (OSError, ValueError) as problem:
            raise Failure(_invalid(file, getattr(problem, "strerror", None) or str(problem))) from None
        try:
            config = _with_settings(config, read_settings(text), file.parent, environ)
        except SettingsError as problem:
            raise Failure(_invalid(file, str(problem))) from None
    return _from_environment(config, environ)


def cache_warnings(environ: Mapping[str, str]) -> list[Diagnostic]:
    """A warning if the plugin cache directory cannot be opened; none if there is no such setting, or if the settings
    are invalid."""
    try:
        folder = load_cli_config(environ).cache
    except Failure:
        return []  # the problem is reported when providers are looked up
    try:
        if folder:
            os.scandir(folder).close()
    except OSError as problem:
        detail = f"The plugin cache directory {folder} cannot be opened: {problem.strerror or problem}."
        return [warning("install.plugin_cache", "Plugin cache directory cannot be opened", detail)]
    return []


def _from_environment(config: CliConfig, environ: Mapping[str, str]) -> CliConfig:
    cache = environ.get("TF_PLUGIN_CACHE_DIR")
    tokens = dict(config.tokens)
    for name, value in environ.items():
        # TF_TOKEN_my__host_example_com is the token of my-host.example.com
        if name.startswith("TF_TOKEN_"):
            tokens[name[9:].replace("__", "-").replace("_", ".").lower()] = value
    return evolve(
        config,
        cache=cache or config.cache,
        may_break_lock=config.may_break_lock
        or environ.get("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "") not in ("", "0"),
        tokens=tokens,
        retries=_positive(environ, "TF_REGISTRY_DISCOVERY_RETRY", config.retries),
        timeout=float(_positive(environ, "TF_REGISTRY_CLIENT_TIMEOUT", 0) or config.timeout),
        download_retries=_positive(environ, "TF_PROVIDER_DOWNLOAD_RETRY", config.download_retries),
    )


def _positive(environ: Mapping[str, str], name: str, otherwise: int) -> int:
    text = environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else otherwise


def _with_settings(config: CliConfig, settings: Any, base: Path, environ: Mapping[str, str]) -> CliConfig:
    seen: set[str] = set()
    for name, value in settings:
        if name == ("plugin_cache_dir",) and isinstance(value, str):
            config = evolve(config, cache=_expand(value, environ))
        elif name == ("plugin_cache_may_break_dependency_lock_file",):
            config = evolve(config, may_break_lock=value is True)
        elif name == ("provider_installation",):
            if config.methods is not None:
                raise SettingsError("there must be only one provider_installation block")
            config = _installation(config, _block(value, name[0]), base)
        elif name == ("policies",):
            config = _with_policies(config, {key[0]: item for key, item in _block(value, name[0])}, base, environ)
        elif name == ("signatures",):
            given = {key[0]: item for key, item in _block(value, name[0])}
            config = _with_signatures(config, given, base, environ)
        elif name == ("registry_protocols",):
            given = {key[0]: item for key, item in _block(value, name[0])}
            config = evolve(
                config,
                retries=int(_number(given, "retry_count", config.retries)),
                timeout=_number(given, "request_timeout_seconds", config.timeout),
            )
        elif name == ("oci_default_credentials",):
            given = {key[0]: item for key, item in _block(value, name[0])}
            helper, files = default_credentials(given, base)
            if name[0] in seen:
                raise SettingsError("there must be only one oci_default_credentials block")
            seen.add(name[0])
            config = evolve(config, oci=evolve(config.oci, helper=helper, files=files))
        elif name[0] == "oci_credentials":
            for label, body in _labelled_blocks(name, value):
                block = credentials_block(label, {key[0]: item for key, item in body})
                config = evolve(config, oci=evolve(config.oci, blocks=(*config.oci.blocks, block)))
        elif name[0] in ("host", "credentials", "credentials_helper"):
            for label, body in _labelled_blocks(name, value):
                config = _host_setting(config, name[0], label, body)
    return config


def _with_policies(config: CliConfig, given: Mapping[str, Any], base: Path, environ: Mapping[str, str]) -> CliConfig:
    if more := sorted(set(given) - {"plans", "fleets", "stacks"}):
        raise SettingsError(f"policies cannot have the argument {more[0]}, only plans, fleets and stacks")
    plans, fleets, stacks = (_paths(given.get(name, []), name, base, environ) for name in ("plans", "fleets", "stacks"))
    return evolve(
        config,
        policies=(*config.policies, *plans),
        batch_policies=(*config.batch_policies, *fleets),
        stack_policies=(*config.stack_policies, *stacks),
    )


def _with_signatures(config: CliConfig, given: dict[str, Any], base: Path, environ: Mapping[str, str]) -> CliConfig:
    if more := sorted(set(given) - {"keys", "required"}):
        raise SettingsError(f"signatures cannot have the argument {more[0]}, only keys and required")
    keys = _paths(given.get("keys", []), "keys", base, environ)
    number = _number(given, "required", 1)
    if not keys or number < 1 or number != int(number):
        raise SettingsError("signatures must have keys, and required must be a whole number above 0")
    return evolve(config, signature_keys=(*config.signature_keys, *keys), signatures_required=int(number))


def _paths(value: Any, name: str, base: Path, environ: Mapping[str, str]) -> list[str]:
    """The paths in a setting, joined to the directory `base`; `builtin:NAME` is not changed. Raises SettingsError."""
    words = [_expand(word, environ) for word in _patterns({name: value}, name)]
    if "" in words:
        raise SettingsError(f"{name} contains an empty path")
    return [w if w.startswith("builtin:") else os.path.normpath(os.path.join(base, w)) for w in words]


def _labelled_blocks(name: tuple[str, ...], value: Any) -> list[tuple[str, Any]]:
    """The blocks of one type as (label, body). In JSON, the labels are keys of one object."""
    body = _block(value, name[0])
    return [(name[1], body)] if len(name) > 1 else [(key[0], _block(inner, name[0])) for key, inner in body]


def _host_setting(config: CliConfig, kind: str, label: str, body: Any) -> CliConfig:
    given = {key[0]: item for key, item in body}
    host = label.lower()
    if kind == "host":
        services = _block(given.get("services", []), "services")
        return evolve(config, hosts={**config.hosts, host: {key[0]: item for key, item in services}})
    if kind == "credentials":
        token = given.get("token")
        return evolve(config, tokens={**config.tokens, host: token}) if isinstance(token, str) else config
    if config.helper:
        raise SettingsError("there must be only one credentials_helper block")
    return evolve(config, helper=(label, *_patterns(given, "args")))


def _installation(config: CliConfig, methods: Any, base: Path) -> CliConfig:
    overrides: dict[str, str] = {}
    items: list[InstallMethod] = []
    for name, body in methods:
        kind = name[0]
        if kind == "dev_overrides":
            if items:
                raise SettingsError("dev_overrides must precede all other installation methods")
            for (source, *_), path in _block(body, kind):
                if not isinstance(path, str):
                    raise SettingsError(f"the override of {source} must be the path of a directory")
                overrides[_address(source)] = os.path.normpath(os.path.join(base, path))
            continue
        if kind not in _LOCATIONS:
            raise SettingsError(f"{kind} is not an installation method for providers")
        given = {key[0]: value for key, value in _block(body, kind)}
        location = given.get(_LOCATIONS[kind], "")
        if _LOCATIONS[kind] and (not isinstance(location, str) or not location):
            raise SettingsError(f"a {kind} needs the argument {_LOCATIONS[kind]}, a string")
        if kind == "network_mirror" and not location.lower().startswith("https://"):
            raise SettingsError(f"a network mirror must be at an https: URL, not at {location}")
        if kind == "oci_mirror":
            check_template(location, _providers(given, "include"))
        retries = given.get("download_retry_count")
        items.append(
            InstallMethod(
                kind,
                location,
                _providers(given, "include"),
                _providers(given, "exclude"),
                int(retries) if isinstance(retries, float) else None,
                given.get("trust_all_hashes") is True,
            )
        )
    # a block replaces the default methods even if it only contains overrides
    return evolve(config, overrides=overrides, methods=tuple(items))


_LOCATIONS = {"direct": "", "filesystem_mirror": "path", "network_mirror": "url", "oci_mirror": "repository_template"}


def _number(given: dict[str, Any], name: str, otherwise: float) -> float:
    value = given.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise SettingsError(f"{name} must be a number")
    return value


def _providers(given: dict[str, Any], name: str) -> tuple[str, ...]:
    for pattern in (patterns := _patterns(given, name)):
        parts = pattern.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise SettingsError(f"{pattern!r} must have two or three parts separated by slashes")
    return patterns


def _block(value: Any, name: str) -> Any:
    if not isinstance(value, list) or any(not isinstance(item, tuple) for item in value):
        raise SettingsError(f"{name} must be a block")
    return value


def _patterns(given: dict[str, Any], name: str) -> tuple[str, ...]:
    values = given.get(name, [])
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise SettingsError(f"{name} must be a list of strings")
    return tuple(values)


def _address(source: str) -> str:
    try:
        return provider_source(source)
    except ValueError:
        raise SettingsError(f"{source!r} is not a provider address") from None


def _matches(pattern: str, address: str) -> bool:
    wanted = pattern.lower().split("/")
    wanted = [DEFAULT_HOST, "hashicorp"][: 3 - len(wanted)] + wanted
    return all(p in ("*", a) for p, a in zip(wanted, address.split("/"), strict=False))


def _expand(text: str, environ: Mapping[str, str]) -> str:
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: environ.get(m[1] or m[2], ""), text)


def _invalid(file: Path, reason: str) -> Diagnostic:
    detail = f"{file} cannot be used: {reason}."
    return error("provider.cli_config", "Invalid CLI configuration", detail)
