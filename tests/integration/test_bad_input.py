"""Bad input gets an error that names field and remedy, costs at most its own connection, and the broker lives."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from causeway.cli.status import survey
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Accepted,
    Attach,
    Deposit,
    Goodbye,
    Hello,
    Message,
    Moved,
    Ping,
    Pong,
    Rejected,
    StatusReply,
    StatusRequest,
    Welcome,
)
from causeway.errors import Code
from causeway.limits import FRAME_BYTES_MAX, HELLO_SECONDS_MAX
from causeway.local.cluster import ProcessCluster
from causeway.local.probe import Probe
from causeway.types import Flag, ServiceClass
from causeway.wire import body
from causeway.wire.codec import decode_frame, encode_frame
from causeway.wire.frame import PREFIX, FrameReader
from tests.integration.processes import causeway, environment, eventually, json_lines, running_cluster

ANSWER_SECONDS_MAX = 10.0


class Wire:
    """One connection that says whatever it is told to."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)
        self._frames = FrameReader()
        self._arrived: list[tuple[Message, bytes]] = []
        self.incarnation = secrets.randbits(62)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, *heads: Message, payload: bytes = b"") -> None:
        self.say_bytes(b"".join(encode_frame(head, payload) for head in heads))

    def say_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def greet(self, name: str = "tester") -> Wire:
        self.say(Hello(PROTOCOL_VERSION, name, self.incarnation))
        assert isinstance(self.hear(), Welcome)
        return self

    def hear(self) -> Message | None:
        """The next frame but signs of life; None when the broker has closed the connection."""
        while True:
            while not self._arrived:
                try:
                    data = self._socket.recv(65536)
                except ConnectionResetError:
                    return None
                if not data:
                    return None
                for frame in self._frames.feed(data):
                    self._arrived += decode_frame(*frame)
            head, _body = self._arrived.pop(0)
            if isinstance(head, Ping):
                self.say(Pong(head.nonce))
            else:
                return head

    def lives(self) -> bool:
        self.say(StatusRequest(7))
        return isinstance(self.hear(), StatusReply)

    def deposit(self, *, payload: bytes = b"\0\0\0\5hello", **changes: int | str) -> Message | None:
        """Send one message, with some fields changed; the broker's answer."""
        good = Deposit("tester", self.incarnation, "inbox", ServiceClass.RECOVERABLE, 1, 1, 0, Flag.RELIABLE, 4, 0)
        self.say(msgspec.structs.replace(good, **changes), payload=payload)
        return self.hear()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ProcessCluster]:
    async with running_cluster(tmp_path_factory.mktemp("bad-input"), 1) as started:
        yield started


@pytest.fixture
def port(cluster: ProcessCluster) -> Iterator[int]:
    """A broker with a witness: a well-behaved connection that the misbehaving one must not harm."""
    entry = cluster.run.brokers[0]
    process = entry.process
    with Wire(entry.port).greet("witness") as witness:
        yield entry.port
        assert witness.lives(), "another connection was harmed"
    assert entry.running, "the broker died"
    assert entry.process == process


def _farewell(wire: Wire) -> Goodbye:
    goodbye = wire.hear()
    assert isinstance(goodbye, Goodbye), goodbye
    assert wire.hear() is None, "the connection stayed open"
    return goodbye


def test_oversized_frame_is_refused_before_it_is_read(port: int) -> None:
    with Wire(port).greet() as wire:
        wire.say_bytes(PREFIX.pack(FRAME_BYTES_MAX + 1, 10))
        goodbye = _farewell(wire)
    assert goodbye.code == Code.BAD_FRAME
    assert f"frame length {FRAME_BYTES_MAX + 1} exceeds {FRAME_BYTES_MAX} bytes" in goodbye.detail


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
        bytes(64),
        b"\xff" * 64,
        PREFIX.pack(4, 4) + b"\xc1\xc1\xc1\xc1",
        PREFIX.pack(2, 2) + b"\x91\x7f",
    ],
    ids=["http", "zeros", "ones", "no-msgpack", "unknown-tag"],
)
def test_garbage_bytes_end_only_their_own_connection(port: int, noise: bytes) -> None:
    with Wire(port) as wire:
        wire.say_bytes(noise)
        goodbye = _farewell(wire)
    assert goodbye.code == Code.BAD_FRAME
    assert goodbye.detail


def test_frame_that_ends_in_the_middle_costs_nothing(port: int) -> None:
    with Wire(port).greet() as wire:
        wire.say_bytes(PREFIX.pack(1000, 100) + b"half a head")


def test_wrong_version_is_told_which_one_is_spoken(port: int) -> None:
    with Wire(port) as wire:
        wire.say(Hello(99, "tester", 1))
        goodbye = _farewell(wire)
    assert goodbye.code == Code.BAD_VERSION
    assert "version=99" in goodbye.detail
    assert str(PROTOCOL_VERSION) in goodbye.detail


def test_half_open_connections_are_closed_in_time(port: int) -> None:
    with Wire(port) as silent, Wire(port) as halting:
        halting.say_bytes(b"\x00\x00")
        for wire in (silent, halting):
            wire._socket.settimeout(HELLO_SECONDS_MAX + ANSWER_SECONDS_MAX)
            last = wire.hear()
            assert last is None or isinstance(last, Goodbye)
            assert last is None or wire.hear() is None


def test_first_frame_that_is_no_hello_is_refused(port: int) -> None:
    with Wire(port) as wire:
        wire.say(StatusRequest(1))
        assert _farewell(wire).detail


@pytest.mark.parametrize("name", ["", "x" * 10_240, "bell\a"], ids=["empty", "10kB", "unprintable"])
def test_bad_application_name_is_refused_by_field(port: int, name: str) -> None:
    with Wire(port) as wire:
        wire.say(Hello(PROTOCOL_VERSION, name, 1))
        goodbye = _farewell(wire)
    assert goodbye.code == Code.BAD_FIELD
    assert goodbye.detail.startswith("name=")
    assert len(goodbye.detail) < 400, "the bad value is cut, not repeated"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stream", 9),
        ("stream", -1),
        ("dest", ""),
        ("dest", "x" * 10_240),
        ("ttl", -5),
        ("priority", 10),
        ("count", 0),
        ("count", -1),
        ("first", 0),
        ("source", "somebody-else"),
    ],
)
def test_bad_field_of_a_deposit_is_named(port: int, field: str, value: int | str) -> None:
    with Wire(port).greet() as wire:
        answer = wire.deposit(**{field: value})
        assert isinstance(answer, Rejected | Goodbye), answer
        assert answer.code == Code.BAD_FIELD
        assert field in answer.detail


def test_body_that_does_not_match_its_length_table_is_refused(port: int) -> None:
    with Wire(port).greet() as wire:
        answer = wire.deposit(payload=b"\x00\x00\x00\xffshort")
        assert isinstance(answer, Rejected | Goodbye), answer
        assert answer.code in (Code.BAD_FIELD, Code.BAD_FRAME)


@pytest.mark.parametrize("name", ["", "x" * 10_240], ids=["empty", "10kB"])
def test_bad_mailbox_name_of_a_consumer_is_refused_by_field(port: int, name: str) -> None:
    with Wire(port).greet() as wire:
        wire.say(Attach(name, 1, 10))
        answer = wire.hear()
        assert isinstance(answer, Moved | Goodbye), answer
        assert answer.code == Code.BAD_FIELD
        assert "mailbox" in answer.detail


def test_broker_still_takes_good_messages_after_all_that(port: int) -> None:
    with Wire(port).greet() as wire:
        assert isinstance(wire.deposit(), Accepted)


# The command line ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url", ["", "http://127.0.0.1:1", "causeway://", "causeway://host:99999", "causeway://host:port", "127.0.0.1:7400"]
)
def test_bad_url_is_refused_by_field(tmp_path: Path, url: str) -> None:
    for command in (["send", "inbox", "hello"], ["status"]):
        done = causeway(*command, "--url", url, "--json", environ=environment(tmp_path))
        assert done.returncode == 2, done.stderr
        [answer] = json_lines(done.stdout)
        assert answer["error"]["field"] == "url"
        assert "causeway://" in answer["error"]["remedy"]


def test_address_where_nobody_listens_is_named(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"causeway://127.0.0.1:{port}"
    done = causeway("send", "inbox", "x", "--url", url, "--timeout", "1", environ=environment(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--ttl", "-5"], "ttl"),
        (["--service", "quick"], "service"),
        (["--priority", "11"], "priority"),
        (["--count", "0"], "count"),
    ],
)
def test_bad_flag_of_send_is_refused_by_name(tmp_path: Path, arguments: list[str], field: str) -> None:
    url = "causeway://127.0.0.1:1"
    done = causeway("send", "inbox", "x", "--url", url, *arguments, environ=environment(tmp_path))
    assert done.returncode == 2, done.stderr
    assert field in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("mailbox", ["", "x" * 10_240], ids=["empty", "10kB"])
def test_bad_mailbox_name_on_the_command_line_is_refused(cluster: ProcessCluster, tmp_path: Path, mailbox: str) -> None:
    for command in (["send", mailbox, "hello"], ["receive", mailbox, "--timeout", "1"], ["browse", mailbox]):
        done = causeway(*command, "--url", cluster.url, environ=environment(tmp_path))
        assert done.returncode == 2, (command[0], done.stderr)
        assert len(done.stderr) < 400


def _broker(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return causeway("broker", "--name", "b", "--founder", "--data", str(data), "--json", *arguments)


def test_busy_port_is_named(port: int, tmp_path: Path) -> None:
    done = _broker("--port", str(port), data=tmp_path)
    assert done.returncode == 2
    [answer] = json_lines(done.stdout)
    assert (answer["error"]["field"], answer["error"]["value"]) == ("port", port)
    assert "another port" in answer["error"]["remedy"]


def test_data_directory_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = _broker(data=tmp_path / "file" / "data")
    assert done.returncode in (1, 2)
    assert str(tmp_path / "file" / "data") in done.stderr
    assert "name one for the data" in done.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_unwritable_data_directory_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = _broker(data=tmp_path / "data")
    assert done.returncode in (1, 2)
    assert "not writable" in done.stderr


def test_read_only_data_directory_is_named(tmp_path: Path) -> None:
    done = _broker(data=Path("/proc/causeway-data"))
    assert done.returncode in (1, 2)
    assert "/proc/causeway-data" in done.stderr
    assert "name another one" in done.stderr


def test_second_broker_on_the_same_data_directory_is_refused(cluster: ProcessCluster) -> None:
    done = _broker(data=cluster.data / cluster.names[0])
    assert done.returncode in (1, 2)
    assert str(cluster.data / cluster.names[0]) in done.stderr


async def test_full_disk_stops_the_broker_with_the_reason_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk: it needs no rights, and SQLite meets it likewise."""
    limited = (
        "import resource, sys; from causeway.cli.main import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20)); sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["broker", "--name", "b", "--founder", "--data", str(tmp_path / "b"), "--json"]
    with (tmp_path / "log").open("w") as log:
        broker = subprocess.Popen(
            [sys.executable, "-c", limited, *arguments], stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert broker.stdout is not None
    try:
        ready = json_lines(broker.stdout.readline())[0]
        acknowledged = _fill(ready["port"], 100)
        await eventually(lambda: broker.poll() is not None, "the broker stops")
    finally:
        broker.kill()
        broker.wait()
        broker.stdout.close()
    assert 0 < acknowledged < 100
    assert broker.returncode == 74
    said = (tmp_path / "log").read_text()
    assert str(tmp_path / "b") in said
    assert "disk" in said
    again = subprocess.Popen(
        [sys.executable, "-P", "-m", "causeway", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert again.stdout is not None
    try:
        ready = json_lines(again.stdout.readline())[0]
        await eventually_stored(ready["port"], "inbox", acknowledged)
    finally:
        again.kill()
        again.wait()
        again.stdout.close()


def _fill(port: int, count: int) -> int:
    """Send 100 KiB messages until the broker is gone; how many it acknowledged (it may say so twice)."""
    acknowledged: set[int] = set()
    with Wire(port).greet() as wire:
        for number in range(1, count + 1):
            try:
                answer = wire.deposit(payload=body.join([bytes(100 * 1024)]), first=number)
            except OSError:
                break
            if not isinstance(answer, Accepted):
                break
            acknowledged.update(range(answer.first, answer.last + 1))
    return len(acknowledged)


async def eventually_stored(port: int, mailbox: str, count_min: int, seconds_max: float = 20.0) -> None:
    deadline = time.monotonic() + seconds_max
    while True:
        async with Probe("127.0.0.1", port) as probe:
            report = await probe.status()
        stored = {box["name"]: box["stored"] for box in report.get("mailboxes", [])}
        if stored.get(mailbox, 0) >= count_min:
            return
        assert time.monotonic() < deadline, f"{mailbox} holds {stored}, not {count_min}"
        await asyncio.sleep(0.05)


async def test_corrupt_database_is_set_aside_and_filled_again_from_the_copies(tmp_path: Path) -> None:
    async with running_cluster(tmp_path / "c", 3) as cluster:
        environ = environment(tmp_path)
        sent = causeway("send", "inbox", "x", "--count", "50", "--service", "transactional", "--url", cluster.url)
        assert sent.returncode == 0, sent.stderr
        for name in cluster.names[:2]:
            await cluster.kill(name)
            database = cluster.data / name / "store.db"
            for file in (database, database.with_name("store.db-wal"), database.with_name("journal-0")):
                file.write_bytes(b"not a database" * 1000)
            await cluster.restart(name)
            await cluster.wait_active()
            assert "malformed" in (cluster.data / "logs" / f"{name}.log").read_text()
            assert list(database.parent.glob("store.db.corrupt-*")), "the damaged file is kept"
            await _wait_complete(cluster)
        got = causeway(
            "receive", "inbox", "--count", "50", "--timeout", "20", "--json", "--url", cluster.url, environ=environ
        )
        assert got.returncode == 0, got.stderr
        assert len(json_lines(got.stdout)) == 50


async def _wait_complete(cluster: ProcessCluster, seconds_max: float = 30.0) -> None:
    """Until every mailbox is served and no copy lacks anything."""
    deadline = time.monotonic() + seconds_max
    while True:
        view = await survey(cluster.run.addresses)
        if view.mailboxes and all(line.serving and not line.incomplete for line in view.mailboxes):
            if all(len(line.members) == min(3, len(cluster.names)) for line in view.mailboxes):
                return
        assert time.monotonic() < deadline, view
        await asyncio.sleep(0.1)


def test_data_directory_with_a_damaged_run_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{")
    for command in ("up", "down", "status"):
        done = causeway(command, "--data", str(tmp_path), "--json", environ=environment(tmp_path))
        assert done.returncode == 2, done.stderr
        assert json_lines(done.stdout)[0]["error"]["field"] == "data"
