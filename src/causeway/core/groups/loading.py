"""Reading a group's rows from our own store, and mending those that fail their checksum from another member.

Owns: loads on their way, fetches of damaged rows in both directions.
Must not know: what the rows are read for (the purpose is handed back with them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from causeway.core.effects import Load
from causeway.core.groups.registry import Registry
from causeway.core.groups.state import END, Group
from causeway.core.machine import Turn
from causeway.core.messages import Fetch, Fetched
from causeway.core.messages.soundness import rows_fault
from causeway.limits import CHUNK_BYTES_MAX, FETCHED_BYTES_MAX, FETCHED_ROWS_MAX
from causeway.store.base import Page, Put, Row, Write
from causeway.trace import Step, TraceRecord
from causeway.types import BrokerId, Key, Peer

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
    missing: dict[bytes, dict[BrokerId, None]]
    """Damaged rows, with the members that may hold them and have not denied it."""
    asking: dict[BrokerId, tuple[bytes, ...]] = field(default_factory=dict)

    @property
    def hopeless(self) -> bool:
        """Nobody is left to ask for anything (also when nothing is missing)."""
        return not any(self.missing.values())


@dataclass(slots=True)
class Serving:
    """Rows another member asked for, gathered one by one."""

    to: BrokerId
    epoch: int
    keys: tuple[bytes, ...]
    left: int
    rows: list[Row] = field(default_factory=list)
    bytes: int = 0
    more: bool = False


class Loading:
    """Loads by purpose; `done` is filled with (purpose, token, page) for whoever asked."""

    def __init__(self, registry: Registry) -> None:
        self._r = registry
        self._loads: dict[int, Purpose] = {}
        self._repairs: dict[Key, list[Repair]] = {}
        self._serving: dict[int, Serving] = {}
        self.done: list[tuple[Purpose, int, Page]] = []
        self.lost: dict[Key, int] = {}
        """Damaged rows that no member could give, counted by group."""

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
        repair = Repair(purpose, token, page, {key: self._holders(group) for key in page.corrupt})
        self._repairs.setdefault(group.key, []).append(repair)
        self._ask(turn, group.key)

    def repairing(self, key: Key) -> bool:
        """Whether rows of a group are damaged here: until they are mended nobody who may hold them must go."""
        return key in self._repairs

    def _holders(self, group: Group) -> dict[BrokerId, None]:
        """Who may have the same rows: everybody of this epoch and of the one before, reachable or not."""
        before = group.previous.members if group.previous is not None else ()
        members = dict.fromkeys(m.peer.id for m in (*group.config.members, *before))
        return {b: None for b in members if b != self._r.me.id and b not in group.gone}

    # Asking ----------------------------------------------------------------------------------------------------
    def on_fetched(self, turn: Turn, peer: Peer, head: Fetched, body: bytes) -> None:
        """A member's copies of our damaged rows: keep them and go on when nothing is missing."""
        group = self._r.groups.get(head.group)
        if group is None or head.group not in self._repairs:
            return
        try:
            found = _rows_decoder.decode(body)
        except msgspec.MsgspecError:
            return
        if rows_fault(found) is not None:
            return
        rows = {row.key: row for row in found}
        # Bulk rows never change once written; of others, a member in another epoch may have older or newer ones.
        level = head.epoch == group.config.epoch
        keys = [key for key in head.keys if level or key[:1] == BULK]
        writes: list[Write] = []
        for repair in self._repairs[head.group]:
            repair.asking.pop(peer.id, None)
            for key in keys:
                if key not in repair.missing:
                    continue
                row = rows.get(key)
                if row is not None:
                    del repair.missing[key]
                    repair.page.rows.append(row)
                    writes.append(Put(head.group, row.key, row.seq, row.value))
                elif not head.more:
                    repair.missing[key].pop(peer.id, None)
        if writes:
            self._r.persist_silently(turn, writes)
        self._ask(turn, head.group)

    def supersede(self, turn: Turn, key: Key, writes: Sequence[Write]) -> None:
        """We write to rows that are being mended: the old ones are not wanted any more, and must not come back."""
        for repair in self._repairs.get(key, []):
            for write in writes:
                if isinstance(write, Put):
                    if repair.missing.pop(write.key, None) is not None:
                        repair.page.rows.append(Row(write.key, write.seq, write.value))
                else:
                    stop = write.stop or write.start + b"\x00"
                    for row_key in [k for k in repair.missing if write.start <= k < stop]:
                        del repair.missing[row_key]
        self._finish(turn, key)

    def on_repair_deadline(self, turn: Turn, key: Key) -> None:
        """Ask again whoever has not answered. A row counts as lost only when everybody who could hold it said no."""
        group = self._r.groups.get(key)
        if group is None or group.tenure is None:
            self._repairs.pop(key, None)
            return
        for repair in self._repairs.get(key, []):
            repair.asking.clear()
            for holders in repair.missing.values():
                for broker in [b for b in holders if b in group.gone]:
                    del holders[broker]
        self._ask(turn, key)

    def _ask(self, turn: Turn, key: Key) -> None:
        """Ask every member for some of what it may hold, unless it is being asked."""
        self._finish(turn, key)
        group = self._r.groups[key]
        for repair in self._repairs.get(key, []):
            wanted: dict[BrokerId, list[bytes]] = {}
            for row_key, holders in repair.missing.items():
                for broker in holders:
                    wanted.setdefault(broker, []).append(row_key)
            for broker, keys in wanted.items():
                if broker not in repair.asking:
                    repair.asking[broker] = tuple(keys[:FETCHED_ROWS_MAX])
                    self._r.send(turn, broker, Fetch(key, group.config.epoch, repair.asking[broker]))
        if key in self._repairs:
            self._r.deadlines.set_if_unset(("repair", key), turn.now + self._r.settings.retry)

    def _finish(self, turn: Turn, key: Key) -> None:
        waiting: list[Repair] = []
        for repair in self._repairs.pop(key, []):
            if not repair.hopeless:
                waiting.append(repair)
                continue
            for row_key in repair.missing:
                self._report_lost(turn, key, row_key)
            repair.page.rows.sort(key=lambda row: row.key)
            self.done.append((repair.purpose, repair.token, repair.page))
        if waiting:
            self._repairs[key] = waiting
        else:
            self._r.deadlines.cancel(("repair", key))
            self._r.touch(key)

    def _report_lost(self, turn: Turn, key: Key, row_key: bytes) -> None:
        """Nobody has the row: say so, in the trace and in the status, and go on with what there is."""
        self.lost[key] = self.lost.get(key, 0) + 1
        group = self._r.groups.get(key)
        name = group.config.name if group is not None else key.hex()
        note = f"row {row_key.hex()} failed its checksum on every copy"
        what = (Step.LOST, "", 0, name, 0, 0, 0, note)
        turn.effects.traces.append(TraceRecord(turn.now, self._r.settings.name, *what, mailbox=name))

    # Answering -------------------------------------------------------------------------------------------------
    def on_fetch(self, turn: Turn, peer: Peer, head: Fetch) -> None:
        """Give another member copies of rows it lost; what we do not have is missing in the answer."""
        group = self._r.groups.get(head.group)
        if group is None:
            self._r.send(turn, peer.id, Fetched(head.group, head.epoch, False, head.keys), _encode([]))
            return
        if group.config.epoch < head.epoch or not head.keys:
            return
        keys = head.keys[:FETCHED_ROWS_MAX]
        if group.member(self._r.me.id) is None or self._r.me.id in group.config.incomplete:
            # Our rows may be old. Bulk rows never change, though: what we have of those is good.
            keys = tuple(key for key in keys if key[:1] == BULK)
            if not keys:
                self._r.send(turn, peer.id, Fetched(head.group, group.config.epoch, False, head.keys), _encode([]))
                return
        serving = Serving(peer.id, group.config.epoch, head.keys, len(keys))
        for key in keys:
            token = self._r.new_token()
            self._loads[token] = ("fetch", head.group, peer.id)
            self._serving[token] = serving
            turn.effects.loads.append(Load(token, head.group, key, key + b"\x00", CHUNK_BYTES_MAX))

    def _served(self, turn: Turn, token: int, purpose: Purpose, page: Page) -> None:
        serving = self._serving.pop(token)
        serving.left -= 1
        for row in page.rows:
            if serving.bytes and serving.bytes + len(row.value) > FETCHED_BYTES_MAX:
                serving.more = True
            else:
                serving.rows.append(row)
                serving.bytes += len(row.value)
        if not serving.left:
            head = Fetched(purpose[1], serving.epoch, serving.more, serving.keys)
            self._r.send(turn, serving.to, head, _encode(serving.rows))


def bulk_interval() -> tuple[bytes, bytes]:
    """The keys of a group's bulk rows."""
    return BULK, bytes([BULK[0] + 1])


def other_interval() -> tuple[bytes, bytes]:
    """The keys of a group's other rows (they sort above the bulk)."""
    return bytes([BULK[0] + 1]), END
