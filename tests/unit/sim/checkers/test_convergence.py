from __future__ import annotations

from typing import Any

import pytest

from causeway.sim.checkers.convergence import Convergence, closest, distance
from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.topics import item_of
from causeway.types import SECOND, Key, key_of


@pytest.fixture(scope="module")
def settled() -> SimRun:
    run = SimRun(options_calm(1, brokers=4, clients=2, safety=2 * SECOND, workloads=["recoverable"]))
    assert run.run().ok
    return run


def test_distance_goes_the_short_way_round() -> None:
    assert distance(bytes(16), b"\xff" * 16) == 1
    assert distance(bytes(16), b"\x80" + bytes(15)) == 1 << 127


def test_settled_cluster_has_converged(settled: SimRun) -> None:
    assert settled.convergence.pending() is None
    assert settled.convergence.undrained() is None


def test_closest_is_who_the_brokers_themselves_name(settled: SimRun) -> None:
    brokers = settled.cluster.members()
    for number in range(50):
        key = key_of(f"key-{number}")
        assert closest(brokers, key).id == brokers[number % 4].machine._overlay.responsible(key).id  # type: ignore[union-attr]


class Doctored(Convergence):
    """Sees other statistics than the brokers report."""

    def doctor(self, broker: Any, statistics: dict[str, Any]) -> None:
        raise NotImplementedError

    def _statistics(self, broker: Any) -> dict[str, Any]:
        statistics = super()._statistics(broker)
        self.doctor(broker, statistics)
        return statistics


def looks(settled: SimRun, change: Any) -> Convergence:
    class Look(Doctored):
        def doctor(self, broker: Any, statistics: dict[str, Any]) -> None:
            change(broker, statistics)

    return Look(settled.cluster, settled.options)


def test_convergence_names_a_broker_that_has_not_joined(settled: SimRun) -> None:
    def change(broker: Any, statistics: dict[str, Any]) -> None:
        statistics["active"] = broker.name != "broker-2"

    assert looks(settled, change).pending() == "broker-2 has not joined"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("members", ["broker-0"], "wanted"),
        ("incomplete", ["broker-1"], "lacks rows"),
        ("serving", False, "not served"),
    ],
)
def test_convergence_names_a_group_that_is_not_whole(settled: SimRun, field: str, value: object, reason: str) -> None:
    def change(broker: Any, statistics: dict[str, Any]) -> None:
        for group in statistics["groups"]:
            if group["name"] == "recoverable-0":
                group[field] = value

    found = looks(settled, change).pending()
    assert found is not None
    assert reason in found
    assert "recoverable-0" in found


def test_item_has_as_many_copies_as_its_owners_policy_names_if_more(settled: SimRun, monkeypatch: Any) -> None:
    owner = settled.cluster.brokers[1]
    everybody = [one.machine.me for one in settled.cluster.brokers]  # type: ignore[union-attr]
    item = item_of("weather")
    for placed, wanted in ((None, 3), (everybody[:2], 3), (everybody, 4)):
        monkeypatch.setattr(owner.machine._agents, "wanted", lambda name, placed=placed: placed)  # type: ignore[union-attr]
        assert settled.convergence._wanted(item, owner.name, 4) == wanted
        assert settled.convergence._wanted("recoverable-0", owner.name, 4) == 3


def test_convergence_names_a_member_that_is_behind(settled: SimRun) -> None:
    def change(broker: Any, statistics: dict[str, Any]) -> None:
        if broker.name == "broker-1":
            statistics["groups"] = [group for group in statistics["groups"] if group["owner"] == "broker-1"]

    found = looks(settled, change).groups_whole()
    assert found is not None
    assert "its member broker-1 in None" in found


def test_convergence_names_a_mailbox_and_an_outbox_that_are_not_empty(settled: SimRun) -> None:
    def stored(broker: Any, statistics: dict[str, Any]) -> None:
        for mailbox in statistics["mailboxes"]:
            mailbox["stored"] = 3

    found = looks(settled, stored).undrained()
    assert found is not None
    assert "stored=3" in found

    def kept(broker: Any, statistics: dict[str, Any]) -> None:
        statistics["outbox"]["batches"] = 1

    found = looks(settled, kept).undrained()
    assert found is not None
    assert "for senders" in found


def test_convergence_names_a_broker_that_counts_on_one_that_is_gone(settled: SimRun, monkeypatch: Any) -> None:
    cluster = settled.cluster
    monkeypatch.setattr(cluster, "members", lambda: cluster.brokers[1:])
    found = Convergence(cluster, settled.options).pending()
    assert found is not None
    assert "counts on broker-0" in found
    assert Key(bytes(16)) not in {broker.id for broker in cluster.brokers}


def test_a_mailbox_is_in_one_hand_when_all_who_know_it_agree(settled: SimRun) -> None:
    name = settled.mailboxes[0]
    assert settled.convergence.in_one_hand(name)
    assert not settled.convergence.in_one_hand("a mailbox nobody knows")
    (owner,) = [
        group["owner"]
        for broker in settled.cluster.members()
        for group in settled.convergence._groups_of(broker)
        if group["name"] == name and group["owner"] == broker.name
    ]

    def outdated(broker: Any, statistics: dict[str, Any]) -> None:
        for group in statistics["groups"]:
            group["epoch"] -= broker.name == owner

    def silent(broker: Any, statistics: dict[str, Any]) -> None:
        for group in statistics["groups"]:
            group["serving"] = False

    assert not looks(settled, outdated).in_one_hand(name)
    assert not looks(settled, silent).in_one_hand(name)


@pytest.fixture(scope="module")
def seated() -> SimRun:
    run = SimRun(options_calm(1, brokers=4, clients=2, safety=SECOND, workloads=["causal"], domains=2))
    assert run.run().ok
    return run


def test_domains_are_joined_when_all_of_each_know_each_other(seated: SimRun) -> None:
    assert seated.convergence.seated()

    def outdated(broker: Any, statistics: dict[str, Any]) -> None:
        for domain, names in statistics["causal"]["domains"].items():
            statistics["causal"]["domains"][domain] = [name for name in names if name != "broker-1"]

    assert not looks(seated, outdated).seated()


def test_convergence_names_a_seat_that_holds_something_back(seated: SimRun) -> None:
    def holding(broker: Any, statistics: dict[str, Any]) -> None:
        for seat in statistics["causal"]["seats"]:
            seat["held_count"] = 1

    found = looks(seated, holding).undrained()
    assert found is not None
    assert "holds" in found
