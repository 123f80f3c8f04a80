"""Two dozen applications talk in causal order over four domains while routers are killed: no effect before its cause,
nothing lost, nothing doubled. The verdict is computed from the applications' own logs.

CAUSEWAY_CHAT_SECONDS sets how long they talk (default 30).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from pathlib import Path

import pytest

from causeway.local.cluster import ProcessCluster
from tests.integration.processes import running_cluster
from tests.talk import Did, Talker, judge

SECONDS = float(os.environ.get("CAUSEWAY_CHAT_SECONDS", "30"))
APPLICATIONS = 24
KILL_EVERY_SECONDS = 3.0
INTERVAL_SECONDS = 0.5
"""Between two things that an application says by itself; it answers besides."""
SETTLE_SECONDS_MAX = 90.0

LAYOUT = {
    **{f"b{number}": ("north",) for number in (2, 3)},
    **{f"b{number}": ("east",) for number in (5, 6)},
    **{f"b{number}": ("south",) for number in (8, 9)},
    **{f"b{number}": ("backbone",) for number in (11, 12)},
    "b1": ("north", "backbone"),
    "b4": ("east", "backbone"),
    "b7": ("south", "backbone"),
    "b10": ("backbone",),
}
ROUTERS = ("b1", "b4", "b7")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180 + 2 * SECONDS)]


async def kill_routers(cluster: ProcessCluster, stop: asyncio.Event) -> list[str]:
    """One every three seconds, started again at once; who was killed."""
    rng, killed = random.Random(10), list[str]()
    while not stop.is_set():
        due = time.monotonic() + KILL_EVERY_SECONDS
        name = rng.choice([router for router in ROUTERS if router not in killed[-1:]])
        killed.append(name)
        await cluster.kill(name)
        await cluster.restart(name)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), max(0.01, due - time.monotonic()))
    return killed


async def wait_for_all(talkers: list[Talker]) -> None:
    """Until everybody got what was acknowledged, or for so long that it will never come."""
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while judge(talker.log for talker in talkers) and time.monotonic() < deadline:
        await asyncio.sleep(0.5)


async def test_talk_in_causal_order_survives_routers_killed_every_three_seconds(tmp_path: Path) -> None:
    names = [f"causal-{number:02d}" for number in range(1, APPLICATIONS + 1)]
    async with running_cluster(tmp_path, seats=LAYOUT) as cluster:
        talkers = [Talker(name, cluster.url, [other for other in names if other != name]) for name in names]
        await asyncio.gather(*(talker.open() for talker in talkers))
        stop = asyncio.Event()
        killing = asyncio.create_task(kill_routers(cluster, stop))
        talking = asyncio.gather(*(talker.talk(INTERVAL_SECONDS, stop) for talker in talkers))
        await asyncio.wait([killing], timeout=SECONDS)
        stop.set()
        killed, _ = await killing, await talking
        await asyncio.gather(*(talker.finish() for talker in talkers))
        await wait_for_all(talkers)
        crashed = cluster.crashed()
        await asyncio.gather(*(talker.close() for talker in talkers))

    lines = [line for talker in talkers for line in talker.log.lines]
    counts = {did: sum(line.did is did for line in lines) for did in Did}
    print(f"\n{len(killed)} routers killed; " + ", ".join(f"{count} {did.value}" for did, count in counts.items()))
    assert not crashed, crashed
    assert judge(talker.log for talker in talkers) == ""
    assert counts[Did.FAILED] == 0, [line.detail for line in lines if line.did is Did.FAILED][:5]
    assert counts[Did.GOT] > counts[Did.SENT] > APPLICATIONS * SECONDS / INTERVAL_SECONDS / 2
    assert len(killed) >= SECONDS / KILL_EVERY_SECONDS / 3, "the run was too short to prove anything"
