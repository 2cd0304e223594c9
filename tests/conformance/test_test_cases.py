"""What `test` did in the recorded cases, compared with what planner does; where planner differs on purpose, how."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import run_test_cases
import stand_in_providers
from conformance.forked import Forker
from thinned import thinned

HERE = Path(__file__).parent
CASES = HERE / "test-cases"
NAMES = sorted(folder.name for folder in CASES.iterdir())
BINARY = [sys.executable, "-m", "planner"]

# Where OpenTofu is wrong, planner is right. Reasons by name, with the cases that show it, and for each case the checks
# that differ: everything else has to agree.
LEFT_BEHIND = "the exit code is 1 when something that a run made is left"
ALL_RUNS = "run.NAME is there for all earlier runs, not only for the last one that changed a state"
LEAK = "an override of one file does not reach the next"
UNKNOWN_FILTER = "a filter that names no file is an error"
JUNIT = "-junit-xml is known"
EXITS = {"human exit", "json exit"}
EVERYTHING = {*EXITS, "statuses", "diagnostics", "details", "human stdout", "human stderr"}
CURE = "the message says what is expected instead"
SAFER: dict[str, tuple[str, set[str]]] = {
    "mock_defaults_reference": (CURE, {"details", "human stderr"}),
    "cleanup_fails": (LEFT_BEHIND, EXITS),
    "cleanup_fails_two_files": (LEFT_BEHIND, EXITS),
    "vars_run_ref_latest_only": (ALL_RUNS, EVERYTHING),
    "vars_run_ref_plan_only": (ALL_RUNS, {"diagnostics", "details", "human stderr"}),
    "override_leaks_to_next_file": (LEAK, EVERYTHING),
    "filter_known_and_unknown": (UNKNOWN_FILTER, EVERYTHING),
    "filter_unknown": (UNKNOWN_FILTER, EVERYTHING),
    "unknown_flag_junit": (JUNIT, EVERYTHING - {"diagnostics", "details"} | {"human files", "json files"}),
}
SAID = {
    "vars_run_ref_latest_only": "Success! 3 passed, 0 failed.",
    "vars_run_ref_plan_only": "Unknown value for variable",
    "override_leaks_to_next_file": "Success! 2 passed, 0 failed.",
    "filter_known_and_unknown": "Unknown test file",
    "filter_unknown": "Unknown test file",
}
"""what planner says instead"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stand_in_providers.write_mirror(tmp_path_factory.mktemp("mirror"))


@pytest.mark.parametrize("name", thinned(NAMES, 5))
def test_case(name: str, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(settings))
    forker = Forker(len(BINARY), "stand_in_providers")
    monkeypatch.setattr(run_test_cases, "execute", lambda *asked: forker.execute(*asked, timeout=60))
    case, got = run_test_cases.run_case(BINARY, str(CASES / name))
    expected = run_test_cases.json.loads((CASES / name / "expected.json").read_text())
    found = run_test_cases.compare(expected, got, 4, False, True)
    differing: set[Any] = {what for _, what, *_ in found}
    assert differing == SAFER.get(name, ("", set()))[1], [(what, wanted, had) for _, what, wanted, had in found]
    assert SAID.get(name, "") in got["human"]["stdout"] + got["human"]["stderr"]
    assert case["name"] == name
