"""A standalone cluster of Spark on this machine: a master and two workers, started from the installation of PySpark
with nothing in their environment but what Spark's own scripts put there."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import site
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pyspark

SECONDS_MAX = 60.0
HOME = Path(pyspark.__file__).parent
WORKERS = 2


def missing() -> str:
    """What is not there for it; empty if all is."""
    if java() is None:
        return "java"
    return "" if (HOME / "jars").is_dir() else "the jars of PySpark"


def java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    found = os.path.join(home, "bin", "java") if home else shutil.which("java")
    return found and os.path.realpath(found)


def bare_python(folder: Path) -> str:
    """An interpreter that imports what is installed here except Causeway: as it is on most clusters."""
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path that a .pth file adds is not searched for .pth files: whatever is installed as editable is not there.
    places = [path for path in (*site.getsitepackages(), *sys.path) if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(dict.fromkeys(places)))
    python = str(folder / "bin" / "python")
    assert subprocess.run([python, "-c", "import causeway"], capture_output=True, check=False).returncode
    subprocess.run([python, "-c", "import pyarrow, msgspec"], check=True)
    return python


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[str]:
    """The URL of its master."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        command = [str(java()), "-Xmx512m", "-cp", str(HOME / "jars" / "*"), *arguments]
        with log.open("wb") as out:
            environment = {"SPARK_HOME": str(HOME), "SPARK_SCALA_VERSION": "2.13"}  # as Spark's own scripts set it
            processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))
        return log

    def wait_for(log: Path, said: str) -> str:
        until = time.monotonic() + SECONDS_MAX
        while (found := re.search(said, log.read_text())) is None:
            assert time.monotonic() < until, log.read_text()
            assert processes[-1].poll() is None, log.read_text()
            time.sleep(0.05)
        return found.group(found.lastindex or 0)

    try:
        master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = wait_for(start("master", *master), r"(spark://127\.0\.0\.1:\d+)")
        for number in range(WORKERS):
            work = folder / f"work-{number}"
            place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(work))
            size = ("--cores", "2", "--memory", "2g")
            log = start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *place, *size, url)
            wait_for(log, "Successfully registered with master")
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(SECONDS_MAX)
