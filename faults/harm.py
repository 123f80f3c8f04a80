"""Faults as values: what is done to whom. When is said by the steps of a schedule.

Owns: how each fault begins and how it ends. Whom a fault hits is a name of a broker or an application, or words for one
that is looked up when it begins. A fault never leaves the world that it is in: it cuts roads,
signals processes and spoils files of the campaign alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from causeway.drivers.aio.exits import Exit
from causeway.errors import DeadlineExceeded
from faults.field import Field, Nobody
from faults.hosts import Road
from faults.jobs import Job, Life, Sending
from faults.slow_road import SlowRoad, Weather

OWNER = "owner of "
"""The broker that acknowledges for a mailbox."""
ENTRY = "entry of "
"""The broker that an application sends through."""
FAR_OWNER = "far owner for "
"""A broker that owns a mailbox to which an application sends, and through which it does not send."""


class Arena(msgspec.Struct):
    """What faults work on."""

    field: Field
    slow_road: SlowRoad
    rng: random.Random
    meant: dict[str, str] = {}
    """Whom words meant when they were last looked up."""

    async def who(self, words: str) -> str:
        """The one that is meant."""
        self.meant[words] = await self._look_up(words)
        return self.meant[words]

    async def _look_up(self, words: str) -> str:
        if words.startswith(OWNER):
            return await self.field.owner(words.removeprefix(OWNER))
        if words.startswith(ENTRY):
            return self.field.entry(words.removeprefix(ENTRY))
        if words.startswith(FAR_OWNER):
            return await self._far_owner(words.removeprefix(FAR_OWNER))
        if words not in self.field.brokers and words not in self.field.applications:
            raise Nobody(f"{words} has left")
        return words

    def named(self, fault: Fault) -> str:
        """The fault in words, with the names of those it has hit."""
        said = str(fault)
        for words, name in self.meant.items():
            if words != name:
                said = said.replace(words, f"{name} ({words})")
        return said

    async def _far_owner(self, application: str) -> str:
        entry = self.field.entry(application)
        for role in self.field.applications[application].job.roles:
            for dest in role.dests if isinstance(role, Sending) else ():
                owner = await self.field.owner(dest)
                if owner != entry:
                    return owner
        raise Nobody(f"{application} sends through the owner of all its mailboxes")

    async def all_of(self, words: Sequence[str]) -> list[str]:
        """All that are meant."""
        return [await self.who(one) for one in words]


Remedy = Callable[[], Awaitable[None]]
"""Undoes a fault."""


class Fault(Protocol):
    """What can be done, and undone."""

    async def begin(self, arena: Arena) -> Remedy:
        """Do it."""


class Cut(msgspec.Struct, frozen=True, tag=True):
    """Nothing passes between these and those, silently: no reset, no answer. `one_way`: from these to those."""

    these: tuple[str, ...]
    those: tuple[str, ...] = ()
    """Empty: everybody else."""
    one_way: bool = False

    async def begin(self, arena: Arena) -> Remedy:
        """All roads at once."""
        pairs = await _pairs(arena, self.these, self.those, one_way=self.one_way)
        await arena.field.hosts.lay(pairs, Road.CUT)
        return partial(arena.field.hosts.lift, pairs, Road.CUT)

    def __str__(self) -> str:
        those = ", ".join(self.those) or "everybody"
        return f"cut {', '.join(self.these)} {'to' if self.one_way else 'from'} {those}"


class Spoil(msgspec.Struct, frozen=True, tag=True):
    """Roads that delay, lose, repeat and reorder."""

    these: tuple[str, ...]
    weather: Weather
    those: tuple[str, ...] = ()
    one_way: bool = False

    async def begin(self, arena: Arena) -> Remedy:
        """What leaves from now on."""
        pairs = await _pairs(arena, self.these, self.those, one_way=self.one_way)
        hosts = arena.field.hosts
        for source, target in pairs:
            arena.slow_road.know(hosts.address(target), hosts.mac(target))
            arena.slow_road.forecast(hosts.address(source), hosts.address(target), self.weather)
        await hosts.lay(pairs, Road.SLOW)
        return partial(hosts.lift, pairs, Road.SLOW)

    def __str__(self) -> str:
        return f"{self.weather} around {', '.join(self.these)}"


class Kill(msgspec.Struct, frozen=True, tag=True):
    """SIGKILL, all at once; started again on the same data, applications as their next life."""

    whom: tuple[str, ...]

    async def begin(self, arena: Arena) -> Remedy:
        """Returns when all are gone."""
        dead = await arena.all_of(self.whom)
        await asyncio.gather(*(arena.field.kill(name) for name in dead))
        return partial(_start_again, arena.field, dead)

    def __str__(self) -> str:
        return f"kill {', '.join(self.whom)}"


class Pause(msgspec.Struct, frozen=True, tag=True):
    """SIGSTOP: they keep their connections and say nothing; then SIGCONT, and they go on as if nothing had been."""

    whom: tuple[str, ...]

    async def begin(self, arena: Arena) -> Remedy:
        """All at once."""
        still = await arena.all_of(self.whom)
        for name in still:
            arena.field.signal(name, signal.SIGSTOP)

        async def resume() -> None:
            for name in still:
                arena.field.signal(name, signal.SIGCONT)

        return resume

    def __str__(self) -> str:
        return f"pause {', '.join(self.whom)}"


class Signal(msgspec.Struct, frozen=True, tag=True):
    """A signal that must do no harm."""

    whom: tuple[str, ...]
    name: str

    async def begin(self, arena: Arena) -> Remedy:
        """To each."""
        for name in await arena.all_of(self.whom):
            arena.field.signal(name, signal.Signals[self.name])

        return _nothing

    def __str__(self) -> str:
        return f"{self.name} to {', '.join(self.whom)}"


class LoseDisk(msgspec.Struct, frozen=True, tag=True):
    """A broker is killed and its directory deleted; started with an empty one it joins as a new member."""

    whom: str

    async def begin(self, arena: Arena) -> Remedy:
        """Everything it stored is gone."""
        dead = await arena.who(self.whom)
        await arena.field.kill(dead)
        shutil.rmtree(arena.field.cluster.data / dead, ignore_errors=True)
        return partial(_start_again, arena.field, [dead])

    def __str__(self) -> str:
        return f"lose the disk of {self.whom}"


class Clock(msgspec.Struct, frozen=True, tag=True):
    """The wall clocks of brokers jump, and jump back."""

    whom: tuple[str, ...]
    ahead: float
    """Seconds; less than nothing: behind."""
    restarted: bool = True
    """Whether they start again after each jump: a broker looks at the wall clock then."""

    async def begin(self, arena: Arena) -> Remedy:
        """All by as much."""
        names = await arena.all_of(self.whom)
        await self._set(arena, names, self.ahead)
        return partial(self._set, arena, names, 0.0)

    async def _set(self, arena: Arena, names: Sequence[str], ahead: float) -> None:
        for name in names:
            with arena.field.clock(name).open("r+b") as file:
                file.write(int(ahead * 1e9).to_bytes(8, "little", signed=True))
            if self.restarted:
                await arena.field.kill(name)
                await arena.field.restart(name)

    def __str__(self) -> str:
        return f"clock of {', '.join(self.whom)} {self.ahead:+g} s"


class Fill(msgspec.Struct, frozen=True, tag=True):
    """The disk of a broker is full; it ends, and is started again when there is room."""

    whom: str

    async def begin(self, arena: Arena) -> Remedy:
        """It is restarted on a file system of its own, which is then filled."""
        name = await arena.who(self.whom)
        room = arena.field.cluster.data / name
        await arena.field.kill(name)
        await asyncio.to_thread(_give_small_disk, room)
        await arena.field.restart(name)
        arena.field.explained[name] = Exit.STORE
        ballast = room / "ballast"
        await asyncio.to_thread(_fill, ballast)

        async def empty() -> None:
            ballast.unlink(missing_ok=True)
            await arena.field.restart(name)

        return empty

    def __str__(self) -> str:
        return f"full disk of {self.whom}"


class Rot(msgspec.Struct, frozen=True, tag=True):
    """A broker dies, and some bits in its store flip, or its files end too early."""

    whom: str
    cut: bool = False
    bits: int = 20

    async def begin(self, arena: Arena) -> Remedy:
        """In each of its files."""
        name = await arena.who(self.whom)
        await arena.field.kill(name)
        for path in sorted((arena.field.cluster.data / name).glob("*")):
            if path.suffix in ("", ".db", ".db-wal") and path.is_file() and path.stat().st_size:
                _spoil(path, arena.rng, 0 if self.cut else self.bits)
        arena.field.explained[name] = Exit.CORRUPT
        return partial(_start_again, arena.field, [name])

    def __str__(self) -> str:
        return f"{'files of' if self.cut else 'bits on the disk of'} {self.whom} {'cut' if self.cut else 'flipped'}"


class Join(msgspec.Struct, frozen=True, tag=True):
    """One more broker."""

    async def begin(self, arena: Arena) -> Remedy:
        """It stays."""
        await arena.field.add_broker()
        return _nothing

    def __str__(self) -> str:
        return "join"


class Leave(msgspec.Struct, frozen=True, tag=True):
    """A broker hands over what it holds, and ends for good."""

    whom: str

    async def begin(self, arena: Arena) -> Remedy:
        """Returns when the others hold everything, or says why they do not."""
        whom = await arena.who(self.whom)
        try:
            await arena.field.cluster.leave(whom)
        except DeadlineExceeded:  # the others could not take over: it is still part of the cluster
            await arena.field.restart(whom)
        return _nothing

    def __str__(self) -> str:
        return f"leave {self.whom}"


class Overload(msgspec.Struct, frozen=True, tag=True):
    """More work than there is time for: new mailboxes as fast as they can be made, processes that want all cores."""

    mailboxes: int = 0
    hogs: int = 0

    async def begin(self, arena: Arena) -> Remedy:
        """All at once."""
        field = arena.field
        extras = [field.run_beside("crowd", ["sh", "-c", "while :; do :; done"]) for _ in range(self.hogs)]
        if self.mailboxes:
            dests = tuple(f"crowd-{number}" for number in range(self.mailboxes))
            job = Job(name="crowd", roles=(Sending(dests, burst=1, every=0.0005, service="recoverable"),))
            told = field.folder / "crowd.job"
            told.write_bytes(msgspec.json.encode(Life(job=job, life=1, url=field.cluster.url, diary=os.devnull)))
            extras.append(field.run_beside("crowd", field.python("faults.application", str(told))))

        async def end() -> None:
            for extra in extras:
                extra.kill()

        return end

    def __str__(self) -> str:
        made = f"{self.mailboxes:,} new mailboxes" if self.mailboxes else ""
        return " and ".join(part for part in (made, f"{self.hogs} hogs" if self.hogs else "") if part)


class Together(msgspec.Struct, frozen=True, tag=True):
    """Several at once."""

    faults: tuple[Cut | Spoil | Kill | Pause | Signal | LoseDisk | Fill | Rot | Clock, ...]

    async def begin(self, arena: Arena) -> Remedy:
        """In this order; undone in the same."""
        remedies = [await fault.begin(arena) for fault in self.faults]

        async def undo() -> None:
            for remedy in remedies:
                await remedy()

        return undo

    def __str__(self) -> str:
        return " and ".join(str(fault) for fault in self.faults)


async def _nothing() -> None:
    """What stays need not be undone."""


def _give_small_disk(room: Path) -> None:
    """A file system of its own, with what is there in it; once."""
    if room.is_mount():
        return
    kept = room.with_name(f"{room.name}.kept")
    room.rename(kept)
    room.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(room)], check=True)
    shutil.copytree(kept, room, dirs_exist_ok=True)
    shutil.rmtree(kept)


def _fill(path: Path) -> None:
    """Until nothing more goes in."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(65_536)):
            pass


def _spoil(path: Path, rng: random.Random, bits: int) -> None:
    """Flip so many bits of a file; with none, cut it in its last quarter."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        if not bits:
            file.truncate(size - rng.randint(1, max(1, size // 4)))
        for _ in range(bits):
            place = rng.randrange(size)
            file.seek(place)
            byte = file.read(1)[0] ^ (1 << rng.randrange(8))
            file.seek(place)
            file.write(bytes([byte]))


async def _start_again(field: Field, names: Sequence[str]) -> None:
    for name in names:
        if name in field.applications:
            field.start_application(name)
    await asyncio.gather(*(field.restart(name) for name in names if name not in field.applications))


async def _pairs(arena: Arena, these: Sequence[str], those: Sequence[str], *, one_way: bool) -> list[tuple[str, str]]:
    ones = await arena.all_of(these)
    everybody = [*arena.field.brokers, *arena.field.applications]
    others = await arena.all_of(those) if those else [name for name in everybody if name not in ones]
    pairs = [(one, other) for one in ones for other in others if one != other]
    return pairs if one_way else [*pairs, *((other, one) for one, other in pairs)]
