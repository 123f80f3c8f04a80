"""Measuring again and again, whatever probes do."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from causeway.errors import ConfigError
from causeway.probes.needs import Need
from causeway.probes.scorer import Scorer

SECONDS_MAX = 10.0


class Planted:
    """A probe that does what the test says."""

    unit = "things"

    def __init__(self, name: str, measure: Callable[[], float | None]) -> None:
        self.name = name
        self.measure = measure


def scorer(interval_seconds: float = 3600, **measures: Callable[[], float | None]) -> Scorer:
    probes = {name: Planted(name, measure) for name, measure in measures.items()}
    needs = [Need(name, 1.0) for name in measures]
    return Scorer(needs, probes, interval_seconds=interval_seconds, patience_seconds=0.05)


def test_before_anything_was_measured_the_score_is_0_and_says_so() -> None:
    score = scorer(a=lambda: 1.0).score()
    assert (score.value, score.reasons) == (0.0, {"a": "not measured yet"})


def test_a_probe_that_raises_counts_0_and_the_others_stand() -> None:
    def fail() -> float | None:
        raise OSError("gone")

    one = scorer(a=lambda: 2.0, b=fail, c=lambda: None)
    assert one.measure() is one.score()
    assert [part.value for part in one.score().parts] == [1.0, 0.0, 1.0]
    assert one.score().reasons["b"] == "OSError: gone"
    assert "counts as met" in one.score().reasons["c"]


def test_a_probe_that_hangs_counts_0_has_one_thread_and_counts_again_when_it_is_back() -> None:
    hangs, asked = threading.Event(), []

    def wait() -> float | None:
        asked.append(threading.current_thread())
        assert hangs.wait(SECONDS_MAX)
        return 1.0

    one = scorer(a=wait, b=lambda: 1.0)
    for _ in range(3):
        assert [part.value for part in one.measure().parts] == [0.0, 1.0]
    assert "did not answer within 0.05 s" in one.score().reasons["a"]
    assert len(asked) == 1, "it is not asked again as long as it owes an answer"
    assert asked[0].daemon, "a process must be able to end beside it"
    hangs.set()
    asked[0].join(SECONDS_MAX)
    assert one.measure().value == 1.0
    assert one.score().reasons == {}


def test_a_probe_whose_thread_ends_or_cannot_begin_is_not_taken_at_its_last_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([1.0])

    def once() -> float | None:
        for answer in answers:
            return answer
        raise SystemExit

    one = scorer(a=once)
    assert one.measure().value == 1.0
    assert (one.measure().value, one.score().reasons) == (0.0, {"a": "SystemExit: "})

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert (one.measure().value, one.score().reasons) == (0.0, {"a": "can't start new thread"})


def test_it_measures_at_every_interval_and_when_prompted_until_it_is_stopped() -> None:
    measured = threading.Semaphore(0)

    def count() -> float | None:
        measured.release()
        return 1.0

    often = scorer(interval_seconds=0.001, a=count)
    often.start()
    often.start()
    assert all(measured.acquire(timeout=SECONDS_MAX) for _ in range(3))
    often.stop()

    rounds = threading.Semaphore(0)
    seldom = scorer(interval_seconds=3600, a=lambda: rounds.release() or 1.0)
    seldom.start()
    assert rounds.acquire(timeout=SECONDS_MAX), "once at the start"
    seldom.prompt()
    assert rounds.acquire(timeout=SECONDS_MAX), "and at once when prompted"
    seldom.stop()
    assert seldom._thread is not None
    seldom._thread.join(SECONDS_MAX)
    assert not seldom._thread.is_alive()


def test_weights_are_checked_before_anything_is_measured() -> None:
    with pytest.raises(ConfigError):
        Scorer([Need("a", 1.0, 0.0)], {"a": Planted("a", lambda: 1.0)})
