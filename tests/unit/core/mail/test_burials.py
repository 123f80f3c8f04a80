"""Dead letters that find no room on the way stay in their mailbox, and leave later."""

from __future__ import annotations

import pytest

from causeway.core.events import OwnershipGained, OwnershipLost
from causeway.core.messages import Accepted, Attach, Deliver, Deposit, Message, Return
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.store.base import Put, Row
from tests.unit.core.mail.frontdesk import CONN, KEY, Stage, ours
from tests.unit.core.mail.neighbours import ME, OTHER, at, config_of, heads
from tests.unit.core.mail.postroom import EXPRESS, NAME, body_of

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
