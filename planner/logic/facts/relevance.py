"""Facts of rules/plan/relevant.dl, about the references on which the changes of a plan may depend. The references are
the same as in OpenTofu's package globalref."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from planner.foundation.values.convert import path_text
from planner.foundation.values.schema import BlockSchema
from planner.foundation.vocabulary.address import ROOT, InstanceKey, ModuleAddress, format_instance, join, parse_module
from planner.foundation.vocabulary.span import Source, Span
from planner.language.config.model import Config, Expr, ModuleConfig, ResourceDecl
from planner.language.config.references import Ref, parse_reference
from planner.language.syntax import nodes
from planner.language.syntax.body import variables
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.mentions import in_body
from planner.logic.model.plan import ResourceChange

Path = tuple[tuple[str, Any], ...]
BlockOf = Callable[[ModuleConfig, ResourceDecl], "BlockSchema | None"]
"""returns the schema of a declared resource; None if it is unknown"""


class Site(NamedTuple):
    """A part of the configuration with expressions, in a module instance. `kind`: resource, var, local, output, module
    (all outputs of a call) or repetition (count or for_each of a resource)."""

    module: ModuleAddress
    kind: str
    name: str

    def __str__(self) -> str:
        module = str(self.module)
        if self.kind == "module":
            return module
        if self.kind in ("resource", "repetition"):
            return join(module, self.name) + (".count" if self.kind == "repetition" else "")
        return join(module, f"{self.kind}.{self.name}")


class _Mention(NamedTuple):
    """A reference in an expression, the path of its argument, and its position."""

    ref: Ref
    argument: str
    source: Source
    start: int
    end: int


class RelevanceFacts:
    """Builds the facts of rules/plan/relevant.dl. `block_of`: returns the schema of a resource. `outputs`: (name,
    action) of the root outputs. `with_sources`: whether positions in the configuration are recorded as the sources of
    facts. `resources`: {name of a resource attribute in the facts: (instance address, attribute path)}."""

    def __init__(
        self,
        config: Config,
        block_of: BlockOf,
        changes: Iterable[ResourceChange],
        outputs: Iterable[tuple[str, str]],
        with_sources: bool = False,
    ) -> None:
        self.config, self.block_of, self.with_sources = config, block_of, with_sources
        self.resources: dict[str, tuple[str, Path]] = {}
        self._facts = FactBuilder()
        self._mentions: dict[tuple[tuple[str, ...], str, str], list[_Mention]] = {}
        self._seen: set[Site] = set()
        self._waiting: list[Site] = []
        for change in changes:
            if change.action != "no-op":
                name = f"{'' if change.mode == 'managed' else change.mode + '.'}{change.type}.{change.name}"
                self._changes(Site(parse_module(change.module), "resource", name))
        for module, name in outputs:
            self._changes(Site(parse_module(module), "output", name))

    def build(self) -> FactBase:
        """The facts about the outputs, about the resources with a planned action other than `no-op`, and about
        everything to which these outputs and resources refer, directly or indirectly."""
        while self._waiting:
            self._add_site(self._waiting.pop())
        return self._facts.build()

    def _changes(self, site: Site) -> None:
        if site not in self._seen:
            self._facts.add("site_changes", str(site), source=self._declaration(site))
            self._visit(site)

    def _visit(self, site: Site) -> None:
        if site not in self._seen:
            self._seen.add(site)
            self._waiting.append(site)

    def _add_site(self, site: Site) -> None:
        """Add facts about the references in the expressions of a site."""
        text, add = str(site), self._facts.add
        if site.kind == "module":
            config = self.config.root.descendant(site.module.path)
            for name in sorted(config.outputs if config else ()):
                output = Site(site.module, "output", name)
                add("mentions_place", text, "", str(output), source=self._declaration(output))
                self._place(str(output), output, "")
            return
        module = site.module.parent if site.kind == "var" else site.module
        for mention in self._in(site):
            place = self._meant(mention.ref, module, site)
            if place is not None:
                source = Span(mention.source, mention.start, mention.end) if self.with_sources else None
                add("mentions_place", text, mention.argument, place, source=source)

    def _meant(self, ref: Ref, module: ModuleAddress, inside: Site) -> str | None:
        """The name in the facts of the target of a reference: a site, or an attribute of a resource. Facts about the
        target are added. None if the target does not depend on anything."""
        kind = ref.kind
        if kind == "resource":
            steps = tuple(("attr", s.name) if isinstance(s, nodes.GetAttr) else ("index", s.key) for s in ref.rest)
            address, path = _address(module, ref.name, ref.key), path_text(steps)
            place = f"{address}.{path}" if path and path[0] != "[" else address + path
            if place not in self.resources:
                self.resources[place] = (address, steps)
                self._facts.add("in_resource", place)
                wanted = ".".join(str(key) for step, key in steps if step == "attr")
                self._place(place, Site(module, "resource", ref.name), wanted)
            return place
        if kind in ("var", "local"):
            site = Site(module, kind, ref.name)
        elif kind == "output":
            site = Site(module.child(ref.name, ref.key), kind, ref.output)
        elif kind == "module":
            site = Site(module.child(ref.name, ref.key), kind, "")
        elif kind in ("count", "each") and inside.kind == "resource":
            site = Site(module, "repetition", inside.name)
        else:
            return None
        self._place(str(site), site, "")
        return str(site)

    def _place(self, place: str, site: Site, inside: str) -> None:
        self._facts.add("in_site", place, str(site), inside)
        self._visit(site)

    # ---------------------------------------------------------------- the configuration

    def _in(self, site: Site) -> list[_Mention]:
        """The references in a site. The result is cached, because it is the same in all instances of a module."""
        key = (site.module.path, site.kind, site.name)
        known = self._mentions.get(key)
        if known is None:
            known = self._mentions[key] = self._read(site)
        return known

    def _read(self, site: Site) -> list[_Mention]:
        config = self.config.root.descendant(site.module.path)
        if config is None:
            return []
        if site.kind == "resource":
            decl = config.resources.get(site.name)
            block = self.block_of(config, decl) if decl else None
            result = in_body(decl.body, block) if decl and block else ()
            nodes_in = [(node, path, source) for node, source, path in result if not isinstance(node, nodes.Call)]
        else:
            nodes_in = [(node, "", source) for node, source in self._expression(site, config)]
        parsed = ((parse_reference(node), path, source, node) for node, path, source in nodes_in)
        return [_Mention(r, path, source, n.start, n.end) for r, path, source, n in parsed if isinstance(r, Ref)]

    def _expression(self, site: Site, config: ModuleConfig) -> list[tuple[nodes.Traversal | nodes.Variable, Source]]:
        expr: Expr | None = None
        if site.kind == "var":
            argument = config.call.inputs.get(site.name) if config.call is not None and site.module != ROOT else None
            return [(node, argument.source) for node in variables(argument.expr)] if argument else []
        if site.kind == "local":
            local = config.locals.get(site.name)
            expr = local.expr if local else None
        elif site.kind == "output":
            output = config.outputs.get(site.name)
            expr = output.value if output else None
        elif site.kind == "repetition":
            decl = config.resources.get(site.name)
            expr = (decl.for_each or decl.count) if decl else None
        return [(node, expr.source) for node in variables(expr.node)] if expr is not None else []

    def _declaration(self, site: Site) -> Span | None:
        config = self.config.root.descendant(site.module.path) if self.with_sources else None
        if config is None:
            return None
        result = config.outputs.get(site.name) if site.kind == "output" else config.resources.get(site.name)
        return result.span if result is not None else None


def _address(module: ModuleAddress, resource: str, key: InstanceKey) -> str:
    mode, _, rest = resource.partition(".")
    if mode not in ("data", "ephemeral"):
        mode, rest = "managed", resource
    type_, _, name = rest.partition(".")
    return format_instance(str(module), mode, type_, name, key)
