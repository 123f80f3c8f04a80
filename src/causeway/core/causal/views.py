"""A seat for people and programs. Owns: the shape of the report."""

from __future__ import annotations

from causeway.core.causal.seat import Seat
from causeway.domains.limits import HELD_SHOWN_MAX


def described(seat: Seat) -> dict[str, object]:
    """How much there is, what clocks cost, and what waits for what."""
    names = seat.chart.names
    return {
        "seat": seat.name,
        "number": seat.number,
        "numbers": seat.following - 1,
        "entries": len(seat.entries),
        "bytes": seat.senders.bytes,
        "domains": {
            domain: {
                "cells": clock.size,
                "operations": clock.operations,
                "stamps": seat.stamps.get(domain, 0),
                "stamp_cells": clock.stamped,
            }
            for domain, clock in seat.clocks.items()
        },
        "held": seat.held.listing(seat.missing, lambda number: names.get(number, "?")),
        "held_count": seat.held.count,
        "held_bytes": seat.held.bytes,
        "waiting": seat.senders.listing(),
        "untaken": seat.out.listing(HELD_SHOWN_MAX),
    }
