from __future__ import annotations

import itertools

from causeway.sim.letters import PUBLISHED, Letter
from causeway.types import ServiceClass
from tests.talk import TOPIC, Did, TalkLog, judge


class Stage:
    """Three logs on one clock."""

    def __init__(self) -> None:
        ticks = itertools.count(1)
        self.logs = {name: TalkLog(name, clock=lambda: next(ticks)) for name in ("causal-a", "causal-b", "causal-c")}
        self.a, self.b, self.c = self.logs.values()

    def send(self, log: TalkLog, dest: str, *, fate: Did | None = Did.ACKNOWLEDGED) -> Letter:
        letter = Letter(log.who, 1, dest, ServiceClass.TRANSACTIONAL, len(log.lines) + 1)
        log.note(Did.SENT, letter)
        if fate is not None:
            log.note(fate, letter, "because")
        return letter

    def verdict(self) -> str:
        return judge(self.logs.values())


def test_logs_that_are_right_are_found_right() -> None:
    stage = Stage()
    for log in stage.logs.values():
        log.note(Did.WANTED)
        log.note(Did.BEGUN)
    news = stage.send(stage.a, PUBLISHED + TOPIC)
    stage.b.note(Did.GOT, news)
    answer = stage.send(stage.b, "causal-c")
    stage.send(stage.b, "causal-c", fate=Did.FAILED)
    for log, letters in ((stage.c, (news, answer)), (stage.a, (news,))):
        for letter in letters:
            log.note(Did.GOT, letter)
    assert stage.verdict() == ""


def test_an_answer_before_its_question_is_found_in_the_logs() -> None:
    stage = Stage()
    slow = stage.send(stage.a, "causal-c")
    asked = stage.send(stage.a, "causal-b")
    stage.b.note(Did.GOT, asked)
    answer = stage.send(stage.b, "causal-c")
    stage.c.note(Did.GOT, answer)
    stage.c.note(Did.GOT, slow)
    assert f"causal-c got {answer} before {slow}" in stage.verdict()


def test_what_never_came_and_what_nobody_answered_for_is_found_in_the_logs() -> None:
    stage = Stage()
    stage.send(stage.a, "causal-c")
    assert "1 acknowledged letters never arrived" in stage.verdict()
    stage = Stage()
    stage.send(stage.a, "causal-c", fate=None)
    assert "1 letters were held for ever" in stage.verdict()
