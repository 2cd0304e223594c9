"""Checks over the whole module tree that need no evaluation: whether calls give the arguments that modules declare.

What expressions refer to is checked where they are evaluated (planner.engine.plan), against the same declarations.
"""

from __future__ import annotations

from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.language.config.model import Config
from planner.language.config.reading import Problems
from planner.language.syntax.body import BodySchema


def check_module_arguments(config: Config) -> list[Diagnostic]:
    """Arguments of module blocks that the module does not declare, and required ones that are missing: errors of every
    command that walks the configuration, found before the walk."""
    problems = Problems()
    for module in config.root.walk():
        for name in sorted(module.children):
            call = module.calls[name]
            variables = module.children[name].variables
            schema = BodySchema({v.name: v.default is None for v in variables.values()})
            if call.body is not None:
                problems.extend(call.body.content(schema).diagnostics)
    return problems
