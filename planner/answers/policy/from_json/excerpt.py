"""Reads only the members of a large plan that most policies need. The planned values, the prior state and the
configuration are not read; they are more than half of the text of a plan.

This works for plans in the form in which OpenTofu and Terraform print them: one line, with the members in a fixed
order. The positions of the members are verified. The text before the planned values, and the text from the timestamp to
the end, are parsed, to make sure that the members in them are at the top level. In the text between them, the name of
each member must occur exactly once and be followed by a single value. Any other plan is read as a whole. Parts that are
not read are not checked. The changes of resources are read in chunks, and only one chunk is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.foundation.support.exact_json import JsonError, has_wide_numbers, loads, orjson

LEAST = 1 << 20
"""minimum size of a document in bytes; smaller documents are read as a whole"""
PIECE = 1 << 18
"""number of bytes that are parsed at once"""
_BEGIN = b'{"format_version":"1.'
_CHANGES, _OUTPUTS = b',"resource_changes":[', b',"output_changes":{'
_PRIOR, _CONFIGURATION = b',"prior_state":{', b',"configuration":{'
_BETWEEN = b'},{"address":"'
_NAMES = (b'"resource_changes"', b'"output_changes"', b'"configuration"', b'"provider_config"')
_ESCAPE, _LETTERS = b"\\u00", (b"4", b"5", b"6", b"7")
"""_ESCAPE, followed by one of _LETTERS, is the beginning of an escaped letter. Programs do not write escaped letters,
but such letters could hide names"""
_FEW = 1000
_LAST = frozenset(("timestamp", "errored", "applyable", "complete"))
_FIRST = frozenset(("format_version", "terraform_version", "variables"))


class Excerpt:
    """The part of a plan that is read. `members`: the members that are read, except `resource_changes`."""

    __slots__ = ("_begin", "_data", "_end", "_is_exact", "_rest", "members")

    def __init__(self, data: bytes, members: dict[str, Any], begin: int, end: int, rest: tuple[int, int]) -> None:
        """`begin`, `end`: bounds of `resource_changes`. `rest`: bounds of the text from the configuration up to the
        timestamp."""
        self._data, self.members, self._begin, self._end, self._rest = data, members, begin, end, rest
        self._is_exact: bool | None = None

    def __len__(self) -> int:
        """The size of `resource_changes` in bytes."""
        return self._end - self._begin

    def confirm(self, share: int = 0, shares: int = 1) -> bool:
        """Whether the members are at the assumed positions: outside the changes, their names occur only at these
        positions, and no escaped letters could hide a name. The check is divided into `shares` parts, which must all
        succeed; `share` is the number of one part."""
        data, before, after = self._data, self._begin - len(_CHANGES), self._end + 1
        has_outputs = data.startswith(_OUTPUTS, after)
        parts = [(0, before), (after, len(data))]
        looks = [(name, part) for part in parts for name in (*_NAMES, _ESCAPE)]
        looks.remove((_NAMES[3], parts[0]))  # the configuration is not in this part
        once = {(_NAMES[1], after): int(has_outputs), (_NAMES[2], after): 1, (_NAMES[3], after): 1}
        for name, (begin, end) in looks[share::shares]:
            if name == _ESCAPE:
                if _has_escaped_letters(data, begin, end):
                    return False
            elif data.count(name, begin, end) != once.get((name, begin), 0):
                return False
        return True

    def changes(self) -> Iterator[Any]:
        """The entries of `resource_changes`. Raises JsonError if their form is unexpected; then the whole document must
        be read."""
        for begin, end in self.bounds(PIECE):
            try:
                piece: list[Any] = orjson.loads(b"[%b]" % self._data[begin:end])
            except orjson.JSONDecodeError as problem:
                raise JsonError(problem.msg, begin) from None
            if not piece and self._begin < self._end:  # superfluous comma
                raise JsonError("an element expected", begin)
            yield from piece

    def bounds(self, size: int) -> list[tuple[int, int]]:
        """(start, end) of one or more chunks of about `size` bytes. A chunk ends where an element seems to end. If this
        position is inside an element, the content of the chunk is not a valid list."""
        data, at, end = self._data, self._begin, self._end
        results: list[tuple[int, int]] = []
        while at < end or not results:
            between = data.find(_BETWEEN, at + size, end)
            to = end if between < 0 else between + 1
            results.append((at, to))
            at = to + 1
        return results

    def only(self, begin: int, end: int) -> Excerpt:
        """The excerpt with the entries of one chunk."""
        return Excerpt(self._data, self.members, begin, end, self._rest)

    def configuration(self) -> Any:
        """The member `configuration` of the document; None if it is missing. Raises JsonError."""
        return _members(self._data, *self._rest).get("configuration")

    def check_numbers(self) -> None:
        """Raises JsonError if numbers in the changes may have lost digits. Only floats can have lost digits:
        integers of more than 64 bits are also read as floats. So callers need this check only if they read a float."""
        if self._is_exact is None:
            self._is_exact = not has_wide_numbers(b"[" + self._data[self._begin : self._end])
        if not self._is_exact:
            raise JsonError("long numbers", self._begin)


def _has_escaped_letters(data: bytes, begin: int, end: int) -> bool:
    at = data.find(_ESCAPE, begin, end)
    for _ in range(_FEW):
        if at < 0:
            return False
        if data[at + len(_ESCAPE) : at + len(_ESCAPE) + 1] in _LETTERS:
            return True
        at = data.find(_ESCAPE, at + 1, end)
    return any(data.find(b"%b%b" % (_ESCAPE, letter), begin, end) >= 0 for letter in _LETTERS)


def excerpt(data: bytes) -> Excerpt | None:
    """The excerpt of a document, with the changes of resources and outputs, the variables, the time and the configured
    providers. None if the whole document must be read."""
    result = suggested(data)
    return result if result is not None and result.confirm() else None


def suggested(data: bytes) -> Excerpt | None:
    """The excerpt without the verification by `confirm`; None if the document is too small, is not JSON, or has its
    members in a different order."""
    if len(data) < LEAST or not data.startswith(_BEGIN):
        return None
    try:
        return _suggested(data)
    except JsonError:
        return None


def _suggested(data: bytes) -> Excerpt | None:
    planned, changes, last = data.find(b',"planned_values":{'), data.find(_CHANGES), data.rfind(b',"timestamp":"')
    if not 0 < planned < changes < last:
        return None
    head, tail = _members(data, 0, planned), _members(data, last, len(data.rstrip()) - 1)
    if not (head.keys() <= _FIRST and tail.keys() <= _LAST):
        return None
    # the search begins at the end, because there is less text after the configuration than before it; the same name
    # inside another member is not followed by a list of changes
    configuration = data.rfind(b',"configuration":{"provider_config":{', changes, last)
    root_module = data.find(b',"root_module":{', configuration)
    if not 0 < configuration < root_module:
        return None
    prior = data.rfind(_PRIOR, changes, configuration)
    end = following = prior if prior > 0 else configuration
    middle: dict[str, Any] = {}
    if data[end - 1 : end] == b"}":
        end = data.rfind(_OUTPUTS, changes, following)
        if end < 0:
            return None
        middle = _members(data, end, following)
    if data[end - 1 : end] != b"]":
        return None
    providers = _members(data, configuration + len(_CONFIGURATION) - 1, root_module)
    if not _is_simple(providers.get("provider_config")):
        return None
    members = {**head, **middle, "configuration": providers, **tail}
    return Excerpt(data, members, changes + len(_CHANGES), end - 1, (configuration, last))


def _members(data: bytes, begin: int, end: int) -> dict[str, Any]:
    """The members in a part of the text of an object. The part begins with a comma or with the opening brace. Raises
    JsonError."""
    text = data[begin + 1 : end]
    if b"\\ud" in text or b"\\uD" in text:  # perhaps a lone surrogate, which is not a valid character
        raise JsonError("half a character", begin)
    members = loads(b"{" + text + b"}")
    return members if members.__class__ is dict else {}


def _is_simple(providers: Any) -> bool:
    """Whether each provider has only its default configuration, which all resources then use."""
    if providers.__class__ is not dict:
        return False
    return all(p.__class__ is dict and not p.keys() & {"alias", "module_address"} for p in providers.values())
