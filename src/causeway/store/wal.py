"""Looks into SQLite's write-ahead log for commits that SQLite itself would pass over in silence.

SQLite reads its log up to the first frame whose checksum fails and takes the rest for the torn tail of an
unfinished commit. That is right after a power cut, and wrong after a flipped bit: then commits that were confirmed
vanish without a word. The two differ in what follows: a commit is written only after the one before it was synced,
so two or more commit frames of the present generation behind the last readable one mean damage.
(A flipped bit in the very last commit looks like a torn tail and cannot be told from one.)

    header, 32 bytes:  magic | version | page size | checkpoint | salt 1 | salt 2 | checksum 1 | checksum 2
    frame, 24 bytes:   page | database size after commit, else 0 | salt 1 | salt 2 | checksum 1 | checksum 2
                       then one page of data

https://sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

HEADER: Final = struct.Struct(">8I")
FRAME: Final = struct.Struct(">6I")
MAGIC_LITTLE: Final = 0x377F0682
MAGIC_BIG: Final = 0x377F0683
COMMITS_BEHIND_MAX: Final = 1
"""Commits that may lie behind the last readable one: the one that was being written when the machine stopped."""


def commit_frames(log: Path) -> list[int] | None:
    """Numbers (from 1) of the frames that end a commit of the log's present generation; None if its header is damaged.

    Read before SQLite opens the log; compare with `is_damaged` afterwards.
    """
    try:
        size = log.stat().st_size
    except FileNotFoundError:
        return []
    with log.open("rb") as file:
        header = file.read(HEADER.size)
        if not header.strip(b"\0"):
            return []
        if len(header) < HEADER.size or not _header_is_sound(header):
            return None
        page_bytes, salts = HEADER.unpack(header)[2], header[16:24]
        found: list[int] = []
        step = FRAME.size + page_bytes
        for number, position in enumerate(range(HEADER.size, size - step + 1, step), start=1):
            file.seek(position)
            frame = file.read(FRAME.size)
            if frame[8:16] == salts and frame[4:8] != b"\0\0\0\0":
                found.append(number)
    return found


def is_damaged(commits: list[int] | None, readable: int) -> bool:
    """Whether confirmed commits lie behind the `readable` frames that SQLite accepted."""
    return commits is None or sum(number > readable for number in commits) > COMMITS_BEHIND_MAX


def _header_is_sound(header: bytes) -> bool:
    magic = int.from_bytes(header[:4], "big")
    if magic not in (MAGIC_LITTLE, MAGIC_BIG):
        return False
    words = struct.unpack(">6I" if magic == MAGIC_BIG else "<6I", header[:24])
    one = two = 0
    for at in range(0, 6, 2):
        one = (one + words[at] + two) & 0xFFFFFFFF
        two = (two + words[at + 1] + one) & 0xFFFFFFFF
    return (one, two) == struct.unpack(">2I", header[24:32])
