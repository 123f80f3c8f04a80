"""The deciding side of a transaction: promises first, one decision, every attempt a number of its own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.machine import Then, Turn
from causeway.core.mail import coordinator as coordinator_module
from causeway.core.mail.coordinator import PREPARE_PATIENCE, SPAN_COST, Coordinator
from causeway.core.messages import (
    Commit,
    Config,
    Message,
    Postable,
    SendPart,
    SettlePart,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.errors import Code
from causeway.limits import ITEM_OVERHEAD_BYTES, SEEN_SECONDS_MIN
from causeway.store.base import Put, Row, Write
from causeway.trace import Step
from causeway.types import SECOND, BrokerId, Key, key_of
from causeway.wire.body import join

ME = key_of("b1")
HOME = key_of("app")
CONFIG = BrokerConfig(name="b1")
BODY = join([b"aaa"]) + join([b"bb"])


class World:
    """The group of the sender's mailbox and a courier, both recording."""

    def __init__(self) -> None:
        self.posted: list[Postable] = []
        self.rows: dict[bytes, Put] = {}
        self.appended = 0
        self._then: Then | None = None
        self.epoch = 5
        self.may_write = True

    # Groups
    def config(self, group: Key) -> Config | None:
        return Config("app", self.epoch, ME, (), (), 1)

    def owned(self, group: Key) -> bool:
        return True

    def serving(self, group: Key) -> bool:
        return self.may_write

    def blocked(self, group: Key) -> str | None:
        return None

    def suspects(self, broker: Key) -> bool:
        return False

    def position(self, group: Key) -> int:
        return self.appended

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        self.appended += 1
        self._then = then
        for write in writes:
            if isinstance(write, Put):
                self.rows[write.key] = write
            else:
                stop = write.stop or write.start + b"\x00"
                self.rows = {key: row for key, row in self.rows.items() if not write.start <= key < stop}

    def committed(self, turn: Turn | None = None) -> None:
        """The last operation is on all copies."""
        assert self._then is not None
        self._then(turn or Turn(0))

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int) -> int:
        return 0

    def resolve(self, turn: Turn, group: Key, name: str) -> None: ...
    def wake(self, turn: Turn, group: Key) -> None: ...
    def retire(self, turn: Turn, group: Key) -> None: ...
    def forget(self, group: Key) -> None: ...

    def remind(self, turn: Turn, group: Key, broker: BrokerId) -> None: ...

    # Courier
    def answer(self, turn: Turn, origin: bytes, head: Message) -> None: ...

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        self.posted.append(head)

    def clogged(self, conn: int) -> bool:
        return False

    def take(self) -> list[Postable]:
        posted, self.posted = self.posted, []
        return posted


def make(world: World | None = None) -> tuple[Coordinator, World]:
    world = world or World()
    return Coordinator(CONFIG, ME, world, world), world


def commit(number: int = 1) -> Commit:
    sends = (SendPart("x", 1, 1, 0, 4, 0, 7), SendPart("y", 1, 1, 0, 4, 0, 6))
    return Commit("app", 9, number, sends, (SettlePart("app", ((4, 5),)),))


def prepared(prepare: Postable, *, ok: bool = True, code: Code = Code.ABORTED) -> TxPrepared:
    assert isinstance(prepare, TxPrepare)
    p = prepare
    return TxPrepared(p.source, p.incarnation, p.number, p.attempt, p.mailbox, ok, 0 if ok else code, "")


def run_to_decision(
    coordinator: Coordinator, world: World, number: int = 1, incarnation: int = 9, now: int = 0
) -> list[Postable]:
    head = msgspec.structs.replace(commit(number), incarnation=incarnation)
    coordinator.commit(Turn(now), HOME, head, BODY)
    prepares = world.take()
    for prepare in prepares:
        coordinator.on_prepared(Turn(now), HOME, prepared(prepare))
    return prepares


def run_to_end(coordinator: Coordinator, world: World, number: int = 1, incarnation: int = 9, now: int = 0) -> None:
    prepares = run_to_decision(coordinator, world, number, incarnation, now)
    world.committed(Turn(now))
    carry_out(coordinator, prepares)
    world.take()


def carry_out(coordinator: Coordinator, prepares: Sequence[Postable]) -> None:
    for p in prepares:
        assert isinstance(p, TxPrepare)
        coordinator.on_done(Turn(0), HOME, TxDone(p.source, p.incarnation, p.number, p.attempt, p.mailbox))


def decided(world: World) -> list[tuple[int, int]]:
    """Incarnation and number of the decisions in the group."""
    return [(int.from_bytes(key[1:9], "big"), int.from_bytes(key[9:], "big")) for key in world.rows]


def test_parts_go_to_every_mailbox_named_in_sends_and_settlements() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    assert [p.mailbox for p in world.posted if isinstance(p, TxPrepare)] == ["x", "y", "app"]


def test_nobody_is_told_before_the_decision_is_on_all_copies() -> None:
    coordinator, world = make()
    run_to_decision(coordinator, world)
    assert coordinator.outcomes == []
    assert world.take() == []
    world.committed()
    assert [(o.number, o.committed) for o in coordinator.outcomes] == [(1, True)]
    assert [(d.mailbox, d.committed) for d in world.posted if isinstance(d, TxDecide)] == [
        ("x", True),
        ("y", True),
        ("app", True),
    ]


def told(turn: Turn) -> list[tuple[Step, str, str]]:
    return [(Step(one.step), one.dest, one.note) for one in turn.effects.traces]


def test_what_a_transaction_sends_is_traced_from_its_beginning_to_its_decision() -> None:
    coordinator, world = make()
    asked, decided = Turn(0), Turn(5)
    coordinator.commit(asked, HOME, commit(), BODY)
    assert told(asked) == [(Step.SENT, "x", ""), (Step.SENT, "y", "")]
    for prepare in world.take():
        coordinator.on_prepared(Turn(0), HOME, prepared(prepare))
    world.committed(decided)
    assert told(decided) == [(Step.ACKNOWLEDGED, "x", ""), (Step.ACKNOWLEDGED, "y", "")]
    one = decided.effects.traces[0]
    assert (one.source, one.incarnation, one.stream, one.first, one.last) == ("app", 9, 3, 1, 1)
    assert (one.service, one.reliable, one.mailbox, one.at) == (3, True, "x", 5)


def test_aborted_transaction_is_traced_as_refused() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    aborted = Turn(0)
    coordinator.on_prepared(aborted, HOME, prepared(world.take()[0], ok=False))
    assert told(aborted) == [(Step.REFUSED, "x", "aborted"), (Step.REFUSED, "y", "aborted")]


def test_one_refusal_aborts_all_and_leaves_no_decision() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    first, second, _ = world.take()
    coordinator.on_prepared(Turn(0), HOME, prepared(first))
    coordinator.on_prepared(Turn(0), HOME, prepared(second, ok=False))
    assert [(o.committed, o.code) for o in coordinator.outcomes] == [(False, Code.ABORTED)]
    assert [d.committed for d in world.posted if isinstance(d, TxDecide)] == [False, False, False]
    assert world.rows == {}


def test_who_was_replaced_as_coordinator_tells_nobody_how_it_ended() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    first, second, _ = world.take()
    coordinator.on_prepared(Turn(0), HOME, prepared(first))
    coordinator.on_prepared(Turn(0), HOME, prepared(second, ok=False, code=Code.NOT_OWNER))
    assert coordinator.outcomes == [], "the later coordinator may commit it"
    assert not coordinator.is_deciding(HOME)


def test_silence_aborts_after_patience() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    world.take()
    coordinator.on_deadline(Turn(CONFIG.retry))
    assert len(world.take()) == 3, "asked again"
    coordinator.on_deadline(Turn(PREPARE_PATIENCE + 2 * CONFIG.retry))
    (outcome,) = coordinator.outcomes
    assert not outcome.committed
    assert "x, y, app" in outcome.detail


def test_a_repeated_commit_of_a_decided_transaction_is_answered_and_not_run_again() -> None:
    coordinator, world = make()
    run_to_decision(coordinator, world)
    world.committed()
    world.take()
    coordinator.outcomes.clear()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    assert [o.committed for o in coordinator.outcomes] == [True]
    assert world.take() == []


def test_every_run_has_a_higher_attempt_and_old_answers_count_for_nothing() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    old = world.take()
    coordinator.on_prepared(Turn(0), HOME, prepared(old[0], ok=False))
    coordinator.lose(HOME)  # and won back: what failed here may have been tried elsewhere
    world.take()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    new = world.take()
    assert isinstance(old[0], TxPrepare)
    assert isinstance(new[0], TxPrepare)
    assert new[0].attempt > old[0].attempt
    for prepare in old:
        coordinator.on_prepared(Turn(0), HOME, prepared(prepare))
    assert world.rows == {}, "promises of the first run decide nothing"


def test_a_mailbox_in_doubt_hears_commit_only_for_the_attempt_that_was_decided() -> None:
    coordinator, world = make()
    (prepare, *_) = run_to_decision(coordinator, world)
    assert isinstance(prepare, TxPrepare)
    ask = TxAsk("app", 9, 1, prepare.attempt, "x", ME)
    coordinator.on_ask(Turn(0), HOME, ask)
    assert world.take() == [], "still undecided: no answer"
    world.committed()
    world.take()
    coordinator.on_ask(Turn(0), HOME, ask)
    coordinator.on_ask(Turn(0), HOME, TxAsk("app", 9, 1, prepare.attempt - 1, "x", ME))
    assert [d.committed for d in world.take() if isinstance(d, TxDecide)] == [True, False]


def test_the_next_owner_finishes_what_was_decided_and_aborts_what_was_not() -> None:
    coordinator, world = make()
    (prepare, *_) = run_to_decision(coordinator, world)
    assert isinstance(prepare, TxPrepare)
    rows = [Row(put.key, put.seq, put.value) for put in world.rows.values()]
    heir, after = make()
    heir.restore(Turn(0), HOME, "app", rows)
    heir.on_deadline(Turn(0))
    assert [(d.mailbox, d.committed) for d in after.take() if isinstance(d, TxDecide)] == [
        ("x", True),
        ("y", True),
        ("app", True),
    ]
    heir.on_ask(Turn(0), HOME, TxAsk("app", 9, 2, prepare.attempt, "x", ME))
    assert [d.committed for d in after.take() if isinstance(d, TxDecide)] == [False]


def test_a_decision_is_announced_until_every_mailbox_has_carried_it_out() -> None:
    coordinator, world = make()
    (prepare, *_) = run_to_decision(coordinator, world)
    assert isinstance(prepare, TxPrepare)
    world.committed()
    world.take()
    for mailbox in ("x", "y"):
        coordinator.on_done(Turn(0), HOME, TxDone("app", 9, 1, prepare.attempt, mailbox))
    coordinator.on_deadline(Turn(10 * CONFIG.retry))
    assert [d.mailbox for d in world.take() if isinstance(d, TxDecide)] == ["app"]
    coordinator.on_done(Turn(0), HOME, TxDone("app", 9, 1, prepare.attempt, "app"))
    assert coordinator.next_deadline() is None


def test_a_body_that_does_not_match_its_parts_is_refused_by_name() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY[:-1])
    (outcome,) = coordinator.outcomes
    assert (outcome.committed, outcome.code) == (False, Code.BAD_FIELD)
    assert outcome.detail.startswith("size")
    assert world.take() == []


def test_transaction_of_nothing_has_happened() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, Commit("app", 9, 1, (), ()), b"")
    assert [(outcome.number, outcome.committed) for outcome in coordinator.outcomes] == [(1, True)]
    assert world.take() == []


def test_old_decisions_that_are_carried_out_are_forgotten_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.coordinator.DECISIONS_KEPT_MAX", 2)
    coordinator, world = make()
    for number in (1, 2, 3, 4):
        coordinator.commit(Turn(0), HOME, commit(number), BODY)
        for prepare in world.take():
            if isinstance(prepare, TxPrepare):
                coordinator.on_prepared(Turn(0), HOME, prepared(prepare))
        world.committed()
        if number != 2:  # 2 is still being carried out when 4 is decided
            for decide in world.take():
                assert isinstance(decide, TxDecide)
                done = TxDone("app", 9, decide.number, decide.attempt, decide.mailbox)
                coordinator.on_done(Turn(0), HOME, done)
    kept = sorted(int.from_bytes(key[9:], "big") for key in world.rows)
    assert kept == [2, 3, 4]


def test_commit_of_an_operation_is_not_reported_after_the_mailbox_is_lost() -> None:
    coordinator, world = make()
    run_to_decision(coordinator, world)
    coordinator.lose(HOME)
    world.committed()
    assert coordinator.outcomes == []


def test_a_repeated_commit_of_a_transaction_that_failed_hears_the_same_and_does_not_begin_anew() -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    coordinator.on_prepared(Turn(0), HOME, prepared(world.take()[0], ok=False))
    world.take()
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    assert world.take() == []
    first, second = coordinator.outcomes
    assert first == second


def test_failures_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_module, "TRANSACTION_FAILURES_KEPT_MAX", 2)
    coordinator, world = make()
    for number in (1, 2, 3):
        coordinator.commit(Turn(0), HOME, commit(number), BODY[:-1])
    coordinator.commit(Turn(0), HOME, commit(1), BODY)
    assert len(world.take()) == 3, "the oldest was forgotten"
    coordinator.commit(Turn(0), HOME, commit(2), BODY)
    assert world.take() == []


def test_transactions_under_way_of_one_application_are_bounded_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_module, "TRANSACTIONS_PER_CLIENT_MAX", 2)
    coordinator, world = make()
    prepares: list[Postable] = []
    for number in (1, 2):
        coordinator.commit(Turn(0), HOME, commit(number), BODY)
        prepares = world.take()
    coordinator.commit(Turn(0), HOME, commit(3), BODY)
    (outcome,) = coordinator.outcomes
    assert (outcome.number, outcome.committed, outcome.code) == (3, False, Code.OVERLOADED)
    assert outcome.detail.startswith("source='app': 2 transactions")
    assert world.take() == []
    coordinator.commit(Turn(0), key_of("other"), msgspec.structs.replace(commit(1), source="other"), BODY)
    assert len(world.take()) == 3, "another application has its own bound"
    for prepare in prepares:
        coordinator.on_prepared(Turn(0), HOME, prepared(prepare))
    world.committed()
    world.take()
    coordinator.commit(Turn(0), HOME, commit(4), BODY)
    assert len(world.take()) == 3, "one was decided"


@pytest.mark.parametrize("ended", ["aborted", "lost"])
def test_transactions_under_way_of_one_application_are_bounded_by_bytes(
    monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    coordinator, world = make()
    coordinator.commit(Turn(0), HOME, commit(1), BODY)
    prepare = world.take()[0]
    cost = len(BODY) + 3 * ITEM_OVERHEAD_BYTES + SPAN_COST
    monkeypatch.setattr(coordinator_module, "TRANSACTION_BYTES_PER_CLIENT_MAX", 2 * cost - 1)
    coordinator.commit(Turn(0), HOME, commit(2), BODY)
    assert [(o.number, o.code) for o in coordinator.outcomes] == [(2, Code.OVERLOADED)]
    if ended == "aborted":
        coordinator.on_prepared(Turn(0), HOME, prepared(prepare, ok=False))
    else:
        coordinator.lose(HOME)
    world.take()
    coordinator.commit(Turn(0), HOME, commit(3), BODY)
    assert len(world.take()) == 3


# Forgetting decisions -------------------------------------------------------------------------------------------
@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_module, "SEEN_INCARNATIONS_MAX", 2)
    monkeypatch.setattr(coordinator_module, "DECISIONS_KEPT_MAX", 3)


@pytest.mark.usefixtures("forgetful")
def test_decision_goes_with_many_later_ones_also_when_it_was_carried_out_late() -> None:
    coordinator, world = make()
    late = run_to_decision(coordinator, world, 1)
    world.committed()
    world.take()
    for number in (2, 3, 4, 5):
        run_to_end(coordinator, world, number)
    assert decided(world) == [(9, 1), (9, 3), (9, 4), (9, 5)]
    carry_out(coordinator, late)
    assert decided(world) == [(9, 3), (9, 4), (9, 5)]


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("restarted", [False, True])
def test_decisions_of_the_least_recently_used_incarnation_are_forgotten_when_another_begins(*, restarted: bool) -> None:
    coordinator, world = make()
    for now, (incarnation, number) in enumerate([(1, 1), (1, 2), (2, 1), (1, 3)]):
        run_to_end(coordinator, world, number, incarnation, now)
    if restarted:
        coordinator, _ = make(world)
        coordinator.restore(Turn(9), HOME, "app", [Row(put.key, put.seq, put.value) for put in world.rows.values()])
    run_to_end(coordinator, world, 1, incarnation=3, now=9)
    assert decided(world) == [(1, 1), (1, 2), (1, 3), (3, 1)]


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("confirmed", [True, False])
def test_incarnation_with_a_decision_that_is_not_carried_out_everywhere_is_kept(*, confirmed: bool) -> None:
    coordinator, world = make()
    run_to_decision(coordinator, world, 1, incarnation=1)
    if confirmed:
        world.committed()
    world.take()
    for incarnation in (2, 3, 4):
        run_to_end(coordinator, world, 1, incarnation)
    assert decided(world) == [(1, 1), (4, 1)]


def test_decisions_of_an_incarnation_long_gone_are_forgotten_when_another_begins() -> None:
    coordinator, world = make()
    run_to_end(coordinator, world, 1, incarnation=1)
    run_to_end(coordinator, world, 1, incarnation=2, now=SEEN_SECONDS_MIN * SECOND - 1)
    assert decided(world) == [(1, 1), (2, 1)]
    run_to_end(coordinator, world, 1, incarnation=3, now=SEEN_SECONDS_MIN * SECOND)
    assert decided(world) == [(2, 1), (3, 1)]


def test_coordinator_is_deciding_until_everybody_has_carried_it_out() -> None:
    coordinator, world = make()
    assert not coordinator.is_deciding(HOME)
    coordinator.commit(Turn(0), HOME, commit(), BODY)
    assert coordinator.is_deciding(HOME)
    for prepare in world.take():
        coordinator.on_prepared(Turn(0), HOME, prepared(prepare))
    world.committed()
    decides = world.take()
    for decide in decides:
        assert isinstance(decide, TxDecide)
        assert coordinator.is_deciding(HOME)
        assert not coordinator.is_deciding(key_of("x"))
        done = TxDone(decide.source, decide.incarnation, decide.number, decide.attempt, decide.mailbox)
        coordinator.on_done(Turn(0), HOME, done)
    assert len(decides) == 3
    assert not coordinator.is_deciding(HOME)
