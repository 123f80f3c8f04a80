"""Settlements of express messages, said together and a little late: nobody waits for them but the credit.

An acknowledgement per express message would double the frames of a quiet conversation. Owns: when the collected
settlements of a consumer are said. Must not know: how messages are accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.ranges import merged
from causeway.types import MILLISECOND, Duration

if TYPE_CHECKING:
    from causeway.client.reader import MailReader

LATE: Final[Duration] = 20 * MILLISECOND
"""At most so late; a consumer that runs short of credit before that is settled at once."""

CREDIT_SHARE: Final = 4
"""Said when the settled messages make up one in so many of the consumer's credit."""


class LateSettles:
    """Consumers with settlements (`late` of each) that were not said yet."""

    def __init__(self, alarm: Alarm | None = None) -> None:
        self.waiting: dict[MailReader, int] = {}
        """With the number of messages each would settle."""
        self._due: Deadlines[MailReader] = Deadlines(alarm)

    def add(self, consumer: MailReader, first: int, last: int) -> None:
        """The application settled these."""
        late = consumer.late
        if late and late[-1][1] + 1 == first:
            late[-1] = (late[-1][0], last)
        else:
            late.append((first, last))
        self.waiting[consumer] = self.waiting.get(consumer, 0) + last - first + 1

    def say(self, turn: Turn) -> None:
        """Say what is due, or enough. A consumer that lost its link has emptied its own list."""
        due = self._due.pop_due(turn.now)
        said: list[MailReader] = []
        for consumer, count in self.waiting.items():
            if not consumer.late or consumer.link is None:
                consumer.late.clear()
            elif count * CREDIT_SHARE >= consumer.credit or consumer.closing or consumer in due:
                consumer.say_settled(turn, consumer.link, merged(consumer.late))
                consumer.late.clear()
            else:
                self._due.set_if_unset(consumer, turn.now + LATE)
                continue
            said.append(consumer)
        for consumer in said:
            del self.waiting[consumer]
            self._due.cancel(consumer)
