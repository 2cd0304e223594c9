"""What deployments have, as one document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.operations.show import ShownState, shown_json
from planner.render.outputs_json import output_json

if TYPE_CHECKING:
    from planner.engine.evaluation.schemas import Schemas
    from planner.workflows.stacks.deployment_state import Deployed


def deployed_json(found: Iterable[Deployed], schemas: Schemas) -> dict[str, Any]:
    """Format 1.0: {"format_version", "deployments": [{"deployment", "applied", "components": [{"address", "state": what
    `show -json` prints}...], "outputs": {NAME: what `output -json` prints}}...]}."""
    return {
        "format_version": "1.0",
        "deployments": [
            {
                "deployment": one.deployment,
                "applied": one.outputs is not None,
                "components": [
                    {"address": str(name), "state": shown_json(ShownState(state, schemas))}
                    for name, state in one.components.items()
                ],
                "outputs": {name: output_json(output) for name, output in sorted((one.outputs or {}).items())},
            }
            for one in found
        ],
    }
