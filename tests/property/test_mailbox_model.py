"""A mailbox against the obvious one: random senders, consumers, transactions, crashes.

Nothing acknowledged is lost, nothing settled comes back, nothing is taken for a duplicate that is none, order holds,
credit is never exceeded, numbers are stable. Every delivery and every verdict is compared with the oracle.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from causeway.core.mail.answers import Expired
from causeway.core.mail.browser import BrowseRange, Glance
from causeway.core.mail.rows import TxId
from causeway.core.mail.sweeper import SWEEP_AGAIN
from causeway.core.messages import Deliver
from causeway.errors import Code
from causeway.limits import CREDIT_MAX
from causeway.store.base import Row
from causeway.types import VOLATILE_FROM
from tests.property.mailbox_oracle import WANTS, Book, Message, StreamKey
from tests.property.mailbox_senders import DELIVERIES_MAX, FLAGS, PRIORITY, Senders, keys
from tests.unit.core.mail.postroom import COMMITTED, EXPRESS, TRANSACTIONAL, body_of, deposit, scan, seen, transaction

holders = st.sampled_from([(2, 1), (2, 1), (2, 2), (4, 1)])


class MailboxMachine(Senders):
    """The consuming side, paging, transactions and failures."""

    page: tuple[bytes, tuple[list[Row], bytes | None] | None] | None = None
    looking: tuple[BrowseRange, bytes, tuple[list[Row], bytes | None] | None] | None = None

    sweeping: tuple[bytes, tuple[list[Row], bytes | None] | None] | None = None

    # Consumers -------------------------------------------------------------------------------------------------
    @rule(holder=holders, credit=st.integers(1, 12))
    def attach(self, holder: tuple[int, int], credit: int) -> None:
        credit = max(credit, len(self.oracle.holds(holder)))
        self.room.attach(*holder, credit)
        self.oracle.credit[holder] = credit

    @rule(holder=holders, credit=st.integers(1, 12), selector=st.sampled_from(sorted(WANTS)))
    def attach_anew(self, holder: tuple[int, int], credit: int, selector: str) -> None:
        """As an owner does it for a consumer that begins anew, which may have another selector then."""
        self.detach(holder)
        self.room.attach(*holder, credit, selector)
        self.oracle.credit[holder] = credit
        if selector:
            self.oracle.selectors[holder] = selector
            self.oracle.divided = True

    @rule(selector=st.sampled_from(sorted(WANTS)), credit=st.lists(st.integers(1, 4), min_size=1, max_size=3))
    def only_selectors(self, selector: str, credit: list[int]) -> None:
        for at, holder in enumerate([(2, 1), (2, 2), (4, 1)]):
            if at < len(credit):
                self.attach_anew(holder, credit[at], selector or "third")
            else:
                self.detach(holder)

    @rule(
        key=keys,
        counts=st.lists(st.integers(1, 6), min_size=1, max_size=3),
        comers=st.lists(st.tuples(st.sampled_from(sorted(WANTS)), st.sampled_from([2, 12])), min_size=2, max_size=4),
        data=st.data(),
    )
    def select_in_turn(
        self, key: StreamKey, counts: list[int], comers: list[tuple[str, int]], data: st.DataObject
    ) -> None:
        """What some do not want, or not yet, waits for those who come later, and is settled or locked meanwhile."""
        for holder in list(self.oracle.credit):
            self.detach(holder)
        self.send_and_commit(key, counts)
        for at, (selector, credit) in enumerate(comers):
            self.attach_anew([(2, 1), (2, 2), (4, 1)][at % 3], credit, selector)
            self.pump_all()
            match data.draw(st.integers(0, 3)):
                case 0:
                    self.settle_some(data)
                case 1:
                    self.settle_held((2, 1), 3)
                case 2:
                    self.prepare(data, 0, 0)
                case _:
                    self.give_back(data, (2, 1))

    @rule(holder=holders)
    def detach(self, holder: tuple[int, int]) -> None:
        before, numbers = len(self.room.operations), self.oracle.holds(holder)
        self.room.append(self.room.mailbox.detach(*holder))
        for number in numbers:
            self.oracle.come_back(number)
        self.oracle.leave(holder)
        self.operate(before, self.oracle.record(numbers))

    @rule(everything=st.booleans())
    def deliver(self, everything: bool) -> None:
        if everything:
            self.pump_all()
        else:
            self.pump()

    def pump(self) -> list[Deliver]:
        sent = self.room.pump_to()
        for conn, head in sent:
            self.oracle.delivered(conn, head, self.room.now)
        heads = [head for _, head in sent]
        assert [-head.priority for head in heads] == sorted(-head.priority for head in heads)
        for key in PRIORITY:
            firsts = [head.first for head in heads if (head.source, head.stream) == key]
            assert key[1] != TRANSACTIONAL or firsts == sorted(firsts)
        return heads

    @rule(key=keys, counts=st.lists(st.integers(1, 3), min_size=1, max_size=4))
    def pass_through(self, key: StreamKey, counts: list[int]) -> None:
        """An online consumer, nothing stored: batches pass."""
        self.commit(100)
        self.attach_anew((2, 1), 12, "")
        self.pump_all()
        for count in counts:
            self.send_new(key, count, (0, 0), "t")
            self.pump()

    @rule(counts=st.lists(st.integers(1, 4), min_size=1, max_size=4), alone=st.booleans())
    def relay_express(self, counts: list[int], alone: bool) -> None:
        """The short way, as an owner tries it first; the ordinary one where that is not open."""
        if alone:
            self.commit(100)
            self.detach((2, 2))
            self.detach((4, 1))
            if (2, 1) in self.oracle.selectors:
                self.detach((2, 1))
            self.attach((2, 1), 12)
            self.send_express(1, 0, 0)
            self.pump_all()
        for count in counts:
            first, held = self.express_id, dict(self.oracle.held)
            head = deposit(first, count, stream=EXPRESS, priority=0, flags=0)
            relayed = self.room.relay(head)
            if relayed is None:
                closed = count > 12 - len(self.oracle.holds((2, 1))) or self.room.mailbox.statistics().starved
                closed |= self.oracle.is_barred()
                assert closed or not alone, "the short way should be open"
                self.send_express(count, 0, 0)
                alone = False
                continue
            conn, sent = relayed
            waiting = [self.oracle.memory.messages[n] for n in self.oracle.deliverable(self.room.now)]
            assert all(message.ready for message in waiting), "it has overtaken something"
            self.hold_express(sent.seq, list(range(first, first + count)))
            self.express_id += count
            self.oracle.delivered(conn, sent, self.room.now)
            assert {*self.oracle.held} == {*held, *range(sent.seq, sent.seq + count)}

    @rule(at_once=st.booleans())
    def ask_for_page(self, at_once: bool) -> None:
        """A load begins; it reads the disk now, or (with rows that are not committed) when it is answered."""
        wanted = self.room.mailbox.page_wanted()
        if wanted is not None:
            assert self.page is None
            self.page = (wanted[0], scan(self.room.disk, wanted[0], b"c", 200) if at_once else None)

    @rule()
    def answer_page(self) -> None:
        if self.page is not None:
            start, found = self.page
            self.room.mailbox.page_in(*(found or scan(self.room.disk, start, b"c", 200)))
            self.page = None

    # Looking ---------------------------------------------------------------------------------------------------
    @rule(after=st.integers(-1, 60), limit=st.sampled_from([1, 4, 100]), at_once=st.booleans())
    def ask_to_look(self, after: int, limit: int, at_once: bool) -> None:
        """Memory answers at once; else a load begins, which reads the disk now or when it is answered."""
        if self.looking is not None or self.sweeping is not None:
            return
        known = sorted(self.oracle.memory.messages)
        question = BrowseRange(known[after % len(known)] if known and after >= 0 else -1, limit)
        glance = self.room.mailbox.browser.browse(question, self.room.now)
        if glance.shown or glance.hidden is None:
            self.check_glance(question, glance)
            return
        start = self.room.mailbox.browser.look(glance.hidden)
        self.looking = (question, start, scan(self.room.disk, start, b"c", 200) if at_once else None)

    @rule()
    def answer_look(self) -> None:
        if self.looking is not None:
            question, start, found = self.looking
            found = found or scan(self.room.disk, start, b"c", 200)
            self.looking = None
            self.check_glance(question, self.room.mailbox.browser.page(question, *found, self.room.now))

    @rule(limit=st.sampled_from([1, 5, 1000]), bytes_max=st.sampled_from([1, 200, 1 << 30]))
    def browse_everything(self, limit: int, bytes_max: int) -> None:
        self.answer_look()
        self.answer_sweep()
        shown = self.room.browse(limit, bytes_max)
        assert seen(shown) == self.oracle.visible(-1, self.room.now)
        for one in shown:
            for at in range(one.piece.count):
                message = self.oracle.memory.messages[one.piece.seq + at]
                assert message.identity == (one.piece.source, one.piece.stream, one.piece.first + at)
                assert message.deliveries == one.deliveries

    def check_glance(self, question: BrowseRange, glance: Glance) -> None:
        """What is shown is what comes next, and all of it when nothing is hidden behind it."""
        shown, visible = seen(glance.shown), self.oracle.visible(question.after, self.room.now)
        assert shown == visible[: len(shown)]
        assert len(shown) <= question.limit
        if glance.hidden is None and len(shown) < question.limit:
            assert shown == visible

    def pump_all(self) -> list[Deliver]:
        """With pages and expiries, until nothing moves: then nobody who has credit waits for anything."""
        self.answer_page()
        heads: list[Deliver] = []
        for _ in range(500):
            self.expire()
            self.room.page(200)
            more = self.pump()
            heads += more
            due, again = self.room.mailbox.next_expiry(), self.room.mailbox.next_delivery()
            busy = any(one is not None and one <= self.room.now for one in (due, again))
            if not more and not busy and not self.room.page(200):
                break
        else:
            raise AssertionError("deliveries never end")
        if not self.room.mailbox.statistics().starved:
            assert self.oracle.missed(self.room.now) == []
        return heads

    @rule()
    def expire(self) -> None:
        due = self.room.mailbox.next_expiry()
        if due is None or due > self.room.now:
            return
        before = len(self.room.operations)
        self.expired(before, self.room.expire())

    @rule(at_once=st.booleans())
    def ask_to_sweep(self, at_once: bool) -> None:
        """As `ask_to_look`, for what has expired on disk."""
        if self.looking is None and self.sweeping is None:
            first = self.room.mailbox.sweeper.begin(self.room.now)
            if first is not None:
                start = self.room.mailbox.browser.look(first)
                self.sweeping = (start, scan(self.room.disk, start, b"c", 200) if at_once else None)

    @rule()
    def answer_sweep(self) -> None:
        if self.sweeping is not None:
            start, found = self.sweeping
            self.sweeping = None
            before = len(self.room.operations)
            expired = self.room.mailbox.sweeper.page(*(found or scan(self.room.disk, start, b"c", 200)), self.room.now)
            self.room.append(expired.writes)
            self.expired(before, expired)

    def expired(self, before: int, expired: Expired) -> None:
        """What the mailbox ended was to be ended, and is for the oracle too."""
        ended = []
        for piece in expired.pieces:
            for at in range(piece.last - piece.first + 1):
                number = piece.seq + at
                message = self.oracle.memory.messages[number]
                assert message.identity == (piece.source, piece.stream, piece.first + at)
                assert 0 < message.expires <= self.room.now
                assert number not in self.oracle.held
                assert number not in self.oracle.memory.locked()
                self.oracle.end(number)
                ended.append(number)
        self.operate(before, self.oracle.record(ended))

    @rule(duration=st.integers(5, 30) | st.just(SWEEP_AGAIN))
    def wait(self, duration: int) -> None:
        self.room.now += duration

    def some_numbers(self, data: st.DataObject, *, known_only: bool = False) -> list[int]:
        """A stretch of numbers, the old ones of unpassed batches included."""
        known = sorted([*self.oracle.memory.messages, *self.oracle.alias])
        if not known:
            return []
        first = known[data.draw(st.integers(0, len(known) - 1))]
        numbers = list(range(first, first + data.draw(st.integers(1, 6))))
        if known_only:
            numbers = [number for at, number in enumerate(numbers) if all(one in known for one in numbers[: at + 1])]
        locked = self.oracle.memory.locked() | self.oracle.memory.dead
        # A lock or a sentence on a message that is not in memory is not seen by a settlement that comes early.
        return [] if self.paged and any(self.oracle.resolve(n) in locked for n in numbers) else numbers

    @rule(data=st.data())
    def settle_some(self, data: st.DataObject) -> None:
        self.settle(self.some_numbers(data))

    @rule(holder=holders, count=st.sampled_from([1, 3, 100]))
    def settle_held(self, holder: tuple[int, int], count: int) -> None:
        """What a good consumer does."""
        self.pump()
        locked = self.oracle.memory.locked()
        for number in [n for n in self.oracle.holds(holder) if n not in locked][:count]:
            self.settle([number])

    def settle(self, numbers: list[int]) -> None:
        if not numbers:
            return
        before = len(self.room.operations)
        passing = dict(self.oracle.passing)
        settlement = self.room.settle((numbers[0], numbers[-1]))
        messages = dict(self.oracle.memory.messages)
        ended = self.oracle.settle(numbers)
        confirmed = [(p.seq + at, p.stored) for p in settlement.confirm for at in range(p.last - p.first + 1)]
        if not self.paged:
            assert sorted(confirmed) == sorted((n, n < VOLATILE_FROM) for n in ended)
        for key, _, batch in passing.values():
            self.acknowledge(key, [messages[n].id for n in batch if n in ended])
        self.operate(before, self.oracle.record(ended))

    @rule(data=st.data(), holder=holders)
    def give_back(self, data: st.DataObject, holder: tuple[int, int]) -> None:
        numbers = self.some_numbers(data)
        held = self.oracle.holds(holder)
        if held and data.draw(st.booleans()):
            numbers = [held[0]]
        if not numbers:
            return
        before, locked = len(self.room.operations), self.oracle.memory.locked()
        returned = self.room.give_back((numbers[0], numbers[-1]), conn=holder[0], consumer=holder[1])
        back = [n for n in map(self.oracle.resolve, numbers) if self.oracle.held.get(n) == holder]
        # What a transaction has locked leaves its holder, and is judged no further before the transaction has ended.
        dead = [n for n in back if self.oracle.count_return(n, 0 if n in locked else DELIVERIES_MAX)]
        assert [batch.seq + at for batch in returned.dead for at in range(batch.count)] == dead
        self.operate(before, self.oracle.record(back))

    @rule()
    def bury(self) -> None:
        numbers = sorted(self.oracle.memory.dead)
        named = [n for batch in self.room.mailbox.condemned() for n in range(batch.seq, batch.seq + batch.count)]
        assert set(named) <= set(numbers)
        before = len(self.room.operations)
        settlement = self.room.mailbox.settle_numbers([(n, n) for n in named])
        self.room.append(settlement.writes)
        for number in named:
            message = self.oracle.memory.messages[number]
            self.oracle.buried |= number < VOLATILE_FROM
            if number >= VOLATILE_FROM and message.stream != EXPRESS:
                self.acknowledge((message.source, message.stream), [message.id])
            self.oracle.end(number)
        self.operate(before, self.oracle.record(named))

    # Transactions ----------------------------------------------------------------------------------------------
    @rule(data=st.data(), count=st.integers(0, 3), delay=st.sampled_from([0, 15]))
    def prepare(self, data: st.DataObject, count: int, delay: int) -> None:
        oracle, room = self.oracle, self.room
        numbers = self.some_numbers(data, known_only=data.draw(st.sampled_from([True, True, False])))
        first = self.sent_in_transactions
        sends = [deposit(first, count, stream=COMMITTED, flags=FLAGS, delay=delay)] if count else []
        part = transaction(self.transactions + 1, sends=sends, settles=[(numbers[0], numbers[-1])] if numbers else [])
        resolved = [oracle.resolve(number) for number in numbers]
        taken = oracle.memory.locked() | oracle.memory.dead
        passing = {n for _, _, batch in oracle.passing.values() for n in batch}
        possible = all(n in oracle.memory.messages and n not in taken and n not in passing for n in resolved)
        obstacle = room.mailbox.participant.obstacle(part, 0)
        if obstacle is not None:
            assert not possible or (self.paged and obstacle[0] == Code.NOT_READY)
            return
        assert possible
        before = len(room.operations)
        body = body_of(sends[0]) if sends else b""
        assert room.prepare(part, body)
        assert room.prepare(part, body) == []
        self.transactions += 1
        self.sent_in_transactions += count
        txid = TxId("a", 1, self.transactions, 1)
        ready = room.now + delay if delay else 0
        held = ([Message("a", COMMITTED, first + n, 4, 0, ready=ready) for n in range(count)], resolved)
        oracle.memory.prepared[txid] = held
        oracle.once_locked.update(resolved)
        self.operate(before, lambda book: book.prepared.update({txid: (held[0], list(held[1]))}))

    @precondition(lambda self: self.oracle.memory.prepared)
    @rule(committed=st.booleans())
    def decide(self, committed: bool) -> None:
        oracle, room = self.oracle, self.room
        txid, (messages, locks) = next(iter(oracle.memory.prepared.items()))
        before, seq = len(room.operations), room.position
        decided = room.decide(txid, committed)
        assert decided.span == (max(1, len(messages)) if committed else 1)
        assert room.mailbox.participant.decide(txid, room.position, room.now, committed=committed).writes == []
        del oracle.memory.prepared[txid]
        ended = [n for n in locks if committed and n in oracle.memory.messages]
        for number in ended:
            oracle.end(number)
        record = oracle.record(ended)
        placed = {seq + at: message for at, message in enumerate(messages)} if committed else {}

        def effect(book: Book) -> None:
            record(book)
            book.messages.update(placed)
            del book.prepared[txid]

        def on_arrival(book: Book) -> None:
            book.messages.update(placed)
            del oracle.on_their_way[seq]

        oracle.on_their_way[seq] = (("a", COMMITTED), [], list(placed))
        self.operate(before, effect, on_arrival)

    # Failure ---------------------------------------------------------------------------------------------------
    @rule(arrived=st.integers(0, 5))
    def crash(self, arrived: int) -> None:
        self.room.crash(arrived)
        self.oracle.crash(arrived)
        self.page = self.looking = self.sweeping = None
        assert self.room.mailbox.participant.names() == sorted(self.oracle.memory.prepared)
        self.express_seen.clear()
        named = {n for batch in self.room.mailbox.condemned() for n in range(batch.seq, batch.seq + batch.count)}
        assert named <= self.oracle.memory.dead

    @invariant()
    def counts_agree(self) -> None:
        if not hasattr(self, "room"):
            return
        found = self.room.mailbox.statistics()
        volatile = [n for n in self.oracle.memory.messages if n >= VOLATILE_FROM]
        assert found.volatile_count == len(volatile)
        assert found.unsettled == len(self.oracle.held)
        assert found.prepared == len(self.oracle.memory.prepared)
        stored = len(self.oracle.memory.messages) - len(volatile)
        stored += sum(len(numbers) for *_, numbers in self.oracle.on_their_way.values())
        assert found.stored_count == stored or (self.paged and found.stored_count > stored)

    def teardown(self) -> None:
        """Heal everything: one patient consumer gets all that is left, in order, and nothing else."""
        if not hasattr(self, "room"):
            return
        self.sight.stop()
        self.store_passing()
        for holder in list(self.oracle.credit):
            self.detach(holder)
        self.commit(1 << 30)
        while self.oracle.memory.prepared:
            self.decide(False)
        self.room.now += 15
        self.attach((8, 1), CREDIT_MAX)
        self.room.attach(8, 1, CREDIT_MAX)
        self.oracle.credit[8, 1] = CREDIT_MAX
        delivered = self.pump_all()
        for key in PRIORITY:
            got = [head.first + n for head in delivered if (head.source, head.stream) == key for n in range(head.count)]
            assert key[1] != TRANSACTIONAL or got == sorted(set(got))
        present = {message.identity for message in self.oracle.memory.messages.values()}
        assert self.oracle.acknowledged <= present | self.oracle.resolved
        self.bury()
        self.room.settle(*((head.seq, head.seq + head.count - 1) for head in delivered), conn=8)
        self.room.expire()
        self.room.commit()
        assert self.room.mailbox.empty()
        assert {key[:1] for key in self.room.rows} <= ({b"s", b"u"} if self.oracle.buried else {b"s"})


MailboxMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
test_mailbox_behaves_like_the_obvious_one = MailboxMachine.TestCase
