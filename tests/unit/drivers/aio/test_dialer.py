"""Dials through the driver: each Dial ends in exactly one of Opened, Closed, or silence after a Close."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from causeway.core.effects import Close, Dial, Effects, Send
from causeway.core.events import Closed, DriverEvent, Opened, Persisted, Received
from causeway.core.messages import Ping, Pong
from causeway.drivers.aio import dialer as dialer_module
from tests.unit.drivers.aio.stage import Rule, Stage, StageMachine, wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def dialling(host: str, port: Callable[[], int], then: Rule | None = None) -> Rule:
    """Dial as connection 1 when told to (by Persisted), then follow the other rule."""

    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Persisted):
            effects.dials.append(Dial(1, host, port()))
        elif then is not None:
            then(event, effects)

    return rule


def outcome(machine: StageMachine) -> list[DriverEvent]:
    return [event for turn in machine.turns for event in turn if isinstance(event, Opened | Closed) and event.conn == 1]


async def test_dialled_connection_is_opened_and_talks() -> None:
    def talk(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Opened):
            effects.sends.append(Send(1, Ping(9)))

    async with Stage() as far:
        async with Stage(dialling("127.0.0.1", lambda: far.port, talk)) as near:
            near.driver.post(Persisted(1))
            await wait_until(lambda: near.machine.events(Received))
            assert near.machine.events(Received) == [Received(1, [(Pong(9), b"")])]
            assert outcome(near.machine) == [Opened(1)]
        await wait_until(lambda: far.machine.events(Closed))


async def test_refused_dial_is_closed_with_the_reason() -> None:
    port = free_port()
    async with Stage(dialling("127.0.0.1", lambda: port)) as stage:
        stage.driver.post(Persisted(1))
        await wait_until(lambda: outcome(stage.machine))
        assert outcome(stage.machine) == [Closed(1, "nobody listens there")]


@pytest.mark.parametrize(
    ("host", "port"), [("no-such-host.invalid", 1), ("a" * 300, 1), ("\ud800", 1), ("127.0.0.1", 99999)]
)
async def test_impossible_address_is_closed_and_costs_nothing_else(host: str, port: int) -> None:
    async with Stage(dialling(host, lambda: port)) as stage:
        stage.driver.post(Persisted(1))
        await wait_until(lambda: outcome(stage.machine))
        assert isinstance(outcome(stage.machine)[0], Closed)
        assert stage.crashes == []


async def test_dial_that_nobody_answers_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialer_module, "DIAL_SECONDS_MAX", 0.05)
    with socket.socket() as silent:
        # A backlog that is full: further connects get no answer.
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        port = silent.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        async with Stage(dialling("127.0.0.1", lambda: port)) as stage:
            stage.driver.post(Persisted(1))
            await wait_until(lambda: outcome(stage.machine))
            (closed,) = outcome(stage.machine)
            assert isinstance(closed, Closed)
            assert "did not answer" in closed.reason
        for filler in fillers:
            filler.close()


async def test_dial_given_up_is_not_heard_of_again() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Persisted):
            effects.dials.append(Dial(1, "127.0.0.1", far.port))
            effects.closes.append(Close(1, "changed my mind"))
        if isinstance(event, Opened) and event.conn == 3:
            effects.closes.append(Close(3, "done"))

    async with Stage() as far, Stage(rule) as stage:
        stage.driver.post(Persisted(1))
        for _ in range(30):
            await asyncio.sleep(0.001)
        assert outcome(stage.machine) == []
        assert len(stage.driver.connections) == 0


async def test_port_that_the_system_connects_to_itself_counts_as_refused() -> None:
    """A dialled loopback port may be chosen by the system as the dialling one: TCP then connects it to itself."""
    port = free_port()
    original = asyncio.get_running_loop().create_connection

    async def bound(factory: Callable[[], asyncio.Protocol], host: str, number: int) -> object:
        return await original(factory, host, number, local_addr=("127.0.0.1", number))

    async with Stage(dialling("127.0.0.1", lambda: port)) as stage:
        stage.driver._dialer._loop = type(
            "Loop",
            (),
            {
                "create_connection": staticmethod(bound),
                "create_task": staticmethod(asyncio.get_running_loop().create_task),
            },
        )()  # type: ignore[assignment]
        stage.driver.post(Persisted(1))
        await wait_until(lambda: outcome(stage.machine))
        assert outcome(stage.machine) == [Closed(1, "nobody listens there")]
        assert len(stage.driver.connections) == 0


async def test_stopping_gives_up_every_dial(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Stage(dialling("127.0.0.1", free_port)) as stage:
        stage.driver.post(Persisted(1))
        await asyncio.sleep(0)
        await stage.driver.stop()
        turns = len(stage.machine.turns)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(stage.machine.turns) == turns
