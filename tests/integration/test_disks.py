"""Real brokers whose disks are replaced: one after another nothing stops; too many at once, and people decide."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import causeway
from causeway.cli.status import survey
from causeway.cli.view import ClusterView
from causeway.client.url import parse_url
from tests.integration import processes

pytestmark = pytest.mark.timeout(240)

PATIENCE = 60.0
MAILBOXES = [f"box-{number}" for number in range(12)]


class Rack:
    """Five brokers on disk, three copies of everything, each directory a disk."""

    def __init__(self, root: Path) -> None:
        self.data = root / "cluster"
        self._environ = processes.environment(root)
        self.url = ""
        self.pids: dict[str, int] = {}

    def run(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        done = processes.causeway(arguments[0], "--data", str(self.data), *arguments[1:], environ=self._environ)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return processes.json_lines(done.stdout)

    def up(self, *arguments: str) -> None:
        [answer] = self.run("up", "--detach", "--json", *arguments)
        self.url = answer["url"]
        self.pids = {broker["name"]: broker["pid"] for broker in answer["brokers"]}

    def lose(self, *names: str) -> None:
        """Kill brokers and delete what they have stored."""
        for name in names:
            os.kill(self.pids[name], signal.SIGKILL)
        for name in names:
            shutil.rmtree(self.data / name)

    async def seen(self, what: str, holds: Callable[[ClusterView], bool]) -> ClusterView:
        deadline = time.monotonic() + PATIENCE
        while not holds(view := await survey(parse_url(self.url))):
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE:g} s; {view.exposed} {view.mailboxes}"
            await asyncio.sleep(0.1)
        return view


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    made = Rack(tmp_path)
    made.up("--brokers", "5", "--port", "0")
    yield made
    made.run("down", "--json")


async def test_disks_replaced_one_after_another_stop_nothing_and_people_decide_when_too_many_are_lost(
    rack: Rack,
) -> None:
    async with causeway.connect(rack.url, name="writer") as bus:
        for mailbox in MAILBOXES:
            await bus.send(mailbox, f"kept in {mailbox}", service="transactional")
    for name in ("broker-1", "broker-2", "broker-5"):
        await rack.seen("healthy before a disk is lost", lambda view: view.healthy)
        rack.lose(name)
        rack.up()
    view = await rack.seen("healthy after three disks", lambda view: view.healthy)
    os.kill(rack.pids["broker-3"], signal.SIGKILL)
    await rack.seen("all served by four", lambda view: all(line.serving for line in view.mailboxes))
    rack.up()
    view = await rack.seen("five again", lambda view: view.healthy)

    first = view.mailboxes[0]
    left = [first.owner, next(line.name for line in view.brokers if line.name not in first.members)]
    rack.lose(*(line.name for line in view.brokers if line.name not in left))
    rack.up()
    saved = sorted(line.name for line in view.mailboxes if any(name in line.members for name in left))

    def stopped(view: ClusterView) -> bool:
        lines = {line.name: line for line in view.mailboxes if line.name in saved}
        return bool(lines[first.name].blocked) and all(line.serving or line.blocked for line in lines.values())

    await rack.seen("a mailbox has stopped", stopped)
    [refused] = rack.run("salvage", first.name, "--json", code=2)
    assert "--yes" in refused["error"]["message"]
    [answer] = rack.run("salvage", "--all", "--yes", "--json")
    names = [line["mailbox"] for line in answer["salvaged"]]
    assert first.name in names
    assert "causeway/root" not in names[1:], "the directory comes first"
    assert all(line["broker"] in left and not line["error"] for line in answer["salvaged"]), answer

    def serves(view: ClusterView) -> bool:
        served = {line.name for line in view.mailboxes if line.serving and not line.incomplete}
        return served >= set(saved)

    await rack.seen("what was salvaged has its copies again", serves)
    async with causeway.connect(rack.url, name="reader") as bus:
        for mailbox in saved:
            async with bus.consumer(mailbox) as reader:
                message = await reader.get(PATIENCE)
                assert message.text == f"kept in {mailbox}"
                message.ack()
