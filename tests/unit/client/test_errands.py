"""The way to a mailbox's owner: followed, but not round in circles."""

from __future__ import annotations

from causeway.client.errands import MOVES_MAX
from causeway.core.events import Opened, Received
from causeway.core.messages import Attach, Goodbye, Moved, Ping
from causeway.errors import Code
from causeway.types import MILLISECOND
from tests.unit.client.stage import Stage, peer


def test_two_brokers_that_point_at_each_other_are_given_a_moment(stage: Stage, home: str) -> None:
    stage.session.attach("orders", 10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    stage.open("b9")
    here, there = "b9", home
    for _ in range(MOVES_MAX + 5):
        stage.receive(here, Moved("orders", peer(there)))
        here, there = there, here
    asked = len(stage.said(Attach))
    assert asked <= MOVES_MAX + 2, "no storm"
    stage.sleep(200 * MILLISECOND)
    assert len(stage.said(Attach)) == asked + 1, "but it goes on"


def test_owner_without_room_is_asked_again_but_not_all_the_time(stage: Stage, home: str) -> None:
    reader = stage.session.attach("orders", 10)
    stage.turn()
    refusals = 0
    begun = stage.now
    while refusals < 5:
        stage.receive(home, Moved("orders", peer("b9")))
        conn = stage.dialled("b9")
        stage.turn(Opened(conn))
        stage.turn(Received(conn, [(Goodbye(int(Code.OVERLOADED), "full"), b"")]))
        refusals += 1
        stage.sent.clear()
        while not stage.said(Attach, home):
            stage.sleep(50 * MILLISECOND)
            stage.receive(home, Ping(1))
    assert stage.now - begun >= 5 * stage.config.retry_max // 2
    assert "full" in reader.trouble
