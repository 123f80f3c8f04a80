"""An independent account of traffic: what applications sent, were told, and got. Pure, and blind to the client library.

Every message carries its own application-level id in its body, so that counting needs no trust in the ids, the
duplicate suppression or the order that brokers and client keep: this is what they are checked against.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import msgspec

from causeway.errors import ConfigError


class Kind(enum.StrEnum):
    """The classes of service, as the guarantee table lists them."""

    UNRELIABLE = "express-unreliable"
    EXPRESS = "express"
    RECOVERABLE = "recoverable"
    TRANSACTIONAL = "transactional"
    PUBLISHED = "published"
    """Transactional, on a topic to which its receiver has a durable subscription."""


ORDERED: Final = frozenset({Kind.TRANSACTIONAL, Kind.PUBLISHED})
"""Kinds whose messages arrive in the order they were sent."""
VOLATILE: Final = frozenset({Kind.UNRELIABLE, Kind.EXPRESS})
"""Kinds that a killed owner may take with it."""

StreamName = tuple[Kind, str, str]
"""Kind, source, destination: one numbered run of messages."""


class Stamp(msgspec.Struct, frozen=True):
    """The application-level id in a body."""

    kind: Kind
    source: str
    dest: str
    number: int


class ClassTally(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to the messages of one kind."""

    kind: Kind
    sent: int
    acknowledged: int
    failed: int
    """The application was told that the send failed; such a message may arrive all the same, once."""
    delivered: int
    doubled: int
    lost: int
    """Acknowledged, never delivered, and no guarantee excuses it."""
    lost_allowed: int
    """Acknowledged as in the memory of an owner that was killed afterwards."""
    disordered: int

    @property
    def holds(self) -> bool:
        """Whether the guarantee of this kind held."""
        return not (self.doubled or self.lost or self.disordered)


class _Stream:
    __slots__ = ("acknowledged", "delivered", "disordered", "failed", "forgiven", "highest", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.failed = 0
        self.acknowledged = bytearray(1)
        self.delivered = bytearray(1)
        self.highest = 0
        self.disordered = 0
        self.forgiven = 0

    def grow(self) -> int:
        self.sent += 1
        self.acknowledged.append(0)
        self.delivered.append(0)
        return self.sent

    def unfinished(self) -> int:
        return sum(1 for told, got in zip(self.acknowledged, self.delivered, strict=True) if told and not got)


class Ledger:
    """The account. One instance for all applications of a run."""

    def __init__(self) -> None:
        self._streams: dict[StreamName, _Stream] = {}
        self.strays: list[str] = []
        """Bodies nobody sent, or that reached the wrong application: always a fault."""

    def write(self, kind: Kind, source: str, dest: str, size: int = 128) -> tuple[int, bytes]:
        """The next message of a stream: its number, and a body of at least `size` bytes that carries its id."""
        stream = self._streams.get((kind, source, dest))
        if stream is None:
            for field, name in (("source", source), ("dest", dest)):
                if not name or " " in name:
                    raise ConfigError(field, name, "must be one word, since it is written into message bodies")
            stream = self._streams[(kind, source, dest)] = _Stream()
        number = stream.grow()
        return number, f"{kind.value} {source} {dest} {number} ".encode().ljust(size, b".")

    def acknowledged(self, kind: Kind, source: str, dest: str, number: int) -> None:
        """The sender was told that the message is safe, in the sense of its kind."""
        self._streams[(kind, source, dest)].acknowledged[number] = 1

    def failed(self, kind: Kind, source: str, dest: str, number: int) -> None:
        """The sender was told that it failed; the message must not count as acknowledged."""
        assert not self._streams[(kind, source, dest)].acknowledged[number]
        self._streams[(kind, source, dest)].failed += 1

    def delivered(self, receiver: str, body: bytes) -> Stamp | None:
        """An application got a message; its stamp, or None when nobody sent such a message to it."""
        stamp = read_stamp(body)
        stream = None if stamp is None else self._streams.get((stamp.kind, stamp.source, stamp.dest))
        if stamp is None or stream is None or stamp.dest != receiver or not 0 < stamp.number <= stream.sent:
            self.strays.append(f"{receiver} got {body[:60]!r}")
            return None
        if stream.delivered[stamp.number] < 255:
            stream.delivered[stamp.number] += 1
        if stream.delivered[stamp.number] == 1 and stamp.number < stream.highest:
            stream.disordered += 1
        stream.highest = max(stream.highest, stamp.number)
        return stamp

    def forgive(self, dests: Iterable[str]) -> None:
        """The owner of these mailboxes was killed just now: what it held in memory alone may be lost."""
        affected = set(dests)
        for (kind, _source, dest), stream in self._streams.items():
            if kind in VOLATILE and dest in affected:
                stream.forgiven = stream.sent

    def outstanding(self) -> int:
        """Acknowledged messages that have not arrived yet and must."""
        return sum(_missing(stream)[0] for stream in self._streams.values())

    def tallies(self) -> list[ClassTally]:
        """One line per kind that was used."""
        return [self._tally(kind) for kind in Kind if any(name[0] is kind for name in self._streams)]

    def holds(self) -> bool:
        """Whether every guarantee held."""
        return not self.strays and all(tally.holds for tally in self.tallies())

    def complaints(self, limit: int = 20) -> list[str]:
        """What went wrong, message by message, for whoever has to find out why."""
        found = list(self.strays)
        for (kind, source, dest), stream in self._streams.items():
            about = f"{kind.value} {source} -> {dest}"
            for number in range(1, stream.sent + 1):
                if stream.delivered[number] > 1:
                    found.append(f"{about}: {number} arrived {stream.delivered[number]} times")
                elif stream.acknowledged[number] and not stream.delivered[number] and number > stream.forgiven:
                    found.append(f"{about}: {number} was acknowledged and never arrived")
            if kind in ORDERED and stream.disordered:
                found.append(f"{about}: {stream.disordered} arrived after a later one")
            if len(found) > limit:
                break
        return found[:limit]

    def _tally(self, kind: Kind) -> ClassTally:
        streams = [stream for name, stream in self._streams.items() if name[0] is kind]
        missing = [_missing(stream) for stream in streams]
        return ClassTally(
            kind=kind,
            sent=sum(stream.sent for stream in streams),
            acknowledged=sum(sum(stream.acknowledged) for stream in streams),
            failed=sum(stream.failed for stream in streams),
            delivered=sum(sum(1 for times in stream.delivered if times) for stream in streams),
            doubled=sum(sum(times - 1 for times in stream.delivered if times > 1) for stream in streams),
            lost=sum(lost for lost, _allowed in missing),
            lost_allowed=sum(allowed for _lost, allowed in missing),
            disordered=sum(stream.disordered for stream in streams) if kind in ORDERED else 0,
        )


def read_stamp(body: bytes) -> Stamp | None:
    """The id in a body; None when it holds none."""
    parts = bytes(body[:1024]).split(b" ", 4)
    if len(parts) != 5 or not parts[3].isdigit():
        return None
    try:
        return Stamp(Kind(parts[0].decode()), parts[1].decode(), parts[2].decode(), int(parts[3]))
    except ValueError:
        return None


def _missing(stream: _Stream) -> tuple[int, int]:
    """Acknowledged and not delivered: against the guarantee, and allowed by it."""
    lost = allowed = 0
    if stream.unfinished():
        for number in range(1, stream.sent + 1):
            if stream.acknowledged[number] and not stream.delivered[number]:
                if number <= stream.forgiven:
                    allowed += 1
                else:
                    lost += 1
    return lost, allowed
