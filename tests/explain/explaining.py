"""Plans of folders with everything that explains them, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.test_recorded_plans import META, work_copy

from planner.answers.explain.why import Explainer
from planner.api.making import Making
from planner.cli.flags import parse
from planner.cli.options import DESTROY, OPERATION, STATE, VARIABLES, plan_calls
from planner.foundation.vocabulary.diagnostic import Diagnostic
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables
from planner.operations.explanations import explainer
from planner.operations.options import OperationOptions

FLAGS = (DESTROY, *OPERATION, *STATE, *VARIABLES)


def explain(arguments: list[str], plan_file: str | None = None) -> tuple[Explainer | None, list[Diagnostic]]:
    """What explains the plan of the current directory."""
    return explainer(options_of(arguments), plan_file)


def options_of(arguments: list[str]) -> OperationOptions:
    """The options of a plan of the current directory, whose modules are installed."""
    given = plan_calls(Making, parse(arguments, FLAGS)).options
    install_modules(".", variables=collect_variables(".", given.var_args)[0])
    return given


def explain_recorded(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Explainer | None:
    """What explains the plan of a recorded case, in a copy of it below the folder; None for a case that fails."""
    monkeypatch.chdir(work_copy(name, folder))
    for variable, value in META[name].get("env", {}).items():
        monkeypatch.setenv(variable, value)
    explained, problems = explain(META[name].get("plan_args", []))
    assert explained is not None or any(d.is_error for d in problems)
    return explained


def explain_text(text: str, *arguments: str) -> Explainer:
    """What explains the plan of a configuration, which is written to the current directory."""
    Path("main.tf").write_text(text, encoding="utf-8")
    found, problems = explain(list(arguments))
    assert found is not None, problems
    return found
