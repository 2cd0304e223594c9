r"""The record of why objects are tainted: a document next to the state.

 {"format_version": "1.0", "lineage": "...",
  "objects": {"terraform_data.web": {"what": "provisioner \"file\"", "place": "main.tf:12", "how": "exit status 3"}}}

It contains no output of commands and no messages of providers, because these could contain secrets."""

from __future__ import annotations

from collections.abc import Mapping

from planner.foundation.support.exact_json import orjson
from planner.foundation.vocabulary.records import frozen

VERSION = "1.0"


@frozen
class TaintOrigin:
    """The reason why an object is tainted. `what`: the step that failed. `place`: its position in the configuration
    ("": none). `how`: how it failed ("": unknown)."""

    what: str
    place: str = ""
    how: str = ""

    @property
    def text(self) -> str:
        place = f" ({self.place})" if self.place else ""
        return f"{self.what}{place} failed{f': {self.how}' if self.how else ''}"


def taints_bytes(lineage: str, objects: Mapping[str, TaintOrigin]) -> bytes:
    entries = {
        address: {name: text for name in ("what", "place", "how") if (text := getattr(origin, name))}
        for address, origin in sorted(objects.items())
    }
    return orjson.dumps({"format_version": VERSION, "lineage": lineage, "objects": entries})


def read_taints(data: bytes, lineage: str) -> dict[str, TaintOrigin]:
    """The origins of taints by address; empty if the document belongs to another state or cannot be read."""
    try:
        document = orjson.loads(data)
        if document["format_version"] != VERSION or document["lineage"] != lineage:
            return {}
        entries = document["objects"].items()
        fields = ("what", "place", "how")
        return {str(address): TaintOrigin(*(str(one.get(name, "")) for name in fields)) for address, one in entries}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
