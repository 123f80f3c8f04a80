"""Jobs and the connector on a standalone cluster and on a Spark Connect server; none has Causeway installed."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causeway.testing import LocalCluster
from tests.pipeline.bus_cluster import kept, publish, running_bus, wait_kept
from tests.pipeline.lakes import NOON, telemetry, write_lake
from tests.pipeline.standalone import HOME, bare_python, java, missing, running_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(missing()), reason=f"standalone cluster: {missing()} is not here"),
]

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("CAUSEWAY_KILLS", "2"))
"""Of the driver, and as many of brokers."""
SECONDS_MAX = 300.0
TOPICS, PER_ROUND = 4, 1_500


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return bare_python(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def connect(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server; its Python has no Causeway."""
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("Spark Connect: grpcio is not installed")
    folder = tmp_path_factory.mktemp("connect")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    submit = [
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        "local[2]",
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
    ]
    submit += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    command = [str(java()), "-Xmx1g", "--add-modules=jdk.incubator.vector", *opens(), "-cp", str(HOME / "jars" / "*")]
    environment = {"SPARK_HOME": str(HOME), "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1", "PATH": os.defpath}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*command, *submit], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        until = time.monotonic() + SECONDS_MAX
        while not is_open(port):
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def opens() -> list[str]:
    """What Spark's scripts tell Java, taken from the options that PySpark's own launcher prints."""
    packages = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util")
    more = ("java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.util.calendar")
    return [f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in (*packages, *more, "sun.security.action")]


def start(master: str, python: str, *arguments: object) -> subprocess.Popen[str]:
    """A driver; executors get an interpreter without Causeway."""
    environment = {**os.environ, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.pipeline.cluster_driver", master, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, text=True, start_new_session=True)


def done(driver: subprocess.Popen[str]) -> str:
    try:
        said, _ = driver.communicate(timeout=SECONDS_MAX)
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
    assert driver.returncode == 0
    return said


@pytest.mark.parametrize("where", ["master", "connect"])
def test_a_job_runs_where_causeway_is_not_installed(
    where: str, request: pytest.FixtureRequest, python: str, tmp_path: Path
) -> None:
    rows = [telemetry(f"t{one}", NOON + second, 3, item=f"i{one}") for one in range(3) for second in range(30)]
    write_lake(tmp_path / "lake", "telemetry", rows)
    url = request.getfixturevalue(where)
    assert done(start(url, python, "job", tmp_path / "lake", tmp_path / "out")).strip().endswith("3")


@pytest.mark.parametrize("where", ["master", "connect"])
def test_the_bus_is_read_and_written_where_causeway_is_not_installed(
    where: str, request: pytest.FixtureRequest, python: str
) -> None:
    url = request.getfixturevalue(where)
    with running_bus() as (cluster, bus):
        for body in (b"1", b"2", b"3"):
            bus.send("here", body)
        done(start(url, python, "bus", cluster.url))
        assert sorted(kept(bus, "there")) == [b"1", b"2", b"3"]


def wait_for_more(bus: Any, driver: subprocess.Popen[str], before: int) -> int:
    until = time.monotonic() + SECONDS_MAX
    while (found := int(bus.extent("history/out/#").ever)) <= before:
        assert driver.poll() is None, "the driver ended by itself"
        assert time.monotonic() < until, f"nothing came over since {before}"
        time.sleep(0.01)
    return found


def commits(checkpoint: Path) -> int:
    return max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=-1)


def wait_for_commit(driver: subprocess.Popen[str], checkpoint: Path, before: int) -> None:
    until = time.monotonic() + SECONDS_MAX
    while commits(checkpoint) <= before:
        assert driver.poll() is None, "the driver ended by itself"
        assert time.monotonic() < until, "the query commits nothing"
        time.sleep(0.01)


def break_one(bus: Any, cluster: LocalCluster, mailbox: str) -> int:
    victim = [broker.name for broker in cluster.brokers].index(bus.find(mailbox))
    cluster.kill(victim)
    return victim


def test_kills_of_driver_and_brokers_lose_double_and_disorder_nothing(master: str, python: str, tmp_path: Path) -> None:
    """Each round new messages, a new commit, then a broker dies, more comes over, and then the driver dies."""
    checkpoint = tmp_path / "checkpoint"
    sent: dict[str, list[bytes]] = {f"t{number}": [] for number in range(TOPICS)}
    with running_bus("disk") as (cluster, bus):
        for pattern in ("in/#", "out/#"):
            bus.keep_history(pattern, seconds=7200)
        total = 0
        for round_ in range(KILLS + 1):
            for topic, bodies in sent.items():
                # Content would sort these in another order.
                new = [f"{(number * 7919) % 10_000:04d}.{round_}".encode() for number in range(PER_ROUND)]
                publish(bus, f"in/{topic}", new)
                bodies += new
            total += TOPICS * PER_ROUND
            wait_kept(bus, "history/in/#", total)
            before, over = commits(checkpoint), int(bus.extent("history/out/#").ever)
            driver = start(master, python, "stream", cluster.url, checkpoint)
            try:
                wait_for_commit(driver, checkpoint, before)
                if round_ < KILLS:
                    victim = break_one(bus, cluster, "history/in/#" if round_ % 2 else "history/out/#")
                    wait_for_more(bus, driver, int(bus.extent("history/out/#").ever))
                else:
                    while over < total:
                        over = wait_for_more(bus, driver, over)
            finally:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.communicate()  # and close its pipe
            if round_ < KILLS:
                cluster.restart(victim)
        found: dict[str, list[bytes]] = {topic: [] for topic in sent}
        for stretch in bus.read("history/out/#"):
            found[str(stretch.topic).removeprefix("out/")] += [body for _, body in stretch.messages()]
        assert found == sent
