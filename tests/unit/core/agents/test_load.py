"""What is published, as owners tell it and a landmark samples it."""

from __future__ import annotations

from causeway.core.agents.load import WINDOWS_KEPT, ItemLoad, PublishedTold
from causeway.types import SECOND


def test_owner_tells_what_came_since_it_last_spoke_and_silence_once() -> None:
    told = PublishedTold()
    assert told.take([("a", 10), ("b", 0)]) == (("a", 10),)
    assert told.take([("a", 25), ("b", 3)]) == (("a", 15), ("b", 3))
    assert told.take([("a", 25), ("b", 3)]) == (("a", 0), ("b", 0))
    assert told.take([("a", 25), ("b", 3)]) == ()


def test_item_that_was_lost_and_gained_again_is_counted_anew() -> None:
    told = PublishedTold()
    told.take([("a", 100)])
    assert told.take([]) == ()
    assert told.take([("a", 7)]) == (("a", 7),)


def test_sample_has_the_rate_of_every_item_and_nothing_of_who_fell_silent() -> None:
    load = ItemLoad()
    load.report([("a", 50), ("b", 5)], 5 * SECOND)
    load.close_window()
    load.report([("b", 10)], 5 * SECOND)
    load.close_window()
    load.close_window()
    load.close_window()
    assert load.samples(("a", "b", "c")) == ((10, 1, 0), (10, 2, 0), (0, 2, 0), (0, 0, 0))
    assert load.means(("a", "b")) == (5000, 1250)


def test_oldest_samples_go() -> None:
    load = ItemLoad()
    for number in range(WINDOWS_KEPT + 5):
        load.report([("a", number)], SECOND)
        load.close_window()
    assert len(load) == WINDOWS_KEPT
    assert load.samples(("a",))[0] == (5,)
