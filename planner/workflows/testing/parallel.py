"""Runs test files, some of them in parallel."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from threading import Thread

from planner.engine.walk.pool import Turns
from planner.foundation.vocabulary.provider_address import BUILTIN
from planner.language.config.model import Config
from planner.language.config.test_files.model import TestFile
from planner.logic.datalog.engine.evaluate import evaluate
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.programs.rule_programs import product_program
from planner.operations.providers_needed import needed_providers


def all_beside(files: Iterable[TestFile], root: Config) -> bool:
    """Whether all of the files can run in parallel, as decided by the rules of tests. This requires that no file can
    change objects that another file uses."""
    facts = FactBuilder()
    names = set()
    for file in files:
        names.add(file.name)
        facts.add("test_file", file.name)
        configs = {id(config): config for config in (run.config or root for run in file.runs)}
        providers = {p for config in configs.values() for p in needed_providers(config).started} - {BUILTIN}
        for provider in sorted(providers):
            facts.add("file_uses_provider", file.name, provider)
            if all(_mocks(file, config, provider) for config in configs.values()):
                facts.add("file_mocks", file.name, provider)
        if any(_provisions(config) for config in configs.values()):
            facts.add("file_provisions", file.name)
    result = evaluate(product_program("testing"), facts.build(), ["runs_beside"])
    return {row[0] for row in result.sorted("runs_beside")} == names


def _mocks(file: TestFile, config: Config, provider: str) -> bool:
    """Whether the file mocks every configuration of a provider for all runs. False if a child module has provider
    blocks, or if a run has the argument `providers`."""
    root = config.root
    configured = {b.alias or "" for b in root.providers.values() if root.provider_source(b.name) == provider} | {""}
    mocked = {b.alias or "" for b in file.mocks.values() if root.provider_source(b.name) == provider}
    within = any(module.path and module.providers for module in root.walk())
    return configured <= mocked and not within and not any(run.providers for run in file.runs)


def _provisions(config: Config) -> bool:
    return any(resource.provisioners for module in config.root.walk() for resource in module.resources.values())


# The runs of one file. Each run starts after the runs for which it waits. If several runs can start, each has a thread.


MOST = 10
"""maximum number of parallel runs"""


def in_order(waits: Sequence[frozenset[int]], work: Callable[[int], None]) -> None:
    """Call `work` with the index of each run after the runs for which it waits have ended. `waits`: for each run, the
    indexes of the runs for which it waits. After an exception, no further call begins, and the exception is raised when
    the running calls have ended."""
    running = 0
    missing = [set(before) for before in waits]
    later: dict[int, list[int]] = {}
    for index, before in enumerate(waits):
        for other in before:
            later.setdefault(other, []).append(index)
    ready = [index for index, before in enumerate(missing) if not before]
    done: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    turns, defect = Turns(), None

    def beside(index: int) -> None:
        problem = None
        try:
            with turns.mine():
                work(index)
        except BaseException as caught:
            problem = caught
        done.put((index, problem))

    def over(index: int) -> None:
        for other in later.get(index, ()):
            missing[other].discard(index)
            if not missing[other]:
                insort(ready, other)

    while running or (ready and defect is None):
        if len(ready) == 1 and not running:  # no other run can start meanwhile
            index = ready.pop()
            work(index)
            over(index)
            continue
        while ready and running < MOST and defect is None:
            index = ready.pop(0)
            running += 1
            Thread(target=beside, args=(index,), name=f"run-{index}", daemon=True).start()
        index, problem = done.get()
        running -= 1
        over(index)
        defect = defect or problem
    if defect is not None:
        raise defect
