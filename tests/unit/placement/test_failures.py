"""After failures: mirrors take over, the living keep what they have, everybody has a mirror again."""

from __future__ import annotations

import itertools

import numpy as np

from causeway.placement import BrokerCapacity, Instance, from_moments
from causeway.placement.failures import Failures
from causeway.placement.loads import Loads
from causeway.placement.mirrors import choose_mirrors
from causeway.placement.search import search
from tests.unit.placement.cases import large_instance

INSTANCE = large_instance(80, 6, 0.5)
OWNER = search(INSTANCE, 1).owner
MIRROR = choose_mirrors(INSTANCE, OWNER)


def after(broken: tuple[int, ...]) -> tuple[list[int], list[int]]:
    owner, mirror = OWNER.tolist(), MIRROR.tolist()
    for item, new_owner, new_mirror in Failures(INSTANCE, OWNER, MIRROR).after(broken):
        owner[item], mirror[item] = new_owner, new_mirror
    return owner, mirror


def test_every_single_and_double_failure_moves_only_what_it_must() -> None:
    for broken in (*itertools.combinations(range(6), 1), *itertools.combinations(range(6), 2)):
        owner, mirror = after(broken)
        for item, (old_owner, old_mirror) in enumerate(zip(OWNER.tolist(), MIRROR.tolist(), strict=True)):
            if old_owner not in broken:
                assert owner[item] == old_owner
            elif old_mirror not in broken:
                assert owner[item] == old_mirror
            if old_owner not in broken and old_mirror not in broken:
                assert mirror[item] == old_mirror
            assert not {owner[item], mirror[item]} & set(broken)
            assert owner[item] != mirror[item] != -1


def test_new_mirrors_are_chosen_for_the_load_they_would_inherit() -> None:
    """They are on the broker that is then safest, given what the others keep: checked for the last one of a broker."""
    owner, mirror = after((2,))
    needed = [item for item in range(80) if 2 in (OWNER[item], MIRROR[item])]
    for broker in sorted({owner[item] for item in needed}):
        last = min((item for item in needed if owner[item] == broker), key=lambda item: INSTANCE.model.means[item])
        taken = np.array([mirror[item] if owner[item] == broker else owner[item] for item in range(80)])
        margins = {}
        for target in {0, 1, 3, 4, 5} - {broker}:
            taken[last] = target
            margins[target] = Loads(INSTANCE, taken).margins()[target]
        assert max(margins, key=lambda target: margins[target]) == mirror[last]


def test_item_that_lost_owner_and_mirror_goes_where_the_risk_grows_least() -> None:
    model = from_moments([50.0, 60.0, 90.0], np.diag([25.0, 25.0, 400.0]), ["a", "b", "c"])
    brokers = [
        BrokerCapacity(name, capacity) for name, capacity in (("p", 99.0), ("q", 99.0), ("r", 130.0), ("s", 130.0))
    ]
    instance = Instance(model, brokers)
    states = Failures(instance, np.array([0, 2, 3]), np.array([1, 3, 2]))
    (item, owner, mirror), *_ = states.after((0, 1))
    assert (item, owner, mirror) == (0, 2, 3)


def test_last_broker_owns_all_without_mirrors_and_none_is_left_after_it() -> None:
    owner, mirror = after((0, 1, 2, 3, 4))
    assert set(owner) == {5}
    assert set(mirror) == {-1}
    owner, _mirror = after((0, 1, 2, 3, 4, 5))
    assert set(owner) == {-1}
