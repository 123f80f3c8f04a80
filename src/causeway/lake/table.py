"""The lake as a table: which of its files count.

The names of segments say it. A writer numbers its segments, of each kind from 1 on. Segments that follow each other
without a gap may be replaced by one that has their rows, `LIFE-000001_000060`, or by one that only says what they were,
`LIFE-000001_000060r`: they are *retired*. It appears at once, as every file of the lake does. From then on whatever it
spans counts no more, and stays for a while, for whoever has looked before. So a reader sees all of a change or nothing,
without a list that writers would have to share.

    day=2026-11-17/domain=north/kind=events/broker-b1-1794947503000000000-000001_000060.parquet

Owns: names, and what they say. Must not know: what is in a file, who writes or replaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from causeway.errors import LakeError
from causeway.lake.locations import Location, locate

SUFFIX: Final = ".parquet"
_PARTS: Final = re.compile(r"day=[^/]+/domain=[^/]+/kind=[^/]+/[^/]+")
REPLACEMENT: Final = r"-\d+_\d+r?\.parquet$"
"""How names of segments end that stand for others."""
_NAME: Final = re.compile(r"(?P<writer>.+)-(?P<life>\d+)-(?P<first>\d+)(?:_(?P<last>\d+)(?P<retired>r?))?\.parquet")


class SegmentName(NamedTuple):
    """What a segment's name says."""

    writer: str
    """Role and name, as in all its segments."""
    life: int
    first: int
    last: int
    """Numbers of the segments whose place it takes; its own, if it takes none."""
    retired: bool = False
    """Whether it has no rows of theirs."""

    def __str__(self) -> str:
        numbers = f"{self.first:06d}"
        if self.is_replacement:
            numbers += f"_{self.last:06d}{'r' if self.retired else ''}"
        return f"{self.writer}-{self.life}-{numbers}{SUFFIX}"

    @property
    def is_replacement(self) -> bool:
        """Whether it stands for others."""
        return self.retired or self.last > self.first


def name_of(text: str) -> SegmentName | None:
    """What a file's name says; None for files that no writer wrote."""
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    first = int(found["first"])
    last = first if found["last"] is None else int(found["last"])
    return SegmentName(found["writer"], int(found["life"]), first, last, bool(found["retired"]))


class Segment(NamedTuple):
    """A file of the lake."""

    location: Location
    size: int
    changed: int
    """When it came, in nanoseconds since 1970."""
    name: SegmentName | None
    """None: no writer wrote it, so nothing takes its place."""

    @property
    def day(self) -> str:
        """Of the folder it is in."""
        return self.location.parent.parent.parent.name.removeprefix("day=")

    @property
    def domain(self) -> str:
        """That its folder is called by."""
        return unquote(self.location.parent.parent.name.removeprefix("domain="))

    @property
    def kind(self) -> str:
        """Of its rows."""
        return self.location.parent.name.removeprefix("kind=")


class Listing(NamedTuple):
    """Files of a lake at one time."""

    live: list[Segment]
    """Those that count, by path."""
    replaced: list[Segment]
    """Those whose place another has taken."""

    @property
    def size(self) -> int:
        """Bytes of all that counts."""
        return sum(one.size for one in self.live)


def listing(lake: str | Location, kind: str = "") -> Listing:
    """All whole segments of a lake, of one kind or of all. Names that begin with a dot or an underscore are not."""
    return sorted_out(whole_segments(lake, kind))


def whole_segments(lake: str | Location, kind: str = "") -> Iterator[Segment]:
    """The same, those that count and others."""
    root = locate(lake)
    wanted = f"/kind={kind}/" if kind else "/kind="
    skip = len(root.path.rstrip("/")) + 1
    for entry in root.entries(deep=True):
        place, name = entry.location.path, entry.location.name
        if wanted not in place or name.startswith((".", "_")) or entry.is_folder:
            continue
        if _PARTS.fullmatch(place[skip:]):
            yield Segment(entry.location, entry.size, entry.changed, name_of(name))


def sorted_out(found: Iterable[Segment]) -> Listing:
    """Which of these count. Raises LakeError if two take the place of the same one, and neither of the other."""
    live: list[Segment] = []
    lives: dict[tuple[str, str, int], list[Segment]] = {}
    for one in found:
        if one.name is None:
            live.append(one)
        else:
            lives.setdefault((one.location.parent.path, *one.name[:2]), []).append(one)
    replaced: list[Segment] = []
    for mine in lives.values():
        last: Segment | None = None
        for one in sorted(mine, key=_widest_first):
            name, before = one.name, last.name if last is not None else None
            assert name is not None  # those without are not here
            if before is not None and name.last <= before.last:
                replaced.append(one)
            elif before is not None and name.first <= before.last:
                said = f"and {one.location.name} take the place of the same segments: two compactions ran at once"
                remedy = "move the one that came later out of the lake while what it replaced is there"
                raise LakeError(str(last.location) if last else "", said, remedy)
            else:
                live.append(one)
                last = one
    return Listing(sorted(live, key=_path), sorted(replaced, key=_path))


def _widest_first(one: Segment) -> tuple[int, int, bool]:
    assert one.name is not None
    return one.name.first, -one.name.last, not one.name.retired


def _path(one: Segment) -> str:
    return one.location.path
