"""What `show` prints of configurations: the whole tree, or one module that nobody calls, as JSON."""

from __future__ import annotations

import os
from typing import Any

from attrs import evolve

from planner.operations.session import Options, load_configuration
from planner.vocabulary.diagnostic import Diagnostic, Failure, error

Document = tuple[dict[str, Any] | None, list[Diagnostic]]


def configuration_json(options: Options) -> Document:
    """The configuration of the working directory, as plan JSON has it under `configuration`."""
    from planner.documents.json_config import config_json

    session = load_configuration(options)
    if session.config is None or session.failed:
        return None, list(session.diagnostics)
    try:
        return config_json(session.config, session.schemas.schema), list(session.diagnostics)
    except Failure as failure:
        return None, [*session.diagnostics, *failure.diagnostics]


def module_json(directory: str) -> Document:
    """The interface of one module: neither its providers nor the modules that it calls need be installed."""
    from planner.config.load import load_tree
    from planner.documents.json_config import module_json

    if not os.path.isdir(directory):
        detail = f"There is no directory {directory}."
        return None, [error("show.no_module", "Module directory does not exist", detail)]
    config, problems = load_tree(directory, variables=None, workspace="default", locate=lambda *_: None)
    if any(d.is_error for d in problems):
        return None, problems
    return module_json(evolve(config, root=evolve(config.root, children={}))), problems
