"""The programs in examples/, run as their users run them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.testing import LocalCluster
from examples import conference, knowledge
from tests.integration.documents import ROOT

EXAMPLES = ("chat.py", "conference.py", "knowledge.py")
SECONDS_MAX = 30.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as running:
        yield running


def command(example: str, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / example), *arguments]


def run(example: str, *arguments: str) -> str:
    """What an example prints."""
    ended = subprocess.run(
        command(example, *arguments), capture_output=True, text=True, timeout=2 * SECONDS_MAX, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    return ended.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_short_and_say_what_they_are_for(example: str) -> None:
    assert len((ROOT / "examples" / example).read_text().splitlines()) < 120
    assert "--url" in run(example, "--help")


def test_outage_without_a_cluster_says_how_to_start_one(tmp_path: Path) -> None:
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    ended = subprocess.run(
        command("outage.py"), env=environ, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert ended.returncode == 2
    (said,) = ended.stderr.splitlines()
    assert "start one with 'causeway up'" in said


# Chat ------------------------------------------------------------------------------------------------------------
class Member:
    """Somebody in a chat room."""

    def __init__(self, url: str, name: str, room: str) -> None:
        self._process = subprocess.Popen(
            command("chat.py", "--url", url, "--name", name, room),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.sees(f"* you are in {room}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    def types(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def sees(self, line: str) -> None:
        deadline = time.monotonic() + SECONDS_MAX
        while line not in self.lines:
            assert time.monotonic() < deadline, f"{line!r} is not among {self.lines}"
            time.sleep(0.02)

    def end(self) -> int:
        """Close what it types; its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait(SECONDS_MAX)
        self._reader.join(SECONDS_MAX)
        self._process.stdout.close()
        return code


def test_people_chat_in_rooms(cluster: LocalCluster) -> None:
    ada = Member(cluster.url, "ada", "garden")
    ada.types("/topic roses")
    ada.types("anybody?")
    bob = Member(cluster.url, "bob", "garden")
    cid = Member(cluster.url, "cid", "kitchen")
    bob.sees("* the topic is: roses")
    bob.sees("* ada is here")
    ada.sees("* bob is here")
    ada.types("hello bob")
    bob.sees("ada: hello bob")
    bob.types("/who")
    bob.sees("* here are: ada, bob")
    bob.types("bye")
    bob.types("/quit")
    ada.sees("bob: bye")
    ada.sees("* bob has left")
    assert [member.end() for member in (ada, bob, cid)] == [0, 0, 0]
    assert "ada: hello bob" not in ada.lines, "nobody hears the own words"
    assert "ada: anybody?" not in bob.lines, "what was said before is over"
    assert cid.lines == ["* you are in kitchen"]
    late = Member(cluster.url, "late", "garden")
    late.sees("* the topic is: roses")
    late.types("/who")
    late.sees("* here are: late")
    assert late.end() == 0


# Conference --------------------------------------------------------------------------------------------------------
def test_conference_tells_what_each_listener_got(cluster: LocalCluster) -> None:
    printed = run("conference.py", "--url", cluster.url, "--listeners", "3", "--slow", "1", "--frames", "12")
    slow, *fast = printed.splitlines()
    assert fast == [f"listener-{number}: 12 frames, 0 missed, 0 damaged, last 11" for number in (1, 2)]
    assert slow.startswith("listener-0 (slow): ")
    assert slow.endswith(" 0 damaged, last 11")
    assert " 0 missed" not in slow


async def test_slow_listener_sees_frames_in_order_and_the_last(cluster: LocalCluster) -> None:
    (slow,) = await conference.hold(cluster.url, listeners=1, slow=1, frames=10, pace=0.02)
    assert slow.frames == sorted(set(slow.frames))
    assert slow.frames[-1] == 9
    assert slow.damaged == 0


# Knowledge ---------------------------------------------------------------------------------------------------------
def test_readers_of_the_knowledge_centre_come_and_go_and_miss_nothing(cluster: LocalCluster) -> None:
    at = ("--url", cluster.url)
    run("knowledge.py", *at, "found")
    run("knowledge.py", *at, "add", "physics", "1", "Light is a wave")
    run("knowledge.py", *at, "add", "physics", "5", "Light is a field")
    run("knowledge.py", *at, "add", "history", "1", "Rome was not built in a day")
    easy_physics = ("read", "ada", "subject = 'physics' AND level <= 2", "--seconds", "1")
    assert run("knowledge.py", *at, *easy_physics, "--first") == "knowledge/physics, level 1: Light is a wave\n"
    run("knowledge.py", *at, "add", "physics", "2", "Light is also particles")
    run("knowledge.py", *at, "add", "physics", "3", "Light has no mass")
    assert run("knowledge.py", *at, *easy_physics) == "knowledge/physics, level 2: Light is also particles\n"
    assert run("knowledge.py", *at, *easy_physics) == ""
    assert len(run("knowledge.py", *at, "read", "bob", "--first", "--seconds", "1").splitlines()) == 5


async def test_reader_that_is_forgotten_begins_anew(cluster: LocalCluster) -> None:
    await knowledge.found(cluster.url)
    await knowledge.add(cluster.url, "art", 1, "Look twice")
    only_art = "subject = 'art'"
    assert await knowledge.read(cluster.url, "cid", only_art, first=True, seconds=1) == [
        "knowledge/art, level 1: Look twice"
    ]
    await knowledge.add(cluster.url, "art", 1, "Look again")
    await knowledge.forget(cluster.url, "cid")
    assert await knowledge.read(cluster.url, "cid", only_art, seconds=0.5) == []
