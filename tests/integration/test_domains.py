"""Domains as people build them: joined while brokers run, cycles refused by name, kept over restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.processes import causeway, environment, json_lines

NORTH_AND_SOUTH = {"north": ["broker-1", "broker-2"], "south": ["broker-2", "broker-3"]}


class Site:
    """A cluster of three brokers in two domains that nothing connects yet."""

    def __init__(self, root: Path) -> None:
        self.data = str(root / "cluster")
        self.environ = environment(root)
        self.seats = root / "seats.json"
        self.seats.write_text('{"broker-1": ["north"], "broker-2": ["north"], "broker-3": ["south"]}')
        self.up()

    def up(self) -> None:
        [answer] = self.json("up", "--data", self.data, "--seats", str(self.seats), "--port", "0", "--detach")
        self.urls = {one["name"]: f"causeway://{one['host']}:{one['port']}" for one in answer["brokers"]}

    def json(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        done = causeway(*arguments, "--json", environ=self.environ)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return json_lines(done.stdout)

    def join(self, broker: str, domain: str, code: int = 0) -> dict[str, Any]:
        [answer] = self.json("join", domain, "--url", self.urls[broker], "--yes", code=code)
        return answer

    def domains(self) -> dict[str, list[str]]:
        [found] = self.json("domains")
        return {line["name"]: sorted(line["seats"]) for line in found["domains"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("domains"))
    assert site.domains() == {"north": ["broker-1", "broker-2"], "south": ["broker-3"]}
    for broker, domain in (("broker-1", "north"), ("broker-2", "south")):  # what it has, and what it has not
        assert domain in site.join(broker, domain)["domains"]
    yield site
    causeway("down", "--data", site.data, environ=site.environ)


def test_router_is_named(site: Site) -> None:
    [found] = site.json("domains")
    assert found["routers"] == {"broker-2": ["north", "south"]}
    assert site.domains() == NORTH_AND_SOUTH
    assert "broker-2 joins north, south" in causeway("domains", environ=site.environ).stdout


def test_join_that_would_close_a_cycle_names_it_and_changes_nothing(site: Site) -> None:
    error = site.join("broker-1", "south", code=1)["error"]
    assert error["code"] == "cycle"
    for name in ("broker-1", "[north]", "broker-2", "[south]"):
        assert name in error["message"]
    assert site.domains() == NORTH_AND_SOUTH


def test_new_broker_that_would_close_a_cycle_ends_and_says_why(site: Site) -> None:
    seed = site.urls["broker-1"].removeprefix("causeway://")
    start = ("broker", "--name", "intruder", "--seed", seed, "--durability", "memory")
    done = causeway(*start, "--domain", "north", "--domain", "south", "--json", environ=site.environ)
    assert done.returncode == 1, done.stderr
    ready, refused = json_lines(done.stdout)
    assert (ready["event"], refused["event"]) == ("ready", "refused")
    assert "[north]" in refused["detail"]
    assert "error: " in done.stderr
    assert site.domains() == NORTH_AND_SOUTH


def test_nothing_waits_where_nothing_was_sent(site: Site) -> None:
    [found] = site.json("why-held", "--all")
    seated = {name for names in site.domains().values() for name in names}
    assert {seat["seat"] for seat in found["seats"]} == seated
    assert all(not seat["held"] and not seat["waiting"] for seat in found["seats"])
    assert "nothing waits" in causeway("why-held", "--all", environ=site.environ).stdout


def test_seats_are_kept_over_a_restart_of_everything(site: Site) -> None:
    causeway("down", "--data", site.data, environ=site.environ)
    site.up()
    assert site.join("broker-1", "north")["domains"] == ["north"]
    assert site.domains() == NORTH_AND_SOUTH
