"""A broker's storage with the faults of real ones: slow, group-committed, lost, torn, rotting.

Fault atlas, storage part. Made here, because Causeway claims to survive it:
- a commit takes time, everything submitted meanwhile shares the next one (group commit), and a disk may be slow;
- a scan takes time and may end after a few rows, to be gone on with from there;
- a crash loses what was not committed; the commit in progress is lost whole or kept whole, never half (the store's
  contract: a torn write is found by the write-ahead log and undone), and may be kept without anybody being told;
- single rows rot: their checksum no longer matches, a scan reports them as corrupt;
- the whole storage is lost, and the broker returns with an empty one of a new id.
Not made here: a store that lies about durability, or rot that its checksum does not find.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from causeway.core.effects import Load, Persist
from causeway.limits import PAGE_ROWS_MAX
from causeway.store.base import LOCAL, Delete, Page, Put, Write
from causeway.store.memory import MemoryStore
from causeway.types import Duration, Instant


class DiskDriver(Protocol):
    """What a disk needs of the process that uses it."""

    def instant(self) -> Instant:
        """Virtual time."""

    def after(self, delay: Duration, action: Callable[[], None]) -> None:
        """Run something later."""

    def persisted(self, batch: list[Persist]) -> None:
        """These are durable."""

    def loaded(self, load: Load, page: Page) -> None:
        """This was read."""


class RottingStore:
    """A store whose rows can go bad; writing or deleting a row heals it."""

    def __init__(self, image: MemoryStore) -> None:
        self.image = image
        self.id = image.open()
        self.rotten: dict[tuple[bytes, bytes], None] = {}
        self.page_rows = PAGE_ROWS_MAX
        """Rows in one page; few, to make readers go on from page to page."""

    def open(self) -> int:
        """The storage's id."""
        return self.id

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all or nothing."""
        self.image.commit(writes)
        if self.rotten:
            for write in writes:
                self._heal(write)

    def scan(self, group: bytes, start: bytes, stop: bytes, bytes_max: int) -> Page:
        """As the image, with rotten rows reported instead of returned."""
        page = self.image.scan(group, start, stop, bytes_max)
        if len(page.rows) > self.page_rows:
            page = Page(page.rows[: self.page_rows], page.corrupt, page.rows[self.page_rows].key)
        if not self.rotten:
            return page
        good = [row for row in page.rows if (group, row.key) not in self.rotten]
        bad = [row.key for row in page.rows if (group, row.key) in self.rotten]
        return Page(good, sorted([*page.corrupt, *bad]), page.next)

    def close(self) -> None:
        """As the image."""
        self.image.close()

    def rot(self, rng: random.Random, *, local: bool) -> tuple[bytes, bytes] | None:
        """Let one random row go bad; None when there is nothing to spoil."""
        groups = [group for group in self.image.groups() if local or group != LOCAL]
        if not groups:
            return None
        group = rng.choice(groups)
        rows = self.image.scan(group, b"", b"", 1 << 60).rows
        if not rows:
            return None
        key = rng.choice(rows).key
        self.rotten[(group, key)] = None
        return group, key

    def _heal(self, write: Write) -> None:
        if isinstance(write, Put):
            self.rotten.pop((write.group, write.key), None)
            return
        assert isinstance(write, Delete)
        for group, key in list(self.rotten):
            inside = write.start <= key < write.stop if write.stop else key == write.start
            if group == write.group and inside:
                del self.rotten[(group, key)]


class Disk:
    """One writer in front of a store: submissions in order, one commit for everything that waits."""

    def __init__(self, store: RottingStore, rng: random.Random, *, instant: bool) -> None:
        self.store = store
        self.rng = rng
        self.instant = instant
        """`memory` durability: nothing waits for a disk."""
        self.commit_ns: Duration = 0
        self.read_ns: Duration = 0
        self.jitter_ns: Duration = 0
        self.slow_until: Instant = 0
        self.slow_factor = 1
        self.commits = 0
        self._waiting: list[Persist | Load] = []
        self._writing: list[Persist] = []
        self._busy = False
        self._life = 0

    def submit(self, work: Sequence[Persist | Load], driver: DiskDriver) -> None:
        """Queue work of one turn, in order; completions go to the driver."""
        self._waiting.extend(work)
        if not self._busy:
            self._next(driver)

    def crash(self) -> None:
        """The process died: what waits is lost, what was being written is kept or lost as a whole."""
        if self._writing and self.rng.random() < 0.5:
            self.store.commit([write for persist in self._writing for write in persist.writes])
        self._waiting.clear()
        self._writing = []
        self._busy = False
        self._life += 1

    def _next(self, driver: DiskDriver) -> None:
        while self._waiting and not self._busy:
            first = self._waiting[0]
            if isinstance(first, Load):
                del self._waiting[0]
                self._begin(driver, self.read_ns, lambda load=first: self._read(load, driver))  # type: ignore[misc]
                continue
            batch: list[Persist] = []
            for work in self._waiting:
                if isinstance(work, Load):
                    break
                batch.append(work)
            del self._waiting[: len(batch)]
            self._writing = batch
            self._begin(driver, self.commit_ns, lambda: self._commit(driver))

    def _begin(self, driver: DiskDriver, latency: Duration, act: Callable[[], None]) -> None:
        """Do something after the time it takes; nothing else is done meanwhile."""
        if self.instant:
            act()
            return
        self._busy = True
        life = self._life
        latency += int(self.rng.random() * self.jitter_ns)
        if driver.instant() < self.slow_until:
            latency *= self.slow_factor
        driver.after(latency, lambda: self._finish(driver, life, act))

    def _finish(self, driver: DiskDriver, life: int, act: Callable[[], None]) -> None:
        if life == self._life:
            self._busy = False
            act()
            self._next(driver)

    def _read(self, load: Load, driver: DiskDriver) -> None:
        driver.loaded(load, self.store.scan(load.group, load.start, load.stop, load.bytes_max))

    def _commit(self, driver: DiskDriver) -> None:
        batch, self._writing = self._writing, []
        self.store.commit([write for persist in batch for write in persist.writes])
        self.commits += 1
        driver.persisted(batch)
