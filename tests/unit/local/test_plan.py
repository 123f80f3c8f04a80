"""What is started with which arguments, without starting it."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from causeway.errors import ConfigError
from causeway.local.pids import identify
from causeway.local.plan import command, founds, plan
from causeway.local.runfile import BrokerEntry, RunFile
from causeway.local.seating import Seating


def test_new_cluster_has_three_brokers_on_disk_unless_told() -> None:
    run = plan(None)
    assert [entry.name for entry in run.brokers] == ["broker-1", "broker-2", "broker-3"]
    assert (run.durability, run.copies, run.formed) == ("disk", 3, False)


def test_ports_follow_the_first() -> None:
    assert [entry.port for entry in plan(None, port=7400).brokers] == [7400, 7401, 7402]


def test_cluster_found_is_resumed_on_its_ports() -> None:
    found = RunFile([BrokerEntry("x", port=9), BrokerEntry("y", port=5)], copies=2, formed=True)
    run = plan(found)
    assert [(entry.name, entry.port) for entry in run.brokers] == [("x", 9), ("y", 5)]
    assert (run.copies, run.formed) == (2, True)


def test_cluster_found_grows_when_asked() -> None:
    run = plan(RunFile([BrokerEntry("broker-1", port=7400)], formed=True), brokers=2, port=7400)
    assert [(entry.name, entry.port) for entry in run.brokers] == [("broker-1", 7400), ("broker-2", 7401)]


@pytest.mark.parametrize(("port", "given"), [(None, [21000, 21001, 21002, 21003]), (0, [21000, 21001, 0, 0])])
def test_new_brokers_and_spares_go_on_after_the_ports_of_their_cluster(port: int | None, given: list[int]) -> None:
    found = plan(None, brokers=2, port=21000)
    found.formed = True
    assert [entry.port for entry in plan(found, brokers=3, spares=1, port=port).brokers] == given


def test_port_that_contradicts_the_cluster_is_refused_with_its_own_ports() -> None:
    found = plan(None, port=21000)
    found.brokers[0].ran = True
    assert [entry.port for entry in plan(found, port=21000).brokers] == [21000, 21001, 21002]
    with pytest.raises(ConfigError, match=r"port=7500: .*21000\.\.21000; leave --port out"):
        plan(found, port=7500)


def test_port_is_honoured_while_no_broker_of_the_cluster_ever_ran() -> None:
    found = plan(None, port=21000)
    assert [entry.port for entry in plan(found).brokers] == [21000, 21001, 21002], "not asked for another one"
    assert [entry.port for entry in plan(found, port=7500).brokers] == [7500, 7501, 7502]


def test_name_of_a_broker_that_left_is_not_used_again() -> None:
    brokers = [BrokerEntry("broker-1", port=7400), BrokerEntry("broker-3", port=7402)]
    found = RunFile(brokers, left=["broker-2"], formed=True)
    assert [entry.name for entry in plan(found).brokers] == ["broker-1", "broker-3"]
    run = plan(found, brokers=3, port=7400)
    assert [(entry.name, entry.port) for entry in run.brokers][2:] == [("broker-4", 7403)]


def test_cluster_found_does_not_shrink_by_accident() -> None:
    with pytest.raises(ConfigError, match=r"brokers=1.*has 2.*causeway leave"):
        plan(RunFile([BrokerEntry("a"), BrokerEntry("b")]), brokers=1)


def test_durability_of_a_cluster_is_not_changed_by_accident() -> None:
    with pytest.raises(ConfigError, match=r"durability='memory'.*has disk"):
        plan(RunFile([BrokerEntry("a")]), durability="memory")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"brokers": 0}, "brokers=0"),
        ({"brokers": 65}, "brokers=65"),
        ({"brokers": "3"}, "brokers='3'"),
        ({"copies": 8}, "copies=8"),
        ({"durability": "tape"}, "durability='tape'"),
        ({"port": -1}, "port=-1"),
        ({"port": 65534}, "port=65534"),
    ],
)
def test_bad_wishes_are_refused_by_name(wanted: dict[str, int], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        plan(None, **wanted)  # type: ignore[arg-type]


# Founding -----------------------------------------------------------------------------------------------------------
def _founders(run: RunFile) -> list[bool]:
    return [founds(run, entry) for entry in run.brokers]


def test_only_the_first_broker_of_a_cluster_never_formed_is_a_founder() -> None:
    run = plan(None, port=7400)
    assert _founders(run) == [True, False, False]
    run.formed = True
    assert _founders(run) == [False, False, False]


@pytest.mark.parametrize("durability", ["disk", "memory"])
@pytest.mark.parametrize("formed", [False, True])
def test_nobody_founds_a_cluster_while_another_broker_of_it_runs(durability: str, *, formed: bool) -> None:
    """Its store may be empty (memory), and the others may be the cluster even before all have joined."""
    run = plan(None, durability=durability, port=7400)
    run.formed = formed
    run.brokers[1].process = identify(os.getpid())
    assert not founds(run, run.brokers[0])
    assert not founds(run, run.brokers[2])


def test_memory_of_which_no_process_is_left_is_founded_anew_by_whoever_is_first() -> None:
    run = plan(None, durability="memory", port=7400)
    run.formed = True
    assert _founders(run) == [True, True, True]


def test_broker_that_was_always_alone_needs_nobody_to_come_back() -> None:
    run = RunFile([BrokerEntry("a", port=1)], formed=True)
    assert _founders(run) == [True]
    assert _founders(plan(run, brokers=2, port=0)) == [True, False], "the second never ran"


# Commands -----------------------------------------------------------------------------------------------------------
def test_founder_is_told_so() -> None:
    run = plan(None, port=7400)
    assert ["--founder" in command(Path("d"), run, entry) for entry in run.brokers] == [True, False, False]


def _seeds(run: RunFile, entry: BrokerEntry) -> list[str]:
    return [after for before, after in pairwise(command(Path("d"), run, entry)) if before == "--seed"]


def test_founder_asks_those_first_that_may_hold_its_cluster() -> None:
    run = plan(None, port=7400)
    assert _seeds(run, run.brokers[0]) == [], "nobody ever ran: nothing to wait for"
    run.brokers[1].ran = True
    assert founds(run, run.brokers[0])
    assert _seeds(run, run.brokers[0]) == ["127.0.0.1:7401"]


def test_founder_of_a_cluster_whose_memory_is_gone_asks_nobody() -> None:
    run = plan(None, durability="memory", port=7400)
    run.formed = True
    assert _seeds(run, run.brokers[1]) == []


def test_broker_joins_through_every_other_known_address() -> None:
    run = plan(None, port=7400)
    arguments = command(Path("d"), run, run.brokers[1])
    seeds = [after for before, after in pairwise(arguments) if before == "--seed"]
    assert seeds == ["127.0.0.1:7400", "127.0.0.1:7402"]


def test_brokers_in_memory_get_no_data_directory() -> None:
    for durability, expected in (("disk", True), ("memory", False)):
        run = RunFile([BrokerEntry("a")], durability)
        assert ("--data" in command(Path("d"), run, run.brokers[0])) is expected


# Spares ---------------------------------------------------------------------------------------------------------
def test_spares_come_after_the_brokers_and_stand_by_in_every_domain(tmp_path: Path) -> None:
    run = plan(None, brokers=4, spares=2, port=7400, seating=Seating(layout="bus", domains=2))
    assert [(entry.name, entry.port, entry.spare) for entry in run.brokers][3:] == [
        ("broker-4", 7403, False),
        ("broker-5", 7404, True),
        ("broker-6", 7405, True),
    ]
    domains = {domain for entry in run.seated for domain in entry.domains}
    assert len(domains) > 1
    assert [set(entry.domains) for entry in run.spares] == [domains, domains]
    lines = [command(tmp_path, run, entry) for entry in run.brokers]
    assert ["--spare" in line for line in lines] == [False] * 4 + [True] * 2
    assert lines[4].count("--domain") == len(domains)


def test_spares_stay_spares_and_more_of_both_kinds_can_come() -> None:
    run = plan(plan(None, brokers=2, spares=1))
    assert [entry.name for entry in run.spares] == ["broker-3"]
    run = plan(run, brokers=3, spares=2)
    assert [entry.name for entry in run.seated] == ["broker-1", "broker-2", "broker-4"]
    assert [entry.name for entry in run.spares] == ["broker-3", "broker-5"]
    assert {tuple(entry.domains) for entry in run.brokers} == {("main",)}


def test_spares_of_brokers_that_are_seated_by_name_have_ports_of_their_own() -> None:
    run = plan(None, spares=1, port=7400, seating=Seating(seats={"x": ("d",), "y": ("d",)}))
    assert [(entry.name, entry.port) for entry in run.brokers] == [("x", 7400), ("y", 7401), ("broker-1", 7402)]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"spares": -1}, r"spares=-1.*0\.\.63"),
        ({"spares": 0}, r"spares=0.*has 1.*causeway leave"),
        ({"spares": 62}, r"brokers=65"),
        ({"seating": Seating(seats={"broker-4": ("main",)})}, r"seats='broker-4'.*is a spare"),
    ],
    ids=["negative", "fewer", "too many", "a spare's name"],
)
def test_spares_that_cannot_be_are_refused(wanted: dict[str, Any], message: str) -> None:
    found = plan(None, brokers=3, spares=1)
    with pytest.raises(ConfigError, match=message):
        plan(found, **wanted)


@pytest.mark.parametrize(
    ("seating", "message"),
    [
        (Seating(nobody=True), r"spares=1.*has none"),
        (Seating(layout="daisy", domains=17), r"spares=1.*16 domains.*17"),
    ],
    ids=["no domain", "too many domains"],
)
def test_spares_need_domains_that_they_can_stand_by_in(seating: Seating, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(None, brokers=40, spares=1, seating=seating)
