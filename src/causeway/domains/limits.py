"""Bounds of domains and of causal order, with their reasons."""

from __future__ import annotations

from typing import Final

from causeway.limits import HEAD_BYTES_MAX, KIB, MAILBOXES_MAX, MIB

DOMAINS_PER_SEAT_MAX: Final = 16
"""Domains of one broker: each is a clock, and a router hands on what goes through it."""

SEATS_PER_DOMAIN_MAX: Final = 64
"""A clock has the square of it in cells, and a stamp with all of them must fit a frame's head. Split what is larger."""

SEATS_MAX: Final = 4096
"""Seats of the whole map, which every seat holds and which must fit a frame."""

SEAT_BYTES_MAX: Final = 64 * MIB
"""Bodies that applications have on their way through one seat; more is refused (OVERLOADED) and tried again later.
What comes from other seats is bounded by theirs."""

DECIDED_BYTES_MAX: Final = 2 * MIB
"""Rows of one operation of a seat, about: it waits for the end of the turn, but not until it does not fit a frame."""

SENDER_BYTES_MAX: Final = 24 * MIB
"""Of them those of one application: one whose readers are stuck must not keep others from their seat. It is more than
a client has on its way by itself."""

HELD_BYTES_PER_SEAT_MAX: Final = 32 * MIB
"""Batches held back at one seat until others are delivered; beyond that their senders repeat them."""

HELD_SHOWN_MAX: Final = 64
"""Of held batches in a status report."""

SENDERS_PER_SEAT_MAX: Final = 4096
"""Lives of applications that a seat remembers: those that were silent longest go first, and never while they wait."""

SENDER_SECONDS_MIN: Final = 60
"""And never earlier than this after their last batch: it may be sent again until its sender has heard of it, and would
be taken for a new one. Applications beyond the bound are refused (OVERLOADED) for so long."""

MARKS_MAX: Final = 64
"""Seats beside its own whose messages an application was shown between two sends in causal order, and whose numbers the
second one therefore carries, the latest first: as many as a domain has, and a quarter of a frame's head. Who reads from
mailboxes of more seats than that without sending has an order only after the latest."""

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

AGENTS_PER_DOMAIN_MAX: Final = 2 * SEATS_PER_DOMAIN_MAX
"""Agents that a landmark knows, seated and spare; of more, those that were gone longest are forgotten first. With their
seats they must fit a frame's head."""

HOLDINGS_AT_ONCE_MAX: Final = 64
"""Groups in one report to the landmark: with names of full length they fit a frame's head."""

HOLDINGS_MAX: Final = 32_768
"""Groups that a landmark knows the holders of; what is beyond is not named when it is lost; nothing else changes. They
are rows of its group: a new landmark reads them all before it acts, so many in about a tenth of a second."""

GAUGED_AT_ONCE_MAX: Final = 256
"""Mailboxes whose figures a broker reads each time it looks for bottlenecks, in turns: a look must not be felt."""

CONSUMERS_GAUGED_MAX: Final = 64
"""Consumers of a mailbox that are looked at for slow ones, those that came first: again for the time that it takes."""

BOTTLENECKS_PER_BROKER_MAX: Final = 32
"""Bottlenecks that a broker reports, those that last longest: with names of full length they fit a frame's head, and
beyond so many the remedy is not to be found in a list."""

BOTTLENECK_NOTE_BYTES_MAX: Final = 512
"""What is said of one: a name and a few figures."""

BOTTLENECKS_SHOWN_MAX: Final = 64
"""Of a domain in a status report, those that last longest."""
