"""Relations of the plan itself: changes, outputs, checks and dependencies, with a method for each."""

from __future__ import annotations

from collections.abc import Iterable

from planner.answers.policy.impact import Impact
from planner.foundation.vocabulary.address import format_resource
from planner.logic.datalog.language.values import Row, member
from planner.logic.facts.from_state import module_path
from planner.logic.model.plan import Plan, ResourceChange


class Changes:
    """The relations about the changes, outputs and checks of a plan. `changes`: {name as in change_name: entry of the
    plan}, including the entries with the action no-op."""

    def __init__(self, plan: Plan, changes: dict[str, ResourceChange]) -> None:
        self.plan, self.changes = plan, changes

    # -------- changes

    def change(self) -> Iterable[Row]:
        for address, c in self.changes.items():
            yield (address, c.type, c.name, c.module, c.provider, c.mode)

    def action(self) -> Iterable[Row]:
        return ((address, c.action) for address, c in self.changes.items())

    def undecided(self) -> Iterable[Row]:
        return ((address, what) for address, c in self.changes.items() for what in c.undecided)

    def reason(self) -> Iterable[Row]:
        return ((address, c.reason) for address, c in self.changes.items() if c.reason)

    def replace_path(self) -> Iterable[Row]:
        for address, c in self.changes.items():
            for path in c.replace_paths:
                text = ""
                for kind, key in path:
                    named = kind == "attr" or type(key) is str
                    text = member(text, str(key)) if named else f"{text}[{key if type(key) is int else '...'}]"
                yield (address, text.removeprefix("."))

    def moved_from(self) -> Iterable[Row]:
        changes = self.plan.changes
        return ((c.address, c.previous_address) for c in changes if not c.deposed and c.address != c.previous_address)

    def deposed(self) -> Iterable[Row]:
        return ((c.address, c.deposed, c.action) for c in self.plan.changes if c.deposed)

    def instance_of(self) -> Iterable[Row]:
        for address, c in self.changes.items():
            yield (address, format_resource(module_path(c.module), c.mode, c.type, c.name))

    def drifted(self) -> Iterable[Row]:
        return ((c.address, c.action) for c in self.plan.drift if c.action != "no-op")

    def invokes(self) -> Iterable[Row]:
        return ((one.address, one.caller, one.event) for one in self.plan.invocations)

    def import_block(self) -> Iterable[Row]:
        for address, c in self.changes.items():
            if c.importing is not None:
                yield (address, c.importing.id or "")

    # -------- the interface of the root module

    def output(self) -> Iterable[Row]:
        return ((f"output.{o.name}", o.name, o.action) for o in self.plan.outputs)

    def plan_mode(self) -> Iterable[Row]:
        return [(self.plan.mode,)]

    def targeted(self) -> Iterable[Row]:
        return ((option, str(address)) for option, address in self.plan.limits.options())

    def check_result(self) -> Iterable[Row]:
        return ((c.address, c.kind, c.status) for c in self.plan.checks)


class Dependencies:
    def __init__(self, impact: Impact) -> None:
        self.impact = impact

    def node(self) -> Iterable[Row]:
        return ((n.name, n.kind, n.object) for n in self.impact.graph.nodes.values())

    def edge(self) -> Iterable[Row]:
        edges = self.impact.graph.edges
        return ((dependent, dependency) for dependent, dependencies in edges.items() for dependency in dependencies)

    def depends(self) -> Iterable[Row]:
        return self.impact.pairs()

    def maybe_through(self) -> Iterable[Row]:
        return self.impact.maybe_through()

    def maybe_reached(self) -> Iterable[Row]:
        return self.impact.maybe_reached()

    def blast(self) -> Iterable[Row]:
        return self.impact.blast()

    def blast_size(self) -> Iterable[Row]:
        return self.impact.sizes()
