"""Builds one module: merges its files, applies overrides, and evaluates static expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.foundation.values.value import EPHEMERAL, SENSITIVE, Value, is_null, unmark_deep
from planner.foundation.vocabulary.records import evolve
from planner.foundation.vocabulary.span import Span
from planner.language.config.file_content import FileContent
from planner.language.config.merge import (
    ExplicitDeclaration,
    merge_call,
    merge_local,
    merge_output,
    merge_provider,
    merge_resource,
    merge_variable,
)
from planner.language.config.model import (
    BackendDecl,
    ModuleCall,
    ModuleConfig,
    ModulePath,
    ProviderDecl,
    ResourceDecl,
    UnresolvedCall,
)
from planner.language.config.provider_blocks import constraint_text, resolve_requirement
from planner.language.config.reading import Problems, expr_of
from planner.language.config.sources import SourceError, parse_module_source
from planner.language.config.static import StaticScope
from planner.language.syntax.body import variables

if TYPE_CHECKING:
    from planner.language.config.encryption_model import EncryptionDecl

_RESOURCE_WORDS = {
    "managed": "resource",
    "data": "data",
    "ephemeral": "ephemeral resource",
    "action": "action",
    "list": "list resource",
}


class ModuleBuilder:
    """Collects the declarations of a module's files. Duplicate names are reported. Whether the first or the last of the
    duplicates is then used depends on the kind of declaration."""

    def __init__(self, path: ModulePath, directory: str, call: ModuleCall | None) -> None:
        self.module = ModuleConfig(path, directory, call)
        self.calls: dict[str, UnresolvedCall] = {}
        self.backend: BackendDecl | None = None
        self.cloud: BackendDecl | None = None
        self.encryption: EncryptionDecl | None = None
        self.moved: list[Any] = []
        self.removed: list[Any] = []
        self.imports: list[Any] = []
        self.imported: dict[Any, list[Span]] = {}  # import blocks by the instance that they name
        self.meta_spans: dict[str, Span] = {}

    # ------------------------------------------------------------ normal files

    def add_requirements(
        self, normal: Iterable[FileContent], overrides: Iterable[FileContent], problems: Problems
    ) -> None:
        """Add the entries of required_providers. Normal files may have only one such block (others are reported).
        Blocks in override files replace its entries one by one."""
        first: Span | None = None
        for file in normal:
            for entries, span in file.settings.required_providers:
                if first is not None:
                    detail = f"A module can have only one required_providers block; the first is at {first}."
                    title = "Duplicate required providers configuration"
                    problems.error("duplicate_required_providers", title, detail, span)
                    continue
                first = span
                self.module.required_providers.update(entries)
        for file in overrides:
            for entries, _ in file.settings.required_providers:
                self.module.required_providers.update(entries)

    def add(self, file: FileContent, problems: Problems) -> None:
        """Add the declarations of a normal file."""
        module = self.module
        self._add_backends(file, problems)
        for encryption in file.settings.encryptions:
            self._add_encryption(encryption, problems)
        for provider in file.providers:
            needs_alias = provider.alias is None
            self._once(module.providers, provider.key, provider, "provider configuration", problems, needs_alias)
        for name, body, span in file.settings.provider_metas:
            if name in module.provider_metas:
                detail = f"There is already a provider_meta block for this provider at {self.meta_spans[name]}."
                problems.error("duplicate_provider_meta", "Duplicate provider_meta block", detail, span)
            module.provider_metas[name] = body
            self.meta_spans[name] = span
        for variable in file.variables:
            self._last(module.variables, variable.value, "variable declaration", problems)
        for local in file.locals:
            self._last(module.locals, local, "local value definition", problems)
        for output in file.outputs:
            self._last(module.outputs, output.value, "output definition", problems)
        for call in file.calls:
            self._last(self.calls, call.value, "module call", problems)
        for resources in file.resources.values():
            for resource in resources:
                self._add_resource(resource.value, problems)
        for check in file.checks:
            if check.data is not None and not self._add_resource(check.data, problems):
                continue
            self._once(module.checks, check.name, check, "check", problems)
        self.moved += [m for m, _ in file.moved if m is not None]
        self.removed += [r for r, _ in file.removed if r is not None]
        for import_, _ in file.imports:
            if import_ is not None:
                self._check_import(import_, problems)
                self.imports.append(import_)

    def _add_backends(self, file: FileContent, problems: Problems) -> None:
        for backend in file.settings.backends:
            if self.backend is not None:
                detail = f"A module can have only one backend; the first is at {self.backend.span}."
                problems.error("duplicate_backend", "Duplicate backend configuration", detail, backend.span)
                continue
            self.backend = backend
        for cloud in file.settings.clouds:
            if self.cloud is not None:
                detail = f"A module can have only one cloud block; the first is at {self.cloud.span}."
                problems.error("duplicate_cloud", "Duplicate cloud configurations", detail, cloud.span)
                continue
            self.cloud = cloud
        if self.backend is not None and self.cloud is not None:
            detail = (
                f"The state is stored either by a backend or by the cloud block at {self.cloud.span}: "
                "remove one of them."
            )
            title = "Both a backend and a cloud configuration are present"
            problems.error("backend_and_cloud", title, detail, self.backend.span)

    def _add_encryption(self, encryption: EncryptionDecl, problems: Problems) -> None:
        if self.encryption is None:
            self.encryption = encryption
            return
        title = "Duplicate encryption configuration"
        detail = (
            "A module may have only one encryption configuration. Encryption was previously configured at "
            f"{self.encryption.span}."
        )
        problems.error("duplicate_encryption", title, detail, encryption.span)

    def _add_resource(self, resource: ResourceDecl, problems: Problems) -> bool:
        existing = self.module.resources.get(resource.key)
        if existing is None:
            self.module.resources[resource.key] = resource
            return True
        word = _RESOURCE_WORDS[resource.mode]
        detail = f"{resource.key} is already declared at {existing.span}."
        title = f'Duplicate {word} "{resource.type}" configuration'
        problems.error("duplicate_resource", title, detail, resource.span)
        return False

    def _once(
        self, into: dict[str, Any], key: str, item: Any, what: str, problems: Problems, alias: bool = False
    ) -> None:
        if key not in into:
            into[key] = item
            return
        self._duplicate(into[key], item, what, problems, alias)

    def _last(self, into: dict[str, Any], item: Any, what: str, problems: Problems) -> None:
        if item.name in into:
            self._duplicate(into[item.name], item, what, problems)
        into[item.name] = item

    def _duplicate(self, first: Any, item: Any, what: str, problems: Problems, alias: bool = False) -> None:
        name = getattr(item, "key", item.name)
        article = "an" if what[0] in "aeiou" else "a"
        rule = "give each additional one an alias" if alias else "each name can be declared once in a module"
        detail = f"There is already {article} {what} for {name} at {first.span}; {rule}."
        code = f"duplicate_{what.replace(' ', '_')}"
        problems.error(code, f"Duplicate {what}", detail, item.span)

    def _check_import(self, import_: Any, problems: Problems) -> None:
        if import_.instance is None:
            return
        others = self.imported.setdefault(import_.instance, [])
        for other in others:
            detail = f"{import_.instance} is already imported at {other}."
            title = f'Duplicate import configuration for "{import_.instance}"'
            problems.error("duplicate_import", title, detail, import_.span)
        others.append(import_.span)

    # ------------------------------------------------------------ override files

    def override(self, file: FileContent, problems: Problems) -> None:
        module = self.module
        self._override_backends(file, problems)
        self._override_encryption(file, problems)
        for provider in file.providers:
            self._override_provider(provider, problems)
        for variable in file.variables:
            if self._base(module.variables, variable.value, "variable declaration", problems):
                name = variable.value.name
                module.variables[name] = merge_variable(module.variables[name], variable, problems)
        for local in file.locals:
            if self._base(module.locals, local, "local value definition", problems):
                module.locals[local.name] = merge_local(module.locals[local.name], local)
        for output in file.outputs:
            if self._base(module.outputs, output.value, "output definition", problems):
                name = output.value.name
                module.outputs[name] = merge_output(module.outputs[name], output, problems)
        for call in file.calls:
            if self._base(self.calls, call.value, "module call", problems):
                self.calls[call.value.name] = merge_call(self.calls[call.value.name], call, problems)
        for resources in file.resources.values():
            for resource in resources:
                self._override_resource(resource, problems)
        for kind, items in (("moved", file.moved), ("import", file.imports), ("removed", file.removed)):
            for _, span in items:
                detail = f"Blocks of type {kind} are not allowed in override files, only in normal files."
                problems.error("statement_in_override", f"Cannot override '{kind}' blocks", detail, span)

    def _override_backends(self, file: FileContent, problems: Problems) -> None:
        for kind, items in (("backend", file.settings.backends), ("cloud", file.settings.clouds)):
            if len(items) > 1:
                detail = f"An override file can have only one {kind} block; the first is at {items[0].span}."
                title = "Duplicate backend configuration" if kind == "backend" else "Duplicate cloud configurations"
                problems.error(f"duplicate_{kind}", title, detail, items[1].span)
            elif items and kind == "backend":
                self.backend, self.cloud = items[0], None
            elif items:
                self.backend, self.cloud = None, items[0]

    def _override_encryption(self, file: FileContent, problems: Problems) -> None:
        result = file.settings.encryptions
        if len(result) > 1:
            title = "Duplicate encryption configuration"
            detail = (
                "Each override file may have only one encryption configuration. Encryption was previously configured "
                f"at {result[0].span}."
            )
            problems.error("duplicate_encryption", title, detail, result[1].span)
        elif result:
            from planner.language.config.encryption import override_encryption

            self.encryption = override_encryption(self.encryption, result[0])

    def _override_provider(self, provider: ProviderDecl, problems: Problems) -> None:
        providers = self.module.providers
        existing = providers.get(provider.key)
        if existing is not None:
            providers[provider.key] = merge_provider(existing, provider)
        elif provider.alias is None:
            providers[provider.key] = provider
        else:
            detail = f"No normal file configures {provider.key}, so there is nothing to override."
            title = "Missing base provider configuration for override"
            problems.error("override_without_base", title, detail, provider.span)

    def _override_resource(self, declared: ExplicitDeclaration[ResourceDecl], problems: Problems) -> None:
        resources, over = self.module.resources, declared.value
        existing = resources.get(over.key)
        if existing is not None:
            resources[over.key] = merge_resource(existing, declared, problems)
            return
        word = "data resource" if over.mode == "data" else _RESOURCE_WORDS[over.mode]
        detail = f"No normal file declares {over.key}, so there is nothing to override."
        problems.error("override_without_base", f"Missing {word} to override", detail, over.span)

    def _base(self, into: dict[str, Any], item: Any, what: str, problems: Problems) -> bool:
        if item.name in into:
            return True
        detail = f"No normal file declares {item.name}, so there is nothing to override."
        title = "Missing module call to override" if what == "module call" else f"Missing base {what} to override"
        problems.error("override_without_base", title, detail, item.span)
        return False

    # ------------------------------------------------------------ static evaluation

    def finish(self, scope: StaticScope, problems: Problems) -> ModuleConfig:
        """The complete module. The parts of module calls, provider blocks and provider requirements that must be known
        before planning are evaluated, and so are variables with `const`."""
        module = self.module
        for name, required in module.required_providers.items():
            if required.computed:
                module.required_providers[name] = resolve_requirement(required, scope, problems)
        for name in sorted(self.calls):
            module.calls[name] = _resolve(self.calls[name], scope, problems)
        for key in sorted(module.providers):
            provider = module.providers[key]
            if provider.for_each is not None:
                module.providers[key] = evolve(provider, instances=_instances(provider, scope, problems))
        for name in sorted(module.variables):
            if module.variables[name].const:
                scope.root_value(name, problems)
        return evolve(
            module,
            moved=tuple(self.moved),
            removed=tuple(self.removed),
            imports=tuple(self.imports),
            backend=self.backend or self.cloud,
            encryption=self.encryption,
        )


def _resolve(unresolved: UnresolvedCall, scope: StaticScope, problems: Problems) -> ModuleCall:
    """The call with its source and version as strings. The source is "" if it is invalid (reported)."""
    call = unresolved.call
    inputs, _ = unresolved.body.just_attributes()
    call = evolve(call, inputs=inputs, body=unresolved.body)
    version_given = False
    if unresolved.version is not None:
        mine = Problems()
        where = unresolved.version
        value = scope.evaluate(expr_of(where, mine), f"module.{call.name}.version", where.span, mine)
        if value is not None and not is_null(value):
            version_given = True
            plain, marks = unmark_deep(value)
            if marks & {SENSITIVE, EPHEMERAL}:
                detail = "A version constraint may be neither sensitive nor ephemeral."
                mine.error("invalid_constraint", "Invalid version constraint", detail, where.expr_span)
            else:
                call = evolve(call, version=constraint_text(plain, where, mine))
        elif value is None:
            version_given = True
        problems.extend(mine)
    if unresolved.source is None:
        return call
    expr = expr_of(unresolved.source, problems)
    call = evolve(call, source_span=expr.span, source_is_constant=not variables(expr.node))
    text = scope.text(expr, f"module.{call.name}.source", problems)
    if text is None:
        return call
    try:
        source = parse_module_source(text, registry_only=version_given)
    except SourceError as bad:
        title = "Invalid registry module source address" if version_given else "Invalid module source address"
        problems.error("invalid_module_source", title, str(bad), evolve(call, source=text).shown_span)
        return call
    return evolve(call, source=source.text, source_kind=source.kind, written_source=text)


def _instances(provider: ProviderDecl, scope: StaticScope, problems: Problems) -> dict[str, Value] | None:
    """The instances of a provider configuration by key; None if they are unknown or invalid (reported)."""
    from planner.language.config.for_each import for_each_items

    expr = provider.for_each
    assert expr is not None
    mine = Problems()
    value = scope.evaluate(expr, f"provider.{provider.key}.for_each", expr.span, mine)
    items = None if value is None else for_each_items(value, expr, mine)
    problems.extend(mine)
    return items
