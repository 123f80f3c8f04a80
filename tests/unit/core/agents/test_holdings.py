"""Owners report their groups when they change; a landmark names those that nobody has a copy of any more."""

from __future__ import annotations

import pytest

from causeway.core.agents.holdings import HoldingsKnown, HoldingsTold
from causeway.core.messages import Config, Holding, Holdings
from causeway.domains.limits import HOLDINGS_AT_ONCE_MAX
from causeway.limits import STATUS_ENTRIES_MAX
from causeway.types import key_of
from tests.unit.core.agents.domain import id_of
from tests.unit.core.mail.neighbours import ME, OTHER, THIRD, config_of


def held(name: str, *members: str, epoch: int = 1) -> Holding:
    return Holding(key_of(name), name, epoch, id_of("x"), tuple(map(id_of, members)))


def report(*groups: Holding) -> Holdings:
    return Holdings("d", id_of("x"), 1, groups)


def test_group_is_told_once_with_its_members_and_again_when_it_changes() -> None:
    told = HoldingsTold(ME.id)
    assert not told.has_news
    told.owned(key_of("box"), config_of("box", ME, OTHER, epoch=7))
    (head,) = told.take("d", 3)
    assert head == Holdings("d", ME.id, 3, (Holding(key_of("box"), "box", 7, ME.id, (ME.id, OTHER.id)),))
    assert not told.has_news
    assert told.take("d", 3) == []
    told.owned(key_of("box"), config_of("box", ME, THIRD, epoch=8))
    assert [one.epoch for one in told.take("d", 3)[0].groups] == [8]


def test_group_that_another_owns_is_its_to_tell_but_its_end_is_ours() -> None:
    told = HoldingsTold(ME.id)
    told.owned(key_of("box"), config_of("box", ME, OTHER))
    told.lost(key_of("box"), config_of("box", OTHER, ME, epoch=6), stays=True)
    assert not told.has_news
    told.lost(key_of("box"), Config("box", 9, ME.id, (), (), 3), stays=True)
    assert [(one.epoch, one.members) for one in told.take("d", 1)[0].groups] == [(9, ())]


def test_group_that_leaves_the_domain_is_ours_to_tell() -> None:
    told = HoldingsTold(ME.id)
    told.owned(key_of("box"), config_of("box", ME, OTHER))
    told.lost(key_of("box"), config_of("box", THIRD, OTHER, epoch=6), stays=False)
    assert told.take("d", 1)[0].groups == (Holding(key_of("box"), "box", 6, THIRD.id, (THIRD.id, OTHER.id)),)
    told.repeat()
    assert not told.has_news


def test_new_landmark_hears_all_of_them_again() -> None:
    told = HoldingsTold(ME.id)
    for name in ("box", "crate"):
        told.owned(key_of(name), config_of(name, ME, OTHER))
    told.take("d", 1)
    told.repeat()
    assert [one.name for one in told.take("d", 2)[0].groups] == ["box", "crate"]


def test_reports_have_a_bounded_size() -> None:
    told = HoldingsTold(ME.id)
    for number in range(HOLDINGS_AT_ONCE_MAX + 1):
        told.owned(key_of(f"box-{number}"), config_of(f"box-{number}", ME, OTHER))
    assert [len(head.groups) for head in told.take("d", 1)] == [HOLDINGS_AT_ONCE_MAX, 1]


def test_group_is_lost_when_all_its_holders_failed() -> None:
    known = HoldingsKnown()
    known.report(report(held("box", "a", "b"), held("crate", "b", "c"), held("ash", "b")))
    assert known.lost([id_of("a"), id_of("b")].__contains__) == ["ash", "box"]


def test_later_epochs_count_and_ended_groups_do_not() -> None:
    known = HoldingsKnown()
    known.report(report(held("box", "a", epoch=5)))
    known.report(report(held("box", "b", epoch=4), held("crate")))
    assert known.lost([id_of("b")].__contains__) == []
    assert known.lost([id_of("a")].__contains__) == ["box"]
    known.report(report(held("box", epoch=4)))
    assert known.count == 1
    known.report(report(held("box", epoch=5)))
    assert known.count == 0


def test_what_the_last_landmark_wrote_counts_until_there_is_a_later_epoch() -> None:
    known = HoldingsKnown()
    box, crate = held("box", "a", epoch=5), held("crate", "a", epoch=2)
    known.start({one.group: one for one in (box, crate)})
    assert known.lost([id_of("a")].__contains__) == ["box", "crate"]
    known.report(report(held("box", "b", epoch=6), crate))
    assert known.lost([id_of("a")].__contains__) == ["crate"]


def test_only_what_changed_is_to_be_written_in_parts_of_a_bounded_size() -> None:
    known = HoldingsKnown()
    box, crate, ash = held("box", "a"), held("crate", "b"), held("ash", "c")
    known.start({ash.group: ash})
    known.report(report(box, crate, ash, held("oak")))
    assert (known.take_unwritten(1), known.has_unwritten) == ([box], True)
    assert (known.take_unwritten(9), known.has_unwritten) == ([crate], False)
    known.report(report(held("ash", epoch=2)))
    known.report(report(held("ash", epoch=2), held("box", "b", epoch=0)))
    assert known.take_unwritten(9) == [held("ash", epoch=2)]
    assert known.count == 2


def test_groups_beyond_the_bound_are_not_kept_but_known_ones_still_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.agents.holdings.HOLDINGS_MAX", 1)
    known = HoldingsKnown()
    known.report(report(held("box", "a"), held("crate", "a"), held("box", "b", epoch=2)))
    assert (known.count, known.lost([id_of("a")].__contains__), known.lost([id_of("b")].__contains__)) == (
        1,
        [],
        ["box"],
    )


def test_list_of_lost_groups_is_bounded() -> None:
    known = HoldingsKnown()
    known.report(report(*(held(f"box-{number}", "a") for number in range(STATUS_ENTRIES_MAX + 5))))
    assert len(known.lost([id_of("a")].__contains__)) == STATUS_ENTRIES_MAX
