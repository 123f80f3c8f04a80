"""A stand-in for the office and the replica group around one mailbox, for tests: operations in order, rows in a dict.

`append` puts an operation on its way (its rows are on the owner's own disk at once), `commit` lets it arrive,
`crash` rebuilds the mailbox from what had arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from causeway.config import BrokerConfig
from causeway.core.mail.answers import Admission, Decided, Expired, Returned, Settlement, Verdict
from causeway.core.mail.browser import BrowseRange, Glance, Shown
from causeway.core.mail.consumers import Terms
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.rows import StoredBatch, TxId
from causeway.core.messages import Deliver, Deposit, SendPart, SettlePart, TxPrepare
from causeway.store.base import Put, Row, Write
from causeway.types import Flag, ServiceClass, Span, key_of
from causeway.wire.body import join, split
from causeway.wire.headers import split_headers

NAME = "orders"
GROUP = key_of(NAME)
ORIGIN = b"b" * 16
RECOVERABLE = int(ServiceClass.RECOVERABLE)
TRANSACTIONAL = int(ServiceClass.TRANSACTIONAL)
EXPRESS = int(ServiceClass.EXPRESS)
COMMITTED = int(ServiceClass.COMMITTED)
RELIABLE = int(Flag.RELIABLE)
CONFIRM = int(Flag.CONFIRM)
HEADERS = int(Flag.HEADERS)


def never(conn: int) -> bool:
    return False


def payload(source: str, stream: int, number: int, size: int = 8) -> bytes:
    """What message `number` of a stream says: unique, so that a test can tell it from any other."""
    return f"{source}/{stream}/{number}".encode().ljust(size, b".")


def deposit(first: int, count: int = 1, **fields: object) -> Deposit:
    """A batch of source `a`, recoverable and reliable unless told otherwise."""
    values: dict[str, object] = {
        "source": "a",
        "incarnation": 1,
        "dest": NAME,
        "stream": RECOVERABLE,
        "first": first,
        "count": count,
        "follows": 0,
        "flags": RELIABLE,
        "priority": 4,
        "ttl": 0,
        "origin": ORIGIN,
    }
    values.update(fields)
    return Deposit(**values)  # type: ignore[arg-type]


def body_of(head: Deposit, size: int = 8) -> bytes:
    """Bodies, with headers if the flags say so: the id as `n`, and whether it can be divided by three."""
    found = [payload(head.source, head.stream, head.first + n, size) for n in range(head.count)]
    if head.flags & HEADERS:
        ids = range(head.first, head.first + head.count)
        blocks = [msgspec.msgpack.encode({"n": n, "third": n % 3 == 0}) for n in ids]
        found = [len(block).to_bytes(2, "big") + block + text for block, text in zip(blocks, found, strict=True)]
    return join(found)


class Postroom:
    """One mailbox with its group."""

    def __init__(self, **settings: object) -> None:
        self.config = BrokerConfig(name="broker", **settings)  # type: ignore[arg-type]
        self.mailbox = Mailbox(NAME, GROUP, self.config)
        self.now = 1_000
        self.position = 1
        self.rows: dict[bytes, Row] = {}
        """What all members have."""
        self.disk: dict[bytes, Row] = {}
        """What the owner itself has: operations on their way included."""
        self.operations: deque[tuple[int, list[Write]]] = deque()
        self.acknowledged: list[StoredBatch] = []

    # The group -------------------------------------------------------------------------------------------------
    def append(self, writes: Sequence[Write], span: int = 1) -> int:
        """Send an operation on its way."""
        seq = self.position
        if writes:
            self.position += span
            apply(self.disk, writes)
            self.operations.append((seq, list(writes)))
        return seq

    def commit(self, count: int = 1 << 30) -> None:
        """Let operations arrive, all unless told otherwise."""
        while self.operations and count > 0:
            count -= 1
            seq, writes = self.operations.popleft()
            apply(self.rows, writes)
            batch = self.mailbox.committed(seq)
            if batch is not None:
                self.acknowledged.append(batch)

    def crash(self, arrived: int = 0) -> None:
        """The owner dies with its memory; `arrived` of the operations on their way had reached everybody.

        The numbers of those that had not are taken again.
        """
        for _ in range(min(arrived, len(self.operations))):
            apply(self.rows, self.operations.popleft()[1])
        if self.operations:
            self.position = self.operations[0][0]
        self.operations.clear()
        self.disk = dict(self.rows)
        self.mailbox = Mailbox(NAME, GROUP, self.config)
        bulk, next_key = scan(self.disk, b"b", b"c", self.config.window_bytes)
        rest = [self.disk[key] for key in sorted(self.disk) if key >= b"c"]
        self.mailbox.restore(bulk + rest, next_key)

    def page(self, bytes_max: int = 1 << 30) -> int:
        """Load what the mailbox wants until it wants nothing; how many pages that took."""
        count = 0
        while (wanted := self.mailbox.page_wanted()) is not None:
            self.mailbox.page_in(*scan(self.disk, *wanted, bytes_max))
            count += 1
        return count

    def look(self, question: BrowseRange, bytes_max: int = 1 << 30) -> tuple[Glance, int]:
        """What one question shows, and how many pages that took; a page that shows nothing is followed by the next."""
        for pages in range(1000):
            glance = self.mailbox.browser.browse(question, self.now)
            if glance.shown or glance.hidden is None:
                return glance, pages
            start = self.mailbox.browser.look(glance.hidden)
            glance = self.mailbox.browser.page(question, *scan(self.disk, start, b"c", bytes_max), self.now)
            if glance.shown or glance.hidden is None:
                return glance, pages + 1
            question = question.behind(glance.hidden)
        raise AssertionError("looks never end")

    def browse(self, limit: int = 1 << 30, bytes_max: int = 1 << 30) -> list[Shown]:
        """Everything there is to see, `limit` messages at a time."""
        found: list[Shown] = []
        question = BrowseRange(-1, limit)
        for _ in range(10_000):
            glance, _ = self.look(question, bytes_max)
            found += glance.shown
            if not glance.shown or (glance.hidden is None and sum(one.piece.count for one in glance.shown) < limit):
                return found
            last = glance.shown[-1]
            question = BrowseRange(last.piece.seq + last.piece.count - 1, limit, last.row)
        raise AssertionError("browsing never ends")

    # The office ------------------------------------------------------------------------------------------------
    def send(self, head: Deposit, size: int = 8) -> Admission:
        """A batch arrives, and is stored if it is new; nothing is committed."""
        body = body_of(head, size)
        admission = self.mailbox.admit(head, len(body), self.now)
        if admission.verdict == Verdict.NEW:
            writes = self.mailbox.store(head, body, self.position, self.now, admission.skip)
            self.append(writes, head.count - admission.skip)
        return admission

    def stored(self, first: int, count: int = 1, **fields: object) -> int:
        """A batch is sent and committed; its first number."""
        seq = self.position
        assert self.send(deposit(first, count, **fields)).verdict == Verdict.NEW
        self.commit()
        return seq

    def hold(self, head: Deposit, size: int = 8) -> int | None:
        return self.mailbox.hold(head, body_of(head, size), self.now)

    def relay(self, head: Deposit, size: int = 8) -> tuple[int, Deliver] | None:
        return self.mailbox.relay(head, body_of(head, size), self.now, never)

    def store_passing(self) -> None:
        for batch in self.mailbox.unpass():
            self.append(self.mailbox.store_passed(batch, self.position), batch.count)

    def attach(self, conn: int = 2, consumer: int = 1, credit: int = 1000, selector: str = "") -> None:
        self.mailbox.attach(conn, consumer, credit, self.now, Terms(selector))

    def detach(self, conn: int = 2, consumer: int = 1) -> None:
        self.append(self.mailbox.detach(conn, consumer))

    def pump(self) -> list[Deliver]:
        """What goes out now; bodies are checked against what was sent."""
        return [head for _, head in self.pump_to()]

    def pump_to(self) -> list[tuple[int, Deliver]]:
        sent = []
        for conn, head, body in self.mailbox.pump(self.now, never):
            for n, text in enumerate(split(body, head.count), head.first):
                said = split_headers(text)[1] if head.flags & HEADERS else text
                assert said.startswith(payload(head.source, head.stream, n, 0))
            sent.append((conn, head))
        return sent

    def settle(self, *spans: Span, conn: int = 2, consumer: int = 1) -> Settlement:
        settlement = self.mailbox.settle(conn, consumer, spans, self.now)
        self.append(settlement.writes)
        return settlement

    def give_back(self, *spans: Span, conn: int = 2, consumer: int = 1) -> Returned:
        returned = self.mailbox.give_back(conn, consumer, spans, self.now)
        self.append(returned.writes)
        return returned

    def expire(self) -> Expired:
        expired = self.mailbox.expire(self.now)
        self.append(expired.writes)
        return expired

    def sweep(self, bytes_max: int = 1 << 30) -> Expired | None:
        """One page of what has expired on disk, if something is due."""
        first = self.mailbox.sweeper.begin(self.now)
        if first is None:
            return None
        found = scan(self.disk, self.mailbox.browser.look(first), b"c", bytes_max)
        expired = self.mailbox.sweeper.page(*found, self.now)
        self.append(expired.writes)
        return expired

    def prepare(self, tx: TxPrepare, body: bytes = b"") -> list[Write]:
        writes = self.mailbox.participant.prepare(tx, body, self.position, self.now)
        self.append(writes)
        return writes

    def decide(self, txid: TxId, committed: bool) -> Decided:
        decided = self.mailbox.participant.decide(txid, self.position, self.now, committed=committed)
        self.append(decided.writes, decided.span)
        return decided


def transaction(
    number: int = 1, attempt: int = 1, sends: Sequence[Deposit] = (), settles: Sequence[Span] = ()
) -> TxPrepare:
    """One mailbox's part of a transaction of source `a`."""
    parts = tuple(
        SendPart(NAME, s.first, s.count, s.flags, s.priority, s.ttl, len(body_of(s)), delay=s.delay) for s in sends
    )
    locks = (SettlePart(NAME, tuple(settles)),) if settles else ()
    return TxPrepare("a", 1, number, attempt, NAME, parts, locks, ORIGIN)


def apply(rows: dict[bytes, Row], writes: Sequence[Write]) -> None:
    """What a store does with an operation."""
    for write in writes:
        assert write.group == GROUP
        if isinstance(write, Put):
            rows[write.key] = Row(write.key, write.seq, write.value)
        elif write.stop:
            for key in [key for key in rows if write.start <= key < write.stop]:
                del rows[key]
        else:
            rows.pop(write.start, None)


def scan(rows: dict[bytes, Row], start: bytes, stop: bytes, bytes_max: int) -> tuple[list[Row], bytes | None]:
    """What a store finds: rows in order until `bytes_max` is passed."""
    found: list[Row] = []
    size = 0
    for key in sorted(key for key in rows if start <= key < stop):
        if size >= bytes_max:
            return found, key
        found.append(rows[key])
        size += len(rows[key].value)
    return found, None


def seen(shown: Sequence[Shown]) -> list[int]:
    """Mailbox numbers of everything shown."""
    return [one.piece.seq + n for one in shown for n in range(one.piece.count)]


def numbers(heads: Sequence[Deliver]) -> list[int]:
    """Mailbox numbers of everything delivered."""
    return [head.seq + n for head in heads for n in range(head.count)]


def ids(heads: Sequence[Deliver]) -> list[int]:
    """Message ids of everything delivered."""
    return [head.first + n for head in heads for n in range(head.count)]
