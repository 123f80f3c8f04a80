"""The sending side of the mailbox model: clients that number, lose, repeat and give up; batches stored or passing."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from causeway.core.mail import selection
from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES
from causeway.limits import SELECTED_MESSAGES_MAX
from tests.property.mailbox_oracle import Book, Effect, Message, Oracle, StreamKey
from tests.unit.core.mail.postroom import (
    CONFIRM,
    EXPRESS,
    HEADERS,
    RECOVERABLE,
    RELIABLE,
    TRANSACTIONAL,
    Postroom,
    body_of,
    deposit,
)

DELIVERIES_MAX = 3
FLAGS = RELIABLE | CONFIRM | HEADERS
PRIORITY = {("a", RECOVERABLE): 4, ("b", RECOVERABLE): 9, ("a", TRANSACTIONAL): 4, ("b", TRANSACTIONAL): 7}
keys = st.sampled_from([("a", TRANSACTIONAL), ("a", TRANSACTIONAL), *sorted(PRIORITY)])
Times = tuple[int, int]
"""Time to live and delay, 0 for none."""
times = st.sampled_from([(0, 0), (0, 0), (0, 0), (20, 0), (0, 15), (20, 15), (10, 15)])


class Senders(RuleBasedStateMachine):
    """Every rule does the same thing to the mailbox and to the oracle, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle()
        self.next_id: dict[StreamKey, int] = dict.fromkeys(sorted(PRIORITY), 1)
        self.unacknowledged: dict[StreamKey, dict[int, None]] = {key: {} for key in sorted(PRIORITY)}
        self.express_id = 1
        self.express_seen: set[int] = set()
        self.transactions = 0
        self.sent_in_transactions = 1

    @initialize(window=st.sampled_from([1, 3, 8, 10_000]), sight=st.sampled_from([1, 3, SELECTED_MESSAGES_MAX]))
    def start(self, window: int, sight: int) -> None:
        self.sight = patch.object(selection, "SELECTED_MESSAGES_MAX", sight)
        self.sight.start()
        self.room = Postroom(window_bytes=window * (BATCH_OVERHEAD_BYTES + 60), deliveries_max=DELIVERIES_MAX)
        self.paged = window < 10_000
        self.room.attach(2, 1, 10)
        self.oracle.credit[2, 1] = 10

    def operate(self, before: int, effect: Effect, on_arrival: Effect | None = None) -> None:
        """The room appended an operation (or had nothing to write): so does the oracle."""
        if len(self.room.operations) > before:
            self.oracle.append(effect, on_arrival)

    # Senders ---------------------------------------------------------------------------------------------------
    @rule(key=keys, count=st.integers(1, 5), times=times, fate=st.sampled_from("ssssttttLG"))
    def send_new(self, key: StreamKey, count: int, times: Times, fate: str) -> None:
        """(s)tored, (t)hrough if possible, (L)ost on the way, (G)iven up by its sender."""
        first = self.next_id[key]
        self.next_id[key] += count
        if fate != "G":
            self.unacknowledged[key].update(dict.fromkeys(range(first, first + count)))
        if fate in "st":
            self.arrive(key, first, count, times, through=fate == "t")

    @rule(key=keys, at=st.integers(0, 40), count=st.integers(1, 6), through=st.booleans())
    def send_again(self, key: StreamKey, at: int, count: int, through: bool) -> None:
        """Any stretch of what was sent before, cut in another way."""
        if self.next_id[key] > 1:
            first = 1 + at % (self.next_id[key] - 1)
            self.arrive(key, first, min(count, self.next_id[key] - first), (0, 0), through=through)

    @rule(key=keys)
    def send_all_again(self, key: StreamKey) -> None:
        """What a client does after a broken connection."""
        for first in list(self.unacknowledged[key])[:20]:
            self.arrive(key, first, 1, (0, 0), through=False)

    def arrive(self, key: StreamKey, first: int, count: int, times: Times, *, through: bool) -> None:
        mailbox, oracle, ids = self.room.mailbox, self.oracle, list(range(first, first + count))
        follows = max((one for one in self.unacknowledged[key] if one < first), default=0)
        ttl, delay = times
        whose = {"source": key[0], "stream": key[1], "follows": follows, "priority": PRIORITY[key]}
        head = deposit(first, count, **whose, ttl=ttl, flags=FLAGS, delay=delay)
        verdict, value = oracle.expected(key, first, count, follows)
        admission = mailbox.admit(head, len(body_of(head)))
        assert admission.verdict.name == verdict
        if verdict == "GAP":
            assert admission.after == value
        elif verdict == "DUPLICATE":
            assert admission.pending == oracle.is_unsafe(key, ids)
            if not admission.pending:
                self.acknowledge(key, ids)
        else:
            assert admission.skip == value
            new = [one for one in ids if one not in oracle.seen(key)]
            expires = self.room.now + ttl if ttl else 0
            ready = self.room.now + delay if delay else 0
            messages = {one: Message(key[0], key[1], one, PRIORITY[key], expires, ready=ready) for one in new}
            if through and not delay and mailbox.can_pass():
                free = [one for one, credit in oracle.credit.items() if len(oracle.holds(one)) < credit]
                assert any(one not in oracle.selectors for one in free), "it passes to somebody who may not want it"
                number = self.room.hold(head)
                assert number
                numbers = {one: number + one - ids[value] for one in new}
                oracle.memory.messages.update({numbers[one]: messages[one] for one in new})
                oracle.admit(key, ids)
                oracle.passing[number] = (key, ids[value:], list(numbers.values()))
            else:
                self.store(key, ids, value, messages)

    def store(self, key: StreamKey, ids: list[int], skip: int, messages: dict[int, Message]) -> None:
        self.store_passing()
        room, oracle, seq = self.room, self.oracle, self.room.position
        any_one = next(iter(messages.values()))
        ttl, delay = max(any_one.expires - room.now, 0), max(any_one.ready - room.now, 0)
        whose = {"source": key[0], "stream": key[1], "priority": PRIORITY[key]}
        head = deposit(ids[0], len(ids), **whose, ttl=ttl, delay=delay, flags=FLAGS)
        before = len(room.operations)
        room.append(room.mailbox.store(head, body_of(head), seq, room.now, skip), len(ids) - skip)
        placed = {seq + one - ids[skip]: message for one, message in messages.items()}
        oracle.admit(key, ids)
        oracle.on_their_way[seq] = (key, ids[skip:], list(placed))
        seen = oracle.safe_seen(key)

        def effect(book: Book) -> None:
            book.messages.update(placed)
            book.seen[key] = set(seen)

        def on_arrival(book: Book) -> None:
            book.messages.update(placed)
            del oracle.on_their_way[seq]
            self.acknowledge(key, ids)

        self.operate(before, effect, on_arrival)

    @rule(key=keys, counts=st.lists(st.integers(1, 3), min_size=2, max_size=8))
    def send_and_commit(self, key: StreamKey, counts: list[int]) -> None:
        for count in counts:
            self.send_new(key, count, (0, 0), "s")
        self.commit(100)

    @rule(key=keys, lost=st.integers(1, 3), count=st.integers(1, 3))
    def lose_and_repeat(self, key: StreamKey, lost: int, count: int) -> None:
        """A batch is lost, the next one is not, and the client cuts both into one when it repeats them."""
        first = self.next_id[key]
        self.send_new(key, lost, (0, 0), "L")
        self.send_new(key, count, (0, 0), "s")
        self.send_new(key, 1, (0, 0), "L")
        self.arrive(key, first, lost + count + 1, (0, 0), through=False)

    @rule()
    def store_passing(self) -> None:
        room, oracle = self.room, self.oracle
        batches = room.mailbox.unpass()
        assert [batch.seq for batch in batches] == list(oracle.passing)
        for batch in batches:
            before, seq = len(room.operations), room.position
            room.append(room.mailbox.store_passed(batch, seq), batch.count)
            key, ids, numbers = oracle.passing.pop(batch.seq)
            moved = [(n, seq + n - batch.seq) for n in numbers if n in oracle.memory.messages]
            for old, new in moved:
                oracle.memory.messages[new] = oracle.memory.messages.pop(old)
                oracle.alias[old] = new
                oracle.unsafe.add(new)
                if old in oracle.held:
                    oracle.held[new] = oracle.held.pop(old)
                if old in oracle.memory.dead:
                    oracle.memory.dead.remove(old)
                    oracle.memory.dead.add(new)
            oracle.on_their_way[seq] = (key, ids, [])
            self.operate(before, *self.passed_effects(key, ids, seq, [new for _, new in moved]))

    def passed_effects(self, key: StreamKey, ids: list[int], seq: int, numbers: list[int]) -> tuple[Effect, Effect]:
        record, seen = self.oracle.record(numbers), self.oracle.safe_seen(key)

        def effect(book: Book) -> None:
            record(book)
            book.seen[key] = set(seen)

        def on_arrival(book: Book) -> None:
            self.oracle.unsafe.difference_update(numbers)
            del self.oracle.on_their_way[seq]
            self.acknowledge(key, ids)

        return effect, on_arrival

    def acknowledge(self, key: StreamKey, ids: list[int]) -> None:
        self.oracle.acknowledged.update((*key, one) for one in ids if one in self.unacknowledged[key])
        for one in ids:
            self.unacknowledged[key].pop(one, None)

    @rule(count=st.integers(1, 4), back=st.integers(0, 3), delay=st.sampled_from([0, 0, 15]))
    def send_express(self, count: int, back: int, delay: int) -> None:
        first = max(1, self.express_id - back)
        number = self.room.hold(deposit(first, count, stream=EXPRESS, priority=0, delay=delay))
        ids = [one for one in range(first, first + count) if one not in self.express_seen]
        assert bool(number) == bool(ids)
        self.hold_express(number or 0, ids, ready=self.room.now + delay if delay else 0)
        self.express_id = max(self.express_id, first + count)

    def hold_express(self, number: int, ids: list[int], *, ready: int = 0) -> None:
        self.express_seen.update(ids)
        for one in ids:
            message = Message("a", EXPRESS, one, 0, 0, ready=ready)
            self.oracle.memory.messages[number + one - ids[0]] = message

    @rule(count=st.integers(1, 9))
    def neighbours(self, count: int) -> None:
        """Other mailboxes of the same group take numbers: ours rise, but not one by one."""
        self.room.position += count

    @rule(count=st.sampled_from([1, 2, 100]))
    def commit(self, count: int) -> None:
        self.room.commit(count)
        self.oracle.arrive(count)
