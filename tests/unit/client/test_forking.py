"""Processes forked from one that has connected: they are told to connect themselves, and leave the parent alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.client._sync.test_bus import eventually
from tests.unit.client.fake_broker import FakeBroker

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

BEGIN = """
import gc, multiprocessing, os, sys, warnings
import causeway.sync
warnings.simplefilter("ignore", DeprecationWarning)  # that of fork beside threads
url = sys.argv[1]

def refused(call):
    try:
        call()
    except causeway.LocalProtocolError as error:
        assert "connect in the child" in str(error), error
    else:
        raise AssertionError("not refused")

def try_all(bus, consumer, message):
    assert not bus.connected
    for call in (
        lambda: bus.send("orders", b"no"),
        lambda: bus.send_nowait("orders", b"no"),
        lambda: bus.consumer("orders"),
        lambda: bus.request("orders", b"no"),
        lambda: list(bus.browse("orders")),
        bus.flush,
        consumer.get,
        message.ack,
    ):
        refused(call)
    with causeway.sync.connect(url, name="child") as own:
        own.send("from-child", b"yes")

bus = causeway.sync.connect(url, name="parent").open()
bus.send("orders", b"before")
bus.send("orders", b"waits in the queue")
consumer = bus.consumer("orders")
message = consumer.get(10)
"""

END = """
bus.send("orders", b"after")
message.ack()
assert [consumer.get(10).text for _ in range(2)] == ["waits in the queue", "after"]
consumer.close()
bus.close()
print("parent is well")
"""

BY_HAND = """
for leave in ("close", "forget", "exit"):
    pid = os.fork()
    if not pid:
        try:
            try_all(bus, consumer, message)
            if leave == "close":
                consumer.close()
                bus.close()
            elif leave == "forget":
                del message, consumer, bus
                gc.collect()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        sys.exit(0)  # as a program ends: with all finalizers
    assert os.waitpid(pid, 0)[1] == 0, leave
"""

BY_MULTIPROCESSING = """
context = multiprocessing.get_context("fork")
process = context.Process(target=try_all, args=(bus, consumer, message))
process.start()
process.join(60)
assert process.exitcode == 0
with context.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
"""

IN_A_LOOP = """
consumer.close()
message = None
for message in bus.receive("orders"):
    pid = os.fork()
    if not pid:
        raise SystemExit(0)  # leaves the loop by an exception: nothing of it reaches the broker
    assert os.waitpid(pid, 0)[1] == 0
    break
bus.close()
print("parent is well")
"""


@pytest.mark.parametrize("fork", [BY_HAND, BY_MULTIPROCESSING], ids=["os.fork", "multiprocessing"])
def test_child_is_told_to_connect_and_leaves_the_parent_alone(broker: FakeBroker, fork: str) -> None:
    run(broker, BEGIN + fork + END)
    assert set(broker.stored("from-child")) == {b"yes"}
    assert broker.stored("orders") == [b"waits in the queue", b"after"], "unsettled, and no longer held"


def test_preforking_workers_connect_each_for_itself(broker: FakeBroker) -> None:
    workers = """
pids = []
for number in range(3):
    pid = os.fork()
    if not pid:
        refused(lambda: bus.send("orders", b"no"))
        with causeway.sync.connect(url, name=f"worker-{number}") as bus:  # the name of what was inherited
            bus.send("from-child", str(number))
            os._exit(0)
    pids.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
"""
    run(broker, BEGIN + workers + END)
    assert sorted(broker.stored("from-child")) == [b"0", b"1", b"2"]


def test_fork_in_a_loop_settles_nothing_in_the_child(broker: FakeBroker) -> None:
    run(broker, BEGIN + IN_A_LOOP)
    assert broker.stored("orders") == [b"waits in the queue"]


def test_broker_notices_at_once_that_the_parent_is_gone(broker: FakeBroker) -> None:
    """Its connection is not kept open by the copy of it that a child has."""
    script = (
        BEGIN
        + """
told, tell = os.pipe()
if not os.fork():
    os.close(tell)
    os.read(told, 1)  # until the parent is gone
    os.read(0, 1)  # until the test has seen what it wants
    os._exit(0)
print("forked", flush=True)
os._exit(0)
"""
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, broker.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        process.wait(60)
        eventually(lambda: not broker.sessions)
        process.communicate()


GUNICORN = """
import os
import causeway.sync

bus = causeway.sync.connect(os.environ["BROKER"], name="master").open()
own = []

def post_fork(server, worker):
    own.append(causeway.sync.connect(os.environ["BROKER"], name=f"worker-{worker.age}").open())

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    try:
        (bus if environ["PATH_INFO"] == "/inherited" else own[0]).send("orders", environ["PATH_INFO"])
    except causeway.LocalProtocolError as error:
        return [str(error).encode()]
    return [b"sent"]
"""


def test_gunicorn_with_preload_is_told_to_connect_in_post_fork(broker: FakeBroker, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(GUNICORN)
    how = ["--preload", "--workers", "2", "--bind", f"unix:{tmp_path}/http", "--no-control-socket", "shop"]
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop", *how]
    environment = {**os.environ, "BROKER": broker.url}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            eventually(lambda: len(broker.sessions) == 3, 60)
            assert "in `post_fork`" in asked(tmp_path / "http", "/inherited")
            assert asked(tmp_path / "http", "/own") == "sent"
            assert len(broker.sessions) == 3
        finally:
            process.terminate()
    assert broker.stored("orders") == [b"/own"]


def asked(address: Path, path: str) -> str:
    """What the server answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(address))
        connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(4096), b"")).decode().partition("\r\n\r\n")[2]


def run(broker: FakeBroker, script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, broker.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "parent is well\n", ""), done.stderr
