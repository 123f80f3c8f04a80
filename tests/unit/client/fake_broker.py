"""One broker in a thread, with mailboxes that behave as the contract says: for tests of the clients' outer layers.

Everything stays in memory. `drop_connections` is what a lost broker looks like; `deaf` makes it take and not answer.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from causeway.core.messages import (
    PROTOCOL_VERSION,
    Accepted,
    AskSeat,
    Attach,
    Attached,
    Browse,
    Browsed,
    BrowsedBatch,
    Causal,
    Commit,
    Confirmed,
    Credit,
    Deliver,
    Deposit,
    Detach,
    EndMailbox,
    Find,
    Hello,
    Interest,
    MailboxEnded,
    Message,
    Moved,
    Outcome,
    Ping,
    Pong,
    Published,
    Rejected,
    Return,
    SeatGiven,
    Settle,
    Settled,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
    Welcome,
)
from causeway.errors import Code
from causeway.names import may_end, seat_name
from causeway.topics import covers, items_of
from causeway.trace import Step, TraceRecord
from causeway.types import Flag, Peer, key_of
from causeway.wire import body as bodies
from causeway.wire.codec import decode_frame, encode_frame
from causeway.wire.frame import FrameReader


class Letter:
    """One stored message."""

    def __init__(self, number: int, head: Deposit, index: int, body: bytes) -> None:
        self.number, self.body, self.deliveries = number, body, 0
        self.source, self.incarnation, self.stream = head.source, head.incarnation, head.stream
        self.first, self.flags, self.priority = head.first + index, head.flags, head.priority
        self.published = head.published and msgspec.structs.replace(
            head.published, first=head.published.first + index if head.published.source else 0
        )
        self.at = 1_000_000_000 * number


class Mailbox:
    def __init__(self) -> None:
        self.next_number = 1
        self.ready: deque[Letter] = deque()
        self.interest: Interest | None = None
        self.seen: set[tuple[str, int, int, int]] = set()


class Consumer:
    def __init__(self, session: FakeSession, mailbox: str, number: int, credit: int) -> None:
        self.session, self.mailbox, self.number, self.credit = session, mailbox, number, credit
        self.held: dict[int, Letter] = {}


class FakeSession(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker = broker
        self.reader = FrameReader()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.broker.sessions.append(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.broker.sessions.remove(self)
        self.broker.forget(self)

    def data_received(self, data: bytes) -> None:
        for frame in self.reader.feed(data):
            for head, body in decode_frame(*frame):
                self.broker.take(self, head, body)
        self.broker.pump()

    def say(self, head: Message, body: bytes = b"") -> None:
        self.transport.write(encode_frame(head, body))


class FakeBroker:
    """All mailboxes and connections; runs on an event loop of its own."""

    def __init__(self) -> None:
        self.port = 0
        self.boxes: dict[str, Mailbox] = {}
        self.consumers: list[Consumer] = []
        self.sessions: list[FakeSession] = []
        self.committed: dict[tuple[str, int, int], bool] = {}
        self.ttls: list[tuple[str, int]] = []
        """Destination and time to live of every batch."""
        self.page_messages_max = 1000
        self.browsed_after: list[int] = []
        """Of every question for a page."""
        self.deaf = False
        self.seat = seat_name("fake")
        """Of every name that is asked for; empty for none."""
        self.causal: list[tuple[Deposit, Causal]] = []
        """What came in causal order."""
        self.forwarded: dict[str, int] = {}
        """Messages of each item."""
        self.history = ""
        """What holds the past of whoever subscribes with replay."""
        self.attaches: list[Attach] = []
        self.attach_refusal: Moved | None = None
        self.ended: list[str] = []
        self.refusal: Code | None = None
        self.refused = ""
        """Only destinations that begin so are."""
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"causeway://127.0.0.1:{self.port}"

    # Life ------------------------------------------------------------------------------------------------------
    @classmethod
    @contextmanager
    def running(cls) -> Iterator[FakeBroker]:
        broker = cls()
        broker._thread.start()
        broker._run(broker._listen())
        try:
            yield broker
        finally:
            broker._run(broker._close())
            broker._loop.call_soon_threadsafe(broker._loop.stop)
            broker._thread.join()
            broker._loop.close()

    def drop_connections(self) -> None:
        """Every client loses its connection."""

        async def drop() -> None:
            for session in list(self.sessions):
                session.transport.abort()
            await asyncio.sleep(0)

        self._run(drop())

    def stored(self, mailbox: str) -> list[bytes]:
        """What lies in a mailbox, held by consumers or not."""
        letters = [*self.box(mailbox).ready]
        letters += [one for c in self.consumers if c.mailbox == mailbox for one in c.held.values()]
        return [letter.body for letter in sorted(letters, key=lambda letter: letter.number)]

    def _run(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)  # type: ignore[arg-type]

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: FakeSession(self), "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for session in list(self.sessions):
            session.transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)

    # Frames ----------------------------------------------------------------------------------------------------
    def box(self, name: str) -> Mailbox:
        return self.boxes.setdefault(name, Mailbox())

    def take(self, session: FakeSession, head: Message, body: bytes) -> None:
        match head:
            case Hello():
                me = Peer(key_of("fake"), "fake", "127.0.0.1", self.port, 1)
                session.say(Welcome(PROTOCOL_VERSION, me, 1))
            case Ping():
                session.say(Pong(head.nonce))
            case _ if self.deaf:
                pass
            case Deposit():
                self._deposit(session, head, body)
            case AskSeat():
                refusal = 0 if self.seat else int(Code.NO_SEAT)
                session.say(SeatGiven(head.token, self.seat, refusal, "no broker has a seat" if refusal else ""))
            case Attach():
                self._attach(session, head)
            case Credit():
                self._consumer(session, head.consumer).credit = head.credit
            case Detach():
                self.forget(session, head.consumer)
            case Settle():
                self._settle(session, head)
            case Return():
                self._give_back(session, head)
            case Browse():
                self._browse(session, head)
            case Commit():
                self._commit(session, head, body)
            case StatusRequest():
                session.say(StatusReply(head.token, head.after), msgspec.json.encode(self.status(head.after)))
            case StoryRequest():
                record = TraceRecord(5, "fake", Step.STORED, head.source, 1, head.dest, head.stream, head.id, head.id)
                session.say(StoryReply(head.token), msgspec.msgpack.encode([record]))
            case EndMailbox():
                if may_end(head.mailbox):
                    self.boxes.pop(head.mailbox, None)
                else:
                    self.box(head.mailbox).interest = None
                self.ended.append(head.mailbox)
                session.say(MailboxEnded(head.mailbox, head.token))
            case Find():
                session.say(Moved(head.mailbox, Peer(key_of("fake"), "fake", "127.0.0.1", self.port, 1)))
            case _:
                pass

    def _attach(self, session: FakeSession, head: Attach) -> None:
        self.attaches.append(head)
        if self.attach_refusal is not None:
            session.say(msgspec.structs.replace(self.attach_refusal, mailbox=head.mailbox))
            return
        consumer = Consumer(session, head.mailbox, head.consumer, head.window or head.credit)
        numbers: tuple[tuple[str, int], ...] = ()
        if head.interest is not None:
            self.box(head.mailbox).interest = head.interest
            if head.interest.replay:
                numbers = tuple((item, self.forwarded.get(item, 0)) for item in items_of(head.interest.pattern))
            if head.interest.keep:
                self.history = head.mailbox
                consumer.credit = 0
        self.consumers.append(consumer)
        session.say(Attached(head.mailbox, head.consumer, numbers, self.history if numbers else "", window=head.window))

    def status(self, after: str) -> dict[str, object]:
        """One mailbox per page."""
        behind = sorted(name for name in self.boxes if name > after)
        entries = [{"name": name} for name in behind[:1]]
        left_out = len(behind[1:])
        following = behind[0] if left_out else None
        return {"broker": "fake", "mailboxes": entries, "groups_truncated": left_out, "next": following}

    def _deposit(self, session: FakeSession, head: Deposit, body: bytes) -> None:
        self.ttls.append((head.dest, head.ttl))
        last = head.first + head.count - 1
        identity = (head.source, head.incarnation, head.dest, head.stream, head.first, last)
        if self.refusal is not None and head.dest.startswith(self.refused):
            session.say(Rejected(*identity, int(self.refusal), "as the test wants it"))
            return
        if head.causal is not None:
            self._hand_on(head, head.causal, body)
        else:
            self._store(head, body)
        if head.flags & Flag.RELIABLE:
            session.say(Accepted(*identity))

    def _store(self, head: Deposit, body: bytes) -> None:
        if head.published is not None and not head.published.source:
            self._forward(head, head.published.topic, body)
            return
        box = self.box(head.dest)
        for index, message in enumerate(bodies.split(body, head.count)):
            known = (head.source, head.incarnation, head.stream, head.first + index)
            if known not in box.seen:
                box.seen.add(known)
                box.ready.append(Letter(box.next_number, head, index, message))
                box.next_number += 1

    def _hand_on(self, head: Deposit, causal: Causal, body: bytes) -> None:
        """The seat passes a batch on to its mailbox, or to whoever wants it in causal order, under its own numbers."""
        self.causal.append((head, causal))
        topic = "" if head.published is None else head.published.topic
        wanting = [name for name, box in self.boxes.items() if box.interest is not None and box.interest.seat]
        wanting = [name for name in wanting if topic and covers(self.boxes[name].interest.pattern, topic)]  # type: ignore[union-attr]
        whose = (head.source, head.incarnation, causal.service, head.first)
        for name in wanting if topic else [causal.dest]:
            number = self.forwarded.get(self.seat, 0)
            self.forwarded[self.seat] = number + head.count
            published = Published(topic, *whose, number, (), 1_000_000_000 * (number + 1))
            how = (number + 1, head.count, 0, head.flags, head.priority, head.ttl, b"", published)
            self._store(Deposit(self.seat, 1, name, 2, *how), body)

    def _forward(self, head: Deposit, topic: str, body: bytes) -> None:
        """An item passes a batch on to whoever wants it, under its own numbers."""
        number = self.forwarded.get(head.dest, 0)
        self.forwarded[head.dest] = number + head.count
        whose, at = (head.source, head.incarnation, head.stream, head.first), 1_000_000_000 * (number + 1)
        published = Published(topic, *whose, number, (), at)
        for name, box in list(self.boxes.items()):
            if box.interest is not None and not box.interest.seat and covers(box.interest.pattern, topic):
                how = (number + 1, head.count, 0, head.flags, head.priority, head.ttl, b"", published)
                self._store(Deposit(head.dest, 1, name, 2, *how), body)

    def pump(self) -> None:
        for consumer in self.consumers:
            ready = self.box(consumer.mailbox).ready
            while ready and len(consumer.held) < consumer.credit:
                letter = ready.popleft()
                consumer.held[letter.number] = letter
                head = Deliver(
                    consumer.mailbox,
                    consumer.number,
                    letter.number,
                    letter.source,
                    letter.incarnation,
                    letter.stream,
                    letter.first,
                    1,
                    letter.flags,
                    letter.priority,
                    letter.deliveries,
                    letter.at,
                    0,
                    letter.published,
                )
                consumer.session.say(head, bodies.join([letter.body]))

    def _consumer(self, session: FakeSession, number: int) -> Consumer:
        return next(c for c in self.consumers if c.session is session and c.number == number)

    def _settle(self, session: FakeSession, head: Settle) -> None:
        # Like a broker, it lets an application settle what it held before a failure, attached or not.
        held = {n: c.held for c in self.consumers if c.session is session and c.number == head.consumer for n in c.held}
        for number in [n for first, last in head.spans for n in range(first, last + 1)]:
            self._finish(head.mailbox, held[number].pop(number) if number in held else None, number)
        session.say(Settled(head.mailbox, head.consumer, head.spans))

    def _finish(self, mailbox: str, letter: Letter | None, number: int) -> None:
        box = self.box(mailbox)
        box.ready = deque(one for one in box.ready if one.number != number)
        if letter is not None and letter.flags & Flag.CONFIRM:
            note = Confirmed(letter.source, letter.incarnation, mailbox, letter.stream, letter.first, letter.first)
            for session in self.sessions:
                session.say(note)

    def _give_back(self, session: FakeSession, head: Return) -> None:
        consumer = self._consumer(session, head.consumer)
        for number in [n for first, last in head.spans for n in range(first, last + 1)]:
            letter = consumer.held.pop(number)
            letter.deliveries += 1
            self.box(head.mailbox).ready.appendleft(letter)

    def forget(self, session: FakeSession, number: int | None = None) -> None:
        for consumer in list(self.consumers):
            if consumer.session is session and number in (None, consumer.number):
                self.consumers.remove(consumer)
                box = self.box(consumer.mailbox)
                box.ready = deque(sorted((*box.ready, *consumer.held.values()), key=lambda letter: letter.number))

    def _browse(self, session: FakeSession, head: Browse) -> None:
        self.browsed_after.append(head.after)
        behind = [letter for letter in self.box(head.mailbox).ready if letter.number > head.after]
        found = behind[: min(head.limit, self.page_messages_max)]
        parts = [bodies.join([letter.body]) for letter in found]
        batches = tuple(
            BrowsedBatch(
                letter.number,
                letter.source,
                letter.incarnation,
                letter.stream,
                letter.first,
                1,
                letter.flags,
                letter.priority,
                letter.deliveries,
                len(part),
                letter.at,
                0,
                letter.published,
            )
            for letter, part in zip(found, parts, strict=True)
        )
        page = Browsed(head.mailbox, head.token, batches, len(found) == len(behind), head.after)
        session.say(page, b"".join(parts))

    def _commit(self, session: FakeSession, head: Commit, body: bytes) -> None:
        identity = (head.source, head.incarnation, head.number)
        if self.refusal is not None:
            session.say(Outcome(*identity, False, int(self.refusal), "as the test wants it"))
            return
        if identity not in self.committed:
            self.committed[identity] = True
            at = 0
            for part in head.sends:
                deposit = Deposit(
                    head.source,
                    head.incarnation,
                    part.dest,
                    3,
                    part.first,
                    part.count,
                    0,
                    part.flags,
                    part.priority,
                    part.ttl,
                    b"",
                    part.published,
                )
                self._store(deposit, body[at : at + part.size])
                at += part.size
            for settle in head.settles:
                for number in [n for first, last in settle.spans for n in range(first, last + 1)]:
                    for consumer in self.consumers:
                        if consumer.mailbox == settle.mailbox:
                            consumer.held.pop(number, None)
        session.say(Outcome(*identity, True))
