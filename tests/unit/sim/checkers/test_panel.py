from __future__ import annotations

import pytest

from causeway.core.messages import Replicate
from causeway.sim.checkers.base import Deed, Viewing, Wrong
from causeway.sim.checkers.panel import Panel
from causeway.sim.letters import Letter
from causeway.types import Key

LETTER = Letter("a", 1, "b", 2, 1)
READER = ("b", 1)


def test_panel_tells_every_checker_with_the_time_of_the_observation() -> None:
    panel = Panel(lambda: 42)
    panel.sent(LETTER)
    panel.acknowledged(LETTER)
    panel.delivered("b", READER, LETTER)
    panel.settled("b", READER, LETTER)
    panel.settlement_confirmed("b", READER, LETTER)
    panel.delivery_confirmed(LETTER)
    panel.look_began(viewing := Viewing(READER, 1, "b", exact=True))
    panel.look_ended(viewing, [])
    panel.finish()
    assert all(checker.now == 42 for checker in panel.checkers)
    assert [panel.counts[what] for what in ("sent", "delivered", "exact looks", "views")] == [1, 1, 1, 1]


def test_panel_raises_what_any_checker_complains_about() -> None:
    panel = Panel(lambda: 0)
    panel.sent(LETTER)
    panel.begun(transaction := Deed(("a", 1), 1, [LETTER], []))
    panel.decided(transaction, committed=False)
    with pytest.raises(Wrong, match="Atomicity"):
        panel.delivered("b", READER, LETTER)


def test_panel_shows_frames_to_the_owner_checker() -> None:
    panel = Panel(lambda: 0)
    frame = Replicate(((Key(bytes(16)), 1, 1, 0, 1),))
    panel.frame("a", "x", frame, brokers=True)
    with pytest.raises(Wrong, match="SingleOwner"):
        panel.frame("b", "x", frame, brokers=True)


def test_panel_shows_letters_in_causal_order_to_the_checker_of_causality_alone() -> None:
    panel = Panel(lambda: 7)
    panel.topics_wanted("causal-b", ["causal/#"])
    panel.topics_begun("causal-b")
    first = Letter("a", 1, "#causal/news", 2, 1)
    second = Letter("a", 1, "causal-b", 2, 1)
    for letter in (first, second):
        panel.sent(letter)
        panel.acknowledged(letter)
    assert panel.loss.owed() == []
    assert panel.causality.owed() == [("causal-b", first), ("causal-b", second)]
    panel.delivered("causal-b", READER, second)
    with pytest.raises(Wrong, match="Causality: causal-b got"):
        panel.delivered("causal-b", READER, first)
