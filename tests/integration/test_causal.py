"""Causal order between real brokers: mailboxes, topics, queues bound elsewhere, one domain and two with a router."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import pytest

import causeway
from causeway import Bus
from causeway.errors import Code, ConfigError, Refused
from causeway.testing import LocalCluster

DOMAINS = {"one": "main", "two": ["west", ["west", "east"], "east"]}
ROUNDS = 30
PATIENCE = 20.0
Reader = TypeVar("Reader", bound=causeway.MailboxConsumer)


@pytest.fixture(scope="module", params=DOMAINS, ids=list(DOMAINS))
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """Three brokers: in one domain, or in two that the second broker joins."""
    with LocalCluster(brokers=3, domains=DOMAINS[request.param]) as running:
        yield running


class Town:
    """Buses at brokers of one cluster, closed together."""

    def __init__(self, cluster: LocalCluster, stack: AsyncExitStack) -> None:
        self._cluster = cluster
        self._stack = stack

    async def bus(self, name: str, broker: int) -> Bus:
        """An application that stays at this broker, and so takes part at its seat."""
        url = f"causeway://127.0.0.1:{self._cluster.brokers[broker].port}"
        return await self._stack.enter_async_context(causeway.connect(url, name=name, roam=False))

    async def reader(self, consumer: Reader) -> Reader:
        """Closed before the buses."""
        await self._stack.enter_async_context(consumer)
        return consumer


@pytest.fixture
async def town(cluster: LocalCluster) -> AsyncIterator[Town]:
    async with AsyncExitStack() as stack:
        yield Town(cluster, stack)


async def test_what_is_sent_says_who_sent_it_and_how(town: Town) -> None:
    alice, bob = await town.bus("alice", 0), await town.bus("bob", 2)
    sent = [
        await alice.send("bob", f"{service}", service=service, order="causal", headers={"n": 1}, timeout=PATIENCE)
        for service in ("express", "recoverable", "transactional")
    ]
    await alice.send("bob", b"unreliable", service="express", reliable=False, order="causal")
    inbox = await town.reader(bob.consumer(auto_ack=True))
    found = [await inbox.get(PATIENCE) for _ in range(4)]
    assert [message.id for message in found[:3]] == [receipt.id for receipt in sent]
    assert [message.text for message in found] == ["express", "recoverable", "transactional", "unreliable"]
    assert [message.service for message in found] == ["express", "recoverable", "transactional", "express"]
    assert {(message.source, message.order, message.topic) for message in found} == {("alice", "causal", None)}
    assert found[0].headers == {"n": 1}


async def test_an_answer_never_overtakes_what_it_answers(town: Town) -> None:
    editor, reporter, desk = await town.bus("editor", 0), await town.bus("reporter", 1), await town.bus("desk", 2)
    inbox = await town.reader(desk.consumer(topics="news/#", order="causal", auto_ack=True))
    ticker = await town.reader(reporter.subscription("news/#", order="causal", auto_ack=True))
    await inbox.ready(PATIENCE)
    await ticker.ready(PATIENCE)

    async def report() -> None:
        for _ in range(ROUNDS):
            heard = await ticker.get(PATIENCE)
            reporter.send_nowait("desk", b"on " + heard.body, service="express", order="causal")

    async def read() -> list[str]:
        return [(await inbox.get(PATIENCE)).text for _ in range(2 * ROUNDS)]

    reading = asyncio.create_task(asyncio.wait_for(asyncio.gather(read(), report()), 3 * PATIENCE))
    for number in range(ROUNDS):
        await editor.publish(f"news/{number}", f"{number}", service="express", order="causal", timeout=PATIENCE)
    seen, _ = await reading
    assert [text for text in seen if not text.startswith("on")] == [str(number) for number in range(ROUNDS)]
    for number in range(ROUNDS):
        assert seen.index(str(number)) < seen.index(f"on {number}")
    await desk.forget_topics(timeout=PATIENCE)
    await editor.publish("news/late", b"late", order="causal", timeout=PATIENCE)
    await editor.send("desk", b"last", order="causal", timeout=PATIENCE)
    assert (await inbox.get(PATIENCE)).text == "last", "the mailbox has forgotten its topics, and goes on"


async def test_what_was_read_from_a_queue_bound_elsewhere_comes_first(town: Town) -> None:
    boss, worker, audit = await town.bus("boss", 0), await town.bus("worker", 2), await town.bus("audit", 1)
    jobs = await town.reader(worker.consumer("jobs", auto_ack=True))
    inbox = await town.reader(audit.consumer(auto_ack=True))
    await inbox.ready(PATIENCE)
    for number in range(ROUNDS):
        boss.send_nowait("audit", f"order {number}", order="causal")
        boss.send_nowait("jobs", f"{number}", order="causal")
        job = await jobs.get(PATIENCE)
        worker.send_nowait("audit", b"done " + job.body, order="causal")
        found = [(await inbox.get(PATIENCE)).text for _ in range(2)]
        assert found == [f"order {number}", f"done {number}"]


async def test_readers_share_what_is_published_in_causal_order(town: Town) -> None:
    press, east, west = await town.bus("press", 0), await town.bus("east", 1), await town.bus("west", 2)
    how: dict[str, Any] = {"name": "shift", "durable": True, "shared": True, "order": "causal", "prefetch": 1}
    boards = [await town.reader(bus.subscription("jobs/#", auto_ack=True, **how)) for bus in (east, west)]
    for board in boards:
        await board.ready(PATIENCE)
    for number in range(10):
        press.publish_nowait("jobs/a", f"{number}", order="causal")
    await press.flush(PATIENCE)
    shares = await asyncio.gather(*(board.get_batch(10, 2.0) for board in boards))
    found = [message.text for share in shares for message in share]
    while len(found) < 10:
        more = await asyncio.gather(*(board.get_batch(10, 1.0) for board in boards))
        assert any(more), f"only {found} came"
        found += [message.text for share in more for message in share]
    assert sorted(found) == [str(number) for number in range(10)]
    await boards[0].aclose()
    await boards[1].unsubscribe(PATIENCE)


async def test_a_durable_subscription_keeps_what_came_while_nobody_read(town: Town) -> None:
    press, reader = await town.bus("daily", 2), await town.bus("reader", 0)
    how: dict[str, Any] = {"name": "daily", "durable": True, "order": "causal", "selector": "page < 3"}
    async with reader.subscription("daily/#", **how) as board:
        await board.ready(PATIENCE)
    for page in range(5):
        await press.publish("daily/news", f"{page}", headers={"page": page}, order="causal", timeout=PATIENCE)
    async with reader.subscription("daily/#", auto_ack=True, **how) as board:
        assert [(await board.get(PATIENCE)).text for _ in range(3)] == ["0", "1", "2"]
        await board.unsubscribe(PATIENCE)


async def test_requests_are_answered_in_causal_order(town: Town) -> None:
    shop, clerk = await town.bus("shop", 0), await town.bus("clerk", 2)

    async def answer() -> None:
        async for message in clerk.receive():
            await message.reply(b"re: " + message.body)
            return

    answering = asyncio.create_task(answer())
    reply = await shop.request("clerk", b"open?", order="causal", timeout=PATIENCE)
    await answering
    assert (reply.body, reply.source, reply.order) == (b"re: open?", "clerk", "causal")
    mailbox = await shop.temporary_mailbox()
    await clerk.send(mailbox, b"psst", order="causal", timeout=PATIENCE)
    async with shop.consumer(mailbox) as consumer:
        assert (await consumer.get(PATIENCE)).body == b"psst"


async def test_send_to_a_temporary_mailbox_that_has_ended_is_refused_and_leaves_no_hole(town: Town) -> None:
    clerk, other = await town.bus("clerk-of-ends", 2), await town.bus("other-of-ends", 1)
    visitor = await town.bus("visitor", 0)
    mailbox = await visitor.temporary_mailbox()
    await clerk.send(mailbox, b"welcome", order="causal", timeout=PATIENCE)
    await visitor.aclose()
    with pytest.raises(Refused):
        for _ in range(1000):  # it ends a moment later
            await clerk.send(mailbox, b"still there?", timeout=PATIENCE)
    for service in ("express", "recoverable", "transactional"):
        for order in (None, "causal"):
            with pytest.raises(Refused) as caught:
                await clerk.send(mailbox, b"still there?", service=service, order=order, timeout=PATIENCE)
            assert caught.value.code == Code.NO_MAILBOX
    await clerk.send("other-of-ends", b"gone", order="causal", timeout=PATIENCE)
    async with other.consumer() as consumer:
        assert (await consumer.get(PATIENCE)).body == b"gone"


async def test_other_messages_pass_beside_it_and_others_hear_it_too(town: Town) -> None:
    alice, carol = await town.bus("alice", 0), await town.bus("carol", 1)
    await carol.keep_history("mixed/#", seconds=60, timeout=PATIENCE)
    board = await town.reader(carol.subscription("mixed/#", order="causal", auto_ack=True))
    plain = await town.reader(carol.subscription("mixed/#", auto_ack=True))
    await board.ready(PATIENCE)
    await plain.ready(PATIENCE)
    await alice.publish("mixed/a", b"causal", order="causal", timeout=PATIENCE)
    await alice.publish("mixed/a", b"plain", timeout=PATIENCE)
    assert (await board.get(PATIENCE)).body == b"causal"
    past = await town.reader(carol.subscription("mixed/#", start="earliest", auto_ack=True))
    for without_order in (plain, past):
        heard = [await without_order.get(PATIENCE) for _ in range(2)]
        assert [(message.body, message.order) for message in heard] == [(b"causal", None), (b"plain", None)]
    assert await board.get_batch(10, 0.2) == []


async def test_what_the_order_cannot_keep_is_refused(town: Town) -> None:
    alice = await town.bus("alice", 0)
    for field, options in {
        "priority": {"priority": 9},
        "delay": {"delay": 1.0},
        "confirm": {"confirm": True},
        "retain": {"retain": True},
    }.items():
        with pytest.raises(ConfigError) as caught:
            await alice.publish("news/a", b"x", order="causal", **options)  # type: ignore[arg-type]
        assert caught.value.field == field


async def test_a_cluster_without_seats_says_so() -> None:
    async with (
        LocalCluster(brokers=1, copies=1, domains=None) as cluster,
        causeway.connect(cluster.url, name="alice") as alice,
    ):
        with pytest.raises(Refused) as caught:
            await alice.send("bob", b"x", order="causal", timeout=PATIENCE)
        assert caught.value.code == Code.NO_SEAT


async def test_domains_that_nothing_joins_have_no_route() -> None:
    async with LocalCluster(brokers=2, copies=1, domains=["west", "east"]) as cluster, AsyncExitStack() as stack:
        town = Town(cluster, stack)
        alice, bob = await town.bus("alice", 0), await town.bus("bob", 1)
        await bob.send("bob", b"mine", order="causal", timeout=PATIENCE)
        with pytest.raises(Refused) as caught:
            await alice.send("bob", b"x", order="causal", timeout=PATIENCE)
        assert caught.value.code == Code.NO_ROUTE
        await alice.send("alice", b"after", order="causal", timeout=PATIENCE)
        async with alice.consumer() as consumer:
            assert (await consumer.get(PATIENCE)).body == b"after", "a send that fails leaves no hole"
