"""What was withdrawn, and for how long that is remembered."""

from __future__ import annotations

import pytest

from causeway.core.topics.rows import withdrawn_key
from causeway.core.topics.withdrawn import Withdrawn
from causeway.store.base import Delete, Put, Row
from causeway.types import key_of

GROUP = key_of("item")


def test_all_that_was_said_up_to_a_withdrawal_is_late() -> None:
    withdrawn = Withdrawn(GROUP)
    withdrawn.note("sub/a", 5, 1)
    assert [withdrawn.is_late("sub/a", version) for version in (4, 5, 6)] == [True, True, False]
    assert not withdrawn.is_late("sub/b", 1)


def test_repeated_withdrawal_is_not_written_again_and_a_later_one_is() -> None:
    withdrawn = Withdrawn(GROUP)
    assert len(withdrawn.note("sub/a", 5, 1)) == 1
    assert withdrawn.note("sub/a", 5, 2) == withdrawn.note("sub/a", 4, 3) == []
    assert len(withdrawn.note("sub/a", 6, 4)) == 1


def test_oldest_withdrawal_is_forgotten_also_of_those_that_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.withdrawn.WITHDRAWN_PER_ITEM_MAX", 2)
    first, second = Withdrawn(GROUP), Withdrawn(GROUP)
    written = [*first.note("sub/b", 1, 1), *first.note("sub/a", 2, 2)]
    puts = [write for write in written if isinstance(write, Put)]
    rows = [Row(put.key, put.seq, put.value) for put in puts]
    second.restore([*sorted(rows, key=lambda row: row.key), Row(withdrawn_key("sub/x"), 9, b"no number")])
    for withdrawn in (first, second):
        assert withdrawn.note("sub/c", 3, 3)[1:] == [Delete(GROUP, withdrawn_key("sub/b"))]
        assert [withdrawn.is_late(f"sub/{name}", 1) for name in "abcx"] == [True, False, True, False]


def test_who_has_begun_again_is_forgotten() -> None:
    withdrawn = Withdrawn(GROUP)
    withdrawn.note("sub/a", 5, 1)
    assert withdrawn.forget("sub/a") == [Delete(GROUP, withdrawn_key("sub/a"))]
    assert withdrawn.forget("sub/a") == []
    assert not withdrawn.is_late("sub/a", 1)
