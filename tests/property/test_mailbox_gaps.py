"""Numbers of a mailbox only rise: whatever other mailboxes of the same group take in between changes nothing.

The same script runs twice, once alone in the group and once with neighbours. Verdicts, deliveries (by id, in order,
with flags and counts), what is left after a crash and how much is stored must be the same.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES
from causeway.core.messages import Deliver
from causeway.types import VOLATILE_FROM
from tests.unit.core.mail.postroom import EXPRESS, RECOVERABLE, TRANSACTIONAL, Postroom, deposit

Step = tuple[str, int, int]
"""What to do, how much of it, and how many numbers neighbours take after it."""
STREAMS = {"t": TRANSACTIONAL, "r": RECOVERABLE, "x": EXPRESS}
steps = st.lists(
    st.tuples(st.sampled_from("tttrrxcccppsssaabdkl"), st.integers(1, 5), st.integers(1, 7)), min_size=5, max_size=60
)


class Reader:
    """A mailbox with one consumer, and what it shows to the outside."""

    def __init__(self, window: int, *, alone: bool) -> None:
        self.room = Postroom(window_bytes=window * (BATCH_OVERHEAD_BYTES + 60), deliveries_max=3)
        self.alone = alone
        self.next_id = dict.fromkeys(STREAMS.values(), 1)
        self.held: list[Deliver] = []
        self.shown: list[object] = []
        self.room.attach(credit=7)

    def step(self, what: str, count: int, taken: int) -> None:
        room = self.room
        if what in STREAMS:
            self.send(STREAMS[what], count)
        elif what == "c":
            room.commit(count)
        elif what == "p":
            self.pump()
        elif what in "sb":
            taken_out, self.held = self.held[:count], self.held[count:]
            spans = [(head.seq, head.seq + head.count - 1) for head in taken_out]
            change = room.settle if what == "s" else room.give_back
            for span in spans if count % 2 else ():
                change(*(span,))
            if spans and not count % 2:
                change(*sorted(spans))
        elif what == "a":
            again = deposit(max(1, self.next_id[TRANSACTIONAL] - count), count, stream=TRANSACTIONAL)
            admission = room.mailbox.admit(again, 0, room.now)
            self.shown.append((admission.verdict, admission.skip, admission.after, admission.pending))
        elif what == "d":
            room.detach()
            room.attach(credit=7)
            self.held = []
        elif what == "l":
            room.page(200)
        else:
            room.crash(arrived=count)
            room.attach(credit=7)
            self.held = []
        if not self.alone:
            room.position += taken
        found = room.mailbox.statistics()
        self.shown.append((found.stored_count, found.stored_bytes, found.volatile_count, found.unsettled))

    def send(self, stream: int, count: int) -> None:
        first, self.next_id[stream] = self.next_id[stream], self.next_id[stream] + count
        head = deposit(first, count, stream=stream)
        if stream == EXPRESS:
            self.shown.append(self.room.hold(head) is not None)
        else:
            self.shown.append(self.room.send(head).verdict)

    def pump(self) -> None:
        for head in self.room.pump():
            self.held.append(head)
            self.shown.append((head.stream, head.first, head.count, head.flags, head.deliveries, _is_volatile(head)))


def _is_volatile(head: Deliver) -> bool:
    return head.seq >= VOLATILE_FROM


@settings(deadline=None)
@given(script=steps, window=st.sampled_from([1, 3, 10_000]))
def test_numbers_that_neighbours_take_change_nothing(script: list[Step], window: int) -> None:
    alone, among_others = Reader(window, alone=True), Reader(window, alone=False)
    for step in [*script, ("c", 100, 1), ("l", 1, 1), ("p", 1, 1), ("k", 100, 1), ("p", 1, 1)]:
        alone.step(*step)
        among_others.step(*step)
        assert among_others.shown == alone.shown
