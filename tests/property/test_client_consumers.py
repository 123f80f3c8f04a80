"""A consuming session against a mailbox that delivers as the contract says, over links that break at any moment."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.client.message import Delivery
from causeway.client.reader import MailReader
from causeway.core.messages import Attached, Ping, Return, Settle, Settled
from causeway.types import MILLISECOND, SECOND, VOLATILE_FROM
from tests.unit.client.stage import Stage

TOTAL = 25


class Box:
    """The mailbox: ids 1..TOTAL of one source; what is settled, what the consumer holds."""

    def __init__(self, *, express: bool) -> None:
        self.express = express
        self.settled: set[int] = set()
        self.held: dict[int, int] = {}
        """Number on the wire -> id."""
        self.attached = False
        self.next_express = VOLATILE_FROM

    def number(self, identity: int) -> int:
        if not self.express:
            return 100 + identity
        self.next_express += 1
        return self.next_express

    def ready(self) -> list[int]:
        return [n for n in range(1, TOTAL + 1) if n not in self.settled and n not in self.held.values()]


class Run:
    def __init__(self, *, express: bool) -> None:
        self.stage = Stage()
        self.box = Box(express=express)
        self.stream = 0 if express else 2
        self.home = self.stage.open()
        self.consumer: MailReader = self.stage.consume(self.home)
        self.box.attached = True
        self.hand: dict[int, Delivery] = {}
        self.accepted: set[int] = set()
        self.shown: list[int] = []
        self.stage.take_sent()

    def deliver(self, count: int) -> None:
        ready = self.box.ready()[:count] if self.box.attached else []
        for identity in ready:
            number = self.box.number(identity)
            self.box.held[number] = identity
            self.stage.deliver(self.home, self.consumer, number, identity, stream=self.stream)

    def take(self, count: int) -> None:
        for message in self.stage.shown(self.consumer, count):
            identity = int(message.body)
            assert identity not in self.accepted, f"{identity} was accepted and is shown again"
            assert identity not in self.hand, f"{identity} is in hand and is shown again"
            self.hand[identity] = message
            self.shown.append(identity)

    def settle(self, which: int, *, back: bool) -> None:
        if self.hand:
            identity = sorted(self.hand)[which % len(self.hand)]
            message = self.hand.pop(identity)
            if back:
                self.stage.session.give_back(message._lot, message._index, message._index)
            else:
                self.stage.session.accept(message._lot, message._index, message._index)
                self.accepted.add(identity)
        self.stage.turn()

    def hear(self, *, confirm: bool) -> None:
        """The owner takes what was said to it."""
        for frame in self.stage.take_sent():
            head = frame.head
            if isinstance(head, Settle):
                for number in (n for first, last in head.spans for n in range(first, last + 1)):
                    identity = self.box.held.pop(number, None)
                    self.box.settled.add(number - 100 if number < VOLATILE_FROM else identity or 0)
                if confirm:
                    self.stage.receive(self.home, Settled(head.mailbox, head.consumer, head.spans))
            elif isinstance(head, Return):
                for number in (n for first, last in head.spans for n in range(first, last + 1)):
                    self.box.held.pop(number, None)

    def reconnect(self) -> None:
        """The link breaks, with everything on it; a new owner delivers again whatever is not settled."""
        self.stage.cut(self.home)
        self.stage.take_sent()
        self.box.held.clear()
        self.home = self.stage.open()
        self.stage.receive(self.home, Attached("orders", self.consumer.number))


action = st.tuples(
    st.sampled_from(["deliver", "take", "accept", "accept", "give back", "hear", "mumble", "reconnect"]),
    st.integers(1, 6),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(action, max_size=60), st.booleans())
def test_every_message_is_accepted_once_whatever_breaks(script: list[tuple[str, int]], express: bool) -> None:
    run = Run(express=express)
    for what, amount in script:
        if what == "deliver":
            run.deliver(amount)
        elif what == "take":
            run.take(amount)
        elif what in ("accept", "give back"):
            run.settle(amount, back=what == "give back")
        elif what in ("hear", "mumble"):
            run.hear(confirm=what == "hear")
        else:
            run.reconnect()
    for _ in range(200):
        run.hear(confirm=True)
        run.deliver(1000)
        run.take(1000)
        while run.hand:
            run.settle(0, back=False)
        run.stage.turn(after=1 * MILLISECOND)
        if len(run.box.settled - {0}) == TOTAL:
            break
    assert run.accepted == set(range(1, TOTAL + 1)), "lost"
    for _ in range(8):  # a confirmation that got lost is asked for again within five seconds
        run.stage.receive(run.home, Ping(1))
        run.stage.sleep(1 * SECOND)
        run.hear(confirm=True)
    assert run.stage.session.idle
