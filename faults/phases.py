"""The phases of a campaign: which brokers, which traffic, which faults when.

Owns: those with names. A phase is a value; `run` runs it, `mixed` draws more of them. Whom a fault hits is drawn where
it does not matter which one it is.
"""

from __future__ import annotations

import random

import msgspec

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
    Signal,
    Spoil,
)
from faults.jobs import Job
from faults.slow_road import Weather
from faults.workloads import (
    BOXES,
    carrying,
    causal,
    forwarding,
    impatient,
    kept,
    poison,
    recoverable,
    together,
    topics,
    transactional,
)


class Step(msgspec.Struct, frozen=True):
    """One fault of a schedule."""

    fault: Fault
    wait: float = 0.0
    """Seconds since the step before began; the first: since everybody was served."""
    lasts: float = 5.0
    """Seconds."""
    whole: bool = False
    """Wait first until all earlier faults are over and `causeway status` exits with 0."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a campaign with brokers and applications of its own."""

    name: str
    steps: tuple[Step, ...]
    jobs: tuple[Job, ...]
    setting: Setting = Setting()
    serves_within: float = 5.0
    """Seconds after the heal until every lane gets something done."""
    calm: float = 8.0
    """Seconds of traffic after the heal."""
    mixed: bool = False
    """Whether its faults were drawn: one that finds nobody to hit is left out."""
    keeps_owners: bool = False
    """Whether no mailbox may change hands, because nobody fails."""
    gap_max: float = 0.0
    """Seconds that a lane may get nothing done while faults last; 0: for as long as they do."""


SHORT = Weather(delay=0.005, jitter=0.02, loss=0.01, repeats=0.01)
BAD = Weather(delay=0.05, jitter=0.1, loss=0.05, repeats=0.02)
TREE = {
    "b1": ("north", "backbone"),
    "b2": ("north",),
    "b3": ("east", "backbone"),
    "b4": ("east",),
    "b5": ("south", "backbone"),
    "b6": ("south",),
}
"""Three domains around a fourth, and who is seated where."""
REPLACED_SECONDS = 30.0
"""Until everything serves again when a disk was replaced."""
SPARK_SECONDS = 90.0
"""Until a driver that was killed is there again; most of it is Java's."""
ONE_CUT_SECONDS = 3.0
"""Until one cut link between two brokers is a hindrance to nobody."""


def named_phases(seed: int) -> dict[str, Phase]:
    """Every phase that has a name of its own, in the order in which they run."""
    groups = (_links, _processes, _combined, _disks)
    phases = [phase for group in groups for phase in group(random.Random(f"{seed} {group.__name__}"))] + _load()
    return {phase.name: phase for phase in phases}


def _brokers(rng: random.Random, count: int = 5) -> list[str]:
    names = Setting(brokers=count).names
    rng.shuffle(names)
    return names


def _every(fault: Fault, times: int, wait: float, lasts: float) -> tuple[Step, ...]:
    return tuple(Step(fault, wait, lasts) for _ in range(times))


def _links(rng: random.Random) -> list[Phase]:
    """Roads that are cut or bad."""
    a, b, c, d, e = _brokers(rng)
    jobs = transactional()
    lone = transactional(("box",), senders=1, every=0.02)
    owner = f"{OWNER}box"
    short_cuts = tuple(Step(Cut(("reader-1",), (owner,)), 9.0, rng.uniform(2.5, 4.5)) for _ in range(6))
    sides = ((a, b, "reader-1"), (c, d, e, "reader-2")), ((b, c, "reader-2"), (a, d, e, "reader-1"))
    short = (
        Step(Cut((a,)), 1.0, 4.0),
        Step(Kill((f"{OWNER}box-1",)), 8.0, 2.0),
        Step(Pause((b,)), 6.0, 3.0),
        Step(Cut((c, d), (e,), one_way=True), 7.0, 4.0),
        Step(Cut((a, b, "sender-1"), (c, d, e, "sender-2")), 8.0, 5.0),
        Step(Spoil((d, e), SHORT), 9.0, 5.0),
        Step(Signal((c,), "SIGHUP"), 2.0, 1.0),
        Step(Cut(("reader-1",), (f"{OWNER}box-1",)), 6.0, 3.0),
    )
    return [
        Phase(name="short", steps=short, jobs=together(jobs, topics(), forwarding())),
        Phase(name="calm", steps=(), jobs=together(jobs, topics(), forwarding()), gap_max=3.0),
        Phase(name="isolate-one", steps=(Step(Cut((a,)), 1.0, 8.0),), jobs=jobs),
        Phase(name="isolate-owner", steps=(Step(Cut((f"{OWNER}box-1",)), 1.0, 8.0),), jobs=together(jobs, topics())),
        Phase(name="halves", steps=(Step(Cut((a, b, "sender-1"), (c, d, e, "sender-2")), 1.0, 10.0),), jobs=jobs),
        Phase(
            name="short-splits",
            steps=tuple(Step(Cut(*both), 7.0, rng.uniform(2.0, 4.5)) for both in sides * 3),
            jobs=jobs,
        ),
        # Everybody sees a majority, and no two see the same.
        Phase(
            name="majority-ring",
            steps=tuple(Step(Cut((x,), (y,)), 0.0, 10.0) for x, y in ((a, c), (b, d), (c, e), (d, a), (e, b))),
            jobs=jobs,
        ),
        Phase(name="bridge", steps=(Step(Cut((a, b), (d, e)), 1.0, 10.0),), jobs=jobs),
        Phase(name="one-link", steps=(Step(Cut((a,), (b,)), 1.0, 15.0),), jobs=jobs, gap_max=ONE_CUT_SECONDS),
        Phase(
            name="entry-from-owner",
            steps=(Step(Cut((f"{ENTRY}sender-1",), (f"{FAR_OWNER}sender-1",)), 1.0, 20.0),),
            jobs=jobs,
            gap_max=ONE_CUT_SECONDS,
        ),
        Phase(name="one-direction", steps=(Step(Cut((a,), one_way=True), 1.0, 8.0),), jobs=jobs),
        Phase(name="other-direction", steps=(Step(Cut((b, c, d, e), (a,), one_way=True), 1.0, 8.0),), jobs=jobs),
        Phase(name="reader-from-owner", steps=short_cuts, jobs=lone, setting=Setting(brokers=3)),
        Phase(name="sender-from-owner", steps=_every(Cut(("sender-1",), (owner,)), 3, 9.0, 4.0), jobs=lone),
        Phase(name="weather", steps=(Step(Spoil((a, b, c, d, e), SHORT), 1.0, 15.0),), jobs=together(jobs, topics())),
        Phase(name="storm", steps=(Step(Spoil((a, b), BAD), 1.0, 20.0),), jobs=jobs),
    ]


def _processes(rng: random.Random) -> list[Phase]:
    """Processes that die or stand still."""
    a, b, c, d, e = _brokers(rng)
    jobs = together(transactional(), topics())
    freezes = tuple(Step(Pause((rng.choice((a, b, c, d, e)),)), 9.0, rng.uniform(2.0, 4.0)) for _ in range(5))
    tree = Setting(brokers=len(TREE), seats=TREE)
    thaws = tuple(Step(Pause((rng.choice(tree.names),)), 16.0, rng.uniform(2.0, 8.0)) for _ in range(8))
    apps = ("keeper-reader", "keeper-sender")
    return [
        Phase(name="kill-one", steps=(Step(Kill((a,)), 1.0, 4.0),), jobs=jobs),
        Phase(name="kill-owner", steps=_every(Kill((f"{OWNER}box-1",)), 3, 4.0, 2.0), jobs=jobs),
        Phase(name="kill-minority", steps=(Step(Kill((a, b)), 1.0, 5.0),), jobs=jobs),
        Phase(name="kill-all", steps=(Step(Kill((a, b, c, d, e)), 2.0, 2.0),), jobs=jobs, serves_within=8.0),
        Phase(name="pause-one", steps=(Step(Pause((a,)), 1.0, 6.0),), jobs=jobs),
        Phase(name="pause-owner", steps=_every(Pause((f"{OWNER}box-1",)), 3, 8.0, 3.0), jobs=jobs),
        Phase(name="pause-majority", steps=(Step(Pause((a, b, c)), 1.0, 4.0),), jobs=jobs),
        Phase(name="freezes-causal", steps=freezes, jobs=causal()),
        Phase(name="freezes-tree", steps=thaws, jobs=causal(12), setting=tree),
        Phase(name="applications-killed", steps=_every(Kill(apps), 10, 3.0, 0.5), jobs=kept()),
        Phase(
            name="spark-killed",
            steps=(Step(Kill(("carrier",)), 8.0, 0.0), Step(Kill((a,)), 12.0, 4.0), Step(Cut((b,)), 8.0, 5.0)),
            jobs=carrying(),
            serves_within=SPARK_SECONDS,
        ),
        Phase(name="poison", steps=(), jobs=poison(), calm=30.0, serves_within=20.0),
        Phase(name="refusals", steps=(Step(Pause((a, b, c)), 1.0, 12.0),), jobs=impatient()),
        Phase(
            name="refusals-halves",
            steps=(Step(Cut((a, b, "sender-1"), (c, d, e, "sender-2")), 1.0, 12.0),),
            jobs=impatient(),
        ),
        Phase(name="hangups", steps=(Step(Signal((a, b), "SIGHUP"), 1.0, 3.0),), jobs=jobs, gap_max=ONE_CUT_SECONDS),
    ]


def _combined(rng: random.Random) -> list[Phase]:
    """A minority is isolated, hurt, healed; then the rest is; then it heals."""
    a, b, c, d, e = _brokers(rng)
    jobs = together(transactional(), forwarding(), recoverable())

    def part(hurt: Fault) -> tuple[Step, ...]:
        return (Step(Cut((a, b)), 1.0, 6.0), Step(hurt, 2.0, 12.0), Step(Cut((c, d, e)), 6.0, 4.0))

    joins = (Step(Join(), 1.0, 0.0), Step(Cut((a,)), 1.0, 4.0), Step(Leave(b), 7.0, 0.0), Step(Kill((c,)), 4.0, 3.0))
    return [
        Phase(name="part-kill", steps=part(Kill((a,))), jobs=jobs),
        Phase(name="part-pause", steps=part(Pause((a,))), jobs=jobs),
        Phase(name="pause-kill", steps=(Step(Pause((a, b)), 1.0, 8.0), Step(Kill((a,)), 3.0, 3.0)), jobs=jobs),
        Phase(name="join-and-leave", steps=joins, jobs=jobs, serves_within=REPLACED_SECONDS),
    ]


def _disks(rng: random.Random) -> list[Phase]:
    """Disks that are lost, full or wrong; clocks too."""
    a, b, c, *_, e = _brokers(rng)
    many = transactional(tuple(f"box-{number}" for number in range(1, 41)), every=0.02)
    jobs = transactional()
    one_by_one = tuple(Step(LoseDisk(name), 12.0, 1.0, whole=True) for name in (a, b, e))
    then_kill = (*one_by_one[:2], Step(Kill((c,)), 12.0, 15.0, whole=True))
    clocks = (
        Step(Clock((a,), 3600.0), 1.0, 6.0),
        Step(Clock((b,), -3600.0), 9.0, 6.0),
        Step(Clock((c, e), 86_400.0, restarted=False), 9.0, 4.0),
    )
    memory = Setting(brokers=9, durability="memory")
    return [
        Phase(name="lose-a-disk", steps=(Step(LoseDisk(a), 1.0, 1.0),), jobs=jobs, serves_within=REPLACED_SECONDS),
        Phase(name="lose-disks", steps=one_by_one, jobs=many, serves_within=REPLACED_SECONDS),
        Phase(name="lose-disks-then-kill", steps=then_kill, jobs=many, gap_max=30.0),
        Phase(name="full-disk", steps=(Step(Fill(a), 1.0, 6.0),), jobs=jobs),
        Phase(name="rot", steps=(Step(Rot(a), 1.0, 1.0),), jobs=jobs, serves_within=REPLACED_SECONDS),
        Phase(name="cut-files", steps=(Step(Rot(a, cut=True), 1.0, 1.0),), jobs=jobs, serves_within=REPLACED_SECONDS),
        Phase(name="clocks", steps=clocks, jobs=jobs),
        Phase(
            name="memory-rounds",
            steps=tuple(Step(Kill((rng.choice(memory.names),)), 2.0, 1.0, whole=True) for _ in range(12)),
            jobs=transactional(tuple(f"box-{number}" for number in range(1, 31))),
            setting=memory,
        ),
    ]


def _load() -> list[Phase]:
    """More work than there is time for."""
    jobs = transactional(BOXES)
    return [
        Phase(name="overload", steps=(Step(Overload(mailboxes=10_000), 1.0, 60.0),), jobs=jobs, keeps_owners=True),
        Phase(name="hogs", steps=(Step(Overload(hogs=4), 1.0, 60.0),), jobs=jobs, keeps_owners=True),
    ]
