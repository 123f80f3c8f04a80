"""Domains of a local cluster: started, shown, kept over a kill, refused; and messages in causal order across them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import causeway
from tests.integration import processes

BUS = {
    "broker-1": ["d1", "backbone"],
    "broker-2": ["d1"],
    "broker-3": ["d2", "backbone"],
    "broker-4": ["d2"],
}


class Domains:
    """One cluster of four brokers in two domains with a backbone."""

    def __init__(self, root: Path) -> None:
        self.data = root / "cluster"
        self.environ = processes.environment(root)

    def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        done = processes.causeway(*arguments, "--json", environ=self.environ)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        [answer] = processes.json_lines(done.stdout)
        return answer

    def up(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        return self.json("up", "--data", str(self.data), "--port", "0", "--detach", *arguments, code=code)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Domains, dict[str, Any]]]:
    domains = Domains(tmp_path_factory.mktemp("domains"))
    yield domains, domains.up("--brokers", "4", "--layout", "bus", "--domains", "2")
    domains.json("down", "--data", str(domains.data))


def of(answer: dict[str, Any]) -> dict[str, list[str]]:
    return {broker["name"]: broker["domains"] for broker in answer["brokers"]}


async def test_message_crosses_domains_in_causal_order(started: tuple[Domains, dict[str, Any]]) -> None:
    _domains, answer = started
    assert of(answer) == BUS
    assert answer["unseated"] == {}
    second, fourth = (f"causeway://127.0.0.1:{answer['brokers'][at]['port']}" for at in (1, 3))
    async with causeway.connect(second, name="alice") as alice, causeway.connect(fourth, name="bob") as bob:
        await bob.send("alice", b"hello", order="causal")
        async with alice.consumer() as inbox:
            assert (await inbox.get(timeout=20)).body == b"hello"
        await alice.send("bob", b"hello too", order="causal")
        async with bob.consumer() as inbox:
            assert (await inbox.get(timeout=20)).body == b"hello too"


def test_plan_reads_the_present_domains_of_a_running_network(
    started: tuple[Domains, dict[str, Any]], tmp_path: Path
) -> None:
    domains, answer = started
    table = tmp_path / "traffic.csv"
    table.write_text("from,to,rate,from_seat,to_seat\nalice,bob,9,broker-2,broker-4\nbob,carol,1,broker-4,broker-1\n")
    found = domains.json("plan", "domains", str(table), "--url", answer["url"])
    assert {line["name"]: sorted(line["members"]) for line in found["present"]} == {
        "backbone": ["broker-1", "broker-3"],
        "d1": ["broker-1", "broker-2"],
        "d2": ["broker-3", "broker-4"],
    }
    assert sorted(found["seats"]) == sorted(BUS)
    assert found["cost"] < found["present_cost"] == 9 * 3 * 104 + 2 * 104


def test_killed_broker_comes_back_in_its_domains(started: tuple[Domains, dict[str, Any]]) -> None:
    domains, answer = started
    os.kill(answer["brokers"][2]["pid"], signal.SIGKILL)
    again = domains.up()
    assert of(again) == BUS
    assert again["unseated"] == {}
    assert again["brokers"][2]["pid"] != answer["brokers"][2]["pid"]


def test_other_layout_is_refused_with_what_to_do(started: tuple[Domains, dict[str, Any]]) -> None:
    domains, _answer = started
    refused = domains.up("--layout", "daisy", code=2)["error"]
    assert refused["field"] == "layout"
    assert "another --data" in refused["remedy"]


def test_up_by_a_file_of_seats(tmp_path: Path) -> None:
    domains = Domains(tmp_path)
    seats = tmp_path / "seats.json"
    seats.write_text('{"a": ["north"], "r": ["north", "south"], "b": ["south"]}')
    try:
        answer = domains.up("--seats", str(seats), "--durability", "memory")
        assert of(answer) == {"a": ["north"], "r": ["north", "south"], "b": ["south"]}
        assert answer["unseated"] == {}
    finally:
        domains.json("down", "--data", str(domains.data))
