"""Plans in tests: a folder with a configuration and perhaps a state, planned in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from planner.engine.evaluation.schemas import Schemas
from planner.engine.evaluation.variables import UNFIT
from planner.engine.plan.make_plan import make_plan
from planner.engine.plan.options import PlanOptions
from planner.engine.validate.walk import validate_walk
from planner.engine.walk.hooks import Hooks
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, has_errors
from planner.language.config.file_content import check_module_arguments
from planner.language.config.load import load_config
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables, root_variables
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_config import from_command, from_config
from planner.logic.facts.from_state import from_state
from planner.logic.graph.build import build_graph, graph_problems
from planner.logic.model.graph import Graph
from planner.logic.model.plan import Plan, ResourceChange
from planner.operations.graphs import SchemaTable
from planner.world.provider.interface import Provider
from planner.world.provider.registry import start_provider
from planner.world.state.file import read_state
from planner.world.state.model import State

TERRAFORM = 'provider["terraform.io/builtin/terraform"]'


@frozen(eq=False)
class Outcome:
    """A plan (None when there is none) and all diagnostics."""

    plan: Plan | None
    diagnostics: list[Diagnostic]

    def change(self, address: str, deposed: str = "") -> ResourceChange:
        assert self.plan is not None, self.words
        (found,) = [c for c in self.plan.changes if c.address == address and c.deposed == deposed]
        return found

    @property
    def actions(self) -> dict[str, str]:
        assert self.plan is not None, self.words
        return {c.address + (f" {c.deposed}" if c.deposed else ""): c.action for c in self.plan.changes}

    @property
    def words(self) -> list[str]:
        """Severity, place and title of every diagnostic."""
        return [f"{d.severity} {_place(d)}{d.summary}" for d in self.diagnostics]


def _place(d: Diagnostic) -> str:
    return f"{d.subject.filename}:{d.subject.line} " if d.subject else ""


def plan_folder(
    folder: Path,
    options: PlanOptions | None = None,
    arguments: list[tuple[str, str]] | None = None,
    environment: Mapping[str, str] | None = None,
    start: Callable[[str], Provider] = start_provider,
    hooks: Hooks | None = None,
) -> Outcome:
    """Plan what stands in a folder; the state is in `terraform.tfstate`, modules are local."""
    options = options or PlanOptions()
    given, problems = collect_variables(str(folder), arguments or [], environment or {})
    install_modules(str(folder), variables=given)
    config, found = load_config(str(folder), variables=given)
    problems = [*problems, *found]
    if config is None or has_errors(problems):
        return Outcome(None, problems)
    variables, found = root_variables(config.root.variables, given)
    problems += [d for d in found if d.code not in UNFIT] + check_module_arguments(config)
    if has_errors(problems):
        return Outcome(None, problems)
    schemas = Schemas(start)
    path = folder / "terraform.tfstate"
    state = read_state(path.read_bytes(), str(path))[0] if path.exists() else None

    def graph(walk: str, state: State) -> Graph:
        facts = FactBuilder()
        from_command(facts, walk, options.limits)
        from_config(facts, config, SchemaTable(schemas))
        from_state(facts, state)
        built = build_graph(facts.build())
        wrong = graph_problems(built)
        if has_errors(wrong):
            raise Failure(wrong)
        return built

    plan, found = make_plan(config, state or State(), variables, schemas, options, graph, hooks)
    return Outcome(plan, problems + found)


def validate_folder(folder: Path) -> list[Diagnostic]:
    """Validate the configuration in a folder."""
    given, _ = collect_variables(str(folder), [], {})
    install_modules(str(folder), variables=given)
    config, problems = load_config(str(folder), variables=given)
    problems = list(problems)
    if config is None or has_errors(problems):
        return problems
    problems += check_module_arguments(config)
    if has_errors(problems):
        return problems
    schemas = Schemas(start_provider)
    facts = FactBuilder()
    from_command(facts, "validate")
    from_config(facts, config, SchemaTable(schemas))
    graph = build_graph(facts.build())
    problems += graph_problems(graph)
    if has_errors(problems):
        return problems
    return problems + validate_walk(graph, config, schemas, "default", SchemaTable(schemas))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def recorded(address: str, type: str = "terraform_data", **more: Any) -> dict[str, Any]:
    """An instance for `write_state`: `address` is `module.a[0].name["key"]`, with the name in place of type and name;
    `more` are members of the instance in the state file, `input` its input."""
    module, _, rest = address.rpartition(".") if address.startswith("module.") else ("", "", address)
    name, _, key = rest.partition("[")
    given = more.pop("input", None)
    typed = None if given is None else {"value": given, "type": _type_of(given)}
    triggers = more.pop("triggers", None)
    instance: dict[str, Any] = {
        "schema_version": 0,
        "attributes": {
            "id": f"id-{address}",
            "input": typed,
            "output": typed,
            "triggers_replace": None if triggers is None else {"value": triggers, "type": "string"},
        },
        "sensitive_attributes": [],
        **more,
    }
    if key:
        instance["index_key"] = json.loads(key.removesuffix("]"))
    return {"module": module, "type": type, "name": name, "instance": instance}


def _type_of(value: Any) -> Any:
    """The type of a JSON value as state files write it."""
    if isinstance(value, dict):
        return ["object", {name: _type_of(part) for name, part in value.items()}]
    if isinstance(value, list):
        return ["tuple", [_type_of(part) for part in value]]
    return "number" if isinstance(value, int) else "string"


def write_state(folder: Path, *instances: dict[str, Any], outputs: dict[str, Any] | None = None) -> None:
    """A state file with these instances."""
    resources: dict[tuple[str, str, str], dict[str, Any]] = {}
    for given in instances:
        place = (given["module"], given["type"], given["name"])
        resource = resources.setdefault(
            place,
            {"mode": "managed", "type": given["type"], "name": given["name"], "provider": TERRAFORM, "instances": []},
        )
        if given["module"]:
            resource["module"] = given["module"]
        resource["instances"].append(given["instance"])
    state = {
        "version": 4,
        "terraform_version": "1.12.6",
        "serial": 1,
        "lineage": "test",
        "outputs": outputs or {},
        "resources": list(resources.values()),
        "check_results": None,
    }
    (folder / "terraform.tfstate").write_text(json.dumps(state), encoding="utf-8")
