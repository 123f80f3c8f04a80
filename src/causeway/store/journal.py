"""The journal: every commit is one record, appended and synced before it is confirmed.

Two files are written in turn. While one grows, what the other holds is folded into the table of rows; then they change
places, and the older one is written over from its beginning. Both keep their length, so a sync has none to write
(measured: 106 us for 512 bytes instead of 135, 178 instead of 274 for 128 KiB; one row of SQLite per commit took 204
and 566).

    record:       front | head | values | head again | back
    front, back:  mark | number | bytes of head, of values | checksum of head, of values | checksum of this edge

The head lists the writes; the values follow one another. Where a bit of the front or the head has flipped, the copy
behind the values serves. So a flip costs the values of one record at most, and their keys are known.

Records are numbered without gaps, and one is written only after the one before it was synced. So an unreadable record
with nothing behind it is the torn last commit, of which nobody was told; one with a later record behind it is damage.
(Of a last record whose values are wrong nobody can say which.)

Owns: the two files. Must not know: where rows are folded to, what they mean.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from causeway.errors import StoreCorrupt, StoreError
from causeway.limits import JOURNAL_BYTES_MAX, JOURNAL_STEP_BYTES
from causeway.store.base import Delete, Put, Write

FILE_NAMES: Final = ("journal-0", "journal-1")
_FRONT: Final = b"CWj<"
_BACK: Final = b"CWj>"
_EDGE: Final = struct.Struct(">4sQIIII")
_CHECK: Final = struct.Struct(">I")
_EMPTY_BYTES: Final = 4096
EDGE_BYTES: Final = _EDGE.size + _CHECK.size


class _PutHead(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A Put without its value."""

    group: bytes
    key: bytes
    seq: int
    size: int


_encode_head: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(list[_PutHead | Delete]).decode


class Record(msgspec.Struct, frozen=True):
    """A commit as it was found."""

    number: int
    writes: list[Write]
    sound: bool
    """False if its values are damaged; they are left empty then."""
    end: int
    """Where the next record of its file begins."""


class Journal:
    """Appends commits to the file in use. Raises OSError, and StoreError for what must not go on."""

    def __init__(self, directory: Path, storage: int, bytes_max: int = JOURNAL_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        """A file is full with so much."""
        self._paths = [directory / name for name in FILE_NAMES]
        self._seed = storage & 0xFFFFFFFF
        """Part of every edge's checksum: a record of another storage is no record here."""
        self._files: list[int] = []
        self._lengths = [0, 0]
        self._active = 0
        self._failed = False
        self.number = 0
        """Number of the last record."""
        self.filled = 0
        """Bytes in use of the present file."""

    def create(self) -> None:
        """Two files without records, but not empty: an empty one has lost them. The caller syncs their directory."""
        for path in self._paths:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                _write_all(file, bytes(_EMPTY_BYTES), 0)
                os.fsync(file)
            finally:
                os.close(file)

    def has_records(self) -> bool:
        """Whether there is anything but what `create` made."""
        return any(path.exists() and path.read_bytes().strip(b"\0") for path in self._paths)

    def open(self, folded: int, confirmed: int = 0) -> tuple[list[Record], list[Record]]:
        """Records above `folded`: those of the file that waits to be folded, and those of the file in use.

        Raises StoreCorrupt where confirmed commits are missing; all up to the number `confirmed` are known to be.
        """
        chains: list[list[Record]] = []
        beyond = 0
        for at, path in enumerate(self._paths):
            try:
                self._files.append(os.open(path, os.O_RDWR | os.O_CLOEXEC))
            except FileNotFoundError:
                raise StoreCorrupt(f"the journal {path} is missing") from None
            image = path.read_bytes()
            if not image:
                raise StoreCorrupt(f"the journal {path} has lost its records")
            self._lengths[at] = len(image)
            chain = self._chain(image)
            chains.append(chain)
            beyond = max(beyond, self._highest(image, chain[-1].end if chain else 0))
        self._active = max((0, 1), key=lambda at: chains[at][-1].number if chains[at] else 0)
        older, newer = chains[1 - self._active], chains[self._active]
        if newer and not newer[-1].sound:
            newer.pop()  # torn, or damaged: see above
        self.filled = newer[-1].end if newer else 0
        last = max((chain[-1].number for chain in (older, newer) if chain), default=0)
        older, newer = ([record for record in chain if record.number > folded] for chain in (older, newer))
        numbers = [record.number for chain in (older, newer) for record in chain]
        # Behind a torn record, or behind none, lie only records of former turns: their numbers are lower.
        if last < max(folded, confirmed) or numbers != list(range(folded + 1, last + 1)) or beyond > last + 1:
            raise StoreCorrupt(f"the journal in {self._paths[0].parent} lacks confirmed commits")
        self.number = last
        return older, newer

    def append(self, writes: Sequence[Write]) -> None:
        """One more record, durable on return."""
        if self._failed:
            raise StoreError("a write to the journal failed before; open the store again")
        head = _encode_head(
            [
                write if isinstance(write, Delete) else _PutHead(write.group, write.key, write.seq, len(write.value))
                for write in writes
            ]
        )
        values = b"".join([write.value for write in writes if isinstance(write, Put)])
        facts = (self.number + 1, len(head), len(values), zlib.crc32(head), zlib.crc32(values))
        record = b"".join((self._edge(_FRONT, *facts), head, values, head, self._edge(_BACK, *facts)))
        self._failed = True  # whatever the disk did not say it wrote, nobody may count on
        self._write(record)
        self._failed = False
        self.number += 1
        self.filled += len(record)

    @property
    def is_full(self) -> bool:
        """Whether it is time to `turn`."""
        return self.filled >= self.bytes_max

    def turn(self) -> None:
        """Go on in the other file, from its beginning; everything in it must have been folded."""
        self._active = 1 - self._active
        self.filled = 0

    def close(self) -> None:
        """Let go of the files; idempotent."""
        files, self._files = self._files, []
        for file in files:
            os.close(file)

    def _write(self, record: bytes) -> None:
        file, end = self._files[self._active], self.filled + len(record)
        length = self._lengths[self._active]
        if end > length:
            # Zeros now, so that the syncs of the next records find the length they need.
            reserved = -(-end // JOURNAL_STEP_BYTES) * JOURNAL_STEP_BYTES
            _write_all(file, bytes(reserved - length), length)
            self._lengths[self._active] = reserved
        _write_all(file, record, self.filled)
        os.fdatasync(file)

    def _edge(self, mark: bytes, *facts: int) -> bytes:
        edge = _EDGE.pack(mark, *facts)
        return edge + _CHECK.pack(zlib.crc32(edge, self._seed))

    # Reading -----------------------------------------------------------------------------------------------------
    def _chain(self, image: bytes) -> list[Record]:
        """The records of a file in order, until one cannot be read or is of a former turn."""
        found: list[Record] = []
        at = 0
        while (record := self._record(image, at, found[-1].number + 1 if found else None)) is not None:
            found.append(record)
            at = record.end
        return found

    def _record(self, image: bytes, at: int, number: int | None) -> Record | None:
        front = self._facts(image, at, _FRONT)
        facts = front or self._back_of(image, at)
        if facts is None or (number is not None and facts[0] != number):
            return None
        number, head_bytes, values_bytes, head_check, values_check = facts
        values_at = at + EDGE_BYTES + head_bytes
        copy_at = values_at + values_bytes
        end = copy_at + head_bytes + EDGE_BYTES
        for start in (at + EDGE_BYTES, copy_at):
            head = image[start : start + head_bytes]
            if zlib.crc32(head) == head_check:
                break
        else:
            return None
        values = image[values_at:copy_at]
        sound = zlib.crc32(values) == values_check
        return Record(number, _join(_decode_head(head), values if sound else b""), sound, end)

    def _facts(self, image: bytes, at: int, mark: bytes) -> tuple[int, int, int, int, int] | None:
        """What a sound edge says."""
        edge = image[at : at + _EDGE.size]
        check = image[at + _EDGE.size : at + EDGE_BYTES]
        if len(check) < _CHECK.size or edge[:4] != mark or _CHECK.unpack(check)[0] != zlib.crc32(edge, self._seed):
            return None
        found: tuple[int, int, int, int, int] = _EDGE.unpack(edge)[1:]
        return found

    def _back_of(self, image: bytes, start: int) -> tuple[int, int, int, int, int] | None:
        """What the back of the record that begins at `start` says."""
        at = image.find(_BACK, start)
        while at >= 0:
            facts = self._facts(image, at, _BACK)
            if facts is not None:
                return facts if at - start == EDGE_BYTES + 2 * facts[1] + facts[2] else None
            at = image.find(_BACK, at + 1)
        return None

    def _highest(self, image: bytes, start: int) -> int:
        """The highest number of a record that begins at or behind `start`."""
        highest = 0
        at = image.find(_FRONT, start)
        while at >= 0:
            facts = self._facts(image, at, _FRONT)
            if facts is not None:
                highest = max(highest, facts[0])
            at = image.find(_FRONT, at + 1)
        return highest


def _join(heads: list[_PutHead | Delete], values: bytes) -> list[Write]:
    writes: list[Write] = []
    at = 0
    for head in heads:
        if isinstance(head, Delete):
            writes.append(head)
        else:
            writes.append(Put(head.group, head.key, head.seq, values[at : at + head.size]))
            at += head.size
    return writes


def _write_all(file: int, data: bytes, position: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, position)
        rest = rest[written:]
        position += written
