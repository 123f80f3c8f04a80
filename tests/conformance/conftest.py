"""Every case that asks for a `world` runs once per driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.actors import Stage
from tests.conformance.world_aio import AioWorld
from tests.conformance.world_sim import SimWorld
from tests.conformance.worlds import World


@pytest.fixture(params=["aio", "sim"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world: World = AioWorld(tmp_path) if request.param == "aio" else SimWorld()
    yield world
    world.close()


@pytest.fixture
def stage(world: World) -> Stage:
    return Stage(world)
