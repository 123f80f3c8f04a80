"""Where a message goes next, and what becomes of what nobody can take yet."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.events import ClientMessage, PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.courier import LOOK_AGAIN, TEACH_AGAIN, MailCourier, may_begin
from causeway.core.messages import (
    Accepted,
    AskDomains,
    Attach,
    Bind,
    Bound,
    Commit,
    Deposit,
    Domains,
    DomainsHeld,
    Message,
    Moved,
    NotMember,
    Postable,
    Rejected,
    Resolved,
    Return,
    Routed,
    Settle,
    TakeSeat,
    TxAsk,
)
from causeway.errors import Code
from causeway.limits import ROUTE_HOPS_MAX, WAITING_PER_MAILBOX_MAX
from causeway.names import MAP_NAME, seat_name
from causeway.trace import Step
from causeway.types import Key, Peer, key_of
from tests.unit.core.mail.neighbours import ME, OTHER, THIRD, FakeGroups, FakeLinks, FakeRing, at, heads
from tests.unit.core.mail.postroom import NAME, body_of, deposit

KEY = key_of(NAME)
ACCEPTED = Accepted("a", 1, NAME, 1, 1, 1)
OURS = deposit(1, origin=ME.id)
"""A batch of a client of ours."""
STRANGER = Peer(key_of("b9"), "b9", "127.0.0.1", 7009, 9)
"""A broker that nobody here has heard of."""


class Here:
    """Who takes what has arrived (courier.Local)."""

    def __init__(self) -> None:
        self.takes = True
        self.arrivals: list[Postable] = []
        self.answers: list[Message] = []

    def arrived(self, turn: Turn, key: Key, head: Postable, body: bytes) -> bool:
        if self.takes:
            self.arrivals.append(head)
        return self.takes

    def answered(self, turn: Turn, head: Message) -> None:
        self.answers.append(head)

    def clogged(self, conn: int) -> bool:
        return conn == 66


class Stage:
    """A courier with its neighbours."""

    def __init__(self) -> None:
        self.links, self.ring, self.groups, self.here = FakeLinks(), FakeRing(), FakeGroups(), Here()
        self.courier = MailCourier("b1", self.links, self.ring, self.groups, self.here)

    def post(self, head: Deposit = OURS, now: int = 0) -> Turn:
        turn = at(now)
        self.courier.post(turn, NAME, head, body_of(head))
        return turn

    def look(self) -> Turn:
        """The timer of what waits."""
        due = self.courier.next_deadline()
        assert due is not None
        turn = at(due)
        self.courier.on_deadline(turn)
        return turn


@pytest.fixture
def stage() -> Stage:
    return Stage()


# Answers --------------------------------------------------------------------------------------------------------
def test_answer_goes_to_the_source_broker_or_stays_here(stage: Stage) -> None:
    stage.courier.answer(at(), OTHER.id, ACCEPTED)
    assert stage.links.take() == [(OTHER.id, ACCEPTED)]
    for own in (ME.id, b""):
        stage.courier.answer(at(), own, ACCEPTED)
    assert stage.here.answers == [ACCEPTED, ACCEPTED]
    assert stage.links.take() == []


def test_owner_learns_how_to_reach_who_posted_an_envelope(stage: Stage) -> None:
    stage.groups.own(NAME)
    nobody = msgspec.structs.replace(STRANGER, host="")
    for sender in (STRANGER, OTHER, nobody, None):
        stage.courier.on_routed(at(), OTHER, Routed(KEY, NAME, 2, OURS, sender), b"")
    assert stage.links.learned == [STRANGER]


def test_owner_tells_who_sends_by_detours_where_it_is_and_not_with_every_batch(stage: Stage) -> None:
    stage.groups.own(NAME)
    for hops, sender, now in ((0, OTHER, 0), (1, None, 0), (2, OTHER, 0), (2, OTHER, 1), (1, OTHER, TEACH_AGAIN)):
        stage.courier.on_routed(at(now), THIRD, Routed(KEY, NAME, hops, OURS, sender), b"")
    assert stage.links.take() == [(OTHER.id, Resolved(KEY, stage.groups.config(KEY)))] * 2
    stage.courier.on_routed(at(), THIRD, Routed(KEY, NAME, 2, TxAsk(NAME, 1, 2, 3, NAME, b""), OTHER), b"")
    assert stage.links.take() == []


def test_batch_of_ours_that_comes_round_to_us_as_the_new_owner_is_taken_and_teaches_nobody(stage: Stage) -> None:
    stage.groups.own(NAME)
    stage.courier.on_routed(at(), THIRD, Routed(KEY, NAME, 2, OURS, ME), b"")
    assert stage.here.arrivals == [OURS]
    assert stage.links.take() == []


def test_clogging_is_the_desks_to_know(stage: Stage) -> None:
    assert stage.courier.clogged(66)
    assert not stage.courier.clogged(2)


# The decision ---------------------------------------------------------------------------------------------------
def test_own_mailbox_takes_the_batch_at_once(stage: Stage) -> None:
    stage.groups.own(NAME)
    stage.post()
    assert stage.here.arrivals == [OURS]


def test_known_owner_gets_the_batch_in_one_hop_and_the_trace_says_so(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER, THIRD)
    turn = stage.post()
    assert stage.links.take() == [(OTHER.id, OURS)]
    assert [record.step for record in turn.effects.traces] == [Step.FORWARDED]


def test_living_member_is_asked_when_the_owner_is_suspected_each_in_turn(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER, THIRD)
    stage.groups.suspected.add(OTHER.id)
    stage.post()
    ((to, head),) = stage.links.take()
    assert to == THIRD.id
    assert head == Routed(KEY, NAME, 0, OURS, ME)
    fourth = type(THIRD)(key_of("b4"), "b4", "127.0.0.1", 7004, 4)
    stage.groups.know(NAME, OTHER, THIRD, fourth)
    asked = set()
    for now in (0, LOOK_AGAIN):
        stage.post(now=now)
        asked.update(to for to, _ in stage.links.take())
    assert asked == {THIRD.id, fourth.id}


def test_member_whose_owner_is_suspected_wakes_the_group_and_waits(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER, ME)
    stage.groups.suspected.add(OTHER.id)
    stage.post()
    assert stage.groups.asked == [("wake", KEY)]
    assert stage.courier.is_waiting(KEY)


def test_directory_is_asked_when_all_known_members_are_suspected(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER, THIRD)
    stage.groups.suspected.update((OTHER.id, THIRD.id))
    stage.post()
    assert stage.groups.asked == [("resolve", KEY)]
    assert stage.courier.is_waiting(KEY)


def test_unknown_mailbox_goes_along_the_ring(stage: Stage) -> None:
    stage.ring.hop = THIRD.id
    stage.post()
    assert stage.links.take() == [(THIRD.id, Routed(KEY, NAME, 0, OURS, ME))]


def test_directory_is_asked_where_the_ring_ends(stage: Stage) -> None:
    stage.post()
    assert stage.groups.asked == [("resolve", KEY)]
    assert stage.courier.is_waiting(KEY)


def test_broker_that_is_still_joining_only_waits(stage: Stage) -> None:
    stage.ring.active = False
    stage.post()
    assert stage.groups.asked == []
    assert stage.courier.is_waiting(KEY)


# On the way -----------------------------------------------------------------------------------------------------
def test_envelope_goes_on_with_one_hop_more(stage: Stage) -> None:
    stage.ring.hop = THIRD.id
    stage.courier.on_routed(at(), OTHER, Routed(KEY, NAME, 3, OURS, STRANGER), b"")
    assert stage.links.take() == [(THIRD.id, Routed(KEY, NAME, 4, OURS, STRANGER))]


def test_envelope_for_an_unknown_group_does_not_go_back_where_it_came_from(stage: Stage) -> None:
    """Its sender takes us for the owner; the ring, that does not know better, takes the sender for the closest."""
    stage.ring.hop = OTHER.id
    stage.courier.on_routed(at(), OTHER, Routed(KEY, NAME, 3, OURS), b"")
    assert stage.links.take() == []
    assert stage.groups.asked == [("resolve", KEY)]
    assert stage.courier.is_waiting(KEY)


def test_envelope_that_has_arrived_is_opened(stage: Stage) -> None:
    stage.groups.own(NAME)
    stage.courier.on_routed(at(), OTHER, Routed(KEY, NAME, 3, OURS), b"")
    assert stage.here.arrivals == [OURS]


@pytest.mark.parametrize(("key", "hops"), [(KEY, ROUTE_HOPS_MAX), (key_of("another"), 0)])
def test_envelope_that_circles_or_lies_about_its_key_is_dropped(stage: Stage, key: Key, hops: int) -> None:
    stage.ring.hop = THIRD.id
    stage.groups.own(NAME)
    stage.courier.on_routed(at(), OTHER, Routed(key, NAME, hops, OURS), b"")
    assert stage.links.take() == []
    assert stage.here.arrivals == []


def test_sender_that_took_us_for_the_owner_is_corrected_and_its_batch_goes_on(stage: Stage) -> None:
    stage.ring.hop = THIRD.id
    stage.courier.on_direct(at(), OTHER, NAME, OURS, b"")
    assert stage.links.take() == [(OTHER.id, NotMember(KEY, 0, 0)), (THIRD.id, Routed(KEY, NAME, 1, OURS, OTHER))]


def test_direct_batch_for_a_group_we_know_goes_to_its_owner_without_a_correction(stage: Stage) -> None:
    stage.groups.know(NAME, THIRD, ME)
    stage.courier.on_direct(at(), OTHER, NAME, OURS, b"")
    assert stage.links.take() == [(THIRD.id, Routed(KEY, NAME, 1, OURS, OTHER))]


@pytest.mark.parametrize("way", ["post", "direct", "routed"])
def test_what_the_owner_cannot_take_yet_waits_here(stage: Stage, way: str) -> None:
    stage.groups.own(NAME)
    stage.here.takes = False
    if way == "post":
        stage.post()
    elif way == "direct":
        stage.courier.on_direct(at(), OTHER, NAME, OURS, b"")
    else:
        stage.courier.on_routed(at(), OTHER, Routed(KEY, NAME, 1, OURS), b"")
    assert stage.courier.is_waiting(KEY)
    turn = at()
    stage.courier.release(turn, KEY)
    (event,) = turn.inbox
    assert isinstance(event, PeerMessage)
    assert (event.peer, event.head) == (ME, OURS)


# Waiting --------------------------------------------------------------------------------------------------------
def test_released_events_try_again_in_their_order(stage: Stage) -> None:
    for first in (1, 2, 3):
        stage.post(deposit(first, origin=ME.id))
    assert stage.courier.waiting_count == 3
    turn = at()
    stage.courier.release(turn, KEY)
    assert [event.head.first for event in turn.inbox if isinstance(event, PeerMessage)] == [1, 2, 3]  # type: ignore[union-attr]
    assert not stage.courier.is_waiting(KEY)
    assert stage.courier.waiting_count == 0
    assert stage.courier.next_deadline() is None


def test_one_mailbox_may_only_have_so_much_waiting(stage: Stage) -> None:
    for number in range(WAITING_PER_MAILBOX_MAX):
        stage.post(deposit(number + 1, origin=ME.id))
    assert stage.here.answers == []
    stage.post(deposit(WAITING_PER_MAILBOX_MAX + 1, origin=ME.id))
    (answer,) = stage.here.answers
    assert isinstance(answer, Rejected)
    assert answer.code == Code.OVERLOADED
    assert answer.first == WAITING_PER_MAILBOX_MAX + 1


@pytest.mark.parametrize("limit", ["WAITING_PER_MAILBOX_BYTES_MAX", "WAITING_BYTES_MAX"])
def test_bytes_that_wait_are_bounded_and_freed_when_let_go(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"causeway.core.mail.courier.{limit}", 1500)
    for first in (1, 2, 3):
        stage.post(deposit(first, origin=ME.id))
    assert stage.courier.waiting_count == 2, "each counts for its body and an overhead"
    assert [type(head) for head in stage.here.answers] == [Rejected]
    stage.courier.release(at(), KEY)
    stage.post(deposit(4, origin=ME.id))
    assert stage.courier.waiting_count == 1


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (Attach(NAME, 1, 10), NAME),
        (Settle(NAME, 1, ((1, 1),)), NAME),
        (Commit("app", 9, 1, (), ()), "app"),
    ],
)
def test_client_over_the_bound_is_told_that_it_has_to_come_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, head: Message, told: str
) -> None:
    monkeypatch.setattr("causeway.core.mail.courier.WAITING_PER_MAILBOX_MAX", 0)
    turn = at()
    stage.courier.wait(turn, NAME, ClientMessage(2, head, b""))
    (answer,) = heads(turn, 2)
    assert isinstance(answer, Moved), "an Outcome would be final, and an earlier copy may be under way"
    assert (answer.mailbox, answer.peer, answer.code) == (told, None, Code.OVERLOADED)


def test_refusal_goes_to_all_but_settlements_which_may_never_be_repeated(stage: Stage) -> None:
    stage.post()
    for head in (Settle(NAME, 1, ((1, 1),)), Return(NAME, 1, ((2, 2),)), Attach(NAME, 1, 10)):
        stage.courier.wait(at(), NAME, ClientMessage(2, head, b""))
    turn = at()
    stage.courier.refuse(turn, KEY, Code.NO_DIRECTORY, "nobody knows")
    assert [type(head) for head in stage.here.answers] == [Rejected]
    assert [type(head) for head in heads(turn, 2)] == [Moved]
    assert stage.courier.waiting_count == 2


def test_look_again_tells_senders_when_nobody_may_acknowledge(stage: Stage) -> None:
    stage.post()
    assert stage.courier.next_deadline() == LOOK_AGAIN
    stage.groups.obstacles[KEY] = "b2 is away"
    stage.look()
    (answer,) = stage.here.answers
    assert isinstance(answer, Rejected)
    assert (answer.code, answer.detail) == (Code.NO_QUORUM, "b2 is away")


def test_look_again_lets_go_what_has_somewhere_to_go(stage: Stage) -> None:
    stage.post()
    assert not stage.look().inbox
    assert stage.courier.next_deadline() == 2 * LOOK_AGAIN, "nothing has changed: look again later"
    stage.ring.hop = THIRD.id
    assert len(stage.look().inbox) == 1


def test_look_again_waits_for_our_own_group_until_it_may_be_written(stage: Stage) -> None:
    stage.groups.own(NAME, serving=False)
    stage.here.takes = False
    stage.post()
    stage.ring.hop = THIRD.id
    assert not stage.look().inbox, "it is ours, wherever the ring points"
    stage.groups.mine[KEY] = True
    assert len(stage.look().inbox) == 1


# The map of domains -----------------------------------------------------------------------------------------------
def test_map_begins_with_the_first_seat_taken_and_not_with_a_question() -> None:
    assert may_begin(MAP_NAME, TakeSeat("b1", ("north",), ME.id))
    assert may_begin(seat_name("b1"), Domains(1, (), seat_name("b1")))
    for head in (AskDomains(0, ME.id), Bind("app", "b1", ME.id), DomainsHeld(seat_name("b1"), 1)):
        assert not may_begin(MAP_NAME, head)


def test_who_asks_a_map_that_nobody_began_hears_so(stage: Stage) -> None:
    for head in (AskDomains(0, ME.id), Bind("app", "", OTHER.id), DomainsHeld(seat_name("b1"), 1)):
        stage.courier.post(at(), MAP_NAME, head)
    stage.courier.refuse(at(), key_of(MAP_NAME), Code.NO_MAILBOX, "there is none")
    assert stage.here.answers == [Domains(0, ())]
    ((to, answer),) = stage.links.take()
    assert isinstance(answer, Bound)
    assert (to, answer.seat, answer.code) == (OTHER.id, "", Code.NO_SEAT)


def test_question_that_cannot_be_answered_for_now_is_not_answered(stage: Stage) -> None:
    stage.courier.post(at(), MAP_NAME, AskDomains(0, ME.id))
    stage.courier.refuse(at(), key_of(MAP_NAME), Code.NO_QUORUM, "b2 is away")
    assert stage.here.answers == []
