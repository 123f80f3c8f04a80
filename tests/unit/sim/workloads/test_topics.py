from __future__ import annotations

import pytest

from causeway.core.topics import items, picking
from causeway.core.topics.subscriptions import Subscriptions
from causeway.sim.faults import Options, options_calm
from causeway.sim.run import SimRun
from causeway.types import SECOND


def calm(seed: int) -> Options:
    return options_calm(seed, brokers=3, clients=3, safety=15 * SECOND, workloads=["topics"], rate=10.0)


def test_subscriptions_begin_change_end_and_begin_again() -> None:
    verdict = SimRun(calm(6)).run()
    assert verdict.ok, verdict.failure_line()
    for what in ("changed subscriptions", "ended subscriptions", "begun subscriptions", "delivered"):
        assert verdict.observations.get(what, 0) > 0, what


def test_selectors_that_pick_everything_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picking, "matching", lambda selector, batch: [(0, batch.count - 1)])
    assert any("was delivered to" in SimRun(calm(seed)).run().evidence for seed in range(10))


def test_registrations_that_stay_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items.Items, "withdraw", lambda self, turn, item, mailbox: None)
    verdict = SimRun(calm(4)).run()
    assert not verdict.ok


def test_ends_that_nobody_carries_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subscriptions, "end", lambda self, turn, conn, head: None)
    verdict = SimRun(calm(4)).run()
    assert not verdict.ok


def test_retained_letters_that_do_not_come_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items.Items, "_greet", lambda self, turn, item, registration: None)
    assert any("never reached a subscription" in SimRun(calm(seed)).run().evidence for seed in range(10))
