"""Traces for OpenTelemetry, with its SDK (extra `otel`), which OTEL_* environment variables configure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from planner.foundation.vocabulary.release import RELEASE

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

    from planner.foundation.support.log import Log


TRACES = "OTEL_TRACES_EXPORTER"


class Spans:
    """The spans of one run of the program. Spans of a new thread are children of the span in which the thread was
    started."""

    def __init__(self, provider: TracerProvider, parent: Context) -> None:
        from opentelemetry import context

        self._provider, self._tracer = provider, provider.get_tracer("planner", RELEASE)
        context.attach(parent)

    @contextmanager
    def step(self, name: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        with self._tracer.start_as_current_span(name, attributes={f"planner.{k}": v for k, v in attributes.items()}):
            yield

    def failed(self, reason: str) -> None:
        from opentelemetry.trace import Status, StatusCode, get_current_span

        get_current_span().set_status(Status(StatusCode.ERROR, reason))

    def environment(self) -> dict[str, str]:
        """The environment variables TRACEPARENT and TRACESTATE for the current span."""
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return {name.upper(): value for name, value in carrier.items()}

    def close(self) -> None:
        self._provider.shutdown()


def open_spans(environ: Mapping[str, str], log: Log | None) -> tuple[Spans | None, str]:
    """The spans, or None and the reason why they are not recorded."""
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    kind = "grpc" if protocol == "grpc" else "http"
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        exporter = import_module(f"opentelemetry.exporter.otlp.proto.{kind}.trace_exporter").OTLPSpanExporter
    except ImportError:
        package = "opentelemetry-exporter-otlp-proto-grpc" if kind == "grpc" else "planner-iac[otel]"
        return (
            None,
            f'{TRACES} is "otlp", which requires an additional package: pip install "{package}". Traces are not '
            "recorded.",
        )
    _redirect_sdk_log(log)
    name = environ.get("OTEL_SERVICE_NAME") or "planner"
    provider = TracerProvider(resource=Resource.create({"service.name": name, "service.version": RELEASE}))
    provider.add_span_processor(BatchSpanProcessor(exporter()))
    carrier = {name.lower(): environ[name] for name in ("TRACEPARENT", "TRACESTATE") if environ.get(name)}
    return Spans(provider, TraceContextTextMapPropagator().extract(carrier)), ""


def _redirect_sdk_log(log: Log | None) -> None:
    """Write messages of the SDK to the log instead of the terminal."""
    import logging

    class Forwarding(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if log is not None:
                level = "ERROR" if record.levelno >= logging.ERROR else "WARN"
                log.write("core", level, f"OpenTelemetry: {record.getMessage()}")

    logger = logging.getLogger("opentelemetry")
    logger.handlers, logger.propagate = [Forwarding(logging.WARNING)], False
