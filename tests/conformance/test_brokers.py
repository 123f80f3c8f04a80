"""One suite for every driver, third part: the same small scenarios with the real broker and the real client."""

from __future__ import annotations

import pytest

from causeway.client.message import CORRELATION, REPLY_TO, Delivery
from causeway.client.transactions import Commitment
from causeway.errors import Refused
from causeway.types import ServiceClass
from tests.conformance.applications import App, Ring
from tests.conformance.worlds import World


@pytest.fixture
def ring(world: World) -> Ring:
    return Ring(world)


def numbered(count: int, what: str = "message") -> list[bytes]:
    return [f"{what} {number}".encode() for number in range(count)]


def expect(reader: App, mailbox: str, bodies: list[bytes], *, ordered: bool = True) -> None:
    """Exactly these, each once, in this order if it is promised, and nothing more when everything is quiet."""
    reader.world.run_until(lambda: len(reader.heard[mailbox]) >= len(bodies))
    reader.wait_idle()
    assert reader.browse(mailbox) == []
    heard = reader.heard[mailbox]
    assert (heard if ordered else sorted(heard)) == (bodies if ordered else sorted(bodies))


def test_three_brokers_form_a_ring(ring: Ring) -> None:
    found = {name: node.statistics() for name, node in ring.nodes().items()}
    assert len(found) == 3
    assert len({str(broker["cluster"]) for broker in found.values()}) == 1
    assert [broker["leaves"] for broker in found.values()] == [2, 2, 2]


@pytest.mark.parametrize("service", [ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE, ServiceClass.EXPRESS])
def test_messages_reach_another_application_exactly_once_transactional_ones_in_order(
    ring: Ring, service: ServiceClass
) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    reader.read("reader")
    bodies = [*numbered(200), b"", bytes(300_000), *numbered(20, "last")]
    tickets = []
    for body in bodies:
        tickets += sender.send("reader", body, service=service)
    sender.acknowledged(tickets)
    expect(reader, "reader", bodies, ordered=service == ServiceClass.TRANSACTIONAL)


def test_two_senders_keep_their_own_order_in_one_mailbox(ring: Ring) -> None:
    ants, bees, reader = App(ring, "ants"), App(ring, "bees"), App(ring, "reader")
    reader.read("reader")
    tickets = []
    for ant, bee in zip(numbered(100, "ant"), numbered(100, "bee"), strict=True):
        tickets += [*ants.send("reader", ant), *bees.send("reader", bee)]
    ants.acknowledged(tickets)
    ring.world.run_until(lambda: len(reader.heard["reader"]) >= 200)
    reader.wait_idle()
    heard = reader.heard["reader"]
    assert [body for body in heard if body.startswith(b"ant")] == numbered(100, "ant")
    assert [body for body in heard if body.startswith(b"bee")] == numbered(100, "bee")
    assert len(heard) == 200


def test_offline_receiver_gets_what_was_stored_when_it_returns(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    reader.read("reader")
    sender.send_all("reader", *numbered(10))
    expect(reader, "reader", numbered(10))
    reader.crash()
    sender.send_all("reader", *numbered(50, "stored"))
    assert sender.browse("reader") == numbered(50, "stored")
    reader.start()
    reader.read("reader")
    expect(reader, "reader", numbered(10) + numbered(50, "stored"))


def test_what_a_receiver_had_not_settled_when_it_crashed_comes_again(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    reader.on_message = lambda delivery: reader.settle(delivery) if len(reader.heard["reader"]) <= 4 else None
    reader.read("reader")
    sender.send_all("reader", *numbered(10))
    ring.world.run_until(lambda: len(reader.heard["reader"]) == 10)
    reader.wait_idle()
    assert sender.browse("reader") == numbered(10)[4:]
    reader.crash()
    reader.heard.clear()
    reader.on_message = reader.settle
    reader.start()
    reader.read("reader")
    expect(reader, "reader", numbered(10)[4:])


def test_copy_takes_over_when_the_owner_crashes_and_nothing_is_lost(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    sender.send_all("reader", *numbered(30))
    owner = sender.owner("reader")
    tickets = sender.send("reader", *numbered(30, "under way"))
    ring.crash(owner)
    tickets += sender.send("reader", *numbered(30, "after"))
    sender.acknowledged(tickets)
    assert sender.owner("reader") != owner
    reader.read("reader")
    expect(reader, "reader", numbered(30) + numbered(30, "under way") + numbered(30, "after"))


def test_reader_follows_its_mailbox_when_the_owner_crashes_and_comes_back(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    reader.read("reader", credit=4)
    owner = sender.owner("reader")
    tickets, bodies = [], []
    for part in range(6):
        if part == 2:
            ring.crash(owner)
        if part == 4:
            ring.start(owner)
        bodies += numbered(20, f"part {part}")
        tickets += sender.send("reader", *numbered(20, f"part {part}"))
        ring.world.run_until(lambda part=part: len(reader.heard["reader"]) >= 20 * part)
    sender.acknowledged(tickets)
    ring.wait_formed()
    expect(reader, "reader", bodies)


def test_whole_cluster_recovers_everything_acknowledged_after_a_crash_of_all(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    sender.send_all("one", *numbered(40, "one"))
    sender.send_all("two", *numbered(40, "two"), service=ServiceClass.RECOVERABLE)
    under_way = sender.send("one", *numbered(5, "under way"))
    for name in ring.places:
        ring.crash(name)
    for name in ring.places:
        ring.start(name)
    ring.wait_formed()
    sender.acknowledged(under_way)
    reader.read("one")
    reader.read("two")
    expect(reader, "one", numbered(40, "one") + numbered(5, "under way"))
    expect(reader, "two", numbered(40, "two"), ordered=False)


def test_nothing_is_overlooked_when_a_store_answers_in_small_pages(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("memory", "disk"):
        monkeypatch.setattr(f"causeway.store.{store}.PAGE_ROWS_MAX", 3)
    sender, reader = App(ring, "sender"), App(ring, "reader")
    boxes = [f"box-{number}" for number in range(8)]
    for box in boxes:
        sender.send_all(box, *numbered(3, box))
    for name in ring.places:
        ring.crash(name)
    for name in ring.places:
        ring.start(name)
    ring.wait_formed()
    for box in boxes:
        reader.read(box)
        expect(reader, box, numbered(3, box))


def test_broker_that_leaves_hands_over_first(world: World) -> None:
    ring = Ring(world, 4)
    sender, reader = App(ring, "sender"), App(ring, "reader")
    sender.send_all("reader", *numbered(30))
    owner = sender.owner("reader")
    ring.leave(owner)
    assert len(ring.nodes()) == 3
    sender.send_all("reader", *numbered(30, "after"))
    assert sender.owner("reader") != owner
    reader.read("reader")
    expect(reader, "reader", numbered(30) + numbered(30, "after"))


def fate(commitment: Commitment) -> bool:
    """Whether it was committed; anything but yes and no is wrong here."""
    assert commitment.done
    assert commitment.error is None or (commitment.resolved and isinstance(commitment.error, Refused))
    return commitment.error is None


def test_transaction_reaches_both_mailboxes_and_takes_what_it_settles(ring: Ring) -> None:
    source, bank, reader = App(ring, "source"), App(ring, "bank"), App(ring, "reader")
    commitments: list[Commitment] = []

    def pass_on(delivery: Delivery) -> None:
        out = [("left", b"left of " + delivery.body), ("right", b"right of " + delivery.body)]
        commitments.append(bank.commit(*out, accepted=(delivery,)))

    bank.on_message = pass_on
    bank.read("bank")
    source.send_all("bank", *numbered(8))
    ring.world.run_until(lambda: len(commitments) == 8 and all(one.done for one in commitments))
    assert [fate(one) for one in commitments] == [True] * 8
    assert source.browse("bank") == []
    for side in ("left", "right"):
        reader.read(side)
        expect(reader, side, [f"{side} of ".encode() + body for body in numbered(8)], ordered=False)


def test_transactions_stay_atomic_while_an_owner_crashes(ring: Ring) -> None:
    bank, reader = App(ring, "bank"), App(ring, "reader")
    victim = bank.owner("left")
    commitments: list[Commitment] = []
    for number in range(12):
        body = b"%d" % number
        commitments.append(bank.commit(("left", body), ("right", body)))
        if number == 4:
            ring.world.run_until(lambda: any(one.done for one in commitments))
            ring.crash(victim)
        if number == 8:
            ring.start(victim)
    ring.world.run_until(lambda: all(one.done for one in commitments))
    committed = [b"%d" % number for number, one in enumerate(commitments) if fate(one)]
    assert committed
    for side in ("left", "right"):
        reader.read(side)
        expect(reader, side, committed, ordered=False)


def test_browsing_shows_messages_and_leaves_them(ring: Ring) -> None:
    sender, reader = App(ring, "sender"), App(ring, "reader")
    assert reader.browse("reader") == []
    sender.send_all("reader", *numbered(150))
    assert reader.browse("reader")[:100] == numbered(150)[:100]
    assert reader.browse("reader")[:100] == numbered(150)[:100]
    reader.read("reader")
    expect(reader, "reader", numbered(150))


def test_browsing_shows_what_lies_behind_the_window_also_after_the_owner_died(world: World) -> None:
    ring = Ring(world, window_bytes=8_000)
    sender, reader = App(ring, "sender"), App(ring, "reader")
    bodies = [body.ljust(500, b".") for body in numbered(200)]
    for body in bodies:
        sender.send_all("box", body)
    assert reader.browse("box", 1000) == bodies
    ring.crash(reader.owner("box"))
    assert reader.browse("box", 1000) == bodies
    reader.read("box")
    expect(reader, "box", bodies)


def test_a_selector_finds_what_it_wants_on_every_page(world: World) -> None:
    ring = Ring(world, window_bytes=8_000)
    sender, reader = App(ring, "sender"), App(ring, "reader")
    bodies = [body.ljust(500, b".") for body in numbered(200)]
    for at, body in enumerate(bodies):
        sender.acknowledged(sender.send("box", body, headers={"number": at}))
    for _ in range(2):
        assert reader.browse("box", 1000, "number BETWEEN 7 AND 9 OR number >= 198") == [*bodies[7:10], *bodies[198:]]
        assert reader.browse("box", 2, "number > 100") == bodies[101:103]
        assert reader.browse("box", 1000, "number IS NULL") == []
        ring.crash(reader.owner("box"))


def test_message_given_back_too_often_goes_to_the_dead_letters_and_lets_the_others_pass(world: World) -> None:
    ring = Ring(world, deliveries_max=3)
    sender, reader, undertaker = App(ring, "sender"), App(ring, "reader"), App(ring, "undertaker")
    reader.on_message = lambda delivery: (
        reader.give_back(delivery) if delivery.body == b"poison" else reader.settle(delivery)
    )
    reader.read("reader")
    sender.send_all("reader", b"good 1", b"poison", b"good 2")
    undertaker.read("dead/reader")
    expect(undertaker, "dead/reader", [b"poison"])
    reader.wait_idle()
    assert sender.browse("reader") == []
    assert reader.heard["reader"].count(b"poison") == 3
    assert [body for body in reader.heard["reader"] if body != b"poison"] == [b"good 1", b"good 2"]


def test_express_request_is_answered(ring: Ring) -> None:
    asker, answerer = App(ring, "asker"), App(ring, "answerer")
    answers: dict[object, bytes] = {}

    def answer(delivery: Delivery) -> None:
        headers = delivery.all_headers()
        back = {CORRELATION: headers[CORRELATION]}
        answerer.send(str(headers[REPLY_TO]), delivery.body.upper(), service=ServiceClass.EXPRESS, headers=back)
        answerer.settle(delivery)

    def note(delivery: Delivery) -> None:
        answers[delivery.all_headers()[CORRELATION]] = delivery.body
        asker.settle(delivery)

    answerer.on_message, asker.on_message = answer, note
    answerer.read("answerer")
    asker.read("asker~0000000000000001")
    for number in range(5):
        headers = {REPLY_TO: "asker~0000000000000001", CORRELATION: number}
        asker.send("answerer", b"question %d" % number, service=ServiceClass.EXPRESS, headers=headers)
        ring.world.run_until(lambda number=number: number in answers)
    assert answers == {number: b"QUESTION %d" % number for number in range(5)}
