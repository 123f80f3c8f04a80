"""Chat rooms: each room is a topic, its members are subscribers.

    python examples/chat.py --url causeway://127.0.0.1:7400 --name ada garden

Type a line to say it; `/topic WORDS` says what the room is about, `/who` lists who is there, `/quit` leaves.

- What is said is published on chat/ROOM, and nobody gets their own words back (no_local).
- What the room is about is retained on chat/ROOM/topic: a member who comes later is told first.
- Who is there is retained on chat/ROOM/here/NAME, and ends with an empty message. A member that is cut off
  cannot send that, so the message also has a time to live and is renewed meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterable, AsyncIterator

import causeway

HERE_SECONDS = 60.0
"""So long somebody who was cut off seems to be there."""


class Room:
    """A room, as one of its members sees it."""

    def __init__(self, bus: causeway.Bus, room: str) -> None:
        self.bus = bus
        self.path = f"chat/{room}"
        self.here = [bus.name]

    async def listen(self, feed: causeway.MessageFeed) -> None:
        """Show what others do."""
        async for message in feed:
            match str(message.topic).removeprefix(self.path).split("/")[1:]:
                case []:
                    show(f"{message.source}: {message.text}")
                case ["topic"]:
                    show(f"* the topic is: {message.text}")
                case ["here", who] if message.body and who not in self.here:
                    self.here.append(who)
                    show(f"* {who} is here")
                case ["here", who] if not message.body and who in self.here:
                    self.here.remove(who)
                    show(f"* {who} has left")

    async def stay(self) -> None:
        """Say again and again that we are here."""
        while True:
            await self.bus.publish(f"{self.path}/here/{self.bus.name}", b"here", retain=True, ttl=HERE_SECONDS)
            await asyncio.sleep(HERE_SECONDS / 3)

    async def do(self, line: str) -> None:
        """What a member typed."""
        match line.split(maxsplit=1):
            case ["/who"]:
                show(f"* here are: {', '.join(sorted(self.here))}")
            case ["/topic", words]:
                await self.bus.publish(f"{self.path}/topic", words.strip(), retain=True)
            case [_, *_]:
                await self.bus.publish(self.path, line.strip())

    async def leave(self) -> None:
        """Say that we are gone."""
        await self.bus.publish(f"{self.path}/here/{self.bus.name}", b"", retain=True)


async def chat(url: str, name: str, room: str, lines: AsyncIterable[str]) -> None:
    """Be in a room as long as there are lines."""
    async with causeway.connect(url, name=name) as bus:
        here = Room(bus, room)
        feed = bus.subscribe(f"{here.path}/#", no_local=True)
        await feed.ready()
        tasks = [asyncio.create_task(here.listen(feed)), asyncio.create_task(here.stay())]
        try:
            show(f"* you are in {room}")
            async for line in lines:
                if line.strip() == "/quit":
                    break
                await here.do(line)
        finally:
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await here.leave()


async def typed() -> AsyncIterator[str]:
    """The lines of standard input."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line


def show(line: str) -> None:
    """Print at once, also into a pipe."""
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A chat room.")
    parser.add_argument("--url", default="causeway://127.0.0.1:7400")
    parser.add_argument("--name", required=True, help="who you are")
    parser.add_argument("room")
    given = parser.parse_args()
    try:
        asyncio.run(chat(given.url, given.name, given.room, typed()))
    except KeyboardInterrupt:
        sys.exit(130)
