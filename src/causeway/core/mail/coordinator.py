"""Atomic transactions, the deciding side: the owner of the sender's own mailbox gathers promises, then decides once.

Two-phase commit whose decision is a row of the sender's replica group, so it survives the broker that made it; what
has no decision row was not committed (presumed abort). Every run has its own attempt number, higher than any before
it: late messages of an earlier run can neither commit nor abort a later one.

Rows: see `decisions`. Once every participant has carried it out, it is only needed by a
client that did not hear the outcome: it goes with many later ones, or with its incarnation (ADR 0006).
Owns: running transactions and decisions of the mailboxes we own. Must not know: how parts are held (Office).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.decisions import DECISION, Decision, TxKey, decisions_in, row_key
from causeway.core.mail.faults import transaction_fault
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import (
    Commit,
    Outcome,
    SendPart,
    SettlePart,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.core.ports import Courier, Groups
from causeway.errors import Code
from causeway.limits import (
    DECISIONS_KEPT_MAX,
    DETAIL_CHARS_MAX,
    ITEM_OVERHEAD_BYTES,
    SEEN_INCARNATIONS_MAX,
    SEEN_SECONDS_MIN,
    TRANSACTION_BYTES_PER_CLIENT_MAX,
    TRANSACTION_FAILURES_KEPT_MAX,
    TRANSACTIONS_PER_CLIENT_MAX,
)
from causeway.store.base import Delete, Put, Row, Write
from causeway.trace import Step
from causeway.types import SECOND, Instant, Key

SPAN_COST = 128
"""Bytes a range of numbers in a transaction costs in memory."""

PREPARE_PATIENCE = 5 * SECOND
RUNS_PER_EPOCH = 1 << 24

_encode = msgspec.msgpack.encode


@dataclass(slots=True)
class Part:
    """What one mailbox has to do."""

    sends: list[SendPart] = field(default_factory=list)
    settles: list[SettlePart] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """One attempt under way."""

    source: str
    attempt: int
    parts: dict[str, Part]
    since: Instant
    cost: int
    prepared: dict[str, None] = field(default_factory=dict)
    decision: Decision | None = None
    """On its way to the copies."""


@dataclass(slots=True)
class Life:
    """Decisions of one incarnation of an application."""

    newest: int = 0
    at: Instant = 0
    numbers: dict[int, None] = field(default_factory=dict)
    """Decided, or on their way to the copies."""


class Coordinator:
    """Transactions of all applications whose mailbox we own."""

    def __init__(
        self, config: BrokerConfig, me: bytes, groups: Groups, courier: Courier, *, alarm: Alarm | None = None
    ) -> None:
        self._config = config
        self._me = me
        self._groups = groups
        self._courier = courier
        self._tracer = Tracer(config.name)
        self._runs: dict[TxKey, Run] = {}
        self._load: dict[Key, tuple[int, int]] = {}
        """How many runs each application has, and their cost."""
        self._failed: OrderedDict[TxKey, Outcome] = OrderedDict()
        self._decided: dict[TxKey, tuple[str, Decision]] = {}
        self._lives: dict[Key, dict[int, Life]] = {}
        """Incarnations with decisions, by application; least recently used first."""
        self._deadlines: Deadlines[TxKey] = Deadlines(alarm)
        self._count = 0
        self.outcomes: list[Outcome] = []
        """For clients, drained by the desk."""

    # Ownership -------------------------------------------------------------------------------------------------
    def restore(self, turn: Turn, group: Key, name: str, rows: Sequence[Row]) -> None:
        """We own the mailbox now: finish what its former owner decided."""
        for key, decision in decisions_in(group, rows):
            self._decided[key] = (name, decision)
            self._note(key, decision.at)
            if decision.left:
                self._deadlines.set(key, turn.now)

    def lose(self, group: Key) -> None:
        """Somebody else owns the mailbox: what was not decided never will be, by us."""
        for table in (self._runs, self._decided, self._failed):
            for key in [k for k in table if k[0] == group]:
                del table[key]
                self._deadlines.cancel(key)
        self._load.pop(group, None)
        self._lives.pop(group, None)

    def is_deciding(self, group: Key) -> bool:
        """Whether a transaction of this mailbox's application is not decided, or not carried out everywhere."""
        return group in self._load or any(d.left for key, (_, d) in self._decided.items() if key[0] == group)

    # Clients ---------------------------------------------------------------------------------------------------
    def commit(self, turn: Turn, group: Key, head: Commit, body: bytes) -> None:
        """A client asks for a transaction (we own its mailbox and may write)."""
        key = (group, head.incarnation, head.number)
        if key in self._decided:
            self.outcomes.append(Outcome(head.source, head.incarnation, head.number, True))
            return
        if key in self._failed:
            self.outcomes.append(self._failed[key])
            return
        if key in self._runs:
            return
        fault = transaction_fault(head, body)
        if fault is not None:
            self._fail(head.source, key, Code.BAD_FIELD, fault)
            return
        parts = _parts(head, body)
        if not parts:
            self.outcomes.append(Outcome(head.source, head.incarnation, head.number, True))
            return
        count, cost = self._load.get(group, (0, 0))
        own = _cost(head, body)
        if count >= TRANSACTIONS_PER_CLIENT_MAX or cost + own > TRANSACTION_BYTES_PER_CLIENT_MAX:
            self._fail(head.source, key, Code.OVERLOADED, _overload(head.source, count, cost))
            return
        self._load[group] = (count + 1, cost + own)
        config = self._groups.config(group)
        assert config is not None
        self._count += 1
        attempt = config.epoch * RUNS_PER_EPOCH + self._count % RUNS_PER_EPOCH
        run = self._runs[key] = Run(head.source, attempt, parts, turn.now, own)
        self._trace(turn, Step.SENT, key, run)
        self._send(turn, key, run)

    def _end(self, key: TxKey) -> Run | None:
        """A run is over."""
        run = self._runs.pop(key, None)
        if run is not None:
            count, cost = self._load[key[0]]
            if count > 1:
                self._load[key[0]] = (count - 1, cost - run.cost)
            else:
                del self._load[key[0]]
        return run

    def _send(self, turn: Turn, key: TxKey, run: Run) -> None:
        """Ask every mailbox that has not promised yet."""
        self._deadlines.set(key, turn.now + self._config.retry)
        for mailbox, part in run.parts.items():
            if mailbox not in run.prepared:
                prepare = TxPrepare(
                    run.source,
                    key[1],
                    key[2],
                    run.attempt,
                    mailbox,
                    tuple(part.sends),
                    tuple(part.settles),
                    self._me,
                )
                self._courier.post(turn, mailbox, prepare, b"".join(part.bodies))

    # Participants ----------------------------------------------------------------------------------------------
    def on_prepared(self, turn: Turn, group: Key, head: TxPrepared) -> None:
        """A mailbox holds its part, or cannot."""
        key = (group, head.incarnation, head.number)
        run = self._runs.get(key)
        if run is None or run.attempt != head.attempt or run.decision is not None:
            return
        if not head.ok:
            if head.code == Code.NOT_OWNER:
                # A later owner of the sender's mailbox runs it, and may commit it: it alone says how it ended.
                self._end(key)
                self._deadlines.cancel(key)
            elif head.code != Code.NOT_READY:
                self._abort(turn, key, run, Code.of(head.code), head.detail[:DETAIL_CHARS_MAX])
            return
        if head.mailbox in run.parts:
            run.prepared[head.mailbox] = None
        if len(run.prepared) == len(run.parts):
            if not self._groups.serving(group):
                return  # looked at again by the timer
            self._decide(turn, key, run)

    def _decide(self, turn: Turn, key: TxKey, run: Run) -> None:
        group = key[0]
        run.decision = Decision(run.attempt, tuple(run.parts), turn.now)
        writes: list[Write] = [Put(group, row_key(key), self._groups.position(group), _encode(run.decision))]
        old = (group, key[1], key[2] - DECISIONS_KEPT_MAX)
        if old in self._decided and not self._decided[old][1].left:
            writes.append(self._forget(old))
        if self._note(key, turn.now):
            writes += self._forget_lives(turn.now, group)
        self._groups.append(turn, group, writes, 1, lambda turn: self._committed(turn, key))

    def _committed(self, turn: Turn, key: TxKey) -> None:
        """A decision is on all copies."""
        run = self._end(key)
        if run is not None:
            assert run.decision is not None
            self._decided[key] = (run.source, run.decision)
            self._trace(turn, Step.ACKNOWLEDGED, key, run)
            self.outcomes.append(Outcome(run.source, key[1], key[2], True))
            self._announce(turn, key)

    def on_done(self, turn: Turn, group: Key, head: TxDone) -> None:
        """A mailbox has carried out the decision."""
        key = (group, head.incarnation, head.number)
        if key not in self._decided:
            return
        source, decision = self._decided[key]
        if decision.attempt != head.attempt or head.mailbox not in decision.left:
            return
        left = tuple(m for m in decision.left if m != head.mailbox)
        decision = Decision(decision.attempt, left, decision.at)
        self._decided[key] = (source, decision)
        if not left:
            self._deadlines.cancel(key)
            if self._groups.serving(group):
                # So that the next owner need not announce it again; losing this costs only messages.
                row: Write = Put(group, row_key(key), self._groups.position(group), _encode(decision))
                if self._lives[group][key[1]].newest - key[2] >= DECISIONS_KEPT_MAX:
                    row = self._forget(key)  # it was still to be announced when its time came
                self._groups.append(turn, group, [row], 1)

    # Forgetting ------------------------------------------------------------------------------------------------
    def _note(self, key: TxKey, at: Instant) -> bool:
        """A decision of an incarnation, now the most recently used; whether it is its first."""
        lives = self._lives.setdefault(key[0], {})
        known = lives.pop(key[1], None)
        life = lives[key[1]] = known or Life()
        life.newest, life.at = max(life.newest, key[2]), max(life.at, at)
        life.numbers[key[2]] = None
        return known is None

    def _forget(self, key: TxKey) -> Write:
        del self._decided[key]
        self._lives[key[0]][key[1]].numbers.pop(key[2], None)
        return Delete(key[0], row_key(key))

    def _forget_lives(self, now: Instant, group: Key) -> list[Write]:
        """Drop incarnations over the bound and those long gone, but none whose decisions are not carried out."""
        lives, writes = self._lives[group], list[Write]()
        excess = len(lives) - SEEN_INCARNATIONS_MAX
        for incarnation in list(lives)[:-1]:
            life = lives[incarnation]
            if excess <= 0 and now - life.at < SEEN_SECONDS_MIN * SECOND:
                continue
            keys = [(group, incarnation, number) for number in life.numbers]
            if any(key not in self._decided or self._decided[key][1].left for key in keys):
                continue
            for key in keys:
                del self._decided[key]
            del lives[incarnation]
            excess -= 1
            first = DECISION + incarnation.to_bytes(8, "big")
            writes.append(Delete(group, first, first + b"\xff"))
        return writes

    def on_ask(self, turn: Turn, group: Key, head: TxAsk) -> None:
        """A mailbox in doubt asks how it ended (the sender's mailbox is ours)."""
        key = (group, head.incarnation, head.number)
        run = self._runs.get(key)
        if run is not None and run.attempt == head.attempt:
            return
        known = self._decided.get(key)
        committed = known is not None and known[1].attempt == head.attempt
        answer = TxDecide(head.source, head.incarnation, head.number, head.attempt, head.mailbox, committed, self._me)
        self._courier.post(turn, head.mailbox, answer)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Ask again, announce again, or give up."""
        for key in self._deadlines.pop_due(turn.now):
            run = self._runs.get(key)
            if run is not None:
                self._look_again(turn, key, run)
            elif key in self._decided and self._decided[key][1].left:
                self._announce(turn, key)

    def _look_again(self, turn: Turn, key: TxKey, run: Run) -> None:
        if run.decision is not None:
            self._deadlines.set(key, turn.now + self._config.retry)
        elif len(run.prepared) == len(run.parts) and self._groups.serving(key[0]):
            self._decide(turn, key, run)
        elif turn.now - run.since > PREPARE_PATIENCE:
            missing = ", ".join(m for m in run.parts if m not in run.prepared)[:DETAIL_CHARS_MAX]
            self._abort(turn, key, run, Code.ABORTED, f"no answer from {missing or 'the directory'} in time")
        else:
            self._send(turn, key, run)

    def _announce(self, turn: Turn, key: TxKey) -> None:
        source, decision = self._decided[key]
        self._deadlines.set(key, turn.now + 2 * self._config.retry)
        for mailbox in decision.left:
            self._courier.post(
                turn, mailbox, TxDecide(source, key[1], key[2], decision.attempt, mailbox, True, self._me)
            )

    def _abort(self, turn: Turn, key: TxKey, run: Run, code: Code, detail: str) -> None:
        self._end(key)
        self._deadlines.cancel(key)
        for mailbox in run.parts:
            self._courier.post(
                turn, mailbox, TxDecide(run.source, key[1], key[2], run.attempt, mailbox, False, self._me)
            )
        self._trace(turn, Step.REFUSED, key, run, code.name.lower())
        self._fail(run.source, key, code, detail)

    def _trace(self, turn: Turn, step: Step, key: TxKey, run: Run, note: str = "") -> None:
        for part in run.parts.values():
            self._tracer.grouped(turn, step, (run.source, key[1], key[2]), part.sends, note)

    def _fail(self, source: str, key: TxKey, code: Code, detail: str) -> None:
        outcome = self._failed[key] = Outcome(source, key[1], key[2], False, code, detail)
        if len(self._failed) > TRANSACTION_FAILURES_KEPT_MAX:
            self._failed.popitem(last=False)
        self.outcomes.append(outcome)


def _cost(head: Commit, body: bytes) -> int:
    """What a transaction costs in memory while it runs, about."""
    spans = sum(len(part.spans) for part in head.settles)
    return len(body) + ITEM_OVERHEAD_BYTES * (len(head.sends) + len(head.settles)) + SPAN_COST * spans


def _overload(source: str, count: int, cost: int) -> str:
    return (
        f"source={source!r}: {count} transactions of {cost} bytes are under way, at most {TRANSACTIONS_PER_CLIENT_MAX} "
        f"of {TRANSACTION_BYTES_PER_CLIENT_MAX} may be; wait for the outcome of some"
    )


def _parts(head: Commit, body: bytes) -> dict[str, Part]:
    """A faultless transaction by destination."""
    parts: dict[str, Part] = {}
    at = 0
    for send in head.sends:
        part = parts.setdefault(send.dest, Part())
        part.sends.append(send)
        part.bodies.append(body[at : at + send.size])
        at += send.size
    for settle in head.settles:
        parts.setdefault(settle.mailbox, Part()).settles.append(settle)
    return parts
