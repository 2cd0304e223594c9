"""Suggestions in messages: the name closest to a misspelt one, and commands with quoted arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from planner.foundation.vocabulary.address import AddressError, ModuleAddress, parse_address, quote


def distance(a: str, b: str) -> int:
    """The Levenshtein distance of two strings: how many letters must be inserted, removed or replaced."""
    begin, most = 0, min(len(a), len(b))
    while begin < most and a[begin] == b[begin]:
        begin += 1
    end, most = 0, most - begin
    while end < most and a[-1 - end] == b[-1 - end]:
        end += 1
    a, b = a[begin : len(a) - end], b[begin : len(b) - end]  # a common prefix or suffix does not change the distance
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def nearest(name: str, candidates: Iterable[str], limit: int = 2) -> str | None:
    """The candidate with the fewest edits from a name; of several, the first. There must be at most `limit` edits. In
    addition, at least half of the letters must be equal, or the names must have the same letters in a different order.
    None if no candidate is close enough."""
    best, least = None, limit + 1
    for candidate in candidates:
        if abs(len(candidate) - len(name)) < least:
            edits = distance(name, candidate)
            is_alike = 2 * edits <= max(len(name), len(candidate)) or sorted(name) == sorted(candidate)
            if edits < least and is_alike:
                best, least = candidate, edits
    return best


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """` Did you mean "x"?` for the nearest candidate, or for a path that ends with the name; otherwise ""."""
    known = list(candidates)
    similar = nearest(name, known) or next((one for one in known if one.endswith(f"/{name}")), None)
    return f' Did you mean "{similar}"?' if similar else ""


_FEW = 6  # the maximum number of names that are listed


def instead(text: str, known: Collection[str]) -> str:
    """A suggestion for an unknown address, to be appended to a sentence: a similar address, otherwise objects of this
    name in other modules, otherwise the known modules (for a module) or the objects of the same type. "" if there are
    none of these."""
    names = sorted(known)
    alike = did_you_mean(text, names)
    if alike:
        return alike
    try:
        address = parse_address(text)
    except AddressError:
        whole, _, key = text.rpartition(".")
        same = next((name for name in names if name == f"{whole}[{quote(key)}]" or name.endswith(f".{text}")), "")
        return f' Did you mean "{same}"?' if same else ""
    inner = [name for name in names if name.endswith(f".{text}")]
    if len(inner) > 1:
        return _listed_names("Objects of this name in modules are", inner)
    if isinstance(address, ModuleAddress):
        return _listed_names("The modules are", [name for name in names if _is_module(name)])
    tail = address.config.relative
    same = next((name for name in names if name == tail or name.endswith(f".{tail}")), "")
    if same:
        return f' Did you mean "{same}"?'
    first, _, rest = text.partition(".")
    if first != "module" and nearest(first, ("module",)):
        return instead(f"module.{rest}", known)
    kind = tail.rpartition(".")[0]
    listed = [name for name in names if " " not in name and _in_its_module(name).startswith(f"{kind}.")]
    return _listed_names(f"The objects of type {kind} are", listed)


def _in_its_module(text: str) -> str:
    try:
        address = parse_address(text)
    except AddressError:
        return text
    return str(address) if isinstance(address, ModuleAddress) else address.relative


def _is_module(text: str) -> bool:
    try:
        return isinstance(parse_address(text), ModuleAddress)
    except AddressError:
        return False


def _listed_names(lead: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f" {lead} {', '.join(names[:_FEW])}{more}."


# Arguments of suggested commands, quoted for a POSIX shell.


def word(text: str) -> str:
    import shlex

    return shlex.quote(text)


def option(name: str, value: str) -> str:
    """`-name=value`, quoted if necessary: -exclude='terraform_data.a[0]'."""
    return f"-{name}={word(value)}"


def file(path: str) -> str:
    """A path in double quotes; in single quotes if the shell would expand a character in double quotes."""
    return word(path) if set(path) & set('"$`\\!\n') else f'"{path}"'


def enumerate_words(words: Sequence[str]) -> str:
    """The words as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
