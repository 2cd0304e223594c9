"""A real Dask cluster for the tests of batches."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """HOST:PORT of a scheduler with two workers, each a process of its own."""
    pytest.importorskip("distributed", reason="the extra batch-dask is not installed")
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout.readline().strip().removeprefix("tcp://")
    finally:
        process.stdin.close()
        process.wait(30)
