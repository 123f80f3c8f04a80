"""Correspondents write down faithfully what they sent, were told and got, over a bus that can misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from causeway.errors import Code, LocalProtocolError, Refused
from causeway.testing import traffic
from causeway.testing.ledger import Kind
from causeway.testing.traffic import Account, Correspondent, Tempo, wait_delivered

QUICK = Tempo(burst=2, interval=0.0)


class FakeReceipt:
    def __init__(self, error: Exception | None) -> None:
        self._error = error

    async def wait(self) -> None:
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error


class FakeMessage:
    def __init__(self, body: bytes) -> None:
        self.body = body


class FakeFeed:
    def __init__(self, queue: asyncio.Queue[bytes | None]) -> None:
        self._queue = queue

    async def __aiter__(self) -> AsyncIterator[FakeMessage]:
        while True:
            body = await self._queue.get()
            if body is None:
                raise LocalProtocolError("the consumer is closed")
            yield FakeMessage(body)

    async def ready(self) -> None:
        return

    async def aclose(self) -> None:
        self._queue.put_nowait(None)


class FakeNetwork:
    """All mailboxes, and how many times each message is delivered."""

    def __init__(self) -> None:
        self.mailboxes: dict[str, asyncio.Queue[bytes | None]] = {}
        self.copies: Callable[[int], int] = lambda _number: 1
        self.refuse: Callable[[int], bool] = lambda _number: False
        self.calls: list[dict[str, Any]] = []

    def mailbox(self, name: str) -> asyncio.Queue[bytes | None]:
        return self.mailboxes.setdefault(name, asyncio.Queue())

    def connect(self, _url: str, *, name: str, **_more: object) -> FakeBus:
        return FakeBus(self, name)


class FakeBus:
    def __init__(self, network: FakeNetwork, name: str) -> None:
        self._network = network
        self._name = name

    async def open(self) -> FakeBus:
        return self

    async def aclose(self) -> None:
        return

    def receive(self) -> FakeFeed:
        return FakeFeed(self._network.mailbox(self._name))

    def subscribe(self, topic: str, **how: Any) -> FakeFeed:
        return FakeFeed(self._network.mailbox(topic))

    def publish_nowait(self, topic: str, body: bytes, **how: Any) -> FakeReceipt:
        return self.send_nowait(topic, body, reliable=True, **how)

    def send_nowait(self, dest: str, body: bytes, **how: Any) -> FakeReceipt:
        network = self._network
        number = len(network.calls)
        network.calls.append({"dest": dest, **how})
        if network.refuse(number):
            return FakeReceipt(Refused(Code.MAILBOX_FULL, "full"))
        for _ in range(network.copies(number)):
            network.mailbox(dest).put_nowait(body)
        return FakeReceipt(None)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    network = FakeNetwork()
    monkeypatch.setattr(traffic, "connect", network.connect)
    return network


def _bursts(count: int) -> Callable[[], bool]:
    left = iter([True] * count)
    return lambda: next(left, False)


async def _correspond(tempo: Tempo, bursts: int = 4) -> Account:
    account = Account()
    pair = [Correspondent(name, "causeway://any", account, subscribes=True) for name in ("orders", "billing")]
    await asyncio.gather(*(one.open() for one in pair))
    await pair[0].send(["billing"], tempo, _bursts(bursts))
    await pair[0].flush()
    await wait_delivered(account, 0.5)
    await asyncio.gather(*(one.close() for one in pair))
    return account


async def test_traffic_over_a_good_network_holds(network: FakeNetwork) -> None:
    account = await _correspond(Tempo(kinds=tuple(Kind), burst=2, interval=0.0), bursts=10)
    assert account.ledger.holds()
    assert {tally.kind: (tally.sent, tally.acknowledged, tally.delivered) for tally in account.ledger.tallies()} == {
        Kind.UNRELIABLE: (4, 0, 4),
        Kind.EXPRESS: (4, 4, 4),
        Kind.RECOVERABLE: (4, 4, 4),
        Kind.TRANSACTIONAL: (4, 4, 4),
        Kind.PUBLISHED: (4, 4, 4),
    }
    services = {(call["service"], call["reliable"]) for call in network.calls}
    assert services == {("express", False), ("express", True), ("recoverable", True), ("transactional", True)}


async def test_traffic_over_a_network_that_repeats_finds_the_double(network: FakeNetwork) -> None:
    network.copies = lambda number: 2 if number == 3 else 1
    [tally] = (await _correspond(QUICK)).ledger.tallies()
    assert tally.doubled == 1


async def test_traffic_over_a_network_that_loses_finds_the_loss(network: FakeNetwork) -> None:
    network.copies = lambda number: 0 if number == 3 else 1
    account = await _correspond(QUICK)
    [tally] = account.ledger.tallies()
    assert (tally.lost, tally.acknowledged, tally.delivered) == (1, 8, 7)
    assert not await wait_delivered(account, 0.0)


async def test_traffic_tells_refused_sends_from_lost_ones(network: FakeNetwork) -> None:
    network.refuse = lambda number: number < 2
    [tally] = (await _correspond(QUICK)).ledger.tallies()
    assert (tally.failed, tally.lost, tally.acknowledged) == (2, 0, 6)


async def test_sender_waits_while_too_much_is_unacknowledged(network: FakeNetwork) -> None:
    account = Account()
    orders = Correspondent("orders", "causeway://any", account)
    await orders.open()
    most = 0

    def more() -> bool:
        nonlocal most
        most = max(most, orders.outstanding)
        return len(network.calls) < 40

    await orders.send(["billing"], Tempo(burst=2, interval=0.0, outstanding_max=4), more)
    assert most <= 4
    await orders.close()


async def test_correspondent_that_went_offline_gets_what_came_meanwhile(network: FakeNetwork) -> None:
    account = Account()
    orders, billing = (Correspondent(name, "causeway://any", account) for name in ("orders", "billing"))
    await orders.open()
    await billing.open()
    await billing.close()
    await orders.send(["billing"], QUICK, _bursts(3))
    await orders.flush()
    assert account.ledger.outstanding() == 6
    await billing.open()
    assert await wait_delivered(account, 0.5)
    await asyncio.gather(orders.close(), billing.close())
    assert account.ledger.holds()


async def test_reading_that_ends_by_itself_is_reported(network: FakeNetwork) -> None:
    orders = Correspondent("orders", "causeway://any", Account())
    await orders.open()
    orders.check()
    network.mailbox("orders").put_nowait(None)
    for _ in range(5):
        await asyncio.sleep(0)
    with pytest.raises(LocalProtocolError):
        orders.check()
