"""Bounds of the map of domains, with unit and reason; those of seats and all others are in `causeway.limits`."""

from __future__ import annotations

from typing import Final

from causeway.limits import HEAD_BYTES_MAX, KIB, MAILBOXES_MAX

MAP_BYTES_MAX: Final = HEAD_BYTES_MAX - 4 * KIB
"""The whole map, encoded: it goes to every seat in the head of one frame, with an envelope around it."""

BINDINGS_MAX: Final = MAILBOXES_MAX
"""Names bound to seats in one cluster: the map's owner keeps some 300 bytes of each in memory, for good."""

BINDINGS_REMEMBERED_MAX: Final = 65_536
"""Bindings that a broker has heard of; above it the least recently used is forgotten, and asked for again."""

BINDINGS_ASKED_MAX: Final = 16_384
"""Names whose seat a broker asks the map for at once; others are asked for when somebody wants them again."""

SEATS_ASKED_PER_CONNECTION_MAX: Final = 1_000
"""Seats that one client asks for and was not told yet, as many as it has consumers; one more is refused."""

JOINS_MAX: Final = 64
"""Requests for further domains that a broker has under way, each with clients that wait; one more is refused."""

MAP_QUESTIONS_MAX: Final = 16
"""How often the map is asked for a version or a binding that nobody else waits for: over a minute, then not again
until somebody has another reason."""
