"""What is sent for a message, over a line of sites: counted, and timed by hand."""

from __future__ import annotations

import random

import pytest

from causeway.evaluate.closed_forms import CAUSEWAY, EXPRESS, KINDS, MSMQ, PBM, TRANSACTIONAL, MailKind, frames
from causeway.evaluate.message_exchanges import Client, RingExchange, StoreAndForward
from causeway.evaluate.site_distances import SiteDistances
from causeway.evaluate.site_lines import SiteLines, Trip
from causeway.sim.bandwidth import time_on_line
from causeway.types import MILLISECOND, SECOND, Instant, key_of

THERE = MailKind(TRANSACTIONAL, reliable=True, online=True)
EVEN = SiteDistances(0, MILLISECOND)
"""From 1 ms to 1 ms: any way takes as many milliseconds as it has hops."""
MESSAGE, ACK = (time_on_line(size, 3_152_000) for size in (1000, 32))
SENDER, RECEIVER = Client(20, key_of("sender"), 0), Client(21, key_of("receiver"), 3)


class Row:
    """Brokers 0 to 3, each knows only the next; copies are on 4 and 5."""

    def route(self, source: int, key: object) -> list[int]:
        target = 3 if key == RECEIVER.key else 0
        return list(range(source, target + 1)) if source <= target else list(range(source, target - 1, -1))

    def copies(self, key: object, count: int) -> list[int]:
        return [3, 4, 5][:count]


def sent(system: str, kind: MailKind, *, learned: bool = False) -> Trip:
    return RingExchange(SiteLines(EVEN), Row(), system, learned=learned).send(kind, SENDER, RECEIVER)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("system", [PBM, CAUSEWAY])
def test_as_many_messages_are_sent_as_the_formula_says(system: str, kind: MailKind) -> None:
    trip = sent(system, kind)
    assert trip.hops == 3
    assert trip.frames == frames(system, kind, 3)
    assert (trip.round_trip is not None) == kind.reliable


def test_every_hop_takes_its_size_twice_and_its_way() -> None:
    trip = sent(PBM, THERE)
    assert trip.one_way == 5 * (2 * MESSAGE + MILLISECOND)
    assert trip.round_trip == trip.one_way + 5 * (2 * ACK + MILLISECOND)
    assert trip.out == (5, 5 * MILLISECOND)


def test_frames_beside_the_way_are_not_part_of_it() -> None:
    """Two copies are sent and one is waited for; hop by hop acknowledgements nobody waits for."""
    away = sent(PBM, THERE._replace(online=False))
    assert away.out == (4, 4 * MILLISECOND)
    assert away.there_and_back == (4 + 2 + 4, 10 * MILLISECOND)
    assert away.sent == (4 + 4 + 4, 12 * MILLISECOND)
    kept = stored(THERE)
    assert (kept.out[0], kept.there_and_back[0], kept.frames) == (3, 6, 12)


def test_copies_are_waited_for_and_share_a_line() -> None:
    away = sent(PBM, THERE._replace(online=False))
    assert away.one_way == 4 * (2 * MESSAGE + MILLISECOND)
    copying = MESSAGE + (2 * MESSAGE + MILLISECOND) + (2 * ACK + MILLISECOND)
    assert away.round_trip == away.one_way + copying + 4 * (2 * ACK + MILLISECOND)


def test_our_answer_goes_straight_and_a_learned_route_is_one_hop() -> None:
    trip, learned = sent(CAUSEWAY, THERE), sent(CAUSEWAY, THERE, learned=True)
    assert trip.one_way is not None
    assert trip.round_trip == trip.one_way + 3 * (2 * ACK + MILLISECOND)
    assert (learned.hops, learned.one_way) == (1, 3 * (2 * MESSAGE + MILLISECOND))


def test_express_is_answered_by_the_broker_here_and_by_the_application_there() -> None:
    express = MailKind(EXPRESS, reliable=True, online=True)
    ours, theirs = sent(CAUSEWAY, express), sent(PBM, express)
    assert ours.round_trip == 4 * (2 * MESSAGE + MILLISECOND) + 2 * (2 * ACK + MILLISECOND)
    assert theirs.round_trip is not None
    assert theirs.round_trip > ours.round_trip


class Chain:
    """Sites one behind the other."""

    def route(self, source: int, target: int) -> list[int]:
        return list(range(source, target + 1))


def stored(kind: MailKind) -> Trip:
    return StoreAndForward(SiteLines(EVEN), Chain(), random.Random(0)).send(kind, 0, 3)


@pytest.mark.parametrize("reliable", [True, False])
def test_msmq_acknowledges_every_hop_and_reliable_messages_twice_more(reliable: bool) -> None:
    trip = stored(MailKind("recoverable", reliable, online=True))
    assert trip.frames == frames(MSMQ, MailKind("recoverable", reliable, online=True), 3) == (12 if reliable else 6)


def test_msmq_writes_stored_messages_at_every_site_and_express_ones_nowhere() -> None:
    kept, express = stored(THERE), stored(MailKind(EXPRESS, reliable=True, online=True))
    ways = 3 * (2 * MESSAGE + MILLISECOND)
    assert kept.one_way is not None
    assert 4 * 5 * MILLISECOND <= kept.one_way - ways <= 4 * 10 * MILLISECOND
    # The word to the site before shares the line, behind or before the message.
    assert express.one_way == pytest.approx(ways, abs=2 * ACK)


def test_what_is_on_its_way_to_a_site_that_is_down_waits_for_it() -> None:
    lines = SiteLines(EVEN)

    def up_at(site: int) -> Instant:
        return 7 * SECOND if site == 2 and lines.now < 7 * SECOND else 0

    trip = StoreAndForward(lines, Chain(), random.Random(0), up_at).send(THERE, 0, 3)
    assert trip.one_way is not None
    assert 7 * SECOND < trip.one_way < 7 * SECOND + 100 * MILLISECOND
