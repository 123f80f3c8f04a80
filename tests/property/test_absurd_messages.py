"""Whatever can be decoded, from clients and from brokers, ends no broker: nothing raises, every answer fits a frame."""

from __future__ import annotations

import types
import typing
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.core.groups.registry import ROOT, ROOT_NAME
from causeway.core.messages import (
    Accepted,
    Attach,
    Browse,
    Browsed,
    Commit,
    Confirmed,
    Deposit,
    Detach,
    Find,
    Message,
    Moved,
    Outcome,
    Rejected,
    Resend,
    Return,
    Routed,
    SendPart,
    Settle,
    SettlePart,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.errors import Code
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX
from causeway.types import key_of
from causeway.wire.body import join
from causeway.wire.codec import decode_head, encode_head
from tests.property.lone_broker import CLIENT, INCARNATION, ME, OTHER, LoneBroker

GROUP_TAGS = range(30, 50)
"""What the members of a group say to each other is tested where groups are."""

ONE = join([b"x"])
INTEGERS = st.sampled_from([1, 0, 2, -1, INCARNATION, 2**31, 2**62, 2**63 - 1, 2**64 - 1])
NAMES = st.sampled_from([CLIENT, "orders", "b2", ROOT_NAME, "dead/orders", "", "\x00", "ä" * 200, "n" * 60_000])
KEYS = st.sampled_from([ME.id, OTHER.id, ROOT, key_of("orders"), key_of(CLIENT), b"", bytes(16), b"k" * 100])
BODIES = st.sampled_from([ONE, b"", join([b"a", b"bb"]), ONE + ONE]) | st.binary(max_size=24)

_SEND = SendPart("orders", 1, 1, 0, 4, 0, len(ONE))
_SETTLE = SettlePart(CLIENT, ((1, 1),))
_DEPOSIT = Deposit(CLIENT, INCARNATION, "orders", 2, 1, 1, 0, 3, 4, 0, OTHER.id)
_PREPARE = TxPrepare(CLIENT, INCARNATION, 1, 1, "orders", (_SEND,), (), OTHER.id)
SENSIBLE: list[Message] = [
    _DEPOSIT,
    msgspec.structs.replace(_DEPOSIT, stream=0),
    msgspec.structs.replace(_DEPOSIT, dest=CLIENT, stream=1),
    Attach("orders", 1, 10),
    Attach(CLIENT, 1, 1),
    Detach("orders", 1),
    Settle("orders", 1, ((1, 1),)),
    Return("orders", 1, ((1, 1), (2**62, 2**62))),
    Browse("orders", 1, 0, 10),
    Find("orders"),
    Commit(CLIENT, INCARNATION, 1, (_SEND,), ()),
    Commit(CLIENT, INCARNATION, 2, (), (_SETTLE,)),
    _PREPARE,
    TxPrepared(CLIENT, INCARNATION, 1, 1, "orders", False, 9, ""),
    TxDecide(CLIENT, INCARNATION, 1, 1, "orders", True, OTHER.id),
    TxDone(CLIENT, INCARNATION, 1, 1, "orders"),
    TxAsk(CLIENT, INCARNATION, 1, 1, "orders", OTHER.id),
    Accepted(CLIENT, INCARNATION, "orders", 2, 1, 1),
    Rejected(CLIENT, INCARNATION, "orders", 2, 1, 1, 6, "full"),
    Resend(CLIENT, INCARNATION, "orders", 2, 0),
    Confirmed(CLIENT, INCARNATION, "orders", 2, 1, 1),
    Routed(key_of("orders"), "orders", 0, _DEPOSIT),
    Routed(key_of("orders"), "orders", 0, _PREPARE),
]
KINDS: list[type[msgspec.Struct]] = [
    kind for kind in typing.get_args(Message) if kind.__struct_config__.tag not in GROUP_TAGS
]


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value a field of this type can be decoded to."""
    hint = getattr(hint, "__supertype__", hint)
    plain = {int: INTEGERS, str: NAMES, bytes: KEYS, bool: st.booleans(), types.NoneType: st.none()}
    if hint in plain:
        return plain[hint]
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and inside[-1] is Ellipsis:
        return st.lists(values(inside[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, inside))
    if origin in (types.UnionType, typing.Union):
        return st.one_of([values(one) for one in inside])
    return st.builds(hint, **{name: values(of) for name, of in typing.get_type_hints(hint).items()})


@st.composite
def distorted(draw: st.DrawFn) -> Message:
    """A sensible message, with up to two fields that are not."""
    head = draw(st.sampled_from(SENSIBLE))
    hints = typing.get_type_hints(type(head))
    names = draw(st.lists(st.sampled_from(sorted(hints)), min_size=1, max_size=2, unique=True))
    return msgspec.structs.replace(head, **{name: draw(values(hints[name])) for name in names})


MESSAGES = distorted() | distorted() | distorted() | st.sampled_from(KINDS).flatmap(values)
WORDS = st.lists(st.tuples(st.booleans(), MESSAGES, BODIES), min_size=1, max_size=16)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(joined=st.booleans(), words=WORDS)
def test_no_message_that_can_be_decoded_ends_a_broker(
    joined: bool,
    words: list[tuple[bool, Message, bytes]],
) -> None:
    broker = LoneBroker()
    if joined:
        broker.join_other()
    broker.client_says(_DEPOSIT, ONE)
    broker.client_says(Attach("orders", 1, 10))
    broker.pass_time()
    for from_client, head, body in words:
        encoded = encode_head(head)
        if len(encoded) > HEAD_BYTES_MAX:
            continue
        say = broker.client_says if from_client else broker.broker_says
        say(decode_head(encoded), body)
        broker.pass_time()


@pytest.mark.parametrize(
    "head",
    [
        msgspec.structs.replace(_DEPOSIT, dest=ROOT_NAME),
        Attach(ROOT_NAME, 1, 1),
        Settle(ROOT_NAME, 1, ((1, 1),)),
        Browse(ROOT_NAME, 1, 0, 1),
        Find(ROOT_NAME),
        Commit(CLIENT, INCARNATION, 1, (msgspec.structs.replace(_SEND, dest=ROOT_NAME),), ()),
    ],
    ids=lambda head: type(head).__name__,
)
def test_reserved_name_is_refused_by_name(head: Message) -> None:
    broker = LoneBroker()
    broker.client_says(head, ONE)
    for _ in range(20):
        broker.pass_time()
    answer = broker.said[-1]
    assert isinstance(answer, Rejected | Moved | Outcome)
    assert (answer.code, "reserved" in answer.detail) == (Code.BAD_FIELD, True)


def test_batch_that_no_broker_could_pass_on_is_refused() -> None:
    broker = LoneBroker()
    broker.client_says(_DEPOSIT, join([bytes(FRAME_BYTES_MAX - 1024)]))
    answer = broker.said[-1]
    assert isinstance(answer, Rejected)
    assert (answer.code, answer.detail[:4]) == (Code.BAD_FIELD, "body")


def test_browsing_goes_on_where_an_answer_had_to_stop() -> None:
    broker = LoneBroker()
    big = join([bytes(3 << 20)])
    for number in range(1, 4):
        broker.client_says(msgspec.structs.replace(_DEPOSIT, first=number, follows=number - 1), big)
    for _ in range(20):
        broker.pass_time()
    found: list[int] = []
    after, done = 0, False
    while not done:
        broker.client_says(Browse("orders", 1, after, 100))
        answer = broker.said[-1]
        assert isinstance(answer, Browsed)
        assert len(answer.batches) == 1
        found += [batch.first for batch in answer.batches]
        after, done = answer.batches[-1].seq, answer.done
    assert found == [1, 2, 3]
