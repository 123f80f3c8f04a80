"""What Spark's launcher is told, and what executors import."""

from __future__ import annotations

import shlex
import zipfile

import pytest

from causeway.errors import ConfigError
from causeway.pipeline.session import SessionFlags, open_session, package_archive, submit_arguments


def test_what_the_user_says_comes_later_and_counts() -> None:
    flags = SessionFlags("local[2]", "3g", {"spark.x": "a b"}, "org:one:1", "a.py,b.zip")
    said = shlex.split(submit_arguments("--driver-memory 1g --conf spark.y=2 pyspark-shell", flags))
    assert said[0] == "--driver-java-options"
    assert said.index("--driver-memory") < len(said) - 1 - said[::-1].index("--driver-memory")
    assert said[2:6] == ["--driver-memory", "1g", "--conf", "spark.y=2"]
    assert said[6:] == [
        *("--driver-memory", "3g", "--packages", "org:one:1", "--py-files", "a.py,b.zip"),
        *("--conf", "spark.x=a b", "pyspark-shell"),
    ]


def test_executors_get_the_whole_package() -> None:
    with zipfile.ZipFile(package_archive()) as archive:
        names = archive.namelist()
    assert {"causeway/__init__.py", "causeway/pipeline/log4j2.properties", "pyspark_causeway.py"} <= set(names)
    assert not any("__pycache__" in name for name in names)


@pytest.mark.parametrize("flags", [SessionFlags("sc://host", "2g"), SessionFlags("sc://host", packages="a:b:1")])
def test_a_server_of_spark_connect_has_its_own_memory_and_packages(flags: SessionFlags) -> None:
    pytest.importorskip("grpc")
    with pytest.raises(ConfigError, match="belongs to whoever starts the Spark Connect server"):
        open_session("test", flags=flags)
