"""Why are parts of planned objects not known yet? Because the provider decides them, or because of what they refer to."""

from __future__ import annotations

from planner.config.model import Config, ResourceDecl
from planner.config.references import Ref, parse_reference
from planner.language.paths import unknown_paths
from planner.plan.model import ResourceChange
from planner.syntax.body import BodySchema
from planner.syntax.references import variables
from planner.vocabulary.address import join, parse_module
from planner.vocabulary.diagnostic import Failure

PROVIDER = "provider"
"""the cause of what only the provider can say"""


class UnknownCauses:
    """Answers for the changes of one plan; what a declaration mentions is looked up once."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._mentions: dict[tuple[ResourceDecl, str], tuple[str, ...] | None] = {}

    def of(self, change: ResourceChange) -> list[tuple[str, str, str]]:
        """(address, attribute, cause) for every attribute with unknown parts. A cause is `provider`, or an address seen
        from the root module: `module.net.terraform_data.web`, `var.size`."""
        module = parse_module(change.module)
        config = self.config.root.descendant(module.path)
        key = (
            f"{change.type}.{change.name}" if change.mode == "managed" else f"{change.mode}.{change.type}.{change.name}"
        )
        decl = config.resources.get(key) if config is not None else None
        found = []
        for attribute in sorted({str(path[0][1]) for path in unknown_paths(change.after) if path}):
            mentions = self._of_attribute(decl, attribute) if decl is not None else None
            if mentions is None:
                found.append((change.address, attribute, PROVIDER))
            else:
                found += [(change.address, attribute, join(change.module, name)) for name in mentions]
        return found

    def _of_attribute(self, decl: ResourceDecl, attribute: str) -> tuple[str, ...] | None:
        """What the configuration of an attribute refers to; None when it is not configured."""
        known = (decl, attribute)
        if known not in self._mentions:
            content, _ = decl.body.partial_content(BodySchema({attribute: False}))
            given = content.attributes.get(attribute)
            names: set[str] | None = None
            if given is not None:
                names = set()
                try:
                    nodes = variables(given)
                except Failure:
                    nodes = []
                for node in nodes:
                    ref = parse_reference(node)
                    if isinstance(ref, Ref):
                        names.add(_name(ref))
            self._mentions[known] = None if names is None else tuple(sorted(names))
        return self._mentions[known]


def _name(ref: Ref) -> str:
    if ref.kind == "resource":
        return ref.name
    if ref.kind in ("module", "output"):
        return f"module.{ref.name}.{ref.output}" if ref.output else f"module.{ref.name}"
    return f"{ref.kind}.{ref.name}"
