"""`causeway leave`: one broker hands over and leaves the local cluster for good."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from causeway.cli.options import AsJson, Data
from causeway.cli.output import EXIT_OK, notices, print_json
from causeway.local import runfile
from causeway.local.cluster import PART_SECONDS_MAX, ProcessCluster


def leave(
    broker: Annotated[str, typer.Argument(help="Name of the broker, as 'causeway status' shows it.")],
    *,
    data: Data = None,
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds until the others must hold everything.")
    ] = PART_SECONDS_MAX,
    as_json: AsJson = False,
) -> int:
    """Let one broker of 'causeway up' hand over everything it holds, end, and leave the cluster for good.

    The others take its mailboxes first; applications turn to them by themselves. 'causeway up' does not start it again
    ('causeway down' and 'causeway up' are for a pause). 'causeway up --brokers N' grows the cluster by new brokers.
    If the others do not hold everything in time, the exit code is 1 and the broker stays part of the cluster.
    With --json it prints {"event": "left", "name", "data": directory of its old store or null, "brokers": the others}.
    """
    where, _run = runfile.find(data)
    with runfile.lock(where):
        _where, run = runfile.find(where)  # as the last command left it
        cluster = ProcessCluster(where, run)
        asyncio.run(cluster.leave(broker, timeout))
    store = where / broker if run.durability == "disk" else None
    if as_json:
        print_json({"event": "left", "name": broker, "data": store and str(store), "brokers": cluster.names})
        return EXIT_OK
    notices().print(f"{broker} has left; {', '.join(cluster.names)} hold everything", soft_wrap=True)
    if store is not None:
        notices().print(f"its old store in {store} is no longer needed", soft_wrap=True)
    return EXIT_OK
