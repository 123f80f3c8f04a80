"""The judge of campaigns finds what is planted in diaries, and nothing in good ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from causeway.sim.letters import Letter
from causeway.types import ServiceClass
from faults.diary import Did, Line
from faults.jobs import Forwarding, Job, Reading, Subscribing
from faults.judge import Judge

TRANSACTIONAL = int(ServiceClass.TRANSACTIONAL)
COMMITTED = int(ServiceClass.COMMITTED)
JOBS = (
    Job(name="reader", roles=(Reading("box"),)),
    Job(name="mover", roles=(Forwarding("in", ("left", "right")),)),
    Job(name="board", roles=(Subscribing("board", "news/#"),)),
)


class Story:
    """Lines in the order in which they happen."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._clock = itertools.count(1_000_000_000, 1_000_000)

    def add(self, who: str, did: Did, *letters: Letter, place: str = "", life: int = 1, **more: object) -> Story:
        self.lines.append(Line(next(self._clock), who, life, did, place, letters, **more))  # type: ignore[arg-type]
        return self

    def sent(self, *letters: Letter) -> Story:
        for letter in letters:
            self.add("sender", Did.SENT, letter, place=letter.dest)
            self.add("sender", Did.ACKNOWLEDGED, letter, place=letter.dest)
        return self

    def got(self, *letters: Letter, who: str = "reader", place: str = "box", life: int = 1) -> Story:
        for letter in letters:
            self.add(who, Did.GOT, letter, place=place, life=life)
            self.add(who, Did.SETTLED, letter, place=place, life=life)
        return self


def letter(number: int, dest: str = "box", stream: int = TRANSACTIONAL) -> Letter:
    return Letter("sender", 1, dest, stream, number)


def rules(story: Story, jobs: Iterable[Job] = JOBS) -> dict[str, int]:
    judge = Judge(tuple(jobs))
    judge.hear(story.lines)
    return {finding.rule: finding.count for finding in judge.verdict()}


def test_nothing_is_found_where_everything_arrived_once_and_in_order() -> None:
    assert rules(Story().sent(letter(1), letter(2)).got(letter(1), letter(2))) == {}


def test_acknowledged_letters_that_never_arrived_are_counted() -> None:
    assert rules(Story().sent(letter(1), letter(2), letter(3)).got(letter(1))) == {"NoLoss": 2}


def test_a_letter_shown_twice_to_one_life_is_found() -> None:
    assert rules(Story().sent(letter(1)).got(letter(1), letter(1))) == {"ExactlyOnce": 1}


def test_a_letter_may_come_again_to_the_next_life() -> None:
    story = Story().sent(letter(1)).got(letter(1))
    story.add("reader", Did.BORN, life=2)
    assert rules(story.got(letter(1), life=2)) == {}


def test_a_letter_may_not_come_again_to_an_application_that_kept_its_acknowledgement() -> None:
    story = Story().sent(letter(1)).got(letter(1)).add("reader", Did.KEPT, letter(1), place="box")
    story.add("reader", Did.BORN, life=2)
    assert rules(story.got(letter(1), life=2)) == {"ExactlyOnce": 1}


def test_letters_out_of_order_are_counted() -> None:
    numbers = (1, 3, 5, 2, 4)
    story = Story().sent(*(letter(number) for number in range(1, 6)))
    assert rules(story.got(*(letter(number) for number in numbers))) == {"Order": 1}


def test_order_is_not_watched_where_two_applications_share_a_mailbox() -> None:
    story = Story().sent(letter(1), letter(2)).got(letter(2), letter(1))
    assert rules(story, (*JOBS, Job(name="other", roles=(Reading("box"),)))) == {}


def test_a_letter_that_nobody_sent_is_found() -> None:
    assert rules(Story().got(letter(1))) == {"ExactlyOnce": 1}


def test_a_refused_letter_that_arrives_is_found_whichever_is_told_first() -> None:
    refused = "Refused NO_QUORUM: nobody may acknowledge"
    before = Story().add("sender", Did.SENT, letter(1)).add("sender", Did.FAILED, letter(1), detail=refused)
    after = Story().add("sender", Did.SENT, letter(1)).got(letter(1))
    assert rules(before.got(letter(1))) == {"Refusal": 1}
    assert rules(after.add("sender", Did.FAILED, letter(1), detail=refused)) == {"Refusal": 1}


def test_a_letter_whose_outcome_is_unknown_may_arrive() -> None:
    story = Story().add("sender", Did.SENT, letter(1))
    assert rules(story.add("sender", Did.FAILED, letter(1), detail="DeadlineExceeded : late").got(letter(1))) == {}


def test_half_a_transaction_is_found() -> None:
    left, right = letter(1, "left", COMMITTED), letter(1, "right", COMMITTED)
    story = Story().add("sender", Did.BEGUN, left, right, number=1).add("sender", Did.UNKNOWN, number=1)
    assert rules(story.got(left, place="left")) == {"Atomicity": 1}
    assert rules(story.got(right, place="right")) == {}


def test_what_a_transaction_settled_may_not_come_again() -> None:
    story = Story().sent(letter(1, "in")).add("mover", Did.GOT, letter(1, "in"), place="in")
    story.add("mover", Did.BEGUN, settles=(letter(1, "in"),), number=1).add("mover", Did.COMMITTED, number=1)
    story.add("mover", Did.BORN, life=2).add("mover", Did.GOT, letter(1, "in"), place="in", life=2)
    assert rules(story) == {"Atomicity": 1}


def test_each_subscription_is_owed_what_is_published() -> None:
    jobs = (*JOBS, Job(name="other", roles=(Subscribing("second", "news/a"),)))
    published = letter(1, "#news/a")
    story = Story().sent(published).got(published, who="board", place="board")
    assert rules(story, jobs) == {"NoLoss": 1}
    assert rules(story.got(published, who="other", place="second"), jobs) == {}


def test_an_answer_before_its_question_is_found() -> None:
    question, answer = Letter("a", 1, "causal-c", 1, 1), Letter("b", 1, "causal-c", 1, 1)
    copy = Letter("a", 1, "causal-b", 1, 1)
    story = Story().add("a", Did.SENT, question).add("a", Did.SENT, copy)
    story.add("b", Did.GOT, copy, place="causal-b").add("b", Did.SENT, answer)
    story.add("c", Did.GOT, answer, place="causal-c").add("c", Did.GOT, question, place="causal-c")
    assert "Causality" in rules(story)
