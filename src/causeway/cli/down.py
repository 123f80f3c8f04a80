"""`causeway down`: stop the local cluster."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from causeway.cli.options import AsJson, Data
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.cluster import STOP_SECONDS_MAX, ProcessCluster


def down(
    *,
    data: Data = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds a broker may take before SIGKILL.")] = STOP_SECONDS_MAX,
    as_json: AsJson = False,
) -> int:
    """Stop the brokers that 'causeway up' started; what they stored stays, and 'causeway up' resumes it.

    If several clusters run, say with --data which one is meant.
    With --json it prints {"event": "down", "data", "stopped": names, "killed": names of those that took too long}.
    """
    if data is None and len(several := runfile.running()) > 1:
        found = ", ".join(str(one) for one in several)
        raise ConfigError("data", None, f"several clusters run; say which one to stop: {found}")
    where, run = runfile.find(data)
    cluster = ProcessCluster(where, run)
    names = [entry.name for entry in cluster.running()]
    with runfile.lock(where):
        killed = asyncio.run(cluster.stop(timeout))
    runfile.forget(where)
    if as_json:
        print_json({"event": "down", "data": str(where), "stopped": names, "killed": killed})
        return EXIT_OK
    if not names:
        notices().print(f"nothing was running in {where}", soft_wrap=True)
        return EXIT_OK
    notices().print(f"stopped {', '.join(names)}; the data stays in {where}", soft_wrap=True)
    if killed:
        notices().print(f"[yellow]{', '.join(killed)} took longer than {timeout:g} s and got SIGKILL[/yellow]")
    return EXIT_OK
