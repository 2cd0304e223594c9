"""What the pipeline can do, asked by name: commands whose engine is not part of this version say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.vocabulary.diagnostic import Failure, error


def pipeline_function(name: str, command: str) -> Callable[..., Any]:
    """A function of the pipeline. Raises Failure when this version has none of that name."""
    import planner.pipeline as pipeline

    function = getattr(pipeline, name, None)
    if function is None:
        raise Failure(not_supported(command))
    return function  # type: ignore[no-any-return]


def not_supported(command: str) -> Any:
    """The diagnostic of a command that this version knows but cannot run."""
    return error(
        "cli.not_supported", f"The command {command} is not supported yet", "This version of planner cannot run it."
    )
