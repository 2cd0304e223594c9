"""The user's settings of the command line tool, as far as they say where providers are.

The file is `$TF_CLI_CONFIG_FILE`, else `~/.tofurc` or `~/.terraformrc`, else `opentofu/tofurc` below
`$XDG_CONFIG_HOME`; `*.tfrc` files of the settings directory are read too. Everything else in these files is for others
and passed over.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from planner.provider.settings_syntax import SettingsError, read_settings
from planner.vocabulary.diagnostic import Diagnostic, Failure, error
from planner.vocabulary.provider_address import DEFAULT_HOST, provider_source


@frozen
class Mirror:
    """A directory with provider packages. `include` and `exclude` are patterns `HOST/NAMESPACE/TYPE` in which `*`
    stands for anything; no `include` means all."""

    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def serves(self, address: str) -> bool:
        if self.include and not any(_matches(p, address) for p in self.include):
            return False
        return not any(_matches(p, address) for p in self.exclude)


@frozen
class CliConfig:
    """`overrides`: directories (or files) of providers in development by address; `mirrors`: None when the file says
    nothing about installation; `cache`: where downloaded packages are shared, "" for nowhere."""

    overrides: Mapping[str, str] = {}
    mirrors: tuple[Mirror, ...] | None = None
    cache: str = ""


def load_cli_config(environ: Mapping[str, str]) -> CliConfig:
    """The settings that hold in an environment. Raises Failure when a file cannot be read."""
    config = CliConfig()
    for file in _files(environ):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise Failure(_invalid(file, str(problem))) from None
        try:
            config = _with_settings(config, read_settings(text), file.parent, environ)
        except SettingsError as problem:
            raise Failure(_invalid(file, str(problem))) from None
    cache = environ.get("TF_PLUGIN_CACHE_DIR")
    return evolve(config, cache=cache) if cache else config


def home(environ: Mapping[str, str]) -> Path:
    """The user's home directory."""
    return Path(environ.get("HOME") or os.path.expanduser("~"))


def _files(environ: Mapping[str, str]) -> list[Path]:
    named = environ.get("TF_CLI_CONFIG_FILE") or environ.get("TERRAFORM_CONFIG")
    if named:
        return [Path(named)] if os.path.isfile(named) else []
    own = home(environ)
    found = [own / ".tofurc", own / ".terraformrc"]
    folder = own / ".terraform.d"
    if environ.get("XDG_CONFIG_HOME"):
        settings = Path(environ["XDG_CONFIG_HOME"]) / "opentofu"
        found.append(settings / "tofurc")
        folder = folder if folder.is_dir() else settings
    more = sorted(p for p in folder.glob("*.tfrc") if p.is_file()) if folder.is_dir() else []
    return [*[p for p in found if p.is_file()][:1], *more]


def _with_settings(config: CliConfig, settings: Any, base: Path, environ: Mapping[str, str]) -> CliConfig:
    for name, value in settings:
        if name == ("plugin_cache_dir",) and isinstance(value, str):
            config = evolve(config, cache=_expand(value, environ))
        elif name == ("provider_installation",):
            if config.mirrors is not None:
                raise SettingsError("there must be only one provider_installation block")
            config = _installation(config, _block(value, name[0]), base)
    return config


def _installation(config: CliConfig, methods: Any, base: Path) -> CliConfig:
    overrides: dict[str, str] = {}
    mirrors: list[Mirror] = []
    explicit = False
    for name, body in methods:
        kind = name[0]
        if kind == "dev_overrides":
            for (source, *_), path in _block(body, kind):
                if not isinstance(path, str):
                    raise SettingsError(f"the override of {source} must be the path of a directory")
                overrides[_address(source)] = os.path.normpath(os.path.join(base, path))
            continue
        explicit = True
        if kind == "filesystem_mirror":
            given = {key[0]: value for key, value in _block(body, kind)}
            path = given.get("path")
            if not isinstance(path, str):
                raise SettingsError("a filesystem_mirror needs the path of a directory")
            mirrors.append(Mirror(path, _patterns(given, "include"), _patterns(given, "exclude")))
        elif kind not in ("direct", "network_mirror", "oci_mirror"):
            raise SettingsError(f"{kind} is no way to install providers")
    return evolve(config, overrides=overrides, mirrors=tuple(mirrors) if explicit else None)


def _block(value: Any, name: str) -> Any:
    if not isinstance(value, list) or any(not isinstance(item, tuple) for item in value):
        raise SettingsError(f"{name} must be a block")
    return value


def _patterns(given: dict[str, Any], name: str) -> tuple[str, ...]:
    values = given.get(name, [])
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise SettingsError(f"{name} must be a list of provider addresses")
    return tuple(values)


def _address(source: str) -> str:
    try:
        return provider_source(source)
    except ValueError:
        raise SettingsError(f"{source!r} is no provider address") from None


def _matches(pattern: str, address: str) -> bool:
    wanted = pattern.lower().split("/")
    wanted = [DEFAULT_HOST, "hashicorp"][: 3 - len(wanted)] + wanted
    return all(p in ("*", a) for p, a in zip(wanted, address.split("/"), strict=False))


def _expand(text: str, environ: Mapping[str, str]) -> str:
    import re

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: environ.get(m[1] or m[2], ""), text)


def _invalid(file: Path, reason: str) -> Diagnostic:
    detail = f"{file} cannot be used: {reason}."
    return error("provider.cli_config", "Invalid settings of the command line tool", detail)
