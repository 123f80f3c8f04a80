"""How far a stream is behind: per mailbox, from the progress that Spark reports.

Spark's progress has a source's offsets as text: where the micro-batch began and ended, and where the mailboxes end now.
Owns: what follows from them. Must not know: the bus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

OLDEST_AGE: Final = "oldest_age"
"""What a source adds to where a mailbox ends: seconds since its first message behind the micro-batch was taken."""
BEGUN: Final = "begun"
"""And where the micro-batch began, as a count: Spark does not say that of a query's first one."""


class MailboxProgress(NamedTuple):
    """One mailbox in one micro-batch: a queue, or the history of some topics. It is what a partition is for Kafka."""

    mailbox: str
    messages: int
    """In this micro-batch."""
    messages_per_second: float
    lag_messages: int
    """Behind the end of this micro-batch."""
    lag_seconds: float
    """The age of the oldest of these."""


def mailbox_progress(progress: Any) -> list[MailboxProgress]:
    """Of a `StreamingQueryProgress` (`query.lastProgress`, or `event.progress` in a `StreamingQueryListener`)."""
    found = progress if isinstance(progress, Mapping) else json.loads(progress.json)
    seconds = found.get("durationMs", {}).get("triggerExecution", 0) / 1000
    return [one for source in found["sources"] for one in _of_source(source, seconds)]


def _of_source(source: Mapping[str, Any], seconds: float) -> Iterator[MailboxProgress]:
    """Sources of others say other things."""
    start, end, latest = (_offsets(source.get(side)) for side in ("startOffset", "endOffset", "latestOffset"))
    for mailbox, last in end.items():
        now = latest.get(mailbox, last)
        messages = last["ever"] - start.get(mailbox, {}).get("ever", now.get(BEGUN, last["ever"]))
        rate = round(messages / seconds, 3) if seconds else 0.0
        lag = max(0, now["ever"] - last["ever"])
        yield MailboxProgress(mailbox, messages, rate, lag, float(now.get(OLDEST_AGE, 0.0)) if lag else 0.0)


def _offsets(said: Any) -> dict[str, Any]:
    """By mailbox. Spark gives them as text, or parsed."""
    found = json.loads(said) if isinstance(said, str) else said
    ours = isinstance(found, dict) and all(isinstance(one, dict) and "ever" in one for one in found.values())
    return found if ours else {}
