"""An outage: messages flow, the broker that holds them is killed, and they flow on.

    causeway up --brokers 5 --detach
    python examples/outage.py

One application sends numbered messages to a mailbox, and another one reads them. After two seconds the broker that
owns the mailbox gets SIGKILL. At the end it counts what is missing, what came twice and what came out of order; all
three must be 0. The broker stays dead until `causeway up` starts it again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import causeway

MAILBOX = "control"
PACE_SECONDS = 0.01
SHOW_SECONDS = 1.0


@dataclass
class Flow:
    """What was sent, and what came of it."""

    run: str = field(default_factory=lambda: str(time.time_ns()))
    sent: int = 0
    acknowledged: int = 0
    arrived: list[int] = field(default_factory=list)
    slowest: float = 0.0

    async def send(self, bus: causeway.Bus, seconds: float) -> None:
        """Send number after number; each counts when it is acknowledged."""
        end = time.monotonic() + seconds
        while (begun := time.monotonic()) < end:
            self.sent += 1
            await bus.send(MAILBOX, str(self.sent), service="transactional", headers={"run": self.run})
            self.acknowledged += 1
            self.slowest = max(self.slowest, time.monotonic() - begun)
            await asyncio.sleep(PACE_SECONDS)

    async def receive(self, bus: causeway.Bus) -> None:
        """Note every number, until nothing more comes."""
        async for message in bus.receive(MAILBOX, timeout=3):
            if message.headers["run"] == self.run:  # an earlier run may have been stopped half-way
                self.arrived.append(int(message.text))

    async def show(self, bus: causeway.Bus, seconds: float) -> None:
        """Print how far it is, again and again."""
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < seconds:
            owner = await bus.find(MAILBOX)
            arrived = len(self.arrived)
            print(f"{now:5.1f} s  {MAILBOX} is on {owner}   acknowledged {self.acknowledged:4}   arrived {arrived:4}")
            await asyncio.sleep(SHOW_SECONDS)

    def verdict(self) -> str:
        """The count at the end."""
        missing = self.acknowledged - len(set(self.arrived))
        doubled = len(self.arrived) - len(set(self.arrived))
        disordered = sum(later < earlier for earlier, later in zip(self.arrived, self.arrived[1:], strict=False))
        return (
            f"{self.acknowledged} acknowledged, {missing} missing, {doubled} doubled, {disordered} out of order; "
            f"slowest send {self.slowest * 1000:.0f} ms"
        )


def local_brokers(data: str | None) -> dict[str, dict[str, Any]]:
    """The brokers of `causeway up` by name, as `causeway status` shows them."""
    command = [sys.executable, "-m", "causeway", "status", "--json", *(["--data", data] if data else [])]
    status = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    shown = json.loads(status.stdout)
    if "brokers" not in shown:  # it has said why; a code alone may mean that a broker is down
        sys.exit(status.returncode)
    if shown["others"] and not data:
        running = ", ".join((shown["data"], *shown["others"]))
        sys.exit(f"several clusters run; say with --data whose broker to kill: {running}")
    return {broker["name"]: broker for broker in shown["brokers"]}


async def main(brokers: dict[str, dict[str, Any]], seconds: float) -> bool:
    """Let messages flow for so long; whether all arrived once and in order."""
    url = "causeway://" + ",".join(broker["address"] for broker in brokers.values())
    flow = Flow()
    async with (
        causeway.connect(url, name="track-7") as sender,
        causeway.connect(url, name="control-room") as reader,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(flow.send(sender, seconds))
        tasks.create_task(flow.receive(reader))
        tasks.create_task(flow.show(reader, seconds))
        await asyncio.sleep(0.42 * seconds)
        owner = brokers[await reader.find(MAILBOX)]
        print(f"         kill -9 {owner['pid']}   # {owner['name']}")
        os.kill(owner["pid"], signal.SIGKILL)
    print(flow.verdict())
    return flow.arrived == list(range(1, flow.acknowledged + 1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill the broker that holds a mailbox while messages flow.")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long to send (6)")
    parser.add_argument("--data", help="data directory of the cluster; not needed if only one runs")
    chosen = parser.parse_args()
    sys.exit(0 if asyncio.run(main(local_brokers(chosen.data), chosen.seconds)) else 1)
