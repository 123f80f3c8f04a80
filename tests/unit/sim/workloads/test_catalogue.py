from __future__ import annotations

import pytest

from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.sim.workloads.catalogue import CATALOGUE
from causeway.types import SECOND

SAYS = {
    "transactional": ("acknowledged", "confirmed deliveries"),
    "recoverable": ("acknowledged", "confirmed deliveries"),
    "express": ("acknowledged", "settled"),
    "offline": ("ended readers", "confirmed deliveries"),
    "queue": ("returned", "confirmed settlements"),
    "transfer": ("committed transactions", "transactions"),
    "relay": ("committed transactions", "acknowledged", "confirmed settlements"),
    "poison": ("acknowledged", "ended readers", "confirmed settlements"),
    "browsing": ("exact looks", "views"),
    "causal": ("begun topics", "acknowledged", "delivered", "confirmed settlements"),
    "topics": ("begun subscriptions", "acknowledged", "delivered", "confirmed settlements", "ended readers"),
    "critical": ("begun subscriptions", "acknowledged", "delivered", "ended readers"),
}


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_workload_does_what_it_is_for_and_comes_to_an_end(name: str) -> None:
    run = SimRun(options_calm(3, brokers=3, clients=3, safety=6 * SECOND, workloads=[name], rate=10.0))
    verdict = run.run()
    assert verdict.ok, verdict.failure_line()
    for what in SAYS[name]:
        assert verdict.observations.get(what, 0) > 0, what


def test_workloads_begin_nothing_after_they_were_wound_down() -> None:
    run = SimRun(options_calm(3, brokers=3, clients=3, workloads=sorted(CATALOGUE), rate=10.0))
    run._setup()
    run._pass(2 * SECOND)
    run._wind_down()
    run._pass(SECOND)
    sent = run.panel.counts["sent"]
    run._pass(5 * SECOND)
    assert run.panel.counts["sent"] == sent
