"""Traffic is counted by what it is sent for."""

from __future__ import annotations

import pytest

from causeway.core.messages import Beat, Chunk, Copied, Hail, LinkReport, Message, Routed
from causeway.sim.traffic import LineTraffic, TrafficKind, kind_of
from causeway.types import BrokerId, key_of
from tests.unit.sim.fake_machines import make_world, start

BROKER = BrokerId(key_of("ash"))
REPORT = LinkReport("d", BROKER, BROKER, False)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (Beat(1), TrafficKind.LIFE),
        (Hail(active=True, wants_reply=True), TrafficKind.RING),
        (REPORT, TrafficKind.AGENTS),
        (Routed(key_of("x"), "x", 0, REPORT), TrafficKind.AGENTS),
        (Copied(((key_of("x"), 1, 1),)), TrafficKind.REPLICATION),
        (Chunk(key_of("x"), 1, 1, 1, b"", b""), TrafficKind.GROUPS),
    ],
    ids=["beat", "hail", "report", "envelope", "copied", "chunk"],
)
def test_message_is_of_one_kind(head: Message, kind: TrafficKind) -> None:
    assert kind_of(head) is kind


def test_only_frames_between_brokers_count_and_those_of_one_host_twice() -> None:
    world = make_world()
    a, b, c = (start(world, name)[0] for name in "abc")
    client, _ = start(world, "client", broker=False)
    traffic = LineTraffic("b")
    traffic(a, b, Beat(1), 9)
    traffic(b, c, REPORT, 50)
    traffic(c, a, Beat(1), 9)
    traffic(client, a, Beat(1), 9)
    assert dict(traffic.bytes) == {TrafficKind.LIFE: 18, TrafficKind.AGENTS: 50}
    assert dict(traffic.watched.bytes) == {TrafficKind.LIFE: 9, TrafficKind.AGENTS: 50}
    assert traffic.frames.total() == 3
