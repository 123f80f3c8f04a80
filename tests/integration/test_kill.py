"""Brokers are killed with SIGKILL and restarted, again and again, under transactional traffic: nothing is lost, doubled
or out of order, and applications are served again at once.

CAUSEWAY_KILL_MESSAGES sets how many messages are sent (default 20,000; the release run is 200,000):

    CAUSEWAY_KILL_MESSAGES=200000 .venv/bin/python -m pytest -s tests/integration/test_kill.py
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import time
from pathlib import Path

import pytest

from causeway.local.cluster import ProcessCluster
from causeway.testing.traffic import Account, Correspondent, Tempo, wait_delivered
from causeway.types import MILLISECOND, SECOND
from tests.integration.processes import running_cluster

MESSAGES = int(os.environ.get("CAUSEWAY_KILL_MESSAGES", "20000"))
APPLICATIONS = 20
KILL_EVERY_SECONDS = 2.0
RATE = 2_000 if MESSAGES <= 50_000 else 4_000
"""Messages per second of all applications together: low enough that several kills fall into the run."""

SERVED_AGAIN_SECONDS = 1.0
"""What the product promises."""
SERVED_AGAIN_SECONDS_MAX = 10.0
"""What this test insists on: it may run on a loaded machine, where 26 processes share two cores."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + MESSAGES / RATE * 4)]


class Killer:
    """Kills a broker every two seconds and starts it again at once, whether or not the last one is back."""

    def __init__(self, cluster: ProcessCluster, account: Account) -> None:
        self._cluster = cluster
        self._account = account
        self._rng = random.Random(17)
        self.kills: list[tuple[str, int]] = []
        """Who, and when."""
        self.crashes: list[str] = []
        """Brokers that ended by themselves."""

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; returns when every broker has joined again."""
        while not stop.is_set():
            due = time.monotonic() + KILL_EVERY_SECONDS
            last = self.kills[-1][0] if self.kills else ""
            name = self._rng.choice([name for name in self._cluster.names if name != last])
            self.kills.append((name, self._account.now()))
            await self._cluster.kill(name)
            self.crashes += self._cluster.crashed()
            await self._cluster.restart(name)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(0.01, due - time.monotonic()))
        await self._wait_joined(self.kills[-1][0])

    async def _wait_joined(self, name: str, seconds_max: float = 30.0) -> None:
        deadline = time.monotonic() + seconds_max
        while not (await self._cluster.reports()).get(name, {}).get("active"):
            assert time.monotonic() < deadline, f"{name} did not join again"
            await asyncio.sleep(0.05)


async def test_transactional_traffic_survives_brokers_killed_every_two_seconds(tmp_path: Path) -> None:
    account = Account()
    names = [f"app-{number:02d}" for number in range(1, APPLICATIONS + 1)]
    burst = 5
    tempo = Tempo(burst=burst, interval=burst * APPLICATIONS / RATE)
    async with running_cluster(tmp_path, 5) as cluster:
        applications = [Correspondent(name, cluster.url, account) for name in names]
        await asyncio.gather(*(application.open() for application in applications))
        killer = Killer(cluster, account)
        stop = asyncio.Event()
        killing = asyncio.create_task(killer.run(stop))
        began = time.monotonic()
        await asyncio.gather(
            *(
                application.send([name for name in names if name != application.name], tempo, _bursts(burst))
                for application in applications
            )
        )
        sent = time.monotonic()
        stop.set()
        await killing
        await asyncio.gather(*(application.flush() for application in applications))
        everything = await wait_delivered(account, 60.0)
        await asyncio.gather(*(application.close() for application in applications))
        crashed = [*killer.crashes, *cluster.crashed()]

    _report(account, killer, sent - began)
    assert not crashed, crashed
    assert everything, account.ledger.complaints()
    assert account.ledger.holds(), account.ledger.complaints()
    [tally] = account.ledger.tallies()
    assert (tally.sent, tally.acknowledged, tally.delivered) == (MESSAGES, MESSAGES, MESSAGES)
    assert (tally.doubled, tally.lost, tally.disordered, tally.failed) == (0, 0, 0, 0)
    assert len(killer.kills) >= 3, "the run was too short to prove anything"
    assert max(_outages(account, killer)) < SERVED_AGAIN_SECONDS_MAX * SECOND


def _bursts(burst: int) -> _Countdown:
    return _Countdown(MESSAGES // APPLICATIONS // burst)


class _Countdown:
    def __init__(self, count: int) -> None:
        self._left = count

    def __call__(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _outages(account: Account, killer: Killer) -> list[int]:
    """Per kill, the longest time that any application was without service until the next kill."""
    moments = [at for _name, at in killer.kills]
    ends = [*moments[1:], account.now()]
    return [
        max(outage.gap for outage in account.service.outages(at, end)) for at, end in zip(moments, ends, strict=True)
    ]


def _report(account: Account, killer: Killer, seconds: float) -> None:
    [tally] = account.ledger.tallies()
    print(f"\n{tally.sent:,} transactional messages of {APPLICATIONS} applications in {seconds:.1f} s")
    print(f"acknowledged {tally.acknowledged:,}, delivered {tally.delivered:,}, failed {tally.failed}")
    print(f"doubled {tally.doubled}, lost {tally.lost}, out of order {tally.disordered}")
    outages = _outages(account, killer)
    late = sum(1 for outage in outages if outage > SERVED_AGAIN_SECONDS * SECOND)
    print(f"{len(outages)} kills; without service for longer than {SERVED_AGAIN_SECONDS:g} s after {late} of them")
    for (name, _at), outage in itertools.islice(zip(killer.kills, outages, strict=True), 30):
        print(f"  {name}: longest gap of any application {outage / MILLISECOND:,.0f} ms")
