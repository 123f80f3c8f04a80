"""Sessions with a scripted broker, as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.client.fake_broker import FakeBroker
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
def broker() -> Iterator[FakeBroker]:
    """A broker of its own, in a thread."""
    with FakeBroker.running() as running:
        yield running
