"""Relations of a plan's configuration, with a method for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.answers.policy.facts.owners import ConfiguredOwners
from planner.answers.policy.facts.relations import PolicyInputs
from planner.answers.policy.values_read import kind_of
from planner.foundation.vocabulary.address import join
from planner.foundation.vocabulary.provider_address import parse_provider_configuration
from planner.language.config.model import Config, ModuleConfig, ResourceDecl
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.datalog.language.values import FALSE, TRUE, Row
from planner.logic.facts.from_config import configuration_address
from planner.logic.facts.from_state import module_path
from planner.logic.facts.unknowns import UnknownFacts
from planner.logic.model.plan import Plan
from planner.logic.programs.rule_programs import product_program


class ConfigurationFacts:
    def __init__(self, plan: Plan, config: Config, owners: ConfiguredOwners, reads: PolicyInputs) -> None:
        self.plan, self.config, self.owners, self.reads = plan, config, owners, reads

    def root_variables(self) -> Iterable[tuple[str, bool]]:
        """(name, whether it is secret) of each input variable of the root module."""
        return ((name, decl.sensitive or decl.ephemeral) for name, decl in self.config.root.variables.items())

    def variable(self) -> Iterable[Row]:
        return ((f"var.{name}", name) for name in self.config.root.variables)

    def unknown_because(self) -> Iterable[Row]:
        interest = self.reads.interest
        asked = [c for c in self.owners.changes.values() if interest is None or interest.asks_why_unknown(kind_of(c))]
        if not asked:
            return
        builder = FactBuilder()
        facts = UnknownFacts(builder, self.config, self.plan.changes)
        for change in asked:
            facts.add(change)
        yield from evaluate(product_program("relevance"), builder.build(), ["unknown_cause"]).sorted("unknown_cause")

    def _modules(self) -> Iterable[tuple[str, ModuleConfig]]:
        waiting = [("", self.config.root)]
        while waiting:
            path, module = waiting.pop()
            yield path, module
            waiting += [(join(path, f"module.{name}"), child) for name, child in module.children.items()]

    def _blocks(self) -> Iterable[tuple[str, str, ResourceDecl]]:
        for path, module in self._modules():
            for key, decl in module.resources.items():
                yield join(path, key), path, decl

    def resource(self) -> Iterable[Row]:
        return ((object, path, decl.mode, decl.type) for object, path, decl in self._blocks())

    def overridden(self) -> Iterable[Row]:
        return ((object, decl.made_up.block) for object, _, decl in self._blocks() if decl.made_up is not None)

    def mocks_configuration(self) -> Iterable[Row]:
        for path, module in self._modules():
            for block in module.providers.values():
                if block.mocking is not None:
                    yield (configuration_address(path, module.provider_source(block.name), block.alias),)

    def provisioner(self) -> Iterable[Row]:
        yield from ((object, p.type, p.when) for object, _, decl in self._blocks() for p in decl.provisioners)
        for path, module in self._modules():
            for removed in module.removed:
                yield from ((join(path, removed.from_), p.type, p.when) for p in removed.provisioners)

    def lifecycle(self) -> Iterable[Row]:
        for object, _, decl in self._blocks():
            cycle = decl.lifecycle
            if cycle.create_before_destroy is not None:
                yield (object, "create_before_destroy", "true" if cycle.create_before_destroy else "false")
            for setting, expr in (("prevent_destroy", cycle.prevent_destroy), ("destroy", cycle.destroy)):
                if expr is not None:
                    yield (object, setting, expr.span.text)
            if cycle.ignore_changes == "all":
                yield (object, "ignore_changes", "all")
            else:
                yield from ((object, "ignore_changes", reference.span.text) for reference in cycle.ignore_changes)

    def module_call(self) -> Iterable[Row]:
        for path, module in self._modules():
            for name, call in module.calls.items():
                yield (join(path, f"module.{name}"), call.source, call.version or "")

    def required_provider(self) -> Iterable[Row]:
        for path, module in self._modules():
            for name, required in module.required_providers.items():
                yield (path, name, required.source, required.version or "")

    def uses_provider(self) -> Iterable[Row]:
        items: set[Row] = set()
        for path, module in self._modules():
            names = {decl.provider_name for decl in module.resources.values()}
            items |= {(path, name, module.provider_source(name)) for name in names}
        return items | set(self._of_state({(path, source) for path, _, source in items}))

    def _of_state(self, known: set[tuple[str, str]]) -> Iterator[Row]:
        """The rows of `uses_provider` for planned objects whose module does not otherwise use their provider, such as
        objects that exist only in the state. `known`: (module, provider) of the other rows."""
        for change in self.plan.changes:
            path, source = module_path(change.module), parse_provider_configuration(change.provider).source
            if (path, source) not in known:
                module = self.owners.module(path)
                required = module.required_providers if module is not None else {}
                names = (name for name, entry in required.items() if entry.source == source)
                yield (path, next(names, source.rpartition("/")[2]), source)

    def removed_block(self) -> Iterable[Row]:
        for path, module in self._modules():
            for removed in module.removed:
                yield (join(path, removed.from_), TRUE if removed.destroy else FALSE)

    def move_block(self) -> Iterable[Row]:
        return (row for row, _ in self.owners.moves())
