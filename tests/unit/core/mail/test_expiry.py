"""Expiry in an office: looks for what is due on disk, one at a time, written only when that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from causeway.core.events import PageLoaded
from causeway.core.machine import Turn
from causeway.core.mail.box import Box, Done
from causeway.core.mail.expiry import Expiry
from causeway.core.mail.looks import Looks
from causeway.core.mail.sweeper import SWEEP_PAUSE
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Browse
from causeway.store.base import Write
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, Key
from tests.unit.core.mail.postroom import NAME, scan
from tests.unit.core.mail.test_sweeper import filled


class Bureau:
    """One mailbox with twenty messages on disk, ten of which have expired."""

    def __init__(self) -> None:
        self.room = filled()
        self.room.now += SECOND
        self.loads: list[tuple[int, bytes]] = []
        self.tokens = 0
        self.serving = True
        self.traces: list[TraceRecord] = []
        groups: Any = SimpleNamespace(
            load_page=self._load, owned=lambda group: True, serving=lambda group: self.serving
        )
        config: Any = SimpleNamespace(born=7)
        self.box = Box(self.room.mailbox, config)
        self.looks = Looks(groups)
        self.expiry = Expiry(groups, self.looks, self._write, Tracer("broker"))

    def _load(self, turn: Turn, group: Key, start: bytes, bytes_max: int) -> int:
        self.tokens += 1
        self.loads.append((self.tokens, start))
        return self.tokens

    def _write(self, turn: Turn, box: Box, writes: Sequence[Write], done: Done | None) -> None:
        assert self.serving
        self.room.append(writes)
        self.room.commit()

    def expire(self) -> None:
        turn = Turn(self.room.now)
        self.expiry.expire(turn, self.box)
        self.traces += turn.effects.traces

    def load(self) -> None:
        token, start = self.loads.pop(0)
        turn = Turn(self.room.now)
        page = PageLoaded(self.box.mailbox.key, token, *scan(self.room.disk, start, b"c", 1 << 30))
        assert self.looks.on_page(turn, self.box, page)
        self.traces += turn.effects.traces


def test_what_is_due_on_disk_is_looked_for_once_ended_and_traced() -> None:
    bureau = Bureau()
    assert bureau.box.due(SECOND) == bureau.room.now
    bureau.expire()
    assert bureau.box.due(SECOND) is None
    bureau.expire()
    assert len(bureau.loads) == 1
    bureau.load()
    assert bureau.room.mailbox.statistics().stored_count == 20
    assert [(trace.step, trace.first) for trace in bureau.traces] == [(Step.EXPIRED, n) for n in range(12, 31, 2)]
    assert bureau.box.due(SECOND) is None


def test_nothing_is_swept_while_nothing_can_be_written_but_later() -> None:
    bureau = Bureau()
    bureau.expire()
    bureau.serving = False
    bureau.load()
    assert bureau.room.mailbox.statistics().stored_count == 30
    bureau.serving = True
    assert bureau.box.due(SECOND) == bureau.room.now + SWEEP_PAUSE
    bureau.room.now += SWEEP_PAUSE
    bureau.expire()
    bureau.load()
    assert bureau.room.mailbox.statistics().stored_count == 20


def test_a_sweep_waits_for_its_turn_behind_those_who_browse() -> None:
    bureau = Bureau()
    bureau.looks.browse(Turn(bureau.room.now), bureau.box, 2, Browse(NAME, 1, 10, 100, 11))
    bureau.expire()
    assert bureau.box.due(SECOND) is None
    assert len(bureau.loads) == 1
    bureau.load()
    bureau.load()
    assert bureau.room.mailbox.statistics().stored_count == 20


def test_a_sweep_whose_messages_were_consumed_meanwhile_reads_nothing() -> None:
    bureau = Bureau()
    room = bureau.room
    room.attach(credit=1000)
    room.settle(*((head.seq, head.seq) for head in room.pump()))
    while room.page():
        room.settle(*((head.seq, head.seq) for head in room.pump()))
        room.expire()
    bureau.expire()
    assert bureau.loads == []
    assert not bureau.box.sweeping
    assert bureau.box.due(SECOND) is None
