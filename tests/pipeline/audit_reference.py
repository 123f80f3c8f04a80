"""The audit once more, slowly: every message on its own, every pair compared, happened-before by walking a graph.

Rows are those of the lake with their `domain`. Compare `found` and `counts` with what the job says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from causeway.pipeline.audit.words import class_name
from causeway.trace import Step

Row = dict[str, Any]
HANDED = {Step.DELIVERED, Step.RECEIVED, Step.SETTLED}
REACHED = HANDED | {Step.RETURNED, Step.EXPIRED, Step.DEAD, Step.REFUSED}
RELEVANT = REACHED | {Step.SENT, Step.STORED, Step.COPIED, Step.ACKNOWLEDGED, Step.TAKEN, Step.PREPARED, Step.DUPLICATE}


class Message(NamedTuple):
    source: str
    incarnation: int
    dest: str
    stream: int
    id: int


class Found(NamedTuple):
    guarantee: str
    outcome: str
    message: Message
    mailbox: str


class Reference:
    """All verdicts about some rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.found: set[Found] = set()
        self.about: dict[Message, list[Row]] = {}
        for row in self.rows:
            for message in messages_of(row):
                if row["step"] in RELEVANT:
                    self.about.setdefault(message, []).append(row)
        for rows_of_it in self.about.values():
            rows_of_it.sort(key=sorted_first)
        for message in self.about:
            self._judge(message)
        self._judge_causal()

    # One message ---------------------------------------------------------------------------------------------------
    def _judge(self, message: Message) -> None:
        rows = self.about[message]
        acknowledged = [row for row in rows if row["step"] == Step.ACKNOWLEDGED]
        if acknowledged:
            wrong = self._too_early(message) or self._nowhere(message) or self._copies(message)
            self._say("stored before acknowledged", message, *(wrong or ("", [])))
        mailboxes = {row["mailbox"] for row in rows if row["mailbox"]}
        if acknowledged and not rows[0]["causal"] and not rows[0]["topic"]:
            mailboxes.add(message.dest)
        for mailbox in sorted(mailboxes):
            self._kept(message, mailbox, acknowledged=bool(acknowledged))
            self._once(message, mailbox)
            if message.stream == 2 and not rows[0]["causal"]:
                self._in_order(message, mailbox)

    def _at(self, message: Message, mailbox: str, *steps: Step) -> list[Row]:
        return [r for r in self.about.get(message, ()) if r["mailbox"] == mailbox and r["step"] in steps]

    def _higher(self, message: Message) -> list[Message]:
        return [other for other in self.about if other[:4] == message[:4] and other.id > message.id]

    def _kept(self, message: Message, mailbox: str, *, acknowledged: bool) -> None:
        one = self.about[message][0]
        stored = self._at(message, mailbox, Step.STORED)
        if not (one["causal"] or one["service"]) or not (stored or (acknowledged and mailbox == message.dest)):
            return
        item = bool(one["topic"]) and mailbox == message.dest and not one["causal"]
        arrived = [
            row
            for row in self.about[message]
            if row["mailbox"] != mailbox
            and row["role"] == "broker"
            and row["step"] in REACHED - {Step.RETURNED, Step.REFUSED} | {Step.STORED, Step.TAKEN}
        ]
        if self._lies_there(message, mailbox):
            self._say("kept", message, mailbox, self.about[message])
            return
        if self._at(message, mailbox, *REACHED) or (item and arrived):
            self._say("kept", message, "", [])
            return
        passed: list[Row] = []
        for other in self._higher(message):
            handed = self._at(other, mailbox, *HANDED)
            if not handed or any(apart(row) for row in self.about[other]):
                continue
            behind = any(
                life(mine) == life(its) and its["sequence"] > mine["sequence"]
                for mine in stored
                for its in self._at(other, mailbox, Step.STORED)
            )
            if one["causal"] or (message.stream == 2 and not item) or behind:
                passed = handed
        if passed and not any(apart(row) for row in self.about[message]):
            self._say("kept", message, mailbox, passed + self.about[message])
        else:
            self._count("kept", "waiting", message)

    def _lies_there(self, message: Message, mailbox: str) -> bool:
        """Given back to its only owner, which has handed out others since that came behind it."""
        steps = (Step.STORED, Step.TAKEN, Step.DELIVERED, Step.SETTLED, Step.EXPIRED, Step.DEAD, Step.RETURNED)
        here = [row for row in self._at(message, mailbox, *steps) if row["role"] == "broker"]
        passing = any(apart(row) and "redelivered" not in row["note"] for row in self.about[message])
        if len({life(row) for row in here}) != 1 or passing:
            return False
        last = max(here, key=lambda row: row["sequence"])
        return last["step"] == Step.RETURNED and any(
            life(its) == life(last) and its["sequence"] > last["sequence"]
            for other in self._higher(message)
            if not any(apart(row) for row in self.about[other])
            for its in self._at(other, mailbox, Step.DELIVERED)
        )

    def _once(self, message: Message, mailbox: str) -> None:
        delivered = self._at(message, mailbox, Step.DELIVERED)
        received = self._at(message, mailbox, Step.RECEIVED)
        stored = self._at(message, mailbox, Step.STORED)
        returned = self._at(message, mailbox, Step.RETURNED)
        if not (delivered or received or stored):
            return
        kept = [row for row in self._at(message, mailbox, Step.STORED, Step.TAKEN) if "retained" in row["note"]]
        again = any(n > 1 + len(kept) + len(returned) for n in Counter(map(life, received)).values())
        twice = any(n > 1 for n in Counter(life(row) for row in stored if "retained" not in row["note"]).values())
        late = any(
            life(row) == life(done) and row["sequence"] > done["sequence"]
            for row in delivered
            for done in self._at(message, mailbox, Step.SETTLED, Step.EXPIRED, Step.DEAD)
            if done["role"] == "broker"
        )
        wrong = again or twice or (late and not kept)
        self._say("once", message, mailbox if wrong else "", self.about[message])

    def _in_order(self, message: Message, mailbox: str) -> None:
        taken = self._at(message, mailbox, Step.DELIVERED, Step.RECEIVED)
        if not taken or any(apart(row) for row in self.about[message]):
            return
        again = (
            len(self._at(message, mailbox, Step.DELIVERED)) > 1
            or len({life(row) for row in self._at(message, mailbox, Step.RECEIVED)}) > 1
            or self._at(message, mailbox, Step.RETURNED)
        )
        late = any(
            (life(row), row["step"]) == (life(its), its["step"]) and its["sequence"] < first_of(row, taken)
            for other in self._higher(message)
            if not any(apart(row) for row in self.about[other])
            for its in self._at(other, mailbox, Step.DELIVERED, Step.RECEIVED)
            for row in taken
        )
        self._say("in order", message, mailbox if late and not again else "", self.about[message])

    def _too_early(self, message: Message) -> tuple[str, list[Row]] | None:
        rows = self.about[message]
        for told in rows:
            if told["step"] == Step.ACKNOWLEDGED and told["role"] == "broker":
                place = told["mailbox"] or message.dest
                here = [r for r in rows if r["role"] == "broker" and r["mailbox"] == place]
                having = [r for r in here if r["step"] in had(r)]
                epochs = {r["epoch"] for r in having if r["step"] == Step.STORED}
                taken_over = any(r["step"] == Step.COPIED and r["epoch"] not in epochs for r in here)
                late = having and all(life(r) == life(told) and r["sequence"] > told["sequence"] for r in having)
                mine = [r for r in here if life(r) == life(told)]
                anew = any(r["step"] in (Step.STORED, Step.TAKEN) for r in mine)
                known = any(r["step"] == Step.DUPLICATE and r["sequence"] < told["sequence"] for r in mine)
                if late and not taken_over and (anew or not known):
                    return told["mailbox"] or message.dest, rows
        return None

    def _nowhere(self, message: Message) -> tuple[str, list[Row]] | None:
        rows = self.about[message]
        if rows[0]["topic"] or any(row["step"] in had(row) | {Step.COPIED} for row in rows):
            return None
        told = [row for row in rows if row["step"] == Step.ACKNOWLEDGED]
        return min(told, key=sorted_first)["mailbox"] or message.dest, rows

    def _copies(self, message: Message) -> tuple[str, list[Row]] | None:
        short = []
        for stored in self.about[message]:
            if stored["step"] == Step.STORED:
                copied = self._at(message, stored["mailbox"], Step.COPIED)
                same = all(row["epoch"] == stored["epoch"] for row in copied)
                if same and len({row["writer"] for row in copied}) < stored["copies"]:
                    short.append(stored["mailbox"])
        return (min(short) or message.dest, self.about[message]) if short else None

    # Causal order --------------------------------------------------------------------------------------------------
    def _judge_causal(self) -> None:
        mine = [
            row
            for row in self.rows
            if row["role"] == "application" and row["causal"] and row["step"] in (Step.SENT, Step.RECEIVED)
        ]
        sent = {message: row for row in mine if row["step"] == Step.SENT for message in messages_of(row)}
        took = [(row, m) for row in mine if row["step"] == Step.RECEIVED for m in messages_of(row) if m in sent]

        def place(message: Message) -> tuple[int, int]:
            return sent[message]["sequence"], message.id

        @cache
        def after(cause: Message) -> frozenset[Message]:
            """All messages that come after one: sent later by its sender, or by somebody who had been shown it."""
            seen: set[Message] = set()
            open_ = [cause]
            while open_:
                one = open_.pop()
                shown = [row for row, message in took if message == one]
                for other, row in sent.items():
                    later = life(row) == life(sent[one]) and place(other) > place(one)
                    told = any(life(row) == life(got) and got["sequence"] < row["sequence"] for got in shown)
                    if (later or told) and other not in seen:
                        seen.add(other)
                        open_.append(other)
            return frozenset(seen)

        for mailbox in sorted({row["mailbox"] for row in mine if row["step"] == Step.RECEIVED}):
            here = [row for row in mine if row["step"] == Step.RECEIVED and row["mailbox"] == mailbox]
            here.sort(key=lambda row: (row["life"], row["sequence"]))
            if len({row["writer"] for row in here}) > 1:
                for row in here:
                    for message in messages_of(row):
                        if message in sent:
                            self._count("causal order", "shared", message, row)
                continue
            shown: list[Message] = []
            for row in here:
                for message in messages_of(row):
                    if message not in sent or message in shown:
                        continue
                    late = any(other in after(message) for other in shown)
                    self._count("causal order", "violated" if late else "held", message, row)
                    if late:
                        self.found.add(Found("causal order", "violated", message, mailbox))
                    shown.append(message)

    # Saying --------------------------------------------------------------------------------------------------------
    def _say(self, guarantee: str, message: Message, mailbox: str, rows: list[Row]) -> None:
        """It holds, or not at this mailbox."""
        outcome = "violated" if mailbox else "held"
        self._count(guarantee, outcome, message)
        if mailbox:
            self.found.add(Found(guarantee, outcome, message, mailbox))

    def _count(self, guarantee: str, outcome: str, message: Message, row: Row | None = None) -> None:
        rows = [row] if row is not None else self.about[message]
        reliable = any(one["reliable"] for one in rows)
        name = class_name(rows[0]["service"], reliable=reliable, causal=rows[0]["causal"])
        self.counts[name, guarantee, outcome] += 1


def messages_of(row: Row) -> list[Message]:
    key = (row["source"], row["incarnation"], row["dest"], row["stream"])
    return [Message(*key, number) for number in range(row["first"], row["last"] + 1)]


def life(row: Row) -> tuple[str, int]:
    return row["writer"], row["life"]


def apart(row: Row) -> bool:
    return any(word in row["note"] for word in ("priority", "delay", "selector", "retained", "redelivered"))


def had(row: Row) -> set[Step]:
    stored = {Step.STORED, Step.SETTLED, Step.DEAD, Step.EXPIRED}
    if row["service"] == 3:
        return stored | {Step.PREPARED}
    return stored if row["service"] or row["causal"] else stored | {Step.TAKEN, Step.DELIVERED, Step.RECEIVED}


def first_of(row: Row, taken: list[Row]) -> int:
    return int(min(r["sequence"] for r in taken if (life(r), r["step"]) == (life(row), row["step"])))


def sorted_first(row: Row) -> tuple[Any, ...]:
    return -row["last"], -row["first"], row["writer"], row["life"], row["sequence"]


def doubtful_lives(rows: Iterable[Row]) -> tuple[set[str], set[tuple[str, int]]]:
    """Domains in which records of a broker may be missing, and lives with gaps."""
    by_life: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_life.setdefault(life(row), []).append(row)
    writers = {writer for writer, _ in by_life}
    domains = {row["domain"] for row in rows if row["step"] == Step.BROKER_FAILED and row["source"] not in writers}
    holed: set[tuple[str, int]] = set()
    for (writer, number), mine in by_life.items():
        broker = any(row["role"] == "broker" for row in mine)
        whole = sorted(row["sequence"] for row in mine) == list(range(1, len(mine) + 1))
        hole = not whole or any(row["step"] == Step.GAP for row in mine)
        cut = broker and not any(row["step"] == Step.ENDED for row in mine)
        if hole:
            holed.add((writer, number))
        if broker and (hole or cut):
            domains |= {row["domain"] for row in mine}
    return domains, holed
