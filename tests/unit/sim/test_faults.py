from __future__ import annotations

import pytest

from causeway.sim.faults import RANGES, WORKLOADS, options_calm, options_swarm, stream
from causeway.sim.workloads.catalogue import CATALOGUE
from causeway.types import SECOND


def test_swarm_draws_the_same_options_for_the_same_seed_and_others_for_others() -> None:
    assert options_swarm(5) == options_swarm(5)
    assert len({tuple(options_swarm(seed).lines()) for seed in range(50)}) == 50


def test_swarm_draws_and_prints_every_option() -> None:
    options = options_swarm(3)
    assert {*RANGES, "seed", "patience"} == set(options.__struct_fields__)
    assert [line.split("=")[0] for line in options.lines()] == list(options.__struct_fields__)


def test_swarm_keeps_what_the_caller_fixed() -> None:
    options = options_swarm(3, brokers=7, clients=2, seconds=1.5)
    assert (options.brokers, options.clients, options.safety) == (7, 2, 3 * SECOND // 2)


@pytest.mark.parametrize("seed", [*range(200), 5154])
def test_swarm_stays_within_the_claims_of_the_atlas(seed: int) -> None:
    options = options_swarm(seed)
    options.broker_config("a", ("h", 1), seeds=(), founder=True)  # raises on settings the product does not accept
    loses = options.disk_losses or (options.durability == "memory" and options.crashes)
    if loses:
        assert min(options.copies, options.root_copies) >= 3
        assert options.brokers >= 4
    if options.rots:
        assert min(options.copies, options.root_copies, options.brokers) >= 2
        assert not options.disk_losses
        assert options.durability == "disk"
    if options.rot_local:
        assert min(options.copies, options.root_copies, options.brokers) >= 3


def test_swarm_makes_every_fault_alone_and_combined() -> None:
    drawn = [options_swarm(seed) for seed in range(200)]
    for fault in (
        "crashes",
        "partitions",
        "loss",
        "duplicate",
        "reorder",
        "rots",
        "disk_losses",
        "joins",
        "leaves",
        "stops",
    ):
        having = sum(bool(getattr(options, fault)) for options in drawn)
        assert 10 < having < 190, fault
    assert any(options.skew for options in drawn)
    assert any(options.wire for options in drawn)
    assert any(options.rots and options.rot_local and options.crashes for options in drawn)


def test_calm_has_no_faults() -> None:
    options = options_calm(1, brokers=2)
    assert options.brokers == 2
    assert not any((options.crashes, options.loss, options.partitions, options.rots, options.stops, options.resets))


def test_streams_of_one_seed_do_not_depend_on_each_other() -> None:
    first = stream(1, "a")
    first.random()
    assert stream(1, "b").random() == stream(1, "b").random()
    assert stream(1, "a").random() != stream(1, "b").random()


def test_every_workload_that_can_be_drawn_exists() -> None:
    # Critical topics have runs of their own: to draw them too would change what all known seeds draw.
    assert {*WORKLOADS, "critical"} == set(CATALOGUE)
