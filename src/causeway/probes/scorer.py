"""Measures and scores, in threads of its own, again and again.

Owns: when to measure, and that nothing a probe does reaches the broker: one that raises counts 0 with its error as the
reason; one that does not answer in time counts 0 until it does, and is not asked again before. Must not know: event
loops, brokers, the simulator (which feeds scores by hand).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from causeway.probes.needs import Need
from causeway.probes.registry import ResourceProbe
from causeway.probes.score import ProbeAnswer, Score, normalised, rate

INTERVAL_SECONDS: Final = 2.0
"""A landmark promotes seconds after a failure at the latest; measuring takes about a millisecond of processor time."""

PATIENCE_SECONDS: Final = 1.0
"""For all probes of one round together: they run at the same time."""


class Scorer:
    """The last score of this machine, always at hand. One use: start it, stop it."""

    def __init__(
        self,
        needs: Sequence[Need],
        probes: Mapping[str, ResourceProbe],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        normalised(needs)
        self._needs = tuple(needs)
        self._askings = {one.probe: _Asking(one.probe, probes[one.probe]) for one in needs}
        self._interval_seconds = interval_seconds
        self._patience_seconds = patience_seconds
        self._score = rate(self._needs, {})
        self._prompted = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def score(self) -> Score:
        """The last one, at once; 0 with reasons before anything was measured. For any thread."""
        return self._score

    def start(self) -> None:
        """Measure now and at every interval."""
        if self._thread is None:
            # A daemon, as its probes are: a process must be able to end although somebody else's code hangs.
            self._thread = threading.Thread(target=self._run, name="causeway-scorer", daemon=True)
            self._thread.start()

    def prompt(self) -> None:
        """Something happened that may change the score: measure soon instead of at the end of the interval."""
        self._prompted.set()

    def stop(self) -> None:
        """Measure no more; the last score stays. Waits for nothing; idempotent."""
        self._stopped = True
        self._prompted.set()

    def measure(self) -> Score:
        """One round, in the caller's time: at most the patience with probes."""
        end = time.monotonic() + self._patience_seconds
        for asking in self._askings.values():
            asking.begin()
        measured = {name: asking.answer(end, self._patience_seconds) for name, asking in self._askings.items()}
        self._score = score = rate(self._needs, measured)
        return score

    def _run(self) -> None:
        while not self._stopped:
            self._prompted.clear()
            self.measure()
            if not self._stopped:
                self._prompted.wait(self._interval_seconds)


class _Asking:
    """One probe and its thread: never more than one, however often it is asked and however long it takes."""

    def __init__(self, name: str, probe: ResourceProbe) -> None:
        self._name = name
        self._probe = probe
        self._thread: threading.Thread | None = None
        self._found = ProbeAnswer()

    def begin(self) -> None:
        """Ask, unless it still owes an answer."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(target=self._ask, name=f"causeway-probe-{self._name}", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no thread left: it may have one in the next round
            self._thread = None
            self._found = ProbeAnswer(failure=str(error))

    def answer(self, end: float, patience_seconds: float) -> ProbeAnswer:
        """What it said, if it did so before `end`."""
        if self._thread is not None:
            self._thread.join(max(0.0, end - time.monotonic()))
            if self._thread.is_alive():
                return ProbeAnswer(failure=f"it did not answer within {patience_seconds:g} s")
        return self._found

    def _ask(self) -> None:
        try:
            available = self._probe.measure()
            self._found = (
                ProbeAnswer(note="there is none here, or it cannot be measured: it counts as met")
                if available is None
                else ProbeAnswer(float(available))
            )
        except BaseException as error:  # somebody else's code in a thread of its own: it ends nothing but its answer
            self._found = ProbeAnswer(failure=f"{type(error).__name__}: {error}")
