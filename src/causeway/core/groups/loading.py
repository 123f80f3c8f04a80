"""Reading a group's rows from our own store, and mending those that fail their checksum from another member.

Owns: loads on their way, fetches of damaged rows in both directions.
Must not know: what the rows are read for (the purpose is handed back with them).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from causeway.core.effects import Load
from causeway.core.groups.registry import Registry
from causeway.core.groups.state import END, Group
from causeway.core.machine import Turn
from causeway.core.messages import Fetch, Fetched
from causeway.store.base import Page, Put, Row, Write
from causeway.types import BrokerId, Key, Peer

FETCH_KEYS_MAX = 512
CHUNK_BYTES = 1 << 20
BULK = b"b"
"""Rows under this prefix are a group's bulk: an owner reads them page by page, all others at once."""

_encode = msgspec.msgpack.encode
_rows_decoder: msgspec.msgpack.Decoder[list[Row]] = msgspec.msgpack.Decoder(list[Row])

Purpose = tuple[str, Key, bytes]
"""Why ("take", "bulk", "page", "chunk", "fetch"), for which group, for which member or ownership."""


@dataclass(slots=True)
class Repair:
    """A page that waits for copies of its damaged rows."""

    purpose: Purpose
    token: int
    page: Page
    missing: dict[bytes, None]
    asked: dict[BrokerId, None]


@dataclass(slots=True)
class Serving:
    """Rows another member asked for, gathered one by one."""

    to: BrokerId
    epoch: int
    left: int
    rows: list[Row] = field(default_factory=list)


class Loading:
    """Loads by purpose; `done` is filled with (purpose, token, page) for whoever asked."""

    def __init__(self, registry: Registry) -> None:
        self._r = registry
        self._loads: dict[int, Purpose] = {}
        self._repairs: dict[Key, list[Repair]] = {}
        self._serving: dict[int, Serving] = {}
        self.done: list[tuple[Purpose, int, Page]] = []
        self.lost: list[tuple[Key, bytes]] = []
        """Damaged rows that no member could give."""

    def load(self, turn: Turn, purpose: Purpose, start: bytes, stop: bytes, bytes_max: int) -> int:
        """Read an interval; the token comes back with the page."""
        token = self._r.new_token()
        self._loads[token] = purpose
        turn.effects.loads.append(Load(token, purpose[1], start, stop, bytes_max))
        return token

    def on_loaded(self, turn: Turn, token: int, page: Page) -> None:
        purpose = self._loads.pop(token, None)
        if purpose is None:
            return
        if purpose[0] == "fetch":
            self._served(turn, token, purpose, page)
            return
        group = self._r.groups.get(purpose[1])
        if not page.corrupt or group is None:
            self.done.append((purpose, token, page))
            return
        repair = Repair(purpose, token, page, dict.fromkeys(page.corrupt), self._holders(group))
        self._repairs.setdefault(group.key, []).append(repair)
        self._ask(turn, group.key)

    def repairing(self, key: Key) -> bool:
        """Whether rows of a group are damaged here: until they are mended nobody who may hold them must go."""
        return key in self._repairs

    def _holders(self, group: Group) -> dict[BrokerId, None]:
        """Who has the same rows: the other complete members, reachable or not."""
        config = group.config
        return {
            m.peer.id: None
            for m in config.members
            if m.peer.id != self._r.me.id and m.peer.id not in config.incomplete and m.peer.id not in group.gone
        }

    # Asking ----------------------------------------------------------------------------------------------------
    def on_fetched(self, turn: Turn, peer: Peer, head: Fetched, body: bytes) -> None:
        """A member's copies of our damaged rows: keep them and go on when nothing is missing."""
        group = self._r.groups.get(head.group)
        if group is None or head.group not in self._repairs:
            return
        try:
            rows = {row.key: row for row in _rows_decoder.decode(body)}
        except msgspec.MsgspecError:
            return
        if head.epoch != group.config.epoch:
            # Bulk rows never change once written; others may be older than ours were.
            rows = {key: row for key, row in rows.items() if key[:1] == BULK}
        writes: list[Write] = []
        for repair in self._repairs[head.group]:
            repair.asked.pop(peer.id, None)
            for key in [k for k in repair.missing if k in rows]:
                del repair.missing[key]
                row = rows[key]
                repair.page.rows.append(row)
                writes.append(Put(head.group, row.key, row.seq, row.value))
        if writes:
            self._r.persist_silently(turn, writes)
        self._finish(head.group)

    def on_repair_deadline(self, turn: Turn, key: Key) -> None:
        """Ask again whoever has not answered. A row counts as lost only when everybody who could hold it said no."""
        group = self._r.groups.get(key)
        if group is None or group.tenure is None:
            self._repairs.pop(key, None)
            return
        for repair in self._repairs.get(key, []):
            for broker in [b for b in repair.asked if b in group.gone]:
                del repair.asked[broker]
        self._finish(key)
        self._ask(turn, key)

    def _ask(self, turn: Turn, key: Key) -> None:
        group = self._r.groups[key]
        for repair in self._repairs.get(key, []):
            for broker in repair.asked:
                fetch = Fetch(key, group.config.epoch, tuple(repair.missing)[:FETCH_KEYS_MAX])
                self._r.send(turn, broker, fetch)
        self._finish(key)
        if key in self._repairs:
            self._r.deadlines.set(("repair", key), turn.now + self._r.settings.retry)

    def _finish(self, key: Key) -> None:
        waiting: list[Repair] = []
        for repair in self._repairs.pop(key, []):
            if repair.missing and repair.asked:
                waiting.append(repair)
                continue
            self.lost += [(key, missing) for missing in repair.missing]
            repair.page.rows.sort(key=lambda row: row.key)
            self.done.append((repair.purpose, repair.token, repair.page))
        if waiting:
            self._repairs[key] = waiting
        else:
            self._r.deadlines.cancel(("repair", key))
            self._r.touch(key)

    # Answering -------------------------------------------------------------------------------------------------
    def on_fetch(self, turn: Turn, peer: Peer, head: Fetch) -> None:
        """Give another member copies of rows it lost; what we do not have is missing in the answer."""
        group = self._r.groups.get(head.group)
        if group is None:
            self._r.send(turn, peer.id, Fetched(head.group, head.epoch), _encode([]))
            return
        if self._r.me.id in group.config.incomplete or group.config.epoch < head.epoch or not head.keys:
            return
        keys = head.keys[:FETCH_KEYS_MAX]
        serving = Serving(peer.id, group.config.epoch, len(keys))
        for key in keys:
            token = self._r.new_token()
            self._loads[token] = ("fetch", head.group, peer.id)
            self._serving[token] = serving
            turn.effects.loads.append(Load(token, head.group, key, key + b"\x00", CHUNK_BYTES))

    def _served(self, turn: Turn, token: int, purpose: Purpose, page: Page) -> None:
        serving = self._serving.pop(token)
        serving.left -= 1
        serving.rows += page.rows
        if not serving.left:
            self._r.send(turn, serving.to, Fetched(purpose[1], serving.epoch), _encode(serving.rows))


def bulk_interval() -> tuple[bytes, bytes]:
    """The keys of a group's bulk rows."""
    return BULK, bytes([BULK[0] + 1])


def other_interval() -> tuple[bytes, bytes]:
    """The keys of a group's other rows (they sort above the bulk)."""
    return bytes([BULK[0] + 1]), END
