from __future__ import annotations

from causeway.core.messages import Ping
from causeway.sim.run_log import FLUSH_LINES, RunLog, fingerprint


def digest(lines: list[str]) -> str:
    run_log = RunLog()
    for line in lines:
        run_log.note(line)
    return run_log.digest()


def test_digest_depends_on_every_line_and_their_order() -> None:
    lines = [str(n) for n in range(3 * FLUSH_LINES)]
    assert digest(lines) == digest(lines)
    assert len({digest(lines), digest(lines[1:]), digest(lines[::-1])}) == 3


def test_fingerprint_depends_on_head_and_body() -> None:
    assert len({fingerprint(Ping(1), b"a"), fingerprint(Ping(2), b"a"), fingerprint(Ping(1), b"b")}) == 3
