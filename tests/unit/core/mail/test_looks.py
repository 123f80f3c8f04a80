"""Browses that wait for the disk: one load per mailbox, everybody in turn, bounds, and what ends them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.events import PageLoaded
from causeway.core.machine import Turn
from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES
from causeway.core.mail.box import Box
from causeway.core.mail.looks import Looks
from causeway.core.messages import Browse, Browsed, Message, Moved
from causeway.errors import Code
from causeway.limits import LOOKS_PER_CONNECTION_MAX, LOOKS_PER_MAILBOX_MAX
from causeway.types import Key, Peer, key_of
from tests.unit.core.mail.postroom import NAME, Postroom, scan

WINDOW = 10 * (BATCH_OVERHEAD_BYTES + 12)
OWNER = Peer(key_of("b2"), "b2", "127.0.0.1", 7002, 22)


class Hall:
    """One mailbox with thirty messages, ten of them in memory, and those who look into it."""

    def __init__(self, rows_per_page: int = 1000) -> None:
        self.room = Postroom(window_bytes=WINDOW)
        for first in range(1, 31):
            self.room.stored(first)
        self.rows_per_page = rows_per_page
        self.loads: list[tuple[int, bytes]] = []
        self.tokens = 0
        self.mine = True
        groups: Any = SimpleNamespace(load_page=self._load, owned=lambda group: self.mine)
        config: Any = SimpleNamespace(born=7)
        self.box = Box(self.room.mailbox, config)
        self.looks = Looks(groups)
        self.said: list[tuple[int, Message]] = []

    def _load(self, turn: Turn, group: Key, start: bytes, bytes_max: int) -> int:
        self.tokens += 1
        self.loads.append((self.tokens, start))
        return self.tokens

    def browse(self, conn: int, token: int = 1, after: int = 10, row: int = 11, limit: int = 100) -> None:
        turn = Turn(self.room.now)
        self.looks.browse(turn, self.box, conn, Browse(NAME, token, after, limit, row))
        self._keep(turn)

    def load(self) -> bool:
        """The disk answers the oldest load."""
        token, start = self.loads.pop(0)
        found = scan(self.room.disk, start, b"c", 1 << 30)
        rows, next_key = found[0][: self.rows_per_page], found[1]
        if len(rows) < len(found[0]):
            next_key = found[0][len(rows)].key
        turn = Turn(self.room.now)
        taken = self.looks.on_page(turn, self.box, PageLoaded(self.box.mailbox.key, token, rows, next_key))
        self._keep(turn)
        return taken

    def lose(self) -> None:
        turn = Turn(self.room.now)
        self.looks.on_ownership_lost(turn, self.box.mailbox.key, NAME, OWNER)
        self._keep(turn)

    def _keep(self, turn: Turn) -> None:
        self.said += [(send.conn, send.head) for send in turn.effects.sends]

    def answers(self, conn: int) -> list[Browsed]:
        return [head for to, head in self.said if to == conn and isinstance(head, Browsed)]

    def moved(self, conn: int) -> list[Moved]:
        return [head for to, head in self.said if to == conn and isinstance(head, Moved)]


def first_of(answer: Browsed) -> list[int]:
    return [one.seq + n for one in answer.batches for n in range(one.count)]


def test_what_is_in_memory_is_shown_at_once_and_says_that_there_is_more() -> None:
    hall = Hall()
    hall.browse(2, after=-1, row=-1)
    (answer,) = hall.answers(2)
    assert (first_of(answer), answer.done, answer.after, answer.row) == (list(range(1, 11)), False, -1, 11)
    assert hall.loads == []


def test_the_rest_is_read_from_disk_and_is_the_end() -> None:
    hall = Hall()
    hall.browse(2)
    assert hall.answers(2) == []
    assert hall.load()
    (answer,) = hall.answers(2)
    assert (first_of(answer), answer.done, answer.after) == (list(range(11, 31)), True, 10)


def test_one_load_at_a_time_and_everybody_in_turn() -> None:
    hall = Hall(rows_per_page=5)
    hall.room.settle((11, 20))
    for conn in (2, 4, 6):
        hall.browse(conn)
    assert len(hall.loads) == 1
    while hall.loads:
        assert len(hall.loads) == 1
        hall.load()
    # Two pages show nothing; whoever got one of those waits for the others before the next.
    assert [conn for conn, _ in hall.said] == [2, 4, 6]
    assert hall.tokens == 9
    assert [first_of(answer) for conn in (2, 4, 6) for answer in hall.answers(conn)] == [list(range(21, 26))] * 3


def test_a_browse_that_waits_is_answered_from_memory_when_its_messages_came_there_meanwhile() -> None:
    hall = Hall()
    hall.browse(2)
    hall.browse(4)
    hall.room.attach(credit=1000)
    hall.room.pump()
    while hall.room.page():
        hall.room.pump()
    hall.load()
    assert hall.loads == []
    assert [first_of(answer) for answer in hall.answers(4)] == [list(range(11, 31))]


def test_a_question_asked_again_does_not_lose_its_place() -> None:
    hall = Hall()
    hall.browse(2)
    hall.browse(2)
    hall.load()
    assert len(hall.answers(2)) == 1
    assert hall.loads == []


def test_another_question_takes_the_place_of_the_one_before() -> None:
    hall = Hall()
    hall.browse(2)
    hall.browse(2, after=15, row=16)
    hall.load()
    assert hall.answers(2) == []
    hall.load()
    (answer,) = hall.answers(2)
    assert (answer.after, first_of(answer)) == (15, list(range(16, 31)))
    assert hall.loads == []


def test_a_client_that_is_gone_is_not_answered_and_holds_nobody_up() -> None:
    hall = Hall()
    for conn in (2, 4, 6):
        hall.browse(conn)
    hall.looks.on_client_gone(2)
    hall.looks.on_client_gone(4)
    while hall.loads:
        hall.load()
    assert [conn for conn, _ in hall.said] == [6]
    assert hall.tokens == 2
    hall.browse(2)
    hall.load()
    assert len(hall.answers(2)) == 1


def test_those_who_wait_are_sent_to_the_new_owner() -> None:
    hall = Hall()
    for conn in (2, 4, 6):
        hall.browse(conn)
    hall.looks.on_client_gone(4)
    hall.lose()
    assert hall.moved(2) == hall.moved(6) == [Moved(NAME, OWNER, Code.NOT_OWNER, "the mailbox has moved")]
    assert hall.moved(4) == []
    assert not hall.load()  # it came too late
    assert hall.answers(2) == []


def test_nothing_is_loaded_from_a_mailbox_that_has_just_been_lost() -> None:
    hall = Hall()
    hall.browse(2)
    hall.browse(4)
    hall.mine = False
    hall.load()
    assert hall.loads == []
    hall.lose()
    assert len(hall.moved(4)) == 1


def test_a_page_that_was_not_asked_for_here_is_left_to_others() -> None:
    hall = Hall()
    hall.loads.append((77, b"b"))
    assert not hall.load()
    hall.browse(2)
    hall.loads.insert(0, (77, b"b"))
    assert not hall.load()
    assert hall.load()


@pytest.mark.parametrize(
    ("bound", "conns"), [(LOOKS_PER_CONNECTION_MAX, 1), (LOOKS_PER_MAILBOX_MAX + 1, LOOKS_PER_MAILBOX_MAX + 2)]
)
def test_browses_that_wait_are_bounded_and_one_more_is_put_off(bound: int, conns: int) -> None:
    hall = Hall()
    for number in range(bound + 1):
        hall.browse(2 + 2 * (number % conns), token=number)
    late = 2 + 2 * (bound % conns)
    assert [(head.peer, head.code) for head in hall.moved(late)] == [(None, Code.OVERLOADED)]
    hall.looks.on_client_gone(2)
    hall.looks.on_client_gone(4)
    hall.browse(late, token=9999)
    while hall.loads:
        hall.load()
    assert hall.answers(late)[-1].token == 9999
