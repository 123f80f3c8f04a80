"""What clients and brokers say that cannot be: about seats that nobody has, and mailboxes that never end."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.causal.causal import BrokerCausal
from causeway.core.events import OwnershipGained
from causeway.core.messages import Attach, Bound, Causal, Deposit, Domains, Interest, Moved, Rejected, Routed, SeatEntry
from causeway.errors import Code
from causeway.names import seat_name
from causeway.types import key_of
from tests.unit.core.mail.frontdesk import Stage, ours
from tests.unit.core.mail.neighbours import ME, OTHER, at, config_of
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


def test_nothing_overtakes_a_batch_that_was_refused_for_want_of_a_map() -> None:
    stage = Stage()
    stage.ring.active = True
    second = msgspec.structs.replace(LETTER, first=2, follows=1)
    stage.hears(LETTER, BODY)
    stage.hears_broker(MAP)
    (answer,) = stage.hears(second, BODY)  # it was on its way when the first was refused
    assert isinstance(answer, Rejected)
    assert not reached(stage)
    assert stage.hears(LETTER, BODY) == stage.hears(second, BODY) == []
    third = msgspec.structs.replace(LETTER, first=3, follows=2)
    assert stage.hears(third, BODY) == []


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


@pytest.mark.parametrize(("mailbox", "believed"), [("bob", False), ("bob~00000000000000ab", True)])
def test_a_mailbox_that_never_ends_has_not_ended_whoever_says_so(mailbox: str, *, believed: bool) -> None:
    """A letter for it would count as delivered."""
    stage = Stage()
    causal = stage.desk._causal
    assert isinstance(causal, BrokerCausal)
    group = stage.groups.own(SEAT)
    stage.hears_broker(MAP)
    stage.hears_broker(Bound(mailbox, "b2"))
    causal.gain(at(), OwnershipGained(group, config_of(SEAT, ME, OTHER), [], None))
    stage.hears(msgspec.structs.replace(LETTER, causal=Causal(mailbox)), BODY)
    (then,) = stage.groups.take()
    then(at())
    (seat,) = causal._seats.all.values()
    (entry,) = seat.entries.values()
    (way,) = causal.statistics()["seats"][0]["untaken"]  # type: ignore[index]
    assert (way["to"], way["count"], way["source"], way["first"]) == (mailbox, 1, LETTER.source, LETTER.first)
    stage.hears_broker(
        Rejected(SEAT, config_of(SEAT, ME).born, mailbox, 2, entry.number, entry.number, Code.NO_MAILBOX, "")
    )
    assert (mailbox not in entry.left) is believed
    assert entry.refused == (Code.NO_MAILBOX if believed else 0)
