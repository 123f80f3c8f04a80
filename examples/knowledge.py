"""A knowledge centre: authors add articles, readers come and go and miss nothing.

    python examples/knowledge.py --url causeway://127.0.0.1:7400 found
    python examples/knowledge.py add physics 2 "Light is a wave"
    python examples/knowledge.py read ada "subject = 'physics' AND level <= 2" --first

- An article is published on knowledge/SUBJECT, with its subject and level as headers.
- Each reader has a durable subscription: what is added while it is away waits for it. Its selector says what it wants.
- The centre keeps a history, and a new reader begins with what it holds (--first: start="earliest"). A reader that
  comes back goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

import causeway

PATTERN = "knowledge/#"
KEPT_SECONDS = 30 * 24 * 3600.0


async def found(url: str) -> None:
    """From now on the centre remembers; doing so again changes nothing."""
    async with causeway.connect(url, name="knowledge-centre") as bus:
        await bus.keep_history(PATTERN, seconds=KEPT_SECONDS)


async def add(url: str, subject: str, level: int, text: str) -> None:
    """Publish an article; returns when every reader will get it."""
    async with causeway.connect(url, name="knowledge-authors") as bus:
        await bus.publish(f"knowledge/{subject}", text, headers={"subject": subject, "level": level})


async def read(url: str, reader: str, wanted: str | None, *, first: bool = False, seconds: float = 2.0) -> list[str]:
    """What a reader has not read yet (the first time all there is), until nothing came for so many seconds."""
    found = []
    start = "earliest" if first else None
    async with causeway.connect(url, name=reader) as bus:
        feed = bus.subscribe(PATTERN, name="knowledge", durable=True, selector=wanted, start=start, timeout=seconds)
        async for message in feed:  # asking for the next one acknowledges the one before
            found.append(f"{message.topic}, level {message.headers['level']!r}: {message.text}")
    return found


async def forget(url: str, reader: str) -> None:
    """A reader will not come back: nothing is kept for it any more."""
    async with causeway.connect(url, name=reader) as bus:
        await bus.unsubscribe("knowledge")


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="A knowledge centre.")
    parser.add_argument("--url", default="causeway://127.0.0.1:7400")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("found", help="begin to remember")
    adding = commands.add_parser("add", help="add an article")
    adding.add_argument("subject")
    adding.add_argument("level", type=int)
    adding.add_argument("text")
    reading = commands.add_parser("read", help="read what is new")
    reading.add_argument("reader")
    reading.add_argument("wanted", nargs="?", help="a condition on subject and level")
    reading.add_argument("--first", action="store_true", help="a new reader: begin with all there is")
    reading.add_argument("--seconds", type=float, default=2.0, help="wait so long for more")
    forgetting = commands.add_parser("forget", help="a reader does not come back")
    forgetting.add_argument("reader")
    given = parser.parse_args()
    match given.command:
        case "found":
            asyncio.run(found(given.url))
        case "add":
            asyncio.run(add(given.url, given.subject, given.level, given.text))
        case "read":
            told = read(given.url, given.reader, given.wanted, first=given.first, seconds=given.seconds)
            for line in asyncio.run(told):
                print(line)
        case "forget":
            asyncio.run(forget(given.url, given.reader))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
