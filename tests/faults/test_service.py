"""Gaps of service and starved readers are found from diaries alone."""

from __future__ import annotations

from causeway.sim.letters import Letter
from causeway.types import SECOND, ServiceClass
from faults.diary import Did, Line
from faults.service import Service, Span

READERS = {"box": ["reader"]}
ALWAYS = [Span("calm", 0, 100 * SECOND)]


def letter(number: int) -> Letter:
    return Letter("sender", 1, "box", int(ServiceClass.TRANSACTIONAL), number)


def line(seconds: float, did: Did, number: int) -> Line:
    who = "reader" if did is Did.GOT else "sender"
    return Line(int(seconds * SECOND), who, 1, did, "box", (letter(number),))


def traffic(*moments: tuple[float, float]) -> list[Line]:
    """One letter for each: when it was acknowledged, and when it was read."""
    lines = []
    for number, (told, got) in enumerate(moments, 1):
        lines += [line(told, Did.SENT, number), line(told, Did.ACKNOWLEDGED, number), line(got, Did.GOT, number)]
    return lines


def test_the_longest_gap_of_each_lane_is_found() -> None:
    service = Service(traffic((1, 1.1), (2, 2.1), (7, 7.1)))
    gaps = {span.name: round(span.seconds, 1) for span in service.gaps(0, 8 * SECOND)}
    assert gaps == {"sender to box": 5.0, "box to reader": 5.0}


def test_a_lane_that_never_works_again_is_late_until_the_end() -> None:
    service = Service([*traffic((1, 1.1)), line(9, Did.SENT, 2), line(9, Did.ACKNOWLEDGED, 2)])
    late = {span.name: span.seconds for span in service.served_again(5 * SECOND, 20 * SECOND)}
    assert late == {"sender to box": 4.0, "box to reader": 15.0}


def test_a_reader_that_gets_nothing_while_mail_is_there_starves() -> None:
    [span] = Service(traffic((1, 4), (1.5, 4.1))).starved(READERS, ALWAYS)
    assert (span.name, span.seconds) == ("box", 3.0)


def test_a_reader_without_mail_does_not_starve() -> None:
    assert Service(traffic((1, 1.1), (9, 9.1))).starved(READERS, ALWAYS) == []


def test_nobody_starves_while_there_are_faults() -> None:
    calm = [Span("calm", 0, 2 * SECOND), Span("calm", int(3.5 * SECOND), 100 * SECOND)]
    assert Service(traffic((1, 4))).starved(READERS, calm) == []


def test_a_sender_that_hears_nothing_starves_too() -> None:
    lines = [line(1, Did.SENT, 1), line(2, Did.ACKNOWLEDGED, 1), line(3, Did.SENT, 2), line(8, Did.ACKNOWLEDGED, 2)]
    [span] = Service(lines).stalled(ALWAYS)
    assert (span.name, span.seconds) == ("sender to box", 5.0)


def test_a_letter_handed_to_ever_more_lives_is_found() -> None:
    again = [Line(int(at * SECOND), "reader", at, Did.GOT, "box", (letter(1),), number=0) for at in range(1, 13)]
    assert Service(again).handed_again(12) == []
    [found] = Service(again).handed_again(11)
    assert "12 times" in found
