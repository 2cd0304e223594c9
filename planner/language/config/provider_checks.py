"""Checks the whole module tree: whether calls pass the provider configurations that the modules expect.

The checks run only if the tree has no other errors."""

from __future__ import annotations

from typing import Any

from planner.foundation.vocabulary.span import Span
from planner.language.config.model import Expr, ModuleCall, ModuleConfig, ProviderRef
from planner.language.config.reading import Problems
from planner.language.config.sources import (
    SourceError,
    default_provider,
    is_default_provider,
    provider_display,
    provider_part,
)
from planner.language.syntax import nodes
from planner.language.syntax.body import variables


def check_provider_configurations(root: ModuleConfig, problems: Problems) -> None:
    _check_module(root, None, None, None, problems)
    for module, block in ((one, block) for one in root.walk() for block in one.imports):
        declared = module.resources.get(str(block.target)) if block.target is not None else None
        if declared is None or block.provider is None or str(block.provider) == str(declared.provider):
            continue
        detail = (
            f"An object is imported through the provider that its resource block names, and {declared.key} does not "
            f"name {block.provider}. In an import block, this argument is only for generated configuration."
        )
        title = "Invalid import provider argument"
        problems.error("import_provider_differs", title, detail, block.provider.span or block.span)


class _Module:
    """The provider declarations of one module by `name` or `name.alias`."""

    def __init__(self, module: ModuleConfig, problems: Problems) -> None:
        self.module = module
        self.configured: dict[str, Span] = {}
        self.empty: dict[str, Span] = {}
        self.repeated: dict[str, Expr | None] = {}
        for key, provider in module.providers.items():
            (self.empty if provider.is_empty else self.configured)[key] = provider.span
            self.repeated[key] = provider.for_each
        self.names: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self._requirements(problems)
        self.types = {name: r.source for name, r in module.required_providers.items()}
        for provider in module.providers.values():
            self.types.setdefault(provider.name, _default(provider.name))

    def _requirements(self, problems: Problems) -> None:
        """Record the local names in required_providers, and warn if one provider has two names."""
        seen: set[str] = set()
        configured = {provider.name for provider in self.module.providers.values()}
        for name in sorted(self.module.required_providers):
            required = self.module.required_providers[name]
            type_ = required.source.rsplit("/", 1)[1]
            if required.source in seen:
                others = [n for n, s in self.names.items() if s == required.source]
                detail = f"{provider_display(required.source)} is also required as {', '.join(others)}."
                self._duplicate(detail, required.span, problems)
            elif is_default_provider(required.source) and name != type_ and type_ in configured:
                detail = f"{provider_display(required.source)} is required as {name} but configured as {type_}."
                self._duplicate(detail, required.span, problems)
            seen.add(required.source)
            self.names[name] = required.source
            for alias in required.configuration_aliases:
                self.aliases[str(alias)] = required.source

    def _duplicate(self, detail: str, span: Span | None, problems: Problems) -> None:
        problems.warning("duplicate_requirement", "Duplicate required provider", f"{detail} Use one name.", span)

    def check_implied(self, problems: Problems) -> None:
        """Check the types of resources without a provider argument. Report a type that implies an invalid provider
        name, and a type that implies a provider that is required under a different name."""
        for resource in self.module.resources.values():
            if resource.provider is not None:
                continue
            name = resource.provider_name
            try:
                provider_part(name)
            except SourceError as bad:
                detail = f"The type {resource.type} implies a provider named {name!r}. {bad}"
                problems.error("invalid_provider_name", "Invalid provider local name", detail, resource.span)
                continue
            if name in self.names:
                continue
            implied = default_provider(name)
            for other in sorted(n for n, source in self.names.items() if source == implied):
                detail = f"{resource.key} implies {provider_display(implied)}, which is required as {other}."
                self._duplicate(detail, resource.span, problems)


def _default(name: str) -> str:
    """The address of the provider with a name that is not in required_providers. Unlike in `default_provider`,
    `terraform` does not mean the built-in provider."""
    return f"registry.opentofu.org/hashicorp/{name}"


def _check_module(
    module: ModuleConfig,
    parent: _Module | None,
    call: ModuleCall | None,
    forbidden: Span | None,
    problems: Problems,
) -> None:
    mine = _Module(module, problems)
    for name in sorted(module.children):
        inner = module.calls[name]
        _check_module(module.children[name], mine, inner, _forbids(inner) or forbidden, problems)
    mine.check_implied(problems)
    passed = {str(inner): (inner, outer) for inner, outer in call.providers} if call else {}
    _check_keys(mine, problems)
    _check_passed_names(mine, passed, call, problems)
    if call is None or parent is None:
        return
    if mine.configured and forbidden is not None:
        detail = (
            f"Module {'.'.join(module.path)} configures providers itself, so its calls cannot have count, for_each, "
            "enabled or depends_on. Let the module receive its providers from its callers."
        )
        title = "Module is incompatible with count, for_each, enabled and depends_on"
        problems.error("provider_in_repeated_module", title, detail, forbidden)
    for name in sorted(mine.configured):
        if name in passed:
            detail = f"The module configures {name} itself, so a caller cannot pass a configuration for it."
            title = "Cannot override provider configuration"
            problems.error("provider_overridden", title, detail, passed[name][0].span)
    for name in sorted(mine.aliases):
        if name not in mine.configured and name not in passed:
            detail = f"The module expects a configuration for {name}: pass one in the argument providers of its call."
            title = "Missing required provider configuration"
            problems.error("provider_not_passed", title, detail, call.span)
    for name in sorted(passed):
        _check_passed(name, *passed[name], mine, parent, problems)
    _warn_of_empty(mine, problems)


def _forbids(call: ModuleCall) -> Span | None:
    """The position of the argument of a module call because of which the module must not configure providers: count,
    for_each, enabled or depends_on. None if the call has none of them."""
    for expr in (call.count, call.for_each, call.enabled):
        if expr is not None:
            return expr.span
    return call.depends_on[0].span if call.depends_on else None


def _check_keys(mine: _Module, problems: Problems) -> None:
    """Report references to provider configurations with a missing or superfluous key. A key is required if and only if
    the configuration has for_each. Also report the warnings of `_warn_same_for_each`."""
    for call in mine.module.calls.values():
        for inner, outer in call.providers:
            if inner.key is not None:
                detail = "Only the passed configuration, on the right-hand side, can have a key."
                title = "Invalid module provider configuration"
                problems.error("provider_key", title, detail, inner.key.span)
            _check_key(outer, "module", mine, problems)
            if outer.key is not None:
                _warn_same_for_each(call.for_each, mine.repeated.get(str(outer)), "module", problems)
    for resource in mine.module.resources.values():
        if resource.provider is None:
            continue
        _check_key(resource.provider, "resource", mine, problems)
        if resource.provider.key is not None and resource.mode == "managed":
            _warn_same_for_each(resource.for_each, mine.repeated.get(str(resource.provider)), "resource", problems)


def _check_key(ref: ProviderRef, what: str, mine: _Module, problems: Problems) -> None:
    title = f"Invalid {what} provider configuration"
    repeated = mine.repeated.get(str(ref)) is not None
    if ref.key is None:
        if repeated:
            detail = f"{ref} has for_each: select one of its instances with a key in brackets."
            problems.error("provider_key", title, detail, ref.span)
    elif not repeated:
        if str(ref) in mine.configured or ref.alias is None:
            detail = f"{ref} has no for_each, so it has no instances: leave out the key."
            problems.error("provider_key", title, detail, ref.key.span)
        else:
            detail = f"This module has no provider block for {ref} with for_each."
            problems.error("provider_key", title, detail, ref.span)


def _warn_same_for_each(mine: Expr | None, providers: Expr | None, what: str, problems: Problems) -> None:
    """Warn if a resource or module has the same for_each as its provider, and the for_each has references: removing an
    element would also remove the provider that must destroy the objects."""
    if mine is None or providers is None:
        return
    if not variables(mine.node) or not variables(providers.node):
        return
    if same_expression(mine.node, providers.node):
        detail = (
            f"The provider configuration has the same for_each as the {what}. If a key is removed, its objects must be "
            "destroyed, but their provider is removed, too. Use a larger collection for the provider, to keep the key."
        )
        title = f"Provider configuration for_each matches {what}"
        problems.warning("provider_same_for_each", title, detail, mine.span)


def _check_passed_names(
    mine: _Module, passed: dict[str, tuple[ProviderRef, ProviderRef]], call: ModuleCall | None, problems: Problems
) -> None:
    """Check the default configurations that this module passes to called modules without configuring the providers
    itself. Warn if this module does not require such a provider, or if its own caller does not pass the
    configuration."""
    for inner_call in mine.module.calls.values():
        for _, outer in inner_call.providers:
            if outer.alias is not None:
                continue
            name = outer.name
            if name not in mine.configured and name not in mine.names:
                detail = f"{name} is not in required_providers; {provider_display(_default(name))} is assumed."
                problems.warning("undefined_provider", "Reference to undefined provider", detail, outer.span)
            elif call is not None and name not in mine.configured and name not in passed:
                detail = f"Module {call.name} expects a configuration for {name}, which its call does not pass."
                title = "Missing required provider configuration"
                problems.warning("provider_not_passed", title, detail, call.span)


def _check_passed(
    name: str, inner: ProviderRef, outer: ProviderRef, mine: _Module, parent: _Module, problems: Problems
) -> None:
    """Report a passed configuration that the called module does not expect, or for which it requires a different
    provider."""
    wanted = mine.aliases.get(name) or mine.names.get(name) or mine.types.get(inner.name) or _default(inner.name)
    if name not in mine.names and name not in mine.aliases and name not in mine.empty:
        title = "Reference to undefined provider"
        detail = f"The module does not require a provider named {name}."
        if is_default_provider(wanted):
            problems.warning("undefined_provider", title, f"{detail} {wanted} is assumed.", inner.span)
        else:
            problems.error("undefined_provider", title, detail, inner.span)
    given = parent.types.get(outer.name) or _default(outer.name)
    required = parent.module.required_providers.get(name)
    if required is not None:
        given = required.source
    if given == wanted:
        return
    title = "Provider type mismatch"
    other = next(iter((n for n, source in sorted(mine.names.items()) if source == given)), None)
    if other is not None:
        detail = f"{outer} is {provider_display(given)}, which the module calls {other}, not {inner}."
        problems.error("provider_mismatch", title, detail, inner.span)
    else:
        detail = f"{outer} is {provider_display(given)}, but {inner} is {provider_display(wanted)} in the module."
        problems.error("provider_mismatch", title, detail, outer.span)


def _warn_of_empty(mine: _Module, problems: Problems) -> None:
    """Warn about empty provider blocks in called modules, the deprecated way to declare an expected configuration."""
    groups: dict[str, list[Span]] = {}
    for key, span in mine.empty.items():
        groups.setdefault(key.split(".", 1)[0], []).append(span)
    for name in sorted(groups):
        first = min(groups[name], key=lambda s: (s.filename, s.start))
        detail = f"List {name} in required_providers (with configuration_aliases) instead of an empty provider block."
        problems.warning("empty_provider", "Redundant empty provider block", detail, first)


_POSITIONS = {"start", "end", "compiled", "root_end", "name_end", "open", "close", "open_end", "close_start"}
_POSITIONS |= {"bracket", "marker_start", "marker_end", "bare"}


def same_expression(left: Any, right: Any) -> bool:
    """Whether two expressions are equal, apart from layout and parentheses."""
    while isinstance(left, nodes.Parens):
        left = left.expr
    while isinstance(right, nodes.Parens):
        right = right.expr
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_expression, left, right))
    if not isinstance(left, nodes.SyntaxNode):
        return bool(left == right)
    names = [name for name in left.__slots__ if name not in _POSITIONS]
    return all(same_expression(getattr(left, name), getattr(right, name)) for name in names)
