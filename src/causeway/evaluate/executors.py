"""Cases of an experiment on the executors of a Spark cluster, the cores of this machine if none is named.

Owns: the session, for as long as an experiment takes. Must not know: what a case is, how cases are spread over
executors (pipeline/spread.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from causeway.errors import ConfigError
from causeway.pipeline.faults import spark_errors
from causeway.pipeline.session import check_spark, session_for
from causeway.pipeline.spread import Executors


@contextmanager
def executors(master: str | None) -> Iterator[Executors]:
    """The executors of a cluster. Experiments need none: who has no Spark is told how to do without."""
    try:
        check_spark()
    except ConfigError as missing:
        remedy = f"{missing.remedy}; or measure without Spark: --jobs 2"
        raise ConfigError(missing.field, missing.value, remedy) from missing
    with spark_errors(), session_for("evaluate", master=master) as session:
        yield Executors(session)
