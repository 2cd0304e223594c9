"""`stacks validate`: checks a stack and the modules that it calls."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.values.value import UNKNOWN, Unknown, Value
from planner.foundation.vocabulary.diagnostic import Diagnostic, Diagnostics, has_errors
from planner.language.config.stack_files.load import StackSources
from planner.language.config.stack_files.model import StackConfig
from planner.operations.load import Loaded, new_schemas
from planner.operations.options import Options
from planner.operations.providers_needed import not_installed
from planner.operations.validate import validate_loaded
from planner.workflows.stacks.flow import ComponentInstance, Flow
from planner.workflows.stacks.loading import component_calls, component_configs, configured, read_stack
from planner.workflows.stacks.names import PromiseName


def validate_stack(directory: str, places: StackSources | None = None) -> list[Diagnostic]:
    """The diagnostics about a stack, its deployments and the modules of its components. Modules are checked only if the
    files of the stack have no errors. `places`: replaces the sources that `init` recorded."""
    diagnostics = Diagnostics()
    with diagnostics.until_an_error():
        stack, problems = read_stack(directory, places)
        diagnostics.check(problems)
        diagnostics.check(flow_problems(stack))
        diagnostics.check(not_installed(component_configs(stack.root), directory, "stacks init"))
        for config in (configured(*call) for call in component_calls(stack.root)):
            loaded = Loaded(Options(directory), "default", {}, config, new_schemas(directory, config), ())
            diagnostics += [d for d in validate_loaded(loaded) if d not in diagnostics]
    return diagnostics


class _NoWork:
    """Evaluates components without planning them: all their outputs are unknown."""

    def component(self, instance: ComponentInstance) -> Mapping[str, Value]:
        return dict.fromkeys(instance.config.root.outputs, UNKNOWN)


def flow_problems(stack: StackConfig) -> list[Diagnostic]:
    """Evaluate the expressions of a stack with unknown inputs. Returns the diagnostics, for example about cycles and
    invalid values."""
    inputs = {name: Unknown(variable.constraint.type) for name, variable in stack.root.variables.items()}
    flow = Flow(stack, inputs, _NoWork())
    names, problems = flow.instances()
    for path in flow.paths() if not has_errors(problems) else ():
        module = flow.module(path)
        names += [PromiseName("local", name, path) for name in module.locals]
        names += [PromiseName("output", name, path) for name in module.outputs]
        for key in module.providers:
            called = key.removeprefix("provider.")
            names += [PromiseName("provider", called, path, k) for k in flow.keys("provider", called, path)]
    table = {id(problem): problem for problem in (*problems, *flow.promises.ask_all(names, 1))}
    return list(table.values())
