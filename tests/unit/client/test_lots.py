"""What an application holds of a delivered batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.client.lots import Lot, SeenStream
from causeway.core.messages import Deliver
from causeway.wire import body as bodies

COUNT = 12


def lot(count: int = COUNT, taken: int | None = None) -> Lot:
    messages = [str(index).encode() for index in range(count)]
    head = Deliver("orders", 3, 100, "shop", 1, 2, 50, count, 1, 4, 0)
    made = Lot.delivered(1, head, bodies.join(messages), SeenStream("orders", ("shop", 1, 2)))
    made.take(count if taken is None else taken)
    return made


def indexes(spans: list[tuple[int, int]]) -> list[int]:
    return [index for first, last in spans for index in range(first, last + 1)]


def test_messages_are_handed_out_in_order_and_once() -> None:
    made = lot(5, taken=0)
    assert list(made.take(2)) == [0, 1]
    assert list(made.take(9)) == [2, 3, 4]
    assert list(made.take(9)) == []


def test_narrowed_lot_keeps_numbers_and_bodies_together() -> None:
    head = Deliver("orders", 3, 100, "shop", 1, 2, 50, 6, 1, 4, 0)
    made = Lot.delivered(1, head, bodies.join([b"0", b"1", b"2", b"3", b"4", b"5"]), SeenStream("orders", ("s", 1, 2)))
    made.narrow(52, 54)
    made.take(9)
    assert (made.seq, made.first, made.count) == (102, 52, 3)
    assert made.bodies == [b"2", b"3", b"4"]


actions = st.lists(
    st.tuples(
        st.sampled_from(["accept", "give back", "report", "reserve", "commit", "abort"]),
        st.integers(0, COUNT - 1),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(actions)
def test_each_message_is_reported_at_most_once_and_only_if_accepted(script: list[tuple[str, int, int]]) -> None:
    """Against one state per message."""
    made, state, reported = lot(), ["open"] * COUNT, []
    for action, first, more in script:
        last = min(COUNT - 1, first + more)
        if action == "accept":
            made.accept(first, last)
            state = ["accepted" if first <= index <= last and was == "open" else was for index, was in enumerate(state)]
        elif action == "give back":
            given_back = indexes(made.give_back(first, last))
            assert given_back == [index for index in range(first, last + 1) if state[index] == "open"]
            state = ["returned" if index in given_back else was for index, was in enumerate(state)]
        elif action == "report":
            reported += indexes(made.fresh_spans())
        elif action == "reserve" and state[first] == "open":
            made.reserve(first)
            state[first] = "reserved"
        elif action in ("commit", "abort") and state[first] == "reserved":
            made.conclude(first, committed=action == "commit")
            state[first] = "committed" if action == "commit" else "open"
        assert [made.is_open(index) for index in range(COUNT)] == [was in ("open", "reserved") for was in state]
        assert [made.is_reserved(index) for index in range(COUNT)] == [was == "reserved" for was in state]
        assert made.finished == all(was in ("accepted", "returned", "committed") for was in state)
    reported += indexes(made.fresh_spans())
    assert sorted(reported) == [index for index, was in enumerate(state) if was == "accepted"]


def test_rolled_back_messages_are_remembered() -> None:
    made = lot()
    made.reserve(3)
    made.conclude(3, committed=False)
    assert made.was_rolled_back(3)
    assert not made.was_rolled_back(2)


def test_aliases_are_taken_once() -> None:
    made = lot()
    made.alias(2, 9, 777)
    assert made.take_aliases(3, 5) == []
    assert made.take_aliases(0, 2) == [(9, 777)]
    assert made.take_aliases(0, 2) == []


@pytest.mark.parametrize("taken", [0, 4])
def test_truncated_lot_forgets_what_was_not_handed_out(taken: int) -> None:
    made = lot(taken=taken)
    made.truncate()
    assert made.count == taken
    assert made.finished == (taken == 0)
