"""Sessions with a scripted broker, as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from causeway.core.messages import Deposit
from tests.unit.client.fake_broker import FakeBroker
from tests.unit.client.seats import give_seat, home_of
from tests.unit.client.stage import Stage


@pytest.fixture
def stage() -> Stage:
    """A session that was not called yet."""
    return Stage()


@pytest.fixture
def home(stage: Stage) -> str:
    """The name of the broker that `stage` is connected to."""
    return stage.open()


@pytest.fixture
def seated(stage: Stage, home: str) -> Stage:
    """A session that knows its seat."""
    stage.session.send("bob", b"first", causal=True)
    stage.turn()
    give_seat(stage)
    (first,) = stage.said(Deposit)
    stage.accept(home_of(stage), first)
    stage.take_sent()
    stage.told.clear()
    return stage


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker of its own, in a thread."""
    with FakeBroker.running() as running:
        yield running
