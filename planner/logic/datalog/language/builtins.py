"""The table of the built-in tests, functions and relations of values: their parameters, results, documentation, and
treatment of invalid values. The output of `planner rules doc NAME` and rules/README.md are generated from this table.

The type of a parameter is `symbol`, `number`, `any`, or a kind of strings (`cidr`, `json`, ...), for which there is a
test (KINDS). A function that has no result for its arguments, and a relation with invalid arguments, return None. In
policies, None makes the verdict `broken` (planner.answers.policy.undefined_values), unless the function searches for
something."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

KINDS = {
    "cidr": "is_cidr",
    "constraint": "is_constraint",
    "duration": "is_duration",
    "json": "is_json",
    "pattern": "is_pattern",
    "time": "is_time",
    "version": "is_version",
    "yaml": "is_yaml",
    "base64": "is_base64",
    "gzip": "is_gzip",
}
"""{kind of strings: test for it}"""


class BuiltinPredicate(NamedTuple):
    """A built-in test, function or relation. `inputs`, `outputs`: (name, type or kind) of each; only relations have
    outputs. `result`: the type of the result of a function; None for tests and relations. `may_fail`: whether it may
    have no value although the arguments have the right types. `seeks`: whether the function searches for something that
    may not exist, so that a missing value is not an error. `function`: the attribute `attribute` of the module `module`
    in this package."""

    name: str
    family: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    result: str | None
    meaning: str
    example: str
    module: str
    attribute: str
    may_fail: bool
    seeks: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple("symbol" if kind in KINDS else kind for _, kind in self.inputs)

    @property
    def function(self) -> Callable[..., Any]:
        return resolved(self.module, self.attribute)

    @property
    def declaration(self) -> str:
        """The declaration as text, such as `cidr_prefix(range: cidr) = number` or `json(text: json, path: symbol,
        value: any)`."""
        given = ", ".join(f"{name}: {kind}" for name, kind in (*self.inputs, *self.outputs))
        return f"{self.name}({given})" + (f" = {self.result}" if self.result else "")

    @property
    def failing(self) -> str:
        """Sentences about invalid values; "" if all values are valid."""
        kinds = [f"{KINDS[kind]}({name})" for name, kind in self.inputs if kind in KINDS]
        if self.seeks:
            return "Without a match, the literal is false."
        if not self.may_fail and not kinds:
            return ""
        test = f" To avoid that, test {' and '.join(kinds)} first." if kinds else ""
        return f"In a policy, an invalid value makes the verdict broken.{test}"


@cache
def resolved(module: str, attribute: str) -> Callable[..., Any]:
    return getattr(import_module(f"planner.logic.datalog.language.{module}"), attribute)  # type: ignore[no-any-return]


FUNCTION_MODULE = "functions"  # the module whose functions are always loaded
TESTS: dict[str, BuiltinPredicate] = {}
FUNCTIONS: dict[str, BuiltinPredicate] = {}
RELATIONS: dict[str, BuiltinPredicate] = {}
_SHAPE = re.compile(r"(\S+?)\((.*?)\)(?: -> \((.*?)\)| = (\w+))?(?: \[(.*)\])?")
_COLUMN = re.compile(r"(\w+): (\w+)")


def _enter(family: str, module: str, lines: str) -> None:
    """Add the built-in predicates of a family to the tables. Each is described by `name(inputs) -> (outputs) [attribute
    and flags]` or `name(inputs) = result [...]`, then by lines with the meaning, and by a line with an example."""
    for entry in re.split(r"\n(?=\S)", lines.strip("\n")):
        shape, *more = entry.split("\n")
        match = _SHAPE.fullmatch(shape)
        assert match is not None, shape
        name, given, rows, result, flags = match.groups()
        words = (flags or "").split()
        example = more.pop().strip().removeprefix("> ")
        meaning = " ".join(line.strip() for line in more)
        attribute = next((w for w in words if w not in ("fails", "seeks")), name)
        inputs, outputs = tuple(_COLUMN.findall(given)), tuple(_COLUMN.findall(rows or ""))
        fails, seeks = "fails" in words, "seeks" in words
        made = BuiltinPredicate(
            name, family, inputs, outputs, result, meaning, example, module, attribute, fails, seeks
        )
        (RELATIONS if rows else FUNCTIONS if result else TESTS)[name] = made


_enter(
    "texts",
    FUNCTION_MODULE,
    r"""
starts_with(text: symbol, prefix: symbol)
    the string begins with the prefix
    > starts_with("aws_vpc", "aws_")
ends_with(text: symbol, suffix: symbol)
    the string ends with the suffix
    > ends_with("a.json", ".json")
contains(text: symbol, part: symbol)
    the string contains the part
    > contains("a-b", "-")
matches(text: symbol, pattern: pattern)
    the regular expression (RE2) matches somewhere in the string: anchor it with ^ and $
    > matches("web-1", "^web-[0-9]+$")
is_symbol(value: any)
    the value is a string
    > is_symbol("a")
++(a: any, b: any) = symbol [join]
    the two values as strings, joined; an operator
    > T = "port " ++ 22
length(text: symbol) = number
    the number of characters of the string
    > N = length("abc")
lower(text: symbol) = symbol
    the string in lower case
    > T = lower("Web")
upper(text: symbol) = symbol
    the string in upper case
    > T = upper("Web")
trim(text: symbol) = symbol
    the string without surrounding white space
    > T = trim(" a ")
before(text: symbol, separator: symbol) = symbol [seeks]
    the part before the first separator
    > T = before("a.b.c", ".")
after(text: symbol, separator: symbol) = symbol [seeks]
    the part after the first separator
    > T = after("a.b.c", ".")
before_last(text: symbol, separator: symbol) = symbol [seeks]
    the part before the last separator
    > T = before_last("a.b.c", ".")
after_last(text: symbol, separator: symbol) = symbol [seeks]
    the part after the last separator
    > T = after_last("a.b.c", ".")
trim_prefix(text: symbol, prefix: symbol) = symbol
    the string without the prefix, if it has it
    > T = trim_prefix("v1", "v")
trim_suffix(text: symbol, suffix: symbol) = symbol
    the string without the suffix, if it has it
    > T = trim_suffix("a.json", ".json")
replace(text: symbol, old: symbol, new: symbol) = symbol [seeks]
    the string with each occurrence replaced
    > T = replace("a.b", ".", "/")
substring(text: symbol, start: number, count: number) = symbol [seeks]
    at most `count` characters from the 0-based start
    > T = substring("abc", 0, 2)
to_symbol(value: any) = symbol
    the value as a string
    > T = to_symbol(22)
""",
)
_enter(
    "texts",
    "texts",
    r"""
is_pattern(value: any)
    the string is a regular expression (RE2)
    > is_pattern("^a+$")
split(text: symbol, separator: symbol) -> (index: number, part: symbol) [fails]
    the parts between separators, by index from 0
    > split("a,b", ",", I, P)
captures(text: symbol, pattern: pattern) -> (group: any, part: symbol) [fails]
    the groups of the first match, by number (0 is the whole match) and by name
    > captures("eu-west-1", "^(?P<area>[a-z]+)-", "area", P)
find_all(text: symbol, pattern: pattern) -> (index: number, part: symbol) [fails]
    the matches of the pattern, by index from 0
    > find_all("a1b22", "[0-9]+", I, P)
""",
)
_enter(
    "texts",
    "texts",
    r"""
is_base64(value: any)
    the string is the base64 encoding of UTF-8
    > is_base64("YQ==")
base64_decode(text: base64) = symbol [fails]
    the decoded string
    > T = base64_decode("YQ==")
is_gzip(value: any)
    the string is the base64 encoding of gzip-compressed UTF-8
    > is_gzip("H4sIAAAAAAAAA0sEAEO+t+gBAAAA")
base64_gunzip(text: gzip) = symbol [fails]
    the decoded string: gzip, then base64
    > T = base64_gunzip("H4sIAAAAAAAAA0sEAEO+t+gBAAAA")
base64_encode(text: symbol) = symbol [fails]
    the base64 encoding of the string in UTF-8
    > T = base64_encode("a")
""",
)
_enter(
    "numbers",
    FUNCTION_MODULE,
    r"""
is_number(value: any)
    the value is a number
    > is_number(1.5)
+(a: number, b: number) = number [add]
    the exact sum; an operator
    > N = A + 1
-(a: number, b: number) = number [subtract]
    the difference
    > N = A - 1
*(a: number, b: number) = number [multiply]
    the product
    > N = A * 2
/(a: number, b: number) = number [divide fails]
    the quotient; for whole numbers, the whole quotient, rounded towards 0
    > N = A / 2
%(a: number, b: number) = number [remainder fails]
    the remainder of the whole quotient
    > N = A % 2
to_number(text: any) = number [fails]
    the number that a string contains; a number stays as it is
    > N = to_number("12.5")
""",
)
_enter(
    "numbers",
    "numbers",
    r"""
ratio(a: number, b: number) = number [fails]
    the quotient with its fraction, also for whole numbers
    > N = ratio(1, 4)
abs(number: number) = number [absolute]
    the absolute value
    > N = abs(-1)
floor(number: number) = number [fails]
    the largest whole number that is at most the argument
    > N = floor(1.5)
ceil(number: number) = number [fails]
    the smallest whole number that is at least the argument
    > N = ceil(1.5)
round(number: number, digits: number) = number [rounded fails]
    the nearest number with `digits` digits after the point; halves are rounded away from 0
    > N = round(1.25, 1)
format_number(number: number, digits: number) = symbol [fails]
    the number as a string, with `digits` digits after the point
    > T = format_number(12.5, 2)
""",
)
_enter(
    "numbers",
    "texts",
    r"""
range(first: number, last: number) -> (number: number) [range_ fails]
    the whole numbers from the first to the last
    > range(1, 3, N)
""",
)
_enter(
    "ranges of IP addresses",
    FUNCTION_MODULE,
    r"""
is_cidr(value: any)
    the string is a range of IP addresses, or one address
    > is_cidr("10.0.0.0/8")
cidr_contains(outer: cidr, inner: cidr)
    every address of the second range is in the first
    > cidr_contains("10.0.0.0/8", "10.1.0.0/16")
cidr_overlaps(a: cidr, b: cidr)
    the ranges have an address in common
    > cidr_overlaps("10.0.0.0/8", "10.1.0.0/16")
cidr_prefix(range: cidr) = number [fails]
    the length of the prefix
    > N = cidr_prefix("10.0.0.0/8")
cidr_addresses(range: cidr) = number [fails]
    the number of addresses of the range
    > N = cidr_addresses("10.0.0.0/8")
cidr_version(range: cidr) = number [fails]
    4 or 6
    > N = cidr_version("::/0")
cidr_network(range: cidr) = symbol [fails]
    the range in its canonical form
    > T = cidr_network("10.1.2.3/8")
""",
)
_enter(
    "versions",
    "versions",
    r"""
is_version(value: any)
    the string is a version
    > is_version("1.2.0-rc1")
is_constraint(value: any)
    the string is a version constraint
    > is_constraint("~> 5.0")
version_matches(version: version, constraint: constraint)
    the version satisfies the constraint, as in required_version
    > version_matches("5.4.0", "~> 5.0")
version_compare(a: version, b: version) = number [fails]
    -1, 0 or 1: the first is older, the same or newer
    > N = version_compare("1.2.0", "1.10.0")
version_major(version: version) = number [fails]
    the first number of the version
    > N = version_major("5.4.1")
version_minor(version: version) = number [fails]
    the second number of the version
    > N = version_minor("5.4.1")
version_patch(version: version) = number [fails]
    the third number of the version
    > N = version_patch("5.4.1")
version_prerelease(version: version) = symbol [fails]
    the part after the hyphen; "" for a release
    > T = version_prerelease("2.0.0-rc1")
""",
)
_enter(
    "times and durations",
    "times",
    r"""
is_time(value: any)
    the string is a time in RFC 3339
    > is_time("2026-01-31T12:00:00Z")
is_duration(value: any)
    the string is a duration such as 72h30m, 30d or P30D
    > is_duration("72h30m")
time_seconds(time: time) = number [fails]
    seconds since 1970-01-01T00:00:00Z, exactly
    > N = time_seconds("2026-01-31T12:00:00Z")
time_text(seconds: number) = symbol [fails]
    the time in UTC, from seconds since 1970
    > T = time_text(0)
time_year(time: time) = number [fails]
    the year, in the time zone of the string (like the other functions)
    > N = time_year("2026-01-31T12:00:00Z")
time_month(time: time) = number [fails]
    the month, from 1
    > N = time_month("2026-01-31T12:00:00Z")
time_day(time: time) = number [fails]
    the day of the month
    > N = time_day("2026-01-31T12:00:00Z")
time_weekday(time: time) = number [fails]
    1 for Monday to 7 for Sunday
    > N = time_weekday("2026-01-31T12:00:00Z")
time_hour(time: time) = number [fails]
    the hour, from 0
    > N = time_hour("2026-01-31T12:00:00+02:00")
time_minute(time: time) = number [fails]
    the minute, from 0
    > N = time_minute("2026-01-31T12:00:00Z")
duration_seconds(duration: duration) = number [fails]
    the seconds of the duration; units are w d h m s ms us ns, or ISO 8601 without years and months
    > N = duration_seconds("72h30m")
duration_text(seconds: number) = symbol [fails]
    the seconds as a string of hours, minutes and seconds
    > T = duration_text(261000)
""",
)
_enter(
    "JSON and YAML",
    "documents",
    r"""
is_json(value: any)
    the string is JSON
    > is_json("{}")
is_yaml(value: any)
    the string is one YAML document
    > is_yaml("a: 1")
json(text: json) -> (path: symbol, value: any) [json_rows fails]
    the document has this string, number or bool at the path; null has no row
    > json("{\"a\": [1]}", "a[0]", V)
json_element(text: json) -> (path: symbol, key: any, inner: symbol) [json_elements fails]
    the object or array at the path ("" for the whole) has an element with this name or index, whose path is
    inner
    > json_element("[5]", "", I, P)
yaml(text: yaml) -> (path: symbol, value: any) [yaml_rows fails]
    like json, for YAML
    > yaml("a: [1]", "a[0]", V)
yaml_element(text: yaml) -> (path: symbol, key: any, inner: symbol) [yaml_elements fails]
    like json_element, for YAML
    > yaml_element("a: [1]", "a", I, P)
""",
)
_enter(
    "values",
    FUNCTION_MODULE,
    r"""
undefined(value: any)
    the computation has no value
    > undefined(to_number("a"))
incomparable(a: any, b: any)
    neither value is greater than the other
    > incomparable("a", 1)
""",
)
_enter(
    "values",
    "texts",
    r"""
in(values: any) -> (value: any) [member]
    a value of the list; also not in
    > X in ["a", "b"]
""",
)
