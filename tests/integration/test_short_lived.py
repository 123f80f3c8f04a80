"""Connections that come, use temporary destinations once and go: afterwards a broker is as it was before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import causeway
from causeway.testing import LocalCluster
from causeway.topics import ALL_ITEMS
from causeway.topics.critical import WAYS

LIVES = 1_000
AT_ONCE = 10
LIVES_FIRST = 100
"""They let the broker's interpreter reach its working size."""
GROWTH_MIB_MAX = 10.0
"""Of the broker's memory, by LIVES connections. Measured: 4.9, all of it memory of the past that has a bound of its
own and is not full yet: the trace (TRACE_RECORDS_MAX), groups that ended (GROUPS_LEFT_MAX, GROUPS_LEARNED_MAX), senders
that items have seen (ADR 0006), names that were checked (NAMES_REMEMBERED_MAX). The margin is for allocators and page
sizes; one mailbox that stays behind per connection took 22 more."""


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=1, domains=None) as running:
        yield running


async def live(url: str, number: int) -> None:
    """One application that asks something once, and is told something once."""
    text = f"guest {number}"
    async with causeway.connect(url, name=f"guest-{number}") as bus:
        mailbox, topic = await bus.temporary_mailbox(timeout=20), bus.temporary_topic()
        news = bus.subscription(topic)
        await news.ready(20)
        receipts = [bus.send_nowait(mailbox, text), bus.publish_nowait(topic, text)]
        async with bus.consumer(mailbox) as letters:
            for consumer in (letters, news):
                message = await consumer.get(20)
                assert message.text == text
                message.ack()
        for receipt in receipts:
            await receipt


async def live_many(url: str, first: int, count: int) -> None:
    for start in range(first, first + count, AT_ONCE):
        await asyncio.gather(*(live(url, number) for number in range(start, start + AT_ONCE)))


def tables(status: dict[str, Any]) -> dict[str, Any]:
    """What a broker has because somebody is there; not what it counts."""
    topics = status["topics"]
    return {
        "clients": status["clients"],
        "connections": status["connections"],
        "groups": sorted(group["name"] for group in status["groups"]),
        "mailboxes": sorted(
            (box["name"], box["stored"], box["volatile"], box["consumers"]) for box in status["mailboxes"]
        ),
        "outbox": status["outbox"],
        "topics": {name: topics[name] for name in ("items", "subscriptions", "retained")},
        "waiting": status["waiting"],
    }


async def tables_when(bus: causeway.Bus, expected: dict[str, Any] | None, seconds_max: float = 10.0) -> dict[str, Any]:
    """A broker's tables as soon as they are as expected (None: without guests), or as they are in the end."""
    deadline = time.monotonic() + seconds_max
    while True:
        found = tables(await bus.status())
        guests = any("guest" in name for name in (*found["clients"], *found["groups"]))
        if found == expected or (expected is None and not guests) or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.05)


def resident_mib(pid: int) -> float:
    """What of a process is in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"/proc/{pid}/status has no VmRSS")


async def test_a_thousand_short_lives_leave_nothing_behind(cluster: LocalCluster) -> None:
    process = cluster.brokers[0].process
    assert process is not None
    async with causeway.connect(cluster.url, name="watch") as watch:
        async with watch.subscription("#") as everything:  # makes all items of topics, which stay for ever
            await everything.ready(20)
        await live_many(cluster.url, 0, LIVES_FIRST)
        before = await tables_when(watch, None)
        items = sorted((*ALL_ITEMS, *WAYS[0], *WAYS[1]))
        assert before["topics"] == {"items": len(items), "subscriptions": 0, "retained": 0}
        assert before["groups"] == ["causeway/root", *items]
        resident = resident_mib(process.pid)
        await live_many(cluster.url, LIVES_FIRST, LIVES)
        after = await tables_when(watch, before)
        assert after == before
        growth = resident_mib(process.pid) - resident
        assert growth < GROWTH_MIB_MAX, f"{resident:.1f} MiB before, {growth:.1f} MiB more after {LIVES} connections"
