"""Copying states from one backend to another, when `init` finds another backend than the one it set up before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import frozen

from planner.state.backend import DEFAULT_WORKSPACE, Backend, Store
from planner.state.model import State
from planner.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors

Ask = Callable[[str, str], str]
"""The answer to a question with a remark. Raises Failure when nobody answers."""


@frozen
class Migration:
    """How to go about it. `ask` is None when questions are not welcome; `force` answers all of them with yes."""

    source_type: str
    target_type: str
    ask: Ask | None = None
    force: bool = False
    lock: bool = True
    lock_timeout: float = 0.0

    def confirmed(self, question: str, remark: str) -> bool:
        """Whether the answer is yes. Raises Failure when nobody can be asked."""
        if self.force:
            return True
        if self.ask is None:
            detail = (
                f'"{question}" With -force-copy the answer is yes. Otherwise leave out -input=false, so that the '
                "question can be asked."
            )
            raise Failure(
                error("backend.no_input", "Copying the state needs an answer, and asking is switched off", detail)
            )
        for _ in range(2):
            answer = self.ask(question, remark).lower()
            if answer in ("yes", "no"):
                return answer == "yes"
        return False


def migrate(source: Backend, target: Backend, how: Migration) -> None:
    """Copy the state of every workspace, after asking. Empty states are left alone. Raises Failure."""
    try:
        names = source.workspaces()
    except OSError as problem:
        detail = f"{problem.filename}: {problem.strerror}."
        raise Failure(error("backend.workspaces", "Cannot list the workspaces to copy", detail)) from None
    if names == [DEFAULT_WORKSPACE]:
        _migrate_one(source, target, DEFAULT_WORKSPACE, how)
        return
    remark = (
        f'The present backend "{how.source_type}" holds several workspaces. Their states are copied to the backend '
        f'"{how.target_type}", and replace states of workspaces with the same names there.\n'
        'Enter "yes" to copy all of them and "no" to stop.'
    )
    if not how.confirmed(f'Do you want to migrate all workspaces to "{how.target_type}"?', remark):
        raise Failure(error("backend.migration_refused", "The workspaces were not copied", "Nothing was changed."))
    for name in names:
        _migrate_one(source, target, name, Migration(how.source_type, how.target_type, None, True, how.lock))


def _migrate_one(source: Backend, target: Backend, workspace: str, how: Migration) -> None:
    old, new = source.store(workspace), target.store(workspace)
    here, there = _read(old), _read(new)
    if _empty(here) or _same(here, there):
        return
    with _locked(old, "migration source state", how), _locked(new, "migration destination state", how):
        here, there = _read(old), _read(new)
        if here is None or here.is_empty:
            return
        if not how.confirmed("Do you want to copy existing state to the new backend?", _remark(old, new, there, how)):
            return
        _, problems = new.put(here)
        if has_errors(problems):
            raise Failure(problems)


def _remark(old: Store, new: Store, there: State | None, how: Migration) -> str:
    if _empty(there):
        return (
            f'The former backend "{how.source_type}" holds a state ({old.place}), the new backend "{how.target_type}" '
            'holds none.\nEnter "yes" to copy it and "no" to start with an empty state.'
        )
    return (
        f'Both the former backend "{how.source_type}" ({old.place}) and the new backend "{how.target_type}" '
        f"({new.place}) hold a state,\nand the two differ. Compare them before you answer.\n"
        'Enter "yes" to replace the new one by the former one and "no" to keep the new one as it is.'
    )


def _empty(state: State | None) -> bool:
    return state is None or state.is_empty


def _same(left: State | None, right: State | None) -> bool:
    from planner.state.file import same_content

    if left is None or right is None:
        return left is right
    return left.lineage == right.lineage and same_content(left, right)


def _read(store: Store) -> State | None:
    state, problems = store.read()
    if has_errors(problems):
        raise Failure(problems)
    return state


@contextmanager
def _locked(store: Store, operation: str, how: Migration) -> Iterator[None]:
    problems: list[Diagnostic] = store.lock(operation, how.lock_timeout) if how.lock else []
    if has_errors(problems):
        raise Failure(problems)
    try:
        yield
    finally:
        if how.lock:
            store.unlock()


def has_objects(store: Store) -> bool:
    """Whether a state is worth copying. Raises Failure."""
    return not _empty(_read(store))
