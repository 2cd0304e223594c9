"""The configured providers of a walk. There is one for each provider configuration, or one for each key if the
configuration has for_each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from planner.engine.evaluation.context import EvaluationContext, ModuleInstance
from planner.engine.evaluation.provider_diagnostics import in_body
from planner.engine.evaluation.repetition import NO_REPETITION, Repetition
from planner.engine.evaluation.scope import ModuleScope
from planner.foundation.values.convert import ConversionError, convert
from planner.foundation.values.schema import BlockSchema, empty_value
from planner.foundation.values.types import STRING
from planner.foundation.values.value import EPHEMERAL, SENSITIVE, UNKNOWN, Null, Unknown, Value, unmark, unmark_deep
from planner.foundation.vocabulary.address import InstanceKey, format_key
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.provider_address import ProviderConfiguration, parse_provider_configuration
from planner.language.config.model import ModuleConfig, ModulePath, ProviderDecl, ProviderRef, ResourceDecl
from planner.language.expressions.decode import decode_block
from planner.language.expressions.evaluate import try_evaluate
from planner.language.functions import Function
from planner.language.syntax.body import BodySchema
from planner.world.provider.interface import Provider

if TYPE_CHECKING:
    from planner.language.config.mocking import Mocking, Values

Judge: TypeAlias = Callable[[str, Value], list[Diagnostic]]


class ConfiguredProviders:
    """The providers of a walk by configuration address (`provider["..."].alias`) and instance key."""

    def __init__(self, context: EvaluationContext) -> None:
        self.context = context
        self._lock = Lock()
        self._instances: dict[str, dict[InstanceKey, Provider]] = {}
        self._values: dict[str, Value] = {}
        self._mocking: dict[str, Mocking] = {}
        self.judge: Judge | None = None
        """checks the value of a provider configuration before the provider receives it; called with the address
        (including the key) and the value"""

    def configure(self, address: str) -> list[Diagnostic]:
        configuration, block, module = self._find(address)
        if block is not None and block.mocking is not None:
            self._mock(address, block, block.mocking, self.context.schemas.provider(configuration.source))
            return []
        schema = self.context.schemas.schema(configuration.source).provider
        problems: list[Diagnostic] = []
        instances: dict[InstanceKey, Provider] = {}
        for key, repetition in _repetitions(block):
            name = address + format_key(key)
            diagnostics: list[Diagnostic] = []
            if block is None:
                value = _empty_configuration(configuration, schema)
            else:
                value, diagnostics = decode_block(block.body, schema, module.with_repetition(repetition))
            problems += diagnostics
            if not has_errors(diagnostics) and self.judge is not None:
                diagnostics = self.judge(name, value)
                problems += diagnostics
            if has_errors(diagnostics):
                continue
            provider = self.context.schemas.new_provider(configuration.source)
            instances[key] = provider
            self._values[name] = value
            problems += in_body(provider.configure(unmark_deep(value)[0]), block.body if block else None, name)
        with self._lock:
            self._instances[address] = instances
        return problems

    def _mock(self, address: str, block: ProviderDecl, mocking: Mocking, of: Provider) -> None:
        provider = _mock_provider(of, {})
        with self._lock:
            self._mocking[address] = mocking
            self._instances[address] = {key: provider for key, _ in _repetitions(block)}

    def values(self) -> tuple[tuple[str, Value], ...]:
        """(address with key, value) of each provider configuration, sorted by address. Arguments with ephemeral parts
        are replaced by unknown values, because ephemeral values must not be stored."""
        return tuple((name, _without_ephemeral(self._values[name])) for name in sorted(self._values))

    def validate(self, address: str) -> list[Diagnostic]:
        """The problems of a provider configuration, in which values may be unknown. Not checked are a mocked
        configuration, a missing block, and an empty block."""
        configuration, block, module = self._find(address)
        provider = self.context.schemas.provider(configuration.source)
        with self._lock:
            self._instances[address] = {None: provider}
        if block is None or block.mocking is not None or not has_errors(block.body.content(BodySchema()).diagnostics):
            return []
        schema = self.context.schemas.schema(configuration.source).provider
        problems: list[Diagnostic] = []
        for key, repetition in _repetitions(block):
            name = address + format_key(key)
            value, item = decode_block(block.body, schema, module.with_repetition(repetition))
            problems += item
            if not has_errors(item):
                problems += in_body(provider.validate_provider(unmark_deep(value)[0]), block.body, name)
        return problems

    def any_instance(self, address: str) -> Provider | None:
        """The provider of any instance of a configuration; None if there are no instances."""
        return next(iter(self._instances.get(address, {}).values()), None)

    def instance(self, address: str, key: InstanceKey, wanted_by: str) -> Provider:
        """An instance of a provider configuration. Raises Failure if it does not exist."""
        instances = self._instances.get(address, {})
        result = instances.get(key)
        if result is None:
            if key is None and instances:
                detail = (
                    f"{wanted_by} is managed through {address}, which now has for_each. Either restore the single "
                    "configuration until all objects that it manages are destroyed or forgotten, or declare the "
                    "instance again with a key in its provider argument."
                )
            else:
                detail = (
                    f"{wanted_by} is managed through {address}{format_key(key)}, which no longer exists. Restore the "
                    "provider configuration, with this key in its for_each if it has one, until all objects that it "
                    "manages are destroyed or forgotten."
                )
            raise Failure(error("plan.provider_instance_missing", "Provider instance not present", detail))
        return result

    def function(self, configuration: str, module: ModuleInstance, name: str) -> Function | None:
        """The function `provider::NAME::FUNCTION` (or `provider::NAME::ALIAS::FUNCTION`) of a configured provider; None
        if the provider has no such function. Raises Failure."""
        _, local_name, *alias, function = name.split("::")
        ref = ProviderRef(local_name, alias[0] if alias else None)
        key = self._passed_key(module, ref, f"{name} in {module.text or 'the root module'}")
        result: Function | None = self.instance(configuration, key, name).function(function)
        return result

    def of_resource(
        self,
        address: str,
        key: InstanceKey,
        wanted_by: str,
        mode: str,
        type: str,
        config_address: str,
        decl: ResourceDecl | None,
    ) -> Provider:
        """The provider of an object: a configured provider, or the mock that replaces it in a test. Raises Failure if
        the provider instance does not exist."""
        result = self.instance(address, key, wanted_by)
        if decl is not None and decl.made_up is not None:
            return _mock_provider(result, decl.made_up.values, decl.made_up.known_late)
        mocking = self._mocking.get(address)
        if mocking is None:
            return result
        late = mocking.is_late(mode, type, config_address)
        return _mock_provider(result, mocking.values(mode, type, config_address), late)

    def close(self, address: str) -> None:
        with self._lock:
            instances = self._instances.pop(address, {})
        for provider in instances.values():
            provider.close()

    def stop(self) -> None:
        with self._lock:
            running = [provider for instances in self._instances.values() for provider in instances.values()]
        for provider in running:
            provider.stop()

    def close_all(self) -> None:
        for address in list(self._instances):
            self.close(address)

    # ---------------------------------------------------------------- provider instances of objects

    def _find(self, address: str) -> tuple[ProviderConfiguration, ProviderDecl | None, ModuleInstance]:
        configuration = parse_provider_configuration(address)
        config = self.context.config.root.descendant(configuration.module)
        block = config.provider_block(configuration.source, configuration.alias) if config is not None else None
        modules = self.context.instances(configuration.module)
        return configuration, block, modules[0] if modules else self.context.root

    def key_of(self, module: ModuleInstance, decl: ResourceDecl, repetition: Repetition, address: str) -> InstanceKey:
        """The key of the provider instance for a resource instance; None for a provider without keys. Raises
        Failure."""
        if decl.provider is not None and decl.provider.key is not None:
            return provider_key(decl.provider, module.with_repetition(repetition), address)
        ref = decl.provider or ProviderRef(decl.provider_name)
        return self._passed_key(module, ref, address)

    def recorded_key(
        self,
        path: ModulePath,
        module: ModuleInstance | None,
        decl: ResourceDecl | None,
        recorded: InstanceKey,
        address: str,
    ) -> InstanceKey:
        """The key of the provider instance for an object in the state. `decl`: the resource block of the object; None
        if there is none. `module`: the module instance in which to evaluate the key expression; None if it is not
        declared. `recorded`: the key in the state. Raises Failure."""
        if decl is None:
            return recorded
        ref = decl.provider or ProviderRef(decl.provider_name)
        if ref.key is not None:
            return recorded  # for an instance that is not declared, each.key has no value
        if module is not None:
            return self._passed_key(module, ref, address)
        callers = (self.context.config.root.descendant(path[:n]) for n in range(len(path), 0, -1))
        return None if _find_key(callers, ref) is None else recorded

    def _passed_key(self, module: ModuleInstance, ref: ProviderRef, address: str) -> InstanceKey:
        """The instance key of the provider configuration that a calling module passes as `ref`; None if no call passes
        a key. Raises Failure."""
        callers = [module]
        while callers[-1].parent is not None:
            callers.append(callers[-1].parent)
        keyed = _find_key((caller.config for caller in callers), ref)
        if keyed is None:
            return None
        outer, steps = keyed
        return provider_key(outer, callers[steps + 1].with_repetition(callers[steps].repetition), address)


def _find_key(modules: Iterable[ModuleConfig | None], ref: ProviderRef) -> tuple[ProviderRef, int] | None:
    """Follow `ref` through the calls of `modules` (innermost first) to a reference with a key. Returns the reference
    and the index in `modules` of the module whose call passes it; None if there is no key."""
    for steps, module in enumerate(modules):
        if module is None or module.call is None:
            return None
        passed = [outer for inner, outer in module.call.providers if str(inner) == str(ref)]
        block = module.providers.get(str(ref))
        if block is not None and not (passed and block.is_empty):
            return None
        for outer in passed:
            if outer.key is not None:
                return outer, steps
            ref = outer
    return None


def _mock_provider(of: Provider, values: Values, known_late: bool = False) -> Provider:
    from planner.world.provider.mock import MockedProvider

    return MockedProvider(of.of if isinstance(of, MockedProvider) else of, values, known_late)


def provider_key(ref: ProviderRef, scope: ModuleScope, address: str) -> InstanceKey:
    """The key in a provider reference, for example the value of `each.key` in `aws.by_region[each.key]`. Raises
    Failure."""
    expr = ref.key
    assert expr is not None
    value, problems = try_evaluate(expr.node, scope, expr.source)
    if has_errors(problems):
        raise Failure(problems)
    value, marks = unmark(value)
    reason = ""
    if SENSITIVE in marks or EPHEMERAL in marks:
        reason = "it is sensitive or ephemeral, but the key is stored"
    elif value.__class__ is Null:
        reason = "it is null"
    elif value.__class__ is Unknown:
        reason = f"it is only known after apply, so nothing can be planned for {address}"
    else:
        try:
            return str(convert(value, STRING))
        except ConversionError as bad:
            reason = str(bad)
    detail = f"The key of the provider instance is not valid: {reason}."
    raise Failure(error("plan.invalid_provider_key", "Invalid provider instance key", detail, expr.span))


def _empty_configuration(configuration: ProviderConfiguration, schema: BlockSchema) -> Value:
    """The value of a provider configuration without a block. Raises Failure if an argument is required."""
    if any(a.required for a in schema.attributes.values()) or any(b.min_items for b in schema.blocks.values()):
        detail = f"The provider {configuration.source} has required arguments: add a provider block to the root module."
        raise Failure(error("plan.provider_not_configured", "Invalid provider configuration", detail))
    return empty_value(schema)


def _without_ephemeral(value: Value) -> Value:
    if value.__class__ is not dict:
        return value
    return {n: UNKNOWN if EPHEMERAL in unmark_deep(part)[1] else part for n, part in value.items()}


def _repetitions(block: ProviderDecl | None) -> list[tuple[InstanceKey, Repetition]]:
    """(key, repetition) of the instances of a provider configuration, sorted by key. The argument for_each was already
    evaluated when the configuration was loaded."""
    if block is None or block.instances is None:
        return [(None, NO_REPETITION)]
    return [(key, Repetition(each_key=key, each_value=value)) for key, value in sorted(block.instances.items())]
