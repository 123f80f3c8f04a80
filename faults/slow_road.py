"""The slow road: a switch in this process that delays, loses, repeats and reorders what is sent by it.

Owns: the device at the bridge to which hosts send what shall take this road, and the weather between each two of them.
Most kernels have netem for this; not all. A switch of one's own is the same everywhere, and drawn from a seed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import socket
import struct
from collections.abc import Mapping
from typing import Final

import msgspec

from faults.hosts import SLOW

_TUNSETIFF: Final = 0x400454CA
_TAP: Final = 0x0002
_NO_HEADER: Final = 0x1000
_FRAME_BYTES_MAX: Final = 65_536
_FRAMES_PER_TURN: Final = 64
WAITING_MAX: Final = 10_000
"""Frames under way; more are lost, as on a road that is full."""


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a frame between two hosts."""

    delay: float = 0.0
    """Seconds."""
    jitter: float = 0.0
    """So much more at most, drawn for each frame: those behind overtake it."""
    loss: float = 0.0
    """Share that does not arrive."""
    repeats: float = 0.0
    """Share that arrives twice."""

    def __str__(self) -> str:
        parts = [f"{1000 * self.delay:g} to {1000 * (self.delay + self.jitter):g} ms" if self.delay else ""]
        parts.append(f"{100 * self.loss:g} % lost" if self.loss else "")
        parts.append(f"{100 * self.repeats:g} % twice" if self.repeats else "")
        return ", ".join(part for part in parts if part)


class SlowRoad:
    """Open it once, inside the event loop."""

    def __init__(self, rng: random.Random, macs: Mapping[str, str] | None = None) -> None:
        self._rng = rng
        self._weather: dict[tuple[bytes, bytes], Weather] = {}
        self._macs: dict[bytes, bytes] = {}
        self._waiting = 0
        self.counts = {"passed": 0, "lost": 0, "repeated": 0}
        self._device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self._device, _TUNSETIFF, struct.pack("16sH22x", SLOW.encode(), _TAP | _NO_HEADER))
        for address, mac in (macs or {}).items():
            self.know(address, mac)

    def open(self) -> None:
        """Begin to pass on what comes."""
        asyncio.get_running_loop().add_reader(self._device, self._read)

    def close(self) -> None:
        """Nothing passes any more."""
        asyncio.get_running_loop().remove_reader(self._device)

    def know(self, address: str, mac: str) -> None:
        """Where a host really is."""
        self._macs[socket.inet_aton(address)] = bytes.fromhex(mac.replace(":", ""))

    def forecast(self, source: str, target: str, weather: Weather) -> None:
        """From now on between these two, in this direction."""
        self._weather[(socket.inet_aton(source), socket.inet_aton(target))] = weather

    def _read(self) -> None:
        for _ in range(_FRAMES_PER_TURN):
            try:
                frame = os.read(self._device, _FRAME_BYTES_MAX)
            except BlockingIOError:
                return
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        # Ethernet, then IPv4: addresses at 12 and 16 of its header.
        source, target = frame[26:30], frame[30:34]
        weather, mac = self._weather.get((source, target)), self._macs.get(target)
        if weather is None or mac is None:
            return
        if self._rng.random() < weather.loss or self._waiting >= WAITING_MAX:
            self.counts["lost"] += 1
            return
        frame = mac + frame[6:]
        for _ in range(2 if self._rng.random() < weather.repeats else 1):
            self._waiting += 1
            delay = weather.delay + self._rng.random() * weather.jitter
            asyncio.get_running_loop().call_later(delay, self._give, frame)

    def _give(self, frame: bytes) -> None:
        self._waiting -= 1
        self.counts["passed"] += 1
        try:
            os.write(self._device, frame)
        except OSError:
            self.counts["lost"] += 1
