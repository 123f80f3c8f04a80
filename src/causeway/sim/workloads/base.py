"""What a workload is: applications that do something recognisable, until they are told to finish.

One kind of traffic per file. A workload makes its applications, sends while the run is on, and afterwards only reads
until nothing is left. It tells the checkers what happened; whether that was right is not its business.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from causeway.sim.application import Application
from causeway.sim.checkers.panel import Panel
from causeway.sim.faults import Options
from causeway.sim.held import Held
from causeway.sim.letters import Letter
from causeway.sim.world import World
from causeway.types import MILLISECOND, SECOND, Duration


class Scene(Protocol):
    """What a run lends to its workloads."""

    world: World
    options: Options
    panel: Panel

    def application(self, name: str, *, keep: bool = False) -> Application:
        """A new application, not started."""

    def launch(self, application: Application) -> None:
        """Begin its first or next life."""

    def in_one_hand(self, mailbox: str) -> bool:
        """Whether everybody who has to do with a mailbox agrees on who owns it."""

    def seated(self) -> bool:
        """Whether everybody sits in its domains: before, what is published does not reach everybody."""

    def registrations(self) -> int:
        """How many subscriptions all items of the cluster together know."""

    def mailbox(self, name: str) -> str:
        """Register a mailbox: somebody reads its dead letters, and it must be empty in the end."""


class Workload:
    """Base of all workloads."""

    def __init__(self, scene: Scene, rng: random.Random) -> None:
        self.scene = scene
        self.rng = rng
        self.active = True

    @property
    def name(self) -> str:
        """For people."""
        return type(self).__name__.lower()

    def setup(self) -> None:
        """Make applications and begin."""
        raise NotImplementedError

    def wind_down(self) -> None:
        """Begin nothing new; be there to read what is left."""
        self.active = False

    def buried(self, letter: Letter) -> None:
        """A letter has become a dead letter; raises Wrong if it should not have."""

    def pending(self) -> str | None:
        """What is still to come, None when done."""
        return None

    def read_in_order(self, application: Application) -> None:
        """Read its own mailbox so that order is promised over its lives too: with kept state, or exclusively."""
        application.read(application.name, self.scene.options.credit, exclusive=not application.keeps)

    # Shared by many --------------------------------------------------------------------------------------------
    def every(self, rate: float, act: Callable[[], None]) -> None:
        """Do something `rate` times a second on average, for as long as the workload is active."""
        if not self.active:
            return
        act()
        delay = int(self.rng.expovariate(rate) * SECOND) + 1
        self.scene.world.after(delay, self.every, rate, act)

    def later(self, most: Duration, act: Callable[[], None]) -> None:
        """Do something after a while."""
        self.scene.world.after(int(self.rng.random() * most) + 1, act)

    def think_and_settle(self, held: Held) -> None:
        """What most readers do: look at the letter, now and then for long, and acknowledge it."""
        if self.rng.random() < 0.5:
            held.application.settle(held)
            return
        most = SECOND if self.rng.random() < 0.05 else 20 * MILLISECOND
        self.later(most, lambda: held.application.settle(held))
