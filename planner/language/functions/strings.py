"""Functions for strings. Lengths are counted in grapheme clusters."""

from __future__ import annotations

from planner.foundation.values.numbers import LONGEST
from planner.foundation.values.types import BOOL, NUMBER, STRING, ListType
from planner.foundation.values.value import List, Null, Unknown, Value, is_wholly_known
from planner.foundation.vocabulary.span import graphemes
from planner.language.functions.protocol import Function, FunctionError, Param, function, small_int, text, unknown

FUNCTIONS: list[Function] = []

# White space in the Unicode character database; Python's definition has four more control characters.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def chomp(string: str) -> Value:
    """Removes the line breaks at the end of a string."""
    return string.rstrip("\r\n")


@function(
    Param("str", STRING, "The string to test."),
    Param("suffix", STRING, "The suffix to look for."),
    result=BOOL,
    into=FUNCTIONS,
)
def endswith(string: str, suffix: str) -> Value:
    """Returns whether a string ends with a suffix."""
    return string.endswith(suffix)


@function(
    Param("spaces", NUMBER, "The number of spaces to add."),
    Param("str", STRING, "The string to indent."),
    result=STRING,
    into=FUNCTIONS,
)
def indent(spaces: Value, string: str) -> Value:
    """Adds spaces at the beginning of all lines of a string but the first."""
    width = small_int(spaces)
    if width < 0:
        raise FunctionError("The number of spaces must not be negative.")
    if width > LONGEST:
        raise FunctionError("The result would be too large.")
    return text(string.replace("\n", "\n" + " " * width))


@function(
    Param("separator", STRING, "The string between two elements."),
    variadic=Param("lists", ListType(STRING), "The lists of strings to join."),
    result=STRING,
    into=FUNCTIONS,
)
def join(separator: str, *lists: List) -> Value:
    """Joins the elements of lists of strings into one string, with a separator between them."""
    if not lists:
        raise FunctionError("There must be at least one list.")
    if not all(is_wholly_known(each) for each in lists):
        return unknown(STRING)
    parts: list[str] = []
    for index, each in enumerate(lists):
        for position, element in enumerate(each.items):
            if element.__class__ is Null:
                raise FunctionError(f"The element with index {position} is null, which cannot be joined.", index + 1)
            parts.append(element)
    return text(separator.join(parts))


@function(Param("str", STRING, allow_dynamic=True), result=STRING, into=FUNCTIONS)
def lower(string: str) -> Value:
    """Converts all letters of a string to lower case."""
    if string.isascii():
        return string.lower()
    return text("".join(map(_lower, string)))


def _lower(character: str) -> str:
    small = character.lower()
    return small if len(small) == 1 else small[0]  # only U+0130 is longer in lower case


@function(
    Param("separator", STRING, "The separator, which is removed."),
    Param("str", STRING, "The string to split."),
    result=ListType(STRING),
    into=FUNCTIONS,
)
def split(separator: str, string: str) -> Value:
    """Splits a string at each separator. Returns a list of the parts."""
    parts = string.split(separator) if separator else list(string)
    return List(STRING, tuple(map(text, parts)))


@function(
    Param("str", STRING, "The string to test.", allow_unknown=True),
    Param("prefix", STRING, "The prefix to look for."),
    result=BOOL,
    into=FUNCTIONS,
)
def startswith(string: Value, prefix: str) -> Value:
    """Returns whether a string begins with a prefix."""
    if string.__class__ is Unknown:
        known = string.refinement.prefix if string.refinement is not None else ""
        if not prefix or (known and known.startswith(prefix)):
            return True
        if known and len(known.encode("utf-8", "surrogateescape")) >= len(prefix.encode("utf-8", "surrogateescape")):
            return False
        return unknown(BOOL)
    return string.startswith(prefix)


@function(
    Param("str", STRING, "The string to test."),
    Param("substr", STRING, "The substring to look for."),
    result=BOOL,
    not_null=False,
    into=FUNCTIONS,
)
def strcontains(string: str, substring: str) -> Value:
    """Returns whether a string contains a substring."""
    return substring in string


@function(Param("str", STRING, allow_dynamic=True), result=STRING, into=FUNCTIONS)
def strrev(string: str) -> Value:
    """Reverses the characters of a string."""
    return text("".join(reversed(graphemes(string))))


@function(
    Param("str", STRING, "The string that contains the substring.", allow_dynamic=True),
    Param("offset", NUMBER, "Index of the first character; a negative one counts from the end.", allow_dynamic=True),
    Param(
        "length",
        NUMBER,
        "The maximum number of characters; a negative number, or 0 after a negative offset, means all that remain.",
        allow_dynamic=True,
    ),
    result=STRING,
    into=FUNCTIONS,
)
def substr(string: str, offset: Value, length: Value) -> Value:
    """Returns a part of a string, by offset and length in characters."""
    start, count = small_int(offset), small_int(length)
    if start >= 0 and count == 0:
        return ""
    characters = graphemes(string)
    if start < 0:
        start = max(0, start + len(characters))
    # after a negative offset, a length of 0 means the rest of the string, like a negative length
    return text("".join(characters[start : start + count] if count > 0 else characters[start:]))


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def title(string: str) -> Value:
    """Converts the first letter of each word of a string to upper case."""
    out: list[str] = []
    previous = " "
    for character in string:
        capital = character.title() if _separates(previous) else character
        out.append(capital if len(capital) == 1 else character)
        previous = character
    return text("".join(out))


def _separates(character: str) -> bool:
    if character.isascii():
        return not (character.isalnum() or character == "_")
    return character in WHITE_SPACE


@function(
    Param("str", STRING, "The string to trim."),
    Param("cutset", STRING, "The characters to remove."),
    result=STRING,
    into=FUNCTIONS,
)
def trim(string: str, cutset: str) -> Value:
    """Removes all characters that occur in the second argument from both ends of a string."""
    return text(string.strip(cutset))


@function(
    Param("str", STRING, "The string to trim."),
    Param("prefix", STRING, "The prefix to remove."),
    result=STRING,
    into=FUNCTIONS,
)
def trimprefix(string: str, prefix: str) -> Value:
    """Removes a prefix from a string, if the string begins with it."""
    return text(string.removeprefix(prefix))


@function(Param("str", STRING), result=STRING, into=FUNCTIONS)
def trimspace(string: str) -> Value:
    """Removes white space from both ends of a string."""
    return text(string.strip(WHITE_SPACE))


@function(
    Param("str", STRING, "The string to trim."),
    Param("suffix", STRING, "The suffix to remove."),
    result=STRING,
    into=FUNCTIONS,
)
def trimsuffix(string: str, suffix: str) -> Value:
    """Removes a suffix from a string, if the string ends with it."""
    return string.removesuffix(suffix)


@function(Param("str", STRING, allow_dynamic=True), result=STRING, into=FUNCTIONS)
def upper(string: str) -> Value:
    """Converts all letters of a string to upper case."""
    if string.isascii():
        return string.upper()
    return text("".join(map(_upper, string)))


def _upper(character: str) -> str:
    # only mappings to one character are used; for Greek letters with a subscript, these are the title case mappings
    capital = character.upper()
    if len(capital) > 1:
        capital = character.title()
    return capital if len(capital) == 1 else character
