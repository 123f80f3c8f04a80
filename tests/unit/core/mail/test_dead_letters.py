"""Dead letters: where they go; settled or dead, never both; those that find no room leave later."""

from __future__ import annotations

import pytest

from causeway.core.events import OwnershipGained, OwnershipLost
from causeway.core.mail import dead_letters
from causeway.core.mail.dead_letters import dead_letter, dead_letter_name
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Accepted, Attach, Deliver, Deposit, Message, Return
from causeway.limits import ITEM_OVERHEAD_BYTES, NAME_BYTES_MAX
from causeway.names import check_mailbox
from causeway.store.base import Put, Row
from causeway.types import VOLATILE_FROM, Flag, ServiceClass
from tests.unit.core.mail.frontdesk import CONN, KEY, Stage, ours
from tests.unit.core.mail.neighbours import ME, OTHER, at, config_of, heads
from tests.unit.core.mail.postroom import EXPRESS, NAME, Postroom, body_of, deposit, transaction

CONFIG = config_of("orders", ME)


def batch(seq: int, flags: int = 0, priority: int = 7) -> StoredBatch:
    return StoredBatch(seq, "shop", 9, 1, 40, 3, flags, priority, 10**18, 0, b"o" * 16, b"body")


def test_dead_letters_go_to_a_mailbox_beside_the_one_they_were_in() -> None:
    assert dead_letter_name("orders") == "dead/orders"


def test_name_that_would_be_too_long_is_shortened_to_a_sound_one_of_its_own() -> None:
    long, other = "x" * NAME_BYTES_MAX, "x" * (NAME_BYTES_MAX - 1) + "y"
    assert dead_letter_name("x" * (NAME_BYTES_MAX - 5)) == "dead/" + "x" * (NAME_BYTES_MAX - 5)
    assert check_mailbox("dest", dead_letter_name(long))
    assert dead_letter_name(long) != dead_letter_name(other)
    assert check_mailbox("dest", dead_letter_name("ü" * 127)), "bytes count, not characters"


def test_burial_is_numbered_by_the_mailbox_so_that_a_second_one_is_a_duplicate() -> None:
    head = dead_letter("orders", CONFIG, batch(17), incarnation=99)
    assert (head.source, head.dest, head.first, head.count) == ("orders", "dead/orders", 17, 3)
    assert head.incarnation == CONFIG.born, "any owner of this life of the mailbox says the same"
    assert head.stream == ServiceClass.RECOVERABLE


def test_numbers_in_memory_are_those_of_one_broker_life() -> None:
    assert dead_letter("orders", CONFIG, batch(VOLATILE_FROM + 4), incarnation=99).incarnation == 99


def test_burial_keeps_priority_and_headers_and_nothing_that_would_end_or_report_it() -> None:
    flags = int(Flag.HEADERS | Flag.CONFIRM | Flag.REDELIVERED)
    head = dead_letter("orders", CONFIG, batch(17, flags), incarnation=1)
    assert head.flags == Flag.HEADERS | Flag.RELIABLE
    assert head.priority == 7
    assert head.ttl == 0
    assert head.follows == 0


# In a mailbox -----------------------------------------------------------------------------------------------------
def condemned(**settings: object) -> tuple[Postroom, int]:
    """Three messages, the second given back too often."""
    room = Postroom(deliveries_max=1, **settings)
    room.attach()
    seq = room.stored(1, 3)
    room.pump()
    room.give_back((seq + 1, seq + 1))
    room.commit()
    return room, seq


def bury(room: Postroom, *numbers: int) -> None:
    room.append(room.mailbox.settle_numbers([(number, number) for number in numbers]).writes)
    room.commit()


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("window", [1 << 20, 1])
@pytest.mark.parametrize("buried", [False, True])
def test_settlement_of_a_condemned_message_is_not_confirmed_during_its_burial_nor_after_it(
    *, crash: bool, window: int, buried: bool
) -> None:
    room, seq = condemned(window_bytes=window)
    if buried:
        bury(room, seq + 1)
    if crash:
        room.crash()
    settled = room.settle((seq, seq + 2))
    assert list(settled.dead) == [(seq + 1, seq + 1)]
    assert settled.locked == []
    room.commit()
    assert list(room.settle((seq, seq + 2)).dead) == [(seq + 1, seq + 1)]


def test_condemned_message_behind_the_window_is_still_buried_after_a_settlement_of_it() -> None:
    room = Postroom(deliveries_max=1, window_bytes=1)
    first = room.stored(1)
    seq = room.stored(2)
    room.attach()
    room.pump()
    room.page()
    room.pump()
    assert len(room.give_back((seq, seq)).dead) == 1
    room.commit()
    room.crash()
    assert room.mailbox.condemned() == [], "it lies behind the window"
    settled = room.settle((first, seq))
    assert list(settled.dead) == [(seq, seq)]
    room.commit()
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    dead = room.mailbox.page_in([room.disk[key] for key in sorted(room.disk) if key[:1] == b"b"], None)
    assert [batch.first for batch in dead] == [2]


def test_settlement_of_a_locked_message_is_left_open() -> None:
    room = Postroom()
    seq = room.stored(1, 3)
    room.prepare(transaction(settles=[(seq + 1, seq + 1)]))
    settled = room.settle((seq, seq + 2))
    assert (settled.dead, settled.locked) == ([], [(seq + 1, seq + 1)])


def test_express_message_that_was_buried_leaves_no_row() -> None:
    room = Postroom(deliveries_max=1)
    room.attach()
    number = room.hold(deposit(1, stream=EXPRESS))
    assert number is not None
    room.pump()
    room.give_back((number, number))
    assert list(room.settle((number, number)).dead) == [(number, number)]
    bury(room, number)
    assert room.rows == {}
    assert room.settle((number, number)).dead == []


def test_buried_numbers_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "BURIED_RANGES_MAX", 2)
    room = Postroom(deliveries_max=1)
    room.attach()
    seq = room.stored(1, 7)
    room.pump()
    numbers = [seq, seq + 2, seq + 4]
    for number in numbers:
        room.give_back((number, number))
        bury(room, number)
    room.crash()
    assert list(room.settle((seq, seq + 6)).dead) == [(number, number) for number in numbers[1:]]


# On the way out ---------------------------------------------------------------------------------------------------
SECOND_NAME = f"{NAME}-2"


def bound(monkeypatch: pytest.MonkeyPatch, *, of_all: int, of_one: int) -> None:
    """Room for about so many dead letters."""
    for name, count in (("BURIALS_BYTES_MAX", of_all), ("BURIALS_PER_MAILBOX_BYTES_MAX", of_one)):
        monkeypatch.setattr(f"causeway.core.mail.outbox.{name}", count * ITEM_OVERHEAD_BYTES)


def graveyard(*names: str) -> Stage:
    """Mailboxes of ours whose messages die when they are given back once; their dead letters go to another broker."""
    stage = Stage(deliveries_max=1)
    for name in names:
        stage.own(name)
        stage.groups.know(f"dead/{name}", OTHER)
        stage.hears(Attach(name, 1, 100))
    return stage


def condemn(stage: Stage, name: str, count: int, **fields: object) -> list[Row]:
    """Send so many messages and give them back, the last one first; the rows that are left of it."""
    rows: dict[bytes, Row] = {}
    said: list[Message] = []

    def commit() -> None:
        writes = [write for _, _, writes in stage.groups.operations for write in writes]
        rows.update({write.key: Row(write.key, write.seq, write.value) for write in writes if isinstance(write, Put)})
        said.extend(heads(stage.commit(), CONN))

    for number in range(1, count + 1):
        head = ours(number, dest=name, **fields)
        said += stage.hears(head, body_of(head))
        commit()
    for number in reversed([head.seq for head in said if isinstance(head, Deliver)]):
        stage.hears(Return(name, 1, ((number, number),)))
        commit()
    return [rows[key] for key in sorted(rows)]


def burials(stage: Stage) -> list[Deposit]:
    """Sent since this was last asked."""
    return [head for _, head in stage.links.take() if isinstance(head, Deposit)]


def arrive(stage: Stage, letter: Deposit) -> None:
    last = letter.first + letter.count - 1
    stage.hears_broker(Accepted(letter.source, letter.incarnation, letter.dest, letter.stream, letter.first, last))
    stage.commit()


def stored(stage: Stage) -> int:
    (entry,) = stage.desk.statistics([NAME])["mailboxes"]  # type: ignore[misc]
    return int(entry["stored"])


@pytest.mark.parametrize("fields", [{}, {"stream": EXPRESS}], ids=["stored", "express"])
def test_dead_letters_wait_in_their_mailbox_until_earlier_ones_have_arrived(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, object]
) -> None:
    bound(monkeypatch, of_all=100, of_one=2)
    stage = graveyard(NAME)
    condemn(stage, NAME, 7, **fields)
    sent = burials(stage)
    assert len(sent) == 2
    found: list[int] = []
    for _ in range(7):
        letter = sent.pop(0)
        found.append(letter.first)
        arrive(stage, letter)
        sent += burials(stage)
        assert len(sent) <= 2
    assert sent == []
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 7
    assert stored(stage) == 0


def test_dead_letters_of_one_mailbox_leave_room_for_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, of_all=100, of_one=2)
    stage = graveyard(NAME, SECOND_NAME)
    condemn(stage, NAME, 5)
    condemn(stage, SECOND_NAME, 1)
    assert [letter.source for letter in burials(stage)] == [NAME, NAME, SECOND_NAME]


def test_mailboxes_share_the_room_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, of_all=1, of_one=1)
    stage = graveyard(NAME, SECOND_NAME)
    condemn(stage, NAME, 3)
    condemn(stage, SECOND_NAME, 2)
    found: list[str] = []
    for _ in range(5):
        (letter,) = burials(stage)
        found.append(letter.source)
        arrive(stage, letter)
    assert burials(stage) == []
    assert found == [NAME, NAME, SECOND_NAME, NAME, SECOND_NAME]


def test_what_waits_for_room_is_left_to_the_next_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, of_all=1, of_one=1)
    stage = graveyard(NAME)
    rows = condemn(stage, NAME, 3)
    (letter,) = burials(stage)
    stage.desk.on_ownership_lost(at(), OwnershipLost(KEY, config_of(NAME, OTHER, ME)))
    arrive(stage, letter)
    assert burials(stage) == []

    heir = graveyard()
    heir.groups.own(NAME)
    heir.groups.know(f"dead/{NAME}", OTHER)
    turn = at()
    heir.desk.on_ownership_gained(turn, OwnershipGained(KEY, config_of(NAME, ME, OTHER), rows, None))
    heir.desk.flush(turn)
    found: list[int] = []
    for _ in range(3):
        (letter,) = burials(heir)
        found.append(letter.first)
        arrive(heir, letter)
    assert burials(heir) == []
    assert len(set(found)) == 3
    assert stored(heir) == 0
