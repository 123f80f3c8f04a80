"""Topics against real brokers: every kind of subscription, and what becomes of it when brokers fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import causeway
from causeway.errors import Code, ConfigError, DeadlineExceeded, Refused, SelectorError, TopicError
from causeway.testing import LocalCluster
from causeway.topics import item_of
from tests.integration.processes import running_cluster

SERVICES = ("express", "recoverable", "transactional")
KIB = 1024
PAGE = b"x" * (4 * KIB)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Three brokers in memory, shared by the tests that harm nobody: each has topics of its own."""
    with LocalCluster(brokers=3) as running:
        yield running


async def texts(reader: causeway.Subscription, count: int) -> list[str]:
    """What so many messages say, acknowledged."""
    found = []
    for _ in range(count):
        message = await reader.get(20)
        message.ack()
        found.append(message.text)
    return found


def numbers(first: int, end: int) -> list[str]:
    return [str(number) for number in range(first, end)]


async def publish_numbers(bus: causeway.Bus, topic: str, first: int, end: int) -> None:
    for number in range(first, end):
        bus.publish_nowait(topic, str(number))
    await bus.flush(20)


# Publishing and subscribing -------------------------------------------------------------------------------------
@pytest.mark.parametrize("service", SERVICES)
async def test_published_messages_reach_everybody_who_wants_them_and_nobody_else(
    cluster: LocalCluster, service: str
) -> None:
    async with (
        causeway.connect(cluster.url, name=f"radar-{service}") as radar,
        causeway.connect(cluster.url, name=f"board-{service}") as board,
    ):
        wide = board.subscription(f"{service}/*/speed")
        exact = board.subscription(f"{service}/a1/speed")
        other = board.subscription(f"{service}/a1/noise")
        for one in (wide, exact, other):
            await one.ready(10)
        for number in range(100):
            radar.publish_nowait(f"{service}/a{number % 2}/speed", f"{number}", service=service)
        await radar.flush(10)
        all_of_it = [int((await wide.get(10)).text) for _ in range(100)]
        half_of_it = [int((await exact.get(10)).text) for _ in range(50)]
        assert sorted(all_of_it) == list(range(100))
        assert sorted(half_of_it) == list(range(1, 100, 2))
        if service != "express":
            assert all_of_it == list(range(100))
        with pytest.raises(DeadlineExceeded):
            await other.get(0.2)


async def test_what_a_message_says_about_its_publication(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="radar") as radar:
        reader = radar.subscription("facts/#")
        await reader.ready(10)
        receipt = await radar.publish("facts/a1", b"90", service="transactional", priority=7, headers={"unit": "km/h"})
        message = await reader.get(10)
        assert (message.topic, message.body, message.source) == ("facts/a1", b"90", "radar")
        assert (message.service, message.priority, message.headers) == ("transactional", 7, {"unit": "km/h"})
        assert message.id == receipt.id
        assert message.offset is not None


async def test_bus_does_not_hear_itself_if_it_does_not_want_to(cluster: LocalCluster) -> None:
    async with (
        causeway.connect(cluster.url, name="talker") as talker,
        causeway.connect(cluster.url, name="talker") as twin,
    ):
        others, everybody = talker.subscription("echo", no_local=True), talker.subscription("echo")
        await others.ready(10)
        await everybody.ready(10)
        await talker.publish("echo", "mine", retain=True)
        await twin.publish("echo", "of the other one of my name")
        await talker.publish("echo", "mine again")
        await twin.publish("echo", "last")
        assert await texts(others, 2) == ["of the other one of my name", "last"]
        assert len(await texts(everybody, 4)) == 4
        late = talker.subscription("echo", no_local=True)  # not even what it retained
        await late.ready(10)
        await twin.publish("echo", "later")
        assert await texts(late, 1) == ["later"]


async def test_selector_chooses_among_the_messages_of_a_topic(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="chooser") as bus:
        fast = bus.subscription("speeds/*", selector="kmh > 120 AND country IN ('de', 'at')")
        await fast.ready(10)
        for number in range(60):  # one batch, of which runs are wanted
            country = ("de", "fr", "at")[number % 3]
            bus.publish_nowait("speeds/a1", str(number), headers={"kmh": 100 + number, "country": country})
        await bus.flush(10)
        expected = [str(number) for number in range(21, 60) if number % 3 != 1]
        assert await texts(fast, len(expected)) == expected


async def test_tags_and_paths_meet_in_one_topic_and_each_sees_its_own_form(cluster: LocalCluster) -> None:
    templates = ["highways/{road}/{kind}"]
    async with (
        causeway.connect(cluster.url, name="paths") as paths,
        causeway.connect(cluster.url, name="tags", naming=templates) as tags,
    ):
        by_path, by_tags = paths.subscription("highways/*/speed"), tags.subscription("kind=speed, road=*")
        await by_path.ready(10)
        await by_tags.ready(10)
        await paths.publish("highways/a1/speed", "1")
        await tags.publish("kind=speed, road=a8", "2")
        seen = [[(await reader.get(10)).topic for _ in range(2)] for reader in (by_path, by_tags)]
        assert seen == [
            ["highways/a1/speed", "highways/a8/speed"],
            ["road=a1, kind=speed", "road=a8, kind=speed"],
        ]


async def test_request_and_reply_go_on_beside_topics(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="asker") as asker, causeway.connect(cluster.url, name="sage") as sage:
        reader = sage.subscription("questions")
        await reader.ready(10)

        async def answer() -> None:
            async with sage.consumer() as consumer:
                message = await consumer.get(10)
                await message.reply(f"{message.text} is 42")
                message.ack()

        answering = asyncio.create_task(answer())
        assert (await asker.request("sage", "6 * 7", timeout=10)).text == "6 * 7 is 42"
        await answering
        await asker.publish("questions", "none left")
        assert await texts(reader, 1) == ["none left"]


# Durable and shared ---------------------------------------------------------------------------------------------
async def test_durable_subscription_keeps_what_comes_while_its_reader_is_away(cluster: LocalCluster) -> None:
    async with (
        causeway.connect(cluster.url, name="diary") as diary,
        diary.subscription("days/#", name="all", durable=True) as reader,
    ):
        await reader.ready(10)
    async with causeway.connect(cluster.url, name="world") as world:
        await publish_numbers(world, "days/mo", 0, 100)
    async with causeway.connect(cluster.url, name="diary") as diary:
        async with diary.subscription("days/#", name="all", durable=True) as reader:
            assert await texts(reader, 60) == numbers(0, 60)
        async with diary.subscription("days/#", name="all", durable=True) as reader:
            assert await texts(reader, 40) == numbers(60, 100)


async def test_durable_subscription_on_disk_outlives_every_broker() -> None:
    async with (
        LocalCluster(brokers=3, durability="disk") as cluster,
        causeway.connect(cluster.url, name="archive", timeout=60) as archive,
    ):
        async with archive.subscription("deeds/#", name="all", durable=True) as reader:
            await reader.ready(20)
        await publish_numbers(archive, "deeds/land", 0, 50)
        await archive.publish("deeds/last", "kept", retain=True)
        for index in range(3):
            cluster.kill(index)
        cluster.restart_all()
        late = archive.subscription("deeds/last")
        assert await texts(late, 1) == ["kept"]
        async with archive.subscription("deeds/#", name="all", durable=True) as reader:
            assert await texts(reader, 51) == [*numbers(0, 50), "kept"]
        await archive.publish("deeds/land", "goes on")
        async with archive.subscription("deeds/#", name="all", durable=True) as reader:
            assert await texts(reader, 1) == ["goes on"]


@pytest.mark.parametrize("durable", [False, True], ids=["temporary", "durable"])
async def test_consumers_of_a_shared_subscription_divide_its_messages(cluster: LocalCluster, durable: bool) -> None:
    topic = f"work/{durable}"
    seen: dict[str, list[str]] = {"left": [], "right": []}

    async def work(name: str, all_done: Callable[[], bool]) -> None:
        async with causeway.connect(cluster.url, name=name) as bus:
            crew = bus.subscription(topic, name=f"crew-{durable}", shared=True, durable=durable, prefetch=8)
            await crew.ready(10)
            begun[name].set()
            while not all_done():
                for message in await crew.get_batch(4, 0.2):
                    seen[name].append(message.text)
                    message.ack()
            await crew.aclose()

    begun = {name: asyncio.Event() for name in seen}
    workers = [asyncio.create_task(work(name, lambda: sum(map(len, seen.values())) >= 400)) for name in seen]
    async with causeway.connect(cluster.url, name="boss") as boss:
        for event in begun.values():
            await asyncio.wait_for(event.wait(), 20)
        await publish_numbers(boss, topic, 0, 400)
        await asyncio.wait_for(asyncio.gather(*workers), 20)
    assert sorted(seen["left"] + seen["right"], key=int) == numbers(0, 400)
    assert seen["left"], "the other one did everything"
    assert seen["right"], "the other one did everything"


async def test_shared_durable_subscription_belongs_to_no_application(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="first-hand") as first:
        async with first.subscription("tools", name="bench", shared=True, durable=True) as crew:
            await crew.ready(10)
        await publish_numbers(first, "tools", 0, 10)
    async with causeway.connect(cluster.url, name="second-hand") as second:
        async with second.subscription("tools", name="bench", shared=True, durable=True) as crew:
            assert await texts(crew, 10) == numbers(0, 10)
        await second.unsubscribe("bench", shared=True, timeout=10)


async def test_second_reader_of_a_durable_subscription_is_refused_while_the_first_is_there(
    cluster: LocalCluster,
) -> None:
    async with (
        causeway.connect(cluster.url, name="clerk") as one,
        causeway.connect(cluster.url, name="clerk") as two,
    ):
        first = one.subscription("files/#", name="desk", durable=True)
        await first.ready(10)
        with pytest.raises(Refused) as caught:
            await two.subscription("files/#", name="desk", durable=True).ready(10)
        assert caught.value.code == Code.IN_USE
        await first.aclose()
        second = two.subscription("files/#", name="desk", durable=True)
        await second.ready(10)
        await one.publish("files/1", "for the second")
        assert await texts(second, 1) == ["for the second"]


async def test_unsubscribing_ends_a_durable_subscription_with_all_it_holds(cluster: LocalCluster) -> None:
    def holders() -> list[str]:
        reports = [cluster.status(index) for index in range(3)]
        return [group["name"] for report in reports for group in report["groups"] if "quitter" in group["name"]]

    async with causeway.connect(cluster.url, name="quitter") as bus:
        async with bus.subscription("offers", name="mine", durable=True) as reader:
            await reader.ready(10)
        await publish_numbers(bus, "offers", 0, 10)
        assert await asyncio.to_thread(holders)
        await bus.unsubscribe("mine", timeout=10)
        await bus.publish("offers", "to nobody", timeout=10)
        deadline = time.monotonic() + 10
        while await asyncio.to_thread(holders):
            assert time.monotonic() < deadline, "its mailbox is still there"
            await asyncio.sleep(0.05)
        again = bus.subscription("offers", name="mine", durable=True)
        await again.ready(10)
        await bus.publish("offers", "new")
        assert await texts(again, 1) == ["new"]


# Retained messages ----------------------------------------------------------------------------------------------
async def test_last_retained_message_greets_whoever_subscribes(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="herald") as herald:
        await herald.publish("posts/gate", "closed", retain=True)
        await herald.publish("posts/gate", "open", retain=True)
        await herald.publish("posts/gate", "passing", service="recoverable")
        await herald.publish("posts/tower", "empty", retain=True)
        greeted = herald.subscription("posts/*")
        plain = herald.subscription("posts/*", retained=False)
        for reader in (greeted, plain):
            await reader.ready(10)
        await herald.publish("posts/gate", "live")
        first = await texts(greeted, 3)
        assert sorted(first[:2]) == ["empty", "open"]
        assert first[2] == "live"
        assert await texts(plain, 1) == ["live"]
        await herald.publish("posts/gate", b"", retain=True)
        ended = herald.subscription("posts/gate")
        await ended.ready(10)
        await herald.publish("posts/gate", "after the end")
        assert await texts(ended, 1) == ["after the end"]


async def test_retained_message_greets_a_durable_subscription_once_whoever_owns_its_item() -> None:
    async with LocalCluster(brokers=4) as cluster, causeway.connect(cluster.url, name="driver", timeout=60) as driver:
        await driver.publish("signs/a1", "60", retain=True)
        async with driver.subscription("signs/#", name="seen", durable=True) as reader:
            assert await texts(reader, 1) == ["60"]
        changed = {"name": "seen", "durable": True, "bytes_max": 100 * KIB}
        async with driver.subscription("signs/#", **changed) as reader:
            await reader.ready(20)
        reports = await asyncio.to_thread(lambda: [cluster.status(index) for index in range(4)])
        groups = [group for report in reports for group in report["groups"]]
        owner = next(group["owner"] for group in groups if group["name"] == item_of("signs/a1"))
        cluster.kill([broker.name for broker in cluster.brokers].index(owner))
        await driver.publish("signs/a1", "80")
        async with driver.subscription("signs/#", **changed) as reader:
            assert await texts(reader, 1) == ["80"]


# Slow readers ---------------------------------------------------------------------------------------------------
async def test_bus_is_told_who_holds_a_topic_and_when_its_mirror_has_taken_over() -> None:
    async with LocalCluster(brokers=4, domains="north") as cluster, causeway.connect(cluster.url, name="r") as bus:
        names = [broker.name for broker in cluster.brokers]
        await bus.publish("lamps/one", "on")
        placed = await bus.where("lamps/one")
        assert placed == await bus.where("lamps/two"), "they are in one item"
        reports = await asyncio.to_thread(lambda: [cluster.status(index) for index in range(4)])
        groups = [group for report in reports for group in report["groups"]]
        (owner,) = {group["owner"] for group in groups if group["name"] == item_of("lamps/one")}
        assert (placed.owner, placed.domain) == (owner, "north")
        assert placed.mirror in set(names) - {owner}
        cluster.kill(names.index(owner))
        deadline = time.monotonic() + 20
        while (now := await bus.where("lamps/one")).owner == owner:
            assert time.monotonic() < deadline, "the bus was not told"
            await asyncio.sleep(0.05)
        assert now.epoch > placed.epoch


async def test_full_subscription_that_blocks_holds_its_publisher_up_and_loses_nothing(tmp_path: Path) -> None:
    room = {"stored_bytes_max": str(256 * KIB), "window_bytes": str(128 * KIB)}
    async with (
        running_cluster(tmp_path, 1, durability="memory", settings=room) as brokers,
        causeway.connect(brokers.url, name="press") as press,
    ):
        slow = press.subscription("pages", overflow="block", bytes_max=64 * KIB, prefetch=1)
        await slow.ready(10)
        for number in range(200):  # 800 KiB: the subscription and then the item are full
            press.publish_nowait("pages", PAGE + str(number).encode(), timeout=60)
            await press.ready(10)  # each a batch of its own
        with pytest.raises(DeadlineExceeded, match="not acknowledged"):
            await press.flush(1)
        assert [(await texts(slow, 1))[0].lstrip("x") for _ in range(200)] == numbers(0, 200)
        await press.flush(10)


async def test_full_subscription_that_drops_the_oldest_keeps_the_newest_in_order(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="ticker") as ticker:
        kept = {"name": "last", "durable": True, "overflow": "drop_oldest", "bytes_max": 64 * KIB}
        async with ticker.subscription("prices", **kept) as reader:
            await reader.ready(10)
        for number in range(200):
            last = await ticker.publish("prices", PAGE + str(number).encode(), confirm=True)
        await last.confirmed(10)
        async with ticker.subscription("prices", **kept) as reader:
            seen = [(await texts(reader, 1))[0].lstrip("x")]
            while seen[-1] != "199":
                seen.append((await texts(reader, 1))[0].lstrip("x"))
            assert seen == numbers(200 - len(seen), 200)
            assert 8 <= len(seen) <= 16, "it holds 64 KiB, and pages have 4"


async def test_slow_reader_of_a_subscription_that_drops_goes_on_with_the_newest(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="watcher") as bus:
        reader = bus.subscription("camera", overflow="drop_oldest", bytes_max=64 * KIB, prefetch=1)
        await reader.ready(10)
        for number in range(200):
            last = await bus.publish("camera", PAGE + str(number).encode(), confirm=True)
        await last.confirmed(10)
        seen = [(await texts(reader, 1))[0].lstrip("x")]
        while seen[-1] != "199":
            seen.append((await texts(reader, 1))[0].lstrip("x"))
        assert seen[0] == "0", "it was in the reader's hands already"
        assert seen[1:] == numbers(201 - len(seen), 200)
        assert len(seen) <= 17, "64 KiB in its store, and one page in the reader's hands"


async def test_full_subscription_that_would_rather_end_tells_its_reader(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="dropper") as bus:
        reader = bus.subscription("flood", overflow="disconnect", bytes_max=64 * KIB, prefetch=1)
        await reader.ready(10)
        for number in range(40):
            await bus.publish("flood", PAGE + str(number).encode(), timeout=20)
        with pytest.raises(Refused) as caught:
            for _ in range(41):
                (await reader.get(10)).ack()
        assert caught.value.code == Code.OVERFLOWED
        again = bus.subscription("flood", overflow="disconnect", bytes_max=64 * KIB)
        await again.ready(10)
        await bus.publish("flood", "trickle")
        assert await texts(again, 1) == ["trickle"]


# Histories ------------------------------------------------------------------------------------------------------
async def test_replay_joins_the_live_messages_without_a_gap_or_a_double(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="teller") as teller:
        await teller.keep_history("tales/#", seconds=600, timeout=10)
        await publish_numbers(teller, "tales/old", 0, 300)

        async def go_on() -> None:
            for number in range(300, 900):
                teller.publish_nowait("tales/new", str(number))
                if number % 20 == 0:
                    await teller.flush(20)
            await teller.flush(20)

        telling = asyncio.create_task(go_on())
        readers = [teller.subscription("tales/#", start="earliest") for _ in range(3)]
        for reader in readers:
            assert await texts(reader, 900) == numbers(0, 900)
        await telling
        await teller.publish("tales/new", "live")
        for reader in readers:
            assert await texts(reader, 1) == ["live"]
        await teller.forget_history("tales/#", timeout=10)


async def test_replay_begins_at_an_offset_or_a_time(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="chronicle") as bus:
        await bus.keep_history("years/*", seconds=600, timeout=10)
        await publish_numbers(bus, "years/a", 0, 20)
        moment = time.time()
        await publish_numbers(bus, "years/b", 20, 40)
        whole = bus.subscription("years/*", start="earliest")
        offsets = []
        for number in range(40):
            message = await whole.get(10)
            assert message.text == str(number)
            assert message.offset is not None
            offsets.append(message.offset)
        from_offset = bus.subscription("years/*", start=offsets[35])
        assert await texts(from_offset, 5) == numbers(35, 40)
        for time_form in (moment, datetime.fromtimestamp(moment, UTC)):
            async with bus.subscription("years/*", start=time_form) as since:
                assert await texts(since, 20) == numbers(20, 40)  # type: ignore[arg-type]
        only_a = bus.subscription("years/a", start="earliest", selector="JMSPriority = 4")
        assert await texts(only_a, 20) == numbers(0, 20)
        await bus.publish("years/a", "now")
        for reader in (whole, from_offset, only_a):
            assert await texts(reader, 1) == ["now"]


async def test_nothing_is_replayed_where_nobody_keeps_a_history(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="forgetful") as bus:
        with pytest.raises(Refused, match="keep_history") as caught:
            await bus.subscription("oblivion/#", start="earliest").ready(10)
        assert caught.value.code == Code.NO_MAILBOX


# Transactions ---------------------------------------------------------------------------------------------------
async def test_transaction_publishes_and_acknowledges_together_or_not_at_all(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="editor") as editor:
        reader = editor.subscription("printed/*")
        await reader.ready(10)
        await editor.send("drafts", "draft")
        async with editor.consumer("drafts") as drafts:
            message = await drafts.get(10)
            with pytest.raises(ZeroDivisionError):
                async with editor.transaction() as tx:
                    tx.publish("printed/today", "never")
                    tx.ack(message)
                    raise ZeroDivisionError
            async with editor.transaction() as tx:
                tx.publish("printed/today", "printed")
                tx.publish("printed/cover", "cover", retain=True, headers={"pages": 2})
                tx.send("invoices", "invoice")
                tx.ack(message)
        assert sorted(await texts(reader, 2)) == ["cover", "printed"]
        async with editor.consumer("invoices") as consumer:
            assert (await consumer.get(10)).text == "invoice"
        greeted = editor.subscription("printed/*")
        message = await greeted.get(10)
        assert (message.text, message.headers, message.service) == ("cover", {"pages": 2}, "committed")
    async with causeway.connect(cluster.url, name="editor-2") as other:
        drafts = other.consumer("drafts")
        with pytest.raises(DeadlineExceeded):
            await drafts.get(0.2)


async def test_transaction_takes_from_a_subscription(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="relay") as relay:
        raw = relay.subscription("raw", name="in", durable=True)
        await raw.ready(10)
    async with causeway.connect(cluster.url, name="relay") as relay:
        cooked = relay.subscription("cooked")
        await cooked.ready(10)
        raw = relay.subscription("raw", name="in", durable=True)
        await publish_numbers(relay, "raw", 0, 5)
        for _ in range(5):
            message = await raw.get(10)
            async with relay.transaction() as tx:
                tx.publish("cooked", f"cooked {message.text}")
                tx.ack(message)
        assert await texts(cooked, 5) == [f"cooked {number}" for number in range(5)]
        await raw.aclose()
        again = relay.subscription("raw", name="in", durable=True)
        await relay.publish("raw", "5")
        assert await texts(again, 1) == ["5"]


# Temporary destinations -----------------------------------------------------------------------------------------
async def test_temporary_mailbox_ends_with_its_connection(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="stayer") as stayer:
        async with causeway.connect(cluster.url, name="visitor") as visitor:
            mailbox = await visitor.temporary_mailbox(timeout=10)
            stayer.send_nowait(mailbox, "welcome")
            async with visitor.consumer(mailbox) as letters:
                message = await letters.get(10)
                message.ack()
                assert message.text == "welcome"
        with pytest.raises(Refused) as caught:
            await stayer.send(mailbox, "are you there?", timeout=10)
        assert caught.value.code == Code.NO_MAILBOX


async def test_temporary_topic_is_its_bus_s_own_and_ends_with_it(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="stayer") as stayer:
        async with causeway.connect(cluster.url, name="visitor") as visitor:
            topic = visitor.temporary_topic()
            reader = visitor.subscription(topic)
            nosy = stayer.subscription("#", retained=False)
            for one in (reader, nosy):
                await one.ready(10)
            await stayer.publish(topic, "welcome", retain=True)
            await stayer.publish("elsewhere", "heard")
            message = await reader.get(10)
            assert (message.text, message.topic) == ("welcome", topic)
            assert await texts(nosy, 1) == ["heard"]
            late = visitor.subscription(topic)
            await late.ready(10)
            await stayer.publish(topic, "nothing is retained")
            assert await texts(late, 1) == ["nothing is retained"]
            with pytest.raises(ConfigError, match="only the bus that made"):
                stayer.subscription(topic)
        await stayer.publish(topic, "to nobody", timeout=10)
        wide = stayer.subscription("#", retained=False)
        await wide.ready(10)
        await stayer.publish("elsewhere", "heard")
        assert await texts(wide, 1) == ["heard"]


# Mistakes -------------------------------------------------------------------------------------------------------
async def test_wrong_names_patterns_and_selectors_are_refused_with_their_column(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="typist") as bus:
        with pytest.raises(TopicError, match="wildcards belong in subscriptions") as topic:
            await bus.publish("roads/*/speed", b"")
        assert topic.value.column == 7
        with pytest.raises(TopicError) as pattern:
            bus.subscription("roads/#/speed")
        assert pattern.value.column == 7
        with pytest.raises(SelectorError) as selector:
            bus.subscription("roads/#", selector="speed >")
        assert selector.value.column == 8
        async with bus.transaction() as tx:
            with pytest.raises(TopicError):
                tx.publish("roads//speed", b"")
        for wrong in ({"durable": True}, {"name": "x"}, {"shared": True, "name": "a/b"}, {"overflow": "explode"}):
            with pytest.raises(ConfigError):
                bus.subscription("roads/#", **wrong)
        with pytest.raises(ConfigError, match="offsets count per first level"):
            bus.subscription("#", start=17)


@pytest.mark.parametrize("pattern", ["papers/#", "critical/papers/#"])
@pytest.mark.parametrize("shared", [False, True])
async def test_the_reader_of_a_subscription_may_end_it(cluster: LocalCluster, pattern: str, shared: bool) -> None:
    async with causeway.connect(cluster.url, name="tidy") as bus:
        reader = bus.subscription(pattern, name="pile", durable=True, shared=shared)
        await reader.ready(10)
        await bus.unsubscribe("pile", shared=shared, timeout=10)
        with pytest.raises(causeway.Refused, match="ended"):
            await reader.get(10)


async def test_ending_what_does_not_exist_is_an_error(cluster: LocalCluster) -> None:
    async with causeway.connect(cluster.url, name="tidy") as bus:
        with pytest.raises(causeway.Refused) as refused:
            await bus.unsubscribe("never-begun")
        assert refused.value.code == causeway.Code.NO_MAILBOX
        with pytest.raises(causeway.Refused):
            await bus.forget_history("never/kept")
