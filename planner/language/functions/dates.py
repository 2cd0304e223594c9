"""Functions for dates and times: RFC 3339 timestamps and durations, also for years beyond the range of Python's
datetime."""

from __future__ import annotations

import re
import time

from planner.foundation.support.calendar import date_of, seconds_of
from planner.foundation.support.disk import note_time
from planner.foundation.values.types import NUMBER, STRING
from planner.foundation.values.value import Value
from planner.language.functions.protocol import CallContext, Function, FunctionError, Param, function, text, unknown

FUNCTIONS: list[Function] = []

MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_SECOND = 1_000_000_000
_DAY = 86_400
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_STRICT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_LENIENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)


class Moment:
    """A timestamp: nanoseconds since 1970 (UTC), and the offset from UTC, in seconds, with which it is written."""

    __slots__ = ("nanoseconds", "offset")

    def __init__(self, nanoseconds: int, offset: int) -> None:
        self.nanoseconds = nanoseconds
        self.offset = offset

    @property
    def fields(self) -> tuple[int, int, int, int, int, int, int]:
        """Year, month, day, hour, minute, second and weekday (0 is Sunday), at the offset of the timestamp."""
        days, second = divmod(self.nanoseconds // _SECOND + self.offset, _DAY)
        year, month, day = date_of(days)
        return year, month, day, second // 3600, second // 60 % 60, second % 60, (days + 4) % 7

    def zone(self, colon: str = ":") -> str:
        """The offset as +hh:mm."""
        minutes = abs(self.offset) // 60
        return f"{'-' if self.offset < 0 else '+'}{minutes // 60:02}{colon}{minutes % 60:02}"

    def __str__(self) -> str:
        year, month, day, hour, minute, second, _ = self.fields
        written = f"{year:04}" if year >= 0 else f"-{-year:04}"
        zone = self.zone() if self.offset else "Z"
        return f"{written}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"


def parse_timestamp(written: str, argument: int | None = None, strict: bool = True) -> Moment:
    """Parse an RFC 3339 timestamp. If not `strict`, also accepts an hour of one digit, a decimal comma, and offsets up
    to 24:60. Raises FunctionError."""
    match = (_STRICT if strict else _LENIENT).fullmatch(written)
    result = seconds_of(match, *((23, 59) if strict else (24, 60))) if match else None
    if match and result:
        return Moment(result[0] * _SECOND + int(f"{match[7] or '0':0<9}"[:9]), result[1])
    raise FunctionError(f'"{written}" is not a timestamp in RFC 3339 format, like 2006-01-02T15:04:05Z.', argument)


def parse_duration(written: str) -> int:
    """Parse a duration such as 1h30m or -1.5s. Returns nanoseconds. Raises FunctionError if it is invalid or does not
    fit into 64 bits."""
    wrong = FunctionError(f'"{written}" is not a duration, like 90s or 1h30m.')
    negative = written.startswith("-")
    rest = written[1:] if written[:1] in ("-", "+") else written
    if rest == "0":
        return 0
    if not rest:
        raise wrong
    total = 0
    while rest:
        match = re.match(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", rest, re.ASCII)
        assert match is not None
        whole, fraction, unit = match.groups()
        if not (whole or fraction) or unit not in _UNITS:
            raise wrong
        whole = whole.lstrip("0")
        if len(whole) > 19:
            raise wrong
        value = int(whole or 0) * _UNITS[unit]
        if fraction:
            value += _fraction(fraction, _UNITS[unit])
        total += value
        if int(whole or 0) > 2**63 or total > 2**63:
            raise wrong
        rest = rest[match.end() :]
    if total > 2**63 - 1 and not negative:
        raise wrong
    return -total if negative else total


def _fraction(digits: str, unit: int) -> int:
    """A decimal fraction of a unit of time, truncated to nanoseconds. As in Go, the digits after those that fit into 63
    bits are ignored."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > (2**63 - 1) // 10 or value * 10 + int(digit) > 2**63:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (float(unit) / scale))


@function(
    Param(
        "format",
        STRING,
        "The format: letters like YYYY, MM, DD, hh, mm, ss, Z; other text is written between apostrophes.",
    ),
    Param("time", STRING, "The timestamp, in RFC 3339 format."),
    result=STRING,
    into=FUNCTIONS,
)
def formatdate(form: str, timestamp: str) -> Value:
    """Formats a timestamp according to a format such as "DD MMM YYYY hh:mm"."""
    moment = parse_timestamp(timestamp, 1)
    out: list[str] = []
    position = 0
    while position < len(form):
        character = form[position]
        end = position + 1
        if character == "'":
            end = _quote_end(form, position)
            quoted = form[position:end]
            if quoted == "'" or quoted[-1] != "'":
                raise FunctionError("A literal text begins with an apostrophe but has no closing apostrophe.", 0)
            out.append("'" if quoted == "''" else quoted[1:-1].replace("''", "'"))
        elif character.isascii() and character.isalpha():
            while end < len(form) and form[end] == character:
                end += 1
            out.append(_date_part(form[position:end], moment))
        else:
            out.append(character)
        position = end
    return text("".join(out))


def _quote_end(form: str, start: int) -> int:
    """The index after the literal text whose first apostrophe is at `start`; the end of `form` if the text is not
    closed. Two apostrophes in succession denote one, both inside and outside of literal text."""
    if form.startswith("''", start):
        return start + 2
    position = start + 1
    while position < len(form):
        if form[position] == "'":
            if not form.startswith("''", position):
                return position + 1
            position += 1
        position += 1
    return len(form)


def _date_part(verb: str, moment: Moment) -> str:
    year, month, day, hour, minute, second, weekday = moment.fields
    numbers = {"M": month, "D": day, "h": hour, "H": hour % 12 or 12, "m": minute, "s": second}
    letter, length = verb[0], len(verb)
    if letter in numbers and length <= 2:
        return f"{numbers[letter]:0{length}}"
    if letter == "Y" and length in (2, 4):
        return f"{year if length == 4 else year % 100:0{length}}"
    half_day = "AM" if hour < 12 else "PM"
    zone = moment.zone("")
    named = {
        "MMM": MONTHS[month - 1][:3],
        "MMMM": MONTHS[month - 1],
        "EEE": WEEKDAYS[weekday][:3],
        "EEEE": WEEKDAYS[weekday],
        "AA": half_day,
        "aa": half_day.lower(),
        "Z": moment.zone() if moment.offset else "Z",
        "ZZZ": "UTC" if zone == "+0000" else zone,
        "ZZZZ": zone,
        "ZZZZZ": moment.zone(),
    }
    if verb not in named:
        raise FunctionError(f'"{verb}" is not a date format sequence; put literal text between apostrophes.', 0)
    return named[verb]


@function(result=STRING, not_null=False, into=FUNCTIONS)
def plantimestamp(*, context: CallContext) -> Value:
    """Returns the time at which the plan is made, in UTC. The apply of the plan uses the same time."""
    note_time()
    return unknown(STRING) if context.plan_timestamp is None else context.plan_timestamp


@function(
    Param("timestamp", STRING, "The timestamp, in RFC 3339 format."),
    Param("duration", STRING, "The duration, like 1h30m or -10s."),
    result=STRING,
    not_null=False,
    into=FUNCTIONS,
)
def timeadd(timestamp: str, duration: str) -> Value:
    """Adds a duration to a timestamp."""
    moment = parse_timestamp(timestamp)
    return str(Moment(moment.nanoseconds + parse_duration(duration), moment.offset))


@function(
    Param("timestamp_a", STRING, "A timestamp, in RFC 3339 format."),
    Param("timestamp_b", STRING, "Another one."),
    result=NUMBER,
    into=FUNCTIONS,
)
def timecmp(first: str, second: str) -> Value:
    """Compares two timestamps: -1 if the first is earlier, 1 if it is later, 0 if they are the same moment."""
    a = parse_timestamp(first, 0, strict=False).nanoseconds
    b = parse_timestamp(second, 1, strict=False).nanoseconds
    return (a > b) - (a < b)


@function(result=STRING, impure=True, into=FUNCTIONS)
def timestamp() -> Value:
    """Returns the time of the call, in UTC."""
    return str(Moment(time.time_ns(), 0))
