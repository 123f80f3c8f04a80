"""Sending: batches, ids, resending in order, refusals, the window, time limits."""

from __future__ import annotations

import pytest

from causeway.client.batches import Ticket
from causeway.client.outcomes import SendDone, WindowOpened
from causeway.core.messages import Accepted, Deposit, Rejected, Resend
from causeway.errors import Code, ConfigError, DeadlineExceeded, OutcomeUnknown, Refused
from causeway.limits import BATCH_BYTES_MAX, BATCH_COUNT_MAX, MESSAGE_BYTES_MAX, RESENT_AT_ONCE_MAX
from causeway.types import MILLISECOND, SECOND, Flag, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.stage import INCARNATION, Stage

EXPRESS, RECOVERABLE, TRANSACTIONAL = (
    ServiceClass.EXPRESS,
    ServiceClass.RECOVERABLE,
    ServiceClass.TRANSACTIONAL,
)


def send(stage: Stage, *texts: str, service: ServiceClass = TRANSACTIONAL, **options: object) -> list[Ticket]:
    """Send in one turn."""
    tickets = [
        stage.session.send("orders", text.encode(), service=service, **options)  # type: ignore[arg-type]
        for text in texts
    ]
    stage.turn()
    return tickets


def reject(stage: Stage, home: str, deposit: Deposit, code: Code) -> None:
    last = deposit.first + deposit.count - 1
    stage.receive(
        home,
        Rejected(
            deposit.source, deposit.incarnation, deposit.dest, deposit.stream, deposit.first, last, int(code), "why"
        ),
    )


def ids(deposits: list[Deposit]) -> list[tuple[int, int]]:
    return [(deposit.first, deposit.follows) for deposit in deposits]


# Batches --------------------------------------------------------------------------------------------------------
def test_messages_of_one_turn_travel_as_one_batch(stage: Stage, home: str) -> None:
    tickets = send(stage, "a", "b", "c")
    (sent,) = [frame for frame in stage.sent if isinstance(frame.head, Deposit)]
    assert sent.head == Deposit("billing", INCARNATION, "orders", 2, 1, 3, 0, int(Flag.RELIABLE), 4, 0)
    assert bodies.split(sent.body, 3) == [b"a", b"b", b"c"]
    assert [str(ticket.message_id) for ticket in tickets] == [
        f"billing:{INCARNATION:x}:orders:t:{n}" for n in (1, 2, 3)
    ]


def test_other_properties_begin_another_batch_without_breaking_the_order(stage: Stage, home: str) -> None:
    for priority in (4, 9, 4):
        stage.session.send("orders", b"x", service=TRANSACTIONAL, priority=priority)
    stage.turn()
    assert [(d.first, d.count, d.priority) for d in stage.said(Deposit)] == [(1, 1, 4), (2, 1, 9), (3, 1, 4)]
    assert ids(stage.said(Deposit)) == [(1, 0), (2, 1), (3, 2)]


def test_classes_and_destinations_are_numbered_on_their_own(stage: Stage, home: str) -> None:
    for dest in ("a", "b"):
        for service in (EXPRESS, RECOVERABLE, TRANSACTIONAL):
            stage.session.send(dest, b"x", service=service)
    stage.turn()
    assert [(d.dest, d.stream, d.first) for d in stage.said(Deposit)] == [
        (dest, stream, 1) for dest in "ab" for stream in (0, 1, 2)
    ]


def test_batches_are_cut_at_their_bounds(stage: Stage, home: str) -> None:
    for _ in range(BATCH_COUNT_MAX + 1):
        stage.session.send("orders", b"x")
    stage.turn()
    assert [d.count for d in stage.said(Deposit)] == [BATCH_COUNT_MAX, 1]
    stage.take_sent()
    for _ in range(5):
        stage.session.send("orders", bytes(BATCH_BYTES_MAX // 2))
    stage.turn()
    assert sum(d.count for d in stage.said(Deposit)) == 5
    assert all(len(frame.body) <= BATCH_BYTES_MAX + 1024 for frame in stage.sent if isinstance(frame.head, Deposit))


def test_message_too_big_is_refused_and_nothing_else_suffers(stage: Stage, home: str) -> None:
    (ticket,) = send(stage, "a")
    with pytest.raises(ConfigError, match="body"):
        stage.session.send("orders", bytes(MESSAGE_BYTES_MAX + 1))
    stage.turn()
    stage.accept(home, stage.said(Deposit)[0])
    assert ticket.done
    assert stage.session.unresolved == 0


# Acknowledgements -----------------------------------------------------------------------------------------------
def test_acknowledgement_resolves_every_message_of_its_range(stage: Stage, home: str) -> None:
    first, second = send(stage, "a", "b"), send(stage, "c")
    assert not first[0].done
    stage.receive(home, Accepted("billing", INCARNATION, "orders", 2, 1, 3, True))
    assert all(ticket.done and ticket.error is None for ticket in first + second)
    assert first[0].batch.delivered
    assert len(stage.outcomes(SendDone)) == 2
    assert stage.session.idle


def test_part_of_a_batch_can_be_acknowledged_and_the_rest_refused(stage: Stage, home: str) -> None:
    tickets = send(stage, "a", "b", "c")
    stage.receive(home, Accepted("billing", INCARNATION, "orders", 2, 1, 2))
    assert not tickets[0].done
    stage.receive(home, Rejected("billing", INCARNATION, "orders", 2, 3, 3, int(Code.EXPIRED), "late"))
    assert [ticket.error is None for ticket in tickets] == [True, True, False]
    assert tickets[2].done


@pytest.mark.parametrize(
    "stray",
    [
        Accepted("other", INCARNATION, "orders", 2, 1, 1),
        Accepted("billing", 1, "orders", 2, 1, 1),
        Accepted("billing", INCARNATION, "other", 2, 1, 1),
        Accepted("billing", INCARNATION, "orders", 1, 1, 1),
        Accepted("billing", INCARNATION, "orders", 2, 2, 9),
        Resend("other", INCARNATION, "orders", 2, 0),
    ],
)
def test_answers_that_are_not_ours_change_nothing(stage: Stage, home: str, stray: Accepted | Resend) -> None:
    (ticket,) = send(stage, "a")
    stage.receive(home, stray)
    assert not ticket.done
    assert len(stage.said(Deposit)) == 1


def test_repeated_acknowledgements_change_nothing(stage: Stage, home: str) -> None:
    (ticket,) = send(stage, "a")
    for _ in range(3):
        stage.accept(home, stage.said(Deposit)[0])
    assert len(stage.outcomes(SendDone)) == 1
    assert stage.session.unresolved == 0
    assert ticket.done


def test_unreliable_express_is_done_when_it_is_sent(stage: Stage, home: str) -> None:
    (ticket,) = send(stage, "a", service=EXPRESS, reliable=False)
    assert ticket.done
    assert stage.said(Deposit)[0].flags == 0
    assert stage.session.idle


def test_transactional_is_always_acknowledged(stage: Stage, home: str) -> None:
    with pytest.raises(ConfigError, match="reliable"):
        stage.session.send("orders", b"x", service=TRANSACTIONAL, reliable=False)


def test_recoverable_may_go_without_an_acknowledgement(stage: Stage, home: str) -> None:
    stage.session.send("orders", b"x", service=RECOVERABLE, reliable=False)
    stage.turn()
    (deposit,) = stage.said(Deposit)
    assert not deposit.flags & Flag.RELIABLE
    assert stage.session.idle


# Order ----------------------------------------------------------------------------------------------------------
def test_batches_name_the_unacknowledged_one_before_them(stage: Stage, home: str) -> None:
    send(stage, "a")
    send(stage, "b")
    stage.accept(home, stage.said(Deposit)[0])
    stage.accept(home, stage.said(Deposit)[1])
    send(stage, "c")
    assert ids(stage.said(Deposit)) == [(1, 0), (2, 1), (3, 0)]


def test_everything_unacknowledged_is_sent_again_in_order_elsewhere(stage: Stage, home: str) -> None:
    send(stage, "a", "b")
    send(stage, "c")
    send(stage, "d")
    stage.accept(home, stage.said(Deposit)[0])
    stage.cut(home)
    stage.take_sent()
    other = stage.open()
    assert ids(stage.said(Deposit, other)) == [(3, 0), (4, 3)]
    frames = [frame for frame in stage.sent if isinstance(frame.head, Deposit)]
    assert [bodies.split(frame.body, 1) for frame in frames] == [[b"c"], [b"d"]]


def test_sends_without_a_broker_wait_for_one(stage: Stage) -> None:
    send(stage, "a")
    send(stage, "b")
    assert stage.said(Deposit) == []
    stage.open()
    assert ids(stage.said(Deposit)) == [(1, 0), (2, 1)]


def test_owner_that_misses_a_batch_gets_it_and_all_after_it_once(stage: Stage, home: str) -> None:
    for text in "abc":
        send(stage, text)
    stage.take_sent()
    for _ in range(3):
        stage.receive(home, Resend("billing", INCARNATION, "orders", 2, 1))
    assert ids(stage.said(Deposit)) == [(2, 1), (3, 2)]
    stage.turn(after=60 * MILLISECOND)
    stage.receive(home, Resend("billing", INCARNATION, "orders", 2, 1))
    assert ids(stage.said(Deposit)) == [(2, 1), (3, 2)] * 2


# Refusals -------------------------------------------------------------------------------------------------------
def test_refused_for_now_is_tried_again_with_everything_behind_it(stage: Stage, home: str) -> None:
    send(stage, "a")
    send(stage, "b")
    first, _ = stage.said(Deposit)
    stage.take_sent()
    reject(stage, home, first, Code.NO_QUORUM)
    send(stage, "c")
    assert stage.said(Deposit) == []
    stage.sleep(60 * MILLISECOND)
    assert ids(stage.said(Deposit)) == [(1, 0), (2, 1), (3, 2)]


def test_unordered_streams_try_again_only_what_was_refused(stage: Stage, home: str) -> None:
    for text in "abc":
        send(stage, text, service=RECOVERABLE)
    middle = stage.said(Deposit)[1]
    stage.take_sent()
    reject(stage, home, middle, Code.MAILBOX_FULL)
    stage.sleep(60 * MILLISECOND)
    assert ids(stage.said(Deposit)) == [(2, 1)]


def test_attempts_back_off_and_the_outcome_is_called_unknown_with_the_last_refusal(stage: Stage, home: str) -> None:
    (ticket,) = send(stage, "a", timeout=10 * SECOND)
    tries = 0
    while not ticket.done and tries < 50:
        tries += 1
        reject(stage, home, stage.said(Deposit)[-1], Code.NO_QUORUM)
        before = len(stage.said(Deposit))
        for _ in range(100):
            stage.receive(home, Accepted("nobody", 1, "x", 1, 1, 1))
            stage.sleep(50 * MILLISECOND)
            if len(stage.said(Deposit)) > before or ticket.done:
                break
    assert isinstance(ticket.error, OutcomeUnknown)
    assert ticket.error.code == Code.NO_QUORUM
    assert 10 <= tries <= 16


def test_refused_for_good_fails_and_the_next_batch_steps_over_it(stage: Stage, home: str) -> None:
    (bad,), (good,) = send(stage, "a"), send(stage, "b")
    stage.take_sent()
    reject(stage, home, Deposit("billing", INCARNATION, "orders", 2, 1, 1, 0, 1, 4, 0), Code.BAD_FIELD)
    assert isinstance(bad.error, Refused)
    assert ids(stage.said(Deposit)) == [(2, 0)]
    stage.accept(home, stage.said(Deposit)[0])
    assert good.error is None
    assert good.done


# Time -----------------------------------------------------------------------------------------------------------
def test_unanswered_send_fails_when_its_time_is_over_and_is_stepped_over(stage: Stage, home: str) -> None:
    (early,) = send(stage, "a", timeout=1 * SECOND)
    (late,) = send(stage, "b", timeout=60 * SECOND)
    stage.take_sent()
    stage.sleep(1 * SECOND)
    assert isinstance(early.error, OutcomeUnknown)
    assert not late.done
    assert ids(stage.said(Deposit)) == [(2, 0)]


def test_failed_send_says_whether_it_ever_left(stage: Stage) -> None:
    (ticket,) = send(stage, "a", timeout=1 * SECOND)
    stage.sleep(1 * SECOND)
    assert "not sent" in str(ticket.error)
    assert type(ticket.error) is DeadlineExceeded


def test_send_that_waits_behind_a_refused_one_and_never_leaves_is_refused(stage: Stage, home: str) -> None:
    send(stage, "a")
    reject(stage, home, stage.said(Deposit)[-1], Code.NO_QUORUM)
    (ticket,) = send(stage, "b", timeout=10 * MILLISECOND)
    stage.sleep(10 * MILLISECOND)
    assert isinstance(ticket.error, Refused), "brokers never had it"
    assert ticket.error.code == Code.NO_QUORUM


def test_time_to_live_runs_while_waiting_and_ends_the_send(stage: Stage) -> None:
    (ticket,) = send(stage, "a", ttl=3 * SECOND)
    stage.turn(after=1 * SECOND)
    stage.open()
    assert stage.said(Deposit)[0].ttl == 2 * SECOND
    stage.sleep(3 * SECOND)
    assert isinstance(ticket.error, OutcomeUnknown)
    assert ticket.error.code == Code.EXPIRED


@pytest.mark.parametrize("reliable", [True, False])
def test_send_whose_time_ends_with_the_wait_for_a_broker_never_leaves(stage: Stage, reliable: bool) -> None:
    (ticket,) = send(stage, "a", service=ServiceClass.RECOVERABLE, ttl=3 * SECOND, reliable=reliable)
    stage.turn(after=3 * SECOND - 1)
    stage.now += 1
    stage.open()
    assert stage.said(Deposit) == [], "a time to live of 0 would mean for ever"
    stage.sleep(0)
    assert isinstance(ticket.error, Refused)
    assert ticket.error.code == Code.EXPIRED


def test_answer_that_got_lost_is_asked_for_again(stage: Stage, home: str) -> None:
    send(stage, "a", timeout=60 * SECOND)
    for _ in range(12):
        stage.receive(home, Accepted("nobody", 1, "x", 1, 1, 1))
        stage.sleep(1 * SECOND)
    assert len(stage.said(Deposit)) >= 2


# The window -----------------------------------------------------------------------------------------------------
def test_only_the_oldest_unanswered_batches_are_said_again(stage: Stage, home: str) -> None:
    for number in range(RESENT_AT_ONCE_MAX + 9):
        send(stage, str(number), timeout=60 * SECOND)
    stage.take_sent()
    for _ in range(12):
        stage.receive(home, Accepted("nobody", 1, "x", 1, 1, 1))
        stage.sleep(1 * SECOND)
    assert {deposit.first for deposit in stage.said(Deposit)} == set(range(1, RESENT_AT_ONCE_MAX + 1))


def test_window_bounds_unacknowledged_messages_and_opens_again() -> None:
    stage = Stage(window_messages=10)
    home = stage.open()
    for _ in range(10):
        stage.session.send("orders", b"x")
    with pytest.raises(Refused, match="window") as caught:
        stage.session.send("orders", b"x")
    assert caught.value.code == Code.OVERLOADED
    assert caught.value.retriable
    stage.turn()
    assert stage.outcomes(WindowOpened) == []
    stage.accept(home, stage.said(Deposit)[0])
    assert stage.outcomes(WindowOpened)
    stage.session.send("orders", b"x")


def test_window_bounds_bytes(home: str) -> None:
    stage = Stage(window_bytes=100_000)
    stage.open()
    sent = 0
    with pytest.raises(Refused, match="window"):
        for _ in range(100):
            stage.session.send("orders", bytes(10_000))
            sent += 1
    assert 10 <= sent <= 11


def test_clogged_link_gets_nothing_until_it_drains(stage: Stage, home: str) -> None:
    stage.clog(home)
    send(stage, "a")
    (loose,) = send(stage, "b", service=EXPRESS, reliable=False)
    assert stage.said(Deposit) == []
    assert not loose.done
    stage.drain(home)
    assert len(stage.said(Deposit)) == 2
    assert loose.done


# Bounds and ends ------------------------------------------------------------------------------------------------
def test_retired_numberings_never_give_an_id_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.client.numbering.STREAMS_SENT_MAX", 3)
    stage = Stage()
    home = stage.open()
    for number in range(30):
        stage.session.send(f"d{number % 5}", b"x")
        stage.turn()
        stage.accept(home, stage.said(Deposit)[-1])
    used = [(d.dest, d.first) for d in stage.said(Deposit)]
    assert len(set(used)) == 30


def test_everything_unresolved_fails_when_the_session_is_closed(stage: Stage, home: str) -> None:
    (sent,) = send(stage, "a")
    unsent = stage.session.send("orders", b"b")
    stage.session.close()
    stage.turn()
    assert sent.done
    assert sent.error is not None
    assert unsent.error is not None
    with pytest.raises(type(sent.error), match="closed"):
        stage.session.send("orders", b"c")


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("dest", {"dest": ""}),
        ("dest", {"dest": "x" * 10_000}),
        ("dest", {"dest": "a\nb"}),
        ("dest", {"dest": "orders~2"}),
        ("priority", {"priority": -1}),
        ("priority", {"priority": 10}),
        ("priority", {"priority": "high"}),
        ("priority", {"priority": True}),
        ("ttl", {"ttl": -1}),
        ("timeout", {"timeout": 0}),
        ("body", {"body": 5}),
    ],
)
def test_bad_arguments_are_refused_by_name(stage: Stage, field: str, options: dict[str, object]) -> None:
    arguments = {"dest": "orders", "body": b"x", **options}
    with pytest.raises(ConfigError) as caught:
        stage.session.send(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field
