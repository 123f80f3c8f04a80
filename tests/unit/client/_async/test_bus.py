"""The async client, against a broker of its own."""

from __future__ import annotations

import asyncio
import gc
import math
from pathlib import Path
from typing import Any

import pytest

import causeway
from causeway.errors import (
    Code,
    ConfigError,
    DeadlineExceeded,
    LocalProtocolError,
    OutcomeUnknown,
    Refused,
    StoreError,
    TransportError,
)
from causeway.limits import REPLY_SECONDS_MAX
from tests.unit.client.fake_broker import FakeBroker


async def eventually(condition: object, seconds: float = 5.0) -> None:
    """Poll until true."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():  # type: ignore[operator]
        assert asyncio.get_running_loop().time() < deadline, "never became true"
        await asyncio.sleep(0.005)


# Connecting -----------------------------------------------------------------------------------------------------
async def test_bus_connects_and_leaves(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        assert bus.connected
        assert bus.name == "shop"
        assert bus.id.startswith("shop:")
    await eventually(lambda: not broker.sessions)


async def test_bus_says_which_brokers_did_not_answer() -> None:
    with pytest.raises(TransportError, match=r"127\.0\.0\.1:1.*is the cluster running"):
        async with causeway.connect("causeway://127.0.0.1:1", name="shop", connect_timeout=0.3):
            raise AssertionError("connected to nobody")


@pytest.mark.parametrize(
    ("field", "url", "options"),
    [
        ("url", "http://x", {}),
        ("name", "causeway://x", {"name": ""}),
        ("name", "causeway://x", {"name": "n" * 10_000}),
        ("name", "causeway://x", {"name": None}),
        ("timeout", "causeway://x", {"timeout": -1}),
        ("connect_timeout", "causeway://x", {"connect_timeout": 0}),
        ("window_messages", "causeway://x", {"window_messages": 0}),
        ("window_bytes", "causeway://x", {"window_bytes": 0}),
        ("window_messages", "causeway://x", {"window_messages": "5"}),
        ("window_bytes", "causeway://x", {"window_bytes": 1.5}),
        ("naming", "causeway://x", {"naming": 5}),
        ("naming", "causeway://x", {"naming": [5]}),
        ("state", "causeway://x", {"state": 5}),
        ("lake", "causeway://x", {"lake": 5}),
    ],
)
def test_bad_settings_are_refused_by_name_before_anything_happens(
    field: str, url: str, options: dict[str, object]
) -> None:
    with pytest.raises(ConfigError) as caught:
        causeway.connect(url, **{"name": "shop", **options})  # type: ignore[arg-type]
    assert caught.value.field == field


async def test_closed_bus_refuses_everything(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"x")
    for call in (lambda: bus.send_nowait("orders", b"x"), lambda: bus.consumer("orders")):
        with pytest.raises(LocalProtocolError, match="the bus is closed; connect again"):
            call()
    with pytest.raises(LocalProtocolError, match="before"):
        await bus.open()


@pytest.mark.parametrize("limit", [0, -1, "9", 1.5, True])
async def test_wrong_number_of_messages_is_refused_by_name(broker: FakeBroker, limit: Any) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"x")
        async with bus.consumer("orders") as consumer:
            with pytest.raises(ConfigError, match=r"^limit="):
                await consumer.get_batch(limit, timeout=1)
        with pytest.raises(ConfigError, match=r"^limit="):
            await anext(aiter(bus.browse("orders", limit=limit)))


async def test_story_of_what_is_no_id_is_refused_by_name(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for wrong in ("nonsense", 5, None):
            with pytest.raises(ConfigError, match=r"^id"):
                await bus.story(wrong)  # type: ignore[arg-type]


async def test_bus_that_is_not_open_says_so() -> None:
    bus = causeway.connect("causeway://127.0.0.1:1", name="shop")
    with pytest.raises(LocalProtocolError, match="not open"):
        await bus.send("orders", b"x")
    with pytest.raises(LocalProtocolError, match="not open"):
        bus.consumer("orders")
    await bus.aclose()


async def test_cancelled_callers_leave_nothing_behind(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        consumer = bus.consumer("orders")
        await consumer.attached(5)
        for _ in range(5):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(consumer.get(), 0.01)
        assert not consumer._reader.waiter
        await bus.send("orders", b"x")
        assert (await asyncio.wait_for(consumer.get(), 5)).body == b"x"


# Sending --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", ["express", "recoverable", "transactional"])
async def test_send_returns_when_acknowledged(broker: FakeBroker, service: str) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipt = await bus.send("orders", "grüße", service=service)
        assert broker.stored("orders") == ["grüße".encode()]
        assert receipt.id == str(receipt) == f"{bus.id}:orders:{service[0]}:1"
        assert not receipt.delivered


async def test_pipelined_sends_keep_their_order_and_flush_waits_for_all(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop", window_messages=500) as bus:
        for number in range(3000):
            if number % 100 == 0:
                await bus.ready()
            bus.send_nowait("orders", str(number), service="transactional")
        await bus.flush()
        assert broker.stored("orders") == [str(number).encode() for number in range(3000)]


async def test_receipt_of_a_pipelined_send_can_be_awaited(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipts = [bus.send_nowait("orders", b"x") for _ in range(5)]
        assert [await receipt for receipt in receipts] == receipts
        assert await receipts[0] is receipts[0]


async def test_full_window_refuses_and_ready_waits(broker: FakeBroker) -> None:
    broker.deaf = True
    async with causeway.connect(broker.url, name="shop", window_messages=10) as bus:
        bus._close_timeout = 0.05
        for _ in range(10):
            bus.send_nowait("orders", b"x")
        with pytest.raises(Refused, match="window"):
            bus.send_nowait("orders", b"x")
        with pytest.raises(DeadlineExceeded, match="window"):
            await bus.ready(0.05)
        with pytest.raises(DeadlineExceeded, match="window"):
            await bus.send("orders", b"x", timeout=0.05)
        with pytest.raises(DeadlineExceeded, match="window"):
            await bus.send("orders", b"x", timeout=0.05, wait=False)
        with pytest.raises(DeadlineExceeded, match="10 messages were not acknowledged"):
            await bus.aclose()


@pytest.mark.parametrize("call", ["send", "publish"])
async def test_send_that_waits_for_room_alone_is_never_refused_for_want_of_it(broker: FakeBroker, call: str) -> None:
    async with causeway.connect(broker.url, name="shop", window_messages=10) as bus:
        for number in range(100):
            await getattr(bus, call)("orders", str(number), wait=False)
        await bus.send("orders", b"100")
        await bus.flush()
    if call == "send":
        assert broker.stored("orders") == [str(number).encode() for number in range(101)]


async def test_failures_that_nobody_was_told_of_are_raised_by_close(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    bus = await causeway.connect(broker.url, name="shop").open()
    told = bus.send_nowait("orders", b"x")
    with pytest.raises(Refused):
        await told
    await bus.send("orders", b"y", wait=False)
    with pytest.raises(Refused, match="as the test wants it"):
        await bus.aclose()
    await bus.aclose()


async def test_failures_that_their_receipts_told_are_not_raised_again(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    async with causeway.connect(broker.url, name="shop") as bus:
        receipts = [bus.send_nowait("orders", b"x") for _ in range(3)]
        await eventually(lambda: all(receipt.done for receipt in receipts))
        for receipt in receipts:
            with pytest.raises(Refused):
                await receipt
        await bus.flush()


async def test_exception_of_the_application_is_not_hidden_by_failures(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    with pytest.raises(ZeroDivisionError):
        async with causeway.connect(broker.url, name="shop") as bus:
            bus.send_nowait("orders", b"x")
            raise ZeroDivisionError


async def test_what_kept_state_will_send_again_is_no_failure(broker: FakeBroker, tmp_path: Path) -> None:
    broker.deaf = True
    async with causeway.connect(broker.url, name="shop", state=tmp_path) as bus:
        bus._close_timeout = 0.05
        bus.send_nowait("orders", b"x")


async def test_failures_nobody_waited_for_are_raised_by_flush(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    async with causeway.connect(broker.url, name="shop") as bus:
        bus.send_nowait("orders", b"x")
        with pytest.raises(Refused, match="as the test wants it"):
            await bus.flush()
        await bus.flush()


async def test_failure_of_a_send_whose_caller_was_cancelled_is_raised_by_flush(broker: FakeBroker) -> None:
    broker.deaf = True
    async with causeway.connect(broker.url, name="shop") as bus:
        caller = asyncio.create_task(bus.send("orders", b"x", timeout=0.2))
        await eventually(lambda: bus._engine.session.unresolved)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        with pytest.raises(DeadlineExceeded, match="orders"):
            await bus.flush()


async def test_caller_that_is_told_of_a_failure_hides_no_other_of_the_same_batch(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    async with causeway.connect(broker.url, name="shop") as bus:
        bus.send_nowait("orders", b"nobody waits for this one")
        with pytest.raises(Refused):
            await bus.send("orders", b"x")
        with pytest.raises(Refused):
            await bus.flush()
        with pytest.raises(Refused):
            await bus.send("orders", b"x")
        await bus.flush()


async def test_send_that_was_refused_until_its_time_was_over_may_have_arrived(broker: FakeBroker) -> None:
    broker.refusal = Code.NO_QUORUM
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(OutcomeUnknown, match="as the test wants it") as caught:
            await bus.send("orders", b"x", timeout=0.2)
        assert caught.value.code == Code.NO_QUORUM
        assert not caught.value.retriable, "sent again it could arrive twice"


async def test_unanswered_send_raises_a_timeout(broker: FakeBroker) -> None:
    broker.deaf = True
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(TimeoutError, match="unknown"):
            await bus.send("orders", b"x", timeout=0.1)


async def test_sends_survive_the_loss_of_the_connection(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for number in range(50):
            if number % 10 == 5:
                broker.drop_connections()
            await bus.send("orders", str(number), service="transactional")
        assert broker.stored("orders") == [str(number).encode() for number in range(50)]


async def test_delivery_is_confirmed_when_the_receiver_has_settled(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop, causeway.connect(broker.url, name="orders") as other:
        receipt = await shop.send("orders", b"x", confirm=True)
        with pytest.raises(DeadlineExceeded, match="not confirmed"):
            await receipt.confirmed(0.05)
        async with other.consumer(auto_ack=True) as consumer:
            await consumer.get(5)  # handing it out settles it
        assert await receipt.confirmed(5)
        with pytest.raises(ConfigError, match="confirm=True"):
            await (await shop.send("orders", b"y")).confirmed()


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("service", {"service": "fast"}),
        ("ttl", {"ttl": -1}),
        ("priority", {"priority": 11}),
        ("dest", {"dest": ""}),
        ("dest", {"dest": "d" * 10_000}),
        ("reliable", {"reliable": False, "service": "transactional"}),
        ("headers", {"headers": {"~x": 1}}),
        ("headers['x']", {"headers": {"x": object()}}),
        ("headers", {"headers": "x"}),
        ("headers", {"headers": ""}),
        ("headers", {"headers": [("x", 1)]}),
        ("ttl", {"ttl": "1"}),
        ("ttl", {"ttl": math.nan}),
        ("delay", {"delay": "1"}),
        ("dest", {"dest": ["orders"]}),
        ("timeout", {"timeout": "1"}),
        ("timeout", {"timeout": [1]}),
        ("timeout", {"timeout": math.nan}),
        ("body", {"body": 7}),
        ("body", {"body": bytes(9 << 20)}),
        ("timeout", {"timeout": 0}),
    ],
)
async def test_bad_sends_are_refused_by_name(broker: FakeBroker, field: str, options: dict[str, object]) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for _ in range(2):
            with pytest.raises(ConfigError) as caught:
                await bus.send(**{"dest": "orders", "body": b"x", **options})  # type: ignore[arg-type]
            assert caught.value.field == field
        await bus.send("orders", b"fine")


# Transactions ---------------------------------------------------------------------------------------------------
async def test_transaction_sends_and_acknowledges_together(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        async for message in bus.receive("orders"):
            async with bus.transaction() as tx:
                tx.send("ledger", b"booked " + message.body, headers={"kind": "booking"})
                tx.send("mail", "thanks")
                tx.ack(message)
            break
    assert broker.stored("orders") == []
    assert broker.stored("mail") == [b"thanks"]
    assert len(broker.stored("ledger")) == 1


async def test_transaction_left_by_an_exception_changes_nothing(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        consumer = bus.consumer("orders")
        message = await consumer.get(5)
        with pytest.raises(ZeroDivisionError):
            async with bus.transaction() as tx:
                tx.send("ledger", b"x")
                tx.ack(message)
                raise ZeroDivisionError
        assert broker.stored("orders") == [b"17"]
        async with bus.transaction() as tx:
            tx.ack(message)
        assert broker.stored("orders") == []
    assert broker.stored("ledger") == []


async def test_refused_transaction_raises_and_its_message_comes_again_in_a_loop(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        seen = []
        async for message in bus.receive("orders"):
            seen.append(message.deliveries)
            broker.refusal = Code.ABORTED if len(seen) == 1 else None
            if len(seen) == 1:
                with pytest.raises(Refused, match="aborted"):
                    async with bus.transaction() as tx:
                        tx.ack(message)
                broker.refusal = None
                continue
            async with bus.transaction() as tx:
                tx.ack(message)
            break
        assert seen == [0, 1]
    assert broker.stored("orders") == []


async def test_message_cannot_be_acknowledged_twice_in_transactions(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        message = await bus.consumer("orders").get(5)
        first, second = bus.transaction(), bus.transaction()
        first.ack(message)
        with pytest.raises(LocalProtocolError, match="already"):
            second.ack(message)
        first.rollback()
        with pytest.raises(LocalProtocolError, match="over"):
            first.send("ledger", b"x")
        second.ack(message)
        await second.commit()


async def test_transaction_that_is_never_committed_is_told_of(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        message = await bus.consumer("orders").get(5)
        bus.transaction()  # without anything in it there is nothing to tell
        transaction = bus.transaction()
        transaction.send("ledger", b"x")
        transaction.ack(message)
        with pytest.warns(RuntimeWarning, match=rf"begun at {__file__}:\d+, was not committed.*use it in a `with`"):
            del transaction
        await bus.send("other", b"a turn later the message is free again")
        async with bus.transaction() as tx:
            tx.ack(message)
    assert (broker.stored("orders"), broker.stored("ledger")) == ([], [])


async def test_calls_that_only_note_something_may_be_awaited(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("orders", b"17")
        orders = bus.consumer("orders")
        await (await orders.get(5)).nack()
        message = await orders.get(5)
        async with bus.transaction() as tx:
            await tx.send("ledger", b"x")
            await tx.publish("booked/17", b"x")
            await tx.ack(message)
        await bus.send("orders", b"18")
        await (await orders.get(5)).ack()
        await bus.transaction().rollback()
    assert (broker.stored("orders"), broker.stored("ledger")) == ([], [b"x"])


async def test_transaction_acknowledges_messages_only(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, bus.transaction() as tx:
        with pytest.raises(ConfigError, match="message='x': must be a message"):
            tx.ack("x")  # type: ignore[arg-type]


# Requests and looks ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", ["express", "recoverable"])
async def test_request_gets_its_reply(broker: FakeBroker, service: str) -> None:
    async with causeway.connect(broker.url, name="shop") as shop, causeway.connect(broker.url, name="sums") as sums:

        async def serve() -> None:
            async for message in sums.receive():
                assert message.wants_reply
                await message.reply(str(sum(map(int, message.text.split()))), headers={"unit": "EUR"})

        server = asyncio.create_task(serve())
        answers = await asyncio.gather(*(shop.request("sums", f"{n} 1", service=service, timeout=5) for n in range(20)))
        assert [answer.text for answer in answers] == [str(n + 1) for n in range(20)]
        assert answers[0].headers == {"unit": "EUR"}
        answers[0].ack()
        server.cancel()
    answer_ttls = {ttl for dest, ttl in broker.ttls if dest.startswith("shop~")}
    assert answer_ttls
    assert all(0 < ttl <= REPLY_SECONDS_MAX * 10**9 for ttl in answer_ttls), "who asked may be gone for ever"


async def test_request_nobody_answers_raises_a_timeout(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop:
        with pytest.raises(DeadlineExceeded, match="did not reply"):
            await shop.request("nobody", b"?", timeout=0.1)
        assert shop._engine.requests == {}


async def test_question_lives_as_long_as_somebody_waits_for_its_answer(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop:
        for ttl in (None, 5):
            with pytest.raises(DeadlineExceeded):
                await shop.request("nobody", b"?", timeout=0.1, ttl=ttl)
    assert [round(ttl / 1e9, 1) for dest, ttl in broker.ttls if dest == "nobody"] == [0.1, 5]


async def test_question_that_nobody_took_in_its_time_was_not_answered(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop:
        with pytest.raises(DeadlineExceeded):
            await shop.request("nobody", b"?", timeout=0.1)  # from here on answers could come
        broker.refusal = Code.EXPIRED
        with pytest.raises(DeadlineExceeded, match="did not reply"):
            await shop.request("nobody", b"?", timeout=5)
        with pytest.raises(OutcomeUnknown, match="as the test wants it"):
            await shop.request("nobody", b"?", timeout=5, ttl=1)
        await shop.flush()


async def test_request_that_is_refused_raises_the_refusal(broker: FakeBroker) -> None:
    broker.refusal = Code.BAD_FIELD
    async with causeway.connect(broker.url, name="shop") as shop:
        with pytest.raises(Refused):
            await shop.request("sums", b"?", timeout=5)


async def test_message_that_is_no_request_cannot_be_replied_to(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop:
        await shop.send("shop", b"x")
        message = await shop.consumer().get(5)
        assert not message.wants_reply
        with pytest.raises(LocalProtocolError, match="not a request"):
            await message.reply(b"x")


async def test_browsing_takes_nothing(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for number in range(7):
            await bus.send("orders", str(number))
        assert [message.text async for message in bus.browse("orders", 5)] == ["0", "1", "2", "3", "4"]
        (message, *_) = [message async for message in bus.browse("orders", 1)]
        with pytest.raises(LocalProtocolError, match="browsed"):
            message.ack()
        assert len(broker.stored("orders")) == 7


async def test_browsing_asks_for_a_page_when_the_loop_wants_it(broker: FakeBroker) -> None:
    broker.page_messages_max = 2
    async with causeway.connect(broker.url, name="shop") as bus:
        for number in range(7):
            await bus.send("orders", str(number))
        shown: list[str] = []
        async for message in bus.browse("orders", 5):
            shown.append(message.text)
            assert len(broker.browsed_after) == (len(shown) + 1) // 2
            broker.drop_connections()  # also between pages
        assert shown == ["0", "1", "2", "3", "4"]


async def test_status_story_and_place_are_asked(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipt = await bus.send("orders", b"x")
        await bus.send("sums", b"x")
        report = await bus.status()
        assert [box["name"] for box in report["mailboxes"]] == ["orders", "sums"]
        assert (report["broker"], report["groups_truncated"]) == ("fake", 0)
        (record,) = await bus.story(receipt.id)
        assert (record.broker, record.first) == ("fake", 1)
        assert await bus.find("orders") == "fake"
        broker.deaf = True
        with pytest.raises(DeadlineExceeded):
            await bus.status(timeout=0.1)


# Kept state -----------------------------------------------------------------------------------------------------
async def test_kept_state_carries_sends_and_acceptances_over_a_restart(broker: FakeBroker, tmp_path: Path) -> None:
    state = tmp_path / "state"
    bus = causeway.connect(broker.url, name="shop", state=state)
    await bus.open()
    identity = bus.id
    await bus.send("shop", b"one")
    message = await bus.consumer().get(5)
    message.ack()
    await eventually(lambda: broker.stored("shop") == [])
    broker.deaf = True
    receipt = bus.send_nowait("orders", b"unanswered", service="transactional")
    await eventually(lambda: receipt.batch.sent)
    await bus._engine.stop()  # as a crash would: nothing is said, nothing is waited for

    broker.deaf = False
    letters = broker.box("shop")
    letters.seen.clear()
    async with causeway.connect(broker.url, name="shop", state=state) as again:
        assert again.id == identity
        await eventually(lambda: broker.stored("orders") == [b"unanswered"])
        await again.send("shop", b"two")
        async with again.consumer() as consumer:
            assert (await consumer.get(5)).text == "two"


async def test_kept_state_is_for_one_application_at_a_time(broker: FakeBroker, tmp_path: Path) -> None:
    async with causeway.connect(broker.url, name="shop", state=tmp_path):
        with pytest.raises(StoreError):
            await causeway.connect(broker.url, name="shop", state=tmp_path).open()
    with pytest.raises(StoreError, match="belongs to 'shop'"):
        await causeway.connect(broker.url, name="other", state=tmp_path).open()


async def test_kept_state_is_free_again_when_the_lake_could_not_be_opened(
    broker: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(ConfigError, match="lake="):
            await causeway.connect(broker.url, name="shop", state=tmp_path / "state", lake=tmp_path / "lake").open()
    async with causeway.connect(broker.url, name="shop", state=tmp_path / "state"):
        pass


async def test_bug_in_the_session_fails_callers_instead_of_leaving_them_waiting(broker: FakeBroker) -> None:
    broker.deaf = True
    bus = await causeway.connect(broker.url, name="shop").open()
    waiting = asyncio.create_task(bus.send("orders", b"x"))
    await asyncio.sleep(0)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    bus._engine.session._fire = broken  # type: ignore[method-assign]
    with pytest.raises(LocalProtocolError, match="a bug in the client"):
        await waiting
    with pytest.raises(LocalProtocolError, match="a bug in the client"):
        await bus.flush()
    await bus.aclose()
    gc.collect()
