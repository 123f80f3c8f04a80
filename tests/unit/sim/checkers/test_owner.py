from __future__ import annotations

import pytest

from causeway.core.messages import Accepted, Copied, Deposit, Promised, Replicate
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.owner import SingleOwner
from causeway.types import key_of

GROUP = key_of("box")


class Scene:
    """A few verbs over the frames the checker watches."""

    def __init__(self) -> None:
        self.checker = SingleOwner()

    def replicate(self, sender: str, epoch: int) -> None:
        self._step(sender, "x", Replicate(((GROUP, epoch, 1, 0, 1),)))

    def deposit(self, receiver: str, number: int) -> None:
        self._step("client", receiver, Deposit("s", 1, "box", 2, number, 1, 0, 1, 4, 0), brokers=False)

    def accept(self, sender: str, number: int, receiver: str = "") -> None:
        head = Accepted("s", 1, "box", 2, number, number)
        self._step(sender, receiver or "client", head, brokers=bool(receiver))

    def promise(self, sender: str, epoch: int, seq: int) -> None:
        self._step(sender, "x", Promised(GROUP, epoch, (1, b""), epoch - 1, seq))

    def copied(self, sender: str, epoch: int, seq: int) -> None:
        self._step(sender, "x", Copied(((GROUP, epoch, seq),)))

    def _step(self, sender: str, receiver: str, head: object, *, brokers: bool = True) -> None:
        self.checker.now += 1
        self.checker.watch(sender, receiver, head, brokers=brokers)  # type: ignore[arg-type]


def test_owner_allows_epochs_one_after_the_other() -> None:
    scene = Scene()
    scene.replicate("a", 1)
    scene.deposit("a", 1)
    scene.accept("a", 1)
    scene.replicate("b", 2)
    scene.deposit("b", 2)
    scene.accept("b", 2, receiver="a")
    scene.accept("a", 2)  # passes on what it heard


def test_owner_allows_a_late_acknowledgement_of_what_was_copied_before() -> None:
    scene = Scene()
    scene.replicate("a", 1)
    scene.deposit("a", 1)
    scene.replicate("b", 2)
    scene.deposit("b", 2)
    scene.accept("b", 2)
    scene.accept("a", 1)


def test_owner_catches_a_stale_owner_that_acknowledges_something_new() -> None:
    scene = Scene()
    scene.replicate("a", 1)
    scene.replicate("b", 2)
    scene.accept("b", 1)
    scene.deposit("a", 2)
    with pytest.raises(Wrong, match="in epoch 1"):
        scene.accept("a", 2)


def test_owner_catches_two_owners_of_one_epoch() -> None:
    scene = Scene()
    scene.replicate("a", 1)
    with pytest.raises(Wrong, match="both own"):
        scene.replicate("b", 1)


def test_owner_catches_a_member_that_confirms_behind_its_promise() -> None:
    scene = Scene()
    scene.copied("m", 1, 5)
    scene.promise("m", 2, 5)
    scene.copied("m", 1, 5)
    scene.copied("m", 2, 6)
    with pytest.raises(Wrong, match="promised epoch 2"):
        scene.copied("m", 1, 6)


def test_owner_expects_nothing_of_a_member_that_lost_its_storage() -> None:
    scene = Scene()
    scene.promise("m", 2, 5)
    scene.checker.forget("m")
    scene.copied("m", 1, 6)
