"""Real brokers and the real command line for integration tests, each in a directory of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from causeway.domains.layouts import Layout
from causeway.local import runfile
from causeway.local.cluster import ProcessCluster
from causeway.local.plan import plan
from causeway.local.seating import Seating
from tests.integration.nursery import run_command

COMMAND_SECONDS_MAX = 60.0


def environment(root: Path, **more: str) -> dict[str, str]:
    """Variables that keep a test's clusters away from the user's."""
    runtime = root / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CAUSEWAY_")}
    return {**kept, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(root / "state"), **more}


def causeway(
    *arguments: str, environ: Mapping[str, str] | None = None, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return run_command(arguments, os.environ if environ is None else environ, text, COMMAND_SECONDS_MAX)


def json_lines(output: str) -> list[dict[str, Any]]:
    """What a command printed with --json."""
    return [json.loads(line) for line in output.splitlines()]


@contextlib.asynccontextmanager
async def running_cluster(
    data: Path,
    brokers: int | None = None,
    *,
    durability: str = "disk",
    settings: Mapping[str, str] | None = None,
    seats: Layout | None = None,
    spares: int | None = None,
) -> AsyncIterator[ProcessCluster]:
    """A cluster on free ports that is stopped in any case; with `seats` its brokers are those."""
    runfile.prepare_data_dir(data)
    seating = Seating(seats=seats)
    wished: dict[str, Any] = {"durability": durability, "settings": settings, "seating": seating, "spares": spares}
    run = plan(runfile.load(data), brokers=brokers, port=0, **wished)
    cluster = ProcessCluster(data, run)
    try:
        await cluster.start()
        await cluster.wait_active()
        yield cluster
    finally:
        await cluster.stop()


async def eventually(condition: Callable[[], bool], what: str, seconds_max: float = 20.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds_max:g} s"
        await asyncio.sleep(0.02)
