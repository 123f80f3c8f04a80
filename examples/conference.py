"""A conference: one speaker shows frames of 1 MiB, many listeners see them, and slow ones miss some.

    python examples/conference.py --url causeway://127.0.0.1:7400 --listeners 4 --slow 1 --frames 30

Every frame is published once; the brokers make the copies. A slow listener must hold up neither the speaker nor others:
its subscription has room for a few frames and drops the oldest (overflow="drop_oldest"), so that what it sees is late
by a few frames at most. At the end each listener tells what it got.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import sys
from dataclasses import dataclass

import causeway

FRAME_BYTES = 1024 * 1024
ROOM_FRAMES = 4
"""Frames that wait for a listener before the oldest is dropped."""


@dataclass
class Attendance:
    """What one listener got."""

    name: str
    frames: list[int]
    damaged: int = 0

    def __str__(self) -> str:
        got, last = len(self.frames), self.frames[-1]
        return f"{self.name}: {got} frames, {last + 1 - got} missed, {self.damaged} damaged, last {last}"


async def speak(bus: causeway.Bus, topic: str, frames: int, seconds: float) -> None:
    """Show one frame after the other, no faster than they are taken."""
    pixels = random.Random(0)
    for number in range(frames):
        frame = pixels.randbytes(FRAME_BYTES)
        digest = hashlib.blake2b(frame).hexdigest()
        await bus.publish(topic, frame, headers={"number": number, "digest": digest, "last": number == frames - 1})
        await asyncio.sleep(seconds)


async def listen(feed: causeway.MessageFeed, name: str, seconds: float) -> Attendance:
    """See frames until the last one, and look at each for so long."""
    got = Attendance(name, [])
    async for message in feed:
        headers = message.headers
        got.frames.append(int(str(headers["number"])))
        if hashlib.blake2b(message.body).hexdigest() != headers["digest"]:
            got.damaged += 1
        if headers["last"]:
            break
        await asyncio.sleep(seconds)
    return got


async def hold(url: str, *, listeners: int, slow: int, frames: int, pace: float = 0.05) -> list[Attendance]:
    """The whole conference; what each listener got."""
    topic = f"conference/{random.SystemRandom().randrange(1 << 32):08x}"
    async with causeway.connect(url, name="speaker", window_bytes=16 * FRAME_BYTES) as speaker:
        buses = [await causeway.connect(url, name=f"listener-{number}").open() for number in range(listeners)]
        try:
            tasks = []
            for number, bus in enumerate(buses):
                if number < slow:
                    # What was prefetched is with the listener already, and cannot be dropped any more.
                    room = ROOM_FRAMES * FRAME_BYTES
                    feed = bus.subscribe(topic, overflow="drop_oldest", bytes_max=room, prefetch=1)
                else:
                    feed = bus.subscribe(topic)
                await feed.ready()
                name = f"{bus.name} (slow)" if number < slow else bus.name
                tasks.append(asyncio.create_task(listen(feed, name, 8 * pace if number < slow else 0)))
            await speak(speaker, topic, frames, pace)
            return [await task for task in tasks]
        finally:
            for bus in buses:
                await bus.aclose()


def main() -> None:
    """Read the command line, hold the conference, tell what each listener got."""
    parser = argparse.ArgumentParser(description="One speaker, many listeners, large frames.")
    parser.add_argument("--url", default="causeway://127.0.0.1:7400")
    parser.add_argument("--listeners", type=int, default=4)
    parser.add_argument("--slow", type=int, default=1, help="how many of them are slow")
    parser.add_argument("--frames", type=int, default=30)
    given = parser.parse_args()
    for got in asyncio.run(hold(given.url, listeners=given.listeners, slow=given.slow, frames=given.frames)):
        print(got)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
