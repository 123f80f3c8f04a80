from __future__ import annotations

import pytest

from causeway.store import identity


def test_ids_are_positive_63_bit_numbers_and_differ() -> None:
    drawn = [identity.draw_storage_id() for _ in range(100)]
    assert len(set(drawn)) == 100
    assert all(0 < number < 2**63 for number in drawn)


def test_zero_is_never_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity.secrets, "randbits", lambda _: 0)
    assert identity.draw_storage_id() == 1
