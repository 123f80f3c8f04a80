"""The front desk: who may say what, where it goes, and what is refused before it does harm."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from causeway.core.events import (
    ClientMessage,
    OwnershipGained,
    OwnershipLost,
    OwnershipResumed,
    PageLoaded,
    PeerMessage,
)
from causeway.core.mail.courier import may_begin
from causeway.core.messages import (
    Accepted,
    Attach,
    Attached,
    Browse,
    Browsed,
    Chosen,
    Commit,
    Confirmed,
    Credit,
    Deliver,
    Deposit,
    Detach,
    Find,
    Message,
    Moved,
    NotMember,
    Outcome,
    Rejected,
    Resend,
    Return,
    Routed,
    SendPart,
    Settle,
    Settled,
    SettlePart,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.errors import Code
from causeway.limits import NAME_BYTES_MAX, STATUS_ENTRIES_MAX
from causeway.store.base import Put, Row
from causeway.types import VOLATILE_FROM, key_of
from tests.unit.core.mail.frontdesk import APP, CONN, KEY, Stage, ours
from tests.unit.core.mail.neighbours import ME, OTHER, THIRD, at, config_of, heads
from tests.unit.core.mail.postroom import EXPRESS, NAME, TRANSACTIONAL, body_of, deposit


@pytest.fixture
def stage() -> Stage:
    return Stage()


def moved(answers: list[Message]) -> Moved:
    (answer,) = answers
    assert isinstance(answer, Moved)
    return answer


# Clients --------------------------------------------------------------------------------------------------------
def test_batch_of_a_client_travels_and_its_acknowledgement_comes_back(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    head = ours(1)
    assert stage.hears(head, body_of(head)) == []
    ((to, sent),) = stage.links.take()
    assert to == OTHER.id
    assert sent == msgspec.structs.replace(head, origin=ME.id)
    accepted = Accepted(*APP, NAME, 1, 1, 1)
    assert heads(stage.hears_broker(accepted), CONN) == [accepted]


def test_batch_to_our_own_mailbox_is_acknowledged_when_it_is_on_all_copies(stage: Stage) -> None:
    stage.own(NAME)
    head = ours(1)
    assert stage.hears(head, body_of(head)) == []
    assert heads(stage.commit(), CONN) == [Accepted(*APP, NAME, 1, 1, 1)]


@pytest.mark.parametrize(
    ("identity", "named"), [(("other", 9), "source='other'"), (("app", 8), "incarnation=8")], ids=["name", "life"]
)
def test_client_sends_under_the_identity_it_said_hello_with(
    stage: Stage, identity: tuple[str, int], named: str
) -> None:
    head = deposit(1, source=identity[0], incarnation=identity[1])
    stage.hears(head, body_of(head))
    ((conn, code, detail),) = stage.links.refused
    assert (conn, code) == (CONN, Code.BAD_FIELD)
    assert detail.startswith(named)
    assert "said hello as 'app', incarnation 9" in detail
    assert stage.links.take() == []


def test_connection_that_is_no_client_any_more_is_not_heard(stage: Stage) -> None:
    head = ours(1)
    assert stage.hears(head, body_of(head), conn=44) == []
    assert stage.links.refused == []
    assert stage.desk.statistics([])["deposits"] == 0


@pytest.mark.parametrize("head", [Accepted("a", 1, NAME, 1, 1, 1), TxAsk("a", 1, 1, 1, NAME, b""), Attached(NAME, 1)])
def test_what_no_client_says_ends_its_connection(stage: Stage, head: Message) -> None:
    stage.hears(head)
    ((conn, code, detail),) = stage.links.refused
    assert (conn, code) == (CONN, Code.BAD_FRAME)
    assert type(head).__name__ in detail


@pytest.mark.parametrize("kind", [Attach, Browse, Find, Settle, Return, Credit, Detach])
def test_bad_mailbox_name_is_refused_by_field_and_shortened(stage: Stage, kind: Any) -> None:
    name = "x" * 1000
    rest: dict[Any, tuple[Any, ...]] = {
        Attach: (1, 10),
        Browse: (5, -1, 10),
        Find: (),
        Settle: (1, ((1, 1),)),
        Return: (1, ((1, 1),)),
        Credit: (1, 5),
        Detach: (1,),
    }
    answer = moved(stage.hears(kind(name, *rest[kind])))
    assert answer.code == Code.BAD_FIELD
    assert answer.detail.startswith("mailbox=")
    assert len(answer.mailbox) == NAME_BYTES_MAX


def test_consumer_is_attached_where_the_mailbox_is(stage: Stage) -> None:
    stage.own(NAME)
    assert stage.hears(Attach(NAME, 1, 10)) == [Attached(NAME, 1)]


@pytest.mark.parametrize("head", [Attach(NAME, 1, 10), Browse(NAME, 5, -1, 10), Find(NAME)])
def test_client_is_sent_to_the_owner_of_the_mailbox(stage: Stage, head: Message) -> None:
    stage.groups.know(NAME, OTHER, THIRD)
    answer = moved(stage.hears(head))
    assert (answer.peer, answer.code) == (OTHER, 0)


def test_client_that_asks_the_owner_where_the_mailbox_is_is_sent_here(stage: Stage) -> None:
    stage.own(NAME)
    assert moved(stage.hears(Find(NAME))).peer == ME


def test_client_waits_while_nobody_knows_the_mailbox_and_is_served_when_it_is_ours(stage: Stage) -> None:
    assert stage.hears(Attach(NAME, 1, 10)) == []
    assert stage.groups.asked == [("resolve", KEY)]
    turn = at()
    key = stage.groups.own(NAME)
    stage.desk.on_ownership_gained(turn, OwnershipGained(key, config_of(NAME, ME), [], None))
    (event,) = turn.inbox
    assert isinstance(event, ClientMessage)
    stage.desk.on_client_message(turn, event)
    assert heads(turn, CONN) == [Attached(NAME, 1)]


def test_client_is_told_when_nobody_may_acknowledge(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    stage.groups.suspected.add(OTHER.id)
    stage.groups.obstacles[KEY] = "b2 is away"
    answer = moved(stage.hears(Attach(NAME, 1, 10)))
    assert (answer.peer, answer.code, answer.detail) == (None, Code.NO_QUORUM, "b2 is away")


def test_browse_of_our_mailbox_is_answered_also_while_nothing_may_be_written(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    (answer,) = stage.hears(Browse(NAME, 5, -1, 10))
    assert isinstance(answer, Browsed)


# Settlements ----------------------------------------------------------------------------------------------------
def test_settlement_for_a_mailbox_that_moved_is_sent_after_it(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    answer = moved(stage.hears(Settle(NAME, 1, ((1, 1),))))
    assert (answer.peer, answer.code) == (OTHER, Code.NOT_OWNER)
    assert stage.hears(Credit(NAME, 1, 5)) == []
    assert stage.hears(Detach(NAME, 1)) == [], "who leaves a mailbox that is not here has left"


def test_reader_that_ends_learns_where_to_settle_or_that_nothing_is_left_to(stage: Stage) -> None:
    settle = Settle(NAME, 1, ((1, 1),))
    assert stage.hears(settle) == []
    assert stage.groups.asked == [("resolve", KEY)]
    assert not may_begin(NAME, settle)
    turn = at()
    stage.desk.courier.refuse(turn, KEY, Code.NO_MAILBOX, "ended")
    assert moved(heads(turn, CONN)).code == Code.NO_MAILBOX
    assert not stage.desk.courier.is_waiting(KEY)


def test_settlement_waits_while_we_are_taking_over(stage: Stage) -> None:
    stage.groups.know(NAME, ME, OTHER)
    assert stage.hears(Settle(NAME, 1, ((1, 1),))) == []
    assert stage.desk.courier.is_waiting(KEY)


def test_settlement_waits_until_it_may_be_written_but_express_does_not(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    stage.hears(Attach(NAME, 1, 10))
    head = ours(1, stream=EXPRESS)
    stage.hears(head, body_of(head))
    stage.hears(Settle(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    assert not stage.desk.courier.is_waiting(KEY)
    stage.hears(Settle(NAME, 1, ((1, 1),)))
    assert stage.desk.courier.is_waiting(KEY)


def test_settlement_is_answered_when_it_is_on_all_copies(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears(Attach(NAME, 1, 10))
    head = ours(1)
    stage.hears(head, body_of(head))
    stage.commit()
    settle = Settle(NAME, 1, ((1, 1),))
    assert stage.hears(settle) == []
    assert heads(stage.commit(), CONN) == [Settled(NAME, 1, ((1, 1),))]


def test_absurd_spans_are_refused_by_field(stage: Stage) -> None:
    stage.own(NAME)
    for kind in (Settle, Return):
        answer = moved(stage.hears(kind(NAME, 1, ((5, 2),))))
        assert answer.code == Code.BAD_FIELD
        assert "5..2" in answer.detail


def test_consumer_begins_with_its_window_and_gets_more_when_it_says_so(stage: Stage) -> None:
    stage.own(NAME)
    assert stage.hears(Attach(NAME, 1, 10, window=2)) == [Attached(NAME, 1, window=2)]
    head = ours(1, count=8)
    stage.hears(head, body_of(head))
    assert [said.count for said in heads(stage.commit(), CONN) if isinstance(said, Deliver)] == [2]
    assert [said.count for said in stage.hears(Credit(NAME, 1, 5)) if isinstance(said, Deliver)] == [3]


def test_given_back_and_detached_messages_are_delivered_again(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears(Attach(NAME, 1, 10))
    head = ours(1)
    stage.hears(head, body_of(head))
    assert any(isinstance(said, Deliver) for said in heads(stage.commit(), CONN))
    again = [said for said in stage.hears(Return(NAME, 1, ((1, 1),))) if isinstance(said, Deliver)]
    assert [said.deliveries for said in again] == [1]
    stage.hears(Detach(NAME, 1))
    stage.commit()
    assert any(isinstance(said, Deliver) for said in stage.hears(Attach(NAME, 2, 10)))


def test_client_that_is_gone_is_forgotten_with_its_copies(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    head = ours(1)
    stage.hears(head, body_of(head))
    assert stage.desk.statistics([])["clients"] == ["app"]
    turn = at()
    stage.desk.on_client_gone(turn, CONN)
    assert stage.desk.statistics([])["clients"] == []
    assert heads(stage.hears_broker(Accepted(*APP, NAME, 1, 1, 1)), CONN) == []


def give_to_the_first_of_two(stage: Stage) -> None:
    """A message is with one reader of our mailbox, and a rival waits on connection 4."""
    stage.own(NAME)
    stage.links.clients[4] = ("rival", 1)
    stage.hears(Attach(NAME, 1, 10))
    head = ours(1)
    stage.hears(head, body_of(head))
    stage.commit()
    stage.hears(Attach(NAME, 1, 10), conn=4)


def test_messages_of_a_client_that_is_gone_go_to_another_one(stage: Stage) -> None:
    give_to_the_first_of_two(stage)
    turn = at()
    stage.desk.on_client_gone(turn, CONN)
    stage.desk.flush(turn)
    assert [type(said) for said in heads(turn, 4)] == [Deliver]


def test_end_of_an_old_connection_does_not_forget_the_new_one_of_the_same_client(stage: Stage) -> None:
    stage.own("app")
    stage.hears(Attach("app", 1, 10))
    stage.links.clients[4] = APP
    stage.hears(Attach("app", 1, 10), conn=4)
    stage.desk.on_client_gone(at(), CONN)
    notice = Confirmed(*APP, NAME, 1, 1, 1)
    assert heads(stage.hears_broker(notice), 4) == [notice]


@pytest.mark.parametrize("head", [Attach(NAME, 1, 10), Commit(*APP, 1, (), ())])
def test_request_for_a_mailbox_that_is_ours_and_not_loaded_yet_waits_for_it(stage: Stage, head: Message) -> None:
    name = head.source if isinstance(head, Commit) else NAME
    key = stage.groups.own(name)
    assert stage.hears(head) == []
    assert stage.desk.courier.is_waiting(key)


def test_request_behind_one_that_waits_does_not_overtake_it(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    stage.hears(Settle(NAME, 1, ((1, 1),)))
    assert stage.hears(Attach(NAME, 1, 10)) == []
    turn = at()
    stage.desk.courier.release(turn, KEY)
    kinds = [type(event.head) for event in turn.inbox if isinstance(event, ClientMessage)]
    assert kinds == [Settle, Attach]


# Transactions ---------------------------------------------------------------------------------------------------
def test_transaction_is_decided_where_its_senders_mailbox_lives(stage: Stage) -> None:
    stage.groups.know("app", OTHER)
    assert moved(stage.hears(Commit(*APP, 1, (), (SettlePart("x", ((1, 1),)),)))).peer == OTHER


def test_whole_transaction_on_one_broker_ends_with_its_outcome(stage: Stage) -> None:
    stage.own("app")
    stage.own(NAME)
    one = ours(1)
    body = body_of(one)
    head = Commit(*APP, 1, (SendPart(NAME, 1, 1, one.flags, 4, 0, len(body)),), ())
    assert stage.hears(head, body) == []
    turn = stage.commit()
    assert [said.committed for said in heads(turn, CONN) if isinstance(said, Outcome)] == [True]
    assert any(isinstance(said, Deliver) for said in stage.hears(Attach(NAME, 1, 10)))


def test_decision_is_repeated_until_every_part_is_done(stage: Stage) -> None:
    stage.own("app")
    stage.groups.know("far", OTHER)
    body = body_of(ours(1))
    stage.hears(Commit(*APP, 1, (SendPart("far", 1, 1, 1, 4, 0, len(body)),), ()), body)
    ((_, part),) = stage.links.take()
    assert isinstance(part, TxPrepare)
    stage.hears_broker(TxPrepared(*APP, 1, part.attempt, "far", True))
    stage.commit()
    assert [type(head) for _, head in stage.links.take()] == [TxDecide]

    def later() -> list[type]:
        due = stage.desk.next_deadline()
        stage.desk.on_deadline(at(due or 0))
        return [type(head) for _, head in stage.links.take()]

    assert later() == [TxDecide]
    stage.hears_broker(TxDone(*APP, 1, part.attempt, "far"))
    assert TxDecide not in later()


def test_commit_under_a_foreign_identity_ends_the_connection(stage: Stage) -> None:
    stage.hears(Commit("other", 9, 1, (), ()))
    assert [code for _, code, _ in stage.links.refused] == [Code.BAD_FIELD]


def test_commit_of_an_application_whose_name_cannot_be_a_mailbox_is_refused(stage: Stage) -> None:
    stage.links.clients[CONN] = ("causeway/x", 9)
    (outcome,) = stage.hears(Commit("causeway/x", 9, 1, (), ()))
    assert isinstance(outcome, Outcome)
    assert (outcome.committed, outcome.code) == (False, Code.BAD_FIELD)


def test_part_of_a_transaction_waits_until_it_may_be_written(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    stage.hears_broker(TxPrepare("a", 1, 1, 1, NAME, (), (), OTHER.id))
    assert stage.desk.courier.is_waiting(KEY)


def test_parts_decisions_and_questions_reach_the_owner_and_are_answered(stage: Stage) -> None:
    stage.own(NAME)
    one = deposit(1)
    body = body_of(one)
    part = SendPart(NAME, 1, 1, one.flags, 4, 0, len(body))
    stage.hears_broker(TxPrepare("a", 1, 1, 1, NAME, (part,), (), OTHER.id), body)
    stage.commit()
    ((to, answer),) = stage.links.take()
    assert to == OTHER.id
    assert isinstance(answer, TxPrepared)
    assert answer.ok
    stage.hears_broker(TxDecide("a", 1, 1, 1, NAME, True, OTHER.id))
    stage.commit()
    assert [type(head) for _, head in stage.links.take()] == [TxDone]
    stage.own("a")
    stage.groups.know("far", OTHER)
    stage.hears_broker(TxAsk("a", 1, 77, 1, "far", OTHER.id))
    ((_, verdict),) = stage.links.take()
    assert isinstance(verdict, TxDecide)
    assert not verdict.committed, "what nobody remembers was never committed"


def test_absurd_part_is_refused_to_whoever_coordinates_it(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears_broker(TxPrepare("a", 1, 0, 1, NAME, (), (), OTHER.id))
    ((to, answer),) = stage.links.take()
    assert to == OTHER.id
    assert isinstance(answer, TxPrepared)
    assert (answer.ok, answer.code) == (False, Code.BAD_FIELD)
    assert stage.groups.take() == []


# Brokers --------------------------------------------------------------------------------------------------------
def test_batch_of_another_broker_is_taken_if_it_is_its_own(stage: Stage) -> None:
    stage.own(NAME)
    head = deposit(1, origin=OTHER.id)
    stage.hears_broker(head, body_of(head), peer=THIRD)
    assert stage.groups.take() == [], "nobody speaks for another broker outside an envelope"
    stage.hears_broker(head, body_of(head))
    stage.commit()
    assert stage.links.take() == [(OTHER.id, Accepted("a", 1, NAME, 1, 1, 1))]


def test_envelope_is_opened_where_it_belongs(stage: Stage) -> None:
    stage.own(NAME)
    head = deposit(1, origin=THIRD.id)
    stage.hears_broker(Routed(KEY, NAME, 2, head), body_of(head))
    stage.commit()
    assert stage.links.take() == [(THIRD.id, Accepted("a", 1, NAME, 1, 1, 1))]


@pytest.mark.parametrize(("mailbox", "hops"), [("bills", 0), (NAME, -1)])
def test_envelope_that_contradicts_its_content_is_dropped(stage: Stage, mailbox: str, hops: int) -> None:
    stage.own(NAME)
    stage.own("bills")
    head = deposit(1, origin=OTHER.id)
    stage.hears_broker(Routed(key_of(mailbox), mailbox, hops, head), body_of(head))
    assert stage.groups.take() == []
    assert stage.links.take() == []


def test_absurd_batch_of_a_broker_is_refused_to_its_source_and_never_stored(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears_broker(deposit(1, 2, origin=OTHER.id), b"not two messages")
    ((to, answer),) = stage.links.take()
    assert to == OTHER.id
    assert isinstance(answer, Rejected)
    assert answer.code == Code.BAD_FIELD
    stage.hears_broker(deposit(-5, origin=OTHER.id), b"")
    stage.hears_broker(deposit(1, origin=b"short"), b"")
    assert stage.links.take() == [], "an answer to that would be as absurd"
    assert stage.groups.take() == []


def test_refusals_and_requests_to_send_again_reach_the_copies(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    for first in (1, 2):
        head = ours(first, stream=TRANSACTIONAL, follows=first - 1)
        stage.hears(head, body_of(head))
    stage.links.take()
    stage.hears_broker(Resend(*APP, NAME, TRANSACTIONAL, 0))
    assert [head.first for _, head in stage.links.take() if isinstance(head, Deposit)] == [1, 2]
    turn = stage.hears_broker(Rejected(*APP, NAME, TRANSACTIONAL, 1, 1, Code.NO_QUORUM, "b2 is away"))
    assert [said.first for said in heads(turn, CONN) if isinstance(said, Rejected)] == [1, 2]


def test_confirmation_reaches_the_client_or_waits_in_its_mailbox(stage: Stage) -> None:
    stage.own("app")
    notice = Confirmed(*APP, NAME, 1, 1, 1)
    stage.hears_broker(notice)
    answers = stage.hears(Attach("app", 1, 10))
    assert answers == [Attached("app", 1), notice]
    assert heads(stage.hears_broker(notice), CONN) == [notice], "it is here now"
    assert heads(stage.hears_broker(Routed(key_of("app"), "app", 1, notice)), CONN) == [notice]


def test_confirmation_for_a_client_elsewhere_is_sent_on(stage: Stage) -> None:
    stage.groups.know("app", OTHER)
    notice = Confirmed(*APP, NAME, 1, 1, 1)
    stage.hears_broker(notice)
    assert stage.links.take() == [(OTHER.id, notice)]


def test_news_of_a_group_lets_go_what_waits_for_it(stage: Stage) -> None:
    stage.hears(Attach(NAME, 1, 10))
    turn = at()
    stage.desk.on_group_hearsay(turn, PeerMessage(OTHER, Chosen(KEY, config_of(NAME, OTHER)), b""))
    assert len(turn.inbox) == 1


def test_owner_that_denies_is_believed_and_nobody_else(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER, THIRD)
    denial = NotMember(KEY, 0, 0)
    stage.desk.on_group_hearsay(at(), PeerMessage(THIRD, denial, b""))
    stage.desk.on_group_hearsay(at(), PeerMessage(OTHER, NotMember(KEY, 4, 0), b""))
    assert stage.groups.asked == []
    stage.desk.on_group_hearsay(at(), PeerMessage(OTHER, denial, b""))
    assert stage.groups.asked == [("forget", KEY)]


def test_loss_of_too_many_copies_is_told_to_those_who_wait(stage: Stage) -> None:
    stage.own(NAME)
    head = deposit(1, origin=OTHER.id)
    stage.hears_broker(head, body_of(head))
    stage.groups.obstacles[KEY] = "b2 is away"
    stage.desk.on_ways_changed(at())
    ((_, answer),) = stage.links.take()
    assert isinstance(answer, Rejected)
    assert answer.code == Code.NO_QUORUM


def test_copies_are_sent_again_soon_after_a_broker_died(stage: Stage) -> None:
    stage.groups.know(NAME, OTHER)
    head = ours(1)
    stage.hears(head, body_of(head))
    slow = stage.desk.next_deadline()
    stage.desk.on_ways_changed(at())
    soon = stage.desk.next_deadline()
    assert slow is not None
    assert soon is not None
    assert soon < slow


def test_batches_of_a_mailbox_that_moved_away_follow_it(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears(Attach(NAME, 1, 10))
    turn = at()
    del stage.groups.mine[KEY]
    stage.desk.on_ownership_lost(turn, OwnershipLost(KEY, config_of(NAME, OTHER)))
    assert moved(heads(turn, CONN)).peer == OTHER


def test_what_waits_for_a_mailbox_follows_it_when_it_moves_away(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    head = ours(1)
    stage.hears(head, body_of(head))
    turn = at()
    del stage.groups.mine[KEY]
    stage.desk.on_ownership_lost(turn, OwnershipLost(KEY, config_of(NAME, OTHER)))
    assert [event.head for event in turn.inbox if isinstance(event, PeerMessage)] == [
        msgspec.structs.replace(head, origin=ME.id)
    ]


def test_decisions_move_with_the_mailbox_of_their_sender(stage: Stage) -> None:
    key = stage.own("app")
    stage.groups.know("far", OTHER)
    body = body_of(ours(1))
    stage.hears(Commit(*APP, 1, (SendPart("far", 1, 1, 1, 4, 0, len(body)),), ()), body)
    ((_, part),) = stage.links.take()
    assert isinstance(part, TxPrepare)
    stage.hears_broker(TxPrepared(*APP, 1, part.attempt, "far", True))
    ((_, _, writes),) = stage.groups.operations
    stage.commit()
    stage.links.take()
    del stage.groups.mine[key]
    stage.desk.on_ownership_lost(at(), OwnershipLost(key, config_of("app", OTHER)))
    for _ in range(3):
        stage.desk.on_deadline(at(stage.desk.next_deadline() or 0))
    assert stage.links.take() == [], "it is the new owner's to say now"
    heir = Stage()
    heir.groups.know("far", OTHER)
    rows = [Row(write.key, write.seq, write.value) for write in writes if isinstance(write, Put)]
    heir.groups.own("app")
    heir.desk.on_ownership_gained(at(), OwnershipGained(key, config_of("app", ME), rows, None))
    heir.desk.on_deadline(at(heir.desk.next_deadline() or 0))
    assert [type(head) for _, head in heir.links.take()] == [TxDecide]


def test_resumed_ownership_lets_go_what_waited(stage: Stage) -> None:
    stage.own(NAME, serving=False)
    head = ours(1)
    stage.hears(head, body_of(head))
    assert stage.desk.courier.is_waiting(KEY)
    stage.groups.mine[KEY] = True
    turn = at()
    stage.desk.on_ownership_resumed(turn, OwnershipResumed(KEY))
    assert len(turn.inbox) == 1


def test_resumed_ownership_gives_the_messages_of_vanished_clients_to_others(stage: Stage) -> None:
    give_to_the_first_of_two(stage)
    stage.groups.mine[KEY] = False
    turn = at()
    stage.desk.on_client_gone(turn, CONN)
    stage.desk.flush(turn)
    stage.groups.mine[KEY] = True
    stage.desk.on_ownership_resumed(turn, OwnershipResumed(KEY))
    assert heads(turn, 4) == []
    stage.desk.flush(turn)
    assert [type(said) for said in heads(turn, 4)] == [Deliver]


def test_dead_letters_leave_for_their_mailbox_and_are_settled_when_it_has_them() -> None:
    stage = Stage(deliveries_max=1)
    stage.own(NAME)
    stage.groups.know(f"dead/{NAME}", OTHER)
    stage.hears(Attach(NAME, 1, 10))
    head = ours(1)
    stage.hears(head, body_of(head))
    stage.commit()
    stage.hears(Return(NAME, 1, ((1, 1),)))
    stage.commit()
    ((to, burial),) = stage.links.take()
    assert to == OTHER.id
    assert isinstance(burial, Deposit)
    assert (burial.dest, burial.first) == (f"dead/{NAME}", 1)
    stage.hears_broker(Accepted(NAME, burial.incarnation, burial.dest, burial.stream, 1, 1))
    stage.commit()
    (entry,) = stage.desk.statistics([NAME])["mailboxes"]  # type: ignore[misc]
    assert entry["stored"] == 0


# The rest -------------------------------------------------------------------------------------------------------
def test_earliest_deadline_of_all_parts_counts(stage: Stage) -> None:
    assert stage.desk.next_deadline() is None
    stage.hears(Attach(NAME, 1, 10))
    due = stage.desk.next_deadline()
    assert due is not None
    stage.ring.hop = OTHER.id
    turn = at(due)
    stage.desk.on_deadline(turn)
    assert len(turn.inbox) == 1


def test_page_is_handed_to_the_office(stage: Stage) -> None:
    stage.desk.on_page(at(), PageLoaded(KEY, 7, [], None))
    stage.own(NAME)
    stage.desk.on_page(at(), PageLoaded(KEY, 7, [], None))
    assert stage.desk.statistics([NAME])["mailboxes"]


def test_drained_connection_gets_what_it_missed(stage: Stage) -> None:
    stage.own(NAME)
    stage.hears(Attach(NAME, 1, 10))
    stage.links.full.add(CONN)
    head = ours(1)
    stage.hears(head, body_of(head))
    assert not any(isinstance(said, Deliver) for said in heads(stage.commit(), CONN))
    stage.links.full.clear()
    stage.desk.on_drained(CONN)
    turn = at()
    stage.desk.flush(turn)
    assert any(isinstance(said, Deliver) for said in heads(turn, CONN))


def test_status_lists_end_somewhere_and_say_how_much_is_left_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.desk.STATUS_ENTRIES_MAX", 2)
    assert STATUS_ENTRIES_MAX > 2
    stage.own(NAME)
    for conn, name in enumerate(("a", "b", "c"), 10):
        stage.links.clients[conn] = (name, 1)
        stage.hears(Attach(NAME, 1, 10), conn=conn)
    found = stage.desk.statistics([NAME, "x"])
    assert len(found["mailboxes"]) == 1, "of those asked for, what we own"  # type: ignore[arg-type]
    assert (found["clients"], found["clients_truncated"]) == (["a", "b"], 1)


def test_a_client_that_comes_again_is_known_by_its_name_and_incarnation() -> None:
    stage = Stage()
    stage.own(NAME)
    assert stage.hears(Attach(NAME, 1, 10, exclusive=True)) == [Attached(NAME, 1)]
    stage.links.clients[4], stage.links.clients[6] = APP, (APP[0], APP[1] + 1)
    (moved,) = stage.hears(Attach(NAME, 1, 10, exclusive=True), conn=6)
    assert isinstance(moved, Moved)
    assert moved.code == Code.IN_USE
    assert stage.hears(Attach(NAME, 1, 10, exclusive=True), conn=4) == [Attached(NAME, 1)]
