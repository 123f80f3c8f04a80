"""The sync client: the same calls, generated; here that they work from plain threads."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import causeway
import causeway.sync
from causeway.errors import DeadlineExceeded, LocalProtocolError, Refused, TransportError
from tests.unit.client.fake_broker import FakeBroker


def eventually(condition: object, seconds: float = 5.0) -> None:
    """Poll until true."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "never became true"
        time.sleep(0.005)


def test_sync_client_has_the_names_of_the_async_one() -> None:
    for name in causeway.sync.__all__:
        theirs = {attribute for attribute in dir(getattr(causeway, name)) if not attribute.startswith("_")}
        ours = {attribute for attribute in dir(getattr(causeway.sync, name)) if not attribute.startswith("_")}
        assert ours == {attribute.replace("aclose", "close") for attribute in theirs}


@pytest.mark.parametrize("service", ["express", "recoverable", "transactional"])
def test_messages_go_round(broker: FakeBroker, service: str) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus:
        receipt = bus.send("orders", "hello", service=service, headers={"kind": "greeting"})
        assert receipt.id.startswith(bus.id)
        for message in bus.receive("orders"):
            assert (message.text, message.headers) == ("hello", {"kind": "greeting"})
            break
        eventually(lambda: broker.stored("orders") == [])
    eventually(lambda: not broker.sessions)
    assert not [thread for thread in threading.enumerate() if thread.name == "causeway-shop"]


def test_many_threads_can_send_at_once_and_lose_nothing(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop", window_messages=200) as bus:

        def produce(worker: int) -> None:
            for number in range(500):
                if number % 20 == 0:
                    bus.ready()
                while True:
                    try:
                        bus.send_nowait("orders", f"{worker}:{number}", service="transactional")
                        break
                    except Refused:
                        bus.ready()

        threads = [threading.Thread(target=produce, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bus.flush(10)
        stored = [tuple(map(int, text.split(b":"))) for text in broker.stored("orders")]
    for worker in range(4):
        assert [number for source, number in stored if source == worker] == list(range(500))


def test_ready_knows_of_messages_that_the_window_has_not_counted(broker: FakeBroker) -> None:
    """Between two turns of the client's thread up to 128 messages join a batch before they are counted."""
    with causeway.sync.connect(broker.url, name="shop", window_messages=2000) as bus:
        engine = bus._engine
        bus.send("orders", b"first")
        with engine.lock:
            engine.waking = True  # the thread takes no turn meanwhile
        for _ in range(1530):
            bus.send_nowait("orders", b"x")
        assert engine.session.room() >= 500 > 2000 - engine.session.unresolved
        with pytest.raises(DeadlineExceeded, match="window"):
            bus.ready(0.05)
        with engine.lock:
            engine.waking = False
            engine.wake()
        bus.ready(5)
        bus.flush(5)


def test_request_transaction_and_browse_work_without_a_loop(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as shop, causeway.sync.connect(broker.url, name="sums") as sums:

        def serve() -> None:
            for message in sums.receive(timeout=3):
                message.reply(message.text.upper())
                break

        server = threading.Thread(target=serve)
        server.start()
        assert shop.request("sums", "hello", timeout=5).text == "HELLO"
        server.join()
        shop.send("orders", b"17")
        message = shop.consumer("orders").get(5)
        with shop.transaction() as tx:
            tx.send("ledger", b"booked")
            tx.ack(message)
        assert [found.text for found in shop.browse("ledger")] == ["booked"]
        assert [box["name"] for box in shop.status()["mailboxes"]] == sorted(broker.boxes)


def test_waits_end_in_time(broker: FakeBroker) -> None:
    broker.deaf = True
    with causeway.sync.connect(broker.url, name="shop") as bus:
        bus._close_timeout = 0.05
        with pytest.raises(DeadlineExceeded):
            bus.send("orders", b"x", timeout=0.1)
        with bus.consumer("orders") as consumer, pytest.raises(DeadlineExceeded):
            consumer.get(0.05)


def test_unreachable_cluster_is_named_and_no_thread_stays() -> None:
    with pytest.raises(TransportError, match="is the cluster running"):
        causeway.sync.connect("causeway://127.0.0.1:1", name="shop", connect_timeout=0.3).open()
    assert not [thread for thread in threading.enumerate() if thread.name == "causeway-shop"]


def test_waiting_thread_is_woken_by_the_end(broker: FakeBroker) -> None:
    bus = causeway.sync.connect(broker.url, name="shop").open()
    consumer = bus.consumer("orders")
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            consumer.get()
        except LocalProtocolError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: consumer._reader.waiter)
    bus.close()
    thread.join(5)
    assert caught


def test_kept_state_survives_a_restart(broker: FakeBroker, tmp_path: Path) -> None:
    with causeway.sync.connect(broker.url, name="shop", state=tmp_path) as bus:
        identity = bus.id
        bus.send("shop", b"one")
        with bus.consumer(auto_ack=True) as consumer:
            consumer.get(5)
    broker.box("shop").seen.clear()
    with causeway.sync.connect(broker.url, name="shop", state=tmp_path) as bus:
        assert bus.id == identity
