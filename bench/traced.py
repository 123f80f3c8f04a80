"""Causeway with a trace lake beside itself without: broker and applications write every step of every batch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from bench import ours
from bench.harness import Case, Process, Run, free_port, serve
from causeway.client._async.bus import LAKE_VARIABLE

T = TypeVar("T")


def server(folder: Path) -> AbstractContextManager[Process]:
    """A broker that writes a lake beside its data."""
    port = free_port()
    return serve([*ours.broker_command(port, folder / "data"), "--set", f"lake={folder / 'lake'}"], folder, port)


@contextmanager
def lake() -> Iterator[None]:
    """Applications of this process write a lake, which nobody keeps."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[LAKE_VARIABLE] = folder
        yield


def traced(worker: Callable[[Run], T], run: Run) -> T:
    """What a worker does, written down."""
    with lake():
        return worker(run)


def express_producer(run: Run) -> None:
    traced(ours.express_producer, run)


def recoverable_producer(run: Run) -> None:
    traced(ours.recoverable_producer, run)


def consumer(run: Run) -> None:
    traced(ours.consumer, run)


def pinger(run: Run) -> list[int]:
    return traced(ours.pinger, run)


def ponger(run: Run) -> None:
    traced(ours.ponger, run)


SYSTEM = "traced"
MODE = "Causeway with a trace lake"
CASES = [
    Case("express", SYSTEM, MODE, express_producer, consumer, server, first_count=100_000),
    Case("recoverable", SYSTEM, MODE, recoverable_producer, consumer, server, first_count=20_000),
    Case("roundtrip", SYSTEM, MODE, pinger, ponger, server, sizes=(128,)),
]
