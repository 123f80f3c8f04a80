"""What an acknowledgement means, read off the disks: the letter lies on owner and copies at that very moment."""

from __future__ import annotations

import pytest

from causeway.sim.faults import options_calm
from causeway.sim.letters import Letter
from causeway.sim.run import SimRun
from causeway.types import SECOND, ServiceClass


class Watching(SimRun):
    """Looks at all storages whenever a sender is told that its letter is safe."""

    copies_at_acknowledgement: list[int]

    def watch_acknowledgements(self) -> None:
        self.copies_at_acknowledgement = []
        tell = self.panel.acknowledged

        def acknowledged(letter: Letter) -> None:
            if letter.dest == "nobody":
                self.copies_at_acknowledgement.append(self.copies_of(letter))
            tell(letter)

        self.panel.acknowledged = acknowledged  # type: ignore[method-assign]

    def copies_of(self, letter: Letter) -> int:
        """Storages on which a row holds the letter: what a power cut now would leave."""
        token = letter.payload(0)
        stores = [broker.store for broker in self.cluster.brokers if broker.store is not None]
        images = [store.image for store in stores]
        return sum(
            any(token in row.value for group in image.groups() for row in image.scan(group, b"", b"", 1 << 40).rows)
            for image in images
        )


@pytest.mark.parametrize("durability", ["disk", "memory"])
@pytest.mark.parametrize("copies", [1, 3, 5])
def test_acknowledged_means_on_all_copies(copies: int, durability: str) -> None:
    run = Watching(options_calm(copies, brokers=6, copies=copies, durability=durability, workloads=[]))
    run._setup()
    run.watch_acknowledgements()
    run._pass(3 * SECOND)
    sender = run.application("sender")
    run.launch(sender)
    for service in (ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL):
        for _ in range(10):
            sender.send("nobody", service, 50)
            run._pass(SECOND // 20)
    run._pass(SECOND)
    assert run.copies_at_acknowledgement == [copies] * 20
