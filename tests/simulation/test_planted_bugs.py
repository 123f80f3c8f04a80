"""Bugs planted into the real product, each of which the simulator must catch, by the right checker.

What every checker says to a corrupted stream of observations is tested beside it (tests/unit/sim/checkers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from causeway.client.consumers import MailReaders
from causeway.client.lots import SeenStream
from causeway.client.session import Session
from causeway.core.groups.membership import Membership
from causeway.core.groups.policy import Policy
from causeway.core.groups.replication import Replication
from causeway.core.groups.state import Group
from causeway.core.machine import Turn
from causeway.core.mail.answers import Returned
from causeway.core.mail.backlog import Backlog
from causeway.core.mail.box import Box
from causeway.core.mail.consumers import Consumers
from causeway.core.mail.contents import Contents
from causeway.core.mail.mailbox import Mailbox, StoredBatch
from causeway.core.mail.office import Office
from causeway.core.mail.outbox import Outbox
from causeway.core.mail.participant import Participant
from causeway.core.mail.parts import Parts
from causeway.core.mail.replies import Replies
from causeway.core.messages import Confirmed, Deliver, Deposit, Summary, TxDecide, TxPrepare
from causeway.core.topics.item import HandedBatch, Item
from causeway.core.topics.items import Items
from causeway.core.topics.leases import Leases
from causeway.core.topics.publishing import Publishing
from causeway.limits import ID_MAX
from causeway.sim.checkers.atomicity import Atomicity
from causeway.sim.checkers.base import Checker
from causeway.sim.checkers.conservation import Conservation
from causeway.sim.checkers.panel import Panel
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.faults import options_calm
from causeway.sim.letters import NOTICES
from causeway.sim.run import SimRun
from causeway.sim.verdict import SimVerdict
from causeway.sim.workloads.topics import TOPICS, Topics
from causeway.types import MILLISECOND, SECOND, Instant, Key, Peer

SEEDS = 12
"""A planted bug may need the right fault at the right time; it must be found within so many seeds."""


def hunt(*checkers: str, saying: str = "", likely: int = 0, **options: object) -> SimVerdict:
    """The first seed that fails by one of these checkers (by any, when none is named), saying this: a bug may break
    several things.

    The seed that found it when this was written comes first, which only saves time: all others follow.
    """
    values: dict[str, object] = {"safety": 8 * SECOND, "patience": 40 * SECOND, "brokers": 4, "clients": 3, **options}
    for seed in (*range(likely, max(SEEDS, likely + 1)), *range(min(likely, SEEDS))):
        verdict = SimRun(options_calm(seed, **values)).run()
        named = not checkers or verdict.evidence.split(":")[0] in checkers
        if not verdict.ok and named and saying in verdict.evidence:
            return verdict
    pytest.fail(f"{SEEDS} seeds did not find the planted bug")


def only(monkeypatch: pytest.MonkeyPatch, kind: type[Checker]) -> None:
    """Silence all other checkers: the first complaint ends a run, and this one must find the bug by itself."""
    real = Panel.__init__

    def init(self: Panel, clock: Callable[[], Instant], shards: int) -> None:
        real(self, clock, shards)
        self.checkers = tuple(checker for checker in self.checkers if isinstance(checker, kind))

    monkeypatch.setattr(Panel, "__init__", init)


def test_loss_is_caught_when_the_owner_acknowledges_before_the_copies_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Replication.advance

    def advance(self: Replication, turn: Turn, group: Group) -> None:
        tenure = group.tenure
        assert tenure is not None
        for member in group.config.members:
            if member.peer.id != self._r.me.id:
                tenure.confirmed[member.peer.id] = tenure.local
        real(self, turn, group)

    def silent(self: Replication, turn: Turn, group: Group, *_: object) -> None:
        """The copies are forgotten too, or they would catch up before anybody dies."""

    monkeypatch.setattr(Replication, "advance", advance)
    monkeypatch.setattr(Replication, "_replicate", silent)
    verdict = hunt("NoLoss", workloads=["offline"], durability="memory", crashes=20.0, down_max=4 * SECOND)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "NoLoss"), verdict.failure_line()


def test_double_delivery_is_caught_when_the_client_forgets_what_it_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: SeenStream, first: int, last: int) -> None:
        """Accepted, and not remembered."""

    def everything(self: MailReaders, reader: object, seen: object, head: Deliver) -> list[tuple[int, int]]:
        return [(head.first, head.first + head.count - 1)]

    monkeypatch.setattr(SeenStream, "accept", forget)
    monkeypatch.setattr(MailReaders, "_sift", everything)
    verdict = hunt(workloads=["transactional"], resets=200.0)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "ExactlyOnce"), verdict.failure_line()


def test_double_delivery_is_caught_when_the_owner_of_a_shared_mailbox_forgets_settlements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forget(self: Contents, spans: object, mask: int, tally: object) -> None:
        """Confirmed, and not carried out."""

    monkeypatch.setattr(Contents, "settle", forget)
    verdict = hunt("Handing", workloads=["queue"], client_crashes=30.0, credit=4)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Handing"), verdict.failure_line()


def test_disorder_is_caught_when_the_owner_takes_batches_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("seen", "intake"):
        monkeypatch.setattr(f"causeway.core.mail.{module}.ORDERED", -1)
    verdict = hunt(workloads=["transactional"], loss=0.05, reorder=0.2, latency=5_000_000, rate=60.0, burst=1)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Order"), verdict.failure_line()


def test_disorder_is_caught_when_a_reader_competes_with_its_own_dead_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Consumers, "former", lambda *_: [])
    faults = {"client_cuts": 30.0, "backoff": True}
    verdict = hunt("Order", likely=4, workloads=["transactional"], rate=60.0, **faults)
    assert verdict.ending == "wrong", verdict.failure_line()


def test_disorder_is_caught_when_newer_letters_overtake_those_of_a_transaction_whose_sender_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Contents, "orphan", lambda *_: None)
    faults = {"crashes": 10.0, "stops": 20.0, "partitions": 30.0, "client_crashes": 40.0, "backoff": True}
    verdict = hunt("Order", likely=96, workloads=["relay"], rate=60.0, **faults)
    assert verdict.ending == "wrong", verdict.failure_line()


def test_disorder_is_caught_when_a_transaction_overtakes_an_earlier_one_of_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Participant, "is_behind", lambda *_: False)
    verdict = hunt("Order", workloads=["relay"], rate=60.0, resets=60.0, slow_links=60.0, loss=0.05)
    assert verdict.ending == "wrong", verdict.failure_line()


def test_second_showing_is_caught_when_acknowledgements_are_called_kept_before_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Session, "keeps", lambda *_: True)
    verdict = hunt("ExactlyOnce", workloads=["transactional", "offline"], rate=60.0, client_crashes=60.0)
    assert "which had kept that it accepted it" in verdict.evidence, verdict.failure_line()


def test_endless_deaths_are_caught_when_readers_that_are_lost_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(self: Mailbox, conn: int) -> Returned:
        return Returned([write for one in self.audience.of_conn(conn) for write in self.detach(conn, one)], [], [])

    monkeypatch.setattr(Mailbox, "lose", lose)
    verdict = hunt(workloads=["poison"])
    assert (verdict.ending, "poison-reader" in verdict.evidence) == ("stuck", True), verdict.failure_line()


def test_innocent_dead_letter_is_caught_when_all_that_a_lost_reader_held_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lose(self: Mailbox, conn: int) -> Returned:
        writes, dead = [], []
        for one in self.audience.of_conn(conn):
            returned = self.give_back(conn, one, [(0, ID_MAX)], 0)
            writes += [*returned.writes, *self.detach(conn, one)]
            dead += returned.dead
        return Returned(writes, dead, [])

    monkeypatch.setattr(Mailbox, "lose", lose)
    verdict = hunt("Poison", workloads=["poison"])
    assert "innocent" in verdict.evidence, verdict.failure_line()


def test_broken_fence_is_caught_when_a_member_confirms_behind_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def follower(self: Replication, turn: Turn, peer: Any, key: Key, epoch: int, token: int) -> Group | None:
        group = self._r.groups.get(key)
        usable = group is not None and group.config.epoch == epoch and group.meta.token == token
        return group if usable and group is not None and group.config.owner == peer.id else None

    monkeypatch.setattr(Replication, "_follower", follower)
    verdict = hunt(workloads=["transactional"], rate=100.0, burst=1, resets=60.0, stops=30.0, partitions=30.0)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "SingleOwner"), verdict.failure_line()


def test_torn_transaction_is_caught_when_a_participant_ignores_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Office.on_decide

    def on_decide(self: Office, turn: Turn, group: Key, head: TxDecide) -> None:
        if head.mailbox == "account-1" and head.committed:
            head = TxDecide(
                *[getattr(head, f) for f in head.__struct_fields__[:5]], committed=False, origin=head.origin
            )
        real(self, turn, group, head)

    monkeypatch.setattr(Office, "on_decide", on_decide)
    only(monkeypatch, Atomicity)
    verdict = hunt(workloads=["transfer"], client_crashes=30.0)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Atomicity"), verdict.failure_line()


def test_multiplied_token_is_caught_when_a_participant_leaves_out_what_it_settles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Parts.prepare

    def prepare(self: Parts, turn: Turn, box: Box, head: TxPrepare, body: bytes) -> None:
        real(self, turn, box, msgspec.structs.replace(head, settles=()), body)

    monkeypatch.setattr(Parts, "prepare", prepare)
    only(monkeypatch, Conservation)
    verdict = hunt("Conservation", saying="exists twice", workloads=["transfer"], client_crashes=30.0)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Conservation"), verdict.failure_line()
    assert "exists twice" in verdict.evidence


def test_false_confirmation_is_caught_when_stored_is_reported_as_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Replies.accept

    def accept(self: Replies, turn: Turn, head: Deposit) -> None:
        real(self, turn, head)
        last = head.first + head.count - 1
        confirmed = Confirmed(head.source, head.incarnation, head.dest, head.stream, head.first, last)
        self._courier.answer(turn, head.origin, confirmed)

    monkeypatch.setattr(Replies, "accept", accept)
    verdict = hunt(workloads=["offline"])
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Confirmation"), verdict.failure_line()


def test_missing_redundancy_is_caught_when_groups_never_take_in_newcomers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policy, "_unlike", lambda self, group: None)
    verdict = hunt(brokers=2, workloads=["recoverable"], joins=60.0, safety=4 * SECOND, patience=15 * SECOND)
    assert verdict.ending == "stuck", verdict.failure_line()
    assert "wanted" in verdict.evidence


def test_overlooked_message_is_caught_when_a_look_skips_what_lies_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Backlog, "hidden_above", lambda self, number: None)
    verdict = hunt(workloads=["browsing"], window_bytes=4_000)
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Browsing"), verdict.failure_line()


def test_voters_without_a_vote_are_caught_when_witnesses_that_lost_their_storage_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Membership.lost_storage

    def lost_storage(self: Membership, group: Group, peer: Peer) -> None:
        if group.member(peer.id) is not None:
            real(self, group, peer)

    monkeypatch.setattr(Membership, "lost_storage", lost_storage)
    monkeypatch.setattr(Policy, "exposed", lambda self, group: False)
    verdict = hunt(saying="replaced storages", brokers=5, witnesses=4, replacements=6, workloads=["offline"])
    assert verdict.ending == "stuck"


def test_settled_message_is_caught_when_a_look_shows_whole_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.browser.DONE", 0)
    verdict = hunt(workloads=["browsing"])
    assert (verdict.ending, verdict.evidence.split(":")[0]) == ("wrong", "Browsing"), verdict.failure_line()
    assert "settled before it began" in verdict.evidence


# Topics ---------------------------------------------------------------------------------------------------------
def hunt_topics(likely: int = 0, /, *, saying: str = "", **options: object) -> SimVerdict:
    """As `hunt`, for bugs that break what subscriptions are promised."""
    usual = {"safety": 15 * SECOND, "clients": 8, "rate": 30.0, "burst": 2, "latency": 20 * MILLISECOND}
    values: dict[str, Any] = {**usual, **options}
    return hunt("Subscribing", saying=saying, likely=likely, workloads=["topics"], **values)


def wish_for_one_topic_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody wants patterns: one for everything begins when all items know it, which under faults is after the last
    letter, and then nobody is owed anything; and while it lasts, every letter is wanted already.
    """
    monkeypatch.setattr(Topics, "wishes", tuple(Wish(topic) for topic in TOPICS if NOTICES not in topic))


ALONE: dict[str, Any] = {"copies": 1, "root_copies": 3, "latency": 5 * MILLISECOND}
"""Items and mailboxes on one broker each: they serve whenever that one is there, so most faults hit a busy one.

With more copies a new owner waits for all complete members, and faults that come this often leave no time to publish.
"""


def test_loss_is_caught_when_an_item_settles_what_nobody_has_accepted_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Item.arrived

    def arrived(self: Item, handed: HandedBatch) -> None:
        real(self, handed)
        if handed.left and handed.greets is None:
            self.done.append(handed.span)

    monkeypatch.setattr(Item, "arrived", arrived)
    wish_for_one_topic_each(monkeypatch)
    hunt_topics(saying="never reached a subscription", crashes=30.0, down_max=4 * SECOND, **ALONE)


def test_loss_is_caught_when_a_subscription_begins_before_source_brokers_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: Leases, turn: Turn, item: Item, then: Callable[[Turn], None]) -> None:
        then(turn)

    def untold(self: Leases, turn: Turn, item: Item, pattern: str) -> None:
        self._outlooks[item.box.mailbox.key].grow(pattern)

    monkeypatch.setattr(Leases, "when_known", at_once)
    monkeypatch.setattr(Leases, "changed", untold)
    wish_for_one_topic_each(monkeypatch)
    verdict = hunt_topics()
    assert "never reached a subscription" in verdict.evidence, verdict.failure_line()


def test_disorder_is_caught_when_forwards_do_not_say_what_they_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Outbox.forward

    def forward(self: Outbox, turn: Turn, head: Deposit, body: bytes) -> None:
        real(self, turn, msgspec.structs.replace(head, follows=0), body)

    monkeypatch.setattr(Outbox, "forward", forward)
    hunt_topics(saying="reached", reorder=0.3)


def test_loss_is_caught_when_a_new_owner_takes_old_batches_for_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    real_gain, real_hand_out = Items.gain, Items._hand_out
    before: dict[Item, int] = {}

    def gain(self: Items, turn: Turn, box: Box, rows: Any) -> None:
        real_gain(self, turn, box, rows)
        before[self.all[box.mailbox.key]] = self._groups.position(box.mailbox.key)

    def hand_out(self: Items, turn: Turn, item: Item, batch: StoredBatch) -> None:
        if batch.seq < before[item]:
            item.done.append((batch.seq, batch.seq + batch.count - 1))
        else:
            real_hand_out(self, turn, item, batch)

    monkeypatch.setattr(Items, "gain", gain)
    monkeypatch.setattr(Items, "_hand_out", hand_out)
    hunt_topics(saying="never reached a subscription", crashes=30.0, down_max=4 * SECOND, **ALONE)


def test_double_delivery_is_caught_when_every_owner_of_an_item_numbers_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Outbox.forward

    def forward(self: Outbox, turn: Turn, head: Deposit, body: bytes) -> None:
        real(self, turn, msgspec.structs.replace(head, incarnation=int.from_bytes(head.origin[:4], "big")), body)

    monkeypatch.setattr(Outbox, "forward", forward)
    verdict = hunt_topics(1, crashes=40.0, down_max=4 * SECOND)
    assert "delivered" in verdict.evidence, verdict.failure_line()


def test_loss_is_caught_when_an_ended_lease_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Publishing.on_summary

    def on_summary(self: Publishing, turn: Turn, head: Summary) -> None:
        real(self, turn, head)
        known = self._known.get(head.item)
        if known is not None:
            known.until += 1000 * SECOND

    monkeypatch.setattr(Publishing, "on_summary", on_summary)
    wish_for_one_topic_each(monkeypatch)
    hunt_topics(saying="never reached a subscription", partitions=40.0, partition_max=8 * SECOND, **ALONE)
