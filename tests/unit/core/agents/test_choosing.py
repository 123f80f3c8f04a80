"""Who is best: landmark by capability, and kept unless another is clearly better; spares by fitness and nearness."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from causeway.core.agents.choosing import NEAR, VOTERS_MAX, merit, takers, voters
from causeway.core.messages import AgentCard
from causeway.types import Duration
from tests.unit.core.agents.domain import card_of, id_of


def names(cards: Sequence[AgentCard]) -> list[str]:
    return [card.peer.name for card in cards]


def no_trips(spare: AgentCard, seat: str) -> list[Duration]:
    return []


@pytest.mark.parametrize(("other", "first"), [(1249, "b2"), (1250, "b3"), (1251, "b3")])
def test_landmark_stays_until_another_is_a_quarter_more_capable(other: int, first: str) -> None:
    cards = [card_of("b2"), card_of("b3", capability=other)]
    assert names(voters(cards, id_of("b2")))[0] == first


def test_most_capable_come_first_where_the_landmark_is_gone_and_ties_go_to_the_smaller_id() -> None:
    cards = [card_of("b2", capability=900), card_of("b3"), card_of("b4")]
    low, high = sorted(("b3", "b4"), key=id_of)
    assert names(voters(cards, id_of("b9"))) == [low, high, "b2"]


def test_voters_are_bounded_and_the_landmark_is_one_of_them() -> None:
    cards = [card_of(f"n{number}", capability=1000 + number) for number in range(40)]
    chosen = names(voters(cards, id_of("n0")))
    assert chosen == ["n0", *(f"n{number}" for number in range(39, 39 - VOTERS_MAX + 1, -1))]


def test_nobody_votes_where_nobody_is() -> None:
    assert voters([], id_of("b1")) == []


def test_merit_is_fitness_halved_at_a_near_round_trip() -> None:
    assert merit(card_of("b2"), [NEAR, NEAR]) * 2 == merit(card_of("b2"), [])
    assert merit(card_of("b2", fitness=499), []) < merit(card_of("b2"), [NEAR])
    assert merit(card_of("b2", fitness=0), []) == 0


def test_each_seat_gets_another_spare_the_best_match_first() -> None:
    spares = [card_of("s1", fitness=900), card_of("s2", fitness=800)]
    far = {("s1", "x"): [10 * NEAR], ("s1", "y"): [], ("s2", "x"): [], ("s2", "y"): []}
    taken = takers(["x", "y"], spares, lambda card, seat: far[card.peer.name, seat])
    assert {seat: card.peer.name for seat, card in taken.items()} == {"y": "s1", "x": "s2"}


@pytest.mark.parametrize(("seats", "spares"), [(3, 1), (1, 3), (0, 2), (2, 0)])
def test_nobody_takes_two_seats_and_no_seat_is_given_twice(seats: int, spares: int) -> None:
    taken = takers([f"x{n}" for n in range(seats)], [card_of(f"s{n}") for n in range(spares)], no_trips)
    assert len(taken) == len({card.peer.id for card in taken.values()}) == min(seats, spares)


def test_choice_does_not_depend_on_the_order_of_the_cards() -> None:
    spares = [card_of(f"s{number}") for number in range(4)]
    there = takers(["x", "y"], spares, no_trips)
    assert takers(["y", "x"], spares[::-1], no_trips) == there
