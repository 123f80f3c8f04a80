"""Phases that mix faults of all kinds, drawn from a seed.

Owns: what may be drawn, and the claims that a schedule keeps: a disk is lost or spoilt only when all copies are whole
and nothing else is broken, because more than that is nobody's promise; and only applications that keep their state are
killed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from faults.field import Setting
from faults.harm import (
    ENTRY,
    FAR_OWNER,
    OWNER,
    Clock,
    Cut,
    Fault,
    Fill,
    Join,
    Kill,
    Leave,
    LoseDisk,
    Overload,
    Pause,
    Rot,
    Spoil,
)
from faults.jobs import Job
from faults.phases import BAD, REPLACED_SECONDS, SHORT, Phase, Step
from faults.workloads import BOXES, causal, forwarding, kept, recoverable, together, topics, transactional

SECONDS: Final = 75.0
"""Of faults, in one phase; then it heals."""
WAIT_SECONDS: Final = 4.0
"""Between the begins of two faults, on average."""
LASTS_SECONDS: Final = (1.0, 8.0)
KEPT: Final = ("keeper-sender", "keeper-reader")

Draw = Callable[[random.Random, list[str]], Fault]


def _some(rng: random.Random, names: list[str], most: int) -> tuple[str, ...]:
    return tuple(rng.sample(names, rng.randint(1, most)))


def _halves(rng: random.Random, names: list[str]) -> Fault:
    """Brokers and applications, each on one side."""
    shuffled = rng.sample(names, len(names))
    return Cut(tuple(shuffled[:2]), tuple(shuffled[2:]))


KINDS: Final[tuple[Draw, ...]] = (
    lambda rng, names: Cut(_some(rng, names, 1)),
    lambda rng, names: Cut(_some(rng, names, 1), one_way=True),
    lambda rng, names: Cut(tuple(rng.sample(names, 1)), tuple(rng.sample(names, 1))),
    lambda _rng, _names: Cut((f"{ENTRY}sender-1",), (f"{FAR_OWNER}sender-1",)),
    lambda rng, _names: Cut(("reader-1",), (f"{OWNER}{rng.choice(BOXES)}",)),
    _halves,
    lambda rng, names: Kill(_some(rng, names, 2)),
    lambda rng, _names: Kill((f"{OWNER}{rng.choice(BOXES)}",)),
    lambda rng, names: Kill(tuple(names)) if rng.random() < 0.3 else Kill(_some(rng, names, 3)),
    lambda rng, names: Pause(_some(rng, names, 2)),
    lambda rng, _names: Pause((f"{OWNER}{rng.choice(BOXES)}",)),
    lambda rng, names: Spoil(_some(rng, names, 3), rng.choice((SHORT, BAD))),
    lambda rng, _names: Kill((rng.choice(KEPT),)),
    lambda _rng, _names: Overload(hogs=2),
    lambda rng, names: Clock(_some(rng, names, 1), rng.choice((-3600.0, 3600.0))),
    lambda rng, names: Fill(rng.choice(names)),
    lambda _rng, _names: Join(),
)
"""What needs nothing to be whole before."""
RARE: Final[tuple[Draw, ...]] = (
    lambda rng, names: LoseDisk(rng.choice(names)),
    lambda rng, names: Rot(rng.choice(names)),
    lambda rng, names: Leave(rng.choice(names)),
)
"""What does, and takes a while."""
RARE_SHARE: Final = 0.1


def mixed_phase(name: str, seed: int) -> Phase:
    """The phase of this name; the same for the same seed."""
    rng = random.Random(f"{seed} {name}")
    setting = Setting()
    steps: list[Step] = []
    passed = 0.0
    replaced = False
    while passed < SECONDS:
        lasts = rng.uniform(*LASTS_SECONDS)
        rare = rng.random() < RARE_SHARE
        fault = rng.choice(RARE if rare else KINDS)(rng, list(setting.names))
        wait = rng.expovariate(1 / WAIT_SECONDS)
        steps.append(Step(fault, wait, 1.0 if rare else lasts, whole=rare))
        # What needs everything whole waits until it is, and whatever comes after it does too.
        if rare:
            replaced = True
            steps.append(Step(Pause(()), 0.0, 0.0, whole=True))
        passed += wait + (15.0 if rare else 0.0)
    return Phase(
        name=name,
        steps=tuple(steps),
        jobs=_traffic(rng),
        setting=setting,
        mixed=True,
        serves_within=REPLACED_SECONDS if replaced else 5.0,
    )


def _traffic(rng: random.Random) -> tuple[Job, ...]:
    """Always letters in order and applications that keep their state; of the rest what is drawn."""
    others = (topics(), recoverable(), forwarding(), causal())
    return together(transactional(), kept(), *rng.sample(others, 2))
