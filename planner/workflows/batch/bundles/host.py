"""Runs a unit on the machine to which it is sent: receives a parcel and returns a result. All input is checked before
use.

Each parcel has its own directory. The directory is removed after the work, except if it contains a state that could not
be saved or the journal of an interrupted apply. Plugins are installed as by `init`: in the versions of the lock file,
from the sources in the CLI configuration of this machine. Units must have a remote backend, because local files on this
machine are removed after the work."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.foundation.support.archive import unpack
from planner.foundation.vocabulary.diagnostic import Failure, InstallError, ServiceError, error
from planner.foundation.vocabulary.records import evolve
from planner.workflows.batch.bundles.parcel import BadParcel, Parcel, ParcelResult, received, result_bytes
from planner.workflows.batch.bundles.stores import fetched, open_store
from planner.workflows.batch.executor import Unmet
from planner.workflows.batch.files_read import RECORDER
from planner.workflows.batch.model import Request, UnitResult, diagnostics_json
from planner.workflows.batch.unit_setup import set_up_unit, store_of_unit
from planner.workflows.batch.worker import run_unit
from planner.world.state.backend import Store
from planner.world.state.lock import user_at_host

NAME = "planner.lease"


def take(store: Store, run: str, attempt: int) -> bool:
    """Record, next to the state, that execution number `attempt` of the unit in the batch `run` starts. Returns False
    if this or a later execution was already started. Returns True without a record if the backend cannot store
    documents next to a state; then only the lock of the state prevents concurrent executions. Raises Failure if a
    request to the service fails."""
    client = getattr(store, "client", None)
    if client is None or not client.has_place_beside:
        return True
    try:
        kept = client.get_beside(NAME)
        if kept is not None and _token(kept, run) >= attempt:
            return False
        client.put_beside(NAME, json.dumps({"run": run, "attempt": attempt}).encode())
    except ServiceError as problem:
        detail = (
            f"{problem.text}. planner cannot determine whether this unit is already being executed elsewhere, so it "
            "was not started here."
        )
        raise Failure(error("batch.lease", "The lease on the unit's state cannot be acquired", detail)) from None
    return True


def _token(kept: bytes, run: str) -> int:
    try:
        document = json.loads(kept)
        return int(document["attempt"]) if document["run"] == run else 0
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


FOLDER = "PLANNER_BUNDLE_DIR"
"""environment variable with the directory in which parcels are unpacked (default: the temporary directory)"""
CHANGES = frozenset(("apply", "apply_plan", "destroy"))
_KEPT = ("errored.tfstate",)
_OF_UNIT = (".terraform", ".terraform.lock.hcl")
"""files that init creates in the unit's directory"""


class Missing(Unmet):
    """The unit needs paths that are not in the bundle."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(*paths)
        self.paths = paths


def work(data: bytes) -> bytes:
    """Run the request in an encoded parcel. Returns an encoded ParcelResult, which also reports problems with the
    parcel."""
    with _place() as home:
        tree = os.path.join(home, "unpacked", "tree")
        try:
            answer = _answer(received(data, tree), home, tree)
        except BadParcel as problem:
            answer = ParcelResult(problem=str(problem))
        return result_bytes(answer, tree)


class AlreadyBegun(Unmet):
    """This execution was already started."""


@contextmanager
def _place() -> Iterator[str]:
    """A new directory for one parcel. At the end it is removed, except if it contains files that must not be lost."""
    home = os.path.realpath(tempfile.mkdtemp(prefix="planner-bundle-", dir=os.environ.get(FOLDER) or None))
    try:
        yield home
    finally:
        if not _leftovers(home):
            shutil.rmtree(home, ignore_errors=True)


def _leftovers(home: str) -> list[str]:
    """Paths of files that must not be lost: states that could not be saved, and journals."""
    paths = []
    for folder, _, names in os.walk(home):
        in_data = os.sep + ".terraform" + os.sep + "planner" in folder
        paths += [os.path.join(folder, n) for n in names if n in _KEPT or (in_data and n.endswith(".journal"))]
    return sorted(paths)


def _answer(parcel: Parcel, home: str, tree: str) -> ParcelResult:
    problem = _refusal(parcel.request, tree)
    if problem:
        return ParcelResult(problem=problem)
    try:
        _unpacked(parcel, home)
    except (OSError, ValueError) as bad:
        return ParcelResult(problem=f"The bundle cannot be used: {getattr(bad, 'strerror', None) or bad}.")
    request = parcel.request
    if request.plan_file:
        request = evolve(request, plan_file=os.path.join(home, "plan"))
    if request.json_file:
        request = evolve(request, json_file=os.path.join(home, "json"))
    if request.approved_file:
        request = evolve(request, approved_file=os.path.join(home, "approved"))
        Path(request.approved_file).write_bytes(parcel.plan)
    if request.command == "apply_plan":
        Path(request.plan_file).write_bytes(parcel.plan)
    try:
        result = _run(parcel, request, tree)
    except Missing as missing:
        return ParcelResult(missing=missing.paths)
    if result is None:
        return ParcelResult(begun=True)
    plan = _made(request.plan_file) if result.plan_file else b""
    left = _leftovers(home)
    if left:
        note = error("batch.left_behind", "Results could not be saved", _kept_files_text(left))
        result = evolve(result, diagnostics=(*result.diagnostics, *diagnostics_json([note])))
    result = evolve(result, reads=[], plan_file=parcel.request.plan_file if plan else "")
    return ParcelResult(result, plan=plan, json=_made(request.json_file))


def _made(path: str) -> bytes:
    return Path(path).read_bytes() if path and os.path.exists(path) else b""


def _kept_files_text(left: list[str]) -> str:
    names = "".join(f"\n  - {path}" for path in left)
    return (
        f"These files are kept on {user_at_host()}:{names}\n\nThey record completed changes and are needed to continue."
    )


def _refusal(request: Request, tree: str) -> str:
    """The reason why the request is refused; "" if it is accepted."""
    if request.directory != tree and not request.directory.startswith(f"{tree}/"):
        return "The bundle names a directory that is not in it."
    if ".." in request.directory.split("/"):
        return "The bundle names a directory that is not in it."
    if any(not name or "=" in name or "\0" in name + text for name, text in request.environment):
        return "The bundle contains an invalid environment variable."
    states = [request.state, *(u.state for u in request.upstream)]
    local = next((state for state in states if os.path.isabs(state)), "")
    if local and request.command != "validate":
        name = os.path.relpath(local, tree)
        return (
            f"The state {name} is a file on the machine that sent the bundle, so this machine can neither read nor "
            "write it. Configure a backend that all machines can reach, or run the unit with -executor=processes."
        )
    return ""


def _unpacked(parcel: Parcel, home: str) -> None:
    """Unpack a parcel's archive below `home`. Raises OSError and ValueError."""
    data = parcel.data
    if parcel.store:
        try:
            store = open_store(parcel.store)
        except Failure as failure:
            raise ValueError("; ".join(f"{d.summary}: {d.detail}" for d in failure.diagnostics)) from None
        if store is not None:
            data = fetched(store, parcel.digest)
    if hashlib.sha256(data).hexdigest() != parcel.digest:
        raise ValueError("its content does not match its digest")
    archive = Path(home, "bundle.tar.gz")
    archive.write_bytes(data)
    try:
        unpack(archive, Path(home, "unpacked"), "tar.gz", links=False)
    except InstallError as problem:
        raise ValueError(str(problem)) from None
    archive.unlink()
    Path(home, "unpacked", "tree").mkdir(exist_ok=True)


def _run(parcel: Parcel, request: Request, tree: str) -> UnitResult | None:
    """The result of running the unit; None if this execution was already started. Raises Missing."""
    if not os.path.isdir(request.directory):
        raise Missing((os.path.relpath(request.directory, tree),))
    covered = _Covered(parcel, tree)

    def before_changes() -> None:
        """Check that the bundle contains all paths read so far. For a command that changes objects, also record the
        start of the execution, if the backend can. Raises Missing, AlreadyBegun and Failure."""
        covered.check()
        if request.command in CHANGES and not _lease(parcel, request):
            raise AlreadyBegun

    try:
        for one in request.upstream:
            if (
                one.state and not one.seen and one.deployment is None and _wants(request, one.unit)
            ):  # the outputs of this unit are read from its state
                set_up_unit(Request(one.unit, one.directory, "plan", one.workspace, environment=request.environment))
        if request.command in ("apply_plan", "state") and request.deployment is None:
            set_up_unit(request)
        if parcel.rehearse:
            options = evolve(request.options, refresh=False, lock=False)
            run_unit(evolve(request, command="plan", plan_file="", options=options), covered.check)
        return run_unit(request, before_changes)
    except AlreadyBegun:
        return None
    except Failure as failure:
        return UnitResult(request.unit, "error", diagnostics=diagnostics_json(failure.diagnostics))


def _wants(request: Request, unit: str) -> bool:
    """Whether a request may use outputs of the unit `unit` as inputs. Then init must also run for that unit, because
    its outputs are read from its state."""
    if request.deployment is not None or any(one.unit == unit and one.deployment for one in request.upstream):
        return False  # stacks need no init before they are opened
    source = request.recipe.source if request.recipe is not None else None
    return bool(request.inputs) or (source is not None and unit in dict(source.units).values())


def _lease(parcel: Parcel, request: Request) -> bool:
    store = store_of_unit(request.deployment)
    return store is None or take(store, parcel.run, parcel.attempt)


class _Covered:
    """Checks whether the bundle contains the paths that were used."""

    def __init__(self, parcel: Parcel, tree: str) -> None:
        self.tree, self.files, self.folders = tree, frozenset(parcel.files), parcel.folders
        self.absent = frozenset(parcel.absent)

    def check(self) -> None:
        """Raises Missing if a used path is not in the bundle."""
        looked = RECORDER.paths or {}
        missing = sorted({path for path in map(self._uncovered, list(looked.items())) if path})
        if missing:
            raise Missing(tuple(missing))

    def _uncovered(self, item: tuple[str, tuple[str, int, int, str]]) -> str:
        path, (kind, *_) = item
        if path != self.tree and not path.startswith(f"{self.tree}{os.sep}"):
            return ""
        relative = os.path.relpath(path, self.tree).replace(os.sep, "/")
        if relative in self.files or relative in self.absent or any(_is_in(relative, one) for one in self.folders):
            return ""
        if any(part in _OF_UNIT for part in relative.split("/")):
            return ""
        if kind.endswith(("folder", "names")) or not os.path.lexists(path) or os.path.isfile(path):
            return relative
        return ""


def _is_in(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")
