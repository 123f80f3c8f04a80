"""Causeway: a real `causeway broker` process on disk, and the public client, used as a user would for throughput."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import uvloop

import causeway
from bench.harness import HOST, Case, Process, Run, free_port, serve
from causeway.client._async.consumer import MailboxConsumer

BURST = 1024
"""Messages between two turns of the event loop; the client makes batches of them."""
PREFETCH = 16_384
FILTERED_SHARE = 4
"""Of so many messages one passes the selector."""


def broker_command(port: int, data: Path) -> list[str]:
    """One broker that founds its own cluster."""
    options = ["--name", "bench", "--founder", "--host", HOST, "--port", str(port), "--data", str(data), "--json"]
    return [sys.executable, "-m", "causeway", "broker", *options]


def server(folder: Path) -> AbstractContextManager[Process]:
    """A broker on a disk of its own."""
    port = free_port()
    return serve(broker_command(port, folder / "data"), folder, port)


def connect(run: Run, name: str) -> causeway.Bus:
    """An application of this run."""
    return causeway.connect(f"causeway://{HOST}:{run.port}", name=f"{run.topic}-{name}")


async def produce(run: Run, service: str) -> None:
    """To the consumer's mailbox."""
    async with connect(run, "producer") as bus:
        await send_all(run, bus, run.topic, service)


async def send_all(run: Run, bus: causeway.Bus, dest: str, service: str, order: str | None = None) -> None:
    """Bursts; a stored message counts when it is acknowledged."""
    stored = service != "express"
    send, ready, payload = bus.send_nowait, bus.ready, run.payload()
    await run.wait_go()
    run.begin()
    sent = 0
    while sent < run.count:
        until = min(sent + BURST, run.count)
        try:
            while sent < until:
                send(dest, payload, service=service, reliable=stored, order=order)
                sent += 1
        except causeway.Refused as error:  # the window is full: this message was not taken
            if not error.retriable:
                raise
        await ready()
        if run.behind(sent):
            await run.throttle(sent)
    if stored:
        await bus.flush()
        run.confirm()
    await run.wait_received()


async def consume(run: Run) -> None:
    """Batches, each acknowledged as it is handed out."""
    async with connect(run, "consumer") as bus, bus.consumer(run.topic, prefetch=PREFETCH, auto_ack=True) as consumer:
        await consumer.attached(10)
        await drain(run, consumer)


async def drain(run: Run, consumer: MailboxConsumer, share: int = 1) -> None:
    """Take what comes until all is there; of `share` messages that were sent, one is."""
    run.attached()
    received, size = 0, run.size
    while received * share < run.count:
        messages = await consumer.get_batch(BURST)
        for message in messages:
            if len(message.body) != size:
                raise ValueError("a message has the wrong length")
        received += len(messages)
        run.mark(received * share)


async def publish(run: Run, **options: Any) -> None:
    """As `produce`, to a topic; with `share`, one message in so many has the header that the subscriber asks for."""
    share = options.pop("share", 1)
    headers = [None] if share == 1 else [{"kind": "wanted" if not n else "other"} for n in range(share)]
    async with connect(run, "publisher") as bus:
        send, ready, payload, topic = bus.publish_nowait, bus.ready, run.payload(), f"bench/{run.topic}"
        await run.wait_go()
        run.begin()
        sent = 0
        while sent < run.count:
            until = min(sent + BURST, run.count)
            try:
                while sent < until:
                    send(topic, payload, service="express", reliable=False, headers=headers[sent % share])
                    sent += 1
            except causeway.Refused as error:  # the window is full: this message was not taken
                if not error.retriable:
                    raise
            await ready()
            if run.behind(sent):
                await run.throttle(sent)
        await run.wait_received()


async def subscribe(run: Run, share: int = 1) -> None:
    """All of a topic, or what a selector lets through."""
    selector = None if share == 1 else "kind = 'wanted'"
    async with connect(run, f"subscriber{run.consumer}") as bus:
        topic = f"bench/{run.topic}"
        async with bus.subscription(topic, selector=selector, prefetch=PREFETCH, auto_ack=True) as subscription:
            await subscription.ready(10)
            await drain(run, subscription, share)


async def ping(run: Run) -> list[int]:
    """Round trips between two mailboxes."""
    async with connect(run, "ping") as bus, bus.consumer(auto_ack=True) as answers:
        await answers.attached(10)
        payload, dest = run.payload(), f"{run.topic}-pong"
        await run.wait_go()

        async def once() -> None:
            bus.send_nowait(dest, payload, service="express", reliable=False)
            await answers.get(10)

        trips = await run.ping(once)
        await bus.send(dest, b"", service="express")
        return trips


async def pong(run: Run) -> None:
    """Send back what comes; an empty message ends it."""
    async with connect(run, "pong") as bus, bus.consumer(auto_ack=True) as questions:
        await questions.attached(10)
        run.attached()
        dest = f"{run.topic}-ping"
        while body := (await questions.get()).body:
            bus.send_nowait(dest, body, service="express", reliable=False)


def express_producer(run: Run) -> None:
    uvloop.run(produce(run, "express"))


def recoverable_producer(run: Run) -> None:
    uvloop.run(produce(run, "recoverable"))


def consumer(run: Run) -> None:
    uvloop.run(consume(run))


def publisher(run: Run) -> None:
    uvloop.run(publish(run))


def subscriber(run: Run) -> None:
    uvloop.run(subscribe(run))


def filtered_publisher(run: Run) -> None:
    uvloop.run(publish(run, share=FILTERED_SHARE))


def filtered_subscriber(run: Run) -> None:
    uvloop.run(subscribe(run, FILTERED_SHARE))


def pinger(run: Run) -> list[int]:
    return uvloop.run(ping(run))


def ponger(run: Run) -> None:
    uvloop.run(pong(run))


CASES = [
    Case("express", "causeway", "unacknowledged", express_producer, consumer, server, first_count=100_000),
    Case("recoverable", "causeway", "on disk", recoverable_producer, consumer, server, first_count=20_000),
    Case("fanout", "causeway", "express topic", publisher, subscriber, server, first_count=20_000, consumers=4),
    Case(
        "filtered",
        "causeway",
        "selector, 1 of 4",
        filtered_publisher,
        filtered_subscriber,
        server,
        first_count=20_000,
        unit=FILTERED_SHARE,
    ),
    Case("roundtrip", "causeway", "unacknowledged", pinger, ponger, server, sizes=(128,)),
]
