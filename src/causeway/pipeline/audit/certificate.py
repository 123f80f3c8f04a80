"""The certificate: what was proven, for what, over which time and with how many records; and what was not.

Owns: its words, and how counts become a verdict. Must not know: the rules, Spark, how a page looks (`page`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from causeway.pipeline.audit.doubts import Doubt, LifeSums
from causeway.pipeline.audit.words import (
    ATOMIC,
    CAUSAL,
    COPIES,
    FEWER,
    IN_ORDER,
    KEPT,
    MARKED,
    ONCE,
    PUBLISHED,
    REFUSED,
    SENT,
    SHARED,
    STORED_FIRST,
    TAKEN_BY,
    TWO_WAYS,
    UNCHANGED,
    UNKNOWN,
    UNRECORDED,
    VIOLATED,
    VIOLATIONS,
    WAITING,
)
from causeway.types import SECOND

SHOWN_MAX: Final = 20
"""Mailboxes and doubts that are named; the tables have all."""

BROKEN: Final = "broken"
IN_DOUBT: Final = "in doubt"
"""Something looks broken, and missing records may explain it."""
AS_FAR_AS_KNOWN: Final = "clean as far as records go"
"""Nothing looks broken, and records are missing that could show it."""
FEWER_COPIES: Final = "clean with fewer copies"
"""Every promise held, but messages were acknowledged that lay on fewer brokers than were asked for."""
CLEAN: Final = "clean"

SAYS: Final = {
    CLEAN: "Every promise held, and no record is missing.",
    FEWER_COPIES: "Every other promise held. Some messages were acknowledged on fewer brokers than were asked for, "
    "because others were away or had not come yet.",
    AS_FAR_AS_KNOWN: "Nothing looks broken. But records are missing, and they could show otherwise.",
    IN_DOUBT: "Something looks broken. Records are missing that may explain it.",
    BROKEN: "A promise was broken. No missing record can explain it.",
}

PROMISES: Final = {
    KEPT: "Nothing that was stored or acknowledged was passed over.",
    ONCE: "Nothing was stored twice, handed out after its end, or shown twice to one reader.",
    IN_ORDER: "Transactional messages came in the order in which they were sent.",
    STORED_FIRST: "Nothing was acknowledged before it was where the acknowledgement says.",
    COPIES: "What was acknowledged lay on as many brokers as were asked for.",
    CAUSAL: "Nobody saw a message before those that it answers.",
    ATOMIC: "Transactions happened as a whole or not at all.",
    PUBLISHED: "Every subscription that was ready got what was published.",
    TWO_WAYS: "What is critical went by two ways.",
    SENT: "Every message was sent by the application it names.",
    REFUSED: "Nothing that was refused was delivered.",
    TAKEN_BY: "Whatever was settled had been taken by its reader.",
    MARKED: "What came again was marked as redelivered.",
    UNCHANGED: "Messages had the same length wherever they were.",
}
"""Each guarantee as a sentence that is true if it held."""

NEVER_PROVEN: Final = (
    "That bodies are unchanged: only their lengths are recorded. Brokers check every row and frame with a checksum.",
    "That a dead letter is in its dead-letter mailbox: it is a new message there, under another name.",
    "That a message which was handed to a second reader had left the first: that a reader vanished is not recorded.",
    "What became of messages whose sender asked for no acknowledgement and that no broker recorded.",
    "Anything of a program that writes no lake and of which nobody tells.",
    "How long anything took: clocks are not compared.",
)


class Scope(NamedTuple):
    """What a certificate is about."""

    records: int
    brokers: int
    applications: int
    lives: int
    since: int
    until: int
    """By the writers' own clocks."""
    mailboxes: int
    names: tuple[str, ...]
    """The first of them."""


def scope_of(lives: Iterable[LifeSums], mailboxes: Iterable[str]) -> Scope:
    """From what is known of writers, and the destinations of what was judged."""
    lives, names = list(lives), sorted(set(mailboxes))
    brokers = {life.writer for life in lives if life.broker}
    return Scope(
        sum(life.records - life.retired for life in lives),
        len(brokers),
        len({life.writer for life in lives if not life.broker}),
        len(lives),
        min((life.since for life in lives), default=0),
        max((life.until for life in lives), default=0),
        len(names),
        tuple(names[:SHOWN_MAX]),
    )


def guarantees_in(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Messages by guarantee and outcome."""
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        totals = found.setdefault(line["guarantee"], {})
        totals[line["outcome"]] = totals.get(line["outcome"], 0) + int(line["messages"])
    return {name: found[name] for name in VIOLATIONS if name in found}


def verdict_of(guarantees: Mapping[str, Mapping[str, int]], doubts: int) -> str:
    """One word or two."""
    outcomes = {outcome for totals in guarantees.values() for outcome, count in totals.items() if count}
    if VIOLATED in outcomes:
        return BROKEN
    if UNKNOWN in outcomes:
        return IN_DOUBT
    if doubts or UNRECORDED in outcomes or not guarantees:
        return AS_FAR_AS_KNOWN
    return FEWER_COPIES if FEWER in outcomes else CLEAN


def summary_of(
    lines: list[dict[str, Any]], examples: list[dict[str, Any]], doubts: list[Doubt], scope: Scope
) -> dict[str, Any]:
    """The certificate as one document."""
    guarantees = guarantees_in(lines)
    found = {VIOLATIONS[name]: totals.get(VIOLATED, 0) for name, totals in guarantees.items()}
    verdict = verdict_of(guarantees, len(doubts))
    return {
        "verdict": verdict,
        "says": SAYS[verdict],
        "found": {name: count for name, count in found.items() if count},
        "unknown": sum(totals.get(UNKNOWN, 0) for totals in guarantees.values()),
        "guarantees": guarantees,
        "proven": [PROMISES[name] for name, totals in guarantees.items() if _is_proven(totals)],
        "not_proven": not_proven(guarantees, doubts),
        "scope": {
            "records": scope.records,
            "brokers": scope.brokers,
            "applications": scope.applications,
            "lives": scope.lives,
            "from": _time(scope.since),
            "to": _time(scope.until),
            "mailboxes": scope.mailboxes,
            "names": list(scope.names),
        },
        "lives_in_doubt": len(doubts),
        "doubts": [str(doubt) for doubt in doubts[:SHOWN_MAX]],
        "examples": examples,
    }


def _is_proven(totals: Mapping[str, int]) -> bool:
    return not any(totals.get(outcome) for outcome in (VIOLATED, UNKNOWN, FEWER))


def not_proven(guarantees: Mapping[str, Mapping[str, int]], doubts: list[Doubt]) -> list[str]:
    """What a reader may not conclude, in sentences."""
    found = [
        f"{name}: {totals[outcome]:,} messages {why}"
        for name, totals in guarantees.items()
        for outcome, why in _WHY_NOT.items()
        if totals.get(outcome)
    ]
    if doubts:
        found.append(
            f"Anything that the records of {len(doubts):,} lives would show: they are incomplete, retired or changed."
        )
    found += [
        f"{name}: no message was of a kind to which this applies." for name in VIOLATIONS if name not in guarantees
    ]
    return [*found, *NEVER_PROVEN]


_WHY_NOT: Final = {
    WAITING: "still lie in their mailboxes.",
    UNKNOWN: "look wrong, and missing records may explain it.",
    VIOLATED: "were not as promised.",
    SHARED: "came from mailboxes that several applications read, which have no order.",
    FEWER: "were acknowledged on fewer brokers than were asked for.",
    UNRECORDED: "are of applications that write no lake.",
}


def _time(nanoseconds: int) -> str:
    return dt.datetime.fromtimestamp(nanoseconds / SECOND, dt.UTC).isoformat(timespec="milliseconds")


def told(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as people read it."""
    ids = f"{finding['first']}..{finding['last']}" if finding["last"] > finding["first"] else str(finding["first"])
    steps = [
        f"{one['writer']}/{one['life']} #{one['sequence']} {one['step']} {one['source']} {one['first']}..{one['last']}"
        for one in finding["evidence"]
    ]
    return {
        "what": VIOLATIONS[finding["guarantee"]],
        "outcome": finding["outcome"],
        "service": finding["service"],
        "messages": f"{finding['source']}:{finding['incarnation']:x}:{finding['dest']}:{finding['stream']}:{ids}",
        "mailbox": finding["mailbox"],
        "reason": finding["reason"],
        "doubt": finding["doubt"],
        "evidence": steps,
    }
