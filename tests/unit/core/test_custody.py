"""Each group that we own is looked after by one part, whatever happens to it; agents hear of all but the root."""

from __future__ import annotations

from typing import Any, cast

import pytest

from causeway.core.custody import Custody
from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed
from causeway.core.groups.registry import ROOT
from causeway.core.machine import Turn
from causeway.core.messages import Config
from causeway.names import agents_name, seat_name
from causeway.types import Key, key_of, shard_name
from tests.unit.core.mail.neighbours import ME, OTHER, config_of

NAMES = {"causal": seat_name("b1"), "agents": agents_name("d"), "desk": "box", "shards": shard_name(3, 16)}


class Part:
    """A part that notes what it is told; it takes groups of one name."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name
        self.groups: dict[Key, None] = {}
        self.courier = self
        self.directory = self

    def gain(self, turn: Turn, event: OwnershipGained) -> bool:
        mine = event.config.name == NAMES[self.name]
        if mine:
            self.groups[event.group] = None
            self.log.append(f"{self.name}.gain")
        return mine

    def is_shard(self, group: Key) -> bool:
        return group == key_of(NAMES["shards"])

    def config(self, group: Key) -> Config:
        return config_of("any", ME, OTHER)

    def __getattr__(self, what: str) -> Any:
        return lambda *args: self.log.append(f"{self.name}.{what}")


class House:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.groups, self.shards, self.desk, self.causal, self.agents = (
            Part(self.log, name) for name in ("groups", "shards", "desk", "causal", "agents")
        )
        self.custody = Custody(*cast("Any", (self.groups, self.shards, self.desk, self.causal, self.agents)))

    def told(self) -> list[str]:
        log = list(self.log)
        self.log.clear()
        return log

    def gain(self, name: str) -> list[str]:
        self.custody.gained(Turn(1), OwnershipGained(key_of(name), config_of(name, ME, OTHER), [], None))
        return self.told()


@pytest.mark.parametrize("part", ["causal", "agents"])
def test_group_of_a_part_is_its_own_all_its_life(part: str) -> None:
    house, name = House(), NAMES[part]
    key = key_of(name)
    assert house.gain(name) == ["agents.on_owned", f"{part}.gain", "desk.release"]
    house.custody.resumed(Turn(1), OwnershipResumed(key))
    assert house.told() == ["agents.on_owned", f"{part}.resume", "desk.release"]
    house.custody.lost(Turn(1), OwnershipLost(key, config_of(name, OTHER, ME)))
    assert house.told() == ["agents.on_lost", f"{part}.lose", "desk.release", "groups.drop_report"]


def test_shard_goes_to_the_shards_and_what_waits_for_its_mailboxes_tries_again() -> None:
    house, name = House(), NAMES["shards"]
    key = key_of(name)
    assert house.gain(name) == ["agents.on_owned", "shards.gain", "desk.release"]
    house.custody.resumed(Turn(1), OwnershipResumed(key))
    assert house.told() == ["agents.on_owned", "shards.resume", "desk.release"]
    house.custody.lost(Turn(1), OwnershipLost(key, config_of(name, OTHER, ME)))
    assert house.told() == ["agents.on_lost", "shards.lose", "desk.release", "groups.drop_report"]


def test_every_other_group_is_a_mailbox() -> None:
    house, key = House(), key_of("box")
    assert house.gain("box") == ["agents.on_owned", "desk.on_ownership_gained"]
    house.custody.resumed(Turn(1), OwnershipResumed(key))
    assert house.told() == ["agents.on_owned", "desk.on_ownership_resumed"]
    house.custody.lost(Turn(1), OwnershipLost(key, config_of("box", OTHER, ME)))
    assert house.told() == ["agents.on_lost", "desk.on_ownership_lost", "groups.drop_report"]


def test_group_that_ended_is_reported_as_ended() -> None:
    house = House()
    house.custody.lost(Turn(1), OwnershipLost(key_of("box"), Config("box", 9, ME.id, (), (), 3)))
    assert house.told()[-1] == "groups.report_end"


def test_root_is_the_directory_s_and_nobody_else_hears_of_it() -> None:
    house = House()
    config = config_of("causeway/root", ME, OTHER)
    house.custody.gained(Turn(1), OwnershipGained(ROOT, config, [], None))
    house.custody.resumed(Turn(1), OwnershipResumed(ROOT))
    house.custody.lost(Turn(1), OwnershipLost(ROOT, config))
    assert house.told() == ["groups.on_ownership_gained", "groups.on_ownership_lost"]
