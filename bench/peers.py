"""Other brokers, each through the fastest sane use of its Python client. What is not installed is said to be so."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import uvloop

from bench.harness import HOST, Case, Process, Run, free_port, serve

BURST = 128
"""Messages between two looks at the consumer's progress."""
PIPELINE = 1000
"""Commands that a Redis client sends before it waits for the answers."""


def need(*, module: str = "", program: str = "") -> Callable[[], str | None]:
    """What is missing of a client module and a server program, if anything."""

    def missing() -> str | None:
        lacking = []
        if module and importlib.util.find_spec(module) is None:
            lacking.append(f"Python module {module}")
        if program and shutil.which(program) is None:
            lacking.append(f"program {program}")
        return " and ".join(lacking) or None

    return missing


def load(name: str) -> Any:
    """A peer's client: optional, and of no interest to the type checker."""
    return importlib.import_module(name)


# ZeroMQ: PUB -> XSUB/XPUB proxy (its C loop) -> SUB -------------------------------------------------------------
def zmq_server(folder: Path) -> AbstractContextManager[Process]:
    port = free_port()
    return serve([sys.executable, "-m", "bench.peers", "zmq-proxy", str(port)], folder, port)


def zmq_out(port: int) -> int:
    """Where the proxy publishes, beside where it listens for publishers."""
    return port + 1 if port < 65535 else port - 1


def zmq_proxy(port: int) -> None:
    zmq = load("zmq")
    context = zmq.Context(1)
    inward, outward = zmq_socket(context, zmq.XSUB), zmq_socket(context, zmq.XPUB)
    outward.bind(f"tcp://{HOST}:{zmq_out(port)}")
    inward.bind(f"tcp://{HOST}:{port}")
    zmq.proxy(inward, outward)


def zmq_socket(context: Any, kind: int) -> Any:
    opened = context.socket(kind)
    opened.sndhwm = opened.rcvhwm = 200_000
    return opened


def zmq_ends(port: int, topic: bytes) -> tuple[Any, Any]:
    """A publisher and a subscriber of `topic`."""
    zmq = load("zmq")
    context = zmq.Context.instance()
    publish, subscribe = zmq_socket(context, zmq.PUB), zmq_socket(context, zmq.SUB)
    subscribe.subscribe(topic)
    subscribe.connect(f"tcp://{HOST}:{zmq_out(port)}")
    publish.connect(f"tcp://{HOST}:{port}")
    return publish, subscribe


def zmq_produce(run: Run) -> None:
    publish, _ = zmq_ends(run.port, b"nothing")
    topic, payload, send = run.topic.encode() + b"|", run.payload(), publish.send

    async def main() -> None:
        await run.wait_go()
        run.begin()
        sent = 0
        while sent < run.count:
            for _ in range(min(BURST, run.count - sent)):
                send(topic + payload)
            sent += BURST
            if run.behind(sent):
                await run.throttle(sent)
        await run.wait_received()

    asyncio.run(main())


def zmq_consume(run: Run) -> None:
    _, subscribe = zmq_ends(run.port, run.topic.encode() + b"|")
    run.attached()
    receive, received, wanted = subscribe.recv, 0, run.size + len(run.topic) + 1
    while received < run.count:
        if len(receive()) != wanted:
            raise ValueError("a message has the wrong length")
        received += 1
        if not received % BURST:
            run.mark(received)
    run.mark(received)


def zmq_ping(run: Run) -> list[int]:
    publish, subscribe = zmq_ends(run.port, b"back|")
    payload = b"forth|" + run.payload()

    while True:  # a subscription takes a moment to reach the publisher; until then messages vanish
        publish.send(payload)
        if subscribe.poll(100):
            break
    while subscribe.poll(100):  # answers to the earlier tries
        subscribe.recv()

    async def once() -> None:
        publish.send(payload)
        subscribe.recv()

    async def main() -> list[int]:
        await run.wait_go()
        return await run.ping(once)

    trips = asyncio.run(main())
    publish.send(b"forth|")
    publish.close(linger=1000)
    subscribe.close()
    load("zmq").Context.instance().term()  # waits until the last message is on its way
    return trips


def zmq_pong(run: Run) -> None:
    publish, subscribe = zmq_ends(run.port, b"forth|")
    run.attached()
    while True:
        payload = subscribe.recv()[len(b"forth|") :]
        if not payload:
            return
        publish.send(b"back|" + payload)


# Redis Streams, synced on every append --------------------------------------------------------------------------
def redis_server(folder: Path) -> AbstractContextManager[Process]:
    port = free_port()
    argv = ["redis-server", "--bind", HOST, "--port", str(port), "--dir", str(folder), "--save", ""]
    argv += ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"]
    return serve(argv, folder, port)


def redis_produce(run: Run) -> None:
    redis = load("redis")
    client, payload = redis.Redis(HOST, run.port), run.payload()
    client.ping()

    async def main() -> None:
        await run.wait_go()
        run.begin()
        sent = 0
        while sent < run.count:
            pipeline = client.pipeline(transaction=False)
            for _ in range(min(PIPELINE, run.count - sent)):
                pipeline.xadd(run.topic, {b"d": payload})
            pipeline.execute()
            sent += PIPELINE
            await run.throttle(sent)
        run.confirm()

    asyncio.run(main())


def redis_consume(run: Run) -> None:
    redis = load("redis")
    # An old dialect on purpose: its answers are plain lists in every version of the client.
    client = redis.Redis(HOST, run.port, protocol=2)
    client.xgroup_create(run.topic, "readers", "$", mkstream=True)
    run.attached()
    received = 0
    while received < run.count:
        found: Any = client.xreadgroup("readers", "reader", {run.topic: ">"}, count=500, block=1000)
        if not found:
            continue
        entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))
        if any(len(fields[b"d"]) != run.size for _, fields in entries):
            raise ValueError("a message has the wrong length")
        client.xack(run.topic, "readers", *[number for number, _ in entries])
        received += len(entries)
        run.mark(received)


# NATS core ------------------------------------------------------------------------------------------------------
def nats_server(folder: Path) -> AbstractContextManager[Process]:
    port = free_port()
    return serve(["nats-server", "-a", HOST, "-p", str(port)], folder, port)


def nats_ping(run: Run) -> list[int]:
    nats = load("nats")

    async def main() -> list[int]:
        client = await nats.connect(f"nats://{HOST}:{run.port}")
        answers = await client.subscribe("back")
        payload = run.payload()
        await client.flush()
        await run.wait_go()

        async def once() -> None:
            await client.publish("forth", payload)
            await answers.next_msg(5)

        trips = await run.ping(once)
        await client.publish("forth", b"")
        await client.flush()
        return trips

    return uvloop.run(main())


def nats_pong(run: Run) -> None:
    nats = load("nats")

    async def main() -> None:
        client = await nats.connect(f"nats://{HOST}:{run.port}")
        done = asyncio.get_running_loop().create_future()

        async def answer(message: Any) -> None:
            if message.data:
                await client.publish("back", message.data)
            elif not done.done():
                done.set_result(None)

        await client.subscribe("forth", cb=answer)
        await client.flush()
        run.attached()
        await done

    uvloop.run(main())


NEED_ZMQ = need(module="zmq")
NEED_REDIS = need(module="redis", program="redis-server")
NEED_NATS = need(module="nats", program="nats-server")

CASES = [
    Case("fanout", "zeromq", "PUB/SUB proxy", zmq_produce, zmq_consume, zmq_server, need(module="zmq"), consumers=4),
    Case("express", "zeromq", "PUB, proxy, SUB", zmq_produce, zmq_consume, zmq_server, NEED_ZMQ, first_count=100_000),
    Case("roundtrip", "zeromq", "PUB, proxy, SUB", zmq_ping, zmq_pong, zmq_server, NEED_ZMQ, sizes=(128,)),
    Case(
        "recoverable",
        "redis",
        "streams, appendfsync always",
        redis_produce,
        redis_consume,
        redis_server,
        NEED_REDIS,
        first_count=10_000,
    ),
    Case("roundtrip", "nats", "core", nats_ping, nats_pong, nats_server, NEED_NATS, sizes=(128,)),
]

if __name__ == "__main__":
    zmq_proxy(int(sys.argv[2]))
