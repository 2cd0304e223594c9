"""The member `configuration` of plan JSON: resources, modules and providers, with a method for each relation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from planner.answers.policy.from_json.document import Document, Misshapen, objects, table, text
from planner.answers.policy.from_json.rows import ShownRows
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.records import frozen
from planner.language.config.sources import SourceError, parse_module_source
from planner.logic.datalog.language.values import Row
from planner.logic.facts.from_state import module_path

EXPRESSION = frozenset(("constant_value", "references"))
"""the members of an expression in plan JSON"""


OF_MODULES = frozenset(("configured", "resource", "variable", "module_call"))
OF_PROVIDERS = frozenset(("provider_instance", "provider_argument"))
"""OF_MODULES and OF_PROVIDERS: the relations that come from the configuration in the document"""


@frozen(eq=False)
class ShownModule:
    """A module of a configuration in plan JSON. `parent`: the address of the module that calls it. `entry`: the call;
    {} for the root module. `contents`: the module itself."""

    parent: str
    entry: dict[str, Any]
    contents: dict[str, Any]


class ShownConfiguration:
    """The configuration in plan JSON. The methods raise Misshapen."""

    def __init__(self, document: Document) -> None:
        self.root = table(document.root, "configuration", "")
        self.blocks: dict[str, tuple[str, dict[str, Any]]] = {}
        """{configuration address: (module, entry)} of blocks"""
        self.calls: dict[str, tuple[str, str]] = {}
        """{called module: (source as it is written, version)}"""
        self.modules: dict[str, ShownModule] = {}
        self._providers = self._provider_addresses()
        self._module(table(self.root, "root_module", "configuration"), "", "configuration.root_module")
        variables = table(table(self.root, "root_module", "configuration"), "variables", "configuration.root_module")
        self.ephemeral = frozenset(name for name, entry in variables.items() if _dict(entry).get("ephemeral"))
        """root variables whose values must not be stored"""
        self._variables = {
            name: name in self.ephemeral or bool(_dict(entry).get("sensitive")) for name, entry in variables.items()
        }

    def _module(self, module: dict[str, Any], address: str, path: str) -> None:
        waiting = [(module, address, path)]
        self.modules[address] = ShownModule("", {}, module)
        while waiting:
            module, address, path = waiting.pop()
            for i, entry in enumerate(objects(module, "resources", path)):
                at = f"{path}.resources[{i}]"
                object = join(address, text(entry, "address", at))
                if object in self.blocks:
                    raise Misshapen(at, f"a second entry for {object[:200]}")
                self.blocks[object] = address, entry
            calls = table(module, "module_calls", path)
            for name in calls:
                at = f"{path}.module_calls.{name}"
                call = table(calls, name, f"{path}.module_calls")
                inner = join(address, f"module.{name}")
                self.calls[inner] = text(call, "source", at, ""), text(call, "version_constraint", at, "")
                contents = table(call, "module", at)
                self.modules[inner] = ShownModule(address, call, contents)
                waiting.append((contents, inner, f"{at}.module"))

    def _provider_addresses(self) -> dict[str, str]:
        """{key in the document: address} of the provider configurations."""
        result = {}
        entries = table(self.root, "provider_config", "configuration")
        for key in entries:
            entry, at = table(entries, key, "configuration.provider_config"), f"configuration.provider_config.{key}"
            alias, source = text(entry, "alias", at, ""), text(entry, "full_name", at, "")
            module, address = text(entry, "module_address", at, ""), f'provider["{source}"]'
            if alias or table(entry, "expressions", at):
                address = join(module, f"{address}.{alias}" if alias else address)
            result[key] = address  # a module without configurations uses those of the root module
        return result

    # -------- inputs of changes

    def provider_of(self, module: str, mode: str, type_: str, name: str, source: str) -> str:
        """The address of the provider configuration of a resource. It is the default configuration of the provider
        `source` if the document names none."""
        if not self.blocks:
            return _default(source)
        object = self.object(module, mode, type_, name)
        entry = self.blocks.get(object)
        key = entry[1].get("provider_config_key") if entry is not None else None
        result = self._providers.get(key) if key.__class__ is str else None
        return result or f'provider["{source}"]'

    @staticmethod
    def object(module: str, mode: str, type_: str, name: str) -> str:
        """The configuration address of a resource."""
        return join(module_path(module), f"{'' if mode == 'managed' else mode + '.'}{type_}.{name}")

    def given(self, object: str) -> frozenset[str]:
        """The names of the arguments and nested blocks in the block of a resource, except dynamic blocks; empty if the
        document does not contain the resource."""
        entry = self.blocks.get(object)
        return frozenset(table(entry[1], "expressions", object)) if entry is not None else frozenset()

    def root_variables(self) -> Iterable[tuple[str, bool]]:
        """(name, whether it is secret) of each input variable of the root module."""
        return self._variables.items()

    @property
    def untold(self) -> frozenset[str]:
        """The relations that are not available, because the document lacks the members from which they are built."""
        if "root_module" not in self.root:
            return OF_MODULES | OF_PROVIDERS
        return OF_PROVIDERS if self.blocks and not self._providers else frozenset()

    # -------- relations

    def variable(self) -> Iterable[Row]:
        return ((f"var.{name}", name) for name in self._variables)

    def resource(self) -> Iterator[Row]:
        for object, (module, entry) in self.blocks.items():
            yield (object, module, text(entry, "mode", object), text(entry, "type", object))

    def module_call(self) -> Iterator[Row]:
        for module, (source, version) in self.calls.items():
            yield (module, _normal(source), version)

    def provider_instance(self) -> Iterator[Row]:
        entries = table(self.root, "provider_config", "configuration")
        for key, address in self._providers.items():
            at = f"configuration.provider_config.{key}"
            yield (address, text(entries[key], "full_name", at, ""), text(entries[key], "alias", at, ""), "")

    def provider_arguments(self, rows: ShownRows) -> None:
        """Add the arguments of provider configurations. Constant arguments have values; all other arguments are
        unknown."""
        entries = table(self.root, "provider_config", "configuration")
        for key, address in self._providers.items():
            value, unknown = _evaluated(table(entries[key], "expressions", f"configuration.provider_config.{key}"))
            rows.add_shown(address, value, unknown, None)


def _evaluated(expressions: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(constants, unknown parts) of the arguments and nested blocks in a body."""
    values: dict[str, Any] = {}
    unknowns: dict[str, Any] = {}
    for name, entry in expressions.items():
        if entry.__class__ is list:
            parts = [_evaluated(_dict(part)) for part in entry]
            values[name], unknowns[name] = [value for value, _ in parts], [unknown for _, unknown in parts]
        elif entry.__class__ is dict and entry and not entry.keys() <= EXPRESSION:
            values[name], unknowns[name] = _evaluated(entry)
        elif entry.__class__ is dict and "constant_value" in entry and "references" not in entry:
            values[name] = entry["constant_value"]
        else:
            unknowns[name] = True
    return values, unknowns


def _dict(value: Any) -> dict[str, Any]:
    return value if value.__class__ is dict else {}


@lru_cache(maxsize=1000)
def _default(source: str) -> str:
    return f'provider["{source}"]'


def _normal(source: str) -> str:
    try:
        return parse_module_source(source).text
    except SourceError:
        return source
