"""The whole broker machine: what only shows when all parts are together."""

from __future__ import annotations

import random

import pytest

from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import Clogged, Committed, Drained, DriverEvent, LeaveRequested, Loaded, Opened, Received
from causeway.core.machine import Turn
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Accepted,
    Attach,
    Attached,
    Commit,
    Deliver,
    Deposit,
    Goodbye,
    Hello,
    Message,
    Moved,
    Outcome,
    Rejected,
    SendPart,
    StatusReply,
    StatusRequest,
    Welcome,
)
from causeway.core.node import START_TOKEN, Node
from causeway.errors import Code, ConfigError
from causeway.names import private_name
from causeway.store.base import Page, Row
from causeway.types import SECOND, Peer, key_of
from causeway.wire.body import join
from tests.property.lone_broker import CLIENT, INCARNATION, LoneBroker

NOW = 1_000 * SECOND


def make(**settings: object) -> Node:
    config = BrokerConfig(name="b1", port=7400, founder=True, **settings)  # type: ignore[arg-type]
    return Node(config, Peer(key_of("b1"), "b1", "127.0.0.1", 7400, 1), 1, random.Random(1))


def greet(conn: int) -> list[DriverEvent]:
    return [Opened(conn), Received(conn, [(Hello(PROTOCOL_VERSION, "app", 7), b"")])]


def heads(effects: Effects, kind: type) -> list[object]:
    return [send.head for send in effects.sends if isinstance(send.head, kind)]


def test_node_asks_its_store_first_and_answers_nobody_before_it_has_spoken() -> None:
    node = make()
    effects = node.handle(greet(2), NOW)
    assert [load.token for load in effects.loads] == [START_TOKEN]
    assert effects.sends == []
    effects = node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    assert len(heads(effects, Welcome)) == 1, "what came early is answered now"


def test_node_reads_all_pages_of_its_own_rows_before_it_begins() -> None:
    node = make()
    node.handle([], NOW)
    first = Page([Row(b"v" + key_of("a"), 0, bytes(8))], [], b"w")
    effects = node.handle([Loaded(START_TOKEN, first), *greet(2)], NOW)
    assert [load.start for load in effects.loads] == [b"w"]
    assert effects.sends == []
    effects = node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    assert len(heads(effects, Welcome)) == 1


def test_node_has_no_deadline_while_its_store_is_silent() -> None:
    node = make()
    assert node.next_deadline() == 0
    node.handle([], NOW)
    assert node.next_deadline() is None


def test_founder_with_seeds_begins_the_directory_when_it_founds_and_not_before() -> None:
    node = make(seeds=(("127.0.0.1", 7401),))
    node.handle([], NOW)
    node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    assert (node.statistics()["cluster"], node.statistics()["root"]) == ("", None)
    now = NOW
    while not node.statistics()["active"]:
        due = node.next_deadline()
        assert due is not None
        assert due < NOW + 10 * SECOND
        now = max(now, due)
        node.handle([], now)
    assert now > NOW + SECOND
    root = node.statistics()["root"]
    assert isinstance(root, dict)
    assert root["members"] == ["b1"]


def test_founder_with_damaged_rows_begins_no_directory() -> None:
    node = make()
    node.handle([], NOW)
    node.handle([Loaded(START_TOKEN, Page([], [b"g" + key_of("a")], None))], NOW)
    assert node.statistics()["root"] is None


def test_status_is_answered_to_a_client() -> None:
    node = make()
    node.handle(greet(2), NOW)
    node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    effects = node.handle([Received(2, [(StatusRequest(5), b"")])], NOW)
    (reply,) = [send for send in effects.sends if isinstance(send.head, StatusReply)]
    assert b'"broker":"b1"' in reply.body


def test_internal_events_are_handled_in_the_order_they_were_told() -> None:
    node, turn, order = make(), Turn(NOW), list[str]()

    def first(turn: Turn) -> None:
        order.append("first")
        turn.tell(Committed([lambda _: order.append("told by the first")]))

    turn.tell(Committed([first]))
    turn.tell(Committed([lambda _: order.append("second"), lambda _: order.append("third")]))
    node._drain(turn)
    assert order == ["first", "second", "third", "told by the first"]


def test_time_never_goes_back_inside_a_node() -> None:
    node = make()
    node.handle([], NOW)
    node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    before = node.next_deadline()
    node.handle([], NOW - 5 * SECOND)
    after = node.next_deadline()
    assert before is not None
    assert after is not None
    assert after >= NOW


@pytest.mark.parametrize(
    ("source", "incarnation", "wrong"), [("other", 7, "source='other'"), ("app", 8, "incarnation=8")]
)
def test_client_that_sends_as_somebody_else_is_told_what_differs(source: str, incarnation: int, wrong: str) -> None:
    node = make()
    node.handle(greet(2), NOW)
    node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    batch = Deposit(source, incarnation, "orders", 1, 1, 1, 0, 1, 4, 0)
    effects = node.handle([Received(2, [(batch, join([b"x"]))])], NOW)
    (goodbye,) = heads(effects, Goodbye)
    assert isinstance(goodbye, Goodbye)
    assert goodbye.detail == f"{wrong}: this connection said hello as 'app', incarnation 7"


def test_private_mailbox_ends_some_time_after_its_reader_and_the_directory_hears_of_it() -> None:
    broker = LoneBroker()
    broker.client_says(Attach(private_name("app", 7), 1, 10))
    broker.pass_time()
    assert Attached(private_name("app", 7), 1) in broker.said
    assert private_name("app", 7) in mailboxes(broker)
    broker.client_leaves()
    for _ in range(200):
        broker.now += SECOND
        broker.pass_time()
    assert mailboxes(broker) == []
    broker.said.clear()
    broker.client_says(Attach(private_name("app", 7), 1, 10))
    broker.pass_time()
    assert [type(head) for head in broker.said] == [Welcome, Attached], "the name is born again, and nobody is refused"


def mailboxes(broker: LoneBroker) -> list[str]:
    found = broker.node.statistics()["mailboxes"]
    assert isinstance(found, list)
    return [entry["name"] for entry in found]


def test_clogged_client_gets_nothing_until_it_has_drained() -> None:
    broker = LoneBroker()
    broker.client_says(Attach("orders", 1, 10))
    broker.pass_time()
    broker.client_event(Clogged)
    broker.client_says(Deposit("app", 7, "orders", 0, 1, 1, 0, 1, 4, 0), join([b"x"]))
    assert not any(isinstance(head, Deliver) for head in broker.said)
    broker.client_event(Drained)
    assert any(isinstance(head, Deliver) for head in broker.said)


def test_single_broker_that_is_told_to_leave_keeps_its_storage_and_leaves() -> None:
    broker = LoneBroker()
    broker.pass_time()
    assert not broker.node.left
    broker.happens(LeaveRequested())
    assert broker.node.left


def test_mailbox_above_the_bound_of_the_cluster_is_refused_to_readers_senders_and_transactions() -> None:
    broker = LoneBroker(mailboxes_max=2)
    payload = join([b"hello"])

    def said_to(head: Message, body: bytes = b"") -> Message:
        broker.client_says(head, body)
        broker.pass_time()
        return broker.said[-1]

    def send(dest: str) -> Message:
        return said_to(Deposit(CLIENT, INCARNATION, dest, 1, 1, 1, 0, 1, 4, 0), payload)

    def commit(number: int, dest: str) -> Message:
        part = SendPart(dest, 1, 1, 1, 4, 0, len(payload))
        return said_to(Commit(CLIENT, INCARNATION, number, (part,), ()), payload)

    for name in (CLIENT, "there"):
        assert said_to(Attach(name, 1, 1)) == Attached(name, 1)
    refused: list[object] = [said_to(Attach("more", 1, 1)), send("more"), commit(1, "more")]
    assert [type(head) for head in refused] == [Moved, Rejected, Outcome]
    for head in refused:
        assert isinstance(head, Moved | Rejected | Outcome)
        assert head.code == Code.CLUSTER_FULL
        assert "the cluster has as many as it may" in head.detail
    send("there")
    assert isinstance(broker.said[-2], Accepted)  # and then it is delivered
    assert commit(2, "there") == Outcome(CLIENT, INCARNATION, 2, True)


def test_status_tells_clients_and_how_many_may_come() -> None:
    node = make(connections_max=2)
    node.handle(greet(2), NOW)
    node.handle([Loaded(START_TOKEN, Page([], [], None))], NOW)
    found = node.statistics()
    assert (found["connections"], found["connections_max"]) == (1, 2)


@pytest.mark.parametrize(
    ("field", "value"),
    [("connections_max", 0), ("connections_max", 10_001), ("capability", -1), ("capability", 1_000_001)],
)
def test_settings_of_locators_have_bounds(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=field):
        make(**{field: value})
