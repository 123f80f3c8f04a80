"""One Spark session, set up so that executors find this interpreter and this package, and Spark says little.

Whatever the user has said counts more: flags, then the session that there is, PYSPARK_SUBMIT_ARGS and spark-defaults,
then what stands here.

Owns: the session's settings. Must not know: any job.
"""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from causeway.errors import ConfigError
from causeway.extras import ARRAYS, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER_USUAL: Final = "local[*]"

_UNNAMED: Final = "pyspark-shell"
"""What Spark's launcher calls a driver of Python that has no name."""

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


class SessionFlags(NamedTuple):
    """What a command line says about Spark; nothing of it is needed."""

    master: str | None = None
    """`local[N]`, the URL of a cluster, or `sc://host:port` of a Spark Connect server."""
    driver_memory: str | None = None
    conf: Mapping[str, str] = {}
    packages: str = ""
    """Coordinates of Maven, with commas between them."""
    py_files: str = ""
    """Files for executors to import from, with commas between them."""

    @property
    def is_remote(self) -> bool:
        """Whether a Spark Connect server is asked for."""
        return (self.master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://")


def check_spark(*, remote: bool = False) -> None:
    """Say what is missing before anything begins. A server of Spark Connect has its own Java."""
    require("pipeline", "pyspark", "pyarrow", "pandas", *ARRAYS, field="command", value="pipeline")
    if remote:
        require("connect", "grpc", field="master", value="sc://")
        return
    home = os.environ.get("JAVA_HOME")
    if not (home and os.access(os.path.join(home, "bin", "java"), os.X_OK)) and shutil.which("java") is None:
        remedy = "no Java was found: install Java 17 or newer, or set JAVA_HOME (`make java` says how)"
        raise ConfigError("JAVA_HOME", home, remedy)


def settings_for(master: str) -> dict[str, str]:
    """For this master: of a cluster, its own configuration knows best how wide to shuffle."""
    return {**_SETTINGS, "spark.sql.shuffle.partitions": "8"} if _is_local(master) else dict(_SETTINGS)


def environment_for(master: str) -> dict[str, str]:
    """Variables that Spark reads. Workers run what these name; another interpreter would import nothing of ours."""
    found = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    # Executors of a cluster must reach the driver by its real address.
    return {**found, "SPARK_LOCAL_IP": "127.0.0.1"} if _is_local(master) else found


def _is_local(master: str) -> bool:
    return master.startswith("local")


def open_session(
    name: str,
    *,
    master: str | None = None,
    driver_memory: str | None = None,
    settings: Mapping[str, str] | None = None,
    flags: SessionFlags | None = None,
) -> SparkSession:
    """A session, or the one that this process has already, with all that somebody has set there."""
    flags = flags or SessionFlags(master, driver_memory)
    check_spark(remote=flags.is_remote)
    from pyspark.sql import SparkSession

    flags = flags._replace(conf={**(settings or {}), **flags.conf})
    found = SparkSession.getActiveSession()
    if found is not None:
        return _completed(found, flags)
    return _connect(name, flags) if flags.is_remote else _start(name, flags)


def _completed(session: SparkSession, flags: SessionFlags) -> SparkSession:
    """A session of somebody else: what was set there stays, what a query can be told is added."""
    said = session.conf.getAll
    for key, value in {**_SETTINGS, **flags.conf}.items():
        if (key in flags.conf or key not in said) and session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


def _start(name: str, flags: SessionFlags) -> SparkSession:
    """A driver in this process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_SUBMIT_ARGS"] = submit_arguments(os.environ.get("PYSPARK_SUBMIT_ARGS", ""), flags)
    if flags.master is not None and not _is_local(flags.master):
        # The driver too starts workers with the interpreter of executors; those of streams import from here only.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package_archive(), os.environ.get("PYTHONPATH")]))
    local_ip = os.environ.get("SPARK_LOCAL_IP")
    if flags.master is None or _is_local(flags.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # Java reads it when it starts, before we know more
    SparkContext._ensure_initialized()  # now Spark has read its arguments and defaults
    conf = SparkConf()
    chosen = flags.master or conf.get("spark.master", None) or MASTER_USUAL
    for variable, value in environment_for(chosen).items():
        os.environ.setdefault(variable, value)
    if local_ip is None and not _is_local(chosen):
        os.environ.pop("SPARK_LOCAL_IP", None)
    conf.setMaster(chosen)
    if conf.get("spark.app.name", _UNNAMED) == _UNNAMED:
        conf.setAppName(f"causeway {name}")
    for key, value in settings_for(chosen).items():
        conf.setIfMissing(key, value)
    for key, value in flags.conf.items():
        conf.set(key, value)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    if not _is_local(chosen):
        session.sparkContext.addPyFile(package_archive())
    return session


def _connect(name: str, flags: SessionFlags) -> SparkSession:
    """A session of a Spark Connect server, which has the driver."""
    from pyspark.sql import SparkSession

    if flags.driver_memory or flags.packages:
        field = "driver-memory" if flags.driver_memory else "packages"
        value = flags.driver_memory or flags.packages
        raise ConfigError(field, value, "belongs to whoever starts the Spark Connect server; leave it out with sc://")
    builder: Any = SparkSession.builder
    if flags.master is not None:
        builder = builder.remote(flags.master)
    session: SparkSession = builder.appName(f"causeway {name}").getOrCreate()
    _completed(session, flags)
    session.addArtifacts(package_archive(), *filter(None, flags.py_files.split(",")), pyfile=True)
    return session


def submit_arguments(said: str, flags: SessionFlags) -> str:
    """What Spark's launcher is told: in front what is usual here, then what the user's variable says, then flags, as
    the last one counts."""
    user = [part for part in shlex.split(said) if part != "pyspark-shell"]
    usual = ["--driver-java-options", f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"]
    told = [("--driver-memory", flags.driver_memory), ("--packages", flags.packages), ("--py-files", flags.py_files)]
    last = [part for option, value in told if value for part in (option, value)]
    last += [part for key, value in flags.conf.items() for part in ("--conf", f"{key}={value}")]
    return shlex.join([*usual, *user, *last, "pyspark-shell"])


@functools.cache
def package_archive() -> str:
    """A file from which executors import this package: they need not have it installed, only what it depends on."""
    folder = Path(tempfile.mkdtemp(prefix="causeway-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = Path(__file__).parents[1]
    archive = folder / "causeway.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, path.relative_to(package.parent))
        file.write(package.with_name("pyspark_causeway.py"), "pyspark_causeway.py")
    return str(archive)


@contextmanager
def session_for(name: str, *, flags: SessionFlags) -> Iterator[SparkSession]:
    """A session for as long as a command takes; one that this process had before goes on afterwards."""
    check_spark(remote=flags.is_remote)
    from pyspark.sql import SparkSession

    had = SparkSession.getActiveSession() is not None
    session = open_session(name, flags=flags)
    try:
        yield session
    finally:
        if not had:
            session.stop()


def parallelism(session: SparkSession) -> int:
    """How many tasks run side by side, as a table tells that Spark itself divides."""
    from pyspark.sql import functions as F

    return max(1, session.range(1 << 16).select(F.spark_partition_id()).distinct().count())
