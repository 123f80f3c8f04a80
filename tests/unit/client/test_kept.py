"""What survives a restart of the application, and when it is durable."""

from __future__ import annotations

import pytest

from causeway.client.kept import LIFE_SHIFT
from causeway.client.outcomes import SessionFailed
from causeway.client.transactions import Parcel
from causeway.core.events import Loaded, Persisted
from causeway.core.messages import Accepted, Attach, Attached, Commit, Deposit, Hello, Outcome, Settle
from causeway.errors import Refused, StoreError
from causeway.store.base import Page
from causeway.types import SECOND, ServiceClass
from tests.unit.client.stage import INCARNATION, Stage

TRANSACTIONAL = ServiceClass.TRANSACTIONAL


def life(rows: dict[bytes, bytes], **settings: object) -> Stage:
    """A new life of the application on the disk its earlier ones left."""
    stage = Stage(rows, keep=True, **settings)
    stage.turn()
    stage.store()
    return stage


def begin(rows: dict[bytes, bytes]) -> tuple[Stage, str]:
    stage = life(rows)
    return stage, stage.open()


def send(stage: Stage, text: str) -> None:
    stage.session.send("orders", text.encode(), service=TRANSACTIONAL)
    stage.turn()


def test_nothing_is_dialled_before_the_new_life_is_on_disk() -> None:
    stage = Stage({}, keep=True)
    stage.turn()
    assert stage.dials == {}
    with pytest.raises(Refused, match="kept state"):
        stage.session.send("orders", b"x")
    stage.store()
    assert stage.dials


def test_incarnation_is_that_of_the_first_life_and_ids_never_repeat() -> None:
    rows: dict[bytes, bytes] = {}
    used = []
    for number in range(3):
        stage, home = begin(rows)
        assert {hello.incarnation for hello in stage.said(Hello)} == {INCARNATION}
        stage.session.send("orders", b"x", service=TRANSACTIONAL)
        stage.session.send("orders", b"x", service=ServiceClass.EXPRESS)
        stage.turn()
        stage.store()
        for deposit in stage.said(Deposit):
            used.append((deposit.stream, deposit.first))
            stage.accept(home, deposit)
        stage.sleep(1 * SECOND)
        stage.store()
        assert used[-1][1] == (number << LIFE_SHIFT) + 1
    assert len(set(used)) == 6


def test_send_leaves_only_once_it_is_on_disk() -> None:
    stage, _ = begin({})
    send(stage, "a")
    assert stage.said(Deposit) == []
    stage.store()
    assert len(stage.said(Deposit)) == 1


def test_nothing_unwritten_leaves_with_a_new_link_either() -> None:
    stage, home = begin({})
    send(stage, "a")
    stage.store()
    send(stage, "b")
    stage.cut(home)
    stage.take_sent()
    other = stage.open()
    assert [deposit.first for deposit in stage.said(Deposit, other)] == [1]
    stage.store()
    assert [(deposit.first, deposit.follows) for deposit in stage.said(Deposit, other)] == [(1, 0), (2, 1)]


def test_unanswered_sends_are_sent_again_by_the_next_life_before_new_ones() -> None:
    rows: dict[bytes, bytes] = {}
    stage, home = begin(rows)
    for text in "abc":
        send(stage, text)
        stage.store()
    stage.accept(home, stage.said(Deposit)[0])
    stage.sleep(1 * SECOND)
    stage.store()
    again = life(rows)
    again.session.send("orders", b"d", service=TRANSACTIONAL)
    again.turn()
    again.store()
    home = again.open()
    sent = [frame for frame in again.sent if isinstance(frame.head, Deposit)]
    assert [frame.body[4:] for frame in sent] == [b"b", b"c", b"d"]
    base = 1 << LIFE_SHIFT
    heads = [frame.head for frame in sent if isinstance(frame.head, Deposit)]
    assert [(head.first, head.follows) for head in heads] == [(2, 0), (3, 2), (base + 1, 3)]
    for head in heads:
        again.accept(home, head)
    again.sleep(1 * SECOND)
    again.store()
    assert again.session.idle
    assert [key[:1] for key in rows] == [b"i"]


def test_express_sends_are_not_kept() -> None:
    rows: dict[bytes, bytes] = {}
    stage, _ = begin(rows)
    stage.session.send("orders", b"x", service=ServiceClass.EXPRESS)
    stage.turn()
    assert len(stage.said(Deposit)) == 1
    stage.store()
    assert [key[:1] for key in rows] == [b"i"]


def test_expired_sends_are_dropped_at_the_start() -> None:
    rows: dict[bytes, bytes] = {}
    stage, _ = begin(rows)
    stage.session.send("orders", b"x", ttl=1 * SECOND)
    stage.turn()
    stage.store()
    again = Stage(rows, keep=True)
    again.now += 5 * SECOND
    again.turn()
    again.store()
    again.open()
    assert again.said(Deposit) == []


def test_time_to_live_of_an_earlier_life_ends_the_send_in_this_one() -> None:
    rows: dict[bytes, bytes] = {}
    stage, _ = begin(rows)
    stage.session.send("orders", b"x", service=TRANSACTIONAL, ttl=5 * SECOND)
    stage.turn()
    stage.store()
    stage = life(rows)
    assert stage.session.unresolved == 1
    stage.sleep(5 * SECOND)
    assert stage.session.unresolved == 0
    stage.open()
    assert stage.said(Deposit) == []


def test_settlement_goes_out_only_once_the_acceptance_is_on_disk() -> None:
    stage, home = begin({})
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    for message in stage.shown(consumer):
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    assert stage.said(Settle) == []
    assert not stage.session.idle
    stage.store()
    assert [head.spans for head in stage.said(Settle)] == [((10, 11),)]


def test_accepted_messages_are_not_shown_to_the_next_life() -> None:
    rows: dict[bytes, bytes] = {}
    stage, home = begin(rows)
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 3)
    for message in stage.shown(consumer)[:2]:
        stage.session.accept(message._lot, message._index, message._index)
    stage.turn()
    stage.store()
    again, home = begin(rows)
    consumer = again.consume(home)
    again.deliver(home, consumer, 10, 1, 3)
    assert again.bodies_shown(consumer) == [b"3"]
    again.store()
    assert [head.spans for head in again.said(Settle)] == [((10, 11),)]


def test_session_says_which_acknowledgements_are_on_disk() -> None:
    stage, home = begin({})
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    first, second = stage.shown(consumer)
    stage.session.accept(first._lot, 0, 0)
    mark = stage.session.mark()
    assert not stage.session.keeps(mark), "nobody has even looked"
    stage.turn()
    assert not stage.session.keeps(mark)
    stage.session.accept(second._lot, 1, 1)
    later = stage.session.mark()
    stage.turn()
    (persist,), stage.persists = stage.persists, []
    stage.turn(Persisted(persist.token))
    assert (stage.session.keeps(mark), stage.session.keeps(later)) == (True, False)
    stage.store()
    assert stage.session.keeps(later)
    assert stage.session.keeps(stage.session.mark()), "there is nothing to write"


def test_session_that_keeps_nothing_waits_for_no_disk() -> None:
    stage = Stage()
    home = stage.open()
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    assert stage.session.keeps(stage.session.mark())


def test_message_acknowledged_but_not_yet_on_disk_is_shown_to_the_next_life() -> None:
    rows: dict[bytes, bytes] = {}
    stage, home = begin(rows)
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    mark = stage.session.mark()
    stage.turn()
    assert not stage.session.keeps(mark)
    again, home = begin(rows)
    consumer = again.consume(home)
    again.deliver(home, consumer, 10, 1)
    assert again.bodies_shown(consumer) == [b"1"]


def test_commit_leaves_once_on_disk_and_is_repeated_by_the_next_life_before_anything_is_shown() -> None:
    rows: dict[bytes, bytes] = {}
    stage, home = begin(rows)
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1, 2)
    held = stage.shown(consumer)
    stage.session.commit([Parcel("ledger", b"x")], [(held[0]._lot, 0)])
    stage.turn()
    assert stage.said(Commit) == []
    stage.store()
    (first,) = stage.said(Commit)

    again, home = begin(rows)
    consumer = again.session.attach("orders", 10)
    again.turn()
    assert again.said(Commit) == [first]
    assert again.said(Attach) == []
    again.receive(home, Outcome("billing", INCARNATION, first.number, True))
    again.store()
    again.turn()
    assert len(again.said(Attach)) == 1
    again.receive(home, Attached("orders", consumer.number))
    again.deliver(home, consumer, 10, 1, 2)
    assert again.bodies_shown(consumer) == [b"2"]
    next_one = again.session.commit([Parcel("ledger", b"y")], [])
    again.turn()
    again.store()
    assert next_one.head.number == first.number + 1
    assert next_one.head.sends[0].first > first.sends[0].first


def test_messages_of_an_aborted_commit_are_shown_to_the_next_life() -> None:
    rows: dict[bytes, bytes] = {}
    stage, home = begin(rows)
    consumer = stage.consume(home)
    stage.deliver(home, consumer, 10, 1)
    (held,) = stage.shown(consumer)
    stage.session.commit([], [(held._lot, 0)])
    stage.turn()
    stage.store()
    again, home = begin(rows)
    consumer = again.session.attach("orders", 10)
    again.turn()
    again.receive(home, Outcome("billing", INCARNATION, 1, False, 9, "aborted"))
    again.turn()
    again.receive(home, Attached("orders", consumer.number))
    again.deliver(home, consumer, 10, 1)
    assert again.bodies_shown(consumer) == [b"1"]


def test_one_write_is_under_way_at_a_time_and_gathers_the_rest() -> None:
    stage, home = begin({})
    for text in "abcd":
        send(stage, text)
    assert len(stage.persists) == 1
    stage.store()
    assert [deposit.first for deposit in stage.said(Deposit)] == [1, 2, 3, 4]
    stage.receive(home, Accepted("billing", INCARNATION, "orders", 2, 1, 4))
    assert stage.persists == []
    stage.sleep(1 * SECOND)
    assert len(stage.persists) == 1


def test_damaged_state_ends_the_session_with_the_remedy() -> None:
    stage = Stage({}, keep=True)
    stage.session.handle([], stage.now)
    stage.turn(Loaded(1, Page([], [b"b1"], None)))
    (failed,) = stage.outcomes(SessionFailed)
    assert isinstance(failed.error, StoreError)
    assert "restore it from a copy" in str(failed.error)


@pytest.mark.parametrize("key", [b"i", b"b12345678", b"c12345678", b"sxx"])
def test_unreadable_state_ends_the_session(key: bytes) -> None:
    stage = life({key: b"\xc1garbage"})
    (failed,) = stage.outcomes(SessionFailed)
    assert isinstance(failed.error, StoreError)


def test_state_of_another_application_is_refused() -> None:
    rows: dict[bytes, bytes] = {}
    begin(rows)
    stage = life(rows, name="shop")
    (failed,) = stage.outcomes(SessionFailed)
    assert "belongs to 'billing'" in str(failed.error)
