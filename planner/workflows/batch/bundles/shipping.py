"""An executor that runs units on other machines.

It works with any engine that has a carrier: an object that sends bytes to a worker and returns the worker's answer as
bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Future
from typing import Any, Protocol

from planner.foundation.support.disk import read_whole, replace_file
from planner.foundation.vocabulary.diagnostic import Failure, error
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.bundles.pack import Bundle, pack, stays_here
from planner.workflows.batch.bundles.parcel import BadParcel, Parcel, ParcelResult, parcel_bytes, parse_result
from planner.workflows.batch.bundles.stores import ArchiveStore, open_store
from planner.workflows.batch.executor import Workplace
from planner.workflows.batch.model import Fleet, Request, UnitResult, diagnostics_json
from planner.workflows.batch.terragrunt.session import on_the_way

ROUNDS = 8
"""maximum number of bundles for one request; each new bundle adds paths that were missing in the previous one"""


class Carrier(Protocol):
    """Transports parcels to workers. If the engine repeats lost work, the lease on the unit's state prevents a second
    execution."""

    def send(self, unit: str, parcel: bytes) -> Future[bytes]:
        """A future with the result of `bundles.host.work` for a parcel. If the worker ended without an answer, the
        future has an exception that `is_death` recognises."""

    def stop(self) -> None:
        """Let running work finish, and start nothing new."""

    def close(self, at_once: bool = False) -> None:
        """Close the carrier after the last parcel. `at_once`: end immediately, without waiting for running work."""


class WorkerLost(BrokenExecutor):
    """A worker had already started this execution, and then the engine lost the worker."""


class Shipping(Workplace):
    """Runs units through a carrier. `needs` returns the initial content of a unit's bundle, as (directories, files)
    relative to the root. `known`: complete bundles of earlier work, by unit."""

    def __init__(
        self,
        carrier: Carrier,
        root: str,
        needs: Callable[[Request], tuple[set[str], set[str]]],
        store: str = "",
        known: dict[str, Bundle] | None = None,
    ) -> None:
        self.carrier, self.root, self.needs = carrier, root, needs
        self.store_text = store
        self.store: ArchiveStore | None = open_store(store)
        self.run = os.urandom(8).hex()
        self.known = {} if known is None else known
        self._attempts: dict[str, int] = {}
        self._stored: set[str] = set()
        self._lock = threading.Lock()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send a request, the only element of `args`. If no bundle can be made for the request, the result contains the
        errors. `fn` is ignored, because the worker's machine always calls its own `bundles.host.work`."""
        (request,) = args
        future: Future[Any] = Future()
        try:
            known = self.known.get(request.unit)
            more = frozenset((*known.files, *known.folders)) if known is not None else frozenset[str]()
            bundle = self._bundle(request, more, frozenset(known.absent if known is not None else ()))
            self._send(request, bundle, future, 1)
        except Failure as failure:
            future.set_result(UnitResult(request.unit, "error", diagnostics=diagnostics_json(failure.diagnostics)))
        return future

    @property
    def size(self) -> int:
        return int(getattr(self.carrier, "size", 0))

    def stop(self) -> None:
        self.carrier.stop()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.carrier.close()

    def end(self) -> None:
        self.carrier.close(at_once=True)

    # ---------------------------------------------------------------- requests

    def _bundle(self, request: Request, more: frozenset[str], absent: frozenset[str]) -> Bundle:
        folders, files = self.needs(request)
        for path in more:
            if os.path.isdir(os.path.join(self.root, path)):
                if not stays_here(path):
                    folders.add(path)
            else:
                files.add(path)
        return pack(self.root, folders, files, absent)

    def _send(self, request: Request, bundle: Bundle, future: Future[Any], number: int) -> None:
        with self._lock:
            attempt = self._attempts[request.unit] = self._attempts.get(request.unit, 0) + 1
        data = bundle.data
        if self.store is not None:
            self._keep(bundle)
            data = b""
        given = request.plan_file if request.command == "apply_plan" else request.approved_file
        plan = read_whole(given) if given else b""
        place = self.store_text if self.store is not None else ""
        what = (bundle.files, bundle.folders, bundle.absent)
        rehearse = request.command == "apply_plan" and request.unit not in self.known
        parcel = Parcel(_on_the_way(request), bundle.digest, self.run, attempt, *what, place, rehearse, data, plan)
        answer = self.carrier.send(request.unit, parcel_bytes(parcel, self.root))
        answer.add_done_callback(lambda done: self._back(request, bundle, future, number, done))

    def _keep(self, bundle: Bundle) -> None:
        assert self.store is not None
        if bundle.digest in self._stored:
            return
        try:
            if not self.store.has(bundle.digest):
                self.store.put(bundle.digest, bundle.data)
        except OSError as problem:
            detail = f"{self.store_text}: {getattr(problem, 'strerror', None) or problem}."
            raise Failure(error("batch.bundle_store", "A bundle cannot be stored", detail)) from None
        self._stored.add(bundle.digest)

    # ---------------------------------------------------------------- results

    def _back(self, request: Request, bundle: Bundle, future: Future[Any], number: int, done: Future[bytes]) -> None:
        try:
            if done.cancelled():
                future.cancel()
                return
            problem = done.exception()
            if problem is not None:
                future.set_exception(problem)
                return
            answer = parse_result(done.result(), self.root)
            if answer.missing:
                self._again(request, bundle, future, number, answer.missing)
            elif answer.begun:
                future.set_exception(WorkerLost(f"{request.unit} was started by a worker that was lost"))
            else:
                if request.command != "state":  # to read a state, a small part of the archive is enough
                    self.known[request.unit] = bundle
                future.set_result(self._result(request, answer))
        except BadParcel as bad:
            future.set_result(_refusal(request, str(bad)))
        except Failure as failure:
            future.set_result(UnitResult(request.unit, "error", diagnostics=diagnostics_json(failure.diagnostics)))
        except Exception as mistake:
            future.set_exception(mistake)

    def _again(
        self, request: Request, bundle: Bundle, future: Future[Any], number: int, missing: tuple[str, ...]
    ) -> None:
        """Send the request again, with a bundle that contains the missing paths. If they cannot be added, or after
        ROUNDS bundles, the result is an error."""
        inside = [path for path in missing if not os.path.isabs(path) and ".." not in path.split("/")]
        there = {path for path in inside if os.path.lexists(os.path.join(self.root, path))}
        known = {*bundle.files, *bundle.folders, *bundle.absent}
        if number >= ROUNDS or len(inside) < len(missing) or known.issuperset(inside):
            names = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            future.set_result(_refusal(request, f"The unit's bundle does not contain {names}, which the unit needs."))
            return
        more, absent = frozenset((*bundle.files, *bundle.folders, *there)), frozenset((*bundle.absent, *inside)) - there
        self._send(request, self._bundle(request, more, absent), future, number + 1)

    def _result(self, request: Request, answer: ParcelResult) -> UnitResult:
        result = answer.result
        if result is None or result.unit != request.unit:
            return _refusal(request, answer.problem or "The worker returned no result for the unit.")
        if result.plan_file:
            if not request.plan_file:
                return _refusal(request, "The worker returned a plan that was not requested.")
            if not answer.plan:
                return _refusal(request, "The worker reported a plan file but did not return it.")
            replace_file(request.plan_file, answer.plan, mode=0o600, durable=False)
        if request.json_file and answer.json:
            os.makedirs(os.path.dirname(request.json_file), exist_ok=True)
            replace_file(request.json_file, answer.json, mode=0o600, durable=False)
        return evolve(result, plan_file=request.plan_file if result.plan_file else "")


def _on_the_way(request: Request) -> Request:
    recipe = request.recipe
    if recipe is None or recipe.source is None or not recipe.source.private:
        return request
    return evolve(request, recipe=evolve(recipe, source=on_the_way(recipe.source)))


def _refusal(request: Request, detail: str) -> UnitResult:
    problem = error("batch.bundle", "A unit cannot run on another machine", detail)
    return UnitResult(request.unit, "error", diagnostics=diagnostics_json([problem]))


def root_of(fleet: Fleet) -> str:
    """The base directory of bundles: the fleet's root or, for Terragrunt, the root of the git repository (if there is
    one), because Terragrunt's files may include files above the fleet."""
    if not any(unit.recipe is not None and unit.recipe.source is not None for unit in fleet.units.values()):
        return fleet.root
    folder = fleet.root
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return fleet.root
        folder = above
    return folder


def needs_of(root: str, files: Mapping[str, Any]) -> Callable[[Request], tuple[set[str], set[str]]]:
    """A function that returns the initial content of a unit's bundle, as (directories, files) relative to `root`.
    Directories: those of the unit, of its modules and of the units whose outputs it uses, and directories with policies
    or rules. Files: the files that the surveys of all these units read (`files`: {unit: absolute paths}), variable
    files, policies, rules and programs. The function raises Failure for a path outside `root`."""

    def needs(request: Request) -> tuple[set[str], set[str]]:
        folders = {_inside(root, request.directory), *(_inside(root, one.directory) for one in request.upstream)}
        single: set[str] = set()
        for unit in (request.unit, *(one.unit for one in request.upstream)):
            for path in files.get(unit, ()):
                if path.startswith(f"{root}/"):
                    single.add(_inside(root, path))
                    if path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")):
                        folders.add(_inside(root, os.path.dirname(path)))
                elif path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json")):
                    _inside(root, path)  # reports a module outside the root
        options = request.options
        for path in (*options.rules, *options.standing_policies, *options.policies, *request.fleet_policies):
            if os.path.isabs(path):
                (folders if os.path.isdir(path) else single).add(_inside(root, path))
        for path in (*request.var_files, *(text for kind, text in options.var_args if kind == "var-file")):
            single.add(_inside(root, os.path.join(request.directory, path)))
        return folders | _of_source(root, request), single | _of_recipe(root, request)

    return needs


def _of_source(root: str, request: Request) -> set[str]:
    """The directories of a Terragrunt unit: the directory of its file, and the working directory."""
    recipe = request.recipe
    if recipe is None or recipe.source is None:
        return set()
    return {_inside(root, path) for path in (recipe.home, recipe.source.base) if path}


def _of_recipe(root: str, request: Request) -> set[str]:
    """The variable files in the recipe, and the files of the fleet whose paths are words in the commands of hooks or in
    the auth command."""
    recipe = request.recipe
    if recipe is None:
        return set()
    words = (*recipe.auth, *(word for hook in recipe.hooks for word in hook.words))
    home = recipe.home or request.directory
    paths = (os.path.normpath(os.path.join(home, word)) for word in words if "/" in word)
    given = {_inside(root, os.path.join(home, path)) for kind, path, _ in recipe.arguments if kind == "var-file"}
    return given | {_inside(root, path) for path in paths if path.startswith(f"{root}/") and os.path.isfile(path)}


def _inside(root: str, path: str) -> str:
    path = os.path.normpath(path)
    if path != root and not path.startswith(f"{root}/"):
        detail = f"Bundles contain only files below {root}, not {path}. Start the batch in a parent directory."
        raise Failure(error("batch.bundle", "A unit cannot be packed", detail))
    return os.path.relpath(path, root).replace(os.sep, "/")
