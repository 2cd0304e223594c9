"""What Python decides and rules do not: marked where it is decided, and named in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ANY_FORM = re.compile(r"decided\s+(?:#\s*)?in\s+(?:#\s*)?python", re.IGNORECASE)
MARKER = re.compile(r"# decided in Python: (.+?) -- (.+)")
LISTED = re.compile(r"^.*Only these decisions are made in Python instead of rules:\n\n((?:- .+\n)+)", re.MULTILINE)


def test_the_documentation_names_what_is_still_decided_in_python() -> None:
    """Markers are comments: `# decided in Python: WHAT -- WHY NO RULE`."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "planner").rglob("*.py"))]
    marked = sorted(f"- {what}: {why}" for text in texts for what, why in MARKER.findall(text))
    assert len(marked) == sum(len(ANY_FORM.findall(text)) for text in texts), "a marker has another form"
    listed = LISTED.search((ROOT / "docs/pages/how/rules.md").read_text(encoding="utf-8"))
    assert listed is not None
    assert listed[1].splitlines() == marked
