"""Addresses of provider configurations, as in state files and plans:
`module.a.provider["HOST/NAMESPACE/TYPE"].alias["key"]`."""

from __future__ import annotations

from functools import lru_cache

from planner.foundation.vocabulary.address import AddressError, InstanceKey, TraversalStep, format_key, scan_traversal
from planner.foundation.vocabulary.records import frozen

DEFAULT_HOST = "registry.opentofu.org"
BUILTIN = "terraform.io/builtin/terraform"


def is_builtin(source: str) -> bool:
    """Whether a full address is in the namespace of built-in providers. The provider need not exist."""
    return source.startswith("terraform.io/builtin/")


@frozen
class ProviderConfiguration:
    """The address of a provider configuration. `module`: the names of the module calls. `source`: the full address of
    the provider. `alias`: "" for the default configuration. `key`: the key of an instance of the configuration."""

    module: tuple[str, ...]
    source: str
    alias: str = ""
    key: InstanceKey = None

    def __str__(self) -> str:
        path = "".join(f"module.{name}." for name in self.module)
        alias = f".{self.alias}" if self.alias else ""
        return f'{path}provider["{self.source}"]{alias}{format_key(self.key)}'


@lru_cache(maxsize=1024)
def parse_provider_configuration(text: str) -> ProviderConfiguration:
    """Parse the address of a provider configuration. The form in old state files (`provider.aws`) is accepted, too.
    Raises AddressError."""
    steps = scan_traversal(text)
    module: list[str] = []
    at = 0
    while at + 1 < len(steps) and steps[at].value == "module" and not steps[at].is_index:
        module.append(_name(steps[at + 1], "`module.` needs the name of a module."))
        at += 2
    rest = steps[at:]
    if len(rest) < 2 or rest[0].value != "provider" or rest[0].is_index:
        place = rest[0] if rest else steps[-1]
        raise AddressError("Invalid provider address", '`provider["…"]` is expected.', place.start, place.end)
    source = _source(rest[1])
    alias = ""
    key: InstanceKey = None
    rest = rest[2:]
    if rest and not rest[0].is_index:
        alias, rest = str(rest[0].value), rest[1:]
    if rest and rest[0].is_index and not isinstance(rest[0].value, float):
        key, rest = rest[0].value, rest[1:]
    if rest:
        raise AddressError(
            "Invalid provider address", "Nothing may follow the alias and the key.", rest[0].start, rest[-1].end
        )
    return ProviderConfiguration(tuple(module), source, alias, key)


def provider_source(text: str) -> str:
    """Expand `type` or `namespace/type` to `host/namespace/type`. Raises ValueError."""
    parts = text.split("/")
    if not 1 <= len(parts) <= 3 or not all(parts) or not all(p.isascii() for p in parts):
        raise ValueError(text)
    if any(not (c.isalnum() or c in "-_.:") for p in parts for c in p):
        raise ValueError(text)
    if len(parts) == 1:
        return BUILTIN if text == "terraform" else f"{DEFAULT_HOST}/hashicorp/{text.lower()}"
    return "/".join(p.lower() for p in ((DEFAULT_HOST, *parts) if len(parts) == 2 else parts))


def _name(step: TraversalStep, problem: str) -> str:
    if step.is_index or not isinstance(step.value, str):
        raise AddressError("Invalid provider address", problem, step.start, step.end)
    return step.value


def _source(step: TraversalStep) -> str:
    if not isinstance(step.value, str):
        raise AddressError("Invalid provider address", "The name of a provider must be a string.", step.start, step.end)
    if not step.is_index:  # provider.aws, from the time when providers had no namespaces
        return BUILTIN if step.value == "terraform" else f"{DEFAULT_HOST}/-/{step.value}"
    try:
        return provider_source(step.value)
    except ValueError:
        raise AddressError(
            "Invalid provider address", f"{step.value!r} is not `host/namespace/type`.", step.start, step.end
        ) from None
