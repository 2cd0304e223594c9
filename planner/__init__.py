"""An infrastructure planner whose rules derive the graph, the order and the reason of every step.

    text -> Config, State -> facts -> rules -> Graph -> walk -> Plan -> facts -> rules -> Graph -> walk -> State
    language   world         logic                     engine

`answers` explains and judges plans; `operations` has a module for each verb; `api` is the library, of which the command
line is a client; `render` prints; `workflows` contains fleets, stacks, tests, reviews, the reuse of stored plans, and
the editor server; `foundation` is the base of all others.

The library: `load` returns a Configuration, whose `plan` returns a Plan with changes, causes and questions;
`read_plan`, `judge`, `fleet`, `stack` and `test` do what the commands do. `planner.rules` is the rule engine,
`planner.policy` is for policies in Python, `planner.aio` for asyncio programs. See help(planner.load) and
help(planner.Plan); dir(planner) has all names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.foundation.vocabulary.release import RELEASE

if TYPE_CHECKING:
    from planner.answers.policy.model import Finding as Finding
    from planner.answers.policy.model import Verdict as Verdict
    from planner.api.changes import Change as Change
    from planner.api.configuration import Configuration as Configuration
    from planner.api.configuration import State as State
    from planner.api.configuration import load as load
    from planner.api.document import PlanDocument as PlanDocument
    from planner.api.document import read_plan as read_plan
    from planner.api.events import Event as Event
    from planner.api.fleet import Fleet as Fleet
    from planner.api.fleet import FleetPlan as FleetPlan
    from planner.api.fleet import Stack as Stack
    from planner.api.fleet import fleet as fleet
    from planner.api.fleet import stack as stack
    from planner.api.judging import judge as judge
    from planner.api.model import Cause as Cause
    from planner.api.model import Explanation as Explanation
    from planner.api.model import Fix as Fix
    from planner.api.model import Graph as Graph
    from planner.api.model import Proof as Proof
    from planner.api.model import Rows as Rows
    from planner.api.plan import Plan as Plan
    from planner.api.session import Stop as Stop
    from planner.api.session import UnsavedStateError as UnsavedStateError
    from planner.api.tests import TestReport as TestReport
    from planner.api.tests import test as test
    from planner.api.values import UNKNOWN as UNKNOWN
    from planner.api.values import Sensitive as Sensitive
    from planner.foundation.vocabulary.diagnostic import Diagnostic as Diagnostic
    from planner.foundation.vocabulary.diagnostic import Failure as Failure
__version__ = RELEASE

_EXPORTS = {
    "Cause": "model",
    "Change": "changes",
    "Configuration": "configuration",
    "Diagnostic": "plan",
    "Event": "events",
    "Explanation": "model",
    "Failure": "plan",
    "Finding": "judging",
    "Fix": "model",
    "Fleet": "fleet",
    "FleetPlan": "fleet",
    "Graph": "model",
    "Plan": "plan",
    "PlanDocument": "document",
    "Proof": "model",
    "Rows": "model",
    "Sensitive": "values",
    "Stack": "fleet",
    "State": "configuration",
    "Stop": "session",
    "TestReport": "tests",
    "UNKNOWN": "values",
    "UnsavedStateError": "session",
    "Verdict": "judging",
    "fleet": "fleet",
    "judge": "judging",
    "load": "configuration",
    "read_plan": "document",
    "stack": "fleet",
    "test": "tests",
}
"""the names that `import planner` offers, each with its module of planner.api, which is loaded on first use"""
_MODULES = frozenset(("aio", "policy", "rules"))
"""public modules, which `import planner` offers as well"""


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"planner.{name}")
    module = _EXPORTS.get(name)
    if module is None:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    value: object = getattr(import_module(f"planner.api.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS, *_MODULES})
