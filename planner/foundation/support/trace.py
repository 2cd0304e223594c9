"""Records spans and messages of an operation, in the log (TF_LOG) and as OpenTelemetry traces (OTEL_TRACES_EXPORTER).
If neither is requested, RECORDER is None and nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from planner.foundation.support.log import Log
    from planner.foundation.support.otel import Spans

P = ParamSpec("P")
T = TypeVar("T")
LOG_VARIABLES = ("TF_LOG", "TF_LOG_CORE", "TF_LOG_PROVIDER", "TF_LOG_CLOUD")
TRACES_VARIABLE = "OTEL_TRACES_EXPORTER"
_NOTHING = nullcontext()


class Recorder:
    def __init__(self, log: Log | None, spans: Spans | None) -> None:
        self.log, self.spans = log, spans

    @contextmanager
    def span(self, name: str, level: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        """A context that records a span. Spans that begin inside it become its children. In traces, an exception marks
        the span as failed."""
        if self.log is not None:
            self.log.write("core", level, f"{name}: begins", attributes)
        with self.spans.step(name, attributes) if self.spans is not None else _NOTHING:
            try:
                yield
            finally:
                if self.log is not None:
                    self.log.write("core", level, f"{name}: ends")

    def failed(self, reason: str) -> None:
        if self.spans is not None:
            self.spans.failed(reason)

    def close(self) -> None:
        if self.spans is not None:
            self.spans.close()


RECORDER: Recorder | None = None


def start(environ: Mapping[str, str]) -> str:
    """Start recording if the environment requests it. Returns a warning, or ""."""
    global RECORDER
    log, spans, remark = None, None, ""
    if RECORDER is None and any(environ.get(name) for name in LOG_VARIABLES):
        from planner.foundation.support.log import open_log

        log, remark = open_log(environ)
    if RECORDER is None and environ.get(TRACES_VARIABLE) == "otlp":
        from planner.foundation.support.otel import open_spans

        spans, missing = open_spans(environ, log)
        remark = remark or missing
    if log is not None or spans is not None:
        RECORDER = Recorder(log, spans)
    return remark


def stop() -> None:
    global RECORDER
    if RECORDER is not None:
        RECORDER.close()
        RECORDER = None


def span(name: str, level: str = "DEBUG", **attributes: Any) -> AbstractContextManager[None]:
    return _NOTHING if RECORDER is None else RECORDER.span(name, level, attributes)


def as_step(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that records each call of a function as a span."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        def step(*args: P.args, **kwargs: P.kwargs) -> T:
            if RECORDER is None:
                return function(*args, **kwargs)
            with RECORDER.span(name, "DEBUG", {}):
                return function(*args, **kwargs)

        step.__doc__, step.__name__, step.__wrapped__ = function.__doc__, function.__name__, function  # type: ignore[attr-defined]
        return step

    return decorate


def note(level: str, message: str, subsystem: str = "core", **fields: Any) -> None:
    if RECORDER is not None and RECORDER.log is not None:
        RECORDER.log.write(subsystem, level, message, fields)


def plugin_line(name: str, line: str) -> None:
    if RECORDER is not None and RECORDER.log is not None:
        RECORDER.log.plugin_line(name, line)


def environment() -> dict[str, str]:
    """Environment variables with which child processes continue the trace."""
    return RECORDER.spans.environment() if RECORDER is not None and RECORDER.spans is not None else {}
