"""Named scenarios on a simulated cluster of real brokers and clients: what is promised for them, one by one.

The swarm finds what nobody thought of; these say what everybody should be able to rely on.
"""

from __future__ import annotations

import random

import msgspec
import pytest

from causeway.sim.application import DeedEnd
from causeway.sim.held import Held
from causeway.types import MILLISECOND, SECOND, ServiceClass
from tests.simulation.stage import Stage

RECOVERABLE = ServiceClass.RECOVERABLE


def test_partition_minority_refuses_with_a_reason_and_healing_merges() -> None:
    stage = Stage(send_timeout=10 * SECOND)
    sender = stage.join("sender")
    before = stage.write(sender, "box", 5)
    stage._pass(SECOND)
    assert set(before) <= set(stage.acknowledged)
    owner = stage.owner_of("box")
    holders = stage.holders_of("box")
    strangers = [broker for broker in stage.cluster.brokers if broker.name not in holders]
    stage.cut_off([owner, *strangers], [sender])
    cut = [*stage.write(sender, "box", 5), *stage.write(sender, "box", 5, RECOVERABLE)]
    stage._pass(15 * SECOND)
    assert not any(letter in stage.acknowledged for letter in cut)
    assert all("1 of 3 copies reachable" in stage.failures[letter] for letter in cut), stage.failures
    stage.mend()
    stage._pass(5 * SECOND)
    after = stage.write(sender, "box", 5)
    stage._pass(2 * SECOND)
    reader = stage.join("box", reads=True)
    stage.rest()
    assert reader.up
    assert set(before) | set(after) <= set(stage.arrived)
    assert len(stage.arrived) == len(set(stage.arrived))


def test_partition_majority_goes_on_while_the_owner_is_cut_off() -> None:
    stage = Stage()
    sender, _ = stage.join("sender"), stage.join("box", reads=True)
    stage.write(sender, "box", 1)
    stage._pass(SECOND)
    stage.cut_off([stage.owner_of("box")], [])
    began = stage.world.now
    (letter,) = stage.write(sender, "box", 1)
    stage._pass(10 * SECOND)
    waited = stage.acknowledged[letter] - began
    assert waited < 3 * stage.options.silence
    stage.mend()
    stage.rest()


def test_partition_one_way_owner_that_can_speak_but_not_hear_is_replaced() -> None:
    stage = Stage()
    sender, _ = stage.join("sender"), stage.join("box", reads=True)
    stage.write(sender, "box", 1)
    stage._pass(SECOND)
    owner = stage.owner_of("box")
    for process in stage.world.processes:
        if process is not owner.process:
            stage.world.network.cut(process, owner.process)
    letters = stage.write(sender, "box", 3)
    stage._pass(15 * SECOND)
    assert set(letters) <= set(stage.acknowledged)
    stage.mend()
    stage.rest()


@pytest.mark.parametrize("is_holder", [False, True], ids=["stranger", "copy"])
def test_cut_link_between_two_brokers_delays_senders_and_readers_for_less_than_three_seconds(is_holder: bool) -> None:
    stage = Stage()
    sender = stage.join("sender")
    home = stage.home_of(sender)
    for box in (f"box-{number}" for number in range(20)):
        stage.join(box, reads=True)
        if stage.owner_of(box) is not home and (home.name in stage.holders_of(box)) is is_holder:
            break
    owner, since = stage.owner_of(box), stage.world.now
    stage.cut_link(home, owner)
    while stage.world.now < since + 15 * SECOND:
        letters = stage.write(sender, box, 2)
        stage._pass(3 * SECOND)
        assert set(letters) <= set(stage.acknowledged), f"{(stage.world.now - since) / SECOND} s after the cut"
        assert set(letters) <= set(stage.arrived)
    assert stage.home_of(sender) is home
    assert owner.name in stage.bypassed_at(home)
    stage.mend()
    stage._pass(5 * SECOND)
    assert stage.bypassed_at(home) == {}
    stage.rest()


def test_brokers_whose_turns_take_long_are_not_taken_for_dead() -> None:
    stage = Stage()
    sender, _ = stage.join("sender"), stage.join("box", reads=True)
    stage.write(sender, "box", 5)
    stage._pass(SECOND)
    config = stage.configuration_of("box")
    stage.options = msgspec.structs.replace(stage.options, busy_spells=1)
    assert stage._be_busy() is None
    assert stage.configuration_of("box") == config
    stage.rest()


def test_without_disks_single_kills_stop_no_group_though_every_restart_loses_a_vote() -> None:
    stage = Stage(brokers=9, durability="memory", witnesses=4)
    writer = stage.join("writer")
    for number in range(30):
        stage.write(writer, stage.mailbox(f"box-{number}"), 1)
    stage._pass(5 * SECOND)
    rng, killed = random.Random(2), None
    for round_ in range(15):
        stop = stage.world.now + 60 * SECOND
        while not stage.has_all_copies() and stage.world.now < stop:
            stage._pass(SECOND // 2)
        assert stage.has_all_copies(), f"after {round_} kills: {stage.convergence.unhealthy()}"
        killed = rng.choice([broker for broker in stage.cluster.living() if broker is not killed])
        stage.cluster.crash(killed, noticed=rng.random() < 0.8)
        stage._pass(int(rng.random() * 3 * SECOND) + 1)
        stage.cluster.start(killed)


def test_power_loss_of_the_whole_cluster_loses_nothing_acknowledged() -> None:
    stage = Stage()
    sender = stage.join("sender")
    letters = [*stage.write(sender, "box", 20), *stage.write(sender, "box", 20, RECOVERABLE)]
    stage._pass(SECOND)
    assert set(letters) <= set(stage.acknowledged)
    for broker in stage.cluster.living():
        stage.cluster.crash(broker, noticed=False)
    stage._pass(SECOND)
    for broker in stage.cluster.members():
        stage.cluster.start(broker)
    stage.join("box", reads=True)
    stage.rest()
    assert sorted(stage.arrived) == sorted(letters)


def test_kill_of_the_owner_is_bridged_within_a_second() -> None:
    stage = Stage()
    sender, _ = stage.join("sender"), stage.join("box", reads=True)
    stage.write(sender, "box", 1)
    stage._pass(SECOND)
    stage.cluster.crash(stage.owner_of("box"), noticed=True)
    killed = stage.world.now
    (letter,) = stage.write(sender, "box", 1)
    stage._pass(5 * SECOND)
    assert stage.acknowledged[letter] - killed < SECOND
    stage.nemesis.heal()
    stage.rest()


def test_lost_storage_is_replaced_from_the_copies() -> None:
    stage = Stage()
    sender = stage.join("sender")
    letters = stage.write(sender, "box", 30)
    stage._pass(SECOND)
    owner = stage.owner_of("box")
    stage.cluster.crash(owner, noticed=True)
    owner.store = None
    stage.panel.owner.forget(owner.name)
    stage._pass(SECOND)
    stage.cluster.start(owner)
    stage._pass(15 * SECOND)
    assert stage.convergence.groups_whole() is None
    stage.join("box", reads=True)
    stage.rest()
    assert stage.arrived == letters


def test_join_partition_and_kill_in_the_same_moment_lose_nothing() -> None:
    stage = Stage()
    sender = stage.join("sender")
    letters = stage.write(sender, "box", 50)
    stage._pass(SECOND)
    assert set(letters) <= set(stage.acknowledged)
    owner = stage.owner_of("box")
    stage.cluster.start(stage.cluster.add())
    stage.cut_off([next(broker for broker in stage.cluster.brokers if broker is not owner)], [])
    stage.cluster.crash(owner, noticed=False)
    more = stage.write(sender, "box", 10)
    stage._pass(6 * SECOND)
    stage.mend()
    stage.cluster.start(owner)
    stage.join("box", reads=True)
    stage.rest()
    assert stage.arrived == [*letters, *more]


def test_leave_hands_everything_over_before_it_goes() -> None:
    stage = Stage()
    sender = stage.join("sender")
    letters = stage.write(sender, "box", 30)
    stage._pass(SECOND)
    owner = stage.owner_of("box")
    stage.cluster.leave(owner)
    stage._pass(20 * SECOND)
    assert owner.gone
    assert stage.convergence.groups_whole() is None
    stage.join("box", reads=True)
    stage.rest()
    assert stage.arrived == letters


def test_expired_messages_behind_the_window_stop_counting_also_for_a_new_owner() -> None:
    stage = Stage(window_bytes=8_000)
    sender = stage.join("sender")
    for number in range(30):
        ttl = 20 * SECOND if number >= 20 else 0
        sender.send("box", RECOVERABLE, 100, ttl=ttl)
        stage._pass(SECOND // 10)  # each in a batch of its own: half of them do not fit into memory
    stage._pass(SECOND)
    assert stage.stored_in("box") == 30
    stage._pass(35 * SECOND)
    assert stage.stored_in("box") == 20
    owner = stage.owner_of("box")
    stage.cluster.crash(owner, noticed=False)
    stage._pass(10 * SECOND)
    assert stage.owner_of("box") is not owner
    assert stage.stored_in("box") == 20


def test_founder_that_lost_its_storage_and_is_told_to_found_comes_back_into_its_cluster() -> None:
    stage = Stage(brokers=4)
    sender = stage.join("sender")
    letters = stage.write(sender, "box", 20)
    stage._pass(2 * SECOND)
    stage.cluster.refounds = True
    founder = stage.cluster.brokers[0]
    stage.cluster.crash(founder, noticed=True)
    founder.store = None
    stage._pass(2 * SECOND)
    stage.cluster.start(founder)
    stage._pass(8 * SECOND)
    letters += stage.write(sender, "box", 20)
    stage.join("box", reads=True)
    stage.rest()
    assert founder.machine is not None
    assert founder.machine.statistics()["active"]
    machines = [broker.machine for broker in stage.cluster.living()]
    assert len({machine.statistics()["cluster"] for machine in machines if machine is not None}) == 1
    assert len(letters) == 40
    assert stage.arrived == letters


def test_late_delivery_to_a_reader_that_was_cut_off_can_not_be_settled_in_a_transaction() -> None:
    stage = Stage()
    stage.panel.share(stage.mailbox("queue"))
    sender, near, far = stage.join("sender"), stage.join("near"), stage.join("far")
    late: list[Held] = []
    ends: list[DeedEnd] = []
    near.on_letter, far.on_letter = stage._read, late.append
    far.on_decided = lambda _, end: ends.append(end)
    for reader in (near, far):
        reader.read("queue", 64)
        stage._pass(SECOND)
    owner = stage.owner_of("queue")
    apart = (owner.process, far.process)
    # What the owner says takes 1.5 s to the far one, which does not give it up so soon; what others say, no time.
    stage.world.network.distance = lambda a, b: 1500 * MILLISECOND if a in apart and b in apart else MILLISECOND
    letters = stage.write(sender, "queue", 8)
    stage._pass(SECOND // 2)
    assert 0 < len(stage.arrived) < len(letters)
    stage.cluster.crash(owner, noticed=True)
    stage._pass(3 * SECOND // 4)
    assert sorted(stage.arrived) == letters  # what had been handed out to the other one too
    assert not late
    stage._pass(SECOND // 2)  # the letters are there, the end of their connection is not
    assert late
    for number, held in enumerate(late):
        far.commit(number, ["elsewhere"], [held], 100)
    stage._pass(2 * SECOND)
    assert ends == [DeedEnd.ABORTED] * len(late)
    stage.cluster.start(owner)
    for held in late:
        far.give_back(held)
    stage.rest()
