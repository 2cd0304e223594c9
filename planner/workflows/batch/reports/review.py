"""The review of a fleet: one document that combines the reviews of its units. If a cause in one unit changes outputs,
it is also a cause in the units that read these outputs. The name of an object begins with its unit: `svc5:
terraform_data.app`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from planner.foundation.vocabulary.records import field, frozen
from planner.logic.programs.actions import words_for
from planner.render.review.decisions import reasons
from planner.render.review.document import bare_document
from planner.render.review.links import Links
from planner.render.review.subject import ReviewSubject
from planner.workflows.batch.reports.document import is_drift, replaced_text, summary_line, totals, totals_text
from planner.workflows.batch.run import BatchReport

Key: TypeAlias = tuple[str, int]
"""(unit, index of a cause in its review)"""
Reads: TypeAlias = Mapping[str, Mapping[str, frozenset[tuple[str, str]]]]
"""{unit: {input variable: outputs of other units that its value uses, as (unit, output)}}"""
_REMOTE = re.compile(r"^data\.terraform_remote_state\.[^.\[]+(?:\[[^\]]*\])?\.outputs(?:\.|\[\")([\w-]+)")
REFUSED = frozenset(("policy.denied", "policy.broken"))
"""codes of the diagnostics about a denied plan"""
_MERGED = ("decisions", "uncaused")


@frozen(eq=False)
class UnitReviews:
    reviews: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    reads: Reads = field(factory=dict)

    def and_later(self, later: UnitReviews) -> UnitReviews:
        """These reviews, combined with the reviews of a later round. If a unit has a review in both, the later review
        is used."""
        return UnitReviews({**self.reviews, **later.reviews}, {**self.reads, **later.reads})


def unit_reviews(report: BatchReport, is_kept: bool = False) -> UnitReviews:
    """The reviews of the units in a report. `is_kept`: the reviews will be stored in a file, so reviews of encrypted
    units are left out."""
    ends = ((unit, end.result) for unit, end in report.done.items() if end.result is not None)
    reviews = {unit: one.review for unit, one in ends if one.review and not (is_kept and one.is_secret)}
    units = report.analysis.fleet.units if report.analysis is not None else {}
    reads = {
        name: {one.variable: frozenset((unit, output) for unit, output, _ in one.mentions) for one in unit.inputs}
        for name, unit in units.items()
    }
    return UnitReviews(reviews, reads)


def reviews_json(units: UnitReviews) -> dict[str, Any]:
    """The reviews as data for another process."""
    return {
        name: {
            "review": review,
            "reads": {variable: sorted(map(list, outputs)) for variable, outputs in units.reads.get(name, {}).items()},
        }
        for name, review in sorted(units.reviews.items())
    }


def reviews_from_json(data: Mapping[str, Any]) -> UnitReviews:
    return UnitReviews(
        {name: one["review"] for name, one in data.items()},
        {
            name: {variable: frozenset((a, b) for a, b in outputs) for variable, outputs in one["reads"].items()}
            for name, one in data.items()
        },
    )


def fleet_review(document: Mapping[str, Any], units: UnitReviews, subject: ReviewSubject) -> dict[str, Any]:
    """The review of a fleet as plain data. `document`: the report of the batch as plain data."""
    return _Fleet(document, units, subject).build()


class _Fleet:
    def __init__(self, document: Mapping[str, Any], units: UnitReviews, subject: ReviewSubject) -> None:
        self.document, self.reads, self.subject = document, units.reads, subject
        names = [unit["unit"] for unit in document["units"]]
        self.reviews = {name: units.reviews[name] for name in names if name in units.reviews}
        # file names of components are relative to the stack already
        self.folders = {unit["unit"]: unit["folder"] for unit in document["units"] if "about" not in document}
        self.behind = {unit["unit"]: unit["waits_for"] for unit in document["units"]}
        self.causes = {(unit, one["number"]): one for unit, review in self.reviews.items() for one in review["causes"]}
        self.carried: dict[Key, frozenset[tuple[str, str]]] = {
            (unit, number): self._outputs(unit, one) for (unit, number), one in self.causes.items()
        }
        self.sources: dict[tuple[str, str], list[Key]] = {}
        """{(unit, changed output): its causes}"""
        for key, one in self.causes.items():
            for change in one["changes"]:
                if change["address"].startswith("output."):
                    output = change["address"].removeprefix("output.")
                    self.sources.setdefault((key[0], output), []).append(key)

    def _outputs(self, unit: str, cause: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        """The outputs of other units that carry a cause to this unit, as (unit, output); empty if the cause begins in
        this unit."""
        known = self.reads.get(unit, {})
        if cause["kind"] == "variable" and cause["what"].partition(".")[2] in known:
            return known[cause["what"].partition(".")[2]]
        remote = _REMOTE.match(cause["what"])
        changed = {
            other: self.reviews[other]["outputs"] for other in self.behind.get(unit, ()) if other in self.reviews
        }
        if remote is None:
            return frozenset()
        return frozenset((other, remote[1]) for other in changed if any(o["name"] == remote[1] for o in changed[other]))

    def build(self) -> dict[str, Any]:
        roots = {key: self._roots(key) for key in self.causes}
        groups: dict[tuple[Any, ...], list[Key]] = {}
        for key, root_keys in roots.items():
            for root in root_keys:
                groups.setdefault(self._identity(root), []).append(key)
        ordered = sorted(groups.values(), key=self._risk)
        numbers: dict[Key, list[int]] = {}
        for number, keys in enumerate(ordered, 1):
            for key in keys:
                numbers.setdefault(key, []).append(number)
        made = bare_document(self._title(), self.subject)
        made |= {name: list(self._union(name)) for name in _MERGED}
        grave, others = self._of_units()
        made["decisions"] = [*grave, *made["decisions"], *others]
        made |= {
            "kind": "drift" if is_drift(self.document) else self.subject.kind,
            "mode": self.document["mode"],
            "counts": totals(dict(self.document)),
            "causes": [self._cause(number, keys, numbers) for number, keys in enumerate(ordered, 1)],
            "changes": list(self._entries("changes", numbers)),
            "outputs": list(self._entries("outputs", numbers)),
            "diagnostics": [*made["diagnostics"], *self._diagnostics()],
            "units": [
                {
                    **{name: unit[name] for name in ("unit", "folder", "outcome", "counts")},
                    "because_all": unit.get("because_all") or [name for name in (unit["because"],) if name],
                }
                for unit in self.document["units"]
                if unit["outcome"] != "unchanged"
            ],
        }
        return made

    def _of_units(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Two lists of decisions for the reader. The first is about denied and failed units, the second about units
        whose plans are missing or incomplete."""
        units, is_plan = self.document["units"], self.document["command"] == "plan" and not is_drift(self.document)

        def units_of(*outcomes: str) -> list[str]:
            return [unit["unit"] for unit in units if is_plan and unit["outcome"] in outcomes]

        grave = reasons(
            ("deny", "denied by policy, so the apply is blocked", self._denials()),
            ("failed", "without a plan, because of errors", units_of("failed", "died", "stopped")),
        )
        return grave, reasons(
            ("skipped", "without a plan, because of other units", units_of("skipped")),
            ("incomplete", "planned again when their inputs are known", units_of("incomplete", "deferred")),
        )

    def _denials(self) -> Iterator[str]:
        for unit in self.document["units"]:
            for one in unit["diagnostics"] if unit["outcome"] == "denied" else ():
                if one.get("code") in REFUSED:
                    yield ": ".join(filter(None, (unit["unit"], one.get("address"))))

    def _title(self) -> str:
        document = dict(self.document)
        if is_drift(document):
            return summary_line(document)
        return (
            f"{summary_line(document).rstrip('.')}: {totals_text(document) or 'no objects'}{replaced_text(document)}."
        )

    def _diagnostics(self) -> Iterator[dict[str, Any]]:
        for unit in self.document["units"]:
            for one in unit["diagnostics"]:
                place = one.get("range")
                where = self._place(unit["unit"], {"file": place["filename"], **place["start"]}) if place else {}
                yield {
                    "severity": one["severity"],
                    "summary": f"{unit['unit']}: {one['summary']}",
                    "detail": one["detail"],
                    "address": one.get("address", ""),
                    **where,
                }

    # ---- causes

    def _roots(self, key: Key) -> list[Key]:
        """The causes in other units where a cause begins. They are found by following outputs from unit to unit. A
        cause that begins in its own unit is its only origin."""
        roots: dict[Key, None] = {}
        seen, waiting = {key}, [key]
        while waiting:
            at = waiting.pop()
            before = [source for output in sorted(self.carried[at]) for source in self.sources.get(output, ())]
            if not before:
                roots[at] = None
            for source in before:
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return sorted(roots)

    def _identity(self, key: Key) -> tuple[Any, ...]:
        """The key for grouping causes, so that the edit of a line is one cause for all units that it affects. A cause
        without a place has a key of its own."""
        one = self.causes[key]
        place = self._place(key[0], one)
        if not place:
            return key
        return (one["what"], one["kind"], one["before"], one["after"], place["file"], place["line"])

    def _risk(self, keys: list[Key]) -> tuple[bool, bool, int, list[Key]]:
        merged = self._sum(keys, "sets_off")
        stateful = self._sum(keys, "stateful")
        return not stateful, not ({"delete", "replace"} & merged.keys()), -sum(merged.values()), keys

    def _sum(self, keys: list[Key], name: str) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for key in keys:
            for verb, number in self.causes[key][name].items():
                numbers[verb] = numbers.get(verb, 0) + number
        return dict(
            sorted(
                numbers.items(), key=lambda item: (item[0] == "output", item[0] != "output" and words_for(item[0]).risk)
            )
        )

    def _cause(self, number: int, keys: list[Key], numbers: Mapping[Key, list[int]]) -> dict[str, Any]:
        first = next(key for key in keys if self._roots(key) == [key])
        one = self.causes[first]
        units = list(dict.fromkeys(unit for unit, _ in keys))
        own = ((unit, edit) for unit, inner in keys for edit in self.causes[unit, inner].get("unsettles") or ())
        place = self._place(first[0], one)
        note = one["note"]
        if place and note.endswith(f"{one['file']}:{one['line']}"):  # the place is relative to the unit
            note = note.removesuffix(f"{one['file']}:{one['line']}") + f"{place['file']}:{place['line']}"
        return {
            **one,
            **place,
            "note": note,
            "unsettles": sorted({edit for key in own for edit in numbers.get(key, ())} - {number}),
            "number": number,
            "certain": all(self.causes[key]["certain"] for key in keys),
            "unit": first[0],
            "units": units,
            "sets_off": self._sum(keys, "sets_off"),
            "stateful": self._sum(keys, "stateful"),
            "changes": [
                {**change, "address": f"{key[0]}: {change['address']}"}
                for key in keys
                for change in self.causes[key]["changes"]
            ],
            "hops": [f"{key[0]}: {hop}" for key in keys for hop in self.causes[key]["hops"]],
        }

    def _place(self, unit: str, one: Mapping[str, Any]) -> dict[str, Any]:
        """The place of a cause as {"file", "line", perhaps "link"}, with its path relative to the fleet's root; {} for
        an unknown place."""
        if not one.get("file"):
            return {}
        links: Links = self.subject.links
        file = os.path.normpath(os.path.join(self.folders.get(unit, ""), one["file"]))
        link = links.of({**one, "file": file})
        return {"file": file, "line": one["line"], **({"link": link} if link else {})}

    # ---- decisions and other changes

    def _union(self, name: str) -> Iterator[dict[str, Any]]:
        """The entries of the member `name` ("decisions" or "uncaused") in the reviews of all units. Entries with the
        same text are combined."""
        inner = "objects" if name == "decisions" else "changes"
        together: dict[str, dict[str, Any]] = {}
        for unit, review in self.reviews.items():
            for one in review[name]:
                entry = together.setdefault(one["text"], {**one, inner: []})
                entry[inner] += [
                    f"{unit}: {item}" if isinstance(item, str) else {**item, "address": f"{unit}: {item['address']}"}
                    for item in one[inner]
                ]
        return iter(together.values())

    def _entries(self, name: str, numbers: Mapping[Key, list[int]]) -> Iterator[dict[str, Any]]:
        readers: dict[tuple[str, str], list[str]] = {}
        for key, outputs in self.carried.items():
            for output in sorted(outputs):
                readers.setdefault(output, []).append(key[0])
        for unit, review in self.reviews.items():
            for one in review[name]:
                causes = sorted({number for own in one["causes"] for number in numbers.get((unit, own), ())})
                entry = {**one, "unit": unit, "causes": causes, **self._place(unit, one)}
                if name == "outputs":
                    entry["read_by"] = list(dict.fromkeys(readers.get((unit, one["name"]), ())))
                yield entry
