"""Random small traces for the audit: any step by anybody, but nothing is taken in causal order before it is sent."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from causeway.names import SEATS
from causeway.trace import Step
from tests.pipeline.lakes import row

STEPS = (
    Step.SENT,
    Step.STORED,
    Step.STORED,
    Step.COPIED,
    Step.COPIED,
    Step.ACKNOWLEDGED,
    Step.ACKNOWLEDGED,
    Step.DELIVERED,
    Step.DELIVERED,
    Step.RECEIVED,
    Step.RECEIVED,
    Step.RECEIVED,
    Step.SETTLED,
    Step.RETURNED,
    Step.EXPIRED,
    Step.TAKEN,
    Step.PREPARED,
    Step.DUPLICATE,
)
STREAMS = (
    ("a1", "m0", 1),
    ("a1", "m0", 2),
    ("a1", "m0", 2),
    ("a2", "m0", 2),
    ("a1", "item", 2),
    ("a2", "m1", 0),
    ("a1", "m1", 3),
)
CAUSAL = len(STREAMS)
"""Numbers of streams from here on stand for what applications send in causal order."""
MAILBOXES = ("m0", "m1", "")

Action = tuple[int, int, int, int, int, int, int]
actions = st.lists(
    st.tuples(
        st.integers(0, 3),  # who
        st.integers(0, len(STEPS) - 1),
        st.integers(0, CAUSAL + 3),  # stream
        st.integers(1, 5),  # first id, or which batch
        st.integers(0, 2),  # how many more ids
        st.integers(0, len(MAILBOXES) - 1),
        st.integers(0, 15),  # misfortune
    ),
    max_size=40,
)

SENT, RECEIVED = STEPS.index(Step.SENT), STEPS.index(Step.RECEIVED)
conversations = st.lists(
    st.tuples(
        st.integers(2, 3),
        st.sampled_from((SENT, RECEIVED, RECEIVED)),
        st.just(CAUSAL),
        st.integers(1, 5),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from((0, *range(2, 16))),
    ),
    min_size=15,
    max_size=60,
)
"""Actions of two applications that send and take in causal order, and restart now and then."""


class Teller:
    """Rows of one trace, in the order in which they are told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[dict[str, Any]] = []
        self._lives: dict[str, int] = {}
        self._sequences: dict[tuple[str, int], int] = {}
        self._sent: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def tell(self, action: Action) -> None:
        who, step_number, stream, first, more, place, luck = action
        short = ("b1", "b2", "a1", "a2")[who]
        writer, broker = f"{self.name}-{short}", who < 2
        life = self._lives.setdefault(writer, 1)
        step = STEPS[step_number]
        mailbox = f"{self.name}-{MAILBOXES[place]}" if MAILBOXES[place] else ""
        if luck == 1:
            self._write(writer, life, broker=broker, step=Step.ENDED)
        if luck <= 1:
            self._lives[writer] = life + 1
            return
        if luck == 5 and first == 5 and broker:  # it misses somebody, perhaps one of whom nothing is known
            self._write(writer, life, broker=True, step=Step.BROKER_FAILED, source=f"{self.name}-b{more}")
            return
        if luck == 2:
            self._count(writer, life)  # a record that is missing
        if stream >= CAUSAL and step == Step.RECEIVED and luck > 4:
            mailbox = f"{writer}-box-{place}"  # that nobody else reads
        note = {3: "priority 9", 4: "retained"}.get(luck, "")
        how = {"mailbox": mailbox, "note": note, "epoch": 1 + luck % 2, "copies": 1 if step == Step.STORED else 0}
        ids = self._ids(writer, life, step, (stream, first, more), broker=broker)
        if ids is not None:
            self._write(writer, life, broker=broker, step=step, **how, **ids)
            if ids["causal"] and step == Step.SENT:
                self._sent.append(ids)

    def close(self) -> None:
        """Everybody ends in order."""
        for writer, life in self._lives.items():
            self._write(writer, life, broker="-b" in writer, step=Step.ENDED)

    def _ids(
        self, writer: str, life: int, step: Step, chosen: tuple[int, int, int], *, broker: bool
    ) -> dict[str, Any] | None:
        stream, first, more = chosen
        if stream < CAUSAL:
            source, dest, number = STREAMS[stream]
            return {
                "source": f"{self.name}-{source}",
                "incarnation": 1,
                "dest": f"{self.name}-{dest}",
                "stream": number,
                "service": number,
                "reliable": number != 1,
                "causal": False,
                "topic": "news" if dest == "item" else "",
                "first": first,
                "last": first + more,
            }
        if step == Step.SENT:
            if broker:
                return None
            incarnation = 7 if writer.endswith("a2") else life  # a2 keeps its state, and with it who it is to others
            low = self._numbers.get(f"{writer}/{incarnation}", 0) + 1
            self._numbers[f"{writer}/{incarnation}"] = low + more
            batch = {
                "source": writer,
                "incarnation": incarnation,
                "dest": SEATS,
                "stream": 1,
                "service": 1,
                "reliable": True,
            }
            return batch | {"causal": True, "topic": "", "first": low, "last": low + more}
        if not self._sent:
            return None
        batch = self._sent[-1 - first % len(self._sent)]
        low = min(batch["first"] + (first - 1) % 2, batch["last"])
        return batch | {"first": low, "last": min(low + more, batch["last"])}

    def _count(self, writer: str, life: int) -> int:
        self._sequences[writer, life] = self._sequences.get((writer, life), 0) + 1
        return self._sequences[writer, life]

    def _write(self, writer: str, life: int, *, broker: bool, **values: Any) -> None:
        role = "broker" if broker else "application"
        told = row("events", writer=writer, role=role, life=life, sequence=self._count(writer, life), **values)
        self.rows.append(told | {"domain": self.name, "step": int(values["step"])})


def trace_of(name: str, told: Iterable[Action], *, closed: bool = False) -> list[dict[str, Any]]:
    teller = Teller(name)
    for action in told:
        teller.tell(action)
    if closed:
        teller.close()
    return teller.rows


def random_rows(seed: int, traces: int) -> list[dict[str, Any]]:
    """Rows of many traces; each has its own names and its own domain, so that none says anything about another."""
    chance = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(traces):
        bounds = ((0, 3), (0, len(STEPS) - 1), (0, 10), (1, 5), (0, 2), (0, 2), (0, 15))
        lucky = number % 2  # half of them restart nobody and lose nothing
        told = [tuple(chance.randint(*bound) for bound in bounds) for _ in range(chance.randint(5, 50))]
        rows += trace_of(f"t{number}", [(*one[:6], max(one[6], 6 * lucky)) for one in told], closed=bool(lucky))  # type: ignore[misc]
    for one_row in rows:
        one_row["at"] = chance.randint(0, 10**18)  # clocks prove nothing
    return rows
