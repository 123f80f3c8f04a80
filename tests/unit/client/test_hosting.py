"""Programs that end without closing their bus: what they sent arrives, or they are told of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from causeway.errors import Code
from tests.unit.client._sync.test_bus import eventually
from tests.unit.client.fake_broker import FakeBroker

SYNC = """
import sys
import causeway.sync
bus = causeway.sync.connect(sys.argv[1], name="hasty", **OPTIONS).open()
for number in range(COUNT):
    bus.send("orders", str(number), wait=False, timeout=TIMEOUT)
"""

ASYNC = """
import asyncio, sys
import causeway
async def main():
    bus = await causeway.connect(sys.argv[1], name="hasty", **OPTIONS).open()
    bus.send_nowait("orders", b"nobody answers")
asyncio.run(main())
"""


def errors_of(broker: FakeBroker, script: str, *flags: str, **names: object) -> str:
    """What a program writes that ends well, but for what it was told."""
    known = {"OPTIONS": {}, "COUNT": 1, "TIMEOUT": 30, **names}
    text = "".join(f"{name} = {value!r}\n" for name, value in known.items()) + script
    command = [sys.executable, *flags, "-c", text, broker.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def test_what_was_sent_arrives_though_the_program_ends_without_closing(broker: FakeBroker) -> None:
    assert errors_of(broker, SYNC, COUNT=20_000) == ""
    assert len(broker.stored("orders")) == 20_000
    eventually(lambda: not broker.sessions)


def test_lake_and_kept_state_are_closed_when_the_program_ends(broker: FakeBroker, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    options = {"state": str(tmp_path / "state"), "lake": str(tmp_path / "lake")}
    assert errors_of(broker, SYNC, OPTIONS=options) == ""
    assert broker.stored("orders") == [b"0"]
    assert list((tmp_path / "lake").rglob("*.parquet"))


def test_bus_that_is_open_when_the_program_ends_says_where_it_began(broker: FakeBroker) -> None:
    said = errors_of(broker, SYNC, "-W", "always::ResourceWarning")
    assert "the bus of 'hasty', begun at <string>:7, was not closed" in said


def test_program_that_ends_without_closing_is_told_what_failed(broker: FakeBroker) -> None:
    broker.refusal = Code.OVERLOADED
    said = errors_of(broker, SYNC, TIMEOUT=0.3)
    assert "RuntimeWarning: the bus of 'hasty', begun at <string>:7, was not closed; a send failed: no ack" in said


def test_program_whose_event_loop_ended_first_is_told_what_is_unacknowledged(broker: FakeBroker) -> None:
    broker.deaf = True
    said = errors_of(broker, ASYNC)
    assert "RuntimeWarning: the bus of 'hasty', begun at <string>:8, was not closed; a send failed: 1 messages" in said
