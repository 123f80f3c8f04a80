"""Figures of mailboxes: what is there, how long operations take, and who holds as much as it may."""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.machine import Turn
from causeway.core.mail.gauge import MailGauge
from causeway.core.mail.outbox import Outbox
from causeway.core.messages import Settle
from causeway.core.ports import Figures
from causeway.domains.limits import GAUGED_AT_ONCE_MAX
from causeway.types import MILLISECOND, SECOND, key_of
from tests.unit.core.mail.neighbours import ME, at
from tests.unit.core.mail.owned import CONN, Stage, attach, gained
from tests.unit.core.mail.postroom import EXPRESS, NAME, body_of, deposit


class Reading(Stage):
    """An office with a gauge."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.clogged: Callable[[int], bool] = lambda conn: conn in self.courier.full
        self.outbox = Outbox(self.config, ME.id, "b1", self.courier)
        self.gauge = MailGauge("b1", self.office, self.outbox, self.clogged)

    def read(self, now: int = 0) -> Figures:
        """Of the only mailbox."""
        own, box = self.gauge.read(at(now))
        assert own.name == "b1"
        return box

    def settle(self, *spans: tuple[int, int]) -> None:
        self.office.settle(at(), CONN, Settle(NAME, 1, spans))


def test_stored_and_volatile_messages_are_counted_and_what_can_be_taken() -> None:
    stage = Reading()
    stage.deposit(deposit(1, 3))
    stage.commit()
    stage.deposit(deposit(1, 2, stream=EXPRESS))
    figures = stage.read()
    assert (figures.name, figures.stored, figures.waiting, figures.readers) == (NAME, 5, 5, 0)
    assert figures.bytes > 0
    assert not figures.full


def test_mailbox_near_its_bound_is_full() -> None:
    stage = Reading(stored_bytes_max=1 << 20)
    assert not stage.read().full
    head = deposit(1)
    assert stage.office.deposit(at(), stage.key, head, b"x" * ((9 << 20) // 10 + 1))
    assert stage.read().full


def test_latency_is_that_of_the_operation_that_was_on_its_way_at_a_look() -> None:
    stage = Reading()
    assert stage.read(0).latency is None
    stage.deposit(deposit(1))
    assert stage.read(1 * SECOND).latency is None
    assert stage.read(2 * SECOND).latency == 1 * SECOND
    stage.commit(2 * SECOND + 300 * MILLISECOND)
    assert stage.read(3 * SECOND).latency == 1300 * MILLISECOND
    assert stage.read(4 * SECOND).latency is None


def test_waiting_for_the_copies_changes_nothing_for_those_who_wait() -> None:
    stage = Reading()
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.read(SECOND)
    stage.commit(SECOND)
    assert len(stage.courier.answers) == 1


def test_full_consumer_is_shown_with_what_it_was_handed_first_and_only_while_others_wait() -> None:
    stage = Reading()
    attach(stage.office, credit=4, name="slow")
    for first in (1, 3, 5):
        stage.deposit(deposit(first, 2))
        stage.commit()
    (one,) = stage.read().held
    assert (one.who, one.client, one.unsettled) == ((CONN, 1), "slow", 4)
    stage.settle((3, 4))
    stage.commit()
    assert stage.read().held == ()  # it has room, or nothing waits
    stage.deposit(deposit(7, 2))
    stage.commit()
    (later,) = stage.read().held
    assert later.mark == one.mark, "the first batch is still with it"
    stage.settle((1, 2))
    stage.deposit(deposit(9, 2))
    stage.commit()
    (last,) = stage.read().held
    assert last.mark != one.mark


def test_consumer_that_settles_parts_of_a_batch_still_holds_that_batch() -> None:
    stage = Reading()
    attach(stage.office, credit=4)
    stage.deposit(deposit(1, 20))
    stage.commit()
    (one,) = stage.read().held
    stage.settle((1, 1))
    stage.commit()
    (later,) = stage.read().held
    assert later.mark == one.mark


def test_consumer_whose_connection_takes_nothing_is_full_whatever_its_credit() -> None:
    stage = Reading()
    attach(stage.office, credit=100)
    stage.deposit(deposit(1))
    stage.commit()
    stage.courier.full.add(CONN)
    stage.deposit(deposit(2))
    stage.commit()
    (one,) = stage.read().held
    assert one.unsettled == 1


def test_express_messages_handed_over_the_short_way_are_held_like_others() -> None:
    stage = Reading()
    attach(stage.office, credit=3)
    for head in (deposit(1, stream=EXPRESS, flags=0), deposit(2, 2, stream=EXPRESS, flags=0)):
        stage.deposit(head)
        stage.flush()
    assert (stage.read().stored, stage.read().waiting, stage.read().held) == (3, 0, ())
    stage.deposit(deposit(4, stream=EXPRESS, flags=0))
    figures = stage.read()
    assert (figures.stored, figures.waiting) == (4, 1)
    (one,) = figures.held
    assert one.unsettled == 3


def test_history_is_not_looked_at() -> None:
    stage = Reading()
    stage.office.boxes[stage.key].shown_only = True
    assert [one.name for one in stage.gauge.read(at())] == ["b1"]


def test_many_mailboxes_are_read_in_turns_and_what_has_gone_is_left_out() -> None:
    stage = Reading()
    names = [f"box-{number}" for number in range(GAUGED_AT_ONCE_MAX + 10)]
    for name in names:
        stage.groups.own(name)
        stage.office.on_ownership_gained(Turn(0), gained(name))
    rounds = [[one.name for one in stage.gauge.read(at())][1:] for _ in range(2)]
    assert [len(read) for read in rounds] == [GAUGED_AT_ONCE_MAX, 11]
    assert sorted(name for read in rounds for name in read) == sorted([NAME, *names])
    del stage.office.boxes[key_of(NAME)]
    assert NAME not in [one.name for one in stage.gauge.read(at())]


def test_outbox_is_read_by_its_bytes() -> None:
    stage = Reading()
    head = deposit(1, origin=b"")
    stage.outbox.take(at(), CONN, head, body_of(head))
    assert stage.gauge.read(at())[0].bytes > len(body_of(head))
