"""Whatever can be decoded about seats and domains, from clients and from brokers, ends no broker that has a seat."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.core.messages import (
    Accepted,
    AskDomains,
    AskMark,
    AskSeat,
    Attach,
    Bind,
    Bound,
    Causal,
    Chosen,
    Deposit,
    DomainJoined,
    Domains,
    DomainsHeld,
    Interest,
    JoinDomain,
    Message,
    Published,
    Register,
    Rejected,
    Relayed,
    Replicate,
    Routed,
    SeatEntry,
    SeatTaken,
    StatusReply,
    StatusRequest,
    TakeSeat,
)
from causeway.errors import Code
from causeway.names import MAP_NAME, seat_name
from causeway.store.base import Put
from causeway.types import key_of
from causeway.wire.codec import encode_head
from tests.property.lone_broker import CLIENT, INCARNATION, ME, OTHER, LoneBroker
from tests.property.test_absurd_messages import BODIES, BORN, ONE, WATCH, distorted, held_by, say_all

OURS, THEIRS = seat_name(ME.name), seat_name(OTHER.name)
MAP = key_of(MAP_NAME)
BOTH = (SeatEntry("b1", 0, ("main",)), SeatEntry("b2", 1, ("main", "south")))
STAMPED = Causal("orders", 1, domain="main", stamp=(1, 0, 1), to="b1")
SENT = Deposit(CLIENT, INCARNATION, OURS, 2, 1, 1, 0, 1, 4, 0, OTHER.id, None, 0, Causal("orders", 1))
HOP = Deposit(THEIRS, 0, OURS, 2, 1, 1, 0, 1, 4, 0, OTHER.id, Published("", CLIENT, INCARNATION, 1, 1), 0, STAMPED)
ABOUT_SEATS: list[Message] = [
    TakeSeat("b2", ("main",), OTHER.id),
    TakeSeat("b2", ("main", "south"), OTHER.id),
    SeatTaken("b1", ("main",), 0),
    SeatTaken("b1", ("south",), -1, int(Code.CYCLE), "no"),
    AskDomains(0, OTHER.id),
    Domains(7, BOTH),
    Domains(7, BOTH, OURS, OTHER.id),
    DomainsHeld(THEIRS, 2),
    Bind("orders", "b1", OTHER.id),
    Bind("sub/app/x", "b2", OTHER.id),
    Bound("orders", "b1"),
    Bound("orders", "", int(Code.NO_SEAT), "none"),
    AskMark(OURS, THEIRS, 1),
    Relayed(ME.id, encode_head(HOP)),
    Relayed(ME.id, b"nonsense"),
    AskSeat(1, CLIENT),
    JoinDomain(1, "south"),
    SENT,
    msgspec.structs.replace(SENT, published=Published("roads/a1"), causal=Causal()),
    HOP,
    msgspec.structs.replace(HOP, published=Published("roads/a1", CLIENT, INCARNATION, 1, 1)),
    Accepted(OURS, 0, THEIRS, 2, 1, 1),
    Rejected(OURS, BORN, WATCH, 2, 1, 1, int(Code.NO_MAILBOX), "gone"),
    Register(OURS, WATCH, 1, Interest("roads/#", seat=OURS), OTHER.id),
    Attach(WATCH, 2, 10, interest=Interest("roads/#", seat=OURS)),
    Routed(MAP, MAP_NAME, 0, TakeSeat("b2", ("main",), OTHER.id)),
    Routed(key_of(OURS), OURS, 0, HOP),
]
WORDS = st.lists(
    st.tuples(st.booleans(), distorted(ABOUT_SEATS) | st.sampled_from(ABOUT_SEATS), BODIES), min_size=1, max_size=16
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(domains=st.sampled_from([(), ("main",)]), words=WORDS)
def test_no_message_about_seats_that_can_be_decoded_ends_a_broker(
    domains: tuple[str, ...], words: list[tuple[bool, Message, bytes]]
) -> None:
    broker = LoneBroker(domains=domains)
    broker.pass_time()
    broker.client_says(SENT, ONE)
    broker.pass_time()
    say_all(broker, words)
    broker.client_says(StatusRequest(1))
    assert isinstance(broker.said[-1], StatusReply)


NUMBERS = (-1, 0, 2**62, 2**63 - 1, 2**64 - 1)
NONSENSE: list[tuple[bytes, object]] = [
    *((key, value) for key in (b"s", b"sb2", b"n", b"napp", b"v", b"z") for value in (b"", b"\xc1", b"\x90")),
    *((b"v", number) for number in NUMBERS),
    *((b"sb2", ("b2", number, ("main",), 1, True)) for number in NUMBERS),
    *((b"sb2", ("b2", 1, ("main",), number, False)) for number in NUMBERS),
    *((b"sb2", ("b2", 1, domains, 1, True)) for domains in ((), ("a/b",), ("main",) * 2, ("",), ("x" * 9999,))),
    (b"sb1", ("b1", 0, ("main", "west"), 1, False)),
    (b"sb9", ("b2", 1, ("main",), 1, True)),
    (b"s\xff", ("\xff", 1, ("main",), 1, True)),
    (b"napp", "nobody"),
    (b"napp", "x" * 9999),
    (b"n\xff\xff", "b1"),
]


@pytest.mark.parametrize("at", range(len(NONSENSE)))
def test_rows_of_a_broken_owner_of_the_map_do_not_end_the_broker_that_takes_over_from_it(at: int) -> None:
    broker = LoneBroker()
    key, value = NONSENSE[at]
    row = Put(MAP, key, 1, value if isinstance(value, bytes) else msgspec.msgpack.encode(value))
    broker.broker_says(Chosen(MAP, held_by(OTHER, ME, name=MAP_NAME), 1))
    broker.broker_says(Replicate(((MAP, BORN, ME.store, 1, 1),)), msgspec.msgpack.encode([[row]]))
    broker.broker_says(Chosen(MAP, held_by(ME, epoch=BORN + 1, name=MAP_NAME), 1))
    broker.pass_time()
    for head in (JoinDomain(1, "main"), AskSeat(2, CLIENT), AskSeat(3, "orders"), StatusRequest(4)):
        broker.client_says(head)
        for _ in range(3):
            broker.pass_time()
    assert any(isinstance(head, DomainJoined) for head in broker.said) or key == b"sb2", (
        "the map is served all the same"
    )
    assert isinstance(broker.said[-1], StatusReply)
