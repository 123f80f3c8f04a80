"""A small healthy lake, told batch by batch, into which single faults are planted (`faults/README.md`).

Three brokers, which keep three copies, and five applications that all write a lake and end in order. Every promise of
the README's table is made at least twice, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from causeway.lake.schema import LAKE_VERSION
from causeway.names import SEATS
from causeway.topics import item_of
from causeway.topics.critical import critical_item, other_way
from causeway.trace import MEMBERS_APART, Step
from tests.pipeline.lakes import row as lake_row
from tests.pipeline.lakes import seal_of

Row = dict[str, Any]
Segments = dict[str, list[Row]]
"""By WRITER/LIFE/NUMBER."""
BROKERS = ("b1", "b2", "b3")
LIFE = 1_700_000_000_000_000_000
EXPRESS, RECOVERABLE, TRANSACTIONAL, COMMITTED = range(4)
NEWS, ALARM = "news/roads", "critical/fire"
ALL = MEMBERS_APART.join(BROKERS)
SEGMENT = 15
"""Records of one segment."""


class FaultLake:
    """Rows in the order in which they were written; what each writer wrote is in its own order."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._at = LIFE

    # Telling -------------------------------------------------------------------------------------------------------
    def tell(self, writer: str, step: Step, **values: Any) -> Row:
        """One more record."""
        self._at += 1_000_000
        broker = writer in BROKERS
        life = values.pop("life", LIFE)
        known = {"writer": writer, "role": "broker" if broker else "application", "life": life, "at": self._at}
        told = lake_row("events", **known, step=int(step), **values)
        self.rows.append(told | {"domain": "north" if broker else "-"})
        return self.rows[-1]

    # Looking -------------------------------------------------------------------------------------------------------
    def find(self, step: Step | None = None, *, broker: bool | None = None, **values: Any) -> list[Row]:
        """Rows of a step, of brokers or applications alone, with these values."""
        wanted = values | ({} if step is None else {"step": int(step)})
        return [
            row
            for row in self.rows
            if all(row[name] == value for name, value in wanted.items()) and broker in (None, row["role"] == "broker")
        ]

    def one(self, step: Step, *, broker: bool | None = None, **values: Any) -> Row:
        """The only such row."""
        [row] = self.find(step, broker=broker, **values)
        return row

    def about(self, dest: str, first: int, *, stream: int | None = None, **values: Any) -> list[Row]:
        """All rows about one message: those whose run of ids has it."""
        return [
            row
            for row in self.find(dest=dest, **values)
            if row["first"] <= first <= row["last"] and stream in (None, row["stream"])
        ]

    # Changing ------------------------------------------------------------------------------------------------------
    def remove(self, rows: Iterable[Row]) -> None:
        """Records that were never written."""
        gone = {id(row) for row in rows}
        self.rows = [row for row in self.rows if id(row) not in gone]

    def copy(self, row: Row, *, before: Row | None = None, after: Row | None = None, **changes: Any) -> Row:
        """The same record once more, with changes: behind itself, or before or after another one."""
        made = {**row, **changes}
        if "step" in changes:
            made["step"] = int(changes["step"])
        beside = before or after or row
        place = next(at for at, one in enumerate(self.rows) if one is beside)
        self.rows.insert(place if before is not None else place + 1, made)
        return made

    def move(self, row: Row, *, before: Row | None = None, after: Row | None = None) -> None:
        """Let a record stand elsewhere in the order of writing."""
        self.remove([row])
        self.copy(row, before=before, after=after)

    # The end -------------------------------------------------------------------------------------------------------
    def finished(self) -> Segments:
        """All rows as their writers would have written them: numbered, and with seals."""
        counts: dict[tuple[str, int], int] = {}
        numbered: list[Row] = []
        for row in self.rows:
            life = (row["writer"], row["life"])
            counts[life] = counts.get(life, 0) + 1
            numbered.append({**row, "sequence": counts[life]})
        return segments_of(numbered)


def segments_of(rows: Iterable[Row]) -> Segments:
    """Rows by segment, each with its seal at its end; named WRITER/LIFE/NUMBER."""
    lives: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        lives.setdefault((row["writer"], row["life"]), []).append(row)
    found: Segments = {}
    for (writer, life), mine in lives.items():
        before = max((other for name, other in lives if name == writer and other < life), default=0)
        for number, at in enumerate(range(0, len(mine), SEGMENT), 1):
            part = mine[at : at + SEGMENT]
            copies = len(BROKERS) if part[0]["role"] == "broker" else 0
            seal = seal_of(part, before=before, copies=copies) | {"domain": part[0]["domain"]}
            found[f"{writer}/{life}/{number}"] = [*part, seal]
    return found


# A healthy lake ------------------------------------------------------------------------------------------------------
class Story(FaultLake):
    """Batches from their sender to their reader, as brokers tell of them."""

    owner = "b2"
    """Of every mailbox; what applications send comes to b1."""

    def ids(self, source: str, dest: str, stream: int, first: int, last: int, **more: Any) -> dict[str, Any]:
        whose = {"source": source, "incarnation": LIFE, "dest": dest, "stream": stream, "first": first, "last": last}
        how = {"service": stream, "reliable": True, "mailbox": dest, "bytes": 100 * (last - first + 1)}
        return whose | how | more

    def sent(self, ids: dict[str, Any]) -> None:
        self.tell(ids["source"], Step.SENT, **ids)
        self.tell("b1", Step.SENT, **ids)
        self.tell("b1", Step.FORWARDED, **ids, peer=self.owner)

    def stored(self, ids: dict[str, Any], **more: Any) -> None:
        for member in BROKERS:
            self.tell(member, Step.COPIED, **ids, peer=self.owner, epoch=7)
        self.tell(self.owner, Step.STORED, **(ids | more), peer=ALL, epoch=7, copies=3)

    def acknowledged(self, ids: dict[str, Any]) -> None:
        for who in ("b1", ids["source"]):
            self.tell(who, Step.ACKNOWLEDGED, **ids)

    def taken(self, ids: dict[str, Any], reader: str, *, note: str = "") -> None:
        self.tell(self.owner, Step.DELIVERED, **ids, peer=reader, note=note)
        self.tell(reader, Step.RECEIVED, **ids)

    def settled(self, ids: dict[str, Any], reader: str, **more: Any) -> None:
        quiet = ids | {"bytes": 0} | more
        self.tell(reader, Step.SETTLED, **quiet)
        self.tell(self.owner, Step.SETTLED, **quiet)

    def mail(self, source: str, dest: str, stream: int, first: int, last: int, reader: str, **more: Any) -> None:
        """A batch to a mailbox, whole."""
        ids = self.ids(source, dest, stream, first, last, **more)
        self.sent(ids)
        if stream == EXPRESS:
            self.tell(self.owner, Step.TAKEN, **ids)
        else:
            self.stored(ids)
        if ids["reliable"]:
            self.acknowledged(ids)
        self.taken(ids, reader)
        self.settled(ids, reader)

    def subscribe(self, item: str, mailbox: str, pattern: str) -> None:
        self.tell(self.owner, Step.SUBSCRIBED, dest=item, mailbox=mailbox, topic=pattern)

    def publish(self, topic: str, stream: int, number: int, readers: dict[str, str]) -> None:
        """One message on a topic, stored at its item and in each subscription, by mailbox and reader."""
        item = item_of(topic)
        ids = self.ids("press", item, stream, number, number, topic=topic)
        ways = [item, *filter(None, [other_way(item)])]
        self.tell("press", Step.SENT, **ids)
        for way in ways:
            here = ids | {"mailbox": way}
            self.tell("b1", Step.SENT, **here)
            self.stored(here)
            self.tell("b1", Step.ACKNOWLEDGED, **here)
        self.tell("press", Step.ACKNOWLEDGED, **ids)
        for mailbox, reader in readers.items():
            here = ids | {"mailbox": mailbox}
            self.stored(here)
            self.taken(here, reader)
            self.settled(here, reader)
        for way in ways:
            self.tell(self.owner, Step.SETTLED, **(ids | {"mailbox": way, "bytes": 0}))

    def transaction(
        self, number: int, ids: int, settles: dict[str, Any] | None = None, *, refused: bool = False
    ) -> None:
        """shop sends to `stock` and to `bank`, and acknowledges a message, all in one."""
        name = f"shop:{LIFE:x}:{number}"
        parts = [self.ids("shop", dest, COMMITTED, ids, ids, transaction=name) for dest in ("stock", "bank")]
        for who, step in (("shop", Step.SENT), ("b1", Step.SENT)):
            for part in parts:
                self.tell(who, step, **part)
        for part in parts:
            self.tell(self.owner, Step.PREPARED, **part, peer=ALL, epoch=7, copies=3)
        step, note = (Step.REFUSED, "aborted") if refused else (Step.ACKNOWLEDGED, "")
        for who in ("b1", "shop"):
            for part in parts:
                self.tell(who, step, **part, note=note)
        if refused:
            return
        for part in parts:
            plain = part | {"transaction": ""}
            self.stored(plain, transaction=name)
        if settles is not None:
            self.settled(settles, "shop", transaction=name)
        for part in parts:
            plain = part | {"transaction": ""}
            self.taken(plain, "desk")
            self.settled(plain, "desk")

    def causal(self, source: str, number: int, to: dict[str, str]) -> None:
        """One message in causal order to several mailboxes, by mailbox and reader."""
        ids = self.ids(source, SEATS, TRANSACTIONAL, number, number, service=RECOVERABLE, causal=True)
        for mailbox, reader in to.items():
            here = ids | {"mailbox": mailbox, "seat": "north"}
            self.sent(here)
            self.stored(here)
            self.acknowledged(here)
            self.taken(here, reader)
            self.settled(here, reader)
            ids = ids | {"first": ids["first"] + 1, "last": ids["last"] + 1}


def healthy() -> Story:
    """Every promise, made and kept."""
    lake = Story()
    for first in (1, 4):  # express, without and with an answer
        lake.mail("shop", "gauge", EXPRESS, first, first + 2, "desk", reliable=False)
    for first in (1, 3, 5):
        lake.mail("shop", "lamp", EXPRESS, first, first + 1, "desk")
    for first in (1, 3, 5, 7):
        lake.mail("shop", "orders", RECOVERABLE, first, first + 1, "desk")
    for number in (1, 2, 3, 4):
        lake.mail("shop", "ledger", TRANSACTIONAL, number, number, "desk")
    _mishaps(lake)
    _transactions(lake)
    _topics(lake)
    _talk(lake)
    lake.tell("shop", Step.ENDED, first=1, last=1)
    late = lake.ids("shop", "late", EXPRESS, 1, 1, reliable=False, incarnation=LIFE + 1)
    lake.tell("shop", Step.SENT, life=LIFE + 1, **late)
    for who, step in (("b1", Step.SENT), ("b2", Step.TAKEN)):
        lake.tell(who, step, **late)
    lake.tell("shop", Step.ENDED, first=1, last=1, life=LIFE + 1)
    for who in ("desk", "press", "anna", "bert", *BROKERS):
        lake.tell(who, Step.ENDED, first=1, last=1)
    assert all(row["version"] == LAKE_VERSION for row in lake.rows)
    return lake


def _mishaps(lake: Story) -> None:
    """Given back, expired, dead, refused: all of it is allowed."""
    back = lake.ids("shop", "returns", RECOVERABLE, 1, 1)
    lake.sent(back)
    lake.stored(back)
    lake.acknowledged(back)
    lake.taken(back, "desk")
    for who in ("desk", "b2"):
        lake.tell(who, Step.RETURNED, **(back | {"bytes": 0}))
    lake.taken(back, "desk", note="redelivered")
    lake.settled(back, "desk")
    lake.mail("shop", "returns", RECOVERABLE, 2, 2, "desk")
    for number, step in ((1, Step.EXPIRED), (2, Step.DEAD)):
        ids = lake.ids("shop", "shelf", RECOVERABLE, number, number)
        lake.sent(ids)
        lake.stored(ids)
        lake.acknowledged(ids)
        if step == Step.DEAD:
            lake.taken(ids, "desk")
        lake.tell("b2", step, **(ids | {"bytes": 0}))
    letter = lake.ids("shelf", "dead/shelf", RECOVERABLE, 1, 1)
    lake.tell("b2", Step.SENT, **letter, note="dead letters")
    lake.stored(letter)
    lake.tell("b2", Step.ACKNOWLEDGED, **letter)
    full = lake.ids("shop", "full", RECOVERABLE, 1, 2)
    lake.sent(full)
    for who in ("b2", "shop"):
        lake.tell(who, Step.REFUSED, **full, note="mailbox_full")


def _transactions(lake: Story) -> None:
    for number in (1, 2):
        work = lake.ids("desk", "work", RECOVERABLE, number, number)
        lake.sent(work)
        lake.stored(work)
        lake.acknowledged(work)
        lake.taken(work, "shop")
        lake.transaction(number, number, work)
    lake.transaction(3, 3, refused=True)
    lake.transaction(4, 4)


def _topics(lake: Story) -> None:
    item, fire = item_of(NEWS), critical_item(ALARM)
    news = {"sub/anna/news": "anna", "sub/bert/news": "bert"}
    for mailbox in news:
        lake.subscribe(item, mailbox, "news/#")
    for number in (1, 2, 3):
        lake.publish(NEWS, RECOVERABLE, number, news)
    for number in (1, 2, 3):
        lake.publish(NEWS, TRANSACTIONAL, number, news)
    lake.subscribe(fire, "sub/anna/alarm", "critical/#")
    for number in (1, 2, 3):
        lake.publish(ALARM, RECOVERABLE, number, {"sub/anna/alarm": "anna"})


def _talk(lake: Story) -> None:
    """anna asks bert and tells desk; bert answers to desk."""
    for number in (1, 3):
        lake.causal("anna", number, {"desk": "desk", "bert": "bert"})
        lake.causal("bert", number, {"desk": "desk"})
