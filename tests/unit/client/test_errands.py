"""The way to a mailbox's owner: followed, but not round in circles."""

from __future__ import annotations

from causeway.client.errands import MOVES_MAX
from causeway.core.messages import Attach, Moved
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
