"""Looking into a mailbox: the same messages in the same order, wherever they lie."""

from __future__ import annotations

from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES
from causeway.core.mail.browser import BrowseRange
from causeway.types import SECOND, VOLATILE_FROM
from causeway.wire.body import split
from tests.unit.core.mail.postroom import EXPRESS, Postroom, deposit, payload, scan, seen, transaction

WINDOW = 10 * (BATCH_OVERHEAD_BYTES + 12)
"""Ten batches of one message."""


def filled(count: int = 30, size: int = 1, **settings: object) -> Postroom:
    """More than the window holds, in batches of `size` messages."""
    room = Postroom(window_bytes=WINDOW, **settings)
    for first in range(1, count + 1, size):
        room.stored(first, size)
    return room


def firsts(room: Postroom, limit: int = 1 << 30, bytes_max: int = 1 << 30) -> list[int]:
    """Ids of everything shown; bodies are checked against what was sent."""
    found: list[int] = []
    for one in room.browse(limit, bytes_max):
        ids = range(one.piece.first, one.piece.first + one.piece.count)
        assert split(one.piece.body, one.piece.count) == [payload("a", one.piece.stream, n) for n in ids]
        found += ids
    return found


def test_unsettled_messages_are_shown_by_number_and_not_taken() -> None:
    room = Postroom()
    room.attach(credit=2)
    seq = room.stored(1, 5)
    room.hold(deposit(1, 2, stream=EXPRESS))
    room.send(deposit(6))
    room.pump()
    room.settle((seq, seq))
    found = room.mailbox.browser.browse(BrowseRange(0, 100), room.now)
    assert [(one.piece.first, one.piece.count, one.piece.seq) for one in found.shown] == [
        (2, 1, seq + 1),
        (3, 3, seq + 2),
        (1, 2, VOLATILE_FROM),
    ]
    assert found.hidden is None
    assert split(found.shown[1].piece.body, 3) == [payload("a", 1, n) for n in (3, 4, 5)]
    (one,) = room.mailbox.browser.browse(BrowseRange(seq + 2, 1), room.now).shown
    assert (one.piece.seq, one.piece.first, one.piece.count, one.deliveries) == (seq + 3, 4, 1, 0)
    assert room.mailbox.browser.browse(BrowseRange(VOLATILE_FROM + 1, 10), room.now).shown == []
    assert room.mailbox.statistics().unsettled == 1


def test_everything_on_disk_is_shown_once_in_order_and_stays_there() -> None:
    room = filled(100)
    room.hold(deposit(1, 2, stream=EXPRESS))
    before = room.mailbox.statistics()
    for limit, bytes_max in ((1 << 30, 1 << 30), (7, 1 << 30), (1 << 30, 200), (3, 1)):
        assert firsts(room, limit, bytes_max) == [*range(1, 101), 1, 2]
    assert room.mailbox.statistics() == before


def test_a_batch_on_disk_that_an_answer_cut_is_found_again_by_its_row() -> None:
    room = filled(200, 10)
    assert firsts(room, 7, 200) == list(range(1, 201))
    _, pages = room.look(BrowseRange(145, 5, 141), 1)
    assert pages == 1


def test_without_a_row_the_batch_is_searched_below_the_number() -> None:
    room = filled(200, 10)
    (glance, pages) = room.look(BrowseRange(154, 100), 1)
    assert seen(glance.shown) == list(range(155, 161))
    assert pages == 2  # the batch before it begins near enough
    for absurd in (-5, 0, 10, 156, 1 << 62):
        assert seen(room.look(BrowseRange(154, 100, absurd))[0].shown) == list(range(155, 201))


def test_a_long_batch_is_searched_farther_and_farther_below_the_number() -> None:
    room = Postroom(window_bytes=WINDOW)
    for first, count in ((1, 20), (21, 3000), (3021, 1)):
        room.stored(first, count)
    (glance, pages) = room.look(BrowseRange(3010, 100), 1)
    assert seen(glance.shown) == list(range(3011, 3021))
    assert pages == 3  # 16 below, 256 below, then where a batch may begin at all
    assert room.look(BrowseRange(3010, 100, 21), 1)[1] == 1


def test_every_message_knows_how_many_were_stored_before_it_wherever_it_lies() -> None:
    room = filled(200, 10)
    room.settle((13, 15), (1, 2))  # operations take numbers too, and stored messages that end still count
    room.stored(201, 5)
    before = [one.before + n for one in room.browse(7, 200) for n in range(one.piece.count)]
    assert before == [n for n in range(205) if n not in (0, 1, 12, 13, 14)]


def test_the_extent_is_above_what_is_on_all_copies_and_no_more() -> None:
    room = Postroom(window_bytes=WINDOW)
    assert room.mailbox.browser.extent[1] == 0
    seq = room.stored(1, 5)
    assert room.mailbox.browser.extent == (seq + 5, 5)
    room.send(deposit(6, 3))
    assert room.mailbox.browser.extent == (seq + 5, 5)  # a new owner might give these numbers to others
    room.commit()
    room.hold(deposit(1, 2, stream=EXPRESS))
    assert room.mailbox.browser.extent == (seq + 8, 8)
    room.settle((seq, seq + 7))
    room.commit()
    room.crash()
    assert room.mailbox.browser.extent == (seq + 8, 8)
    assert room.stored(9) >= seq + 8


def test_memory_is_shown_before_the_disk_is_asked() -> None:
    room = filled(30)
    glance = room.mailbox.browser.browse(BrowseRange(-1, 100), room.now)
    assert seen(glance.shown) == list(range(1, 11))
    assert glance.hidden == 11
    assert room.mailbox.browser.browse(BrowseRange(10, 100, 11), room.now) == ([], 11)
    assert room.mailbox.browser.browse(BrowseRange(30, 100), room.now) == ([], None)


def test_messages_settled_ahead_are_not_shown() -> None:
    room = Postroom(window_bytes=WINDOW)
    room.attach(credit=1000)
    for n in range(30):
        room.stored(1 + 10 * n, 10)
        room.page()
        room.pump()
    room.settle(*((10 * n + 3, 10 * n + 4) for n in range(30)))
    room.detach()
    room.commit()
    room.crash()
    room.settle((251, 262))
    shown = room.browse(bytes_max=500)
    assert seen(shown) == [n for n in range(1, 301) if n % 10 not in (3, 4) and not 251 <= n <= 262]
    assert {one.deliveries for one in shown} == {0}, "who vanishes gives nothing back"


def test_locked_and_condemned_messages_on_disk_are_shown_as_they_are_in_memory() -> None:
    room = filled(30, deliveries_max=1)
    room.attach(credit=1000)
    room.pump()
    while room.page():
        room.pump()
    room.prepare(transaction(settles=[(27, 28)]))
    room.give_back((29, 29))
    room.commit()
    in_memory = room.browse()
    assert seen(in_memory) == list(range(1, 31))
    room.crash()
    assert room.mailbox.browser.browse(BrowseRange(10, 100), room.now).hidden is not None
    assert seen(room.browse()) == list(range(1, 31))
    assert [one.deliveries for one in room.browse()] == [one.deliveries for one in in_memory]


def test_expired_messages_are_not_shown_wherever_they_lie_unless_somebody_has_them() -> None:
    room = Postroom(window_bytes=WINDOW)
    room.attach(credit=1)
    for first in range(1, 31):
        room.stored(first, ttl=SECOND if first % 2 else 0)
    room.pump()
    room.now += SECOND
    assert firsts(room) == [1, *range(2, 31, 2)]


def test_uncommitted_messages_are_not_shown_although_they_are_on_disk() -> None:
    room = filled(30)
    room.send(deposit(31))
    assert firsts(room) == list(range(1, 31))
    room.commit()
    assert firsts(room) == list(range(1, 32))


def test_what_is_stored_while_a_page_is_loaded_is_asked_for_next() -> None:
    room = filled(30)
    browser = room.mailbox.browser
    found = scan(room.disk, browser.look(11), b"c", 1 << 30)
    room.stored(31)
    glance = browser.page(BrowseRange(10, 100, 11), *found, room.now)
    assert (seen(glance.shown), glance.hidden) == (list(range(11, 31)), 31)
    assert seen(room.look(BrowseRange(30, 100, 31))[0].shown) == [31]


def test_what_is_read_before_it_committed_is_not_shown_from_that_page() -> None:
    room = filled(30)
    room.crash()  # what a former owner left has no known end
    browser = room.mailbox.browser
    start = browser.look(11)
    room.send(deposit(31))
    found = scan(room.disk, start, b"c", 1 << 30)
    glance = browser.page(BrowseRange(10, 100, 11), *found, room.now)
    assert seen(glance.shown) == list(range(11, 31))
    room.commit()
    assert firsts(room) == list(range(1, 32))


def test_a_page_is_shown_as_things_stand_when_it_arrives() -> None:
    room = filled(30)
    room.attach(credit=5)
    browser = room.mailbox.browser
    found = scan(room.disk, browser.look(11), b"c", 1 << 30)
    for _ in range(3):
        room.settle(*((head.seq, head.seq) for head in room.pump()))
        room.page(200)
    room.settle((20, 21))
    room.commit()
    glance = browser.page(BrowseRange(10, 100, 11), *found, room.now)
    assert seen(glance.shown) == [*range(16, 20), *range(22, 31)]


def test_a_window_that_takes_in_everything_meanwhile_hides_nothing() -> None:
    room = filled(30)
    room.attach(credit=20)
    browser = room.mailbox.browser
    found = scan(room.disk, browser.look(11), b"c", 1)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    while room.page():
        room.pump()
    room.hold(deposit(1, stream=EXPRESS))
    glance = browser.page(BrowseRange(10, 100, 11), *found, room.now)
    assert (seen(glance.shown), glance.hidden) == ([11], 12)
    assert seen(room.look(BrowseRange(11, 100, 12))[0].shown) == [*range(12, 31), VOLATILE_FROM]


def test_a_window_load_and_a_look_under_way_together_do_not_disturb_each_other() -> None:
    room = filled(40)
    room.attach(credit=1000)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    room.commit()
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    found = scan(room.disk, room.mailbox.browser.look(11), b"c", 1 << 30)
    room.mailbox.page_in(*scan(room.disk, *wanted, 100))
    shown = seen(room.mailbox.browser.page(BrowseRange(10, 100, 11), *found, room.now).shown)
    assert shown == list(range(11, 41))
    delivered: list[int] = []
    for _ in range(100):
        heads = room.pump()
        delivered += [head.first for head in heads]
        room.settle(*((head.seq, head.seq) for head in heads))
        if not heads and not room.page():
            break
    assert delivered == list(range(11, 41))


def test_a_batch_settled_ahead_that_came_into_the_window_meanwhile_is_not_shown() -> None:
    room = filled(30)
    room.settle((11, 12))
    room.attach(credit=5)
    browser = room.mailbox.browser
    found = scan(room.disk, browser.look(11), b"c", 1 << 30)
    for _ in range(2):
        room.settle(*((head.seq, head.seq) for head in room.pump()))
    room.page(200)  # takes in the marks of 11 and 12, and finds nothing left of them
    glance = browser.page(BrowseRange(10, 100, 11), *found, room.now)
    assert seen(glance.shown) == list(range(13, 31))


def test_a_locked_message_on_disk_is_shown_although_its_time_is_over() -> None:
    room = Postroom(window_bytes=WINDOW)
    for first in range(1, 31):
        room.stored(first, ttl=SECOND if first > 20 else 0)
    room.attach(credit=1000)
    room.pump()
    while room.page():
        room.pump()
    room.prepare(transaction(settles=[(27, 28)]))
    room.commit()
    room.crash()
    room.now += SECOND
    assert firsts(room) == [*range(1, 21), 27, 28]


def test_an_answer_names_the_batch_it_cut_or_the_next_one() -> None:
    room = filled(200, 10)
    (glance, _) = room.look(BrowseRange(140, 14, 141))
    assert [(one.piece.seq, one.piece.count, one.row) for one in glance.shown] == [(141, 10, 151), (151, 4, 151)]


def test_uncommitted_rows_behind_the_last_page_are_not_read_for_nothing() -> None:
    room = filled(30)
    room.send(deposit(31))
    (glance, pages) = room.look(BrowseRange(29, 100, 30), 1)
    assert (seen(glance.shown), glance.hidden, pages) == ([30], None, 1)
