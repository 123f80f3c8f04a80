"""Processes by more than their number: a pid is reused, a pid with its start time is not.

Owns: telling whether a process recorded earlier still runs, and signalling it without ever hitting a stranger.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import msgspec

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class ProcessId(msgspec.Struct, frozen=True):
    """One process for ever: number, start time in clock ticks since boot, and which boot."""

    pid: int
    started: int
    boot: str


def identify(pid: int) -> ProcessId | None:
    """The living process with this number; None when nobody has it (a zombie has ended)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    # The command name stands in parentheses and may itself hold spaces and parentheses; fields follow the last one.
    fields = stat[stat.rindex(")") + 2 :].split()
    if fields[0] in ("Z", "X"):
        return None
    return ProcessId(pid, int(fields[19]), boot)


def is_running(process: ProcessId | None) -> bool:
    """Whether exactly this process still runs."""
    return process is not None and identify(process.pid) == process


def send_signal(process: ProcessId, number: signal.Signals) -> bool:
    """Signal exactly this process; False when it has ended. A descriptor closes the race with a reused number."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if identify(process.pid) != process:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
            return True
        return False
    finally:
        os.close(handle)
