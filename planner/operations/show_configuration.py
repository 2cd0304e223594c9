"""What `show` prints of configurations: the whole tree, or one module that nobody calls, as JSON."""

from __future__ import annotations

import os
from typing import Any

from planner.answers.documents.json_config import config_json
from planner.answers.documents.json_config import module_json as document_of_module
from planner.foundation.vocabulary.diagnostic import Diagnostic, error
from planner.foundation.vocabulary.diagnostic_list import Diagnostics
from planner.foundation.vocabulary.records import evolve
from planner.language.config.load import load_tree
from planner.operations.load import load
from planner.operations.options import Options

Document = tuple[dict[str, Any] | None, list[Diagnostic]]


def configuration_json(options: Options) -> Document:
    """The configuration of the working directory, as plan JSON has it under `configuration`."""
    told = Diagnostics()
    with told.until_an_error():
        loaded = load(options, told)
        return config_json(loaded.config, loaded.schemas.schema), told
    return None, told


def module_json(directory: str) -> Document:
    """The interface of one module: neither its providers nor the modules that it calls need be installed."""

    if not os.path.isdir(directory):
        detail = f"There is no directory {directory}."
        return None, [error("show.no_module", "Module directory does not exist", detail)]
    config, problems = load_tree(directory, variables=None, workspace="default", locate=lambda *_: None)
    if any(d.is_error for d in problems):
        return None, problems
    return document_of_module(evolve(config, root=evolve(config.root, children={}))), problems
