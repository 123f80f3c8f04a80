"""Once a second a broker looks at its own figures; what changes is traced and told, and told again while it lasts."""

from __future__ import annotations

from causeway.core.agents.bottlenecks import LOOK_EVERY, REPEAT_AFTER, STEADY_LOOKS
from causeway.core.agents.lookout import Lookout
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import Bottlenecks
from causeway.core.ports import Figures
from causeway.names import agents_name
from causeway.trace import Step
from causeway.types import SECOND
from tests.unit.core.agents.domain import FakeGauge
from tests.unit.core.mail.neighbours import ME, FakeCourier

FULL = Figures("box", 10, 1000, full=True)


class Tower:
    """The lookout of b1, and everything it wrote into the trace."""

    def __init__(self, *domains: str) -> None:
        self.gauge, self.courier = FakeGauge(), FakeCourier()
        self.lookout = Lookout("b1", ME.id, domains, gauge=self.gauge, courier=self.courier, alarm=Alarm())
        self.now = 100 * SECOND
        self.traced: list[tuple[str, str, int, str]] = []
        self.lookout.start(Turn(self.now))

    def passes(self, looks: int) -> None:
        for _ in range(looks):
            due = self.lookout.next_deadline()
            assert due is not None
            self.now = due
            turn = Turn(due)
            self.lookout.on_deadline(turn)
            self._keep(turn)

    def _keep(self, turn: Turn) -> None:
        assert {record.step for record in turn.effects.traces} <= {Step.BOTTLENECK}
        self.traced += [(one.source, one.dest, one.first, one.note) for one in turn.effects.traces]

    def forget(self, name: str) -> None:
        turn = Turn(self.now)
        self.lookout.forget(turn, name)
        self._keep(turn)

    def told(self) -> list[tuple[str, list[str]]]:
        """To which landmarks what was reported since the last call."""
        posted, self.courier.posted = self.courier.posted, []
        return [(group, [one.about for one in head.found]) for group, head in posted if isinstance(head, Bottlenecks)]


def test_bottleneck_is_traced_and_told_in_every_domain_when_it_begins_and_when_it_is_over() -> None:
    tower = Tower("d", "e")
    tower.gauge.figures = [FULL]
    tower.passes(1)
    assert tower.told() == [(agents_name("d"), ["box"]), (agents_name("e"), ["box"])]
    note = "queue: near its bound, 10 messages, 1000 bytes, readers: 0"
    assert tower.traced == [("box", "d", 1, note), ("box", "e", 1, note)]
    tower.gauge.figures = [Figures("box", 10, 1000)]
    tower.passes(STEADY_LOOKS)
    assert tower.told()[-2:] == [(agents_name("d"), []), (agents_name("e"), [])]
    assert tower.traced[2] == ("box", "d", 0, note.replace("queue: ", "queue: over; it was "))
    tower.passes(20)
    assert tower.told() == []
    assert len(tower.traced) == 4


def test_what_lasts_is_told_again_and_again_and_traced_once() -> None:
    tower = Tower("d")
    tower.gauge.figures = [FULL]
    tower.passes(1 + 3 * REPEAT_AFTER // LOOK_EVERY)
    assert tower.told() == [(agents_name("d"), ["box"])] * 4
    assert len(tower.traced) == 1


def test_mailbox_that_moved_away_is_told_to_be_over() -> None:
    tower = Tower("d")
    tower.gauge.figures = [FULL]
    tower.passes(1)
    tower.told()
    tower.forget("box")
    assert tower.told() == [(agents_name("d"), [])]
    assert [first for _, _, first, _ in tower.traced] == [1, 0]
    tower.forget("other")
    assert tower.told() == []


def test_nobody_looks_where_there_is_no_domain() -> None:
    assert Tower().lookout.next_deadline() is None
