"""Fixtures for pytest: modules are tested in Python, in the process of the tests.

def test_network(planner_plan):
    plan = planner_plan("modules/network", {"cidr": "10.0.0.0/16"})
    assert [c.address for c in plan.changes] == ["aws_vpc.main", "aws_subnet.a"]

Every test has its own states, which are empty at first. Providers are mocked unless a test requests real ones."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from planner.api.configuration import Configuration
    from planner.api.plan import ApplyResult, Plan

UPDATE = "--planner-update"
FOLDER = "__snapshots__"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("planner")
    group.addoption(UPDATE, action="store_true", help="Write the snapshots of plans instead of comparing with them.")


class Modules:
    """Configurations of one test, each with its own state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states: dict[str, Path] = {}
        self._plans: list[Plan] = []

    def load(self, directory: str | os.PathLike[str], variables: Mapping[str, Any] | None, real: bool) -> Configuration:
        """The configuration in a directory, with the state that this test has for the directory. Providers are mocked
        unless `real`."""
        from planner.api.configuration import load

        where = os.path.realpath(directory)
        state = self._states.setdefault(where, self._folder / f"state{len(self._states)}.tfstate")
        return load(where, variables=variables, state=state, mocked=not real)

    def plan(
        self,
        directory: str | os.PathLike[str] = ".",
        variables: Mapping[str, Any] | None = None,
        *,
        real: bool = False,
        **options: Any,
    ) -> Plan:
        """The plan of a module (see `planner_plan`). If modules or providers are not installed, they are installed
        first."""
        from planner.foundation.vocabulary.diagnostic import Failure

        configuration = self.load(directory, variables, real)
        try:
            plan = configuration.plan(**options)
        except Failure as failure:
            if not any(d.code in _NOT_INSTALLED for d in failure.diagnostics):
                raise
            configuration.init()
            plan = configuration.plan(**options)
        self._plans.append(plan)
        return plan

    def apply(
        self,
        directory: str | os.PathLike[str] = ".",
        variables: Mapping[str, Any] | None = None,
        *,
        real: bool = False,
        **options: Any,
    ) -> ApplyResult:
        """Plan and apply a module (see `planner_apply`)."""
        return self.plan(directory, variables, real=real, **options).apply()

    def close(self) -> None:
        """Stop the plugins that were started."""
        for plan in self._plans:
            plan.close()


_NOT_INSTALLED = frozenset(("config.module_not_installed", "provider.not_installed"))


@pytest.fixture
def planner_modules(tmp_path: Path) -> Iterator[Modules]:
    """The modules that planner_plan and planner_apply share in one test: the state after an apply is the prior state of
    the next plan in the same directory."""
    modules = Modules(tmp_path)
    yield modules
    modules.close()


@pytest.fixture
def planner_plan(planner_modules: Modules) -> Callable[..., Plan]:
    """A function (directory, variables, real=False, **options) that returns the plan of a module. `real`: whether real
    providers are called. `options`: arguments of Configuration.plan. The function raises Failure."""
    return planner_modules.plan


@pytest.fixture
def planner_apply(planner_modules: Modules) -> Callable[..., ApplyResult]:
    """A function that plans and applies a module, with the arguments of `planner_plan`. In mocked objects, the values
    that a provider would compute are generated. The function raises Failure."""
    return planner_modules.apply


@pytest.fixture
def planner_snapshot(request: pytest.FixtureRequest) -> Callable[[Plan], None]:
    """A function (plan, name) that compares a plan with a snapshot in the directory __snapshots__ next to the test.
    `name`: the name of the snapshot (default: the name of the test). If the snapshot is missing, the test fails. If the
    plan differs, the test fails and prints the lines that differ and the causes of all changes. With --planner-update,
    the function writes the snapshot instead. In snapshots, sensitive values are hidden, and `(id of ADDRESS)` replaces
    the random id of a terraform_data."""
    used: list[str] = []

    def compare(plan: Plan, name: str = "") -> None:
        name = name or request.node.name + (f".{len(used) + 1}" if used else "")
        used.append(name)
        file = request.path.parent / FOLDER / f"{request.path.stem}.{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.txt"
        from planner.api.values import without

        text = without(plan.text(causes=False), plan.secrets)
        for change in plan.objects:
            # the ID of terraform_data is random
            if change.type == "terraform_data" and isinstance(change.before, dict):
                text = text.replace(str(change.before["id"]), f"(id of {change.address})")
        if request.config.getoption(UPDATE):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, "utf-8")
            return
        if not file.is_file():
            pytest.fail(f"There is no snapshot {file.name} yet. To write it, run pytest {UPDATE}.", pytrace=False)
        kept = file.read_text("utf-8")
        if kept != text:
            lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "now", lineterm="", n=2)
            why = [f"{change.address}: {cause}" for change in plan.changes for cause in change.causes]
            pytest.fail("\n".join(["The plan differs from the snapshot.", *lines, "", *why]), pytrace=False)

    return compare
