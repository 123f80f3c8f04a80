"""What this machine can compute for a broker, measured once when it starts.

Owns: the unit. A broker is one thread of Python that hashes, encodes and looks things up, so that is what is timed: a
chain of hashes, in short pieces of processor time, of which the fastest counts (the others met somebody else on the
core). It stays a rough number, above all when many brokers start at once: whoever knows better sets `capability`.
"""

from __future__ import annotations

import hashlib
import time
from typing import Final

from causeway.limits import CAPABILITY_MAX, CAPABILITY_USUAL
from causeway.types import MICROSECOND, MILLISECOND, Duration

PIECE_HASHES: Final = 500
PIECE_USUAL: Final[Duration] = 250 * MICROSECOND
"""What a piece takes on a machine of the usual capability."""
MEASURED_FOR: Final[Duration] = 20 * MILLISECOND


def measure() -> int:
    """A positive number, about CAPABILITY_USUAL; takes some 20 ms."""
    begun = time.perf_counter_ns()
    fastest = _piece()
    while time.perf_counter_ns() - begun < MEASURED_FOR:
        fastest = min(fastest, _piece())
    return max(1, min(CAPABILITY_MAX, CAPABILITY_USUAL * PIECE_USUAL // max(1, fastest)))


def _piece() -> Duration:
    begun = time.thread_time_ns()
    digest = b""
    for _ in range(PIECE_HASHES):
        digest = hashlib.blake2b(digest, digest_size=16).digest()
    return time.thread_time_ns() - begun
