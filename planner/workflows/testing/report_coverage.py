"""Coverage of tests: as text, as a document, and as lcov for programs that show it next to the lines of files."""

from __future__ import annotations

from typing import Any

from planner.render.terminal import visible
from planner.workflows.testing.coverage import Coverage


def coverage_text(found: Coverage) -> str:
    """The parts that were not reached, and how much was."""
    count, of = found.counts
    lines = []
    for item, seen in found.items:
        missing = [way for way in item.ways if way not in seen]
        if missing:
            lines.append(f"  {item.span}: {item.kind} {visible(item.name)}: never {' or '.join(missing)}")
    head = f"Coverage: {count} of {of} ({100 * count // of if of else 100}%)"
    return "\n".join([f"{head}. No run reached:", *lines] if lines else [f"{head}."])


def coverage_json(found: Coverage) -> dict[str, Any]:
    """The coverage as a document."""
    count, of = found.counts
    return {
        "format_version": "1.0",
        "reached": count,
        "total": of,
        "items": [
            {
                "kind": item.kind,
                "name": item.name,
                "filename": item.span.filename,
                "line": item.span.line,
                "reached": sorted(seen),
                "missing": sorted(set(item.ways) - seen),
            }
            for item, seen in found.items
        ],
    }


def coverage_lcov(found: Coverage) -> str:
    """A record for each file: its lines with something to reach, and a branch for each way."""
    files: dict[str, list[tuple[int, list[bool]]]] = {}
    for item, seen in found.items:
        entry = item.span.line, [way in seen for way in item.ways]
        files.setdefault(item.span.filename, []).append(entry)
    lines: list[str] = []
    for name in sorted(files):
        lines += ["TN:", f"SF:{name}"]
        hits: dict[int, bool] = {}
        branches = []
        for block, (line, taken) in enumerate(files[name]):
            hits[line] = hits.get(line, False) or any(taken)
            if len(taken) > 1:
                branches += [f"BRDA:{line},{block},{number},{int(hit)}" for number, hit in enumerate(taken)]
        lines += branches
        lines += [f"BRF:{len(branches)}", f"BRH:{sum(branch.endswith(',1') for branch in branches)}"]
        lines += [f"DA:{line},{int(hit)}" for line, hit in sorted(hits.items())]
        lines += [f"LF:{len(hits)}", f"LH:{sum(hits.values())}", "end_of_record"]
    return "\n".join([*lines, ""])
