"""Links between living brokers are cut: senders and readers wait no longer than it takes to notice."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

import causeway
from causeway.local.cluster import ProcessCluster
from tests.integration.processes import causeway as command
from tests.integration.processes import running_cluster
from tests.switch import switched

STALL_SECONDS_MAX = 3.0
CUT_SECONDS = 8.0


async def owners(cluster: ProcessCluster) -> dict[str, tuple[str, list[str]]]:
    """Who owns each mailbox, and who else has a copy."""
    reports = await cluster.reports()
    found = {}
    for report in reports.values():
        for group in report["groups"]:
            if group["serving"]:
                found[group["name"]] = group["owner"], group["members"]
    return found


@pytest.mark.parametrize("is_holder", [False, True], ids=["stranger", "copy"])
async def test_one_cut_link_between_two_living_brokers_stalls_nobody_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_holder: bool
) -> None:
    async with switched(monkeypatch) as switch, running_cluster(tmp_path / "data", 5) as cluster:
        home = cluster.names[0]
        url = f"causeway://127.0.0.1:{cluster.entry(home).port}"
        async with causeway.connect(url, name="sender", roam=False) as sender:
            boxes = [f"box-{number}" for number in range(20)]
            for box in boxes:
                await sender.send(box, "first", service="transactional", timeout=10)
            held = await owners(cluster)
            box = next(box for box in boxes if held[box][0] != home and (home in held[box][1]) is is_holder)
            owner = held[box][0]
            async with causeway.connect(url, name="reader", roam=False) as reader:
                consumer = reader.receive(box, timeout=20)
                message = await anext(consumer)
                await message.ack()
                line = cluster.entry(home), cluster.entry(owner)
                switch.cut(*line)
                stop, worst = time.monotonic() + CUT_SECONDS, 0.0
                while time.monotonic() < stop:
                    began = time.monotonic()
                    await sender.send(box, "more", service="transactional", timeout=60)
                    message = await anext(consumer)
                    await message.ack()
                    worst = max(worst, time.monotonic() - began)
                print(f"the worst of all sends took {worst:.2f} s, to the reader and back")
                assert worst < STALL_SECONDS_MAX
                shown = await asyncio.to_thread(command, "status", "--data", str(cluster.data))  # the switch goes on
                assert f"{min(home, owner)} - {max(home, owner)} (over" in shown.stdout
                switch.mend(*line)
                deadline = time.monotonic() + 40  # dials that fail are tried again ever more seldom
                while owner in (await cluster.reports())[home]["bypassed"]:
                    assert time.monotonic() < deadline, "the link is not in use again"
                    await asyncio.sleep(0.1)
