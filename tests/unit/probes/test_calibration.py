"""Calibration: a real broker does real work, within its budget."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import pytest

from causeway.errors import LocalProtocolError
from causeway.probes import calibration
from causeway.probes.calibration import BATCHES_MIN, MESSAGE_BYTES, WARM_UP, Calibration, LoneBroker
from causeway.store.base import Put, Write
from causeway.types import MILLISECOND


@pytest.mark.parametrize("count", [1, 64])
def test_every_batch_is_stored_delivered_and_settled(count: int) -> None:
    broker = LoneBroker(count)
    puts: list[int] = []
    commit = broker._store.commit

    def watched(writes: Sequence[Write]) -> None:
        puts.extend(len(write.value) for write in writes if isinstance(write, Put))
        commit(writes)

    broker._store.commit = watched  # type: ignore[method-assign]
    for _ in range(50):
        broker.send()
    assert sum(size >= count * MESSAGE_BYTES for size in puts) == 51, "the first one too, when it was held"
    mailboxes = broker._node.statistics()["mailboxes"]
    assert isinstance(mailboxes, list)
    assert mailboxes[0]["stored"] == mailboxes[0]["unsettled"] == count, "the last one is held, all others are settled"


def test_a_broker_that_loses_messages_is_not_measured() -> None:
    broker = LoneBroker(3)
    broker._perform = lambda effects: None  # type: ignore[method-assign]
    with pytest.raises(LocalProtocolError, match="0 of 3"):
        broker.send()


def test_rate_is_that_of_the_median_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of five timed stretches, two for each batch, one takes 500 ms and the others 1 ms: 10 messages in 2 ms.
    times = itertools.accumulate(itertools.cycle([0, 1, 0, 1, 0, 500, 0, 1, 0, 1]))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(times) * MILLISECOND)
    assert calibration._rate(10, 5000 * MILLISECOND) == pytest.approx(5000)


def test_budget_bounds_the_work_and_a_slow_machine_still_gets_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[LoneBroker] = []
    send = LoneBroker.send
    monkeypatch.setattr(LoneBroker, "send", lambda self: (sent.append(self), send(self)))
    assert calibration._rate(1, 0) > 0
    assert len(sent) == WARM_UP + BATCHES_MIN


def test_batches_are_cheaper_and_a_beginner_is_modest() -> None:
    found = calibration.calibrate()
    assert found.batched > 2 * found.single > 0
    assert Calibration(9.0, 2.0).start == 2.0
