"""A driver and brokers are killed in the middle of a stream: every message is in the sink, once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.connector import register
from causeway.testing import LocalCluster
from tests.pipeline.bus_cluster import SECONDS_MAX, kept, publish, run_through, running_bus, wait_kept
from tests.pipeline.stream_driver import carried

COUNT = 12_000
DRIVER = Path(__file__).with_name("stream_driver.py")


@contextlib.contextmanager
def running_driver(url: str, checkpoint: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver with its own JVM and workers; all of it is killed at the end."""
    command = [sys.executable, str(DRIVER), url, str(checkpoint)]
    with subprocess.Popen(command, start_new_session=True) as driver:
        try:
            yield driver
        finally:
            os.killpg(driver.pid, signal.SIGKILL)


def wait_between(bus: Any, driver: subprocess.Popen[bytes], low: int, high: int) -> int:
    """Until the sink has more than `low` messages; how many, which must be fewer than `high`."""
    until = time.monotonic() + SECONDS_MAX
    while (found := bus.extent("history/out/#").ever) <= low:
        assert driver.poll() is None, "the driver ended by itself"
        assert time.monotonic() < until, f"only {found} messages came over"
        time.sleep(0.005)
    assert found < high, "too late to disturb anything"
    return int(found)


def owner_of(bus: Any, cluster: LocalCluster, mailbox: str) -> int:
    """The broker to kill."""
    return [broker.name for broker in cluster.brokers].index(bus.find(mailbox))


@pytest.mark.slow
def test_kills_of_driver_and_brokers_lose_and_double_nothing(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    bodies = [f"{number:06d}".encode() for number in range(COUNT)]
    with running_bus("disk") as (cluster, bus):
        for pattern in ("in/#", "out/#"):
            bus.keep_history(pattern, seconds=600)
        publish(bus, "in/a", bodies[: COUNT // 2])
        publish(bus, "in/b", bodies[COUNT // 2 :])
        wait_kept(bus, "history/in/#", COUNT)
        with running_driver(cluster.url, tmp_path / "checkpoint") as driver:
            begun = wait_between(bus, driver, 1_500, COUNT // 2)
            victim = owner_of(bus, cluster, "history/in/#")
            cluster.kill(victim)  # in the middle of reading
            killed_at = wait_between(bus, driver, begun + 2_000, COUNT)
        cluster.restart(victim)
        cluster.kill(owner_of(bus, cluster, "history/out/#"))  # and now one in the middle of writing
        assert killed_at < COUNT
        query = run_through(carried(spark, cluster.url), cluster, tmp_path / "checkpoint")
        assert query.recentProgress[0]["batchId"] > 0  # it went on where the other one was
        wait_kept(bus, "history/out/#", COUNT)
        found = Counter(kept(bus, "history/out/#"))
        assert len(found) == COUNT
        assert set(found.values()) == {1}
