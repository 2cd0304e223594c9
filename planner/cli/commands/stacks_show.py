"""`stacks show`: the components and outputs of deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.finish import finish, json_text
from planner.cli.flags import Arguments, Flag
from planner.cli.options import JSON, SHOW_SENSITIVE
from planner.cli.stack_options import DEPLOYMENTS, check_words
from planner.render.diff_block import SchemaLookup
from planner.render.terminal import Terminal
from planner.workflows.stacks.deployments import ServiceStandIns
from planner.workflows.stacks.opened_stack import opened

if TYPE_CHECKING:
    from planner.render.state import StateText
    from planner.workflows.stacks.deployment_state import Deployed

USAGE = "[options]"
HELP = """Shows deployments of the stack as of the last apply: the instances of components with the objects in their
states, and the outputs."""
COMPONENT = Flag(
    "component",
    "list",
    "Only this component (an instance, all of them, a child stack). May be repeated.",
    value="ADDRESS",
)
FLAGS = (DEPLOYMENTS, COMPONENT, SHOW_SENSITIVE, JSON)


def run(arguments: Arguments, terminal: Terminal) -> int:
    """0, or 1 when a state cannot be read."""
    from planner.render.state import StateText
    from planner.workflows.stacks.deployment_state import deployed, schemas_of
    from planner.workflows.stacks.report import deployed_json

    check_words(arguments)
    session, told = opened(ServiceStandIns())
    result = deployed(session, arguments["deployment"], arguments["component"])
    schemas = schemas_of(session)
    try:
        if arguments["json"]:
            terminal.data(json_text(deployed_json(result, schemas)))
            return 0
        lookup = SchemaLookup(schemas)
        text = StateText(lookup.resource_schema, lookup.decode, terminal, arguments["show-sensitive"])
        for one in result:
            _show(one, text, terminal, not arguments["component"])
    finally:
        schemas.close()
    return finish(told, terminal)


def _show(found: Deployed, text: StateText, terminal: Terminal, with_outputs: bool) -> None:
    terminal.out(f"\n{terminal.paint(f'Deployment {found.deployment}', 'bold')}")
    if found.outputs is None and not found.components:
        terminal.out("\nNothing has been applied yet.")
        return
    for name, state in found.components.items():
        terminal.out(f"\n{terminal.paint(str(name), 'bold')}:\n")
        text.show(state)
    if with_outputs and found.outputs:
        terminal.out(f"\nOutputs of {found.deployment}:\n")
        for output in sorted(found.outputs):
            terminal.out(f"{output} = {text.output(found.outputs[output])}")
