"""The members of a large plan that most policies ask for, without reading the others: planned values, the state before
and the configuration are more than half of it.

Only for the form in which OpenTofu and Terraform print plans: one line, members in their order. What is taken for a
member is checked: the text up to the planned values and the text from the time to the end are parsed, which shows that
they stand at the top; the name of each member occurs once in what is not parsed, and what is taken for its value is one
value. Whatever looks otherwise is read as a whole. What nobody reads is not checked.

The changes of resources are read in pieces, each of which is forgotten when the next one comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.support.exact_json import JsonError, has_wide_numbers, loads

LEAST = 1 << 20
"""bytes; smaller documents are read as a whole"""
PIECE = 1 << 18
"""bytes that are parsed at once"""
_BEGIN = b'{"format_version":"1.'
_CHANGES, _OUTPUTS = b',"resource_changes":[', b',"output_changes":{'
_PRIOR, _CONFIGURATION = b',"prior_state":{', b',"configuration":{'
_BETWEEN = b'},{"address":"'
_NAMES = (b'"resource_changes"', b'"output_changes"', b'"configuration"', b'"provider_config"')
_ESCAPED = (b"\\u004", b"\\u005", b"\\u006", b"\\u007")
"""how letters begin that are written otherwise, as nobody writes them: names could hide so"""
_LAST = frozenset(("timestamp", "errored", "applyable", "complete"))
_FIRST = frozenset(("format_version", "terraform_version", "variables"))


class Excerpt:
    """What is read of a plan; `members` are those that are read at once: all but the changes of resources."""

    __slots__ = ("_begin", "_data", "_end", "_is_exact", "_rest", "members")

    def __init__(self, data: bytes, members: dict[str, Any], begin: int, end: int, rest: tuple[int, int]) -> None:
        """`begin` and `end` are where the changes stand, `rest` where the configuration and what follows does."""
        self._data, self.members, self._begin, self._end, self._rest = data, members, begin, end, rest
        self._is_exact: bool | None = None

    def changes(self) -> Iterator[Any]:
        """The changes of resources, one after the other. Raises JsonError when they are not what they looked like: then
        the document has to be read as a whole.

        A piece ends where an element of the list seems to end. If that was within an element, the piece is no list."""
        from planner.support.fast_json import orjson

        data, at, end = self._data, self._begin, self._end
        while at < end:
            found = data.find(_BETWEEN, at + PIECE, end)
            to = end if found < 0 else found + 1
            try:
                piece = orjson.loads(b"[%b]" % data[at:to])
            except orjson.JSONDecodeError as problem:
                raise JsonError(problem.msg, at) from None
            if not piece:  # a comma too many
                raise JsonError("an element expected", at)
            yield from piece
            at = to + 1

    def configuration(self) -> Any:
        """The whole configuration. Raises JsonError."""
        return _members(self._data, *self._rest).get("configuration")

    def check_numbers(self) -> None:
        """Raises JsonError when numbers in the changes may have lost digits. Only who meets a number with a fraction
        has to ask: what is beyond 64 bits has become one."""
        if self._is_exact is None:
            self._is_exact = not has_wide_numbers(b"[" + self._data[self._begin : self._end])
        if not self._is_exact:
            raise JsonError("long numbers", self._begin)


def excerpt(data: bytes) -> Excerpt | None:
    """Changes of resources and outputs, the variables, the time, and which providers are configured; None when the
    whole document has to be read."""
    if len(data) < LEAST or not data.startswith(_BEGIN):
        return None
    try:
        return _excerpt(data)
    except JsonError:
        return None


def _excerpt(data: bytes) -> Excerpt | None:
    planned, changes, last = data.find(b',"planned_values":{'), data.find(_CHANGES), data.rfind(b',"timestamp":"')
    if not 0 < planned < changes < last:
        return None
    head, tail = _members(data, 0, planned), _members(data, last, len(data.rstrip()) - 1)
    if not (head.keys() <= _FIRST and tail.keys() <= _LAST):
        return None
    end = last
    for name in (_PRIOR, _CONFIGURATION, _OUTPUTS):
        found = data.find(name, changes, end)
        end = found if found > 0 else end
    configuration = data.find(b',"configuration":{"provider_config":{', end)
    root_module = data.find(b',"root_module":{', configuration)
    if end == last or not 0 < configuration < root_module or data[end - 1 : end] != b"]":
        return None
    has_outputs = data.startswith(_OUTPUTS, end)
    for name, count in zip(_NAMES, (0, int(has_outputs), 1, 1), strict=True):  # names within the changes mean nothing
        if data.count(name, 0, changes) + data.count(name, end) != count:
            return None
    if any(data.find(letter, 0, changes) >= 0 or data.find(letter, end) >= 0 for letter in _ESCAPED):
        return None
    middle: dict[str, Any] = {}
    if has_outputs:
        middle = _members(data, end, min(at for at in (data.find(_PRIOR, end), configuration) if at > 0))
    providers = _members(data, configuration + len(_CONFIGURATION) - 1, root_module)
    if not _is_simple(providers.get("provider_config")):
        return None
    members = {**head, **middle, "configuration": providers, **tail}
    return Excerpt(data, members, changes + len(_CHANGES), end - 1, (configuration, last))


def _members(data: bytes, begin: int, end: int) -> dict[str, Any]:
    """The members in a part of an object's text, which begins with a comma or the brace. Raises JsonError."""
    text = data[begin + 1 : end]
    if b"\\ud" in text or b"\\uD" in text:  # half a character may stand there, which is no text
        raise JsonError("half a character", begin)
    members = loads(b"{" + text + b"}")
    return members if members.__class__ is dict else {}


def _is_simple(providers: Any) -> bool:
    """Whether every provider has its default configuration only: then nobody has to know which one a resource uses."""
    if providers.__class__ is not dict:
        return False
    return all(p.__class__ is dict and not p.keys() & {"alias", "module_address"} for p in providers.values())
