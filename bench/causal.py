"""Causal order: ten real brokers in one domain, on disk, and the same stored messages with the order and without it.

Producer and consumer are at brokers of their own and take part at their seats, so what is sent in causal order passes
two seats and a stamp. Both cases run in turn on the same brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

import causeway
from bench.harness import HOST, Case, Failed, Process, Run
from bench.ours import PREFETCH, drain, send_all
from causeway.testing import LocalCluster

BROKERS = 10
COPIES = 3
DOMAIN = "main"
WINDOW = 131_072
"""Messages on their way, with the order and without it: twice what a client has unless told otherwise, for five brokers
lie on the longer way. The harness lets the producer be as far ahead of the consumer."""


@contextmanager
def cluster(folder: Path) -> Iterator[Process]:
    """Ten brokers that have joined, each with its seat."""
    with LocalCluster(BROKERS, durability="disk", copies=COPIES, data=folder / "data", domains=DOMAIN) as brokers:
        brokers.wait_settled()
        members = []
        for broker in brokers.brokers:
            if broker.process is None:
                raise Failed(f"{broker.name} has ended: {broker.log.read_text(errors='replace')[-500:].strip()}")
            members.append(Process(broker.port, broker.process.pid))
        yield Process(members[0].port, members[0].pid, tuple(members[1:]))


def connect(port: int, name: str) -> causeway.Bus:
    """An application that stays where it is: where it takes part must not depend on the load."""
    return causeway.connect(f"causeway://{HOST}:{port}", name=name, roam=False, window_messages=WINDOW)


async def take_part(bus: causeway.Bus, name: str, order: str | None) -> None:
    """A message to oneself: from then on one has a mailbox, and a seat if there is an order."""
    await bus.send(name, b"", service="recoverable", order=order, timeout=30)


async def produce(run: Run, order: str | None) -> None:
    """To the consumer's own mailbox, which is bound to the consumer's seat."""
    name = f"{run.topic}-producer"
    async with connect(run.port, name) as bus:
        await take_part(bus, name, order)
        await send_all(run, bus, f"{run.topic}-consumer", "recoverable", order)


async def consume(run: Run, order: str | None) -> None:
    """Batches, each acknowledged as it is handed out."""
    name = f"{run.topic}-consumer"
    async with connect(run.far_port, name) as bus:
        await take_part(bus, name, order)
        async with bus.consumer(prefetch=PREFETCH, auto_ack=True) as consumer:
            await consumer.get(10)
            await drain(run, consumer)


def ordered_producer(run: Run) -> None:
    uvloop.run(produce(run, "causal"))


def ordered_consumer(run: Run) -> None:
    uvloop.run(consume(run, "causal"))


def unordered_producer(run: Run) -> None:
    uvloop.run(produce(run, None))


def unordered_consumer(run: Run) -> None:
    uvloop.run(consume(run, None))


def case(system: str, mode: str, *, ordered: bool) -> Case:
    """One of the two, alike in all else."""
    workers = (ordered_producer, ordered_consumer) if ordered else (unordered_producer, unordered_consumer)
    return Case("causal", system, mode, *workers, cluster, first_count=5_000, sizes=(128,), shared=True, window=WINDOW)


CASES = [
    case("causeway", "causal order", ordered=True),
    case("unordered", "recoverable", ordered=False),
]
