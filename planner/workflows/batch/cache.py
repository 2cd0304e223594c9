"""The cache of a fleet. It stores data about directories, surveys, analyses, and the results of plans without errors,
each with the files that were read for it.

An entry is valid if the request is equal and everything that was read is unchanged. A request includes variables, the
environment, planned outputs of upstream units, and the versions of planner and its rules. Configuration, modules,
variable files, states, outputs of upstream units, lock files, provider directories and rule files are read. See
files_read.py."""

from __future__ import annotations

import os
from collections.abc import Container
from functools import cache
from hashlib import blake2b
from typing import Any

from planner.foundation.support.disk import read_whole
from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.records import fields
from planner.logic.programs.actions import Counts
from planner.workflows.batch import FOLDER
from planner.workflows.batch.cache_files import CacheFiles
from planner.workflows.batch.files_read import Looked, ReadComparison, entries
from planner.workflows.batch.model import (
    FileLocation,
    Linked,
    Published,
    PublishedRead,
    RemoteRead,
    Request,
    Survey,
    UnitResult,
    to_json,
)
from planner.workflows.batch.record import safe_name
from planner.workflows.batch.root_modules import Found, StackFolder

FOLDERS, SURVEYS, RESULTS, ANALYSES = "folders", "surveys", "results", "analyses"
"""names of the tables: one table has an entry for each directory, two have an entry for each unit, and one has an entry
for each command"""


class Cache:
    """The cache of a fleet. If `is_used` is false, no entry is returned, but new entries are stored."""

    def __init__(self, root: str, is_used: bool = True) -> None:
        self.root = root
        self.comparison = ReadComparison()
        self.kept = CacheFiles(root, (FOLDERS, SURVEYS, RESULTS, ANALYSES))
        self._same: dict[int, bool] = {}
        self._held: dict[str, bool] = {}
        self.is_used = is_used

    @property
    def is_new(self) -> bool:
        return not self.kept.entries[SURVEYS]

    def _entry(self, table: str, unit: str) -> dict[str, Any] | None:
        return self.kept.entries[table].get(unit) if self.is_used else None

    def save(self) -> None:
        if self.kept.save():
            self._same, self._held = {}, {}

    def _holds(self, reads: list[int]) -> bool:
        """Whether the files with these indexes are unchanged. Each file is compared only once."""
        same, files, comparison = self._same, self.kept.files, self.comparison
        for number in reads:
            known = same.get(number)
            if known is None:
                known = same[number] = comparison.is_same(*files[number])
            if not known:
                return False
        return True

    # ---------------------------------------------------------------- folders (root_modules.FolderMemory)

    def folder(self, path: str) -> Found | None:
        """A directory's kind and content; None if it is not cached or has changed."""
        known = self._entry(FOLDERS, path)
        if known is None or not self._holds(known["reads"]):
            return None
        stack = known.get("stack")
        return Found(known["root"], known["below"], None if stack is None else _stack_folder(stack))

    def keep_folder(self, path: str, content: Found, looked: Looked) -> None:
        reads = entries(looked)
        if reads is not None:
            data: dict[str, Any] = {"root": content.is_root, "below": content.below}
            if content.stack is not None:
                data["stack"] = [content.stack.deployments, content.stack.sources]
            self.kept.put(FOLDERS, path, data, reads)

    # ---------------------------------------------------------------- surveys

    def survey_text(self, request: Request) -> str | None:
        """The cached survey of a unit as JSON; None if there is none, or if the request or something that was read has
        changed."""
        known = self._entry(SURVEYS, request.unit)
        if known is None or known["key"] != request_key(request) or not self._holds(known["reads"]):
            return None
        text: str = known["survey"]
        return text

    def keep_survey(self, request: Request, survey: Survey) -> str:
        """Store a new survey if the files that were read for it are recorded. Returns the survey as JSON."""
        data = to_json(survey)
        reads = data.pop("reads")
        text = orjson.dumps(data).decode()
        if reads:
            self.kept.put(SURVEYS, request.unit, {"key": request_key(request), "survey": text}, reads)
        return text

    def known_states(self, others: Container[str]) -> dict[str, str]:
        """{unit: path of its local state} according to earlier commands, without the units in `others` and without
        remote states."""
        surveys = self.kept.entries[SURVEYS]
        states = {unit: survey_of(known["survey"]).state for unit, known in surveys.items() if unit not in others}
        return {unit: state for unit, state in states.items() if os.path.isabs(state)}

    # ---------------------------------------------------------------- analyses

    def analysis(self, command: str, key: str) -> dict[str, Any] | None:
        """The cached analysis for a command. `key`: a digest of the fleet and its surveys. None if no analysis with
        this key is cached."""
        known = self._entry(ANALYSES, command)
        return orjson.loads(known["analysis"]) if known is not None and known["key"] == key else None

    def keep_analysis(self, command: str, key: str, analysis: dict[str, Any]) -> None:
        self.kept.put(ANALYSES, command, {"key": key, "analysis": orjson.dumps(analysis).decode()}, [])

    # ---------------------------------------------------------------- results

    def result(self, request: Request) -> dict[str, Any] | None:
        """The cached result of a unit, as in the cache file. None if no result is cached, if it lacks requested facts
        or outputs, or if a new plan could have a different result."""
        known = self._entry(RESULTS, request.unit)
        if known is None or known["key"] != request_key(request) or not set(request.facts) <= set(known["facts"]):
            return None
        if request.is_read and not known["is_read"]:
            return None  # the outputs were not needed in the earlier run
        return known if self.may_hold(request.unit) else None

    def look_again(self) -> None:
        """Compare all files again at their next use."""
        self.comparison = ReadComparison()
        self._same, self._held = {}, {}

    def may_hold(self, unit: str) -> bool:
        """Whether a result of the unit is cached and the files that were read for it are unchanged. The other
        conditions of `result` are not checked."""
        holds = self._held.get(unit)
        if holds is None:
            known = self._entry(RESULTS, unit)
            holds = self._held[unit] = known is not None and self._holds(known["reads"])
        return holds

    def restored(self, known: dict[str, Any], request: Request, is_brief: bool = False) -> UnitResult | None:
        """A cached result (`known`, from the method `result`) as a record. If `is_brief`, its changes and outputs are
        omitted. None if a file that the result names no longer exists, or if the requested facts, text or review are
        not stored."""
        data: dict[str, Any] = dict(known["result"])
        if not is_brief:
            data |= orjson.loads(known["details"])
        if any(data[name] and not os.path.exists(data[name]) for name in ("plan_file", "planned_file")):
            return None  # the record of that run has been removed
        if request.facts or request.text or request.review:
            try:
                kept = orjson.loads(read_whole(self._facts_path(request.unit)))
            except (OSError, orjson.JSONDecodeError):
                return None
            if kept["run"] != known["run"] or (request.text and not kept["text"]):
                return None
            if request.review and kept.get("review") is None:
                return None
            data["review"] = kept["review"] if request.review else {}
            data["text"] = kept["text"] if request.text else ""
            data["facts"] = {name: kept["facts"][name] for name in request.facts}
        return _result(data)

    def keep_result(self, request: Request, result: UnitResult, run: str) -> None:
        """Store the result of a plan. If it has errors or secrets, if the files that were read for it are not recorded,
        or if its changed outputs are not in a file, remove the unit's entry instead."""
        self._held.pop(request.unit, None)
        # a changed output that is not in a file could not be passed to dependents later
        is_lost = bool(result.changed) and not result.planned_file
        if is_lost or result.is_secret or result.result not in ("changes", "no-changes") or not result.reads:
            self.forget(request.unit)
            return
        data = to_json(result)
        reads, facts, text, review = (data.pop(name) for name in ("reads", "facts", "text", "review"))
        for name in ("seconds", "cpu", "memory", "is_secret", "planned", "is_planned_secret"):
            data.pop(name)
        details = {name: data.pop(name) for name in ("changes", "outputs")}
        known = {
            "key": request_key(request),
            "run": run,
            "result": data,
            "details": orjson.dumps(details).decode(),  # parsed on first use
            "facts": sorted(facts),
            "is_read": request.is_read,
        }
        self.kept.put(RESULTS, request.unit, known, reads)
        if facts or text or request.review:
            try:
                os.makedirs(os.path.dirname(self._facts_path(request.unit)), exist_ok=True)
                with open(self._facts_path(request.unit), "wb") as file:
                    file.write(
                        orjson.dumps(
                            {"run": run, "facts": facts, "text": text, "review": review if request.review else None}
                        )
                    )
            except (OSError, TypeError):
                self.forget(request.unit)

    def forget(self, unit: str) -> None:
        self.kept.drop(RESULTS, unit)

    def _facts_path(self, unit: str) -> str:
        return os.path.join(self.root, FOLDER, "facts", f"{safe_name(unit)}.json")


def _stack_folder(data: list[list[str]]) -> StackFolder:
    deployments, sources = data
    return StackFolder(tuple(deployments), tuple(sources))


def _linked(data: dict[str, Any]) -> Linked:
    reads = tuple(PublishedRead(**{**read, "place": FileLocation(**read["place"])}) for read in data["reads"])
    published = tuple(Published(one["output"], FileLocation(**one["place"])) for one in data["published"])
    return Linked(data["folder"], data["before"], data["after"], tuple(data["components"]), reads, published)


def survey_of(text: str) -> Survey:
    """Decode a survey from JSON. This is faster than `from_json`, which uses cattrs."""
    data = orjson.loads(text)
    remote = tuple(RemoteRead(r["object"], r["state"], FileLocation(**r["place"])) for r in data["remote"])
    place = FileLocation(**data["state_place"]) if data["state_place"] else None
    outputs = tuple(data["outputs"]) if data["outputs"] is not None else None
    variables = tuple(data["variables"]) if data["variables"] is not None else None
    files, problems = tuple(data["files"]), tuple(data["problems"])
    stack = _linked(data["stack"]) if data["stack"] else None
    return Survey(data["unit"], data["state"], remote, files, problems, place, outputs, variables, stack=stack)


def _result(data: dict[str, Any]) -> UnitResult:
    """Decode a result. This is faster than `from_json`, which uses cattrs and is too slow for thousands of results."""
    return UnitResult(
        data["unit"],
        data["result"],
        Counts(*data["counts"]),
        tuple(map(tuple, data.get("changes", ()))),
        tuple(map(tuple, data.get("outputs", ()))),
        tuple(data["diagnostics"]),
        text=data.get("text", ""),
        review=data.get("review", {}),
        plan_file=data["plan_file"],
        asks_plugins=data["asks_plugins"],
        asks_services=data["asks_services"],
        made_at=data["made_at"],
        state_at=data.get("state_at", 0.0),
        facts=data.get("facts", {}),
        changed=tuple(data["changed"]),
        unknown=tuple(map(tuple, data["unknown"])),
        rests_on=tuple(map(tuple, data["rests_on"])),
        digests=tuple(map(tuple, data["digests"])),
        planned_file=data["planned_file"],
        lineage=data["lineage"],
        serial=data["serial"],
        is_partial=data["is_partial"],
        approved_by=tuple(data["approved_by"]),
        refusals=tuple(data["refusals"]),
        stuck=tuple(data["stuck"]),
    )


def request_key(request: Request) -> str:
    """A digest of a request's fields; an entry of the cache is valid only for a request with an equal digest."""
    return blake2b(orjson.dumps(request, default=_compared), digest_size=16).hexdigest()


def _compared(record: Any) -> list[Any]:
    return [getattr(record, name) for name in _compared_names(record.__class__)]


@cache
def _compared_names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.eq)
