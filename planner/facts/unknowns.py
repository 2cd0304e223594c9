"""Why are parts of planned objects not known yet? The provider decides them, or what they refer to is not known."""

from __future__ import annotations

from collections.abc import Iterable

from planner.config.model import Config, ResourceDecl
from planner.config.references import Ref, parse_reference
from planner.model.plan import ResourceChange
from planner.syntax.body import BodySchema
from planner.syntax.references import variables
from planner.values.paths import unknown_paths
from planner.values.value import is_wholly_known
from planner.vocabulary.address import format_resource, join, parse_module
from planner.vocabulary.diagnostic import Failure

PROVIDER = "provider"
"""the cause of what only the provider can say"""


class UnknownCauses:
    """Answers for the changes of one plan; what a declaration mentions is looked up once."""

    def __init__(self, config: Config, changes: Iterable[ResourceChange]) -> None:
        self.config = config
        self._unknown = {c.resource_address for c in changes if not is_wholly_known(c.after)}
        self._mentions: dict[tuple[ResourceDecl, str], tuple[tuple[str, str], ...] | None] = {}

    def of(self, change: ResourceChange) -> list[tuple[str, str, str]]:
        """(address, attribute, cause) for every attribute with unknown parts. A cause is `provider`, or an address seen
        from the root module: `module.net.terraform_data.web`, `var.size`."""
        module = parse_module(change.module)
        config = self.config.root.descendant(module.path)
        key = format_resource("", change.mode, change.type, change.name)
        decl = config.resources.get(key) if config is not None else None
        found = []
        for attribute in sorted({str(path[0][1]) for path in unknown_paths(change.after) if path}):
            mentions = self._of_attribute(decl, attribute) if decl is not None else None
            if mentions is None:
                found.append((change.address, attribute, PROVIDER))
            else:
                named = [(kind, join(change.module, name)) for kind, name in mentions]
                open_ones = [name for kind, name in named if self._may_be_unknown(kind, name, change.module)]
                found += [(change.address, attribute, name) for name in open_ones or [name for _, name in named]]
        return found

    def _may_be_unknown(self, kind: str, name: str, module: str) -> bool:
        if kind == "resource":
            return name in self._unknown
        return kind in ("module", "output", "local", "each", "self") or (kind == "var" and bool(module))

    def _of_attribute(self, decl: ResourceDecl, attribute: str) -> tuple[tuple[str, str], ...] | None:
        """What the configuration of an attribute refers to (kind and name); None when it is not configured."""
        known = (decl, attribute)
        if known not in self._mentions:
            content, _ = decl.body.partial_content(BodySchema({attribute: False}))
            given = content.attributes.get(attribute)
            names: set[tuple[str, str]] | None = None
            if given is not None:
                names = set()
                try:
                    nodes = variables(given)
                except Failure:
                    nodes = []
                for node in nodes:
                    ref = parse_reference(node)
                    if isinstance(ref, Ref):
                        names.add((ref.kind, _name(ref)))
            self._mentions[known] = None if names is None else tuple(sorted(names))
        return self._mentions[known]


def _name(ref: Ref) -> str:
    if ref.kind == "resource":
        return ref.name
    if ref.kind in ("module", "output"):
        return f"module.{ref.name}.{ref.output}" if ref.output else f"module.{ref.name}"
    return f"{ref.kind}.{ref.name}"
