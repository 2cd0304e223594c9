"""The log requested by TF_LOG and similar variables: lines with time, level and fields, or JSON, on standard error or
in the file TF_LOG_PATH."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TextIO

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF")
_PREFIX = re.compile(r"(?:\S+ )?\[(TRACE|DEBUG|INFO|WARN|ERROR)\]\s*")


class Log:
    """Writes the lines of the log. `levels`: the lowest level that is written, by subsystem. Write errors are ignored,
    because they must not stop the operation."""

    def __init__(self, levels: Mapping[str, int], is_json: bool, stream: TextIO) -> None:
        self.levels, self.is_json, self.stream = levels, is_json, stream
        self._lock = Lock()

    def write(self, subsystem: str, level: str, message: str, fields: Mapping[str, Any] | None = None) -> None:
        number = LEVELS.index(level)
        if number < self.levels[subsystem]:
            return
        moment = datetime.now(UTC)
        name = "" if subsystem == "core" else subsystem
        if self.is_json:
            entry = {"@level": level.lower(), "@message": message, "@timestamp": moment.isoformat()}
            entry |= ({"@module": name} if name else {}) | {k: _plain(v) for k, v in (fields or {}).items()}
            line = json.dumps(entry, ensure_ascii=False)
        else:
            stamp = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
            more = "".join(f" {k}={_quote(v)}" for k, v in (fields or {}).items())
            line = f"{stamp} {f'[{level}]':<7} {f'{name}: ' if name else ''}{message}{':' if more else ''}{more}"
        with self._lock:
            try:
                self.stream.write(f"{line}\n")
                self.stream.flush()
            except (OSError, ValueError):
                return

    def plugin_line(self, name: str, line: str) -> None:
        """Log a line of a plugin, at the level that the line names in JSON or in brackets."""
        level, fields = "DEBUG", {"provider": name}
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict) and "@message" in entry:
            level, message = str(entry.pop("@level", "debug")).upper(), str(entry.pop("@message"))
            entry.pop("@timestamp", None)
            fields |= entry
        else:
            prefix = _PREFIX.match(line)
            level, message = (prefix[1], line[prefix.end() :]) if prefix else (level, line)
        self.write("provider", level if level in LEVELS[:-1] else "DEBUG", message, fields)


def open_log(environ: Mapping[str, str]) -> tuple[Log | None, str]:
    """The log (None if all levels are off), and a warning if a variable has an invalid value or the file cannot be
    opened; "" for none."""
    remark = ""

    def level(*names: str) -> tuple[int, bool]:
        nonlocal remark
        name = next((name for name in names if environ.get(name)), "")
        text = environ.get(name, "off").upper()
        if text != "JSON" and text not in LEVELS:
            remark = f"{name} is {environ[name]!r}, not one of {', '.join(LEVELS)} and JSON; TRACE is used."
        return LEVELS.index(text) if text in LEVELS else 0, text == "JSON"

    core, is_json = level("TF_LOG", "TF_LOG_CORE")
    levels = {
        "core": core,
        "provider": level("TF_LOG_PROVIDER", "TF_LOG")[0],
        "cloud": level("TF_LOG_CLOUD", "TF_LOG")[0],
    }
    if min(levels.values()) == LEVELS.index("OFF"):
        return None, remark
    stream: TextIO = sys.stderr
    path = environ.get("TF_LOG_PATH")
    if path:
        try:
            stream = open(path, "a", encoding="utf-8")  # noqa: SIM115 (until the process ends)
        except OSError as problem:
            remark = f"TF_LOG_PATH: {path}: {problem.strerror or problem}."
    return Log(levels, is_json, stream), remark


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def _quote(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[^\s\"=]+", value):
        return value
    return json.dumps(_plain(value), ensure_ascii=False)
