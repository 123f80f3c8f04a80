"""A connection of a driver or an executor to the bus, with the plain sync client.

Owns: how it is opened. Tasks are short, so they do not move to other brokers; they survive the loss of one.
"""

from __future__ import annotations

from typing import Any

import causeway.sync
from causeway.pipeline.connector.options import BusAccess


def open_bus(connection: BusAccess, *, name: str = "", life: int | None = None) -> Any:
    """For `with`. Raises TransportError when no broker answers."""
    return causeway.sync.connect(
        connection.url,
        name=name or connection.name,
        timeout=connection.timeout,
        connect_timeout=min(connection.timeout, 30.0),
        roam=False,
        life=life,
    )
