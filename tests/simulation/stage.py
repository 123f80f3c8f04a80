"""A settled simulated cluster, and verbs for what happens to it: for scenarios that are told step by step."""

from __future__ import annotations

from typing import Any

from causeway.sim.application import Application
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm
from causeway.sim.held import Held
from causeway.sim.letters import Letter
from causeway.sim.run import SimRun
from causeway.types import SECOND, ServiceClass

TRANSACTIONAL = ServiceClass.TRANSACTIONAL


class Stage(SimRun):
    """A cluster of five brokers."""

    def __init__(self, **options: object) -> None:
        super().__init__(options_calm(7, **{"brokers": 5, "workloads": [], **options}))
        self.failures: dict[Letter, str] = {}
        self.acknowledged: dict[Letter, int] = {}
        self.arrived: list[Letter] = []
        fail, accept = self.panel.failed, self.panel.acknowledged

        def failed(letter: Letter, reason: str) -> None:
            self.failures[letter] = reason
            fail(letter, reason)

        def acknowledged(letter: Letter) -> None:
            self.acknowledged[letter] = self.world.now
            accept(letter)

        self.panel.failed, self.panel.acknowledged = failed, acknowledged  # type: ignore[method-assign]
        self._setup()
        self._pass(5 * SECOND)

    def join(self, name: str, *, reads: bool = False) -> Application:
        application = self.application(self.mailbox(name))
        if reads:
            application.on_start = lambda reader: reader.read(reader.name, 64)
            application.on_letter = self._read
        self.launch(application)
        self._pass(SECOND)
        return application

    def _read(self, held: Held) -> None:
        self.arrived.append(held.letter)
        held.application.settle(held)

    def write(self, sender: Application, dest: str, count: int, service: ServiceClass = TRANSACTIONAL) -> list[Letter]:
        letters = [sender.send(dest, service, 100, timeout=self.options.send_timeout) for _ in range(count)]
        return [letter for letter in letters if letter is not None]

    def owner_of(self, mailbox: str) -> Broker:
        for broker in self.cluster.living():
            machine = broker.machine
            assert machine is not None
            for group in machine.statistics()["groups"]:  # type: ignore[attr-defined]
                if group["name"] == mailbox and group["owner"] == broker.name and group["serving"]:
                    return broker
        raise AssertionError(f"nobody serves {mailbox}")

    def holders_of(self, mailbox: str) -> list[str]:
        machine = self.owner_of(mailbox).machine
        assert machine is not None
        groups = machine.statistics()["groups"]
        return next(group["members"] for group in groups if group["name"] == mailbox)  # type: ignore[attr-defined]

    def stored_in(self, mailbox: str) -> int:
        """As its owner counts."""
        machine = self.owner_of(mailbox).machine
        assert machine is not None
        boxes = machine.statistics()["mailboxes"]
        return next(box["stored"] for box in boxes if box["name"] == mailbox)  # type: ignore[attr-defined]

    def cut_off(self, brokers: list[Broker], clients: list[Application], *, one_way: bool = False) -> None:
        inside = [broker.process for broker in brokers] + [client.process for client in clients]
        outside = [process for process in self.world.processes if process not in inside]
        for a in inside:
            for b in outside:
                self.world.network.cut(a, b)
                if not one_way:
                    self.world.network.cut(b, a)

    def cut_link(self, a: Broker, b: Broker) -> None:
        """No frame passes between two brokers; everybody else reaches both."""
        self.world.network.cut(a.process, b.process)
        self.world.network.cut(b.process, a.process)

    def home_of(self, application: Application) -> Broker:
        """The broker that an application is connected to."""
        ends = [end for end in self.world.network.connections() if end.process is application.process]
        found = [
            broker
            for broker in self.cluster.living()
            for end in ends
            if end.peer and end.peer.process is broker.process
        ]
        assert len(found) == 1, found
        return found[0]

    def configuration_of(self, mailbox: str) -> tuple[int, str]:
        """The epoch and the owner of a mailbox."""
        owner = self.owner_of(mailbox)
        assert owner.machine is not None
        groups = owner.machine.statistics()["groups"]
        return next(group["epoch"] for group in groups if group["name"] == mailbox), owner.name  # type: ignore[attr-defined]

    def has_all_copies(self) -> bool:
        """Whether everybody has joined and every group is served with three complete copies: what a person counts."""
        latest: dict[str, Any] = {}
        for broker in self.cluster.members():
            if broker.machine is None or not broker.machine.statistics()["active"]:
                return False
            for group in broker.machine.statistics()["groups"]:  # type: ignore[attr-defined]
                known = latest.get(group["name"])
                if known is None or (group["epoch"], group["serving"]) > (known["epoch"], known["serving"]):
                    latest[group["name"]] = group
        return all(g["serving"] and not g["incomplete"] and len(g["members"]) >= 3 for g in latest.values())

    def bypassed_at(self, broker: Broker) -> dict[str, str]:
        """Brokers that one sends to over a third one, as its status says."""
        assert broker.machine is not None
        return dict(broker.machine.statistics()["bypassed"])  # type: ignore[call-overload]

    def mend(self) -> None:
        for a in self.world.processes:
            for b in self.world.processes:
                while self.world.network.is_cut(a, b):
                    self.world.network.heal(a, b)

    def rest(self) -> None:
        """Everything converges and no checker complains."""
        reason = self._converge()
        assert reason is None, reason
        self.panel.finish()
