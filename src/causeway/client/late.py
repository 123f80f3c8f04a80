"""Settlements of express messages, seen to together and a little late: nobody waits for them but the credit.

An acknowledgement per express message would double the frames of a quiet conversation, and its bookkeeping a good part
of the work. Owns: when a consumer's express settlements are due. Must not know: how messages are accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from causeway.core.deadlines import Alarm, Deadlines
from causeway.types import MILLISECOND, Duration, Instant

if TYPE_CHECKING:
    from causeway.client.reader import MailReader

LATE: Final[Duration] = 20 * MILLISECOND
"""At most so late; a consumer that runs short of credit before that is settled at once."""

CREDIT_SHARE: Final = 4
"""Said when the settled messages make up one in so many of the consumer's window."""


class LateSettles:
    """Consumers that have settled express messages, and when that must be said."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        self.news: list[MailReader] = []
        """Those to look at in the next turn: they have begun to wait, or settled enough."""
        self._counts: dict[MailReader, int] = {}
        self._due: Deadlines[MailReader] = Deadlines(alarm)

    def note(self, consumer: MailReader, count: int) -> None:
        """The application settled so many more."""
        before = self._counts.get(consumer, 0)
        self._counts[consumer] = before + count
        if not before or (before + count) * CREDIT_SHARE >= consumer.window:
            self.news.append(consumer)

    def pressing(self, now: Instant) -> list[MailReader]:
        """Those that must speak now."""
        found = self._due.pop_due(now)
        for consumer in self.news:
            if self._counts.get(consumer, 0) * CREDIT_SHARE >= consumer.window:
                found.append(consumer)
            else:
                self._due.set_if_unset(consumer, now + LATE)
        self.news.clear()
        return found

    def said(self, consumer: MailReader) -> None:
        """Nothing of it waits any more."""
        if self._counts.pop(consumer, 0):
            self._due.cancel(consumer)
