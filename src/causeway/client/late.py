"""Settlements of express messages, said together and a little late: nobody waits for them but the credit.

An acknowledgement per express message would double the frames of a quiet conversation. Owns: when the collected
settlements of a consumer are said. Must not know: how messages are accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from causeway.core.deadlines import Deadlines
from causeway.core.machine import Turn
from causeway.ranges import merged
from causeway.types import MILLISECOND, Duration, Instant, Span

if TYPE_CHECKING:
    from causeway.client.consumers import MailReader

LATE: Final[Duration] = 20 * MILLISECOND
"""At most so late; a consumer that runs short of credit before that is settled at once."""

CREDIT_SHARE: Final = 4
"""Said when the settled messages make up one in so many of the consumer's credit."""


class LateSettles:
    """Consumers with settlements (`late` of each) that were not said yet."""

    def __init__(self) -> None:
        self._waiting: dict[int, MailReader] = {}
        self._due: Deadlines[int] = Deadlines()

    def of(self, consumer: MailReader) -> list[Span]:
        """Where to put what the application settled."""
        self._waiting[consumer.number] = consumer
        return consumer.late

    def next(self) -> Instant | None:
        """When something must be said at the latest."""
        return self._due.next()

    def say(self, turn: Turn) -> None:
        """Say what is due, or enough. A consumer that lost its link has emptied its own list."""
        if not self._waiting:
            return
        due = dict.fromkeys(self._due.pop_due(turn.now))
        for number, consumer in list(self._waiting.items()):
            count = sum(last - first + 1 for first, last in consumer.late)
            if not count or consumer.link is None:
                consumer.late.clear()
            elif number in due or consumer.closing or count * CREDIT_SHARE >= consumer.credit:
                consumer.say_settled(turn, consumer.link, merged(consumer.late))
                consumer.late.clear()
            else:
                self._due.set_if_unset(number, turn.now + LATE)
                continue
            del self._waiting[number]
            self._due.cancel(number)
