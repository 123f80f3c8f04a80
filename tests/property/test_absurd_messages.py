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
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import (
    Accept,
    Accepted,
    Adopted,
    AskInterest,
    Attach,
    Attached,
    Browse,
    Browsed,
    Chosen,
    Chunk,
    Chunked,
    Commit,
    Config,
    Confirmed,
    Copied,
    Credit,
    Deposit,
    Detach,
    EndMailbox,
    Enter,
    Entered,
    Fetch,
    Fetched,
    Find,
    Hail,
    Inquire,
    Installed,
    Interest,
    Leaves,
    Member,
    Message,
    Moved,
    NotMember,
    Outbid,
    Outcome,
    Outdated,
    Prepare,
    Promised,
    Published,
    Register,
    Registered,
    Rejected,
    Replicate,
    Resend,
    Resolve,
    Resolved,
    Return,
    Routed,
    SendPart,
    Settle,
    SettlePart,
    StatusReply,
    StatusRequest,
    Summary,
    SummaryHeld,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.errors import Code
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX
from causeway.store.base import LOCAL, Put, Row
from causeway.topics import item_of
from causeway.types import SECOND, Peer, key_of
from causeway.wire.body import join
from causeway.wire.codec import decode_head, encode_head
from tests.property.lone_broker import CLIENT, INCARNATION, ME, OTHER, LoneBroker

ONE = join([b"x"])
TOPIC = "roads/a1/speed"
ITEM = item_of(TOPIC)
WATCH = "sub/app/watch"
INTEGERS = st.sampled_from([1, 0, 2, -1, INCARNATION, 2**31, 2**62, 2**63 - 1, 2**64 - 1])
NAMES = st.sampled_from([CLIENT, "orders", "b2", ROOT_NAME, "dead/orders", "", "\x00", "ä" * 200, "n" * 60_000])
TEXTS = st.sampled_from([ITEM, "causeway/topics/99", WATCH, TOPIC, "roads/#", "#", "#/#", "a/" * 99, "x >", "x = 'y'"])
KEYS = st.sampled_from([ME.id, OTHER.id, ROOT, key_of("orders"), key_of(ITEM), b"", bytes(16), b"k" * 100])
ROW_KEYS = [
    b"b" + (1).to_bytes(8, "big"),
    b"b",
    b"b" + b"\xff" * 8,
    b"b" + b"\xff" * 20,
    b"m" + bytes(8),
    b"m" + b"\xff" * 20,
    b"s",
    b"t",
    b"u",
    b"d" + bytes(16),
    b"e" + bytes(16),
    b"i" + WATCH.encode(),
    b"r" + TOPIC.encode(),
    b"w",
    b"",
]
ROWS = st.builds(Row, st.sampled_from(ROW_KEYS), INTEGERS, st.binary(max_size=8))
PUTS = st.builds(
    Put, st.sampled_from([key_of("orders"), ROOT, LOCAL]), st.sampled_from(ROW_KEYS), INTEGERS, st.binary()
)
BODIES = (
    st.sampled_from([ONE, b"", join([b"a", b"bb"]), ONE + ONE])
    | st.binary(max_size=24)
    | st.lists(ROWS, max_size=3).map(msgspec.msgpack.encode)
    | st.lists(st.lists(PUTS, max_size=3), max_size=3).map(msgspec.msgpack.encode)
)

_SEND = SendPart("orders", 1, 1, 0, 4, 0, len(ONE))
_SETTLE = SettlePart(CLIENT, ((1, 1),))
_DEPOSIT = Deposit(CLIENT, INCARNATION, "orders", 2, 1, 1, 0, 3, 4, 0, OTHER.id)
_PREPARE = TxPrepare(CLIENT, INCARNATION, 1, 1, "orders", (_SEND,), (), OTHER.id)
_PUBLISH = msgspec.structs.replace(_DEPOSIT, dest=ITEM, published=Published(TOPIC))
_FORWARD = msgspec.structs.replace(_DEPOSIT, source=ITEM, dest=WATCH, published=Published(TOPIC, CLIENT, 7, 2, 1))
_INTEREST = Interest("roads/#", "JMSPriority > 3", replay=True)
_PUBLISHED_PART = msgspec.structs.replace(_SEND, dest=ITEM, published=Published(TOPIC))
ABOUT_TOPICS: list[Message] = [
    _PUBLISH,
    msgspec.structs.replace(_PUBLISH, stream=0, flags=17),
    msgspec.structs.replace(_PUBLISH, stream=1, flags=21),
    _FORWARD,
    msgspec.structs.replace(_FORWARD, stream=0),
    Attach(WATCH, 2, 10, interest=_INTEREST),
    Attach(WATCH, 2, 10, interest=Interest("#", overflow=2, bytes_max=1)),
    Attach("history/roads", 3, 10, interest=Interest("roads/#", keep=5)),
    Register(ITEM, WATCH, 1, _INTEREST, OTHER.id),
    Register(ITEM, "sub/b/1", 2, Interest("roads/*/speed"), OTHER.id),
    Register(ITEM, WATCH, 2, None, OTHER.id),
    Registered(ITEM, WATCH, 2, 1, "history/roads"),
    AskInterest(ITEM, OTHER.id),
    Summary(ITEM, 1, 1, ("roads/#",), 2 * SECOND),
    SummaryHeld(ITEM, 1, 1, OTHER.id),
    EndMailbox(WATCH, 1),
    Accepted(ITEM, 1, WATCH, 2, 1, 1),
    Rejected(ITEM, 1, WATCH, 2, 1, 1, int(Code.NO_MAILBOX), "gone"),
    Commit(CLIENT, INCARNATION, 1, (_PUBLISHED_PART,), ()),
    Routed(key_of(ITEM), ITEM, 0, AskInterest(ITEM, OTHER.id)),
    Routed(key_of(ITEM), ITEM, 0, _PUBLISH),
]
SENSIBLE: list[Message] = [
    _DEPOSIT,
    msgspec.structs.replace(_DEPOSIT, stream=0),
    msgspec.structs.replace(_DEPOSIT, dest=CLIENT, stream=1),
    Attach("orders", 1, 10),
    Attach(CLIENT, 1, 1),
    Credit("orders", 1, 2**62),
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
KINDS: list[type[msgspec.Struct]] = list(typing.get_args(Message))
BORN = 1 << 20
"""Above every epoch that this cluster has reached."""


def held_by(*peers: Peer, epoch: int = BORN, name: str = "orders", incomplete: tuple[Peer, ...] = ()) -> Config:
    """A group, the first broker its owner."""
    members = tuple(Member(peer, peer.store) for peer in peers)
    return Config(name, epoch, peers[0].id, members, tuple(peer.id for peer in incomplete), BORN)


ORDERS = key_of("orders")
THEIRS, OURS = held_by(OTHER, ME), held_by(ME, OTHER)
NEXT = held_by(ME, OTHER, epoch=BORN + 1)
ROW = Put(ORDERS, b"s" + msgspec.msgpack.encode(("a", 1, 1)), 1, b"")
ABOUT_GROUPS: list[Message] = [
    Prepare(ORDERS, THEIRS, (1, OTHER.id)),
    Prepare(ROOT, held_by(OTHER, ME, name=ROOT_NAME), (9, OTHER.id)),
    Promised(ORDERS, BORN + 1, (1, ME.id), BORN, 1),
    Outbid(ORDERS, BORN + 1, (9, OTHER.id)),
    Outdated(ORDERS, OURS),
    Accept(ORDERS, (1, OTHER.id), NEXT),
    Adopted(ORDERS, BORN + 1, (1, ME.id)),
    Chosen(ORDERS, THEIRS, 1),
    Chosen(ORDERS, NEXT, 1),
    Chosen(ORDERS, held_by(ME, epoch=BORN + 2), 1),
    Chosen(ORDERS, held_by(OTHER, ME, epoch=BORN + 3, incomplete=(ME,)), 5),
    Installed(ORDERS, BORN, 1),
    Replicate(((ORDERS, BORN, ME.store, 1, 1),)),
    Copied(((ORDERS, BORN, 1),)),
    NotMember(ORDERS, BORN, 99),
    Chunk(ORDERS, BORN + 3, ME.store, 5, b"", b"\xff"),
    Chunked(ORDERS, BORN, b"", True),
    Fetch(ORDERS, BORN, (b"b" + bytes(8), ROW.key)),
    Fetched(ORDERS, BORN, False, (ROW.key,)),
    Inquire(ORDERS, BORN),
    Resolve(key_of("more"), "more", (OTHER, ME)),
    Resolved(ORDERS, THEIRS),
    Enter(ORDERS, NEXT),
    Entered(ORDERS, BORN),
]


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Any value a field of this type can be decoded to."""
    hint = getattr(hint, "__supertype__", hint)
    plain = {int: INTEGERS, str: NAMES | TEXTS, bytes: KEYS, bool: st.booleans(), types.NoneType: st.none()}
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
def distorted(draw: st.DrawFn, sensible: list[Message] = SENSIBLE) -> Message:
    """A sensible message, with up to two fields that are not."""
    head = draw(st.sampled_from(sensible))
    hints = typing.get_type_hints(type(head))
    names = draw(st.lists(st.sampled_from(sorted(hints)), min_size=1, max_size=2, unique=True))
    return msgspec.structs.replace(head, **{name: draw(values(hints[name])) for name in names})


JOINED: list[Message] = [Hail(True, False), Leaves(True, False, (ME,), ())]
STANDINGS: list[list[Message]] = [
    [],
    JOINED,
    [*JOINED, Chosen(ORDERS, THEIRS, 1)],
    [*JOINED, Chosen(ORDERS, OURS, 1), Installed(ORDERS, BORN, 1)],
    [Chosen(ROOT, held_by(OTHER, ME, name=ROOT_NAME), 1)],
]
"""What the other broker is to ours: a stranger, a neighbour, the owner of a group we follow, a follower of ours."""

MESSAGES = distorted() | distorted() | distorted() | st.sampled_from(KINDS).flatmap(values)
GROUP_WORDS = st.lists(
    st.tuples(st.just(False), distorted(ABOUT_GROUPS) | st.sampled_from(ABOUT_GROUPS), BODIES), min_size=1, max_size=16
)
WORDS = st.lists(st.tuples(st.booleans(), MESSAGES, BODIES), min_size=1, max_size=16)
TOPIC_WORDS = st.lists(
    st.tuples(st.booleans(), distorted(ABOUT_TOPICS) | st.sampled_from(ABOUT_TOPICS), BODIES), min_size=1, max_size=16
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(standing=st.sampled_from(STANDINGS), words=WORDS | GROUP_WORDS)
def test_no_message_that_can_be_decoded_ends_a_broker(
    standing: list[Message],
    words: list[tuple[bool, Message, bytes]],
) -> None:
    broker = LoneBroker()
    for head in standing:
        broker.broker_says(head)
    broker.client_says(_DEPOSIT, ONE)
    broker.client_says(Attach("orders", 1, 10))
    broker.pass_time()
    say_all(broker, words)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(standing=st.sampled_from(STANDINGS[:2]), subscribed=st.booleans(), words=TOPIC_WORDS)
def test_no_message_about_topics_that_can_be_decoded_ends_a_broker(
    standing: list[Message], subscribed: bool, words: list[tuple[bool, Message, bytes]]
) -> None:
    broker = LoneBroker()
    if subscribed:
        broker.client_says(Attach(WATCH, 1, 10, interest=Interest("roads/#")))
        broker.pass_time()
        broker.client_says(msgspec.structs.replace(_PUBLISH, flags=17), ONE)
        broker.pass_time()
    for head in standing:
        broker.broker_says(head)
    say_all(broker, words)
    broker.client_says(StatusRequest(1))
    assert isinstance(broker.said[-1], StatusReply)


def say_all(broker: LoneBroker, words: list[tuple[bool, Message, bytes]]) -> None:
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


def stored(**changes: object) -> bytes:
    """A batch row of one message, with some fields that are not sensible."""
    batch = StoredBatch(1, "a", 1, 1, 1, 1, 0, 4, 0, 0, OTHER.id, ONE)
    return msgspec.msgpack.encode(msgspec.structs.replace(batch, **changes))


def row_of(key: bytes, value: object) -> Put:
    return Put(ORDERS, key, 1, value if isinstance(value, bytes) else msgspec.msgpack.encode(value))


BATCH_KEY, MARK_KEY, SEEN_KEY = b"b" + (1).to_bytes(8, "big"), b"m" + (1).to_bytes(8, "big"), ROW.key
TX_KEY = b"t" + msgspec.msgpack.encode(("a", 1, 1, 1))
NONSENSE: list[Put] = [
    *(
        row_of(key, value)
        for key in (*ROW_KEYS, SEEN_KEY, TX_KEY)
        for value in (b"", b"\xc1", b"\x90", b"\x93\x01\x01\x01")
    ),
    *(
        row_of(BATCH_KEY, stored(**{field: value}))
        for field in ("seq", "first", "count", "flags", "priority", "expires", "at", "count_before", "bytes_before")
        for value in (-1, 0, 2, 4097, 2**62, 2**63 - 1, 2**64 - 1)
    ),
    *(row_of(BATCH_KEY, stored(body=body)) for body in (b"", b"x", b"\x00\x00\x00\x09x", ONE + ONE)),
    *(row_of(BATCH_KEY, stored(**change)) for change in ({"source": ""}, {"source": "n" * 60_000}, {"origin": b"k"})),
    *(
        row_of(MARK_KEY, [(first, last, fate)])
        for first in (-1, 1, 2**64 - 1)
        for last in (-1, 1, 2**64 - 1)
        for fate in (-9, -1, 1, 2**32 + 1, 2**64 - 1)
    ),
    *(row_of(SEEN_KEY, ([(1, 2**64 - 1), (5, 1)], -1, number, number, number)) for number in (-1, 2**62, 2**64 - 1)),
    row_of(TX_KEY, (b"k", [(1, 1, 0, 4, 0, ONE)], [(1, 1)])),
    row_of(TX_KEY, (OTHER.id, [(2**64 - 1, 2**64 - 1, -1, -1, 2**64 - 1, b"")], [(-5, 2**64 - 1), (9, 1)])),
    row_of(b"u", [(-1, 2**64 - 1), (9, 1)]),
    row_of(b"d" + bytes(16), (1, ["", "n" * 60_000, ROOT_NAME], 1)),
    row_of(b"d" + b"\xff" * 40, (-1, ["orders"], 2**64 - 1)),
]


@pytest.mark.parametrize("window", [1 << 20, 1])
@pytest.mark.parametrize("at", range(len(NONSENSE)))
def test_rows_of_a_broken_owner_do_not_end_the_broker_that_takes_over_from_it(at: int, window: int) -> None:
    broker = LoneBroker(window_bytes=window)
    broker.broker_says(Chosen(ORDERS, THEIRS, 1))
    sound = row_of(BATCH_KEY, stored()) if NONSENSE[at].key != BATCH_KEY else row_of(SEEN_KEY, ([], 0, 0, 0, 0))
    broker.broker_says(Replicate(((ORDERS, BORN, ME.store, 1, 1),)), msgspec.msgpack.encode([[sound, NONSENSE[at]]]))
    broker.broker_says(Chosen(ORDERS, held_by(ME, epoch=BORN + 1), 1))
    broker.pass_time()
    for head in (
        Attach("orders", 1, 10),
        msgspec.structs.replace(_DEPOSIT, first=5, follows=0),
        msgspec.structs.replace(_DEPOSIT, stream=1),
        Return("orders", 1, ((1, 1),)),
        Commit(CLIENT, INCARNATION, 1, (_SEND,), (SettlePart("orders", ((1, 2),)),)),
        Browse("orders", 1, 0, 10),
        Settle("orders", 1, ((0, 2**63 - 1),)),
        StatusRequest(1),
    ):
        broker.client_says(head, ONE if isinstance(head, Deposit | Commit) else b"")
        broker.pass_time()
    assert any(isinstance(head, Attached) for head in broker.said), "the mailbox is served all the same"
    assert isinstance(broker.said[-1], StatusReply)


def topic_rows() -> list[tuple[str, Put]]:
    """Rows of an item and of a subscription that no sound owner writes."""
    wish = Interest("roads/#", "JMSPriority > 1")
    batch = StoredBatch(1, "a", 1, 1, 1, 1, 16, 4, 0, 0, OTHER.id, ONE, published=Published(TOPIC))
    values: list[tuple[str, bytes, object]] = [
        (ITEM, b"i" + WATCH.encode(), (number, wish, number, False)) for number in (-1, 0, 2**62, 2**63 - 1, 2**64 - 1)
    ]
    values += [
        (ITEM, b"i" + WATCH.encode(), (1, broken, 1, False))
        for broken in (Interest(""), Interest("a//b"), Interest("#", "x >"), Interest("#", keep=-1, bytes_max=-1))
    ]
    values += [(ITEM, b"i" + name, (1, wish, 1, False)) for name in (b"", b"\xff", ITEM.encode(), b"n" * 60_000)]
    values += [
        (ITEM, b"r" + TOPIC.encode(), msgspec.structs.replace(batch, **change))
        for change in (
            {"published": None},
            {"published": Published("")},
            {"body": b"x"},
            {"count": 9},
            {"flags": 2**64 - 1},
            {"priority": -1},
            {"seq": 2**64 - 1},
            {"first": 2**64 - 1},
            {"expires": -1},
            {"flags": 20, "body": join([b"\x00\x09"])},
        )
    ]
    values += [
        (WATCH, b"w", row)
        for row in (
            (-1, wish, False),
            (2**64 - 1, wish, True),
            (1, Interest(""), False),
            (1, wish, False, True, ("orders",)),
            (1, wish, True, True, (ITEM,) * 9),
            (1,),
        )
    ]
    return [(name, Put(key_of(name), key, 1, msgspec.msgpack.encode(value))) for name, key, value in values]


TOPIC_ROWS = topic_rows()


@pytest.mark.parametrize("at", range(len(TOPIC_ROWS)))
def test_rows_of_topics_of_a_broken_owner_do_not_end_the_broker_that_takes_over_from_it(at: int) -> None:
    broker = LoneBroker()
    name, row = TOPIC_ROWS[at]
    group = key_of(name)
    broker.broker_says(Chosen(group, held_by(OTHER, ME, name=name), 1))
    broker.broker_says(Replicate(((group, BORN, ME.store, 1, 1),)), msgspec.msgpack.encode([[row]]))
    broker.broker_says(Chosen(group, held_by(ME, epoch=BORN + 1, name=name), 1))
    broker.pass_time()
    for head, body in (
        (Attach(WATCH, 1, 10, interest=Interest("roads/#")), b""),
        (msgspec.structs.replace(_PUBLISH, flags=17), ONE),
        (msgspec.structs.replace(_PUBLISH, first=2, follows=1), ONE),
        (Attach("sub/app/other", 2, 10, interest=Interest("#")), b""),
        (EndMailbox(WATCH, 1), b""),
        (StatusRequest(1), b""),
    ):
        broker.client_says(head, body)
        for _ in range(3):
            broker.pass_time()
    # Perhaps not the last word: the directory never saw this birth, so the next one seems older than the end we saw,
    # and who waits for the mailbox is told that it cannot be found.
    assert any(isinstance(head, StatusReply) for head in broker.said)
