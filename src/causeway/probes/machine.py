"""Our own probes: what this machine has left for a broker.

Owns: how each resource is read from the system. Must not know: needs, weights, scores.

They look at the machine as this process sees it: the processors it may run on, the memory the system would give it, the
file system of its data directory. Quotas of a container's control group are not looked at; whoever runs brokers under
quotas names a probe of their own.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

CPU_SECONDS_MIN: Final = 0.1
"""The system counts processor time in hundredths of a second: a shorter look would be mostly rounding."""


class CpuProbe:
    """Cores that nobody uses, of those this process may run on; the mean since it was last asked."""

    name = "cpu"
    unit = "cores"

    def __init__(self) -> None:
        self._asked = time.monotonic()
        self._times = _processor_times()

    def measure(self) -> float | None:
        """Waits a moment when it was asked just before."""
        time.sleep(max(0.0, CPU_SECONDS_MIN - (time.monotonic() - self._asked)))
        before, now = self._times, _processor_times()
        self._asked, self._times = time.monotonic(), now
        free = 0.0
        for number, (idle, total) in now.items():
            idle_before, total_before = before.get(number, (0.0, 0.0))
            if total > total_before:
                free += min(1.0, max(0.0, (idle - idle_before) / (total - total_before)))
        return free


class MemoryProbe:
    """What programs can get without swapping: free memory and what the system would give up for it."""

    name = "memory"
    unit = "bytes"

    def measure(self) -> float | None:
        """Bytes."""
        return float(psutil.virtual_memory().available)


class BatteryProbe:
    """How full the battery is: 100 on mains, also while it charges; None where there is none."""

    name = "battery"
    unit = "percent"

    def measure(self) -> float | None:
        """Percent."""
        read = getattr(psutil, "sensors_battery", None)  # not on every system
        battery = read() if read is not None else None
        if battery is None:
            return None
        return 100.0 if battery.power_plugged else float(battery.percent)


class DiskProbe:
    """What may still be written to the file system of a directory; None without one (`durability` memory)."""

    name = "disk"
    unit = "bytes"

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def measure(self) -> float | None:
        """Bytes."""
        if self._data is None:
            return None
        nearest = next(path for path in (self._data, *self._data.absolute().parents) if path.exists())
        return float(psutil.disk_usage(str(nearest)).free)


class BandwidthProbe:
    """Bytes per second that the fastest network interface is rated for, less what went through it since the last look.

    That is a guess at best, as it says nothing about the way beyond the first cable. The links know no better: what
    goes over one that is not full is what somebody wanted to send, and one that is full shows how fast the other broker
    reads. Virtual interfaces often have no rating, then it is None, which counts as met.
    """

    name = "bandwidth"
    unit = "bytes/s"

    def __init__(self) -> None:
        self._looked: tuple[float, str, int, int] | None = None
        """When, at which interface, and what it had sent and received."""

    def measure(self) -> float | None:
        """Bytes per second."""
        rated: dict[str, float] = {
            name: state.speed * 1_000_000 / 8
            for name, state in psutil.net_if_stats().items()
            if state.isup and state.speed > 0 and "loopback" not in state.flags.split(",")
        }
        if not rated:
            return None
        name = max(rated, key=rated.__getitem__)
        counted = psutil.net_io_counters(pernic=True).get(name)
        now, before = time.monotonic(), self._looked
        used = 0.0
        if counted is not None:
            sent, received = int(counted.bytes_sent), int(counted.bytes_recv)
            self._looked = (now, name, sent, received)
            if before is not None and before[1] == name and now > before[0]:
                # What an interface is rated for, it does both ways at once: the fuller direction counts.
                used = max(0, sent - before[2], received - before[3]) / (now - before[0])
        return max(0.0, rated[name] - used)


def _processor_times() -> dict[int, tuple[float, float]]:
    """Idle and total seconds of each processor that this process may run on."""
    times = psutil.cpu_times(percpu=True)
    allowed = list(range(len(times)))
    with contextlib.suppress(AttributeError, OSError):  # not on every system
        allowed = sorted(os.sched_getaffinity(0))
    found: dict[int, tuple[float, float]] = {}
    for number in allowed:
        if number < len(times):
            one = times[number]
            guests = getattr(one, "guest", 0.0) + getattr(one, "guest_nice", 0.0)  # counted as user time already
            found[number] = (one.idle + getattr(one, "iowait", 0.0), sum(one) - guests)
    return found
