"""Cases of an experiment on the executors of a Spark cluster (`--master URL`).

Owns: the session, for as long as an experiment takes. Must not know: what a case is, how cases are spread over
executors (pipeline/spread.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from causeway.pipeline.faults import spark_errors
from causeway.pipeline.session import session_for
from causeway.pipeline.spread import Executors


@contextmanager
def executors(master: str) -> Iterator[Executors]:
    """The executors of a cluster."""
    with spark_errors(), session_for("evaluate", master=master) as session:
        yield Executors(session)
