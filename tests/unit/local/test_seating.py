"""Which domains brokers are started with: as wished, as before, and everybody somewhere."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.local import runfile
from causeway.local.cluster import ProcessCluster
from causeway.local.plan import command, plan
from causeway.local.runfile import BrokerEntry, RunFile
from causeway.local.seating import Seating


def domains(run: RunFile) -> dict[str, list[str]]:
    return {entry.name: entry.domains for entry in run.brokers}


def test_nothing_said_is_one_domain_for_everybody() -> None:
    assert domains(plan(None, brokers=2)) == {"broker-1": ["main"], "broker-2": ["main"]}


def test_domains_are_flags_of_each_broker_and_survive_in_the_run_file(tmp_path: Path) -> None:
    runfile.save(tmp_path, plan(None, brokers=4, prefix="b", seating=Seating(layout="bus", domains=2)))
    run = plan(runfile.load(tmp_path))
    flags = [
        [after for before, after in pairwise(command(tmp_path, run, entry)) if before == "--domain"]
        for entry in run.brokers
    ]
    assert flags == [["d1", "backbone"], ["d1"], ["d2", "backbone"], ["d2"]]


@pytest.mark.parametrize(
    ("wished", "expected"),
    [
        (Seating(layout="bus"), [["d1", "backbone"], ["d1"], ["d2", "backbone"], ["d2"]]),
        (Seating(domains=2), [["d1", "backbone"], ["d1"], ["d2", "backbone"], ["d2"]]),
        (Seating(layout="daisy", domains=3), [["d1"], ["d1", "d2"], ["d2", "d3"], ["d3"]]),
        (Seating(layout="tree"), [["d1"], ["d1"], ["d1", "d2"], ["d2"]]),
        (Seating(layout="flat"), [["main"], ["main"], ["main"], ["main"]]),
    ],
)
def test_layout_without_a_number_has_about_the_square_root(wished: Seating, expected: list[list[str]]) -> None:
    assert list(domains(plan(None, brokers=4, seating=wished)).values()) == expected


def test_same_layout_again_is_the_same_cluster() -> None:
    wished = Seating(layout="daisy", domains=2)
    first = plan(None, brokers=5, seating=wished)
    before = domains(first)
    assert domains(plan(first, seating=wished)) == before


def test_brokers_that_come_later_find_a_place_and_nobody_moves() -> None:
    run = plan(None, brokers=4, prefix="b", seating=Seating(layout="bus", domains=2))
    before = domains(run)
    after = domains(plan(run, brokers=6, prefix="b"))
    assert after == {**before, "b5": ["d1"], "b6": ["d2"]}


def test_one_domain_may_have_another_name_and_keeps_it() -> None:
    run = plan(None, brokers=2, seating=Seating(domain="west"))
    assert domains(plan(run, brokers=3)) == {f"broker-{n}": ["west"] for n in (1, 2, 3)}
    with pytest.raises(ConfigError, match="domain='east': broker-1 is in west already"):
        plan(run, seating=Seating(domain="east"))


def test_nobody_may_have_a_seat() -> None:
    assert domains(plan(None, brokers=2, seating=Seating(nobody=True))) == {"broker-1": [], "broker-2": []}


def test_cluster_of_an_earlier_release_gets_its_domain() -> None:
    run = RunFile([BrokerEntry("a", port=1), BrokerEntry("b", port=2)], formed=True)
    assert domains(plan(run)) == {"a": ["main"], "b": ["main"]}


def test_other_layout_of_a_cluster_is_refused_with_what_to_do() -> None:
    run = plan(None, brokers=4)
    with pytest.raises(ConfigError, match=r"layout='bus': broker-1 is in main already.*another --data"):
        plan(run, seating=Seating(layout="bus"))
    assert domains(run)["broker-1"] == ["main"]


# By name ------------------------------------------------------------------------------------------------------------
SEATS = {"x": ("north",), "r": ("north", "south"), "y": ("south",)}


def test_seats_by_name_are_the_brokers() -> None:
    run = plan(None, port=7400, seating=Seating(seats=SEATS))
    assert [(entry.name, entry.port, entry.domains) for entry in run.brokers] == [
        ("x", 7400, ["north"]),
        ("r", 7401, ["north", "south"]),
        ("y", 7402, ["south"]),
    ]


def test_seats_by_name_may_add_brokers_and_domains() -> None:
    run = plan(None, port=7400, seating=Seating(seats=SEATS))
    more = {**SEATS, "y": ("south", "east"), "z": ("east",)}
    run = plan(run, port=7400, seating=Seating(seats=more))
    assert domains(run)["y"] == ["south", "east"]
    assert [(entry.name, entry.port) for entry in run.brokers][3:] == [("z", 7403)]


def test_broker_that_the_file_does_not_name_keeps_its_domains() -> None:
    run = plan(None, seating=Seating(seats=SEATS))
    run = plan(run, seating=Seating(seats={"z": ("south",)}))
    assert domains(run) == {**{name: list(mine) for name, mine in SEATS.items()}, "z": ["south"]}


@pytest.mark.parametrize(
    ("wished", "brokers", "said"),
    [
        (Seating(seats=SEATS, layout="bus"), None, "layout='bus'"),
        (Seating(seats=SEATS, domains=2), None, "domains=2"),
        (Seating(domain="west", domains=2), None, "domains=2: and --domain both"),
        (Seating(domain="a/b"), None, "domain='a/b'"),
        (Seating(seats=SEATS), 4, r"brokers=4: --seats names 3 brokers"),
        (Seating(seats={**SEATS, "z": ("north", "south")}), None, r"seats='z \[north\] r \[south\] z'.*tree"),
        (Seating(seats={f"b{n}": ("all",) for n in range(65)}), None, "seats='all': has 65 seats, at most 64"),
        (Seating(seats={"r": tuple(f"d{n}" for n in range(17))}), None, "seats='r': is in 17 domains, at most 16"),
        (Seating(layout="bus", domains=3), 4, "domains=3: a bus of 3 domains needs 6 brokers"),
        (Seating(layout="ring"), 4, "layout='ring': must be one of flat, bus"),
    ],
)
def test_impossible_wishes_are_refused_by_name(wished: Seating, brokers: int | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        plan(None, brokers=brokers, seating=wished)


def test_seat_cannot_be_taken_out_of_a_domain() -> None:
    run = plan(None, seating=Seating(seats=SEATS))
    with pytest.raises(ConfigError, match="r is in north, south already"):
        plan(run, seating=Seating(seats={**SEATS, "r": ("north",), "y": ("north",)}))


def test_name_that_has_left_is_not_seated_again() -> None:
    run = plan(None, seating=Seating(seats=SEATS))
    run.brokers.pop()
    run.left.append("y")
    with pytest.raises(ConfigError, match="seats='y': has left for good"):
        plan(run, seating=Seating(seats=SEATS))


# What a broker says when the cluster does not have it there ---------------------------------------------------------
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"event":"ready"}\n{"event":"refused","domains":["a"],"detail":"b1 [a] b2 [b] b1"}\n', "b1 [a] b2 [b] b1"),
        ('{"event":"ready"}\n', ""),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_refusal_is_the_last_word_of_a_broker(tmp_path: Path, lines: str, said: str) -> None:
    cluster = ProcessCluster(tmp_path, plan(None))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "broker-1.out").write_text(lines)
    assert cluster._refusal("broker-1") == said
    assert cluster._refusal("broker-2") == ""
