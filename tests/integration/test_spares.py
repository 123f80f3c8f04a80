"""A spare among real brokers: it takes the seat of one that is killed, and nothing that was acknowledged is missing."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import causeway
from causeway.cli.status import survey
from causeway.cli.view import ClusterView
from causeway.client.url import parse_url
from tests.integration import processes

MESSAGES = 200
PATIENCE = 20.0
MAILBOX, TOPIC = "orders", "roads/a1"
SPARE = "broker-5"


class Town:
    """Four brokers in one domain and a spare, on disk, with three copies of everything."""

    def __init__(self, root: Path) -> None:
        self._data = root / "cluster"
        self._environ = processes.environment(root)

    def run(self, *arguments: str) -> str:
        done = processes.causeway(arguments[0], "--data", str(self._data), *arguments[1:], environ=self._environ)
        assert done.returncode == 0 or arguments[0] == "status", (arguments, done.stdout, done.stderr)
        return done.stdout

    def up(self, *arguments: str) -> dict[str, Any]:
        [answer] = processes.json_lines(self.run("up", "--port", "0", "--detach", "--json", *arguments))
        return answer


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = Town(tmp_path)
    yield made
    made.run("down")


async def seen(url: str, what: str, *, holds: Any) -> ClusterView:
    """The cluster, once it is as it should be."""
    deadline = time.monotonic() + PATIENCE
    while not holds(view := await survey(parse_url(url))):
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s; {view.agents} {view.mailboxes}"
        await asyncio.sleep(0.05)
    return view


def holders(view: ClusterView) -> dict[str, str]:
    return {seat.seat: seat.holder for line in view.agents for seat in line.seats}


def spares(view: ClusterView) -> dict[str, int]:
    return {spare.broker: spare.capacity for line in view.agents for spare in line.spares}


async def texts(reader: causeway.Consumer | causeway.Subscription) -> list[str]:
    found = []
    for _ in range(MESSAGES):
        message = await reader.get(PATIENCE)
        message.ack()
        found.append(message.text)
    return found


async def test_spare_takes_the_seat_of_a_killed_broker_and_nothing_acknowledged_is_missing(town: Town) -> None:
    up = town.up("--brokers", "4", "--spares", "1", "--copies", "3")
    url, pids = up["url"], {broker["name"]: broker["pid"] for broker in up["brokers"]}
    assert [broker["name"] for broker in up["brokers"] if broker["spare"]] == [SPARE]
    half = MESSAGES // 2
    async with (
        causeway.connect(url, name="sender") as sender,
        causeway.connect(url, name="reader") as reader,
        reader.subscription(TOPIC, name="all", durable=True) as subscription,
    ):
        await subscription.ready(PATIENCE)

        async def send(first: int, end: int) -> None:
            for number in range(first, end):
                await sender.send(MAILBOX, str(number), timeout=PATIENCE)
                await sender.publish(TOPIC, str(number), timeout=PATIENCE)

        await send(0, half)
        before = await seen(url, "the spare has measured itself", holds=lambda view: spares(view).get(SPARE))
        assert holders(before) == {name: name for name in pids if name != SPARE}
        victim = next(line.owner for line in before.mailboxes if line.name == MAILBOX)
        sending = asyncio.create_task(send(half, MESSAGES))
        os.kill(pids[victim], signal.SIGKILL)
        await seen(url, "the spare holds the seat", holds=lambda view: holders(view).get(victim) == SPARE)
        assert f"{victim} (held by {SPARE})" in " ".join(town.run("status").split())
        await sending
        everything = [str(number) for number in range(MESSAGES)]
        async with reader.consumer(MAILBOX) as orders:
            assert await texts(orders) == everything
        assert await texts(subscription) == everything
        await seen(
            url,
            "the spare owns what the killed broker owned",
            holds=lambda view: SPARE in {line.owner for line in view.mailboxes if line.name == MAILBOX},
        )

    again = town.up()
    assert [broker["name"] for broker in again["brokers"] if broker["spare"]] == [SPARE], "it is remembered as a spare"
    back = await seen(again["url"], "the killed broker stands by", holds=lambda view: victim in spares(view))
    assert holders(back)[victim] == SPARE, "a seat that was taken is not given back"
