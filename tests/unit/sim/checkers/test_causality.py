from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.causality import CHAIN_SHOWN_MAX, Causality, History
from causeway.sim.letters import Letter
from causeway.types import ServiceClass


class Trace:
    """A trace by hand: who sends what where, and who reads it when."""

    def __init__(self) -> None:
        self.checker = Causality()
        self._numbers: dict[tuple[str, str], int] = {}

    def send(self, source: str, dest: str, *, life: int = 1, acknowledged: bool = True) -> Letter:
        number = self._numbers[source, dest] = self._numbers.get((source, dest), 0) + 1
        letter = Letter(source, life, dest, ServiceClass.TRANSACTIONAL, number)
        self.checker.now += 1
        self.checker.sent(letter)
        if acknowledged:
            self.checker.acknowledged(letter)
        return letter

    def publish(self, source: str, topic: str, *, acknowledged: bool = True) -> Letter:
        return self.send(source, f"#{topic}", acknowledged=acknowledged)

    def subscribe(self, mailbox: str, *patterns: str) -> None:
        self.checker.subscribed(mailbox, patterns)
        self.checker.subscription_begun(mailbox)

    def read(self, reader: str, *letters: Letter, life: int = 1, mailbox: str = "") -> None:
        for letter in letters:
            self.checker.now += 1
            self.checker.delivered(mailbox or reader, (reader, life), letter)

    def wrong(self, reader: str, letter: Letter, *, mailbox: str = "") -> str:
        with pytest.raises(Wrong) as caught:
            self.read(reader, letter, mailbox=mailbox)
        assert caught.value.checker == "Causality"
        return caught.value.evidence


# Violations -----------------------------------------------------------------------------------------------------
def test_a_letter_that_overtakes_another_of_its_sender_is_caught() -> None:
    trace = Trace()
    first, second = trace.send("a", "b"), trace.send("a", "b")
    trace.read("b", second)
    evidence = trace.wrong("b", first)
    assert f"b got {second} before {first}, which happened before it" in evidence
    assert f"a/1 sent {first}, then a/1 sent {second}" in evidence


def test_a_letter_that_overtakes_another_on_a_way_over_a_third_is_caught() -> None:
    trace = Trace()
    slow = trace.send("a", "c")
    trace.read("b", asked := trace.send("a", "b"))
    fast = trace.send("b", "c")
    trace.read("c", fast)
    told = f"a/1 sent {slow}, then a/1 sent {asked}, then b/1 got {asked}, then b/1 sent {fast}"
    assert told in trace.wrong("c", slow)


def test_an_answer_that_overtakes_what_was_published_is_caught() -> None:
    trace = Trace()
    trace.subscribe("b", "news/#")
    trace.subscribe("c", "news/today")
    news = trace.publish("a", "news/today")
    trace.read("b", news)
    answer = trace.publish("b", "news/today")
    trace.read("c", answer)
    evidence = trace.wrong("c", news)
    assert f"a/1 sent {news}, then b/1 got {news}, then b/1 sent {answer}" in evidence


def test_a_letter_that_overtakes_what_was_published_before_it_is_caught() -> None:
    trace = Trace()
    trace.subscribe("b", "news")
    news = trace.publish("a", "news")
    letter = trace.send("a", "b")
    trace.read("b", letter)
    assert f"b got {letter} before {news}" in trace.wrong("b", news)


def test_what_came_out_of_another_mailbox_is_a_cause_too() -> None:
    trace = Trace()
    trace.checker.share("queue")
    slow = trace.send("a", "c")
    trace.read("b", trace.send("a", "queue"), mailbox="queue")
    trace.read("c", fast := trace.send("b", "c"))
    assert f"c got {fast} before {slow}" in trace.wrong("c", slow)


def test_a_former_life_of_the_reader_counts_for_the_order_of_its_mailbox() -> None:
    trace = Trace()
    first, second = trace.send("a", "b"), trace.send("a", "b")
    trace.read("b", second)
    trace.checker.reader_ended(("b", 1))
    with pytest.raises(Wrong, match="happened before it"):
        trace.read("b", first, life=2)


def test_a_long_chain_is_told_with_its_ends() -> None:
    trace = Trace()
    slow = trace.send("a0", "z")
    before = trace.send("a0", "a1")
    for hop in range(1, 20):
        trace.read(f"a{hop}", before)
        before = trace.send(f"a{hop}", f"a{hop + 1}" if hop < 19 else "z")
    trace.read("z", before)
    evidence = trace.wrong("z", slow)
    assert f"a0/1 sent {slow}, then " in evidence
    assert f"then a19/1 sent {before} " in evidence
    assert ", then (28 more), then " in evidence
    assert evidence.count(", then ") == CHAIN_SHOWN_MAX


# What only looks like one ---------------------------------------------------------------------------------------
def test_concurrent_letters_may_come_in_any_order_and_differently_everywhere() -> None:
    trace = Trace()
    for mailbox in "xy":
        trace.subscribe(mailbox, "#")
    one, other = trace.publish("a", "t"), trace.publish("b", "t")
    trace.read("x", one, other)
    trace.read("y", other, one)
    trace.checker.finish()


def test_a_letter_that_was_sent_before_its_sender_read_another_is_no_effect_of_it() -> None:
    trace = Trace()
    slow = trace.send("a", "c")
    hint = trace.send("a", "b")
    early = trace.send("b", "c")
    trace.read("b", hint)
    trace.read("c", early, slow)
    trace.checker.finish()


def test_two_lives_of_an_application_are_two_senders() -> None:
    trace = Trace()
    first = trace.send("a", "b")
    second = trace.send("a", "b", life=2)
    trace.read("b", second, first)
    trace.checker.finish()


def test_what_one_life_read_is_no_cause_of_what_another_sends() -> None:
    trace = Trace()
    slow = trace.send("a", "c")
    trace.read("b", trace.send("a", "b"))
    trace.read("c", trace.send("b", "c", life=2), slow)
    trace.checker.finish()


def test_what_is_delivered_again_has_its_first_place() -> None:
    trace = Trace()
    first, second = trace.send("a", "b"), trace.send("a", "b")
    trace.read("b", first, second)
    trace.checker.reader_ended(("b", 1))
    trace.read("b", first, second, life=2)
    trace.checker.returned("b", ("b", 2), first)
    trace.read("b", first, life=2)
    trace.checker.finish()


def test_a_cause_whose_send_failed_may_be_missing() -> None:
    trace = Trace()
    lost = trace.send("a", "b", acknowledged=False)
    trace.checker.failed(lost, "the sender ended")
    trace.read("b", trace.send("a", "b"))
    trace.checker.finish()


def test_a_mailbox_with_several_readers_has_no_order() -> None:
    trace = Trace()
    trace.checker.share("queue")
    first, second = trace.send("a", "queue"), trace.send("a", "queue")
    trace.read("y", second, mailbox="queue")
    trace.read("x", first, mailbox="queue")
    trace.checker.finish()


def test_order_holds_in_each_mailbox_alone() -> None:
    trace = Trace()
    to_b, to_c = trace.send("a", "b"), trace.send("a", "c")
    trace.read("c", to_c)
    trace.read("b", to_b)
    trace.checker.finish()


# Loss, doubling, holding for ever --------------------------------------------------------------------------------
def test_an_acknowledged_letter_that_never_comes_is_lost_and_what_passed_it_is_named() -> None:
    trace = Trace()
    lost = trace.send("a", "b")
    trace.read("b", later := trace.send("a", "b"))
    assert trace.checker.owed() == [("b", lost)]
    with pytest.raises(Wrong, match="1 acknowledged letters never arrived") as caught:
        trace.checker.finish()
    assert f"{lost} at b (although {later} came: a/1 sent {lost}" in caught.value.evidence


def test_what_is_published_is_due_where_it_was_wanted_before() -> None:
    trace = Trace()
    trace.subscribe("b", "t/*", "u")
    trace.subscribe("c", "t")
    trace.checker.subscribed("d", ["#"])  # not told yet that it has begun
    wanted = [trace.publish("a", topic) for topic in ("t/1", "u")]
    trace.publish("a", "t/1/2")
    trace.checker.now += 1
    trace.subscribe("e", "#")
    assert trace.checker.owed() == [("b", letter) for letter in wanted]
    trace.read("d", *wanted)
    trace.read("b", *wanted)
    trace.checker.finish()


def test_who_changes_its_topics_is_owed_the_new_ones_when_told_so() -> None:
    trace = Trace()
    trace.subscribe("b", "t")
    trace.subscribe("b", "t")  # said again: nothing changes
    trace.checker.subscribed("b", ["u"])
    trace.publish("a", "t")
    trace.publish("a", "u")
    assert trace.checker.owed() == []
    trace.checker.subscription_begun("b")
    due = trace.publish("a", "u")
    assert trace.checker.owed() == [("b", due)]


def test_a_letter_that_nobody_answers_for_is_held_for_ever() -> None:
    trace = Trace()
    trace.read("b", trace.send("a", "b", acknowledged=False))
    with pytest.raises(Wrong, match="1 letters were held for ever: a/1->b"):
        trace.checker.finish()


def test_doubles_are_caught() -> None:
    trace = Trace()
    letter = trace.send("a", "b")
    trace.read("b", letter)
    assert "delivered twice" in trace.wrong("b", letter)
    trace = Trace()
    letter = trace.send("a", "b")
    trace.read("b", letter)
    trace.checker.settlement_confirmed("b", ("b", 1), letter)
    trace.checker.reader_ended(("b", 1))
    with pytest.raises(Wrong, match=r"after .* was done"):
        trace.read("b", letter, life=2)


def test_what_was_never_sent_or_is_for_somebody_else_is_caught() -> None:
    trace = Trace()
    assert "never sent" in trace.wrong("b", Letter("a", 1, "b", ServiceClass.TRANSACTIONAL, 1))
    assert "not meant for" in trace.wrong("c", trace.send("a", "b"))
    assert "not meant for" in trace.wrong("c", trace.publish("a", "t"))


# The relation itself --------------------------------------------------------------------------------------------
def closure(events: Sequence[tuple[str, str, int]]) -> set[tuple[int, int]]:
    """Happened-before the slow way: edges, then everything that can be reached."""
    edges: dict[int, set[int]] = {}
    for at, (who, _, message) in enumerate(events):
        for later, did, effect in events[at + 1 :]:
            if later == who and did == "send":
                edges.setdefault(message, set()).add(effect)
    pairs: set[tuple[int, int]] = set()
    for message in edges:
        reached: set[int] = set()
        todo = [message]
        while todo:
            new = edges.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        pairs |= {(message, effect) for effect in reached}
    return pairs


@pytest.mark.parametrize("seed", range(20))
def test_history_is_the_transitive_closure_of_what_everybody_did(seed: int) -> None:
    rng = random.Random(seed)
    history, events = History(), []
    sent = 0
    for _ in range(60):
        who = rng.choice("abcde")
        if sent and rng.random() < 0.5:
            message = rng.randrange(sent)
            history.receive((who, 1), message)
            events.append((who, "receive", message))
        else:
            history.send((who, 1), sent)
            events.append((who, "send", sent))
            sent += 1
    expected = closure(events)
    for cause, effect in itertools.permutations(range(sent), 2):
        assert history.before(cause, effect) == ((cause, effect) in expected)
        if (cause, effect) in expected:
            chain = history.chain(cause, effect)
            assert chain[0].endswith(f"sent {cause}")
            assert chain[-1].endswith(f"sent {effect}")


def test_thousands_of_letters_of_sixty_applications_are_looked_at_quickly() -> None:
    """Sixty mailboxes that get everything: an entry per life and letter, never one per pair of letters."""
    trace = Trace()
    names = [f"app-{number}" for number in range(60)]
    for name in names:
        trace.subscribe(name, "#")
    rng = random.Random(1)
    waiting: list[list[Letter]] = [[] for _ in names]
    for _ in range(1_000):
        letter = trace.publish(rng.choice(names), "t")
        for name, queue in zip(names, waiting, strict=True):
            queue.append(letter)
            if rng.random() < 0.1:
                trace.read(name, *queue)
                queue.clear()
    for name, queue in zip(names, waiting, strict=True):
        trace.read(name, *queue)
    trace.checker.finish()
