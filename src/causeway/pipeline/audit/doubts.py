"""Which records are missing, and what they put in doubt.

Each writer counts its records without gaps, seals its segments, names its life before, and closes its life with ENDED.
So it is seen when records are missing, there twice, or changed; when a life has not been closed (its writer was killed,
or goes on: its last seconds are not there); and when a writer of which others tell, or one of its lives, has written
nothing. Records that were retired are known to have been there, and are missing all the same. A finding that such
records might explain otherwise is `unknown`: those of any broker of the domains in which it happened, gaps of
applications that it names, and any doubt about an application whose word it rests on.

Owns: this judgement. Must not know: the rules, how rows are brought together (`judging`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from causeway.lake.schema import LAKE_VERSION
from causeway.lake.seal import WITHOUT_NOTE, RetiredSums, row_digest
from causeway.pipeline.audit.words import EVERYWHERE, UNKNOWN, UNRECORDED, VIOLATED, Judgement
from causeway.trace import MEMBERS_APART, Step

GAPS: Final = "records are missing"
TWICE: Final = "records are there twice"
CHANGED: Final = "records are not those that were written"
UNSEALED: Final = "its segments have no seals: they are of an older version"
CUT: Final = "its last records may be missing"
SILENT: Final = "no records of it are there"
RETIRED: Final = "its oldest records were retired"
DAMAGED: Final = "it says that rows it had stored are lost"

_UNTIL_THE_END: Final = (CUT, SILENT, DAMAGED)
"""What puts in doubt only what rests on the word of the writer itself: its gaps are known to be none."""


class LifeSums(NamedTuple):
    """What is known of one life of a writer: sums, which can be added up over parts of a lake."""

    writer: str
    life: int
    broker: bool
    records: int
    low: int
    high: int
    total: int
    """Of their numbers."""
    gap: bool
    ended: bool
    damaged: bool
    digests: int
    """Of all rows."""
    seals: int
    """The digests that its seals name."""
    sealed: int
    """How many seals there are."""
    version: int
    before: int
    """Its life before; 0 for none."""
    copies: int
    """How many a broker was told to keep; 0 of applications, and where it is not known."""
    since: int
    until: int
    """By its own clock."""
    domains: tuple[str, ...]
    retired: int
    """Of the records, how many are not there any more because they were old."""


class Doubt(NamedTuple):
    """A life some of whose records may be missing."""

    writer: str
    life: int
    broker: bool
    domains: tuple[str, ...]
    doubt: str

    def __str__(self) -> str:
        return f"{self.doubt}: {self.writer} in its life {self.life}"


class Mention(NamedTuple):
    """That others tell of a writer, and where."""

    writer: str
    broker: bool
    domain: str


# Sums of rows --------------------------------------------------------------------------------------------------------
def sums_of(rows: Iterable[Mapping[str, Any]]) -> list[LifeSums]:
    """One for each life, from whole rows of the lake."""
    return added_up(map(_sums, rows))


def _sums(row: Mapping[str, Any]) -> LifeSums:
    step = row["step"]
    seal = step == Step.SEALED
    if step == Step.RETIRED:
        sums = msgspec.json.decode(row["note"], type=RetiredSums)
        low, high = row["first"], row["last"]
    else:
        said, number = row["note"] if seal else "", row["sequence"]
        low, high = ((1 << 62), 0) if seal else (number, number)
        sums = RetiredSums(
            records=0 if seal else 1,
            total=0 if seal else number,
            seals=int(said) if said.isdecimal() else 0,
            sealed=int(seal),
            gap=step == Step.GAP,
            ended=step == Step.ENDED,
            damaged=step == Step.LOST,
        )
    tells = step in WITHOUT_NOTE
    return LifeSums(
        row["writer"],
        row["life"],
        row["role"] == "broker",
        sums.records,
        low,
        high,
        sums.total,
        sums.gap,
        sums.ended,
        sums.damaged,
        sums.digests + row_digest(row),
        sums.seals,
        sums.sealed,
        row["version"],
        row["incarnation"] if tells else 0,
        row["copies"] if tells else 0,
        row["at"],
        row["at"],
        (row["domain"],),
        sums.records if step == Step.RETIRED else 0,
    )


def added_up(parts: Iterable[LifeSums]) -> list[LifeSums]:
    """Sums of the same lives as one."""
    lives: dict[tuple[str, int], LifeSums] = {}
    for part in parts:
        known = lives.get(part[:2])
        lives[part[:2]] = part if known is None else _sum(known, part)
    return list(lives.values())


def _sum(one: LifeSums, other: LifeSums) -> LifeSums:
    return LifeSums(
        one.writer,
        one.life,
        one.broker or other.broker,
        one.records + other.records,
        min(one.low, other.low),
        max(one.high, other.high),
        one.total + other.total,
        one.gap or other.gap,
        one.ended or other.ended,
        one.damaged or other.damaged,
        one.digests + other.digests,
        one.seals + other.seals,
        one.sealed + other.sealed,
        min(one.version, other.version),
        max(one.before, other.before),
        max(one.copies, other.copies),
        min(one.since, other.since),
        max(one.until, other.until),
        one.domains if one.domains == other.domains else tuple(sorted({*one.domains, *other.domains})),
        one.retired + other.retired,
    )


def copies_of(lives: Iterable[LifeSums]) -> dict[tuple[str, int], int]:
    """How many copies each life of a broker was told to keep."""
    return {life[:2]: life.copies for life in lives if life.copies}


def told_in(rows: Iterable[Mapping[str, Any]]) -> set[Mention]:
    """Writers of which brokers tell: that they failed, that they have a copy, that they sent or took something."""
    found: set[Mention] = set()
    for row in rows:
        if row["role"] != "broker":
            continue
        step, domain = row["step"], row["domain"]
        if step == Step.BROKER_FAILED:
            found.add(Mention(row["source"], broker=True, domain=domain))
        elif row["copies"] > 0 and step not in WITHOUT_NOTE:
            found |= {Mention(name, broker=True, domain=domain) for name in row["peer"].split(MEMBERS_APART) if name}
        elif step == Step.SENT and not row["note"]:
            found.add(Mention(row["source"], broker=False, domain=""))
        elif step == Step.DELIVERED and row["peer"]:
            found.add(Mention(row["peer"], broker=False, domain=""))
    return found


# Doubts --------------------------------------------------------------------------------------------------------------
def doubtful(lives: Iterable[LifeSums], told: Iterable[Mention]) -> list[Doubt]:
    """Lives some of whose records may be missing."""
    lives = list(lives)
    found = [Doubt(*life[:3], life.domains, doubt) for life in lives if (doubt := _doubt_of(life))]
    known = {life[:2] for life in lives}
    for life in lives:
        if life.before and (life.writer, life.before) not in known:
            found.append(Doubt(life.writer, life.before, life.broker, life.domains, SILENT))
    names = {life.writer for life in lives}
    silent: dict[tuple[str, bool], set[str]] = {}
    for one in told:
        if one.writer not in names:
            # Killed before it wrote anything, or it writes no lake: only others know that it was there.
            silent.setdefault(one[:2], set()).update({one.domain} if one.broker else ())
    found += [Doubt(name, 0, broker, tuple(sorted(where)), SILENT) for (name, broker), where in silent.items()]
    return sorted(set(found))


def _doubt_of(life: LifeSums) -> str:
    count = life.records
    whole = life.low == 1 and life.high == count and life.total * 2 == count * (count + 1)
    if life.gap or count < life.high:
        return GAPS
    if count > life.high:
        return TWICE
    if not whole:
        return GAPS
    if not life.sealed or life.version < LAKE_VERSION:
        return UNSEALED
    if life.digests != life.seals:
        return CHANGED
    if life.retired:
        return RETIRED
    if life.damaged:
        return DAMAGED
    return "" if life.ended else CUT


class Doubts:
    """All of them, to be asked about findings."""

    def __init__(self, doubts: Iterable[Doubt], lives: Iterable[LifeSums]) -> None:
        lives = list(lives)
        self._brokers = any(life.broker for life in lives)
        """Whether any broker writes a lake."""
        self._writers = {life.writer for life in lives}
        self._domains: dict[str, str] = {}
        self._lives: dict[tuple[str, int], str] = {}
        self._tellers: dict[str, Doubt] = {}
        for one in sorted(doubts, key=lambda doubt: (str(doubt), doubt)):
            for domain in (*one.domains, EVERYWHERE) if one.broker else ():
                self._domains.setdefault(domain, str(one))
            if one.doubt not in _UNTIL_THE_END:
                self._lives.setdefault((one.writer, one.life), str(one))
            if not one.broker:
                self._tellers.setdefault(one.writer, one)

    def judged(self, found: Judgement) -> Judgement:
        """A finding with its doubt; where there is one, what was violated is `unknown`. If it rests on the word of an
        application that writes no lake, or of brokers none of which does, there is nothing to be said."""
        if EVERYWHERE in found.domains and not self._brokers:
            return found._replace(outcome=UNRECORDED)
        if not self._writers.issuperset(found.tellers):
            return found._replace(outcome=UNRECORDED)
        doubt = next(self._about(found), "")
        doubted = doubt and found.outcome == VIOLATED
        return found._replace(doubt=doubt, outcome=UNKNOWN if doubted else found.outcome)

    def _about(self, found: Judgement) -> Iterator[str]:
        marks = [self._domains.get(domain) for domain in found.domains]
        marks += [self._lives.get((one.writer, one.life)) for one in found.evidence]
        marks += [None if one is None else str(one) for one in map(self._tellers.get, found.tellers)]
        return iter(sorted(mark for mark in marks if mark))
