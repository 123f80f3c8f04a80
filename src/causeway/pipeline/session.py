"""One Spark session, set up so that executors find this interpreter and Spark says little.

Owns: the session's settings. Must not know: any job.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from causeway.errors import ConfigError
from causeway.extras import ARRAYS, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER_USUAL: Final = "local[*]"

_LOG_SETTINGS: Final = Path(__file__).with_name("log4j2.properties")
"""Before the session could say so itself, Java has printed half a page; and what the session sets is printed too."""

_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",  # jobs show their own
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",  # fewer files are looked at without a job
    "spark.sql.files.ignoreMissingFiles": "true",  # writers delete their oldest segments at the lake's bound
}


def check_spark() -> None:
    """Say what is missing before anything begins."""
    require("pipeline", "pyspark", "pyarrow", "pandas", *ARRAYS, field="command", value="pipeline")
    home = os.environ.get("JAVA_HOME")
    if not (home and os.access(os.path.join(home, "bin", "java"), os.X_OK)) and shutil.which("java") is None:
        remedy = "no Java was found: install Java 17 or newer, or set JAVA_HOME (`make java` says how)"
        raise ConfigError("JAVA_HOME", home, remedy)


def settings_for(master: str) -> dict[str, str]:
    """What is set for a master: of a cluster, its own configuration knows best how wide to shuffle."""
    return {**_SETTINGS, "spark.sql.shuffle.partitions": "8"} if _is_local(master) else dict(_SETTINGS)


def environment_for(master: str) -> dict[str, str]:
    """Variables that Spark reads. Workers run what these name; another interpreter would import nothing of ours."""
    found = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    # Executors of a cluster must reach the driver by its real address.
    return {**found, "SPARK_LOCAL_IP": "127.0.0.1"} if _is_local(master) else found


def _is_local(master: str) -> bool:
    return master.startswith("local")


def open_session(
    name: str, *, master: str | None = None, driver_memory: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session, or the one that this process has already (then with its master and memory, and these settings)."""
    check_spark()
    from pyspark.sql import SparkSession

    master = master or MASTER_USUAL
    for variable, value in environment_for(master).items():
        os.environ.setdefault(variable, value)
    if SparkSession.getActiveSession() is None:
        options = ["--driver-java-options", f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"]
        options += ["--driver-memory", driver_memory] if driver_memory else []
        os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*options, "pyspark-shell"])
    builder = SparkSession.builder.appName(f"causeway {name}").master(master)
    for key, value in {**settings_for(master), **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def session_for(name: str, *, master: str | None = None, driver_memory: str | None = None) -> Iterator[SparkSession]:
    """A session for as long as a command takes; one that this process had before goes on afterwards."""
    check_spark()
    from pyspark.sql import SparkSession

    had = SparkSession.getActiveSession() is not None
    session = open_session(name, master=master, driver_memory=driver_memory)
    try:
        yield session
    finally:
        if not had:
            session.stop()
