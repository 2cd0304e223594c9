"""Everything that planning a unit needs, imported and compiled: what a server of processes loads before it forks."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from types import TracebackType

from planner import DEPTH, DIGITS

gc.disable()
sys.setrecursionlimit(DEPTH)
sys.set_int_max_str_digits(DIGITS)

import planner.batch.inputs  # noqa: E402
import planner.batch.survey  # noqa: E402
import planner.batch.worker  # noqa: E402
import planner.config.validate  # noqa: E402
import planner.documents.plan_file  # noqa: E402
import planner.facts.from_changes  # noqa: E402
import planner.facts.from_config  # noqa: E402
import planner.graph.dependencies  # noqa: E402
import planner.graph.problems  # noqa: E402
import planner.operations.apply  # noqa: E402
import planner.operations.backends  # noqa: E402
import planner.operations.module_copy  # noqa: E402
import planner.plan.relevant  # noqa: E402
import planner.provider.builtin  # noqa: E402
import planner.provider.lock_file  # noqa: E402
import planner.provider.registry  # noqa: E402
import planner.render.diagnostics_json  # noqa: E402
import planner.render.hooks_human  # noqa: E402
import planner.render.plan  # noqa: E402
import planner.state.migrate  # noqa: E402
import planner.syntax.parse  # noqa: E402,F401
from planner.graph.build import graph_program  # noqa: E402
from planner.pipeline import STAGES  # noqa: E402
from planner.programs.rule_programs import decision_program, move_program  # noqa: E402

for stage in STAGES:
    import_module(stage.module)
for program in (graph_program(), decision_program(), move_program()):
    _ = program.functions
gc.freeze()  # what stays for ever is never looked through for garbage, and its pages stay shared


def _tell(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """A process that cannot begin, because what it should belong to has ended meanwhile, has nothing to say."""
    if not issubclass(kind, FileNotFoundError | EOFError | ConnectionError):
        sys.__excepthook__(kind, problem, trace)


sys.excepthook = _tell
