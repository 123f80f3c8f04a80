from __future__ import annotations

from causeway.drivers.aio.exits import Exit


def test_exit_codes_are_distinct_and_only_a_stop_on_request_is_zero() -> None:
    assert len({int(code) for code in Exit}) == len(Exit)
    assert [code for code in Exit if int(code) == 0] == [Exit.OK]
    assert all(0 <= int(code) < 126 for code in Exit)
