from __future__ import annotations

import random
from collections.abc import Sequence

from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import DriverEvent
from causeway.core.node import Node
from causeway.sim.faults import Options, options_calm
from causeway.sim.run import SimRun
from causeway.types import SECOND, Peer


def small(**options: object) -> Options:
    return options_calm(
        1,
        **{
            "brokers": 3,
            "clients": 2,
            "safety": 2 * SECOND,
            "workloads": ["recoverable"],
            "patience": 20 * SECOND,
            **options,
        },
    )


def test_calm_run_ends_well_and_tells_what_it_saw() -> None:
    verdict = SimRun(small()).run()
    assert (verdict.ending, verdict.code, verdict.evidence) == ("ok", 0, "")
    assert verdict.observations["delivered"] == verdict.observations["sent"] > 0
    assert verdict.options["brokers"] == 3


def test_run_is_the_same_twice() -> None:
    assert SimRun(small()).run() == SimRun(small()).run()


def test_run_is_the_same_with_and_without_the_codec_between_processes() -> None:
    with_wire, without = SimRun(small(wire=True)).run(), SimRun(small(wire=False)).run()
    assert with_wire.ok
    assert with_wire.digest == without.digest


class Raising(Node):
    def handle(self, events: Sequence[DriverEvent], now: int) -> Effects:
        if len(events) > 2:
            raise RuntimeError("planted")
        return super().handle(events, now)


def test_exception_in_a_broker_is_a_crash() -> None:
    def make(config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> Node:
        return Raising(config, me, incarnation, rng)

    verdict = SimRun(small(), make_broker=make).run()
    assert (verdict.ending, verdict.code) == ("crash", 5)
    assert "RuntimeError: planted" in verdict.evidence


class Deaf(Session):
    """Never tells its application anything."""

    def outcomes(self) -> list[object]:  # type: ignore[override]
        super().outcomes()
        return []


def test_applications_that_never_hear_anything_are_noticed() -> None:
    def make(config: SessionConfig, incarnation: int, rng: random.Random) -> Session:
        return Deaf(config, incarnation, rng)

    verdict = SimRun(small(), make_session=make).run()
    assert verdict.ending == "stuck"
    assert "stored=" in verdict.evidence


def test_log_has_one_line_per_event() -> None:
    lines: list[str] = []
    verdict = SimRun(small(), log=lines.append).run()
    assert len(lines) >= verdict.events
    assert any("Deposit(source='recoverable-0'" in line for line in lines)
