"""TF_LOG and its like, and traces for OpenTelemetry."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

MAIN = """
variable "secret" {
  default = ""
}
resource "terraform_data" "a" {
  input = 1
  provisioner "local-exec" {
    command = "printenv TRACEPARENT > parent || true"
  }
}
"""


def run(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (folder / "main.tf").write_text(MAIN)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, **environ}
    command = [sys.executable, "-m", "planner", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_levels_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    done = run(tmp_path, "plan", "-var=secret=hidden", "-var", "secret=hidden", TF_LOG="trace", TF_LOG_PATH=str(path))
    assert done.returncode == 0 and done.stderr == ""
    text = path.read_text()
    assert '[INFO]  command plan: words=["-var=secret=...", "-var", "secret=..."]' in text
    assert "hidden" not in text
    assert "[DEBUG] make plan: begins" in text and "[TRACE] terraform_data.a (expand): begins" in text
    path.unlink()
    run(tmp_path, "plan", TF_LOG_CORE="info", TF_LOG_PATH=str(path))
    levels = {line.split()[1] for line in path.read_text().splitlines()}
    assert levels == {"[INFO]"}
    path.unlink()
    run(tmp_path, "plan", TF_LOG="off", TF_LOG_PATH=str(path))
    assert not path.exists()


def test_json_lines_and_wrong_levels(tmp_path: Path) -> None:
    lines = run(tmp_path, "validate", TF_LOG="JSON").stderr.splitlines()
    entries = [json.loads(line) for line in lines]
    assert {entry["@level"] for entry in entries} == {"trace", "debug", "info"}
    assert all({"@level", "@message", "@timestamp"} <= set(entry) for entry in entries)
    done = run(tmp_path, "version", TF_LOG="loud")
    assert "TF_LOG is 'loud', not one of TRACE" in done.stderr and "[INFO]  command version" in done.stderr
    done = run(tmp_path, "version", TF_LOG="error", TF_LOG_PATH=str(tmp_path / "no/log"))
    assert (done.returncode, "TF_LOG_PATH" in done.stderr) == (0, True)


class Collector(BaseHTTPRequestHandler):
    """Takes traces over OTLP/HTTP."""

    received: list[Any] = []

    def do_POST(self) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        data = self.rfile.read(int(self.headers["Content-Length"]))
        data = gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
        request = ExportTraceServiceRequest.FromString(data)
        self.received.append((self.path, request))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words: object) -> None: ...


@pytest.fixture
def collector() -> Iterator[str]:
    pytest.importorskip("opentelemetry.sdk")
    Collector.received = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_trace(tmp_path: Path, collector: str) -> None:
    outer = f"00-{'12' * 16}-{'34' * 8}-01"
    environ = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "OTEL_SERVICE_NAME": "deploy",
        "TRACEPARENT": outer,
    }
    done = run(tmp_path, "apply", "-auto-approve", **environ)
    assert done.returncode == 0 and done.stderr == ""
    assert {path for path, _ in Collector.received} == {"/v1/traces"}
    resources = [part for _, request in Collector.received for part in request.resource_spans]
    named = {a.key: a.value.string_value for part in resources for a in part.resource.attributes}
    assert named["service.name"] == "deploy"
    spans = {s.name: s for part in resources for scope in part.scope_spans for s in scope.spans}
    assert {s.trace_id.hex() for s in spans.values()} == {"12" * 16}
    assert spans["apply"].parent_span_id.hex() == "34" * 8
    assert spans["make plan"].parent_span_id == spans["apply"].span_id
    vertex = spans["terraform_data.a"]
    assert vertex.parent_span_id == spans["walk apply"].span_id
    continued = (tmp_path / "parent").read_text().strip().split("-")
    assert continued[1:3] == ["12" * 16, vertex.span_id.hex()]
    Collector.received.clear()
    assert run(tmp_path, "plan", "-target=x", **environ).returncode == 1
    (command,) = (
        s
        for _, r in Collector.received
        for part in r.resource_spans
        for scope in part.scope_spans
        for s in scope.spans
        if s.name == "plan"
    )
    assert (command.status.code, command.status.message) == (2, "exit code 1")


def test_without_the_extra(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry/__init__.py").write_text("raise ImportError\n")
    done = run(tmp_path, "version", OTEL_TRACES_EXPORTER="otlp", PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[2]}")
    assert done.returncode == 0 and 'pip install "planner-iac[otel]"' in done.stderr
