"""The Gregorian calendar for all years; Python's datetime is limited to the years 1 to 9999."""

from __future__ import annotations

import re

_DAY = 86_400


def days_of(year: int, month: int, day: int) -> int:
    """The number of days from 1970-01-01 to a date, negative for earlier dates (Hinnant, chrono-compatible low-level
    date algorithms)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def date_of(days: int) -> tuple[int, int, int]:
    """The inverse of `days_of`: year, month, day."""
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def month_days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def seconds_of(match: re.Match[str], most_hours: int = 23, most_minutes: int = 59) -> tuple[int, int] | None:
    """An RFC 3339 timestamp in seconds since 1970 (without the fraction), and its offset from UTC in seconds. None if
    the date, time or offset does not exist. Groups of the match: year to second, fraction, and sign, hours and minutes
    of the offset."""
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= month_days(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    hours, minutes = int(match[9] or 0), int(match[10] or 0)
    if hours > most_hours or minutes > most_minutes:
        return None
    offset = (hours * 60 + minutes) * (-60 if match[8] == "-" else 60)
    return days_of(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset, offset
