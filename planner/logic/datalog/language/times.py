"""Built-in functions for times (RFC 3339) and durations. They compute with exact seconds, times with the seconds since
1970-01-01T00:00:00Z. They return None for an invalid argument."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from planner.foundation.support.calendar import date_of, days_of, seconds_of
from planner.logic.datalog.language.values import Fraction, Number, Value, is_a_number, number

_DAY = 86_400
_FIRST, _END = days_of(0, 1, 1) * _DAY, days_of(10_000, 1, 1) * _DAY
TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,30})?(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_UNITS = {
    "w": "604800",
    "d": "86400",
    "h": "3600",
    "m": "60",
    "s": "1",
    "ms": "0.001",
    "us": "0.000001",
    "\u00b5s": "0.000001",
    "\u03bcs": "0.000001",
    "ns": "0.000000001",
}
_PART = r"[0-9]{1,30}(?:\.[0-9]{1,30})?"
_DURATION = re.compile(rf"([-+]?)((?:{_PART}(?:ns|us|\u00b5s|\u03bcs|ms|[wdhms]))+|0)", re.ASCII)
_PARTS = re.compile(rf"({_PART})([^0-9.]+)", re.ASCII)
_ISO = re.compile(rf"([-+]?)P((?:{_PART}W)?(?:{_PART}D)?)(?:T((?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?))?", re.ASCII)
DURATIONS = (_DURATION, _ISO)
_LONGEST = 300  # the maximum length of a time or duration, in characters


class RuleMoment(NamedTuple):
    """A point in time. `seconds`: the seconds since 1970 (UTC). `offset`: the offset from UTC that its text contains,
    in seconds."""

    seconds: Number
    offset: int

    @property
    def whole(self) -> int:
        """The local time, in whole seconds since 1970 (in the same time zone)."""
        seconds = self.seconds
        return (int(seconds.value.__floor__()) if isinstance(seconds, Fraction) else seconds) + self.offset


def moment(value: Value) -> RuleMoment | None:
    match = TIME.fullmatch(value) if type(value) is str and len(value) <= _LONGEST else None
    result = seconds_of(match) if match is not None else None
    if match is None or result is None:
        return None
    whole, offset = result
    seconds: Number = whole
    if match[7]:
        seconds = number(Decimal(f"0{match[7]}") + whole)
    return RuleMoment(seconds, offset)


def is_time(value: Value) -> bool:
    """Whether a value is a time such as 2026-01-31T12:00:00Z."""
    return moment(value) is not None


def time_seconds(text: Value) -> Number | None:
    """The seconds from 1970-01-01T00:00:00Z to a time."""
    result = moment(text)
    return None if result is None else result.seconds


def time_text(seconds: Value) -> str | None:
    """The text of the time in UTC; None outside the years 0 to 9999."""
    if not is_a_number(seconds) or seconds < _FIRST or not seconds < _END:
        return None
    whole, rest = _split(seconds)
    days, second = divmod(whole, _DAY)
    year, month, day = date_of(days)
    date = f"{year:04}-{month:02}-{day:02}"
    return f"{date}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{rest}Z"


def _split(seconds: Number) -> tuple[int, str]:
    """(whole seconds, text of the decimal point and of the digits after it)."""
    if not isinstance(seconds, Fraction):
        return seconds, ""
    whole = int(seconds.value.__floor__())
    rest = format((seconds.value - whole).normalize(), "f").removeprefix("0")
    return whole, rest


def time_year(text: Value) -> int | None:
    return _date(text, 0)


def time_month(text: Value) -> int | None:
    return _date(text, 1)


def time_day(text: Value) -> int | None:
    """The day of the month in the time's own time zone."""
    return _date(text, 2)


def _date(text: Value, place: int) -> int | None:
    result = moment(text)
    return None if result is None else date_of(result.whole // _DAY)[place]


def time_weekday(text: Value) -> int | None:
    """The day of the week, 1 (Monday) to 7 (Sunday), in the time's own time zone."""
    result = moment(text)
    return None if result is None else (result.whole // _DAY + 3) % 7 + 1


def time_hour(text: Value) -> int | None:
    result = moment(text)
    return None if result is None else result.whole % _DAY // 3600


def time_minute(text: Value) -> int | None:
    result = moment(text)
    return None if result is None else result.whole % 3600 // 60


def is_duration(value: Value) -> bool:
    """Whether a value is a duration such as 72h30m, 30d or P30D."""
    return duration_seconds(value) is not None


def duration_seconds(text: Value) -> Number | None:
    """The seconds of a duration such as 72h30m or 30d, or of an ISO 8601 duration without years and months, such as
    P30D or PT5M."""
    if type(text) is not str or len(text) > _LONGEST:
        return None
    match = _DURATION.fullmatch(text)
    if match is not None:
        total = sum((Decimal(amount) * Decimal(_UNITS[unit]) for amount, unit in _PARTS.findall(match[2])), Decimal())
        return number(-total if match[1] == "-" else total)
    iso = _ISO.fullmatch(text)
    if iso is None or not (iso[2] or iso[3]) or iso[3] == "":
        return None
    parts = _PARTS.findall(iso[2].lower() + (iso[3] or "").lower())
    total = sum((Decimal(amount) * Decimal(_UNITS[unit]) for amount, unit in parts), Decimal())
    return number(-total if iso[1] == "-" else total)


def duration_text(seconds: Value) -> str | None:
    """The text of a duration in hours, minutes and seconds, such as 72h30m."""
    if not is_a_number(seconds) or not -(10**15) < seconds < 10**15:
        return None
    sign, size = ("-", seconds * -1) if seconds < 0 else ("", seconds)
    whole, rest = _split(size)
    parts = [(whole // 3600, "", "h"), (whole // 60 % 60, "", "m"), (whole % 60, rest, "s")]
    written = "".join(f"{amount}{behind}{unit}" for amount, behind, unit in parts if amount or behind)
    return f"{sign}{written}" if written else "0s"
