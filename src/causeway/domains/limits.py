"""Bounds of domains and of causal order, with their reasons."""

from __future__ import annotations

from typing import Final

from causeway.limits import MIB

DOMAINS_PER_SEAT_MAX: Final = 16
"""Domains of one broker: each is a clock, and a router hands on what goes through it."""

SEATS_PER_DOMAIN_MAX: Final = 64
"""A clock has the square of it in cells, and a stamp with all of them must fit a frame's head. Split what is larger."""

SEATS_MAX: Final = 4096
"""Seats of the whole map, which every seat holds and which must fit a frame."""

SEAT_BYTES_MAX: Final = 32 * MIB
"""Bodies that applications have on their way through one seat; more is refused (OVERLOADED) and tried again later.
What comes from other seats is bounded by theirs."""

HELD_BYTES_PER_SEAT_MAX: Final = 32 * MIB
"""Batches held back at one seat until others are delivered; beyond that their senders repeat them."""

HELD_SHOWN_MAX: Final = 64
"""Of held batches in a status report."""

SENDERS_PER_SEAT_MAX: Final = 4096
"""Lives of applications that a seat remembers: those that were silent longest go first, and never while they wait."""

MARKS_MAX: Final = 64
"""Seats beside its own whose messages an application was shown between two sends in causal order, and whose numbers the
second one therefore carries, the latest first: as many as a domain has, and a quarter of a frame's head. Who reads from
mailboxes of more seats than that without sending has an order only after the latest."""
