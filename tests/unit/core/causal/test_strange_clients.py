"""What clients say about seats that nobody has: it costs nothing that stays."""

from __future__ import annotations

import msgspec

from causeway.core.messages import Attach, Causal, Deposit, Domains, Interest, Moved, Rejected, Routed, SeatEntry
from causeway.errors import Code
from causeway.names import seat_name
from causeway.types import key_of
from tests.unit.core.mail.frontdesk import Stage, ours
from tests.unit.core.mail.neighbours import OTHER
from tests.unit.core.mail.postroom import NAME, TRANSACTIONAL, body_of

SEAT = seat_name("b2")
LETTER = msgspec.structs.replace(ours(1), dest=SEAT, stream=TRANSACTIONAL, count=1, causal=Causal("bob"))
BODY = body_of(LETTER)
MAP = Domains(1, (SeatEntry("b2", 0, ("north",)),))


def reached(stage: Stage) -> bool:
    """Whether anything went to that seat's group, or asked for it to begin."""
    sent = [head.head if isinstance(head, Routed) else head for _, head in stage.links.take()]
    return ("resolve", key_of(SEAT)) in stage.groups.asked or any(isinstance(head, Deposit) for head in sent)


def test_a_batch_for_a_seat_that_is_not_on_the_map_begins_no_group() -> None:
    stage = Stage()
    stage.ring.active = True
    (answer,) = stage.hears(LETTER, BODY)
    assert isinstance(answer, Rejected)
    assert answer.code == Code.NOT_READY
    assert not reached(stage)
    stage.hears_broker(MAP)
    assert stage.hears(LETTER, BODY) == []
    assert reached(stage)


def test_a_reader_for_a_seat_that_is_not_on_the_map_begins_no_group() -> None:
    stage = Stage()
    stage.ring.active = True
    stage.own(NAME)
    attach = Attach(NAME, 1, 10, interest=Interest("news/#", seat=SEAT))
    (answer,) = stage.hears(attach)
    assert isinstance(answer, Moved)
    assert answer.code == Code.NOT_READY
    stage.commit()
    assert not reached(stage)
    stage.hears_broker(MAP, peer=OTHER)
    assert stage.hears(attach) == []
    stage.commit()
    assert reached(stage)
