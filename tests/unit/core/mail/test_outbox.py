"""The source broker's copies: kept until acknowledged, sent again in order, bounded."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.machine import Turn
from causeway.core.mail.outbox import END_TO_END_FACTOR, Outbox
from causeway.core.messages import Accepted, Causal, Deposit, Message, Postable, Rejected, Resend
from causeway.errors import Code
from causeway.limits import ITEM_OVERHEAD_BYTES, OUTBOX_BYTES_PER_CLIENT_MAX, RESENT_AT_ONCE_MAX, STREAM_BATCHES_MAX
from causeway.names import seat_name
from causeway.types import MILLISECOND, SECOND, Flag, ServiceClass, key_of
from causeway.wire import body as bodies

ME = key_of("b1")
CONFIG = BrokerConfig(name="b1")
ONE = bodies.join([b"x"])


class Courier:
    """Records what is posted."""

    def __init__(self) -> None:
        self.posted: list[Postable] = []

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        raise AssertionError("an outbox never answers")

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        self.posted.append(head)

    def clogged(self, conn: int) -> bool:
        return False

    def ids(self) -> list[int]:
        found = [head.first for head in self.posted if isinstance(head, Deposit)]
        self.posted.clear()
        return found


def deposit(first: int, follows: int = 0, **changes: object) -> Deposit:
    fields: dict[str, object] = {
        "source": "app",
        "incarnation": 1,
        "dest": "orders",
        "stream": ServiceClass.TRANSACTIONAL,
        "first": first,
        "count": 1,
        "follows": follows,
        "flags": Flag.RELIABLE,
        "priority": 4,
        "ttl": 0,
    }
    return Deposit(**{**fields, **changes})  # type: ignore[arg-type]


def make() -> tuple[Outbox, Courier]:
    courier = Courier()
    return Outbox(CONFIG, ME, "b1", courier), courier


def heads(turn: Turn, kind: type) -> list[Message]:
    return [s.head for s in turn.effects.sends if isinstance(s.head, kind)]


def accepted(first: int, last: int) -> Accepted:
    return Accepted("app", 1, "orders", ServiceClass.TRANSACTIONAL, first, last)


def test_take_sends_the_batch_on_with_this_broker_as_origin() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    (sent,) = courier.posted
    assert isinstance(sent, Deposit)
    assert sent.origin == ME
    assert (outbox.taken, outbox.messages) == (1, sent.count)


def test_unanswered_batches_are_sent_again_in_order_until_acknowledged() -> None:
    outbox, courier = make()
    for i in (1, 2, 3):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    courier.ids()
    outbox.on_deadline(Turn(CONFIG.retry))
    assert courier.ids() == [1, 2, 3]
    turn = Turn(CONFIG.retry)
    outbox.on_accepted(turn, accepted(1, 2))
    assert heads(turn, Accepted) == [accepted(1, 2)]
    outbox.on_deadline(Turn(10 * CONFIG.retry))
    assert courier.ids() == [3]
    outbox.on_accepted(Turn(0), accepted(3, 3))
    assert outbox.next_deadline() is None


def test_owners_that_are_merely_busy_are_not_sent_everything_twice() -> None:
    outbox, courier = make()
    for first in range(1, 21):  # answers take four fifths of what is waited for without knowing better
        now = first * CONFIG.retry
        outbox.take(Turn(now), 2, deposit(first, first - 1), ONE)
        outbox.on_accepted(Turn(now + CONFIG.retry * 4 // 5), accepted(first, first))
    courier.posted.clear()
    now = 30 * CONFIG.retry
    outbox.take(Turn(now), 2, deposit(21, 20), ONE)
    outbox.on_deadline(Turn(now + 2 * CONFIG.retry))
    assert courier.ids() == [21]
    outbox.on_deadline(Turn(now + 4 * CONFIG.retry))
    assert courier.ids() == [21]


def test_however_slow_answers_were_a_batch_is_sent_again_before_long() -> None:
    outbox, courier = make()
    for first in range(1, 21):
        now = first * 1000 * CONFIG.retry
        outbox.take(Turn(now), 2, deposit(first, first - 1), ONE)
        outbox.on_accepted(Turn(now + 900 * CONFIG.retry), accepted(first, first))
    courier.posted.clear()
    now = 30_000 * CONFIG.retry
    outbox.take(Turn(now), 2, deposit(21, 20), ONE)
    outbox.on_deadline(Turn(now + 8 * CONFIG.retry))
    assert courier.ids() == [21, 21]


def follows(courier: Courier) -> list[int]:
    found = [head.follows for head in courier.posted if isinstance(head, Deposit)]
    courier.posted.clear()
    return found


MISSING_ALL = Resend("app", 1, "orders", ServiceClass.TRANSACTIONAL, 0)


def test_resend_forgets_a_predecessor_only_after_its_acknowledgement() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    outbox.take(Turn(0), 2, deposit(2, 1), ONE)
    courier.posted.clear()
    outbox.on_resend(Turn(0), MISSING_ALL)
    assert follows(courier) == [0, 1]
    outbox.on_accepted(Turn(0), accepted(1, 1))
    outbox.on_resend(Turn(CONFIG.retry), MISSING_ALL)
    assert follows(courier) == [0]


def test_resend_forgets_predecessors_acknowledged_out_of_order() -> None:
    outbox, courier = make()
    for i in (1, 2, 3):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    outbox.on_accepted(Turn(0), accepted(2, 2))
    outbox.on_accepted(Turn(0), accepted(1, 1))
    courier.posted.clear()
    outbox.on_resend(Turn(0), MISSING_ALL)
    assert follows(courier) == [0], "an owner that knows nothing of the first two takes the third"


def test_resend_never_forgets_a_predecessor_that_was_refused() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    outbox.on_rejected(Turn(0), Rejected("app", 1, "orders", 2, 1, 1, Code.NO_QUORUM, "no"))
    outbox.take(Turn(0), 2, deposit(2, 1), ONE)
    courier.posted.clear()
    turn = Turn(0)
    outbox.on_resend(turn, MISSING_ALL)
    assert follows(courier) == [1]
    assert heads(turn, Resend) == [MISSING_ALL], "the application has what is missing"


def test_resend_is_paced_when_the_gap_cannot_be_filled() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    courier.posted.clear()
    outbox.on_resend(Turn(0), MISSING_ALL)
    outbox.on_resend(Turn(0), MISSING_ALL)
    assert courier.ids() == [1]
    due = outbox.next_deadline()
    assert due is not None
    assert due > 0


def test_lost_quorum_is_told_to_the_application_with_everything_behind_it() -> None:
    outbox, _ = make()
    for i in (1, 2, 3):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    turn = Turn(0)
    outbox.on_rejected(turn, Rejected("app", 1, "orders", 2, 2, 2, Code.NO_QUORUM, "1 of 3 copies reachable"))
    told = heads(turn, Rejected)
    assert [(r.first, r.code) for r in told if isinstance(r, Rejected)] == [(2, Code.NO_QUORUM), (3, Code.NO_QUORUM)]
    assert outbox.statistics()["batches"] == 1


def test_passing_refusal_is_waited_out_without_a_word_to_the_application() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    courier.ids()
    turn = Turn(0)
    outbox.on_rejected(turn, Rejected("app", 1, "orders", 2, 1, 1, Code.NOT_OWNER, "moved"))
    assert turn.effects.sends == []
    due = outbox.next_deadline()
    assert due is not None
    assert due < CONFIG.retry
    outbox.on_deadline(Turn(due))
    assert courier.ids() == [1]


def test_express_without_an_answer_is_not_kept() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1, stream=ServiceClass.EXPRESS, flags=0), ONE)
    assert courier.ids() == [1]
    assert outbox.next_deadline() is None


def test_unordered_batches_may_be_acknowledged_in_any_order() -> None:
    outbox, _ = make()
    for i in (1, 2, 3):
        outbox.take(Turn(0), 2, deposit(i, stream=ServiceClass.RECOVERABLE), ONE)
    outbox.on_accepted(Turn(0), Accepted("app", 1, "orders", ServiceClass.RECOVERABLE, 2, 2))
    assert outbox.statistics() == {"streams": 1, "batches": 2, "bytes": 2 * (len(ONE) + ITEM_OVERHEAD_BYTES)}


def test_a_client_with_too_much_outstanding_is_paused_and_resumed() -> None:
    outbox, _ = make()
    big = bodies.join([bytes(OUTBOX_BYTES_PER_CLIENT_MAX // 4)])
    turn = Turn(0)
    for i in range(1, 6):
        outbox.take(turn, 2, deposit(i, i - 1), big)
    assert [(p.conn, p.paused) for p in turn.effects.pauses] == [(2, True)]
    turn = Turn(0)
    for i in range(1, 6):
        outbox.on_accepted(turn, accepted(i, i))
    assert [(p.conn, p.paused) for p in turn.effects.pauses] == [(2, False)]


def test_copies_of_a_client_go_with_it() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    courier.ids()
    outbox.on_client_gone(Turn(0), 2)
    outbox.on_deadline(Turn(100 * MILLISECOND * 100))
    assert courier.ids() == []
    assert outbox.statistics() == {"streams": 0, "batches": 0, "bytes": 0}


def test_a_dead_broker_makes_us_send_again_at_once() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    courier.ids()
    outbox.on_ways_changed(Turn(0))
    due = outbox.next_deadline()
    assert due is not None
    assert due <= CONFIG.retry // 8


def test_bad_fields_are_refused_by_name_and_not_sent_on() -> None:
    cases = {
        "source": deposit(1, source=""),
        "dest": deposit(1, dest="x" * 300),
        "stream": deposit(1, stream=9),
        "count": deposit(1, count=0),
        "first": deposit(0),
        "priority": deposit(1, priority=10),
        "ttl": deposit(1, ttl=-1),
        "body": deposit(1, count=2),
    }
    for field, bad in cases.items():
        outbox, courier = make()
        turn = Turn(0)
        outbox.take(turn, 2, bad, ONE)
        (answer,) = heads(turn, Rejected)
        assert isinstance(answer, Rejected)
        assert answer.code == Code.BAD_FIELD
        assert answer.detail.startswith(field)
        assert courier.posted == []


def test_more_than_a_window_waits_and_follows_in_order() -> None:
    outbox, courier = make()
    for i in range(1, STREAM_BATCHES_MAX + 4):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    assert courier.ids() == list(range(1, STREAM_BATCHES_MAX + 1))
    outbox.on_accepted(Turn(0), accepted(1, 2))
    assert courier.ids() == [STREAM_BATCHES_MAX + 1, STREAM_BATCHES_MAX + 2]


def test_an_answer_heard_before_changes_nothing() -> None:
    outbox, _ = make()
    for i in (1, 2):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    outbox.on_accepted(Turn(0), accepted(1, 1))
    outbox.on_accepted(Turn(0), accepted(1, 1))
    assert outbox.statistics()["batches"] == 1


def test_dead_letters_are_kept_until_acknowledged_in_whatever_order_they_die() -> None:
    outbox, courier = make()
    buried = {"source": "orders", "dest": "dead/orders", "stream": ServiceClass.RECOVERABLE}
    for number in (470, 439, 439):
        outbox.bury(Turn(0), deposit(number, **buried), ONE)
    assert courier.ids() == [470, 439]
    outbox.on_deadline(Turn(CONFIG.retry))
    again = [head for head in courier.posted if isinstance(head, Deposit)]
    assert [head.first for head in again] == [470, 439]
    assert all(head.follows < head.first for head in again)
    taken = Accepted("orders", 1, "dead/orders", ServiceClass.RECOVERABLE, 439, 439)
    assert outbox.on_accepted(Turn(CONFIG.retry), taken) == 0
    courier.posted.clear()
    outbox.on_deadline(Turn(20 * CONFIG.retry))
    assert courier.ids() == [470]


def test_client_with_too_many_streams_is_refused_and_idle_ones_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.outbox.STREAMS_PER_CLIENT_MAX", 2)
    outbox, courier = make()
    for dest in ("orders", "bills"):
        outbox.take(Turn(0), 2, deposit(1, dest=dest), ONE)
    courier.ids()
    turn = Turn(0)
    outbox.take(turn, 2, deposit(1, dest="third"), ONE)
    (refusal,) = heads(turn, Rejected)
    assert isinstance(refusal, Rejected)
    assert (refusal.dest, refusal.code) == ("third", Code.OVERLOADED)
    assert courier.ids() == []
    outbox.take(Turn(0), 4, deposit(1, dest="third", source="other"), ONE)
    assert courier.ids() == [1], "another client has its own"
    outbox.on_accepted(Turn(0), accepted(1, 1))
    outbox.take(Turn(0), 2, deposit(1, dest="third"), ONE)
    assert courier.ids() == [1], "what waits for nothing is forgotten first"


def test_stream_follows_its_client_to_another_connection() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    outbox.take(Turn(0), 4, deposit(1), ONE)
    assert courier.ids() == [1, 1]
    turn = Turn(0)
    outbox.on_accepted(turn, accepted(1, 1))
    assert [send.conn for send in turn.effects.sends] == [4]
    assert outbox.statistics()["bytes"] == 0


def test_request_to_send_an_unknown_stream_again_is_nothing() -> None:
    outbox, courier = make()
    outbox.on_resend(Turn(0), Resend("app", 1, "orders", ServiceClass.TRANSACTIONAL, 0))
    assert courier.posted == []


def test_a_repeated_batch_behind_the_window_is_known_and_not_sent_again() -> None:
    outbox, courier = make()
    for number in range(1, STREAM_BATCHES_MAX + 3):
        outbox.take(Turn(0), 2, deposit(number, number - 1), ONE)
    courier.posted.clear()
    outbox.take(Turn(0), 2, deposit(STREAM_BATCHES_MAX + 2, STREAM_BATCHES_MAX + 1), ONE)
    assert courier.posted == []
    outbox.on_accepted(Turn(0), accepted(1, 2))
    assert courier.ids() == [STREAM_BATCHES_MAX + 1, STREAM_BATCHES_MAX + 2]


def test_what_others_on_their_way_to_a_seat_wait_for_goes_before_them_however_many_they_are() -> None:
    outbox, courier = make()
    seats: dict[str, object] = {"source": "causeway/seats/a", "dest": "causeway/seats/b", "causal": Causal()}
    for number in range(3, STREAM_BATCHES_MAX + 6):
        outbox.forward(Turn(0), deposit(number, number - 1, **seats), ONE)
    courier.posted.clear()
    for number in (2, 1):
        outbox.forward(Turn(0), deposit(number, **seats), ONE)
    assert courier.ids() == [2, 1]
    courier.posted.clear()
    outbox.on_deadline(Turn(END_TO_END_FACTOR * CONFIG.retry))
    assert courier.ids()[:3] == [1, 2, 3]


# Time to live ---------------------------------------------------------------------------------------------------
def ttls(courier: Courier) -> list[int]:
    found = [head.ttl for head in courier.posted if isinstance(head, Deposit)]
    courier.posted.clear()
    return found


def delays(courier: Courier) -> list[int]:
    found = [head.delay for head in courier.posted if isinstance(head, Deposit)]
    courier.posted.clear()
    return found


def test_time_to_live_does_not_begin_anew_with_every_resend() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1, ttl=10 * CONFIG.retry), ONE)
    outbox.take(Turn(0), 2, deposit(2, 1), ONE)
    assert ttls(courier) == [10 * CONFIG.retry, 0]
    outbox.on_deadline(Turn(CONFIG.retry))
    assert ttls(courier) == [9 * CONFIG.retry, 0]
    outbox.on_resend(Turn(4 * CONFIG.retry), MISSING_ALL)
    assert ttls(courier) == [6 * CONFIG.retry, 0]


def test_a_delay_does_not_begin_anew_with_every_resend() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1, delay=2 * CONFIG.retry), ONE)
    outbox.take(Turn(0), 2, deposit(2, 1), ONE)
    assert delays(courier) == [2 * CONFIG.retry, 0]
    outbox.on_deadline(Turn(CONFIG.retry))
    assert delays(courier) == [CONFIG.retry, 0]
    outbox.on_resend(Turn(4 * CONFIG.retry), MISSING_ALL)
    assert delays(courier) == [0, 0]


def test_time_to_live_runs_behind_the_window() -> None:
    outbox, courier = make()
    for i in range(1, STREAM_BATCHES_MAX + 1):
        outbox.take(Turn(0), 2, deposit(i, i - 1), ONE)
    first = STREAM_BATCHES_MAX + 1
    outbox.take(Turn(0), 2, deposit(first, first - 1, ttl=50), ONE)
    outbox.take(Turn(0), 2, deposit(first + 1, first, ttl=100), ONE)
    courier.posted.clear()
    turn = Turn(60)
    outbox.on_accepted(turn, accepted(1, 1))
    assert [(head.first, head.code) for head in heads(turn, Rejected)] == [(first, Code.EXPIRED)]  # type: ignore[attr-defined]
    assert ttls(courier) == [40]


def test_copy_whose_time_is_over_is_dropped_and_stepped_over() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1), ONE)
    outbox.take(Turn(0), 2, deposit(2, 1, ttl=CONFIG.retry), ONE)
    outbox.take(Turn(0), 2, deposit(3, 2), ONE)
    courier.posted.clear()
    turn = Turn(CONFIG.retry)
    outbox.on_deadline(turn)
    assert follows(courier) == [0, 1]
    (refusal,) = heads(turn, Rejected)
    assert isinstance(refusal, Rejected)
    assert (refusal.first, refusal.last, refusal.code) == (2, 2, Code.EXPIRED)
    assert outbox.statistics()["bytes"] == 2 * (len(ONE) + ITEM_OVERHEAD_BYTES)


def test_stream_without_living_copies_has_no_timer() -> None:
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1, ttl=1), ONE)
    courier.posted.clear()
    outbox.on_deadline(Turn(CONFIG.retry))
    assert courier.posted == []
    assert outbox.next_deadline() is None
    assert outbox.statistics()["bytes"] == 0


def test_a_stream_does_not_begin_behind_a_batch_that_was_refused_for_want_of_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("causeway.core.mail.outbox.STREAMS_PER_CLIENT_MAX", 1)
    outbox, courier = make()
    outbox.take(Turn(0), 2, deposit(1, dest="other"), ONE)
    turn = Turn(0)
    outbox.take(turn, 2, deposit(1), ONE)
    assert len(heads(turn, Rejected)) == 1
    outbox.on_accepted(Turn(0), msgspec.structs.replace(accepted(1, 1), dest="other"))
    courier.posted.clear()
    turn = Turn(0)
    outbox.take(turn, 2, deposit(2, 1), ONE)  # it was on its way when the first was refused
    assert heads(turn, Resend) == [MISSING_ALL]
    outbox.take(Turn(0), 2, deposit(1), ONE)
    outbox.take(Turn(0), 2, deposit(2, 1), ONE)
    assert courier.ids() == [1, 2]


# Causal order ----------------------------------------------------------------------------------------------------
SEAT, NEXT = seat_name("b1"), seat_name("b2")


def test_a_new_holder_of_a_seat_gets_all_bodies_although_the_oldest_do_not_arrive() -> None:
    outbox, courier = make()
    for first in range(1, 200):
        outbox.take(Turn(0), 2, deposit(first, first - 1, dest=SEAT, causal=Causal("bob")), ONE)
    courier.posted.clear()
    now, seen = 0, set[int]()
    for _ in range(4):
        now += 8 * CONFIG.retry
        outbox.on_deadline(Turn(now))
        posted = [head for head in courier.posted if isinstance(head, Deposit)]
        assert len(posted) <= 2 * RESENT_AT_ONCE_MAX
        assert all(head.follows == head.first - 1 for head in posted), "somebody could take it before its predecessor"
        seen.update(courier.ids())
    assert seen == set(range(1, 200))


def test_time_to_live_between_seats_runs_while_a_copy_waits() -> None:
    outbox, courier = make()
    causal = Causal("bob", 1, domain="d", to="b2", ttl=4 * SECOND)
    head = deposit(1, source=SEAT, incarnation=0, dest=NEXT, causal=causal)
    outbox.forward(Turn(0), head, ONE)
    outbox.on_deadline(Turn(1400 * MILLISECOND))
    outbox.on_deadline(Turn(5000 * MILLISECOND))
    left = [head.causal.ttl for head in courier.posted if isinstance(head, Deposit) and head.causal is not None]
    assert left == [4 * SECOND, 2600 * MILLISECOND, 1]  # its place is needed for ever


def test_a_letter_whose_mailbox_cannot_begin_now_is_not_given_up_by_its_seat() -> None:
    outbox, courier = make()
    outbox.forward(Turn(0), deposit(1, source=SEAT), ONE)
    outbox.on_rejected(Turn(0), Rejected(SEAT, 1, "orders", 2, 1, 1, Code.CLUSTER_FULL, "full"))
    assert outbox.lapsed == []
    courier.posted.clear()
    outbox.on_deadline(Turn(10 * CONFIG.retry))
    assert courier.ids() == [1]
