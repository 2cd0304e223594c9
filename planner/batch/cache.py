"""What is known from earlier runs: surveys and clean plans, each with everything that it was made from.

A result stands as long as the request is the same (variables, environment, what of the upstream is pending, versions of
planner and its rules) and everything that its making looked at is as it was: configuration, modules, variable files,
states, the outputs of upstream units, lock files, folders of providers, rule files. See reads.py.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Any

from planner.batch import CACHE, FOLDER
from planner.batch.model import Place, RemoteRead, Request, Result, Survey, to_json
from planner.batch.reads import Comparison, settled
from planner.batch.record import make_folder, safe_name
from planner.vocabulary.fast_json import orjson


class Cache:
    """The cache of one fleet. `is_used`: whether anything from before counts."""

    def __init__(self, root: str, is_used: bool = True) -> None:
        self.root, self.folder = root, os.path.join(root, FOLDER)
        self.path = os.path.join(root, CACHE)
        self.comparison = Comparison()
        self.stamp = _stamp()
        self.entries: dict[str, dict[str, Any]] = {"surveys": {}, "results": {}}
        self.files: list[list[Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._same: dict[int, bool] = {}
        self._held: dict[str, bool] = {}
        self.is_used, self.is_changed = is_used, False
        self._load()

    def _load(self) -> None:
        try:
            with open(self.path, "rb") as file:
                found = orjson.loads(file.read())
        except (OSError, orjson.JSONDecodeError):
            return
        if isinstance(found, dict) and found.get("stamp") == self.stamp:
            self.entries, self.files = found["entries"], found["files"]

    def save(self) -> None:
        """Write what is new. A cache that cannot be written is none."""
        if not self.is_changed:
            return
        try:
            make_folder(self.root)
            self.files = self._compact()
            self._numbers, self._same, self._held = {}, {}, {}
            beside = f"{self.path}.{os.getpid()}.tmp"
            with open(beside, "wb") as file:
                file.write(orjson.dumps({"stamp": self.stamp, "entries": self.entries, "files": self.files}))
            os.replace(beside, self.path)
        except OSError:
            return

    def _compact(self) -> list[list[Any]]:
        """What was looked at by anything that is kept; the numbers of the others are given anew."""
        numbers: dict[int, int] = {}
        for table in self.entries.values():
            for known in table.values():
                known["reads"] = [numbers.setdefault(number, len(numbers)) for number in known["reads"]]
        return [settled(self.files[number]) for number in numbers]

    def _number(self, entry: list[Any]) -> int:
        """The number of something that was looked at; many look at the same. Whoever looked last at what has not
        changed knows best when it did, or that the clock could not tell yet."""
        if not self._numbers:
            self._numbers = {(path, kind, seen): n for n, (path, kind, _, _, seen) in enumerate(self.files)}
        key = (entry[0], entry[1], entry[4])
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.files)
            self.files.append(entry)
        else:
            self.files[number] = entry
        return number

    def _holds(self, reads: list[int]) -> bool:
        """Whether everything that was looked at is as it was."""
        same, files, comparison = self._same, self.files, self.comparison
        for number in reads:
            known = same.get(number)
            if known is None:
                known = same[number] = comparison.is_same(*files[number])
            if not known:
                return False
        return True

    # ---------------------------------------------------------------- surveys

    def survey(self, request: Request) -> Survey | None:
        """The survey of a unit, if nothing that it looked at has changed."""
        known = self.entries["surveys"].get(request.unit) if self.is_used else None
        if known is None or known["key"] != _key(request) or not self._holds(known["reads"]):
            return None
        return _survey(known["survey"])

    def keep_survey(self, request: Request, survey: Survey) -> None:
        if survey.reads:
            data = to_json(survey)
            reads = [self._number(entry) for entry in data.pop("reads")]
            self.entries["surveys"][request.unit] = {"key": _key(request), "survey": data, "reads": reads}
            self.is_changed = True

    # ---------------------------------------------------------------- results

    def result(self, request: Request) -> dict[str, Any] | None:
        """The last clean result of a unit as data, if it would be the same now."""
        known = self.entries["results"].get(request.unit) if self.is_used else None
        if known is None or known["key"] != _key(request) or not set(request.facts) <= set(known["facts"]):
            return None
        if not self.may_hold(request.unit):
            return None
        found: dict[str, Any] = known
        return found

    def look_again(self) -> None:
        """Files may have changed by now."""
        self.comparison = Comparison()
        self._same, self._held = {}, {}

    def may_hold(self, unit: str) -> bool:
        """Whether the unit has a result whose files are as they were; what else decides is not asked yet."""
        found = self._held.get(unit)
        if found is None:
            known = self.entries["results"].get(unit) if self.is_used else None
            found = self._held[unit] = known is not None and self._holds(known["reads"])
        return found

    def restored(self, known: dict[str, Any], request: Request, is_brief: bool = False) -> Result | None:
        """A kept result as a record, when it is to be brief without its changes; None when its facts, its text or its
        plan are gone."""
        data: dict[str, Any] = dict(known["result"])
        if not is_brief:
            data |= orjson.loads(known["details"])
        if data["plan_file"] and not os.path.exists(data["plan_file"]):
            return None  # somebody removed the record of that run
        if request.facts or request.text:
            try:
                with open(self._facts_path(request.unit), "rb") as file:
                    kept = orjson.loads(file.read())
            except (OSError, orjson.JSONDecodeError):
                return None
            if kept["run"] != known["run"] or (request.text and not kept["text"]):
                return None
            data["text"] = kept["text"] if request.text else ""
            data["facts"] = {name: kept["facts"][name] for name in request.facts}
        return _result(data)

    def keep_result(self, request: Request, result: Result, run: str) -> None:
        """Keep a plan without errors, if it is known what it was made from."""
        self._held.pop(request.unit, None)
        if result.result not in ("changes", "no-changes") or not result.reads:
            self.forget(request.unit)
            return
        data = to_json(result)
        reads, facts = [self._number(entry) for entry in data.pop("reads")], data.pop("facts")
        text = data.pop("text")
        for name in ("seconds", "cpu", "memory"):
            data.pop(name)
        details = {name: data.pop(name) for name in ("changes", "outputs")}
        self.entries["results"][request.unit] = {
            "key": _key(request),
            "run": run,
            "result": data,
            "details": orjson.dumps(details).decode(),  # read when somebody asks for them
            "reads": reads,
            "facts": sorted(facts),
        }
        self.is_changed = True
        if facts or text:
            try:
                os.makedirs(os.path.dirname(self._facts_path(request.unit)), exist_ok=True)
                with open(self._facts_path(request.unit), "wb") as file:
                    file.write(orjson.dumps({"run": run, "facts": facts, "text": text}))
            except (OSError, TypeError):
                self.forget(request.unit)

    def forget(self, unit: str) -> None:
        if self.entries["results"].pop(unit, None) is not None:
            self.is_changed = True

    def _facts_path(self, unit: str) -> str:
        return os.path.join(self.folder, "facts", f"{safe_name(unit)}.json")


def _survey(data: dict[str, Any]) -> Survey:
    """Faster than cattrs, like _result."""
    remote = tuple(RemoteRead(r["object"], r["state"], Place(**r["place"])) for r in data["remote"])
    place = Place(**data["state_place"]) if data["state_place"] else None
    outputs = tuple(data["outputs"]) if data["outputs"] is not None else None
    return Survey(data["unit"], data["state"], remote, tuple(data["files"]), tuple(data["problems"]), place, outputs)


def _result(data: dict[str, Any]) -> Result:
    """Faster than cattrs: there are thousands, and what they hold is plain."""
    return Result(
        data["unit"],
        data["result"],
        tuple(data["counts"]),
        tuple(map(tuple, data.get("changes", ()))),
        tuple(map(tuple, data.get("outputs", ()))),
        tuple(data["diagnostics"]),
        text=data.get("text", ""),
        plan_file=data["plan_file"],
        facts=data.get("facts", {}),
    )


def _key(request: Request) -> str:
    """What of a request decides its result."""
    parts = [
        request.directory,
        request.command,
        request.workspace,
        request.variables,
        request.var_files,
        request.inputs,
        request.state,
        request.upstream,
        request.pending_states,
        request.environment,
        request.rules,
        request.refresh,
    ]
    return blake2b(orjson.dumps(parts), digest_size=16).hexdigest()


def _stamp() -> str:
    """What must be the same for anything in a cache to count: versions of planner and of its rules."""
    from planner import __version__
    from planner.assets import rules_path

    parts = [__version__]
    for folder, _, names in sorted(os.walk(rules_path())):
        for name in sorted(names):
            if name.endswith(".dl"):
                found = os.stat(os.path.join(folder, name))
                parts.append(f"{name} {found.st_mtime_ns} {found.st_size}")
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
