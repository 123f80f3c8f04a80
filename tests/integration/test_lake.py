"""A real cluster and real applications write a lake, and everything that is known to have happened is in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import causeway
from causeway import sync
from causeway.client.message import MessageId
from causeway.testing import LocalCluster
from causeway.trace import Step
from tests.unit.lake.lakes import rows_of

PATIENCE = 20.0
Row = dict[str, Any]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def told(lake: Path) -> dict[str, MessageId]:
    """The ids of an exchange: to a mailbox, on a topic with a selector, in causal order, in a transaction.

    Everybody has stopped, so that the lake is complete.
    """
    with LocalCluster(brokers=3, durability="disk", lake=lake) as cluster:
        return asyncio.run(exchange(cluster, lake)) | hurry(cluster, lake)


async def exchange(cluster: LocalCluster, lake: Path) -> dict[str, MessageId]:
    ids: dict[str, MessageId] = {}
    async with (
        causeway.connect(cluster.url, name="alice", lake=lake) as alice,
        causeway.connect(cluster.url, name="bob", lake=lake) as bob,
    ):
        reds = bob.subscription("roads/#", name="reds", durable=True, selector="colour = 'red'")
        news = bob.subscription("news/#", name="news", durable=True, order="causal")
        await reds.ready(PATIENCE)
        await news.ready(PATIENCE)
        inbox = bob.consumer()
        ids["mail"] = MessageId.parse((await alice.send("bob", b"mail", service="transactional")).id)
        for colour in ("red", "blue", "red"):
            receipt = alice.publish_nowait("roads/a1", b"speed", headers={"colour": colour})
        await receipt
        ids["topic"] = MessageId.parse(receipt.id)
        ids["causal"] = MessageId.parse((await alice.publish("news/a", b"news", order="causal", timeout=PATIENCE)).id)
        (await inbox.get(PATIENCE)).ack()
        got = [await reds.get(PATIENCE), await reds.get(PATIENCE), await news.get(PATIENCE)]
        ids["answer"] = MessageId.parse((await bob.send("alice", b"answer", order="causal", timeout=PATIENCE)).id)
        for message in got:
            message.ack()
        async with alice.transaction() as transaction:
            transaction.send("bob", b"together")
        (await inbox.get(PATIENCE)).nack()
        (await inbox.get(PATIENCE)).ack()
    return ids


def hurry(cluster: LocalCluster, lake: Path) -> dict[str, MessageId]:
    """The sync client, in its own thread; as a program that knows nothing of lakes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAUSEWAY_LAKE", str(lake))
        with sync.connect(cluster.url, name="carol") as carol:
            receipts = [carol.send_nowait("carol", b"note to myself", service="express") for _ in range(100)]
            carol.flush(PATIENCE)
            with carol.consumer(auto_ack=True) as inbox:
                left = 100
                while left:
                    left -= len(inbox.get_batch(100, PATIENCE))
    return {"express": MessageId.parse(receipts[0].id)}


def life_of(lake: Path, wanted: MessageId) -> list[Row]:
    return [
        row
        for row in rows_of(lake)
        if (row["source"], row["incarnation"], row["dest"], row["stream"])
        == (wanted.source, wanted.incarnation, wanted.dest, wanted.stream)
        and row["first"] <= wanted.number <= row["last"]
    ]


def count(rows: list[Row], role: str) -> Counter[tuple[Step, str]]:
    return Counter((Step(row["step"]), row["mailbox"]) for row in rows if row["role"] == role)


def test_letter_to_a_mailbox_is_known_from_hand_to_hand(told: dict[str, MessageId], lake: Path) -> None:
    rows = life_of(lake, told["mail"])
    brokers, applications = count(rows, "broker"), count(rows, "application")
    assert applications == dict.fromkeys(
        [(step, "bob") for step in (Step.SENT, Step.ACKNOWLEDGED, Step.RECEIVED, Step.SETTLED)], 1
    )
    assert brokers[Step.COPIED, "bob"] == 3  # with durability `disk` nothing passes
    steps = (Step.SENT, Step.STORED, Step.ACKNOWLEDGED, Step.DELIVERED, Step.SETTLED)
    assert [brokers[step, "bob"] for step in steps] == [1] * 5
    [stored] = [row for row in rows if row["step"] == Step.STORED]
    assert stored["copies"] == 3
    assert stored["epoch"] > 0
    assert stored["bytes"] == 4
    assert stored["reliable"]
    copied = [row for row in rows if row["step"] == Step.COPIED]
    assert {row["peer"] for row in copied} == {stored["writer"]}
    assert len({row["writer"] for row in copied}) == 3
    assert [row["peer"] for row in rows if row["step"] == Step.DELIVERED] == ["bob"]


def test_topic_keeps_the_ids_of_its_publisher_at_the_item_and_at_the_subscription(
    told: dict[str, MessageId], lake: Path
) -> None:
    wanted = told["topic"]
    item, reds = wanted.dest, "sub/bob/reds"
    rows = life_of(lake, wanted)
    assert {row["topic"] for row in rows} == {"roads/a1"}
    brokers, applications = count(rows, "broker"), count(rows, "application")
    assert brokers[Step.STORED, item] == brokers[Step.STORED, reds] == brokers[Step.DELIVERED, reds] == 1
    assert brokers[Step.COPIED, item] == brokers[Step.COPIED, reds] == 3
    assert applications[Step.RECEIVED, reds] == applications[Step.SETTLED, reds] == 1
    assert applications[Step.SENT, item] == applications[Step.ACKNOWLEDGED, item] == 1
    blue = life_of(lake, MessageId(wanted.source, wanted.incarnation, item, wanted.stream, wanted.number - 1))
    assert blue
    assert not [row for row in blue if row["mailbox"] == reds]


def test_causal_order_is_written_under_one_stream_and_as_it_was_seen(told: dict[str, MessageId], lake: Path) -> None:
    rows = life_of(lake, told["causal"])
    assert all(row["causal"] and row["dest"] == "causeway/seats" and row["service"] == 1 for row in rows)
    brokers = count(rows, "broker")
    assert brokers[Step.STORED, "sub/bob/news"] == 1
    assert brokers[Step.COPIED, "sub/bob/news"] == 3
    assert all(row["seat"] for row in rows if row["role"] == "broker")
    bob = [row for row in rows_of(lake) if row["writer"] == "bob"]
    [received] = [row["sequence"] for row in bob if row["step"] == Step.RECEIVED and row["mailbox"] == "sub/bob/news"]
    [answered] = [row["sequence"] for row in bob if row["step"] == Step.SENT and row["source"] == "bob"]
    assert received < answered
    assert Step.STORED in {row["step"] for row in life_of(lake, told["answer"])}


def test_transaction_is_sent_stored_given_back_and_settled(told: dict[str, MessageId], lake: Path) -> None:
    sent = [row for row in rows_of(lake) if row["stream"] == 3]
    brokers, applications = count(sent, "broker"), count(sent, "application")
    assert applications == {
        (Step.SENT, "bob"): 1,
        (Step.ACKNOWLEDGED, "bob"): 1,
        (Step.RECEIVED, "bob"): 2,
        (Step.RETURNED, "bob"): 1,
        (Step.SETTLED, "bob"): 1,
    }
    assert [brokers[step, "bob"] for step in (Step.SENT, Step.PREPARED, Step.ACKNOWLEDGED, Step.STORED)] == [1] * 4
    assert brokers[Step.COPIED, "bob"] == 3
    assert brokers[Step.RETURNED, "bob"] == 1
    assert brokers[Step.DELIVERED, "bob"] == 2


def test_sync_client_traced_by_the_environment_writes_runs_of_ids(told: dict[str, MessageId], lake: Path) -> None:
    rows = [row for row in rows_of(lake) if row["source"] == "carol"]
    for step in (Step.SENT, Step.ACKNOWLEDGED, Step.RECEIVED, Step.SETTLED):
        mine = [row for row in rows if row["step"] == step and row["role"] == "application"]
        assert sum(row["last"] - row["first"] + 1 for row in mine) == 100
        assert len(mine) < 50


def test_every_life_of_an_application_is_whole(told: dict[str, MessageId], lake: Path) -> None:
    lives: dict[tuple[str, int], list[int]] = {}
    for row in rows_of(lake):
        lives.setdefault((row["writer"], row["life"]), []).append(row["sequence"])
    assert all(found == list(range(1, len(found) + 1)) for found in lives.values())
    ended = {row["writer"] for row in rows_of(lake) if row["step"] == Step.ENDED}
    assert ended >= {"alice", "bob", "carol"}


def test_telemetry_and_latency_add_up_to_what_was_sent(told: dict[str, MessageId], lake: Path) -> None:
    counts = {row["name"]: Counter[str]() for row in rows_of(lake, "telemetry")}
    for row in rows_of(lake, "telemetry"):
        counts[row["name"]].update({key: row[key] for key in ("messages_in", "messages_out", "bytes_in")})
    assert counts["bob"]["messages_in"] == 2
    assert counts["bob"]["messages_out"] == 3
    assert counts["carol"]["messages_in"] == counts["carol"]["messages_out"] == 100
    assert counts["carol"]["bytes_in"] == 1400
    assert counts["roads/a1"]["messages_in"] == 3
    assert counts["roads/a1"]["messages_out"] == 2
    hops = {(row["role"], row["name"], row["hop"]): sum(row["counts"]) for row in rows_of(lake, "latency")}
    assert hops["application", "bob", "acknowledged"]
    assert hops["broker", "bob", "delivered"]
    assert hops["broker", "roads/a1", "settled"] == 2
