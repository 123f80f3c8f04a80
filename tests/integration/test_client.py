"""The clients against real brokers: every class, every call, and brokers that are killed, frozen and restarted."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import causeway
import causeway.sync
from causeway.testing import LocalCluster

SERVICES = ("express", "recoverable", "transactional")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Three brokers in memory, shared by the tests that harm nobody."""
    with LocalCluster(brokers=3) as running:
        yield running


async def eventually(condition: Callable[[], bool], seconds_max: float = 20.0) -> None:
    """Poll until true."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, "never became true"
        await asyncio.sleep(0.02)


# Every call -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", SERVICES)
async def test_messages_arrive_once_and_their_delivery_is_confirmed(cluster: LocalCluster, service: str) -> None:
    name = f"inbox-{service}"
    async with causeway.connect(cluster.url, name="shop") as shop, causeway.connect(cluster.url, name=name) as inbox:
        receipts = [
            shop.send_nowait(name, f"message {number}", service=service, confirm=True, headers={"n": number})
            for number in range(500)
        ]
        await shop.flush(20)
        seen = []
        async for message in inbox.receive(timeout=5):
            seen.append((message.text, message.headers["n"], message.source))
            if len(seen) == 500:
                break
        assert sorted(seen, key=lambda one: int(one[1])) == [(f"message {n}", n, "shop") for n in range(500)]
        if service == "transactional":
            assert [n for _, n, _ in seen] == list(range(500))
        for receipt in receipts:
            await receipt.confirmed(10)


async def test_unreliable_express_arrives_when_nothing_breaks(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="shop") as shop:
        consumer = shop.consumer("fast", auto_ack=True)
        await consumer.attached(10)
        for number in range(100):
            shop.send_nowait("fast", str(number), service="express", reliable=False)
        seen: list[str] = []
        while len(seen) < 100:
            found = await consumer.get_batch(100, 5)
            assert found, f"only {len(seen)} arrived"
            seen += [message.text for message in found]
        assert sorted(map(int, seen)) == list(range(100))


async def test_transaction_moves_a_message_atomically(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="mover") as bus:
        await bus.send("source", b"gold")
        message = await bus.consumer("source").get(10)
        with pytest.raises(ZeroDivisionError):
            async with bus.transaction() as tx:
                tx.send("vault", b"fake")
                tx.ack(message)
                raise ZeroDivisionError
        async with bus.transaction() as tx:
            tx.send("vault", message.body)
            tx.send("log", b"moved")
            tx.ack(message)
        for mailbox, body in (("vault", b"gold"), ("log", b"moved")):
            async with bus.consumer(mailbox) as consumer:
                arrived = await consumer.get(10)
            assert arrived.body == body
            assert arrived.service == "committed"
        assert [found.body async for found in bus.browse("source")] == []


@pytest.mark.parametrize("service", ["express", "recoverable"])
async def test_requests_are_answered(cluster: LocalCluster, service: str) -> None:
    name = f"sums-{service}"
    async with causeway.connect(cluster.url, name="asker") as asker, causeway.connect(cluster.url, name=name) as sums:

        async def serve() -> None:
            async for message in sums.receive():
                await message.reply(str(sum(map(int, message.text.split()))))

        server = asyncio.create_task(serve())
        calls = (asker.request(name, f"{number} 1", service=service, timeout=20) for number in range(20))
        assert [answer.text for answer in await asyncio.gather(*calls)] == [str(number + 1) for number in range(20)]
        server.cancel()


async def test_competing_consumers_share_a_mailbox(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="one") as one, causeway.connect(cluster.url, name="two") as two:
        consumers = [bus.consumer("work", prefetch=10) for bus in (one, two)]
        for consumer in consumers:
            await consumer.attached(10)
        for number in range(200):
            one.send_nowait("work", str(number))
        await one.flush(20)
        counts = [0, 0]
        seen: list[int] = []
        deadline = time.monotonic() + 20
        while len(seen) < 200 and time.monotonic() < deadline:
            for index, consumer in enumerate(consumers):
                for message in await consumer.get_batch(10, 0.2):
                    seen.append(int(message.text))
                    counts[index] += 1
                    message.ack()
        assert sorted(seen) == list(range(200))
        assert min(counts) > 20


async def test_message_given_back_too_often_goes_to_the_dead(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="picky") as bus:
        receipt = await bus.send("hot", b"potato")
        consumer = bus.consumer("hot")
        deliveries = []
        while found := await consumer.get_batch(1, 2):
            deliveries.append(found[0].deliveries)
            found[0].nack()
        assert deliveries == [0, 1, 2, 3, 4]
        assert receipt.id


async def test_looks_change_nothing(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="looker") as bus:
        receipt = await bus.send("still", b"life")
        assert [message.body async for message in bus.browse("still")] == [b"life"]
        assert "broker" in await bus.status()
        assert await bus.find("still") in ("b1", "b2", "b3")
        records = await bus.story(receipt.id)
        assert {record.dest for record in records} == {"still"}
        assert [message.body async for message in bus.browse("still")] == [b"life"]


async def test_browsing_goes_through_three_windows_of_messages_and_takes_none(cluster: LocalCluster) -> None:
    """50 MB: two thirds of it lie only in the owner's store."""
    bodies = [b"%06d" % number + bytes(100_000) for number in range(500)]
    async with causeway.connect(cluster.url, name="looker") as bus:
        for body in bodies:
            await bus.ready()
            bus.send_nowait("attic", body, service="transactional")
        await bus.flush(60)
        for _ in range(2):
            shown = [message.body[:6] async for message in bus.browse("attic", 10_000, timeout=60)]
            assert shown == [body[:6] for body in bodies]


def test_sync_client_does_the_same(cluster: LocalCluster) -> None:
    with (
        causeway.sync.connect(cluster.url, name="plain") as plain,
        causeway.sync.connect(cluster.url, name="echo") as echo,
    ):

        def serve() -> None:
            for message in echo.receive(timeout=10):
                message.reply(message.body[::-1])
                break

        server = threading.Thread(target=serve)
        server.start()
        assert plain.request("echo", b"abc", timeout=20).body == b"cba"
        server.join(20)
        for service in SERVICES:
            plain.send("plain", service, service=service)
        seen = []
        for message in plain.receive(timeout=10):
            seen.append(message.text)
            if len(seen) == 3:
                break
        assert sorted(seen) == sorted(SERVICES)
        with plain.transaction() as tx:
            tx.send("plain", b"last")
        with plain.consumer() as consumer:
            assert consumer.get(10).body == b"last"


# Trouble --------------------------------------------------------------------------------------------------------
async def stream_through(cluster: LocalCluster, count: int, trouble: Callable[[int], None]) -> list[int]:
    """Send numbers from one application to another while `trouble(sent so far)` happens; what arrived."""
    seen: list[int] = []
    async with causeway.connect(cluster.url, name="left") as left, causeway.connect(cluster.url, name="right") as right:

        async def consume() -> None:
            async for message in right.receive(prefetch=200):
                seen.append(int(message.text))
                if len(seen) == count:
                    return

        consumer = asyncio.create_task(consume())
        for number in range(count):
            if number % 50 == 0:
                await left.ready(60)
                await asyncio.to_thread(trouble, number)
            left.send_nowait("right", str(number), service="transactional", timeout=60)
        await left.flush(60)
        await asyncio.wait_for(consumer, 60)
        async with right.consumer() as consumer:
            assert await consumer.get_batch(10, 0.3) == []
    return seen


@pytest.mark.slow
async def test_killed_and_restarted_brokers_cost_nothing(tmp_path: Path) -> None:
    async with LocalCluster(brokers=5, durability="disk", data=tmp_path) as cluster:
        victims = [0, 3, 1]

        def trouble(number: int) -> None:
            step, part = divmod(number, 1000)
            if step < len(victims) and part == 200:
                cluster.kill(victims[step])
            elif step < len(victims) and part == 800:
                cluster.restart(victims[step])

        assert await stream_through(cluster, 4000, trouble) == list(range(4000))


@pytest.mark.slow
async def test_whole_cluster_killed_and_restarted_costs_nothing(tmp_path: Path) -> None:
    async with LocalCluster(brokers=3, durability="disk", data=tmp_path) as cluster:

        def trouble(number: int) -> None:
            if number == 500:
                for index in range(3):
                    cluster.kill(index)
                cluster.restart_all()

        assert await stream_through(cluster, 1500, trouble) == list(range(1500))


@pytest.mark.slow
async def test_frozen_broker_costs_nothing(tmp_path: Path) -> None:
    async with LocalCluster(brokers=5, durability="disk", data=tmp_path) as cluster:

        def trouble(number: int) -> None:
            if number == 300:
                cluster.pause(2)
            elif number == 900:
                cluster.resume(2)

        assert await stream_through(cluster, 1500, trouble) == list(range(1500))


@pytest.mark.slow
async def test_replies_survive_the_loss_of_a_broker(tmp_path: Path) -> None:
    async with (
        LocalCluster(brokers=5, durability="disk", data=tmp_path) as cluster,
        causeway.connect(cluster.url, name="asker") as asker,
        causeway.connect(cluster.url, name="oracle") as oracle,
    ):

        async def serve() -> None:
            async for message in oracle.receive():
                await message.reply(message.text)

        server = asyncio.create_task(serve())
        for number in range(40):
            if number in (10, 25):
                await asyncio.to_thread(cluster.kill, number % 5)
            answer = await asker.request("oracle", str(number), timeout=30)
            assert answer.text == str(number)
            if number in (12, 27):
                await asyncio.to_thread(cluster.restart, (number - 2) % 5)
        server.cancel()


APPLICATION = """
import sys, causeway.sync
url, state, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
with causeway.sync.connect(url, name="worker", state=state) as bus:
    consumer = bus.consumer("jobs", prefetch=20)
    for count in range(limit):
        message = consumer.get(20)
        print(message.text, flush=True)
        with bus.transaction() as tx:
            tx.send("results", message.body)
            tx.ack(message)
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
async def test_exactly_once_survives_the_death_of_the_application(cluster: LocalCluster, tmp_path: Path) -> None:
    """It is killed again and again right after a commit; every job has exactly one result."""
    async with causeway.connect(cluster.url, name="boss") as boss:
        for number in range(40):
            boss.send_nowait("jobs", str(number), service="transactional")
        await boss.flush(20)
        for _ in range(4):
            command = [sys.executable, "-c", APPLICATION, cluster.url, str(tmp_path / "state"), "10"]
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=60, check=False)
            assert done.returncode == -9, done.stderr.decode()
        results = []
        async for message in boss.receive("results", timeout=3):
            results.append(int(message.text))
        assert results == list(range(40))


VICTIM = """
import os, signal, sys, causeway.sync
with causeway.sync.connect(sys.argv[1], name="victim") as bus:
    for message in bus.receive("poisoned", timeout=3):
        if message.text.startswith("poison"):
            os.kill(os.getpid(), signal.SIGKILL)
        print(message.text, flush=True)
"""


async def test_message_that_kills_its_reader_every_time_ends_as_a_dead_letter_alone(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="boss") as boss:
        for text in ("a", "b", "poison", "c", "d"):
            await boss.send("poisoned", text, service="transactional")
        said, lives = [], 0
        while "d" not in said:
            lives += 1
            assert lives < 12
            command = [sys.executable, "-c", VICTIM, cluster.url]
            done = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=60, check=False)
            said += done.stdout.decode().split()
        assert list(dict.fromkeys(said)) == ["a", "b", "c", "d"]
        async with boss.consumer("dead/poisoned") as dead:
            assert (await dead.get(timeout=10)).text == "poison"
        assert [message.text async for message in boss.browse("dead/poisoned")] == ["poison"]


READERS = {
    "async": """
import asyncio, sys, causeway
async def main():
    async with causeway.connect(sys.argv[1], name="worker", state=sys.argv[2]) as bus:
        consumer = bus.consumer(sys.argv[3], prefetch=500)
        while True:
            message = await consumer.get(20)
            print("shown", message.text, flush=True)
            await message.ack()
            print("done", message.text, flush=True)
asyncio.run(main())
""",
    "sync": """
import sys, causeway.sync
with causeway.sync.connect(sys.argv[1], name="worker", state=sys.argv[2]) as bus:
    consumer = bus.consumer(sys.argv[3], prefetch=500)
    while True:
        message = consumer.get(20)
        print("shown", message.text, flush=True)
        message.ack()
        print("done", message.text, flush=True)
""",
}


@pytest.mark.parametrize("kind", sorted(READERS))
async def test_what_was_acknowledged_when_the_application_is_killed_is_not_shown_to_its_next_life(
    cluster: LocalCluster, tmp_path: Path, kind: str
) -> None:
    def live(lines: int) -> list[str]:
        command = [sys.executable, "-c", READERS[kind], cluster.url, str(tmp_path / "state"), f"kept-{kind}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(lines)]
            process.kill()
            return said + process.stdout.readlines()

    async with causeway.connect(cluster.url, name="boss") as boss:
        for number in range(2000):
            boss.send_nowait(f"kept-{kind}", str(number), service="transactional")
        await boss.flush(20)
    done: dict[str, None] = {}
    for _ in range(4):
        for line in await asyncio.to_thread(live, 121):
            what, number = line.split()
            assert what == "done" or number not in done, f"{number} was shown again"
            if what == "done":
                done[number] = None
    numbers = [int(number) for number in done]
    assert len(numbers) >= 4 * 60
    assert numbers == sorted(numbers)


async def test_ten_consumers_share_what_lies_in_a_mailbox(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="crowd") as bus:
        for number in range(1000):
            bus.send_nowait("shared-work", str(number))
        await bus.flush()
        shares: list[int] = []

        async def work(consumer: causeway.MailboxConsumer) -> None:
            count = 0
            while batch := await consumer.get_batch(8, 2):
                count += len(batch)
                batch[-1].ack_all()
                await asyncio.sleep(0.01)  # it is work
            shares.append(count)

        consumers = [bus.consumer("shared-work") for _ in range(10)]
        await asyncio.gather(*map(work, consumers))
        assert sum(shares) == 1000
        assert min(shares) >= 16


# Fixture --------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_fixture_gives_users_a_cluster(tmp_path: Path) -> None:
    test = tmp_path / "test_mine.py"
    test.write_text(
        "import causeway.sync\n"
        "def test_mine(causeway_cluster):\n"
        "    with causeway.sync.connect(causeway_cluster.url, name='me') as bus:\n"
        "        bus.send('me', 'hello')\n"
        "        with bus.consumer() as consumer:\n"
        "            assert consumer.get(10).text == 'hello'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if "causeway.testing.plugin" not in {entry.value for entry in entry_points(group="pytest11")}:
        command += ["-p", "causeway.testing.plugin"]  # not installed: pytest cannot find it by itself
    done = subprocess.run(
        [*command, str(test)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr
