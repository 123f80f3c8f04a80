"""A mixed phase is the same for the same seed, and keeps the claims that make its findings ones."""

from __future__ import annotations

import itertools

import pytest

from faults.harm import Kill, LoseDisk, Rot
from faults.mixed import KEPT, SECONDS, mixed_phase
from faults.phases import Step


def phases() -> list[tuple[Step, ...]]:
    return [mixed_phase(f"mixed-{number}", 5).steps for number in range(1, 60)]


def test_the_same_seed_draws_the_same_schedule() -> None:
    assert mixed_phase("mixed-3", 5) == mixed_phase("mixed-3", 5)
    assert mixed_phase("mixed-3", 5) != mixed_phase("mixed-3", 6)
    assert mixed_phase("mixed-3", 5) != mixed_phase("mixed-4", 5)


def test_a_disk_is_hurt_only_when_all_is_whole_and_nothing_else_until_it_is_again() -> None:
    hurt = 0
    for steps in phases():
        for step, following in itertools.pairwise(steps):
            if isinstance(step.fault, LoseDisk | Rot):
                hurt += 1
                assert step.whole
                assert following.whole
    assert hurt > 10


def test_only_applications_that_keep_their_state_are_killed() -> None:
    for steps in phases():
        killed = [name for step in steps if isinstance(step.fault, Kill) for name in step.fault.whom]
        assert not [name for name in killed if name.startswith(("sender", "reader"))]
        assert all(name in KEPT for name in killed if name.startswith("keeper"))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_mixed_phase_has_many_faults_in_its_time(number: int) -> None:
    steps = mixed_phase(f"mixed-{number}", 5).steps
    assert len(steps) > 5
    assert sum(step.wait for step in steps[:-1]) < SECONDS
