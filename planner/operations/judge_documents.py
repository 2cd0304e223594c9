"""Checks JSON documents against policies: the output of `show -json` for plans and states, and state files."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from threading import Thread
from typing import Any, TypeAlias

from planner.answers.documents.kind import STDIN
from planner.answers.policy.enforcement import without_policy
from planner.answers.policy.from_json.chunks import judged_in_pieces
from planner.answers.policy.from_json.document import Document, not_usable, parse
from planner.answers.policy.from_json.excerpt import suggested
from planner.answers.policy.from_json.facts import shown_facts
from planner.answers.policy.judge import judge, verdict_of
from planner.answers.policy.model import Verdict
from planner.answers.policy.packs import superseded
from planner.answers.policy.program import Policies, load_policies
from planner.answers.policy.standing_policies import NAME_POLICIES
from planner.foundation.support.disk import MAX_BYTES, collector_paused, read_given
from planner.foundation.vocabulary.diagnostic import Diagnostic, Failure, error, has_errors
from planner.foundation.vocabulary.records import evolve
from planner.language.config.load import load_config
from planner.language.config.model import Config
from planner.logic.model.plan import PolicyRecord
from planner.operations.load import load_variables, selected_workspace
from planner.operations.options import OperationOptions
from planner.world.provider.lock_file import read_locks
from planner.world.state.workspace import data_directory


def judged_document(
    options: OperationOptions,
    path: str,
    kind: str,
    policies: Policies,
    processes: int = 0,
    ahead: Ahead | None = None,
) -> tuple[Verdict | None, list[Diagnostic]]:
    """The verdict of policies about the document in a file or on standard input, and diagnostics. The verdict is None
    on errors. `kind`: the required kind of document, plan or state. `processes`: if it is not 0, a large plan may be
    checked in pieces by at most this number of processes, provided that the result is certain to be the same. `ahead`:
    the content of the file, if it is already being read in the background."""
    overrides = dict.fromkeys(options.policy_overrides, options.policy_reason)
    try:
        with collector_paused():
            name, data = _read(path, ahead)
            if processes and kind == "plan" and not _has_configuration(options):
                result = suggested(data)
                findings = judged_in_pieces(result, name, policies, processes) if result is not None else None
                if findings is not None:
                    return verdict_of(policies, findings, overrides), []
            document = parse(data, name)
            if (document.kind == "plan") != (kind == "plan"):
                raise not_usable(document.name, f"it is a {document.kind}, and -{kind} names a {kind}")
            config = _configuration(options) if document.kind == "plan" else None
            facts = shown_facts(document, policies.reads, config, lambda: _locked(options.directory))
            return judge(policies, facts, overrides), []
    except Failure as failure:
        return None, failure.diagnostics


def read_document(path: str) -> Document:
    """The document in a file or on standard input. Raises Failure."""
    name, data = _read(path)
    return parse(data, name)


def _read(path: str, ahead: Ahead | None = None) -> tuple[str, bytes]:
    name = "standard input" if path == STDIN else path
    try:
        if ahead is not None:
            data = ahead.data()
        else:
            data = sys.stdin.buffer.read(MAX_BYTES) if path == STDIN else read_given(path, MAX_BYTES)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise Failure(error("policy.document", "Cannot read the document", f"{name}: {reason}.")) from None
    return name, data


def _configuration(options: OperationOptions) -> Config | None:
    """The configuration in the directory; None if there is none, or if it has errors."""
    return _loaded(options) if _has_configuration(options) else None


def _locked(directory: str) -> list[tuple[str, ...]]:
    """The rows of the relation `locked_provider`. Raises Failure if the lock file is damaged."""
    return [(lock.address, str(lock.version), lock.constraints) for lock in read_locks(directory)[0].values()]


def _has_configuration(options: OperationOptions) -> bool:
    endings = (".tf", ".tofu", ".tf.json", ".tofu.json")
    try:
        return any(name.endswith(endings) for name in os.listdir(options.directory))
    except OSError:
        return False


def _loaded(options: OperationOptions) -> Config | None:
    workspace, _ = selected_workspace(options)
    given, _ = load_variables(options)
    config, problems = load_config(
        options.directory, variables=given, workspace=workspace, data_dir=data_directory(os.environ)
    )
    return None if has_errors(problems) else config


# Checks of documents by policies, without the modules for making plans.


Known: TypeAlias = "list[tuple[Policies | None, list[Diagnostic]]]"
"""a list that contains the loaded policies and their diagnostics; empty until the policies are loaded"""


def check_document(
    options: OperationOptions, path: str, kind: str, processes: int = 1, known: Known | None = None
) -> tuple[Verdict | None, list[Diagnostic]]:
    """The verdict of the policies in the options about a document, and diagnostics. The verdict is None on errors.
    `kind`: "plan" (as printed by `show -json`) or "state". `known`: a cache that calls for several documents share, so
    that policies are loaded only once."""
    ahead = Ahead(path, MAX_BYTES) if path != STDIN else None
    return _judged(options, path, kind, processes, ahead, [] if known is None else known)


def _judged(
    options: OperationOptions, path: str, kind: str, processes: int, ahead: Ahead | None, known: Known
) -> tuple[Verdict | None, list[Diagnostic]]:
    try:
        if not known:
            known.append(policies_of(options, None))
        policies, problems = known[0]
    except Failure as failure:
        return None, failure.diagnostics
    if policies is None:
        return None, problems
    if not policies.files:
        return None, [error("policy.none", "No policies", NAME_POLICIES)]
    wrong = [evolve(w, severity="error") for w in without_policy(policies, options.policy_overrides)]
    if wrong:
        return None, [*problems, *wrong]
    verdict, more = judged_document(options, path, kind, policies, processes, ahead)
    return verdict, [*problems, *more]


def policies_of(
    options: OperationOptions, record: PolicyRecord | None, workspace: str = "", made: Any = None
) -> tuple[Policies | None, list[Diagnostic]]:
    """The organisation's policies, the policies in `record` (from a plan file) and the policies in the options, with
    the settings for a workspace (default: the selected workspace); and diagnostics. The policies are None if one is
    invalid. Policies in Python run for the plan `made`. Raises Failure, for example if there are policies in Python but
    no plan."""
    from planner.answers.policy.sources import policy_files

    workspace = workspace or selected_workspace(options)[0]
    python = [word for word in (*options.policies, *options.standing_policies) if word.endswith(".py")]
    if python and (options.more_policies is None or made is None):
        detail = f"{python[0]}: policies in Python can check only plans that planner makes, not documents."
        raise Failure(error("policy.python", "Python policies not supported here", detail))
    standing = policy_files((word for word in options.standing_policies if word not in python), workspace)
    named = policy_files((word for word in options.policies if word not in python), workspace)
    # the names of files are the same as in a command that runs in the directory, because rules and records contain
    # these names
    here = os.path.join(options.directory, "") if os.path.isabs(options.directory) else ""
    named = tuple((name.removeprefix(here), text) for name, text in named)
    if options.more_policies is not None and made is not None:
        named = (*named, *options.more_policies(made))
    texts = {text for _, text in standing}
    recorded = superseded(dict(record.files if record is not None else ()), {**dict(named), **dict(standing)})
    recorded = {name: text for name, text in recorded.items() if text not in texts}
    # the organisation's policy file is read from this machine, never from a plan file
    theirs = {name for name in recorded if name.endswith("policy.toml") and os.path.isabs(name)}
    recorded = {name: text for name, text in recorded.items() if not standing or name not in theirs}
    files = {**recorded, **dict(named), **dict(standing)}
    return load_policies(tuple(files.items()), frozenset(dict(standing)) or frozenset(theirs), workspace)


# A large file that is read in the background.


LEAST = 1 << 20
"""minimum size in bytes of files that are read in the background"""


class Ahead:
    """Reads a file with at most `most` bytes. A large file is read in a background thread."""

    def __init__(self, path: str, most: int) -> None:
        self._path, self._most = path, most
        self._data: bytes | None = None
        self._thread: Thread | None = None
        if _is_large(path):
            self._thread = Thread(target=self._read, daemon=True)
            self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError, MemoryError):  # data() raises the error
            self._data = read_given(self._path, self._most)

    def data(self) -> bytes:
        """The content of the file. Raises OSError, and ValueError for an invalid name."""
        if self._thread is not None:
            self._thread.join()
        return self._data if self._data is not None else read_given(self._path, self._most)


def _is_large(path: str) -> bool:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= LEAST
