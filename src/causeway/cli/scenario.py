"""The main job in small: traffic of every class between applications while the busiest broker is killed.

Owns: what happens when, and the account of it. Must not know: how it is shown. Everything is real: broker processes,
sockets, disks, SIGKILL.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from causeway.cli.view import busiest, owned_by
from causeway.local.cluster import ProcessCluster
from causeway.testing.ledger import ClassTally, Kind
from causeway.testing.service import Outage
from causeway.testing.traffic import Account, Correspondent, Tempo, wait_delivered
from causeway.types import SECOND, Duration

APPLICATIONS: Final = ("orders", "billing", "stock", "shipping", "mail", "audit")
TRAVELLER: Final = "audit"
"""The application that goes offline and returns."""
TEMPO: Final = Tempo(kinds=tuple(Kind), burst=5, interval=0.02)

LEAVES_AT, KILL_AT, RETURNS_AT = 0.25, 0.45, 0.7
"""When, as parts of the time that traffic lasts."""

OUTAGE_WINDOW: Final = 3 * SECOND
"""A gap that begins later after the kill has another cause."""
DELIVERY_SECONDS_MAX: Final = 30.0
QUIET_SECONDS_MAX: Final = 5.0

Told = Callable[[str, float], None]
"""Hears what happens now, and how much of the whole is done (0 to 1)."""


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """The broker that was killed."""

    name: str
    deposits: int
    """Batches it had taken from applications until then."""
    mailboxes: list[str]
    """It owned these."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What happened."""

    holds: bool
    """Every guarantee held, and no broker ended but the one that was killed."""
    classes: list[ClassTally]
    applications: list[Outage]
    killed: Killed
    offline: Duration
    """How long the traveller was away by its own will."""
    seconds: float
    complaints: list[str]


class Scenario:
    """One run on a cluster that is up."""

    def __init__(self, cluster: ProcessCluster, state: Path, seconds: float, told: Told) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._told = told
        self._account = Account()
        self._began = 0.0
        self._sending = True
        self._applications = {
            name: Correspondent(
                name, cluster.url, self._account, state / name if name == TRAVELLER else None, subscribes=True
            )
            for name in APPLICATIONS
        }

    async def run(self) -> Result:
        """Everything, in order."""
        self._told("connecting the applications", 0.0)
        await asyncio.gather(*(application.open() for application in self._applications.values()))
        self._began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                for name in APPLICATIONS:
                    if name != TRAVELLER:
                        group.create_task(self._send(name))
                travelling = group.create_task(self._travel())
                killing = group.create_task(self._kill())
                group.create_task(self._watch())
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        await self._finish()
        killed, kill_at = killing.result()
        ledger = self._account.ledger
        crashed = self._cluster.crashed()
        return Result(
            holds=ledger.holds() and not crashed,
            classes=ledger.tallies(),
            applications=self._account.service.outages(kill_at, kill_at + OUTAGE_WINDOW),
            killed=killed,
            offline=travelling.result(),
            seconds=round(time.monotonic() - self._began, 3),
            complaints=[*crashed, *ledger.complaints()],
        )

    # What happens meanwhile ----------------------------------------------------------------------------------------
    async def _send(self, name: str) -> None:
        dests = [dest for dest in APPLICATIONS if dest != name]
        await self._applications[name].send(dests, TEMPO, lambda: self._sending)

    async def _travel(self) -> Duration:
        """The traveller sends, leaves, and comes back to what was stored for it."""
        application = self._applications[TRAVELLER]
        dests = [dest for dest in APPLICATIONS if dest != TRAVELLER]
        leaves = self._began + LEAVES_AT * self._seconds
        await application.send(dests, TEMPO, lambda: time.monotonic() < leaves)
        self._told(f"{TRAVELLER} goes offline", LEAVES_AT)
        await application.close()
        left = self._account.now()
        await self._sleep_until(RETURNS_AT)
        self._told(f"{TRAVELLER} returns", RETURNS_AT)
        await application.open()
        away = self._account.now() - left
        await application.send(dests, TEMPO, lambda: self._sending)
        return away

    async def _kill(self) -> tuple[Killed, int]:
        await self._sleep_until(KILL_AT)
        reports = await self._cluster.reports()
        name = busiest(reports)
        mailboxes = owned_by(reports[name])
        deposits: Any = reports[name].get("deposits", 0)
        self._told(f"SIGKILL to {name}, the busiest broker", KILL_AT)
        at = self._account.now()
        await self._cluster.kill(name)
        # Whatever its memory alone held at this moment may be lost; nothing sent later has that excuse.
        self._account.ledger.forgive(mailboxes)
        return Killed(name=name, deposits=int(deposits), mailboxes=mailboxes), at

    async def _watch(self) -> None:
        while time.monotonic() < self._began + self._seconds:
            for application in self._applications.values():
                application.check()
            self._told("", min(1.0, (time.monotonic() - self._began) / self._seconds))
            await asyncio.sleep(0.1)
        self._sending = False

    async def _finish(self) -> None:
        self._told("waiting for the last acknowledgements", 1.0)
        await asyncio.gather(*(application.flush() for application in self._applications.values()))
        self._told("waiting for the last messages", 1.0)
        await wait_delivered(self._account, DELIVERY_SECONDS_MAX)
        await self._wait_quiet()
        await asyncio.gather(*(application.close() for application in self._applications.values()))

    async def _wait_quiet(self) -> None:
        """Until no mailbox holds anything: a second copy of a message would have to come from one."""
        deadline = time.monotonic() + QUIET_SECONDS_MAX
        while time.monotonic() < deadline:
            reports = await self._cluster.reports()
            boxes = [box for report in reports.values() for box in report.get("mailboxes", [])]
            if not any(box.get("stored") or box.get("volatile") or box.get("unsettled") for box in boxes):
                return
            await asyncio.sleep(0.1)

    async def _sleep_until(self, part: float) -> None:
        await asyncio.sleep(max(0.0, self._began + part * self._seconds - time.monotonic()))
