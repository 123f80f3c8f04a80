from __future__ import annotations

import pytest

from causeway.core.messages import Deliver, Replicate
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.panel import Panel
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.letters import Letter
from causeway.types import key_of

LETTER = Letter("shop", 1, "queue", 2, 7)
PLACE = ("queue", "shop", 1, 2, 7)
READER, CUT_OFF = ("reader", 1), ("cut-off", 1)


class Scene:
    """A shared mailbox that broker a owns, and two readers."""

    def __init__(self) -> None:
        self.panel = Panel(lambda: 0)
        self.panel.share("queue")
        self.panel.sent(LETTER)
        self.own("a", epoch=1)

    def own(self, broker: str, epoch: int) -> None:
        self.panel.frame(broker, "copy", Replicate(((key_of("queue"), epoch, 1, 0, 1),)), brokers=True)

    def hand_out(self, broker: str, receiver: str, first: int = 7, count: int = 1) -> None:
        head = Deliver("queue", 1, first, "shop", 1, 2, first, count, 0, 4, 0)
        self.panel.frame(broker, receiver, head, brokers=False)

    def finish(self) -> None:
        self.panel.delivered("queue", READER, LETTER)
        self.panel.settlement_confirmed("queue", READER, LETTER, PLACE)


def test_what_was_handed_out_before_may_arrive_after_another_reader_was_done() -> None:
    scene = Scene()
    scene.hand_out("a", "cut-off")
    scene.own("b", epoch=2)
    scene.hand_out("b", "reader")
    scene.finish()
    scene.panel.delivered("queue", CUT_OFF, LETTER)


def test_a_broker_in_charge_that_hands_out_what_somebody_is_done_with_is_caught() -> None:
    scene = Scene()
    scene.hand_out("a", "reader")
    scene.finish()
    scene.hand_out("a", "cut-off", first=8)
    with pytest.raises(Wrong, match="Handing: a handed out shop -> queue #7 to cut-off after reader was done"):
        scene.hand_out("a", "cut-off", first=5, count=3)


def test_a_broker_that_was_replaced_may_not_know_it_yet_and_its_successor_does() -> None:
    scene = Scene()
    scene.own("b", epoch=2)
    scene.hand_out("b", "reader")
    scene.finish()
    scene.hand_out("a", "cut-off")
    with pytest.raises(Wrong, match="Handing: b handed out"):
        scene.hand_out("b", "cut-off")


def test_a_published_letter_may_be_handed_out_again_to_a_subscription_that_begins_anew() -> None:
    scene = Scene()
    published = Letter("shop", 1, "#news", 2, 7)
    scene.panel.subscribed("queue", Wish("news"))
    scene.panel.settlement_confirmed("queue", READER, published, PLACE)
    scene.hand_out("a", "reader")
