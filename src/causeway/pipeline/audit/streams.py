"""Verdicts about one stream of messages: one source and life, one destination, one class.

Rows come by stream, highest ids first, and are read once: whatever speaks of the same ids comes together, and what has
happened to later ids is known already. So memory holds the rows of one batch, and for each mailbox and reader one row.

    kept        stored, or acknowledged by a mailbox, and never handed out although something behind it was; or given
                back, and what came behind it was handed out since
    once        taken twice by one life of a reader and not given back; stored twice; handed out after it was settled,
                or had expired or become a dead letter
    in order    transactional: handed out, or taken, for the first time after one with a higher id
    stored ...  acknowledged before its owner had it, by the owner's own order; or nobody had it; or copies are missing
    copies      acknowledged, and stored on fewer members than its epoch has elsewhere; on fewer than its owner was told
                to keep is another outcome, no finding: others may have been away

In a transaction to have it is to hold it ready (PREPARED): it is acknowledged when the transaction is decided.
Only the order of one writer's own records is used, never a clock. What was handed out twice may come late.
`senders`, `published` and `transactions` have the rules that need no more than what is known of one piece.
Owns: these rules. Must not know: Spark, which records are missing (`doubts`), order between applications (`happened`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from causeway.pipeline.audit.context import NO_CONTEXT, Context
from causeway.pipeline.audit.pieces import JudgedPiece, Said, Steps, Stream, place_of
from causeway.pipeline.audit.published import published_rule, two_ways_rule, ways_of
from causeway.pipeline.audit.senders import sender_rules, size_rule
from causeway.pipeline.audit.transactions import part_judgement, part_of, settled_in
from causeway.pipeline.audit.words import (
    COPIES,
    EVERYWHERE,
    FEWER,
    HELD,
    IN_ORDER,
    KEPT,
    ONCE,
    STORED_FIRST,
    VIOLATED,
    WAITING,
    AuditRow,
    Judgement,
    class_name,
    evidence_of,
)
from causeway.trace import Step
from causeway.types import ServiceClass

_ACKNOWLEDGED: Final = int(Step.ACKNOWLEDGED)
_COPIED: Final = int(Step.COPIED)
_DELIVERED: Final = int(Step.DELIVERED)
_DUPLICATE: Final = int(Step.DUPLICATE)
_RECEIVED: Final = int(Step.RECEIVED)
_RETURNED: Final = int(Step.RETURNED)
_SETTLED: Final = int(Step.SETTLED)
_STORED: Final = int(Step.STORED)
_TAKEN: Final = int(Step.TAKEN)
_ENDED: Final = frozenset(map(int, (Step.SETTLED, Step.EXPIRED, Step.DEAD)))
"""After one of these its owner hands it out no more."""
_OWNERS: Final = _ENDED | frozenset(map(int, (Step.STORED, Step.TAKEN, Step.DELIVERED, Step.RETURNED)))
"""What only the owner of a mailbox says."""
_AFTER: Final = {
    int(Step.SETTLED): "it was handed out after it was settled",
    int(Step.EXPIRED): "it was handed out after it had expired",
    int(Step.DEAD): "it was handed out after it had become a dead letter",
}
_HANDED: Final = frozenset(map(int, (Step.DELIVERED, Step.RECEIVED, Step.SETTLED)))
_REACHED: Final = _HANDED | frozenset(map(int, (Step.RETURNED, Step.EXPIRED, Step.DEAD, Step.REFUSED)))
"""What shows that a message is not just lying in its mailbox."""
_HAD: Final = frozenset(map(int, (Step.STORED, Step.SETTLED, Step.DEAD, Step.EXPIRED)))
"""What shows that an owner had a message of a stored class, or that its reader was done with it."""
_HAD_COMMITTED: Final = _HAD | {int(Step.PREPARED)}
_HAD_EXPRESS: Final = _HAD | frozenset(map(int, (Step.TAKEN, Step.DELIVERED, Step.RECEIVED)))
_TRANSACTIONAL: Final = int(ServiceClass.TRANSACTIONAL)
_COMMITTED: Final = int(ServiceClass.COMMITTED)

_EXPRESS: Final = int(ServiceClass.EXPRESS)
_NOTHING: Final[list[AuditRow]] = []


def judge(rows: Iterable[AuditRow], context: Context = NO_CONTEXT) -> Iterator[Judgement]:
    """Verdicts about rows that come by stream, in each highest `last` first: findings, counts of each stream, and parts
    of transactions."""
    judged: StreamJudge | None = None
    for stream, batch in stretches(rows):
        if judged is None or judged.stream != stream:
            if judged is not None:
                yield from judged.counts()
            judged = StreamJudge(stream, context)
        yield from judged.judge_batch(batch)
        for first, last, about in pieces(batch):
            yield from judged.judge(first, last, about)
    if judged is not None:
        yield from judged.counts()


def stretches(rows: Iterable[AuditRow]) -> Iterator[tuple[Stream, list[AuditRow]]]:
    """Rows that speak of the same ids, directly or over others: in most cases, of one batch."""
    stream: Stream | None = None
    found: list[AuditRow] = []
    low = 0
    for row in rows:
        mine = (row.source, row.incarnation, row.dest, row.stream)
        if found and (mine != stream or row.last < low):
            assert stream is not None
            yield stream, found
            found = []
        low = min(low, row.first) if found else row.first
        stream = mine
        found.append(row)
    if found and stream is not None:
        yield stream, found


def pieces(rows: list[AuditRow]) -> Iterator[tuple[int, int, list[AuditRow]]]:
    """Runs of ids of which the same rows speak, highest first, with these. `rows` have the highest `last` first."""
    first, last = rows[0].first, rows[0].last
    if all(row.first == first and row.last == last for row in rows):
        yield first, last, rows
        return
    borders = sorted({row.last + 1 for row in rows} | {row.first for row in rows}, reverse=True)
    active: list[AuditRow] = []
    at = 0
    for above, below in pairwise(borders):
        while at < len(rows) and rows[at].last >= above - 1:
            active.append(rows[at])
            at += 1
        active = [row for row in active if row.first < above]
        if active:
            yield below, above - 1, active


class StreamJudge:
    """One stream, from its highest ids to its lowest."""

    def __init__(self, stream: Stream, context: Context = NO_CONTEXT) -> None:
        self.stream = stream
        self._context = context
        self._counts: dict[tuple[str, str, str], int] = {}
        self._handed: dict[str, AuditRow] = {}
        """By mailbox: that something with a higher id was handed out there."""
        self._handed_behind: dict[tuple[str, str, int], tuple[AuditRow, AuditRow]] = {}
        """By mailbox and life of its owner: what it stored last of that, and that it was handed out."""
        self._earliest: dict[tuple[str, str, int, int], AuditRow] = {}
        """By mailbox, life and step: the first that was handed out or taken of all higher ids."""
        self._latest: dict[tuple[str, str, int], AuditRow] = {}
        """By mailbox and life of its owner: the last that was handed out of all higher ids."""
        self._members: dict[tuple[str, int], AuditRow] = {}
        """By mailbox and epoch: something that was stored on most of its members."""
        self._epochs: dict[str, set[int]] = {}
        """By mailbox: in which epochs of it things with higher ids were stored that were handed out."""
        self._ways: set[str] = set()
        """Items at which brokers took something with a higher id."""
        self._stored: set[str] = set()
        """Mailboxes that have stored something with a higher id."""

    def judge(self, first: int, last: int, rows: list[AuditRow]) -> Iterator[Judgement]:
        """Messages first..last, all of whose rows these are."""
        self.first, self.last, self.rows = first, last, rows
        one = rows[0]
        self._service = class_name(one.service, reliable=any(r.reliable for r in rows), causal=one.causal)
        places: dict[str, Steps] = {}
        for row in rows:
            places.setdefault(row.mailbox, {}).setdefault(row.step, []).append(row)
        piece = JudgedPiece(self.stream, first, last, rows, dict(places))
        published = (*published_rule(piece, self._context), *two_ways_rule(piece, frozenset(self._ways)))
        for said in (*sender_rules(piece), *published):
            yield from self._said(said)
        self._ways |= ways_of(piece)
        yield from self._parts(piece)
        acknowledged = any(row.step == _ACKNOWLEDGED for row in rows)
        if acknowledged:
            yield from self._stored_first(places)
            yield from self._copies(places)
            if not one.causal and not one.topic:
                places.setdefault(one.dest, {})  # it was meant for this one, whether anybody saw it there or not
        for mailbox, steps in places.items():
            if mailbox:
                yield from self._kept(mailbox, steps, acknowledged=acknowledged)
                yield from self._once(mailbox, steps)
                if self.stream[3] == _TRANSACTIONAL and not one.causal:
                    yield from self._in_order(mailbox, steps)
                if _STORED in steps:
                    self._stored.add(mailbox)

    def judge_batch(self, rows: list[AuditRow]) -> Iterator[Judgement]:
        """What is asked of a batch as a whole."""
        for first, last, said in size_rule(rows):
            self.first, self.last, self.rows = first, last, rows
            self._service = class_name(rows[0].service, reliable=any(r.reliable for r in rows), causal=rows[0].causal)
            yield from self._said(said)

    def _said(self, said: Said) -> Iterator[Judgement]:
        if said.reason:
            found = self._found(said.guarantee, said.mailbox, said.reason, said.shown, tellers=said.tellers)
            yield found._replace(domains=(EVERYWHERE,)) if said.everywhere else found
        else:
            self._count(said.guarantee, said.outcome or HELD)

    def _parts(self, piece: JudgedPiece) -> Iterator[Judgement]:
        """What is known of transactions that these messages were sent, or settled, in."""
        found = part_of(piece, passed=self.stream[2] in self._stored)
        if found is not None:
            yield part_judgement(piece, self._service, *found, sends=True)
        for settled in settled_in(piece):
            yield part_judgement(piece, self._service, *settled, sends=False)

    def counts(self) -> Iterator[Judgement]:
        """How many messages were held against which guarantee, findings aside."""
        for (service, guarantee, outcome), messages in self._counts.items():
            yield Judgement(service, guarantee, outcome, messages, *self.stream)

    # Kept ------------------------------------------------------------------------------------------------------
    def _kept(self, mailbox: str, steps: Steps, *, acknowledged: bool) -> Iterator[Judgement]:
        one, stored = self.rows[0], steps.get(_STORED, _NOTHING)
        owed = one.causal or one.service > 0  # an express message may end with its owner's memory
        if owed and (stored or (acknowledged and mailbox == one.dest)):
            lies = self._given_back(mailbox, steps)
            if lies is not None:
                yield self._found(
                    KEPT, mailbox, "it was given back, and what came behind it was handed out since", lies
                )
            elif not _REACHED.isdisjoint(steps) or (one.topic and mailbox == one.dest and self._handed_on(mailbox)):
                self._count(KEPT, HELD)
            else:
                passing = any(row.apart for row in self.rows) or self._began_anew(mailbox, stored)
                passed = None if passing else self._passed(mailbox, stored)
                if passed is None:
                    self._count(KEPT, WAITING)
                else:
                    yield self._found(
                        KEPT, mailbox, "something behind it was handed out, and it never was", (*self._shown(), *passed)
                    )
        handed = [row for step in _HANDED if step in steps for row in steps[step]]
        if not handed or any(row.apart for row in self.rows):
            return
        self._handed.setdefault(mailbox, handed[0])
        for row in steps.get(_DELIVERED, _NOTHING):
            last = self._latest.get((mailbox, row.writer, row.life))
            if last is None or last.sequence < row.sequence:
                self._latest[mailbox, row.writer, row.life] = row
        self._epochs.setdefault(mailbox, set()).update(row.epoch for row in stored)
        for row in stored:
            owner = (mailbox, row.writer, row.life)
            if owner not in self._handed_behind or self._handed_behind[owner][0].sequence < row.sequence:
                self._handed_behind[owner] = (row, handed[0])

    def _began_anew(self, mailbox: str, stored: list[AuditRow]) -> bool:
        """Whether a subscription may have ended with what lay in it: somebody has withdrawn it, and all that was handed
        out behind this was stored in other epochs; or the broker that stored it has seen the end (epochs of mailboxes
        that share a replica group go on when one of them ends)."""
        known = self._context
        if any(known.has_ended_since(mailbox, (row.writer, row.life), row.sequence) for row in stored):
            return True
        return known.has_ended(mailbox) and self._epochs.get(mailbox, set()).isdisjoint(r.epoch for r in stored)

    def _given_back(self, mailbox: str, steps: Steps) -> tuple[AuditRow, ...] | None:
        """The last that its only owner says is that a reader gave it back, and then it handed out what came behind."""
        here = [row for step in _OWNERS if step in steps for row in steps[step] if row.broker]
        returned = [row for row in steps.get(_RETURNED, _NOTHING) if row.broker]
        if not returned or any(row.apart and not row.redelivered for row in self.rows):
            return None
        back = max(returned, key=place_of)
        owners = {(row.writer, row.life) for row in here}
        if len(owners) > 1 or any(row.sequence > back.sequence for row in here):
            return None
        behind = self._latest.get((mailbox, back.writer, back.life))
        return None if behind is None or behind.sequence < back.sequence else (back, behind)

    def _passed(self, mailbox: str, stored: list[AuditRow]) -> tuple[AuditRow, ...] | None:
        """What shows that something was handed out past it. Where ids are no order, that of the owner's records is; and
        of an item, whose next owner does not say what was handed on before its time."""
        one = self.rows[0]
        if one.causal or (self.stream[3] == _TRANSACTIONAL and not (one.topic and mailbox == one.dest)):
            passed = self._handed.get(mailbox)
            return None if passed is None else (passed,)
        for row in stored:
            behind = self._handed_behind.get((mailbox, row.writer, row.life))
            if behind is not None and behind[0].sequence > row.sequence:
                return behind
        return None

    def _handed_on(self, item: str) -> bool:
        """Whether what was published has come to a subscription."""
        return any(row.mailbox != item and row.step in _HAD_EXPRESS and row.broker for row in self.rows)

    # Once ------------------------------------------------------------------------------------------------------
    def _once(self, mailbox: str, steps: Steps) -> Iterator[Judgement]:
        delivered, received = steps.get(_DELIVERED, _NOTHING), steps.get(_RECEIVED, _NOTHING)
        stored = steps.get(_STORED, _NOTHING)
        if not (delivered or received or stored):
            return
        # A subscription that ends and begins anew is given again what its topics have kept.
        kept = [row for step in (_STORED, _TAKEN) for row in steps.get(step, _NOTHING) if row.retained]
        told_by_one = (None if kept else _after_end(delivered, steps)) or _again(
            [row for row in stored if not row.retained], 1, "its owner stored it again"
        )
        wrong = told_by_one or _again(
            received, 1 + len(kept) + len(steps.get(_RETURNED, _NOTHING)), "one reader took it again"
        )
        if wrong is None:
            self._count(ONCE, HELD)
        else:
            # One life of the owner says it all, and what others have not written cannot make it right; unless the
            # message is published: then one who is silent may have kept it for a subscription that began anew.
            certain = told_by_one is not None and not self.rows[0].topic
            yield self._found(ONCE, mailbox, wrong[0], wrong[1], certain=certain)

    # In order --------------------------------------------------------------------------------------------------
    def _in_order(self, mailbox: str, steps: Steps) -> Iterator[Judgement]:
        delivered, received = steps.get(_DELIVERED, _NOTHING), steps.get(_RECEIVED, _NOTHING)
        if not (delivered or received) or any(row.apart for row in self.rows):
            return
        readers = {(row.writer, row.life) for row in received}
        again = len(delivered) > 1 or len(readers) > 1 or _RETURNED in steps
        late: tuple[AuditRow, AuditRow] | None = None
        for row in _firsts((*received, *delivered)):
            where = (mailbox, row.writer, row.life, row.step)
            higher = self._earliest.get(where)
            if higher is None or row.sequence < higher.sequence:
                self._earliest[where] = row
            elif row.sequence > higher.sequence and late is None:
                late = (higher, row)
        if late is None or again:
            self._count(IN_ORDER, HELD)
        else:
            yield self._found(IN_ORDER, mailbox, "it came after one that was sent later", late)

    # Stored before acknowledged --------------------------------------------------------------------------------
    def _stored_first(self, places: dict[str, Steps]) -> Iterator[Judgement]:
        one = self.rows[0]
        had = _HAD if one.service or one.causal else _HAD_EXPRESS
        had = _HAD_COMMITTED if one.service == _COMMITTED else had
        wrong = self._too_early(had) or self._nobody_had_it(had) or _copies_missing(places)
        if wrong is None:
            self._count(STORED_FIRST, HELD)
        else:
            yield self._found(STORED_FIRST, wrong[1][0].mailbox or one.dest, wrong[0], wrong[1])

    def _too_early(self, had: frozenset[int]) -> tuple[str, tuple[AuditRow, ...]] | None:
        """Its owner had it after it said so, by its own order. Where another broker had it too, or copies of it from
        another epoch were there, it was taken over, and had before; so it was where a life of its owner knew it again,
        and never took it itself."""
        for told in self.rows:
            if told.step != _ACKNOWLEDGED or not told.broker:
                continue
            place = told.mailbox or told.dest
            here = [row for row in self.rows if row.broker and row.mailbox == place]
            having = [row for row in here if row.step in had]
            epochs = {row.epoch for row in having if row.step == _STORED}
            theirs = any((row.writer, row.life) != (told.writer, told.life) for row in having) or any(
                row.step == _COPIED and row.epoch not in epochs for row in here
            )
            theirs = theirs or _knew_again(here, told)
            if having and not theirs and min(row.sequence for row in having) > told.sequence:
                return "its owner had it only after it was acknowledged", (told, min(having, key=place_of))
        return None

    def _nobody_had_it(self, had: frozenset[int]) -> tuple[str, tuple[AuditRow, ...]] | None:
        """A message to a mailbox that was acknowledged and is in no record of one. (What is published may be wanted by
        nobody. A copy alone may have been taken over by the next owner.)"""
        one = self.rows[0]
        if one.topic or any(row.step in had or row.step == _COPIED for row in self.rows):
            return None
        return "it was acknowledged, and nobody had it", tuple(r for r in self.rows if r.step == _ACKNOWLEDGED)

    # Copies ----------------------------------------------------------------------------------------------------
    def _copies(self, places: dict[str, Steps]) -> Iterator[Judgement]:
        """What was acknowledged as stored, on how many."""
        one = self.rows[0]
        if not (one.service or one.causal):
            return
        for mailbox, steps in places.items():
            stored = [row for row in steps.get(_STORED, _NOTHING) if row.copies]
            if not stored:
                continue
            best = max(stored, key=lambda row: row.copies)
            wrong = self._other_members(mailbox, stored)
            if wrong is not None:
                reason = f"its epoch has {wrong[1].copies} members, and {wrong[0].copies} have confirmed it"
                if wrong[0].writer != wrong[1].writer:
                    reason = "two brokers stored as owners in one epoch"
                yield self._found(COPIES, mailbox, reason, wrong)
            elif best.copies < self._context.copies.get((best.writer, best.life), 0):
                self._count(COPIES, FEWER)
            else:
                self._count(COPIES, HELD)

    def _other_members(self, mailbox: str, stored: list[AuditRow]) -> tuple[AuditRow, AuditRow] | None:
        """An epoch never changes its owner or members: of two that were stored in one, those that differ; the one on
        fewer members first."""
        for row in stored:
            known = self._members.setdefault((mailbox, row.epoch), row)
            if known.writer != row.writer:
                return known, row
            if known.copies != row.copies:
                few, many = sorted((known, row), key=lambda one: one.copies)
                self._members[mailbox, row.epoch] = many
                return few, many
        return None

    # Inside ----------------------------------------------------------------------------------------------------
    def _count(self, guarantee: str, outcome: str) -> None:
        where = (self._service, guarantee, outcome)
        self._counts[where] = self._counts.get(where, 0) + self.last - self.first + 1

    def _shown(self) -> list[AuditRow]:
        """All that is known of it, each writer in its own order."""
        return sorted(self.rows, key=lambda row: (row.step == _COPIED, row.writer, row.life, row.sequence))

    def _found(
        self,
        guarantee: str,
        mailbox: str,
        reason: str,
        shown: Iterable[AuditRow],
        *,
        certain: bool = False,
        tellers: tuple[str, ...] = (),
    ) -> Judgement:
        """A finding. It is `certain` if records of brokers that are missing cannot explain it."""
        shown = tuple(shown)
        domains = [] if certain else sorted({row.domain for row in (*self.rows, *shown)})
        who = (*self.stream, self.first, self.last, mailbox, reason, tuple(domains), tellers, evidence_of(shown))
        return Judgement(self._service, guarantee, VIOLATED, self.last - self.first + 1, *who)


def _firsts(rows: Iterable[AuditRow]) -> list[AuditRow]:
    """The first row of each life and step."""
    found: dict[tuple[str, int, int], AuditRow] = {}
    for row in rows:
        where = (row.writer, row.life, row.step)
        if where not in found or row.sequence < found[where].sequence:
            found[where] = row
    return list(found.values())


def _again(rows: list[AuditRow], allowed: int, reason: str) -> tuple[str, tuple[AuditRow, ...]] | None:
    """One life wrote the same step more often than it may."""
    if len(rows) <= allowed:
        return None
    lives: dict[tuple[str, int], list[AuditRow]] = {}
    for row in rows:
        lives.setdefault((row.writer, row.life), []).append(row)
    for _, mine in sorted(lives.items()):
        if len(mine) > allowed:
            return reason, tuple(sorted(mine, key=place_of))
    return None


def _after_end(delivered: list[AuditRow], steps: Steps) -> tuple[str, tuple[AuditRow, ...]] | None:
    """A broker handed out what it had recorded as settled, expired or dead."""
    ended = [row for step in _ENDED if step in steps for row in steps[step] if row.broker]
    for done in sorted(ended, key=place_of):
        for row in sorted(delivered, key=place_of):
            if (row.writer, row.life) == (done.writer, done.life) and row.sequence > done.sequence:
                return _AFTER[done.step], (done, row)
    return None


def _knew_again(here: list[AuditRow], told: AuditRow) -> bool:
    """Whether it was on the owner's storage when this life of it began: the life before had died at that moment."""
    mine = [row for row in here if (row.writer, row.life) == (told.writer, told.life)]
    known = any(row.step == _DUPLICATE and row.sequence < told.sequence for row in mine)
    return known and not any(row.step in (_STORED, _TAKEN) for row in mine)


def _copies_missing(places: dict[str, Steps]) -> tuple[str, tuple[AuditRow, ...]] | None:
    """An owner counted more copies than there are records of, in the same epoch."""
    for _, steps in sorted(places.items()):
        for stored in steps.get(_STORED, _NOTHING):
            copied = steps.get(_COPIED, _NOTHING)
            members = {row.writer for row in copied}
            if len(members) < stored.copies and all(row.epoch == stored.epoch for row in copied):
                reason = f"its owner counted {stored.copies} copies, and {len(members)} are recorded"
                return reason, (stored, *sorted(copied, key=place_of))
    return None
