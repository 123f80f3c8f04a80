"""Days of the lake, counted from 1970 in UTC by the clock of whoever writes.

Owns: how long a day is, and what its folders are called. Must not know: who writes or reads, any library.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Final

from causeway.types import SECOND, Duration

DAY_SECONDS: Final = 86_400
DAY: Final[Duration] = DAY_SECONDS * SECOND


@lru_cache(maxsize=1_000)
def day_name(day: int) -> str:
    """The day of this number since 1970, as folders of the lake are called."""
    return (dt.date(1970, 1, 1) + dt.timedelta(days=day)).isoformat()
