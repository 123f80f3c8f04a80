"""Opening a recorder where somebody asked for one. Owns: what is said when the lake cannot be written at all.

Nothing else of the lake is loaded before somebody asks: pyarrow takes a while, and is an extra.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from causeway.config import LAKE_EVERY
from causeway.extras import require
from causeway.limits import LAKE_BYTES_MAX
from causeway.types import Duration, Instant

if TYPE_CHECKING:
    from causeway.lake.recorder import Recorder


def require_pyarrow(lake: str | Path) -> None:
    """Refuse a lake where it cannot be written."""
    require("lake", "pyarrow", field="lake", value=str(lake))


def open_recorder(
    lake: str | Path,
    who: tuple[str, str, int, str],
    clock: Callable[[], Instant],
    *,
    bytes_max: int = LAKE_BYTES_MAX,
    every: Duration = LAKE_EVERY,
    copies: int = 0,
) -> Recorder:
    """A recorder that has begun to write; `who` is name, role, life and domain (empty for none) of its writer. A broker
    says how many `copies` it was told to keep."""
    require_pyarrow(lake)
    from causeway.lake.recorder import Recorder
    from causeway.lake.segments import NO_DOMAIN, WriterName

    writer = WriterName(*who[:3], who[3] or NO_DOMAIN)
    recorder = Recorder(lake, writer, clock, bytes_max=bytes_max, every=every, copies=copies)
    recorder.start()
    return recorder
