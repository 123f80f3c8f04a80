"""The roll as rows: what one landmark wrote the next one reads, and what a broken broker wrote is left out."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.agents import rows
from causeway.core.messages import Holding, SeatHolder
from causeway.limits import ID_MAX
from causeway.store.base import Delete, Put, Row
from causeway.types import Key, key_of
from tests.unit.core.agents.domain import card_of, id_of

GROUP = key_of("causeway/agents/d")


HELD = Holding(key_of("box"), "box", 3, id_of("b2"), (id_of("b2"), id_of("b9")))


def row(write: object) -> Row:
    assert isinstance(write, Put)
    assert write.group == GROUP
    return Row(write.key, write.seq, write.value)


def test_what_was_written_is_read() -> None:
    holder = SeatHolder("b2", id_of("b9"), 4)
    written = [
        rows.agent_row(GROUP, 7, card_of("b2")),
        rows.agent_row(GROUP, 7, card_of("b9", spare=True, capacity=5)),
        rows.seat_row(GROUP, 7, holder),
        rows.version_row(GROUP, 7, 12),
        rows.held_row(GROUP, 7, HELD),
    ]
    roll = rows.read(map(row, written))
    assert roll.agents == {id_of("b2"): card_of("b2"), id_of("b9"): card_of("b9", spare=True, capacity=5)}
    assert roll.seats == {"b2": holder}
    assert roll.version == 12
    assert roll.held == {HELD.group: HELD}
    assert (roll.seat_of(id_of("b9")), roll.seat_of(id_of("b2"))) == (["b2"], [])


def test_agent_that_is_gone_has_no_row() -> None:
    written, gone = rows.agent_row(GROUP, 7, card_of("b2")), rows.agent_gone(GROUP, id_of("b2"))
    assert isinstance(written, Put)
    assert gone == Delete(GROUP, written.key)


def test_group_that_has_ended_has_no_row() -> None:
    written = rows.held_row(GROUP, 7, HELD)
    assert isinstance(written, Put)
    assert rows.held_row(GROUP, 8, msgspec.structs.replace(HELD, members=())) == Delete(GROUP, written.key)


encode = msgspec.msgpack.encode


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"g" + id_of("b2"), b"\xc1"),
        (b"g" + id_of("b2"), encode(card_of("b2", fitness=1001))),
        (b"g" + id_of("b2"), encode(card_of("b2", capability=0))),
        (b"sb2", encode(SeatHolder("b2", Key(b"short"), 1))),
        (b"sb2", encode(SeatHolder("", id_of("b2"), 1))),
        (b"sb2", encode("b2")),
        (b"v", encode(-1)),
        (b"v", encode(ID_MAX)),
        (b"v", b"\xa1\xff"),
        (b"h" + key_of("box"), encode(msgspec.structs.replace(HELD, name="\n"))),
        (b"h" + key_of("box"), encode(msgspec.structs.replace(HELD, owner=b"short"))),
        (b"h" + key_of("box"), b"\xc1"),
        (b"?", encode(1)),
    ],
    ids=[
        "no-card",
        "fitness",
        "capability",
        "holder",
        "unnamed",
        "no-seat",
        "negative",
        "huge",
        "no-text",
        "name",
        "owner",
        "no-group",
        "stranger",
    ],
)
def test_absurd_row_is_left_out(key: bytes, value: bytes) -> None:
    sound = row(rows.agent_row(GROUP, 1, card_of("b3")))
    roll = rows.read([Row(key, 1, value), sound])
    assert (list(roll.agents), roll.seats, roll.version, roll.held) == ([id_of("b3")], {}, 0, {})
