"""Every bound of topics, with its unit and its reason; all others are in `causeway.limits`."""

from __future__ import annotations

from typing import Final

from causeway.limits import MIB

TOPIC_BYTES_MAX: Final = 255
"""A topic's canonical path: it travels in every batch, as names do. A pattern may have twice as many."""

TOPIC_LEVELS_MAX: Final = 16
"""Levels of a topic: each is a step of every match. A canonical pattern may have a # around each of them."""

TOPIC_TEMPLATES_MAX: Final = 256
"""Templates of one Naming: each is compared with all others when it is built."""

TOPIC_ITEMS: Final = 64
"""Mailboxes that all topics share: enough to spread them over many brokers, few enough that a pattern without a first
level registers with each of them. It is part of the protocol: another number leads elsewhere."""

CRITICAL_PAIRS: Final = 16
"""Pairs of mailboxes that all critical topics share: few, because each costs two groups, and a pattern without a second
level registers with all of them. It is part of the protocol."""

TOPIC_SUMMARY_COMPARED_MAX: Final = 4096
"""Patterns a summary compares with each other, some 10 us each; of more it first cuts the deepest levels."""

REGISTRATIONS_PER_ITEM_MAX: Final = 200_000
"""Subscriptions that one item forwards to; one more is refused."""

WITHDRAWN_PER_ITEM_MAX: Final = 1024
"""Subscriptions that were withdrawn, as one item remembers them: so that what they said before does not count late."""

FORWARDED_BYTES_PER_ITEM_MAX: Final = 4 * MIB
"""Bodies of one item on their way to subscriptions; above it the rest waits in the item's store."""

RETAINED_BYTES_PER_ITEM_MAX: Final = 16 * MIB
"""Retained messages of one item: they are all in its owner's memory. One more is not retained."""

GREETING_MAX: Final = 1 << 20
"""Retained messages that a new subscription gets from one item, and numbers set aside for them; more than fit there."""

SUMMARY_PATTERNS_MAX: Final = 64
"""Patterns in the summary of the interest in an item; with more of them the summary says more than anybody wants."""

SUMMARY_RECOUNTED_MAX: Final = 1_000
"""Up to so many subscriptions of an item its summary is made anew with every change; above it, it only grows."""

SUMMARY_HOLDERS_MAX: Final = 4096
"""Source brokers that are told of an item's interest; others send everything."""

PUBLISHING_BYTES_MAX: Final = 16 * MIB
"""Batches at one source broker that wait to hear whether anybody wants them; above it they are sent."""

SUBSCRIBING_MAX: Final = 1024
"""Readers that wait for one subscription to begin."""
