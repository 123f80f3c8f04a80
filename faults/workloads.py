"""Traffic of a phase: which applications there are, and what each of them does.

Owns: the compositions. Each application is one process on one host, so that a fault can hit it alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.jobs import Carrying, Committing, Forwarding, Job, Reading, Sending, Subscribing

BOXES = ("box-1", "box-2", "box-3", "box-4")


def transactional(boxes: Sequence[str] = BOXES, senders: int = 2, every: float = 0.05) -> tuple[Job, ...]:
    """Letters exactly once and in order, each mailbox with one reader."""
    half = (len(boxes) + 1) // 2
    parts = [part for part in (boxes[:half], boxes[half:]) if part]
    return (
        *(Job(name=f"sender-{n}", roles=(Sending(tuple(boxes), every=every),)) for n in range(1, senders + 1)),
        *(Job(name=f"reader-{n}", roles=tuple(Reading(box) for box in part)) for n, part in enumerate(parts, 1)),
    )


def recoverable() -> tuple[Job, ...]:
    """Letters that arrive at least once, in a mailbox that two applications share."""
    sending = Sending(("shared",), service="recoverable")
    readers = (Job(name=f"sharer-{n}", roles=(Reading("shared"),)) for n in (1, 2))
    return (Job(name="recoverer", roles=(sending,)), *readers)


def topics() -> tuple[Job, ...]:
    """Published letters, for a durable subscription and for one that two applications share."""
    shared = Subscribing("work", "news/*", shared=True)
    return (
        Job(name="publisher", roles=(Sending(("#news/a", "#news/b"), every=0.05),)),
        Job(name="subscriber", roles=(Subscribing("board", "news/#"),)),
        *(Job(name=f"worker-{n}", roles=(shared,)) for n in (1, 2)),
    )


def forwarding() -> tuple[Job, ...]:
    """Transactions: over several mailboxes, and from one mailbox to others."""
    return (
        Job(name="feeder", roles=(Sending(("orders",), every=0.05), Committing(("ledger", "mailing")))),
        Job(name="forwarder", roles=(Forwarding("orders", ("ledger", "mailing")),)),
        Job(name="clerk", roles=(Reading("ledger"), Reading("mailing"))),
    )


def causal(count: int = 6) -> tuple[Job, ...]:
    """Everybody writes to everybody and to all, in causal order."""
    talkers = [f"causal-{n}" for n in range(1, count + 1)]
    return tuple(
        Job(
            name=name,
            roles=(
                Reading(name, topics="causal/talk"),
                Sending(
                    (*(other for other in talkers if other != name), "#causal/talk"), every=0.25, burst=1, causal=True
                ),
            ),
        )
        for name in talkers
    )


def poison() -> tuple[Job, ...]:
    """Some letters kill whoever reads them; somebody looks at the dead letters."""
    return (
        Job(name="poisoner", roles=(Sending(("food",), burst=1, every=0.2),)),
        Job(name="eater", roles=(Reading("food", fatal_every=20),), looked_after=True),
        Job(name="coroner", roles=(Reading("dead/food"),)),
    )


def impatient(service: str = "transactional") -> tuple[Job, ...]:
    """Senders that give up after two seconds."""
    return (
        *(Job(name=f"sender-{n}", roles=(Sending(BOXES, service=service, timeout=2.0),)) for n in (1, 2)),
        *(Job(name=f"reader-{n}", roles=(Reading(box),)) for n, box in enumerate(BOXES, 1)),
    )


def kept() -> tuple[Job, ...]:
    """Applications that keep their state, so that they may be killed and nothing comes twice."""
    return (
        Job(name="keeper-sender", roles=(Sending(("kept-1", "kept-2"), every=0.005),), keeps_state=True),
        Job(name="keeper-reader", roles=(Reading("kept-1"), Reading("kept-2")), keeps_state=True),
    )


def carrying() -> tuple[Job, ...]:
    """Letters that a stream of Spark carries from one mailbox to another."""
    return (
        Job(name="loader", roles=(Sending(("spark-in",), every=0.1),)),
        Job(name="carrier", roles=(Carrying("spark-in", "spark-out"),), keeps_state=True),
        Job(name="unloader", roles=(Reading("spark-out"),)),
    )


def together(*parts: tuple[Job, ...]) -> tuple[Job, ...]:
    """All of them at once."""
    return tuple(job for part in parts for job in part)
