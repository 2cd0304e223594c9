"""The session of one batch command. It finds the fleet, surveys the configurations of its units, and derives their
order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

from planner.answers.policy.standing_policies import FLEET, organisation, own
from planner.foundation.vocabulary.diagnostic import Failure, error, has_errors
from planner.foundation.vocabulary.limits import UNLIMITED
from planner.foundation.vocabulary.records import evolve, frozen
from planner.logic.graph.build import user_files
from planner.logic.programs.rule_programs import Files
from planner.operations.options import OperationOptions
from planner.workflows.batch.analyse import Analysis, analyse, environment, from_plain, survey_request, to_plain
from planner.workflows.batch.cache import Cache, survey_of
from planner.workflows.batch.discover import find_fleet
from planner.workflows.batch.executor import Workplace, is_death
from planner.workflows.batch.executors import Ships, open_executor, warm_up, work
from planner.workflows.batch.manifest import damaged_manifest, known_units
from planner.workflows.batch.model import NO_OPTIONS, Fleet, Request, Survey, UnitResult
from planner.workflows.batch.record import Hold, take
from planner.workflows.batch.schedule import HARMLESS
from planner.workflows.batch.selectors import Selection
from planner.workflows.batch.unit_options import NOTHING_ASKED, UnitArguments, UnitOptions, of_units, targeted
from planner.workflows.batch.worker import survey_units
from planner.world.provider import lock_file

if TYPE_CHECKING:
    from planner.workflows.batch.bundles.pack import Bundle
    from planner.workflows.batch.fleet_policies import FleetPolicies

CHUNK = 5
"""maximum number of units that one task surveys"""
MANY = 100
"""a fleet with more units than this and without a cache starts worker processes immediately"""


@frozen
class BatchOptions:
    """The options of a command on a fleet. `words`: directories, patterns and selectors. `executor`: see executors.py.
    `workers`: number of workers; 0 means one for each CPU."""

    words: tuple[str, ...] = ()
    file: str = ""
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    changed: str = ""
    excludes: tuple[str, ...] = ()
    executor: str = ""
    bundles: str = ""
    workers: int = 0
    cache: bool = True
    operation: OperationOptions = NO_OPTIONS
    """options that apply to every unit, for example the mode (normal, destroy or refresh-only), -refresh and locks"""
    rules: tuple[str, ...] = ()
    text: bool = False
    review: bool = False
    reuse: float = 0.0
    """maximum age of a reused result, in seconds since objects were read for it"""
    asked: UnitArguments = NOTHING_ASKED
    """options for single units, such as -target=UNIT:ADDRESS"""
    out: str = ""
    """directory in which `batch plan` saves the plan of the fleet; "" if it is not saved"""
    json_out: str = ""
    """directory in which each unit's plan is written as JSON; "" if it is not written"""
    shard: tuple[int, int] = (0, 0)
    """(number of this job, number of jobs that share the selected units); (0, 0) for a single job"""
    around: tuple[tuple[str, str, str], ...] = ()
    """replacements for services of a stack: (token, name, file), (upstream, address, path), (varsets, "", path)"""
    is_brief: bool = False
    """whether changes and outputs of reused results are not loaded, because the report lists only counts"""


class Batch:
    """A fleet with its cache and executors, for one command. `keeps_pool`: keep the workers of the survey until
    `close`, so that `open_executor` can use them again."""

    def __init__(self, options: BatchOptions, command: str, keeps_pool: bool = False) -> None:
        self.options, self.command = options, command
        caches: dict[str, Cache] = {}

        def cache_of(root: str) -> Cache:
            if root not in caches:
                caches[root] = Cache(root, options.cache)
            return caches[root]

        self.fleet, self.selectors = find_fleet(options.words, options.file, cache_of)
        self.cache = cache_of(self.fleet.root)
        if self.cache.is_new and len(self.fleet.units) > MANY:
            self.warm_up()
        self.own = own_rules(options, self.fleet)
        self.workers = options.workers or os.cpu_count() or 1
        self.environment = environment()
        self.policies = organisation("policies", os.environ)
        self.fleet_judges = organisation("batch_policies", os.environ)
        self.fleet_policies = tuple(map(os.path.abspath, own(self.fleet.root)))
        """policies of the fleet's directory, which check the plan of each unit"""
        judges = os.pathsep.join(organisation("stack_policies", os.environ))
        self.stack_environment = (*self.environment, ("PLANNER_STACK_POLICIES", judges)) if judges else self.environment
        self.peak = 0
        self.keeps_pool = keeps_pool
        self.texts: dict[str, str] = {}
        self.made: dict[str, Survey] = {}
        self.pool: Workplace | None = None
        self.held: Hold | None = None
        self.known_bundles: dict[str, Bundle] = {}

    def standing_policies(self) -> FleetPolicies | None:
        """The policies that check all plans of the fleet together. None if there are none, if the command is validate,
        or for a refresh-only plan. Raises Failure."""
        is_there = self.fleet_judges or os.path.lexists(os.path.join(self.fleet.root, FLEET))
        if not is_there or self.command == "validate" or self.options.operation.mode == "refresh-only":
            return None
        from planner.workflows.batch.fleet_policies import load_policies

        return load_policies(self.fleet, self.own, ())

    def hold(self) -> None:
        """Lock the fleet until `close`, unless -lock=false is given. Commands that make no changes use a shared lock.
        Raises Failure."""
        if self.options.operation.lock:
            alone = self.command not in HARMLESS
            self.held = take(self.fleet.root, self.command, alone, self.options.operation.lock_timeout)

    def warm_up(self) -> None:
        warm_up(self.options.executor)

    def open_executor(self, jobs: int = 0) -> Workplace:
        kept, self.pool = self.pool, None
        if kept is not None:
            return kept
        return open_executor(self.options.executor, self.workers, jobs, self._ships())

    def _ships(self) -> Ships | None:
        """The means to send units to machines without shared files; None if no unit is sent."""
        return self._bundled() if self._is_shipping else None

    @property
    def _is_shipping(self) -> bool:
        text = self.options.executor
        return text.startswith(("command:", "ray:")) or (text.startswith("dask") and bool(self.options.bundles))

    def _bundled(self) -> Ships:
        from planner.workflows.batch.bundles.shipping import needs_of, root_of

        surveys = {name: self.made.get(name) or survey_of(known) for name, known in self.texts.items()}
        looked = {name: [path for path, kind, *_ in one.reads if kind == "file"] for name, one in surveys.items()}
        files = {name: (*one.files, *looked[name], *_of_upstreams(one, surveys)) for name, one in surveys.items()}
        store = self.options.bundles or "scheduler"
        root = root_of(self.fleet)
        return Ships(root, needs_of(root, files), store, self.known_bundles)

    def analysis(self, want: tuple[str, ...] = (), selected: bool = True, asks: bool = True) -> Analysis:
        """The analysis of the fleet. `want`: additional relations to derive. `selected`: if False, selectors are
        ignored. `asks`: whether the caller needs the derived facts; if False, a cached analysis without facts may be
        returned. Raises Failure."""
        options = self.options
        chosen = tuple(self.selectors) or (() if options.words else targeted(options.asked, self.fleet.units))
        selection = Selection(
            chosen if selected else (), options.tags, options.groups, options.changed, options.excludes
        )
        self.survey()
        left = self._remaining_states()
        key = "" if asks or want or selection != Selection() or self.own else self._analysis_key()
        command = "destroy" if options.operation.mode == "destroy" else self.command
        known = self.cache.analysis(command, key) if key else None
        if known is not None:
            return self._share_of(from_plain(known, self.fleet, command, self.own))
        surveys = {name: self.made.get(name) or survey_of(text) for name, text in self.texts.items()}
        gone = self.cache.known_states(self.fleet.units) | left
        result = analyse(self.fleet, surveys, selection, command, self.own, want, gone)
        if key and not (result.diagnostics or self.fleet.diagnostics):
            self.cache.keep_analysis(command, key, to_plain(result))
        return self._share_of(result)

    def _share_of(self, analysis: Analysis) -> Analysis:
        """The analysis. If several jobs share the units (-shard), the units of this job's shard are added."""
        if not self.options.shard[1] or has_errors((*self.fleet.diagnostics, *analysis.diagnostics)):
            return analysis
        from planner.workflows.batch.shard_results import share_analysis

        return share_analysis(analysis, *self.options.shard)

    def surveyed(self, unit: str) -> tuple[str, ...]:
        """The absolute paths of the files of a unit's configuration and variables, and of the fleet's file."""
        files = (self.made.get(unit) or survey_of(self.texts[unit])).files
        files = (*files, *map(os.path.abspath, self.fleet.units[unit].files))
        return (*files, os.path.abspath(self.fleet.file)) if self.fleet.file else files

    def waits(self, unit: str) -> bool:
        """Whether a unit waits for other programs: its hooks, its auth program, or the plugins of its locked
        providers."""
        recipe = self.fleet.units[unit].recipe
        if recipe is not None and (recipe.hooks or recipe.auth):
            return True
        folders = {os.path.dirname(file) for file in self.surveyed(unit)}
        return any(os.path.lexists(os.path.join(folder, lock_file.NAME)) for folder in folders)

    def _remaining_states(self) -> dict[str, str]:
        """{unit: state} for units of earlier runs that are no longer in the fleet, from the manifest. If the manifest
        is damaged, a diagnostic is added to the fleet, and the result is {}."""
        known = known_units(self.fleet.root)
        if known is None:
            problem = damaged_manifest()
            if problem not in self.fleet.diagnostics:
                self.fleet = evolve(self.fleet, diagnostics=(*self.fleet.diagnostics, problem))
            return {}
        return {name: entry.state for name, entry in known.items() if name not in self.fleet.units}

    def _analysis_key(self) -> str:
        """The key under which the analysis of the whole fleet is cached."""
        digest = blake2b(digest_size=16)
        states = (state for _, state in self.fleet.left)
        for text in (self.fleet.text, self.fleet.root, *self.fleet.units, *self.texts.values(), *states):
            digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def survey(self) -> None:
        """Survey the configurations that changed; the surveys of unchanged configurations come from the cache. Nothing
        is surveyed if the fleet has errors."""
        if has_errors(self.fleet.diagnostics):
            return
        missing: list[Request] = []
        for unit in self.fleet.units.values():
            request = survey_request(self.fleet, unit, self.environment, self.options.around)
            known = self.cache.survey_text(request)
            if known is None:
                missing.append(request)
            self.texts[unit.name] = known or ""
        for request, made in zip(missing, self._make_surveys(missing), strict=True):
            self.made[request.unit] = made
            self.texts[request.unit] = self.cache.keep_survey(request, made)

    def _make_surveys(self, requests: list[Request]) -> list[Survey]:
        if not requests:
            return []
        return self._survey_missing(requests)

    def _survey_missing(self, requests: list[Request]) -> list[Survey]:
        root, units = self.fleet.root, self.fleet.units
        folders = [os.path.relpath(units[r.unit].directory(root), root) for r in requests]
        try:
            return self._survey_elsewhere(requests, folders)
        except Exception as problem:
            if not is_death(problem):
                raise
        try:
            return self._survey_elsewhere(requests, folders)  # a worker was killed from outside
        except Exception as problem:
            if not is_death(problem):
                raise
            detail = (
                "The system or another program has killed the processes that read configurations twice. Check that "
                "there is enough memory."
            )
            raise Failure(error("batch.died", "A process ended unexpectedly", detail)) from None

    def _survey_elsewhere(self, requests: list[Request], folders: list[str]) -> list[Survey]:
        # a relative path in a configuration refers to its own directory
        parts = [slice(at, at + CHUNK) for at in range(0, len(requests), CHUNK)]
        many = len(parts)
        executor = open_executor("", self.workers, many) if self._is_shipping else self.open_executor(many)
        try:
            futures = [executor.submit(survey_units, requests[part], folders[part]) for part in parts]
            surveys = [survey for future in futures for survey in future.result()]
        except BaseException:
            executor.end()
            raise
        self.pool = executor.keep()
        if not self.keeps_pool or self._is_shipping:
            self._give_back()
        return surveys

    def asked_of(self, selected: Iterable[str]) -> dict[str, UnitOptions]:
        """{selected unit: the command line's options for it}. {} if the command line has no options for single units.
        Raises Failure."""
        if self.options.asked == NOTHING_ASKED:
            return {}

        def declared(unit: str) -> tuple[str, ...] | None:
            return (self.made.get(unit) or survey_of(self.texts[unit])).variables

        asked = of_units(self.options.asked, sorted(selected), list(self.fleet.units), declared)
        return {name: self._of_deployment(name, one) for name, one in asked.items()}

    def _of_deployment(self, name: str, options: UnitOptions) -> UnitOptions:
        """The options for a unit. For a deployment, they have no variables, because only root modules accept -var.
        Raises Failure if the command line sets a variable, a target or a replacement for this deployment."""
        if self.fleet.units[name].deployment is None or not (options.variables or options.limits != UNLIMITED):
            return options
        is_named = any(text.startswith(f"{name}:") for _, text in self.options.asked.variables)
        if options.limits != UNLIMITED or is_named:
            detail = f"{name} is a deployment of a stack: -target, -replace, -var and -var-file cannot be used for it."
            raise Failure(error("batch.asked", "Option not supported for deployments", detail))
        return evolve(options, variables=())

    def run_all(self, requests: list[Request]) -> list[UnitResult]:
        """Run requests that make no changes, and return their results in the same order."""
        if not requests:
            return []
        executor = self.open_executor(len(requests))
        futures = [executor.submit(work, request) for request in requests]
        try:
            return [future.result() for future in futures]
        finally:
            self.pool = executor.keep()

    def close(self) -> None:
        """Release the lock of the fleet, and the workers that this object still owns."""
        self._give_back()
        if self.held is not None:
            self.held.release()
        self.held = None

    def _give_back(self) -> None:
        kept, self.pool = self.pool, None
        if kept is not None:
            kept.shutdown(wait=True)


def _of_upstreams(survey: Survey, surveys: dict[str, Survey]) -> list[str]:
    """The files of the stacks from which a deployment reads published outputs."""
    if survey.stack is None:
        return []
    read = {one.stack for one in survey.stack.reads}
    return [file for one in surveys.values() if one.stack and one.stack.folder in read for file in one.files]


def own_rules(options: BatchOptions, fleet: Fleet) -> Files:
    """The user's rules about the fleet. They come from -rules or, without -rules, from `.planner/batch-rules` in the
    fleet's root. Raises Failure."""
    own = os.path.join(fleet.root, ".planner", "batch-rules")
    return user_files(options.rules or ((own,) if os.path.isdir(own) else ()))
