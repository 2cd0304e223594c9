"""The recorded cases as inputs of the graph rules: configuration, moved state, command line, planned changes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from planner.engine.plan.moves import apply_moves
from planner.foundation.vocabulary.address import parse_target
from planner.foundation.vocabulary.limits import Limits
from planner.language.config.load import load_config
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables
from planner.logic.datalog.engine.fact_base import FactBase, FactBuilder
from planner.logic.facts.from_config import from_command, from_config
from planner.logic.facts.from_state import from_changes, from_state
from planner.logic.model.plan import ResourceChange
from planner.logic.programs.actions import actions, words
from planner.operations.graphs import SchemaTable
from planner.operations.load import new_schemas
from planner.world.state.file import read_state
from planner.world.state.model import State

CASES = Path(__file__).parents[1] / "conformance" / "cases"
WALKS = {"walkPlan": "plan", "walkPlanDestroy": "plan-destroy", "walkApply": "apply", "walkDestroy": "destroy"}
ACTIONS = {tuple(words(action)): action for action in actions()}


class RecordedCase:
    """One folder of the recorded cases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        prior = folder / "prior.tfstate"
        self.prior = prior.read_text(encoding="utf-8") if prior.exists() else ""

    def expected(self, name: str) -> Any:
        path = self.folder / "expected" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def walk(self, phase: str) -> dict[str, Any] | None:
        """The last recorded graph walk of planning or applying."""
        trace = self.expected("plan_graph_trace") or {}
        walks = trace.get(phase)
        return walks[-1] if walks else None

    def flags(self, name: str) -> list[str]:
        prefix = f"-{name}="
        return [a.removeprefix(prefix) for a in self.meta.get("plan_args", []) if a.startswith(prefix)]

    def facts(self, phase: str, work: Path) -> FactBase:
        """Everything the rules read for one walk; `work` is an empty folder."""
        shutil.copytree(self.folder, work, dirs_exist_ok=True)
        shutil.rmtree(work / "prior", ignore_errors=True)
        arguments = [("var", v) for v in self.flags("var")] + [("var-file", v) for v in self.flags("var-file")]
        given, _ = collect_variables(str(work), arguments, self.meta.get("env", {}))
        install_modules(str(work), variables=given)
        config, problems = load_config(str(work), variables=given)
        assert config is not None, problems
        state = State()
        if self.prior:
            read, problems = read_state(self.prior.encode())
            assert read is not None, problems
            state = apply_moves(config, read).state
        recorded = self.walk(phase)
        assert recorded is not None
        facts = FactBuilder()
        targets, excludes = (tuple(map(parse_target, self.flags(name))) for name in ("target", "exclude"))
        from_command(facts, WALKS[recorded["walk"]], Limits(targets, excludes))
        from_config(facts, config, SchemaTable(new_schemas()))
        from_state(facts, state)
        if phase == "apply":
            from_changes(facts, self.changes(), state, config)
        return facts.build()

    def changes(self) -> list[ResourceChange]:
        """The recorded plan's changes: only addresses and actions, which is all that the graph needs."""
        return [
            ResourceChange(
                c["address"],
                c.get("previous_address", c["address"]),
                c.get("module_address", ""),
                c["mode"],
                c["type"],
                c["name"],
                c.get("index"),
                c.get("deposed", ""),
                f'provider["{c["provider_name"]}"]',
                ACTIONS[tuple(c["change"]["actions"])],  # type: ignore[arg-type]
                "",
                None,
                None,
            )
            for c in self.expected("plan").get("resource_changes", [])
        ]

    def mask(self, name: str) -> str:
        """A node name with the keys of new deposed objects hidden, as the recording has it."""
        return re.sub(r"deposed ([0-9a-f]{8})\b", lambda m: m[0] if m[1] in self.prior else "deposed <new>", name)


def cases(phase: str) -> list[RecordedCase]:
    """All cases with a recorded graph of that phase."""
    found = [RecordedCase(folder) for folder in sorted(CASES.iterdir()) if (folder / "case.json").exists()]
    return [case for case in found if case.walk(phase) is not None]
