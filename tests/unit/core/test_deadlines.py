"""Timers: replaced rather than piled up, fired in order, and an alarm that is never late."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.deadlines import NEVER, Alarm, Deadlines


def test_setting_again_replaces_and_cancelling_forgets() -> None:
    timers: Deadlines[str] = Deadlines()
    timers.set("a", 10)
    timers.set("a", 30)
    timers.set("b", 20)
    timers.cancel("b")
    assert timers.next() == 30
    assert timers.pop_due(29) == []
    assert timers.pop_due(30) == ["a"]
    assert timers.next() is None


def test_due_timers_fire_earliest_first_and_in_the_order_they_were_set() -> None:
    timers: Deadlines[str] = Deadlines()
    for what, at in (("late", 3), ("first", 1), ("second", 1)):
        timers.set(what, at)
    timers.set_if_unset("first", 9)
    assert timers.pop_due(3) == ["first", "second", "late"]


def test_alarm_of_several_parts_rings_for_the_earliest_and_is_exact_after_it_was_renewed() -> None:
    alarm = Alarm()
    one: Deadlines[str] = Deadlines(alarm)
    other: Deadlines[str] = Deadlines(alarm)
    alarm.renew()
    assert alarm.at == NEVER
    one.set("a", 50)
    other.set("b", 40)
    assert alarm.at == 40
    other.cancel("b")
    assert alarm.at == 40, "early is allowed, and costs one look"
    alarm.renew()
    assert alarm.at == 50


@given(st.lists(st.tuples(st.sampled_from(["set", "cancel", "pop", "renew"]), st.integers(0, 3), st.integers(0, 99))))
def test_alarm_is_never_later_than_a_timer(steps: list[tuple[str, int, int]]) -> None:
    alarm = Alarm()
    parts: list[Deadlines[int]] = [Deadlines(alarm), Deadlines(alarm)]
    alarm.renew()
    for verb, what, at in steps:
        part = parts[what % 2]
        if verb == "set":
            part.set(what, at)
        elif verb == "cancel":
            part.cancel(what)
        elif verb == "pop":
            part.pop_due(at)
        else:
            alarm.renew()
        due = [instant for each in parts if (instant := each.next()) is not None]
        assert not due or alarm.at <= min(due)
