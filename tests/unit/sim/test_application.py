from __future__ import annotations

import pytest

from causeway.sim.application import Application, DeedEnd
from causeway.sim.checkers.base import Deed
from causeway.sim.faults import options_calm
from causeway.sim.held import Held
from causeway.sim.letters import Letter
from causeway.sim.run import SimRun
from causeway.types import SECOND, ServiceClass


@pytest.fixture
def run() -> SimRun:
    run = SimRun(options_calm(1, brokers=3, workloads=[]))
    run._setup()
    run._pass(2 * SECOND)
    return run


def launch(run: SimRun, name: str, *, keep: bool = False, reads: bool = True) -> tuple[Application, list[Held]]:
    application, letters = run.application(name, keep=keep), list[Held]()
    application.on_letter = letters.append
    if reads:
        application.on_start = lambda application: application.read(application.name, 10)
    run.launch(application)
    run._pass(SECOND)
    return application, letters


def test_letter_is_acknowledged_delivered_settled_and_confirmed(run: SimRun) -> None:
    (a, _), (b, letters) = launch(run, "a"), launch(run, "b")
    letter = a.send("b", ServiceClass.TRANSACTIONAL, 10, confirm=True)
    run._pass(SECOND)
    assert [held.letter for held in letters] == [letter]
    b.settle(letters[0])
    run._pass(SECOND)
    counts = run.panel.counts
    assert counts["acknowledged"] == counts["settled"] == counts["confirmed settlements"] == 1
    assert counts["confirmed deliveries"] == 1


def test_letter_that_is_given_back_comes_again(run: SimRun) -> None:
    (a, _), (b, letters) = launch(run, "a"), launch(run, "b")
    a.send("b", ServiceClass.RECOVERABLE, 10)
    run._pass(SECOND)
    b.give_back(letters[0])
    run._pass(SECOND)
    assert [held.letter for held in letters] == [letters[0].letter] * 2


def test_unreliable_letter_is_never_reported_as_acknowledged(run: SimRun) -> None:
    (a, _), (_, letters) = launch(run, "a"), launch(run, "b")
    a.send("b", ServiceClass.EXPRESS, 10, reliable=False)
    run._pass(SECOND)
    assert len(letters) == 1
    assert "acknowledged" not in run.panel.counts


def test_crash_leaves_what_was_on_its_way_with_an_unknown_fate_and_the_next_life_is_another_reader(run: SimRun) -> None:
    (a, _), (b, letters) = launch(run, "a"), launch(run, "b")
    a.send("b", ServiceClass.RECOVERABLE, 10)
    a.crash()
    assert run.panel.counts["failed"] == 1
    run.launch(a)
    run._pass(SECOND)
    assert a.reader == ("a", 2)
    a.send("b", ServiceClass.RECOVERABLE, 10)
    run._pass(SECOND)
    assert letters[-1].letter.life == 2
    stale = letters[-1]
    b.crash()
    b.settle(stale)
    assert "settled" not in run.panel.counts


def test_kept_session_does_not_show_again_what_a_former_life_accepted(run: SimRun) -> None:
    (a, _), (b, letters) = launch(run, "a"), launch(run, "b", keep=True)
    for _ in range(3):
        a.send("b", ServiceClass.RECOVERABLE, 10)
    run._pass(SECOND)
    b.settle(letters[0])
    run._pass(SECOND)
    b.crash()
    seen = len(letters)
    run.launch(b)
    run._pass(2 * SECOND)
    again = [held.letter for held in letters[seen:]]
    assert again == [held.letter for held in letters[1:3]]


def test_transaction_moves_a_letter_and_tells_how_it_ended(run: SimRun) -> None:
    (a, _), (b, letters), (_, moved) = launch(run, "a"), launch(run, "b"), launch(run, "c")
    ends: list[tuple[Deed, DeedEnd]] = []
    b.on_decided = lambda deed, end: ends.append((deed, end))
    a.send("b", ServiceClass.TRANSACTIONAL, 10)
    run._pass(SECOND)
    deed = b.commit(1, ["c"], [letters[0]], 20)
    assert deed is not None
    run._pass(2 * SECOND)
    assert ends == [(deed, DeedEnd.COMMITTED)]
    assert [held.letter for held in moved] == list(deed.sends)


def test_session_that_is_closed_ends_its_process(run: SimRun) -> None:
    a, _ = launch(run, "a")
    a.close()
    run._pass(SECOND)
    assert not a.up
    assert not a.process.alive


def test_looks_are_reported_with_what_they_showed_or_without_an_answer(run: SimRun) -> None:
    (a, _), (b, letters) = launch(run, "a"), launch(run, "b")
    sent = [a.send("b", ServiceClass.TRANSACTIONAL, 10) for _ in range(3)]
    run._pass(SECOND)
    b.settle(letters[1])
    run._pass(SECOND)
    shown: list[list[Letter] | None] = []
    run.panel.browsing.look_ended = lambda viewing, found: shown.append(found and list(found))  # type: ignore[method-assign]
    a.look("b", exact=True)
    assert a.looking
    run._pass(SECOND)
    assert not a.looking
    a.look("b", exact=True)
    a.crash()
    assert not a.looking
    assert shown == [[sent[0], sent[2]], None]
