"""Performs Persist and Load: one writer thread with group commit, or at once when the store is memory.

Owns: the thread, and the order of writes and reads. Must not know: machines, connections.

Group commit: whatever waits when the thread becomes free goes into one commit, so the more there is to do, the less
each costs. A Load between two Persists splits them, because it must see the first and must not see the second.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Protocol

from causeway.core.effects import Load, Persist
from causeway.core.events import Loaded
from causeway.limits import COMMIT_BYTES_MAX
from causeway.store.base import Put, Store

Done = Callable[[Sequence[Persist | Loaded]], None]
Failed = Callable[[BaseException], None]


class Storage(Protocol):
    """What a driver needs of stable storage."""

    def submit(self, persists: list[Persist], loads: list[Load]) -> None:
        """Write, then read; the results come through the callback the storage was made with."""

    def close(self) -> None:
        """Finish what was submitted, report no more, close the store."""


class InlineStorage:
    """For a store that never waits: results come before `submit` returns."""

    def __init__(self, store: Store, done: Done) -> None:
        self._store = store
        self._done = done

    def submit(self, persists: list[Persist], loads: list[Load]) -> None:
        """Write and read at once."""
        for persist in persists:
            self._store.commit(persist.writes)
        self._done([*persists, *(_loaded(self._store, load) for load in loads)])

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class ThreadStorage:
    """For a store that waits for a disk: one thread, results through the event loop.

    After an error nothing more is written or reported: whoever gets `failed` stops the process.
    """

    def __init__(self, store: Store, done: Done, failed: Failed) -> None:
        self._store = store
        self._done = done
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[list[Persist], list[Load]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="causeway-store", daemon=True)
        self._thread.start()

    def submit(self, persists: list[Persist], loads: list[Load]) -> None:
        """Queue for the thread."""
        self._queue.put((persists, loads))

    def close(self) -> None:
        """Let the thread finish and end, then close the store; idempotent."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()
            self._store.close()

    def _run(self) -> None:
        try:
            while (work := self._take()) is not None:
                self._work(work)
        except BaseException as error:
            self._report(self._failed, error)

    def _take(self) -> list[tuple[list[Persist], list[Load]]] | None:
        """Everything that waits; waits for at least one. None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        work = [first]
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return work
            if item is None:
                self._queue.put(None)
                return work
            work.append(item)

    def _work(self, work: list[tuple[list[Persist], list[Load]]]) -> None:
        group: list[Persist] = []
        size = 0
        for persists, loads in work:
            for persist in persists:
                if group:  # nobody need know how large a Persist is that nothing follows
                    size += sum(len(write.value) for write in group[-1].writes if isinstance(write, Put))
                    if size >= COMMIT_BYTES_MAX:
                        self._commit(group)
                        group, size = [], 0
                group.append(persist)
            if loads:
                self._commit(group)
                group, size = [], 0
                self._report(self._done, [_loaded(self._store, load) for load in loads])
        self._commit(group)

    def _commit(self, group: list[Persist]) -> None:
        if group:
            writes = group[0].writes
            if len(group) > 1:
                writes = list(chain.from_iterable(persist.writes for persist in group))
            self._store.commit(writes)
            self._report(self._done, group)

    def _report(self, callback: Callable[..., None], result: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, result)


def _loaded(store: Store, load: Load) -> Loaded:
    return Loaded(load.token, store.scan(load.group, load.start, load.stop, load.bytes_max))
