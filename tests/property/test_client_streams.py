"""A producing session against an owner that answers as the contract says, over links that break and lose answers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.client.batches import Ticket
from causeway.core.messages import Accepted, Deposit, Ping, Rejected, Resend
from causeway.errors import Code
from causeway.types import MILLISECOND, SECOND, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.stage import Stage


class Owner:
    """The owner's rules for one stream, message by message: what is new, what is a duplicate, what is a gap."""

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered
        self.closed: set[int] = set()
        self.log: list[bytes] = []

    def take(self, head: Deposit, body: bytes) -> Accepted | Resend:
        identity = (head.source, head.incarnation, head.dest, head.stream)
        last = head.first + head.count - 1
        if self.ordered and head.follows and head.follows not in self.closed:
            return Resend(*identity, max(self.closed, default=0))
        # Whatever lies between the batch it follows and itself was acknowledged or given up by the source.
        self.closed |= set(range(1 if self.ordered else head.follows + 1, head.first))
        for number, message in enumerate(bodies.split(body, head.count), head.first):
            if number not in self.closed:
                self.closed.add(number)
                self.log.append(message)
        return Accepted(*identity, head.first, last)


class Run:
    """One session, one owner, and a script of trouble."""

    def __init__(self, *, ordered: bool, topics: int) -> None:
        self.stage = Stage(window_messages=40)
        self.topics = topics
        self.service = ServiceClass.TRANSACTIONAL if ordered else ServiceClass.RECOVERABLE
        self.owner = Owner(ordered=ordered)
        self.tickets: list[Ticket] = []
        self.misled: list[str] = []
        """Texts that came under another topic than theirs."""
        self.home: str | None = self.stage.open()

    def send(self, count: int, timeout: int = 60 * SECOND) -> None:
        for _ in range(count):
            if self.stage.session.room():
                number = len(self.tickets)
                self.tickets.append(
                    self.stage.session.send(
                        self.dest(number),
                        str(number).encode(),
                        service=self.service,
                        timeout=timeout,
                        published=self.topics > 0,
                    )
                )
        self.stage.turn()

    def dest(self, number: int) -> str:
        """A mailbox, or one of several topics of one item, a few messages each."""
        return f"roads/{number // 2 % self.topics}" if self.topics else "orders"

    def look(self, head: Deposit, body: bytes) -> None:
        """A batch says of which topic all its messages are."""
        topic = head.published.topic if head.published is not None else head.dest
        texts = [text.decode() for text in bodies.split(body, head.count)]
        self.misled += [text for text in texts if self.dest(int(text)) != topic]

    def answer(self, count: int, *, code: Code | None = None, lose: bool = False, skip: int = 0) -> None:
        """The owner takes what has arrived, or some of it; its answers may get lost, or the first batches."""
        frames = [frame for frame in self.stage.take_sent() if isinstance(frame.head, Deposit)]
        for index, frame in enumerate(frames):
            head = frame.head
            assert isinstance(head, Deposit)
            if self.home is None or index >= count:
                continue  # lost on the way: the source broker died with it
            if index < skip:
                continue  # lost between brokers, while later ones got through
            if code is not None:
                last = head.first + head.count - 1
                why = Rejected(head.source, head.incarnation, head.dest, head.stream, head.first, last, int(code), "")
                self.stage.receive(self.home, why)
                continue
            self.look(head, frame.body)
            reply = self.owner.take(head, frame.body)
            if not lose:
                self.stage.receive(self.home, reply)
        if len(frames) > count:
            self.cut()

    def cut(self) -> None:
        if self.home is not None:
            self.stage.cut(self.home)
            self.home = None

    def heal(self) -> None:
        if self.home is None:
            self.home = self.stage.open()


action = st.one_of(
    st.tuples(st.just("send"), st.integers(1, 6)),
    st.tuples(st.just("short"), st.integers(1, 3)),
    st.tuples(st.just("answer"), st.integers(0, 5)),
    st.tuples(st.just("lose"), st.integers(1, 5)),
    st.tuples(st.just("skip"), st.integers(1, 3)),
    st.tuples(st.just("refuse"), st.integers(1, 3)),
    st.tuples(st.just("cut"), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 400)),
)


def play(run: Run, script: list[tuple[str, int]]) -> None:
    for what, amount in script:
        if what in ("send", "short"):
            run.send(amount, 60 * SECOND if what == "send" else 300 * MILLISECOND)
        elif what in ("answer", "lose"):
            run.answer(amount, lose=what == "lose")
        elif what == "skip":
            run.answer(1000, skip=amount)
        elif what == "refuse":
            run.answer(amount, code=Code.NO_QUORUM)
        elif what == "cut":
            run.cut()
        else:
            run.stage.sleep(amount * MILLISECOND)
            if run.home not in run.stage.conns:
                run.home = None
            run.heal()
    for attempt in range(100):
        run.heal()
        run.answer(1000, skip=attempt == 0)
        run.stage.receive(run.home or "", Ping(1))
        run.stage.sleep(200 * MILLISECOND)
        if run.home not in run.stage.conns:
            run.home = None
        if run.stage.session.idle:
            return
    raise AssertionError("unacknowledged messages never got through")


@settings(max_examples=150, deadline=None)
@given(st.lists(action, max_size=30), st.booleans(), st.integers(0, 3))
def test_acknowledged_messages_are_stored_once_and_in_order_whatever_breaks(
    script: list[tuple[str, int]], ordered: bool, topics: int
) -> None:
    run = Run(ordered=ordered, topics=topics)
    play(run, script)
    assert run.misled == []
    log = [int(text) for text in run.owner.log]
    assert len(set(log)) == len(log), "stored twice"
    acknowledged = [number for number, ticket in enumerate(run.tickets) if ticket.error is None]
    assert set(acknowledged) <= set(log), "acknowledged and not stored"
    assert all(ticket.done for ticket in run.tickets)
    if ordered:
        assert log == sorted(log), "out of order"
