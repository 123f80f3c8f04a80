"""First frames that are wrong: an answer that names the field and the remedy, and no harm to anybody else."""

from __future__ import annotations

import pytest

from causeway.core.messages import (
    PROTOCOL_VERSION,
    Deposit,
    Goodbye,
    Hail,
    Hello,
    JoinRequest,
    Message,
    Ping,
    StatusRequest,
    Welcome,
)
from causeway.errors import Code
from causeway.types import BrokerId, Peer
from tests.unit.core.links.wire import Wire, peer_named

ELM = peer_named("elm")


def broker_hello(peer: Peer, *, cluster: str = "") -> Hello:
    return Hello(PROTOCOL_VERSION, "elm", 1, peer, cluster)


HOSTILE: list[tuple[Message, Code, str]] = [
    (Ping(1), Code.BAD_FRAME, "first frame is Ping"),
    (Goodbye(0, ""), Code.BAD_FRAME, "first frame is Goodbye"),
    (Hail(active=True, wants_reply=True), Code.BAD_FRAME, "begins with Hello"),
    (StatusRequest(1), Code.BAD_FRAME, "first frame is StatusRequest"),
    (JoinRequest(ELM, 1), Code.BAD_FRAME, "first frame is JoinRequest"),
    (Deposit("a", 1, "b", 0, 1, 1, 0, 0, 4, 0), Code.BAD_FRAME, "first frame is Deposit"),
    (Welcome(PROTOCOL_VERSION, ELM, 1), Code.BAD_FRAME, "first frame is Welcome"),
    (Hello(0, "billing", 1), Code.BAD_VERSION, "version=0"),
    (Hello(PROTOCOL_VERSION + 1, "billing", 1), Code.BAD_VERSION, f"speaks {PROTOCOL_VERSION}"),
    (Hello(PROTOCOL_VERSION, "", 1), Code.BAD_FIELD, "name=''"),
    (Hello(PROTOCOL_VERSION, "a~0000000000000001", 1), Code.BAD_FIELD, "'~' is reserved"),
    (Hello(PROTOCOL_VERSION, "x" * 10_000, 1), Code.BAD_FIELD, "has 10000 bytes"),
    (Hello(PROTOCOL_VERSION, "a\nb", 1), Code.BAD_FIELD, "unprintable"),
    (Hello(PROTOCOL_VERSION, "billing", -1), Code.BAD_FIELD, "incarnation=-1"),
    (Hello(PROTOCOL_VERSION, "billing", 1 << 63), Code.BAD_FIELD, "incarnation="),
    (broker_hello(Peer(BrokerId(b"short"), "elm", "elm", 7000, 1)), Code.BAD_FIELD, "peer.id has 5 bytes"),
    (broker_hello(Peer(ELM.id, "", "elm", 7000, 1)), Code.BAD_FIELD, "name=''"),
    (broker_hello(Peer(ELM.id, "elm", "", 7000, 1)), Code.BAD_FIELD, "peer.host"),
    (broker_hello(Peer(ELM.id, "elm", "h" * 300, 7000, 1)), Code.BAD_FIELD, "peer.host"),
    (broker_hello(Peer(ELM.id, "elm", "elm", 70_000, 1)), Code.BAD_FIELD, "peer.port=70000"),
    (broker_hello(peer_named("ash")), Code.BAD_FIELD, "give every broker its own"),
    (broker_hello(ELM, cluster="blue"), Code.BAD_FIELD, "cluster='blue'"),
    (broker_hello(ELM, cluster="c" * 300), Code.BAD_FIELD, "cluster has 300"),
]


@pytest.mark.parametrize(("head", "code", "part"), HOSTILE)
def test_hostile_first_frame_costs_its_own_connection_only(head: Message, code: Code, part: str) -> None:
    wire = Wire()
    a, b = wire.add("ash"), wire.add("beech")
    a.run(lambda turn: a.links.set_cluster(turn, "red"))
    a.links.learn(b.peer)
    a.send(b, Hail(active=True, wants_reply=False))
    wire.settle()
    a.told.clear()

    conn = a.accept()
    a.receive(conn, head)
    goodbye = a.said(conn)[-1]
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == code
    assert part in goodbye.detail
    assert len(goodbye.detail) < 400
    assert list(a.closes) == [conn]
    assert a.told == []
    assert a.links.is_up(b.peer.id)


def test_cluster_is_no_obstacle_while_one_side_has_none() -> None:
    for ours, theirs in (("", "blue"), ("blue", ""), ("blue", "blue")):
        a = Wire().add("ash")
        a.run(lambda turn, ours=ours, a=a: a.links.set_cluster(turn, ours))
        conn = a.accept()
        a.receive(conn, broker_hello(ELM, cluster=theirs))
        assert a.closes == {}
        assert a.links.is_up(ELM.id)
